# SPDX-License-Identifier: BSD-3-Clause
"""The commands of the guides: a fenced block of docs/ that is marked `console run` is executed in an
empty folder, command by command, and prints what the block shows. A line `...` stands for any
lines."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from longwire_test import SOURCE, program

PROGRAMS = ('roce-gen', 'roce-impair', 'roce-dissect')
BLOCK = re.compile(r'^```console run\n(.*?)^```$', re.S | re.M)
# Of these no block can be repeated, each for its reason.
WITHOUT_BLOCKS = {
    'figures.md': 'written by ./dev bench --manual',
    'glossary.md': 'has no commands',
    'how-it-works.md': 'has no commands',
    'impaired-link-in-ci.md': 'python_package runs its fixture and its test',
    'index.md': 'has no commands',
    'start.md': 'real time; impair_linux has the same steps',
    'two-servers-and-a-box.md': 'needs two servers',
}


def commands_of(block):
    """[(command, the lines that it prints)]"""
    found = []
    for line in block.splitlines():
        if line.startswith('$ '):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line.rstrip())
    return found


def pattern_of(lines):
    """A regular expression of these lines, where `...` is any."""
    return ''.join(r'(?:.*\n)*?' if line == '...' else re.escape(line) + r'[ \t]*\n' for line in lines)


class Patterns(unittest.TestCase):
    def test_only_dots_are_any_lines(self):
        pattern = pattern_of(['a  1', '...', 'z'])
        for text, fits in (('a  1\nz\n', True), ('a  1  \nb\nc\nz\n', True), ('a  2\nz\n', False),
                           ('a  1\nb\n', False), ('a  1\nz\ny\n', False)):
            self.assertEqual(bool(re.fullmatch(pattern, text)), fits, text)


class Guides(unittest.TestCase):
    def setUp(self):
        folders = [str(pathlib.Path(program(name)).parent) for name in PROGRAMS]
        profiles = sorted({str(file.parent) for file in (SOURCE / 'profiles').rglob('*.toml')})
        self.environment = {**os.environ, 'LC_ALL': 'C.UTF-8',
                            'PATH': ':'.join([*folders, os.environ['PATH']]),
                            'LONGWIRE_PROFILES': ':'.join(profiles)}

    def run_block(self, block):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            for name in ('profiles', 'pcaps'):  # as in the source
                os.symlink(SOURCE / name, pathlib.Path(folder, name))
            for command, lines in commands_of(block):
                with self.subTest(command=command):
                    done = subprocess.run(['bash', '-c', command], cwd=folder, env=self.environment,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                          timeout=120, check=False)
                    self.assertRegex(done.stdout, r'\A' + pattern_of(lines) + r'\Z')

    def test_blocks_print_what_they_show(self):
        for guide in sorted((SOURCE / 'docs').glob('*.md')):
            for block in BLOCK.findall(guide.read_text(encoding='utf-8')):
                with self.subTest(guide=guide.name):
                    self.run_block(block)

    def test_each_guide_has_a_block_or_a_reason(self):
        without = {guide.name for guide in (SOURCE / 'docs').glob('*.md')
                   if not BLOCK.search(guide.read_text(encoding='utf-8'))}
        self.assertEqual(without, set(WITHOUT_BLOCKS))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
