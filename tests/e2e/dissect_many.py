# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect with thousands of connections: which directions belong together, what is said of
connections that are too many; many frames with bad ICRCs; the same output with a second thread."""

import json
import pathlib
import random
import subprocess
import tempfile
import unittest

import many_qps
from longwire_test import SOURCE, program
from pcap_file import write_pcap

MOST_SESSIONS = 20_000


def in_order(frames):
    return [(index * many_qps.BETWEEN, frame) for index, (_, frame) in enumerate(frames)]


class ManyConnections(unittest.TestCase):
    def sessions(self, frames):
        """The rows of `sessions`, and standard error."""
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            path = pathlib.Path(folder, 'many.pcap')
            write_pcap(path, frames)
            done = subprocess.run([program('roce-dissect'), 'connections', '--json', path],
                                  capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()], done.stderr

    def assert_pairs(self, rows, qps):
        """Each connection has one number for the QPs of both ends."""
        pairs = [(row['from_qp'], row['to_qp']) for row in rows if row['requests'] > 0]
        self.assertEqual(sorted(pairs), [(qp, qp) for qp in qps])

    def test_the_source_port_tells_connections_with_one_first_psn_apart(self):
        qps = range(2, 4002)
        port = {qp: 49152 + qp for qp in qps}
        requests = [many_qps.write(0, qp, 0, port[qp]) for qp in qps]
        answers = [many_qps.ack(0, qp, 0, port[qp], 1) for qp in qps]
        random.Random(1).shuffle(answers)
        rows, _ = self.sessions(in_order(requests + answers))
        self.assert_pairs(rows, qps)
        self.assertEqual({row['paired_by'] for row in rows}, {'source port'})

    def test_the_psns_tell_connections_with_one_port_apart(self):
        qps = range(2, 4002)
        requests = [many_qps.write(0, qp, qp * 3571, 49152) for qp in qps]
        answers = [many_qps.ack(0, qp, qp * 3571, 50000, 1) for qp in qps]
        random.Random(2).shuffle(answers)
        rows, _ = self.sessions(in_order(requests + answers))
        self.assert_pairs(rows, qps)
        self.assertEqual({row['paired_by'] for row in rows}, {'responses'})

    def test_each_answer_is_paired_once_where_nothing_tells(self):
        qps = range(2, 502)
        requests = [many_qps.write(0, qp, 0, 49152) for qp in qps]
        answers = [many_qps.ack(0, qp, 0, 49152, 1) for qp in qps]
        rows, _ = self.sessions(in_order(requests + answers))
        self.assertEqual(len({row['connection'] for row in rows}), len(qps))
        self.assertEqual(sorted(row['to_qp'] for row in rows), list(qps))
        self.assertEqual(sorted(row['from_qp'] for row in rows), list(qps))

    def test_a_frame_with_a_damaged_qp_begins_no_connection(self):
        frames = [(stamp, bytearray(frame)) for stamp, frame in many_qps.capture(3, 50)]
        frames[40][1][48] ^= 4  # the destination QP
        rows, _ = self.sessions([(stamp, bytes(frame)) for stamp, frame in frames])
        self.assert_pairs(rows, range(2, 5))
        self.assertEqual(len(rows), 3)

    def test_connections_that_are_too_many_are_counted(self):
        further = 500
        rows, errors = self.sessions(many_qps.capture(MOST_SESSIONS + further))
        self.assertEqual(len({row['connection'] for row in rows}), MOST_SESSIONS)
        self.assertIn(f'{2 * further} packets belong to connections beyond the first '
                      f'{MOST_SESSIONS}', errors)


class BadIcrcs(unittest.TestCase):
    """What explains a bad ICRC, in frames with 1 KiB of payload."""

    def details(self, damage):
        """What `anomalies` says of 600 frames, each second one damaged by damage(random, frame)."""
        generator = random.Random(3)
        damaged = [bytearray(many_qps.write(0, 2, at, 49152, 1024)[1]) for at in range(600)]
        done = [damage(generator, frame) for frame in damaged[1::2]]
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            path = pathlib.Path(folder, 'damaged.pcap')
            write_pcap(path, in_order([(0, bytes(frame)) for frame in damaged]))
            lines = subprocess.run([program('roce-dissect'), 'anomalies', '--json', '--kind',
                                    'bad_icrc', path], capture_output=True, text=True, check=True)
        return done, [json.loads(line)['detail'] for line in lines.stdout.splitlines()]

    def test_a_flipped_bit(self):
        def flip(generator, frame):
            at, bit = generator.randrange(47, len(frame) - 4), generator.randrange(8)
            frame[at] ^= 1 << bit
            return f'bit {bit} of byte {at} was flipped'
        flipped, details = self.details(flip)
        self.assertEqual([detail.partition(' (')[0] for detail in details], flipped)

    def test_a_rewritten_field(self):
        def rewrite(generator, frame):
            port = generator.choice([0xC001, 0xFFFF, 0x1234])
            frame[34:36] = port.to_bytes(2, 'big')
            return port
        _, details = self.details(rewrite)
        bits = [detail for detail in details if 'bit' in detail]  # 0xC001: the shorter explanation
        self.assertEqual(set(details) - set(bits),
                         {'the UDP source port was 49152 when the ICRC was computed'})

    def test_what_no_bit_or_field_explains(self):
        def scramble(generator, frame):
            frame[60:80] = generator.randbytes(20)
        _, details = self.details(scramble)
        self.assertEqual(set(details), {'no single bit or field explains it'})


class Jobs(unittest.TestCase):
    """A second thread changes nothing of the output."""

    def output(self, *words):
        done = subprocess.run([program('roce-dissect'), *map(str, words)], capture_output=True,
                              check=False)
        return done.returncode, done.stdout, done.stderr

    def assert_same(self, path):
        for command in ('connections', 'messages', 'anomalies', 'explain'):
            for style in ((), ('--json',)):
                words = (command, path, *style)
                self.assertEqual(self.output(*words, '--jobs', '2'), self.output(*words), words)

    def test_captures(self):
        captures = sorted((SOURCE / 'pcaps').rglob('*.pcap*'))
        self.assertGreaterEqual(len(captures), 15)
        for path in captures:
            self.assert_same(path)

    def test_several_batches_and_a_damaged_end(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            path = pathlib.Path(folder, 'many.pcap')
            write_pcap(path, many_qps.capture(500, messages=30))
            content = path.read_bytes()
            self.assert_same(path)
            path.write_bytes(content[:-10])
            self.assert_same(path)

    def test_a_growing_file_is_followed_by_one(self):
        status, _, errors = self.output('anomalies', 'x.pcap', '--follow', '--jobs', '2')
        self.assertEqual(status, 2)
        self.assertIn(b'--follow', errors)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
