# SPDX-License-Identifier: BSD-3-Clause
"""What a run says of its own time beside what the kernel says: the stamps of a frame as its sender
gives it to the interface, and as its receiver gets it (tcpdump, ns). Needs root, for veth pairs in a
network namespace of its own."""

import contextlib
import itertools
import json
import os
import pathlib
import select
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import longwire_test
import needs
from pcap_file import read_pcap, roce_frame

TIMEOUT = 100
FRAMES = 2500
PSN = slice(51, 54)  # in an untagged RoCEv2 frame over IPv4
PASS = '[[rule]]\nname = "other"\nmatch = { dst_qp = 999 }\n'
DELAY = '[[rule]]\nname = "path"\ndelay = "5ms"\n[capacity]\nrate = "1Gb/s"\n'
BUSY = 'while True: pass'


def ip(*words):
    subprocess.run(['ip', *words], check=True)


def times_of(path):
    """Nanoseconds by PSN."""
    return {int.from_bytes(frame[PSN], 'big'): stamp for stamp, frame in read_pcap(path)
            if len(frame) >= PSN.stop and frame[12:14] == b'\x08\0'}


def quantile(sorted_values, share):
    return sorted_values[int(len(sorted_values) * share)]


@needs.root('network namespaces')
@needs.tools('tcpdump')
class Arrival(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in 'west', 'east':
            ip('link', 'add', f'{name}h', 'type', 'veth', 'peer', 'name', f'{name}b')
            self.addCleanup(ip, 'link', 'del', f'{name}h')
            for end in 'hb':
                pathlib.Path(f'/proc/sys/net/ipv6/conf/{name}{end}/disable_ipv6').write_text('1')
                ip('link', 'set', f'{name}{end}', 'up')

    def begin_capture(self, interface, way):
        """Returns its file once the capture has begun."""
        file = self.folder / f'{interface}.pcap'
        words = ['tcpdump', '-i', interface, '-Q', way, '-w', file, '-B', '32768', '-s', '60', '-U',
                 '--time-stamp-precision=nano', '--immediate-mode']
        capture = longwire_test.begin(self, words)
        while 'listening on' not in capture.stderr.readline():
            self.assertIsNone(capture.poll())
        return capture, file

    def box(self, profile, *options):
        (self.folder / 'p.toml').write_text(profile)
        ready = self.folder / 'ready'
        box = longwire_test.begin(
            self, [longwire_test.program('roce-impair'), 'run', self.folder / 'p.toml', '--west', 'westb',
                   '--east', 'eastb', '--json', '--ready-file', ready, *options])
        end = time.monotonic() + TIMEOUT
        while not ready.exists():
            self.assertIsNone(box.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        ready.unlink()
        return box

    @contextlib.contextmanager
    def busy(self, count):
        hogs = [longwire_test.begin(self, ['python3', '-c', BUSY]) for _ in range(count)]
        yield
        for hog in hogs:
            hog.kill()

    def measure(self, profile, *options, hogs=0, stops=0):
        """The times between the two stamps in ns, in order, and the report's first direction."""
        box = self.box(profile, *options)
        captures = [self.begin_capture('westh', 'out'), self.begin_capture('easth', 'in')]
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind(('westh', 0))
        receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        receiver.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        receiver.bind(('easth', 0))
        more = itertools.count(FRAMES)
        with sender, receiver, self.busy(hogs):
            for number in range(FRAMES):
                if stops and number % (FRAMES // (stops + 1)) == FRAMES // (stops + 1) - 1:
                    box.send_signal(signal.SIGSTOP)
                    end = time.monotonic() + 0.25
                    while time.monotonic() < end:
                        sender.send(roce_frame(next(more), 64))
                        time.sleep(0.002)
                    box.send_signal(signal.SIGCONT)
                sender.send(roce_frame(number, 64))
                time.sleep(0.0004)
            last = roce_frame(FRAMES - 1, 64)
            while select.select([receiver], [], [], TIMEOUT)[0]:
                if receiver.recv(2048)[PSN] == last[PSN]:
                    break
        box.send_signal(signal.SIGTERM)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertIn(box.returncode, (0, 1), err)
        for capture, _ in captures:
            capture.send_signal(signal.SIGINT)
            capture.wait(TIMEOUT)
        sent, came = (times_of(file) for _, file in captures)
        self.assertGreater(len(came), FRAMES * 0.99)
        times = sorted(came[psn] - sent[psn] for psn in came if psn in sent)
        return times, json.loads(out)['directions'][0]

    def check_near(self, said, truth, least=20_000):
        """Within 10 % or some us: the stamp of the sender is before the interface's, that of the
        receiver within the send."""
        self.assertLessEqual(abs(said - truth), max(truth * 0.1, least), (said, truth))

    def check_passage(self, times, direction, least=20_000):
        said = direction['pass_latency_ns']
        self.check_near(said['p50'], quantile(times, 0.5), least)
        self.check_near(said['p99'], quantile(times, 0.99), 5 * least)
        self.assertTrue(direction['arrivals']['stamped'])

    def test_the_wait_in_the_ring_is_in_the_figures(self):
        for idle in 'spin', 'yield', 'adaptive':
            for hogs in 0, 2:
                with self.subTest(idle=idle, hogs=hogs):
                    times, direction = self.measure(PASS, '--idle', idle, hogs=hogs)
                    self.check_passage(times, direction)

    def test_a_stopped_process_says_so(self):
        times, direction = self.measure(PASS, '--expect', 'stall <= 1min', stops=3)
        self.assertGreater(quantile(times, 0.99), 10**8)
        self.check_passage(times, direction)

    def test_a_delay_counts_from_the_arrival(self):
        times, direction = self.measure(DELAY)
        error = [time_ns - 5_000_000 for time_ns in times]
        said = direction['release_error_ns']
        self.assertGreaterEqual(error[0], -1000)
        self.check_near(said['p50'], quantile(error, 0.5))
        self.check_near(said['p99'], quantile(error, 0.99), 100_000)


if __name__ == '__main__':
    longwire_test.enter_namespaces('--net')
    longwire_test.main()
