# SPDX-License-Identifier: BSD-3-Clause
"""A test that fails is run once more, and then its result counts."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Each test notes its run in a file, and fails as often as its name says.
PROGRAM = '''
import pathlib, unittest, longwire_test
def run(name, failures):
    path = pathlib.Path(name)
    runs = len(path.read_text()) if path.exists() else 0
    path.write_text('x' * (runs + 1))
    if runs < failures:
        raise AssertionError(f'{name} fails in run {runs + 1}')
class Tests(unittest.TestCase):
'''
MAIN = "longwire_test.main()\n"


class Attempts(unittest.TestCase):
    def ran(self, tests, **environment):
        """The exit code, the TAP lines and standard error of a program with these bodies of tests."""
        with tempfile.TemporaryDirectory() as folder:
            text = PROGRAM + ''.join(f'    def test_{name}(self): {body}\n'
                                     for name, body in tests.items())
            path = pathlib.Path(folder) / 'tests.py'
            path.write_text(text + MAIN)
            done = subprocess.run([sys.executable, path], cwd=folder, capture_output=True, text=True,
                                  check=False, env={**os.environ, 'LONGWIRE_ONE_ATTEMPT': '',
                                                    'PYTHONPATH': str(pathlib.Path(__file__).parent),
                                                    **environment})
        lines = [line for line in done.stdout.splitlines() if not line.startswith('#')]
        return done.returncode, [line.split(' - ')[0][:3] for line in lines[:-1]], lines, done.stderr

    def test_late_once(self):
        code, results, lines, said = self.ran({'a': 'run("a", 1)', 'b': 'run("b", 0)'})
        self.assertEqual((code, results, lines[-1]), (0, ['ok ', 'ok '], '1..2'))
        self.assertIn('a fails in run 1', said)

    def test_wrong(self):
        code, results, lines, said = self.ran({'a': 'run("a", 9)', 'b': 'run("b", 0)'})
        self.assertEqual((code, results, lines[-1]), (1, ['ok ', 'not'], '1..2'))
        self.assertIn('not ok 2 - __main__.Tests.test_a', lines)
        self.assertIn('a fails in run 2', said)
        self.assertNotIn('run 3', said)

    def test_a_part_of_a_test(self):
        body = 'exec("for n in (1, 2):\\n with self.subTest(n=n):\\n  run(str(n), n - 1)")'
        code, results, *_ = self.ran({'a': body})
        self.assertEqual((code, results), (0, ['ok ']))

    def test_many_that_fail_are_not_late(self):
        code, results, _, said = self.ran({name: f'run("{name}", 1)' for name in 'abcd'})
        self.assertEqual((code, results), (1, ['not'] * 4))
        self.assertNotIn('run 2', said)

    def test_one_attempt(self):
        code, results, *_ = self.ran({'a': 'run("a", 1)'}, LONGWIRE_ONE_ATTEMPT='1')
        self.assertEqual((code, results), (1, ['not']))

    def test_a_class_that_cannot_be_set_up(self):
        tests = {'a': 'run("a", 0)',
                 'b': 'pass\n    @classmethod\n    def setUpClass(cls): run("class", 1)'}
        code, results, *_ = self.ran(tests)
        self.assertEqual((code, results), (0, ['ok ', 'ok ']))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
