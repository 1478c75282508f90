# SPDX-License-Identifier: BSD-3-Clause
"""The first questions of an operator: connections that do not come up, peers that do not answer, what a
host sends in a wrong way, what a capture cannot show. The captures are composed, so the truth about each
is known; those of pcaps/setups were recorded."""

import functools
import random
import re
import struct
import subprocess
import unittest

import longwire_test
import operator_cases
from dissect_analysis import rows
from dissect_explain import InFolder, dissect, explained
from operator_cases import REASONS, Scene, Truth

SEEDS_OF_A_KIND = 3
NAMED = longwire_test.SOURCE / 'pcaps' / 'questions'
RXE = longwire_test.SOURCE / 'pcaps' / 'rxe'
SETUPS = longwire_test.SOURCE / 'pcaps' / 'setups'
QUESTIONS = ['capture', 'setup', 'answers', 'validity', 'losses', 'congestion', 'rate']


def verdicts(explanation):
    return {one['question']: one['verdict'] for one in explanation['questions']}


def all_text(explanation):
    return '\n'.join([*explanation['overview'], *(one['reason'] for one in explanation['questions']),
                      *(said['text'] for said in explanation['statements']), explanation['congestion']['reason']])


class Composed(InFolder):
    def path_of(self, truth):
        return self.pcap(truth.capture.frames)

    def check_truth(self, truth):
        path = self.path_of(truth)
        found = explained(path)
        text = all_text(found)
        self.assertEqual([one['question'] for one in found['questions']], QUESTIONS)
        answers = verdicts(found)
        self.assertEqual({name: answers[name] for name in truth.verdicts}, truth.verdicts, text)
        self.assertLessEqual(truth.topics, {said['topic'] for said in found['statements']}, text)
        for words in truth.words:
            self.assertIn(words.lower(), text.lower())
        printed = ' '.join(dissect('explain', path).stdout.split())
        for words in truth.never:
            self.assertNotIn(words, printed)
        if truth.congestion:
            self.assertIn(found['congestion']['answer'], truth.congestion, text)
        return found


