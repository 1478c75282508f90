# SPDX-License-Identifier: BSD-3-Clause
"""Captures in which one sample, or a guess, once decided what roce-dissect called certain: those of
pcaps/cases, and siblings of them. Of each, words that `explain` must say, or must not."""

import random
import struct
import subprocess
import sys
import unittest

import longwire_test
from conversation import NOT_READY, READ, READ_RESPONSE, READ_RESPONSES, SEND, WRITE, Conversation, aeth, bth
from dissect_analysis import InFolder, dissect, rows
from dissect_cases import CASES
from pcap_file import read_pcap, write_pcap

sys.path.insert(0, str(longwire_test.SOURCE / 'tests' / 'long' / 'truth2'))
import fam  # noqa: E402
import r2  # noqa: E402

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
    'nccl_two_qps_psn0': ('connections', 'QP 0x101  10.0.0.200 QP 0x900', '10.0.0.200 QP 0x900'),
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

    def test_requests_complete_in_their_order(self):
        """What is answered behind an incomplete READ is complete with that, of which the requester asks
        for the missing part only."""
        for count, lost in ((4, 1), (8, 5)):
            with self.subTest((count, lost)):
                talk = self.begun(count, lost)
                first, behind = 5 * count, 6 * count
                talk.read(behind, 0x9000, 1024, 5)
                self.responses(talk, behind, 1, 7)
                talk.write(behind + 1, 0xA000, bytes(1024), 5)
                talk.answer(behind + 1, 5, msn=8)
                talk.read(first + lost, 0x5000 + 1024 * lost, 1024, 400)
                self.responses(talk, first + lost, 1, 8)
                complete = len(talk.frames)
                messages = rows('messages', talk.save(self.folder / 'reads.pcap'))
                self.assertEqual([m['completion_frame'] for m in messages[5:]], [complete] * 3)

    def test_a_request_that_is_repeated_has_not_taken_its_answer(self):
        """Linux repeats three SENDs whose ACKs its capture holds: they were lost on the way to their sender."""
        messages = rows('messages', longwire_test.SOURCE / 'pcaps/rxe/loss_write_sender_side.pcap')
        repeated = {m['first_frame']: m['completion_frame'] for m in messages
                    if m['operation'] == 'SEND' and m['retransmitted_packets']}
        self.assertEqual(repeated, {123: 128, 157: 162, 191: 194})
        self.assertEqual([m['first_frame'] for m in messages], sorted(m['first_frame'] for m in messages))

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


class Selective(Sibling):
    """A sender that repeats single packets; its receiver sends a NAK a hole."""

    def lost(self, holes, end, before=0):
        """Requests up to `end`, `holes` of which are lost before the capture point."""
        talk = Conversation()
        talk.requests(0, before, wait=2)
        if before:
            talk.answer(before - 1, 3)
        for psn in range(before, end):
            if psn in holes:
                talk.at += 1
            else:
                talk.request(psn, asks=psn == end - 1)
        for hole in holes:
            talk.nak(hole, 2)
            talk.request(hole, 30)
        talk.answer(end - 1, 2)
        talk.requests(end, end + 4, wait=5)
        talk.answer(end + 3)
        return self.said(talk)

    def test_a_burst_is_lost(self):
        for first, count, before in ((4, 8, 0), (3, 5, 0), (14, 8, 8), (9, 4, 6)):
            with self.subTest((first, count, before)):
                text = self.lost(range(first, first + count), first + count + 12, before)
                self.assertNotIn('came late', text)
                self.assertIn(f'{count} packets were lost', text)

    def test_single_packets_are_lost_in_a_full_queue(self):
        for holes in ((5, 6, 9, 13, 14, 15, 20), (8, 10, 12, 14, 16, 18, 20, 22, 23)):
            with self.subTest(holes):
                text = self.lost(holes, 40)
                self.assertNotIn('came late', text)
                self.assertNotIn('changes the order', text)
                self.assertIn(f'{len(holes)} packets were lost', text)


    def test_each_repetition_of_a_nak_is_answered(self):
        """Its receiver repeats NAKs sooner than their answers come; what comes twice is not late."""
        holes = (5, 6, 9, 13, 14, 15, 20)
        talk = Conversation()
        for psn in range(40):
            if psn not in holes:
                talk.request(psn, asks=psn == 39)
        for hole in holes:
            talk.nak(hole, 20)
            talk.request(hole, 4)
            talk.nak(hole, 2)
            talk.request(hole, 4)
        talk.answer(39, 20)
        talk.requests(40, 44, wait=5)
        talk.answer(43, 20)
        found = rows('anomalies', talk.save(self.folder / 'sibling.pcap'))
        self.assertEqual({row['kind'] for row in found}, {'nak', 'psn_gap', 'retransmission'})
        again = [row for row in found if row['kind'] == 'retransmission']
        self.assertEqual({(row['cause'], row['certainty']) for row in again}, {('nak', 'certain')})
        self.assertEqual(sum(row['packets'] for row in again), 2 * len(holes))


