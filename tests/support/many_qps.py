# SPDX-License-Identifier: BSD-3-Clause
"""Captures of many RC connections: WRITEs of 64 bytes and their ACKs, with right ICRCs, written from
REFERENCE's layout and annex A17's ICRC: shares no code with lib/."""

import struct
import zlib

CLIENT, SERVER = bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2))
ETHERNET = bytes.fromhex('020000000002020000000001') + b'\x08\x00'
WRITE_ONLY, ACKNOWLEDGE = 0x0A, 0x11
BETWEEN = 100  # ns, from frame to frame


def _frame(source, destination, port, qp, psn, opcode, rest):
    length = 8 + 12 + len(rest) + 4
    addresses = source + destination
    bth = struct.pack('>BBHIBBH', opcode, 0x40, 0xFFFF, qp, 0x80 if opcode == WRITE_ONLY else 0,
                      psn >> 16, psn & 0xFFFF)
    # The ICRC takes what routers may change for ones.
    masked = (b'\xff' * 8 + struct.pack('>BBHHHBBH', 0x45, 255, 20 + length, 0, 0x4000, 255, 17,
                                        0xFFFF) + addresses +
              struct.pack('>HHHH', port, 4791, length, 0xFFFF) + bth[:4] + b'\xff' + bth[5:] + rest)
    return (ETHERNET + struct.pack('>BBHHHBBH', 0x45, 0, 20 + length, 0, 0x4000, 64, 17, 0) +
            addresses + struct.pack('>HHHH', port, 4791, length, 0) + bth + rest +
            struct.pack('<I', zlib.crc32(masked)))


def write(stamp, qp, psn, port, size=64):
    rest = struct.pack('>QII', 0, 1, size) + bytes(size)
    return stamp, _frame(CLIENT, SERVER, port, qp, psn, WRITE_ONLY, rest)


def ack(stamp, qp, psn, port, messages):
    return stamp, _frame(SERVER, CLIENT, port, qp, psn, ACKNOWLEDGE,
                         struct.pack('>I', 0x1F000000 | messages))


def nak(stamp, qp, psn, port, messages):
    return stamp, _frame(SERVER, CLIENT, port, qp, psn, ACKNOWLEDGE,
                         struct.pack('>I', 0x60000000 | messages))


def capture(qps, messages=1, answered=True):
    """Frames of `qps` connections that write in turns, each with its own first PSN."""
    at = 0
    for message in range(messages):
        for qp in range(2, qps + 2):
            port, psn = 49152 + qp * 7919 % 16384, (qp * 2654435761 + message) & 0xFFFFFF
            yield write(at * BETWEEN, qp, psn, port)
            if answered:
                yield ack((at + 1) * BETWEEN, qp, psn, port, message + 1)
            at += 2