class Named(Composed):
    """The captures of pcaps/questions. Each kind's siblings are those of Seeds."""

    GAVE_UP = ('7 retries, 67.1 ms apart (timeout 14), 470 ms in all', 'gave up')
    # Verdicts, words of the statements and answers, words that must not be there, congestion.
    CASES = {
        'cm_request_rejected_3_times': (
            {'setup': 'wrong'}, ('10.0.0.1 asked 10.0.0.2', '3 times', 'reason 8, Invalid Service ID',
                                 'nobody listens'), (), 'no'),
        'cm_request_never_answered': ({'setup': 'wrong'}, ('16 requests (REQ) in 64.4 s', 'never answered'), (),
                                      'cannot tell'),
        'cm_disconnect_then_requests': (
            {'answers': 'wrong'}, ('10.0.0.2 disconnected (DREQ in frame 41, DREP in frame 42)', *GAVE_UP),
            ('it has stopped', '0 ns later'), 'no'),
        'peer_never_answers': (
            {'answers': 'wrong'}, ('No answer ever came', *GAVE_UP, 'answers to this host'),
            ('a timer, or a NAK', 'one direction only'), 'cannot tell'),
        'firewall_icmp_admin_prohibited': (
            {'answers': 'wrong'}, ('ICMP type 3 code 13', 'administratively prohibited', 'from 10.0.0.254', '8 times'),
            (), 'no'),
        'icrc_byteswapped_unanswered': (
            {'validity': 'wrong', 'answers': 'wrong'}, ('written, and wrong', 'its bytes are reversed', *GAVE_UP),
            ('has yet to write',), 'no'),
        'icrc_crc32c': ({'validity': 'wrong', 'answers': 'wrong'}, ('written, and wrong', 'CRC-32C', *GAVE_UP),
                        ('has yet to write',), 'no'),
        'link_cut': ({'answers': 'wrong', 'congestion': 'cannot tell'},
                     (*GAVE_UP, 'either it has stopped, or the path there or back is cut'),
                     ('1 us later', 'nothing was lost'), 'cannot tell'),
        'read_mtu_mismatch': ({'losses': 'wrong'}, ('(256 bytes) have another MTU', '470 ms'),
                              ('shorter than the round trip', '0 ns'), None),
        'packet_trimming_sonic': ({'losses': 'wrong'}, ('2 packets were trimmed in the network (to 128 bytes',
                                                        'its queue was full'), ('bad link',), 'yes'),
        'flush_atomic_write_rxe': ({'answers': 'fine', 'validity': 'fine', 'losses': 'fine'}, (), ('misses',), 'no'),
        'read_answered_at_wrong_psn': ({'validity': 'wrong'}, ("responder's fault; nothing was lost",), ('bad link',),
                                       'no'),
        'ack_at_wrong_psn': ({'validity': 'wrong'}, ("responder's fault; nothing was lost",), ('An ACK was lost',), 'no'),
        'mirror_sampled_1_in_5': ({'capture': 'wrong'}, ('it is a sample', 'computed from PSNs'), ('bad link',),
                                  'cannot tell'),
        'uc_write_lost_packets': ({'losses': 'wrong'}, ('4 packets are missing', '4 messages were not completed'), (),
                                  'cannot tell'),
        'adaptive_retransmission_15_packets': ({'answers': 'wrong'}, ('13 retries',), (), 'cannot tell'),
        'clean': ({'losses': 'fine', 'answers': 'fine', 'validity': 'fine', 'capture': 'fine'}, (), (), 'no'),
    }

    def test_each_is_explained(self):
        self.assertEqual({path.name.split('.')[0] for path in NAMED.glob('*.pcap.gz')}, set(self.CASES))
        for name, (expected, words, never, congestion) in self.CASES.items():
            with self.subTest(name):
                path = NAMED / f'{name}.pcap.gz'
                found = explained(path)
                text, answers = all_text(found), verdicts(found)
                self.assertEqual({question: answers[question] for question in expected}, expected, text)
                for word in words:
                    self.assertIn(word, text)
                for word in never:
                    self.assertNotIn(word.lower(), text.lower())
                if congestion:
                    self.assertEqual(found['congestion']['answer'], congestion)
                printed = dissect('explain', path).stdout
                self.assertEqual('Nothing is wrong.' in printed, 'wrong' not in answers.values())

    def test_a_sample(self):
        """4 QPs of 0.73 Gb/s and 40 messages each; one frame in five was let through."""
        path = NAMED / 'mirror_sampled_1_in_5.pcap.gz'
        held = float(re.search(r'holds ([\d.]+) %', explained(path)['overview'][0])[1])
        self.assertAlmostEqual(held, 20, delta=3)
        sessions = [row for row in rows('connections', path) if row['requests']]
        self.assertEqual(len(sessions), 4)
        for session in sessions:
            self.assertAlmostEqual(session['goodput_bps'] / 0.73e9, 1, delta=0.05)
        self.assertAlmostEqual(sum(session['messages'] for session in sessions), 160, delta=16)

    def test_messages_of_uc(self):
        """4 of 12 have a hole; none is as long as two."""
        messages = rows('messages', NAMED / 'uc_write_lost_packets.pcap.gz')
        self.assertEqual(len(messages), 12)
        self.assertEqual(sum(row['completion_frame'] is None for row in messages), 4)
        self.assertEqual({row['bytes'] for row in messages if row['completion_frame']}, {1024})

    def counters(self, capture, readings):
        files = [NAMED / 'counters' / f'{readings}_{when}.txt' for when in ('before', 'after')]
        found = explained(capture, '--counters', *files)
        report, = found['counters']
        return found, report, [row['counter'] for row in report['compared'] if row['contradicts']]

    def test_adaptive_retransmissions_belong_to_the_timeouts(self):
        _, report, wrong = self.counters(NAMED / 'adaptive_retransmission_15_packets.pcap.gz', 'cx6_dead_peer')
        self.assertEqual(wrong, [])
        text = {row['counter']: row['text'] for row in report['compared']}
        self.assertIn('6 + 8 = 14', text['local_ack_timeout_err + roce_adp_retrans'])

    def test_cnps_of_slow_restart(self):
        found, report, wrong = self.counters(NAMED / 'clean.pcap.gz', 'rdma_statistic_slow_restart')
        self.assertFalse([name for name in wrong if 'cnp' in name])
        self.assertIn('slow restart', str(report['changes']))
        self.assertEqual(found['congestion']['answer'], 'no')

    def test_a_paused_port(self):
        found, report, _ = self.counters(NAMED / 'clean.pcap.gz', 'ethtool_pause')
        self.assertEqual(found['congestion']['answer'], 'yes')
        self.assertIn('rx_global_pause +9000', found['congestion']['reason'])
        self.assertIn('rx_discards_phy +700', found['congestion']['reason'])

    def test_one_of_two_devices(self):
        _, report, wrong = self.counters(RXE / 'loss_write_sender_side.pcap', 'two_nics')
        self.assertEqual((report['port'], report['address'], wrong), ('mlx5_0/1', '192.168.77.2', []))
        self.assertEqual((len(report['compared']), report['other_ports']), (4, ['mlx5_1/1']))


