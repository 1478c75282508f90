# SPDX-License-Identifier: BSD-3-Clause
"""Programs under mpirun, in a session of their own, so that a test can see that none is left."""

import os
import pathlib
import shutil
import signal
import subprocess
import time

import needs

TIMEOUT = 120
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1',
                   TMPDIR='/tmp')
# -q: without mpirun's own remarks on exit codes.
MPIRUN = ['mpirun', '-q', '--oversubscribe']


def needed():
    if not shutil.which('mpirun'):
        needs.lacks('mpirun', 'apt install openmpi-bin')


def checked(done):
    if 'its module for Open MPI is not there' in done.stderr:
        needs.lacks('a build with Open MPI', './dev setup, then ./dev build')
    return done


def mpirun(words, ranks, before=(), cwd=None):
    """What a program under mpirun did. `before`: words before mpirun, such as ip netns exec."""
    needed()
    done = subprocess.run([*before, *MPIRUN, '-n', str(ranks), *map(str, words)], capture_output=True,
                          text=True, timeout=TIMEOUT, env=ENVIRONMENT, cwd=cwd, check=False)
    return checked(done)


def runs(process):
    """True unless the process has ended."""
    try:
        return pathlib.Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


class Started:
    """A program under mpirun that a test will end."""

    def __init__(self, test, words, ranks, before=()):
        needed()
        self.process = subprocess.Popen([*before, *MPIRUN, '-n', str(ranks), *map(str, words)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=ENVIRONMENT)
        test.addCleanup(self.kill)
        self.test = test
        self.program = str(words[0])

    def ranks(self):
        """Process ids by rank, of the children of this mpirun."""
        found = {}
        for folder in pathlib.Path('/proc').iterdir():
            try:
                fields = (folder / 'stat').read_text().rpartition(')')[2].split()
                if fields[0] == 'Z' or int(fields[1]) != self.process.pid:
                    continue
                words = (folder / 'environ').read_bytes().split(b'\0')
            except (OSError, IndexError):  # it has just ended, or is no process
                continue
            rank = dict(word.split(b'=', 1) for word in words if b'=' in word).get(
                b'OMPI_COMM_WORLD_RANK')
            if rank is not None:
                found[int(rank)] = int(folder.name)
        return found

    def wait_for(self, condition):
        end = time.monotonic() + TIMEOUT
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, 'the condition never came'
            time.sleep(0.02)

    def end(self):
        """Its output, when it has ended; no rank is left."""
        ranks = self.ranks()
        out, error = self.process.communicate(timeout=TIMEOUT)
        done = subprocess.CompletedProcess([], self.process.returncode, out, error)
        checked(done)
        # mpirun kills those that have not ended; the kernel takes a moment to remove them.
        end = time.monotonic() + TIMEOUT
        while left := [rank for rank, process in ranks.items() if runs(process)]:
            self.test.assertLess(time.monotonic(), end, f'ranks {left} still run')
            time.sleep(0.02)
        return done

    def kill(self):
        for process in [*self.ranks().values(), self.process.pid]:
            if self.process.poll() is None:
                os.kill(process, signal.SIGKILL)
        self.process.communicate()
