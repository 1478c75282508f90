#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that no test, script or build file reads what is beside the source tree: a clone has nothing there.
Prints FILE:LINE and the path of each that does; exits with 1 if there is one.

Refused are more "../" than the file is folders deep, the parent of the source tree (SOURCE.parent,
source_root() / "..", too high a `parents[]` of __file__), and home folders or work folders of one machine."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECKED = ('.ci', 'dev', 'docs', 'meson.build', 'packaging', 'pcaps', 'tests')
DATA = ('tests/fuzz/corpus/', 'tests/support/axe/', 'tests/support/check_paths')

TREE = r'(?:\bSOURCE|\bROOT|source_root\(\)|LONGWIRE_SOURCE["\')\]}]*)'
ABOVE_TREE = re.compile(TREE + r'(?:\.parent\b|\.parents\b|\.parent_path\(\)|\s*/\s*["\']?\.\.)')
UP = re.compile(r'(?<![\w.])(?:\.\./)*\.\.(?=[/"\'\s)]|$)')
OF_THIS_FILE = re.compile(r'__file__\)(?:\.resolve\(\))?\.parents\[(\d+)\]')
OF_ONE_MACHINE = re.compile(r'(?<![\w.])/(?:work|home/\w+|Users/\w+)/[\w.]+')


def paths_outside(name, text):
    """(line number, path) of each path that leaves the tree. `name`: of the file, from the tree's root."""
    depth = name.count('/')
    for number, line in enumerate(text.splitlines(), 1):
        found = [match[0] for match in ABOVE_TREE.finditer(line)]
        found += [match[0] for match in UP.finditer(line) if match[0].count('..') > depth]
        found += [match[0] for match in OF_THIS_FILE.finditer(line) if int(match[1]) > depth]
        found += [match[0] for match in OF_ONE_MACHINE.finditer(line)]
        yield from ((number, path) for path in found)


def main():
    listed = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard', *CHECKED],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout
    bad = 0
    for name in filter(None, listed.split('\0')):
        if name.startswith(DATA) or not (ROOT / name).is_file():
            continue
        try:
            text = (ROOT / name).read_text(encoding='utf-8')
        except UnicodeDecodeError:
            continue  # a capture or a picture
        for number, path in paths_outside(name, text):
            print(f'{name}:{number}: {path} leads out of the source tree; copy what is needed into it')
            bad += 1
    sys.exit(1 if bad else 0)


if __name__ == '__main__':
    main()
