# SPDX-License-Identifier: BSD-3-Clause
"""The captures in pcaps/nic are what tests/support/compose_nic_captures.py writes, and scapy computes the
same ICRCs of their frames."""

import pathlib
import tempfile
import unittest

import compose_nic_captures
import needs
import roce_composer
from capture_files import NIC
from longwire_test import main
from pcap_file import read_pcap, write_pcap

try:
    from scapy.contrib.roce import BTH
    from scapy.layers.inet import IP
    from scapy.layers.l2 import Ether
except ImportError:
    BTH = None


class Composed(unittest.TestCase):
    def test_files_are_what_the_script_writes(self):
        self.assertEqual({path.stem for path in NIC.glob('*.pcap')}, set(compose_nic_captures.CAPTURES))
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            made = pathlib.Path(folder, 'made.pcap')
            for name, compose in compose_nic_captures.CAPTURES.items():
                write_pcap(made, compose())
                self.assertEqual(made.read_bytes(), (NIC / f'{name}.pcap').read_bytes(), name)

    @needs.module('scapy')
    def test_icrcs_are_those_of_scapy(self):
        """Over IPv4; scapy knows no other."""
        compared = 0
        for path in sorted(NIC.glob('*.pcap')):
            for _, frame in read_pcap(path):
                packet = Ether(frame)
                if IP not in packet or BTH not in packet:
                    continue
                whole = frame[:14 + packet[IP].len]  # scapy takes padding for the ICRC
                packet = Ether(whole)
                packet[BTH].icrc = None
                self.assertEqual(bytes(packet), whole, path.name)
                compared += 1
        self.assertEqual(compared, 663)

    def test_a_printed_frame_of_a_network_card(self):
        data, pad = roce_composer.padded(b'RDMA write operation\0')
        one, other = (roce_composer.Host(f'::ffff:10.1.2.{n}', bytes(6), ecn=roce_composer.NOT_ECT) for n in (1, 2))
        frame = roce_composer.frame_v1(one, other, roce_composer.bth(
            roce_composer.WRITE_ONLY, 0x932, 1, asks=True, pad=pad) + roce_composer.reth(26_600_384, 178_013, 21) + data)
        self.assertEqual(frame[-4:].hex(), 'dd492f73')


if __name__ == '__main__':
    main()
