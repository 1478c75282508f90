# SPDX-License-Identifier: BSD-3-Clause
"""Points A and B of the second simulator (tests/long/truth2), analysed as one path: each packet that
was lost, late, copied or damaged is named once, at its place; also with a far clock that is ahead.
LONGWIRE_SEEDS says how many seeds."""

import os
import unittest

import longwire_test

os.environ.setdefault('ROCE_DISSECT', longwire_test.program('roce-dissect'))
try:
    import path_score
except ImportError:  # without the simulator
    path_score = None

SEEDS = int(os.environ.get('LONGWIRE_SEEDS', '40'))
FAMILIES = 'rxe', 'gbn', 'sr', 'reads', 'corrupt', 'dup', 'mix', 'long', 'clean'


@unittest.skipIf(path_score is None, 'tests/long/truth2, the simulator, is not there')
class PathTruth(unittest.TestCase):
    def check(self, seeds, shift):
        totals = path_score.score(FAMILIES, seeds, shift)
        claims, false, open_, events, missed = (
            sum(total[name] for total in totals.values())
            for name in ('claims', 'false', 'undecided', 'events', 'missed'))
        self.assertGreater(events, 10 * len(seeds), totals)
        self.assertLessEqual(1000 * false, 3 * claims, totals)
        self.assertLessEqual(1000 * missed, 5 * events, totals)
        self.assertLessEqual(100 * open_, 2 * claims, totals)

    def test_one_clock(self):
        self.check(range(SEEDS), 0)

    def test_a_clock_that_is_ahead(self):
        self.check(range(SEEDS // 4), 317_200_000)


if __name__ == '__main__':
    longwire_test.main()
