# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen experiment: every shipped one runs, in short; what it writes can be read; mistakes have
their places; the published 380 km tables are met."""

import csv
import json
import pathlib
import os
import pty
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

import longwire_test
import mpi_runs
from pcapng_file import read_pcapng

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
    'selective-repeat': ['--only', 'loss=0.0001', '--repeats', '20'],
    'long-haul-variants': ['--scenario', 'early marks', '--set', 'duration=2400ms'],
    'long-haul-incast': ['--only', 'network=long-haul-incast-50km', '--set', 'duration=2400ms'],
}

# Cells that succeed and cells in which the path loses too much: their QPs give up.
FAILING = """seed = 5
[[scenario]]
name = "lossy"
repeats = 2
[scenario.set]
delay = "100us"
size = "16KiB"
iterations = 50
timeout = 8
retries = 1
loss = [0, 9e-1]
"""
# Runs of random length; each takes a moment.
SWEEP = """seed = 3
[[scenario]]
name = "random"
repeats = 3
show = ["bw_average_gbps"]
[scenario.set]
delay = "200us"
loss = ["0.1%", "0.5%"]
size = ["64KiB", "256KiB"]
timeout = 8
duration = "4ms"
[[scenario]]
name = "not random"
show = ["bw_peak_gbps"]
[scenario.set]
delay = ["1ms", "2ms"]
"""

# A run and the begin of a plot of it.
PLOT = """[[scenario]]
[scenario.set]
delay = "1ms"
size = "4KiB"
[[plot]]
name = "p"
"""
INCAST = PLOT.replace('[scenario.set]\n', 'run = "incast"\n[scenario.set]\nduration = "40ms"\n')

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
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        # So long that it takes some seconds: a bar appears after one.
        subprocess.run([GEN, 'experiment', str(self.write(SWEEP)), '--out', str(self.folder / 'out'),
                        '--jobs', '1', '--set', 'duration=500ms'], stdout=subprocess.DEVNULL,
                       stderr=theirs, check=True, timeout=TIMEOUT,
                       env={**os.environ, 'TERM': 'xterm'})
        os.close(theirs)
        shown = b''
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:
            pass  # all is read
        bars = re.findall(r'\r\x1b\[K\[([#-]*)\] (\d+) of 14 runs, \d+ s, \d+ s left', shown.decode())
        self.assertTrue(bars, shown)
        for bar, done in bars:
            self.assertEqual(len(bar), 30)
            self.assertAlmostEqual(bar.count('#'), 30 * int(done) / 14, delta=1)

    def test_a_file_gets_no_progress(self):
        file = self.write('[[scenario]]\n[scenario.set]\ndelay = ["1ms", "2ms", "3ms"]\n')
        self.assertEqual(self.experiment(file).stderr, '')

    def test_a_failing_cell_shows_its_reason_and_seed(self):
        done = self.experiment(self.write(FAILING), code=1)
        self.assertIn('does not hold: 2 of 3 runs failed', done.stdout)
        section = done.stdout[done.stdout.rindex('2 of 3 runs failed'):]
        for seed in (5, 6):
            self.assertRegex(section, rf'2 +lossy +loss = 9e-1 +{seed} +retry exceeded, QP 0 of host')
        good, bad = self.results('x')['cells']
        self.assertEqual(bad['seeds'], [5, 6])
        self.assertNotIn('failure', good['runs'][0])
        for run in bad['runs']:
            self.assertGreater(run['failed'], 0)
            self.assertIn('retry exceeded', run['failure'])
        with open(self.folder / 'out' / 'x.csv', encoding='utf-8', newline='') as table:
            rows = list(csv.DictReader(table))
        self.assertEqual(rows[0]['failure'], '')
        self.assertIn('retry exceeded', rows[1]['failure'])

    def test_packets_of_failing_runs_are_captured(self):
        failures = self.folder / 'failures'
        self.experiment(self.write(FAILING), '--pcap-failures', str(failures), code=1)
        self.assertEqual(sorted(f.name for f in failures.iterdir()),
                         ['x-cell2-seed5.pcapng', 'x-cell2-seed6.pcapng'])
        _, bad = self.results('x')['cells']
        for run, seed in zip(bad['runs'], bad['seeds']):
            names, frames = read_pcapng(failures / f'x-cell2-seed{seed}.pcapng')
            self.assertEqual(names, ['client-out', 'server-in', 'server-out', 'client-in'])
            # The same run: all that the only QP had sent when it gave up.
            sent = [frame for name, _, frame in frames if name == 'client-out']
            self.assertEqual(len(sent), run['packets'])
            self.assertLess(sum(name == 'server-in' for name, _, _ in frames), len(sent))
            stamps = [stamp for _, stamp, _ in frames]
            self.assertEqual(stamps, sorted(stamps))
            self.assertLessEqual(stamps[-1], run['failed_at_ns'])

    def outputs(self, folder='out'):
        """Name to bytes of everything that an experiment writes."""
        return {f.name: f.read_bytes() for f in sorted((self.folder / folder).iterdir())}

    def test_bytes_do_not_depend_on_the_number_of_jobs(self):
        file = self.write(SWEEP)
        self.experiment(file, '--jobs', '1')
        one = self.outputs()
        self.assertEqual(sorted(one), ['x.csv', 'x.json', 'x.runs.jsonl', 'x.txt'])
        for jobs in ('2', '7'):
            self.experiment(file, '--jobs', jobs)
            self.assertEqual(self.outputs(), one, jobs)

    def mpirun(self, *words, ranks=3, cwd=None):
        return mpi_runs.mpirun(words, ranks, cwd=cwd)

    def test_ranks_share_the_cells_and_rank_0_writes_the_same_bytes(self):
        file = self.write(SWEEP)
        self.experiment(file, '--jobs', '1')
        one = self.outputs()
        for jobs in ([], ['--jobs', '2']):
            shutil.rmtree(self.folder / 'out')
            done = self.mpirun(GEN, 'experiment', str(file), '--out', str(self.folder / 'out'),
                               *jobs)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(done.stdout.count('written to'), 1)
            self.assertEqual(self.outputs(), one)

    def test_ranks_report_mistakes_and_failures_once(self):
        out = str(self.folder / 'out')
        done = self.mpirun(GEN, 'experiment', str(self.write('[[scenario]]\nrun = "walk"\n')),
                           '--out', out)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.count('x.toml:1:1: run:'), 1)
        done = self.mpirun(GEN, 'experiment', str(self.write(FAILING)), '--out', out)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count('does not hold: 2 of 3 runs failed'), 1)

    def test_a_rank_with_another_experiment_is_refused(self):
        one, other = self.write(SWEEP), self.folder / 'other.toml'
        other.write_text(SWEEP.replace('seed = 3', 'seed = 4'), encoding='utf-8')
        words = [GEN, 'experiment', str(one), '--out', str(self.folder / 'out')]
        done = self.mpirun(*words, ':', '-n', '1', GEN, 'experiment', str(other), ranks=1)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('rank 1 has another experiment', done.stderr)
        self.assertIn('"x"', done.stderr)

    def interrupted(self, file, *arguments):
        """Starts an experiment and ends it by Ctrl-C once a run is in its file."""
        runs = self.folder / 'out' / 'x.runs.jsonl'
        process = longwire_test.begin(self, [GEN, 'experiment', file, '--out', self.folder / 'out',
                                             '--jobs', '1', *arguments])
        while not runs.exists() or runs.read_bytes().count(b'\n') < 3:
            self.assertIsNone(process.poll(), 'it ended before it could be interrupted')
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(out, r'INCOMPLETE: \d of 6 cells done, as a signal ended')
        self.assertRegex(out, r'^does not hold: \d of 6 cells done: a signal ended the experiment')
        return runs

    def test_ctrl_c_leaves_the_finished_cells_and_resume_continues(self):
        file, slow = self.write(SWEEP), ('--set', 'duration=120ms')
        self.experiment(file, '--jobs', '2', *slow)
        whole = self.outputs()
        shutil.rmtree(self.folder / 'out')
        runs = self.interrupted(file, *slow)
        kept = runs.read_text(encoding='utf-8').splitlines()[1:]
        self.assertLess(len(kept), 14)
        cells = self.results('x')['cells']
        self.assertEqual(len(cells), len(kept) // 3)
        self.assertIs(self.results('x')['incomplete'], True)
        self.assertEqual(self.results('x')['missing_cells'], 6 - len(cells))
        self.assertNotIn('incomplete', json.loads(whole['x.json']))
        self.assertEqual(cells, json.loads(whole['x.json'])['cells'][:len(cells)])
        with open(runs, 'a', encoding='utf-8') as file_of_runs:
            file_of_runs.write('{"cell":7,"repeat":1,"se')  # as a killed program leaves it
        self.experiment(file, '--resume', *slow)
        self.assertEqual(self.outputs(), whole)

    def test_a_second_ctrl_c_ends_it_at_once(self):
        file = self.write(SWEEP)
        process = longwire_test.begin(self, [GEN, 'experiment', file, '--out', self.folder / 'out',
                                             '--jobs', '1', '--set', 'duration=100s'])
        while not (self.folder / 'out' / 'x.runs.jsonl').exists():
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        for _ in range(2):  # the first waits for the run that has begun
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_resume_runs_only_what_is_missing(self):
        file = self.write(SWEEP)
        self.experiment(file)
        whole = self.outputs()
        runs = self.folder / 'out' / 'x.runs.jsonl'
        lines = whole['x.runs.jsonl'].decode().splitlines()
        # A result that no run has: it is taken from the file.
        changed = json.loads(lines[5])
        changed['run']['bw_average_gbps'] = 12.5
        runs.write_text('\n'.join(lines[:5] + [json.dumps(changed)]) + '\n', encoding='utf-8')
        self.experiment(file, '--resume')
        runs_of = self.results('x')['cells'][1]['runs']
        self.assertEqual(runs_of[1]['bw_average_gbps'], 12.5)
        self.assertEqual([c['runs'] for c in self.results('x')['cells'][2:]],
                         [c['runs'] for c in json.loads(whole['x.json'])['cells'][2:]])

    def test_resume_refuses_what_does_not_belong_together(self):
        file = self.write(SWEEP)
        self.assertIn('start without --resume', self.experiment(file, '--resume', code=2).stderr)
        self.experiment(file)
        for arguments, what in ((['--repeats', '2'], 'runs: 14, here'),
                                (['--set', 'duration=5ms'], 'cells: ')):
            done = self.experiment(file, '--resume', *arguments, code=2)
            self.assertIn(what, done.stderr)
        runs = self.folder / 'out' / 'x.runs.jsonl'
        text = runs.read_text(encoding='utf-8')
        for old, new, what in (('"version":"0.2.0"', '"version":"0.0.9"', 'version: "0.0.9", here'),
                               ('"build":"', '"build":"0', 'build: '),
                               ('"run":{', '"ran":{', 'x.runs.jsonl:2: expected a run')):
            runs.write_text(text.replace(old, new, 1), encoding='utf-8')
            self.assertIn(what, self.experiment(file, '--resume', code=2).stderr)
            self.assertEqual(runs.read_text(encoding='utf-8'), text.replace(old, new, 1))
        self.experiment(self.write(SWEEP.replace('seed = 3', 'seed = 4')), '--resume', code=2)

    def test_resume_sees_a_changed_path(self):
        path = self.folder / 'path.toml'
        path.write_text('[[rule]]\nname = "r"\ndelay = "1ms"\n', encoding='utf-8')
        file = self.write('[[scenario]]\n[scenario.set]\npath = "path.toml"\n')
        self.experiment(file)
        self.experiment(file, '--resume')
        path.write_text('[[rule]]\nname = "r"\ndelay = "2ms"\n', encoding='utf-8')
        self.assertIn('paths: ', self.experiment(file, '--resume', code=2).stderr)

    def test_resume_sees_a_changed_nic(self):
        nic = self.folder / 'nic.toml'
        nic.write_text('[nic]\nrate = "10Gb/s"\n', encoding='utf-8')
        file = self.write(f'[[scenario]]\n[scenario.set]\ndelay = "1us"\nnic = "{nic}"\n')
        self.experiment(file)
        self.experiment(file, '--resume')
        nic.write_text('[nic]\nrate = "20Gb/s"\n', encoding='utf-8')
        self.assertIn('paths: ', self.experiment(file, '--resume', code=2).stderr)

    def test_parameters_are_perfs_options(self):
        file = self.write('[[scenario]]\n[scenario.set]\ndelay = "1ms"\nop = "read"\n'
                          'size = ["64KiB", "1MiB"]\nqps = 3\nreads = 4\n')
        self.experiment(file)
        cells = self.results('x')['cells']
        self.assertEqual([c['parameters']['size'] for c in cells], ['64KiB', '1MiB'])
        for cell in cells:
            perf = subprocess.run(
                [GEN, 'sim', '--delay', '1ms', '--op', 'read', '--size',
                 cell['parameters']['size'], '--qps', '3', '--reads', '4', '--json'],
                capture_output=True, text=True, check=True, timeout=TIMEOUT)
            expected = json.loads(perf.stdout)
            self.assertEqual(cell['runs'][0]['bw_steady_gbps'], expected['bw_peak_gbps'])

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
                ('[[scenario]]\nshow = ["bw_avrage_gbps"]\n[scenario.set]\ndelay = "1ms"\n',
                 ['x.toml:1:1: show:', 'did you mean "bw_average_gbps"?']),
                ('[[scenario]]\nshow = ["retransmited"]\n[scenario.set]\ndelay = "1ms"\n',
                 ['x.toml:1:1: show:', 'did you mean "retransmitted"?']),
                (PLOT + 'x = "sise"\ny = "bw_avrage_gbps"\n',
                 ['x.toml:5:1: x:', 'did you mean "size"?', 'x.toml:5:1: y:',
                  'did you mean "bw_average_gbps"?']),
                (PLOT + 'x = "size"\ny = "failed"\ncurves = ["dely"]\nonly = {delai = "1ms"}\n',
                 ['x.toml:5:1: curves:', 'x.toml:5:1: only:', 'did you mean "delay"?']),
                (PLOT + 'x = "size"\ny = "failed"\nseries = "rates"\n',
                 ['x.toml:5:1: series: the runs have no series "rates"']),
                (INCAST + 'x = "time_ms"\ny = "flow"\nseries = "rate"\n',
                 ['x.toml:7:1: series:', 'did you mean "rates"?']),
                (INCAST + 'x = "time_ms"\ny = "goodput_gpbs"\nseries = "rates"\n',
                 ['x.toml:7:1: y:', 'did you mean "goodput_gbps"?']),
                ('[[scenario]]\n[scenario.set]\ndelay = "1ms"\n[scenario.compare]\n'
                 'table = "none.csv"\nrows = {a = "b"}\n[[scenario.compare.column]]\n'
                 'published = "p"\nours = "o"\n', ['x.toml:4:1: compare:', 'none.csv']),
        ):
            with self.subTest(text):
                done = self.experiment(self.write(text), code=2)
                for place in places:
                    self.assertIn(place, done.stderr)
                self.assertFalse((self.folder / 'out').exists())

    def test_what_is_too_far_fails(self):
        (self.folder / 't.csv').write_text('bytes,gbps\n4096,50\n', encoding='utf-8')
        file = self.write('[[scenario]]\n[scenario.set]\ndelay = "1ms"\nsize = "4KiB"\n'
                          '[scenario.compare]\ntable = "t.csv"\nrows = {bytes = "bytes"}\n'
                          '[[scenario.compare.column]]\npublished = "gbps"\n'
                          'ours = "bw_steady_gbps"\nwithin = "5%"\n')
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
