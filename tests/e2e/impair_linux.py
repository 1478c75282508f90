# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair between two Linux interfaces: frames of every size cross as they are, and pause frames
go and are heard in real time. Needs root, for two network namespaces of its own."""

import ctypes
import json
import os
import pathlib
import resource
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
from both_ways import pause_frame
from pcap_file import is_roce, roce_frame

SOL_PACKET, PACKET_AUXDATA = 263, 8
VLAN_VALID = 0x10
TIMEOUT = 60
# A rest of a namespace left by a killed run must not hinder the next one.
SUFFIX = os.getpid()
WEST, EAST = f'lw{SUFFIX}w', f'lw{SUFFIX}e'


def ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True, timeout=TIMEOUT)


def open_socket(namespace, interface):
    """A packet socket in another namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open('/proc/self/ns/net', os.O_RDONLY)
    there = os.open(f'/var/run/netns/{namespace}', os.O_RDONLY)
    try:
        if libc.setns(there, 0) != 0:
            raise OSError(ctypes.get_errno(), 'setns')
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        opened.bind((interface, 0))
    finally:
        libc.setns(home, 0)
        os.close(home)
        os.close(there)
    opened.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    return opened


def receive(opened):
    """One frame, with the 802.1Q tag that the kernel takes out put back."""
    data, extra, _, _ = opened.recvmsg(65536, 64)
    for level, kind, content in extra:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = struct.unpack_from('=IIIHHHH', content)
            if status & VLAN_VALID:
                data = data[:12] + struct.pack('>HH', tpid, tci) + data[12:]
    return data


def test_frames():
    """Experimental ethertype, tagged and not, and RoCE: small to jumbo."""
    frames = []
    for size in (60, 61, 1514, 4200, 9014, 9500):
        for kind in (b'\x88\xb5', b'\x81\x00\x20\x64\x88\xb5'):
            head = b'\x02\0\0\0\0\x09' + b'\x02\0\0\0\0\x08' + kind
            frames.append(head + os.urandom(size - len(head)))
    return frames + [roce_frame(i, payload) for i, payload in enumerate((8, 1024, 4096))]


