# SPDX-License-Identifier: BSD-3-Clause
"""What two Linux hosts say to each other through roce-impair, with the kernel's default offloads:
TCP, UDP, ping, IPv6 neighbour discovery, QinQ, fragments and 9,000 B frames arrive as they were
sent. Needs root, for two network namespaces.

With LONGWIRE_TEST_DRIVER=af_packet: the box uses DPDK's driver instead, and most of this fails."""

import ctypes
import hashlib
import json
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import needs
import longwire_test
from impair_linux import SOL_PACKET, ip, receive

TIMEOUT = 60
DRIVER = os.environ.get('LONGWIRE_TEST_DRIVER', '')
own_port = unittest.skipIf(DRIVER, 'needs our own port: unset LONGWIRE_TEST_DRIVER')
SUFFIX = os.getpid()
WEST, EAST = f'lw{SUFFIX}w', f'lw{SUFFIX}e'
HOSTS = {WEST: 1, EAST: 2}


def socket_in(namespace, *arguments):
    """A socket in another network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open('/proc/thread-self/ns/net', os.O_RDONLY)
    there = os.open(f'/var/run/netns/{namespace}', os.O_RDONLY)
    try:
        if libc.setns(there, 0) != 0:
            raise OSError(ctypes.get_errno(), 'setns')
        opened = socket.socket(*arguments)
    finally:
        libc.setns(home, 0)
        os.close(home)
        os.close(there)
    opened.settimeout(TIMEOUT)
    return opened


def checksum(data):
    data += b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def faults_of(frame):
    """What is wrong with the checksums of a frame that a wire would carry; fragments have none of
    their own above IP."""
    at = 14
    while frame[at - 2:at] in (b'\x81\x00', b'\x88\xa8'):
        at += 4
    if frame[at - 2:at] == b'\x08\x00':
        header = 4 * (frame[at] & 15)
        packet = frame[at:at + int.from_bytes(frame[at + 2:at + 4], 'big')]
        if checksum(packet[:header]):
            return ['IPv4 header']
        if int.from_bytes(packet[6:8], 'big') & 0x3fff:
            return []
        kind, addresses, body = packet[9], packet[12:20], packet[header:]
    elif frame[at - 2:at] == b'\x86\xdd':
        body = frame[at + 40:at + 40 + int.from_bytes(frame[at + 4:at + 6], 'big')]
        kind, addresses = frame[at + 6], frame[at + 8:at + 40]
    else:
        return []
    if kind not in (6, 17, 58):
        return []
    return ['transport'] if checksum(addresses + struct.pack('>II', len(body), kind) + body) else []


@needs.root('network namespaces')
class Kernel(unittest.TestCase):
    """Two hosts, 10.9.0.1 and 10.9.0.2, and the box between the other ends of their veth links."""

    mtu = 1500
    options = ()

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        for name in HOSTS:
            try:
                ip('netns', 'add', name)
            except (OSError, subprocess.CalledProcessError) as error:
                needs.lacks('network namespaces', error)
            self.addCleanup(ip, 'netns', 'del', name)
        for name in HOSTS:
            self.join(name)
            self.addCleanup(self.part, name)

    def join(self, name):
        """A veth link from a host to the box."""
        ip('link', 'add', f'{name}m', 'type', 'veth', 'peer', 'name', 'far', 'netns', name)
        ip('link', 'set', f'{name}m', 'addrgenmode', 'none', 'mtu', str(self.mtu), 'up')
        ip('-n', name, 'link', 'set', 'far', 'mtu', str(self.mtu), 'up')
        ip('-n', name, 'addr', 'add', f'10.9.0.{HOSTS[name]}/24', 'dev', 'far')
        ip('-n', name, 'addr', 'add', f'fd00:9::{HOSTS[name]}/64', 'dev', 'far', 'nodad')

    def part(self, name):
        """Takes the link away, if a test has not done so."""
        if pathlib.Path(f'/sys/class/net/{name}m').exists():
            ip('link', 'del', f'{name}m')

    def start(self, profile='[[rule]]\nname = "r"\ndelay = "1ms"\n', port='{}', options=()):
        path = self.folder / 'p.toml'
        path.write_text(profile)
        prefix = f'{DRIVER}:' if DRIVER else ''
        box = longwire_test.begin(
            self, [*longwire_test.BOX, path,
                   '--west', prefix + port.format(f'{WEST}m'),
                   '--east', prefix + port.format(f'{EAST}m'), '--json', *options])
        said = ''
        while 'ready' not in said:
            line = box.stderr.readline()
            self.assertTrue(line, f'the box ended early: {said}')
            said += line
        return box

    def finish(self, box, code=0):
        box.send_signal(signal.SIGTERM)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, code, f'{out}\n{err}')
        return json.loads(out)

    def ping(self, address, size=56, namespace=WEST):
        """Ten echo requests, each answered with its bytes."""
        v6 = ':' in address
        with (socket_in(namespace, socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) if v6
              else socket_in(namespace, socket.AF_INET, socket.SOCK_RAW,
                             socket.IPPROTO_ICMP)) as opened:
            for sequence in range(10):
                body = struct.pack('>HH', 0x4c57, sequence) + os.urandom(size)
                message = bytes([128 if v6 else 8, 0, 0, 0]) + body
                if not v6:  # the kernel fills in ICMPv6's
                    message = message[:2] + struct.pack('>H', checksum(message)) + message[4:]
                opened.sendto(message, (address, 0))
                until = time.monotonic() + 5
                while True:
                    left = until - time.monotonic()
                    self.assertTrue(left > 0 and select.select([opened], [], [], left)[0],
                                    f'no answer from {address} with {size} B')
                    answer = opened.recv(65536)[0 if v6 else 20:]
                    if answer[0] == (129 if v6 else 0) and answer[4:] == body:
                        break

    def tcp(self, family, address, size, there=EAST, here=WEST):
        """Transfers bytes; returns MB/s."""
        data = os.urandom(1 << 20)
        with socket_in(there, family, socket.SOCK_STREAM) as server:
            server.bind((address, 0))
            server.listen()
            got, seen = hashlib.sha256(), []

            def serve():
                try:
                    connection, _ = server.accept()
                except OSError:
                    return  # the client never came
                with connection:
                    connection.settimeout(TIMEOUT)
                    while block := connection.recv(1 << 20):
                        got.update(block)
                        seen.append(len(block))

            serving = threading.Thread(target=serve)
            with socket_in(here, family, socket.SOCK_STREAM) as client:
                client.settimeout(5)
                serving.start()
                client.connect((address, server.getsockname()[1]))
                began = time.monotonic()
                sent = hashlib.sha256()
                for _ in range(size >> 20):
                    client.sendall(data)
                    sent.update(data)
                client.shutdown(socket.SHUT_WR)
                serving.join(TIMEOUT)
            took = time.monotonic() - began
        self.assertEqual(sum(seen), size)
        self.assertEqual(got.digest(), sent.digest())
        return size / 1e6 / took

    def udp(self, family, address, sizes, there=EAST, here=WEST):
        """Datagrams of each size, in order."""
        with socket_in(there, family, socket.SOCK_DGRAM) as server, \
                socket_in(here, family, socket.SOCK_DGRAM) as client:
            server.bind((address, 0))
            server.settimeout(5)
            for size in sizes:
                data = os.urandom(size)
                client.sendto(data, (address, server.getsockname()[1]))
                self.assertEqual(server.recv(65536), data, f'{size} B')

    def test_tcp(self):
        box = self.start()
        for family, address in ((socket.AF_INET, '10.9.0.2'), (socket.AF_INET6, 'fd00:9::2')):
            rate = self.tcp(family, address, 32 << 20)
            print(f'# TCP to {address}: {rate:.0f} MB/s', flush=True)
        self.tcp(socket.AF_INET, '10.9.0.1', 4 << 20, WEST, EAST)
        report = self.finish(box)
        self.assertTrue(report['identity_holds'])

    def test_tcp_through_a_tunnel(self):
        """The kernel leaves packets of up to 64 KiB in VXLAN unsegmented."""
        for name, number in HOSTS.items():
            ip('-n', name, 'link', 'add', 'vx', 'type', 'vxlan', 'id', '7', 'remote',
               f'10.9.0.{3 - number}', 'dstport', '4789', 'dev', 'far')
            ip('-n', name, 'link', 'set', 'vx', 'up')
            ip('-n', name, 'addr', 'add', f'10.8.0.{number}/24', 'dev', 'vx')
        box = self.start()
        rate = self.tcp(socket.AF_INET, '10.8.0.2', 16 << 20)
        print(f'# TCP through VXLAN: {rate:.0f} MB/s', flush=True)
        report = self.finish(box)
        self.assertTrue(report['identity_holds'])
        self.assertEqual([port['errors'] for port in report['ports']], [0, 0])

    def test_udp_and_fragments(self):
        box = self.start()
        for family, address in ((socket.AF_INET, '10.9.0.2'), (socket.AF_INET6, 'fd00:9::2')):
            self.udp(family, address, (0, 1, 7, 1472, 1473, 8000, 20_001, 60_000))
        report = self.finish(box)
        # 1473 B: 2 fragments; 8,000 B: 6; 20,001 B: 14; 60,000 B: 41; as sent, not reassembled.
        self.assertGreaterEqual(report['directions'][0]['fragments'], 2 * (2 + 6 + 14 + 41) - 2)

    def test_udp_segmentation_offload(self):
        box = self.start()
        udp_segment = 103
        with socket_in(EAST, socket.AF_INET, socket.SOCK_DGRAM) as server, \
                socket_in(WEST, socket.AF_INET, socket.SOCK_DGRAM) as client:
            server.bind(('10.9.0.2', 0))
            client.setsockopt(socket.IPPROTO_UDP, udp_segment, 1000)
            data = os.urandom(30_300)
            client.sendto(data, server.getsockname())
            got = [server.recv(65536) for _ in range(31)]
        self.assertEqual([len(part) for part in got], [1000] * 30 + [300])
        self.assertEqual(b''.join(got), data)
        self.finish(box)

    def test_ping_and_neighbour_discovery(self):
        box = self.start()
        for address, namespace in (('10.9.0.2', WEST), ('fd00:9::2', WEST), ('10.9.0.1', EAST),
                                   ('fd00:9::1', EAST)):
            for size in (0, 56, 1400, 5000):
                self.ping(address, size, namespace)
        for number, name in ((2, WEST), (1, EAST)):
            found = json.loads(subprocess.run(
                ['ip', '-n', name, '-j', 'neigh', 'show', 'to', f'fd00:9::{number}'], check=True,
                capture_output=True, timeout=TIMEOUT).stdout)
            self.assertIn('lladdr', found[0])
        self.finish(box)

    def test_qinq(self):
        # veth counts the second tag as payload.
        for name in HOSTS:
            ip('link', 'set', f'{name}m', 'mtu', '1504')
            ip('-n', name, 'link', 'set', 'far', 'mtu', '1508')  # of raw frames, both
        box = self.start()
        frames = [head + inner + b'\x88\xb5' + os.urandom(size)
                  for head in (b'\x88\xa8\xe0\x4d', b'\x81\x00\x00\x05', b'\x88\xa8\x0f\xff')
                  for inner in (b'', b'\x81\x00\x60\x05', b'\x88\xa8\x00\x07')
                  for size in (46, 1000, 1500)]
        frames = [b'\x02\0\0\0\0\x09' + b'\x02\0\0\0\0\x08' + frame for frame in frames]
        for there, here in ((WEST, EAST), (EAST, WEST)):
            with socket_in(there, socket.AF_PACKET, socket.SOCK_RAW) as sender, \
                    socket_in(here, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
                sender.bind(('far', 0))
                wire.bind(('far', 0))
                wire.setsockopt(SOL_PACKET, 8, 1)  # PACKET_AUXDATA
                missing = list(frames)
                for frame in frames:
                    sender.send(frame)
                while missing and select.select([wire], [], [], 5)[0]:
                    frame = receive(wire)
                    if frame in missing:
                        missing.remove(frame)
                self.assertEqual([(frame[12:22].hex(), len(frame)) for frame in missing], [])
        self.finish(box)

    def test_every_frame_is_one_that_a_wire_carries(self):
        """What leaves the box: no frame is longer than the MTU, every checksum is right."""
        box = self.start()
        with socket_in(EAST, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
            wire.bind(('far', 0))
            wire.setsockopt(SOL_PACKET, 8, 1)  # PACKET_AUXDATA
            wire.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
            self.tcp(socket.AF_INET, '10.9.0.2', 1 << 20)
            self.tcp(socket.AF_INET6, 'fd00:9::2', 1 << 20)
            wrong, longest, frames = [], 0, 0
            while select.select([wire], [], [], 0.2)[0]:
                data, extra, _, (_, _, kind, _, _) = wire.recvmsg(70_000, 64)
                if kind == socket.PACKET_OUTGOING:
                    continue
                frames += 1
                longest = max(longest, len(data))
                wrong += faults_of(data)
        self.assertGreater(frames, 1400)
        self.assertEqual((longest, wrong), (1514, []))
        self.finish(box)

    def test_what_the_box_drops_is_named(self):
        """A frame of the far end that is longer than the box's way out permits."""
        ip('link', 'set', f'{EAST}m', 'mtu', '1000')
        box = self.start()
        self.ping('10.9.0.2', 500)
        with self.assertRaises(AssertionError):
            self.ping('10.9.0.2', 1400)
        report = self.finish(box, code=1)
        self.assertFalse(report['ports_hold'])
        east = next(port for port in report['ports'] if port['side'] == 'east')
        self.assertGreaterEqual(east['unsent_too_long'], 1)

    def test_an_mtu_that_the_far_end_lowers_is_suspected(self):
        """The box cannot see the far end's MTU, only that frames are refused."""
        box = self.start()
        self.ping('10.9.0.2', 1400)
        ip('-n', EAST, 'link', 'set', 'far', 'mtu', '1000')
        with self.assertRaises(AssertionError):
            self.ping('10.9.0.2', 1400)
        east = next(port for port in self.finish(box, code=1)['ports'] if port['side'] == 'east')
        self.assertEqual((east['unsent_too_long'], east['unsent_dropped'] > 0), (0, True))

    def test_losses_of_the_ring_are_missed(self):
        """The box is stopped while more frames arrive than the kernel's ring holds."""
        box = self.start()
        box.send_signal(signal.SIGSTOP)
        frame = b'\x02\0\0\0\0\x09\x02\0\0\0\0\x08\x88\xb5' + bytes(50)
        with socket_in(WEST, socket.AF_PACKET, socket.SOCK_RAW) as wire:
            wire.bind(('far', 0))
            for _ in range(3000):
                wire.send(frame)
        box.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        report = self.finish(box, code=1)
        west = next(port for port in report['ports'] if port['side'] == 'west')
        came = report['directions'][0]['received']['frames']
        self.assertGreater(west['missed'], 1000)
        self.assertGreaterEqual(came + west['missed'], 3000)
        self.assertFalse(report['ports_hold'])

    @own_port
    def test_tcpdump_sees_sent_frames_when_asked(self):
        for port, seen in (('{}', False), ('{},qdisc', True)):
            box = self.start(port=port)
            with socket_in(WEST, socket.AF_INET, socket.SOCK_DGRAM):
                pass
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as tap:
                tap.bind((f'{EAST}m', 0))
                self.ping('10.9.0.2')
                kinds = set()
                while select.select([tap], [], [], 0.2)[0]:
                    kinds.add(tap.recvfrom(65536)[1][2])
            self.assertEqual(socket.PACKET_OUTGOING in kinds, seen)
            self.finish(box)

    @own_port
    def test_af_xdp(self):
        # The kernel hands over checksums and packets as they are, so the hosts finish them.
        box = self.start(port='{},af_xdp')
        self.ping('10.9.0.2')
        self.ping('10.9.0.2', 1400)
        self.finish(box)

    def test_af_xdp_says_which_frames_are_too_long(self):
        path = self.folder / 'p.toml'
        for size, code in ((None, 0), (9000, 3)):
            path.write_text('[[rule]]\nname = "r"\n' +
                            (f'[capacity]\nlargest_frame = {size}\n' if size else ''))
            run = subprocess.run(
                [*longwire_test.BOX, path, '--west', f'{WEST}m,af_xdp',
                 '--east', 'null', '--duration', '0.1'], capture_output=True, text=True,
                timeout=TIMEOUT, check=False)
            self.assertEqual(run.returncode, code, run.stderr)
            self.assertIn('at most 3328 B', run.stderr)


