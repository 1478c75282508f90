# SPDX-License-Identifier: BSD-3-Clause
"""Captures and frames for end-to-end tests, written from the formats' texts: shares no code with
lib/. A frame is a pair (time in ns, bytes)."""

import struct

MAGIC_US, MAGIC_NS = 0xA1B2C3D4, 0xA1B23C4D


def write_pcap(path, frames, snap=262144, link=1):
    """A pcap file with nanosecond stamps (draft-ietf-opsawg-pcap), of the first `snap` bytes of each
    frame, of a link type."""
    with open(path, 'wb') as out:
        out.write(struct.pack('<IHHiIII', MAGIC_NS, 2, 4, 0, 0, snap, link))
        for stamp, data in frames:
            seconds, ns = divmod(stamp, 10**9)
            out.write(struct.pack('<IIII', seconds, ns, min(snap, len(data)), len(data))
                      + data[:snap])


def read_pcap(path):
    """The frames of a little-endian pcap file, in order."""
    with open(path, 'rb') as file:
        content = file.read()
    scale = {MAGIC_US: 1000, MAGIC_NS: 1}[struct.unpack_from('<I', content)[0]]
    frames, at = [], 24
    while at < len(content):
        seconds, fraction, captured, _ = struct.unpack_from('<IIII', content, at)
        at += 16
        frames.append((seconds * 10**9 + fraction * scale, content[at:at + captured]))
        at += captured
    return frames


def roce_frame(number, payload=64, qp=0x11, opcode=0x0A):
    """RoCEv2 over IPv4: an RC WRITE ONLY whose PSN is `number`, by REFERENCE's layout. The
    payload holds the number too, so that frames can be told apart beyond 2^24. No ICRC is
    computed: an impairer has no business with it."""
    bth = struct.pack('>BBHII', opcode, 0x40, 0xFFFF, qp, number & 0xFFFFFF)
    reth = struct.pack('>QII', 0, 0, payload)
    body = bth + reth + number.to_bytes(8, 'big') + bytes(payload - 8) + b'icrc'
    udp = struct.pack('>HHHH', 0xC000, 4791, 8 + len(body), 0)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 2, 28 + len(body), 0, 0x4000, 64, 17, 0,
                     bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    return bytes(6) + b'\x02' + bytes(5) + b'\x08\x00' + ip + udp + body


def other_frame(number, size=60):
    """An ARP-like frame that nothing takes for RoCE; the number makes it unique."""
    head = b'\xff' * 6 + b'\x02' + bytes(5) + b'\x08\x06' + number.to_bytes(8, 'big')
    return head + bytes(i & 0xFF for i in range(size - len(head)))


def is_roce(frame):
    """UDP to 4791 over IPv4 without options: enough for the frames above."""
    return (len(frame) >= 42 and frame[12:14] == b'\x08\x00' and frame[23] == 17
            and frame[36:38] == (4791).to_bytes(2, 'big'))
