# SPDX-License-Identifier: BSD-3-Clause
"""Hostile clients, at every listener of a running program: the program goes on with its work,
answers another client, does not grow, and ends when it is told to."""

import contextlib
import ctypes
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import types
import unittest

import needs
import check_limits
import connect_requests
import hostile_clients
import otg_client
from hostile_clients import Listener
from longwire_test import BOX, SOURCE, begin, free_port, program
from pcap_file import read_pcap

CLONE_NEWNET = 0x40000000
TIMEOUT = 60  # s
MOST_GROWTH = 64 << 20  # bytes of resident memory
# There is room for all that the sender can bring within the delay, also when it makes up for time in
# which it had no core: so no frame is lost on a busy machine, whatever its speed.
CAPACITY = '[capacity]\nrate = "100Gb/s"\nsmallest_frame = "512B"\nlargest_frame = "1500B"\n'
PROFILE = '[[rule]]\nname = "path"\ndelay = "1ms"\n' + CAPACITY
# Frames stay inside for longer than a test waits: only a second signal ends this one in time.
SLOW_PROFILE = '[[rule]]\nname = "path"\ndelay = "200s"\n' + CAPACITY.replace('100Gb/s', '1Mb/s')
SHOW = b'{"do":"show"}\n'
FLOW = '[[flow]]\nmessage_size = 1024\nrepeat = "forever"\nrate = "{} frames/s"\n'
LOST = ('no_room', 'egress_full', 'no_buffer')


def status(pid, key):
    """A size of /proc/PID/status, in bytes."""
    text = pathlib.Path(f'/proc/{pid}/status').read_text(encoding='utf-8')
    return int(re.search(rf'^{key}:\s+(\d+) kB$', text, re.M)[1]) << 10


def terminate(process):
    """Sends SIGTERM; returns when the process has taken it, as a second one would not count before."""
    process.send_signal(signal.SIGTERM)
    status_file = pathlib.Path(f'/proc/{process.pid}/status')
    while process.poll() is None:
        pending = re.search(r'^ShdPnd:\s+(\w+)$', status_file.read_text(encoding='utf-8'), re.M)
        if not pending or not int(pending[1], 16) >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.01)


@contextlib.contextmanager
def bounded_growth(test, pid):
    """Resident memory stays within MOST_GROWTH of what it was, also in between."""
    before = status(pid, 'VmRSS')
    pathlib.Path(f'/proc/{pid}/clear_refs').write_text('5', encoding='utf-8')  # peak := now
    yield
    test.assertLess(status(pid, 'VmHWM') - before, MOST_GROWTH)


def limit(header, name):
    """A limit, in its unit."""
    return check_limits.read_headers(SOURCE)[header][name].value


def filled(make, size):
    """The request make(FILLER) with as many ranges as filler as make it `size` bytes long."""
    return make(('0-,' * size)[:size - len(make(''))])


def wait_until_listening(port):
    """Until a process of this network namespace listens at this port of 127.0.0.1."""
    end, state = time.monotonic() + TIMEOUT, f'0100007F:{port:04X} 00000000:0000 0A'
    while state not in pathlib.Path('/proc/self/net/tcp').read_text(encoding='ascii'):
        assert time.monotonic() < end, f'nobody listens at {port}'
        time.sleep(0.01)


