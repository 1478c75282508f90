# SPDX-License-Identifier: BSD-3-Clause
"""What end-to-end tests share: where the programs are, and unittest results as TAP for meson.

A test file ends with:

    if __name__ == '__main__':
        import longwire_test
        longwire_test.main()
"""

import functools
import os
import pathlib
import signal
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get('LONGWIRE_SOURCE', pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get('LONGWIRE_BUILD', SOURCE / 'build'))

# ./dev tsan: the programs are 10 to 20 times as slow.
THREAD_SANITIZER = 'TSAN_OPTIONS' in os.environ

# Other people's captures: read where they are, never copied; None where they are not.
_others = SOURCE.parent / 'shared' / 'pcaps' / 'others'
SHARED = _others if _others.is_dir() else None

_FOLDERS = {'roce-gen': 'gen', 'roce-endpoint': 'gen', 'roce-impair': 'impair',
            'roce-dissect': 'dissect'}

# A shell without job control starts a background job with SIGINT and SIGQUIT ignored, and all programs
# that a test starts would ignore them too.
for _number, _action in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _action)


def program(name):
    """The absolute path of one of the programs, as built."""
    return str(BUILD / _FOLDERS[name] / name)


def begin(test, words, text=None, **settings):
    """A program that runs beside a test and ends with it at the latest; `text` is all of its
    standard input, `settings` are subprocess.Popen's."""
    process = subprocess.Popen([str(word) for word in words],
                               stdin=None if text is None else subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               **settings)
    test.addCleanup(_end, process)
    if text is not None:
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
    return process


def _end(process):
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def real_time(test):
    """For a test whose processes must keep up with each other by the clock: a machine that stands
    still for a moment (a shared one does) may fail it, so it gets one second attempt, from its
    setUp, and says so. What is wrong fails twice. With LONGWIRE_ONE_ATTEMPT set there is none."""
    if os.environ.get('LONGWIRE_ONE_ATTEMPT'):
        return test

    @functools.wraps(test)
    def twice(self):
        try:
            test(self)
        except unittest.SkipTest:
            raise
        except Exception as first:  # pylint: disable=broad-except
            print(f'# second attempt of {self.id()}, as the first failed: {first}'
                  .replace('\n', '\n# '), flush=True)
            self.tearDown()
            self.doCleanups()
            self.setUp()
            test(self)

    return twice


class _TapResult(unittest.TestResult):
    """Prints a TAP line a test as soon as it has ended, and why it failed on standard error, which
    meson shows."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def _line(self, ok, test, note=''):
        self.number += 1
        name = str(test.id()).replace('#', '')
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name}{note}", flush=True)

    def _trouble(self, test, error):
        self._line(False, test)
        print(f'{test.id()}\n{self._exc_info_to_string(error, test)}', file=sys.stderr, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._line(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line(True, test, f' # SKIP {reason}')

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._trouble(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._trouble(test, error)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._trouble(subtest, error)


def main():
    """Runs the calling file's tests, or those named on the command line."""
    loader = unittest.TestLoader()
    module = sys.modules['__main__']
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    result = _TapResult()
    suite.run(result)
    print(f'1..{result.number}', flush=True)
    sys.exit(0 if result.wasSuccessful() else 1)
