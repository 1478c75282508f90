# SPDX-License-Identifier: BSD-3-Clause
"""What roce-dissect reads: several files as one capture."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from longwire_test import SOURCE, program
from pcap_file import read_pcap, write_pcap

RXE = SOURCE / 'pcaps' / 'rxe'


def dissect(*args, stdin=b''):
    return subprocess.run([program('roce-dissect'), *map(str, args)], input=stdin,
                          capture_output=True)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class SeveralFiles(InFolder):
    def parts(self, capture, count):
        """The frames of a capture in `count` files: as a ring of files, and dealt like cards."""
        frames = read_pcap(capture)
        size = -(-len(frames) // count)
        ways = {'ring': [frames[i * size:(i + 1) * size] for i in range(count)],
                'dealt': [frames[i::count] for i in range(count)]}
        for way, parts in ways.items():
            paths = [self.folder / f'{way}{i}.pcap' for i in range(count)]
            for path, part in zip(paths, parts):
                write_pcap(path, part)
            yield paths

    def test_parts_of_a_capture_read_like_the_whole(self):
        for name in 'rc_write_send_read.pcap', 'loss_read_requester_side.pcap', 'cm_rping.pcap':
            capture = RXE / name
            stamps = [stamp for stamp, _ in read_pcap(capture)]
            self.assertEqual(stamps, sorted(stamps))
            unique = len(set(stamps)) == len(stamps)
            whole = dissect('list', capture).stdout
            for paths in self.parts(capture, 3):
                self.assertEqual(dissect('list', *paths).stdout, whole)
                if unique:
                    self.assertEqual(dissect('list', *reversed(paths)).stdout, whole)
                summary = json.loads(dissect('summary', *paths, '--json').stdout)
                self.assertEqual(summary.pop('files'), [str(path) for path in paths])
                wanted = json.loads(dissect('summary', capture, '--json').stdout)
                del wanted['file']
                self.assertEqual(summary, wanted)

    def test_verify_lists_each_file(self):
        paths = next(self.parts(RXE / 'atomic.pcap', 3))
        lines = dissect('verify', *paths, '--json').stdout.splitlines()
        self.assertEqual([json.loads(line)['file'] for line in lines], [str(p) for p in paths])

    def test_a_damaged_file_is_named_behind_the_frames_of_all(self):
        paths = next(self.parts(RXE / 'atomic.pcap', 3))
        paths[0].write_bytes(paths[0].read_bytes()[:-5])
        run = dissect('list', *paths)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(len(run.stdout.splitlines()), 19)
        self.assertIn(f'{paths[0]}: offset '.encode(), run.stderr)

    def test_what_was_typed_is_named(self):
        run = dissect('list', RXE / 'atomic.pcap', self.folder / 'user@host.pcap')
        self.assertEqual((run.returncode, run.stdout), (2, b''))
        self.assertIn(b'user@host.pcap: cannot be read: No such file', run.stderr)
        run = dissect('list', '-', '-')
        self.assertEqual(run.returncode, 2)
        self.assertIn(b'only once', run.stderr)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
