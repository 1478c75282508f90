# SPDX-License-Identifier: BSD-3-Clause
"""What the machine of a box does to frames is named as the machine's, in text, --json, page, JUnit's file,
metrics and the answer of the control socket: a box that is stopped for 300 ms, one with the least room
for frames, one whose port's ring is full, and one whose disk is."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import longwire_test
import needs
import verdict_outputs
from pcap_file import other_frame

GEN, IMPAIR = longwire_test.program('roce-gen'), longwire_test.program('roce-impair')
TIMEOUT = 120  # seconds: it ends a program that hangs
INSIDE = 'LONGWIRE_MACHINE_FAULTS'  # set once this program is in its namespace
RULES = '[[rule]]\nname = "haul"\nmatch = "all"\ndelay = "{delay}"\nloss = "{loss}"\n{more}'


class Boxes(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def rules(self, delay='1ms', loss='0%', more=''):
        path = self.folder / 'rules.toml'
        path.write_text(RULES.format(delay=delay, loss=loss, more=more), encoding='utf-8')
        return path

    def start(self, rules, west, east, *options):
        """A box that is ready, with all outputs."""
        self.junit, self.page = self.folder / 'r.xml', self.folder / 'r.html'
        self.control = self.folder / 'control'
        self.metrics = longwire_test.free_port()
        box = longwire_test.begin(self, [
            *longwire_test.BOX, rules, '--west', west, '--east', east, '--json', '--junit', self.junit, '--html',
            self.page, '--control', self.control, '--metrics', f'127.0.0.1:{self.metrics}', *options])
        while 'ready' not in (line := box.stderr.readline()):
            self.assertTrue(line, 'it did not start')
        return box

    def gauge(self, statement):
        """A statement's sample of the metrics."""
        url = f'http://127.0.0.1:{self.metrics}/metrics'
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            text = answer.read().decode()
        found = re.search(rf'^longwire_impair_verdict{{statement="{statement}",.*}} (\d)$', text, re.M)
        return int(found[1])

    def shown(self):
        """What the control socket answers so far."""
        done = subprocess.run([IMPAIR, 'ctl', self.control, '--json', 'show'], capture_output=True,
                              text=True, timeout=TIMEOUT, check=True)
        return json.loads(done.stdout)

    def until(self, condition, what):
        end = time.monotonic() + TIMEOUT
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def end(self, box, name, colour, code):
        """Ends a box. All outputs have the statement in this colour; returns it and the report."""
        box.send_signal(signal.SIGINT)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, code, err)
        report = json.loads(out)
        verdict = report['verdict']
        verdict_outputs.check_itself(self, verdict)
        verdict_outputs.check_junit(self, self.junit, 'roce-impair run', [verdict])
        verdict_outputs.check_page(self, self.page, [verdict], code)
        statement, = verdict_outputs.named(verdict, name)
        self.assertEqual(statement['colour'], colour, verdict)
        self.assertIn('this box', statement['observed'])
        if colour == 'red':
            self.assertIn(statement['observed'], err)
        return statement, report


