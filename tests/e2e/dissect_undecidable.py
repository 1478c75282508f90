# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of scenarios with equal frames and different truths: what happened is not in the capture, so
roce-dissect must not call either certain. The manual lists them. Made by the second simulator of
tests/long."""

import sys
import unittest

import longwire_test
from dissect_analysis import InFolder, rows

sys.path.insert(0, str(longwire_test.SOURCE / 'tests' / 'long' / 'truth2'))
import r2  # noqa: E402

WRITE, SEND, READ = 'WRITE', 'SEND', 'READ'


class Scenario:
    """A connection of two hosts; requests are captured at A, at the requester's port, in the middle (M)
    and at B, at the responder's port."""

    def __init__(self, operations, **changes):
        self.net = r2.Net(1, rate=100., d1=500, d2=2000)
        fixed = {'mtu': 1024, 'window': 64, 'rto': 1_000_000, 'nakreact': (2000, 2000), 'nakgen': (1000, 1000),
                 'readlat': (1000, 1000), 'acklat': (500, 500), 'dupack': 'req', 'depth': 64, 'retries': 3}
        self.net.conn(r2.Cfg(**{**fixed, **changes}), p0=100, p1=900, sport=50_000, sport1=50_001)
        self.net.ends[0, 0].app(operations)

    def each(self, stage, chosen, action):
        """`action` gets the packets at a stage that are `chosen`, and what passes them on."""
        at = getattr(self.net, stage)
        usual = at.apply

        def apply(packet, go, why):
            if chosen(packet):
                action(packet, go)
            else:
                usual(packet, go, why)
        at.apply = apply
        return self

    def lose(self, stage, chosen):
        return self.each(stage, chosen, lambda packet, go: None)

    def delay(self, stage, chosen, ns):
        return self.each(stage, chosen, lambda packet, go: self.net.at(self.net.now + ns, go, packet))

    def damage(self, stage, chosen):
        def action(packet, go):
            packet.dmg = 0.5
            self.net.at(self.net.now, go, packet)
        return self.each(stage, chosen, action)

    def copy(self, stage, chosen, ns):
        def action(packet, go):
            self.net.at(self.net.now, go, packet)
            self.net.at(self.net.now + ns, go, r2.Pk(packet.tx, 1))
        return self.each(stage, chosen, action)

    def stop(self, ns):
        """The responder stops."""
        self.net.at(ns, lambda: setattr(self.net.ends[0, 1], 'stopped', True))
        return self

    def later(self, ns, operations):
        self.net.at(ns, lambda: self.net.ends[0, 0].app(operations))
        return self

    def captured(self, point, left_out=lambda sent: False):
        """The frames, but for those that the capturing leaves out."""
        self.net.run(10**9)
        return [(at, r2.frame(self.net, sent, copy, damage, marked))
                for at, sent, copy, damage, marked in self.net.caps[point] if not left_out(sent)]


def nth(role, psn):
    """Chooses the first transmission of a packet."""
    seen = []

    def chosen(packet):
        if packet.tx.role != role or packet.tx.psn != psn or seen:
            return False
        seen.append(packet)
        return True
    return chosen


def since(role, psn):
    """Chooses all packets of a role from one with this PSN on."""
    begun = []

    def chosen(packet):
        if packet.tx.role == role and packet.tx.psn >= psn:
            begun.append(packet)
        return bool(begun) and packet.tx.role == role
    return chosen


def writes(count=8, size=1024):
    return [(WRITE, size)] * count


def halves(second=4, operation=WRITE):
    return Scenario([(operation, 1024)] * 4).later(50_000, [(operation, 1024)] * second)


def slow_sender():
    """It needs as long to answer a NAK as its timer runs."""
    def lossy(**changes):
        return Scenario(writes(), **changes).lose('S1', nth('req', 103))

    def repeated(frames):
        return frames[-5 - 1][0]
    by_timer = lossy().lose('S4', nth('nak', 103)).captured('M')
    at_once = lossy().captured('M')
    longer = 2000 + repeated(by_timer) - repeated(at_once)
    return lossy(nakreact=(longer, longer), rto=10_000_000)


def passed_unseen(sent):
    return sent.role == 'req' and sent.psn == 103 and sent.why is None


