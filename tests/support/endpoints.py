# SPDX-License-Identifier: BSD-3-Clause
"""For tests of roce-gen respond and perf in real time: processes joined by memif, a roce-impair
between them where a test wants one."""

import contextlib
import json
import pathlib
import signal
import tempfile
import unittest

from longwire_test import BOX, begin, program

GEN, IMPAIR = program('roce-gen'), program('roce-impair')
TIMEOUT = 240  # seconds: it ends a program that hangs, also on a machine that is busy
SMALL = '[capacity]\nrate = "2Gb/s"\nsmallest_frame = "256B"\nlargest_frame = "4500B"\n'


class Endpoints(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, *words):
        return begin(self, words)

    def finish(self, process, expect=0):
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, expect, err + out)
        return out

    @contextlib.contextmanager
    def box(self, name, profile, *options, capacity=SMALL):
        """A roce-impair; yields the sockets of its two sides."""
        at = self.folder
        (at / f'{name}.toml').write_text(profile + capacity)
        west, east = f'memif:{at}/{name}-west', f'memif:{at}/{name}-east'
        impair = self.start(*BOX, at / f'{name}.toml', '--west', west + ',server',
                            '--east', east + ',server', '--json', *options)
        yield west, east
        impair.send_signal(signal.SIGTERM)
        self.report = json.loads(self.finish(impair))

    def wire(self):
        """The two ends where no box is between."""
        return f'memif:{self.folder}/wire', f'memif:{self.folder}/wire,server'

    def perf(self, west, east, *options, expect=0, respond=(), peer='198.18.0.2'):
        """One session; (what perf says, what respond says)."""
        there = self.start(GEN, 'respond', '--port', east, '--sessions', '1', '--json', *respond)
        client = self.start(GEN, 'perf', '--port', west, '--peer', peer, '--json', *options)
        out = self.finish(client, expect)
        said = json.loads(self.finish(there))
        return [json.loads(line) for line in out.splitlines()], said
