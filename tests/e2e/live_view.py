# SPDX-License-Identifier: BSD-3-Clause
"""--live: in a pseudo-terminal, the last screen of each command has the figures of its report, and
the terminal is as before when a signal ends the command; elsewhere there is a line a second."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import unittest

from pcap_file import read_pcap, write_pcap
from terminal import Terminal

import longwire_test

GEN = longwire_test.program('roce-gen')
IMPAIR = longwire_test.program('roce-impair')
FLOWS = longwire_test.SOURCE / 'profiles' / 'flows'
DEMO = FLOWS / 'demo.toml'
RXE = longwire_test.SOURCE / 'pcaps' / 'rxe' / 'rnr_nak.pcap'
RULES = longwire_test.SOURCE / 'profiles' / 'impair' / 'apn-380km.toml'
LOOP = ('--port', 'net_ring0', '--receive', 'net_ring0')
# A busy machine may stand still, and send late.
VERDICT = r'^(holds: \d+ statements|note: |cannot tell: |does not hold: sent )'
EXPERIMENT = '''
title = "A small experiment"
[[scenario]]
name = "sizes"
show = ["bw_average_gbps"]
[scenario.set]
delay = "100us"
op = "write"
size = ["4KiB", "64KiB"]
iterations = %d
'''


def row_of(screen, first):
    """The words of the line that begins with `first`."""
    for line in screen:
        if line.startswith(first):
            return re.split(r' {2,}', line.strip())
    raise AssertionError(f'no line begins with {first!r}: ' + '\n'.join(screen))


class Live(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def path(self, name):
        return self.folder / name

    def start(self, *command, **settings):
        terminal = Terminal([*command, '--live'], cwd=self.folder, **settings)
        self.addCleanup(terminal.close)
        return terminal

    def last_screen(self, *command, code=0):
        """The last screen of a command, and its report, which is in a file."""
        with open(self.path('report'), 'wb') as out:
            terminal = self.start(*command, '--json', stdout=out)
            self.assertEqual(terminal.finish(), code, terminal.bytes[-2000:])
        self.assertTrue(terminal.screen.restored())
        self.assertIn('ended', terminal.screen.drawn[0])
        self.assertLessEqual(terminal.screen.widest, 120)
        return terminal.screen.drawn, json.loads(self.path('report').read_text())


class Figures(Live):
    def test_run(self):
        screen, report = self.last_screen(GEN, 'run', DEMO, *LOOP, '--count', '2000', *longwire_test.ANY_RATE)
        self.assertEqual(sum(flow['frames'] for flow in report['flows']), 2000)
        received = {flow['name']: flow for flow in report['received']['flows']}
        for flow in report['flows']:
            row = row_of(screen, flow['name'])
            got = received[flow['name']]
            self.assertEqual(row[3:8], [str(n) for n in (
                flow['frames'], flow['not_sent'], got['frames'], got['lost'],
                got['out_of_order'])])
        self.assertEqual(row_of(screen, 'sent')[1], '2000 frames, 0 not sent')
        self.assertIn('2000 frames, 0 lost, 0 duplicated', row_of(screen, 'received')[1])
        self.assertIn('max', row_of(screen, 'pacing error')[1])
        self.assertRegex(screen[1], VERDICT)

    def test_receive(self):
        screen, report = self.last_screen(GEN, 'receive', '--port', f'pcap:{RXE}')
        self.assertGreater(len(report['flows']), 1)
        for flow in report['flows']:
            row = row_of(screen, flow['name'])
            self.assertEqual(row[3:6],
                             [str(flow[key]) for key in ('frames', 'lost', 'out_of_order')])

    def test_receive_shows_the_lost_frames_of_the_report(self):
        """Those behind the last one that came too, as the profile or the sender's report says."""
        self.path('p.toml').write_text(
            '[defaults]\nsignature = true\nmessages = 100\n' +
            ''.join(f'[[flow]]\nname = "{name}"\n' for name in ('gap', 'end', 'never')))
        sent = subprocess.run([GEN, 'run', 'p.toml', '--pcap', 'all.pcap', '--json'], cwd=self.folder,
                              check=True, capture_output=True, timeout=60).stdout
        self.path('sent.json').write_bytes(sent)
        # They leave in turn: gap, end, never.
        frames = [frame for at, frame in enumerate(read_pcap(self.path('all.pcap')))
                  if at % 3 == 0 and at != 30 or at % 3 == 1 and at < 280]
        write_pcap(self.path('some.pcap'), frames)
        receive = (GEN, 'receive', '--port', 'pcap:some.pcap', '--profile', 'p.toml')
        for more in ((), ('--sent', 'sent.json')):
            screen, report = self.last_screen(*receive, *more, code=1)
            lost = {flow['name']: flow['lost'] for flow in report['flows']}
            self.assertEqual(lost, {'gap': 1, 'end': 7, 'never': 100})
            for name, frames_lost in lost.items():
                self.assertEqual(row_of(screen, name)[4], str(frames_lost))
            for said in (screen[1], report['verdict']['headline']):
                self.assertTrue(said.startswith('does not hold: 108 of 300 frames never came'), said)

    def test_search(self):
        screen, report = self.last_screen(GEN, 'search', DEMO, *LOOP, '--duration', '50ms',
                                          '--settle', '50ms', '--sizes', '64,1024', '--max-rate',
                                          '1Mb/s', '--resolution', '50%')
        for size in report['sizes']:
            row = row_of([line.strip() for line in screen], f'{size["message_size"]} B')
            self.assertEqual(row[3], str(len(size['trials'])))
            self.assertEqual(row[1] == '-', size['passes'] is None)
        trials = [trial for size in report['sizes'] for trial in size['trials']]
        row = row_of([line.strip() for line in screen], f'{len(trials)}  ')
        self.assertEqual(row[4:6], [str(trials[-1][key]) for key in ('sent', 'lost')])
        self.assertEqual(row[6] == 'passed', trials[-1]['passed'])

    def test_perf(self):
        for operation in ('write', 'read', 'send'):
            screen, report = self.last_screen(
                GEN, 'sim', '--delay', '100us', '--op', operation, '-s', '64KiB', '-n',
                '500', '--loss', '0.1%')
            row = row_of([line.strip() for line in screen], '65536 B')
            self.assertEqual(row[1], str(report['iterations']))
            self.assertEqual(row[4:7], [str(report[key]) for key in
                                        ('retransmitted', 'timeouts', 'failed')])
            self.assertEqual(row[2], f'{report["bw_average_gbps"]:.2f} Gb/s')

    def test_experiment(self):
        self.path('small.toml').write_text(EXPERIMENT % 100)
        terminal = self.start(GEN, 'experiment', 'small.toml', '--out', 'out')
        self.assertEqual(terminal.finish(), 0, terminal.bytes)
        self.assertTrue(terminal.screen.restored())
        screen = terminal.screen.drawn
        report = json.loads(self.path('out/small.json').read_text())
        self.assertEqual(len(report['cells']), 2)
        self.assertEqual(row_of(screen, 'cells')[1:3], ['2', '0'])
        self.assertEqual(row_of(screen, 'runs')[1:4], ['2', '0', '0'])
        self.assertEqual(screen[1], 'no run failed')
        self.assertTrue(any('size = 64KiB' in line and 'average_gbps' in line for line in screen))

    def test_replay(self):
        screen, report = self.last_screen(GEN, 'replay', RXE, '--pcap', 'out.pcap', '--loop', '20')
        self.assertEqual(row_of(screen, 'sent')[1].split(',')[0], f'{report["frames"]} frames')
        self.assertEqual(row_of(screen, 'read')[1].split()[0], str(report['read']))
        self.assertEqual(screen[1], f'{report["not_sent"]} frames not sent')

    def check_box(self, screen, report):
        self.assertRegex(screen[1], VERDICT)
        self.assertEqual(screen[1].partition(':')[0], report['verdict']['headline'].partition(':')[0])
        for direction in report['directions']:
            name = direction['name']
            row = row_of(screen, name)
            self.assertEqual(row[5:8], [str(direction[key]['frames']) for key in
                                        ('received', 'sent', 'dropped_by_rule')])
            for rule in direction['rules']:
                shown = '(no rule)' if rule['name'] == 'untouched' else rule['name']
                line = [line for line in screen if re.match(re.escape(shown) + f' +{name} ', line)]
                row = re.split(r' {2,}', line[0])
                self.assertEqual([row[2], row[4]], [str(rule[key]['frames']) for key in
                                                    ('received', 'dropped_by_rule')])

    def test_impair_run(self):
        screen, report = self.last_screen(*longwire_test.BOX, RULES, '--west', f'pcap:{RXE}', '--east',
                                          'pcap:,out.pcap', '--until-idle', '500ms')
        self.assertGreater(report['directions'][0]['received']['frames'], 600)
        self.check_box(screen, report)

    def test_impair_replay(self):
        screen, report = self.last_screen(IMPAIR, 'replay', RULES, RXE, 'out.pcap')
        self.check_box(screen, report)


