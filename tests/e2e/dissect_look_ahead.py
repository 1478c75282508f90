# SPDX-License-Identifier: BSD-3-Clause
"""Connections that are longer than roce-dissect looks ahead: what their later packets show about the
path MTU and about how a sender recovers holds for them, too. Captures with 66,000 frames of another
connection behind their first frames: the findings are those without them."""

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import longwire_test
from conversation import Conversation
from dissect_analysis import InFolder, rows
from longwire_test import SOURCE
from pcap_file import read_pcap

OTHERS = 66_000  # frames; the program looks 65,536 ahead

CNP = bytes(Ether(src='02:00:00:00:00:09', dst='02:00:00:00:00:0a') /
            IP(src='192.0.2.9', dst='192.0.2.10', id=0) / UDP(sport=50_000, dport=4791, chksum=0) /
            BTH(opcode=0x81, dqpn=0x22) / Raw(bytes(16)))


def found(path, begin=0, others=0):
    """What is said about the frames of a capture, numbered as if `others` were not behind the first `begin`."""
    said = [(row['frame'], row['kind'], row['cause'], row['certainty'], row['psn'], row['packets'])
            for row in rows('anomalies', path) if not begin < row['frame'] <= begin + others]
    return sorted((frame - others if frame > begin else frame, *rest) for frame, *rest in said)


class LookAhead(InFolder):
    def check(self, path, begin):
        frames = read_pcap(path)
        others = [(frames[begin - 1][0], CNP)] * OTHERS
        longer = self.pcap(frames[:begin] + others + frames[begin:])
        self.assertEqual(found(longer, begin, OTHERS), found(path))

    def test_the_path_mtu_shows_later(self):
        """The capture of a NIC begins with READs; their responses tell the MTU."""
        self.check(SOURCE / 'pcaps' / 'nic' / 'reads.pcap', 4)

    def test_how_the_sender_recovers_shows_later(self):
        """It repeats single packets, and each NAK comes twice."""
        holes = (13, 14, 17, 21, 22, 23, 28)
        talk = Conversation()
        talk.requests(0, 8, wait=2)
        talk.answer(7, 3)
        begin = len(talk.frames)
        for psn in range(8, 48):
            if psn not in holes:
                talk.request(psn, asks=psn == 47)
        for hole in holes:
            talk.nak(hole, 20)
            talk.request(hole, 4)
            talk.nak(hole, 2)
            talk.request(hole, 4)
        talk.answer(47, 20)
        talk.requests(48, 52, wait=5)
        talk.answer(51, 20)
        path = talk.save(self.folder / 'selective.pcap')
        self.assertEqual({cause for _, kind, cause, *_ in found(path) if kind == 'retransmission'}, {'nak'})
        self.check(path, begin)


if __name__ == '__main__':
    longwire_test.main()
