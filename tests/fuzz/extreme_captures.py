# SPDX-License-Identifier: BSD-3-Clause
"""Writes the seeds of corpus/dissect_commands that have extreme stamps and lengths: captures of both
formats and byte orders, and compact ledgers. Run it after a change, and commit what it writes."""

import pathlib
import struct
import zlib

FOLDER = pathlib.Path(__file__).parent / 'corpus' / 'dissect_commands'
MOST32, MOST64, HALF = 2**32 - 1, 2**64 - 1, 2**63
MAGICS = {'us': 0xA1B2C3D4, 'ns': 0xA1B23C4D, 'modified': 0xA1B2CD34}


def roce(opcode, psn, headers=b'', payload=b''):
    """RoCEv2 over IPv4 with a right ICRC."""
    bth = struct.pack('>BBHII', opcode, 0x40, 0xFFFF, 0x11, psn)
    udp_length = 8 + len(bth + headers + payload) + 4
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 2, 20 + udp_length, 0, 0x4000, 64, 17, 0,
                     bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    udp = struct.pack('>HHHH', 0xC000, 4791, udp_length, 0)
    masked = (b'\xff' * 8 + ip[:1] + b'\xff' + ip[2:8] + b'\xff' + ip[9:10] + b'\xff\xff' + ip[12:]
              + udp[:6] + b'\xff\xff' + bth[:4] + b'\xff' + bth[5:])
    icrc = struct.pack('<I', zlib.crc32(masked + headers + payload))
    return b'\x02' * 12 + b'\x08\x00' + ip + udp + bth + headers + payload + icrc


def signature(version, flow, sequence, time):
    if version == 1:
        return struct.pack('>4sIQQ', b'LWSG', flow, sequence, time)
    return struct.pack('>4sB3sQQ', b'LWS2', 1, flow.to_bytes(3, 'big'), sequence, time)


FRAMES = [
    roce(0x0A, 5, struct.pack('>QII', MOST64, MOST32, MOST32), bytes(8)),  # WRITE
    roce(0x0C, 0xFFFFFF, struct.pack('>QII', MOST64 - 1, 0, MOST32)),      # READ request
    roce(0x0C, 0x7FFFFF, struct.pack('>QII', 0, 0, 2**31)),
    roce(0x13, 0, struct.pack('>QIQQ', MOST64, 0, MOST64, HALF)),          # compare and swap
    roce(0x11, 5, struct.pack('>I', MOST32)),                              # ACK
    roce(0x04, 9, b'', signature(2, 0, MOST64, MOST64)),
    roce(0x04, 10, b'', signature(2, 0xFFFFFF, 0, 0)),
    roce(0x04, 11, b'', signature(1, MOST32, HALF, HALF)),
    roce(0x04, 12, b'', signature(1, 0, MOST64, HALF - 1)),
]
# Messages of several packets, out of order and with gaps: WRITE, SEND, READ and its response, atomics.
TRANSFERS = [
    roce(0x06, 100, struct.pack('>QII', MOST64 - 40, 7, 100), bytes(range(32))),
    roce(0x08, 103, b'', b'last'),
    roce(0x07, 101, b'', bytes(32)),
    roce(0x06, 90, struct.pack('>QII', 0x1000, 7, MOST32), bytes(32)),   # sent again, and overlapping
    roce(0x0A, 104, struct.pack('>QII', 0x1010, 7, 4), b'over'),
    roce(0x00, 105, b'', bytes(16)),
    roce(0x02, 108, b'', b'end!'),
    roce(0x01, 106, b'', bytes(16)),
    roce(0x05, 109, struct.pack('>I', 5), b''),
    roce(0x0C, 110, struct.pack('>QII', 0, 9, 40), b''),
    roce(0x0C, 111, struct.pack('>QII', 16, 9, 24), b''),
    roce(0x0D, 110, struct.pack('>I', 1), bytes(16)),
    roce(0x0F, 112, struct.pack('>I', 1), bytes(8)),
    roce(0x0E, 400, b'', bytes(16)),
    roce(0x14, 113, struct.pack('>QIQQ', MOST64 - 3, 7, 1, 1)),          # fetch and add
    roce(0x14, 114, struct.pack('>QIQQ', 0x1000, 7, 1, 1)),
    roce(0x12, 114, struct.pack('>IQ', 1, MOST64)),
    roce(0x64, 7, struct.pack('>II', 1, 9), b'datagram'),
]
STAMPS = [(0, 0), (MOST32, MOST32), (0, MOST32), (2**31, 999_999_999), (MOST32, 0), (1, 0)]


