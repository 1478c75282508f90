# SPDX-License-Identifier: BSD-3-Clause
"""Captures of a second simulator (tests/long/truth2), which shares neither code nor assumptions with
the analysis or the first one: what `anomalies` says agrees with what became of each packet. The first
seeds of each family, at three capture points, with the bounds that hold today; LONGWIRE_SEEDS says
how many."""

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

ROW = re.compile(r'(\S+) (gbn|sr) full +claims +(\d+) false +(\d+) .*events +(\d+) missed +(\d+)')


def score(families):
    """Claims, false ones, events and missed ones of all these families."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / 'work').mkdir()
        done = subprocess.run(
            [sys.executable, TRUTH / 'score.py', ','.join(families), '0', str(SEEDS), 'full'],
            cwd=folder, check=True, capture_output=True, text=True, timeout=1700,
            env={**os.environ, 'ROCE_DISSECT': longwire_test.program('roce-dissect')})
    lines = done.stdout.partition('pooled')[0].splitlines()
    found = [[int(count) for count in row.groups()[2:]] for row in map(ROW.search, lines) if row]
    return [sum(column) for column in zip(*found)], done.stdout


class SecondTruth(unittest.TestCase):
    def test_claims_and_events(self):
        for families, (most_false, most_missed) in BOUNDS.items():
            with self.subTest(families):
                (claims, false, events, missed), said = score(families)
                self.assertGreater(min(claims, events), 20 * SEEDS, said)
                self.assertLessEqual(100 * false, most_false * claims, said)
                self.assertLessEqual(100 * missed, most_missed * events, said)


if __name__ == '__main__':
    longwire_test.main()
