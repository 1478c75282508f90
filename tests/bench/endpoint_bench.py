# SPDX-License-Identifier: BSD-3-Clause
"""perf in real time: through roce-impair, median latencies of 64 B at 380 km, and at no distance with
the path added to them; over one memif, what two endpoints carry with every byte and every ICRC
checked, beside testpmd's txonly to rxonly over such a memif, which looks at no byte; and the CPU time
of both ends with 1.9 ms between them. For a quiet machine: other processes on its cores add
milliseconds. bench.py runs it."""

import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'support'), str(HERE.parent / 'e2e')]

import endpoints  # noqa: E402  (found by the line above)
import gen_endpoint  # noqa: E402

PATH_US = 1903.5  # one way
OPERATIONS = ('write', 'send', 'read')
MTU = 4096
FRAME = MTU + 58  # of the middle of a message: Ethernet, IPv4, UDP, BTH and ICRC
LONG_PATH = '[[rule]]\nname = "haul"\ndelay = "1.9ms"\n'
LARGE = '[capacity]\nrate = "50Gb/s"\nsmallest_frame = "1024B"\nlargest_frame = "4500B"\n'
# What 1.9 ms hold at the rate of a core, several times: the window limits neither run.
DEEP = ('-t', '512', '--outstanding', '512')


class Bench(gen_endpoint.Latency):
    def runTest(self):
        """What unittest wants there to be."""

    def latencies(self, idle):
        """For each operation the median over 380 km, and without a distance plus the path, in us."""
        figures = []
        for _, ways, (near, far) in self.measured(500, idle):
            figures += [far['t_typical_usec'], near['t_typical_usec'] + ways * PATH_US]
        return tuple(figures)

    def run_perf(self, *options):
        """What perf says of one session over a memif of its own."""
        west, east = self.wire()
        [ran], _ = self.perf(west, east, *options)
        if ran['wrong'] or ran['failed']:
            raise SystemExit(f'messages were wrong or failed: {ran}')
        return ran

    def throughput(self, operation, qps=1):
        """b/s of 64 KiB messages: of three runs the one that others disturbed least."""
        return max(self.run_perf('--op', operation, '-s', '64KiB', '-q', str(qps), '-n',
                                 str(64000 // qps))['bw_average_gbps'] for _ in range(3)) * 1e9

    def messages(self):
        """64 B messages a second."""
        return self.run_perf('-s', '64', '-n', '3000000')['msg_rate_mpps'] * 1e6

    def testpmd(self, seconds):
        """b/s of the payload that frames of the MTU would carry from txonly to rxonly."""
        with testpmd(self.folder, 'server', 'rxonly') as reader:
            wait_for(lambda: (self.folder / 'testpmd.sock').exists(), reader)
            with testpmd(self.folder, 'client', 'txonly', f'--txpkts={FRAME}') as writer:
                wait_for(lambda: len(rates(self.folder)) > seconds, writer)
        return statistics.median(rates(self.folder)[1:]) * MTU * 8

    def cpu_time(self, path):
        """Seconds of CPU time of both ends for a GiB, beyond what they take to start and to end."""
        few, many = 1000, 81000
        spent = many_spent, few_spent = [min(self.spent(path, messages) for _ in range(3))
                                         for messages in (many, few)]
        if many_spent <= few_spent:
            raise SystemExit(f'CPU times that cannot be: {spent}')
        return (many_spent - few_spent) / ((many - few) * 65536 / 2**30)

    def spent(self, path, messages):
        options = ('-s', '64KiB', '-n', str(messages), *DEEP)
        if path is None:
            return self.both(*self.wire(), *options)
        with self.box('haul', path, capacity=LARGE) as (west, east):
            return self.both(west, east, *options)

    def both(self, west, east, *options):
        """CPU seconds of perf and respond in one session."""
        there = self.start(endpoints.GEN, 'respond', '--port', east, '--sessions', '1', '--json')
        client = self.start(endpoints.GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '--json',
                            *options)
        spent = 0
        for process in (client, there):
            said = json.loads(process.stdout.readline())
            if said['wrong']:
                raise SystemExit(f'messages were wrong: {said}')
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            spent += used.ru_utime + used.ru_stime
        return spent


def testpmd(folder, role, mode, *options):
    """One end of a memif, ended with the context."""
    class Process(subprocess.Popen):
        def __exit__(self, *what):
            self.send_signal(signal.SIGINT)
            return super().__exit__(*what)
    core = {'server': max(os.sched_getaffinity(0)), 'client': min(os.sched_getaffinity(0))}[role]
    device = f'net_memif0,role={role},socket={folder}/testpmd.sock,socket-abstract=no,id=0,' \
             'bsize=9856,rsize=10'  # as ports of roce-gen have them
    with open(folder / f'testpmd-{role}', 'w', encoding='utf-8') as out:
        return Process(['dpdk-testpmd', '--lcores', f'0@{core},1@{core}', '--no-huge', '--no-pci',
                        '-m', '512', '--no-telemetry', f'--file-prefix=bench{os.getpid()}{role}',
                        '--vdev', device, '--', f'--forward-mode={mode}',
                        '--total-num-mbufs=16384', '--mbuf-size=5120', '--stats-period=1',
                        *options], stdout=out, stderr=subprocess.STDOUT)


def rates(folder):
    """Frames a second that rxonly has shown, without those before the first frame."""
    shown = (folder / 'testpmd-server').read_text(encoding='utf-8', errors='replace')
    return [int(rate) for rate in re.findall(r'Rx-pps:\s+(\d+)', shown) if rate != '0']


def wait_for(condition, process):
    deadline = time.monotonic() + 60
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise SystemExit(f'testpmd ended or hangs: {process.args}')
        time.sleep(0.05)


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round: peers beside each other."""
    bench = Bench()
    bench.setUp()
    stack.callback(bench.doCleanups)
    found = []
    for idle in ('yield', 'adaptive'):
        names = tuple(f'{operation} {idle}: {what}' for operation in OPERATIONS
                      for what in ('380 km', 'sum'))
        found.append((names, lambda idle=idle: bench.latencies(idle)))
    found.append((('testpmd',), lambda: bench.testpmd(settings.seconds)))
    for operation in OPERATIONS:
        found.append(((f'{operation} throughput',),
                      lambda operation=operation: bench.throughput(operation)))
    return found + [
        (('64 QPs throughput',), lambda: bench.throughput('write', 64)),
        (('64 B messages',), bench.messages),
        (('CPU time, no distance',), lambda: bench.cpu_time(None)),
        (('CPU time, 1.9 ms',), lambda: bench.cpu_time(LONG_PATH)),
    ]
