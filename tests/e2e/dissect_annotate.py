# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect annotate: tshark reads the findings as comments, and all else of the capture is as it was."""

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import longwire_test
from conversation import Conversation
from pcap_file import MAGIC_NS, MAGIC_US

DISSECT = longwire_test.program('roce-dissect')
SECTION, INTERFACE, OLD_PACKET, SIMPLE, NAMES, STATISTICS, PACKET = 0x0A0D0D0A, 1, 2, 3, 4, 5, 6
COMMENT = 1
PCAPS = longwire_test.SOURCE / 'pcaps'
NAK = longwire_test.SOURCE / 'pcaps/rxe/loss_read_requester_side.pcap'


def words(body):
    return body + bytes(-len(body) % 4)


def option(order, code, value):
    return struct.pack(f'{order}HH', code, len(value)) + words(value)


def block(order, kind, body):
    size = struct.pack(f'{order}I', len(body) + 12)
    return struct.pack(f'{order}I', kind) + size + body + size


def blocks(content):
    """(order, kind, body) of each block of a pcapng file."""
    order, at = '<', 0
    while at < len(content):
        if content[at:at + 4] == b'\n\r\r\n':
            order = '<' if content[at + 8:at + 12] == b'\x4d\x3c\x2b\x1a' else '>'
        kind, size = struct.unpack_from(f'{order}II', content, at)
        yield order, kind, content[at + 8:at + size - 4]
        at += size


def options(order, body):
    """(code, value) of each option up to the end mark."""
    at = 0
    while at + 4 <= len(body):
        code, size = struct.unpack_from(f'{order}HH', body, at)
        if code == 0:
            return
        yield code, body[at + 4:at + 4 + size]
        at += 4 + size + -size % 4


def option_start(order, kind, body):
    """Where the options of a section or packet begin."""
    if kind == SECTION:
        return 16
    captured = struct.unpack_from(f'{order}I', body, 12)[0]
    return 20 + captured + -captured % 4


def without_ours(content):
    """The blocks of a file without comments of ours and without lengths of sections."""
    kept = []
    for order, kind, body in blocks(content):
        if kind in (SECTION, PACKET, OLD_PACKET):
            start = option_start(order, kind, body)
            rest = [one for one in options(order, body[start:]) if not one[1].startswith(b'longwire')]
            head = body[:8] if kind == SECTION else body[:start]
            kept.append((order, kind, head, rest))
        else:
            kept.append((order, kind, body))
    return kept


def packet(order, frame, stamp, interface=0, comments=(), kind=PACKET):
    front = struct.pack(f'{order}I', interface) if kind == PACKET else struct.pack(f'{order}HH', interface, 7)
    head = struct.pack(f'{order}IIII', stamp >> 32, stamp & 0xFFFFFFFF, len(frame), len(frame))
    tail = b''.join(option(order, COMMENT, one.encode()) for one in comments)
    return block(order, kind, front + head + words(frame) + (tail + bytes(4) if tail else b''))


def section(order, resolution=9, tail=b''):
    start = struct.pack(f'{order}IHHq', 0x1A2B3C4D, 1, 0, 4711) + tail
    described = struct.pack(f'{order}HHI', 1, 0, 0) + option(order, 9, bytes([resolution])) + bytes(4)
    return block(order, SECTION, start) + block(order, INTERFACE, described)


def lossy_frames(count=40, lost=(9, 20)):
    """A conversation in which the point misses requests, as (ns, frame)."""
    talk = Conversation(True)
    for psn in range(count):
        if psn not in lost:
            talk.request(psn)
    for psn in range(min(lost), count):
        talk.request(psn)
    talk.answer(count - 1)
    return talk.frames