class LostLinks(Kernel):
    """An interface loses its link, or disappears, while the box runs."""

    def wait_for(self, box, text):
        """Reads what the box says up to a line that has the text."""
        while True:
            line = box.stderr.readline()
            self.assertTrue(line, f'the box ended before it said: {text}')
            if text in line:
                return line

    def lose(self, how):
        if how == 'deleted':
            ip('link', 'del', f'{WEST}m')
        else:
            ip('-n', WEST, 'link', 'set', 'far', 'down')

    def bring_back(self, how):
        if how == 'deleted':
            self.join(WEST)
        else:
            ip('-n', WEST, 'link', 'set', 'far', 'up')

    def test_stop(self):
        for how, what in (('down', 'has lost its link'), ('deleted', 'has disappeared')):
            box = self.start()
            self.ping('10.9.0.2')
            self.lose(how)
            out, err = box.communicate(timeout=TIMEOUT)
            self.assertEqual(box.returncode, 1, err)
            self.assertIn(f'port `{WEST}m` {what}: the run ends', err)
            report = json.loads(out)
            self.assertFalse(report['links_hold'])
            self.assertTrue(report['identity_holds'])
            self.assertEqual([port['link_losses'] for port in report['ports']], [1, 0])
            self.bring_back(how)

    def test_hold(self):
        for how in ('down', 'deleted'):
            with self.subTest(how):
                self.hold(how)

    def hold(self, how):
        box = self.start('on_link_loss = "hold"\n[[rule]]\nname = "r"\ndelay = "1ms"\n')
        self.ping('10.9.0.2')
        self.lose(how)
        self.wait_for(box, 'until it is back')
        with socket_in(EAST, socket.AF_PACKET, socket.SOCK_RAW) as opened:
            opened.bind(('far', 0))
            for _ in range(100):
                opened.send(bytes(range(6)) * 2 + b'\x88\xb5' + bytes(50))
        time.sleep(0.1)
        self.bring_back(how)
        self.wait_for(box, 'has its link again, after')
        # The peer may still look for the address that it lost.
        self.ping('10.9.0.2')
        report = self.finish(box, 1)
        self.assertFalse(report['links_hold'])
        self.assertTrue(report['identity_holds'])
        west, east = report['ports']
        self.assertEqual((west['link_losses'], east['link_losses']), (1, 0))
        self.assertGreater(west['without_link_ns'], 100_000_000)
        self.assertEqual([(one['by'], one['name'], one['before'], one['after'])
                          for one in report['changes']],
                         [('link watch', 'west', 'up', 'down'), ('link watch', 'west', 'down', 'up')])
        self.assertGreaterEqual(
            report['directions'][1]['dropped_for_resource']['link_down']['frames'], 100)

    def test_a_flap_of_the_scenario_is_no_loss(self):
        box = self.start('[[rule]]\nname = "r"\n[[flap]]\nname = "f"\nport = "west"\n'
                         'time = "100ms"\ndown = "300ms"\n')
        self.ping('10.9.0.2')
        time.sleep(1)
        self.ping('10.9.0.2')
        report = self.finish(box)
        self.assertTrue(report['links_hold'])
        self.assertEqual(report['scenario']['done'], 2)

    def test_the_option_overrides_the_profile(self):
        box = self.start('on_link_loss = "hold"\n[[rule]]\nname = "r"\n',
                         options=('--on-link-loss', 'stop'))
        self.lose('deleted')
        _, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, 1, err)
        self.assertIn('has disappeared', err)
        self.bring_back('deleted')
        wrong = subprocess.run([longwire_test.program('roce-impair'), 'run',
                                self.folder / 'p.toml', '--west', 'null', '--east', 'null',
                                '--on-link-loss', 'wait'], capture_output=True, text=True,
                               timeout=TIMEOUT, check=False)
        self.assertEqual(wrong.returncode, 2)
        self.assertRegex(wrong.stderr, 'stop.*hold.*wait')


class KernelJumbo(Kernel):
    """Frames of 9,000 B and more, on the same links."""
    mtu = 9000

    def test_jumbo(self):
        box = self.start()
        self.udp(socket.AF_INET, '10.9.0.2', (8972, 8973, 60_000))
        self.ping('fd00:9::2', 8900)
        print(f"# TCP, 9,000 B: {self.tcp(socket.AF_INET, '10.9.0.2', 64 << 20):.0f} MB/s", flush=True)
        self.finish(box)


def load_tests(loader, _, __):
    """Of KernelJumbo and LostLinks only their own tests."""
    suite = loader.loadTestsFromTestCase(Kernel)
    for name in loader.getTestCaseNames(LostLinks):
        if not hasattr(Kernel, name):
            suite.addTest(LostLinks(name))
    suite.addTest(KernelJumbo('test_jumbo'))
    return suite


if __name__ == '__main__':
    longwire_test.main()
