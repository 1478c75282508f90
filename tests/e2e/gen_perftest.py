# SPDX-License-Identifier: BSD-3-Clause
"""Lines of perftest behind `roce-gen perf --`. The options are those that the installed programs
list in their own help."""

import json
import re
import shutil
import subprocess
import unittest

import longwire_test

GEN = longwire_test.program('roce-gen')
TIMEOUT = 120
PROGRAMS = [f'ib_{operation}_{kind}' for operation in ('write', 'send', 'read', 'atomic')
            for kind in ('bw', 'lat')]


def perf(*line, before=('--sim', '--delay', '10us')):
    return subprocess.run([GEN, 'perf', *before, '--', *line], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)


def listed(program):
    """The options in a program's help: letter or none, name, whether it takes a value."""
    text = subprocess.run([program, '--help'], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    for line in (text.stdout + text.stderr).splitlines():
        found = re.match(r'\s+(?:-(\w), )?--([\w-]+)(=?)', line)
        if found:
            yield found.groups()


class Perftest(unittest.TestCase):
    def test_every_option_of_the_installed_programs_is_known(self):
        if not shutil.which('ib_write_bw'):
            self.skipTest('SKIPPED: perftest is not installed')
        for program in PROGRAMS:
            options = list(listed(program))
            self.assertGreater(len(options), 40, program)
            for letter, name, _ in options:
                for option in ('--' + name, *(('-' + letter,) if letter else ())):
                    # As the last word: an option with a value lacks it, the others are taken.
                    done = perf(program, '-n', '5', option)
                    self.assertNotIn('has no such option', done.stderr, f'{program} {option}')
                    self.assertIn(done.returncode, (0, 2), f'{program} {option}: {done.stderr}')

    def test_a_line_is_what_its_own_options_are(self):
        line = 'ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -s 64k -n 1000 --report_gbits -F --out_json'
        pasted = perf(*line.split())
        self.assertEqual(pasted.returncode, 0, pasted.stderr)
        own = subprocess.run([GEN, 'perf', '--sim', '--delay', '10us', '-t', '2048', '-q', '4', '-s',
                              '64KiB', '-n', '1000', '--timeout', '14', '--json'],
                             capture_output=True, text=True, timeout=TIMEOUT, check=True)
        self.assertEqual(json.loads(pasted.stdout), json.loads(own.stdout))
        self.assertIn("--timeout 14: perftest's default, where roce-gen has 18", pasted.stderr)
        self.assertIn('-F, --CPU-freq is ignored', pasted.stderr)

    def test_what_is_not_there_is_refused(self):
        for line, why in (('ib_write_bw -b', 'from the client to the server only'),
                          ('ib_write_bw --run_infinitely', '--duration'),
                          ('ib_foo', 'expected ib_write_bw'), ('', 'expected a line of perftest'),
                          ('ib_write_bw -q', 'expected a value')):
            done = perf(*line.split())
            self.assertEqual(done.returncode, 2, line)
            self.assertIn(why, done.stderr)


if __name__ == '__main__':
    longwire_test.main()
