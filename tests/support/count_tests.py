# SPDX-License-Identifier: BSD-3-Clause
"""Prints "passed failed skipped" of a meson test run, every test case counted, not every program;
then, a line each, the names of those that failed. The arguments are folders with meson's
testlog.junit.xml, which has the cases, and testlog.json, which has how each program ended. Of a
program that is in several folders, the last one counts.

With --programs FOLDER SUITE...: prints, a line each, the programs of these suites that failed, if
no program of another suite failed."""

import collections
import json
import pathlib
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


class Tally:
    """Results of one program."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.names = []  # of what failed

    def fail(self, name):
        self.failed += 1
        self.names.append(name)


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
        tally = found[owner(suite.get('name'), programs)]
        for case in suite.iter('testcase'):
            if case.get('name') in programs:  # a program without cases of its own: counted below
                continue
            if is_failure(case):
                tally.fail(f"{case.get('classname')} {case.get('name')}")
            elif case.find('skipped') is not None or case.get('status') == 'notrun':
                tally.skipped += 1
            else:
                tally.passed += 1
    with_cases = set(found)
    for program, result in programs.items():
        tally = found[program]
        if result == 'SKIP':
            tally.skipped += 1
        elif result != 'OK' and not tally.failed:
            tally.fail(f'{program}: {result}')
        elif result == 'OK' and program not in with_cases:
            tally.passed += 1
    return found


def counts(*folders):
    """(passed, failed, skipped) and the names of the failed."""
    found = {}
    for folder in folders:
        found.update(tallies(folder))
    of = found.values()
    return ((sum(t.passed for t in of), sum(t.failed for t in of), sum(t.skipped for t in of)),
            [name for t in of for name in t.names])


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
        totals, failures = counts(*sys.argv[1:])
        print(*totals)
        print(*failures, sep='\n')
