# SPDX-License-Identifier: BSD-3-Clause
"""Holds the arrows of DESIGN 1 where the compiler can't: our own rooms, and headers that every
compiler finds by itself. Exit 1 with a line a violation; run by ./dev check and by the tests."""

import pathlib
import re
import sys

# What a room may include besides itself. Arrows point down only.
ROOMS = {
    'core': set(),
    'wire': {'core'},
    'roce': {'core', 'wire'},
    'transport': {'core', 'wire', 'roce'},
    'emulator': {'core', 'wire', 'roce'},
    'sim': {'core', 'wire', 'roce', 'transport', 'emulator'},
    'capture': {'core'},
    'nic': {'core'},
    'report': {'core'},
    # A profile fills the config types of the rooms it describes, so it stands above them.
    'config': {'core', 'wire', 'roce', 'emulator', 'capture'},
}
PROGRAMS = ('gen', 'impair', 'dissect')

# Libraries, and who may see them.
LIBRARIES = {
    r'rte_': {'lib/nic', 'gen', 'impair'},
    r'pcap': {'lib/capture'},
    r'isa-l|isa-l\.h': {'lib/wire'},
    r'toml\+\+|toml\.hpp': {'lib/config'},
    r'nlohmann/': {'lib/report', 'gen', 'impair', 'dissect'},
    r'CLI/': {'gen', 'impair', 'dissect'},
    r'infiniband/|rdma/': {'gen'},
}
# No clock and no device below these: they are told the time (DESIGN 2.1).
TIMELESS = {'lib/core', 'lib/wire', 'lib/roce', 'lib/emulator', 'lib/transport', 'lib/sim'}
CLOCKS = re.compile(r'\b(steady_clock|system_clock|clock_gettime|gettimeofday|rte_rdtsc)\b')

TOP_LEVEL = {
    'meson.build', 'lib', 'gen', 'impair', 'dissect', 'profiles', 'tests',
    'pcaps', 'README.md', 'dev', 'ARCHITECTURE.md', 'LICENSE',
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def sources(root):
    for top in ('lib',) + PROGRAMS:
        for path in sorted((root / top).rglob('*')):
            if path.suffix in ('.h', '.cpp'):
                yield path


def place_of(path, root):
    parts = path.relative_to(root).parts
    return '/'.join(parts[:2]) if parts[0] == 'lib' else parts[0]


def own_arrow(place, target):
    """Why `place` may not include the room or program `target`, or None."""
    if place.startswith('lib/'):
        room = place.removeprefix('lib/')
        if target in PROGRAMS:
            return 'a room never includes a program'
        if target != room and target not in ROOMS.get(room, set()):
            return f'lib/{room} may see {sorted(ROOMS.get(room, set())) or "nothing of ours"}'
    elif target in PROGRAMS and target != place:
        return 'programs never include each other'
    return None


def check_file(path, root):
    place = place_of(path, root)
    lines = path.read_text(encoding='utf-8').splitlines()
    if not lines or 'SPDX-License-Identifier: BSD-3-Clause' not in lines[0]:
        yield f'{path.relative_to(root)}:1: the first line must be the SPDX line'
    for number, line in enumerate(lines, 1):
        where = f'{path.relative_to(root)}:{number}'
        if place in TIMELESS and CLOCKS.search(line):
            yield f'{where}: {place} reads a clock; it must be told the time'
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, name = match.groups()
        if quote == '"':
            reason = own_arrow(place, name.split('/')[0])
            if reason:
                yield f'{where}: includes {name}: {reason}'
        for library, allowed in LIBRARIES.items():
            if re.match(library, name) and place not in allowed:
                yield f'{where}: <{name}> may be seen by {sorted(allowed)} only'


def violations(root):
    for path in sources(root):
        yield from check_file(path, root)
    for entry in sorted(root.iterdir()):
        if entry.name.startswith('.') or entry.name.startswith('build'):
            continue
        if entry.name not in TOP_LEVEL:
            yield f'{entry.name}: not a thing of the top level (DESIGN 1)'


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = list(violations(root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