class Box:
    """A roce-impair with all its listeners, which forwards what a roce-gen sends."""

    def __init__(self, owner, profile, rate):
        """It ends with the cleanups of `owner`."""
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        owner.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.control = str(self.folder / 'ctl')
        self.metrics = free_port()
        (self.folder / 'p.toml').write_text(profile, encoding='utf-8')
        (self.folder / 'f.toml').write_text(FLOW.format(rate), encoding='utf-8')
        memif = f'memif:{self.folder}/west'
        self.process = begin(owner, [
            *BOX, self.folder / 'p.toml', '--west', memif + ',server',
            '--east', 'null', '--control', self.control, '--metrics', f'127.0.0.1:{self.metrics}',
            '--web', '0', '--json'])
        self.sender = begin(owner, [program('roce-gen'), 'run', self.folder / 'f.toml', '--port',
                                    memif, '--quiet'])
        self.page, self.token = self._until_ready()
        self.wait_for_frames(100)

    def _until_ready(self):
        """(port, token) of the page, from what the box prints until it is ready."""
        said = ''
        while 'ready\n' not in said:
            line = self.process.stderr.readline()
            assert line, f'the box ended: {said}'
            said += line
        found = re.search(r'live page: http://127\.0\.0\.1:(\d+)/#token=(\S+)', said)
        return int(found[1]), found[2]

    def direction(self):
        """The accounting so far, from west to east; None where the box had no core to tell in time."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(TIMEOUT)
            client.connect(self.control)
            client.sendall(SHOW)
            report = json.loads(client.makefile().read())['report']
        assert report['identity_holds'], report
        return report['directions'][0] if report['directions'] else None

    def wait_for_frames(self, more):
        """Until so many more frames have come in; returns the accounting."""
        end, wanted = time.monotonic() + TIMEOUT, None
        while time.monotonic() < end:
            if now := self.direction():
                wanted = wanted or now['received']['frames'] + more
                if now['received']['frames'] >= wanted:
                    return now
            time.sleep(0.02)
        raise AssertionError('no frames come in')

    def listener(self, name):
        """Its listener of this name."""
        if name == 'control socket':
            return Listener(self.control, SHOW, SHOW, b'"ok":true', b'"ok":false')
        port, path = (self.metrics, '/metrics') if name == 'metrics' else (self.page, '/')
        request = self.http('GET', path, port)
        regular = request if name == 'metrics' else self.post(SHOW)
        return Listener(('127.0.0.1', port), request, regular, b'HTTP/1.1 200', b'HTTP/1.1 4')

    @staticmethod
    def http(method, path, port, headers='', body=b''):
        """An HTTP request."""
        return (f'{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{headers}'
                '\r\n').encode() + body

    def post(self, body):
        """A request to the page's server, with the token."""
        return self.http('POST', '/do', self.page, f'Origin: http://127.0.0.1:{self.page}\r\n'
                         f'Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n'
                         f'Content-Length: {len(body)}\r\n', body)

    def largest(self, name):
        """Requests that are as long as allowed, each with the same that is a byte longer."""
        if name == 'control socket':
            longest = limit('lib/net/limits.h', 'kMostControlRequest')
            return [tuple(SHOW.rjust(size) for size in (longest + 1, longest + 2))]  # and its newline
        port, path = (self.metrics, '/metrics') if name == 'metrics' else (self.page, '/')
        longest = limit('lib/net/limits.h', 'kMostHttpRequest')
        pairs = [tuple(filled(make, size) for size in (longest, longest + 1)) for make in (
            lambda filler: self.http('GET', f'{path}?{filler}', port),
            lambda filler: self.http('GET', path, port, f'X-Long: {filler}\r\n'),
            # Each range of a page is a copy of it.
            lambda filler: self.http('GET', path, port, f'Range: bytes={filler}0-\r\n'))]
        if name == 'page':
            longest = limit('lib/net/limits.h', 'kMostBody')
            pairs.append(tuple(self.post(SHOW.rjust(size)) for size in (longest, longest + 1)))
        return pairs


class AtBox:
    """The kinds of hostile clients, at the listener `name` of a box that forwards 100,000 frames/s."""

    @classmethod
    def setUpClass(cls):
        cls.box = Box(types.SimpleNamespace(addCleanup=cls.addClassCleanup), PROFILE, 100_000)
        cls.box.wait_for_frames(50_000)  # all buffers have been used
        cls.listener = cls.box.listener(cls.name)

    def endure(self, kind):
        with contextlib.ExitStack() as stack, bounded_growth(self, self.box.process.pid):
            kind(self.listener, stack)
            for _ in range(5):
                self.assertTrue(self.listener.answers_regular())
            self.check_forwarding()

    def check_forwarding(self):
        lost = self.box.wait_for_frames(1000)['dropped_for_resource']
        self.assertEqual([lost[why]['frames'] for why in LOST], [0, 0, 0])
        self.assertIsNone(self.box.sender.poll(), 'the sender ended')

    def test_idle_clients(self):
        self.endure(hostile_clients.idle)

    def test_half_requests(self):
        self.endure(hostile_clients.half)

    def test_random_bytes(self):
        self.endure(hostile_clients.random_bytes)

    def test_largest_requests_and_a_byte_more(self):
        for largest, too_large in self.box.largest(self.name):
            def kind(listener, _stack):
                for request, answer in ((largest, listener.answer), (too_large, listener.refusal)) * 10:
                    self.assertIn(answer, listener.ask(request)[:200])

            with self.subTest(largest[:60]):
                self.endure(kind)

    def test_many_requests(self):
        def some_thousand(listener, stack):
            done, end = hostile_clients.many(listener, stack), time.monotonic() + TIMEOUT
            while len(done) < 3000:
                self.assertLess(time.monotonic(), end, 'the requests are not answered')
                time.sleep(0.01)

        self.endure(some_thousand)


class ControlSocket(AtBox, unittest.TestCase):
    name = 'control socket'


class Metrics(AtBox, unittest.TestCase):
    name = 'metrics'


class Page(AtBox, unittest.TestCase):
    name = 'page'


