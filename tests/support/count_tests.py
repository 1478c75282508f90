# SPDX-License-Identifier: BSD-3-Clause
"""Prints "passed failed skipped" of a meson test run, every test case counted, not every program;
then, a line each, the names of those that failed. The argument is the folder with meson's
testlog.junit.xml, which has the cases, and testlog.json, which has how each program ended."""

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


def counts(folder):
    """(passed, failed, skipped) and the names of the failed. A log that is missing is a failure."""
    folder = pathlib.Path(folder)
    passed = failed = skipped = 0
    names = []
    try:
        root = xml.etree.ElementTree.parse(folder / 'testlog.junit.xml').getroot()
        programs = ends(folder / 'testlog.json')
    except (OSError, ValueError, xml.etree.ElementTree.ParseError) as error:
        return (0, 1, 0), [f'no result in {folder}: {error}']
    with_cases = set()
    for suite in root.iter('testsuite'):
        program = owner(suite.get('name'), programs)
        with_cases.add(program)
        for case in suite.iter('testcase'):
            if case.get('name') in programs:  # a program without cases of its own: counted below
                continue
            if is_failure(case):
                failed += 1
                names.append(f"{case.get('classname')} {case.get('name')}")
                programs[program] = 'counted'
            elif case.find('skipped') is not None or case.get('status') == 'notrun':
                skipped += 1
            else:
                passed += 1
    for program, result in programs.items():
        if result == 'SKIP':
            skipped += 1
        elif result not in ('OK', 'counted'):
            failed += 1
            names.append(f'{program}: {result}')
        elif result == 'OK' and program not in with_cases:
            passed += 1
    return (passed, failed, skipped), names


if __name__ == '__main__':
    totals, failures = counts(sys.argv[1])
    print(*totals)
    print(*failures, sep='\n')
