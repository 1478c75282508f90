# SPDX-License-Identifier: BSD-3-Clause
"""A connection of two QPs, frame by frame, as a capture point between them saw it. scapy makes the
frames; times are in microseconds."""

from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from pcap_file import write_pcap

SEND, WRITE, READ, READ_RESPONSE, ACK = 4, 10, 12, 16, 17
SEQUENCE_ERROR, ACCESS_ERROR, NOT_READY = 0x60, 0x62, 0x2E


class Conversation:
    def __init__(self, counted=False):
        self.counted = counted  # the sender numbers its IP packets
        self.at, self.number, self.frames = 0, 0, []

    def add(self, way, layers, wait):
        self.at += wait
        self.number += 1
        host, peer = (1, 2) if way == 'request' else (2, 1)
        ip = IP(src=f'192.0.2.{host}', dst=f'192.0.2.{peer}', id=self.number if self.counted else 0)
        frame = (Ether(src=f'02:00:00:00:00:0{host}', dst=f'02:00:00:00:00:0{peer}') / ip /
                 UDP(sport=50_000 + host, dport=4791, chksum=0) / layers)
        self.frames.append((round(self.at * 1000), bytes(frame)))

    def request(self, psn, wait=1, opcode=WRITE, asks=True, length=64):
        reth = b'' if opcode == SEND else bytes(7) + bytes([psn % 256]) + bytes(4) + length.to_bytes(4)
        data = b'' if opcode == READ else bytes([psn % 256]) * length
        self.add('request', BTH(opcode=opcode, psn=psn, dqpn=0x22, ackreq=asks) / Raw(reth + data),
                 wait)

    def answer(self, psn, wait=1, syndrome=0x1F, msn=None):
        self.add('answer', BTH(opcode=ACK, psn=psn, dqpn=0x11) /
                 AETH(syndrome=syndrome, msn=psn + 1 if msn is None else msn), wait)

    def nak(self, psn, wait=1, syndrome=SEQUENCE_ERROR):
        self.answer(psn, wait, syndrome, psn)

    def response(self, psn, wait=1, msn=None, length=64):
        self.add('answer', BTH(opcode=READ_RESPONSE, psn=psn, dqpn=0x11) /
                 AETH(syndrome=0x1F, msn=psn + 1 if msn is None else msn) / Raw(bytes(length)), wait)

    def requests(self, first, end, **options):
        for psn in range(first, end):
            self.request(psn, **options)

    def save(self, path):
        write_pcap(path, self.frames)
        return path
