# SPDX-License-Identifier: BSD-3-Clause
"""The memory of a run is that which `check` says, also with a live page; a delay that needs more gets it
while frames pass. With two cores, too."""

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

TIMEOUT = 120
GEN, IMPAIR = longwire_test.program('roce-gen'), longwire_test.program('roce-impair')
# 1 ms are 1,024 frames each way, the least; 100 ms are some 15,000.
PROFILE = '''
[[rule]]
name = "far"
match = "all"
delay = "1ms"
[capacity]
rate = "{rate}"
smallest_frame = "{smallest}"
'''
FLOW = '''
[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = {size}
rate = "10000 frames/s"
repeat = "forever"
'''


class Room(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.control = self.folder / 'ctl'

    def wait_until(self, reached, process):
        end = time.monotonic() + TIMEOUT
        while not reached():
            self.assertIsNone(process.poll(), process.stderr.read() if process.poll() is not None else '')
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def box(self, *options, west, east, **keys):
        profile = PROFILE.format(**{'rate': '1Gb/s', 'smallest': '1KiB', **keys})
        (self.folder / 'p.toml').write_text(profile)
        self.control.unlink(missing_ok=True)
        box = longwire_test.begin(self, [*longwire_test.BOX, self.folder / 'p.toml', '--west', west, '--east', east,
                                         '--json', '--control', self.control, *options])
        self.wait_until(self.control.exists, box)
        return box

    def ctl(self, *words, code=0):
        done = subprocess.run([IMPAIR, 'ctl', self.control, *words, '--json'], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout) if done.stdout else done.stderr

    def report_of(self, box, codes=(0,)):
        box.terminate()
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertIn(box.returncode, codes, err)
        return json.loads(out)

    def test_a_longer_delay_gets_its_memory_while_frames_pass(self):
        for options, keys, size in (((), {}, 1024), (('--cores', '2'), {}, 1024), (('--ledger', 'l.jsonl'), {}, 1024),
                                    ((), {'smallest': '60B', 'rate': '100Mb/s'}, 0)):
            with self.subTest(options=options, size=size):
                self.check_growth([str(self.folder / word) if '.' in word else word for word in options], keys, size)

    def check_growth(self, options, keys, size):
        wires = tempfile.mkdtemp(dir=self.folder)
        west, east = f'memif:{wires}/w', f'memif:{wires}/e'
        box = self.box(*options, '--wait-link', '120s', west=west + ',server', east=east + ',server', **keys)
        (self.folder / 'flow.toml').write_text(FLOW.format(size=size))
        receiver = longwire_test.begin(self, [GEN, 'receive', '--port', east, '--json'])
        sender = longwire_test.begin(self, [GEN, 'run', self.folder / 'flow.toml', '--port', west, '--json',
                                            *longwire_test.ANY_RATE])
        frames = lambda what: self.ctl('show')['report']['directions'][0][what]['frames']
        self.wait_until(lambda: frames('received') > 2000, box)
        before = self.ctl('preview', 'far', 'delay=100ms')
        self.assertIn('of memory for', before['text'])
        self.assertGreater(before['room']['took_ns'], 0)
        after = self.ctl('set', 'far', 'delay=100ms')
        self.assertIn('took ', after['text'])
        self.assertEqual(after['room']['bytes'], before['room']['bytes'])
        self.assertGreater(after['room']['frames_per_direction'], 10_000)
        self.assertNotIn('room', self.ctl('set', 'far', 'delay=90ms'))
        event = self.ctl('event', '{"at": {"rule": "far", "set": {"delay": "200ms"}}}')
        self.assertGreater(event['room']['frames_per_direction'], after['room']['frames_per_direction'])
        met_it = frames('received')
        self.wait_until(lambda: frames('sent') > met_it + 1000, box)
        for process in sender, receiver:
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=TIMEOUT)
            self.assertIn(process.returncode, (0, 1), err)  # 1: a busy machine loses frames at its ports
            self.wait_until(lambda: frames('in_flight') == 0, box)
        report = self.report_of(box, codes=(0, 1))
        direction = report['directions'][0]
        self.assertGreaterEqual(direction['delay_ns']['max'], 199_000_000)
        dropped = sum(want['frames'] for want in direction['dropped_for_resource'].values())
        self.assertEqual(direction['sent']['frames'] + dropped, direction['received']['frames'])
        stood_still = max(direction['release_error_ns']['max'], direction['arrivals']['wait_ns']['max'])
        if stood_still < 10_000_000:  # else more frames come at once than the memory of 1 ms is for
            self.assertEqual((dropped, box.returncode), (0, 0))

    def test_a_page_takes_no_more_memory(self):
        resident = []
        for options in (), ('--web', '0'):
            box = self.box(*options, west='net_ring0', east='net_ring1', rate='20Gb/s', smallest='256B')
            resident.append(int(next(line.split()[1] for line in open(f'/proc/{box.pid}/status', encoding='ascii')
                                     if line.startswith('VmRSS:'))) * 1024)
            self.report_of(box)
        self.assertLess(resident[1], resident[0] + (24 << 20))

    @needs.root('network namespaces')
    def test_ports_whose_device_knows_the_memory_say_so(self):
        subprocess.run(['ip', 'link', 'add', 'westh', 'type', 'veth', 'peer', 'name', 'westb'], check=True)
        self.addCleanup(subprocess.run, ['ip', 'link', 'del', 'westh'], check=True)
        for end in 'hb':
            subprocess.run(['ip', 'link', 'set', f'west{end}', 'up'], check=True)
        box = self.box(west='westb,af_xdp', east='net_ring0')
        said = self.ctl('set', 'far', 'delay=100ms', code=2)
        self.assertIn('The memory of its ports cannot grow', said if isinstance(said, str) else said['error'])
        self.report_of(box)


if __name__ == '__main__':
    if os.geteuid() == 0:
        longwire_test.enter_namespaces('--net')
    longwire_test.main()
