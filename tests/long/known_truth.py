# SPDX-License-Identifier: BSD-3-Clause
"""Simulated connections with random faults: what the analysis finds in captures of them agrees with
what was done. 3,000 scenarios of each kind; at most 0.5 % may disagree (tests/property/analysis).
LONGWIRE_SEED and LONGWIRE_SCENARIOS change the first seed and the number of scenarios."""

import os
import subprocess
import time
import unittest

import longwire_test

SEED = int(os.environ.get('LONGWIRE_SEED', time.time_ns() % 2**32))
SCENARIOS = int(os.environ.get('LONGWIRE_SCENARIOS', 3000))


class KnownTruth(unittest.TestCase):
    def test_most_scenarios_agree(self):
        done = subprocess.run(
            [longwire_test.BUILD / 'tests' / 'property' / 'analysis' / 'property_analysis',
             '--gtest_filter=KnownTruth.MostOfManyScenarios'],
            env={**os.environ, 'LONGWIRE_SEED': str(SEED), 'LONGWIRE_SCENARIOS': str(SCENARIOS)},
            capture_output=True, text=True, timeout=1200, check=False)
        self.assertIn('[  PASSED  ] 1 test.', done.stdout, f'LONGWIRE_SEED={SEED}\n{done.stdout}')


if __name__ == '__main__':
    longwire_test.main()
