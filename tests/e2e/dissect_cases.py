# SPDX-License-Identifier: BSD-3-Clause
"""What roce-dissect says about small captures whose truth is known: those of pcaps/cases
(pcaps/README.md), and siblings of them, which are composed here. Of each, the causes of `anomalies`
and a sentence of `explain`."""

import unittest

import longwire_test
from conversation import NOT_READY, READ, SEND, Conversation
from dissect_analysis import InFolder, rows
from dissect_explain import explained

CASES = longwire_test.SOURCE / 'pcaps' / 'cases'
NAKED = ('nak', 'nak', 'certain')


def found_in(path):
    return {(row['kind'], row['cause'], row['certainty']) for row in rows('anomalies', path)}


def certain(*found):
    return {(kind, cause, 'certain') for kind, cause in found}


class Case(InFolder):
    def check(self, path, found, sentence):
        self.assertEqual(found_in(path), found)
        explanation = explained(path)
        text = ' '.join([*(said['text'] for said in explanation['statements']),
                         explanation['congestion']['reason']])
        self.assertIn(sentence, text)

    def check_case(self, name, found, sentence):
        path, = CASES.glob(f'{name}.pcap*')
        self.check(path, found, sentence)

    def check_frames(self, talk, found, sentence):
        self.check(talk.save(self.folder / 'sibling.pcap'), found, sentence)


class Fragments(Case):
    def test_packets_in_ip_fragments_are_followed(self):
        self.check_case('ip_fragments', set(), '10 packets came in IP fragments')
        session, = rows('connections', next(CASES.glob('ip_fragments*')))
        self.assertEqual((session['messages'], session['payload_bytes'], session['rtt_samples']),
                         (10, 40_960, 10))


class Timers(Case):
    def test_a_timer_shorter_than_the_round_trip_loses_nothing(self):
        for name in ('timer_too_short', 'timer_2ms_rtt40ms_write', 'timer_below_rtt'):
            with self.subTest(name):
                found = certain(('retransmission', 'timer_short'))
                if name != 'timer_too_short':
                    found |= certain(('retry_storm', 'none'))
                self.check_case(name, found, 'nothing was lost')

    def repeated(self, opcode):
        """Each of 6 requests is sent three times, 2 ms apart, and answered three times after 5 ms.
        The capture ends before the last two answers."""
        talk, events = Conversation(), []
        for psn in range(6):
            for again in range(3):
                at = 6000 * psn + 2000 * again
                events.append((at, talk.request, (psn, 0, opcode)))
                events.append((at + 5000, talk.response if opcode == READ else talk.answer, (psn, 0)))
        for at, add, words in sorted(events, key=lambda event: event[0])[:-2]:
            talk.at = at
            add(*words)
        return talk

    def test_the_last_answers_may_be_missing(self):
        self.check_frames(self.repeated(SEND), certain(('retransmission', 'timer_short')),
                          'nothing was lost')

    def test_a_read_is_repeated_too_soon(self):
        talk = self.repeated(READ)
        found = {row['cause'] for row in rows('anomalies', talk.save(self.folder / 'reads.pcap'))
                 if row['kind'] == 'retransmission'}
        self.assertEqual(found, {'timer_short'})

    def test_a_long_round_trip_is_no_stall(self):
        for name in ('one_write_300ms', 'pingpong_rtt40ms'):
            with self.subTest(name):
                self.check_case(name, set(), 'nothing was lost')

    def test_a_wait_that_arose_behind_the_capture_point(self):
        self.check_case('held_path', certain(('stall', 'none')),
                        'The capture does not show where the wait arose')

    def test_what_is_acknowledged_within_a_recovery_was_not_lost(self):
        self.check_case('ack_within_go_back', certain(('retransmission', 'timer')),
                        'timer alone')

    def test_a_timer_after_a_nak(self):
        """All NAKs were lost behind the capture point, as far as 67 ms tell."""
        self.check_case('naks_lost', {*certain(('psn_gap', 'lost_before')), NAKED,
                                          ('retransmission', 'timer', 'either')},
                        'because of a timer, or a NAK')

    def test_a_nak_of_a_short_path_is_answered_at_once(self):
        talk = Conversation()
        for first in range(0, 30, 10):
            talk.requests(first, first + 4)
            talk.requests(first + 5, first + 10)
            talk.nak(first + 4)
            talk.request(first + 4, 67_000 if first == 20 else 40)
            talk.requests(first + 5, first + 10)
            talk.answer(first + 9)
        causes = [row['cause'] for row in
                  rows('anomalies', talk.save(self.folder / 'naks.pcap'), '--kind', 'retransmission')]
        self.assertEqual(causes, ['nak', 'nak', 'timer'])


