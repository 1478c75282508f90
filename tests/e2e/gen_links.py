# SPDX-License-Identifier: BSD-3-Clause
"""Where frames meet a link: its MTU, its state, its end, and the clocks at its two sides. Interfaces
are veth pairs, which need root."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import needs
import longwire_test
import verdict_outputs

GEN = longwire_test.program('roce-gen')
TIMEOUT = 60
NEAR, FAR = f'lwl{os.getpid()}n', f'lwl{os.getpid()}f'
SIGNED = '''[[flow]]
name = "w"
signature = true
mtu = 1024
messages = {messages}
rate = "{rate}"
'''


def ip(*words):
    return subprocess.run(['ip', *words], check=True, capture_output=True, text=True).stdout


def any_rate(words):
    """More words of a command that sends through a port."""
    return longwire_test.ANY_RATE if words[0] in ('run', 'replay') and '--port' in words else ()


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def profile(self, text='', messages=1000, rate='10 kframes/s'):
        path = self.folder / 'p.toml'
        path.write_text(SIGNED.format(messages=messages, rate=rate) + text)
        return path

    def begin(self, *words):
        return longwire_test.begin(self, [GEN, *words, *any_rate(words)])

    def run_gen(self, *words, text=None):
        return subprocess.run([GEN, *map(str, words), *any_rate(words)], input=text, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)

    def line(self, process, wanted):
        """Reads stderr up to a line with this text."""
        said = ''
        while wanted not in said:
            line = process.stderr.readline()
            self.assertTrue(line, f'it ended early: {said}')
            said += line
        return said


def wait_for_traffic():
    """Until the sender has begun."""
    counter = pathlib.Path(f'/sys/class/net/{NEAR}/statistics/tx_packets')
    end = time.monotonic() + TIMEOUT
    while int(counter.read_text()) < 100:
        assert time.monotonic() < end, 'no frame was sent'
        time.sleep(0.02)


@needs.root('interfaces')
class Interfaces(InFolder):
    def setUp(self):
        super().setUp()
        try:
            ip('link', 'add', NEAR, 'type', 'veth', 'peer', 'name', FAR)
        except (OSError, subprocess.CalledProcessError) as error:
            needs.lacks('interfaces', error)
        self.addCleanup(subprocess.run, ['ip', 'link', 'del', NEAR], stderr=subprocess.DEVNULL,
                        check=False)
        for name in (NEAR, FAR):
            ip('link', 'set', name, 'addrgenmode', 'none', 'up')

    def test_frames_longer_than_the_mtu_are_refused_before_the_first(self):
        text = '[[flow]]\nname = "jumbo"\nmtu = 4096\nmessage_size = 4096\nmessages = 3\n'
        refused = self.run_gen('run', '-', '--port', NEAR, text=text)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn('flow "jumbo" has frames of 4154 B, and the port\'s MTU of 1500 B allows '
                      '1514 B', refused.stderr)
        command = re.search('raise it: (ip link set dev .*)', refused.stderr).group(1).split()
        ip(*command[1:])
        ip('link', 'set', FAR, 'mtu', '4140')
        sent = self.run_gen('run', '-', '--port', NEAR, '--quiet', '--json', text=text)
        self.assertEqual(sent.returncode, 0, sent.stderr + sent.stdout)
        ip('link', 'set', NEAR, 'mtu', str(int(command[-1]) - 1))
        self.assertEqual(self.run_gen('run', '-', '--port', NEAR, text=text).returncode, 2)

    def test_perf_compares_its_packets_with_the_mtu_too(self):
        refused = self.run_gen('perf', '--port', NEAR, '--peer', '198.18.0.2', '--peer-mac',
                               '02:00:00:00:00:02', '--mtu', '4096', '-s', '64KiB')
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn('has frames of 4170 B, and the port\'s MTU of 1500 B allows 1514 B; raise it: '
                      f'ip link set dev {NEAR} mtu 4156', refused.stderr)

    def test_search_compares_each_size_with_the_mtu_before_the_first_trial(self):
        text = '[[flow]]\nname = "s"\nmtu = 4096\nrate = "1000 frames/s"\n'

        def search(sizes):
            return self.run_gen('search', '-', '--port', NEAR, '--receive', FAR, '--sizes', sizes,
                                '--duration', '50ms', '--settle', '50ms', '--resolution', '100%',
                                '--verbose', text=text)

        refused = search('64,1024,2048')
        self.assertEqual((refused.returncode, refused.stdout), (2, ''), refused.stderr)
        self.assertIn('flow "s" has frames of 2106 B, and the port\'s MTU of 1500 B allows 1514 B; '
                      f'raise it: ip link set dev {NEAR} mtu 2092', refused.stderr)
        self.assertNotIn('sent, ', refused.stderr)  # no trial of the smaller sizes
        found = search('64,1024')
        self.assertIn(found.returncode, (0, 1), found.stderr)  # a busy machine may not offer the rates

    def test_a_link_that_stays_down_is_named_with_its_state(self):
        ip('link', 'set', NEAR, 'down')
        for words in (['run', self.profile()], ['receive']):
            done = self.run_gen(*words, '--port', NEAR, '--wait-link', '200ms')
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(f'port `{NEAR}`', done.stderr)
            self.assertIn(f'the interface is down: ip link set dev {NEAR} up', done.stderr)
            self.assertNotIn('ready', done.stderr)
        ip('link', 'set', NEAR, 'up')
        ip('link', 'set', FAR, 'down')
        done = self.run_gen('run', self.profile(), '--port', NEAR, '--wait-link', '200ms')
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('the interface has no carrier', done.stderr)

    def test_ready_is_said_when_the_link_is_up(self):
        ip('link', 'set', FAR, 'down')
        receiver = self.begin('receive', '--port', NEAR, '--duration', '100ms', '--wait-link', '20s',
                              '--quiet')
        said = self.line(receiver, 'waiting for the link')
        time.sleep(0.3)
        ip('link', 'set', FAR, 'up')
        said += self.line(receiver, 'ready')
        self.assertLess(said.index('waiting'), said.index('ready'))
        receiver.communicate(timeout=TIMEOUT)
        self.assertEqual(receiver.returncode, 0)

    def test_an_interface_that_disappears_ends_the_run(self):
        receiver = self.begin('receive', '--port', FAR, '--json', '--quiet')
        self.line(receiver, 'ready')
        sender = self.begin('run', self.profile(messages=1000000), '--port', NEAR, '--json',
                            '--quiet')
        wait_for_traffic()
        ip('link', 'del', NEAR)
        for process, name in ((sender, NEAR), (receiver, FAR)):
            out, err = process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 1, out + err)
            report = json.loads(out)
            self.assertEqual(report['interrupted'],
                             f'port `{name}`: the interface has disappeared')
            self.assertGreater(report['frames'], 0)

    def test_what_a_link_that_goes_down_does_not_take_is_no_loss_of_the_path(self):
        receiver = self.begin('receive', '--port', FAR, '--json', '--quiet', '--until-idle', '2s')
        self.line(receiver, 'ready')
        sender = self.begin('run', self.profile(messages=15000), '--port', NEAR, '--json',
                            '--quiet')
        wait_for_traffic()
        ip('link', 'set', NEAR, 'down')
        time.sleep(0.5)
        ip('link', 'set', NEAR, 'up')
        sent = json.loads(sender.communicate(timeout=TIMEOUT)[0])
        came = json.loads(receiver.communicate(timeout=TIMEOUT)[0])
        self.assertEqual(sender.returncode, 1)
        port = sent['ports'][0]
        self.assertGreater(port['not_sent']['link_down'], 1000)
        self.assertEqual(sum(port['not_sent'].values()), sent['not_sent'])
        self.assertEqual(sent['frames'] + sent['not_sent'], 15000)
        # The receiver cannot see the loss of the last frames: on a slow machine the link comes up
        # after the last one's time.
        unseen = sent['frames'] - came['flows'][0]['frames']
        self.assertLessEqual(came['flows'][0]['lost'], unseen)
        self.assertLessEqual(unseen, sent['lost_in_ports'])

    def test_what_the_interface_drops_is_seen(self):
        """The far end's MTU shrinks: veth drops the frames that the port has taken."""
        sender = self.begin('run', self.profile(messages=10000), '--port', NEAR, '--json',
                            '--quiet')
        wait_for_traffic()
        ip('link', 'set', FAR, 'mtu', '1000')
        report = json.loads(sender.communicate(timeout=TIMEOUT)[0])
        self.assertEqual(sender.returncode, 1)
        self.assertEqual(report['frames'] + report['not_sent'], 10000)
        port = report['ports'][0]
        self.assertEqual(sum(port['lost'].values()), report['lost_in_ports'])
        self.assertGreater(report['lost_in_ports'] + report['not_sent'], 100)
        came = int(pathlib.Path(f'/sys/class/net/{FAR}/statistics/rx_packets').read_text())
        self.assertEqual(came, report['frames'] - report['lost_in_ports'])

    def test_a_replay_counts_what_is_too_long(self):
        text = '[[flow]]\nmtu = 4096\nmessage_size = [64, 4096]\nmessages = 10\n'
        done = self.run_gen('run', '-', '--pcap', self.folder / 'x.pcap', text=text)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_gen('replay', self.folder / 'x.pcap', '--port', NEAR, '--json')
        report = json.loads(done.stdout)
        self.assertEqual((done.returncode, report['frames'], report['too_long']), (1, 5, 5))


