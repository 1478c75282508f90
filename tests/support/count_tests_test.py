# SPDX-License-Identifier: BSD-3-Clause
"""No failure of a test program is missed in the final line of ./dev test."""

import json
import pathlib
import tempfile
import unittest

import count_tests


def suite(name, *cases, group='C'):
    return (f'<testsuite name="longwire.{name}">' +
            ''.join(f'<testcase name="{c}" classname="{group}">{inner}</testcase>' for c, inner in cases) +
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
        return self.read(self.log(programs, *suites))

    def read(self, *folders):
        """The totals, and the lines behind them."""
        totals, *lines = count_tests.report(*folders)
        return tuple(map(int, totals.split())), lines

    def test_cases_are_counted_one_by_one(self):
        totals, names = self.counted(
            {'e2e / both': 'OK', 'e2e / both_talk': 'FAIL'}, suite('e2e / both', ('a', ''), ('b', '')),
            suite('e2e / both_talk.X', ('c', '<failure/>'), ('d', ''), ('e', '<skipped/>')))
        self.assertEqual((totals, names), ((3, 1, 1), ['failed: both_talk C.c', 'skipped: no reason given: both_talk C.e']))

    def test_a_program_that_ends_without_a_verdict_is_a_failure(self):
        for result in ('TIMEOUT', 'FAIL', 'ERROR', 'INTERRUPT'):
            with self.subTest(result=result):
                totals, names = self.counted({'unit / x': result},
                                             suite('', ('unit / x', '<system-out/>')))
                self.assertEqual((totals, names), ((0, 1, 0), [f'failed: unit / x: {result}']))
                # Cases that had passed before do not hide it.
                totals, _ = self.counted({'unit / x': result}, suite('unit / x.A', ('a', '')))
                self.assertEqual(totals, (1, 1, 0))

    def test_a_program_without_cases_counts_once(self):
        self.assertEqual(self.counted({'corpus': 'OK', 'other': 'SKIP'}, suite('y'))[0], (1, 0, 1))

    def test_names_are_short_and_skips_have_their_reasons(self):
        root = '<skipped/><system-out>needs root: run as root</system-out>'
        google = '<skipped message="a.cpp:3&#x0A;needs root: run as root"/>'
        _, lines = self.counted(
            {'p:e2e / a': 'FAIL', 'p:unit / b': 'OK'},
            suite('p:e2e / a', ('1 - __main__.T.test_x', root), ('2 - __main__.T.test_y', '<failure/>'),
                  ('3 - __main__.T.test_z', '<skipped/><system-out>needs tshark</system-out>'), group='p:e2e / a'),
            suite('p:unit / b.V', ('Lasts', google), group='V'))
        self.assertEqual(lines, ['failed: a T.test_y',
                                 'skipped: needs root: run as root: a T.test_x, b V.Lasts',
                                 'skipped: needs tshark: a T.test_z'])

    def test_a_program_whose_cases_are_all_skipped_counts_no_more(self):
        self.assertEqual(self.counted({'e2e / a': 'SKIP'}, suite('e2e / a', ('b', '<skipped/>')))[0], (0, 0, 1))

    def test_a_missing_log_is_a_failure(self):
        self.assertEqual(self.read('/no/such/folder')[0], (0, 1, 0))

    def test_of_two_runs_of_a_program_the_last_counts(self):
        first = self.log({'p:e2e / a': 'OK', 'p:e2e / b': 'FAIL'}, suite('p:e2e / a', ('1', '')),
                         suite('p:e2e / b', ('1', ''), ('2', '<failure/>')))
        again = suite('p:e2e / b', ('1', ''), ('2', ''))
        self.assertEqual(self.read(first, self.log({'p:e2e / b': 'OK'}, again)),
                         ((3, 0, 0), []))
        self.assertEqual(self.read(first, self.log({'p:e2e / b': 'TIMEOUT'}, again)),
                         ((3, 1, 0), ['failed: p:e2e / b: TIMEOUT']))
        self.assertEqual(self.read(first, '/no/such/folder')[0], (2, 2, 0))

    def test_failed_programs_of_suites(self):
        programs = {'p:e2e / a': 'FAIL', 'p:e2e / b': 'OK', 'p:rxe / c': 'TIMEOUT', 'p:unit / d': 'OK'}
        self.assertEqual(count_tests.failed_programs(self.log(programs), ['e2e', 'rxe']), ['a', 'c'])
        programs['p:unit / d'] = 'FAIL'
        self.assertEqual(count_tests.failed_programs(self.log(programs), ['e2e', 'rxe']), [])
        self.assertEqual(count_tests.failed_programs('/no/such/folder', ['e2e']), [])


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