LOST = 'lost_after_capture', 'lost_behind'
BEFORE = 'psn_gap', 'lost_before'
AGAIN = 'retransmission'
# By the words of the manual: the point, two truths that make the same frames, and what must not be
# certain: one of them makes it wrong.
PAIRS = {
    'all requests are lost from some time on, or all answers': (
        'A', lambda: halves().lose('S2', since('req', 104)).captured('A'),
        lambda: halves().lose('S3', since('ack', 104)).captured('A'),
        {LOST, (AGAIN, 'ack_lost')}),
    'requests are lost, or their receiver has stopped': (
        'A', lambda: halves().lose('S2', since('req', 104)).captured('A'),
        lambda: halves().stop(40_000).captured('A'),
        {LOST, (AGAIN, 'peer_stopped')}),
    'the last request is lost, or its ACK': (
        'A', lambda: halves(1).lose('S2', nth('req', 104)).captured('A'),
        lambda: halves(1).lose('S3', nth('ack', 104)).captured('A'),
        {LOST, (AGAIN, 'ack_lost')}),
    'the last READ is lost, or its response': (
        'A', lambda: halves(1, READ).lose('S2', nth('req', 104)).captured('A'),
        lambda: halves(1, READ).lose('S3', nth('resp', 104)).captured('A'),
        {LOST, BEFORE, (AGAIN, 'response_lost')}),
    'a packet is lost behind the point, or damaged there': (
        'A', lambda: Scenario(writes()).lose('S2', nth('req', 103)).captured('A'),
        lambda: Scenario(writes()).damage('S2', nth('req', 103)).captured('A'),
        {('bad_icrc', 'none')}),
    'a packet is lost soon behind the point, or before its receiver': (
        'A', lambda: Scenario(writes()).lose('S1', nth('req', 103)).captured('A'),
        lambda: Scenario(writes()).lose('S2', nth('req', 103)).captured('A'),
        {BEFORE}),
    'a packet is lost behind the point, or overtaken by the last one': (
        'A', lambda: Scenario([(WRITE, 8192)]).lose('S2', nth('req', 106)).captured('A'),
        lambda: Scenario([(WRITE, 8192)]).delay('S2', nth('req', 106), 3000).captured('A'),
        {('out_of_order', 'reordered_behind')}),
    'an ACK is lost behind the point, or comes after the timer': (
        'M', lambda: Scenario(writes()).lose('S4', nth('ack', 107)).captured('M'),
        lambda: Scenario(writes()).delay('S4', nth('ack', 107), 1_100_000).captured('M'),
        {(AGAIN, 'ack_lost'), (AGAIN, 'timer_short')}),
    'a NAK is lost behind the point and a timer repeats, or its sender needs as long': (
        'M', lambda: Scenario(writes()).lose('S1', nth('req', 103)).lose('S4', nth('nak', 103)).captured('M'),
        lambda: slow_sender().captured('M'),
        {(AGAIN, 'timer'), (AGAIN, 'nak_lost')}),
    'a packet is lost before the point, or behind it and not captured': (
        'M', lambda: Scenario(writes()).lose('S1', nth('req', 103)).captured('M'),
        lambda: Scenario(writes()).lose('S2', nth('req', 103)).captured('M', passed_unseen),
        {LOST}),
}


class Undecidable(InFolder):
    def test_equal_frames_of_two_truths(self):
        for name, (point, one, other, _) in PAIRS.items():
            with self.subTest(name):
                frames = one()
                self.assertGreater(len(frames), 8)
                self.assertEqual(frames, other())

    def test_neither_truth_is_certain(self):
        for name, (point, one, _, forbidden) in PAIRS.items():
            with self.subTest(name):
                path = self.folder / 'pair.pcap'
                r2.pcap(path, one())
                certain = {(row['kind'], row['cause'] or 'none') for row in rows('anomalies', path)
                           if row['certainty'] == 'certain'}
                self.assertEqual(certain & forbidden, set())

    def test_the_manual_lists_them(self):
        manual = ' '.join((longwire_test.SOURCE / 'docs/reference/equal-frames.md')
                          .read_text(encoding='utf-8').split())
        for name in PAIRS:
            self.assertIn(name, manual)


if __name__ == '__main__':
    longwire_test.main()