class Signals(Live):
    """Ctrl-C while the screen is there: the terminal gets back what it had."""

    def interrupt(self, *command, **settings):
        terminal = self.start(*command, **settings)
        terminal.until(lambda screen: screen.drawings > 0)
        self.assertTrue(terminal.screen.alternate)
        terminal.type(b'\x03')
        code = terminal.finish()
        self.assertTrue(terminal.screen.restored(), terminal.bytes[-500:])
        self.assertGreaterEqual(code, 0)
        return terminal

    def test_run_follows_the_terminals_size(self):
        terminal = self.start(GEN, 'run', DEMO, *LOOP, *longwire_test.ANY_RATE)
        terminal.until(lambda screen: screen.drawings > 0)
        terminal.resize(30, 6)
        terminal.until(lambda screen: screen.lowest <= 6 and screen.widest <= 30)
        self.assertEqual(terminal.screen.drawn[0], 'roce-gen run ' + str(DEMO)[:17])
        terminal.type(b'\x03')
        self.assertEqual(terminal.finish(), 0)
        self.assertTrue(terminal.screen.restored())

    def test_receive(self):
        self.interrupt(GEN, 'receive', '--port', 'net_ring0')

    def test_search(self):
        self.interrupt(GEN, 'search', DEMO, *LOOP, '--duration', '1000s', '--max-rate', '1Mb/s',
                       '--sizes', '64')

    def test_perf(self):
        self.interrupt(GEN, 'sim', '--delay', '1ms', '-n', '100000000')

    def test_replay(self):
        self.interrupt(GEN, 'replay', RXE, '--port', 'net_null0', '--loop', '0')

    def test_impair_run(self):
        self.interrupt(*longwire_test.BOX, RULES, '--west', 'net_ring0', '--east', 'net_ring1')

    def test_impair_replay(self):
        frames = [(i * 1000, bytes(12) + b'\x08\x00' + bytes(50)) for i in range(10_000)]
        write_pcap(self.path('in.pcap'), frames)
        data = self.path('in.pcap').read_bytes()
        reading, writing = os.pipe()

        def feed():
            with os.fdopen(writing, 'wb') as pipe:
                try:
                    pipe.write(data[:24])
                    while True:
                        pipe.write(data[24:])
                except BrokenPipeError:
                    pass
        thread = threading.Thread(target=feed)
        thread.start()
        self.addCleanup(thread.join)
        with os.fdopen(reading, 'rb') as pipe:
            terminal = self.start(IMPAIR, 'replay', RULES, '-', '/dev/null', stdin=pipe)
        terminal.until(lambda screen: screen.drawings > 0)
        terminal.type(b'\x03')
        self.assertEqual(terminal.finish(), 1)
        self.assertTrue(terminal.screen.restored())

    def test_a_second_signal_ends_an_experiment_at_once(self):
        self.path('small.toml').write_text(EXPERIMENT % 1_000_000_000)
        terminal = self.start(GEN, 'experiment', 'small.toml', '--jobs', '1')
        terminal.until(lambda screen: screen.drawings > 0)
        terminal.type(b'\x03')
        terminal.until(lambda screen: 'Ctrl-C again ends' in screen.drawn[0])
        terminal.type(b'\x03')
        self.assertEqual(terminal.finish(), -signal.SIGINT)
        self.assertTrue(terminal.screen.restored())

    def test_a_fatal_signal(self):
        terminal = self.start(GEN, 'sim', '--delay', '1ms', '-n', '100000000')
        terminal.until(lambda screen: screen.drawings > 0)
        terminal.process.send_signal(signal.SIGQUIT)
        self.assertEqual(terminal.finish(), -signal.SIGQUIT)
        self.assertTrue(terminal.screen.restored())


