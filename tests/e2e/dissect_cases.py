# SPDX-License-Identifier: BSD-3-Clause
"""What roce-dissect says about small captures whose truth is known (pcaps/README.md): the causes of
`anomalies`, all certain, and sentences of `explain`."""

import unittest

import longwire_test
from dissect_analysis import rows
from dissect_explain import explained

CASES = longwire_test.SOURCE / 'pcaps' / 'cases'


class Cases(unittest.TestCase):
    def check(self, name, causes, sentence):
        path = CASES / f'{name}.pcap'
        found = rows('anomalies', path)
        self.assertEqual({row['certainty'] for row in found} - {'certain'}, set())
        self.assertEqual({(row['kind'], row['cause']) for row in found}, causes)
        text = ' '.join(said['text'] for said in explained(path)['statements'])
        self.assertIn(sentence, text)

    def test_a_timer_shorter_than_the_round_trip_loses_nothing(self):
        self.check('timer_too_short', {('retransmission', 'timer_short')}, 'nothing was lost')

    def test_a_late_response_is_late(self):
        """Its request is sent again as if it were lost, and is still said to be (`response_lost`)."""
        path = CASES / 'read_response_late.pcap'
        late = [row for row in rows('anomalies', path) if row['kind'] == 'out_of_order']
        self.assertEqual([row['certainty'] for row in late], ['certain'])
        text = ' '.join(said['text'] for said in explained(path)['statements'])
        self.assertIn('1 response packet came late', text)

    def test_a_fatal_nak_without_its_request(self):
        self.check('only_fatal_nak', {('nak', 'fatal_nak')}, 'remote access error')

    def test_refusals_until_the_retries_end(self):
        self.check('rnr_exhausted', {('unanswered', 'rnr_exhausted'), ('rnr_nak', 'rnr'),
                                     ('retransmission', 'rnr'), ('retry_storm', 'none')},
                   "until the sender's retries were used up")

    def test_a_peer_that_stopped_lost_nothing(self):
        self.check('peer_stopped', {('unanswered', 'none'), ('retransmission', 'peer_stopped'),
                                    ('retry_storm', 'none')}, 'the other end answered no more')

    def test_a_long_round_trip_is_no_stall(self):
        self.check('one_write_300ms', set(), '')


if __name__ == '__main__':
    longwire_test.main()
