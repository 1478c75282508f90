# SPDX-License-Identifier: BSD-3-Clause
"""Mutated ConnectRequests of RDMA's connection manager (IBTA vol. 1, 12.6.5): RoCEv2 frames over IPv4
with the right ICRC, as a peer sends them who wants to break the other side."""

import struct
import zlib

IP, UDP, BTH, MAD = 14, 34, 42, 62  # offsets in a frame: after Ethernet, IPv4, UDP, and BTH with DETH
ATTRIBUTE, COMM_ID = MAD + 16, MAD + 24
REQUEST = 0x10
PARAMETERS = MAD + 24 + 140 + 36  # after the addresses in the private data: roce-gen perf's own
SIZE_SLOTS_DEPTH = PARAMETERS + 8
# Products of two of these wrap in 32 or 64 bits.
EXTREMES = (0, 1, 2, 0xFFFF, 1 << 16, 1 << 26, (1 << 31) - 1, 1 << 31, 3037000500, (1 << 32) - 1)


def icrc(frame):
    """The ICRC of a RoCEv2 frame over IPv4 whose last four bytes are its place (annex A17)."""
    masked = bytearray(frame[IP:-4])
    masked[1] = masked[8] = masked[BTH - IP + 4] = 0xFF  # DSCP and ECN, TTL, FECN and BECN
    masked[10:12] = masked[UDP - IP + 6:UDP - IP + 8] = b'\xff\xff'  # checksums
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + masked))


def is_request(frame):
    return len(frame) > PARAMETERS and frame[ATTRIBUTE:ATTRIBUTE + 2] == REQUEST.to_bytes(2, 'big')


def of_another_host(frame, number):
    """The frame as host NUMBER of the same network sends it."""
    changed = bytearray(frame)
    changed[11] = changed[IP + 15] = number  # MAC address, IPv4 address
    changed[IP + 10:IP + 12] = b'\0\0'
    total = sum(struct.unpack_from('>10H', changed, IP))
    total = (total & 0xFFFF) + (total >> 16)
    changed[IP + 10:IP + 12] = struct.pack('>H', ~(total + (total >> 16)) & 0xFFFF)
    return bytes(changed)


def mutated(request, number, chance):
    """The request with a communication id of its own, and extreme or random bytes in it."""
    changed = bytearray(request)
    struct.pack_into('>I', changed, COMM_ID, 0x66000000 + number)
    if chance.random() < 0.7:
        for at in range(SIZE_SLOTS_DEPTH, SIZE_SLOTS_DEPTH + 12, 4):
            if chance.random() < 0.7:
                struct.pack_into('>I', changed, at, chance.choice(EXTREMES))
    if chance.random() < 0.5:
        first, last = chance.choice(((PARAMETERS, PARAMETERS + 56), (MAD, len(changed) - 4)))
        for _ in range(chance.randrange(1, 5)):
            changed[chance.randrange(first, last)] = chance.randrange(256)
    changed[-4:] = icrc(changed)
    return bytes(changed)
