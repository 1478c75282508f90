# SPDX-License-Identifier: BSD-3-Clause
"""Outages and steps of the delay, which roce-impair replay makes in both directions of a capture: `compare`
finds them, when they begin, and none where there is none. Jitter is independent or correlated, of several
distributions. LONGWIRE_SEEDS says how many captures of each kind: 300 are the acceptance of the project."""

import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import longwire_test
from longwire_test import program
from pcap_file import read_pcap, write_pcap

SEEDS = int(os.environ.get('LONGWIRE_SEEDS', '300'))
FRAMES = 1500  # of each direction
US = 1000  # ns
DELAY = 1_900_000  # ns


def run(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def log_uniform(draw, low, high):
    return round(low * (high / low) ** draw.random())


def jitter_of(draw, spread):
    """A jitter whose range from the 1st to the 99th percentile is `spread`; a key of a rule."""
    kind = draw.choice(('uniform', 'correlated', 'normal', 'exponential'))
    if spread < 20:
        return ''
    if kind == 'uniform':
        return f'jitter = {{ distribution = "uniform", low = "0us", high = "{spread / 0.98:.0f}ns" }}'
    if kind == 'correlated':  # as `jitter = "20us"` makes it
        return f'jitter = "{spread / 1.96:.0f}ns"'
    if kind == 'normal':
        return f'jitter = {{ distribution = "normal", mean = "{spread}ns", deviation = "{spread / 4.653:.0f}ns" }}'
    return f'jitter = {{ distribution = "exponential", mean = "{spread / 4.595:.0f}ns" }}'


class Capture:
    """Two captures of a path, and what happened to it."""

    def __init__(self, folder, seed, kind):
        draw = self.draw = random.Random(f'{kind} {seed}')
        self.folder, self.seed = folder, seed
        self.gap = log_uniform(draw, 20 * US, 1000 * US)
        self.step = self.outage = 0
        self.share = draw.uniform(0, 1)  # of the step: the range of the jitter
        # The event is not at the edge: 10 % of the frames are before it and behind it.
        self.at = round(self.gap * FRAMES * draw.uniform(0.1, 0.9))
        if kind == 'step':
            self.step = log_uniform(draw, 5 * US, 5000 * US) * draw.choice((1, -1))
        if kind == 'outage':
            self.share = draw.uniform(0, 0.5)
            self.outage = log_uniform(draw, 1000 * US, 2_000_000 * US)
            packets = log_uniform(draw, 8, 400)  # lost ones, with some variation of the gaps
            self.gap = max(self.outage // packets, 2 * US)
            self.at = round(self.gap * draw.uniform(0.1 * FRAMES, 0.9 * FRAMES - packets))
        spread = abs(self.step or log_uniform(draw, 5 * US, 500 * US)) * self.share
        self.profile = self.write_profile(jitter_of(draw, round(spread)))

    def write_profile(self, jitter):
        delay = DELAY + (10_000 * US if self.step < 0 else 0)
        text = (f'[[rule]]\nname = "path"\ndelay = "{delay}ns"\norder = "free"\n{jitter}\n'
                '[capacity]\nrate = "1Gb/s"\n')
        if self.step:
            text += f'[[at]]\ntime = "{self.at}ns"\nrule = "path"\nset = {{ delay = "{delay + self.step}ns" }}\n'
        if self.outage:
            text += (f'[[at]]\ntime = "{self.at}ns"\nrule = "path"\nset = {{ loss = "100%" }}\n'
                     f'[[at]]\ntime = "{self.at + self.outage}ns"\nrule = "path"\nset = {{ loss = "" }}\n')
        path = self.folder / 'profile.toml'
        path.write_text(text)
        return path

    def sent(self, frames):
        """The frames of a direction, sent with some variation of the gaps; an outage takes as long as it takes."""
        stamps, at = [], 10**9
        for _ in frames:
            stamps.append(at)
            at += round(self.gap * self.draw.uniform(0.5, 1.5))
        return [(stamp, frame) for stamp, (_, frame) in zip(stamps, frames)]

    def make(self, there, back):
        """Writes near.pcap and far.pcap. `there`, `back`: frames."""
        points, self.truth = [[], []], []
        for way, frames in enumerate((there, back)):
            taken = self.sent(frames)
            source, target = self.folder / 'in.pcap', self.folder / 'out.pcap'
            write_pcap(source, taken)
            run(program('roce-impair'), 'replay', self.profile, source, target, '--seed', 2 * self.seed + way + 1)
            points[way] += taken
            points[1 - way] += read_pcap(target)
            behind = [stamp for stamp, _ in taken if stamp - 10**9 >= self.at]
            self.truth.append((behind[0], [stamp for stamp, _ in taken]))
        for name, frames in zip(('near', 'far'), points):
            write_pcap(self.folder / f'{name}.pcap', sorted(frames, key=lambda one: one[0]))

    def compared(self):
        return json.loads(run(program('roce-dissect'), 'compare', self.folder / 'near.pcap',
                              self.folder / 'far.pcap', '--json'))

    def packets_from(self, way, stamp):
        """How many packets a begin is from the true one."""
        begin, stamps = self.truth[way]
        low, high = sorted((begin, stamp))
        return sum(low < one <= high for one in stamps)


class PathChanges(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        frames = []
        for name, ends in (('there', ('198.18.0.1', '198.18.0.2')), ('back', ('198.18.0.2', '198.18.0.1'))):
            path = cls.folder / f'{name}.pcap'
            run(program('roce-gen'), 'run', 'ipv4-rc-send', '--set', f'ipv4-rc-send.source={ends[0]}', '--set',
                f'ipv4-rc-send.destination={ends[1]}', '--set', 'ipv4-rc-send.message_size=512',
                '--set', 'ipv4-rc-send.rate=10000 frames/s',
                '--set', f'ipv4-rc-send.messages={FRAMES}', '--pcap', path)
            frames.append(read_pcap(path))
        cls.frames = frames

    def each(self, kind, seeds=SEEDS):
        for seed in range(seeds):
            capture = Capture(self.folder, seed, kind)
            capture.make(*self.frames)
            yield capture, capture.compared()

    def check(self, name, missed, of, most):
        print(f'# {name}: {len(missed)} of {of} missed', flush=True)
        self.assertLessEqual(len(missed), most * of + (of < 100), f'{name}: {missed}')

    def test_outages(self):
        missed, false = [], []
        for capture, found in self.each('outage'):
            for way, name in enumerate(('near_to_far', 'far_to_near')):
                begins = [one['begin_ns'] for one in found['outages'] if one['direction'] == name]
                if len(begins) != 1 or capture.packets_from(way, begins[0]) > 1:
                    missed.append((capture.seed, name, begins, capture.truth[way][0]))
            if found['delay_steps']:
                false.append((capture.seed, found['delay_steps']))
        self.check('outages', missed, 2 * SEEDS, 0.05)
        self.check('steps where there are outages alone', false, SEEDS, 0.01)

    def test_steps(self):
        missed, of = {0.5: [], 1: []}, {0.5: 0, 1: 0}
        for capture, found in self.each('step'):
            group, most = (0.5, 1) if capture.share <= 0.5 else (1, 20)
            of[group] += 1
            steps = found['delay_steps']
            way = 1 if steps and not steps[0]['there_ns'] else 0
            good = (len(steps) == 1 and steps[0]['of'] == 'path' and
                    capture.packets_from(way, steps[0]['at_ns']) <= most)
            if not good:
                missed[group].append((capture.seed, capture.step, round(capture.share, 2), capture.gap,
                                      [(one['of'], one['there_ns'], one['back_ns'],
                                        capture.packets_from(way, one['at_ns'])) for one in steps]))
        for group in missed:
            self.check(f'steps behind jitter of up to {group} of the step', missed[group], of[group], 0.05)

    def test_no_steps(self):
        false = [(capture.seed, found['delay_steps'], found['outages']) for capture, found in self.each('none')
                 if found['delay_steps'] or found['outages']]
        self.check('false steps', false, SEEDS, 0.01)


if __name__ == '__main__':
    longwire_test.main()
