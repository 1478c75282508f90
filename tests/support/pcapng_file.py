# SPDX-License-Identifier: BSD-3-Clause
"""pcapng files for end-to-end tests, from the format's text (draft-ietf-opsawg-pcapng): shares no
code with lib/. Little-endian, one section."""

import struct

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
NAME, RESOLUTION = 2, 9


def _padded(data):
    return data + bytes(-len(data) % 4)


def _block(kind, body):
    return struct.pack('<II', kind, len(body) + 12) + body + struct.pack('<I', len(body) + 12)


def write_pcapng(path, names, frames, link_types=None):
    """Interfaces of these names ('' is none), and frames (interface, time in ns, bytes)."""
    with open(path, 'wb') as out:
        out.write(_block(SECTION, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)))
        for name, link in zip(names, link_types or [1] * len(names)):
            options = struct.pack('<HH', RESOLUTION, 1) + _padded(b'\x09')
            if name:
                options += struct.pack('<HH', NAME, len(name)) + _padded(name.encode())
            out.write(_block(INTERFACE, struct.pack('<HHI', link, 0, 0) + options + bytes(4)))
        for interface, stamp, data in frames:
            head = struct.pack('<IIIII', interface, stamp >> 32, stamp & 0xFFFFFFFF, len(data),
                               len(data))
            out.write(_block(PACKET, head + _padded(data)))


def blocks(content):
    """A file's blocks: (kind, body, all of it)."""
    at = 0
    while at < len(content):
        kind, size = struct.unpack_from('<II', content, at)
        yield kind, content[at + 8:at + size - 4], content[at:at + size]
        at += size


def _name_and_unit(options):
    name, unit, at = '', 1000, 0
    while at + 4 <= len(options):
        code, size = struct.unpack_from('<HH', options, at)
        value = options[at + 4:at + 4 + size]
        if code == NAME:
            name = value.decode()
        if code == RESOLUTION:
            unit = 10 ** (9 - value[0])
        at += 4 + size + -size % 4
    return name, unit


def read_pcapng(path):
    """The names of the interfaces, and the frames (name, time in ns, bytes) in order."""
    with open(path, 'rb') as file:
        content = file.read()
    interfaces, frames = [], []
    for kind, body, _ in blocks(content):
        if kind == INTERFACE:
            interfaces.append(_name_and_unit(body[8:]))
        elif kind == PACKET:
            number, high, low, captured, _ = struct.unpack_from('<IIIII', body)
            name, unit = interfaces[number]
            frames.append((name, (high << 32 | low) * unit, body[20:20 + captured]))
    return [name for name, _ in interfaces], frames
