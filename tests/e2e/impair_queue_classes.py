# SPDX-License-Identifier: BSD-3-Clause
"""Rules that share a queue of several classes, against a model of what impair-queue.md says, in
fractions of a nanosecond. It shares no code with lib/."""

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
QPS = (0x11, 0x12, 0x13, 0x14)
DELAYS = (1_000_000, 2_000_000, 1_500_000, 1_000_000)  # ns, by rule
CLASS_OF_RULE = (0, 1, 2, 2)  # the last two rules share a class
NO_LIMIT = 10**12


def classes(*rows):
    """Rows of (priority, weight, reserve, limit, alpha); None: not given."""
    return [dict(zip(('priority', 'weight', 'reserve', 'limit', 'alpha'), row)) for row in rows]


class Model:
    """The queue: what waits, the turns, and the frame that the link sends."""

    def __init__(self, rate, buffer, quantum, rows):
        self.rate, self.buffer, self.quantum = rate, buffer, quantum
        self.rows = rows
        self.waiting = [[] for _ in rows]  # the frame that is sent is still the first
        self.credit = [0] * len(rows)
        self.turn = {}  # priority -> class whose turn it is
        self.now, self.sending, self.bits = Fraction(0), None, Fraction(0)
        self.left = {}  # frame -> when it has left
        self.paused = [0] * len(rows)  # until when

    def held(self, c):
        return sum(size for _, size in self.waiting[c])

    def change(self, rate=None, rows=None):
        """What waits stays. New priorities, weights: the turns begin again."""
        self.rate = rate or self.rate
        if rows:
            same = all(a[key] == b[key] for a, b in zip(rows, self.rows)
                       for key in ('priority', 'weight'))
            self.rows = rows
            if not same:
                self.turn, self.credit = {}, [0] * len(rows)

    def take(self, c, frame, size):
        """A frame comes at self.now."""
        size = max(60, size)
        reserve = lambda i: self.rows[i]['reserve'] or 0
        pool = self.buffer - sum(reserve(i) for i in range(len(self.rows)))
        used = sum(max(0, self.held(i) - reserve(i)) for i in range(len(self.rows)))
        after = self.held(c) + size
        of_pool = max(0, after - reserve(c))
        more = of_pool - max(0, self.held(c) - reserve(c))
        free = max(0, pool - used)
        total = sum(self.held(i) for i in range(len(self.rows))) + size
        if total > self.buffer or after > (self.rows[c]['limit'] or NO_LIMIT):
            return False
        alpha = self.rows[c]['alpha']
        if more > 0 and (more > free or (alpha is not None and of_pool > Fraction(alpha) * free)):
            return False
        self.waiting[c].append((frame, size))
        if self.sending is None:
            self.choose()
        return True

    def choose(self):
        for priority in sorted({row['priority'] for row in self.rows}, reverse=True):
            level = [c for c, row in enumerate(self.rows) if row['priority'] == priority]
            if not any(self.ready(c) for c in level):
                continue
            shared = math.gcd(*(self.rows[c]['weight'] for c in level))
            if priority not in self.turn:
                self.give_turn(priority, level[0], shared)
            while True:
                c = self.turn[priority]
                if not self.ready(c):
                    self.credit[c] = 0
                elif self.waiting[c][0][1] + 24 <= self.credit[c]:
                    self.credit[c] -= self.waiting[c][0][1] + 24
                    self.sending, self.bits = c, Fraction((self.waiting[c][0][1] + 24) * 8)
                    return
                self.give_turn(priority, level[(level.index(c) + 1) % len(level)], shared)

    def ready(self, c):
        return self.waiting[c] and self.paused[c] <= self.now

    def give_turn(self, priority, c, shared):
        self.turn[priority] = c
        self.credit[c] += self.rows[c]['weight'] // shared * self.quantum

    def advance(self, to):
        while True:
            if self.sending is None:
                ends = [self.paused[c] for c, frames in enumerate(self.waiting) if frames]
                if not ends or min(ends) > to:
                    break
                self.now = Fraction(max(self.now, min(ends)))
                self.choose()
            end = self.now + self.bits * 10**9 / self.rate
            if end > to:
                self.bits -= (to - self.now) * self.rate / 10**9
                break
            self.now = end
            frame, _ = self.waiting[self.sending].pop(0)
            self.left[frame] = math.ceil(end)
            self.sending = None
            self.choose()
        self.now = Fraction(to)