class Answers(Case):
    def test_a_late_response_is_late(self):
        self.check_case('read_response_late', certain(('out_of_order', 'none'),
                                                      ('retransmission', 'late_not_lost')),
                        'the packets were late, not lost')

    def reads(self, late_wait):
        """8 READs; the response to the fourth comes behind the next two, after `late_wait` us, and
        the requester asks again from there, 40 us after the gap shows."""
        talk = Conversation()
        talk.requests(0, 8, opcode=READ)
        for psn in (0, 1, 2, 4, 5):
            talk.response(psn, 50 if psn == 0 else 1)
        begin = talk.at
        talk.at = begin + late_wait
        talk.response(3, 0)
        talk.at = max(begin + 40, talk.at)
        talk.requests(3, 8, opcode=READ)
        for psn in (6, 7, 3, 4, 5, 6, 7):
            talk.response(psn, 8 if psn == 6 else 1, 8)
        return talk

    def test_a_response_that_comes_late_before_it_is_asked_for_again(self):
        self.check_frames(self.reads(20), certain(('out_of_order', 'none'),
                                                  ('retransmission', 'late_not_lost')),
                          'the packets were late, not lost')

    def test_a_fatal_nak_without_its_request(self):
        self.check_case('only_fatal_nak', certain(('nak', 'fatal_nak')), 'remote access error')

    def test_naks_without_their_requests(self):
        self.check_case('naks_only', {NAKED}, 'The requests, which would tell')
        talk = Conversation()
        talk.answer(5)
        talk.nak(7, 100)
        self.check_frames(talk, {NAKED}, 'packets may have been lost')

    def test_requests_without_their_answers(self):
        self.check_case('requests_only', {('retransmission', 'timer', 'either')},
                        'The capture holds one direction only')

    def test_refusals_until_the_retries_end(self):
        self.check_case('rnr_exhausted', certain(
            ('unanswered', 'rnr_exhausted'), ('rnr_nak', 'rnr'), ('retransmission', 'rnr'),
            ('retry_storm', 'none')), "until the sender's retries were used up")

    def test_a_peer_that_stopped_lost_nothing(self):
        self.check_case('peer_stopped', {
            *certain(('unanswered', 'none'), ('retry_storm', 'none')),
            ('retransmission', 'peer_stopped', 'either')}, 'either it has stopped, or the path')

    def test_no_answer_is_due_without_ackreq(self):
        self.check_case('tail_without_ackreq', set(), 'nothing was lost')

    def tail(self, asks):
        """The last 4 of 12 SENDs get no answer for 2 s, while another answer to them is due."""
        talk = Conversation()
        talk.requests(0, 8, opcode=SEND)
        talk.answer(7)
        talk.requests(8, 12, opcode=SEND, asks=asks)
        talk.nak(3, 2_000_000, NOT_READY)
        return talk

    def test_an_answer_is_due_with_ackreq(self):
        for asks in (False, True):
            with self.subTest(asks=asks):
                kinds = {row['kind'] for row in
                         rows('anomalies', self.tail(asks).save(self.folder / 'tail.pcap'))}
                self.assertEqual('unanswered' in kinds, asks)


class SelectiveRepeat(Case):
    def test_a_burst_is_lost(self):
        self.check_case('selective_burst',
                        {NAKED, *certain(('psn_gap', 'lost_before'), ('retransmission', 'nak'))},
                        '4 packets were lost before the capture point')

    def burst(self, first, count, reaction):
        """PSNs from `first` on are lost; the receiver asks for each one, when it has the one
        before."""
        talk = Conversation()
        talk.requests(0, first)
        talk.answer(first - 1)
        talk.requests(first + count, first + 20)
        for psn in range(first, first + count):
            talk.nak(psn)
            talk.request(psn, reaction)
        talk.answer(first + 19)
        talk.requests(first + 20, first + 30)
        talk.answer(first + 29)
        return talk

    def test_two_of_a_burst(self):
        for reaction in (8, 300):
            with self.subTest(reaction=reaction):
                found = certain(('psn_gap', 'lost_before'), ('retransmission', 'nak'))
                self.check_frames(self.burst(30, 2, reaction), {NAKED, *found},
                                  '2 packets were lost before the capture point')

    def sprayed(self, counted):
        """One packet in eight comes 2 us late, and once more when the NAK has gone round."""
        talk, events = Conversation(counted), []
        for psn in range(0, 160):
            at = 100 * (psn // 16) + psn
            late = psn % 8 == 3
            events.append((at + 2.5 * late, talk.request, (psn, 0)))
            if late:
                events.append((at + 1.2, talk.nak, (psn, 0)))
                events.append((at + 1.2 + 80, talk.request, (psn, 0)))
            elif psn % 16 == 15:
                events.append((at + 0.2, talk.answer, (psn, 0)))
        for at, add, words in sorted(events, key=lambda event: event[0]):
            talk.at = at
            add(*words)
        return talk

    def test_what_comes_twice_was_late(self):
        self.check_frames(self.sprayed(False), {NAKED, *certain(('out_of_order', 'nak'),
                                                        ('retransmission', 'late_not_lost'))},
                          '20 packets came late')

    def test_a_path_of_four_ways(self):
        """Nothing is lost; most of what comes twice came late first."""
        self.check_case('four_ways', {NAKED, *certain(('out_of_order', 'nak'),
                                                      ('retransmission', 'late_not_lost'),
                                                      ('retransmission', 'nak'))},
                        'packets were late, and none was lost')


class Reordering(Case):
    def test_what_was_overtaken_behind_the_point_looks_lost(self):
        self.check_case('overtaken_behind', {NAKED, *certain(('lost_after_capture', 'lost_behind'),
                                                             ('retransmission', 'nak'))},
                        '1 packet was lost behind the capture point, or overtaken there')


class WithoutTheWhole(Case):
    def test_a_capture_without_icrcs(self):
        for name in ('sender_side_no_icrc_clean', 'icrc_off_both_ways', 'icrc_zero_8_frames'):
            with self.subTest(name):
                self.check_case(name, certain(('no_icrcs', 'none')), 'nothing was lost')

    def test_a_capture_that_begins_within_a_recovery_misses_nothing(self):
        self.check_case('begins_within_recovery',
                        {NAKED, *certain(('retransmission', 'nak'))}, 'That made the sender retransmit 1 packet')

    def test_a_capture_that_lost_frames_names_no_timer(self):
        causes = {(row['cause'], row['certainty']) for row in
                  rows('anomalies', CASES / 'capture_lost_30.pcap.gz', '--kind', 'retransmission')}
        self.assertNotIn(('timer', 'certain'), causes)


if __name__ == '__main__':
    longwire_test.main()