class Faults(Boxes):
    def stopped(self, *options):
        box = self.start(self.rules(), 'net_ring0', 'net_ring1', *options)
        self.shown()  # it polls its ports
        box.send_signal(signal.SIGSTOP)
        time.sleep(0.4)  # more than the 300 ms, as it takes a moment to stop
        box.send_signal(signal.SIGCONT)
        self.until(lambda: self.shown()['report']['machine']['longest_stall_ns'] >= 300_000_000, 'the stall')
        strict = '--strict-machine' in options
        self.assertEqual(self.gauge('stall'), 2 if strict else 1)
        self.assertEqual(verdict_outputs.named(self.shown()['verdict'], 'stall')[0]['colour'],
                         'red' if strict else 'amber')
        return box

    def test_a_box_that_is_stopped(self):
        statement, report = self.end(self.stopped(), 'stall', 'amber', 0)
        self.assertGreaterEqual(report['machine']['longest_stall_ns'], 300_000_000)
        self.assertGreater(report['machine']['stalled_share'], 0)
        self.assertRegex(statement['observed'], r'^this box stood still for [\d.]+ m?s at most$')

    def test_a_box_that_is_stopped_and_must_not_be(self):
        self.end(self.stopped('--strict-machine'), 'stall', 'red', 1)

    def test_the_least_room_there_is(self):
        """For 1,024 frames, which wait for a second, while a port never stops."""
        room = '[capacity]\nrate = "1Mb/s"\nsmallest_frame = "1KiB"\nlargest_frame = "2KiB"\n'
        rules = self.rules('1s', more=room)
        said = subprocess.run([IMPAIR, 'check', rules], capture_output=True, text=True, timeout=TIMEOUT,
                              check=True).stdout
        self.assertRegex(said, r'\b1024 frames; ')
        box = self.start(rules, 'net_null0', 'null')
        self.until(lambda: self.gauge('machine') == 2, 'the losses in the metrics')
        self.assertEqual(self.shown()['verdict']['colour'], 'red')
        statement, report = self.end(box, 'machine', 'red', 1)
        self.assertRegex(statement['observed'], r'^this box lost [\d,]+ of [\d,]+ frames \([\d.]+ %\) at '
                                                r'west-to-east for want of room or a buffer$')
        self.assertIn('overloaded box', statement['reason'])
        self.assertIn('[capacity]', statement['remedy'])
        losses = {each['place'] + each['how']: each for each in report['machine']['losses']}
        lost = losses['west-to-eastfor want of room or a buffer']
        dropped = report['directions'][0]['dropped_for_resource']
        self.assertEqual(lost['lost'], dropped['no_room']['frames'] + dropped['no_buffer']['frames'])
        self.assertGreater(lost['share'], 0.01)
        self.assertIn('first_ns', lost)

    def test_a_full_disk_of_the_ledger(self):
        box = self.start(self.rules(loss='50%'), 'net_null0', 'null', '--ledger', '/dev/full')
        self.until(lambda: self.gauge('records') == 2, 'the missing records')
        self.assertEqual(self.shown()['verdict']['colour'], 'red')
        statement, report = self.end(box, 'records', 'red', 3)
        self.assertRegex(statement['observed'], r'^this box lost [\d,]+ of [\d,]+ records')
        self.assertEqual(statement['remedy'], 'make room on the disk')
        self.assertEqual(report['ledger']['records'], 0)


@needs.root('a network namespace')
class Ports(Boxes):
    def setUp(self):
        super().setUp()
        self.wire = 'wire'
        self.ip('link', 'add', self.wire, 'type', 'veth', 'peer', 'name', self.wire + 'b')
        self.addCleanup(self.ip, 'link', 'del', self.wire)
        for name in (self.wire, self.wire + 'b'):
            self.ip('link', 'set', name, 'mtu', '4200', 'up')

    def ip(self, *words):
        subprocess.run(['ip', *words], check=True, capture_output=True, timeout=TIMEOUT)

    def flood(self, box, frames):
        """Sends while the box stands still: its ring has 1,024 slots."""
        box.send_signal(signal.SIGSTOP)
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as wire:
            wire.bind((self.wire + 'b', 0))
            for i in range(frames):
                wire.send(other_frame(i))
        box.send_signal(signal.SIGCONT)

    def test_a_port_whose_ring_is_full(self):
        box = self.start(self.rules(), self.wire, 'null')
        self.flood(box, 5000)
        self.until(lambda: self.gauge('machine') == 2, 'the losses in the metrics')
        self.assertEqual(self.shown()['verdict']['colour'], 'red')
        statement, report = self.end(box, 'machine', 'red', 1)
        missed = report['ports'][0]['missed']
        self.assertGreater(missed, 3000)
        self.assertRegex(statement['observed'], rf'^this box lost {missed:,} of [\d,]+ frames \([\d.]+ %\) at '
                                                r'west before it received them')
        self.assertIn('its results are those of an overloaded box', statement['reason'])
        self.assertRegex(statement['reason'], r'between .* and .* after the start')
        self.assertIn('--cores 2', statement['remedy'])

    def test_its_text_says_so_first(self):
        self.metrics = longwire_test.free_port()
        box = longwire_test.begin(self, [*longwire_test.BOX, self.rules(), '--west', self.wire, '--east', 'null',
                                         '--metrics', f'127.0.0.1:{self.metrics}'])
        while 'ready' not in (line := box.stderr.readline()):
            self.assertTrue(line, 'it did not start')
        self.flood(box, 5000)
        self.until(lambda: self.gauge('machine') == 2, 'the losses in the metrics')
        box.send_signal(signal.SIGTERM)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, 1, err)
        first, second = out.splitlines()[:2]
        self.assertRegex(first, r'^does not hold: this box lost [\d,]+ of [\d,]+ frames \([\d.]+ %\) at west before '
                                r'it received them: its results are those of an overloaded box')
        self.assertRegex(second, r'^  send less, give the box cores of its own')


if __name__ == '__main__':
    if os.geteuid() == 0 and INSIDE not in os.environ:
        os.environ[INSIDE] = '1'
        os.execvp('unshare', ['unshare', '--net', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh',
                              sys.executable, *sys.argv])
    longwire_test.main()
