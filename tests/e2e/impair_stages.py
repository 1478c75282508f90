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


class Values(Stages):
    """Burst lengths and times of reordering from a file of 1,024 values."""

    def setUp(self):
        super().setUp()
        draw = random.Random(5)
        self.lengths = [draw.choice((2, 3, 7, 19)) for _ in range(1024)]
        self.times = [draw.randrange(10_000, 90_000) for _ in range(1024)]
        (self.folder / 'lengths.csv').write_text(''.join(f'{n}\n' for n in self.lengths))
        (self.folder / 'times.csv').write_text(''.join(f'{n}ns\n' for n in self.times))

    def test_bursts_have_the_lengths_of_the_file(self):
        sent = [(START + i * 1000, roce_frame(i)) for i in range(40_000)]
        report, out = self.replay(sent, 'loss = { model = "bursts", begin = "5%", file = "lengths.csv" }')
        arrived = {int.from_bytes(frame[70:78], 'big') for _, frame in out}
        runs, run = [], 0
        for number in range(len(sent)):
            if number not in arrived:
                run += 1
            elif run:
                runs.append(run)
                run = 0
        # Bursts that follow each other directly, 5 %, have the sum of their lengths.
        single = [n for n in runs if n in (2, 3, 7, 19)]
        self.assertGreater(len(single), 0.92 * len(runs))
        self.assertGreater(len(runs), 1200)
        for length in (2, 3, 7, 19):
            share = self.lengths.count(length) / 1024
            deviation = math.sqrt(len(single) * share * (1 - share))
            self.assertLess(abs(single.count(length) - len(single) * share), 5 * deviation)
        what = {check['what'] for check in report['stages'][0]['checks']}
        self.assertIn("bursts' lengths", what)

    def test_frames_are_held_back_by_the_times_of_the_file(self):
        sent = [(START + i * 1000, roce_frame(i)) for i in range(40_000)]
        report, out = self.replay(sent, 'delay = "1ms"\nreorder = { fraction = "10%", '
                                        'distribution = "values", file = "times.csv" }')
        self.assertEqual(len(out), len(sent))
        stamps = dict((frame, stamp) for stamp, frame in sent)
        late = [left - stamps[frame] - 1_000_000 for left, frame in out]
        held = [ns for ns in late if ns]
        self.assertLessEqual(set(held), set(self.times))
        self.assertGreater(len(held), 3600)
        mean = sum(self.times) / 1024
        deviation = math.sqrt(sum((t - mean) ** 2 for t in self.times) / 1024 / len(held))
        self.assertLess(abs(sum(held) / len(held) - mean), 5 * deviation)
        what = {check['what'] for check in report['stages'][0]['checks']}
        self.assertIn('mean time held back', what)

    def test_a_wrong_file_is_refused_at_its_line(self):
        sent = [(START, roce_frame(0))]
        for text, error in (('3\n0\n', 'line 2: expected a number from 1 to 1000000'),
                            ('', 'expected lengths of bursts'), ('1,2\n', 'line 1: expected a number')):
            (self.folder / 'lengths.csv').write_text(text)
            with self.subTest(text):
                self.assertRegex(self.replay(sent, 'loss = { model = "bursts", begin = "1%", '
                                                   'file = "lengths.csv" }', expect=2),
                                 rf'profile.toml:\d+:\d+: .*{error}')


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


