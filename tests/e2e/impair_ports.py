# SPDX-License-Identifier: BSD-3-Clause
"""What the programs change on a port is as before when they end, and what they count of a port never
goes back. Needs root, for veth pairs in a network namespace of its own."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import longwire_test
import needs
from pcap_file import roce_frame, write_pcap

TIMEOUT = 60
PROFILE = '''
[[rule]]
name = "c"
match = "all"
delay = "1ms"
[[flap]]
name = "f"
port = "west"
down = "60s"
[capacity]
rate = "1Gb/s"
'''
FLOW = '''
[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 1024
rate = "2000 frames/s"
messages = 500
'''


def ip(*words):
    return subprocess.run(['ip', *words], check=True, capture_output=True, text=True).stdout


def state_of(interface):
    """The flags, how often somebody asked for all frames, and the MTU."""
    link = json.loads(ip('-j', '-d', 'link', 'show', interface))[0]
    return sorted(link['flags']), link.get('promiscuity'), link['mtu']


class Ports(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / 'p.toml').write_text(PROFILE)

    def make_links(self):
        for name in 'west', 'east':
            ip('link', 'add', f'{name}h', 'type', 'veth', 'peer', 'name', f'{name}b')
            self.addCleanup(ip, 'link', 'del', f'{name}h')
            for end in 'hb':
                ip('link', 'set', f'{name}{end}', 'up')

    def wait_until(self, reached, process):
        end = time.monotonic() + TIMEOUT
        while not reached():
            self.assertIsNone(process.poll(), process.stderr.read() if process.poll() is not None else '')
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def box(self, west='westb', east='eastb', *options, before=()):
        ready = self.folder / 'ready'
        ready.unlink(missing_ok=True)
        self.socket = self.folder / 'ctl'
        box = longwire_test.begin(
            self, [*before, *longwire_test.BOX, self.folder / 'p.toml', '--west', west,
                   '--east', east, '--json', '--ready-file', ready, '--control', self.socket, *options])
        self.wait_until(ready.exists, box)
        return box

    def ctl(self, *words):
        subprocess.run([longwire_test.program('roce-impair'), 'ctl', self.socket, *words], check=True,
                       capture_output=True, timeout=TIMEOUT)

    def finish(self, box, number):
        box.send_signal(number)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, 0, out + err)
        return json.loads(out)

    @needs.root('network namespaces')
    def test_an_interface_is_as_before_by_each_driver(self):
        self.make_links()
        for promiscuous in 'off', 'on':
            ip('link', 'set', 'westb', 'promisc', promiscuous)
            for port in 'westb', 'westb,qdisc', 'westb,af_xdp', 'af_packet:westb':
                with self.subTest(port=port, promiscuous=promiscuous):
                    before = state_of('westb')
                    box = self.box(port)
                    self.finish(box, signal.SIGTERM)
                    self.assertEqual(state_of('westb'), before)
                    receiver = longwire_test.begin(self, [longwire_test.program('roce-gen'), 'receive', '--port',
                                                          port, '--duration', '200ms', '--json'])
                    receiver.communicate(timeout=TIMEOUT)
                    self.assertEqual(state_of('westb'), before)

    @needs.root('network namespaces')
    def test_what_a_flap_set_down_is_up_again(self):
        self.make_links()
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            with self.subTest(number=number):
                box = self.box()
                self.ctl('event', 'f')
                self.assertNotIn('UP', state_of('westb')[0])
                self.finish(box, number)
                self.assertIn('UP', state_of('westb')[0])

    @needs.root('network namespaces')
    def test_also_where_a_signal_ends_the_process_at_once(self):
        self.make_links()
        (self.folder / 'p.toml').write_text(PROFILE.replace('"1ms"', '"20s"').replace('1Gb/s', '1Mb/s'))
        box = self.box()
        box_frames = [(0, roce_frame(i)) for i in range(3)]
        write_pcap(self.folder / 'in.pcap', box_frames)
        subprocess.run([longwire_test.program('roce-gen'), 'replay', self.folder / 'in.pcap', '--port', 'westh'],
                       check=True, capture_output=True, timeout=TIMEOUT)
        self.ctl('event', 'f')
        while box.poll() is None:  # until the third has come; each may come before the last was seen
            box.send_signal(signal.SIGTERM)
            time.sleep(0.005)
        self.assertIn('UP', state_of('westb')[0])

    @needs.root('network namespaces')
    def test_the_next_start_names_what_a_killed_run_has_left(self):
        self.make_links()
        box = self.box()
        folder = pathlib.Path(f'/run/dpdk/longwire-{box.pid}')
        self.assertTrue(folder.exists())
        self.ctl('event', 'f')
        box.kill()
        box.communicate()
        self.assertTrue(folder.exists())
        self.assertNotIn('UP', state_of('westb')[0])
        other = self.box('net_ring0', 'net_ring1')
        other.send_signal(signal.SIGTERM)
        _, err = other.communicate(timeout=TIMEOUT)
        self.assertIn(f'interface westb is down: an earlier run (process {box.pid}) set it down', err)
        self.assertFalse(folder.exists())
        self.assertNotIn('UP', state_of('westb')[0])

    def test_the_end_of_the_terminal_ends_a_run_with_its_report(self):
        report = self.finish(self.box('net_ring0', 'net_ring1'), signal.SIGHUP)
        self.assertTrue(report['identity_holds'])
        box = self.box('net_ring0', 'net_ring1', before=['nohup'])
        box.send_signal(signal.SIGHUP)
        self.ctl('show')
        self.ctl('show')
        self.assertIsNone(box.poll())
        self.finish(box, signal.SIGTERM)

    def test_memif_counters_stay_when_the_peers_leave(self):
        (self.folder / 'flow.toml').write_text(FLOW)
        west, east = f'memif:{self.folder}/w', f'memif:{self.folder}/e'
        self.socket = self.folder / 'ctl'
        box = longwire_test.begin(
            self, [*longwire_test.BOX, self.folder / 'p.toml', '--west', west + ',server',
                   '--east', east + ',server', '--json', '--control', self.socket, '--wait-link', '60s'])
        self.wait_until(self.socket.exists, box)
        receiver = longwire_test.begin(self, [longwire_test.program('roce-gen'), 'receive', '--port', east, '--json',
                                              '--count', '500'])
        sender = longwire_test.begin(self, [longwire_test.program('roce-gen'), 'run', self.folder / 'flow.toml',
                                            '--port', west, '--json'])
        for process in sender, receiver:
            process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 0)
        shown = json.loads(subprocess.run(
            [longwire_test.program('roce-impair'), 'ctl', self.socket, 'show', '--json'], check=True,
            capture_output=True, text=True).stdout)['report']
        for report in shown, self.finish(box, signal.SIGTERM):
            self.assertEqual(report['directions'][0]['received']['frames'], 500)
            self.assertEqual([(port['received'], port['sent']) for port in report['ports']], [(500, 0), (0, 500)])


if __name__ == '__main__':
    if os.geteuid() == 0:
        longwire_test.enter_namespaces('--net')
    longwire_test.main()
