# SPDX-License-Identifier: BSD-3-Clause
"""perftest's own programs run the lines of tests/support/perftest_lines.py between two soft-RoCE guests.
A line that perftest runs there runs in roce-gen's simulation too, or is refused with the reason that
the table has. LONGWIRE_LINES is how many of the lines are tried; all without it."""

import collections
import itertools
import os
import re
import subprocess
import unittest

import guests
import longwire_test
from perftest_lines import FURTHER_LINES, LINES, PUBLIC_LINES

GEN = longwire_test.program('roce-gen')
# What names the machines of who wrote the line: the guests have others.
OF_THE_MACHINE = {'-d', '--ib-dev', '-x', '--gid-index', '-i', '--ib-port', '--bind_source_ip',
                  '--numa_node'}
VALUED = 'wypdimsntuSxcqIoMrQAlDfBTLEJjKkXW'  # letters with a value, of which help shows some without
RESULT = re.compile(r'\s*\d+\s+\d+\s+[\d.]+')  # size, iterations, a figure
LINE = re.compile(r'\s*(-+|\*+)$')
HAS_LENGTH = re.compile(r' (-D|-n|--dur|--iter)')


def options_of(program):
    """The options in the help of an installed program: whether each takes a value."""
    done = subprocess.run([program, '--help'], capture_output=True, text=True, check=False)
    takes = {}
    for line in (done.stdout + done.stderr).splitlines():
        if found := re.match(r'\s+(?:-(\w), )?--([\w-]+)(=?)', line):
            letter, name, value = found.groups()
            takes['--' + name] = takes['-' + (letter or '-')] = bool(value) or (letter or '-') in VALUED
    return takes


def whole(option, takes):
    """The name that a beginning of an option stands for."""
    if option in takes or not option.startswith('--'):
        return option
    names = [name for name in takes if name.startswith(option)]
    return names[0] if len(names) == 1 else option


def for_guests(line):
    """The program and the options of a line, as (program, {option: value}) without what names machines."""
    words = line.split()
    program = next(word for word in words if re.fullmatch(r'(.*/)?(ib|raw)_\w+_(bw|lat)', word))
    rest = words[words.index(program) + 1:]
    program = program.rsplit('/', 1)[-1]
    takes, given = options_of(program), []
    while rest:
        word = rest.pop(0)
        if not word.startswith('-'):
            continue  # the server
        name, equals, value = word.partition('=')
        name = whole(name, takes)
        if re.match(r'-\w\w', name):  # -D1, -zR, -q4
            value, name = (name[2:], name[:2]) if takes.get(name[:2]) else ('', name)
        elif not equals and (takes.get(name) or name not in takes and rest and rest[0].isdigit()):
            value = rest.pop(0)
        if name not in OF_THE_MACHINE:
            given.append((name, value))
    return program, given


def distinct(lines):
    """Lines that have a program, or an option of _bw or of _lat, which none before them has."""
    seen = set()
    for line in lines:
        program, given = for_guests(line.partition('  # ')[0])
        kind = program.rpartition('_')[2]
        options = {program, *((kind, name) for name, _ in given)}
        if not options <= seen:
            seen |= options
            yield line, program, given


@guests.needed
class PastedLines(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = guests.Guests()
        cls.addClassCleanup(cls.lab.__exit__)
        cls.lab.__enter__()

    def in_guests(self, program, given):
        """Whether perftest has measured something, and otherwise the line that says why not. It is ended
        after some seconds: with -a, an emulated guest does not reach 8 MiB by then."""
        words = ' '.join(f'{name}={value}' if value and name.startswith('--') else f'{name} {value}'
                         for name, value in self.shortened(given))
        common = f'{program} -d rxe0 -x 1 -F {words}'
        pair = self.lab.pair(f'timeout 16 {common}', f"timeout 12 {common} {guests.ADDRESSES['a'][0]}")
        said = (pair.client_output if pair.client_code is not None else pair.server_output).splitlines()
        if pair.finished or any(RESULT.match(line) for line in said):
            return True, ''
        return False, next((line.strip() for line in said if line.strip() and not LINE.match(line)), 'nothing said')

    @staticmethod
    def shortened(given):
        """At most 20 iterations, or one second: guests are emulated. Of -a five of each size; of a list of
        requests, the whole list."""
        posted = dict(given).get('-l') or dict(given).get('--post_list')
        lengths = {'-n': posted or '20', '--iters': posted or '20', '-D': '1', '--duration': '1', '-f': '0'}
        short = [(name, lengths.get(name, value)) for name, value in given]
        return short if {name for name, _ in given} & set(lengths) else short + [('-n', posted or '5')]

    def here(self, line):
        words = line.split() + ([] if HAS_LENGTH.search(line) else ['-n', '5'])
        done = subprocess.run([GEN, 'sim', '--delay', '10us', '--', *words], capture_output=True,
                              text=True, timeout=120, check=False)
        return done.returncode, done.stderr

    def test_what_perftest_runs_runs_here_or_says_why_not(self):
        count = collections.Counter()
        lines = itertools.islice(distinct(LINES + PUBLIC_LINES + FURTHER_LINES),
                                 int(os.environ.get('LONGWIRE_LINES', '1000')))
        with self.lab.bridge():
            self.lab.ping()
            for line, program, given in lines:
                words, _, why = line.partition('  # ')
                finished, refusal = (False, 'sends no RDMA') if program.startswith('raw_') else (
                    self.in_guests(program, given))
                code, said = self.here(words)
                there, ours = 'runs' if finished else f'no: {refusal}', 'runs' if code == 0 else f'no: {why}'
                print(f'# {words}: perftest {there}; here {ours}', flush=True)
                count[finished, code == 0] += 1
                if finished:
                    self.assertEqual(code, 2 if why else 0, f'{words}: {said}')
                    self.assertIn(why, said)
        print(f'# both run {count[True, True]}, perftest alone {count[True, False]}, roce-gen alone '
              f'{count[False, True]}, none {count[False, False]}', flush=True)
        self.assertGreater(3 * count[True, True], count.total())


if __name__ == '__main__':
    longwire_test.main()
