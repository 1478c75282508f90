# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair replay: what stages do to times and bytes, against models of the manual's text."""

import json
import math
import pathlib
import random
import struct
import subprocess
import tempfile
import unittest
from fractions import Fraction

import longwire_test
from pcap_file import read_pcap, roce_frame, write_pcap

START = 1_700_000_000 * 10**9


class Stages(unittest.TestCase):
    def setUp(self):
        self.folder_holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.folder_holder.name)
        self.addCleanup(self.folder_holder.cleanup)

    def replay(self, frames, keys, expect=0):
        """(the direction's report, the frames that leave) of one rule with `keys`."""
        write_pcap(self.folder / 'in.pcap', frames)
        (self.folder / 'profile.toml').write_text(f'[[rule]]\nname = "r"\n{keys}\n')
        done = subprocess.run([longwire_test.program('roce-impair'), 'replay',
                               str(self.folder / 'profile.toml'), str(self.folder / 'in.pcap'),
                               str(self.folder / 'out.pcap'), '--json'],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        if expect:
            return done.stderr
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'] and report['stages_hold'], done.stdout)
        return report['directions'][0], read_pcap(self.folder / 'out.pcap')


def bursts(seed, count=20_000, rate=0.9):
    """Frames of 90 to 1,100 B in bursts whose mean rate is `rate` bits a nanosecond."""
    draw = random.Random(seed)
    frames, now = [], START
    for number in range(count):
        frame = roce_frame(number, payload=draw.randrange(16, 1024))
        frames.append((now, frame))
        if draw.random() < 0.05:
            now += int(20 * 8 * 600 / rate * 2 * draw.random())
    return frames


def queue_of(frames, rate, overhead=24):
    """[(bytes in the queue when the frame comes, when it leaves, bytes behind it then)]: each
    frame takes its bytes and `overhead` on the line, one after the other."""
    free, ends, sizes = Fraction(0), [], []
    for stamp, frame in frames:
        free = max(free, Fraction(stamp)) + Fraction((max(60, len(frame)) + overhead) * 8 * 10**9, rate)
        ends.append(math.ceil(free))
        sizes.append(max(60, len(frame)))
    out, first, last = [], 0, 0
    total = [0]
    for size in sizes:
        total.append(total[-1] + size)
    for i, (stamp, _) in enumerate(frames):
        while ends[first] <= stamp and first < i:
            first += 1
        while last < len(frames) and frames[last][0] < ends[i]:
            last += 1
        out.append((total[i] - total[first], ends[i], total[last] - total[i + 1]))
    return out


def ecn_of(frame):
    return frame[15] & 3


class Mark(Stages):
    """Nothing is marked up to kmin, all above kmax, a share in between."""

    QUEUE = 'queue = { rate = "1Gb/s", buffer = "4MB" }\n'

    def marked(self, profile, at):
        frames = bursts(seed=7, rate=0.8)
        _, out = self.replay(frames, self.QUEUE + f'mark = {{ kmin = "4kB", kmax = "10kB", {profile}, '
                                                  f'at = "{at}" }}')
        queue = queue_of(frames, 10**9)
        self.assertEqual(len(out), len(frames))
        for (stamp, _), (_, end, _) in zip(out, queue):
            self.assertEqual(stamp, end)
        place = 0 if at == 'arrival' else 2
        between = [q[place] for q in queue if 4000 < q[place] <= 10_000]
        self.assertGreater(len(between), 300)
        chosen = 0
        for (_, frame), (before, _, behind) in zip(out, queue):
            seen = before if at == 'arrival' else behind
            if seen <= 4000:
                self.assertEqual(ecn_of(frame), 2)
            elif seen > 10_000:
                self.assertEqual(ecn_of(frame), 3)
            else:
                chosen += ecn_of(frame) == 3
        return chosen, between

    def test_a_step_marks_a_constant_share_between_the_thresholds(self):
        for at in ('arrival', 'departure'):
            with self.subTest(at):
                chosen, between = self.marked('profile = "step", pmin = "20%"', at)
                mean, deviation = 0.2 * len(between), math.sqrt(0.16 * len(between))
                self.assertLess(abs(chosen - mean), 5 * deviation)

    def test_a_ramp_marks_in_proportion_to_the_queue(self):
        for at in ('arrival', 'departure'):
            with self.subTest(at):
                chosen, between = self.marked('pmax = "50%"', at)
                shares = [0.5 * (held - 4000) / 6000 for held in between]
                deviation = math.sqrt(sum(p * (1 - p) for p in shares))
                self.assertLess(abs(chosen - sum(shares)), 5 * deviation)

    def test_what_cannot_be_meant_is_refused(self):
        for keys, text in (
                ('profile = "step"', 'pmin'),
                ('profile = "step", pmin = "1%", pmax = "2%"', 'expected pmin beside'),
                ('pmin = "1%"', 'expected profile = "step"'),
                ('at = "departure", not_ect = "drop"', 'not_ect'),
                ('profile = "stairs"', 'stairs')):
            with self.subTest(keys):
                error = self.replay(bursts(1, 10), self.QUEUE + 'mark = { kmin = "1kB", kmax = "2kB", '
                                    + keys + ' }', expect=2)
                self.assertIn('profile.toml:4:', error)
                self.assertIn(text, error)


if __name__ == '__main__':
    longwire_test.main()
