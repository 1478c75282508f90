# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect on captures of a part of what passed: one direction, from the middle of a connection on,
the first bytes of each frame, or without some frames."""

import itertools

import longwire_test
from conversation import MTU, NOT_READY, SEND, Conversation
from dissect_analysis import rows
from dissect_siblings import Sibling, first_time
from pcap_file import write_pcap
from two_ends import TwoEnds


class OneDirection(Sibling):
    def test_of_requests_no_cause_is_certain(self):
        for ahead, behind in ((None, 0), (0, None)):
            for options in self.each_sender():
                ends = TwoEnds(600, fate=first_time(ahead, behind, (20, 90, 150)), **options).run()
                found = self.one_way(ends, 1)
                self.assertEqual({certainty for _, certainty in self.causes(found)}, {'either'})
                self.assertNotIn('lost_after_capture', {row['kind'] for row in found})

    def test_of_answers_only_naks_are_told(self):
        for options in self.each_sender():
            ends = TwoEnds(200, fate=first_time(0, None, (20, 90, 150)), **options).run()
            self.assertEqual({row['kind'] for row in self.one_way(ends, 2)}, {'nak'})


class RequestsOnly(Sibling):
    """Without answers, a sender shows what it heard only by what it repeats."""

    def sent(self, *bursts, counted=False):
        """Each burst, of PSNs, comes 5 ms after the one before."""
        talk = Conversation(counted)
        for burst in bursts:
            talk.at += 5000
            for psn in burst:
                talk.request(psn)
        return rows('anomalies', talk.save(self.folder / 'requests.pcap'))

    def gaps(self, found, certainty):
        return sorted(psn for row in found if row['kind'] == 'psn_gap' and row['certainty'] == certainty
                      for psn in range(row['psn'], row['psn'] + row['packets']))

    def test_what_is_repeated_later_was_not_acknowledged(self):
        again = (*range(20, 23), *range(25, 40))
        for later, certain in ((), []), (range(23, 40), [23, 24]), (range(24, 40), [24]), (range(25, 40), []):
            found = self.sent(range(40), again, later)
            self.assertEqual(self.gaps(found, 'certain'), certain, later)
            self.assertEqual(self.gaps(found, 'either'), sorted({23, 24} - set(certain)), later)

    def test_a_recovery_goes_on_with_what_was_skipped_before(self):
        found = self.sent((*range(20), *range(24, 30)), (*range(10, 16), *range(20, 30)), range(14, 30))
        self.assertEqual(self.gaps(found, 'certain'), [*range(16, 20), *range(20, 24)])

    def test_a_recovery_that_begins_behind_a_gap_lost_its_begin(self):
        first, again = (*range(10), *range(12, 30)), range(14, 30)
        self.assertEqual(self.gaps(self.sent(first, again), 'certain'), [])
        self.assertEqual(self.gaps(self.sent(first, again, range(10, 30)), 'certain'), [10, 10, 11, 11, 12, 13])

    def test_the_end_of_a_recovery_is_lost(self):
        found = self.sent(range(40), range(20, 36), range(40, 50), range(30, 50))
        self.assertEqual(self.gaps(found, 'certain'), [36, 37, 38, 39])

    def test_what_fills_a_gap_alone_is_late_or_was_lost(self):
        found = self.sent((*range(10), *range(11, 20)), (10,), range(20, 30))
        self.assertEqual(self.gaps(found, 'either'), [10])
        self.assertEqual(self.causes(found), {('none', 'either')})

    def test_what_is_repeated_behind_a_late_packet_was_discarded(self):
        first = (*range(10), 11, 12, 10, *range(13, 20))
        found = self.sent(first, range(11, 20))
        self.assertEqual(self.psns(found, 'out_of_order', 'none'), {10})
        self.assertNotIn('psn_gap', {row['kind'] for row in found})
        # Another recovery came first.
        found = self.sent(first, range(8, 20), range(11, 20))
        self.assertEqual(self.psns(found, 'out_of_order', 'none'), set())

    def test_a_sender_that_goes_back_sends_no_packet_alone(self):
        back = [burst for _ in range(5) for burst in (range(60), range(30, 60))]
        late = self.sent(*back, (*range(60, 70), 71, 72, 70, 73, 74, 75))
        self.assertEqual(self.psns(late, 'out_of_order', 'none'), {70})
        # 71 is lost once more.
        again = self.sent(*back, (*range(60, 70), *range(71, 76)), (70, *range(72, 76)))
        self.assertNotIn('out_of_order', {row['kind'] for row in again})
        self.assertIn(70, [row['psn'] for row in again if row['kind'] == 'retransmission'])


class BeginsWithin(Sibling):
    """A capture begins behind a NAK, within a burst. The recovery repeats what was sent before the
    capture, and loses a packet: nothing was late, and nothing else lost."""

    def burst(self, lost_again, **options):
        def fate(psn, turn):
            return None if (psn, turn) == (lost_again, 1) else 0, None if (psn, turn) == (20, 0) else 0
        ends = TwoEnds(300, fate=fate, **options).run()
        nak = next(at for at, (_, frame) in enumerate(ends.talk.frames) if frame[54:55] == bytes([0x60]))
        ends.talk.frames = ends.talk.frames[nak + 1:]
        return ends

    def test_what_was_sent_before_was_not_late(self):
        for counted, ask_every in itertools.product((False, True), (1, 8)):
            options = {'counted': counted, 'ask_every': ask_every}
            begin = self.burst(None, **options).talk.frames[0][1][53]
            for lost_again in (None, begin, begin + 1):
                with self.subTest(lost_again=lost_again, begin=begin, **options):
                    found = [row for row in self.found(self.burst(lost_again, **options))
                             if row['certainty'] == 'certain']
                    self.assertNotIn('out_of_order', {row['kind'] for row in found})
                    self.assertLessEqual(self.psns(found, 'psn_gap', 'lost_before'), {lost_again})

    def test_an_ack_may_be_for_what_was_sent_before(self):
        """The capture begins with a repetition of what was acknowledged before."""
        for first, claims in (100, 0), (0, 1):
            talk = Conversation()
            talk.requests(first, first + 3)
            talk.answer(first, 10)
            talk.answer(first + 9, msn=10)  # without a higher PSN before 100, nothing was sent before
            talk.requests(first + 3, first + 12)
            talk.answer(first + 11, 10, msn=12)
            found = rows('anomalies', talk.save(self.folder / 'early.pcap'))
            self.assertEqual([row['kind'] for row in found].count('ack_of_unsent'), claims, first)

    def test_what_was_answered_before_the_gap_showed_was_sent_before(self):
        """The capture begins with a packet that is sent again alone."""
        for first, answer, lost in (100, 103, False), (97, 100, True):
            talk = Conversation()
            talk.requests(first, 101)
            talk.answer(100, 10, msn=1)
            talk.answer(answer, msn=4)
            talk.requests(107, 112)
            talk.answer(111, 10, msn=12)
            self.assertEqual('psn_gap' in {row['kind'] for row in self.joined(talk)}, lost, first)

    def test_a_recovery_of_before_jumps_to_what_was_not_acknowledged(self):
        """An ACK of packets that were sent before the capture comes within it."""
        talk = Conversation()
        talk.requests(97, 103)
        talk.answer(110, msn=8)
        talk.requests(103, 106)
        talk.requests(111, 118)
        talk.answer(117, 10, msn=15)
        self.assertEqual({row['kind'] for row in self.joined(talk)}, set())

    def test_a_long_recovery_of_before_jumps_to_what_was_not_acknowledged(self):
        """Answers to what it repeats have come by then."""
        talk = Conversation()
        for psn in range(97, 105):
            talk.request(psn)
            talk.answer(psn, 2, msn=90)
        talk.answer(120, msn=95)
        talk.requests(121, 128, wait=4)
        talk.answer(127, 10, msn=102)
        self.assertNotIn('psn_gap', {row['kind'] for row in self.joined(talk)})

    def joined(self, talk):
        return rows('anomalies', talk.save(self.folder / 'joined.pcap'))

    def test_a_response_between_two_in_a_row_was_lost(self):
        """Whatever came before the capture: a responder sends all of an answer."""
        talk = Conversation()
        talk.answer(99, msn=90)
        talk.read(100, 0, 4 * MTU)
        talk.responses(100, 4, 91, 20)
        del talk.frames[-2]
        talk.read(102, 2 * MTU, 2 * MTU, 30)
        talk.responses(102, 2, 91, 20)
        self.assertEqual(self.psns(self.joined(talk), 'psn_gap', 'lost_before'), {102})

    def test_a_nak_within_a_recovery_of_before_shows_no_overtaking(self):
        """A receiver that keeps what comes behind a gap asks for 101 when 100 comes; both are repeated."""
        talk = Conversation(True)
        talk.answer(99, msn=90)
        talk.requests(100, 120)
        talk.answer(100, 20, msn=91)
        talk.nak(101)
        talk.answer(105, msn=96)
        talk.answer(119, msn=110)
        talk.requests(120, 140)
        talk.nak(130, 20)
        talk.request(130, 20)
        talk.requests(140, 150)
        talk.answer(149, 20)
        found = self.joined(talk)
        self.assertEqual({row['psn'] for row in found if row['kind'] != 'nak'}, {130})

    def test_a_nak_from_before_the_first_request_is_repeated(self):
        """The recovery answers the first one, and comes too soon after the second."""
        talk = Conversation(True)
        talk.answer(79, msn=8)
        talk.nak(80)
        talk.requests(85, 88)
        talk.nak(80, 4)
        talk.request(80, 2)
        talk.requests(81, 88)
        talk.answer(87, 10)
        talk.requests(88, 95)
        talk.number += 1
        talk.requests(96, 100)
        talk.nak(95, 1)
        talk.request(95, 9)
        talk.requests(96, 104)
        talk.answer(103, 10)
        self.assertNotIn('out_of_order', {row['kind'] for row in self.joined(talk)})

    def test_a_recovery_from_before_skips_what_was_acknowledged(self):
        """The sender's numbers leave none for it, before the first new packet shows that they count up."""
        talk = Conversation(True)
        talk.answer(99, msn=90)
        for first, end in ((100, 120), (110, 111), (118, 120)):
            talk.requests(first, end)
            talk.at += 20
        talk.answer(119, 20)
        for first in (120, 140):  # its recoveries repeat all
            talk.requests(first, first + 20)
            talk.nak(first + 10, 10)
            talk.requests(first + 10, first + 20, wait=5)
            talk.answer(first + 19, 10)
        self.assertNotIn('lost_before', {row['cause'] for row in self.joined(talk) if row['certainty'] == 'certain'})

    def test_responses_before_the_first_one_may_have_passed(self):
        """Of three atomics, which were sent before, too, the third is answered first."""
        talk = Conversation()
        for psn in range(100, 103):
            talk.fetch_add(psn, 8 * psn)
        talk.atomic_ack(102, 90, 10)
        talk.at += 5000
        for psn in range(100, 103):
            talk.fetch_add(psn, 8 * psn)
        for psn in range(100, 103):
            talk.atomic_ack(psn, 90, 10)
        self.assertNotIn('psn_gap', {row['kind'] for row in self.joined(talk)})

    def test_responses_that_came_before_their_requests_were_answered_before(self):
        """Atomics are repeated whose answers, of before, were captured."""
        talk = Conversation()
        for psn in range(100, 106):
            talk.atomic_ack(psn, 90)
        talk.at += 5000
        for psn in range(100, 108):
            talk.fetch_add(psn, 8 * psn)
        talk.atomic_ack(106, 91, 10)  # what is before was lost behind the capture point
        talk.at += 5000
        for psn in range(100, 108):
            talk.fetch_add(psn, 8 * psn)
        for psn in range(100, 108):
            talk.atomic_ack(psn, 92, 10 if psn == 100 else 1)
        self.assertNotIn('psn_gap', {row['kind'] for row in self.joined(talk)})

    def test_what_a_nak_names_before_the_gap_shows_was_missed_before(self):
        """The sender repeats 100 alone, behind packets that are new."""
        for after, gaps in (0, 0), (30, 1):
            talk = Conversation()
            talk.answer(98, msn=90)
            talk.requests(99, 100)
            talk.answer(99, 10, msn=91)
            talk.at += 40
            if after == 0:
                talk.nak(100)
            talk.requests(112, 118)
            if after:
                talk.at += after
                talk.nak(100)
            talk.request(100, 40)
            talk.answer(117, 10, msn=100)
            found = [row for row in self.joined(talk) if row['kind'] == 'psn_gap' and row['psn'] == 100]
            self.assertEqual(len(found), gaps, after)

    def test_its_recovery_may_have_been_asked_for_before(self):
        """No answer passes before the recovery: its NAK came before the capture."""
        for counted, before in itertools.product((False, True), (4, 8, 12)):
            ends = TwoEnds(300, behind=40, counted=counted, ask_every=1, reaction=60,
                           fate=lambda psn, turn: (0, None if (psn, turn) == (20, 0) else 0)).run()
            frames = ends.talk.frames
            again = [at for at, (_, frame) in enumerate(frames) if frame[11] == 1 and frame[53] == 20][1]
            ends.talk.frames = [frame for frame in frames[again - before:again] if frame[1][11] == 1] + frames[again:]
            found = [row for row in self.found(ends) if row['kind'] == 'retransmission']
            self.assertEqual([(row['cause'], row['certainty']) for row in found], [('timer', 'either')], before)


