# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen's sending speed as ratios: real programs on DPDK's null port, each pinned to one core,
alternating, medians. Prints both numbers and the ratio of each line, and writes them into a file.
What is compared is frames a second of the sending thread's own CPU time, so that others on the
machine take no share; caches and the clock rate they still do.

  gen_bench.py [--rounds N] [--seconds S] [--core C] [--json FILE] [--strict]

Exit 0; with --strict 1 when a ratio is missed. A noisy machine makes single runs differ: look at the
ratios, not at the numbers. Rates against the clock and two cores against one want a quiet one.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get('LONGWIRE_BUILD', SOURCE / 'build'))
GEN = str(BUILD / 'gen' / 'roce-gen')

ENDLESS = 'operation = "write"\nrepeat = "forever"\nmessages = 100000\n'
# More than any core does: every frame is due already.
RATE = 1_000_000_000


def flow(size, qp, flows, signature=False):
    return (f'[[flow]]\n{ENDLESS}message_size = {size}\nmtu = 4096\ndst_qp = {qp}\n'
            f'signature = {"true" if signature else "false"}\n'
            f'rate = "{RATE / flows} frames/s"\n')


def profile(size, flows=1, signature=False):
    return ''.join(flow(size, 0x100 + i, flows, signature) for i in range(flows))


