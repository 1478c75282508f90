# SPDX-License-Identifier: BSD-3-Clause
"""The commands of the guides: each block of docs/ that is marked `console run` is executed in an empty
folder, with the example capture, and prints what it shows (tests/support/guide_blocks.py).

With LONGWIRE_START_ROOT, the commands run in that root, where the packages are installed."""

import os
import pathlib
import re
import shutil
import tempfile
import time
import unittest

from guide_blocks import FENCE, Runner, blocks_of, pattern_of, steps_of
from longwire_test import SOURCE, program

ROOT = os.environ.get('LONGWIRE_START_ROOT', '')
CAPTURES = [pathlib.Path(ROOT, 'usr/share/longwire/captures')] if ROOT else [SOURCE / 'pcaps/rxe', SOURCE / 'pcaps/upper']
INSTALLED = ('loss_write_sender_side.pcap', 'cm_rping.pcap', 'nvme_loss_host.pcap.gz', 'nvme_loss_target.pcap.gz')
PROGRAMS = ('roce-gen', 'roce-impair', 'roce-dissect')
# Run by start_guide.
OTHERS = {'start.md'}
# Of these no block can be repeated, each for its reason.
WITHOUT_BLOCKS = {
    'changelog.md': 'has no commands',
    'choosing.md': 'has no commands',
    'contributing.md': 'has the commands of ./dev',
    'figures-scale.md': 'written by ./dev bench --manual',
    'figures.md': 'written by ./dev bench --manual',
    'glossary.md': 'has no commands',
    'how-it-works.md': 'has no commands',
    'impaired-link-in-ci.md': 'python_package runs its fixture and its test',
    'incast.md': 'needs nine machines, or root: gen_ranks does the same with five ranks',
    'limits.md': 'has no commands',
    'security.md': 'says what others may do, and has no commands',
    'troubleshooting.md': 'names commands for a machine with a fault',
    'snappi-over-a-long-path.md': 'gen_otg_flows runs its test',
    'two-servers-and-a-box.md': 'needs two servers',
}


def runner(test, folder):
    """Runs blocks in `folder`, which is below ROOT, with the programs of the build or of ROOT."""
    if not ROOT:
        return Runner(test, pathlib.Path(folder), guide_environment())
    clean = {'PATH': '/usr/sbin:/usr/bin:/sbin:/bin', 'HOME': '/root', 'LC_ALL': 'C.UTF-8'}
    there = '/' + os.path.relpath(folder, ROOT)
    return Runner(test, pathlib.Path(folder), clean, ('chroot', ROOT, 'env', f'--chdir={there}'))


def guide_environment():
    """The programs of the build are on the PATH, and find the profiles of the source."""
    folders = [str(pathlib.Path(program(name)).parent) for name in PROGRAMS]
    return {**os.environ, 'LC_ALL': 'C.UTF-8', 'PATH': ':'.join([*folders, os.environ['PATH']]),
            'LONGWIRE_PROFILES': str(SOURCE / 'profiles')}


class Patterns(unittest.TestCase):
    def test_only_dots_are_any_lines(self):
        pattern = pattern_of(['a  1', '...', 'z'])
        for text, fits in (('a  1\nz\n', True), ('a  1  \nb\nc\nz\n', True), ('a  2\nz\n', False),
                           ('a  1\nb\n', False), ('a  1\nz\ny\n', False)):
            self.assertEqual(bool(re.search(pattern, text)), fits, text)

    def test_words_of_a_block(self):
        (one,), (two,), (three,) = (blocks_of(f'```console run{words}\n# a\nb\n```\n')
                                    for words in ('', ' only', ' in box'))
        self.assertEqual([(block.compared, block.terminal) for block in (one, two, three)],
                         [(True, ''), (False, ''), (True, 'box')])
        self.assertEqual(one.commands, [('a', ['b'])])
        (installed,) = blocks_of('```console run installed only\n$ a\n```\n')
        self.assertEqual((installed.installed, one.installed, installed.compared), (True, False, False))


class Guides(unittest.TestCase):
    def test_blocks_print_what_they_show(self):
        for guide in sorted((SOURCE / 'docs').glob('*.md')):
            if guide.name in OTHERS:
                continue
            began = time.monotonic()
            blocks = [block for block in blocks_of(guide.read_text(encoding='utf-8')) if ROOT or not block.installed]
            for block in blocks:
                with self.subTest(guide=guide.name):
                    self.run_block(block)
            if blocks:
                print(f'# {guide.name}: {steps_of(blocks)} steps in {time.monotonic() - began:.1f} s', flush=True)

    def run_block(self, block):
        with tempfile.TemporaryDirectory(prefix='longwire-', dir=f'{ROOT}/tmp') as folder:
            for name in INSTALLED:
                shutil.copy(next(place / name for place in CAPTURES if (place / name).exists()), folder)
            runner(self, folder).run([block])

    def test_each_guide_has_a_block_or_a_reason(self):
        without = {guide.name for guide in (SOURCE / 'docs').glob('*.md')
                   if not FENCE.search(guide.read_text(encoding='utf-8'))}
        self.assertEqual(without, set(WITHOUT_BLOCKS))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
