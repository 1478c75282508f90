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
                session = max(rows('sessions', self.path_of(truth)), key=lambda row: row['requests'])
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
