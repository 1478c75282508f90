# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect explain: what it says of captures whose trouble is known, its evidence, its answer
to "was it congestion?", and a port's counters beside the capture."""

import json
import pathlib
import re
import shlex
import struct
import subprocess
import tempfile
import unittest
import zlib

from conversation import Conversation
from capture_files import RXE, WITH_LOSS, captures, tshark_of
from longwire_test import SOURCE, program
from pcap_file import MAGIC_NS, read_pcap, write_pcap
from pcapng_file import read_pcapng, write_pcapng

CNP = '129'
BTH = 42  # its offset behind Ethernet, IPv4 and UDP
IP = 14


def dissect(*words):
    return subprocess.run([program('roce-dissect'), *map(str, words)], capture_output=True,
                          text=True, check=False)


def explained(*words):
    done = dissect('explain', *words, '--json')
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def topics(explanation, *severities):
    return [said['topic'] for said in explanation['statements']
            if said['severity'] in (severities or ('fatal', 'harm'))]


def said_about(explanation, topic):
    return [said for said in explanation['statements'] if said['topic'] == topic]


def with_icrc(frame):
    """The frame (Ethernet, IPv4, no options) with the ICRC that its bytes ask for."""
    masked = bytearray(frame[IP:-4])
    masked[1] = masked[8] = 0xff  # TOS, TTL
    masked[10:12] = masked[26:28] = b'\xff\xff'  # checksums
    masked[BTH - IP + 4] = 0xff
    return frame[:-4] + zlib.crc32(b'\xff' * 8 + masked).to_bytes(4, 'little')

SHORT = ('nccl',)  # a capture of one round trip: no queue can show


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def pcap(self, frames, name='made.pcap'):
        write_pcap(self.folder / name, frames)
        return self.folder / name

    def file(self, name, text):
        (self.folder / name).write_text(text, encoding='utf-8')
        return self.folder / name

    def simulated(self, *words, points=('client-out', 'client-in')):
        path = self.folder / 'simulated.pcapng'
        at = [word for point in points for word in ('--pcap-at', point)]
        subprocess.run([program('roce-gen'), 'sim', '--pcap', path, *at,
                        *map(str, words)], check=True, capture_output=True)
        return path