class Recorded(unittest.TestCase):
    """The set-ups of pcaps/setups: ten of each fault, by rping and perftest in guests with soft-RoCE, each
    for a service of its own. The client is 192.168.77.2; what became of each is known from how it was
    made (tests/e2e/rxe/record_setups.py)."""

    CLIENT, SERVER = '192.168.77.2', '192.168.77.1'
    PORTS = range(7200, 7210)

    def read(self, fault):
        """Anomalies of no session; and, of the last connection to each port, its row and its anomalies."""
        path = SETUPS / f'{fault}.pcap.gz'
        anomalies = rows('anomalies', path)
        last = {}
        for row in rows('connections', path):
            if row['service'] and row['direction'] == 0:
                last[int(re.search(r'port (\d+)', row['service'])[1])] = row
        of = {port: (row, [one for one in anomalies if one['connection'] == row['connection']])
              for port, row in last.items()}
        return [one for one in anomalies if one['connection'] == 0], of

    def kinds(self, anomalies):
        return {one['kind'] for one in anomalies}

    def test_no_listener(self):
        refused, connections = self.read('no_listener')
        self.assertEqual(connections, {})
        self.assertEqual([one['kind'] for one in refused], ['connect_rejected'] * 10)
        self.assertTrue(all('reason 8, Invalid Service ID' in one['detail'] for one in refused))
        found = explained(SETUPS / 'no_listener.pcap.gz')
        self.assertEqual(verdicts(found)['setup'], 'wrong')
        self.assertIn('nobody listens there', all_text(found))

    def test_ended_by_the_client(self):
        _, connections = self.read('disconnected')
        self.assertEqual(set(connections), set(self.PORTS))
        for port, (row, anomalies) in connections.items():
            self.assertEqual((row['setup_end'], row['asked_by'], row['disconnected_by']),
                             ('done', self.CLIENT, self.CLIENT), port)
            self.assertLessEqual(self.kinds(anomalies), {'stall'}, port)

    def test_a_killed_server(self):
        """Its kernel disconnects."""
        _, connections = self.read('killed_server')
        self.assertEqual(set(connections), set(self.PORTS))
        for port, (row, anomalies) in connections.items():
            self.assertEqual((row['setup_end'], row['disconnected_by']), ('done', self.SERVER), port)
            self.assertEqual('unanswered' in self.kinds(anomalies), 'disconnected' in self.kinds(anomalies), port)
        self.assertIn(f'{self.SERVER} disconnected (DREQ', all_text(explained(SETUPS / 'killed_server.pcap.gz')))

    def check_firewall(self, fault):
        others, connections = self.read(fault)
        self.assertEqual([one['kind'] for one in others].count('connect_unanswered'), 5)
        self.assertEqual(set(connections), set(self.PORTS[5:]))
        for port, (row, anomalies) in connections.items():
            self.assertEqual(row['setup_end'], 'done')
            self.assertIn('retry_storm', self.kinds(anomalies), port)
            self.assertNotIn('psn_gap', self.kinds(anomalies), port)
        found = explained(SETUPS / f'{fault}.pcap.gz')
        self.assertEqual((verdicts(found)['setup'], verdicts(found)['answers']), ('wrong', 'wrong'))
        return others, connections, all_text(found)

    def test_a_firewall_that_rejects(self):
        others, connections, text = self.check_firewall('firewall_rejects')
        refused, = [one for one in others if one['kind'] == 'icmp_refused']
        self.assertIn('type 3 code 3, port unreachable', refused['detail'])
        for port, (_, anomalies) in connections.items():
            self.assertIn('icmp_refused', self.kinds(anomalies), port)
        self.assertIn('a device refuses the requests by ICMP', text)

    def test_a_firewall_that_drops(self):
        others, connections, text = self.check_firewall('firewall_drops')
        self.assertNotIn('icmp_refused', self.kinds(others))
        self.assertIn('was never answered', text)
        self.assertNotIn('ICMP', text)

    def test_a_path_with_a_smaller_mtu(self):
        """Data of the client get no answer; READs of the server are asked for again."""
        _, connections = self.read('wrong_mtu')
        self.assertEqual(set(connections), set(self.PORTS))
        for port, (row, anomalies) in connections.items():
            self.assertEqual(row['setup_end'], 'done')
            again = {(one['cause'], one['certainty']) for one in anomalies if one['kind'] == 'retransmission'}
            if 'unanswered' not in self.kinds(anomalies):
                self.assertEqual(again, {('answer_wrong', 'either')}, port)
        text = all_text(explained(SETUPS / 'wrong_mtu.pcap.gz'))
        self.assertIn('these packets have 4000 bytes of payload: the path may have a smaller MTU', text)

    def test_a_qp_that_ends_without_a_word(self):
        _, connections = self.read('killed_qp')
        self.assertEqual(set(connections), set(self.PORTS))
        for port, (row, anomalies) in connections.items():
            self.assertNotEqual(row['disconnected_by'], self.SERVER, port)
            self.assertTrue(self.kinds(anomalies) & {'unanswered', 'disconnect_unanswered'}, port)
        self.assertIn('either it has stopped, or the path', all_text(explained(SETUPS / 'killed_qp.pcap.gz')))


