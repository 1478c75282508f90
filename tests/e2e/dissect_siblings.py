# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect on siblings of the captures of pcaps/cases, of whose packets tests/support/two_ends.py
knows what became: each fault at a sender that goes back and at one that repeats single packets, with
IP identifications that count up and without."""

import itertools

from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import longwire_test
from connect_requests import icrc
from conversation import (ACK, MTU, NOT_READY, READ_RESPONSES, SEND, WRITE, WRITE_IMMEDIATE, Conversation, aeth,
                          bth)
from dissect_analysis import rows
from dissect_cases import Case
from dissect_explain import explained
from pcap_file import write_pcap
from two_ends import TwoEnds

LOSSES = {'psn_gap', 'lost_after_capture'}
HELD = (10, 30, 50)  # PSNs


def first_time(ahead, behind, psns=HELD):
    """Only the first transmission of these packets is late, or lost."""
    return lambda psn, turn: (ahead, behind) if turn == 0 and psn in psns else (0, 0)


class OtherPair(Conversation):
    """Between the same hosts as Conversation, with other queue pairs."""

    def add(self, way, packet, wait):
        super().add(way, packet[:7] + bytes([packet[7] + 1]) + packet[8:], wait)


class Sibling(Case):
    @staticmethod
    def each_sender():
        """Options of each kind of sender."""
        for selective, counted, ask_every in itertools.product((False, True), (False, True), (1, 8)):
            yield {'selective': selective, 'counted': counted, 'ask_every': ask_every}

    def found(self, ends):
        return rows('anomalies', ends.talk.save(self.folder / 'sibling.pcap'))

    def one_way(self, ends, host):
        ends.talk.frames = [frame for frame in ends.talk.frames if frame[1][11] == host]
        return self.found(ends)

    def psns(self, found, kind, cause):
        return {psn for row in found if (row['kind'], row['cause'], row['certainty'])
                == (kind, cause, 'certain') for psn in range(row['psn'], row['psn'] + row['packets'])}

    def causes(self, found, kind='retransmission'):
        return {(row['cause'], row['certainty']) for row in found if row['kind'] == kind}


class Frames(Case):
    def test_they_are_those_of_scapy(self):
        """Its own ICRC and checksum, over the fields that Conversation writes."""
        talk = Conversation(counted=True)
        talk.number = 0xFFFD
        talk.write(2**24 - 1, 0x12345678, bytes(range(256)) * 8)
        talk.request(7, opcode=SEND, asks=False)
        talk.read(2**24 + 5, 64, 4096)
        talk.fetch_add(9, 128)
        talk.nak(3)
        talk.responses(2**24 - 2, 3, 2**24 + 4)
        talk.atomic_ack(9, 10)
        self.assertEqual(len(talk.frames), 10)
        for _, frame in talk.frames:
            bth = BTH(opcode=frame[42], dqpn=int.from_bytes(frame[47:50]), ackreq=frame[50] >> 7,
                      psn=int.from_bytes(frame[51:54]))
            ip, udp = IP(frame[14:34]), UDP(frame[34:42])
            del ip.chksum, ip.len, udp.len
            self.assertEqual(bytes(Ether(frame[:14]) / ip / udp / bth / Raw(frame[54:-4])), frame)

    def test_an_answer_has_an_aeth(self):
        talk = Conversation()
        talk.answer(5, msn=6)
        head = AETH(talk.frames[0][1][54:])
        self.assertEqual((head.syndrome, head.msn), (0x1F, 6))


class Reordering(Sibling):
    """Nothing is lost: three packets are late, by less than their repetition takes."""

    def check_nothing_lost(self, **options):
        ends = TwoEnds(80, **options).run()
        self.assertEqual(ends.lost, set())
        found = self.found(ends)
        self.assertEqual(LOSSES & {row['kind'] for row in found}, set())
        self.assertNotIn('duplicate', {row['kind'] for row in found})

    def test_ahead_of_the_capture_point(self):
        for late in (1.5, 4.5, 12.5):
            for options in self.each_sender():
                self.check_nothing_lost(fate=first_time(late, 0), **options)

    def test_behind_the_capture_point(self):
        for late in (1.5, 4.5):
            for options in self.each_sender():
                self.check_nothing_lost(fate=first_time(0, late), **options)

    def test_at_a_receiver_that_is_far_from_its_sender(self):
        """It asks for a late packet, and for the next one, which it has discarded. The sender goes back
        far later, as a timer may."""
        held = (100, 200, 300, 400, 500)
        for counted in (False, True):
            ends = TwoEnds(800, gap=20, ahead=400, behind=0.5, timer=50_000, counted=counted, ask_every=1,
                           fate=first_time(30, 0, held)).run()
            found = self.found(ends)
            self.assertEqual(LOSSES & {row['kind'] for row in found}, set())
            self.assertEqual(self.psns(found, 'out_of_order', 'nak'), set(held))

    def test_behind_the_capture_point_longer_than_a_repetition(self):
        """No frame tells it from a loss: the text says both."""
        for options in self.each_sender():
            ends = TwoEnds(80, fate=first_time(0, 200), **options).run()
            lost = [row['cause_text'] for row in self.found(ends)
                    if row['kind'] == 'lost_after_capture']
            self.assertEqual(set(lost), {'lost behind the capture point, or overtaken there'})


class Losses(Sibling):
    def test_ahead_of_the_capture_point(self):
        for options in self.each_sender():
            ends = TwoEnds(80, fate=first_time(None, 0), **options).run()
            self.assertEqual(self.psns(self.found(ends), 'psn_gap', 'lost_before'), ends.lost)

    def test_behind_the_capture_point(self):
        for options in self.each_sender():
            ends = TwoEnds(80, fate=first_time(0, None), **options).run()
            found = self.found(ends)
            # One that goes back has sent the others again before the receiver can ask for them.
            shown = ends.lost if options['selective'] else {min(ends.lost)}
            self.assertEqual(self.psns(found, 'lost_after_capture', 'lost_behind'), shown, options)
            self.assertNotIn('psn_gap', {row['kind'] for row in found})


    def test_what_a_recovery_loses_before_it_fills_a_gap(self):
        """10 and 12 are lost, and 11 in the recovery, after which it goes on with 12."""
        for counted, ask_every in itertools.product((False, True), (1, 8)):
            ends = TwoEnds(200, fate=lambda psn, turn: (None if (psn, turn) in ((10, 0), (12, 0), (11, 1))
                                                        else 0, 0),
                           counted=counted, ask_every=ask_every).run()
            self.assertEqual(ends.lost, {10, 11, 12})
            self.assertEqual(self.psns(self.found(ends), 'psn_gap', 'lost_before'), ends.lost)

    def test_a_receiver_that_repeats_its_nak(self):
        """NAKs still come when the packet has been sent again. They say nothing of later losses."""
        for counted, ask_every in itertools.product((False, True), (1, 8)):
            ends = TwoEnds(400, fate=first_time(0, None, (20, 140, 260)), asks_often=True,
                           counted=counted, ask_every=ask_every).run()
            found = self.found(ends)
            self.assertGreater(sum(row['kind'] == 'nak' for row in found), 60)
            self.assertEqual(self.psns(found, 'lost_after_capture', 'lost_behind'), ends.lost)


class GoingBack(Sibling):
    """A sender that goes back sends its packets in a row."""

    def test_a_packet_of_a_recovery_comes_behind_new_ones(self):
        """Its timer is too short, so nothing is lost but 200, which shows how it answers a NAK."""
        for ask_every in (1, 8):
            ends = TwoEnds(300, gap=20, ahead=40, behind=400, timer=600, ask_every=ask_every,
                           fate=lambda psn, turn: ((1000 if (psn, turn) == (15, 1) else
                                                    None if (psn, turn) == (200, 0) else 0), 0)).run()
            self.assertEqual(ends.lost, {200})
            found = self.found(ends)
            self.assertEqual({row['packets'] for row in found if row['kind'] == 'retransmission'}
                             & {1, 2}, set())
            self.assertIn(15, self.psns(found, 'out_of_order', 'none'))
            self.assertEqual(self.psns(found, 'psn_gap', 'lost_before'), ends.lost)

    def test_what_a_nak_names_was_acknowledged_before_it_is_answered(self):
        """The packet was late behind the capture point. The sender begins with the next one."""
        for late in (22, 25, 28):
            ends = TwoEnds(14, gap=2, ahead=4, behind=40, timer=100_000, ask_every=1, reaction=100,
                           fate=first_time(0, late, (10,))).run()
            self.assertEqual(self.causes(self.found(ends)), {('nak', 'certain')}, late)


    def test_what_a_recovery_lost_when_its_end_is_lost_too(self):
        """The recovery of 10 loses 14, and its last packet, so it ends before the newest one."""
        ends = TwoEnds(55, fate=lambda psn, turn: (None if (psn, turn) in ((10, 0), (14, 1)) or
                                                   turn == 1 and psn > 40 else 0, 0)).run()
        found = self.psns(self.found(ends), 'psn_gap', 'lost_before')
        self.assertLessEqual({10, 14}, found)
        self.assertLessEqual(found, ends.lost)

    def test_the_begin_of_a_recovery_is_lost_before_what_was_skipped_before(self):
        """Recovery 1 skips 14 and 17. Recovery 2, for 14, begins with 17: identifications show three
        packets before it."""
        lost = {(10, 0), (14, 1), (17, 1), (14, 2), (15, 2), (16, 2)}
        ends = TwoEnds(300, fate=lambda psn, turn: (None if (psn, turn) in lost else 0, 0), counted=True).run()
        self.assertEqual(self.psns(self.found(ends), 'psn_gap', 'lost_before'), {psn for psn, _ in lost})

    @staticmethod
    def goes_back(talk, wait=1):
        """The sender of 0 to 19 goes back for each fifth packet, `wait` us after a NAK."""
        for psn in range(0, 20, 5):
            talk.requests(psn, psn + 5)
            talk.nak(psn + 1, 10)
            talk.at += wait - 1
            talk.requests(psn + 1, psn + 5)
            talk.answer(psn + 4, 10)

    def repeated_after_an_ack(self, end, then):
        """The ACK of 20 to 29 is lost behind the capture point; the end of their repetition, and
        what is new before `then`, are lost before it."""
        talk = Conversation(True)
        self.goes_back(talk)
        talk.requests(20, 30)
        talk.answer(29, 10)
        talk.at += 5000
        talk.requests(20, end)
        talk.number += then - end
        talk.requests(then, then + 5)
        talk.answer(then + 4, 10)
        return talk

    def test_the_end_of_a_repetition_is_lost(self):
        for end, then in (27, 30), (22, 30), (22, 32):
            found = rows('anomalies', self.repeated_after_an_ack(end, then).save(self.folder / 'end.pcap'))
            lost = {psn for row in found if row['kind'] == 'psn_gap'
                    for psn in range(row['psn'], row['psn'] + row['packets'])}
            self.assertEqual(lost, set(range(end, then)), (end, then))

    def test_what_another_connection_shows_of_the_sender(self):
        """15, 16, 24 and 25 are lost, and 15 to 19, 22 and 23 again: the NAK for 15 is answered by 20,
        21, 24 and 25. It shows no more than the other connection how the sender recovers."""
        talk, first = OtherPair(), Conversation()
        self.goes_back(first)
        talk.at = first.at
        for psn in (*range(15), *range(17, 24), 26):
            talk.request(psn)
        talk.nak(15, 10)
        for psn in 20, 21, 24, 25, 26, 27:
            talk.request(psn)
        talk.at += 5000
        talk.requests(15, 28)
        talk.answer(27, 10)
        talk.frames = first.frames + talk.frames
        found = self.psns(rows('anomalies', talk.save(self.folder / 'two.pcap')), 'psn_gap', 'lost_before')
        self.assertLessEqual({22, 23}, found)

    def test_a_recovery_reaches_what_a_nak_names(self):
        """The recovery begins before the NAK, for a lost response, and repeats 25 a round trip after
        it. What begins with 25 later is no answer to the NAK."""
        talk = Conversation()
        self.goes_back(talk, 50)
        talk.add('answer', bth(WRITE, 0x11, 500, True) + bytes(12) + (64).to_bytes(4) + bytes(64), 1)
        talk.add('request', bth(ACK, 0x22, 500) + aeth(1), 40)
        talk.requests(20, 22)
        for repeated in False, True:
            talk.fetch_add(22, 8)
            talk.request(23)
            if repeated:
                talk.nak(25)
                talk.at += 50
            talk.request(24)
            talk.fetch_add(25, 8)
            talk.requests(26, 30)
            if not repeated:
                talk.answer(24, 10)  # the response to 22 was lost
                talk.at += 50
        talk.atomic_ack(22, 23, 10)
        talk.atomic_ack(25, 26)
        talk.answer(29)
        talk.requests(30, 32)
        talk.answer(31, 10)
        talk.at += 300
        talk.fetch_add(25, 8)
        talk.requests(26, 32)
        talk.atomic_ack(25, 32, 10)
        talk.answer(31)
        last = rows('anomalies', talk.save(self.folder / 'reached.pcap'))
        self.assertEqual({row['cause'] for row in last
                          if row['kind'] == 'retransmission' and row['psn'] == 25}, {'response_lost'})

    def test_identifications_of_requests_only(self):
        """How the sender recovers is unknown; what it skips, its identifications show."""
        talk = Conversation(True)
        talk.requests(0, 40)
        talk.at += 5000
        talk.requests(20, 23)
        talk.number += 2
        talk.requests(25, 30)
        talk.at += 5000
        talk.requests(20, 40)
        found = rows('anomalies', talk.save(self.folder / 'requests.pcap'))
        self.assertEqual(self.psns(found, 'psn_gap', 'lost_before'), {23, 24})

    def test_what_a_nak_asks_for_is_lost_again_before_a_read(self):
        """A READ may be repeated alone for its response, but not for a NAK of an earlier packet."""
        talk = Conversation()
        talk.requests(0, 5)
        talk.read(5, 0x5000, 64)
        talk.requests(6, 8)
        talk.answer(2, 10)
        talk.nak(3)
        talk.read(5, 0x5000, 64, 20)
        talk.requests(6, 8)
        talk.nak(3, 20)
        talk.requests(3, 5, wait=20)
        talk.read(5, 0x5000, 64)
        talk.requests(6, 8)
        talk.response(5, 20)
        talk.answer(7)
        found = rows('anomalies', talk.save(self.folder / 'again.pcap'))
        self.assertEqual(self.psns(found, 'psn_gap', 'lost_before'), {3, 4})

    def test_a_late_packet_comes_just_before_the_recovery_that_it_caused(self):
        """15 is late in the recovery of 10, and its receiver asks for it."""
        for late in (43, 44, 44.5):
            ends = TwoEnds(300, fate=lambda psn, turn: (late if (psn, turn) == (15, 1) else
                                                        None if (psn, turn) == (10, 0) else 0, 0)).run()
            found = self.found(ends)
            self.assertIn(15, self.psns(found, 'out_of_order', 'none'), late)
            self.assertEqual(self.psns(found, 'psn_gap', 'lost_before'), {10}, late)
            self.assertEqual(self.causes(found), {('nak', 'certain')}, late)

    def test_a_packet_that_comes_alone_without_a_reason_is_a_copy(self):
        """The path copies a packet of the first of two recoveries. Identifications differ, but do not
        count up."""
        for psn in (12, 20, 30):
            ends = TwoEnds(300, fate=lambda psn, turn: (None if (psn, turn) in ((10, 0), (11, 1)) else 0, 0))
            request = ends.request
            ends.request = lambda psn, number, asks: (setattr(ends.talk, 'counted', True), request(
                psn, 1 + (psn * 7919 + ends.turns[psn] * 104729 + len(ends.talk.frames)) % 65521, asks))
            ends.run()
            frames = ends.talk.frames
            copies = [at for at, (_, frame) in enumerate(frames)
                      if frame[11] == 1 and int.from_bytes(frame[51:54]) == psn]
            self.assertEqual(len(copies), 3)
            at = copies[2] + 60
            frames.insert(at, (frames[at][0], frames[copies[1]][1]))
            found = self.found(ends)
            self.assertEqual(self.psns(found, 'duplicate', 'path_copy'), {psn})
            self.assertEqual(self.causes(found), {('nak', 'certain')})

    def test_a_nak_is_answered_from_an_atomic_on(self):
        """What it names was late, and is acknowledged before the sender goes back, which it does
        100 us after each NAK."""
        talk = Conversation(True)
        for psn in range(0, 20, 5):
            talk.requests(psn, psn + 5, wait=1)
            talk.answer(psn, 10)
            talk.nak(psn + 1, 1)
            talk.requests(psn + 1, psn + 2, wait=100)
            talk.requests(psn + 2, psn + 5, wait=1)
            talk.answer(psn + 4, 10)
        talk.request(20, 5)
        talk.fetch_add(21, 64)
        talk.request(22)
        talk.nak(20, 10)
        talk.answer(20, 4)
        talk.fetch_add(21, 64, 96)
        talk.request(22)
        talk.atomic_ack(21, 22, 10)
        talk.answer(22)
        found = rows('anomalies', talk.save(self.folder / 'atomic.pcap'))
        self.assertEqual(self.causes(found), {('nak', 'certain')})


class Timers(Sibling):
    def test_shorter_than_the_round_trip(self):
        for round_trip, timer in ((5000, 4100), (40_000, 2000), (3000, 2000)):
            for options in self.each_sender():
                ends = TwoEnds(40, behind=round_trip / 2, timer=timer, **options).run()
                found = self.found(ends)
                self.assertEqual(self.causes(found), {('timer_short', 'certain')})
                self.assertEqual(LOSSES & {row['kind'] for row in found}, set())

    def far_sender(self, **options):
        """The capture point is at the receiver, 5 ms from the sender and back. Answers that keep
        coming restart the timer, so only what was sent before the first of them is sent again."""
        ends = TwoEnds(900, gap=10, ahead=2500, behind=2, **options).run()
        return {(row['cause'], row['certainty'], tuple(sorted(one['cause'] for one in row['alternatives'] or ())))
                for row in self.found(ends) if row['kind'] == 'retransmission'}

    def test_before_the_first_answer_comes(self):
        """Few packets are sent again. A lost ACK, or a timer that is too short, leaves these frames."""
        for options in self.each_sender():
            self.assertEqual(self.far_sender(timer=4000, **options),
                             {('ack_lost', 'either', ('ack_lost', 'timer_short'))}, options)

    def test_a_timer_that_was_long_enough_before(self):
        """The first packet is not sent again; six ACKs are lost behind the capture point, the last
        ones."""
        for options in self.each_sender():
            options['ask_every'] = 8
            answers = len(TwoEnds(120, ahead=2500, behind=2, timer=6000, **options).run().talk.frames) - 120
            lost = range(answers - 3, answers)
            ends = TwoEnds(120, ahead=2500, behind=2, timer=6000, **options,
                           answer_fate=lambda number: (0, None if number in lost else 0)).run()
            self.assertEqual(self.causes(self.found(ends)), {('ack_lost', 'certain')}, options)

    def test_requests_of_all_kinds(self):
        """Each message is sent three times, 2 ms apart, and answered three times after 5 ms."""
        kinds = {
            'write': (3, lambda talk, psn: talk.write(psn, 0x1000 * psn, bytes(2500)),
                      lambda talk, psn, msn: talk.answer(psn + 2, msn=msn)),
            'read': (4, lambda talk, psn: talk.read(psn, 0x1000 * psn, 4096),
                     lambda talk, psn, msn: talk.responses(psn, 4, msn)),
            'atomic': (1, lambda talk, psn: talk.fetch_add(psn, 0x1000 * psn),
                       lambda talk, psn, msn: talk.atomic_ack(psn, msn)),
        }
        for name, (span, ask, answer) in kinds.items():
            with self.subTest(name):
                talk, events = Conversation(), []
                for message, turn in itertools.product(range(6), range(3)):
                    psn, at = span * message, 7000 * message + 2000 * turn
                    events.append((at, ask, (talk, psn)))
                    events.append((at + 5000, answer, (talk, psn, message + 1)))
                for at, act, words in sorted(events, key=lambda event: event[0]):
                    talk.at = max(talk.at, at)
                    act(*words)
                found = rows('anomalies', talk.save(self.folder / 'kinds.pcap'))
                self.assertEqual({cause for cause, _ in self.causes(found)}, {'timer_short'})
                self.assertEqual(LOSSES & {row['kind'] for row in found}, set())

    def test_a_lost_nak(self):
        """Of 60 packets, one is lost behind the capture point, as its NAK: most are sent again when
        the timer runs out. It is 100 round trips long."""
        for options in self.each_sender():
            ends = TwoEnds(60, fate=first_time(0, None, (20,)), **options)
            ends.ask = lambda: None  # its NAKs do not arrive
            found = self.found(ends.run())
            self.assertEqual(self.causes(found), {('timer', 'certain')}, options)

    def test_a_peer_that_stops(self):
        for options in self.each_sender():
            found = self.found(TwoEnds(60, stops_at=50, timer=20_000, **options).run())
            self.assertEqual(self.causes(found), {('peer_stopped', 'certain')})
            self.assertEqual(self.causes(found, 'unanswered'), {('none', 'certain')})
            self.assertEqual(LOSSES & {row['kind'] for row in found}, set())

    def test_lost_acks(self):
        for options in self.each_sender():
            ends = TwoEnds(60, answer_fate=lambda number: (0, None if 3 <= number < 9 else 0),
                           **options).run()
            self.assertEqual(LOSSES & {row['kind'] for row in self.found(ends)}, set(), options)


class WithoutIcrcs(Sibling):
    """Captures taken before the NIC writes the ICRC have zeros or anything in its place, in one
    direction. What was lost is found as in the same capture with its ICRCs."""

    ICRCS = {'zero': lambda number: bytes(4),
             'garbage': lambda number: (number * 2654435761 % 2**32).to_bytes(4, 'big')}

    def without(self, frames, host, icrc):
        return [(at, frame[:-4] + icrc(number) if frame[11] == host else frame)
                for number, (at, frame) in enumerate(frames)]

    def test_in_one_direction(self):
        fates = {'ahead': first_time(None, 0), 'behind': first_time(0, None)}
        for (place, fate), host, (name, icrc) in itertools.product(fates.items(), (1, 2),
                                                                   self.ICRCS.items()):
            for options in ({'selective': False}, {'selective': True, 'counted': True}):
                with self.subTest(place, host=host, icrc=name, **options):
                    ends = TwoEnds(80, fate=fate, **options).run()
                    whole = self.found(ends)
                    ends.talk.frames = self.without(ends.talk.frames, host, icrc)
                    found = self.found(ends)
                    said = [row for row in found if row['kind'] == 'no_icrcs']
                    self.assertEqual([row['certainty'] for row in said], ['certain'])
                    self.assertEqual([row for row in found if row not in said], whole)

    def test_a_frame_that_only_the_capture_damaged(self):
        """The receiver acknowledges it, and nobody sends it again."""
        for options in self.each_sender():
            ends = TwoEnds(80, **options).run()
            ends.talk.frames[20:21] = self.without(ends.talk.frames[20:21], 1, self.ICRCS['zero'])
            found = self.found(ends)
            self.assertEqual([(row['kind'], row['cause']) for row in found],
                             [(kind, 'missing_in_capture') for kind in ('bad_icrc', 'psn_gap')])
            self.assertEqual(found[0]['psn'], found[1]['psn'])
            said = explained(self.folder / 'sibling.pcap')['statements']
            self.assertIn('in the capture only', ' '.join(one['text'] for one in said))

    def test_a_frame_that_the_path_damaged(self):
        """Its receiver drops it, and asks for it."""
        for options in self.each_sender():
            ends = TwoEnds(80, fate=first_time(0, None, (30,)), **options).run()
            at = next(at for at, (_, frame) in enumerate(ends.talk.frames) if frame[51:54] == bytes([0, 0, 30]))
            ends.talk.frames[at:at + 1] = self.without(ends.talk.frames[at:at + 1], 1, self.ICRCS['garbage'])
            self.assertEqual(self.causes(self.found(ends), 'bad_icrc'), {('none', 'certain')})


class Refusals(Sibling):
    def refused(self, refusals, opcode, wait):
        """`refusals` RNR NAKs of the message that PSN 20 begins, which is sent again `wait` us after
        each but the last one of 8."""
        talk = Conversation()
        talk.requests(0, 20, opcode=opcode)
        talk.answer(19, 20)
        for turn in range(refusals):
            talk.requests(20, 24, opcode=opcode, wait=wait if turn else 1)
            talk.nak(20, 20, NOT_READY)
        if refusals < 8:
            talk.requests(20, 24, opcode=opcode, wait=wait)
            talk.answer(23, 20)
        last = talk.at
        talk.at += 2_000_000  # another connection of the capture goes on
        talk.body(0, WRITE, bytes(16) + bytes(64))
        at, frame = talk.frames.pop()
        frame = frame[:47] + (0x33).to_bytes(3, 'big') + frame[50:]
        talk.frames.append((at, frame[:-4] + icrc(frame)))
        self.assertGreater(at, last * 1000)
        return rows('anomalies', talk.save(self.folder / 'refused.pcap'))

    def test_until_the_retries_end(self):
        for opcode, wait in ((SEND, 700), (SEND, 40), (WRITE_IMMEDIATE, 5000)):
            found = self.refused(8, opcode, wait)
            self.assertEqual(self.causes(found, 'unanswered'), {('rnr_exhausted', 'certain')}, wait)
            self.assertEqual(self.causes(found), {('rnr', 'certain')})
            self.assertEqual(sum(row['kind'] == 'rnr_nak' for row in found), 8)
            self.assertEqual(LOSSES & {row['kind'] for row in found}, set())

    def test_a_receiver_that_becomes_ready(self):
        for opcode, wait in ((SEND, 700), (SEND, 40), (WRITE_IMMEDIATE, 5000)):
            found = self.refused(3, opcode, wait)
            self.assertEqual(self.causes(found), {('rnr', 'certain')})
            self.assertNotIn('unanswered', {row['kind'] for row in found})


class Tails(Sibling):
    """The last packets of a connection ask for no answer, and get none; another one goes on."""

    def tail(self, opcode, length, asks):
        talk = Conversation()
        talk.requests(0, 16, opcode=opcode)
        talk.answer(15, 20)
        talk.requests(16, 16 + length, opcode=opcode, asks=asks)
        frames = []
        for second in range(1, 4):  # of another QP
            other = Conversation()
            other.at = second * 1_000_000
            other.request(second, opcode=opcode)
            other.answer(second, 20)
            frames += [(at, self.of_qp(frame)) for at, frame in other.frames]
        talk.frames += frames
        return {row['kind'] for row in rows('anomalies', talk.save(self.folder / 'tail.pcap'))}

    @staticmethod
    def of_qp(frame):
        changed = frame[:47] + (int.from_bytes(frame[47:50], 'big') + 0x40).to_bytes(3, 'big') + frame[50:]
        return changed[:-4] + icrc(changed)

    def test_no_answer_is_due(self):
        for opcode, length in itertools.product((SEND, WRITE), (1, 7)):
            self.assertEqual(self.tail(opcode, length, False), set(), (opcode, length))

    def test_an_answer_is_due(self):
        for opcode, length in itertools.product((SEND, WRITE), (1, 7)):
            self.assertEqual(self.tail(opcode, length, True), {'unanswered'}, (opcode, length))


    def test_an_answer_that_was_skipped_is_not_due(self):
        """The capture lacks it, or the requester died: later requests were answered."""
        for kind, missing in itertools.product(('atomic', 'read'), (3, 7)):
            talk = Conversation()
            for psn in range(8):
                talk.fetch_add(psn, 8 * psn) if kind == 'atomic' else talk.read(psn, 0x1000 * psn, MTU)
                talk.atomic_ack(psn, psn + 1) if kind == 'atomic' else talk.responses(psn, 1, psn + 1)
            del talk.frames[2 * missing + 1]
            other = Conversation()
            other.at = 1_000_000
            other.request(8)
            other.answer(8, 20)
            talk.frames += [(at, self.of_qp(frame)) for at, frame in other.frames]
            found = rows('anomalies', talk.save(self.folder / 'skipped.pcap'))
            self.assertEqual([row['psn'] for row in found if row['kind'] == 'unanswered'],
                             [7] if missing == 7 else [], (kind, missing))


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

    def test_another_ip_identification_is_no_copy(self):
        for wait in (5, 50, 400):
            self.assertEqual(self.said(wait, counted=True)[0],
                             [('retransmission', 'response_lost', 'certain', 12)])


class Identifications(Sibling):
    """Packet 12 of 24 passes again. A copy has the IP identification of its original, whenever it
    comes; another identification is no copy, however soon it comes."""

    WAITS = (0.2, 5, 400, 5000)
    ASKS = {'send': lambda talk, psn, wait: talk.request(psn, wait, SEND),
            'write': lambda talk, psn, wait: talk.request(psn, wait, WRITE),
            'atomic': lambda talk, psn, wait: talk.fetch_add(psn, 8 * psn, wait)}

    def kinds(self, name, wait, same, numbers, one_way=None):
        """`numbers(count)`: IP identification of the sender's packet `count`."""
        talk, ask = Conversation(), self.ASKS[name]
        answer = talk.atomic_ack if name == 'atomic' else lambda psn, msn: talk.answer(psn, 1, msn=msn)
        for psn in range(24):
            talk.numbered(numbers(psn))
            ask(talk, psn, 10)
            answer(psn, psn + 1)
            if psn == 12:
                talk.numbered(numbers(psn if same else 90))
                ask(talk, psn, wait)
                answer(psn, psn + 1)
        if one_way:
            talk.keep(one_way)
        return {(row['kind'], row['certainty']) for row in
                rows('anomalies', talk.save(self.folder / 'numbers.pcap'))}

    def each(self):
        # Counted up, or without any order.
        for numbers in (lambda count: 7 + count, lambda count: 7919 * (count + 1) % 65521):
            for name, wait in itertools.product(self.ASKS, self.WAITS):
                yield name, wait, numbers

    def test_a_copy_has_that_of_its_original(self):
        for name, wait, numbers in self.each():
            with self.subTest(name, wait=wait, second=numbers(1)):
                self.assertEqual(self.kinds(name, wait, True, numbers), {('duplicate', 'certain')})

    def test_another_one_is_no_copy(self):
        for name, wait, numbers in self.each():
            with self.subTest(name, wait=wait, second=numbers(1)):
                self.assertEqual(self.kinds(name, wait, False, numbers),
                                 {('retransmission', 'certain')})

    def test_those_that_are_all_equal_tell_nothing(self):
        for name, wait in (('send', 0.2), ('send', 5000)):
            kind = 'duplicate' if wait < 500 else 'retransmission'
            self.assertEqual(self.kinds(name, wait, True, lambda count: 0), {(kind, 'certain')})

    def test_of_one_direction(self):
        for same in (True, False):
            for name, wait, numbers in self.each():
                with self.subTest(name, wait=wait, same=same, second=numbers(1)):
                    found = self.kinds(name, wait, same, numbers, 'request')
                    self.assertEqual(found, {('duplicate', 'certain') if same else
                                             ('retransmission', 'either')})
        for number, kind in ((12, ('duplicate', 'certain')), (90, ('retransmission', 'either'))):
            talk = Conversation()
            for psn in range(24):
                talk.numbered(psn)
                talk.atomic_ack(psn, 24, 10)
            talk.numbered(number)
            talk.atomic_ack(12, 24, 10)
            self.assertEqual({(row['kind'], row['certainty']) for row in
                              rows('anomalies', talk.save(self.folder / 'answers.pcap'))}, {kind})


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