@needs.open_files(4096)
class Signals(unittest.TestCase):
    """While clients of each kind are connected to each listener."""

    def under_attack(self, profile, rate):
        box = Box(self, profile, rate)
        for name in ('control socket', 'metrics', 'page'):
            for kind in hostile_clients.KINDS.values():
                kind(box.listener(name), self.stack)
        return box

    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def test_sigterm_ends_the_run(self):
        box = self.under_attack(PROFILE, 100_000)
        box.process.send_signal(signal.SIGTERM)
        out, err = box.process.communicate(timeout=TIMEOUT)
        self.assertEqual(box.process.returncode, 0, err)
        report = json.loads(out)
        self.assertTrue(report['identity_holds'] and report['resources_hold'], out)

    def test_a_second_one_ends_it_at_once(self):
        box = self.under_attack(SLOW_PROFILE, 100)
        terminate(box.process)
        self.assertIsNone(box.process.poll(), 'frames are inside')
        terminate(box.process)
        box.process.communicate(timeout=TIMEOUT)


class PageOfASender(unittest.TestCase):
    """roce-gen run --web, whose server is that of roce-impair's page."""

    @staticmethod
    def wait_until_it_sends(sender, port):
        """Its memory grows until then."""
        token = sender.stderr.readline().strip().rpartition('=')[2]
        client = http.client.HTTPConnection('127.0.0.1', port, timeout=TIMEOUT)
        with contextlib.closing(client):
            client.request('GET', '/events', None, {'Authorization': f'Bearer {token}',
                                                    'Origin': f'http://127.0.0.1:{port}'})
            for line in client.getresponse():
                if line.startswith(b'data: ') and json.loads(line[6:])['phase'] == 'running':
                    return
        raise AssertionError('it does not send')

    def test_each_kind_of_client(self):
        for name, kind in hostile_clients.KINDS.items():
            with self.subTest(name):
                port = free_port()
                sender = begin(self, [program('roce-gen'), 'run', '-', '--port', 'null', '--json', '--web',
                                      str(port)], text=FLOW.format(1000))
                request = Box.http('GET', '/', port)
                page = Listener(('127.0.0.1', port), request, request, b'HTTP/1.1 200', b'HTTP/1.1 4')
                wait_until_listening(port)
                self.wait_until_it_sends(sender, port)
                with contextlib.ExitStack() as stack:
                    with bounded_growth(self, sender.pid):
                        kind(page, stack)
                        self.assertTrue(page.answers_regular())
                    terminate(sender)
                    out, err = sender.communicate(timeout=TIMEOUT)
                self.assertEqual(sender.returncode, 0, err)
                self.assertEqual(json.loads(out)['not_sent'], 0)