class Annotated(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / 'out.pcapng'

    def annotate(self, source, *more, code=0):
        done = subprocess.run([DISSECT, 'annotate', source, self.out, *more], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def fields(self, path, *names, where='frame'):
        words_ = ['tshark', '-n', '-r', path, '-Y', where, '-T', 'fields']
        for name in names:
            words_ += ['-e', name]
        done = subprocess.run(words_, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def comments(self, path=None):
        """Frame number: its comments, by tshark."""
        rows = self.fields(path or self.out, 'frame.number', 'frame.comment', where='frame.comment')
        return {int(number): text for number, text in (row.split('\t', 1) for row in rows)}

    def write(self, name, *parts):
        path = self.folder / name
        path.write_bytes(b''.join(parts))
        return path


class OfPcap(Annotated):
    def test_findings_are_comments_of_their_frames(self):
        done = self.annotate(NAK)
        self.assertIn('114 frames', done.stdout)
        listed = subprocess.run([DISSECT, 'anomalies', NAK, '--csv'], capture_output=True, text=True, check=True)
        header, *rows = [row.split(',') for row in listed.stdout.splitlines()]
        comments = self.comments()
        self.assertGreater(len(rows), 10)
        for row in rows:
            found = dict(zip(header, row))
            self.assertIn(f"longwire: {found['kind']}", comments[int(found['frame'])])
        summary = subprocess.run(['capinfos', '-k', self.out], capture_output=True, text=True, check=True).stdout
        self.assertIn('What was lost, late or copied? Wrong: 7 lost before the capture point', summary)

    def test_each_display_filter_shows_the_frame_of_its_finding(self):
        """By tshark: the filter compiles, and its packets have the finding's PSN."""
        self.annotate(NAK)
        shown = 0
        for number, text in self.comments().items():
            for line in text.split('\\n'):
                if not line.startswith('Display filter: '):
                    continue
                where = line.removeprefix('Display filter: ').split(',longwire')[0]
                frames = [int(one) for one in self.fields(NAK, 'frame.number', where=where)]
                self.assertTrue(frames, where)
                if 'psn_gap' not in text:
                    self.assertIn(number, frames, where)
                shown += 1
        self.assertGreater(shown, 5)

    def test_filters_of_each_kind_compile_and_show_their_frames(self):
        """By tshark, of the captures in pcaps/: each kind of finding once. A gap has no frame of its PSNs."""
        seen = set()
        for path in sorted(PCAPS.glob('*/*.pcap*')):
            found = [json.loads(line) for line in subprocess.run(
                [DISSECT, 'anomalies', path, '--json'], capture_output=True, text=True, check=True).stdout.splitlines()]
            new = {row['kind']: row for row in found if row['kind'] not in seen}
            if not new:
                continue
            seen |= set(new)
            where = ' || '.join(f"({row['display_filter']})" for row in new.values())
            shown = {int(one) for one in self.fields(path, 'frame.number', where=where)}
            with self.subTest(path.name):
                self.assertLessEqual({row['frame'] for kind, row in new.items() if kind != 'psn_gap'}, shown, where)
        self.assertGreater(len(seen), 15)

    def test_frames_and_stamps_stay(self):
        frames = lossy_frames()
        for magic, order, unit in ((MAGIC_US, '<', 1000), (MAGIC_NS, '<', 1), (MAGIC_US, '>', 1000), (MAGIC_NS, '>', 1)):
            parts = [struct.pack(f'{order}IHHiIII', magic, 2, 4, 0, 0, 300, 1)]
            for at, data in frames:
                parts.append(struct.pack(f'{order}IIII', at // 10**9, at % 10**9 // unit, len(data), len(data)) + data)
            path = self.write('in.pcap', *parts)
            self.annotate(path)
            names = ('frame.number', 'frame.time_epoch', 'frame.len', 'frame.cap_len', 'udp.checksum', 'infiniband.bth.psn')
            before, after = self.fields(path, *names), self.fields(self.out, *names)
            self.assertEqual(len(before), len(frames))
            self.assertEqual([row.replace('000000000\t', '000\t') for row in before],
                             [row.replace('000000000\t', '000\t') for row in after])
            bytes_of = [body[20:20 + struct.unpack_from('<I', body, 12)[0]]
                        for _, kind, body in blocks(self.out.read_bytes()) if kind == PACKET]
            self.assertEqual(bytes_of, [data for _, data in frames])
            self.assertIn(9 + 1, self.comments())

    def test_a_frame_check_sequence_is_stated(self):
        parts = [struct.pack('<IHHiIII', MAGIC_NS, 2, 4, 0, 0, 0, 0x2400_0001)]
        for at, data in lossy_frames(12, (5,)):
            parts.append(struct.pack('<IIII', at // 10**9, at % 10**9, len(data) + 4, len(data) + 4) + data + b'fcs.')
        self.annotate(self.write('fcs.pcap', *parts))
        interface = next(body for _, kind, body in blocks(self.out.read_bytes()) if kind == INTERFACE)
        self.assertIn((13, b'\x04'), list(options('<', interface[8:])))

    def test_a_copied_finding_is_nothing_new(self):
        """A copy that is annotated again keeps the first comments, and gets the same again."""
        self.annotate(NAK)
        first, again = self.comments(), self.folder / 'again.pcapng'
        subprocess.run([DISSECT, 'annotate', self.out, again], check=True, capture_output=True)
        for number, text in self.comments(again).items():
            self.assertTrue(text.startswith(first[number]), number)


class OfPcapng(Annotated):
    """Blocks of any kind, and what our own comments change: nothing else."""

    def check(self, path, code=0):
        done = self.annotate(path, code=code)
        self.assertEqual(without_ours(self.out.read_bytes()), without_ours(path.read_bytes()))
        return done

    def test_all_other_blocks_and_options_stay(self):
        for order in '<>':
            frames = lossy_frames()
            names = block(order, NAMES, struct.pack(f'{order}HH', 1, 8) + bytes([10, 0, 0, 1]) + b'one\0' + bytes(4))
            private = block(order, 0x0BAD, struct.pack(f'{order}I', 32473) + b'private!')
            counted = block(order, STATISTICS, struct.pack(f'{order}III', 0, 0, 9) + bytes(4))
            parts = [section(order, tail=option(order, COMMENT, b'of the lab') + bytes(4)), names, private]
            for i, (at, data) in enumerate(frames):
                kind = OLD_PACKET if i % 7 == 3 else PACKET
                parts.append(packet(order, data, at, comments=['first', 'second'] if i % 5 else (), kind=kind))
            path = self.write('in.pcapng', *parts, counted)
            self.check(path)
            comments = self.comments()
            self.assertTrue(any(text.startswith('first,second,longwire: ') for text in comments.values()))
            start = next(body for _, kind, body in blocks(self.out.read_bytes()) if kind == SECTION)
            texts = [value for _, value in options(order, start[16:])]
            self.assertEqual(texts[0], b'of the lab')
            self.assertTrue(texts[1].startswith(b'longwire, roce-dissect explain'))

    def test_sections_of_either_order(self):
        frames = lossy_frames()
        half = len(frames) // 2
        parts = [section('<', 9), *(packet('<', data, at) for at, data in frames[:half]),
                 section('>', 9), *(packet('>', data, at) for at, data in frames[half:])]
        self.check(self.write('two.pcapng', *parts))
        self.assertTrue(self.comments())

    def test_simple_packets_hold_no_comment(self):
        frames = lossy_frames()
        parts = [section('<')]
        parts += [block('<', SIMPLE, struct.pack('<I', len(data)) + words(data)) for _, data in frames]
        done = self.check(self.write('simple.pcapng', *parts))
        self.assertIn('simple packet blocks hold none', done.stdout)

    def test_options_that_are_damaged_stay(self):
        frames = lossy_frames()
        parts = [section('<')]
        for at, data in frames:
            head = struct.pack('<IIIII', 0, at >> 32, at & 0xFFFFFFFF, len(data), len(data))
            parts.append(block('<', PACKET, head + words(data) + struct.pack('<HH', 1, 0xFFF0) + b'gone'))
        path = self.write('damaged.pcapng', *parts)
        self.annotate(path)
        ends = [body[-8:] for _, kind, body in blocks(self.out.read_bytes()) if kind == PACKET]
        self.assertEqual(set(ends), {struct.pack('<HH', 1, 0xFFF0) + b'gone'})

    def test_a_cut_file_is_copied_as_far_as_it_goes(self):
        parts = [section('<'), *(packet('<', data, at) for at, data in lossy_frames())]
        whole = self.write('whole.pcapng', *parts)
        cut = self.write('cut.pcapng', whole.read_bytes()[:-30])
        done = self.annotate(cut, code=1)
        self.assertIn('cut.pcapng: offset', done.stderr)
        kinds = [kind for _, kind, _ in blocks(self.out.read_bytes())]
        self.assertEqual(kinds.count(PACKET), len(parts) - 2)

    def test_compressed(self):
        parts = [section('<'), *(packet('<', data, at) for at, data in lossy_frames())]
        path = self.write('plain.pcapng', *parts)
        subprocess.run(['zstd', '-q', path], check=True)
        self.annotate(f'{path}.zst')
        self.assertEqual(without_ours(self.out.read_bytes()), without_ours(path.read_bytes()))


class Inputs(Annotated):
    def test_standard_input_and_output(self):
        self.annotate(NAK)
        piped = subprocess.run([DISSECT, 'annotate', '-', '-'], input=NAK.read_bytes(), capture_output=True, check=True)
        same = [one[:2] + one[2:] for one in blocks(self.out.read_bytes())]
        self.assertEqual([kind for _, kind, _ in blocks(piped.stdout)], [kind for _, kind, _ in same])
        self.assertEqual([body for _, kind, body in blocks(piped.stdout) if kind == PACKET],
                         [body for _, kind, body in same if kind == PACKET])
        self.assertIn(b'114 frames', piped.stderr)

    def test_no_room_for_standard_input(self):
        done = subprocess.run([DISSECT, 'annotate', '-', self.out], input=b'x', capture_output=True,
                              env={'TMPDIR': str(self.folder), 'PATH': '/usr/bin:/bin'})
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b'expected a pcap or pcapng capture', done.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_comments_of_a_frame_are_bounded(self):
        """The last ACK before a peer stopped explains nine findings."""
        done = self.annotate(longwire_test.SOURCE / 'pcaps/cases/peer_stopped.pcap')
        self.assertIn('1 comment is left out: a frame gets at most 8', done.stdout)
        self.assertEqual(max(text.count('longwire: ') for text in self.comments().values()), 8)

    def test_an_interface_that_is_not_there(self):
        path = self.write('one.pcapng', section('<'), *(packet('<', data, at) for at, data in lossy_frames()))
        done = self.annotate(f'{path}@eth9', code=2)
        self.assertIn('eth9', done.stderr)
        self.assertFalse(self.out.exists())

    def test_what_ends_the_analysis_alone_is_said(self):
        """A packet of an interface that the section does not describe."""
        frames = [packet('<', data, at) for at, data in lossy_frames()]
        path = self.write('odd.pcapng', section('<'), *frames, packet('<', b'odd!', 1, interface=3))
        self.assertIn('a packet of interface 3', self.annotate(path, code=1).stderr)
        self.assertEqual(without_ours(self.out.read_bytes()), without_ours(path.read_bytes()))

    def test_commands_of_the_summary_have_the_filter(self):
        self.annotate(NAK, '--filter', 'host 192.168.77.1')
        start = next(body for _, kind, body in blocks(self.out.read_bytes()) if kind == SECTION)
        texts = [value for _, value in options('<', start[16:])]
        self.assertIn(b"--filter 'host 192.168.77.1'", texts[0])

    def test_the_input_is_no_output(self):
        done = subprocess.run([DISSECT, 'annotate', NAK, NAK], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn('OUT', done.stderr)


if __name__ == '__main__':
    longwire_test.main()
