# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair between two Linux interfaces: frames of every size cross as they are. Needs root,
for two network namespaces of its own."""

import ctypes
import json
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import tempfile
import unittest

import longwire_test
from pcap_file import roce_frame

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


@unittest.skipUnless(os.geteuid() == 0, 'needs root for network namespaces')
class Linux(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.profile = pathlib.Path(holder.name) / 'p.toml'
        for name in (WEST, EAST):
            try:
                ip('netns', 'add', name)
            except (OSError, subprocess.CalledProcessError) as error:
                self.skipTest(f'no network namespaces here: {error}')
            self.addCleanup(ip, 'netns', 'del', name)
        for name in (WEST, EAST):
            ip('link', 'add', f'{name}m', 'type', 'veth', 'peer', 'name', 'far', 'netns', name)
            ip('link', 'set', f'{name}m', 'mtu', '9500', 'up')
            ip('-n', name, 'link', 'set', 'far', 'mtu', '9500', 'up')

    @longwire_test.real_time
    def test_every_frame_crosses_as_it_is(self):
        self.profile.write_text('[[rule]]\nname = "r"\ndelay = "1ms"\n')
        west, east = open_socket(WEST, 'far'), open_socket(EAST, 'far')
        self.addCleanup(west.close)
        self.addCleanup(east.close)
        box = subprocess.Popen(
            [longwire_test.program('roce-impair'), 'run', str(self.profile), '--west', f'{WEST}m',
             '--east', f'{EAST}m', '--json'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(box.kill)
        while 'ready' not in (line := box.stderr.readline()):
            self.assertTrue(line, 'the box ended early')
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
        box.send_signal(signal.SIGTERM)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, 0, err)
        report = json.loads(out)
        self.assertTrue(report['identity_holds'])
        for direction in report['directions']:
            self.assertEqual(direction['received'], direction['sent'])


if __name__ == '__main__':
    longwire_test.main()
