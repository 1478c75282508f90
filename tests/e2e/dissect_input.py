# SPDX-License-Identifier: BSD-3-Clause
"""What roce-dissect reads: several files as one capture, compressed files, growing files."""

import json
import os
import pathlib
import signal
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


class Compressed(InFolder):
    def packed(self, data):
        """(name, bytes): what gzip and zstd make of data, also in parts."""
        half = len(data) // 2
        for tool in ('gzip', '-c'), ('zstd', '-c', '-q'), ('zstd', '-c', '-q', '-19', '--no-check'):
            def pack(part):
                return subprocess.run(tool, input=part, capture_output=True, check=True).stdout
            yield tool[0], pack(data)
            yield tool[0], pack(data[:half]) + pack(data[half:])

    def test_it_reads_like_the_plain_file(self):
        data = (RXE / 'rc_write_send_read.pcap').read_bytes()
        wanted = dissect('list', '-', stdin=data).stdout
        path = self.folder / 'name without a suffix'
        for name, packed in self.packed(data):
            path.write_bytes(packed)
            for run in dissect('list', path), dissect('list', '-', stdin=packed):
                self.assertEqual((run.returncode, run.stderr), (0, b''), name)
                self.assertEqual(run.stdout, wanted, name)

    def test_it_is_one_of_several_files(self):
        frames = read_pcap(RXE / 'uc_send_write.pcap')
        paths = [self.folder / name for name in ('a.pcap', 'b.pcap', 'c.pcap')]
        for number, path in enumerate(paths):
            write_pcap(path, frames[number::3])
        subprocess.run(['gzip', paths[0]], check=True)
        subprocess.run(['zstd', '-q', '--rm', paths[1]], check=True)
        run = dissect('list', f'{paths[0]}.gz', f'{paths[1]}.zst', paths[2])
        self.assertEqual(run.stdout, dissect('list', RXE / 'uc_send_write.pcap').stdout)

    def test_damage_is_named_behind_the_frames_before_it(self):
        data = (RXE / 'rc_write_send_read.pcap').read_bytes()
        lines = dissect('list', '-', stdin=data).stdout.splitlines()
        for name, packed in self.packed(data):
            cut = len(packed) - 60
            run = dissect('list', '-', stdin=packed[:cut])
            self.assertEqual(run.returncode, 1)
            self.assertIn(f'its {name} stream cannot be unpacked: the file ends within it, at byte {cut} '
                          'of the file'.encode(), run.stderr)
            shown = run.stdout.splitlines()
            self.assertEqual(shown, lines[:len(shown)])
            run = dissect('verify', '-', '--json', stdin=packed + b'more')
            self.assertEqual(run.returncode, 1)
            self.assertEqual(json.loads(run.stdout)['frames'], len(lines))
            self.assertIn(f'its {name} stream cannot be unpacked'.encode(), run.stderr)

    def test_a_window_that_needs_too_much_memory_is_refused(self):
        run = subprocess.run(['zstd', '-q', '-c', '--long=28'], capture_output=True, check=True,
                             input=(RXE / 'rc_write_send_read.pcap').read_bytes())
        run = dissect('list', '-', stdin=run.stdout)
        self.assertEqual((run.returncode, run.stdout), (1, b''))
        self.assertIn(b'cannot be unpacked: Frame requires too much memory', run.stderr)


class Follow(InFolder):
    def follow(self, path, *words):
        process = subprocess.Popen([program('roce-dissect'), *words, path, '--follow'],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_list_waits_for_more_until_ctrl_c(self):
        data = (RXE / 'atomic.pcap').read_bytes()
        wanted = dissect('list', '-', stdin=data).stdout.decode().splitlines(keepends=True)
        path = self.folder / 'growing.pcap'
        path.write_bytes(b'')
        process = self.follow(path, 'list')
        size, shown = 7, []
        with open(path, 'ab') as growing:
            for start in range(0, len(data), size * 13):  # in the middle of headers and of frames
                os.write(growing.fileno(), data[start:start + size * 13])
                whole = dissect('list', '-', stdin=data[:start + size * 13]).stdout.splitlines()
                while len(shown) < len(whole):
                    shown.append(process.stdout.readline())
        self.assertEqual(shown, wanted)
        os.write(os.open(path, os.O_WRONLY | os.O_APPEND), b'half a record')
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=20), ('', ''))
        self.assertEqual(process.returncode, 0)

    def test_summary_is_of_all_until_ctrl_c(self):
        path = self.folder / 'growing.pcap'
        path.write_bytes((RXE / 'atomic.pcap').read_bytes())
        process = self.follow(path, 'summary', '--json')
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        self.assertEqual((process.returncode, json.loads(out)['frames']), (0, 20))

    def test_verify_is_of_all_until_ctrl_c(self):
        path = self.folder / 'growing.pcap'
        path.write_bytes((RXE / 'atomic.pcap').read_bytes()[:-5])
        process = self.follow(path, 'verify', '--json')
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.3)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)
        self.assertEqual((process.returncode, json.loads(out)['icrc_ok']), (0, 19))

    def test_it_goes_with_one_file(self):
        for command in 'list', 'verify', 'summary':
            run = dissect(command, '--follow', RXE / 'atomic.pcap', RXE / 'atomic.pcap')
            self.assertEqual((run.returncode, run.stdout), (2, b''))
            self.assertIn(b'--follow goes with one file, found 2', run.stderr)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
