# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair's speed and accuracy: its own loop between DPDK's null ports whose buffers hold real
RoCE frames (impair_loop), in turn with dpdk-testpmd on the same kind of ports and with loops that
only delay (impair_bare), each on one pinned core. Every run shows that it was the engine that worked:
all that came in was matched, and what was in flight is rate x delay. Rates are of a core's seconds:
what other programs took of the core meanwhile doesn't count. They still take its caches. bench.py
runs it."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

FRAME = 1024
# Frames behind a 99th percentile.
LEAST_JUDGED = 10_000
# Room for what one core can have in flight.
CAPACITY = '[capacity]\nrate = "250Gb/s"\nsmallest_frame = "1KiB"\nlargest_frame = "1100B"\n'
DELAY = 'name = "last"\ndelay = "1.9ms"\n'
CONSTANT = f'[[rule]]\n{DELAY}{CAPACITY}'


# A link that is idle between two bursts, and has room for many.
QUEUE = f'[[rule]]\n{DELAY}queue = {{ rate = "400Gb/s", buffer = "10MB" }}\n{CAPACITY}'

# The same link with two classes: the frames are in one of them, as all are the last rule's.
CLASSES = (f'[[rule]]\nname = "other"\nmatch = {{ dst_qp = "0x800000-0x800001" }}\n'
           'queue = { rate = "400Gb/s", buffer = "10MB", classes = { 0 = {}, 1 = { weight = 3 } } }\n'
           f'[[rule]]\n{DELAY}queue = {{ shared = "other", class = 1 }}\n{CAPACITY}')


def jitter(order, half_life=''):
    varying = f', half_life = "{half_life}"' if half_life else ''
    return (f'[[rule]]\n{DELAY}order = "{order}"\n'
            f'jitter = {{ distribution = "uniform", low = "0ms", high = "3ms"{varying} }}\n'
            f'{CAPACITY}')


def rules(count):
    """On QP, opcode and PSN; the frames are the last one's."""
    text = ''
    for i in range(count - 1):
        text += (f'[[rule]]\nname = "r{i}"\ndelay = "1.9ms"\nmatch = {{ dst_qp = {0x10000 + i * 977}, '
                 f'operation = ["send", "write"], psn = "{i * 1000}-{0xffffff - i * 1000}" }}\n')
    return (f'{text}[[rule]]\n{DELAY}match = {{ dst_qp = "0x100-0xffff", operation = "send", '
            f'psn = "0-0xffffff" }}\n{CAPACITY}')


def events(count):
    """One for every tenth QP, at a PSN that doesn't come."""
    return rules(1) + ''.join(f'[[event]]\nname = "e{i}"\nqp = {10 * i + 1}\npsn = 0xffffff\n'
                              'action = "drop"\n' for i in range(count))


def core_seconds(pid, name):
    """What the threads of this name have had of a core so far."""
    total = 0
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        if (task / 'comm').read_text().strip().startswith(name):
            total += int((task / 'schedstat').read_text().split()[0])
    return total / 1e9


def worker_seconds(pid):
    try:
        return core_seconds(pid, 'rte-worker') or core_seconds(pid, 'lcore-worker')
    except OSError:  # it has just ended
        return 0


def waited_as_asked(proof):
    """In flight is rate x delay, as well as looks at a loop that is now and then kept from its core
    can say."""
    return 0.5 < proof['in_flight'] / max(proof['rate_x_delay'], 1) < 2


@contextlib.contextmanager
def busy(core):
    """Another process uses the core all the time."""
    with subprocess.Popen(['taskset', '-c', str(core), sys.executable, '-c',
                           'while True: pass']) as other:
        try:
            yield
        finally:
            other.kill()


