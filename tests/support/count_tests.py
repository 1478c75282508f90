# SPDX-License-Identifier: BSD-3-Clause
"""Prints "passed failed skipped" of a meson test run, every test case counted, not every program;
then, a line each, the names of those that failed."""

import sys
import xml.etree.ElementTree


def is_failure(case):
    return case.find('failure') is not None or case.find('error') is not None


def counts(path):
    """(passed, failed, skipped) and the names of the failed."""
    passed = failed = skipped = 0
    names = []
    try:
        root = xml.etree.ElementTree.parse(path).getroot()
    except (OSError, xml.etree.ElementTree.ParseError):
        return (0, 1, 0), [f'no result in {path}']  # no result is a failure, never a silent nothing
    for case in root.iter('testcase'):
        if is_failure(case):
            failed += 1
            names.append(f"{case.get('classname')} {case.get('name')}")
        elif case.find('skipped') is not None or case.get('status') == 'notrun':
            skipped += 1
        else:
            passed += 1
    # A program that died without naming a case still counts, as one failure.
    for suite in root.iter('testsuite'):
        told = int(suite.get('failures', 0)) + int(suite.get('errors', 0))
        if told > sum(map(is_failure, suite.iter('testcase'))):
            failed += 1
            names.append(f"{suite.get('name')}: ended without a result for every case")
    return (passed, failed, skipped), names


if __name__ == '__main__':
    totals, failures = counts(sys.argv[1])
    print(*totals)
    print(*failures, sep='\n')
