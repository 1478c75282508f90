# SPDX-License-Identifier: BSD-3-Clause
"""Prints "passed failed skipped" of a meson test run, every test case counted, not every program;
then "failed: NAME" for each that failed, and "skipped: REASON: NAMES" for each reason for which tests
were skipped. The arguments are folders with meson's testlog.junit.xml, which has the cases, and
testlog.json, which has how each program ended. Of a program that is in several folders, the last one
counts.

With --programs FOLDER SUITE...: prints, a line each, the programs of these suites that failed, if
no program of another suite failed."""

import collections
import json
import pathlib
import re
import sys
import xml.etree.ElementTree


def is_failure(case):
    return case.find('failure') is not None or case.find('error') is not None


def ends(path):
    """{program: how it ended} of testlog.json: "OK", "FAIL", "TIMEOUT", ..."""
    results = {}
    for line in path.read_text().splitlines():
        program = json.loads(line)
        results[program['name']] = program['result']
    return results


def owner(name, programs):
    """The program that a junit suite of this name belongs to; '' without one."""
    return max((p for p in programs if p in name), key=len, default='')


def short_name(program, case):
    """"impair_run Run.test_x" of a Python test, "unit_nic Veth.Lasts" of a C++ one."""
    name = re.sub(r'^\d+ - (__main__\.)?', '', case.get('name'))
    group = case.get('classname')
    return f"{program.rpartition(' / ')[2]} {'' if ' / ' in group else group + '.'}{name}"


def reason(case):
    """Why a case was skipped: the last line of GoogleTest's message, or what stands behind TAP's SKIP."""
    said = case.find('skipped').get('message') if case.find('skipped') is not None else None
    return ((said or case.findtext('system-out') or 'no reason given').strip().splitlines() or [''])[-1]


class Tally:
    """Results of one program."""

    def __init__(self):
        self.passed = 0
        self.failed = []  # names
        self.skipped = []  # pairs of name and reason

    def fail(self, name):
        self.failed.append(name)


def tallies(folder):
    """{program: Tally}. A log that is missing is a failure."""
    folder = pathlib.Path(folder)
    found = collections.defaultdict(Tally)
    try:
        root = xml.etree.ElementTree.parse(folder / 'testlog.junit.xml').getroot()
        programs = ends(folder / 'testlog.json')
    except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
        found[''].fail(f'no result in {folder}: {error}')
        return found
    for suite in root.iter('testsuite'):
        program = owner(suite.get('name'), programs)
        tally = found[program]
        for case in suite.iter('testcase'):
            if case.get('name') in programs:  # a program without cases of its own: counted below
                continue
            if is_failure(case):
                tally.fail(short_name(program, case))
            elif case.find('skipped') is not None or case.get('status') == 'notrun':
                tally.skipped.append((short_name(program, case), reason(case)))
            else:
                tally.passed += 1
    with_cases = set(found)
    for program, result in programs.items():
        tally = found[program]
        if result == 'SKIP':
            if program in with_cases:
                continue
            tally.skipped.append((program, 'the program was not run'))
        elif result != 'OK' and not tally.failed:
            tally.fail(f'{program}: {result}')
        elif result == 'OK' and program not in with_cases:
            tally.passed += 1
    return found


def tallies_of(folders):
    """{program: Tally}, of the last folder that has the program."""
    found = {}
    for folder in folders:
        found.update(tallies(folder))
    return found


def report(*folders):
    """The lines that the program prints."""
    of = tallies_of(folders).values()
    failed = [name for t in of for name in t.failed]
    skipped = collections.defaultdict(list)
    for name, why in (pair for t in of for pair in t.skipped):
        skipped[why].append(name)
    return [f'{sum(t.passed for t in of)} {len(failed)} {sum(map(len, skipped.values()))}',
            *(f'failed: {name}' for name in failed),
            *(f"skipped: {why}: {', '.join(names)}" for why, names in sorted(skipped.items()))]


def failed_programs(folder, suites):
    """Names of the programs that failed; none if one is not of these suites."""
    failed = [name for name, tally in tallies(folder).items() if tally.failed]
    if any(name.partition(' / ')[0].rpartition(':')[2] not in suites for name in failed):
        return []
    return [name.rpartition(' / ')[2] for name in failed]


if __name__ == '__main__':
    if sys.argv[1] == '--programs':
        for program in failed_programs(sys.argv[2], sys.argv[3:]):
            print(program)
    else:
        print(*report(*sys.argv[1:]), sep='\n')
