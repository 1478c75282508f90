# SPDX-License-Identifier: BSD-3-Clause
"""Captures in which one sample, or a guess, once decided what roce-dissect called certain: those of
pcaps/cases, and siblings of them. Of each, words that `explain` must say, or must not."""

import unittest

from conversation import READ, READ_RESPONSE, READ_RESPONSES, Conversation, aeth, bth
from dissect_analysis import InFolder, dissect, rows
from dissect_cases import CASES

# Of a capture: the command, a word that it must not say, and one that it must.
SAID = {
    'incast_selective_behind_full_queue': ('explain', 'came late', 'lost'),
    'sr_first_burst_lost': ('explain', 'came late', '8 packets were lost'),
    'sr_later_burst_lost': ('explain', 'came late', '8 packets were lost'),
    'mtu_from_one_loss': ('explain', 'MTU of 512', '1 packet was lost'),
    'nak_lost_timer_from_una': ('explain', 'After NAKs', 'because of a timer, or a NAK'),
    'read_lost_behind_quick_answer': ('explain', 'none was lost', 'lost behind the capture point, or overtaken'),
    'read_response_lost_end': ('explain', 'only the capturing lost', 'either lost before the capture point'),
    'read_latency_with_loss': ('messages', 'completed by frame 20', 'completed by frame 29'),
    'rnr_first_of_recovery_lost': ('anomalies', 'RNR NAK (frame 21)', 'NAK'),
    'timer_short_mixed_operations': ('explain', 'were lost', 'shorter than the round trip'),
    'nccl_two_qps_psn0': ('sessions', 'QP 0x101  10.0.0.200 QP 0x900', '10.0.0.200 QP 0x900'),
    'congestion_yes_software_receiver': ('explain', 'congestion? Yes', 'congestion?'),
    'full_link_three_hosts': ('explain', 'congestion? No', 'of several hosts'),
    'spray_goback_two_interfaces': ('explain', 'At eth0', 'parts of one point'),
    'damaged_in_capture_but_acked': ('explain', 'receiver drops it', 'in the capture only'),
}


def said_of(command, path):
    return ' '.join(dissect(command, path).stdout.split())


class Captures(unittest.TestCase):
    def test_what_is_said(self):
        for name, (command, wrong, right) in SAID.items():
            with self.subTest(name):
                path, = CASES.glob(f'{name}.pcap*')
                text = said_of(command, path)
                self.assertNotIn(wrong, text)
                self.assertIn(right, text)


class Sibling(InFolder):
    def said(self, talk, command='explain'):
        return said_of(command, talk.save(self.folder / 'sibling.pcap'))


def damage(talk, index):
    """Flips a bit of the payload of a frame in the capture."""
    at, frame = talk.frames[index]
    talk.frames[index] = (at, frame[:-8] + bytes([frame[-8] ^ 4]) + frame[-7:])


class Damaged(Sibling):
    def one_at_a_time(self, count=12):
        talk = Conversation()
        for psn in range(count):
            talk.request(psn, 10)
            talk.answer(psn, 5)
        return talk

    def test_frames_that_were_acknowledged_are_damaged_in_the_capture(self):
        for damaged in ((5,), (3, 8)):
            talk = self.one_at_a_time()
            for psn in damaged:
                damage(talk, 2 * psn)
            text = self.said(talk)
            self.assertIn('in the capture only', text)
            self.assertNotIn('receiver drops', text)

    def test_a_frame_that_was_sent_again_was_damaged(self):
        talk = Conversation()
        talk.requests(0, 6)
        talk.request(6)
        damage(talk, -1)
        talk.requests(7, 10)
        talk.nak(6, 5)
        talk.requests(6, 10)
        talk.answer(9, 5)
        self.assertIn('so its receiver drops it', self.said(talk))


class Reads(Sibling):
    """READs of `count` packets each; the second READ misses its response `lost`."""

    @staticmethod
    def responses(talk, psn, count, msn, lost=()):
        for at in range(count):
            if at in lost:
                talk.at += 1
                continue
            first, last = at == 0, at == count - 1
            opcode = READ_RESPONSE if count == 1 else READ_RESPONSES + (0 if first else 2 if last else 1)
            talk.add('answer', bth(opcode, 0x11, psn + at) +
                     (aeth(msn) if first or last else b'') + bytes(1024), 5 if first else 1)

    def begun(self, count, lost):
        talk = Conversation()
        for read in range(6):
            talk.read(read * count, 0x1000 * read, 1024 * count, 5)
            self.responses(talk, read * count, count, read + 1, (lost,) if read == 5 else ())
        return talk

    def test_a_read_is_complete_with_its_last_response(self):
        for count, lost in ((4, 1), (8, 5), (8, 0)):
            with self.subTest((count, lost)):
                talk = self.begun(count, lost)
                first = 5 * count
                talk.read(first + lost, 0x5000 + 1024 * lost, 1024 * (count - lost), 400)
                self.responses(talk, first + lost, count - lost, 6)
                complete = len(talk.frames)
                talk.read(first + count, 0x9000, 1024, 5)
                self.responses(talk, first + count, 1, 7)
                messages = rows('messages', talk.save(self.folder / 'reads.pcap'))
                self.assertEqual(messages[5]['completion_frame'], complete)
                self.assertGreater(messages[5]['latency_ns'], 400_000)

    def test_a_capture_that_ends_before_the_requester_asks_again(self):
        for count, lost in ((4, 1), (8, 5)):
            with self.subTest((count, lost)):
                path = self.begun(count, lost).save(self.folder / 'reads.pcap')
                self.assertIsNone(rows('messages', path)[5]['completion_frame'])
                self.assertNotIn('only the capturing lost', said_of('explain', path))


class Timers(Sibling):
    def test_a_timer_begins_below_what_a_nak_acknowledged(self):
        """The NAK was lost behind the capture point: the sender's timer repeats all."""
        for oldest, refused in ((0, 20), (5, 12)):
            talk = Conversation()
            talk.requests(0, oldest, asks=False)
            if oldest:
                talk.answer(oldest - 1)
            talk.requests(oldest, 30, asks=False)
            talk.nak(refused, 5)
            talk.requests(oldest, 30, wait=4400 if oldest == 0 else 5000)
            talk.answer(29)
            self.assertNotIn('After NAKs', self.said(talk))


class Congestion(Sibling):
    def test_a_receiver_whose_times_vary_is_no_queue(self):
        for waits in ((3, 40, 12, 50, 7, 25), (3, 3, 30, 45, 50, 20)):
            talk = Conversation()
            for psn in range(0, 24, 2):
                talk.request(psn, 2)
                talk.request(psn + 1, 2)
                talk.answer(psn, waits[psn % 6])
                talk.answer(psn + 1, waits[(psn + 1) % 6])
            self.assertNotIn('congestion? Yes', self.said(talk))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