class Stalls(InFolder):
    def stalled(self, *options):
        file = self.folder / 'sent.pcap'
        file.unlink(missing_ok=True)
        sender = self.begin('run', self.profile(messages=20000, rate='20 kframes/s'), '--port',
                            f'pcap:,{file}', '--json', '--quiet', *options)
        until = time.monotonic() + TIMEOUT
        while not file.exists() or file.stat().st_size < 10_000:  # it sends
            self.assertLess(time.monotonic(), until, 'nothing was sent')
            time.sleep(0.01)
        sender.send_signal(signal.SIGSTOP)
        time.sleep(0.4)
        sender.send_signal(signal.SIGCONT)
        out, _ = sender.communicate(timeout=TIMEOUT)
        self.assertEqual(sender.returncode, 0)
        return json.loads(out)

    def test_catching_up_has_a_limit(self):
        report = self.stalled('--catch-up', '1ms')
        self.assertEqual(report['catch_up']['limit_ns'], 1_000_000)
        self.assertGreater(report['catch_up']['skipped_ns'], 350_000_000)
        self.assertGreaterEqual(report['catch_up']['stalls'], 1)
        self.assertEqual(report['frames'], 20000)
        self.assertGreater(report['elapsed_ns'], 1_350_000_000)
        self.assertLess(report['flows'][0]['rate_achieved']['value'], 16000)
        # Without a limit the mean is right, and the frames of 0.4 s left in one burst.
        report = self.stalled()
        self.assertNotIn('catch_up', report)
        self.assertLess(report['elapsed_ns'], 1_350_000_000)

    def test_a_file_has_no_stalls(self):
        done = self.run_gen('run', self.profile(), '--pcap', self.folder / 'x.pcap', '--catch-up',
                            '1ms')
        self.assertEqual(done.returncode, 2)


