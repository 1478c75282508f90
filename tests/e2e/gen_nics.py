# SPDX-License-Identifier: BSD-3-Clause
"""Profiles of NICs: what each says, and what its settings do to a simulated run."""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import longwire_test

GEN = longwire_test.program('roce-gen')
PROFILES = sorted((longwire_test.SOURCE / 'profiles' / 'nics').glob('*.toml'))
TIMEOUT = 120

FULL_WIRE_NS = 4178 * 8 / 400
NETWORK = """nic = "{nic}"
[fabric]
kind = "clos"
hosts = 2
rate = "400Gb/s"
[[job]]
ranks = ["h*"]
collective = "pipeline"
size = "64KiB"
"""
LOSS = """[[rule]]
name = "all"
delay = "50us"
[[event]]
name = "one"
direction = "west-to-east"
qp = 1
psn_offset = 4
action = "drop"
"""


class Nics(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def sim(self, *words, code=0):
        done = subprocess.run([GEN, 'sim', *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def run_of(self, *words):
        """The figures of a run over a path of 1 us."""
        return json.loads(self.sim('--delay', '1us', '--op', 'write', '-t', 128, '--json', *words).stdout)

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text, encoding='utf-8')
        return file

    def test_each_profile_runs_and_each_figure_names_its_source(self):
        self.assertGreaterEqual(len(PROFILES), 4)
        for file in PROFILES:
            with self.subTest(file=file.name):
                self.assertGreater(self.run_of('--nic', file.stem, '-n', 100)['bw_average_gbps'], 1)
                table = ''
                for line in file.read_text(encoding='utf-8').splitlines():
                    if re.match(r'\[', line):
                        table = line
                    elif re.match(r'\w+ = ', line) and table and '#' not in table:
                        self.assertRegex(line, r'# \S', 'each figure has its source')

    def test_one_qp_pauses_between_messages_and_eight_do_not(self):
        """16 KiB are three packets, then the least time until the next message. Packets of other QPs fill it."""
        one = self.run_of('--nic', 'connectx-7-400g', '-s', '16KiB', '-n', 4000)['bw_steady_gbps']
        self.assertAlmostEqual(one, 16384 * 8 / (3 * FULL_WIRE_NS + 94), delta=0.003 * one)
        eight = self.run_of('--nic', 'connectx-7-400g', '-s', '16KiB', '-q', 8, '-n', 4000)['bw_steady_gbps']
        self.assertAlmostEqual(eight, 4096 * 8 / FULL_WIRE_NS, delta=0.003 * eight)

    def test_plan_knows_that_one_qp_pauses(self):
        done = subprocess.run([GEN, 'plan', '--nic', 'connectx-7-400g', '--delay', '1us', '-s', '16KiB', '-t', '128',
                               '--json'], capture_output=True, text=True, timeout=TIMEOUT, check=True)
        plan = json.loads(done.stdout)
        self.assertEqual((plan['limit'], plan['qps_needed']), ('time between messages', 2))
        self.assertAlmostEqual(plan['lossless_gbps'], 380, delta=1)

    def test_a_nic_takes_its_time_to_react_to_a_gap(self):
        path = self.write('loss.toml', LOSS)

        def elapsed(*words):
            done = self.sim('--path', path, '--op', 'write', '-s', '64KiB', '-n', 1, '--json', *words)
            return json.loads(done.stdout)['elapsed_ns']
        self.assertAlmostEqual(elapsed('--nic', 'connectx-5-100g') - elapsed(), 20_000, delta=2)

    def experiment(self, name):
        """The results of an experiment whose comparisons hold."""
        done = subprocess.run([GEN, 'experiment', name, '--jobs', '1', '--out', self.folder / 'out'],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads((self.folder / 'out' / f'{name}.json').read_text(encoding='utf-8'))

    def test_rates_are_those_of_issue_2409(self):
        """Four cells within 1 % of the published ones, of which one is an input."""
        compared = self.experiment('nccl-2409')['comparisons']
        self.assertEqual([row['holds'] for row in compared], [True] * 4)

    def test_late_cnps_cause_pauses(self):
        """aliyun/ns-3-alibabacloud issue 12; the threshold of PFC is not a matter of the delay."""
        cells = self.experiment('late-cnps')['cells']
        paused = {cell['parameters']['cnp_delay']: cell['runs'][0]['hosts_paused_us'] for cell in cells}
        self.assertEqual((paused['0'], paused['4']), (0, 0))
        self.assertGreater(paused['20'], 0)
        self.assertGreater(paused['55'], 50_000)

    def test_options_hold_over_a_profile_in_any_order(self):
        for words in (('--nic', 'connectx-7-400g', '--rate', '10Gb/s'), ('--rate', '10Gb/s', '--nic', 'connectx-7-400g')):
            self.assertLess(self.run_of(*words, '-s', '1MiB', '-n', 200)['bw_steady_gbps'], 10)

    def test_a_network_names_its_nics(self):
        """The overhead of a step is that of the profile, unless --nic names another."""
        file = self.write('net.toml', NETWORK.format(nic='nccl-on-400g'))

        def overhead(*words):
            return json.loads(self.sim(file, '--duration', '10ms', '--json', *words).stdout)['jobs'][0]['spent'][
                'overhead_us']
        self.assertEqual(overhead(), 10)
        self.assertEqual(overhead('--nic', 'connectx-7-400g'), 0)
        self.assertEqual(overhead('--nic-step-overhead', '3us'), 3)

    def test_mistakes_have_their_places(self):
        for text, said in (('[nic]\nnic_message_gapp = "1us"\n', 'n.toml:2:1: unknown key "nic_message_gapp"'),
                           ('[nic]\nnic_message_gap = "-1us"\n', 'n.toml:2:'),
                           ('[nic]\nreads = 0\n', 'n.toml:2:9: '),
                           ('[cc]\ncnp_delay = 55\n', 'expected a table [nic]')):
            with self.subTest(text=text):
                self.assertIn(said, self.sim('--nic', self.write('n.toml', text), '--delay', '1us', code=2).stderr)
        self.assertIn('did you mean `connectx-7-400g`?', self.sim('--nic', 'connectx-7-400', '--delay', '1us',
                                                                  code=2).stderr)
        net = self.write('net.toml', NETWORK.format(nic='connectx-7-400'))
        self.assertIn('net.toml:1:7: nic: connectx-7-400: no such profile',
                      self.sim(net, '--duration', '10ms', code=2).stderr)


if __name__ == '__main__':
    longwire_test.main()