@needs.root('network namespaces')
class Linux(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.profile = pathlib.Path(holder.name) / 'p.toml'
        for name in (WEST, EAST):
            try:
                ip('netns', 'add', name)
            except (OSError, subprocess.CalledProcessError) as error:
                needs.lacks('network namespaces', error)
            self.addCleanup(ip, 'netns', 'del', name)
        for name in (WEST, EAST):
            ip('link', 'add', f'{name}m', 'type', 'veth', 'peer', 'name', 'far', 'netns', name)
            # It would go some time after its namespace otherwise, and be in the next test's way.
            self.addCleanup(ip, 'link', 'del', f'{name}m')
            ip('link', 'set', f'{name}m', 'mtu', '9500', 'up')
            ip('-n', name, 'link', 'set', 'far', 'mtu', '9500', 'up')

    def start(self, profile, *options):
        """The box, and the far ends of its two wires."""
        self.profile.write_text(profile)
        west, east = open_socket(WEST, 'far'), open_socket(EAST, 'far')
        self.addCleanup(west.close)
        self.addCleanup(east.close)
        box = longwire_test.begin(
            self, [*longwire_test.BOX, self.profile, '--west', f'{WEST}m',
                   '--east', f'{EAST}m', '--json', *options])
        said = ''
        while 'ready' not in said:
            line = box.stderr.readline()
            self.assertTrue(line, f'the box ended early: {said}')
            said += line
        self.said = said
        return box, west, east

    def finish(self, box):
        box.send_signal(signal.SIGTERM)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, 0, out + err)
        report = json.loads(out)
        self.assertTrue(report['identity_holds'])
        return report

    def test_every_frame_crosses_as_it_is(self):
        box, west, east = self.start('[[rule]]\nname = "r"\ndelay = "1ms"\n')
        for there, here in ((west, east), (east, west)):
            frames = test_frames()
            for frame in frames:
                there.send(frame)
            missing = list(frames)
            while missing and select.select([here], [], [], 10)[0]:
                frame = receive(here)  # the kernel's own chatter (IPv6) may be among them
                if frame in missing:
                    missing.remove(frame)
            self.assertEqual([len(frame) for frame in missing], [])
        for direction in self.finish(box)['directions']:
            self.assertEqual(direction['received'], direction['sent'])

    def test_without_descriptors_the_ports_stay(self):
        box, _, _ = self.start('[[rule]]\nname = "r"\ndelay = "1ms"\n', '--duration', '2s')
        most = 1 + max(int(name) for name in os.listdir(f'/proc/{box.pid}/fd'))
        resource.prlimit(box.pid, resource.RLIMIT_NOFILE, (most, most))
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual((box.returncode, json.loads(out)['links_hold']), (0, True), err)

    def test_an_mtu_below_the_largest_frame_is_said(self):
        ip('link', 'set', f'{WEST}m', 'mtu', '1500')
        box, _, _ = self.start('[[rule]]\nname = "r"\n[capacity]\nlargest_frame = "9000B"\n')
        self.finish(box)
        self.assertEqual([line for line in self.said.splitlines() if 'MTU' in line],
                         [f"port {WEST}m has an MTU of 1500 B: it drops longer packets, and the profile's "
                          'largest_frame allows 8986 B'])

    def receive_until(self, opened, kind, last):
        """Frames that kind() is true of, up to one that last() is true of."""
        frames = []
        while not frames or not last(frames[-1]):
            self.assertTrue(select.select([opened], [], [], 10)[0], f'only {len(frames)} came')
            frame = receive(opened)
            if kind(frame):
                frames.append(frame)
        return frames

    def test_pause_frames_cross_and_are_heard(self):
        control = str(self.profile.with_name('ctl'))
        # A quantum is 25.6 us at the queue, and 0.5 us on the link that it asks by.
        box, west, east = self.start('''[capacity]
rate = "100Mb/s"
[[rule]]
direction = "west-to-east"
queue = { rate = "20Mb/s", buffer = "100kB", pfc = { xoff = "20kB", xon = "5kB", link = "1Gb/s" } }
''', '--control', control)
        sent = [roce_frame(i, 960) for i in range(60)]
        for frame in sent:
            west.send(frame)
        pauses = self.receive_until(west, lambda f: f[12:14] == b'\x88\x08',
                                    lambda f: f[16:] == pause_frame({3: 0})[16:])
        # From the box's own address: silence, as often as it takes, and the end of it.
        self.assertEqual({frame[6:12] for frame in pauses}, {pauses[0][6:12]})
        self.assertEqual([frame[:6] + frame[12:] for frame in pauses],
                         [frame[:6] + frame[12:] for frame in
                          [pause_frame({3: 65_535})] * (len(pauses) - 1) + [pause_frame({3: 0})]])
        self.assertGreater(len(pauses), 1)
        self.assertEqual(self.receive_until(east, is_roce, lambda f: f == sent[-1]), sent)

        def heard():
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(control)
                client.sendall(b'{"do":"show"}\n')
                report = json.loads(client.makefile().read())
            self.assertTrue(report['ok'], report)
            return report['report']['directions'][0]['stages'][0]['pauses']['heard']

        began = time.monotonic()
        east.send(pause_frame({3: 20_000}))
        while heard() == 0:
            self.assertLess(time.monotonic() - began, TIMEOUT)
        west.send(sent[0])
        self.receive_until(east, is_roce, is_roce)
        self.assertGreaterEqual(time.monotonic() - began, 20_000 * 512 / 20e6)
        there, back = self.finish(box)['directions']
        said = there['stages'][0]['pauses']
        self.assertEqual((said['asked'], said['ended'], said['heard'], said['silent_ns']),
                         (len(pauses) - 1, 1, 1, 20_000 * 25_600))
        self.assertEqual((back['created']['frames'], back['consumed']['frames']), (len(pauses), 1))


if __name__ == '__main__':
    longwire_test.main()
