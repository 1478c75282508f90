# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect on READs and atomics whose answers are lost, late, copied or come again, frame by frame."""

import itertools

import longwire_test
from conversation import MTU, READ_RESPONSES, Conversation, aeth, bth
from dissect_analysis import rows
from dissect_explain import explained
from dissect_siblings import LOSSES, Sibling


class LateResponses(Sibling):
    """One response is overtaken, and the requester asks again from there, or has it in time."""

    def found_for(self, late, overtaken_by, again, counted):
        """8 READs of 4 packets are outstanding. Response packet `late` comes behind `overtaken_by`
        later ones. `again`: the requester asks again 60 us after the gap."""
        talk = Conversation(counted)
        for psn in range(0, 32, 4):
            talk.read(psn, 0x1000 * psn, 4096)
        read = late - late % 4
        for first in range(0, 32, 4):
            talk.responses(first, 4, first // 4 + 1, 20 if first == 0 else 1)
        frames = talk.frames[8:]
        at = late + overtaken_by
        moved = [*frames[:late], *frames[late + 1:at + 1], frames[late], *frames[at + 1:]]
        talk.frames[8:] = [(stamp, frame) for (stamp, _), (_, frame) in zip(frames, moved)]
        if again:
            for psn in range(read, 32, 4):
                skip = late - read if psn == read else 0
                talk.read(psn + skip, 0x1000 * psn + 1024 * skip, 4096 - 1024 * skip, 60 if skip or psn == late else 1)
            self.answer_again(talk, late)
        return rows('anomalies', talk.save(self.folder / 'late.pcap'))

    @staticmethod
    def answer_again(talk, late):
        """The responder sends packet `late` and all behind it once more."""
        for psn in range(late, 32):
            opcode = READ_RESPONSES + (0 if psn % 4 == 0 else 2 if psn % 4 == 3 else 1)
            opcode = READ_RESPONSES + (3 if psn % 4 == 3 else 0) if psn == late else opcode
            head = b'' if opcode == READ_RESPONSES + 1 else aeth(psn // 4 + 1 + 7 * (psn < 28))
            talk.add('answer', bth(opcode, 0x11, psn) + head + bytes(MTU), 20 if psn == late else 1)

    def test_of_answers_only(self):
        """Rising IP identifications tell a late response from one that was lost and sent again, also
        the first or last one of a READ, before which no gap shows."""
        for late, by, lost in itertools.product((12, 13, 15), (1, 5), (False, True)):
            with self.subTest(late=late, by=by, lost=lost):
                talk = Conversation(True)
                for first in range(0, 32, 4):
                    talk.responses(first, 4, first // 4 + 1, 20 if first == 0 else 1)
                frames = talk.frames
                moved = [*frames[:late], *frames[late + 1:late + by + 1], frames[late], *frames[late + by + 1:]]
                if lost:
                    del talk.frames[late]
                    self.answer_again(talk, late)
                else:
                    talk.frames = [(stamp, frame) for (stamp, _), (_, frame) in zip(frames, moved)]
                told = [row for row in rows('anomalies', talk.save(self.folder / 'answers.pcap'))
                        if row['kind'] != 'retransmission']
                self.assertTrue(all(lost or row['related_frame'] < row['frame'] for row in told))
                found = [(row['kind'], row['psn'], row['packets'], row['certainty'], row['cause']) for row in told]
                self.assertEqual(found, [('psn_gap', late, 1, 'certain', 'lost_before')] if lost else
                                        [('out_of_order', late, 1, 'certain', 'none')])

    def test_of_answers_that_began_before_the_capture(self):
        for late in (8, 13):
            talk = Conversation(True)
            for first in range(0, 32, 4):
                talk.responses(first, 4, first // 4 + 1, 20 if first == 0 else 1)
            talk.frames = talk.frames[18:]
            self.answer_again(talk, late)
            found = rows('anomalies', talk.save(self.folder / 'answers.pcap'))
            self.assertEqual({row['kind'] for row in found}, {'retransmission'})

    def test_it_comes_in_time(self):
        for late, by, counted in itertools.product((4, 6), (1, 5), (False, True)):
            found = self.found_for(late, by, False, counted)
            self.assertEqual([(row['kind'], row['role'], row['psn'], row['certainty']) for row in found],
                             [('out_of_order', 'response', late, 'certain')])

    def test_of_a_read_that_was_sent_three_times(self):
        """Its response comes once. A responder sends it in a row, so what comes between others was late."""
        for late, by, counted in itertools.product((2, 4), (1, 3), (False, True)):
            talk = Conversation(counted)
            for wait in (1, 2000, 2000):
                talk.read(0, 0, 8 * MTU, wait)
            talk.responses(0, 8, 1, 20)
            frames = talk.frames[3:]
            moved = [*frames[:late], *frames[late + 1:late + by + 1], frames[late], *frames[late + by + 1:]]
            talk.frames[3:] = [(stamp, frame) for (stamp, _), (_, frame) in zip(frames, moved)]
            talk.read(8, 8 * MTU, 4 * MTU)
            talk.responses(8, 4, 2, 20)
            found = rows('anomalies', talk.save(self.folder / 'late.pcap'))
            self.assertEqual([row['psn'] for row in found if row['kind'] == 'out_of_order'], [late])
            self.assertNotIn('psn_gap', {row['kind'] for row in found})

    def test_the_first_response_of_a_repeated_answer(self):
        """Another answer may begin with it as well: the response behind it tells."""
        for by in (1, 3):
            talk = Conversation()
            talk.read(0, 0, 8 * MTU)
            talk.read(8, 8 * MTU, 4 * MTU)
            talk.responses(0, 8, 1, 20)
            talk.responses(8, 4, 2)
            talk.read(0, 0, 8 * MTU, 2000)
            talk.read(8, 8 * MTU, 4 * MTU)
            begin = len(talk.frames)
            talk.responses(0, 8, 2, 20)
            talk.responses(8, 4, 2)
            frames = talk.frames[begin:]
            moved = [*frames[1:by + 1], frames[0], *frames[by + 1:]]
            talk.frames[begin:] = [(stamp, frame) for (stamp, _), (_, frame) in zip(frames, moved)]
            found = rows('anomalies', talk.save(self.folder / 'first.pcap'))
            self.assertEqual({row['kind'] for row in found}, {'retransmission'})

    def test_the_requester_asks_again_for_nothing(self):
        for late, by, counted in itertools.product((4, 6), (1, 5), (False, True)):
            with self.subTest(late=late, by=by, counted=counted):
                found = self.found_for(late, by, True, counted)
                self.assertEqual(self.causes(found), {('late_not_lost', 'certain')})
                self.assertEqual(self.causes(found, 'out_of_order'), {('none', 'certain')})
                self.assertEqual(LOSSES & {row['kind'] for row in found}, set())


class AnswersOnly(Sibling):
    """8 READs of 4 packets; no request was captured, and IP identifications are all equal."""

    def told(self, change):
        """`change(talk)`: after the whole answers, of 32 frames."""
        talk = Conversation()
        for first in range(0, 32, 4):
            talk.responses(first, 4, first // 4 + 1, 20 if first == 0 else 1)
        change(talk)
        return [(row['kind'], row['psn'], row['packets'], row['certainty'])
                for row in rows('anomalies', talk.save(self.folder / 'answers.pcap'))
                if row['kind'] != 'retransmission']

    def test_the_msn_tells_what_comes_first_within_a_repeated_answer(self):
        for missing in ((8,), (8, 9), (13,), (15,), (11, 12, 13)):
            def change(talk):
                for psn in reversed(missing):
                    del talk.frames[psn]
                LateResponses.answer_again(talk, missing[0])
            self.assertEqual(sorted(self.told(change)), [('psn_gap', psn, 1, 'certain') for psn in missing])

    def test_what_comes_alone_was_late(self):
        for late, by in itertools.product((9, 12, 14), (3, 6)):
            def change(talk):
                frames = talk.frames
                moved = [*frames[:late], *frames[late + 1:late + by + 1], frames[late], *frames[late + by + 1:]]
                talk.frames = [(stamp, frame) for (stamp, _), (_, frame) in zip(frames, moved)]
            self.assertEqual(self.told(change), [('out_of_order', late, 1, 'certain')])

    def test_a_repeated_answer_lacks_its_middle(self):
        """Nobody saw its requests, so the responder may have ended a response early."""
        for first, missing in ((8, {10, 11}), (12, {12}), (16, {18})):
            def change(talk):
                begin = len(talk.frames)
                LateResponses.answer_again(talk, first)
                talk.frames = [frame for at, frame in enumerate(talk.frames)
                               if at < begin or at - begin + first not in missing]
            self.assertEqual({row[3] for row in self.told(change)}, {'either'})
            self.assertLessEqual({row[1] for row in self.told(change)}, missing)

    def test_an_old_answer_does_not_hide_a_newer_one(self):
        """A stream remembers 64 responses; PSN 0 and 64 have the same place."""
        talk = Conversation(True)
        for first in range(0, 96, 4):
            talk.responses(first, 4, first // 4 + 1, 20)
        for first in (0, 64):
            talk.responses(first, 4, 24, 2000)
        self.assertEqual({row['kind'] for row in rows('anomalies', talk.save(self.folder / 'old.pcap'))},
                         {'retransmission'})


class RepeatedAnswers(Sibling):
    """READs of 4 packets are outstanding. A response is lost, the requester asks for it and all behind
    it again, and the responder answers again, where more is lost."""

    def found_for(self, missing, counted=True, again=1, then_ack=False):
        """READs 20, 24 and 28 are asked for again, `again` times. `missing`: PSNs that the first
        repeated answer lacks. `then_ack`: a WRITE behind them is acknowledged."""
        talk = Conversation(counted)
        for psn in range(0, 32, 4):
            talk.read(psn, 0x1000 * psn, 4096)
        talk.request(32)
        for psn in range(0, 32, 4):
            talk.responses(psn, 4, psn // 4 + 1, 20 if psn == 0 else 1)
        talk.answer(32, msn=9)
        del talk.frames[9 + 20]
        for _ in range(again):
            for psn in (20, 24, 28):
                talk.read(psn, 0x1000 * psn, 4096, 60 if psn == 20 else 1)
            talk.request(32)
        begin = len(talk.frames)
        for turn in range(again):
            for psn in (20, 24, 28):
                talk.responses(psn, 4, 9, 60 if psn == 20 else 1)
            if then_ack:
                talk.answer(32, msn=9)
        talk.frames = [frame for at, frame in enumerate(talk.frames) if at - begin + 20 not in missing]
        return talk

    def lost(self, talk):
        found = rows('anomalies', talk.save(self.folder / 'again.pcap'))
        self.assertEqual({row['kind'] for row in found}, {'psn_gap', 'retransmission'})
        return self.psns(found, 'psn_gap', 'lost_before')

    def test_the_rest_of_a_response_before_an_acknowledgement(self):
        for missing in ({31}, {30, 31}):
            self.assertEqual(self.lost(self.found_for(missing, then_ack=True)), {20} | missing)
            self.assertEqual(self.lost(self.found_for(missing, counted=False, then_ack=True)), {20} | missing)

    def test_the_begin_of_the_first_response(self):
        """No answer begins with a middle or last packet; the path copies single ones."""
        for missing in ({20, 21}, {20, 21, 22}):
            for counted in (True, False):
                self.assertEqual(self.lost(self.found_for(missing, counted=counted)), {20} | missing)

    def test_the_rest_of_a_response_before_a_timer(self):
        """The requester asks again from the response on that it lacks."""
        for rest, counted in itertools.product((1, 2), (True, False)):
            talk = Conversation(counted)
            talk.read(0, 0, 8 * MTU)
            talk.responses(0, 8, 1, 20)
            del talk.frames[1 + 3]
            talk.read(3, 3 * MTU, 5 * MTU, 60)
            talk.responses(3, 5, 1, 20)
            del talk.frames[-rest:]
            talk.read(8 - rest, (8 - rest) * MTU, rest * MTU, 5000)
            talk.responses(8 - rest, rest, 1, 20)
            talk.read(8, 8 * MTU, MTU)
            talk.responses(8, 1, 2, 20)
            self.assertEqual(self.lost(talk), {3, *range(8 - rest, 8)})

    def test_whole_responses_that_identifications_show(self):
        for missing in ({24, 25, 26, 27}, {23, 24, 25, 26, 27, 28}):
            self.assertEqual(self.lost(self.found_for(missing)), {20} | missing)

    def test_whole_responses_without_identifications(self):
        """The responder may not have got the READ again."""
        self.assertEqual(self.lost(self.found_for({24, 25, 26, 27}, counted=False)), {20})

    def test_it_goes_on_behind_one_that_was_late(self):
        """A late response, or a late ACK, comes within an answer, which lacks nothing."""
        for ack, at in itertools.product((True, False), (1, 2, 6)):
            with self.subTest(ack=ack, at=at):
                talk = Conversation()
                talk.read(0, 0, MTU)
                talk.read(1, 0x1000, 4 * MTU)
                talk.read(5, 0x2000, 8 * MTU)
                talk.request(13)
                talk.responses(1, 4, 2, 20)
                talk.responses(5, 8, 3)
                talk.answer(13, msn=4)
                talk.read(0, 0, MTU, 60)
                talk.read(1, 0x1000, 4 * MTU)
                talk.read(5, 0x2000, 8 * MTU)
                talk.request(13)
                talk.responses(0, 1, 4, 60)
                first = talk.frames.pop()
                begin = len(talk.frames)
                talk.responses(1, 4, 4)
                talk.responses(5, 8, 4)
                talk.answer(13, msn=4)
                late = talk.frames.pop() if ack else first
                if ack:
                    talk.frames.insert(begin, first)
                place = begin + at + ack
                talk.frames.insert(place, (talk.frames[place - 1][0] + 100, late[1]))
                self.assertEqual(self.lost(talk), {0})

    def test_reads_that_are_not_answered_again(self):
        """Without identifications: the answers were lost, or the requests behind this point."""
        talk = self.found_for({24, 25, 26, 27, 28, 29, 30, 31}, counted=False)
        talk.read(33, 0x33000, MTU, 200)
        talk.responses(33, 1, 10, 20)
        found = [row for row in rows('anomalies', talk.save(self.folder / 'unasked.pcap')) if row['kind'] == 'psn_gap']
        self.assertEqual(self.psns(found, 'psn_gap', 'lost_before'), {20})
        either = [row for row in found if row['certainty'] == 'either']
        self.assertEqual([(row['psn'], row['packets']) for row in either], [(24, 4), (28, 4)])
        self.assertEqual({one['cause'] for row in either for one in row['alternatives']}, {'lost_before', 'not_sent'})

    def test_a_read_is_complete_with_the_last_response_of_its_repeated_answer(self):
        """A requester takes responses in order: it has discarded those behind the lost one."""
        for counted in (True, False):
            talk = Conversation(counted)
            for turn in (1, 2):
                talk.read(0, 0, MTU, 60)
                talk.read(1, MTU, 4 * MTU)
                talk.responses(0, 1, turn, 20)
                talk.responses(1, 4, 2)
            del talk.frames[2], talk.frames[3]  # 0 and 2, of the first answers
            found = rows('messages', talk.save(self.folder / 'complete.pcap'))
            self.assertEqual([row['completion_frame'] for row in found], [8, 12], counted)

    def test_a_response_is_lost_in_two_answers(self):
        for counted in (True, False):
            talk = self.found_for({20, 21}, counted=counted, again=2)
            found = rows('anomalies', talk.save(self.folder / 'twice.pcap'))
            lost = sorted(row['psn'] for row in found if row['kind'] == 'psn_gap')
            self.assertEqual(lost, [20, 20, 21], counted)

    def test_a_gap_of_the_first_answer_hides_none_of_the_second(self):
        """The repeated answer goes on with a response that the first one lacks: 22."""
        talk = self.found_for({20, 21}, again=2)
        del talk.frames[9 + 20:9 + 22]  # 21 and 22, behind 20 in the first answer
        found = rows('anomalies', talk.save(self.folder / 'both.pcap'))
        lost = sorted(row['psn'] for row in found if row['kind'] == 'psn_gap')
        self.assertEqual(lost, [20, 20, 21, 21, 22])

    def test_late_responses_behind_all_answers(self):
        """The first repeated answer lacks 25 and 26, which come when the second one is complete."""
        talk = self.found_for((), counted=False, again=2)
        begin = len(talk.frames) - 24
        late = talk.frames[begin + 5:begin + 7]
        del talk.frames[begin + 5:begin + 7]
        for _, frame in late:
            talk.frames.append((talk.frames[-1][0] + 20_000, frame))
        found = rows('anomalies', talk.save(self.folder / 'behind.pcap'))
        self.assertEqual(sorted(row['psn'] for row in found if row['kind'] == 'psn_gap'), [20])
        self.assertEqual(sorted(row['psn'] for row in found if row['kind'] == 'out_of_order'), [25, 26])

    def test_single_old_responses_are_no_jump(self):
        """One of each of two READs comes again, before the response to the next one."""
        talk = self.found_for((), counted=False)
        talk.read(33, 0x33000, MTU, 200)
        for at in (20, 25):
            talk.frames.append((talk.frames[-1][0] + 5000, talk.frames[9 + at][1]))
        talk.at += 50
        talk.responses(33, 1, 10, 20)
        found = rows('anomalies', talk.save(self.folder / 'single.pcap'))
        self.assertEqual(self.psns(found, 'psn_gap', 'lost_before'), {20})

    def test_a_copy_of_a_later_response_is_no_jump(self):
        """The answer goes on behind it."""
        for copied in (6, 7):
            talk = self.found_for((), counted=False)
            begin = len(talk.frames) - 12
            talk.frames.insert(begin + 2, (talk.frames[begin + 1][0] + 100, talk.frames[begin + copied][1]))
            self.assertEqual(self.lost(talk), {20})

    def test_a_single_packet_of_a_response_is_a_copy(self):
        """It is no answer that lacks its begin."""
        for copied in (9, 10):
            talk = self.found_for((), counted=False)
            talk.frames.append((talk.frames[-1][0] + 2_000_000, talk.frames[9 + copied][1]))
            self.assertEqual(self.psns(rows('anomalies', talk.save(self.folder / 'one.pcap')), 'psn_gap', 'lost_before'),
                             {20})

    def test_an_old_response_is_a_copy(self):
        """Asked for twice, answered once: its identification shows that it begins no second answer."""
        talk = self.found_for((), again=2, then_ack=True)
        begin = len(talk.frames) - 26
        copy = talk.frames[begin + 5][1]
        talk.frames.insert(begin + 13, (talk.frames[begin + 12][0] + 100, copy))
        found = rows('anomalies', talk.save(self.folder / 'copy.pcap'))
        self.assertEqual([(row['kind'], row['psn'], row['cause']) for row in found if row['kind'] != 'retransmission'],
                         [('psn_gap', 20, 'lost_before'), ('duplicate', 25, 'path_copy')])

    def test_a_whole_response_that_the_path_copied(self):
        """Each READ was sent once. Identifications that count up tell; without them, the path may have
        copied the request or the responses."""
        for counted in (True, False):
            talk = Conversation(counted)
            for psn in range(0, 48, 4):
                talk.read(psn, 0x1000 * psn, 4096, 20)
                talk.responses(psn, 4, psn // 4 + 1, 20)
            stamp = talk.frames[28 + 1][0]
            talk.frames[30:30] = [(stamp + 2000 + 100 * at, talk.frames[26 + at][1]) for at in range(4)]
            found = rows('anomalies', talk.save(self.folder / 'burst.pcap'))
            if counted:
                self.assertEqual(self.psns(found, 'duplicate', 'path_copy'), {20, 21, 22, 23})
                continue
            self.assertEqual([row['certainty'] for row in found], ['either'])
            self.assertEqual({one['cause'] for one in found[0]['alternatives']},
                             {'request_resent', 'request_copied', 'path_copy'})

    def test_the_first_response_comes_behind_its_repetition(self):
        """It was late, not lost."""
        talk = Conversation(True)
        for psn in range(0, 24, 4):
            talk.read(psn, 0x1000 * psn, 4096, 20)
            talk.responses(psn, 4, psn // 4 + 1, 20)
        late = talk.frames.pop(-3)
        talk.read(21, 0x1000 * 20 + 1024, 3072, 20)
        talk.responses(21, 3, 6, 20)
        talk.frames.insert(len(talk.frames) - 1, (talk.frames[-2][0] + 100, late[1]))
        found = rows('anomalies', talk.save(self.folder / 'late.pcap'))
        self.assertEqual([(row['kind'], row['psn']) for row in found if row['kind'] != 'retransmission'],
                         [('out_of_order', 21)])


class RepeatedReads(Sibling):
    """Two READs are outstanding at a time. The newer one passes again, whole and alone, and is
    answered again: a copy of the path and a repetition for a lost response leave the same frames."""

    def said(self, wait, **options):
        """`wait`: from the end of its response to the READ; negative: before its response."""
        talk = Conversation(**options)
        for first in range(0, 24, 8):
            for psn in (first, first + 4):
                talk.read(psn, 0x1000 * psn, 4096, 40)
            again = first == 8
            if again and wait < 0:
                talk.number -= 1  # the path copied it
                talk.read(first + 4, 0x1000 * (first + 4), 4096, 0.5)
            for psn in (first, first + 4):
                talk.responses(psn, 4, psn // 4 + 1, 20)
            if again and wait > 0:
                talk.read(first + 4, 0x1000 * (first + 4), 4096, wait)
            if again:
                talk.responses(first + 4, 4, first // 4 + 2, 20)
        path = talk.save(self.folder / 'reads.pcap')
        texts = ' '.join(said['text'] for said in explained(path)['statements'])
        return [(row['kind'], row['cause'], row['certainty'], row['psn'])
                for row in rows('anomalies', path)], texts

    def test_behind_its_response_it_is_either(self):
        for wait in (5, 50, 400):
            found, text = self.said(wait)
            self.assertEqual(found, [('duplicate', 'path_copy', 'either', 12)])
            self.assertIn('1 packet came again after its whole response: the path copied it, or the response was lost '
                          'behind the capture point, and the requester asked again. IP identifications, which would '
                          'tell, are absent or all equal.', text)

    def test_before_its_response_nobody_can_miss_it(self):
        self.assertEqual(self.said(-1)[0], [('duplicate', 'path_copy', 'certain', 12)])

    def test_where_responses_are_lost_and_nothing_is_copied_it_is_a_repetition(self):
        """Three other READs are asked for again, as responses to them show to be missing."""
        talk = Conversation()
        for first in range(0, 64, 8):
            for psn in (first, first + 4):
                talk.read(psn, 0x1000 * psn, 4096, 40)
            talk.responses(first, 4, first // 4 + 1, 20)
            talk.responses(first + 4, 4, first // 4 + 2)
            if first in (16, 24, 32):
                del talk.frames[-3]
            if first in (8, 16, 24, 32):
                talk.read(first + 4, 0x1000 * (first + 4), 4096, 50)
                talk.responses(first + 4, 4, first // 4 + 2, 20)
        found = rows('anomalies', talk.save(self.folder / 'asked.pcap'))
        self.assertEqual([(row['cause'], row['certainty'], row['psn']) for row in found
                          if row['kind'] in ('retransmission', 'duplicate') and row['role'] == 'request'],
                         [('response_lost', 'certain', psn) for psn in (12, 20, 28, 36)])

    def test_another_ip_identification_is_no_copy(self):
        for wait in (5, 50, 400):
            self.assertEqual(self.said(wait, counted=True)[0],
                             [('retransmission', 'response_lost', 'certain', 12)])


if __name__ == '__main__':
    longwire_test.main()
