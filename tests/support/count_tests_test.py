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
    def log(self, programs, *suites):
        """A folder with the logs of a run."""
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        folder = pathlib.Path(holder.name)
        (folder / 'testlog.json').write_text(
            '\n'.join(json.dumps({'name': n, 'result': r}) for n, r in programs.items()))
        (folder / 'testlog.junit.xml').write_text(
            '<testsuites>' + ''.join(suites) + '</testsuites>')
        return folder

    def counted(self, programs, *suites):
        return count_tests.counts(self.log(programs, *suites))

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

    def test_of_two_runs_of_a_program_the_last_counts(self):
        first = self.log({'p:e2e / a': 'OK', 'p:e2e / b': 'FAIL'}, suite('p:e2e / a', ('1', '')),
                         suite('p:e2e / b', ('1', ''), ('2', '<failure/>')))
        again = suite('p:e2e / b', ('1', ''), ('2', ''))
        self.assertEqual(count_tests.counts(first, self.log({'p:e2e / b': 'OK'}, again)),
                         ((3, 0, 0), []))
        self.assertEqual(count_tests.counts(first, self.log({'p:e2e / b': 'TIMEOUT'}, again)),
                         ((3, 1, 0), ['p:e2e / b: TIMEOUT']))
        self.assertEqual(count_tests.counts(first, '/no/such/folder')[0], (2, 2, 0))

    def test_failed_programs_of_suites(self):
        programs = {'p:e2e / a': 'FAIL', 'p:e2e / b': 'OK', 'p:rxe / c': 'TIMEOUT', 'p:unit / d': 'OK'}
        self.assertEqual(count_tests.failed_programs(self.log(programs), ['e2e', 'rxe']), ['a', 'c'])
        programs['p:unit / d'] = 'FAIL'
        self.assertEqual(count_tests.failed_programs(self.log(programs), ['e2e', 'rxe']), [])
        self.assertEqual(count_tests.failed_programs('/no/such/folder', ['e2e']), [])


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