class PathMtu(Sibling):
    def test_a_loss_behind_a_read_is_no_mtu(self):
        for length, lost in ((4, 4), (6, 6)):
            with self.subTest(length):
                talk = Conversation()
                talk.read(0, 0x1000, 1024 * length)
                talk.responses(0, length, 1, 5)
                talk.at += 2  # the WRITE behind the READ is lost
                talk.write(lost + 1, 0x9000, bytes(1024), 2)
                talk.nak(lost, 5)
                talk.write(lost, 0x8000, bytes(1024), 30)
                talk.write(lost + 1, 0x9000, bytes(1024))
                talk.answer(lost + 1, 5)
                for psn in range(lost + 2, lost + 12):
                    talk.write(psn, 0x9000, bytes(1024), 5)
                    talk.answer(psn, 5)
                text = self.said(talk)
                self.assertNotIn('MTU of 512', text)
                self.assertNotIn('PSNs of other requests', text)
                self.assertIn('1 packet was lost', text)


class SoftwareReceiver(Sibling):
    """It needs 9 to 70 us for an answer; one packet is lost behind the capture point."""

    def test_a_packet_is_lost_behind_a_receiver_in_software(self):
        for kind in (READ, WRITE):
            for waits in ((30, 9, 70, 25, 52), (12, 66, 9, 48, 31)):
                with self.subTest((kind, waits)):
                    talk = Conversation()

                    def ask(psn, wait):
                        if kind == READ:
                            talk.read(psn, 0x1000, 64, wait)
                        else:
                            talk.request(psn, wait)

                    def reply(psn, wait):
                        (talk.response if kind == READ else talk.answer)(psn, wait)

                    for psn in range(20):
                        ask(psn, 5)
                        reply(psn, waits[psn % 5])
                    ask(20, 5)  # lost
                    ask(21, 2)
                    talk.nak(20, waits[1])
                    ask(20, 360)
                    ask(21, 2)
                    reply(20, waits[1])
                    reply(21, 3)
                    text = self.said(talk)
                    self.assertNotIn('none was lost', text)
                    self.assertIn('lost behind the capture point', text)


class NotReady(Sibling):
    def test_the_first_packet_of_a_repetition_is_lost(self):
        for refused, end in ((6, 10), (3, 9)):
            with self.subTest(refused):
                talk = Conversation()
                talk.requests(0, refused, opcode=SEND)
                talk.answer(refused - 1, 4)
                talk.requests(refused, end, opcode=SEND)
                talk.nak(refused, 4, NOT_READY)
                rnr = len(talk.frames)
                talk.at += 700  # the packet that was refused is lost before the capture point
                talk.requests(refused + 1, end, opcode=SEND)
                talk.nak(refused, 4)
                talk.requests(refused, refused + 1, opcode=SEND, wait=40)
                again = len(talk.frames)
                talk.requests(refused + 1, end, opcode=SEND)
                talk.answer(end - 1, 4)
                said = self.said(talk, 'anomalies')
                self.assertIn('NAK', said)
                path = talk.save(self.folder / 'sibling.pcap')
                causes = {row['frame']: (row['cause'], row['related_frame'])
                          for row in rows('anomalies', path) if row['kind'] == 'retransmission'}
                self.assertNotEqual(causes.get(again), ('rnr', rnr))


