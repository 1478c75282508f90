# SPDX-License-Identifier: BSD-3-Clause
"""No failure of a test program is missed in the final line of ./dev test."""

import json
import pathlib
import tempfile
import unittest

import count_tests


def suite(name, *cases):
    return (f'<testsuite name="longwire.{name}">' +
            ''.join(f'<testcase name="{c}" classname="C">{inner}</testcase>' for c, inner in cases) +
            '</testsuite>')


class CountTests(unittest.TestCase):
    def counted(self, programs, *suites):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / 'testlog.json').write_text(
                '\n'.join(json.dumps({'name': n, 'result': r}) for n, r in programs.items()))
            (folder / 'testlog.junit.xml').write_text(
                '<testsuites>' + ''.join(suites) + '</testsuites>')
            return count_tests.counts(folder)

    def test_cases_are_counted_one_by_one(self):
        totals, names = self.counted(
            {'e2e / both': 'OK', 'e2e / both_talk': 'FAIL'}, suite('e2e / both', ('a', ''), ('b', '')),
            suite('e2e / both_talk.X', ('c', '<failure/>'), ('d', ''), ('e', '<skipped/>')))
        self.assertEqual((totals, names), ((3, 1, 1), ['C c']))

    def test_a_program_that_ends_without_a_verdict_is_a_failure(self):
        for result in ('TIMEOUT', 'FAIL', 'ERROR', 'INTERRUPT'):
            with self.subTest(result=result):
                totals, names = self.counted({'unit / x': result},
                                             suite('', ('unit / x', '<system-out/>')))
                self.assertEqual((totals, names), ((0, 1, 0), [f'unit / x: {result}']))
                # Cases that had passed before do not hide it.
                totals, _ = self.counted({'unit / x': result}, suite('unit / x.A', ('a', '')))
                self.assertEqual(totals, (1, 1, 0))

    def test_a_program_without_cases_counts_once(self):
        self.assertEqual(self.counted({'corpus': 'OK', 'other': 'SKIP'}, suite('y'))[0], (1, 0, 1))

    def test_a_missing_log_is_a_failure(self):
        self.assertEqual(count_tests.counts('/no/such/folder')[0], (0, 1, 0))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
