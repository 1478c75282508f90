# SPDX-License-Identifier: BSD-3-Clause
"""Random changes of a rule's stages while frames wait, against a model of what impair-profile.md and
changing-a-profile.md say, in fractions. It shares no code with lib/. What a stage draws at random is
taken from the ledger; the model predicts when each frame and copy leaves, its marks by the queue,
and which frames the policer, the limit and the queue drop. LONGWIRE_SEQUENCES: how many sequences."""

import collections
import json
import math
import os
import pathlib
import random
import subprocess
import tempfile
import unittest
from fractions import Fraction

import longwire_test
from pcap_file import read_pcap, roce_frame, write_pcap

START = 1_700_000_000 * 10**9
SEQUENCES = int(os.environ.get('LONGWIRE_SEQUENCES', 12))
SEED = int(os.environ.get('LONGWIRE_SEED', 1))


def draw_police(draw):
    return {'rate': draw.randrange(300, 3000), 'burst': draw.randrange(1300, 9000)}


def draw_queue(draw):
    return {'rate': draw.randrange(300, 3000), 'buffer': draw.randrange(2000, 20_000),
            'overhead': draw.choice((0, 24, 99))}


def draw_slot(draw):
    return {'min': draw.randrange(1000, 20_000), 'frames': draw.choice((0, 1, 4))}


def draw_mark(draw):
    return {'above': draw.randrange(0, 9000), 'at': draw.choice(('arrival', 'departure'))}


DRAWS = {
    'police': draw_police, 'queue': draw_queue, 'slot': draw_slot, 'mark': draw_mark,
    'loss': lambda draw: draw.choice(('0.1', '0.4', '{ model = "every", nth = 5 }',
                                      '{ model = "gilbert-elliott", p = "5%", r = "30%" }')),
    'corrupt': lambda draw: draw.choice(('0.2', '{ probability = 0.3, bits = 3 }')),
    'duplicate': lambda draw: draw.choice(('0.2', '{ probability = 0.2, copies = 3 }')),
    'rewrite': lambda draw: '{ probability = 0.5, dscp = %d }' % draw.randrange(64),
    'limit': lambda draw: draw.randrange(3, 60),
    'delay': lambda draw: draw.randrange(0, 80_000),
}


def toml_of(key, value):
    if value is None:
        return '""'
    if key == 'police':
        return f'{{ rate = "{value["rate"]}Mb/s", burst = "{value["burst"]}B" }}'
    if key == 'queue':
        return (f'{{ rate = "{value["rate"]}Mb/s", buffer = "{value["buffer"]}B", '
                f'overhead = "{value["overhead"]}B" }}')
    if key == 'slot':
        frames = f', frames = {value["frames"]}' if value['frames'] else ''
        return f'{{ min = "{value["min"]}ns"{frames} }}'
    if key == 'mark':
        return (f'{{ kmin = "{value["above"]}B", kmax = "{value["above"]}B", at = "{value["at"]}" }}')
    return f'"{value}ns"' if key == 'delay' else str(value)


class Model:
    def __init__(self, settings):
        self.set = dict(settings)
        self.now = Fraction(0)
        self.tokens, self.filled = None, None
        self.waiting = collections.deque()  # [name, bytes, bits that have not left]
        self.out = []  # names, in the order in which they leave the queue
        self.release = {}  # name -> ns
        self.marked = {}  # name -> True, False; None: either
        self.last, self.slot_begin, self.slot_frames = 0, None, 0
        self.changes, self.moments = 0, collections.deque(maxlen=50)

    def rate(self, key):
        return Fraction(self.set[key]['rate'] * 10**6, 10**9)  # bits a nanosecond

    def change(self, key, value):
        self.changes += 1
        before, self.set[key] = self.set[key], value
        if key == 'police':
            if value is None or before is None:
                self.tokens = None
            elif self.tokens is not None:
                self.tokens = min(self.tokens, value['burst'])
        if key == 'queue' and value['overhead'] != before['overhead']:
            for i, frame in enumerate(self.waiting):
                if i > 0:  # bits of the first one have left
                    frame[2] += (value['overhead'] - before['overhead']) * 8
        if key == 'slot' and (value is None or before is None):
            self.slot_begin, self.slot_frames = None, 0

    def advance(self, to):
        if self.set['police'] and self.filled is not None and self.tokens is not None:
            self.tokens = min(Fraction(self.set['police']['burst']),
                              self.tokens + (to - self.filled) * self.rate('police') / 8)
            self.filled = to
        rate = self.rate('queue')
        while self.waiting:
            end = self.now + self.waiting[0][2] / rate
            if end > to:
                self.waiting[0][2] -= (to - self.now) * rate
                break
            self.now = end
            name, _, _ = self.waiting.popleft()
            self.depart(name, math.ceil(end))
        self.now = Fraction(to)

    def near(self, times):
        """True if one of these times is so close that rounding decides what comes first."""
        return any(abs(time - self.now) <= 2 + self.changes for time in times)

    def depart(self, name, at):
        self.moments.append(at)
        mark = self.set['mark']
        if mark and mark['at'] == 'departure':
            # One that came before a change may be marked already.
            self.marked[name] = (sum(size for _, size, _ in self.waiting) > mark['above']
                                 or self.marked.get(name, False))
        slot = self.set['slot']
        if slot:
            if self.slot_begin is None or self.slot_begin < at:
                self.slot_begin, self.slot_frames = at + slot['min'], 0
            at = self.slot_begin
            self.slot_frames += 1
            if slot['frames'] and self.slot_frames >= slot['frames']:
                self.slot_begin, self.slot_frames = at + slot['min'], 0
        self.last = max(self.last, at + (self.set['delay'] or 0))
        self.release[name] = self.last

    def policed(self, size, dropped):
        police = self.set['police']
        if not police:
            return False
        if self.tokens is None:
            self.tokens, self.filled = Fraction(police['burst']), self.now
        left = self.tokens - (size + 24)
        passes = not dropped if abs(left) < Fraction(1, 100) else left >= 0
        if passes:
            self.tokens = left
        return not passes

    def admit(self, name, size, fate):
        """What drops the frame behind the stage loss; None: it waits. `fate`: what the ledger says,
        followed where rounding decides."""
        size = max(60, size)
        limit = self.set['limit']
        if limit is not None:
            inside = len(self.waiting) + sum(time > self.now for time in self.release.values())
            if self.near(self.release.values()):
                if fate == 'limit':
                    return 'limit'
            elif inside >= limit:
                return 'limit'
        held = sum(each for _, each, _ in self.waiting)
        mark, queue = self.set['mark'], self.set['queue']
        close = self.near(self.moments) or bool(self.waiting) and self.near(
            [self.now + self.waiting[0][2] / self.rate('queue')])
        if mark and mark['at'] == 'arrival':
            self.marked[name] = None if close else held > mark['above']
        if close and fate == 'queue':
            return 'queue'
        if held + size > queue['buffer'] and not close:
            return 'queue'
        self.waiting.append([name, size, Fraction((size + queue['overhead']) * 8)])
        return None


