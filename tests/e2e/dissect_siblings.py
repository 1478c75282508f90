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
from conversation import ACK, MTU, NOT_READY, SEND, WRITE, WRITE_IMMEDIATE, Conversation, aeth, bth
from dissect_analysis import rows
from dissect_cases import Case
from dissect_explain import explained
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
            self.assertEqual(self.causes(found), {('peer_stopped', 'either')})
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


if __name__ == '__main__':
    longwire_test.main()