def pcap(order, kind, link=1, snap=262144, lengths=None, stamps=None, frames=None):
    out = struct.pack(order + 'IHHiIII', MAGICS[kind], 2, 4, -2**31, MOST32, snap, link)
    for i, frame in enumerate(frames or FRAMES):
        seconds, part = (stamps or STAMPS)[i % len(stamps or STAMPS)]
        caught, wire = (lengths or [(len(frame), len(frame))])[i % len(lengths or [0])]
        out += struct.pack(order + 'IIII', seconds, part, caught, wire)
        out += (struct.pack(order + 'IHBB', 0, 0, 0, 0) if kind == 'modified' else b'') + frame
    return out


def block(order, kind, body, size=None):
    body += bytes(-len(body) % 4)
    size = len(body) + 12 if size is None else size
    return struct.pack(order + 'II', kind, size) + body + struct.pack(order + 'I', size)


def option(order, code, value, size=None):
    head = struct.pack(order + 'HH', code, len(value) if size is None else size)
    return head + value + bytes(-len(value) % 4)


def pcapng(order, resolution, offset=0, lengths=None, link=1, tail=b''):
    out = block(order, 0x0A0D0D0A, struct.pack(order + 'IHHq', 0x1A2B3C4D, 1, 0, -1))
    options = option(order, 9, bytes([resolution])) + option(order, 14, struct.pack(order + 'q', offset))
    out += block(order, 1, struct.pack(order + 'HHI', link, 0, 0) + options + bytes(4))
    for i, stamp in enumerate([0, MOST64, HALF, HALF - 1, MOST32, MOST64, 0, HALF, 1]):
        frame = FRAMES[i]
        caught, wire = (lengths or [(len(frame), len(frame))])[i % len(lengths or [0])]
        head = struct.pack(order + 'IIIII', 0, stamp >> 32, stamp & MOST32, caught, wire)
        out += block(order, 6, head + frame)
    out += block(order, 3, struct.pack(order + 'I', MOST32) + FRAMES[0])
    out += block(order, 5, struct.pack(order + 'III', 0, MOST32, MOST32)
                 + option(order, 4, struct.pack(order + 'Q', MOST64)))
    return out + tail


def ledger(stamps):
    """Version 2 of the compact ledger, as binary_ledger.h describes it."""
    names = b'[["a","b"],[]]'
    out = b'LWLEDGER' + struct.pack('<HHI', 2, 44, 0) + struct.pack('<II', 1, len(names)) + names
    tail = bytes.fromhex('11000081 07000001 0000 0100 00 01')
    records = b''.join(struct.pack('<qqq', *stamp) + tail + bytes([i, 1, 0, 0, 0, 0])
                       for i, stamp in enumerate(stamps))
    return (out + struct.pack('<II', 2, len(records)) + records
            + struct.pack('<IIQQ', 3, 16, len(stamps), MOST64))


def main():
    seeds = {}
    for order, name in (('<', 'little'), ('>', 'big')):
        for kind in MAGICS:
            seeds[f'pcap_{kind}_{name}'] = pcap(order, kind)
        for resolution in (0, 6, 9, 0x13, 0x7F, 0x80, 0x9E, 0xBF, 0xFF):
            seeds[f'pcapng_unit{resolution:02x}_{name}'] = pcapng(order, resolution)
    for name, offset in (('most', HALF - 1), ('least', -HALF), ('minus', -1), ('now', 1_700_000_000)):
        seeds[f'pcapng_offset_{name}'] = pcapng('<', 9, offset)
        seeds[f'pcapng_offset_{name}_s'] = pcapng('<', 0, offset)
    wrong = [(0, 0), (0, MOST32), (60, MOST32), (60, 0), (MOST32, MOST32), (2**31, 60)]
    for i, pair in enumerate(wrong):
        seeds[f'pcap_length{i}'] = pcap('<', 'ns', lengths=[pair])
        seeds[f'pcapng_length{i}'] = pcapng('<', 9, lengths=[pair])
    for link in (0, 101, 113, 228, 229, 276, MOST32):
        seeds[f'pcap_link{link}'] = pcap('<', 'ns', link, 0)
    for size in (0, 8, 12, 13, MOST32, 2**31):
        seeds[f'pcapng_block{size}'] = pcapng('<', 9, tail=block('<', 6, bytes(20), size))
    seeds['pcapng_option'] = pcapng('<', 9, tail=block('<', 1, struct.pack('<HHI', 1, 0, 0)
                                                       + option('<', 9, b'\x09', 0xFFFF)))
    seeds['transfers'] = pcap('<', 'ns', stamps=[(1, 0)], frames=TRANSFERS)
    seeds['transfers_cut'] = pcap('<', 'ns', stamps=[(1, 0)],
                                  frames=[frame[:70] for frame in TRANSFERS[:6]] + TRANSFERS[9:])
    extremes = [(0, 0, 0), (-2**63, 2**63 - 1, -2**63), (-1, -2**63, 2**63 - 1), (1, -1, 0)]
    seeds['ledger'] = ledger(extremes)
    FOLDER.mkdir(exist_ok=True)
    for name, content in seeds.items():
        (FOLDER / name).write_bytes(content)


if __name__ == '__main__':
    main()
