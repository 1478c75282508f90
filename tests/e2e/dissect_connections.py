# SPDX-License-Identifier: BSD-3-Clause
"""Connections that roce-dissect tells apart: a QP that is used again, pairs of directions that a NAK
shows or that are a guess, frames whose order is not that of their stamps, and two clocks. Captures
of pcaps/cases, and siblings of them with known truth, which are composed here."""

import itertools
import random
import unittest

import longwire_test
from conversation import READ, Conversation
from dissect_analysis import InFolder, dissect, rows
from dissect_cases import CASES
from dissect_explain import explained
from many_qps import ack, nak, write
from pcap_file import write_pcap
from pcapng_file import write_pcapng


def case(name):
    path, = CASES.glob(f'{name}.pcap*')
    return path


def kinds(path):
    return {(row['kind'], row['cause']) for row in rows('anomalies', path)}


class Restarts(InFolder):
    def sessions_of(self, path):
        return [(row['requests'], row['messages'], row['retransmitted'], row['duplicates'])
                for row in rows('connections', path)]

    def saved(self, talk):
        return talk.save(self.folder / 'talk.pcap')

    def test_after_the_last_answer_was_lost(self):
        path = case('qp_killed_and_restarted')
        self.assertEqual(self.sessions_of(path), [(30, 30, 0, 0)] * 2)
        self.assertEqual(kinds(path), {('unanswered', 'none')})

    def test_further_on_and_back_again(self):
        path = case('qp_used_three_times')
        self.assertEqual(self.sessions_of(path), [(100, 100, 0, 0)] * 3)
        self.assertEqual(kinds(path), set())

    def connection(self, talk, first, count=20, wait=1, answered=True):
        for psn in range(first, first + count):
            talk.request(psn, wait=wait if psn == first else 1)
            if answered:
                talk.answer(psn, wait=5, msn=psn - first + 1)

    def test_within_the_psns_of_the_last_connection(self):
        talk = Conversation()
        self.connection(talk, 1000)
        self.connection(talk, 1010, wait=100_000)
        self.assertEqual(self.sessions_of(self.saved(talk)), [(20, 20, 0, 0)] * 2)

    def test_with_several_requests_that_got_no_answer(self):
        talk = Conversation()
        self.connection(talk, 0)
        talk.requests(20, 24)
        self.connection(talk, 0, wait=20_000)
        path = self.saved(talk)
        self.assertEqual([found[0] for found in self.sessions_of(path)], [24, 20])
        self.assertEqual(kinds(path), set())

    def test_at_once_where_the_sender_numbers_its_packets_anew(self):
        talk = Conversation(counted=True)
        self.connection(talk, 0, count=30)
        talk.request(30)
        talk.number = 0
        self.connection(talk, 0, wait=50)
        self.assertEqual([found[0] for found in self.sessions_of(self.saved(talk))], [31, 20])

    def test_of_a_capture_without_answers(self):
        for anew, sessions in ((True, 2), (False, 1)):
            with self.subTest(anew=anew):
                talk = Conversation(counted=True)
                self.connection(talk, 0, answered=False)
                if anew:
                    talk.number = 0
                self.connection(talk, 0, wait=3_000_000, answered=False)
                self.assertEqual(len(self.sessions_of(self.saved(talk))), sessions)

    def test_a_sender_that_goes_back_to_its_first_psn_is_the_same(self):
        """After 100 ms of silence a timer repeats all; the answers' MSNs go on."""
        talk = Conversation()
        for psn in range(10):
            talk.request(psn)
            talk.answer(psn, wait=5)
        talk.requests(0, 10, wait=10_000)
        for psn in range(10):
            talk.answer(psn, wait=5, msn=10)
        session, = rows('connections', self.saved(talk))
        self.assertEqual(session['retransmitted'], 10)

    def test_a_loss_before_the_point_is_no_restart(self):
        talk = Conversation()
        self.connection(talk, 0)
        talk.requests(40, 60, wait=1000)
        talk.answer(59, msn=60)
        self.assertEqual(len(rows('connections', self.saved(talk))), 1)


