# SPDX-License-Identifier: BSD-3-Clause
"""What roce-dissect reads: several files as one capture, compressed files, growing files."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import unittest
import zlib

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


class Wrappings(InFolder):
    """A capture reads like itself whatever its frames are wrapped in: tags of old equipment, Endace's
    records, SRv6, other UDP ports. Its ICRCs are right in each, and they cover the bytes."""

    def setUp(self):
        super().setUp()
        self.frames = [frame for _, frame in read_pcap(RXE / 'rc_write_send_read.pcap')]
        self.plain = self.lines(self.write(self.frames))

    def write(self, frames, link=1):
        path = self.folder / 'wrapped.pcap'
        write_pcap(path, [(i * 1000, frame) for i, frame in enumerate(frames)], link=link)
        return path

    def lines(self, path, *options):
        run = dissect('list', path, '--fields', 'bth.opcode,bth.psn,bth.destqp,longwire.icrc',
                      *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout.splitlines()

    def test_a_tag_of_type_9100_before_one_of_8100(self):
        tagged = [f[:12] + bytes.fromhex('9100000781000009') + f[12:] for f in self.frames]
        self.assertEqual(self.lines(self.write(tagged)), self.plain)
        # Alone, or before anything else, it may be a damaged 0x8100.
        for tags in ('91000007', '9100000788a80009'):
            tagged = [f[:12] + bytes.fromhex(tags) + f[12:] for f in self.frames]
            self.assertIn(b'none of RoCE', dissect('explain', self.write(tagged)).stdout)

    def test_records_of_endace(self):
        for kind, extensions in ((2, 0), (11, 0), (16, 1), (20, 2)):
            wrapped = []
            for frame in self.frames:
                more = b''.join(bytes([0x80 if i + 1 < extensions else 0]) + bytes(7)
                                for i in range(extensions))
                record = frame + zlib.crc32(frame).to_bytes(4, 'little')
                head = struct.pack('>8xBBHHH', kind | (0x80 if extensions else 0), 4,
                                   18 + len(more) + len(record), 0, len(record))
                wrapped.append(head + more + bytes(2) + record + bytes(-len(record) % 8))
            self.assertEqual(self.lines(self.write(wrapped, link=197)), self.plain, kind)
            self.assertEqual(self.lines(self.write(wrapped, link=197), '--filter', 'udp'),
                             self.lines(self.write(self.frames), '--filter', 'udp'))
        other = [struct.pack('>8xBBHHH', 5, 4, 16, 0, 0)] * 3  # AAL5
        run = dissect('summary', self.write(other, link=197))
        self.assertIn(b'3 frames are not read: their link type 197 (ERF)', run.stderr)
        cut = [frame[:n] for n, frame in enumerate(wrapped[:24])]
        self.assertEqual(dissect('list', self.write(cut, link=197)).returncode, 0)

    def test_ethernet_in_srv6(self):
        outer = bytes.fromhex('02000000000102000000000286dd')
        for routing in (b'', bytes([143, 2, 4, 0, 0, 0, 0, 0]) + bytes(16)):
            wrapped = [outer + struct.pack('>IHBB', 6 << 28, len(routing) + len(f),
                                           43 if routing else 143, 64) +
                       bytes(15) + b'1' + bytes(15) + b'2' + routing + f for f in self.frames]
            self.assertEqual(self.lines(self.write(wrapped)), self.plain)

    def test_other_ports(self):
        def with_ports(frame, source, target):
            return frame[:34] + struct.pack('>HH', source, target) + frame[38:]

        def moved(port):
            return [with_ports(f, int.from_bytes(f[34:36], 'big'), port) for f in self.frames]

        # The ICRC covers the ports.
        fields = [line.rsplit(b'\t', 1)[0] for line in self.plain]
        seen = self.lines(self.write(moved(9741)), '--roce-port', '9741', '--roce-port', '7')
        self.assertEqual([line.rsplit(b'\t', 1)[0] for line in seen], fields)
        self.assertIn(b'none of RoCE', dissect('explain', self.write(moved(9741))).stdout)
        swapped = [with_ports(f, 4791, int.from_bytes(f[34:36], 'big')) if f[42] == 17 else f
                   for f in self.frames]
        seen = self.lines(self.write(swapped))
        self.assertEqual([line.rsplit(b'\t', 1)[0] for line in seen], fields)
        # Another protocol may use 4791 as its source port.
        other = [with_ports(f, 4791, 53)[:42] + b'\xca' + f[43:] for f in self.frames]
        self.assertIn(b'none of RoCE', dissect('explain', self.write(other)).stdout)
        for port in ('0', '65536', 'x'):
            self.assertEqual(dissect('list', self.write(swapped), '--roce-port', port).returncode, 2)

    def test_what_is_not_followed_is_said(self):
        vendor = [f[:42] + b'\xca' + f[43:] for f in self.frames]
        said = dissect('explain', self.write(vendor)).stdout.decode()
        self.assertNotIn('Nothing is wrong', said)
        self.assertIn('have the opcode 0xca', said)
        self.assertIn('cannot tell', said.lower())
        calm = [frame for _, frame in read_pcap(RXE / 'atomic.pcap')]
        esp = [f[:23] + b'\x32' + f[24:] for f in calm[:2]]
        said = ' '.join(dissect('explain', self.write(calm + esp)).stdout.decode().split())
        self.assertIn('Nothing is wrong in what was followed', said)
        self.assertIn('have a header that is not opened (ESP)', said)
        for command in ('list', 'summary', 'verify', 'connections', 'messages', 'anomalies', 'explain'):
            run = dissect(command, self.write(self.frames, link=105))
            self.assertIn(b'link type 105 (IEEE802_11) is not supported', run.stderr, command)


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
