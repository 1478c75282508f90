# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect looks into tunnels: scapy builds them around real frames, tshark is the judge."""

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import needs
from longwire_test import SOURCE, program
from pcap_file import read_pcap, write_pcap

RXE = SOURCE / 'pcaps' / 'rxe'

try:
    from scapy.contrib.erspan import ERSPAN_I, ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
    from scapy.contrib.geneve import GENEVE
    from scapy.contrib.mpls import MPLS
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6, IPv6ExtHdrDestOpt
    from scapy.layers.l2 import GRE, Dot1Q, Ether
    from scapy.layers.ppp import PPP, PPPoE
    from scapy.layers.vxlan import VXLAN
    from scapy.packet import Raw
except ImportError:
    Ether = None

ETHERNET = 14
MAC = '02:00:00:00:00:03'


def outer(protocol=None, six=False):
    link = Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02')
    if six:
        return link / IPv6(src='2001:db8::1', dst='2001:db8::2', **({'nh': protocol} if protocol else {}))
    return link / IP(src='10.9.9.1', dst='10.9.9.2', **({'proto': protocol} if protocol else {}))


def tunnels():
    """name: (what --json says of the tunnel, function that puts it around a frame, whether tshark
    4.0 opens it too)."""
    def around(head, carries_ip=False, tail=b''):
        return lambda frame: bytes(head / Raw(frame[ETHERNET if carries_ip else 0:] + tail))

    def around_packet(head4, head6):
        """Another header for IPv4 than for IPv6."""
        return lambda frame: bytes((head4 if frame[12:14] == b'\x08\x00' else head6) /
                                   Raw(frame[ETHERNET:]))

    def shim(head, tail=b''):
        """A header behind the MAC addresses: its ethertype and what follows."""
        return lambda frame: frame[:12] + bytes.fromhex(head) + frame[12:] + tail

    def label(value, last=1):
        return MPLS(label=value, s=last, ttl=9)

    ether = Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02')
    vxlan = UDP(sport=50000, dport=4789) / VXLAN(vni=5001, flags=8)
    gre = {'key_present': 1, 'key': 77}
    ipip4, ipip6 = outer(4), outer(41)
    return {
        'vxlan': ('VXLAN', 5001, around(outer() / vxlan), True),
        'vxlan over IPv6': ('VXLAN', 5001, around(outer(six=True) / vxlan), True),
        'vxlan behind a tag': ('VXLAN', 5001, around(ether / Dot1Q(vlan=5) / outer()[IP] / vxlan), True),
        'vxlan behind an extension header': (
            'VXLAN', 5001, around(outer(six=True) / IPv6ExtHdrDestOpt() / vxlan), True),
        'geneve': ('Geneve', 88, around(outer() / UDP(sport=50000, dport=6081) /
                                        GENEVE(vni=88, proto=0x6558)), True),
        'geneve with options': (
            'Geneve', 88, around(outer() / UDP(sport=50000, dport=6081) / GENEVE(
                vni=88, proto=0x6558, options=bytes.fromhex('0103800201020304' '05060708'))), True),
        'geneve of IP': ('Geneve', 88, around_packet(*(
            outer() / UDP(sport=50000, dport=6081) / GENEVE(vni=88, proto=proto)
            for proto in (0x0800, 0x86dd))), True),
        'gre of IP': ('GRE', None, around_packet(*(outer() / GRE(proto=proto)
                                                   for proto in (0x0800, 0x86dd))), True),
        'gre with all options': ('GRE', 77, around_packet(*(
            outer() / GRE(proto=proto, chksum_present=1, seqnum_present=1, seqence_number=3, **gre)
            for proto in (0x0800, 0x86dd))), True),
        'gre of Ethernet': ('GRE', None, around(outer() / GRE(proto=0x6558)), True),
        'nvgre': ('NVGRE', 0x123456, around(
            outer() / GRE(proto=0x6558, key_present=1, key=0x12345677)), True),
        'erspan I': ('ERSPAN I', None, around(outer() / GRE(proto=0x88be) / ERSPAN_I()), True),
        'erspan II': ('ERSPAN II', 513, around(
            outer() / GRE(proto=0x88be, seqnum_present=1, seqence_number=9) /
            ERSPAN_II(ver=1, session_id=513, vlan=7)), True),
        'erspan III': ('ERSPAN III', 514, around(
            outer() / GRE(proto=0x22eb, seqnum_present=1, seqence_number=9) /
            ERSPAN_III(session_id=514, o=0)), True),
        'erspan III with the platform\'s header': ('ERSPAN III', 514, around(
            outer() / GRE(proto=0x22eb, seqnum_present=1, seqence_number=9) /
            ERSPAN_III(session_id=514, o=1) / ERSPAN_PlatformSpecific()), False),
        'mpls of IP': ('MPLS', 17, around(Ether(src=ether.src, dst=ether.dst, type=0x8847) /
                                          label(16, 0) / label(17), True), True),
        'mpls of Ethernet': ('MPLS', 18, around(Ether(src=ether.src, dst=ether.dst, type=0x8847) /
                                                label(18)), False),
        'mpls with a control word': ('MPLS', 18, around(
            Ether(src=ether.src, dst=ether.dst, type=0x8847) / label(18) / Raw(bytes(4))), True),
        'mpls over UDP': ('MPLS', 19, around(outer() / UDP(sport=50000, dport=6635) / label(19), True), True),
        'mpls over GRE': ('GRE > MPLS', 20, around(outer() / GRE(proto=0x8847) / label(20), True), True),
        'mpls over IP': ('MPLS', 21, around(outer(137) / label(21), True), True),
        'IP in IP': (('IPv4 in IP', 'IPv6 in IP'), None, around_packet(ipip4, ipip6), True),
        'IP in IPv6': (('IPv4 in IP', 'IPv6 in IP'), None,
                       around_packet(outer(4, True), outer(41, True)), True),
        'pppoe': ('PPPoE', 4660, around_packet(*(
            Ether(src=ether.src, dst=ether.dst, type=0x8864) / PPPoE(sessionid=0x1234, code=0) /
            PPP(proto=proto) for proto in (0x21, 0x57))), True),
        'pppoe with a whole protocol number': ('PPPoE', 4660, around_packet(*(
            Ether(src=ether.src, dst=ether.dst, type=0x8864) / PPPoE(sessionid=0x1234, code=0) /
            Raw(bytes([0, proto])) for proto in (0x21, 0x57))), True),
        'nsh': ('NSH', 0x123, around(Ether(src=ether.src, dst=ether.dst, type=0x894f) /
                                     Raw(bytes.fromhex('0fc60103' '000123ff') + bytes(16))), True),
        'nsh of IP': ('NSH', 0x123, around_packet(*(
            Ether(src=ether.src, dst=ether.dst, type=0x894f) /
            Raw(bytes([0x0f, 0xc2, 2, proto]) + bytes.fromhex('000123ff')) for proto in (1, 2))), True),
        'vxlan-gpe with nsh': ('VXLAN-GPE > NSH', 0x123, around(
            outer() / UDP(sport=50000, dport=4790) / Raw(
                bytes.fromhex('0c000004' '00138900' '0fc60103' '000123ff') + bytes(16))), False),
        'arista': ('Arista time stamp', None, shim('d28b00010010' + '00' * 8), False),
        'arista with a short stamp': ('Arista time stamp', None, shim('d28b00010020' + '00' * 6), False),
        'arista behind a tag': ('Arista time stamp', None, shim('81000005' 'd28b00010010' + '00' * 8), False),
        'cisco metadata': ('Cisco metadata', 100, shim('89090101' '00010064'), True),
        'e-tag': ('E-tag', None, shim('893f' '000000010000'), True),
        'vn-tag': ('VN-tag', None, shim('8926' '00010002'), True),
        'macsec without encryption': ('MACsec', None, shim('88e52000' '00000001' + '11' * 8, bytes(16)), False),
        'vxlan in geneve in gre': ('GRE > Geneve > VXLAN', 5001, around(
            outer() / GRE(proto=0x0800) / outer()[IP] / UDP(sport=1, dport=6081) /
            GENEVE(vni=88, proto=0x6558) / outer() / vxlan), True),
    }


