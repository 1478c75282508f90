# SPDX-License-Identifier: BSD-3-Clause
"""What end-to-end tests share: where the programs are, and unittest results as TAP for meson.

A test file ends with:

    if __name__ == '__main__':
        import longwire_test
        longwire_test.main()
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get('LONGWIRE_SOURCE', pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get('LONGWIRE_BUILD', SOURCE / 'build'))

# Of roce-gen run and replay through ports: a machine that is busy sends late, and the verdict says so.
ANY_RATE = ('--expect', 'rate>=0%')
# Of roce-impair run: a machine that is busy sends frames late, and takes steps of a scenario late.
ANY_LATENESS = ('--expect', 'late<=100%', '--expect', 'step_lateness<=60s')

# ./dev tsan: the programs are 10 to 20 times as slow.
THREAD_SANITIZER = 'TSAN_OPTIONS' in os.environ

_FOLDERS = {'roce-gen': 'gen', 'roce-endpoint': 'gen', 'roce-impair': 'impair',
            'roce-dissect': 'dissect'}

# A shell without job control starts a background job with SIGINT and SIGQUIT ignored, nohup ignores SIGHUP,
# and all programs that a test starts would ignore them too.
for _number, _action in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL),
                         (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, _action)


def program(name):
    """The absolute path of one of the programs, as built."""
    return str(BUILD / _FOLDERS[name] / name)


# A box whose results a test reads, on any machine.
BOX = (program('roce-impair'), 'run', *ANY_LATENESS)


def free_port():
    """A TCP port of 127.0.0.1 at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


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


def enter_namespaces(*kinds, prepare='ip link set lo up'):
    """Begins this program anew, once, in namespaces of its own (options of unshare), behind the shell command
    `prepare`. Nothing happens where it may not have them: such tests need root."""
    if os.geteuid() == 0 and 'LONGWIRE_NAMESPACES' not in os.environ:
        os.environ['LONGWIRE_NAMESPACES'] = '1'
        os.execvp('unshare', ['unshare', *kinds, 'sh', '-c', f'{prepare} && exec "$@"', 'sh', sys.executable, *sys.argv])


# What is attempted again once all tests of a program have run: up to so many that failed.
_SECOND_ATTEMPTS = 0 if os.environ.get('LONGWIRE_ONE_ATTEMPT') else 3


def _name(test):
    """The name by which a test is loaded again: of a subtest, of the whole test; of a class that could
    not be set up, of the class."""
    test = getattr(test, 'test_case', test)
    held = re.match(r'(?:setUp|tearDown)Class \((.*)\)', test.id())
    return (held[1] if held else test.id()).removeprefix('__main__.')


class _TapResult(unittest.TestResult):
    """Prints a TAP line for each test that passed or was skipped, and on standard error, which meson
    shows, why one failed. `failed` has those, by the name by which they are loaded."""

    def __init__(self, number=0):
        """`number` of lines are printed already."""
        super().__init__()
        self.number = number
        self.failed = {}

    def line(self, ok, name, note=''):
        self.number += 1
        print(f"{'ok' if ok else 'not ok'} {self.number} - {name.replace('#', '')}{note}", flush=True)

    def _trouble(self, test, error):
        self.failed.setdefault(_name(test), []).append(test.id())
        print(f'{test.id()}\n{self._exc_info_to_string(error, test)}', file=sys.stderr, flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.line(True, test.id())

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.line(True, test.id(), f' # SKIP {reason}')

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
    """Runs the calling file's tests, or those named on the command line. A shared machine stands still
    for a moment, and processes that must keep up with each other by the clock are late: up to three
    tests that failed are run once more at the end, and then count; what is wrong fails twice. With
    LONGWIRE_ONE_ATTEMPT set there is one attempt."""
    loader = unittest.TestLoader()
    module = sys.modules['__main__']
    names = sys.argv[1:]
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    result = _TapResult()
    suite.run(result)
    if 0 < len(result.failed) <= _SECOND_ATTEMPTS:
        again = list(result.failed)
        print(f"# second attempt of {', '.join(again)}", flush=True)
        result = _TapResult(result.number)  # unittest would not set up the last one's class again
        loader.loadTestsFromNames(again, module).run(result)
    for tests in result.failed.values():
        for test in tests:
            result.line(False, test)
    print(f'1..{result.number}', flush=True)
    sys.exit(1 if result.failed else 0)
