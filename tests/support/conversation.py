# SPDX-License-Identifier: BSD-3-Clause
"""A connection of two QPs, frame by frame, as a capture point between them saw it. scapy makes the
frames; times are in microseconds."""

import struct

from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from pcap_file import write_pcap

SEND, WRITE, READ, READ_RESPONSE, ACK, ATOMIC_ACK, FETCH_ADD = 4, 10, 12, 16, 17, 18, 20
FIRST, MIDDLE, LAST = 0, 1, 2  # added to the opcode of a message's kind
WRITES, READ_RESPONSES = 6, 13
MTU = 1024
HOSTS = {'request': (1, 2), 'answer': (2, 1)}  # sender, receiver
SEQUENCE_ERROR, ACCESS_ERROR, NOT_READY = 0x60, 0x62, 0x2E


def opcode_of(at, count, message, single):
    """Opcode of a message's packet `at` of `count`. `message`: that of its first packet; `single`:
    that of an only one."""
    if count == 1:
        return single
    return message + (FIRST if at == 0 else LAST if at == count - 1 else MIDDLE)


class Conversation:
    def __init__(self, counted=False):
        self.counted = counted  # the sender numbers its IP packets
        self.at, self.number, self.frames = 0, 0, []

    def numbered(self, number):
        """The next packet, of either side, has this IP identification."""
        self.counted, self.number = True, number - 1

    def keep(self, way):
        """Keeps the frames of one direction."""
        self.frames = [frame for frame in self.frames if frame[1][11] == HOSTS[way][0]]

    def add(self, way, layers, wait):
        self.at += wait
        self.number += 1
        host, peer = HOSTS[way]
        ip = IP(src=f'192.0.2.{host}', dst=f'192.0.2.{peer}', id=self.number if self.counted else 0)
        frame = (Ether(src=f'02:00:00:00:00:0{host}', dst=f'02:00:00:00:00:0{peer}') / ip /
                 UDP(sport=50_000 + host, dport=4791, chksum=0) / layers)
        self.frames.append((round(self.at * 1000), bytes(frame)))

    def request(self, psn, wait=1, opcode=WRITE, asks=True, length=64):
        reth = b'' if opcode == SEND else bytes(7) + bytes([psn % 256]) + bytes(4) + length.to_bytes(4)
        data = b'' if opcode == READ else bytes([psn % 256]) * length
        self.body(psn, opcode, reth + data, wait, asks)

    def body(self, psn, opcode, body, wait=1, asks=True):
        """A request with all that follows its BTH."""
        bth = BTH(opcode=opcode, psn=psn % 2**24, dqpn=0x22, ackreq=asks)
        self.add('request', bth / Raw(body), wait)

    def read(self, psn, address, length, wait=1):
        self.body(psn, READ, struct.pack('>QII', address, 0, length), wait)

    def write(self, psn, address, data, wait=1):
        """A WRITE of `data`, in packets of the MTU."""
        parts = [data[at:at + MTU] for at in range(0, len(data), MTU)]
        for at, part in enumerate(parts):
            reth = struct.pack('>QII', address, 0, len(data)) if at == 0 else b''
            self.body(psn + at, opcode_of(at, len(parts), WRITES, WRITE), reth + part,
                      wait if at == 0 else 1, at == len(parts) - 1)

    def fetch_add(self, psn, address, wait=1):
        self.body(psn, FETCH_ADD, struct.pack('>QIQQ', address, 0, 1, 0), wait)

    def answer(self, psn, wait=1, syndrome=0x1F, msn=None):
        self.add('answer', BTH(opcode=ACK, psn=psn % 2**24, dqpn=0x11) /
                 AETH(syndrome=syndrome, msn=psn + 1 if msn is None else msn), wait)

    def nak(self, psn, wait=1, syndrome=SEQUENCE_ERROR):
        self.answer(psn, wait, syndrome, psn)

    def response(self, psn, wait=1, msn=None, length=64):
        self.add('answer', BTH(opcode=READ_RESPONSE, psn=psn, dqpn=0x11) /
                 AETH(syndrome=0x1F, msn=psn + 1 if msn is None else msn) / Raw(bytes(length)), wait)

    def responses(self, psn, count, msn, wait=1):
        """The response to a READ, of `count` packets."""
        for at in range(count):
            opcode = opcode_of(at, count, READ_RESPONSES, READ_RESPONSE)
            layers = BTH(opcode=opcode, psn=(psn + at) % 2**24, dqpn=0x11)
            if opcode != READ_RESPONSES + MIDDLE:
                layers /= AETH(syndrome=0x1F, msn=msn)
            self.add('answer', layers / Raw(bytes(MTU)), wait if at == 0 else 1)

    def atomic_ack(self, psn, msn, wait=1):
        self.add('answer', BTH(opcode=ATOMIC_ACK, psn=psn % 2**24, dqpn=0x11) /
                 AETH(syndrome=0x1F, msn=msn) / Raw(bytes(8)), wait)

    def requests(self, first, end, **options):
        for psn in range(first, end):
            self.request(psn, **options)

    def save(self, path):
        write_pcap(path, self.frames)
        return path
