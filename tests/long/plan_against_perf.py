# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen plan beside roce-gen sim, on a large random grid. LONGWIRE_POINTS changes the number
of points, and LONGWIRE_GRID_SEED which."""

import os
import unittest

import longwire_test
import plan_grid

POINTS = int(os.environ.get('LONGWIRE_POINTS', 1000))


class Grid(unittest.TestCase):
    def test_plan_agrees_with_the_simulation(self):
        self.assertEqual(plan_grid.differences(POINTS * 13 // 20, POINTS * 7 // 20, 60_000, seed=1), [])


if __name__ == '__main__':
    longwire_test.main()
