# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen plan beside roce-gen perf --sim, on a large random grid."""

import unittest

import longwire_test
import plan_grid


class Grid(unittest.TestCase):
    def test_plan_agrees_with_the_simulation(self):
        self.assertEqual(plan_grid.differences(650, 350, 60_000, seed=1), [])


if __name__ == '__main__':
    longwire_test.main()
