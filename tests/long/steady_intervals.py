# SPDX-License-Identifier: BSD-3-Clause
"""The interval that sim prints of a steady rate, over 60 seeds for each of some
configurations, beside the mean of runs that are much longer."""

import unittest

import longwire_test
import steady_rates


class Intervals(unittest.TestCase):
    def test_the_interval_holds_the_long_run_mean(self):
        for options in steady_rates.CONFIGURATIONS:
            with self.subTest(options):
                held = steady_rates.held(options, seeds=60)
                self.assertGreaterEqual(held, 0.9 * 60)


if __name__ == '__main__':
    longwire_test.main()
