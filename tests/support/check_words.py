# SPDX-License-Identifier: BSD-3-Clause
"""Finds retired names (retired_names.txt) in product code, help texts and manuals.

Exit 1 with one line per occurrence: file, line, the name, and what to write instead."""

import pathlib
import re
import sys

PROGRAMS_AND_LIBRARY = ('lib', 'gen', 'impair', 'dissect')


def retired(list_file):
    """(compiled pattern, where, replacement) per line of the list."""
    for line in list_file.read_text(encoding='utf-8').splitlines():
        if not line.strip() or line.startswith('#'):
            continue
        pattern, where, replacement = re.split(r'\s{2,}', line.strip(), maxsplit=2)
        yield re.compile(rf'(?<![\w-])(?:{pattern})(?![\w-])'), where, replacement


def files(root):
    for top in PROGRAMS_AND_LIBRARY:
        for path in sorted((root / top).rglob('*')):
            if path.suffix in ('.h', '.cpp', '.md'):
                yield path
    for folder in (root, root / 'docs', root / 'pcaps', root / 'tests'):
        yield from sorted(folder.glob('*.md'))


def applies(path, where):
    if where == 'all':
        return True
    if where == 'manuals':
        return path.suffix == '.md'
    if where == 'code':
        return path.suffix != '.md'
    return path.parts[0] == where


def violations(root, list_file):
    names = list(retired(list_file))
    for file in files(root):
        name = file.relative_to(root)
        active = [(pattern, new) for pattern, where, new in names if applies(name, where)]
        for number, line in enumerate(file.read_text(encoding='utf-8').splitlines(), 1):
            for pattern, replacement in active:
                found = pattern.search(line)
                if found:
                    yield f'{name}:{number}: "{found[0]}" is retired; write: {replacement}'


def main():
    here = pathlib.Path(__file__).resolve()
    found = list(violations(here.parents[2], here.with_name('retired_names.txt')))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
