# SPDX-License-Identifier: BSD-3-Clause
"""Captures of a second simulator (tests/long/truth2), which shares neither code nor assumptions with
the analysis or the first one: what `anomalies` says agrees with what became of each packet. The first
seeds of each family, at three capture points, with the bounds that hold today; LONGWIRE_SEEDS says
how many."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import longwire_test

TRUTH = longwire_test.SOURCE / 'tests' / 'long' / 'truth2'
SEEDS = int(os.environ.get('LONGWIRE_SEEDS', '100'))

ORDINARY = 'rxe', 'gbn', 'sr', 'reads', 'corrupt', 'dup', 'mix', 'long', 'clean'
HARD = 'incast', 'rnr', 'outage', 'died', 'short', 'spray', 'reorder', 'dcqcn', 'pfc', 'nccl', 'readpart'
# Per cent of these families: false claims, missed events.
BOUNDS = {ORDINARY: (2, 4), HARD: (2, 4)}

# Captures of a part: 1 % of the frames not captured, requests only, answers only, the middle third, 64
# bytes of each frame. Per cent of all families, of 4 seeds: false claims; single scenarios make most of
# them, so a run of fewer seeds may have three times as many.
VARIANTS = {'drop': 5.5, 'fwd': 3, 'back': 3, 'mid': 9, 'snap64': 3}

ROW = re.compile(r'(\S+) (gbn|sr) (\S+) +claims +(\d+) false +(\d+) .*events +(\d+) missed +(\d+)')


def run(script, families, seeds, *words):
    """What a script of truth2 prints of the first seeds of these families."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / 'work').mkdir()
        return subprocess.run(
            [sys.executable, TRUTH / script, families, '0', str(seeds), *words],
            cwd=folder, check=True, capture_output=True, text=True, timeout=1700,
            env={**os.environ, 'ROCE_DISSECT': longwire_test.program('roce-dissect')}).stdout


def sums(said):
    """By variant: claims, false ones, events and missed ones of all families that a script printed."""
    found = {}
    for row in map(ROW.search, said.partition('pooled')[0].splitlines()):
        if row:
            counts = found.setdefault(row[3], [0] * 4)
            found[row[3]] = [a + int(b) for a, b in zip(counts, row.groups()[3:])]
    return found


def score(families, variants='full', seeds=SEEDS):
    """sums() of these families; and what was printed."""
    said = run('score.py', ','.join(families), seeds, variants)
    return sums(said), said


class SecondTruth(unittest.TestCase):
    def test_claims_and_events(self):
        for families, (most_false, most_missed) in BOUNDS.items():
            with self.subTest(families):
                found, said = score(families)
                claims, false, events, missed = found['full']
                self.assertGreater(min(claims, events), 20 * SEEDS, said)
                self.assertLessEqual(100 * false, most_false * claims, said)
                self.assertLessEqual(100 * missed, most_missed * events, said)

    def test_captures_of_a_part(self):
        found, said = score(ORDINARY + HARD, ','.join(VARIANTS), max(1, SEEDS // 25))
        for variant, most_false in VARIANTS.items():
            with self.subTest(variant):
                claims, false, *_ = found[variant]
                most_false *= 1 if SEEDS >= 100 else 3
                self.assertLessEqual(100 * false, most_false * claims, said)

    def test_connections_behind_the_look_ahead(self):
        """66,000 frames of others are between the first frames of each connection and its first loss, or
        its fifth frame: hardly more is false or missed than without them."""
        seeds = max(1, SEEDS // 50)
        whole, _ = score(ORDINARY + HARD, seeds=seeds)
        for words in ((), ('early',)):
            with self.subTest(words):
                said = run('late.py', 'all', seeds, *words)
                claims, false, events, missed = sums(said)['late']
                self.assertGreater(min(claims, events), 20 * seeds, said)
                self.assertLessEqual(100 * (false - whole['full'][1]), claims, said)
                self.assertLessEqual(100 * (missed - whole['full'][3]), events, said)

    def test_congestion(self):
        """Where the capture does not show it, the answer is that it cannot be told: at a sender's port, losses
        of others' queues and of a bad link look alike, and so do a queue and a receiver's time."""
        for words in ((), ('rated',)):
            with self.subTest(words):
                said = run('congestion.py', 'all', max(1, SEEDS // 12), *words)
                counts = json.loads(said.rpartition('all ')[2])
                self.assertEqual((counts.get('false yes', 0), counts.get('false no', 0)), (0, 0), said)
                self.assertLessEqual(100 * counts.get('cannot tell', 0), 65 * counts['captures'], said)

    def test_latencies_of_messages(self):
        """Open where an answer may have met the repetition of its request, and where nothing shows whether the
        requester keeps responses behind a missing one. Most wrong ones are seen far from the requester: a part of
        what it asked for again had reached it."""
        said = run('messages.py', 'all', max(1, SEEDS // 20))
        counts = json.loads(said.rpartition('all ')[2])
        self.assertGreaterEqual(100 * counts['exact'], 96.5 * counts['messages'], said)
        self.assertLessEqual(100 * counts.get('wrong', 0), counts['messages'], said)


if __name__ == '__main__':
    longwire_test.main()