class Otg(unittest.TestCase):
    """roce-gen otg, while its QPs send."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.server = otg_client.Server(self)
        self.server.set_config(otg_client.four_qps(holder.name))
        self.server.protocols('start')
        self.server.wait_until_up()
        self.server.traffic('start')
        self.server.wait_until_messages(1)

    def listener(self):
        body = b'{"choice":"rocev2_flow"}'
        ask = (f'POST /monitor/metrics HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nContent-Type: application/json'
               f'\r\nContent-Length: {len(body)}\r\n\r\n').encode() + body
        return Listener(('127.0.0.1', self.server.port), ask, ask, b'HTTP/1.1 200', b'HTTP/1.1 4')

    def test_each_kind_of_client(self):
        for name, kind in hostile_clients.KINDS.items():
            with self.subTest(name), contextlib.ExitStack() as stack:
                before = sum(row['message_complete_rx'] for row in self.server.metrics())
                with bounded_growth(self, self.server.process.pid):
                    kind(self.listener(), stack)
                    self.assertTrue(self.listener().answers_regular())
                self.server.wait_for(lambda rows: sum(row['message_complete_rx'] for row in rows) > before)
        self.assertEqual(self.server.traffic('stop'), [])
        self.assertEqual({row['message_fail'] for row in self.server.metrics()}, {0})
        terminate(self.server.process)
        self.server.process.communicate(timeout=TIMEOUT)
        self.assertEqual(self.server.process.returncode, 0)

    def test_a_body_that_is_too_long_is_refused(self):
        most = limit('gen/otg/limits.h', 'kMostBody')
        self.assertEqual(self.server.ask('POST', '/config', b' ' * (most + 1))[0], 413)
        self.assertEqual(self.server.ask('POST', '/config', b' ' * most)[0], 400)


class SentReport(unittest.TestCase):
    """receive --sent tcp:, which waits for the sender's report."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.profile, self.capture = (pathlib.Path(holder.name) / name for name in ('p.toml', 'p.pcap'))
        self.profile.write_text('[[flow]]\nname = "one"\nsignature = true\nmessages = 100\n'
                                '[expect]\nloss = 0\n', encoding='utf-8')
        self.port = free_port()
        self.place = f'tcp:127.0.0.1:{self.port}'

    def send_report(self, place):
        """A sender's run, which writes its frames into the capture."""
        return subprocess.run([program('roce-gen'), 'run', self.profile, '--pcap', self.capture, '--quiet',
                               '--json', '--report-to', place], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)

    def receive(self):
        """A receiver that waits for the report of this machine's sender."""
        self.send_report('/dev/null')
        receiver = begin(self, [program('roce-gen'), 'receive', '--port', f'pcap:{self.capture}',
                                '--profile', self.profile, '--sent', self.place, '--sent-from',
                                hostile_clients.REGULAR, '--json'])
        wait_until_listening(self.port)
        return receiver

    def attack(self, kind, stack):
        kind(Listener(('127.0.0.1', self.port), b'{"schema":"longwire.send"}\n', b'', b'', b''), stack)

    def endure(self, kind):
        receiver = self.receive()
        with contextlib.ExitStack() as stack:
            with bounded_growth(self, receiver.pid):
                self.attack(kind, stack)
            self.assertEqual(self.send_report(self.place).returncode, 0)
            out, err = receiver.communicate(timeout=TIMEOUT)
        self.assertEqual(receiver.returncode, 0, err)
        self.assertEqual(json.loads(out)['verdict']['colour'], 'green', out)

    def test_sigterm_ends_the_wait(self):
        receiver = self.receive()
        with contextlib.ExitStack() as stack:
            for kind in hostile_clients.KINDS.values():
                self.attack(kind, stack)
            terminate(receiver)
            receiver.communicate(timeout=TIMEOUT)

    def test_idle_clients(self):
        self.endure(hostile_clients.idle)

    def test_half_reports(self):
        self.endure(hostile_clients.half)

    def test_random_bytes(self):
        self.endure(hostile_clients.random_bytes)

    def test_an_endless_report(self):
        def endless(listener, stack):
            client = stack.enter_context(listener.connect())
            with contextlib.suppress(OSError):  # it is disconnected
                for _ in range(2 * MOST_GROWTH >> 20):
                    client.sendall(b' ' * (1 << 20))

        self.endure(endless)

    def test_many_wrong_reports(self):
        self.endure(hostile_clients.many)


@needs.root('network namespaces')
class Respond(unittest.TestCase):
    """roce-gen respond, and a host on its wire that sends mutated connection requests."""

    @classmethod
    def setUpClass(cls):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            needs.lacks('a network namespace', os.strerror(ctypes.get_errno()))
        for words in ('link set lo up', 'link add near mtu 9000 type veth peer name far mtu 9000',
                      'link set near addrgenmode none up', 'link set far addrgenmode none up'):
            subprocess.run(['ip', *words.split()], check=True, timeout=TIMEOUT)

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.responder = begin(self, [program('roce-gen'), 'respond', '--port', 'far', '--sessions',
                                      '0', '--memory', '32MiB', '--json'])

    def perf(self, *options):
        """A regular client."""
        done = subprocess.run([program('roce-gen'), 'perf', '--port', 'near', '--peer', '198.18.0.2',
                               '-s', '64KiB', '-n', '20', '-t', '4', '--wait', '60s', *options],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def send_requests(self, template, count, done):
        """1,000 a second, as far as the machine has the time."""
        chance, begun = random.Random(hostile_clients.SEED), time.monotonic()
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
            wire.bind(('near', 0))
            for number in range(count):
                wire.send(connect_requests.mutated(template, number, chance))
                if done.wait(max(0, begun + number / 1000 - time.monotonic())):
                    return

    def under_attack(self):
        """(thread that sends mutated requests, event that ends it)"""
        self.perf('--pcap', self.folder / 'perf.pcap')
        frames = [frame for _, frame in read_pcap(self.folder / 'perf.pcap')]
        template = connect_requests.of_another_host(
            next(filter(connect_requests.is_request, frames)), 66)
        done = threading.Event()
        sender = threading.Thread(target=self.send_requests, args=(template, 20_000, done))
        sender.start()
        self.addCleanup(sender.join)
        self.addCleanup(done.set)  # runs first
        return sender

    def test_mutated_connection_requests(self):
        self.under_attack()
        with bounded_growth(self, self.responder.pid):
            for operation in ('write', 'send', 'read'):
                self.perf('--op', operation)
        self.assertIsNone(self.responder.poll())

    def test_sigterm_ends_it(self):
        self.under_attack()
        terminate(self.responder)
        _, err = self.responder.communicate(timeout=TIMEOUT)
        self.assertEqual(self.responder.returncode, 0, err)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
