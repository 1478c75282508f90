# SPDX-License-Identifier: BSD-3-Clause
"""perf in real time through roce-impair: median latencies of 64 B at 380 km against those at no
distance and the path, in one run; and what two endpoints carry over a wire between them. For a
quiet machine: who computes beside it adds milliseconds."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'support'), str(HERE.parent / 'e2e')]

import gen_endpoint  # noqa: E402  (found by the line above)


class Bench(gen_endpoint.Latency):
    def runTest(self):
        """What unittest wants there to be."""


def latencies(bench):
    print('| 64 B | idle | no distance, us | 380 km, us | of sum with the path | wanted |')
    print('|---|---|---|---|---|---|')
    for idle in ('yield', 'adaptive') * 3:
        for operation, ways, (near, far) in bench.measured(500, idle):
            near, far = near['t_typical_usec'], far['t_typical_usec']
            print(f'| {operation} | {idle} | {near:.1f} | {far:.1f} | '
                  f'{100 * (far / (near + ways * 1903.5) - 1):+.2f} % | 2 % |', flush=True)


def throughput(bench):
    print('| 64 KiB, 1 QP | Gb/s |\n|---|---|')
    for operation in ('write', 'send', 'read'):
        wire = f'memif:{bench.folder}/wire'
        [ran], _ = bench.perf(wire, wire + ',server', '--op', operation, '-s', '64KiB', '-n',
                              '5000')
        print(f"| {operation} | {ran['bw_peak_gbps']:.2f} |")


if __name__ == '__main__':
    bench = Bench()
    bench.setUp()
    try:
        latencies(bench)
        throughput(bench)
    finally:
        bench.doCleanups()
