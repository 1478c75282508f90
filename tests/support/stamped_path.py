# SPDX-License-Identifier: BSD-3-Clause
"""A box between two veth pairs, and how long frames take through it by the kernel's stamps: of a frame as
its sender gives it to the interface, and as its receiver gets it (tcpdump, ns). Needs root."""

import contextlib
import dataclasses
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

import longwire_test
from pcap_file import read_pcap, roce_frame

TIMEOUT = 100
PSN = slice(51, 54)  # in an untagged RoCEv2 frame over IPv4
BUSY = 'while True: pass'
PASS = '[[rule]]\nname = "other"\nmatch = { dst_qp = 999 }\n'
DELAY_NS = 5_000_000
DELAY = f'[[rule]]\nname = "path"\ndelay = "{DELAY_NS}ns"\n[capacity]\nrate = "1Gb/s"\n'


def ip(*words):
    subprocess.run(['ip', *words], check=True)


def times_of(path):
    """Nanoseconds by PSN."""
    return {int.from_bytes(frame[PSN], 'big'): stamp for stamp, frame in read_pcap(path)
            if len(frame) >= PSN.stop and frame[12:14] == b'\x08\0'}


def quantile(sorted_values, share):
    return sorted_values[int(len(sorted_values) * share)]


@dataclasses.dataclass
class Passage:
    """What a measurement has found."""
    times: list  # ns between the two stamps, in order
    sent: int
    direction: dict  # of the report
    report: dict
    code: int
    cpu_share: float  # of one core, of all threads of the box


class StampedPath:
    """`owner` has addCleanup(), as a unittest.TestCase. `suffix`: of the interfaces' names."""

    def __init__(self, owner, suffix=''):
        self.owner = owner
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        owner.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.hosts, self.ports = ([f'{name}{end}{suffix}' for name in ('west', 'east')] for end in 'hb')
        for host, port in zip(self.hosts, self.ports):
            ip('link', 'add', host, 'type', 'veth', 'peer', 'name', port)
            owner.addCleanup(ip, 'link', 'del', host)
            for end in host, port:
                pathlib.Path(f'/proc/sys/net/ipv6/conf/{end}/disable_ipv6').write_text('1', encoding='ascii')
                ip('link', 'set', end, 'up')

    def begin(self, *words, **settings):
        return longwire_test.begin(self.owner, words, **settings)

    def begin_capture(self, interface, way):
        """Returns its file once the capture has begun."""
        file = self.folder / f'{interface}.pcap'
        capture = self.begin('tcpdump', '-i', interface, '-Q', way, '-w', file, '-B', '32768', '-s', '60', '-U',
                             '--time-stamp-precision=nano', '--immediate-mode')
        while 'listening on' not in (line := capture.stderr.readline()):
            assert line, 'tcpdump has ended'
        return capture, file

    def box(self, profile, *options, environment=None):
        (self.folder / 'p.toml').write_text(profile, encoding='utf-8')
        ready = self.folder / 'ready'
        box = self.begin(longwire_test.program('roce-impair'), 'run', self.folder / 'p.toml', '--west', self.ports[0],
                         '--east', self.ports[1], '--json', '--ready-file', ready, *options,
                         env={**os.environ, **(environment or {})})
        end = time.monotonic() + TIMEOUT
        while not ready.exists():
            assert box.poll() is None and time.monotonic() < end, 'the box does not start'
            time.sleep(0.01)
        ready.unlink()
        return box

    @contextlib.contextmanager
    def busy(self, count):
        hogs = [self.begin('python3', '-c', BUSY) for _ in range(count)]
        yield
        for hog in hogs:
            hog.kill()

    def sockets(self):
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
        sender.bind((self.hosts[0], 0))
        receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        receiver.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        receiver.bind((self.hosts[1], 0))
        return sender, receiver

    @staticmethod
    def cpu_seconds(box):
        """What all threads of the box have had of a CPU."""
        return sum(int((task / 'schedstat').read_text(encoding='ascii').split()[0])
                   for task in pathlib.Path(f'/proc/{box.pid}/task').iterdir()) / 1e9

    def measure(self, profile, *options, frames=2500, hogs=0, stops=0, at_frame=lambda number: None,
                environment=None):
        """Sends frames one by one through a box. `hogs`: busy processes beside it; `stops`: times for which
        the box is stopped for 250 ms; `at_frame` is called before each frame; `environment`: more of it."""
        box = self.box(profile, *options, environment=environment)
        captures = [self.begin_capture(self.hosts[0], 'out'), self.begin_capture(self.hosts[1], 'in')]
        sender, receiver = self.sockets()
        more = itertools.count(frames)
        part = frames // (stops + 1)
        with sender, receiver, self.busy(hogs):
            began, spent = time.monotonic(), self.cpu_seconds(box)
            for number in range(frames):
                at_frame(number)
                if stops and number % part == part - 1:
                    self.stop(box, sender, more)
                sender.send(roce_frame(number, 64))
                time.sleep(0.0004)
            share = (self.cpu_seconds(box) - spent) / (time.monotonic() - began)
            last = roce_frame(frames - 1, 64)
            while select.select([receiver], [], [], TIMEOUT)[0]:
                if receiver.recv(2048)[PSN] == last[PSN]:
                    break
        box.send_signal(signal.SIGTERM)
        out, err = box.communicate(timeout=TIMEOUT)
        assert box.returncode in (0, 1), err
        for capture, _ in captures:
            capture.send_signal(signal.SIGINT)
            capture.wait(TIMEOUT)
        sent, came = (times_of(file) for _, file in captures)
        times = sorted(came[psn] - sent[psn] for psn in came if psn in sent)
        report = json.loads(out)
        return Passage(times, len(sent), report['directions'][0], report, box.returncode, share)

    @staticmethod
    def stop(box, sender, more):
        """Stops the box for 250 ms, while frames come."""
        box.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 0.25
        while time.monotonic() < end:
            sender.send(roce_frame(next(more), 64))
            time.sleep(0.002)
        box.send_signal(signal.SIGCONT)
