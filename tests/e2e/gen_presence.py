# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen as a station among others: Linux finds it by ARP and neighbour discovery, pings it, and
is found. Needs root, for two network namespaces of its own."""

import ctypes
import json
import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

import needs
import longwire_test

GEN = longwire_test.program('roce-gen')
TIMEOUT = 60
SUFFIX = os.getpid()
HERE, THERE = f'lw{SUFFIX}g', f'lw{SUFFIX}k'
KERNEL_MAC, OWN_MAC = '02:00:00:00:0b:02', '02:00:00:00:0b:01'

PROFILE = f'''
[presence]
addresses = ["192.0.2.7"]
[defaults]
source_mac = "{OWN_MAC}"
destination_mac = "arp"
repeat = "forever"
rate = "200 frames/s"
[[flow]]
source = "192.0.2.1"
destination = "192.0.2.2"
[[flow]]
source = "2001:db8::1"
destination = "2001:db8::2"
[[flow]]
source = "192.0.2.1"
destination = "203.0.113.9"
gateway = "192.0.2.2"
'''


def ip(*words):
    done = subprocess.run(['ip', *words], check=True, capture_output=True, timeout=TIMEOUT,
                          text=True)
    return done.stdout


def socket_there(*arguments):
    """A socket in the kernel's namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open('/proc/self/ns/net', os.O_RDONLY)
    there = os.open(f'/var/run/netns/{THERE}', os.O_RDONLY)
    try:
        if libc.setns(there, 0) != 0:
            raise OSError(ctypes.get_errno(), 'setns')
        return socket.socket(*arguments)
    finally:
        libc.setns(home, 0)
        os.close(home)
        os.close(there)


def checksum(data):
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ping(address, data=b'longwire' * 7, attempts=20):
    """Whether an echo request of the kernel's namespace is answered with the same data."""
    v6 = ':' in address
    ask, reply = (128, 129) if v6 else (8, 0)
    with (socket_there(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) if v6 else
          socket_there(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)) as opened:
        for sequence in range(attempts):
            body = struct.pack('>HH', 0x4c57, sequence) + data
            message = bytes([ask, 0, 0, 0]) + body
            if not v6:  # the kernel fills in ICMPv6's
                message = bytes([ask, 0]) + struct.pack('>H', checksum(message)) + body
            opened.sendto(message, (address, 0))
            while select.select([opened], [], [], 1)[0]:
                got, sender = opened.recvfrom(4096)
                got = got if v6 else got[20:]
                if sender[0] == address and got[0] == reply and got[4:] == body:
                    return True
    return False


