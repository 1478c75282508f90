# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen experiment: every shipped one runs, in short; what it writes can be read; mistakes have
their places; the published 380 km tables are met."""

import csv
import json
import pathlib
import os
import pty
import re
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import longwire_test

GEN = longwire_test.program('roce-gen')
FOLDER = longwire_test.SOURCE / 'profiles' / 'experiments'
TIMEOUT = 120

# What cuts a shipped experiment down to seconds.
SHORT = {
    'apn-380km-go-back-n': ['--repeats', '2', '--set', 'duration=40ms', '--only', 'loss=0.001',
                            '--only', 'distance=40km', '--only', 'distance=100km',
                            '--only', 'distance=10000km'],
    'apn-380km-minima': ['--repeats', '2', '--set', 'iterations=200'],
    'apn-380km-throughput': ['--repeats', '2', '--only', 'size=64KiB'],
    'apn-380km-dcqcn': ['--repeats', '2', '--set', 'duration=20ms'],
}

# The shipped throughput experiment's runs until the steady rate is known.
STEADY = ('table C.1', 'table C.1, READ', 'the other argument sets',
          'the other argument set of READ', 'the other reading of the window')


class Experiment(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def experiment(self, file, *arguments, code=0):
        done = subprocess.run([GEN, 'experiment', str(file), '--out', str(self.folder / 'out'),
                               *arguments], capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def results(self, name):
        text = (self.folder / 'out' / f'{name}.json').read_text(encoding='utf-8')
        return json.loads(text)

    def write(self, text):
        file = self.folder / 'x.toml'
        file.write_text(text, encoding='utf-8')
        return file

    def test_shipped_ones_run(self):
        files = sorted(FOLDER.glob('*.toml'))
        self.assertGreaterEqual(len(files), 4)
        for file in files:
            with self.subTest(file.stem):
                self.experiment(file, *SHORT.get(file.stem, []))
                out = self.folder / 'out'
                results = self.results(file.stem)
                with open(out / f'{file.stem}.csv', encoding='utf-8', newline='') as table:
                    self.assertEqual(len(list(csv.DictReader(table))), len(results['cells']))
                for cell in results['cells']:
                    for run in cell['runs']:
                        self.assertEqual(run.get('failed', 0), 0, cell['parameters'])
                for picture in out.glob('*.svg'):
                    root = xml.etree.ElementTree.parse(picture).getroot()
                    self.assertTrue(root.tag.endswith('svg'))

    def test_throughput_is_the_published_one(self):
        self.experiment(FOLDER / 'apn-380km-throughput.toml', '--scenario', 'table C.1',
                        '--scenario', 'table C.1, READ')
        compared = [c for c in self.results('apn-380km-throughput')['comparisons']
                    if c['scenario'].startswith('table C.1') and c['column'] == 'max_gbps']
        self.assertEqual(len(compared), 36)
        for cell in compared:
            tolerance = 0.03 if 'send' in cell['row'] else 0.02
            if cell['row'] == '8192 write':
                self.assertIn('misprint', cell['remark'])
            else:
                self.assertLess(abs(cell['difference']), tolerance, cell)

    def test_latency_is_the_published_one(self):
        self.experiment(FOLDER / 'apn-380km-latency.toml')
        compared = self.results('apn-380km-latency')['comparisons']
        self.assertEqual(len(compared), 23 * 6)
        for cell in compared:
            tolerance = 0.01 if int(cell['row']) <= 1 << 20 else 0.03
            self.assertLess(abs(cell['difference']), tolerance, cell)

    def test_migrations_finish_where_the_published_ones_do(self):
        self.experiment(FOLDER / 'apn-380km-vm-migration.toml')
        results = self.results('apn-380km-vm-migration')
        compared = results['comparisons']
        self.assertEqual(len(compared), 40)
        agreeing = sum('difference' in c or c['agrees'] for c in compared)
        self.assertGreaterEqual(agreeing, 36)
        calibrated = [p for p in results['premises'] if p['basis'] == 'calibrated']
        self.assertLessEqual(len(calibrated), 4)

    def test_windows_are_steady(self):
        scenarios = [word for name in STEADY for word in ('--scenario', name)]
        self.experiment(FOLDER / 'apn-380km-throughput.toml', *scenarios)
        for cell in self.results('apn-380km-throughput')['cells']:
            self.assertLess(abs(cell['runs'][0]['steady_change']), 1e-3, cell['parameters'])

    def test_full_runs_are_as_long_as_the_published_ones(self):
        self.experiment(FOLDER / 'apn-380km-throughput.toml', '--full', '--scenario', 'table C.1',
                        '--only', 'size=4KiB', '--only', 'op=write')
        [cell] = self.results('apn-380km-throughput')['cells']
        self.assertEqual(cell['runs'][0]['iterations'], 4 * 15000)
        self.assertLess(abs(cell['runs'][0]['bw_average_gbps'] / 4.4 - 1), 0.02)

    def test_a_terminal_sees_how_far_it_is(self):
        file = self.write('[[scenario]]\n[scenario.set]\ndelay = ["1ms", "2ms", "3ms"]\n')
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        done = subprocess.run([GEN, 'experiment', str(file), '--out', str(self.folder / 'out'),
                               '--jobs', '1'], stdout=subprocess.PIPE, stderr=theirs, timeout=TIMEOUT)
        os.close(theirs)
        self.assertEqual(done.returncode, 0)
        shown = os.read(ours, 1 << 16).decode()
        self.assertRegex(shown, r'\r\x1b\[K\[#{30}\] 3 of 3 runs, \d+ s')
        for bar in re.findall(r'\[([#-]*)\] (\d) of 3', shown):
            self.assertEqual(len(bar[0]), 30)
            self.assertEqual(bar[0].count('#'), 10 * int(bar[1]))
        self.assertEqual(self.experiment(file).stderr, '')  # nobody looks: nothing is said

    def test_parameters_are_perfs_options(self):
        file = self.write('[[scenario]]\n[scenario.set]\ndelay = "1ms"\nop = "read"\n'
                          'size = ["64KiB", "1MiB"]\nqps = 3\nreads = 4\n')
        self.experiment(file)
        cells = self.results('x')['cells']
        self.assertEqual([c['parameters']['size'] for c in cells], ['64KiB', '1MiB'])
        for cell in cells:
            perf = subprocess.run(
                [GEN, 'perf', '--sim', '--delay', '1ms', '--op', 'read', '--size',
                 cell['parameters']['size'], '--qps', '3', '--reads', '4', '--json'],
                capture_output=True, text=True, check=True, timeout=TIMEOUT)
            expected = json.loads(perf.stdout)
            self.assertEqual(cell['runs'][0]['bw_peak_gbps'], expected['bw_peak_gbps'])

    def test_repeats_differ_by_seed_and_repeat_themselves(self):
        file = self.write('seed = 7\n[[scenario]]\nrepeats = 4\n[scenario.set]\ndelay = "100us"\n'
                          'loss = "0.1%"\nduration = "20ms"\ntimeout = 10\n')
        self.experiment(file, '--jobs', '4')
        [cell] = self.results('x')['cells']
        self.assertEqual(len(cell['runs']), 4)
        self.assertGreater(len({run['bw_average_gbps'] for run in cell['runs']}), 1)
        first = self.results('x')['cells']
        self.experiment(file, '--jobs', '1')
        self.assertEqual(first, self.results('x')['cells'])

    def test_mistakes_have_places(self):
        for text, places in (
                ('[[scenario]]\n[scenario.set]\ndelay = "1ms"\nsize = ["4KiB", "lots"]\n',
                 ['x.toml:4:17: size:']),
                ('[[scenario]]\n[scenario.set]\ndelay = "soon"\nqsp = 1\n',
                 ['x.toml:3:9: delay:', 'x.toml:4:7: qsp:', 'qps']),
                ('[[scenario]]\n[scenario.set]\nsize = 1\n', ['x.toml:1:1:', '--path, --delay']),
                ('[[scenario]]\nrun = "walk"\n', ['x.toml:1:1: run: expected one of perf']),
                ('[[scenario]]\n[scenario.set]\ndelay = "1ms"\n[scenario.compare]\n'
                 'table = "none.csv"\nrows = {a = "b"}\n[[scenario.compare.column]]\n'
                 'published = "p"\nours = "o"\n', ['x.toml:4:1: compare:', 'none.csv']),
        ):
            with self.subTest(text):
                done = self.experiment(self.write(text), code=2)
                for place in places:
                    self.assertIn(place, done.stderr)

    def test_what_is_too_far_fails(self):
        (self.folder / 't.csv').write_text('bytes,gbps\n4096,50\n', encoding='utf-8')
        file = self.write('[[scenario]]\n[scenario.set]\ndelay = "1ms"\nsize = "4KiB"\n'
                          '[scenario.compare]\ntable = "t.csv"\nrows = {bytes = "bytes"}\n'
                          '[[scenario.compare.column]]\npublished = "gbps"\n'
                          'ours = "bw_peak_gbps"\nwithin = "5%"\n')
        done = self.experiment(file, code=1)
        self.assertIn('TOO FAR', done.stdout)

    def test_wrong_usage(self):
        file = self.write('[[scenario]]\n[scenario.set]\ndelay = "1ms"\n')
        for arguments in (('--set', 'size'), ('--only', 'delay=2ms'), ('--scenario', 'none'),
                          ('--jobs', '0'), ('--set', 'size=huge')):
            with self.subTest(arguments):
                self.experiment(file, *arguments, code=2)


if __name__ == '__main__':
    longwire_test.main()