def dissect(*args):
    return subprocess.run([program('roce-dissect'), *map(str, args)], capture_output=True,
                          text=True)


def frames_of(name, count=12):
    """RoCEv2 frames of a capture, without any others."""
    found = [data for _, data in read_pcap(RXE / name)
             if data[12:14] == b'\x08\x00' and data[23] == 17 or data[12:14] == b'\x86\xdd'
             and data[20] == 17]
    return found[:count]


@needs.module('scapy')
class Tunnels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, 'tunnel.pcap')

    def lines(self, frames, *words):
        write_pcap(self.path, [(10**9 + i, frame) for i, frame in enumerate(frames)])
        run = dissect('list', self.path, '--json', *words)
        self.assertEqual((run.returncode, run.stderr), (0, ''))
        return [json.loads(line) for line in run.stdout.splitlines()]

    INNER = ('infiniband.bth.psn', 'infiniband.bth.opcode', 'infiniband.bth.destqp', 'ip.src',
             'ipv6.src', 'udp.srcport', 'longwire.payload_length', 'longwire.icrc')

    def test_the_inner_frame_is_read_and_its_icrc_checked(self):
        for capture, version in (('rc_write_send_read.pcap', 0), ('ipv6_rc.pcap', 1)):
            plain = frames_of(capture)
            wanted = [{key: line[key] for key in self.INNER if key in line}
                      for line in self.lines(plain)]
            self.assertEqual({line['longwire.icrc'] for line in wanted}, {'ok'})
            for name, (kind, number, wrap, _) in tunnels().items():
                with self.subTest(name=name, capture=capture):
                    found = self.lines([wrap(frame) for frame in plain])
                    self.assertEqual([{key: line[key] for key in self.INNER if key in line}
                                      for line in found], wanted)
                    kind = kind if isinstance(kind, str) else kind[version]
                    self.assertEqual({line['longwire.tunnels'] for line in found}, {kind})
                    self.assertEqual({line.get('longwire.tunnel_id') for line in found}, {number})
                    self.assertTrue(all('longwire.unopened_tunnel' not in line for line in found))

    @needs.tools('tshark')
    def test_tshark_finds_the_same_frames_inside(self):
        plain = frames_of('rc_write_send_read.pcap')
        for name, (_, _, wrap, opens) in tunnels().items():
            if not opens:
                continue
            with self.subTest(name=name):
                found = self.lines([wrap(frame) for frame in plain])
                seen = subprocess.run(
                    ['tshark', '-n', '-r', self.path, '-T', 'fields', '-E', 'occurrence=l', '-e',
                     'infiniband.bth.psn', '-e', 'infiniband.bth.destqp', '-e', 'ip.src'],
                    capture_output=True, text=True, check=True).stdout.splitlines()
                self.assertEqual([f'{line["infiniband.bth.psn"]}\t{line["infiniband.bth.destqp"]}\t'
                                  f'{line["ip.src"]}' for line in found], seen)

    def test_the_outer_addresses_are_kept(self):
        inner = frames_of('rc_write_send_read.pcap', 1)[0]
        kinds = tunnels()
        for name, source, destination in (('vxlan', '10.9.9.1', '10.9.9.2'),
                                          ('vxlan over IPv6', '2001:db8::1', '2001:db8::2'),
                                          ('mpls of IP', None, None)):
            line, = self.lines([kinds[name][2](inner)])
            self.assertEqual((line.get('longwire.outer_source'),
                              line.get('longwire.outer_destination')), (source, destination), name)
        plain, = self.lines([inner])
        self.assertFalse([key for key in plain if 'outer' in key or 'tunnel' in key])

    def test_a_flipped_bit_inside_is_a_bad_icrc(self):
        inner = bytearray(frames_of('rc_write_send_read.pcap', 1)[0])
        inner[-8] ^= 1
        for name, (_, _, wrap, _) in tunnels().items():
            line, = self.lines([wrap(bytes(inner))])
            self.assertEqual(line['longwire.icrc'], 'bad', name)
        text = dissect('list', self.path).stdout
        self.assertIn('ICRC BAD: expected', text)
        self.assertIn('  in GRE > Geneve 88 > VXLAN 5001', text)
        self.assertEqual(dissect('verify', self.path).returncode, 1)

    def test_a_frame_that_the_tunnel_cut_is_unverifiable(self):
        """A mirror that keeps the first bytes only makes the outer lengths right."""
        inner = frames_of('rc_write_send_read.pcap', 1)[0]
        for name, (_, _, wrap, _) in tunnels().items():
            if name.startswith('mpls of IP'):
                continue  # no outer length: the frame would be a cut one
            line, = self.lines([wrap(inner[:90])])
            self.assertEqual(line['longwire.icrc'], 'unverifiable', name)
            self.assertIn('infiniband.bth.psn', line, name)
            self.assertIn('the frame ends here', line['longwire.problem'], name)
            self.assertEqual(dissect('verify', self.path).returncode, 0)

    def test_every_truncation_is_read(self):
        inner = frames_of('rc_write_send_read.pcap', 1)[0]
        for name, (_, _, wrap, _) in tunnels().items():
            whole = wrap(inner)
            self.lines([whole[:size] for size in range(14, len(whole), 3)])

    def test_no_tunnels_shows_what_was_captured(self):
        inner = frames_of('rc_write_send_read.pcap', 1)[0]
        line, = self.lines([tunnels()['vxlan'][2](inner)], '--no-tunnels')
        self.assertEqual((line['ip.src'], line['udp.dstport']), ('10.9.9.1', 4789))
        self.assertNotIn('longwire.tunnels', line)
        for command in 'verify', 'summary':
            for words, wanted in ((), 1), (('--no-tunnels',), 0):
                roce = json.loads(dissect(command, self.path, '--json', *words).stdout)['roce']
                self.assertEqual(roce if command == 'verify' else roce['frames'], wanted, command)

    def test_what_cannot_be_opened_is_counted_by_name(self):
        inner = frames_of('rc_write_send_read.pcap', 1)[0]
        closed = {
            'ESP': outer(50) / Raw(bytes(60)),
            'GRE of another protocol': outer() / GRE(proto=0x1234) / Raw(bytes(60)),
            'GRE version 1': outer(47) / Raw(bytes.fromhex('3001880b') + bytes(40)),
            'VXLAN without a VNI': outer() / UDP(dport=4789) / Raw(bytes(60)),
            'sFlow': outer() / UDP(dport=6343) / Raw(bytes(60)),
            'IFA': outer(253) / Raw(bytes(60)),
            'MACsec, encrypted': Ether(src=MAC, dst=MAC, type=0x88e5) / Raw(bytes.fromhex('2c00') + bytes(60)),
            'GTP-U': outer() / UDP(dport=2152) / Raw(bytes(60)),
            'VXLAN, cut': outer() / UDP(dport=4789) / Raw(bytes(5)),
            'PPPoE of another protocol': Ether(src=MAC, dst=MAC, type=0x8864) / PPPoE(sessionid=1) / PPP(proto=0xc021),
            'fragment of a tunnel\'s packet': 
            Ether(src=MAC, dst=MAC) / IP(src='10.9.9.1', dst='10.9.9.2', proto=47, frag=9) / Raw(bytes(60)),
            'MPLS of another protocol': Ether(src=MAC, dst=MAC, type=0x8847) / MPLS(label=1, s=1) / Raw(b'\x70' * 60),
        }
        deep = inner
        for _ in range(9):
            deep = bytes(outer() / GRE(proto=0x6558) / Raw(deep))
        closed['more than 8 tunnels'] = Raw(deep)
        lines = self.lines([bytes(frame) for frame in closed.values()])
        self.assertEqual([line['longwire.unopened_tunnel'] for line in lines], list(closed))
        verdict = json.loads(dissect('verify', self.path, '--json').stdout)
        self.assertEqual(verdict['unopened_tunnels'], {name: 1 for name in sorted(closed)})
        summary = json.loads(dissect('summary', self.path, '--json').stdout)
        self.assertEqual({name: count['frames'] for name, count in
                          summary['unopened_tunnels'].items()}, {name: 1 for name in sorted(closed)})
        self.assertEqual(summary['tunnels']['GRE > GRE > GRE > GRE > GRE > GRE > GRE > GRE']['frames'],
                         1)
        text = dissect('list', self.path).stdout
        self.assertIn('[ESP: not opened]', text)

    def test_mpls_tells_packets_from_frames(self):
        """Addresses that look like an ethertype, and MAC addresses that look like an IP version."""
        inner = bytearray(frames_of('rc_write_send_read.pcap', 1)[0])
        label = bytes(Ether(src=MAC, dst=MAC, type=0x8847) / MPLS(label=3, s=1))
        packet = bytearray(inner[ETHERNET:])
        packet[12:16] = bytes([8, 0, 0, 1])  # 8.0.0.1
        found = self.lines([label + packet])
        self.assertEqual(found[0]['ip.src'], '8.0.0.1')
        for first in 0x45, 0x60, 0x02, 0x00:
            inner[0] = first
            for word in b'', bytes(4), struct.pack('>HH', 0, 0x4500):
                line, = self.lines([label + word + inner])
                self.assertEqual((line['longwire.icrc'], line['eth.dst'][:2]), ('ok', f'{first:02x}'))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