class Changes(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def sequence(self, seed):
        draw = random.Random(seed)
        settings = {key: draw_(draw) if key in ('queue', 'delay') or draw.random() < 0.4 else None
                    for key, draw_ in DRAWS.items()}
        frames, now = [], 0
        for number in range(draw.randrange(60, 250)):
            frames.append((now, roce_frame(number, payload=draw.choice((16, 300, 1024)))))
            now += 2 * draw.choice((0, draw.randrange(400), draw.randrange(3000), draw.randrange(20_000)))
        acts = []
        for at in sorted(draw.sample(range(1, max(now, 20) // 2), draw.randrange(1, 7))):
            key = draw.choice(list(DRAWS))
            value = DRAWS[key](draw) if key == 'queue' or draw.random() < 0.8 else None
            acts.append((2 * at + 1, key, value))
        return settings, frames, acts

    def replay(self, settings, frames, acts, seed):
        profile = f'seed = {seed}\n[ledger]\nall = true\n[capacity]\nrate = "1Gb/s"\n[[rule]]\nname = "r"\n'
        profile += ''.join(f'{key} = {toml_of(key, value)}\n' for key, value in settings.items()
                           if value is not None)
        profile += ''.join(f'[[at]]\ntime = "{at}ns"\nrule = "r"\nset = {{ {key} = {toml_of(key, value)} }}\n'
                           for at, key, value in acts)
        write_pcap(self.folder / 'in.pcap', [(START + at, frame) for at, frame in frames])
        (self.folder / 'p.toml').write_text(profile)
        done = subprocess.run([longwire_test.program('roce-impair'), 'replay', 'p.toml', 'in.pcap',
                               'out.pcap', '--ledger', 'l.jsonl', '--json'], cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, f'{done.stderr}\n{profile}')
        records = {}
        for line in (self.folder / 'l.jsonl').read_text().splitlines():
            record = json.loads(line)
            if 'frame' in record:
                records[record['frame'], record.get('copy', 0)] = record
        return profile, records

    def compare(self, seed):
        settings, frames, acts = self.sequence(seed)
        profile, records = self.replay(settings, frames, acts, seed)
        model = Model(settings)
        fates = {}
        steps = [(at, 1, i) for i, (at, _) in enumerate(frames)]
        steps += [(at, 0, i) for i, (at, *_) in enumerate(acts)]
        for at, kind, i in sorted(steps):
            model.advance(at)
            if kind == 0:
                model.change(*acts[i][1:])
                continue
            record, size = records[i, 0], len(frames[i][1])
            dropped_by = record['stage'] if record['action'] == 'drop' else None
            if model.policed(size, dropped_by == 'police'):
                fates[i, 0] = 'police'
                continue
            if dropped_by == 'loss':
                self.assertIsNotNone(model.set['loss'], f'frame {i}\n{profile}')
                fates[i, 0] = 'loss'
                continue
            copies = max(copy for frame, copy in records if frame == i)
            for copy in range(copies + 1):
                one = records[i, copy]
                fate = one['stage'] if one['action'] == 'drop' else None
                fates[i, copy] = model.admit((i, copy), size, fate)
        model.advance(10**12)
        self.judge(model, records, fates, profile)

    def judge(self, model, records, fates, profile):
        self.assertEqual(set(records), set(fates))
        for name, record in records.items():
            stages = record.get('stages', [record['stage']])
            where = f'frame {name}: {record}\n{profile}'
            dropped_by = record['stage'] if record['action'] == 'drop' else None
            self.assertEqual(dropped_by, fates[name], where)
            if dropped_by:
                continue
            left = record['time_out_ns'] - START
            self.assertLessEqual(abs(left - model.release[name]), 2 + model.changes,
                                 f'{model.release[name]}, {where}')
            mark = model.marked.get(name, False)
            if mark is not None:
                self.assertEqual('mark' in stages, mark, where)

    def test_what_waits_does_as_the_manual_says(self):
        for seed in range(SEED, SEED + SEQUENCES):
            with self.subTest(seed):
                self.compare(seed)


if __name__ == '__main__':
    longwire_test.main()