class Clocks(InFolder):
    def measured(self, sender_clock, receiver_clock):
        profile = self.profile('[expect]\np99 = "10s"\njitter = "10s"\n', messages=100)
        wire = f'memif:{self.folder / "wire"}'
        receiver = self.begin('receive', '--port', wire + ',server', '--profile', profile,
                              '--count', '100', '--json', '--quiet', '--clock', receiver_clock)
        self.line(receiver, 'waiting')
        sent = self.run_gen('run', profile, '--port', wire, '--json', '--clock', sender_clock)
        self.assertEqual(sent.returncode, 0, sent.stderr)
        out, _ = receiver.communicate(timeout=TIMEOUT)
        return json.loads(sent.stdout), json.loads(out), receiver.returncode

    def test_equal_clocks_give_latencies(self):
        for clock, name in (('steady', 'CLOCK_MONOTONIC'), ('tai', 'CLOCK_TAI')):
            sent, came, code = self.measured(clock, clock)
            self.assertEqual((code, came['verdict']['colour']), (0, 'green'), came['verdict'])
            self.assertIn(name, sent['clock'])
            self.assertEqual(came['clock'], sent['clock'])
            self.assertGreaterEqual(came['flows'][0]['latency_ns']['min'], 0)
            self.assertLess(came['flows'][0]['latency_ns']['max'], 5e9)

    def test_different_clocks_fail_the_latency_verdict(self):
        _, came, code = self.measured('tai', 'steady')
        self.assertEqual(code, 1)
        red = verdict_outputs.red(came['verdict'])
        self.assertEqual([(each['name'], each['result']) for each in red],
                         [('jitter', 'cannot tell'), ('p99', 'cannot tell')])
        self.assertIn('its frames are stamped by CLOCK_TAI', red[0]['reason'])

    def test_a_port_without_a_ptp_clock(self):
        done = self.run_gen('run', self.profile(), '--port', 'null', '--clock', 'ptp')
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('port `null`: no PTP hardware clock; --clock tai', done.stderr)

    def test_a_sender_that_starts_again_is_a_restart(self):
        wire = f'memif:{self.folder / "wire"}'
        receiver = self.begin('receive', '--port', wire + ',server', '--json', '--quiet',
                              '--until-idle', '5s', '--count', '150')
        self.line(receiver, 'waiting')
        for messages in (100, 50):
            sent = self.run_gen('run', self.profile(messages=messages), '--port', wire, '--quiet')
            self.assertEqual(sent.returncode, 0, sent.stderr)
        flow = json.loads(receiver.communicate(timeout=TIMEOUT)[0])['flows'][0]
        self.assertEqual((flow['frames'], flow['lost'], flow['duplicated'], flow['restarts']),
                         (150, 0, 0, 1))


if __name__ == '__main__':
    longwire_test.main()
