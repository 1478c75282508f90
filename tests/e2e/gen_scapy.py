# SPDX-License-Identifier: BSD-3-Clause
"""scapy's ICRC of what roce-gen writes equals ours.

scapy 2.5 computes it over IPv4; over IPv6 it says that it can't, so there the specification's
pseudo packet is made of scapy's layers.
"""

import subprocess
import tempfile
import unittest
import zlib

import gen_decoder
from gen_frames import ENDS

import needs
import longwire_test

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import UDP
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import Ether
    from scapy.packet import Raw, raw
except ImportError:
    BTH = None


@needs.module('scapy')
class Scapy(unittest.TestCase):
    def frames(self, encapsulation, **defaults):
        profile = gen_decoder.profile(gen_decoder.every_flow(), **ENDS[encapsulation], **defaults)
        with tempfile.NamedTemporaryFile(suffix='.pcap') as out:
            subprocess.run([longwire_test.program('roce-gen'), 'run', '-', '--pcap', out.name],
                           input=profile, text=True, check=True, capture_output=True)
            return [frame for _, _, frame in gen_decoder.read_pcap(out.name)]

    def test_ipv4_frames_are_built_again_byte_for_byte(self):
        for defaults in ({}, {'vlan': 7}):
            for frame in self.frames('ipv4', **defaults):
                packet = Ether(frame)
                packet[BTH].icrc = None  # to be computed
                self.assertEqual(raw(packet), frame)

    def test_ipv6(self):
        for frame in self.frames('ipv6'):
            packet = Ether(frame)
            ours = packet[BTH].icrc
            pseudo = packet[IPv6]
            pseudo.tc, pseudo.fl, pseudo.hlim = 0xff, 0xfffff, 0xff
            pseudo[UDP].chksum = 0xffff
            pseudo[BTH].fecn, pseudo[BTH].becn, pseudo[BTH].resv6 = 1, 1, 0x3f
            covered = raw(Raw(b'\xff' * 8) / pseudo)[:-4]
            self.assertEqual(zlib.crc32(covered).to_bytes(4, 'little'), ours.to_bytes(4, 'big'))


if __name__ == '__main__':
    longwire_test.main()