@needs.root('network namespaces')
class Presence(unittest.TestCase):
    def setUp(self):
        for name in (HERE, THERE):
            try:
                ip('netns', 'add', name)
            except (OSError, subprocess.CalledProcessError) as error:
                needs.lacks('network namespaces', error)
            self.addCleanup(ip, 'netns', 'del', name)
        ip('link', 'add', 'gen', 'netns', HERE, 'type', 'veth', 'peer', 'name', 'kernel', 'netns',
           THERE)
        # On our side the kernel keeps silent: no address of its own.
        ip('-n', HERE, 'link', 'set', 'gen', 'addrgenmode', 'none', 'up')
        ip('-n', THERE, 'link', 'set', 'kernel', 'address', KERNEL_MAC, 'up')
        ip('-n', THERE, 'addr', 'add', '192.0.2.2/24', 'dev', 'kernel')
        ip('-n', THERE, 'addr', 'add', '2001:db8::2/64', 'dev', 'kernel', 'nodad')

    def start(self, profile):
        return longwire_test.begin(
            self, ['ip', 'netns', 'exec', HERE, GEN, 'run', '-', '--port', 'gen', '--json'], profile)

    def first_frames(self, wanted):
        """RoCE frames that the kernel's side sees, one for each wanted destination: its MAC."""
        seen = {}
        with socket_there(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as opened:
            opened.bind(('kernel', 0))
            while set(seen) != wanted and select.select([opened], [], [], TIMEOUT)[0]:
                frame = opened.recv(65536)
                if frame[12:14] == b'\x08\x00' and frame[23] == 17:
                    seen[socket.inet_ntop(socket.AF_INET, frame[30:34])] = frame[:6].hex(':')
                if frame[12:14] == b'\x86\xdd' and frame[20] == 17:
                    seen[socket.inet_ntop(socket.AF_INET6, frame[38:54])] = frame[:6].hex(':')
        return seen

    def neighbour(self, address):
        entries = json.loads(ip('-n', THERE, '-j', 'neigh', 'show', 'to', address))
        return [entry.get('lladdr') for entry in entries]

    def test_what_a_link_cannot_carry_is_refused_with_the_sum(self):
        flows = ('[[flow]]\nname = "web"\nrate = "7Gb/s"\n'
                 '[[flow]]\nname = "disk"\nqps = 2\nrate = "5Gb/s"\n')
        done = subprocess.run(
            ['ip', 'netns', 'exec', HERE, GEN, 'run', '-', '--port', 'gen', '--count', '1'],
            input=flows, capture_output=True, text=True, timeout=TIMEOUT)
        # What a veth says of itself: 10 Gb/s.
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('port `gen` has a link of 10.00 Gb/s, and its flows want '
                      'web 7.00 Gb/s + disk 5.00 Gb/s = 12.00 Gb/s on the wire', done.stderr)

    def test_a_receiver_answers_too(self):
        receiver = longwire_test.begin(
            self, ['ip', 'netns', 'exec', HERE, GEN, 'receive', '--port', 'gen', '--answer',
                   '192.0.2.9', '--answer', '2001:db8::9', '--mac', OWN_MAC, '--json', '--quiet'])
        while 'ready' not in receiver.stderr.readline():
            pass
        for address in ('192.0.2.9', '2001:db8::9'):
            self.assertTrue(ping(address), address)
            self.assertEqual(self.neighbour(address), [OWN_MAC])
        receiver.send_signal(signal.SIGINT)
        out, _ = receiver.communicate(timeout=TIMEOUT)
        report = json.loads(out)
        self.assertEqual(receiver.returncode, 0)
        self.assertGreater(report['frames'], 0)

    def test_frames_that_found_the_kernels_ring_full_fail_the_verdict(self):
        with tempfile.NamedTemporaryFile('w', suffix='.toml') as profile:
            profile.write('[[flow]]\n[expect]\nduplicated = "0%"\n')
            profile.flush()
            receiver = longwire_test.begin(
                self, ['ip', 'netns', 'exec', HERE, GEN, 'receive', '--port', 'gen', '--profile',
                       profile.name, '--json', '--quiet'])
            while 'ready' not in receiver.stderr.readline():
                pass
            time.sleep(0.2)
            receiver.send_signal(signal.SIGSTOP)
            with socket_there(socket.AF_PACKET, socket.SOCK_RAW) as wire:
                wire.bind(('kernel', 0))
                for _ in range(3000):
                    wire.send(b'\x02\0\0\0\0\x09\x02\0\0\0\0\x08\x88\xb5' + bytes(50))
            receiver.send_signal(signal.SIGCONT)
            time.sleep(0.3)
            receiver.send_signal(signal.SIGINT)
            out, err = receiver.communicate(timeout=TIMEOUT)
        report = json.loads(out)
        self.assertEqual(receiver.returncode, 1, err)
        self.assertGreater(report['missed'], 1000)
        self.assertGreaterEqual(report['missed'] + report['frames'], 3000)
        self.assertRegex(report['verdict']['headline'],
                         rf"this machine lost {report['missed']:,} of [0-9,]+ frames")

    def test_linux_and_roce_gen_find_each_other(self):
        run = self.start(PROFILE)
        wanted = {'192.0.2.2', '2001:db8::2', '203.0.113.9'}
        self.assertEqual(self.first_frames(wanted), dict.fromkeys(wanted, KERNEL_MAC))
        for address in ('192.0.2.1', '2001:db8::1', '192.0.2.7'):
            self.assertTrue(ping(address), address)
            self.assertEqual(self.neighbour(address), [OWN_MAC])
        self.assertFalse(ping('192.0.2.99', attempts=1))
        # An address that is ours is refused by duplicate address detection.
        ip('-n', THERE, 'addr', 'add', '2001:db8::1/64', 'dev', 'kernel')
        with socket_there(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as changes:
            changes.bind((0, 0x100))  # RTMGRP_IPV6_IFADDR
            while True:
                words = ip('-n', THERE, '-6', 'addr', 'show', 'dev', 'kernel', 'to', '2001:db8::1')
                if 'tentative' not in words or 'dadfailed' in words:
                    break
                self.assertTrue(select.select([changes], [], [], TIMEOUT)[0], words)
                changes.recv(65536)
        self.assertIn('dadfailed', words)
        # The signal goes to roce-gen itself: `ip netns exec` becomes it.
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=TIMEOUT)
        self.assertEqual(run.returncode, 0, err)
        self.assertGreater(json.loads(out)['frames'], 0)

    def test_nobody_there_ends_before_anything_is_sent(self):
        run = self.start(PROFILE.replace('192.0.2.2', '192.0.2.50'))
        _, err = run.communicate(timeout=TIMEOUT)
        self.assertEqual(run.returncode, 3, err)
        self.assertIn('192.0.2.50', err)


class WithoutANetwork(unittest.TestCase):
    def run_profile(self, profile, *options):
        return subprocess.run([GEN, 'run', '-', *options], input=profile, capture_output=True,
                              text=True, timeout=TIMEOUT)

    def test_a_file_has_nobody_to_ask(self):
        refused = self.run_profile('[[flow]]\ndestination_mac = "arp"\n', '--pcap', '/dev/null')
        self.assertEqual(refused.returncode, 2, refused.stderr)

    def test_a_gateway_needs_a_flow_that_asks(self):
        for wrong in ('gateway = "192.0.2.9"', 'destination_mac = "arp"\ngateway = "2001:db8::9"',
                      'destination_mac = "ask"'):
            refused = self.run_profile(f'[[flow]]\n{wrong}\n', '--pcap', '/dev/null')
            self.assertEqual(refused.returncode, 2, wrong)

    def test_a_port_without_neighbours_says_so(self):
        refused = self.run_profile('[[flow]]\ndestination_mac = "arp"\n', '--port', 'null')
        self.assertEqual(refused.returncode, 3, refused.stderr)


if __name__ == '__main__':
    longwire_test.main()