def toml_of(row):
    return '{ ' + ', '.join(f'{key} = {value}' for key, value in row.items()
                            if value is not None) + ' }'


def profile_of(rate, buffer, quantum, rows, more=''):
    listed = ', '.join(f'{c} = {toml_of(row)}' for c, row in enumerate(rows))
    text = f'''
[[rule]]
name = "r0"
match = {{ dst_qp = {QPS[0]} }}
queue = {{ rate = "{rate}b/s", buffer = "{buffer}B", quantum = "{quantum}B", classes = {{ {listed} }} }}
delay = "{DELAYS[0]}ns"
'''
    for rule in (1, 2, 3):
        text += f'''
[[rule]]
name = "r{rule}"
match = {{ dst_qp = {QPS[rule]} }}
queue = {{ shared = "r0", class = {CLASS_OF_RULE[rule]} }}
delay = "{DELAYS[rule]}ns"
'''
    return text + more


class QueueClasses(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def replay(self, frames, profile, expect=0, more=()):
        write_pcap(self.folder / 'in.pcap', frames)
        (self.folder / 'profile.toml').write_text(profile)
        done = subprocess.run([longwire_test.program('roce-impair'), 'replay',
                               str(self.folder / 'profile.toml'), str(self.folder / 'in.pcap'),
                               str(self.folder / 'out.pcap'), '--json', *more],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        if expect:
            return done.stderr
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'] and report['stages_hold'], done.stdout)
        return report, read_pcap(self.folder / 'out.pcap')

    @staticmethod
    def traffic(seed, count=4000, load=1.4, rate=10**9):
        """(time, rule, bytes): bursts of a load above and below the rate of the link."""
        draw = random.Random(seed)
        now, out = START, []
        for number in range(count):
            rule = draw.choice((0, 1, 1, 2, 2, 3))
            out.append((now, rule, roce_frame(number, payload=draw.choice((16, 200, 1024)),
                                              qp=QPS[rule])))
            if draw.random() < 0.2:
                now += 2 * int(8 * 500 * 5 * 10**9 / rate / load * 2 * draw.random())
        return out

    def compare(self, seed, rate, buffer, quantum, rows, changes=()):
        """`changes`: (ns after the first frame, rule's keys, keyword arguments of change())."""
        frames = self.traffic(seed, rate=rate)
        more = ''.join(f'[[at]]\ntime = "{at}ns"\nrule = "r0"\nset = {{ {keys} }}\n'
                       for at, keys, _ in changes)
        report, out = self.replay([(t, f) for t, _, f in frames],
                                  profile_of(rate, buffer, quantum, rows, more))
        model = Model(rate, buffer, quantum, rows)
        steps = [(t, 1, i) for i, (t, _, _) in enumerate(frames)]
        steps += [(START + at, 0, i) for i, (at, _, _) in enumerate(changes)]
        dropped = [0] * 4
        for at, kind, i in sorted(steps):
            model.advance(at)
            if kind == 0:
                model.change(**changes[i][2])
            elif not model.take(CLASS_OF_RULE[frames[i][1]], i, len(frames[i][2])):
                dropped[frames[i][1]] += 1
        model.advance(START + 10**11)
        asked = sorted((left + DELAYS[frames[i][1]], frames[i][2]) for i, left in model.left.items())
        self.assertEqual(sorted(out), asked)
        stages = report['directions'][0]['stages']
        if not changes:
            self.assertEqual([rule['queue']['tail_dropped'] for rule in stages], dropped)
        return stages, dropped

    def test_priorities_weights_and_thresholds_are_exact(self):
        rows = classes((7, 1, None, None, None), (0, 3, 3000, None, 1), (0, 2, None, 20_000, 0.5))
        stages, dropped = self.compare(1, 10**9, 40_000, 1500, rows)
        self.assertGreater(sum(dropped), 50)
        for rule in stages:
            self.assertEqual([check['what'] for check in rule['checks']],
                             ['rate while busy', 'fullest buffer', 'left before a higher priority',
                              'difference of shares, per weight'])

    def test_random_queues_with_changes_are_exact(self):
        for seed in range(8):
            draw = random.Random(seed)
            def rows():
                return classes(*((draw.randrange(2), draw.choice((1, 2, 5)),
                                  draw.choice((None, 2000)), draw.choice((None, 9000)),
                                  draw.choice((None, 0.5, 2))) for _ in range(3)))
            before, after = rows(), rows()
            for old, new in zip(before, after):  # absent keys stay
                new['reserve'], new['limit'], new['alpha'] = (old[k] for k in
                                                              ('reserve', 'limit', 'alpha'))
            keys = ', '.join(f'"queue.classes.{c}.{key}" = {row[key]}'
                             for c, row in enumerate(after) for key in ('priority', 'weight'))
            rate = draw.randrange(10**8, 10**10)
            changes = [(2 * draw.randrange(100_000, 2_000_000) + 1, '"queue.rate" = "1.7Gb/s"',
                        {'rate': 1_700_000_000}),
                       (2 * draw.randrange(100_000, 2_000_000) + 1, keys, {'rows': after})]
            with self.subTest(seed):
                self.compare(seed, rate, 30_000, draw.choice((100, 1500, 9000)), before, changes)

    def test_a_pause_stops_its_class_only(self):
        rows = classes((1, 1, None, None, None), (0, 3, None, None, None), (0, 2, None, None, None))
        rows[1]['pfc'] = '{ priority = 4 }'
        frames, pauses = self.traffic(3), [(START + 301_001, 900), (START + 900_001, 0),
                                           (START + 2_000_001, 2000)]
        asked = []
        for at, quanta in pauses:
            times = [0] * 4 + [quanta] + [0] * 3
            asked.append((at, bytes.fromhex('0180c2000001 020000000001 8808 0101 0010')
                          + struct.pack('>8H', *times) + bytes(26)))
        write_pcap(self.folder / 'back.pcap', asked)
        _, out = self.replay([(t, f) for t, _, f in frames], profile_of(10**9, 60_000, 1500, rows),
                             more=['--back', str(self.folder / 'back.pcap')])
        model = Model(10**9, 60_000, 1500, rows)
        steps = [(t, 1, i) for i, (t, _, _) in enumerate(frames)]
        steps += [(at, 0, quanta) for at, quanta in pauses]
        for at, kind, i in sorted(steps):
            model.advance(at)
            if kind == 0:
                model.paused[1] = at + i * 512
            else:
                model.take(CLASS_OF_RULE[frames[i][1]], i, len(frames[i][2]))
        model.advance(START + 10**11)
        self.assertEqual(sorted(out), sorted((left + DELAYS[frames[i][1]], frames[i][2])
                                             for i, left in model.left.items()))

    def test_what_is_wrong_is_refused(self):
        frames = [(START, roce_frame(1))]
        for queue, error in (
                ('{ shared = "other" }', 'expected the name of a rule with a queue of its own at '
                                         'shared, found "other"'),
                ('{ shared = "r0", class = 3 }', 'expected a class from 0 to 2'),
                ('{ shared = "r0", rate = "1Gb/s" }', 'rate'),
                ('{ shared = "r1" }', 'expected the name of a rule with a queue of its own')):
            profile = profile_of(10**9, 40_000, 1500, classes(*[(0, 1, None, None, None)] * 3))
            text = profile.replace('{ shared = "r0", class = 1 }', queue)
            with self.subTest(queue):
                self.assertRegex(self.replay(frames, text, expect=2), rf'profile.toml:\d+:\d+: .*{error}')
        for rows, error in (('0 = {}, 2 = {}', 'expected the classes from 0 on without gaps'),
                            ('0 = { reserve = "50kB" }', 'expected reserves of at most the buffer'),
                            ('0 = { weight = 0 }', 'weight: expected'),
                            ('0 = { alpha = 0 }', 'alpha: expected'),
                            ('', 'expected classes by their numbers')):
            text = ('[[rule]]\nqueue = { rate = "1Gb/s", buffer = "40kB", classes = { %s } }\n' % rows)
            with self.subTest(rows):
                self.assertRegex(self.replay(frames, text, expect=2), rf'profile.toml:\d+:\d+: .*{error}')


if __name__ == '__main__':
    longwire_test.main()
