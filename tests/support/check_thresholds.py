#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the table of the analysis' thresholds, and the manual's table that is made from it.

    check_thresholds.py [--write]

lib/analysis/thresholds.txt has a line for each constant of lib/analysis that a decision or a bound
depends on, in the order of the files and of their lines:

    FILE NAME | value | unit | reason | scenario that it was chosen for

A constant that is none, such as a code of the wire, is in NOT_ONES. --write takes the values from the
sources, and writes the table of docs/reference/roce-dissect-thresholds.md anew. Prints what is wrong;
exits with 1 if something is."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOLDER = SOURCE / 'lib' / 'analysis'
TABLE = FOLDER / 'thresholds.txt'
PAGE = SOURCE / 'docs' / 'reference' / 'roce-dissect-thresholds.md'
MARK = re.compile(r'(<!-- thresholds -->\n).*?(<!-- end of thresholds -->)', re.S)
DECLARATION = re.compile(r'constexpr (?:std::)?(?:u?int\d+_t|int|double|Duration|Sequence|size_t|auto) (k[^;]*);')
# What follows from a standard or from another constant, and values that mean "none" or "ever".
NOT_ONES = {'kCongested', 'kAll', 'kInfinite', 'kOrigin', 'kGap', 'kAgain', 'kLate', 'kEver', 'kKind', 'kOverhead',
            'kNone', 'kSlots', 'kCommunicationManagement', 'kOdd', 'kOther', 'kLink', 'kSequenceError', 'kUcBlock',
            'kAnyNumber', 'kFirstOrigin', 'kNakBits', 'kGeneralServices'}
# Other modules decide nothing about packets; limits of theirs are in headers of limits.
LEFT_OUT = re.compile(r'^(extraction|setup)/|^icrc_')
DURATION = re.compile(r'std::chrono::(\w+)\{(.*)')
SHORT = {'seconds': 's', 'milliseconds': 'ms', 'microseconds': 'us'}


def shown(value):
    """A value as the table has it: "500 us", "65536", "2^18"."""
    value = re.sub(r"std::\w+\{(\d+)\} << (\d+)|Sequence\{(\d+)\} << (\d+)|(\d+)U << (\d+)",
                   lambda m: '{} x 2^{}'.format(*[part for part in m.groups() if part]).removeprefix('1 x '),
                   value.rstrip('}'))
    duration = DURATION.match(value)
    value = f'{duration[2]} {SHORT[duration[1]]}' if duration else value
    return value.replace("'", '').replace(' * ', ' x ')


def constants():
    """(FILE NAME, value) of the constants in lib/analysis."""
    for file in sorted(FOLDER.rglob('*')):
        name = file.relative_to(FOLDER).as_posix()
        if file.suffix not in ('.h', '.cpp') or LEFT_OUT.match(name):
            continue
        for declared in DECLARATION.finditer(file.read_text(encoding='utf-8')):
            for part in re.split(r', (?=k[A-Z])', ' '.join(declared[1].split())):
                parts = re.match(r'(k\w+)\s*(?:=\s*|\{)(.*)', part)
                of_wire = parts and (parts[2].startswith(('AnomalyKind', 'std::numeric', 'Repeated')) or
                                     parts[1] in NOT_ONES and not parts[2].isdigit() or parts[1] in NOT_ONES - {'kLate'})
                if parts and not of_wire:
                    yield f'{name} {parts[1]}', shown(parts[2])


def rows():
    return [[part.strip() for part in line.split('|')]
            for line in TABLE.read_text(encoding='utf-8').splitlines() if line and not line.startswith('#')]


def page_table(table):
    lines = ['| constant | value | unit | reason | needed by |\n', '|---|---|---|---|---|\n']
    lines += [f'| `{place}` | {value} | {unit} | {reason} | {scenario} |\n'
              for place, value, unit, reason, scenario in table]
    return ''.join(lines)


def main(write):
    known, table, wrong = list(constants()), rows(), []
    if [place for place, _ in known] != [row[0] for row in table]:
        missing = set(known_places := [place for place, _ in known]) ^ {row[0] for row in table}
        wrong.append(f'{TABLE.relative_to(SOURCE)}: expected the constants of lib/analysis in their order; look at '
                     f'{", ".join(sorted(missing)) or "their order"} ({len(known_places)} in lib/analysis, '
                     f'{len(table)} in the table)')
    else:
        if write:
            table = [[place, value, *row[2:]] for (place, value), row in zip(known, table)]
            head = [line for line in TABLE.read_text(encoding='utf-8').splitlines() if line.startswith('#')]
            TABLE.write_text('\n'.join(head + [' | '.join(row) for row in table]) + '\n', encoding='utf-8')
        for (place, value), row in zip(known, table):
            if len(row) != 5 or not all(row):
                wrong.append(f'{place}: expected a value, a unit, a reason and a scenario, found {row[1:]}')
            elif row[1] != value:
                wrong.append(f'{place}: the source has {value}, the table {row[1]}')
    if not wrong:
        page = PAGE.read_text(encoding='utf-8')
        due = MARK.sub(lambda mark: mark[1] + page_table(table) + mark[2], page)
        if write:
            PAGE.write_text(due, encoding='utf-8')
        elif due != page:
            wrong.append(f'{PAGE.relative_to(SOURCE)}: run tests/support/check_thresholds.py --write')
    print('\n'.join(wrong), end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main('--write' in sys.argv[1:]))
