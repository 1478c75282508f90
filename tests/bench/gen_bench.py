# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen's sending: real programs on DPDK's null port, each pinned to one core, in turn. Rates are
frames per second of the sending thread's own CPU time, so that others on the machine take no share;
caches and the clock rate they still do. bench.py runs it."""

import concurrent.futures
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time

ENDLESS = 'operation = "write"\nrepeat = "forever"\nmessages = 100000\n'
# More than any core does: every frame is due already.
RATE = 1_000_000_000


def flow(size, qp, flows, signature=False):
    return (f'[[flow]]\n{ENDLESS}message_size = {size}\nmtu = 4096\ndst_qp = {qp}\n'
            f'signature = {"true" if signature else "false"}\n'
            f'rate = "{RATE / flows} frames/s"\n')


def profile(size, flows=1, signature=False):
    return ''.join(flow(size, 0x100 + i, flows, signature) for i in range(flows))


def qps(count, signature=False):
    """A range of QPs, each with its share of the rate."""
    return flow(1024, 0x100, 1, signature) + f'qps = {count}\n'


def frame_size(size):
    """RC WRITE ONLY over IPv4: Ethernet, IPv4, UDP, BTH, RETH, ICRC."""
    return 14 + 20 + 8 + 12 + 16 + size + 4


def sending_time(pid):
    """Seconds that testpmd's sending thread has run for."""
    for task in pathlib.Path(f'/proc/{pid}/task').glob('*'):
        try:
            if (task / 'comm').read_text().strip() == 'rte-worker-1':
                return int((task / 'schedstat').read_text().split()[0]) / 1e9
        except OSError:
            pass  # it has ended
    return 0


def report_of(command, **options):
    """The report of a run. Profiles ask for more than any core sends, so that the verdict of the run
    is red, with exit code 1."""
    run = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if run.returncode not in (0, 1):
        raise SystemExit(f'{command} ended with {run.returncode}:\n{run.stderr[-2000:]}')
    return json.loads(run.stdout)


class Bench:
    def __init__(self, settings, folder):
        self.core, self.seconds = settings.core, settings.seconds
        self.program = settings.program('gen', 'roce-gen')
        self.bare_program = settings.program('tests', 'bench', 'gen_bare')
        self.folder = pathlib.Path(folder)

    def run_on_cpu(self, path, duration):
        """Frames of one run of the real program, and the CPU time that it took, in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = report_of(['taskset', '-c', str(self.core), self.program, 'run', str(path), '--port',
                            'null', '--duration', duration, '--quiet', '--json'])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert report['not_sent'] == 0 and report['audit']['bad_icrc'] == 0, report
        return report['frames'], (after.ru_utime + after.ru_stime -
                                  before.ru_utime - before.ru_stime)

    def gen(self, text):
        """Frames a second of CPU time; what starting and ending take is left out."""
        path = self.folder / 'profile.toml'
        path.write_text(text)
        few, start = min((self.run_on_cpu(path, '10ms') for _ in range(2)), key=lambda r: r[1])
        frames, spent = self.run_on_cpu(path, f'{self.seconds}s')
        return (frames - few) / (spent - start)

    def bare(self):
        """Frames a second of CPU time of a loop that only writes 64 B; see gen_bare.cpp."""
        run = subprocess.run([self.bare_program, str(max(1, round(self.seconds))), str(self.core)],
                             capture_output=True, text=True, check=True)
        return json.loads(run.stdout)['frames_per_core_s']

    def whole(self, text, *options):
        """The report of one run that ends without a signal; on its core unless options name
        several."""
        pinned = [] if '--cores' in options else ['taskset', '-c', str(self.core)]
        return report_of([*pinned, self.program, 'run', '-', *options, '--json'], input=text)

    def cores(self, count):
        """Frames a second of 64 flows on that many cores, against the clock."""
        report = self.whole(profile(1024, 64), '--port', 'null', '--duration', f'{self.seconds}s',
                            '--cores', str(count))
        return report['frames'] / report['elapsed_ns'] * 1e9

    def testpmd(self, *options):
        """Frames a second of the CPU time of testpmd's sending thread."""
        core = self.core
        run = subprocess.Popen(
            ['taskset', '-c', str(core), 'dpdk-testpmd', '--lcores', f'0@{core},1@{core}',
             '--no-huge', '--no-pci', '-m', '1024', '--no-telemetry',
             f'--file-prefix=bench{os.getpid()}', '--vdev', 'net_null0', '--',
             '--forward-mode=txonly', f'--txpkts={frame_size(1024)}', '--stats-period=1', *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace')
        deadline = time.monotonic() + 60
        while (spent := sending_time(run.pid)) < self.seconds and run.poll() is None and \
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

    def into_a_ring(self, signature):
        """Wrong frames of a second into a ring whose other end checks every frame."""
        report = self.whole(profile(1024, 8, signature), '--port', 'net_ring0', '--receive',
                            'net_ring0', '--check-icrc', 'all', '--duration', '1s')
        received = report['received']
        flows = received['flows']
        return (report['frames'] - received['icrc_checked'] + received['bad_icrc'] +
                report['not_sent'] + abs(len(flows) - 8) +
                sum(f['lost'] + f['duplicated'] + f['out_of_order'] for f in flows))

    def rate_error(self):
        """The largest error of the rate at parts of what the core can do, against the clock and not
        against the program's own idea of when the last slot ends."""
        capacity, errors = self.gen(profile(1024)), []
        for part in (0.01, 0.1, 0.5, 0.9):
            asked = round(capacity * part)
            text = f'[[flow]]\n{ENDLESS}message_size = 1024\nrate = "{asked} frames/s"\n'
            report = self.whole(text, '--port', 'null', '--duration', '1s')
            errors.append(abs(report['frames'] / (report['elapsed_ns'] / 1e9) / asked - 1))
        return max(errors)


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round: peers beside each other."""
    bench = Bench(settings, stack.enter_context(tempfile.TemporaryDirectory(prefix='longwire-')))
    packed = ('--mbuf-size=1600',)
    found = [
        (('bare loop',), bench.bare),
        (('one flow',), lambda: bench.gen(profile(1024))),
        (('testpmd',), bench.testpmd),
        (('1,024 signed QPs',), lambda: bench.gen(profile(1024, 1024, True))),
        (('testpmd packed',), lambda: bench.testpmd(*packed)),
        (('10,000 QPs',), lambda: bench.gen(profile(1024, 10000))),
        (('1,000,000 QPs',), lambda: bench.gen(qps(1_000_000))),
        (('one signed QP',), lambda: bench.gen(qps(1, True))),
        (('10,000 signed QPs',), lambda: bench.gen(qps(10_000, True))),
        (('4096 B',), lambda: bench.gen(profile(4096))),
        (('256 B',), lambda: bench.gen(profile(256))),
        (('ring, signatures: wrong',), lambda: bench.into_a_ring(True)),
        (('ring, PSNs: wrong',), lambda: bench.into_a_ring(False)),
        (('rate error',), bench.rate_error),
    ]
    if len(os.sched_getaffinity(0)) > 1:
        found += [(('64 flows, two cores',), lambda: bench.cores(2)),
                  (('64 flows, one core',), lambda: bench.cores(1))]
    return found
