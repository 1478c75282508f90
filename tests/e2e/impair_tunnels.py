# SPDX-License-Identifier: BSD-3-Clause
"""Rules for RoCEv2 packets within VXLAN, Geneve and SRv6. scapy builds the tunnels, and judges the
checksums of what comes out."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import needs
import longwire_test
from connect_requests import icrc
from pcap_file import read_pcap, roce_frame, write_pcap

try:
    from scapy.contrib.geneve import GENEVE
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6, IPv6ExtHdrSegmentRouting
    from scapy.layers.l2 import Ether
    from scapy.layers.vxlan import VXLAN
    from scapy.packet import Raw
except ImportError:
    Ether = None

START = 1_700_000_000 * 10**9
ETHERNET = 14


def inner(number, qp):
    frame = bytearray(roce_frame(number, payload=256, qp=qp))
    frame[-4:] = icrc(bytes(frame))
    return bytes(frame)


def around(kind, frame, number=5001):
    link = Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02')
    four, six = IP(src='10.9.9.1', dst='10.9.9.2', tos=2), IPv6(src='2001:db8::1', dst='2001:db8::2', tc=1)
    route = IPv6ExtHdrSegmentRouting(addresses=['2001:db8::2'], segleft=0, lastentry=0)
    head = {
        'vxlan': lambda: link / four / UDP(sport=50000, dport=4789) / VXLAN(vni=number, flags=8),
        'vxlan, no checksum': lambda: link / four / UDP(sport=50000, dport=4789, chksum=0) /
                                      VXLAN(vni=number, flags=8),
        'vxlan over IPv6': lambda: link / six / UDP(sport=50000, dport=4789) / VXLAN(vni=number, flags=8),
        'geneve': lambda: link / four / UDP(sport=50000, dport=6081) / GENEVE(
            vni=number, proto=0x6558, options=bytes.fromhex('0103800201020304' '05060708')),
        'srv6': lambda: link / six / route,
        'srv6 of Ethernet': lambda: link / six / IPv6ExtHdrSegmentRouting(
            addresses=['2001:db8::2'], segleft=0, lastentry=0, nh=143),
        'srv6, reduced': lambda: link / IPv6(src='2001:db8::1', dst='2001:db8::2', nh=4),
    }[kind]()
    if kind == 'srv6':
        head[IPv6ExtHdrSegmentRouting].nh = 4
    of_ip = kind in ('srv6', 'srv6, reduced')
    return bytes(head / Raw(frame[ETHERNET:] if of_ip else frame))


def checksums_hold(frame):
    """True if scapy computes the frame's outer checksums as they are."""
    packet, again = Ether(frame), Ether(frame)
    network = again.payload
    if isinstance(network, IP):
        del network.chksum
    if isinstance(network.payload, UDP) and network.payload.chksum != 0:
        del network.payload.chksum
    return bytes(packet) == bytes(Ether(bytes(again)))


KINDS = {'vxlan': 'vxlan', 'vxlan, no checksum': 'vxlan', 'vxlan over IPv6': 'vxlan',
         'geneve': 'geneve', 'srv6': 'srv6', 'srv6 of Ethernet': 'srv6', 'srv6, reduced': 'srv6'}


