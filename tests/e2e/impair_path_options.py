# SPDX-License-Identifier: BSD-3-Clause
"""A path without a file: roce-impair --distance, --delay, --jitter, --loss, --rate, --buffer. What the
saved profile does to frames is compared with the physics and the numbers on the command line."""

import json
import math
import pathlib
import subprocess
import tempfile
import unittest
from fractions import Fraction

import longwire_test
from pcap_file import read_pcap, roce_frame, write_pcap

START = 1_700_000_000 * 10**9
IMPAIR = longwire_test.program('roce-impair')


class PathOptions(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def run_it(self, *words, code=0):
        done = subprocess.run([IMPAIR, *map(str, words)], cwd=self.folder, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def through(self, frames, *options):
        """The frames that leave a path with these options, saved by `explain` and replayed."""
        self.run_it('explain', *options, '--save', 'path.toml')
        write_pcap(self.folder / 'in.pcap', frames)
        done = self.run_it('replay', 'path.toml', 'in.pcap', 'out.pcap', '--json')
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'] and report['stages_hold'], done.stdout)
        return read_pcap(self.folder / 'out.pcap')

    def test_a_distance_is_bare_fibre(self):
        frames = [(START + 1000 * i, roce_frame(i)) for i in range(10)]
        for km in (380, 1, 0.5, 9000):
            fibre = round(Fraction(km).limit_denominator() * 14682 * 10**8 / 299792458)
            out = self.through(frames, '--distance', f'{km}km')
            self.assertEqual([stamp for stamp, _ in out], [stamp + fibre for stamp, _ in frames])
        said = self.run_it('check', '--distance', '380km').stderr
        self.assertIn('380 km of bare fibre: 1.861007 ms one way; equipment adds to it', said)
        path = json.loads(self.run_it('check', 'apn-380km', '--json').stdout)['path']
        equipment = path['west-to-east']['equipment_ns'] / 1000
        self.assertIn(f'that of the path apn-380km adds {equipment:g} us', said)

    def test_both_directions_and_rocev2_only(self):
        checked = json.loads(self.run_it('check', '--delay', '2ms', '--json').stdout)
        self.assertEqual([(rule['direction'], rule['match']) for rule in checked['rules']],
                         [('both ways', 'rocev2')])
        checked = json.loads(self.run_it('check', '--delay', '2ms', '--all-frames', '--json').stdout)
        self.assertEqual(checked['rules'][0]['match'], 'all')

    def test_jitter_is_even_around_the_delay_and_keeps_the_order(self):
        frames = [(START + 500_000 * i, roce_frame(i)) for i in range(20_000)]
        out = self.through(frames, '--delay', '2ms', '--jitter', '100us')
        self.assertEqual([frame for _, frame in out], [frame for _, frame in frames])
        delays = [after - before for (before, _), (after, _) in zip(frames, out)]
        self.assertGreaterEqual(min(delays), 1_900_000)
        self.assertLessEqual(max(delays), 2_100_000)
        # Frames are 500 us apart at a half-life of 2 ms: some 2,000 independent draws at least.
        self.assertLess(abs(sum(delays) / len(delays) - 2e6), 5 * 57_735 / math.sqrt(2000))
        quarters = [sum(d < 1_900_000 + 50_000 * n for d in delays) / len(delays) for n in (1, 2, 3)]
        for share, right in zip(quarters, (0.25, 0.5, 0.75)):
            self.assertLess(abs(share - right), 5 * 0.5 / math.sqrt(2000))

    def test_loss(self):
        frames = [(START + 1000 * i, roce_frame(i)) for i in range(20_000)]
        lost = 20_000 - len(self.through(frames, '--loss', '1%'))
        self.assertLess(abs(lost - 200), 5 * math.sqrt(200))

    def test_a_rate_has_a_buffer_of_one_round_trip(self):
        for options, room in ((('--delay', '2ms', '--rate', '1Gb/s'), 500_000),
                              (('--rate', '1Gb/s'), 150_000),
                              (('--delay', '2ms', '--rate', '1Gb/s', '--buffer', '200kB'), 200_000)):
            frames = [(START + i, roce_frame(i, payload=1000)) for i in range(1000)]
            size = len(frames[0][1])
            out = self.through(frames, *options)
            # All come while the first is sent.
            self.assertEqual(len(out), room // size)
            delay = 2_000_000 if '--delay' in options else 0
            first = START + math.ceil(Fraction((size + 24) * 8)) + delay
            self.assertEqual(out[0][0], first)
            self.assertEqual(out[-1][0] - first, (len(out) - 1) * (size + 24) * 8)

    def test_a_run_says_what_it_does(self):
        write_pcap(self.folder / 'in.pcap', [(START + i, roce_frame(i)) for i in range(5)])
        done = self.run_it('run', '--distance', '10km', '--west', 'pcap:in.pcap', '--east',
                           'null', '--save', 'kept.toml',
                           '--html', 'page.html', '--json')
        report = json.loads(done.stdout)
        self.assertEqual(report['directions'][0]['rules'][0]['name'], 'path')
        self.assertEqual(report['directions'][0]['rules'][0]['received']['frames'], 5)
        self.assertIn('length = "10km"', (self.folder / 'kept.toml').read_text())
        self.assertIn('made from: --distance 10km', (self.folder / 'page.html').read_text())
        changed = self.run_it('explain', '--delay', '1ms', '--set', 'path.delay=3ms').stdout
        self.assertIn('by 3 ms', changed)

    def test_what_does_not_go_together(self):
        for words, said in (
                ([], 'expected PROFILE, or a path: --distance'),
                (['apn-380km', '--delay', '1ms'], '--delay: expected no PROFILE beside it'),
                (['--all-frames'], 'beside it'),
                (['--buffer', '1MB'], '--buffer: expected --rate beside it'),
                (['--distance', '1km', '--delay', '1ms'], 'found both'),
                (['--loss', '1'], 'write 1% or 100%'),
                (['--loss', '1.0'], 'write 1% or 100%'),
                (['--delay', '1us', '--jitter', '2us'], '--jitter: expected at most the delay'),
                (['--jitter', '1us'], '--jitter: expected at most the delay'),
                (['--distance', '-1km'], '--distance'),
                (['--delay', '1ms', '--save', '/none/x'], '/none/x')):
            with self.subTest(words=words):
                code = 3 if '/none/x' in words else 2
                self.assertIn(said, self.run_it('check', *words, code=code).stderr)
        self.assertIn('a file of its own for --save', self.run_it('run', '--delay', '1ms', '--west', 'null', '--east',
                                               'null', '--save', 'x', '--ledger', 'x',
                                               code=2).stderr)


if __name__ == '__main__':
    longwire_test.main()
