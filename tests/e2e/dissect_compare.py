# SPDX-License-Identifier: BSD-3-Clause
"""compare over pairs of captures whose truth is known: clocks with an offset, a drift and steps,
captures that begin or end at other times, frames that a mirror doubled, losses on the way, and frames
that later ones overtook."""

import functools
import json
import random
import unittest

import longwire_test
from conversation import Conversation
from dissect_analysis import InFolder, dissect
from dissect_cases import CASES
from dissect_points import FIRST_HOST, next_hop
from pcap_file import write_pcap


@functools.cache
def frames_of(rounds):
    talk = Conversation(counted=True)
    for psn in range(rounds):
        talk.request(psn, wait=50)
        talk.answer(psn, wait=50)
    return talk.frames


class Pair:
    """WRITEs from near to far and ACKs back, a round each 100 us, through a path of `delay` and up to
    5 us of jitter. Times in ns by the true clock."""

    def __init__(self, seed, rounds=400, delay=50_000, loss=0.01):
        self.chance = random.Random(seed)
        frames = frames_of(rounds)
        self.delay = delay
        self.frames = []  # sent, arrived (None: lost), to far, bytes
        for number, (stamp, frame) in enumerate(frames):
            edge = number % (rounds // 4) < 8 or number % (rounds // 4) > rounds // 4 - 8
            lost = not edge and self.chance.random() < loss
            arrived = stamp + delay + self.chance.randrange(5_000)
            self.frames.append((stamp, None if lost else arrived, frame[6:12] == FIRST_HOST, frame))
        self.length = frames[-1][0]

    def at(self, end):
        """(true time, bytes) of the frames that pass near (0) or far (1)."""
        passing = [(sent if goes_far == (end == 0) else arrived, frame)
                   for sent, arrived, goes_far, frame in self.frames]
        return sorted(((time, frame) for time, frame in passing if time is not None),
                      key=lambda entry: entry[0])

    def keep_edges(self, spans):
        """Loses no frame that passed within 500 us of the time at which a capture began or ended:
        nothing would tell whether it was captured before."""
        edges = [edge for span in spans for edge in span]
        for number, (sent, arrived, goes_far, frame) in enumerate(self.frames):
            due = sent + self.delay + 2_500
            if arrived is None and any(abs(time - edge) < 500_000 for time in (sent, due)
                                       for edge in edges):
                self.frames[number] = (sent, due, goes_far, frame)

    def hold_up(self, share, quiet):
        """Some frames take 150 to 500 us longer, so that later ones overtake them; none within 1 ms of
        the `quiet` times."""
        for number, (sent, arrived, goes_far, frame) in enumerate(self.frames):
            if arrived and self.chance.random() < share and \
                    all(abs(sent + self.delay - time) > 10**6 for time in quiet):
                late = arrived + self.chance.randrange(150_000, 500_000)
                self.frames[number] = (sent, late, goes_far, frame)

    def reordered(self, spans):
        """Frames of each direction, to far first, that came after a later one (RFC 4737), of those in
        both captures."""
        counts = [0, 0]
        for way, goes_far in enumerate((True, False)):
            latest = 0
            both = [(arrived, sent) for sent, arrived, far, _ in self.frames if far == goes_far and arrived
                    and spans[way][0] <= sent <= spans[way][1]
                    and spans[1 - way][0] <= arrived <= spans[1 - way][1]]
            for _, sent in sorted(both):
                counts[way] += sent < latest
                latest = max(latest, sent)
        return counts

    def truth(self, spans):
        """Lost frames of each direction, to far first, of those in both captures' time."""
        lost = [0, 0]
        for sent, arrived, goes_far, _ in self.frames:
            here, there = (0, 1) if goes_far else (1, 0)
            due = sent + self.delay + 2_500
            if arrived is None and spans[here][0] <= sent <= spans[here][1] and \
                    spans[there][0] <= due <= spans[there][1]:
                lost[here] += 1
        return lost


def stepped(frames, offset, drift_ppm, steps):
    """The frames by a clock with steps (true time, ns)."""
    return [(10**12 + stamp + offset + round(stamp * drift_ppm / 1e6) +
             sum(by for at, by in steps if stamp >= at), frame) for stamp, frame in frames]


class Compared(InFolder):
    def compared(self, near, far, *options):
        run = dissect('compare', near, far, *options, '--json')
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def saved(self, name, frames):
        path = self.folder / f'{name}.pcap'
        write_pcap(path, frames)
        return path

    def ways(self, found):
        return {way['direction']: way for way in found['directions']}


class Spans(Compared):
    def test_captures_that_begin_and_end_at_other_times(self):
        near, far = CASES / 'span_near.pcap.gz', CASES / 'span_far.pcap.gz'
        found = self.compared(near, far)
        for way in found['directions']:
            self.assertEqual((way['lost'], way['invented'], way['sent']), (0, 0, 1508))
        span = found['common_span']
        self.assertAlmostEqual(span['near_begins_later_ns'], 1_000_572_000, delta=10_000)
        self.assertAlmostEqual(span['near_ends_later_ns'], 500_000_000, delta=1_000_000)
        self.assertIn('near began 1.0', dissect('compare', near, far).stdout)

    def test_a_mirror_that_doubles(self):
        found = self.compared(CASES / 'span_mirror_near.pcap.gz', CASES / 'span_mirror_far.pcap.gz')
        way, = found['directions']
        self.assertEqual((way['lost'], way['duplicated'], way['delay_ns']['count']), (2, 0, 198))
        self.assertEqual(way['delay_ns']['p50'], 1_900_000)
        self.assertEqual(found['far']['further_views'], 198)

    def test_losses_within_the_common_span_are_losses(self):
        pair = Pair(5, loss=0.05)
        cut = pair.length // 4
        spans = [(cut, pair.length + 10**9), (0, 3 * cut)]
        pair.keep_edges(spans)
        near = [entry for entry in pair.at(0) if entry[0] >= cut]
        far = [entry for entry in pair.at(1) if entry[0] <= 3 * cut]
        ways = self.ways(self.compared(self.saved('near', near), self.saved('far', far)))
        self.assertEqual([ways['near_to_far']['lost'], ways['far_to_near']['lost']], pair.truth(spans))
        self.assertEqual(ways['near_to_far']['invented'] + ways['far_to_near']['invented'], 0)

    def test_a_frame_lost_before_the_last_one_that_came_is_lost_however_slow_the_path_was(self):
        pair = Pair(7, loss=0)
        numbers = [number for number, frame in enumerate(pair.frames) if frame[2]]
        for number in numbers[-40:-20]:  # a moment of 30 ms
            sent, arrived, goes_far, frame = pair.frames[number]
            pair.frames[number] = (sent, arrived + 30_000_000, goes_far, frame)
        for number in (numbers[1], numbers[-2]):
            sent, _, goes_far, frame = pair.frames[number]
            pair.frames[number] = (sent, None, goes_far, frame)
        ways = self.ways(self.compared(self.saved('near', pair.at(0)), self.saved('far', pair.at(1))))
        self.assertEqual(ways['near_to_far']['lost'], 2)

    def test_a_direction_that_is_lost_completely_is_lost(self):
        pair = Pair(6, loss=0)
        far = [entry for entry in pair.at(1) if entry[1][6:12] != FIRST_HOST]
        ways = self.ways(self.compared(self.saved('near', pair.at(0)), self.saved('far', far)))
        self.assertEqual(ways['far_to_near']['lost'], 0)
        self.assertGreater(ways['near_to_far']['lost'], 390)


class Clocks(Compared):
    def test_steps_are_found(self):
        pair = Pair(7)
        for by in (1_000_000_000, -300_000, 40_000):
            with self.subTest(by):
                steps = [(pair.length // 3, by), (2 * pair.length // 3, 2 * by)]
                far = stepped(pair.at(1), 10**9, 20, steps)
                found = self.compared(self.saved('near', pair.at(0)), self.saved('far', far),
                                      '--two-clocks')
                self.assertEqual(len(found['clock_steps']), 2)
                for step, (_, true) in zip(found['clock_steps'], steps):
                    self.assertAlmostEqual(step['by_ns'], true, delta=5_000)
                for way in found['directions']:
                    self.assertGreater(way['delay_ns']['min'], 40_000)
                    self.assertLess(way['delay_ns']['max'], 65_000)

    def test_a_longer_path_is_no_step(self):
        pair = Pair(8)
        far = [(stamp + (2_000_000 if stamp > pair.length // 2 and frame[6:12] == FIRST_HOST else 0),
                frame) for stamp, frame in pair.at(1)]
        found = self.compared(self.saved('near', pair.at(0)), self.saved('far', far))
        self.assertEqual(found['clock_steps'], [])

    def test_a_drift_that_no_clock_has_is_refused(self):
        pair = Pair(9)
        far = stepped(pair.at(1), 10**9, 50_000, [])
        near, far = self.saved('near', pair.at(0)), self.saved('far', far)
        found = self.compared(near, far, '--two-clocks')
        self.assertAlmostEqual(found['clocks']['refused_drift_ppm'], 50_000, delta=3_000)
        self.assertEqual([way['delay_ns']['count'] for way in found['directions']], [0, 0])
        self.assertIn('is refused', dissect('compare', near, far, '--two-clocks').stdout)


class Random(Compared):
    def test_pairs(self):
        """Loss and order are exact in the common span, delays to 5 us, steps are found."""
        for seed in range(100):
            with self.subTest(seed):
                pair = Pair(seed, delay=random.Random(seed).choice([50_000, 1_900_000]))
                chance = pair.chance
                cut = [chance.randrange(pair.length // 4) if chance.random() < 0.5 else 0
                       for _ in range(4)]
                spans = [(cut[0], pair.length + 10**7 - cut[1]), (cut[2], pair.length + 10**7 - cut[3])]
                steps = [(pair.length // 2, chance.choice([-1, 1]) * chance.randrange(100_000, 10**9))
                         ] if seed % 3 == 0 else []
                pair.keep_edges(spans)
                if seed % 5 == 2:
                    pair.hold_up(0.03, [edge for span in spans for edge in span] + [pair.length // 2])
                at = [[entry for entry in pair.at(end) if spans[end][0] <= entry[0] <= spans[end][1]]
                      for end in (0, 1)]
                if seed % 4 == 1:
                    at[1] = sorted(at[1] + [(time + 900, next_hop(frame)) for time, frame in at[1]],
                                   key=lambda entry: entry[0])
                elif seed % 2:
                    at[1] = [(time, next_hop(frame)) for time, frame in at[1]]
                at[1] = stepped(at[1], chance.randrange(-10**9, 10**9),
                                     chance.uniform(-200, 200), steps)
                found = self.compared(self.saved('near', at[0]), self.saved('far', at[1]),
                                      '--two-clocks')
                ways = self.ways(found)
                self.assertEqual(len(found['clock_steps']), len(steps))
                for way in ways.values():
                    self.assertEqual((way['invented'], way['duplicated']), (0, 0))
                    least = way['delay_ns']['min']
                    self.assertAlmostEqual(least, min(
                        arrived - sent for sent, arrived, _, _ in pair.frames if arrived), delta=5_000)
                lost = [ways['near_to_far']['lost'], ways['far_to_near']['lost']]
                self.assertEqual(lost, pair.truth(spans))
                late = [ways['near_to_far']['reordered'], ways['far_to_near']['reordered']]
                self.assertEqual(late, pair.reordered(spans))


def with_checksum(frame):
    """The frame with a right IPv4 header checksum."""
    made = bytearray(frame)
    made[24:26] = bytes(2)
    words = sum(int.from_bytes(made[i:i + 2]) for i in range(14, 34, 2))
    words = (words & 0xFFFF) + (words >> 16)
    made[24:26] = (~((words & 0xFFFF) + (words >> 16)) & 0xFFFF).to_bytes(2)
    return bytes(made)


def with_bytes(at, data):
    return lambda frame: with_checksum(frame[:at] + data + frame[at + len(data):])


def translated(frame):
    """Behind a NAT: 192.0.2.x is 203.0.113.x."""
    net = bytes([203, 0, 113])
    return with_checksum(frame[:26] + net + frame[29:30] + net + frame[33:])


class Rewritten(Compared):
    """What the path rewrites in all frames is a row of a table; loss and delay stay exact."""

    CASES = (
        ('DSCP', with_bytes(15, bytes([26 << 2])), {('ip.dsfield.dscp', '0', '26')}),
        ('ECN', with_bytes(15, bytes([3])), {('ip.dsfield.ecn', '0', '3')}),
        ('TTL', with_bytes(22, bytes([61])), {('ip.ttl', '64', '61')}),
        ('VLAN', lambda frame: frame[:12] + bytes.fromhex('81006064') + frame[12:],
         {('vlan.id', '', '100'), ('vlan.priority', '', '3')}),
        ('MAC', with_bytes(0, bytes.fromhex('0200000000aa0200000000bb')),
         {('eth.dst', '02:00:00:00:00:02', '02:00:00:00:00:aa'),
          ('eth.src', '02:00:00:00:00:01', '02:00:00:00:00:bb')}),
        ('NAT', translated, {('ip.src', '192.0.2.1', '203.0.113.1'),
                             ('ip.dst', '192.0.2.2', '203.0.113.2')}),
        ('UDP port', with_bytes(34, (60_001).to_bytes(2)), {('udp.srcport', '50001', '60001')}),
    )

    def test_each_field_has_a_row(self):
        pair = Pair(3)
        near = self.saved('near', pair.at(0))
        for name, change, rows in self.CASES:
            with self.subTest(name):
                far = self.saved('far', [(time, change(frame)) for time, frame in pair.at(1)])
                ways = self.ways(self.compared(near, far))
                there = ways['near_to_far']
                self.assertEqual({(row['field'], row['sent'] or '', row['received'] or '')
                                  for row in there['rewritten']}, rows)
                self.assertEqual({row['frames'] for row in there['rewritten']}, {there['received']})
                self.assertEqual([ways[way]['lost'] for way in ('near_to_far', 'far_to_near')],
                                 pair.truth([(0, 10**12)] * 2))
                self.assertEqual(there['invented'], 0)


class Points(Compared):
    def test_they_say_which_frames_are_views(self):
        pair = Pair(5, loss=0)
        near = self.saved('near', pair.at(0))
        far = self.saved('far', sorted(pair.at(1) + [(time + 900, next_hop(frame))
                                                     for time, frame in pair.at(1)],
                                       key=lambda entry: entry[0]))
        for options, views, copies in (((), 800, 0), (('--points', 'far.pcap'), 800, 0),
                                       (('--points', 'each'), 0, 400)):
            with self.subTest(options):
                found = self.compared(near, far, *options)
                self.assertEqual(found['far']['further_views'], views)
                self.assertEqual([point['repeated_views'] for point in found['far']['points']],
                                 [views > 0])
                self.assertEqual(self.ways(found)['near_to_far']['duplicated'], copies)

    def test_a_name_that_neither_capture_has(self):
        near = self.saved('near', Pair(5).at(0))
        run = dissect('compare', near, near, '--points', 'near.pcap,eth7')
        self.assertEqual(run.returncode, 2)
        self.assertIn('--points: "eth7" is no interface and no file of either capture', run.stderr)
        self.assertIn('--points needs FAR', dissect('compare', near, '--points', 'each').stderr)


if __name__ == '__main__':
    longwire_test.main()
