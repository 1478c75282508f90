# SPDX-License-Identifier: BSD-3-Clause
"""Flow control by priority at the emulated queue: pause frames as tshark reads them, and a queue
that listens to them."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import needs
import longwire_test
from both_ways import pause_frame
from pcap_file import is_roce, read_pcap, roce_frame, write_pcap

FRAMES = 200
TIMEOUT = 100


class Pause(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        write_pcap(self.folder / 'west.pcap',
                   [(i * 1000, roce_frame(i, 960)) for i in range(FRAMES)])

    def run_box(self, pfc, east, *options):
        """The report, and what came out in the west."""
        write_pcap(self.folder / 'east.pcap', [(0, frame) for frame in east])
        (self.folder / 'p.toml').write_text(f'''
[capacity]
rate = "1Gb/s"
largest_frame = "1500B"
[ledger]
all = true
[[rule]]
name = "slow"
direction = "west-to-east"
queue = {{ rate = "100Mb/s", buffer = "1MB", pfc = {pfc} }}
''')
        run = subprocess.run(
            [*longwire_test.BOX, str(self.folder / 'p.toml'), '--west',
             f'pcap:{self.folder}/west.pcap,{self.folder}/to-west.pcap', '--east',
             f'pcap:{self.folder}/east.pcap,{self.folder}/to-east.pcap', '--json', '--ledger',
             str(self.folder / 'ledger'), *options],
            capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout)
        self.assertTrue(report['identity_holds'])
        return report, [frame for _, frame in read_pcap(self.folder / 'to-west.pcap')]

    @needs.tools('tshark')
    def test_a_full_queue_asks_for_silence_as_tshark_reads_it(self):
        for cores in '1', '2':
            pfc = '{ priority = 5, xoff = "60kB", xon = "30kB", link = "1Gb/s", honour = false }'
            report, _ = self.run_box(pfc, [], '--cores', cores)
            fields = ['eth.dst', 'eth.type', 'macc.opcode', 'macc.cbfc.enbv',
                      'macc.cbfc.pause_time.c5', 'macc.cbfc.pause_time.c3', 'frame.len']
            read = subprocess.run(
                ['tshark', '-r', str(self.folder / 'to-west.pcap'), '-T', 'fields',
                 *[word for field in fields for word in ('-e', field)]],
                capture_output=True, text=True, check=True).stdout.splitlines()
            rows = [dict(zip(fields, line.split('\t'))) for line in read]
            self.assertGreaterEqual(len(rows), 2)
            for row in rows:
                self.assertEqual((row['eth.dst'], int(row['eth.type'], 0), row['frame.len']),
                                 ('01:80:c2:00:00:01', 0x8808, '60'))
                self.assertEqual(int(row['macc.opcode'], 0), 0x0101)
                self.assertEqual(int(row['macc.cbfc.enbv'], 0), 1 << 5)
            times = [int(row['macc.cbfc.pause_time.c5'], 0) for row in rows]
            # Silence, perhaps more than once, and the end of it.
            self.assertEqual(times, [0xffff] * (len(times) - 1) + [0])
            pauses = report['directions'][0]['stages'][0]['pauses']
            self.assertEqual((pauses['asked'], pauses['ended']), (len(times) - 1, 1))
            self.assertEqual(report['directions'][1]['created']['frames'], len(times))
            self.assertEqual(report['directions'][1]['sent']['frames'], len(times))

    def test_a_queue_keeps_silent_when_asked(self):
        # 20,000 quanta of 512 bits at 100 Mb/s. Pauses of other priorities are forwarded.
        silence = 20_000 * 512 * 10
        for cores in '1', '2':
            report, west = self.run_box('{ priority = 3 }', [pause_frame({3: 20_000, 1: 5}),
                                                             pause_frame({3: 20_000}),
                                                             pause_frame({4: 65_535})],
                                        '--cores', cores)
            east, back = report['directions']
            pauses = east['stages'][0]['pauses']
            silent = pauses.pop('silent_ns')
            self.assertEqual(pauses, {'asked': 0, 'ended': 0, 'heard': 2})
            # Until the second one ends, which may be received later.
            self.assertTrue(silence <= silent < 2 * silence, silent)
            self.assertEqual(east['sent']['frames'], FRAMES)
            self.assertEqual((back['received']['frames'], back['consumed']['frames']), (3, 1))
            self.assertEqual([frame for frame in west if not is_roce(frame)],
                             [pause_frame({1: 5}), pause_frame({4: 65_535})])
            self.assertTrue(all(check['holds'] for check in east['stages'][0]['checks']))
            ledger = [json.loads(line) for line in (self.folder / 'ledger').read_text().splitlines()]
            self.assertEqual(sorted(r['action'] for r in ledger if r['direction'] == 'east-to-west'),
                             ['consumed', 'pass', 'pass'])
            waits = [r['time_out_ns'] - r['time_in_ns'] for r in ledger
                     if r['direction'] == 'west-to-east']
            self.assertEqual(len(waits), FRAMES)
            self.assertGreater(max(waits), silence)

    def test_without_a_listening_queue_pause_frames_pass(self):
        frames = [pause_frame({3: 100})]
        pfc = '{ xoff = "900kB", xon = "1kB", honour = false }'
        _, west = self.run_box(pfc, frames)
        self.assertEqual([frame for frame in west if not is_roce(frame)], frames)

    def replay(self, rules, frames, back):
        """The numbers of the frames in the order in which they leave, and the report."""
        (self.folder / 'p.toml').write_text(rules)
        write_pcap(self.folder / 'in.pcap', frames)
        write_pcap(self.folder / 'back.pcap', back)
        run = subprocess.run(
            [longwire_test.program('roce-impair'), 'replay', 'p.toml', 'in.pcap', 'out.pcap', '--back', 'back.pcap',
             '--json', '--ledger', 'ledger.jsonl'], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        records = [json.loads(line) for line in (self.folder / 'ledger.jsonl').read_text().splitlines()]
        left = sorted((r['time_out_ns'], r['frame']) for r in records if r['direction'] == 'west-to-east')
        return [frame for _, frame in left], json.loads(run.stdout)

    def test_classes_that_one_frame_resumes_begin_with_the_highest_priority(self):
        start = 1_700_000_000 * 10**9
        for priorities, first in (((0, 1), 1), ((1, 0), 0), ((2, 7), 1)):
            rules = f'''
[[rule]]
name = "a"
direction = "west-to-east"
match = {{ dst_qp = 100 }}
[rule.queue]
rate = "1Gb/s"
buffer = "100kB"
class = 0
classes.0 = {{ priority = {priorities[0]}, pfc = {{ priority = 3 }} }}
classes.1 = {{ priority = {priorities[1]}, pfc = {{ priority = 4 }} }}
[[rule]]
name = "b"
direction = "west-to-east"
match = {{ dst_qp = 101 }}
queue = {{ shared = "a", class = 1 }}
[ledger]
all = true
'''
            frames = [(start + 1000 + i, roce_frame(i, 960, qp=100 + i % 2)) for i in range(20)]
            back = [(start, pause_frame({3: 65_535, 4: 65_535})), (start + 10**6, pause_frame({3: 0, 4: 0}))]
            left, report = self.replay(rules, frames, back)
            self.assertEqual([frame % 2 for frame in left], [first] * 10 + [1 - first] * 10)
            checks = [check for stages in report['directions'][0]['stages'] for check in stages['checks']]
            self.assertTrue(checks)
            self.assertTrue(all(check['holds'] for check in checks), checks)

    def test_mistakes_are_named(self):
        for pfc, word in (('{ xoff = "2MB", xon = "1kB" }', 'xoff: expected at most the buffer'),
                          ('{ xoff = "2kB", xon = "2kB" }', 'xon: expected less than xoff'),
                          ('{ xon = "2kB" }', 'xoff'),
                          ('{ link = "101Tb/s" }', 'link: expected a rate from 1kb/s to 100Tb/s'),
                          ('{ priority = 8 }', 'priority'),
                          ('{ honour = false }', 'honour: expected true')):
            (self.folder / 'p.toml').write_text(
                f'[[rule]]\nqueue = {{ rate = "1Gb/s", buffer = "1MB", pfc = {pfc} }}\n')
            check = subprocess.run([longwire_test.program('roce-impair'), 'check',
                                    str(self.folder / 'p.toml')], capture_output=True, text=True,
                                   check=False)
            self.assertEqual(check.returncode, 2, pfc)
            self.assertIn('p.toml:2:', check.stderr)
            self.assertIn(word, check.stderr)


if __name__ == '__main__':
    longwire_test.main()