class CutFrames(Sibling):
    """The first 64 bytes of each frame, which lack RETHs."""

    def test_a_nak_of_a_psn_behind_that_of_a_read(self):
        """The READ seems to take the PSNs that were lost before the capture point."""
        for lost in (1, 3):
            talk = Conversation()
            talk.requests(0, 10)
            talk.answer(9, 10)
            talk.read(10, 0x1000, MTU)
            talk.requests(11 + lost, 16)
            talk.responses(10, 1, 11, 10)
            talk.nak(11)
            talk.requests(11, 20, wait=2)
            talk.answer(19, 10)
            path = self.folder / 'cut.pcap'
            write_pcap(path, talk.frames, 64)
            self.assertNotIn('lost_after_capture', {row['kind'] for row in rows('anomalies', path)}, lost)

    def test_the_first_packet_of_the_message_behind_a_read_is_lost(self):
        """What goes on with the message shows it, and so does its repetition."""
        for lost, begins in itertools.product((1, 3), (False, True)):
            talk = Conversation()
            talk.requests(0, 10)
            talk.answer(9, 10)
            talk.read(10, 0x1000, MTU)
            at = len(talk.frames)
            if begins:  # the READ seems to take the PSNs of whole messages
                talk.requests(11, 16)
            else:
                talk.write(11, 0x1000, bytes(5 * MTU))
            del talk.frames[at:at + lost]
            talk.requests(16, 18)
            talk.responses(10, 1, 11, 10)
            talk.nak(11)
            if begins:
                talk.requests(11, 16, wait=30)
            else:
                talk.write(11, 0x1000, bytes(5 * MTU), 30)
            talk.requests(16, 20)
            talk.answer(19, 30)
            path = self.folder / 'cut.pcap'
            write_pcap(path, talk.frames, 64)
            found = rows('anomalies', path)
            self.assertEqual({row['kind'] for row in found}, {'nak', 'psn_gap', 'retransmission'}, (lost, begins))
            self.assertEqual(self.psns(found, 'psn_gap', 'lost_before'), set(range(11, 11 + lost)))
            self.assertEqual([row['packets'] for row in found if row['kind'] == 'retransmission'], [7])

    def test_a_read_behind_a_read_is_lost(self):
        """The response shows that the PSNs behind it are not its own."""
        for lost in (1, 2):
            talk = Conversation()
            talk.requests(0, 10)
            talk.answer(9, 10)
            for psn in range(10, 16):
                talk.read(psn, 0x1000 * psn, MTU)
            del talk.frames[12:12 + lost]
            talk.responses(10, 1, 11, 10)
            talk.nak(11)
            for psn in range(11, 16):
                talk.read(psn, 0x1000 * psn, MTU, 30 if psn == 11 else 1)
            for psn in range(11, 16):
                talk.responses(psn, 1, psn + 1, 10 if psn == 11 else 1)
            talk.requests(16, 20)
            talk.answer(19, 10)
            path = self.folder / 'cut.pcap'
            write_pcap(path, talk.frames, 64)
            self.assertEqual(self.psns(rows('anomalies', path), 'psn_gap', 'lost_before'), set(range(11, 11 + lost)))

    def test_parts_of_a_read_are_asked_for_again(self):
        """Another PSN than the READ's shows that it is no copy; the end of each answer, what it asked for."""
        for parts in ((12, 15), (13, 14, 18)):
            talk = Conversation()
            talk.requests(0, 10)
            talk.answer(9, 10)
            talk.read(10, 0x1000, 10 * MTU)
            talk.responses(10, 10, 11, 10)
            talk.requests(20, 24)
            for psn in parts:  # lost behind the capture point
                talk.read(psn, 0x1000 + (psn - 10) * MTU, MTU, 30)
                talk.responses(psn, 1, 11, 10)
            talk.answer(23, 10)
            path = self.folder / 'cut.pcap'
            write_pcap(path, talk.frames, 64)
            found = rows('anomalies', path)
            self.assertEqual({row['kind'] for row in found}, {'retransmission'}, parts)
            asked = [row['psn'] for row in found if row['role'] == 'request']
            self.assertEqual(asked, list(parts))

    def test_a_read_behind_a_read_is_lost_and_the_receiver_is_not_ready(self):
        """The READ in front seems to take its PSN, until both are sent again."""
        talk = Conversation()
        talk.requests(0, 10)
        talk.answer(9, 10)
        for again in range(4):
            talk.request(10, 30, SEND)
            for psn in range(11, 15):
                talk.read(psn, 0x1000 * psn, MTU)
            if again == 0:
                del talk.frames[-2]
            talk.request(15, opcode=SEND)
            talk.nak(10, 10, NOT_READY)
        path = self.folder / 'cut.pcap'
        write_pcap(path, talk.frames, 64)
        found = [row for row in rows('anomalies', path) if row['kind'] == 'retransmission']
        self.assertEqual([(row['psn'], row['packets'], row['cause']) for row in found], [(10, 6, 'rnr')] * 3)

    def test_a_late_read_fills_the_gap_before_the_next_request(self):
        talk = Conversation()
        talk.requests(0, 10)
        talk.answer(9, 10)
        talk.requests(14, 18)
        talk.read(10, 0x1000, 4 * MTU, 2)
        talk.requests(18, 20)
        talk.responses(10, 4, 11, 10)
        talk.answer(19, msn=17)
        path = self.folder / 'cut.pcap'
        write_pcap(path, talk.frames, 64)
        self.assertEqual({row['kind'] for row in rows('anomalies', path)}, {'out_of_order'})


class CaptureLoss(Sibling):
    def test_the_capture_misses_frames(self):
        """One in 3, 10 or 50 frames is missing; nothing is lost, and nothing is sent again."""
        for every in (3, 10, 50):
            for options in self.each_sender():
                ends = TwoEnds(400, gap=3, **options).run()
                ends.talk.frames = [frame for number, frame in enumerate(ends.talk.frames)
                                    if number % every != every - 1]
                found = self.found(ends)
                self.assertEqual({(row['kind'], row['cause']) for row in found
                                  if row['certainty'] == 'certain'},
                                 {('psn_gap', 'missing_in_capture')})


if __name__ == '__main__':
    longwire_test.main()
