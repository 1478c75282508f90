# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen plan beside roce-gen sim, on a large random grid. LONGWIRE_POINTS changes the number of points
(2,000 take a quarter of an hour), and LONGWIRE_GRID_SEED which."""

import os
import unittest

import longwire_test
import plan_grid

POINTS = int(os.environ.get('LONGWIRE_POINTS', 200))


class Grid(unittest.TestCase):
    def test_each_rate_is_exact_or_that_of_the_simulation_or_null(self):
        self.assertEqual(plan_grid.differences(POINTS // 2, POINTS - POINTS // 2, seed=1), [])


if __name__ == '__main__':
    longwire_test.main()