class Pairs(InFolder):
    def paired(self, path):
        return [(row['to_qp'] - row['from_qp'], row['paired_by']) for row in rows('connections', path)]

    def guesses(self, path):
        return [said['events'] for said in explained(path)['statements']
                if said['topic'] == 'paired_by_guess']

    def test_a_nak_belongs_to_the_flow_that_repeats_what_it_asks_for(self):
        path = case('nak_of_eight_qps')
        self.assertIn((0x903 - 0x103, 'NAK'), self.paired(path))
        self.assertEqual(kinds(path), {('nak', 'nak'), ('lost_after_capture', 'lost_behind'),
                                       ('retransmission', 'nak')})
        self.assertEqual(self.guesses(path), [7])

    def qps(self, ports, first_psns):
        """20 messages of four QPs in turns, whose first PSNs and UDP ports are given."""
        frames, at = [], 0
        for message in range(20):
            for add, words in ((write, ()), (ack, (message + 1,))):
                for qp in range(4):
                    at += 1000
                    frames.append(add(at, 0x20 + qp, first_psns[qp] + message, ports[qp], *words))
        path = self.folder / 'qps.pcap'
        write_pcap(path, frames)
        return path

    def test_only_a_guess_is_said_to_be_one(self):
        for ports, psns, by in (([50_000] * 4, [0] * 4, 'order'),
                                ([50_000 + i for i in range(4)], [0] * 4, 'source port'),
                                ([50_000] * 4, [1000 * i for i in range(4)], 'responses')):
            with self.subTest(by):
                path = self.qps(ports, psns)
                self.assertEqual(self.paired(path), [(0, by)] * 4)
                self.assertEqual(self.guesses(path), [4] if by == 'order' else [])

    def test_a_pair_is_decided_again_if_the_first_response_fits_another(self):
        """The capture lacks the first request of the second QP, whose ACK then fits the first QP's
        alone; later ones come before what that has sent."""
        frames, sent = [write(0, 0x20, 0, 50_001), ack(1000, 0x21, 0, 60_002, 1),
                        ack(2000, 0x20, 0, 60_001, 1)], [1, 1]
        for at in range(10_000, 400_000, 10_000):
            qp = int(at % 30_000 > 0)  # the second QP sends twice as much
            frames += [write(at, 0x20 + qp, sent[qp], 50_001 + qp),
                       ack(at + 5000, 0x20 + qp, sent[qp], 60_001 + qp, sent[qp] + 1)]
            sent[qp] += 1
        path = self.folder / 'first.pcap'
        write_pcap(path, frames)
        self.assertEqual(self.paired(path), [(0, 'responses')] * 2)

    def test_a_nak_may_ask_for_a_request_that_was_lost_before_the_point(self):
        frames = [write(0, 0x20, 0, 50_001), ack(1000, 0x20, 0, 60_001, 1), write(2000, 0x20, 1, 50_001),
                  write(3000, 0x21, 1, 50_002), nak(4000, 0x21, 0, 60_002, 0)]
        for message in range(10):
            frames += [write(10_000 + 4000 * message, 0x21, message, 50_002),
                       ack(12_000 + 4000 * message, 0x21, message, 60_002, message + 1)]
        frames.append(ack(90_000, 0x20, 1, 60_001, 2))
        path = self.folder / 'nak.pcap'
        write_pcap(path, frames)
        self.assertEqual([qps for qps, _ in self.paired(path)], [0, 0])

    def test_what_comes_behind_a_return_to_the_first_psn_still_decides(self):
        """Two QPs write 20 packets each before a NAK has the second one begin again: by then, both
        have sent all that is answered."""
        frames = [write(100 * (2 * psn + qp), 0x20 + qp, psn, 50_001 + qp)
                  for psn in range(20) for qp in range(2)]
        frames += [nak(8000, 0x21, 0, 60_002, 0)]
        frames += [write(9000 + 100 * psn, 0x21, psn, 50_002) for psn in range(20)]
        for psn in range(20):
            frames.append(ack(20_000 + 500 * psn, 0x20, psn, 60_001, psn + 1))
            frames.append(ack(20_100 + 500 * psn, 0x21, psn, 60_002, psn + 1))
        for psn in range(20, 60):  # the second one only
            frames += [write(21_000 + 1000 * psn, 0x21, psn, 50_002),
                       ack(21_500 + 1000 * psn, 0x21, psn, 60_002, psn + 1)]
        path = self.folder / 'again.pcap'
        write_pcap(path, frames)
        self.assertEqual([qps for qps, _ in self.paired(path)], [0, 0])


