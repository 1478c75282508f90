# SPDX-License-Identifier: BSD-3-Clause
"""Was it congestion, and what bounds the rate? roce-dissect explain of connections whose limit is
known: a full link, the window, READs, the application, the receiver, pauses (rate_scenarios)."""

import re
import unittest

import longwire_test
from dissect_analysis import InFolder
from dissect_explain import explained
from pcap_file import write_pcap
from rate_scenarios import scenarios

UNITS = {'Gb/s': 1e9, 'Mb/s': 1e6, 'kb/s': 1e3}
LIMITS = (('fills a link', 'full link'), ('READs and atomics outstanding', 'reads'),
          ('packets of SENDs and WRITEs outstanding', 'window'))


def limits_of(explanation):
    """The limits that are named, of one connection."""
    return [next(name for words, name in LIMITS if words in said['text'])
            for said in explanation['statements'] if said['topic'] == 'window_plateau']


class Rates(InFolder):
    def test_the_verdict_is_right_or_cannot_tell(self):
        answers = []
        for scenario in scenarios():
            with self.subTest(scenario.name):
                path = self.folder / 'scenario.pcap'
                write_pcap(path, scenario.frames)
                explanation = explained(path)
                verdict = explanation['congestion']
                answers.append(verdict['answer'])
                self.assertIn(verdict['answer'], scenario.answers | {'cannot tell'})
                self.assertEqual(limits_of(explanation), [scenario.limit] if scenario.limit else [])
                self.assertAlmostEqual(verdict['paused_ns'], scenario.paused_ns,
                                       delta=scenario.paused_ns / 100)
                if scenario.full_rate:
                    number, unit = re.search(r' at ([\d.]+) (.b/s)', verdict['reason']).groups()
                    self.assertAlmostEqual(float(number) * UNITS[unit], scenario.full_rate,
                                           delta=scenario.full_rate / 20)
        self.assertGreaterEqual(len(answers), 40)
        self.assertLess(answers.count('cannot tell'), .15 * len(answers))


if __name__ == '__main__':
    longwire_test.main()
