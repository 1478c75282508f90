# SPDX-License-Identifier: BSD-3-Clause
"""Random changes of a rule's stages while frames wait, against a model of what impair-stages.md and
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


def draw_trace(draw):
    """Rows of time, delay, loss, rate, and a period; a field without a value is None."""
    times = sorted(draw.sample(range(1, 400_000), draw.randrange(0, 6)))
    rows = [(time, draw.choice((None, draw.randrange(80_000))), draw.choice((None, 0.0, 0.3)),
             draw.choice((None, draw.randrange(300, 3000)))) for time in [0, *times]]
    return {'rows': rows, 'period': draw.choice((None, rows[-1][0] + draw.randrange(1, 100_000)))}


def draw_reorder(draw, ways=('time', 'frames', 'swap', 'ahead')):
    return {'fraction': 0.3, draw.choice(ways): draw.randrange(1, 9),
            'at_most': draw.randrange(5000, 100_000)}


def draw_accumulate(draw):
    return {'frames': draw.choice((4096, draw.randrange(2, 20))), 'time': draw.randrange(1000, 90_000)}


SCHEDULED = ('police', 'loss', 'corrupt', 'duplicate', 'limit', 'rewrite', 'mark', 'slot', 'delay',
             'reorder')


def draw_when(draw):
    """Schedules of some stages: in frames or in ns, from, for, every (None: once)."""
    schedules = {}
    for stage in draw.sample(SCHEDULED, draw.randrange(1, 4)):
        by_frames = draw.random() < 0.5
        most = 40 if by_frames else 100_000
        length = draw.randrange(1, most)
        schedules[stage] = {'by_frames': by_frames, 'from': draw.randrange(0, most), 'for': length,
                            'every': draw.choice((None, length + draw.randrange(1, most)))}
    return schedules


DRAWS = {
    'police': draw_police, 'queue': draw_queue, 'slot': draw_slot, 'mark': draw_mark,
    'trace': draw_trace, 'when': draw_when,
    'jitter': lambda draw: [draw.randrange(60_000) for _ in range(draw.randrange(2, 6))],
    'order': lambda draw: draw.choice(('kept', 'free')),
    'reorder': draw_reorder, 'accumulate': draw_accumulate,
    'loss': lambda draw: draw.choice(('"10%"', '"40%"', '{ model = "every", nth = 5 }',
                                      '{ model = "gilbert-elliott", p = "5%", r = "30%" }')),
    'corrupt': lambda draw: draw.choice(('"20%"', '{ probability = "30%", bits = 3 }')),
    'duplicate': lambda draw: draw.choice(('"20%"', '{ probability = "20%", copies = 3 }')),
    'rewrite': lambda draw: '{ probability = 5e-1, dscp = %d }' % draw.randrange(64),
    'limit': lambda draw: draw.randrange(3, 60),
    'delay': lambda draw: draw.randrange(0, 80_000),
}


def reorder_toml(value):
    how = {'time': f'time = "{value.get("time", 0) * 7000}ns"', 'swap': 'swap = true',
           'frames': f'frames = {value.get("frames")}', 'ahead': f'ahead = true, gap = {value.get("ahead")}'}
    way = next(name for name in how if name in value)
    most = f', at_most = "{value["at_most"]}ns"' if way in ('frames', 'swap') else ''
    return f'{{ fraction = "{value["fraction"]:.0%}", {how[way]}{most} }}'


def when_toml(schedules):
    def one(times):
        def number(key):
            return times[key] if times['by_frames'] else f'"{times[key]}ns"'
        keys = [key for key in ('from', 'for', 'every') if times[key] is not None]
        return '{ ' + ', '.join(f'{key} = {number(key)}' for key in keys) + ' }'
    return '{ ' + ', '.join(f'{stage} = {one(times)}' for stage, times in schedules.items()) + ' }'


def toml_of(key, value):
    if value is None:
        return '""'
    if key in ('trace', 'jitter'):  # the name of a file that replay() writes
        return value
    if key == 'order':
        return f'"{value}"'
    if key == 'reorder':
        return reorder_toml(value)
    if key == 'when':
        return when_toml(value)
    if key == 'accumulate':
        return f'{{ frames = {value["frames"]}, time = "{value["time"]}ns" }}'
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


REQUIRES = {'mark': 'queue'}
HOLDS = ('frames', 'swap')


def settle(settings):
    """Removes what the profile refuses beside the other keys."""
    for key, needed in REQUIRES.items():
        if settings[needed] is None:
            settings[key] = None
    trace = settings['trace']
    if trace and settings['queue'] is None:
        rows = [(time, delay, loss, None) for time, delay, loss, _ in trace['rows']]
        settings['trace'] = {**trace, 'rows': rows}
    if settings['accumulate']:
        settings['reorder'] = None
    if settings['when']:
        kept = {stage: times for stage, times in settings['when'].items() if settings[stage] is not None}
        settings['when'] = kept or None
    if not any(settings[key] is not None for key in ('delay', 'jitter', 'trace', 'queue')):
        settings['order'] = None


class Waiting:
    """A frame in the queue."""

    def __init__(self, name, size, bits, row, came):
        self.name, self.size, self.bits, self.row, self.came = name, size, bits, row, came


class Model:
    def __init__(self, settings, records):
        self.set, self.records = dict(settings), records
        self.now = Fraction(0)
        self.tokens, self.filled = None, None
        self.waiting = collections.deque()
        self.release = {}  # name -> ns
        self.marked = {}  # name -> True, False; None: either
        self.last, self.slot_begin, self.slot_frames = 0, None, 0
        self.held, self.passed = collections.deque(), 0  # [name, due, value of passed at which it leaves]
        self.trace_begin, self.first = None, None  # first frame of the trace, of the schedules
        self.changes, self.moments = 0, collections.deque(maxlen=50)

    def rate(self, row):
        """Bits a nanosecond of the queue, for a frame that meets this row."""
        megabits = self.set['queue']['rate'] if row is None or row[3] is None else row[3]
        return Fraction(megabits * 10**6, 10**9)

    def row(self):
        """The row of the trace that is in effect now."""
        trace = self.set['trace']
        if not trace or self.trace_begin is None:
            return None
        since = self.now - self.trace_begin
        if trace['period']:
            since %= trace['period']
        return [row for row in trace['rows'] if row[0] <= since][-1]

    def acts(self, stage, name, came):
        times = (self.set['when'] or {}).get(stage)
        if not times:
            return True
        place = name[0] if times['by_frames'] else max(0, came - (came if self.first is None else self.first))
        place -= times['from']
        return place >= 0 and (place % times['every'] if times['every'] else place) < times['for']

    def change(self, values):
        self.changes += 1
        if self.set['queue'] and values.get('queue', self.set['queue']) is None:
            self.empty_queue()
        before = self.set
        self.set = {**before, **values}
        police = self.set['police']
        if police is None or before['police'] is None:
            self.tokens = None
        elif self.tokens is not None:
            self.tokens = min(self.tokens, police['burst'])
        if self.set['slot'] is None or before['slot'] is None:
            self.slot_begin, self.slot_frames = None, 0
        if self.set['when'] != before['when']:
            self.first = None
        if self.set['accumulate'] != before['accumulate'] and before['accumulate']:
            self.close_group(max([self.now, *(due for _, due, _ in self.held)]))
        elif self.set['reorder'] != before['reorder']:
            self.let_held_go()
        if self.waiting:
            self.change_queue(before)
        if self.set['trace'] != before['trace']:
            self.trace_begin = None

    def change_queue(self, before):
        was, queue = before['queue'], self.set['queue']
        for frame in list(self.waiting)[1:]:  # bits of the first one have left
            frame.bits += (queue['overhead'] - was['overhead']) * 8
        if self.set['trace'] != before['trace']:
            for frame in self.waiting:
                frame.row = None
        elif was['rate'] != queue['rate'] or was['overhead'] != queue['overhead']:
            for frame in self.waiting:
                frame.row = self.row()

    def empty_queue(self):
        """All frames leave at the times that they had."""
        at = self.now
        while self.waiting:
            frame = self.waiting.popleft()
            at += frame.bits / self.rate(frame.row)
            self.depart(frame.name, frame.came, frame.row, math.ceil(at))

    def advance(self, to):
        if self.set['police'] and self.filled is not None and self.tokens is not None:
            self.tokens = min(Fraction(self.set['police']['burst']),
                              self.tokens + (to - self.filled)
                              * Fraction(self.set['police']['rate'] * 10**6, 10**9) / 8)
            self.filled = to
        while self.waiting:
            head = self.waiting[0]
            end = self.now + head.bits / self.rate(head.row)
            if end > to:
                head.bits -= (to - self.now) * self.rate(head.row)
                break
            self.now = end
            self.waiting.popleft()
            self.depart(head.name, head.came, head.row, math.ceil(end))
        self.now = Fraction(to)
        self.close_late(to)

    def near(self, times):
        """True if one of these times is so close that rounding decides what comes first."""
        return any(abs(time - self.now) <= 2 + self.changes for time in times)

    def depart(self, name, came, row, at):
        self.close_late(at)
        self.moments.append(at)
        mark = self.set['mark']
        if mark and mark['at'] == 'departure' and self.acts('mark', name, came):
            # One that came before a change may be marked already.
            self.marked[name] = (sum(frame.size for frame in self.waiting) > mark['above']
                                 or self.marked.get(name, False))
        if self.acts('slot', name, came):
            at = self.into_slot(at)
        release = self.delayed(name, came, row, at)
        self.behind(name, came, at, release)

    def into_slot(self, at):
        slot = self.set['slot']
        if not slot:
            return at
        if self.slot_begin is None or self.slot_begin < at:
            self.slot_begin, self.slot_frames = at + slot['min'], 0
        at = self.slot_begin
        self.slot_frames += 1
        if slot['frames'] and self.slot_frames >= slot['frames']:
            self.slot_begin, self.slot_frames = at + slot['min'], 0
        return at

    def delayed(self, name, came, row, at):
        release = at
        kept = self.set['order'] != 'free'
        if self.acts('delay', name, came):
            delay = row[1] if row and row[1] is not None else self.set['delay'] or 0
            releases = [max(at, at + delay + draw) for draw in self.set['jitter'] or (0,)]
            if kept:
                releases = [max(self.last, release) for release in releases]
            seen = (self.records[name]['time_out_ns'] or START) - START
            reorder = self.set['reorder']
            if reorder and 'time' in reorder and 'reorder' in self.stages(name):
                seen -= reorder['time'] * 7000
            release = min(releases, key=lambda release: abs(release - seen))
        elif kept:
            release = max(self.last, at)
        self.last = max(self.last, release)
        return release

    def stages(self, name):
        record = self.records[name]
        return record.get('stages', [record['stage']])

    def behind(self, name, came, at, release):
        """The stages behind the delay."""
        self.release[name] = release
        accumulate, reorder = self.set['accumulate'], self.set['reorder']
        if accumulate:
            if self.held and release > self.held[0][1] + accumulate['time']:
                self.close_group(self.held[0][1] + accumulate['time'])
            self.held.append([name, release, None])
            if len(self.held) == accumulate['frames']:
                self.close_group(max(due for _, due, _ in self.held))
        if not reorder:
            return
        acted = 'reorder' in self.stages(name)
        if acted and not self.acts('reorder', name, came):
            raise AssertionError(f'frame {name} met reorder outside its times')
        if 'time' in reorder:
            self.release[name] += acted * reorder['time'] * 7000
        elif 'ahead' in reorder:
            self.release[name] = at if acted else release
        else:
            self.passed += 1
            if acted:
                overtaking = 1 if 'swap' in reorder else reorder['frames']
                self.held.append([name, release, self.passed + overtaking])
            while self.held and self.held[0][2] <= self.passed:
                held, due, _ = self.held.popleft()
                self.release[held] = min(max(due, release), due + reorder['at_most'])

    def close_late(self, now):
        """Frames leave that have been held for as long as they may be."""
        accumulate, reorder = self.set['accumulate'], self.set['reorder']
        if accumulate and self.held and self.held[0][1] + accumulate['time'] <= now:
            self.close_group(self.held[0][1] + accumulate['time'])
        if reorder and any(how in reorder for how in HOLDS):
            while self.held and self.held[0][1] + reorder['at_most'] <= now:
                name, due, _ = self.held.popleft()
                self.release[name] = due + reorder['at_most']

    def close_group(self, at):
        while self.held:
            self.release[self.held.popleft()[0]] = at

    def let_held_go(self):
        while self.held:
            name, due, _ = self.held.popleft()
            self.release[name] = max(due, int(self.now))

    def policed(self, name, size, dropped):
        police = self.set['police']
        if not police or not self.acts('police', name, self.now):
            return False
        if self.tokens is None:
            self.tokens, self.filled = Fraction(police['burst']), self.now
        left = self.tokens - (size + 24)
        passes = not dropped if abs(left) < Fraction(1, 100) else left >= 0
        if passes:
            self.tokens = left
        return not passes

    def come(self):
        """A frame of the rule comes in."""
        if self.first is None:
            self.first = self.now
        if self.trace_begin is None:
            self.trace_begin = self.now

    def may_act(self, stage, name):
        """True if the stage exists, and acts on a frame that comes in now."""
        row = self.row()
        if stage == 'loss' and row and row[2] is not None:
            return row[2] > 0
        return self.set[stage] is not None and self.acts(stage, name, self.now)

    def admit(self, name, size, fate):
        """What drops the frame behind the stage loss; None: it goes on. `fate`: what the ledger says,
        followed where rounding decides."""
        size = max(60, size)
        limit = self.set['limit']
        if limit is not None and self.acts('limit', name, self.now):
            held = [name for name, _, _ in self.held]
            inside = len(self.waiting) + len(held)
            inside += sum(time > self.now for other, time in self.release.items() if other not in held)
            if self.near(self.release.values()):
                if fate == 'limit':
                    return 'limit'
            elif inside >= limit:
                return 'limit'
        queue = self.set['queue']
        if not queue:
            self.depart(name, self.now, self.row(), int(self.now))
            return None
        held = sum(frame.size for frame in self.waiting)
        mark = self.set['mark']
        close = self.near(self.moments) or bool(self.waiting) and self.near(
            [self.now + self.waiting[0].bits / self.rate(self.waiting[0].row)])
        if mark and mark['at'] == 'arrival' and self.acts('mark', name, self.now):
            self.marked[name] = None if close else held > mark['above']
        if close and fate == 'queue':
            return 'queue'
        if held + size > queue['buffer'] and not close:
            return 'queue'
        self.waiting.append(Waiting(name, size, Fraction((size + queue['overhead']) * 8), self.row(),
                                    self.now))
        return None


class Changes(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def sequence(self, seed):
        draw = random.Random(seed)
        settings = {key: draw_(draw) if draw.random() < 0.4 else None for key, draw_ in DRAWS.items()}
        for key in ('queue', 'delay'):
            settings[key] = DRAWS[key](draw) if draw.random() < 0.9 else None
        # The ledger does not tell the drawn delay of a frame that is held until others have come, or
        # sent ahead.
        draws_delays = draw.random() < 0.5

        def allow(settings):
            if not draws_delays:
                settings['jitter'] = settings['order'] = None
            else:
                settings['accumulate'] = None
                settings['reorder'] = settings['reorder'] and draw_reorder(draw, ('time',))
            settle(settings)

        allow(settings)
        frames, now = [], 0
        for number in range(draw.randrange(60, 250)):
            frames.append((now, roce_frame(number, payload=draw.choice((16, 300, 1024)))))
            now += 2 * draw.choice((0, draw.randrange(400), draw.randrange(3000), draw.randrange(20_000)))
        acts, last = [], settings
        for at in sorted(draw.sample(range(1, max(now, 20) // 2), draw.randrange(1, 7))):
            changed = dict(last)
            for key in draw.sample(list(DRAWS), draw.choice((1, 1, 1, 3))):
                changed[key] = DRAWS[key](draw) if draw.random() < 0.8 else None
            allow(changed)
            values = {key: value for key, value in changed.items() if value != last[key]}
            if values:
                acts.append((2 * at + 1, values))
            last = changed
        return settings, frames, acts

    def files(self, values):
        """Writes the files of a trace and of a jitter, and returns the values as TOML."""
        texts = {key: toml_of(key, value) for key, value in values.items()}
        if values.get('trace'):
            name = f't{len(list(self.folder.iterdir()))}.csv'
            lines = [','.join(['time', 'delay', 'loss', 'rate'])]
            for time, delay, loss, rate in values['trace']['rows']:
                lines.append(','.join((f'{time}ns', '' if delay is None else f'{delay}ns',
                                       '' if loss is None else f'{loss:e}',
                                       '' if rate is None else f'{rate}Mb/s')))
            (self.folder / name).write_text('\n'.join(lines) + '\n')
            period = values['trace']['period']
            texts['trace'] = f'{{ file = "{name}"' + (f', period = "{period}ns" }}' if period else ' }')
        if values.get('jitter'):
            name = f'j{len(list(self.folder.iterdir()))}.csv'
            (self.folder / name).write_text(''.join(f'{value}ns\n' for value in values['jitter']))
            texts['jitter'] = f'{{ distribution = "values", file = "{name}" }}'
        return texts

    def replay(self, settings, frames, acts, seed):
        for file in self.folder.iterdir():
            file.unlink()
        profile = f'seed = {seed}\n[ledger]\nall = true\n[capacity]\nrate = "1Gb/s"\n[[rule]]\nname = "r"\n'
        profile += ''.join(f'{key} = {text}\n' for key, text in self.files(
            {key: value for key, value in settings.items() if value is not None}).items())
        for at, values in acts:
            keys = ', '.join(f'{key} = {text}' for key, text in self.files(values).items())
            profile += f'[[at]]\ntime = "{at}ns"\nrule = "r"\nset = {{ {keys} }}\n'
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
        model = Model(settings, records)
        fates = {}
        steps = [(at, 1, i) for i, (at, _) in enumerate(frames)]
        steps += [(at, 0, i) for i, (at, *_) in enumerate(acts)]
        for at, kind, i in sorted(steps):
            model.advance(at)
            if kind == 0:
                model.change(acts[i][1])
            else:
                self.one_frame(model, i, len(frames[i][1]), fates, profile)
        model.advance(10**12)
        self.judge(model, records, fates, profile)

    def one_frame(self, model, i, size, fates, profile):
        record = model.records[i, 0]
        dropped_by = record['stage'] if record['action'] == 'drop' else None
        model.come()
        if model.policed((i, 0), size, dropped_by == 'police'):
            fates[i, 0] = 'police'
            return
        for stage in {'loss', 'corrupt', 'duplicate', 'rewrite'} & set(model.stages((i, 0))):
            self.assertTrue(model.may_act(stage, (i, 0)), f'{stage}, frame {i}: {record}\n{profile}')
        if dropped_by == 'loss':
            fates[i, 0] = 'loss'
            return
        for copy in range(1 + max(copy for frame, copy in model.records if frame == i)):
            one = model.records[i, copy]
            fate = one['stage'] if one['action'] == 'drop' else None
            fates[i, copy] = model.admit((i, copy), size, fate)

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
