# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair run --cores 2: one core a direction, and the same decisions as on one."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import longwire_test
from both_ways import DRAWN
from pcap_file import other_frame, read_pcap, roce_frame, write_pcap
from pcapng_file import read_pcapng

FRAMES = 4000
TIMEOUT = 100
SCENARIO = '''
[capacity]
rate = "10Gb/s"
largest_frame = "1500B"
[[rule]]
name = "all"
match = "all"
delay = "1ms"
loss = 0
[[at]]
time = "200ms"
rule = "all"
set = { loss = "100%" }
[[at]]
time = "400ms"
rule = "all"
set = { loss = 0 }
[[flap]]
port = "east"
time = "500ms"
down = "100ms"
'''


class Cores(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / 'p.toml').write_text(DRAWN)
        for name, step in (('west', 7), ('east', 11)):
            frames = [other_frame(i, 60 + i % 1400) if i % 10 == 9 else
                      roce_frame(i, 8 + i * step % 4096) for i in range(FRAMES)]
            write_pcap(self.folder / f'{name}.pcap',
                       [(i * 10_000, data) for i, data in enumerate(frames)])

    def start(self, *options, west=None, east=None):
        return subprocess.Popen(
            [*longwire_test.BOX, str(self.folder / 'p.toml'), '--west',
             west or f'pcap:{self.folder}/west.pcap,{self.folder}/to-west.pcap', '--east',
             east or f'pcap:{self.folder}/east.pcap,{self.folder}/to-east.pcap', '--json',
             *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_on(self, cores):
        """What comes out at both ends, and the ledger without its times."""
        ledger = self.folder / 'ledger'
        process = self.start('--cores', str(cores), '--ledger', str(ledger))
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, err)
        report = json.loads(out)
        self.assertTrue(report['identity_holds'])
        self.assertEqual(report['ledger']['skipped'], 0)
        for direction in report['directions']:
            self.assertEqual(direction['received']['frames'], FRAMES)
        records = [json.loads(line) for line in ledger.read_text().splitlines()]
        for record in records:
            record.pop('time_in_ns')
            record.pop('time_out_ns')
        frames = [sorted(data for _, data in read_pcap(self.folder / name))
                  for name in ('to-west.pcap', 'to-east.pcap')]
        return frames, sorted(json.dumps(r) for r in records)

    def test_two_cores_decide_as_one_does(self):
        one, two = self.run_on(1), self.run_on(2)
        self.assertGreater(len(one[1]), FRAMES // 10)
        self.assertEqual(one[1], two[1])
        self.assertTrue(one[0] == two[0], 'frames differ')

    def test_changes_and_questions_while_both_work(self):
        memif, control = f'memif:{self.folder}/sock', str(self.folder / 'control')
        box = self.start('--cores', '2', '--control', control, '--until-idle', '4',
                         '--ready-file', str(self.folder / 'ready'), west=memif + ',server',
                         east='null')
        self.addCleanup(lambda: box.poll() is None and box.kill())
        feed = subprocess.Popen(
            [longwire_test.program('roce-gen'), 'run', '-', '--port', memif],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(lambda: feed.poll() is None and feed.kill())
        feed.stdin.write('[[flow]]\noperation = "write"\nrepeat = "forever"\nmessages = 1000\n'
                         'message_size = 512\nrate = "20000 frames/s"\n')
        feed.stdin.close()
        ctl = [longwire_test.program('roce-impair'), 'ctl', control]
        while not os.path.exists(self.folder / 'ready'):
            self.assertIsNone(box.poll())
        for i in range(1, 13):
            self.assertIsNone(feed.poll())
            subprocess.run([*ctl, 'set', 'east', f'delay={1 + i % 2}ms', f'loss={i % 5}%'],
                           check=True, capture_output=True, timeout=TIMEOUT)
            recording = ['record', str(self.folder / f'{i}.pcapng')] if i % 2 else ['stop-recording']
            subprocess.run([*ctl, *recording], check=True, capture_output=True, timeout=TIMEOUT)
            shown = subprocess.run([*ctl, '--json', 'show'], check=True, capture_output=True,
                                   text=True, timeout=TIMEOUT)
            self.assertTrue(json.loads(shown.stdout)['ok'])
        feed.send_signal(signal.SIGINT)
        feed.wait(timeout=TIMEOUT)
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, 0, err)
        report = json.loads(out)
        self.assertTrue(report['identity_holds'])
        for capture in [*report.get('earlier_captures', []), report['capture']]:
            self.assertEqual(len(read_pcapng(capture['file'])[1]), capture['frames'])
        east = report['directions'][0]
        self.assertGreater(east['received']['frames'], 1000)
        self.assertEqual(sum(w['frames'] for w in east['dropped_for_resource'].values()), 0)

    def test_a_recording_and_a_ledger_beside_two_cores(self):
        """Both cores hand records to the writers' threads, while the control thread asks."""
        for ledger, recording in (('ledger.jsonl', 'one.pcapng'), ('ledger.lwl', 'two.pcapng')):
            # On a busy machine a run may be over before anybody has asked.
            for attempt in range(20):
                if self.record(f'{attempt}{ledger}', f'{attempt}{recording}') > 0:
                    break
            else:
                self.fail('no answer while any of 20 runs lasted')

    def record(self, ledger, recording):
        """How many questions were answered in a run."""
        control = str(self.folder / f'{recording}.control')
        box = self.start('--cores', '2', '--ledger', str(self.folder / ledger), '--pcap',
                         str(self.folder / recording), '--pcap-bytes', '128', '--control', control)
        answered = 0
        while box.poll() is None:
            done = subprocess.run([longwire_test.program('roce-impair'), 'ctl', control, 'show',
                                   '--json'], capture_output=True, text=True, timeout=TIMEOUT,
                                  check=False)
            answered += done.returncode == 0
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertEqual(box.returncode, 0, err)
        report = json.loads(out)
        self.assertTrue(report['identity_holds'])
        names, frames = read_pcapng(self.folder / recording)
        self.assertEqual(len(names), 4)
        sent = sum(way['sent']['frames'] for way in report['directions'])
        received = sum(way['received']['frames'] for way in report['directions'])
        self.assertEqual(len(frames), received + sent)
        self.assertGreater(report['ledger']['records'], FRAMES // 10)
        self.assertEqual(report['ledger']['missing'] + report['capture']['missing'], 0)
        return answered

    def test_a_scenario_holds_both_directions(self):
        """Steps and a flap at full load: they are taken by one core, and in force on both."""
        (self.folder / 'p.toml').write_text(SCENARIO)
        box = self.start('--cores', '2', '--duration', '900ms', west='net_null0,size=64',
                         east='net_null1,size=64')
        out, err = box.communicate(timeout=TIMEOUT)
        self.assertIn(box.returncode, (0, 1), err)
        report = json.loads(out)
        # The null port offers more than [capacity] has room for: losing that fails the run.
        self.assertEqual(report['resources_hold'], box.returncode == 0)
        self.assertTrue(report['identity_holds'] and report['stages_hold'])
        self.assertEqual((report['scenario']['done'], report['scenario']['failed']), (4, 0))
        for direction in report['directions']:
            self.assertGreater(direction['sent']['frames'], 0)
            self.assertGreater(direction['dropped_by_rule']['frames'], 0)
            self.assertGreater(direction['dropped_for_resource']['link_down']['frames'], 0)

    def test_cores_are_asked_for_rightly(self):
        for options, code in ((('--cores', '3'), 2), (('--cores', '2', '--core', '0'), 2),
                              (('--core', '0,1'), 2), (('--cores', '2', '--core', '0,4000'), 3)):
            process = self.start(*options)
            process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, code, options)


if __name__ == '__main__':
    longwire_test.main()