def checksum(header):
    total = sum(struct.unpack(f'>{len(header) // 2}H', header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def with_valid_checksum(frame, tos):
    header = bytearray(frame[14:34])
    header[1], header[10:12] = tos, b'\0\0'
    header[10:12] = checksum(bytes(header)).to_bytes(2, 'big')
    return frame[:14] + bytes(header) + frame[34:]


class Rewrite(Stages):
    def test_only_the_fields_and_the_checksum_change_and_the_report_counts_them(self):
        tos = [10 << 2 | 2, 10 << 2 | 3, 20 << 2 | 0, 20 << 2 | 1]
        frames = [(START + i * 1000, with_valid_checksum(roce_frame(i), tos[i % 4]))
                  for i in range(400)]
        report, out = self.replay(frames, 'rewrite = { dscp = 20, ecn = "not-ect" }')
        self.assertEqual([frame for _, frame in out],
                         [with_valid_checksum(frame, 20 << 2) for _, frame in frames])
        self.assertEqual(report['stages'][0]['rewritten'],
                         {'dscp_changed': 200, 'ect_erased': 200, 'ce_erased': 100})

    def test_a_bleached_frame_is_not_marked(self):
        frames = [(START + i * 1000, with_valid_checksum(roce_frame(i), 2)) for i in range(4000)]
        report, out = self.replay(frames, 'rewrite = { ecn = "not-ect", probability = "25%" }\n'
                                          'mark = "100%"')
        ecn = [ecn_of(frame) for _, frame in out]
        self.assertEqual(set(ecn), {0, 3})
        self.assertLess(abs(ecn.count(0) - 1000), 5 * math.sqrt(4000 * 0.25 * 0.75))
        self.assertEqual(report['stages'][0]['not_ect'], ecn.count(0))


class Corrupt(Stages):
    def test_a_field_of_a_header_is_hit_and_nothing_else(self):
        frames = [(START + i * 1000, roce_frame(i)) for i in range(300)]
        for part, at in (('ip-checksum', 24), ('udp-length', 38), ('udp-checksum', 40)):
            with self.subTest(part):
                _, out = self.replay(frames, f'corrupt = {{ probability = "100%", bits = 2, part = "{part}" }}')
                for (_, before), (_, after) in zip(frames, out):
                    changed = [i for i, (a, b) in enumerate(zip(before, after)) if a != b]
                    self.assertTrue(changed and set(changed) <= {at, at + 1}, changed)
                    flipped = int.from_bytes(before, 'big') ^ int.from_bytes(after, 'big')
                    self.assertEqual(flipped.bit_count(), 2)

    def test_what_cannot_be_meant_is_refused(self):
        for keys, text in (('part = "fcs"', 'each port computes it'),
                           ('part = "udp-length", icrc = "recomputed"', 'beside a part'),
                           ('part = "udp-length", bits = 17', 'at most 16 bits')):
            with self.subTest(keys):
                error = self.replay([(START, roce_frame(0))],
                                    f'corrupt = {{ probability = "100%", {keys} }}', expect=2)
                self.assertIn(text, error)


class Jitter(Stages):
    def test_values_of_a_file_are_equally_likely_and_no_others_occur(self):
        values = [1000 + 37 * i * i % 50_000 for i in range(1024)]
        (self.folder / 'values.csv').write_text('delay\n' + ''.join(f'{v}ns\n' for v in values))
        sent = [(START + i * 100_000, roce_frame(i)) for i in range(20_000)]
        report, out = self.replay(sent, 'jitter = { distribution = "values", file = "values.csv" }')
        delays = [b - a for (a, _), (b, _) in zip(sent, out)]
        self.assertEqual(set(delays), set(values))
        mean = sum(values) / 1024
        deviation = math.sqrt(sum((v - mean)**2 for v in values) / 1024)
        self.assertLess(abs(sum(delays) / 20_000 - mean), 5 * deviation / math.sqrt(20_000))
        self.assertIn("jitter's distribution",
                      [check['what'] for check in report['stages'][0]['checks']])


class Slot(Stages):
    """By the manual: who finds no slot begins one; a full one is followed by the next."""

    def test_slots_of_a_constant_distance_are_exact(self):
        for frames_of_slot, bytes_of_slot in ((0, 0), (7, 0), (0, 5000), (9, 6000)):
            with self.subTest(frames=frames_of_slot, bytes=bytes_of_slot):
                sent = bursts(seed=3, count=3000, rate=5)
                limits = f', frames = {frames_of_slot}' if frames_of_slot else ''
                limits += f', bytes = "{bytes_of_slot}B"' if bytes_of_slot else ''
                _, out = self.replay(sent, f'slot = {{ min = "20us"{limits} }}\ndelay = "1ms"')
                begin, left, held = -1, 0, 0
                for (stamp, frame), (leaves, same) in zip(sent, out):
                    self.assertEqual(frame, same)
                    if begin < stamp:
                        begin, left, held = stamp + 20_000, 0, 0
                    self.assertEqual(leaves, begin + 1_000_000)
                    left, held = left + 1, held + len(frame)
                    if (frames_of_slot and left >= frames_of_slot) or (
                            bytes_of_slot and held >= bytes_of_slot):
                        begin, left, held = begin + 20_000, 0, 0

    def test_random_distances_are_within_their_bounds_and_even(self):
        sent = [(START + i * 10, roce_frame(i)) for i in range(20_000)]
        _, out = self.replay(sent, 'slot = { min = "1us", max = "3us", frames = 10 }\n'
                                   '[capacity]\nreserve = "10ms"')
        times = sorted({stamp for stamp, _ in out})
        self.assertEqual(len(times), 2000)
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertTrue(1000 <= min(gaps) and max(gaps) <= 3000)
        # The mean of even distances between 1,000 and 3,000: deviation 577 each.
        self.assertLess(abs(sum(gaps) / len(gaps) - 2000), 5 * 577 / math.sqrt(len(gaps)))

    def test_behind_a_queue_frames_wait_for_both(self):
        sent = bursts(seed=5, count=3000, rate=0.7)
        _, out = self.replay(sent, 'queue = { rate = "1Gb/s", buffer = "4MB" }\nslot = { min = "50us" }')
        begin = -1
        for (_, end, _), (leaves, _) in zip(queue_of(sent, 10**9), out):
            if begin < end:
                begin = end + 50_000
            self.assertEqual(leaves, begin)

    def test_distances_of_a_file_are_equally_likely(self):
        values = [5000 + 13 * i for i in range(1024)]
        (self.folder / 'values.csv').write_text(''.join(f'{v}ns\n' for v in values))
        sent = [(START + i * 10, roce_frame(i)) for i in range(20_000)]
        report, out = self.replay(sent, 'slot = { distribution = "values", file = "values.csv", '
                                        'frames = 4 }\n[capacity]\nreserve = "100ms"')
        times = sorted({stamp for stamp, _ in out})
        self.assertEqual(len(times), 5000)
        gaps = [b - a for a, b in zip(times, times[1:])]
        self.assertLessEqual(set(gaps), set(values))
        self.assertGreater(len(set(gaps)), 900)
        mean = sum(values) / 1024
        deviation = math.sqrt(sum((v - mean)**2 for v in values) / 1024)
        self.assertLess(abs(sum(gaps) / len(gaps) - mean), 5 * deviation / math.sqrt(len(gaps)))
        self.assertIn('mean time between slots',
                      [check['what'] for check in report['stages'][0]['checks']])


def admitted(sent, limit, leaves_of):
    """[(frame number, when it leaves)] of those that find less than `limit` frames inside; `leaves_of`
    is called for each of them, in order."""
    inside, out = [], []
    for number, (stamp, frame) in enumerate(sent):
        inside = [leaves for leaves in inside if leaves > stamp]
        if len(inside) < limit:
            inside.append(leaves_of(stamp, frame))
            out.append((number, inside[-1]))
    return out


class Limit(Stages):
    """By the manual: a frame is dropped if the rule has its limit of frames inside when it comes."""

    def check(self, sent, keys, expected):
        report, out = self.replay(sent, keys)
        self.assertEqual([(frame, leaves) for leaves, frame in out],
                         [(sent[number][1], leaves) for number, leaves in expected])
        self.assertGreater(len(sent) - len(out), 100)
        self.assertEqual(report['dropped_by_rule']['frames'], len(sent) - len(out))
        self.assertIn('most frames inside',
                      [check['what'] for check in report['stages'][0]['checks']])

    def test_delayed_frames_count(self):
        sent = bursts(seed=11, count=5000, rate=2)
        self.check(sent, 'limit = 30\ndelay = "40us"',
                   admitted(sent, 30, lambda stamp, _: stamp + 40_000))

    def test_frames_in_the_queue_and_behind_it_count(self):
        sent = bursts(seed=12, count=5000, rate=1.5)
        free = [Fraction(0)]

        def leaves(stamp, frame):
            free[0] = max(free[0], Fraction(stamp)) + Fraction((len(frame) + 24) * 8)
            return math.ceil(free[0]) + 25_000
        self.check(sent, 'limit = 12\nqueue = { rate = "1Gb/s", buffer = "4MB" }\ndelay = "25us"',
                   admitted(sent, 12, leaves))

    def test_copies_count(self):
        sent = [(START + i * 1000, roce_frame(i)) for i in range(100)]
        _, out = self.replay(sent, 'duplicate = { probability = "100%", copies = 3 }\nlimit = 2\ndelay = "500ns"')
        self.assertEqual([leaves for leaves, _ in out],
                         [stamp + 500 for stamp, _ in sent for _ in range(2)])


class Cells(Stages):
    def test_a_frame_takes_whole_cells_of_the_link(self):
        sent = bursts(seed=13, count=5000, rate=0.6)
        _, out = self.replay(sent, 'queue = { rate = "1Gb/s", buffer = "40MB", overhead = "8B", '
                                   'cell = "48B", cell_overhead = "5B" }')
        free = Fraction(0)
        for (stamp, frame), (leaves, _) in zip(sent, out):
            cells = -(-(len(frame) + 8) // 48)
            free = max(free, Fraction(stamp)) + cells * 53 * 8
            self.assertEqual(leaves, math.ceil(free))


class Accumulate(Stages):
    """By the manual: a group leaves when its last frame would have, or a time after its first."""

    def groups(self, sent, frames, time_ns, delay_ns):
        """When each frame leaves."""
        out, group = [], []
        for stamp, _ in sent:
            due = stamp + delay_ns
            if group and due > group[0] + time_ns:
                out += [group[0] + time_ns] * len(group)
                group = []
            group.append(due)
            if len(group) == frames:
                out += [due] * frames
                group = []
        return out + [group[0] + time_ns if group else 0] * len(group)

    def test_groups_leave_together_and_in_order(self):
        for frames, time_us in ((8, 10_000), (100, 30), (4096, 50)):
            with self.subTest(frames=frames, time_us=time_us):
                sent = bursts(seed=14, count=5000, rate=0.9)
                report, out = self.replay(sent, f'accumulate = {{ frames = {frames}, '
                                                f'time = "{time_us}us" }}\ndelay = "70us"')
                self.assertEqual([frame for _, frame in out], [frame for _, frame in sent])
                self.assertEqual([leaves for leaves, _ in out],
                                 self.groups(sent, frames, time_us * 1000, 70_000))
                self.assertEqual([check['what'] for check in report['stages'][0]['checks']],
                                 ['largest group', 'longest wait for a group'])

    def test_without_a_delay_behind_a_queue(self):
        sent = bursts(seed=15, count=3000, rate=0.7)
        _, out = self.replay(sent, 'queue = { rate = "1Gb/s", buffer = "4MB" }\n'
                                   'accumulate = { frames = 5, time = "20us" }')
        departed = [(end, None) for _, end, _ in queue_of(sent, 10**9)]
        self.assertEqual([leaves for leaves, _ in out], self.groups(departed, 5, 20_000, 0))

    def test_what_cannot_be_meant_is_refused(self):
        for keys, text in (('accumulate = { frames = 1 }', 'frames'),
                           ('accumulate = {}', 'expected frames = 32'),
                           ('accumulate = { frames = 2 }\nreorder = { fraction = "1%", swap = true }',
                            'no reorder beside it')):
            with self.subTest(keys):
                self.assertIn(text, self.replay([(START, roce_frame(0))], keys, expect=2))


def correlated_hits(probability, correlation, count=400_000):
    """[whether a draw hits]: the manual's x = (1 - correlation) u + correlation x'."""
    draw, x, hits = random.Random(1), 0.5, []
    for _ in range(count):
        x = (1 - correlation) * draw.random() + correlation * x
        hits.append(x < probability)
    return hits


def shares(hits):
    """The share of hits, and that of two hits in a row."""
    pairs = sum(a and b for a, b in zip(hits, hits[1:]))
    return sum(hits) / len(hits), pairs / len(hits)


class Correlation(Stages):
    """Shares and runs are those of the manual's recursion; a share of n draws with correlation c
    deviates by sqrt(p (1 - p) / n (1 + c) / (1 - c)) at most."""

    KEYS = {'loss': 'model = "correlated", probability', 'duplicate': 'probability',
            'corrupt': 'probability', 'reorder': 'time = "5us", fraction'}

    def hits(self, stage, sent, out):
        numbers = [int.from_bytes(frame[70:78], 'big') for _, frame in out]
        if stage in ('loss', 'duplicate'):
            seen = [0] * len(sent)
            for number in numbers:
                seen[number] += 1
            return [n == (0 if stage == 'loss' else 2) for n in seen]
        if stage == 'corrupt':
            return [after != before for (_, before), (_, after) in zip(sent, out)]
        return [leaves > sent[number][0] for (leaves, _), number in sorted(
            zip(out, numbers), key=lambda pair: pair[1])]

    def test_stages_draw_as_netem_does(self):
        sent = [(START + i * 1000, roce_frame(i)) for i in range(20_000)]
        for stage, key in self.KEYS.items():
            for probability, correlation in ((0.3, 0.5), (0.45, 0.9)):
                with self.subTest(stage, probability=probability, correlation=correlation):
                    report, out = self.replay(
                        sent, f'{stage} = {{ {key} = {probability:e}, correlation = {correlation:e} }}')
                    for seen, right in zip(shares(self.hits(stage, sent, out)),
                                           shares(correlated_hits(probability, correlation))):
                        wider = (1 + correlation) / (1 - correlation) * (1 / 20_000 + 1 / 400_000)
                        self.assertLess(abs(seen - right),
                                        5 * math.sqrt(right * (1 - right) * wider))
                    # The share that the audit asks for.
                    check = report['stages'][0]['checks'][0]
                    share = shares(correlated_hits(probability, correlation))[0]
                    self.assertLess(abs(check['asked'] - share),
                                    5 * math.sqrt(0.25 * (1 + correlation) / (1 - correlation) / 400_000))

    def test_a_correlation_that_stands_still_is_refused(self):
        error = self.replay([(START, roce_frame(0))],
                            'duplicate = { probability = "50%", correlation = "99.5%" }', expect=2)
        self.assertIn('profile.toml:3:', error)
        self.assertIn('a share up to 99%', error)


if __name__ == '__main__':
    longwire_test.main()
