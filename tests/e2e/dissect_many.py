# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect with thousands of connections: which directions belong together, and what is said of
connections that are too many."""

import json
import pathlib
import random
import subprocess
import tempfile
import unittest

import many_qps
from longwire_test import program
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
            done = subprocess.run([program('roce-dissect'), 'sessions', '--json', path],
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
        self.assertEqual(len({row['session'] for row in rows}), len(qps))
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
        self.assertEqual(len({row['session'] for row in rows}), MOST_SESSIONS)
        self.assertIn(f'{2 * further} packets belong to connections beyond the first '
                      f'{MOST_SESSIONS}', errors)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