class StampOrder(InFolder):
    SORTED = 'frames are followed in the order of their stamps'

    def said(self, path):
        return [line for line in explained(path)['overview'] if self.SORTED in line]

    def test_queues_that_write_a_file_in_turns(self):
        path = case('queues_in_turns')
        self.assertEqual(kinds(path), {('window_plateau', 'none')})
        self.assertEqual(len(self.said(path)), 1)
        self.assertEqual(dissect('connections', path).stderr.count(self.SORTED), 1)

    def in_batches(self, frames, sizes):
        """The file of a card with a queue for each direction, which are read in turns."""
        made, batch = [], []
        for frame in frames:
            batch.append(frame)
            if len(batch) == next(sizes):
                made += sorted(batch, key=lambda entry: entry[1][5] == 2)
                batch = []
        return made + batch

    def test_results_are_those_of_the_sorted_file(self):
        talk = Conversation()
        for psn in range(400):
            if psn % 57 == 9:
                talk.request(psn + 1)
                talk.nak(psn)
                talk.request(psn)
            talk.request(psn)
            talk.answer(psn, wait=3)
        once = talk.save(self.folder / 'once.pcap')
        draw = random.Random(5)
        path = self.folder / 'batches.pcap'
        write_pcap(path, self.in_batches(talk.frames, (draw.randint(2, 40) for _ in itertools.count())))
        self.assertEqual(len(self.said(path)), 1)
        skipped = ('frame', 'last_frame', 'related_frame', 'detail', 'first_frame')
        for command in ('connections', 'anomalies'):
            for jobs in (1, 2):
                found, wanted = ([{key: value for key, value in row.items() if key not in skipped}
                                  for row in rows(command, source, '--jobs', jobs)]
                                 for source in (path, once))
                self.assertEqual(found, wanted)

    def test_a_clock_that_steps_back_does_not_change_the_order(self):
        talk = Conversation()
        for psn in range(200):
            talk.request(psn)
            talk.answer(psn, wait=5)
        frames = [(stamp - (300_000 if number > 210 else 0), frame)
                  for number, (stamp, frame) in enumerate(talk.frames)]
        path = self.folder / 'step.pcap'
        write_pcap(path, frames)
        self.assertEqual(self.said(path), [])
        self.assertEqual(kinds(path), set())


class Clocks(InFolder):
    SKEWED = 'Answers have earlier stamps than their requests: two clocks'

    def skewed(self, early_us, by_stamps, opcode=None):
        """Two interfaces, of which the one with the answers has a clock that is behind. The file is
        in the order of capture, or in that of the stamps."""
        talk = Conversation()
        for psn in range(300):
            if opcode == READ:
                talk.request(psn, opcode=READ)
                talk.response(psn, wait=5)
            else:
                talk.request(psn)
                talk.answer(psn, wait=5)
        frames = [(frame[5] == 1, stamp - (early_us * 1000 if frame[5] == 1 else 0), frame)
                  for stamp, frame in talk.frames]
        if by_stamps:
            frames.sort(key=lambda entry: entry[1])
        path = self.folder / 'skewed.pcapng'
        write_pcapng(path, ['there', 'back'], [(int(back), stamp + 10**9, frame)
                                               for back, stamp, frame in frames])
        return path

    def test_a_constant_skew_is_named_and_taken_out(self):
        for early, by_stamps, opcode in ((25, True, None), (25, False, None), (900, True, READ),
                                         (1500, True, None)):
            with self.subTest(early=early, by_stamps=by_stamps):
                path = self.skewed(early, by_stamps, opcode)
                said, = (line for line in explained(path)['overview'] if self.SKEWED in line)
                self.assertIn('from 192.0.2.2 to 192.0.2.1', said)
                moved = f'{early - 5} us' if early < 1000 else '1.495 ms'
                self.assertIn(f'moved by {moved},', said)
                self.assertEqual({row['kind'] for row in rows('anomalies', path)} - {'window_plateau'},
                                 set())
                session, = rows('connections', path)
                self.assertEqual(session['messages'], 300)

    def test_clocks_that_agree_well_enough_are_not_called_two(self):
        path = self.skewed(4, True)
        self.assertFalse([line for line in explained(path)['overview'] if self.SKEWED in line])


if __name__ == '__main__':
    longwire_test.main()
