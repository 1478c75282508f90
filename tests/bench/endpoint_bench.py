# SPDX-License-Identifier: BSD-3-Clause
"""perf in real time through roce-impair: median latencies of 64 B at 380 km, and at no distance with
the path added to them; and what two endpoints carry over a wire between them. For a quiet machine:
other processes on its cores add milliseconds. bench.py runs it."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'support'), str(HERE.parent / 'e2e')]

import gen_endpoint  # noqa: E402  (found by the line above)

PATH_US = 1903.5  # one way
OPERATIONS = ('write', 'send', 'read')


class Bench(gen_endpoint.Latency):
    def runTest(self):
        """What unittest wants there to be."""

    def latencies(self, idle):
        """For each operation the median over 380 km, and without a distance plus the path, in us."""
        figures = []
        for _, ways, (near, far) in self.measured(500, idle):
            figures += [far['t_typical_usec'], near['t_typical_usec'] + ways * PATH_US]
        return tuple(figures)

    def throughput(self, operation):
        """b/s of 64 KiB messages of one QP."""
        wire = f'memif:{self.folder}/wire'
        [ran], _ = self.perf(wire, wire + ',server', '--op', operation, '-s', '64KiB', '-n', '5000')
        return ran['bw_peak_gbps'] * 1e9


def runs(_settings, stack):
    """(names of figures, what measures them) in the order of a round."""
    bench = Bench()
    bench.setUp()
    stack.callback(bench.doCleanups)
    found = []
    for idle in ('yield', 'adaptive'):
        names = tuple(f'{operation} {idle}: {what}' for operation in OPERATIONS
                      for what in ('380 km', 'sum'))
        found.append((names, lambda idle=idle: bench.latencies(idle)))
    for operation in OPERATIONS:
        found.append(((f'{operation} throughput',),
                      lambda operation=operation: bench.throughput(operation)))
    return found