class ShortTimer(Sibling):
    """Nothing is lost, and each request is answered twice."""

    def test_operations_are_mixed(self):
        for timer, round_trip in ((9000, 10_000), (6000, 10_000)):
            with self.subTest(timer):
                events = []  # (time, what)
                for psn in range(12):
                    for sent in (40 * psn, 40 * psn + timer):
                        kind = READ if psn % 3 == 0 else SEND if psn % 3 == 1 else WRITE
                        events.append((sent, 'ask', psn, kind))
                        events.append((sent + round_trip, 'answer', psn, kind))
                talk = Conversation()
                for at, what, psn, kind in sorted(events):
                    wait = at - talk.at
                    if what == 'ask':
                        talk.read(psn, 0x1000, 64, wait) if kind == READ else talk.request(psn, wait, kind)
                    elif kind == READ:
                        talk.response(psn, wait)
                    else:
                        talk.answer(psn, wait, msn=psn + 1)
                text = self.said(talk)
                self.assertNotIn('missed responses', text)
                self.assertNotIn('packets were lost', text)


def with_speed(pcap, bits_per_second):
    """A pcap file, stamps in ns, as a pcapng file whose interface states its speed."""
    def block(kind, body):
        body += bytes(-len(body) % 4)
        return struct.pack('<II', kind, 12 + len(body)) + body + struct.pack('<I', 12 + len(body))

    options = struct.pack('<HHQHHB3xHH', 8, 8, bits_per_second, 9, 1, 9, 0, 0)
    blocks = [block(0x0A0D0D0A, struct.pack('<IHHq', 0x1A2B3C4D, 1, 0, -1)),
              block(1, struct.pack('<HHI', 1, 0, 0) + options)]
    at = 24
    while at < len(pcap):
        seconds, ns, captured, length = struct.unpack_from('<IIII', pcap, at)
        stamp = seconds * 10**9 + ns
        blocks.append(block(6, struct.pack('<IIIII', 0, stamp >> 32, stamp & 0xFFFFFFFF, captured, length) +
                            pcap[at + 16:at + 16 + captured]))
        at += 16 + captured
    return b''.join(blocks)


