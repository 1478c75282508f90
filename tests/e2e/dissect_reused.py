# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect on a sender that uses PSNs twice, for different requests: `psn_reused` is the only
finding, and nothing is said of answers. A request that is sent again is none."""

import longwire_test
from conversation import Conversation
from dissect_analysis import rows
from dissect_cases import Case

WRAP = 2**24
BEGINS = (100, WRAP - 3)  # PSNs; the second one goes round within the fault
SMALL = bytes(64)


def send(talk, psn, length=64, wait=1):
    talk.body(psn, 4, bytes(length), wait)


def each_acked(talk, first, end, messages):
    """SENDs, each with its ACK. `messages`: number of those before."""
    for psn in range(first, end):
        send(talk, psn)
        messages += 1
        talk.answer(psn, 5, msn=messages)


def begun(base, counted):
    talk = Conversation(counted)
    each_acked(talk, base, base + 2, 0)
    return talk


def send_within_read(base, counted, wait=1):
    """A SEND has a PSN of the READ before it, which takes four. The responder acknowledges the
    newest PSN that it has."""
    talk = begun(base, counted)
    talk.read(base + 2, 0x1000, 4096)
    send(talk, base + 3, wait=wait)
    talk.responses(base + 2, 4, 3, 5)
    talk.answer(base + 5, msn=3)
    each_acked(talk, base + 6, base + 30, 3)
    return talk


def late_send_within_read(base, counted):
    talk = begun(base, counted)
    talk.read(base + 2, 0x1000, 4096)
    talk.responses(base + 2, 4, 3, 5)
    send(talk, base + 4, wait=700)
    talk.answer(base + 5, 5, msn=3)
    each_acked(talk, base + 6, base + 30, 3)
    return talk


def reads_of_one_psn(base, counted):
    """The sender takes one PSN for each READ, whose response has four. The responder follows it."""
    talk = begun(base, counted)
    for first in range(0, 9, 3):
        for read in range(first, first + 3):
            talk.read(base + 2 + read, 0x1000 + 4096 * read, 4096)
        for read in range(first, first + 3):
            talk.responses(base + 2 + read, 4, 3 + read, 3)
    each_acked(talk, base + 11, base + 30, 11)
    return talk


def acked_within_read(base, counted):
    """The responder, too, takes one PSN for the READ, and acknowledges what comes behind it before
    it answers the READ."""
    talk = begun(base, counted)
    talk.read(base + 2, 0x1000, 4096)
    for psn in range(base + 3, base + 8):
        send(talk, psn)
    talk.answer(base + 7, 5, msn=8)
    talk.responses(base + 2, 4, 3)
    each_acked(talk, base + 8, base + 30, 8)
    return talk


def other_write(base, counted, packets=1, others=1, wait=1):
    """Another WRITE has the PSNs of the one before."""
    talk = begun(base, counted)
    talk.write(base + 2, 0x10000, bytes(1024 * packets))
    talk.answer(base + 1 + packets, 5, msn=3)
    talk.write(base + 2, 0x20000, bytes([7]) * (1024 * others), wait)
    end = base + 2 + max(packets, others)
    talk.answer(end - 1, 5, msn=3)
    each_acked(talk, end, base + 30, 3)
    return talk


def long_write(base, counted):
    return other_write(base, counted, 3, 3, 700)


def longer_write(base, counted):
    return other_write(base, counted, 2, 5)


def counter_falls(base, counted):
    """The sender's PSN falls back by five; the next SENDs have another length."""
    talk = begun(base, counted)
    each_acked(talk, base + 2, base + 10, 2)
    for psn in range(base + 5, base + 10):
        send(talk, psn, 128)
        talk.answer(base + 9, 5, msn=10)
    each_acked(talk, base + 10, base + 30, 10)
    return talk


def other_atomic(base, counted):
    talk = begun(base, counted)
    for psn in range(base + 2, base + 6):
        talk.fetch_add(psn, 0x100 + 8 * psn)
        talk.atomic_ack(psn, psn - base + 1, 5)
    talk.fetch_add(base + 5, 0x9000)
    talk.atomic_ack(base + 5, 6, 5)
    each_acked(talk, base + 6, base + 30, 6)
    return talk