class Elsewhere(Live):
    def lines(self, *command, seconds=r'^ *(\d+) s\b'):
        """Each line has a later second than the one before; the last one is that of the end."""
        done = subprocess.run([*command, '--live'], capture_output=True, text=True, timeout=120,
                              cwd=self.folder, check=True)
        self.assertNotIn('\x1b', done.stderr)
        at = [int(found) for found in re.findall(seconds, done.stderr, re.M)]
        self.assertGreater(len(at), 2, done.stderr)
        self.assertTrue(all(b > a for a, b in zip(at[:-1], at[1:-1])), at)

    def test_run(self):
        self.lines(GEN, 'run', DEMO, *LOOP, '--duration', '3s', *longwire_test.ANY_RATE)

    def test_receive_and_box(self):
        self.lines(*longwire_test.BOX, RULES, '--west', 'net_ring0', '--east', 'net_ring1',
                   '--duration', '3s')
        self.lines(GEN, 'receive', '--port', 'net_ring0', '--duration', '3s')

    def test_replay(self):
        self.lines(GEN, 'replay', RXE, '--port', 'net_null0', '--loop', '0', '--duration', '3s',
                   *longwire_test.ANY_RATE)

    def test_a_dumb_terminal_gets_lines_and_no_color_has_none(self):
        command = (GEN, 'sim', '--delay', '100us', '-n', '100')
        terminal = self.start(*command, environment={'TERM': 'dumb'})
        self.assertEqual(terminal.finish(), 0)
        self.assertNotIn(b'\x1b', terminal.bytes)
        terminal = self.start(*command, environment={'NO_COLOR': '1'})
        self.assertEqual(terminal.finish(), 0)
        self.assertEqual(terminal.screen.drawings, 1)
        self.assertNotRegex(terminal.bytes, rb'\x1b\[[0-9;]*m')


if __name__ == '__main__':
    longwire_test.main()