def sending_time(pid):
    """Seconds that testpmd's sending thread has run for."""
    for task in pathlib.Path(f'/proc/{pid}/task').glob('*'):
        try:
            if (task / 'comm').read_text().strip() == 'rte-worker-1':
                return int((task / 'schedstat').read_text().split()[0]) / 1e9
        except OSError:
            pass  # it has ended
    return 0


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = pathlib.Path(folder)

    def run_on_cpu(self, path, duration):
        """Frames of one run of the real program, and the CPU time that it took, in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(
            ['taskset', '-c', str(self.options.core), GEN, 'run', str(path), '--port', 'null',
             '--duration', duration, '--quiet', '--json'],
            capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = json.loads(run.stdout)
        assert report['not_sent'] == 0 and report['audit']['icrc_bad'] == 0, report
        return report['frames'], (after.ru_utime + after.ru_stime -
                                  before.ru_utime - before.ru_stime)

    def gen(self, text):
        """Frames a second of CPU time; what starting and ending take is left out."""
        path = self.folder / 'profile.toml'
        path.write_text(text)
        few, start = min((self.run_on_cpu(path, '10ms') for _ in range(2)), key=lambda r: r[1])
        frames, spent = self.run_on_cpu(path, f'{self.options.seconds}s')
        return (frames - few) / (spent - start)

    def whole(self, text, *options):
        """The report of one run that ends by itself; on its core unless options say several."""
        pinned = [] if '--cores' in options else ['taskset', '-c', str(self.options.core)]
        run = subprocess.run([*pinned, GEN, 'run', '-', *options, '--json'], input=text,
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)

    def cores(self, count, text):
        """Frames a second on that many cores, all that there are."""
        report = self.whole(text, '--port', 'null', '--duration', f'{self.options.seconds}s',
                            '--cores', str(count))
        return report['frames'] / report['elapsed_ns'] * 1e9

    def testpmd(self, frame_size, *options):
        """Frames a second of the CPU time of testpmd's sending thread."""
        core = self.options.core
        run = subprocess.Popen(
            ['taskset', '-c', str(core), 'dpdk-testpmd', '--lcores', f'0@{core},1@{core}',
             '--no-huge', '--no-pci', '-m', '1024', '--no-telemetry',
             f'--file-prefix=bench{os.getpid()}', '--vdev', 'net_null0', '--',
             '--forward-mode=txonly', f'--txpkts={frame_size}', '--stats-period=1', *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        deadline = time.monotonic() + 60
        while (spent := sending_time(run.pid)) < self.options.seconds and run.poll() is None and \
                time.monotonic() < deadline:
            time.sleep(0.05)
        # Its own readout of packets: it is meant to be ended by a signal. It goes on sending until
        # its main thread, which sleeps a second at a time, has seen that: what counts is the sending
        # thread's time just before the process is gone.
        run.send_signal(signal.SIGINT)
        with concurrent.futures.ThreadPoolExecutor() as reader:
            text = reader.submit(run.stdout.read)
            while run.poll() is None:
                spent = max(spent, sending_time(run.pid))
                time.sleep(0.001)
            out = text.result()
        sent = re.findall(r'TX-packets: (\d+)', out)
        if not sent or spent <= 0:
            raise SystemExit('testpmd reported no packets:\n' + out[-2000:])
        return int(sent[-1]) / spent

    def alternate(self, ours, peer):
        """Medians of both, run in turn."""
        pairs = [(ours(), peer()) for _ in range(self.options.rounds)]
        return [statistics.median(column) for column in zip(*pairs)]


def frame_size(size):
    """RC WRITE ONLY over IPv4: Ethernet, IPv4, UDP, BTH, RETH, ICRC."""
    return 14 + 20 + 8 + 12 + 16 + size + 4


def comparisons(bench):
    """(name, target, what ours is, what the peer is, ours, peer)."""
    one = lambda: bench.gen(profile(1024))
    packed = lambda: bench.testpmd(frame_size(1024), '--mbuf-size=1600')
    yield ('1 flow, 1024 B : testpmd txonly as it comes', 1.0, one,
           lambda: bench.testpmd(frame_size(1024)))
    yield '1 flow, 1024 B : testpmd with packed buffers', 0.7, one, packed
    yield ('64 x 16 QPs, signed : testpmd with packed buffers', 0.7,
           lambda: bench.gen(profile(1024, 1024, True)), packed)
    yield ('4096 B : 256 B', 0.8, lambda: bench.gen(profile(4096)),
           lambda: bench.gen(profile(256)))
    yield '10,000 QPs : 1 QP', 0.6, lambda: bench.gen(profile(1024, 10000)), one


def into_a_ring(bench):
    """A second into a ring whose other end checks every frame: (name, frames, wrong ones)."""
    for name, signature in (('signatures', True), ('PSNs', False)):
        report = bench.whole(profile(1024, 8, signature), '--port', 'net_ring0', '--receive',
                             'net_ring0', '--check-icrc', 'all', '--duration', '1s')
        received = report['received']
        flows = received['flows']
        wrong = (report['frames'] - received['icrc_checked'] + received['bad_icrc'] +
                 report['not_sent'] + abs(len(flows) - 8) +
                 sum(f['lost'] + f['duplicated'] + f['out_of_order'] for f in flows))
        yield name, report['frames'], wrong


def rates(bench):
    """What was asked for and what came of it, at parts of what the core can do."""
    capacity = bench.gen(profile(1024))
    for part in (0.01, 0.1, 0.5, 0.9):
        asked = capacity * part
        text = f'[[flow]]\n{ENDLESS}message_size = 1024\nrate = "{asked:.0f} frames/s"\n'
        path = bench.folder / 'rate.toml'
        path.write_text(text)
        run = subprocess.run(
            ['taskset', '-c', str(bench.options.core), GEN, 'run', str(path), '--port', 'null',
             '--duration', '1s', '--json'], capture_output=True, text=True, check=True)
        report = json.loads(run.stdout)
        # Against the clock, not against the program's own idea of when the last slot ends.
        achieved = report['frames'] / (report['elapsed_ns'] / 1e9)
        yield part, round(asked), achieved


def cpu_model():
    text = pathlib.Path('/proc/cpuinfo').read_text()
    return re.search(r'model name\s*: (.*)', text).group(1) if 'model name' in text else 'unknown'


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=int, default=5)
    parser.add_argument('--core', type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument('--json', default=str(BUILD / 'gen-bench.json'))
    parser.add_argument('--strict', action='store_true')
    options = parser.parse_args()
    results = []
    with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
        bench = Bench(options, folder)
        for name, target, ours, peer in comparisons(bench):
            a, b = bench.alternate(ours, peer)
            held = a / b >= target
            results.append({'name': name, 'frames_per_s': a, 'peer_frames_per_s': b,
                            'ratio': a / b, 'target': target, 'held': held})
            print(f'{name:52} {a / 1e6:7.2f} M/s {b / 1e6:7.2f} M/s  {a / b:5.2f} x '
                  f'(>= {target}: {"yes" if held else "NO"})', flush=True)
        if len(os.sched_getaffinity(0)) > 1:
            text = profile(1024, 64)
            a, b = bench.alternate(lambda: bench.cores(2, text), lambda: bench.cores(1, text))
            results.append({'name': '64 flows, 2 cores : 1', 'frames_per_s': a,
                            'peer_frames_per_s': b, 'ratio': a / b, 'held': True})
            print(f'{"64 flows, 2 cores : 1":52} {a / 1e6:7.2f} M/s {b / 1e6:7.2f} M/s  '
                  f'{a / b:5.2f} x', flush=True)
        for name, frames, wrong in into_a_ring(bench):
            results.append({'name': f'into a ring, every ICRC and {name} checked',
                            'frames': frames, 'wrong': wrong, 'held': wrong == 0})
            print(f'a second into a ring, every ICRC and {name} checked: {frames} frames, '
                  f'{wrong} wrong', flush=True)
        for part, asked, achieved in rates(bench):
            error = achieved / asked - 1
            held = abs(error) <= 0.001
            results.append({'name': f'rate at {part:.0%} of capacity', 'asked': asked,
                            'achieved': achieved, 'ratio': achieved / asked, 'held': held})
            print(f'rate at {part:4.0%} of capacity: asked {asked} frames/s, achieved '
                  f'{achieved:.0f}: {error:+.4%} (<= 0.1 %: {"yes" if held else "NO"})', flush=True)
    pathlib.Path(options.json).write_text(json.dumps(
        {'core': options.core, 'cpu': cpu_model(), 'rounds': options.rounds, 'load': os.getloadavg(),
         'time': int(time.time()), 'results': results}, indent=1) + '\n')
    print(f'written to {options.json}', file=sys.stderr)
    return 1 if options.strict and not all(r['held'] for r in results) else 0


if __name__ == '__main__':
    sys.exit(main())