class Reused(Case):
    def check_reused(self, make, first, packets):
        for base in BEGINS:
            for counted in (False, True):
                with self.subTest(make.__name__, base=base, counted=counted):
                    path = make(base, counted).save(self.folder / 'reused.pcap')
                    found = [(row['kind'], row['certainty'], row['role'], row['psn'], row['packets'])
                             for row in rows('anomalies', path)]
                    psn = (base + first) % WRAP
                    self.assertEqual(found, [('psn_reused', 'certain', 'request', psn, packets)])

    def test_a_send_within_a_read(self):
        self.check_reused(send_within_read, 3, 1)
        self.check_reused(late_send_within_read, 4, 1)

    def test_reads_that_take_one_psn_each(self):
        """8 of 9 READs, and the SENDs up to the end of the last one's response."""
        self.check_reused(reads_of_one_psn, 3, 8 + 3)

    def test_an_ack_within_a_read(self):
        self.check_reused(acked_within_read, 3, 3)

    def test_another_write(self):
        self.check_reused(other_write, 2, 1)
        self.check_reused(long_write, 2, 3)
        self.check_reused(longer_write, 2, 2)

    def test_a_counter_that_falls(self):
        self.check_reused(counter_falls, 5, 5)

    def test_another_atomic(self):
        self.check_reused(other_atomic, 5, 1)

    def test_the_sender_is_named(self):
        self.check_frames(send_within_read(100, False), {('psn_reused', 'none', 'certain')},
                          'A request packet has PSNs of other requests before them (RC SEND ONLY '
                          'where frame 5 is RC READ REQUEST)')


class Repeated(Case):
    """Requests that are sent again, with all that they were."""

    def kinds_of(self, talk):
        return {row['kind'] for row in rows('anomalies', talk.save(self.folder / 'again.pcap'))}

    def test_a_write_is_sent_again(self):
        for base in BEGINS:
            for counted in (False, True):
                with self.subTest(base=base, counted=counted):
                    talk = begun(base, counted)
                    for wait in (1, 5000):
                        talk.write(base + 2, 0x10000, bytes(3072), wait)
                        talk.answer(base + 4, 5, msn=3)
                    each_acked(talk, base + 5, base + 30, 3)
                    self.assertEqual(self.kinds_of(talk), {'retransmission'})

    def test_the_rest_of_a_read_is_read_again(self):
        for base in BEGINS:
            for from_begin in (False, True):
                with self.subTest(base=base, from_begin=from_begin):
                    talk = begun(base, False)
                    talk.read(base + 2, 0x1000, 4096)
                    talk.responses(base + 2, 4, 3, 5)
                    del talk.frames[-2:]  # lost
                    at = 0 if from_begin else 2
                    talk.read(base + 2 + at, 0x1000 + 1024 * at, 4096 - 1024 * at, 5000)
                    talk.responses(base + 2 + at, 4 - at, 3, 5)
                    each_acked(talk, base + 6, base + 30, 3)
                    self.assertNotIn('psn_reused', self.kinds_of(talk))

    def test_a_loss_beside_a_reuse_is_a_loss(self):
        """A packet is lost behind the capture point, and all is sent again from there on, the reused
        PSN with it."""
        talk = begun(100, False)
        for wait in (1, 8):
            send(talk, 102, wait=wait)
            talk.read(103, 0x1000, 4096)
            send(talk, 105)
            send(talk, 107)
            if wait == 1:
                talk.nak(102, 3)
        talk.answer(102, 5, msn=3)
        talk.responses(103, 4, 4)
        talk.answer(107, 5, msn=5)
        each_acked(talk, 108, 130, 5)
        self.assertEqual(self.kinds_of(talk), {'nak', 'lost_after_capture', 'retransmission', 'psn_reused'})


if __name__ == '__main__':
    longwire_test.main()
