# SPDX-License-Identifier: BSD-3-Clause
"""Frames of RoCEv1 and RoCEv2 as network cards send them, over IPv4 and IPv6, with right ICRCs. Written
from IBTA vol. 1 (chapters 5, 9 and 12) and annexes A16 and A17: shares no code with lib/. Packets
begin at their BTH and have no ICRC; frames are whole. tests/e2e/composed.py compares frames with
scapy's, tests/golden with tshark's fields."""

import dataclasses
import ipaddress
import struct
import zlib

RC, UC, UD, CNP = 0x00, 0x20, 0x60, 0x81
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_ONLY = 0, 1, 2, 4
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = 6, 7, 8, 9, 10, 11
READ_REQUEST, RESPONSE_FIRST, RESPONSE_MIDDLE, RESPONSE_LAST, RESPONSE_ONLY = 12, 13, 14, 15, 16
ACKNOWLEDGE, ATOMIC_ACK, CMP_SWAP, FETCH_ADD = 17, 18, 19, 20
NOT_ECT, ECT1, ECT0, CE = range(4)
SHORTEST_FRAME = 60  # bytes, without FCS
PORT = 4791


@dataclasses.dataclass(frozen=True)
class Host:
    """An end: its addresses and what its card writes into headers."""
    address: str
    mac: bytes
    migrated: bool = True  # MigReq: hardware sends 1, Linux soft-RoCE 0
    dscp: int = 0
    ecn: int = ECT0
    hops: int = 64
    flow_label: int = 0

    @property
    def ip(self):
        return ipaddress.ip_address(self.address)


def bth(opcode, qp, psn, *, asks=False, migrated=True, solicited=False, pad=0, p_key=0xFFFF, becn=False):
    """The twelve bytes of a base transport header. (IBTA vol. 1, 9.2)"""
    return struct.pack('>BBHII', opcode, solicited << 7 | migrated << 6 | pad << 4, p_key,
                       becn << 30 | qp, asks << 31 | psn % 2**24)


def reth(address, key, length):
    return struct.pack('>QII', address, key, length)


def aeth(msn, syndrome=0x1F):
    return struct.pack('>I', syndrome << 24 | msn % 2**24)


def deth(q_key, qp):
    return struct.pack('>II', q_key, qp)


def atomic_eth(address, key, swap_or_add, compare=0):
    return struct.pack('>QIQQ', address, key, swap_or_add, compare)


def padded(data):
    """The data with their pad, and the number of pad bytes."""
    pad = -len(data) % 4
    return data + bytes(pad), pad


def _sum(data):
    """The internet checksum. (RFC 1071)"""
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _ipv4(source, destination, length, identification):
    head = struct.pack('>BBHHHBBH4s4s', 0x45, source.dscp << 2 | source.ecn, 20 + length, identification,
                       0x4000, source.hops, 17, 0, source.ip.packed, destination.ip.packed)
    head = head[:10] + _sum(head).to_bytes(2, 'big') + head[12:]
    masked = bytearray(head)
    masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    return b'\x08\x00', head, bytes(masked)


def _ipv6(source, destination, length, following=17):
    word = 6 << 28 | (source.dscp << 2 | source.ecn) << 20 | source.flow_label
    head = struct.pack('>IHBB', word, length, following, source.hops)
    masked = struct.pack('>IHBB', 0x6FFFFFFF, length, following, 0xFF)
    addresses = source.ip.packed + destination.ip.packed
    return b'\x86\xdd', head + addresses, masked + addresses


def _icrc(masked, packet):
    return zlib.crc32(b'\xff' * 8 + masked + packet[:4] + b'\xff' + packet[5:]).to_bytes(4, 'little')


def frame(source, destination, packet, *, port=0xC000, identification=0, tag=b''):
    """A RoCEv2 frame. `port`: the UDP source port; `tag`: what is between the MAC addresses and the
    ether type (a VLAN tag of four bytes). Short frames are filled up to 60 bytes behind the ICRC."""
    length = 8 + len(packet) + 4
    if source.ip.version == 4:
        kind, head, masked = _ipv4(source, destination, length, identification)
    else:
        kind, head, masked = _ipv6(source, destination, length)
    udp = struct.pack('>HHHH', port, PORT, length, 0)
    masked += udp[:6] + b'\xff\xff'
    whole = destination.mac + source.mac + tag + kind + head + udp + packet + _icrc(masked, packet)
    return whole + bytes(max(0, SHORTEST_FRAME - len(whole)))


def frame_v1(source, destination, packet):
    """A RoCEv1 frame: a GRH, laid out as IPv6, in place of IP and UDP. Both hosts have IPv6 addresses
    (of IPv4 ones: ::ffff:a.b.c.d)."""
    _, head, masked = _ipv6(source, destination, len(packet) + 4, following=27)
    whole = destination.mac + source.mac + b'\x89\x15' + head + packet + _icrc(masked, packet)
    return whole + bytes(max(0, SHORTEST_FRAME - len(whole)))