@needs.module('scapy')
class Tunnels(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def replay(self, frames, profile, expect=0):
        write_pcap(self.folder / 'in.pcap', [(START + i * 1000, f) for i, f in enumerate(frames)])
        (self.folder / 'profile.toml').write_text(profile)
        done = subprocess.run([longwire_test.program('roce-impair'), 'replay',
                               str(self.folder / 'profile.toml'), str(self.folder / 'in.pcap'),
                               str(self.folder / 'out.pcap'), '--json'],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        if expect:
            return done.stderr
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'] and report['stages_hold'], done.stdout)
        return [frame for _, frame in read_pcap(self.folder / 'out.pcap')]

    def frames(self):
        """(kind, QP, VNI, frame) of each kind; and RoCEv2 without a tunnel, as kind None."""
        out = []
        for kind in KINDS:
            for qp in (0x11, 0x12):
                for number in (5001, 5002):
                    out.append((kind, qp, number, around(kind, inner(len(out), qp), number)))
        return out + [(None, 0x11, 0, inner(len(out), 0x11))]

    def test_the_packet_within_decides(self):
        frames = self.frames()
        for match, gone in (
                ('tunnel = "vxlan"', lambda kind, qp, vni: KINDS.get(kind) == 'vxlan'),
                ('tunnel = ["geneve", "srv6"], dst_qp = 0x12',
                 lambda kind, qp, vni: KINDS.get(kind) in ('geneve', 'srv6') and qp == 0x12),
                ('tunnel = ["vxlan", "geneve"], vni = "5002-6000", dst_qp = 0x11',
                 lambda kind, qp, vni: KINDS.get(kind) in ('vxlan', 'geneve') and vni == 5002 and
                                       qp == 0x11),
                ('tunnel = "srv6", source = "10.0.0.1", operation = "write"',
                 lambda kind, qp, vni: KINDS.get(kind) == 'srv6'),
                ('tunnel = "vxlan", source = "10.9.9.1"', lambda kind, qp, vni: False),
                ('dst_qp = 0x11', lambda kind, qp, vni: kind is None)):
            with self.subTest(match):
                out = self.replay([f for *_, f in frames], f'[[rule]]\nmatch = {{ {match} }}\nloss = "100%"\n')
                self.assertEqual(out, [f for kind, qp, vni, f in frames if not gone(kind, qp, vni)])

    def test_the_first_rule_that_matches_decides(self):
        frames = [f for *_, f in self.frames()]
        rule = '[[rule]]\nname = "{}"\nmatch = {}\nloss = "{:%}"\n'
        tunnel, everything = ('t', '{ tunnel = "vxlan" }'), ('a', '"all"')
        kept = self.replay(frames, rule.format(*tunnel, 0) + rule.format(*everything, 1))
        self.assertEqual(len(kept), 12)
        self.assertEqual(self.replay(frames, rule.format(*everything, 1) + rule.format(*tunnel, 0)), [])

    def test_silent_corruption_of_the_packet_within(self):
        for kind in KINDS:
            frame = around(kind, inner(7, 0x11))
            [out] = self.replay([frame], '[[rule]]\nmatch = { tunnel = "%s" }\n'
                                'corrupt = { probability = "100%%", bits = 5, icrc = "recomputed" }\n'
                                % KINDS[kind])
            with self.subTest(kind):
                self.assertTrue(checksums_hold(frame) and checksums_hold(out))
                begin = len(frame) - len(inner(7, 0x11)) + 42  # of the BTH
                flipped = sum(bin(a ^ b).count('1') for a, b in zip(frame[begin:-4], out[begin:-4]))
                self.assertEqual(flipped, 5)
                whole = inner(7, 0x11)[:42] + out[begin:]
                self.assertEqual(out[-4:], icrc(whole))

    def test_marks_and_rewrites_are_of_the_outer_header(self):
        for kind in ('vxlan', 'geneve', 'srv6', 'vxlan over IPv6'):
            frame = around(kind, inner(7, 0x11))
            [out] = self.replay([frame], '[[rule]]\nmatch = { tunnel = "%s" }\nmark = "100%%"\n'
                                         'rewrite = { dscp = 40 }\n' % KINDS[kind])
            with self.subTest(kind):
                self.assertTrue(checksums_hold(out))
                head = Ether(out)[IP if kind in ('vxlan', 'geneve') else IPv6]
                self.assertEqual(head.tos if kind in ('vxlan', 'geneve') else head.tc, 40 << 2 | 3)
                inside = len(inner(7, 0x11)) - ETHERNET
                self.assertEqual(out[-inside:], frame[-inside:])

    def test_what_is_not_done_is_refused(self):
        for keys, error in (
                ('match = { tunnel = "gre" }', 'tunnel: expected'),
                ('match = { vni = 5 }', 'expected tunnel = "vxlan" or "geneve" beside it'),
                ('match = { tunnel = "srv6", vni = 5 }', 'expected no vni'),
                ('match = { tunnel = "vxlan", filter = "udp" }', 'expected no filter'),
                ('match = { tunnel = "vxlan", frames = "all" }', 'expected "rocev2"'),
                ('match = { tunnel = "vxlan" }\ncorrupt = { probability = "100%", offset = 4 }',
                 'expected no offset beside a tunnel'),
                ('match = { tunnel = "vxlan" }\n'
                 'corrupt = { probability = "100%", part = "frame", icrc = "recomputed" }',
                 'outer headers have no ICRC')):
            with self.subTest(keys):
                stderr = self.replay([inner(1, 0x11)], f'[[rule]]\n{keys}\n', expect=2)
                self.assertRegex(stderr, rf'profile.toml:\d+:\d+: .*{error}')


if __name__ == '__main__':
    longwire_test.main()
