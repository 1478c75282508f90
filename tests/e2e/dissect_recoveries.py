# SPDX-License-Identifier: BSD-3-Clause
"""What roce-dissect says about recoveries that lose or reorder their own packets: small captures,
which scapy makes packet by packet."""

from scapy.contrib.roce import AETH, BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

import longwire_test
from dissect_analysis import InFolder, rows


class Recoveries(InFolder):
    """SENDs of one QP as a capture at the receiver's side saw them. A sender that counts up the
    numbers of its IP packets shows more than one whose packets all have number 0, or any number."""

    FIRST = 1000  # PSN
    NUMBERS = {'counted': lambda number: (40_000 + number) % 2**16, 'equal': lambda number: 0,
               'random': lambda number: 7919 * (number + 1) % 65_521}

    def setUp(self):
        super().setUp()
        self.at, self.frames, self.number_of = 0, [], self.NUMBERS['counted']

    def add(self, layers, wait):
        self.at += wait
        self.frames.append((self.at * 1000, bytes(layers)))

    def send(self, psn, number, wait=10):
        """A SEND with the `number`-th IP packet of the sender, `wait` us after the frame before."""
        self.add(Ether(src='02:00:00:00:00:01', dst='02:00:00:00:00:02') /
                 IP(src='192.0.2.1', dst='192.0.2.2', id=self.number_of(number)) /
                 UDP(sport=50_000, dport=4791, chksum=0) /
                 BTH(opcode=4, psn=self.FIRST + psn, dqpn=0x22, ackreq=1) / Raw(bytes(64)), wait)

    def answer(self, psn, syndrome=0x1f, wait=10):
        self.add(Ether(src='02:00:00:00:00:02', dst='02:00:00:00:00:01') /
                 IP(src='192.0.2.2', dst='192.0.2.1', id=0) / UDP(sport=50_001, dport=4791, chksum=0) /
                 BTH(opcode=17, psn=self.FIRST + psn, dqpn=0x11) / AETH(syndrome=syndrome, msn=psn % 256),
                 wait)

    def nak(self, psn, wait=10):
        self.answer(psn, 0x60, wait)

    def begin(self):
        """PSNs 0 to 11 arrive, and 12 does not."""
        self.at, self.frames = 0, []
        for psn in range(12):
            self.send(psn, psn)
            self.answer(psn)
        for psn in range(13, 20):
            self.send(psn, psn)

    def found(self):
        """What was found, without NAKs: (kind, cause, PSN, packets) in order of PSNs."""
        return sorted((row['kind'], row['cause'], row['psn'] - self.FIRST, row['packets'])
                      for row in rows('anomalies', self.pcap(self.frames))
                      if row['kind'] not in ('nak', 'retry_storm'))

    def both(self, tell, expected, numbers=('counted', 'equal')):
        for name in numbers:
            with self.subTest(name):
                self.number_of = self.NUMBERS[name]
                self.begin()
                tell()
                self.assertEqual(self.found(), sorted(expected))

    LOST = 'lost_before'
    NAK = 'nak'

    def test_a_slow_recovery_that_loses_a_packet_is_one(self):
        """A sender in software needs a millisecond for each packet; its timer is no shorter."""
        def tell():
            self.nak(12)
            for number, psn in enumerate(range(12, 20), 20):
                if psn != 15:
                    self.send(psn, number, 1000)
            self.nak(15)
            for number, psn in enumerate(range(15, 22), 30):
                self.send(psn, number)
                self.answer(psn)
        self.both(tell, [('psn_gap', self.LOST, 12, 1), ('psn_gap', self.LOST, 15, 1),
                         ('retransmission', self.NAK, 12, 7), ('retransmission', self.NAK, 15, 5)])

    def test_the_first_packet_of_a_recovery_is_lost_again(self):
        def tell():
            self.nak(12)
            for number, psn in enumerate(range(13, 20), 21):
                self.send(psn, number)
            for number, psn in enumerate(range(12, 22), 30):
                self.send(psn, number, 5000 if psn == 12 else 10)
                self.answer(psn)
        self.both(tell, [('psn_gap', self.LOST, 12, 1), ('psn_gap', self.LOST, 12, 1),
                         ('retransmission', self.NAK, 12, 7),
                         ('retransmission', 'timer', 12, 8)])

    def test_the_first_packet_of_a_recovery_is_late(self):
        self.begin()
        self.nak(12)
        for psn in (13, 14, 15, 12, *range(16, 22)):
            self.send(psn, 20 + psn)
        for psn in range(12, 22):
            self.answer(psn)
        self.assertEqual(self.found(), [('out_of_order', 'none', 12, 1), ('psn_gap', self.LOST, 12, 1),
                                        ('retransmission', self.NAK, 12, 8)])

    def test_a_packet_that_comes_behind_its_repetition_was_late(self):
        self.begin()
        self.nak(12)
        for number, psn in enumerate(range(12, 16), 20):
            self.send(psn, number)
        self.send(12, 12)
        for number, psn in enumerate(range(16, 22), 24):
            self.send(psn, number)
        self.assertEqual(self.found(), [('out_of_order', self.NAK, 12, 1),
                                        ('retransmission', 'late_not_lost', 12, 8)])

    def recovery(self, first, end, number, without=()):
        """Sends `first` to the PSN before `end`, from IP packet `number` on."""
        for at, psn in enumerate(range(first, end)):
            if psn not in without:
                self.send(psn, number + at)

    def send_20_behind_a_single_repetition(self):
        """The sender repeats 12 alone, and sends 20 to 39, which are not acknowledged."""
        self.nak(12)
        self.send(12, 20, 50)
        self.recovery(20, 40, 21)
        self.answer(19)

    def test_a_packet_that_comes_behind_the_next_recovery_was_late(self):
        self.begin()
        self.nak(12)
        self.recovery(12, 26, 20, without={22})
        self.nak(22)
        self.recovery(22, 26, 34)
        self.send(12, 12)
        self.recovery(26, 30, 38)
        self.assertEqual(self.found(), [('out_of_order', self.NAK, 12, 1), ('psn_gap', self.LOST, 22, 1),
                                        ('retransmission', 'late_not_lost', 12, 8),
                                        ('retransmission', self.NAK, 22, 4)])

    def test_a_packet_of_a_recovery_comes_behind_the_next_one(self):
        self.begin()
        self.nak(12)
        self.recovery(12, 20, 20, without={15})
        self.nak(15)
        self.recovery(15, 20, 28)
        self.recovery(20, 30, 33, without={26})
        self.nak(26)
        self.recovery(26, 30, 43)
        self.send(15, 23)
        self.recovery(30, 34, 47)
        self.assertEqual(self.found(), [('out_of_order', 'none', 15, 1), ('psn_gap', self.LOST, 12, 1),
                                        ('psn_gap', self.LOST, 26, 1), ('retransmission', self.NAK, 12, 8),
                                        ('retransmission', self.NAK, 15, 5), ('retransmission', self.NAK, 26, 4)])

    def test_a_packet_that_was_never_seen_comes_late_in_a_recovery(self):
        """The recovery goes on behind it: it begins no other one."""
        def tell():
            del self.frames[-5]  # 15
            self.nak(12)
            for number, psn in enumerate((12, 13, 14, 16, 17, 15, 18, 19, 20, 21)):
                self.send(psn, 23 if psn == 15 else 20 + number + (12 < psn < 18))
        self.both(tell, [('out_of_order', 'none', 15, 1), ('psn_gap', self.LOST, 12, 1),
                         ('psn_gap', self.LOST, 15, 1), ('retransmission', self.NAK, 12, 8)])

    def test_a_nak_is_answered_within_the_recovery_by_a_timer(self):
        """The sender repeats 22 alone, and goes on where it was; two packets there are lost again."""
        def tell():
            self.send_20_behind_a_single_repetition()
            self.at += 5000
            self.recovery(20, 31, 41)
            self.nak(22)
            self.send(22, 54, 50)
            self.recovery(33, 40, 55)
            self.answer(39, wait=100)
            self.recovery(40, 44, 62)
        self.both(tell, [('psn_gap', self.LOST, 12, 1), ('psn_gap', self.LOST, 31, 2),
                         ('lost_after_capture', 'lost_behind', 22, 1), ('retransmission', self.NAK, 12, 1),
                         ('retransmission', 'timer', 20, 11), ('retransmission', self.NAK, 22, 8)])

    def test_what_a_nak_asks_for_was_late_behind_the_newest_but_one(self):
        """The receiver gets 20 behind 21, which it has discarded: only this one is sent again."""
        def tell():
            self.nak(12)
            self.recovery(12, 22, 20)
            self.nak(20)
            self.answer(20)
            self.send(21, 30, 100)
            self.answer(21)
            self.recovery(22, 30, 31)
        self.both(tell, [('psn_gap', self.LOST, 12, 1),
                         ('retransmission', self.NAK, 12, 8), ('retransmission', self.NAK, 21, 1)])

    def test_a_timer_of_a_sender_that_repeats_single_packets(self):
        """It repeats all that is not acknowledged, and its begin, middle and end are lost again."""
        def tell():
            self.send_20_behind_a_single_repetition()
            for turn, lost in enumerate(({24, 25, 38, 39}, {22, 23}, set())):
                self.at += 5000
                self.recovery(20 if turn == 0 else 22, 40, 100 * (turn + 1), without=lost)
                if turn == 0:
                    self.answer(21)
            self.answer(39)
            self.recovery(40, 44, 400)
        again = [22, 24, 38]
        self.both(tell, [('psn_gap', self.LOST, 12, 1), *(('psn_gap', self.LOST, psn, 2) for psn in again),
                         ('retransmission', self.NAK, 12, 1), ('retransmission', 'timer', 20, 16),
                         ('retransmission', 'timer', 22, 16), ('retransmission', 'timer', 22, 18)])

    def test_a_late_packet_of_a_recovery_comes_behind_new_ones(self):
        def tell():
            self.nak(12)
            for number, psn in enumerate((12, 13, 14, 16, 17, 18, 19, 20, 21), 20):
                self.send(psn, number + (psn > 15))
            self.send(15, 23)
            self.send(22, 30)
        self.both(tell, [('out_of_order', 'none', 15, 1), ('psn_gap', self.LOST, 12, 1),
                         ('retransmission', self.NAK, 12, 8)], self.NUMBERS)

    def test_a_packet_comes_late_in_a_recovery_and_again(self):
        """The recovery skips 15, which comes twice, and goes on with 16 once more."""
        def tell():
            self.nak(12)
            self.at += 100
            for number, psn in enumerate((12, 13, 14, 16, 15, 15, 16, 17, 18, 19, 20, 21), 20):
                self.send(psn, number, 1)
            self.answer(21)
        for name in self.NUMBERS:
            self.number_of = self.NUMBERS[name]
            self.begin()
            tell()
            self.assertIn(('psn_gap', self.LOST, 12, 1), self.found(), name)

    def test_numbers_that_have_gone_round_show_nothing(self):
        """Other connections of the sender have used 45,000 numbers before its timer ended."""
        def tell():
            for number, psn in enumerate(range(12, 22), 45_000):
                self.send(psn, number, 2_000_000 if psn == 12 else 10)
                self.answer(psn)
        self.both(tell, [('psn_gap', self.LOST, 12, 1),
                         ('retransmission', 'timer', 12, 8)])

    def test_what_a_receiver_discards_was_not_lost(self):
        """PSN 12 comes late; the receiver has discarded those before it, and asks for them."""
        def tell():
            self.send(12, 12)
            self.nak(12)
            self.nak(13)
            for number, psn in enumerate(range(13, 22), 20):
                self.send(psn, number, 3000)
                self.answer(psn)
        self.both(tell, [('out_of_order', 'none', 12, 1), ('retransmission', self.NAK, 13, 7)])

    def test_a_packet_that_comes_late_in_the_next_recovery(self):
        """The first recovery has skipped 18, which comes within the second one. That goes on."""
        def tell():
            self.nak(12)
            self.at += 100
            self.recovery(12, 20, 20, without={14, 18})
            self.nak(14)
            self.at += 100
            self.recovery(14, 16, 28)
            self.send(18, 26)
            self.recovery(16, 24, 30)
            self.answer(23)
        self.both(tell, [('out_of_order', 'none', 18, 1), ('psn_gap', self.LOST, 12, 1),
                         ('psn_gap', self.LOST, 14, 1), ('retransmission', self.NAK, 12, 7),
                         ('retransmission', self.NAK, 14, 6)], self.NUMBERS)

    def test_a_packet_that_comes_alone_behind_its_repetition(self):
        """A sender that goes back sends no packet alone, and its number shows no copy."""
        def tell():
            self.nak(12)
            self.recovery(12, 24, 20)
            self.send(12, 12)
            self.recovery(24, 28, 32)
            self.answer(27)
        self.both(tell, [('out_of_order', self.NAK, 12, 1), ('retransmission', 'late_not_lost', 12, 8)],
                  ('counted', 'random'))

    def test_packets_in_a_row_come_late_behind_their_recovery(self):
        def tell():
            self.nak(12)
            self.recovery(12, 24, 20, without={15, 16})
            for psn in (15, 16):
                self.send(psn, 8 + psn)
            self.recovery(24, 28, 32)
            self.answer(27)
        self.both(tell, [('out_of_order', 'none', 15, 1), ('out_of_order', 'none', 16, 1),
                         ('psn_gap', self.LOST, 12, 1), ('retransmission', self.NAK, 12, 8)],
                  ('counted', 'random'))

    def test_the_end_of_a_recovery_is_as_long_as_what_comes_of_it(self):
        def tell():
            self.nak(12)
            self.recovery(12, 28, 20)
            self.answer(21)
            self.nak(22)
            self.recovery(22, 25, 36)
            self.answer(24)
            self.recovery(28, 31, 42)
            self.nak(25)
            self.recovery(25, 34, 45)
            self.answer(33)
        self.both(tell, [('psn_gap', self.LOST, 12, 1), ('lost_after_capture', 'lost_behind', 22, 1),
                         ('psn_gap', self.LOST, 25, 3), ('retransmission', self.NAK, 12, 8),
                         ('retransmission', self.NAK, 22, 3), ('retransmission', self.NAK, 25, 6)], self.NUMBERS)

    def test_other_connections_use_the_numbers_behind_a_repetition(self):
        """Fewer than the packets between it and the next new one: 23 to 29, of which 25 to 27 never came."""
        self.begin()
        self.nak(12)
        self.recovery(12, 20, 20)
        self.recovery(20, 30, 28, without={25, 26, 27})
        self.answer(21)
        self.nak(22)
        self.send(22, 38)
        self.answer(24)
        self.send(30, 45)
        self.nak(25)
        self.recovery(25, 34, 46)
        self.answer(33)
        self.assertEqual([row[2:] for row in self.found() if row[0] == 'psn_gap'], [(12, 1), (25, 3)])

    def test_a_late_packet_comes_soon_after_its_nak(self):
        """The sender needs 100 us to answer the NAK."""
        def tell():
            self.nak(12)
            self.send(12, 12, 26)
            self.answer(12, wait=1)
            self.recovery(13, 14, 20)
            self.frames[-1] = (self.frames[-1][0] + 80_000, self.frames[-1][1])
            self.at += 80
            self.recovery(14, 24, 21)
            self.answer(23)
        self.both(tell, [('out_of_order', self.NAK, 12, 1), ('retransmission', self.NAK, 13, 7)],
                  ('counted', 'random'))

    def test_a_nak_that_was_not_answered_hides_no_later_loss(self):
        """PSN 12 comes late, and what follows is acknowledged. PSN 22 is lost behind this point."""
        def tell():
            del self.frames[-7:]
            self.send(13, 13)
            self.nak(12)
            self.send(12, 12)
            self.answer(13)
            self.recovery(14, 28, 14)
            self.answer(21)
            self.nak(22)
            self.recovery(22, 32, 28)
            self.answer(31)
        self.both(tell, [('out_of_order', self.NAK, 12, 1), ('lost_after_capture', 'lost_behind', 22, 1),
                         ('retransmission', self.NAK, 22, 6)], self.NUMBERS)


if __name__ == '__main__':
    longwire_test.main()
