# SPDX-License-Identifier: BSD-3-Clause
"""A connection of two QPs, frame by frame, as a capture point between them saw it. Shares no code
with lib/; tests/e2e/dissect_siblings.py compares the frames with those of scapy. Times are in
microseconds."""

import struct

from connect_requests import icrc
from pcap_file import write_pcap

SEND, WRITE, WRITE_IMMEDIATE, READ, READ_RESPONSE, ACK, ATOMIC_ACK, FETCH_ADD = 4, 10, 11, 12, 16, 17, 18, 20
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


def bth(opcode, qp, psn, asks=False):
    return struct.pack('>BBHII', opcode, 0, 0xFFFF, qp, asks << 31 | psn % 2**24)


def aeth(msn, syndrome=0x1F):
    return struct.pack('>I', syndrome << 24 | msn % 2**24)


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

    def add(self, way, packet, wait):
        """`packet`: from the BTH on, without the ICRC."""
        self.at += wait
        self.number += 1
        host, peer = HOSTS[way]
        udp = struct.pack('>HHHH', 50_000 + host, 4791, 12 + len(packet), 0)
        ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 32 + len(packet), self.number % 2**16 if self.counted else 0,
                         0, 64, 17, 0, bytes([192, 0, 2, host]), bytes([192, 0, 2, peer]))
        total = sum(struct.unpack('>10H', ip))
        total = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        ether = bytes([2, 0, 0, 0, 0, peer, 2, 0, 0, 0, 0, host, 8, 0])
        frame = ether + ip[:10] + total.to_bytes(2, 'big') + ip[12:] + udp + packet + bytes(4)
        self.frames.append((round(self.at * 1000), frame[:-4] + icrc(frame)))

    def request(self, psn, wait=1, opcode=WRITE, asks=True, length=64):
        reth = b'' if opcode == SEND else bytes(7) + bytes([psn % 256]) + bytes(4) + length.to_bytes(4)
        if opcode == WRITE_IMMEDIATE:
            reth += bytes(4)
        data = b'' if opcode == READ else bytes([psn % 256]) * length
        self.body(psn, opcode, reth + data, wait, asks)

    def body(self, psn, opcode, body, wait=1, asks=True):
        """A request with all that follows its BTH."""
        self.add('request', bth(opcode, 0x22, psn, asks) + body, wait)

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
        self.add('answer', bth(ACK, 0x11, psn) + aeth(psn + 1 if msn is None else msn, syndrome), wait)

    def nak(self, psn, wait=1, syndrome=SEQUENCE_ERROR):
        self.answer(psn, wait, syndrome, psn)

    def response(self, psn, wait=1, msn=None, length=64):
        self.add('answer', bth(READ_RESPONSE, 0x11, psn) + aeth(psn + 1 if msn is None else msn) +
                 bytes(length), wait)

    def responses(self, psn, count, msn, wait=1):
        """The response to a READ, of `count` packets."""
        for at in range(count):
            opcode = opcode_of(at, count, READ_RESPONSES, READ_RESPONSE)
            head = b'' if opcode == READ_RESPONSES + MIDDLE else aeth(msn)
            self.add('answer', bth(opcode, 0x11, psn + at) + head + bytes(MTU), wait if at == 0 else 1)

    def atomic_ack(self, psn, msn, wait=1):
        self.add('answer', bth(ATOMIC_ACK, 0x11, psn) + aeth(msn) + bytes(8), wait)

    def requests(self, first, end, **options):
        for psn in range(first, end):
            self.request(psn, **options)

    def save(self, path):
        write_pcap(path, self.frames)
        return path