class Simulated(Sibling):
    """Siblings by the second simulator of tests/long."""

    MOST = 4000  # frames of a capture

    def captured(self, family, seed, point, interfaces=1):
        """The simulated network, and its capture: of frames drawn for each of the interfaces."""
        net, _ = fam.FAMS[family](seed)
        net.run(60 * 10**9)
        rows_of = [row for row in net.caps[point] if row[1] is not None][:self.MOST]
        frames = [(at, r2.frame(net, sent, copy, damage, marked))
                  for at, sent, copy, damage, marked in rows_of]
        if interfaces == 1:
            path = self.folder / 'simulated.pcap'
            r2.pcap(path, frames)
            return net, path
        path = self.folder / 'simulated.pcapng'
        drawn = random.Random(seed)
        r2.pcapng(path, [(*frame, drawn.randrange(interfaces)) for frame in frames],
                  [f'eth{i}' for i in range(interfaces)])
        return net, path

    def test_queue_pairs_that_begin_with_psn_0(self):
        for seed in (0, 1, 5):  # nothing is lost
            with self.subTest(seed):
                net, path = self.captured('nccl', seed, 'A')
                said = said_of('connections', path)
                for connection in range(len(net.ends) // 2):
                    with self.subTest(connection):
                        self.assertRegex(said, rf'QP 0x{0x100 + connection:x} +10\.0\.0\.200 QP 0x{0x900 + connection:x}\b'
                                         rf'|QP 0x{0x900 + connection:x} +10\.0\.0\.1 QP 0x{0x100 + connection:x}\b')

    def test_a_spray_over_two_interfaces(self):
        for seed in (0, 3):  # senders go back
            with self.subTest(seed):
                _, path = self.captured('spray', seed, 'B', 2)
                self.assertNotIn('At eth0', said_of('explain', path))

    def test_the_rate_of_the_link_is_stated(self):
        for seed in (1, 2):
            with self.subTest(seed):
                _, path = self.captured('pfc', seed, 'M')
                for rate, said in (('100Gb/s', 'congestion? Yes'), ('800Gb/s', 'congestion? No')):
                    text = ' '.join(dissect('explain', path, '--link-rate', rate).stdout.split())
                    self.assertIn(said, text)
                    if said.endswith('Yes'):
                        self.assertIn('100.0 Gb/s (--link-rate)', text)
                path.write_bytes(with_speed(path.read_bytes(), 100_000_000_000))
                text = said_of('explain', path)
                self.assertIn('congestion? Yes', text)
                self.assertIn("100.0 Gb/s (the interface's, as the capture states)", text)

    def test_a_queue_has_no_room(self):
        for seed in (0, 6):
            with self.subTest(seed):
                _, path = self.captured('incast', seed, 'M')
                for words in (('--link-rate', '100Gb/s'), ()):
                    said = ' '.join(dissect('explain', path, *words).stdout.split())
                    self.assertIn('its queue had no room', said)
                self.assertIn('no faster than one alone', said)

    def test_no_queue_is_long_where_none_marks(self):
        for family, seed, point, why in (('nccl', 4, 'M', 'and round trips grew by no more than 567 ns'),
                                         ('readpart', 6, 'B', 'the receivers answer within 1 us')):
            with self.subTest(family):
                _, path = self.captured(family, seed, point)
                said = said_of('explain', path)
                self.assertIn('congestion? No', said)
                self.assertIn(why, said)

    def test_behind_a_lost_packet_answers_wait(self):
        """Not in a queue: for the packet to come again."""
        _, path = self.captured('sr', 9602, 'B')
        self.assertIn('congestion? No', said_of('explain', path))

    def test_one_host_and_a_full_queue_that_its_packets_meet(self):
        """Answers of one host are lost on their way here; its requests meet others', and wait."""
        _, path = self.captured('mix', 9814, 'A')
        self.assertNotIn('congestion? No', said_of('explain', path))

    def test_a_bad_link_fills_no_queue(self):
        for family, seed, point, why in (('sr', 4, 'A', 'nine in ten round trips grew by no more than'),
                                         ('corrupt', 7, 'B', "no other host's packets came to their receiver"),
                                         ('gbn', 3, 'M', 'a full queue keeps its link busy')):
            with self.subTest(family, seed=seed):
                _, path = self.captured(family, seed, point)
                said = said_of('explain', path)
                self.assertIn('congestion? No', said)
                self.assertIn(why, said)

    def test_paced_senders_and_a_bad_link_are_no_congestion(self):
        """Two hosts pace to one, and a link loses packets at random: all of them while both send, as nothing
        else happens. The highest rate that was seen is not the link's."""
        halves = []
        for seed, loss in (('1', '0.5%'), ('2', '2%')):
            made = self.folder / f'paced{seed}.pcapng'
            run = [longwire_test.program('roce-gen'), 'sim', '--delay', '100us', '--loss', loss, '--seed',
                   seed, '--selective-repeat', '--rate-control', 'fixed', '--qp-rate', '2Gb/s', '-n', '100', '-s', '64K',
                   '-t', '8', '--pcap-at', 'server-in', '--pcap-at', 'server-out', '--pcap', made]
            subprocess.run(run, check=True, capture_output=True)
            moved, address = self.folder / f'moved{seed}.pcap', f'198.18.0.1=198.18.0.1{seed}'
            subprocess.run([longwire_test.program('roce-gen'), 'replay', made, '--source', address, '--destination',
                            address, '--pcap', moved], check=True, capture_output=True)
            halves += read_pcap(moved)
        path = self.folder / 'paced.pcap'
        write_pcap(path, sorted(halves))
        self.assertIn('congestion? Cannot tell', said_of('explain', path))

    def test_a_link_that_three_hosts_fill(self):
        for seed in (0, 2):
            with self.subTest(seed):
                _, path = self.captured('pfc', seed, 'M')
                self.assertNotIn('congestion? No', said_of('explain', path))
        _, path = self.captured('pfc', 9603, 'B')
        said = said_of('explain', path)
        self.assertIn('congestion? Yes', said)
        self.assertIn('no faster than those of one host alone', said)


if __name__ == '__main__':
    longwire_test.main()