class Seeds(Composed):
    """Each kind, with the numbers of several seeds."""

    def test_kinds(self):
        for kind in operator_cases.KINDS:
            for seed in range(SEEDS_OF_A_KIND):
                with self.subTest(f'{kind.__name__} {seed}'):
                    self.check_truth(kind(random.Random(f'{kind.__name__} {seed}')))

    def test_a_sample_keeps_rates_and_counts(self):
        for seed in range(6):
            truth = operator_cases.sampled(random.Random(seed))
            with self.subTest(seed):
                found = self.check_truth(truth)
                self.assertIn('it is a sample', found['overview'][0])
                share = float(re.search(r'holds ([\d.]+) %', found['overview'][0])[1]) / 100
                self.assertAlmostEqual(share, truth.share, delta=0.06)
                session = max(rows('connections', self.path_of(truth)), key=lambda row: row['requests'])
                self.assertAlmostEqual(session['goodput_bps'] / truth.rate, 1, delta=0.05)
                self.assertAlmostEqual(session['messages'] / truth.messages, 1, delta=0.05)


class Rejects(Composed):
    """Rare reasons of REJ, and packets with another P_Key."""

    def test_reasons(self):
        for seed in range(100):
            chance = random.Random(seed)
            with self.subTest(seed):
                scene = Scene(chance)
                reason = list(REASONS)[seed % len(REASONS)]
                ends = scene.managers()
                ends.request()
                scene.capture.wait(500)
                ends.reject(reason)
                refused, = rows('anomalies', self.path_of(Truth(scene.capture, {})))
                self.assertEqual((refused['kind'], refused['certainty']), ('connect_rejected', 'certain'))
                self.assertIn(f'reason {reason}, {REASONS[reason]}'.lower(), refused['detail'].lower())

    def test_p_keys(self):
        for seed in range(100):
            chance = random.Random(seed)
            with self.subTest(seed):
                scene = Scene(chance)
                talk = scene.connection()
                talk.good(chance.randrange(5, 20))
                talk.p_key = chance.choice((0x8001, 0x7FFF, chance.randrange(1, 0x7FFF)))
                for _ in range(chance.randrange(1, 4)):
                    talk.write(talk.psn)
                    scene.capture.wait(67_000)
                found = explained(self.path_of(Truth(scene.capture, {})))
                self.assertEqual(verdicts(found)['validity'], 'wrong')
                self.assertIn('p_key', {said['topic'] for said in found['statements']})


class Frames(Composed):
    """The composed frames are what others take them for."""

    def test_tshark_reads_the_managers_messages(self):
        scene = Scene(random.Random(1))
        ends = scene.managers(rdma=True, port=7174, qps=(0x1234, 0x4321), mtu=3, retries=5, timeout=17)
        ends.come_up()
        ends.more_time()
        ends.reject(8)
        ends.disconnect(0)
        ends.disconnected(1)
        ends.ask_service()
        ends.tell_service(3)
        fields = ['infiniband.mad.attributeid', 'infiniband.cm.req.localqpn', 'infiniband.invariant.crc']
        said = subprocess.run(
            ['tshark', '-r', self.path_of(Truth(scene.capture, {})), '-T', 'fields',
             *(word for name in fields[:2] for word in ('-e', name))], capture_output=True, text=True, check=True)
        lines = [line.split('\t') for line in said.stdout.splitlines()]
        self.assertEqual([int(line[0], 0) for line in lines],
                         [0x10, 0x13, 0x14, 0x11, 0x12, 0x15, 0x16, 0x17, 0x18])
        self.assertEqual(int(lines[0][1], 0), 0x1234)


if __name__ == '__main__':
    longwire_test.main()
