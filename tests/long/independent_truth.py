# SPDX-License-Identifier: BSD-3-Clause
"""Captures of a simulator that shares no code with the analysis (tests/long/truth): what `anomalies`
says agrees with what became of each packet. 200 random scenarios, as a handful has most errors, with
the bounds that hold today, and 10 of each family."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import longwire_test

TRUTH = longwire_test.SOURCE / 'tests' / 'long' / 'truth'

# Per cent of seeds 0 to 199: false claims, missed events, open claims.
BOUNDS = {
    'complete|gbn': (0.4, 0.7, 4.3), 'complete|sr': (0.7, 1.1, 5.8),
    'drop|gbn': (1.6, 0.9, 28.2), 'drop|sr': (1.9, 2.3, 14),  # 1 % of the frames not captured
    'fwd|gbn': (1.1, 3.1, 56.9), 'fwd|sr': (0.4, 1.2, 70.8),  # requests only
    'back|gbn': (0.2, 4.1, 47.8), 'back|sr': (0.6, 1.6, 57),  # answers only
    'mid|gbn': (1.2, 2.8, 13.5), 'mid|sr': (2.2, 1.2, 15.3),  # the middle third
    'snap64|gbn': (0.4, 0.9, 9.2), 'snap64|sr': (0.7, 0.7, 8.2),
}
# Families whose checks all hold.
FAMILIES = 'halves', 'noicrc', 'peerdied', 'queue', 'rnrout', 'timer', 'views'


# Complete captures with other delays, windows, MTUs, NAK delays and bursts. Per cent of 100 seeds: false
# claims, missed events; single scenarios make most of them, so fewer seeds may have three times as many.
VARIED = {'varied.py': (2, 4), 'varied2.py': (1.5, 2)}
SEEDS = int(os.environ.get('LONGWIRE_SEEDS', '100'))


def evaluate(count, *words, script='evalsim.py'):
    """Runs the scorer on seeds 0 to count - 1; returns its result."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, TRUTH / script, '0', str(count), 'long', *words],
                       cwd=folder, check=True, capture_output=True, timeout=1500,
                       env={**os.environ, 'SEL': 'half',
                            'ROCE_DISSECT': longwire_test.program('roce-dissect')})
        with open(os.path.join(folder, 'results', 'result-long.json'), encoding='utf-8') as file:
            return json.load(file)


class IndependentTruth(unittest.TestCase):
    def test_random_scenarios(self):
        result = evaluate(200)['random']
        for name, bounds in BOUNDS.items():
            with self.subTest(name):
                for figure, bound in zip(('false_pct', 'missed_pct', 'open_pct'), bounds):
                    self.assertLessEqual(result['pooled'][name][figure] or 0, bound, figure)
        # Its responders answer as they should.
        self.assertNotIn('wrong_answer', result['classes'].get('kinds||', {}))
        for key, counts in result['classes'].items():
            for kind in ('nak', 'rnr_nak', 'found:nak', 'found:rnr_nak'):
                count = counts.get(kind, {})
                self.assertEqual((count.get('false', 0), count.get('missed', 0)), (0, 0), (key, kind))
            self.assertEqual(counts.get('messages:match', {}).get('false', 0), 0, key)
            latency = counts.get('messages:latency', {})
            self.assertLessEqual(200 * latency.get('false', 0), latency.get('right', 0), key)

    def test_other_parameters(self):
        for script, (most_false, most_missed) in VARIED.items():
            with self.subTest(script):
                complete = evaluate(SEEDS, script=script)['random']['pooled']['complete|all']
                factor = 1 if SEEDS >= 100 else 3
                self.assertLessEqual(complete['false_pct'], factor * most_false)
                self.assertLessEqual(complete['missed_pct'], factor * most_missed)

    def test_families(self):
        result = evaluate(10, '--families', ','.join(FAMILIES))
        for family in FAMILIES:
            checks = {(key, name): count['false']
                      for key, counts in result[family]['classes'].items()
                      for name, count in counts.items() if name.startswith(family + ':')}
            self.assertTrue(checks, family)
            self.assertEqual({name for name, false in checks.items() if false}, set(), family)


if __name__ == '__main__':
    longwire_test.main()