class Bench:
    def __init__(self, settings, folder):
        self.core, self.program = settings.core, settings.program
        self.seconds = max(1, round(settings.seconds))
        self.folder = pathlib.Path(folder)

    def bench_program(self, name):
        return self.program('tests', 'bench', name)

    def profile(self, text):
        path = self.folder / 'profile.toml'
        path.write_text(text)
        return str(path)

    def run_loop(self, program, text, *arguments):
        """What a loop prints of its run."""
        run = subprocess.run([self.bench_program(program), self.profile(text), str(self.seconds),
                              str(FRAME), *map(str, arguments)], capture_output=True, text=True,
                             check=False)
        if run.returncode:
            raise SystemExit(f'{program}: {run.returncode}\n{run.stderr}{run.stdout}')
        result = json.loads(run.stdout)
        assert result['matched'] == result['received'], result
        assert program == 'impair_bare' or result['holds'], result  # a bare delay judges nothing
        return result

    def queried(self, text, qps=64):
        """Frames per second of roce-impair's loop, and for how many us a query holds it up."""
        result = self.run_loop('impair_loop', text, qps, self.core)
        assert waited_as_asked(result), result
        return result['frames_per_core_s'], result['look_holds_up_ns'] / 1000

    def loop(self, text, qps=64):
        """Frames per second of roce-impair's loop."""
        return self.queried(text, qps)[0]

    def cores(self, *cores):
        """Frames per second of roce-impair's loop on these cores, against the clock."""
        text = CONSTANT.replace('250Gb/s', '600Gb/s')  # room for the frames of both cores
        return self.run_loop('impair_loop', text, 64, ','.join(map(str, cores)))['frames_per_s']

    def bare(self, text):
        """Frames per second of a loop that does nothing but delay, see impair_bare.cpp."""
        return self.run_loop('impair_bare', text, 64, self.core)['frames_per_core_s']

    def writing(self, text, name):
        """Frames per second of the loop whose ledger or capture another thread writes, into a file
        that is never full; and the share of it that is written, the rest is skipped and counted."""
        path = self.folder / name
        if not path.is_symlink():
            path.symlink_to(os.devnull)
        result = self.run_loop('impair_loop', text, 64, self.core, path)
        written = result['written'] / max(result['written'] + result['skipped'], 1)
        return result['frames_per_core_s'], written

    def bytes_written(self, from_file, size, piece):
        """B/s of a program that only writes the bytes of a capture, by the clock and by its core's
        time; see writev_bare.cpp. The other core is busy, as it is beside a recording: the kernel's
        threads that write to the disk then take their time from the program."""
        out = self.folder / 'bare'
        other = max(os.sched_getaffinity(0) - {self.core}, default=self.core)
        with busy(self.core):
            run = subprocess.run(['taskset', '-c', str(other), self.bench_program('writev_bare'),
                                  str(from_file), str(out), str(size), str(piece)],
                                 check=True, capture_output=True, text=True)
        out.unlink()
        result = json.loads(run.stdout)
        return result['bytes_per_s'], result['bytes_per_core_s']

    def recorded(self, frames_per_s, seconds):
        """A recording into a real file while frames come in at this rate."""
        path = self.folder / 'recorded.pcapng'
        path.unlink(missing_ok=True)
        run = subprocess.run([self.bench_program('impair_capture'), self.profile(CONSTANT),
                              str(seconds), str(FRAME), str(self.core), str(frames_per_s), path],
                             check=True, capture_output=True, text=True)
        result = json.loads(run.stdout)
        assert result['holds'] and result['lost'] == 0, result
        return path, result

    def recording(self):
        """B/s of core time of the thread that writes a recording, and of the bare program on the
        same file system; and the share that is written of the frames offered at 0.8 of what the
        bare program did by the clock."""
        path, probe = self.recorded(100_000, 1)
        sample = path.rename(self.folder / 'sample')
        # About as much as the recording writes in its second. While more than a tenth of the memory
        # waits to be written to the disk, the kernel slows down programs that write.
        os.sync()
        rate, core_rate = self.bytes_written(sample, 2_000_000_000,
                                             probe['bytes'] // probe['written'])
        os.sync()
        offered = 0.8 * rate * probe['received'] / probe['bytes']
        path, result = self.recorded(round(offered), 1)
        for file in sample, path:
            file.unlink()
        return (result['bytes_per_core_s'], core_rate,
                result['written'] / (result['written'] + result['skipped']))

    def ring(self):
        """b/s of frames through one impairer core, every byte written before and read behind it."""
        others = os.sched_getaffinity(0) - {self.core}
        result = self.run_loop('impair_ring', CONSTANT, self.core, max(others, default=self.core))
        assert result['bad_icrc'] == 0 and result['checked'] == result['sent'] > 0, result
        return result['frames_per_core_s'] * FRAME * 8

    def testpmd(self, *options):
        """Frames per second of the forwarding core, both ports together."""
        core = self.core
        with open(self.folder / 'testpmd', 'w+', encoding='utf-8', errors='replace') as out:
            run = subprocess.Popen(
                ['taskset', '-c', str(core), 'dpdk-testpmd', '--lcores', f'0@{core},1@{core}',
                 '--no-huge', '--no-pci', '-m', '1024', '--no-telemetry',
                 f'--file-prefix=bench{os.getpid()}', '--vdev', f'net_null0,size={FRAME}',
                 '--vdev', f'net_null1,size={FRAME}', '--', '--forward-mode=io',
                 '--stats-period=3600', *options], stdout=out, stderr=subprocess.STDOUT)
            time.sleep(max(6, self.seconds + 1))
            run.send_signal(signal.SIGINT)
            spent = 0
            # It goes on forwarding until it has seen the signal.
            while run.poll() is None:
                spent = max(spent, worker_seconds(run.pid))
                time.sleep(0.005)
            out.seek(0)
            total = re.findall(r'RX-packets:\s+(\d+)', out.read())
        if not total or not spent:
            raise SystemExit('testpmd reported no packets')
        return int(total[-1]) / spent

    def release_errors(self, idle):
        """p50 and p99 in ns of the frames that wait, and of a passage without delay; p99 of waiting
        frames with witnesses, and what by these they should have had: as a second process sees it
        that sends 1 Mpps through the box and stamps what comes out, see impair_release.cpp."""
        west, east = (f'memif:{self.folder / side}' for side in ('west', 'east'))
        other = min(os.sched_getaffinity(0) - {self.core}, default=self.core)
        box = subprocess.Popen(
            [self.program('impair', 'roce-impair'), 'run',
             self.profile(f'[[rule]]\n{DELAY}match = {{ dst_qp = 1 }}\n'), '--west',
             f'{west},server', '--east', f'{east},server', '--idle', idle, '--core',
             str(self.core), '--until-idle', '1', '--json'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        while not all((self.folder / side).exists() for side in ('west', 'east')):
            if box.poll() is not None:
                raise SystemExit(f'roce-impair ended before its ports were there: {box.returncode}')
            time.sleep(0.05)
        probe = json.loads(subprocess.run(
            [self.bench_program('impair_release'), west, east, str(self.seconds), '1900000',
             str(other)], check=True, capture_output=True, text=True).stdout)
        box.communicate()
        passage, delayed = probe['delay 0'], probe['delayed']
        fewest = min(spread['count'] for spread in (delayed, probe['witnessed']))
        assert fewest >= LEAST_JUDGED, f'{fewest} frames were judged: another process has the cores'
        return (delayed['p50'], passage['p50'], delayed['p99'], passage['p99'],
                probe['witnessed']['p99'], probe['two passages']['p99'])


def release_names(idle):
    return tuple(f'release {idle} {what}' for what in (
        'delayed p50', 'passage p50', 'delayed p99', 'passage p99', 'witnessed p99',
        'two passages p99'))


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round: peers beside each other."""
    bench = Bench(settings, stack.enter_context(tempfile.TemporaryDirectory(prefix='longwire-')))
    ledger = f'{CONSTANT}[ledger]\nall = true\n'
    both = sorted(os.sched_getaffinity(0))[:2]
    return [
        (('1.9 ms, one core',), lambda: bench.cores(both[0])),
        (('1.9 ms, two cores',), lambda: bench.cores(*both)),
        (('testpmd packed',), lambda: bench.testpmd('--mbuf-size=1600')),
        (('testpmd',), bench.testpmd),
        (('bare 1.9 ms',), lambda: bench.bare(CONSTANT)),
        (('1.9 ms', 'query'), lambda: bench.queried(CONSTANT)),
        (('queue',), lambda: bench.loop(QUEUE)),
        (('shared queue',), lambda: bench.loop(CLASSES)),
        (('bare queue',), lambda: bench.bare(QUEUE)),
        (('ledger', 'ledger written'), lambda: bench.writing(ledger, 'all.lwl')),
        (('capture', 'capture written'), lambda: bench.writing(CONSTANT, 'all.pcapng')),
        (('recording', 'bare writev', 'recorded'), bench.recording),
        (('jitter in order',), lambda: bench.loop(jitter('kept'))),
        (('bare jitter in order',), lambda: bench.bare(jitter('kept'))),
        (('jitter reordering',), lambda: bench.loop(jitter('free'))),
        (('bare jitter reordering',), lambda: bench.bare(jitter('free'))),
        (('correlated jitter in order',), lambda: bench.loop(jitter('kept', '100ms'))),
        (('correlated jitter reordering',), lambda: bench.loop(jitter('free', '100ms'))),
        (('64 rules', 'query, 64 rules'), lambda: bench.queried(rules(64))),
        (('one rule',), lambda: bench.loop(rules(1))),
        (('10,000 rules',), lambda: bench.loop(rules(10_000))),
        (('1,000 events',), lambda: bench.loop(events(1000), 10_000)),
        (('10,000 QPs',), lambda: bench.loop(rules(1), 10_000)),
        (('ring',), bench.ring),
        (release_names('spin'), lambda: bench.release_errors('spin')),
        (release_names('adaptive'), lambda: bench.release_errors('adaptive')),
    ]