class Explain(InFolder):
    def test_nothing_is_wrong_without_loss(self):
        for path in captures():
            with self.subTest(path.stem):
                found = explained(path)
                self.assertEqual((found['schema'], found['version']), ('longwire.explanation', 2))
                self.assertEqual(found['nothing_is_wrong'], path.stem not in WITH_LOSS)
                self.assertEqual(found['nothing_is_wrong'], topics(found) == [])
                text = dissect('explain', path).stdout
                self.assertEqual('Nothing is wrong' in text, found['nothing_is_wrong'])
                if found['nothing_is_wrong']:
                    notified = any(row['infiniband.bth.opcode'] == CNP for row in tshark_of(path))
                    self.assertEqual(found['congestion']['answer'],
                                     'yes' if notified else 'cannot tell' if path.stem in SHORT else 'no')

    def test_losses_behind_the_capture_point(self):
        """Every 17th frame to the responder was dropped: requests, and ACKs of its requests."""
        found = explained(RXE / 'loss_write_sender_side.pcap')
        self.assertEqual(sorted(set(topics(found))),
                         ['lost_after_capture', 'retransmission', 'retry_storm'])
        lost, = said_about(found, 'lost_after_capture')
        self.assertEqual((lost['events'], lost['first_frames']), (4, [45, 72, 79, 101]))
        self.assertIn('4 packets were lost behind the capture point', lost['text'])
        acks, repeats = said_about(found, 'retransmission')  # the ACKs cost more time
        self.assertEqual((acks['events'], acks['packets'], acks['connections']), (3, 3, [2]))
        self.assertIn('3 ACKs were lost or late', acks['text'])
        self.assertEqual((repeats['events'], repeats['packets']), (4, 54))
        self.assertIn('57.4 % of the requests of connection 1', repeats['text'])
        self.assertEqual(found['congestion']['answer'], 'cannot tell')
        self.assertIn('Not-ECT', found['congestion']['reason'])

    def test_lost_responses(self):
        found = explained(RXE / 'loss_read_requester_side.pcap')
        # tshark: the gap shows in frame 109 at 38.826 ms, and frame 111 at 111.361 ms asks again.
        self.assertEqual(topics(found)[:2], ['retransmission', 'psn_gap'])
        by_timer, asked_again = said_about(found, 'retransmission')
        self.assertIn('72.53 ms', by_timer['text'])
        self.assertIn('response packets were lost before the capture point',
                      said_about(found, 'psn_gap')[0]['text'])
        self.assertIn('Requesters missed responses', asked_again['text'])

    def test_a_receiver_without_buffers_is_no_congestion(self):
        found = explained(RXE / 'rnr_nak.pcap')
        self.assertEqual(topics(found)[:2], ['rnr_nak', 'retransmission'])
        refused, = said_about(found, 'rnr_nak')
        self.assertEqual(refused['events'], 24)
        self.assertIn('no receive buffer posted 24 times', refused['text'])
        self.assertIn('a wait of 640 us', refused['text'])
        self.assertEqual(found['congestion']['answer'], 'no')
        self.assertEqual(found['congestion']['lost'], 0)

    def test_reordering_and_the_retransmission_that_it_caused(self):
        found = explained(RXE / 'netem_reorder.pcap')
        self.assertEqual(topics(found), ['out_of_order', 'retransmission'])
        self.assertIn('for nothing: the packets were late, not lost',
                      said_about(found, 'retransmission')[0]['text'])
        self.assertEqual(found['congestion']['answer'], 'no')

    def test_each_command_lists_the_frames(self):
        for name in WITH_LOSS:
            for said in explained(RXE / f'{name}.pcap')['statements']:
                with self.subTest(f'{name} {said["topic"]}'):
                    words = shlex.split(said['command'])
                    self.assertEqual(words[0], 'roce-dissect')
                    done = dissect(*words[1:], '--json')
                    self.assertEqual(done.returncode, 0, done.stderr)
                    rows = [json.loads(line) for line in done.stdout.splitlines()]
                    self.assertLessEqual(set(said['first_frames']), {row['frame'] for row in rows})
                    self.assertGreaterEqual(len(rows), said['events'])

    def test_the_worst_comes_first(self):
        order = ['fatal', 'harm', 'note', 'capture']
        for name in WITH_LOSS:
            found = explained(RXE / f'{name}.pcap')
            ranks = [(order.index(said['severity']), -said['cost_ns'])
                     for said in found['statements']]
            self.assertEqual(ranks, sorted(ranks), name)

    def test_text_says_what_json_says(self):
        path = self.folder / 'a b.pcap'
        path.write_bytes((RXE / 'loss_write_sender_side.pcap').read_bytes())
        text = ' '.join(dissect('explain', path, '--filter', 'host 192.168.77.1').stdout.split())
        found = explained(path, '--filter', 'host 192.168.77.1')
        for said in found['statements']:
            self.assertIn(said['text'], text)
            self.assertIn(said['command'], text)
            self.assertIn(f"'{path}' --filter 'host 192.168.77.1' --kind", said['command'])
        self.assertIn(f"Was it congestion? Cannot tell: {found['congestion']['reason']}", text)
        for line in dissect('explain', RXE / 'loss_write_sender_side.pcap').stdout.splitlines():
            self.assertTrue(len(line) <= 100 or 'roce-dissect' in line, line)

    def test_a_refused_request_is_fatal(self):
        frames = read_pcap(RXE / 'loss_write_sender_side.pcap')[:45]
        stamp, nak = frames[44]
        self.assertEqual(nak[BTH + 12], 0x60)  # NAK: PSN sequence error
        nak = with_icrc(nak[:BTH + 12] + b'\x62' + nak[BTH + 13:])
        found = explained(self.pcap([*frames[:44], (stamp, nak)]))
        self.assertEqual(topics(found)[0], 'nak')
        self.assertEqual(found['statements'][0]['severity'], 'fatal')
        self.assertIn('remote access error', found['statements'][0]['text'])
        self.assertIn('error state', found['statements'][0]['text'])

    def test_requests_without_an_answer_are_fatal(self):
        names, frames = read_pcapng(self.simulated('--delay', '1ms', '--op', 'write', '-n', 40))
        answers = [stamp for name, stamp, _ in frames if name == 'client-in']
        left = [(names.index(name), stamp, data) for name, stamp, data in frames
                if name == 'client-out' or stamp < answers[10]]
        interface, stamp, data = left[-1]  # another QP, a second later: the capture went on
        left.append((interface, stamp + 10**9,
                     with_icrc(data[:BTH + 5] + b'\0\0\x99' + data[BTH + 8:])))
        write_pcapng(self.folder / 'dead.pcapng', names, left)
        found = explained(self.folder / 'dead.pcapng')
        self.assertEqual(topics(found), ['unanswered'])
        self.assertEqual(found['statements'][0]['packets'], 16 * (len(answers) - 10))
        self.assertEqual(found['statements'][0]['severity'], 'fatal')

    def test_a_bad_icrc_and_what_changed(self):
        frames = read_pcap(RXE / 'rc_write_send_read.pcap')
        at = next(i for i, (_, data) in enumerate(frames) if len(data) > 1000)
        stamp, data = frames[at]
        frames[at] = (stamp, data[:500] + bytes([data[500] ^ 8]) + data[501:])
        found = explained(self.pcap(frames))
        bad, = said_about(found, 'bad_icrc')
        self.assertEqual(bad['first_frames'], [at + 1])
        self.assertIn('bit 3 of byte 500 was flipped', bad['text'])

    def test_copies_of_the_path(self):
        frames = read_pcap(RXE / 'rc_write_send_read.pcap')
        at = next(i for i, (_, data) in enumerate(frames) if len(data) > 1000)
        frames.insert(at + 1, (frames[at][0] + 1000, frames[at][1]))
        found = explained(self.pcap(frames))
        self.assertEqual(topics(found), ['duplicate'])
        self.assertIn('The path copied 1 packet', found['statements'][0]['text'])

    def test_frames_that_the_capture_missed_are_not_lost(self):
        names, frames = read_pcapng(self.simulated('--delay', '100us', '--op', 'write', '-n', 50))
        kept = [(names.index(name), stamp, data) for i, (name, stamp, data) in enumerate(frames)
                if name == 'client-in' or i not in (100, 200, 300)]
        write_pcapng(self.folder / 'holes.pcapng', names, kept)
        found = explained(self.folder / 'holes.pcapng')
        wrong = [one['question'] for one in found['questions'] if one['verdict'] == 'wrong']
        self.assertEqual(wrong, ['capture'])
        self.assertEqual([(said['topic'], said['severity'], said['packets'])
                          for said in found['statements']], [('psn_gap', 'capture', 3)])
        self.assertIn('only the capturing lost them', found['statements'][0]['text'])

    def test_one_direction_and_cut_frames(self):
        path = RXE / 'rc_write_send_read.pcap'
        found = explained(path, '--filter', 'src host 192.168.77.2')
        wrong = [one['question'] for one in found['questions'] if one['verdict'] == 'wrong']
        self.assertEqual(wrong, ['capture'])
        self.assertIn('one_direction', topics(found, 'capture'))
        data = struct.pack('<IHHiIII', MAGIC_NS, 2, 4, 0, 0, 96, 1)
        cut = 0
        for stamp, frame in read_pcap(path):
            seconds, ns = divmod(stamp, 10**9)
            kept = frame[:96]
            data += struct.pack('<IIII', seconds, ns, len(kept), len(frame)) + kept
            cut += len(kept) < len(frame) and frame[36:38] == (4791).to_bytes(2, 'big')
        (self.folder / 'cut.pcap').write_bytes(data)
        found = explained(self.folder / 'cut.pcap')
        self.assertTrue(found['nothing_is_wrong'])
        said, = said_about(found, 'cut_frames')
        self.assertEqual(said['events'], cut)

    def test_a_limit_of_outstanding_reads(self):
        path = self.simulated('--delay', '1ms', '--op', 'read', '-s', '64KiB', '-n', 200)
        found = explained(path)
        said, = said_about(found, 'window_plateau')
        session = json.loads(dissect('connections', path, '--json').stdout)
        self.assertEqual(session['most_reads'], 16)
        bound = 16 * 65536 * 8 / (session['rtt_p50_ns'] / 1e9)
        self.assertRegex(said['text'], r'16 x 65\.54 kB in a round trip of 2\.\d+ ms')
        shown = float(re.search(r'are ([0-9.]+) Gb/s', said['text'])[1])
        self.assertAlmostEqual(shown, bound / 1e9, delta=0.01)
        self.assertLessEqual(session['goodput_bps'], bound)
        self.assertTrue(found['nothing_is_wrong'])

    def test_a_limit_of_outstanding_packets(self):
        for words, limit in ((('-s', '64KiB', '-t', 8), 8 * 16), (('-s', '4KiB', '-t', 64), 64),
                             (('-s', '1MiB', '-t', 8, '--psn-window', 100), 100)):
            path = self.simulated('--delay', '1ms', '--op', 'write', '-n', 1000, *words)
            found = explained(path)
            said, = said_about(found, 'window_plateau')
            self.assertIn(f'never has more than {limit} packets of SENDs and WRITEs outstanding', said['text'])
            session = json.loads(dissect('connections', path, '--json').stdout)
            self.assertEqual(session['most_outstanding'], limit)
            bound = limit * 4096 * 8 / (session['rtt_p50_ns'] / 1e9)
            shown = float(re.search(r'are ([0-9.]+) Gb/s', said['text'])[1])
            self.assertAlmostEqual(shown, bound / 1e9, delta=0.01 * bound / 1e9)
            self.assertLessEqual(session['goodput_bps'], bound * 1.01)
            share = int(re.search(r'([0-9]+) % of the time', said['text'])[1])
            self.assertGreater(share, 80)

    def test_no_limit_where_the_sender_does_not_wait_for_acks(self):
        far = ('server-in', 'server-out')
        for words, points in (
                (('-t', 1), ('client-out', 'client-in')),  # one message after the other
                (('-t', 512, '--rate', '1Gb/s'), ('client-out', 'client-in')),  # the link is the limit
                (('-t', 512, '--rate-control', 'fixed', '--qp-rate', '1Gb/s'), ('client-out', 'client-in')),
                (('-t', 8), far)):  # as the responder sees it
            path = self.simulated('--delay', '1ms', '--op', 'write', '-s', '16KiB', '-n', 1000, *words, points=points)
            self.assertNotIn('window_plateau', topics(explained(path)), words)

    def test_points_are_told_apart(self):
        path = self.simulated('--delay', '100us', '--op', 'write', '-n', 100, '--loss', '0.5%',
                              points=('client-out', 'server-in', 'server-out', 'client-in'))
        found = explained(path)
        at = {topic: {said['text'].split(':')[0] for said in said_about(found, topic)}
              for topic in topics(found)}
        self.assertIn('At client', at['lost_after_capture'])
        self.assertIn('At server', at['psn_gap'])
        self.assertEqual(len(found['overview']), 3)

    def test_stamps_a_century_apart(self):
        frames = [(stamp % 10**9 + (0, 2**32 - 1)[i // 7 % 2] * 10**9, data) for i, (stamp, data)
                  in enumerate(read_pcap(RXE / 'rnr_nak.pcap'))]
        found = explained(self.pcap(frames))
        costs = [said['cost_ns'] for said in found['statements'] if said['topic'] == 'rnr_nak']
        self.assertEqual(costs, [2**63 - 1])  # several times 136 years: the longest time

    def test_no_roce_frame(self):
        path = RXE / 'ud_send.pcap'
        done = dissect('explain', path, '--filter', 'host 203.0.113.9')
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith(f'{path}\n  0 frames, none of RoCE.\n'))
        self.assertNotIn('Nothing is wrong', done.stdout)

    def test_damage_is_said_behind_the_explanation(self):
        whole = (RXE / 'loss_write_sender_side.pcap').read_bytes()
        (self.folder / 'damaged.pcap').write_bytes(whole[:-10])
        done = dissect('explain', self.folder / 'damaged.pcap')
        self.assertEqual(done.returncode, 1)
        self.assertIn('lost behind the capture point', done.stdout)
        self.assertIn('offset', done.stderr)


class Congestion(InFolder):
    MARKED = ('--delay', '100us', '--op', 'write', '-n', 200, '--mark', '5%', '--rate-control',
              'dcqcn')

    def test_marks_and_notifications(self):
        path = self.simulated(*self.MARKED, points=('server-in', 'server-out'))
        verdict = explained(path)['congestion']
        self.assertEqual(verdict['answer'], 'yes')
        listed = [json.loads(line)
                  for line in dissect('list', path, '--json').stdout.splitlines()]
        self.assertEqual(verdict['marked'], sum(row['ip.dsfield.ecn'] == 3 for row in listed))
        self.assertEqual(verdict['cnps'],
                         sum(row['infiniband.bth.opcode'] == 0x81 for row in listed))
        self.assertIn(f'{verdict["marked"]} packets marked', verdict['reason'])
        self.assertIn(f'{verdict["cnps"]} CNPs came back', verdict['reason'])

    def test_marks_without_notifications(self):
        path = self.simulated(*self.MARKED, points=('server-in', 'server-out'))
        verdict = explained(path, '--filter', 'udp[8] != 0x81')['congestion']
        self.assertEqual((verdict['answer'], verdict['cnps']), ('yes', 0))
        self.assertIn('no CNP came back', verdict['reason'])

    def test_notifications_without_marks(self):
        path = self.simulated(*self.MARKED)
        verdict = explained(path, '--filter', 'ip[1] & 3 != 3')['congestion']
        self.assertEqual((verdict['answer'], verdict['marked']), ('yes', 0))
        self.assertIn('behind the capture point', verdict['reason'])

    def paused(self, change=lambda frame: frame, quanta=(100, 100, 0)):
        """Priority flow control (802.1Qbb): priority 3 stops for 100 quanta; 0 quanta go on."""
        def pause(time):
            return (bytes.fromhex('0180c2000001 020000000001 8808 0101 0008') + bytes(6)
                    + time.to_bytes(2, 'big') + bytes(8 + 26))
        frames = [(stamp, change(frame)) for stamp, frame in read_pcap(RXE / 'ud_send.pcap')]
        at = frames[3][0]
        frames[3:3] = [(at, pause(time)) for time in quanta]
        return explained(self.pcap(frames))

    def test_pause_frames(self):
        found = self.paused(lambda frame: frame[:12] + bytes.fromhex('81006001') + frame[12:])
        verdict = found['congestion']
        self.assertEqual((verdict['answer'], verdict['pause_frames']), ('yes', 2))
        self.assertIn('2 pause frames of priority 3', verdict['reason'])
        said, = said_about(found, 'pause')
        self.assertIn('2 of priority 3', said['text'])

    def test_a_pause_of_another_priority(self):
        """Packets of priority 0, in a tag and without one."""
        tagged = self.paused(lambda frame: frame[:12] + bytes.fromhex('81000001') + frame[12:])
        self.assertEqual(tagged['congestion']['answer'], 'no')
        self.assertIn('stopped priority 3, which no packet has', tagged['congestion']['reason'])
        untagged = self.paused()
        self.assertEqual(untagged['congestion']['answer'], 'cannot tell')
        self.assertIn('set in the switches', untagged['congestion']['reason'])

    def test_a_pause_of_the_whole_link(self):
        case = SOURCE / 'pcaps' / 'cases' / 'pause_802_3x.pcap.gz'
        found = explained(case)
        self.assertEqual((found['congestion']['answer'], found['congestion']['pause_frames']),
                         ('yes', 10))
        said, = said_about(found, 'pause')
        self.assertIn('10 of the whole link', said['text'])
        frames = read_pcap(RXE / 'ud_send.pcap')
        frames[3:3] = [(frames[3][0], bytes.fromhex('0180c2000001 020000000001 8808 0001 0000')
                        + bytes(42))]  # 0 quanta: go on
        self.assertEqual(explained(self.pcap(frames))['congestion']['answer'], 'no')

    def test_notifications_of_packets_that_no_queue_marks(self):
        found = explained(SOURCE / 'pcaps' / 'cases' / 'cnp_not_ect.pcap.gz')
        self.assertEqual((found['congestion']['answer'], found['congestion']['cnps']), ('no', 3))
        self.assertIn('Not-ECT', found['congestion']['reason'])

    def test_a_full_link(self):
        """The same rate with four times the depth: the round trip grows, a queue stands."""
        found = explained(SOURCE / 'pcaps' / 'cases' / 'full_link.pcap.gz')
        self.assertEqual(found['congestion']['answer'], 'yes')
        said, = said_about(found, 'window_plateau')
        self.assertIn('fills a link', said['text'])
        self.assertIn('8.19 Gb/s (goodput 8.18 Gb/s)', said['text'])

    def windowed(self, window, delay, rate):
        """WRITEs of 1 KiB through a link of `rate` us a packet, a window of them at once; round trip
        of 2 `delay` us."""
        talk, due, free, events = Conversation(), [0.0] * window, 0.0, []
        for psn in range(300):
            sent = due.pop(0)
            free = max(free, sent + delay) + rate
            events += [(sent, talk.request, psn), (free + delay, talk.answer, psn)]
            due.append(free + delay + .1)
        for at, add, psn in sorted(events, key=lambda event: event[0]):
            talk.at = at
            add(psn, 0, **({'length': 1024} if add == talk.request else {}))
        return explained(talk.save(self.folder / 'windowed.pcap'))

    def test_a_window_that_bounds_the_rate_fills_no_link(self):
        found = self.windowed(8, 20, 1)
        self.assertEqual(found['congestion']['answer'], 'no')
        said, = said_about(found, 'window_plateau')
        self.assertIn('is held by a limit', said['text'])

    def test_a_window_that_fills_a_link(self):
        for window in (64, 128):
            with self.subTest(window):
                found = self.windowed(window, 5, 1)
                self.assertEqual(found['congestion']['answer'], 'yes')
                said, = said_about(found, 'window_plateau')
                self.assertIn('A deeper send queue makes that queue longer', said['text'])

    def test_an_application_that_asks_for_little(self):
        found = explained(SOURCE / 'pcaps' / 'cases' / 'read_batch.pcap.gz')
        self.assertEqual(said_about(found, 'window_plateau'), [])

    def test_losses_of_packets_that_queues_may_mark(self):
        verdict = explained(self.simulated('--delay', '100us', '--op', 'write', '-n', 100,
                                           '--loss', '0.5%'))['congestion']
        self.assertEqual(verdict['answer'], 'cannot tell')
        self.assertIn('a queue with ECN would have marked', verdict['reason'])


class Counters(InFolder):
    """192.168.77.2 of loss_write_sender_side received 4 NAKs, and sent 157 packets."""
    PATH = RXE / 'loss_write_sender_side.pcap'

    def setUp(self):
        super().setUp()
        listed = [json.loads(line) for line in dissect('list', self.PATH, '--json')
                  .stdout.splitlines()]
        self.sent = sum(row['ip.src'] == '192.168.77.2' for row in listed)
        self.received = len(listed) - self.sent

    def write(self, before, after, form):
        forms = {
            'sysfs': lambda rows: ''.join(
                f'/sys/class/infiniband/rxe0/ports/1/hw_counters/{name}:{value}\n'
                for name, value in rows.items()),
            'ethtool': lambda rows: 'NIC statistics:\n' + ''.join(
                f'     {name}: {value}\n' for name, value in rows.items()),
            'rdma': lambda rows: 'link rxe0/1 ' + ' '.join(
                f'{name} {value}' for name, value in rows.items()) + ' \n',
        }
        return (self.file('before.txt', forms[form](before)),
                self.file('after.txt', forms[form](after)))

    def compared(self, after, form='sysfs', *words):
        before = {name: 1000 for name in after}
        files = self.write(before, {name: 1000 + value for name, value in after.items()}, form)
        report, = explained(self.PATH, '--counters', *files, *words)['counters']
        return report

    def right(self):
        return {'sent_pkts': self.sent, 'rcvd_pkts': self.received, 'rcvd_seq_err': 4,
                'out_of_seq_request': 0, 'rcvd_rnr_err': 0, 'send_rnr_err': 0,
                'duplicate_request': 3}

    def test_what_agrees_in_every_form(self):
        for form in 'sysfs', 'ethtool', 'rdma':
            report = self.compared(self.right(), form)
            self.assertEqual(report['address'], '192.168.77.2')
            self.assertEqual({row['counter'] for row in report['compared']}, set(self.right()))
            self.assertEqual([row for row in report['compared'] if row['contradicts']], [], form)

    def test_contradictions_are_named(self):
        after = {**self.right(), 'rcvd_seq_err': 0, 'rx_icrc_encapsulated': 2}
        report = self.compared(after)
        wrong = [row for row in report['compared'] if row['contradicts']]
        self.assertEqual([(row['counter'], row['counted'], row['captured']) for row in wrong],
                         [('rcvd_seq_err', 0, 4), ('rx_icrc_encapsulated', 2, 0)])
        self.assertIn('did not reach the port', wrong[0]['text'])
        self.assertIn('damaged between the capture point and the port', wrong[1]['text'])
        files = self.write(dict.fromkeys(after, 0), after, 'ethtool')
        text = dissect('explain', self.PATH, '--counters', *files).stdout
        self.assertIn('Counters of the port of 192.168.77.2: 2 of 8 contradict the capture', text)
        self.assertIn('! rcvd_seq_err (NAKs "PSN sequence error" received): the port counted 0', text)

    def test_the_address_of_the_port(self):
        report = self.compared(self.right(), 'sysfs', '--port-address', '192.168.77.1')
        self.assertEqual(report['address'], '192.168.77.1')
        self.assertTrue(any(row['contradicts'] for row in report['compared']))
        files = self.write({'sent_pkts': 0}, {'sent_pkts': 1}, 'rdma')
        done = dissect('explain', self.PATH, '--counters', *files, '--port-address', '10.0.0.1')
        self.assertEqual(done.returncode, 2)
        self.assertIn('expected an address of the capture (192.168.77.1, 192.168.77.2)',
                      done.stderr)

    def test_without_a_capture(self):
        files = self.write({'rx_global_pause': 5, 'rx_discards_phy': 1, 'sent_pkts': 1},
                           {'rx_global_pause': 9005, 'rx_discards_phy': 701, 'sent_pkts': 1}, 'ethtool')
        said = dissect('explain', '--counters', *files).stdout
        self.assertIn('the port was paused (rx_global_pause +9000)', said)
        self.assertIn('rx_discards_phy +700: ', said)
        report, = explained('--counters', *files)['counters']
        self.assertEqual({change['counter']: change['rise'] for change in report['changes']},
                         {'rx_global_pause': 9000, 'rx_discards_phy': 700})
        self.assertEqual(dissect('explain').returncode, 2)

    def test_pauses_and_drops_of_the_port_are_congestion(self):
        files = self.write({'rx_prio3_pause': 5}, {'rx_prio3_pause': 8}, 'ethtool')
        verdict = explained(RXE / 'rc_write_send_read.pcap', '--counters', *files)['congestion']
        self.assertEqual(verdict['answer'], 'yes')
        self.assertIn('rx_prio3_pause +3', verdict['reason'])

    def test_what_is_not_compared_is_named(self):
        before = {'rx_read_requests': 5, 'lifespan': 10, 'sent_pkts': 9, 'rx_dct_connect': 2}
        after = {'rx_read_requests': 7, 'lifespan': 10, 'sent_pkts': 3, 'rx_dct_connect': 3}
        files = self.write(before, after, 'sysfs')
        report, = explained(self.PATH, '--counters', *files)['counters']
        self.assertEqual(report['not_compared'], ['rx_dct_connect', 'rx_read_requests'])
        self.assertEqual(report['reset'], ['sent_pkts'])

    def test_a_file_without_counters(self):
        good = self.file('good.txt', 'sent_pkts: 3\nand more\n')
        bad = self.file('bad.txt', '\nno device found\n')
        done = dissect('explain', self.PATH, '--counters', good, bad)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout, '')
        self.assertIn(f'{bad}:2: expected counters', done.stderr)
        self.assertIn('found "no device found"', done.stderr)
        done = dissect('explain', self.PATH, '--counters', self.file('empty.txt', ''), good)
        self.assertIn('empty.txt:1: expected counters', done.stderr)
        done = dissect('explain', self.PATH, '--counters', good)
        self.assertEqual(done.returncode, 2)
        self.assertIn('expected two files, BEFORE and AFTER, found 1', done.stderr)
        done = dissect('explain', self.PATH, '--counters', good, self.folder / 'none.txt')
        self.assertIn("none.txt: can't be read: No such file or directory", done.stderr)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
