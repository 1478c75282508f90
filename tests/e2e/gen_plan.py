# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen plan beside roce-gen sim: what it computes, what it simulates, and what it leaves open. A few points
of a random grid; tests/long has the large one."""

import json
import os
import pty
import subprocess
import unittest

import longwire_test
import plan_grid

PATH = str(longwire_test.SOURCE / 'profiles' / 'paths' / 'apn-380km.toml')
# Selective repeat with one QP and a loss near 1 %: no closed form is near.
SELECTIVE = ('--op', 'write', '-s', '64KiB', '--delay', '100us', '-t', '32', '--selective-repeat', '--loss', '0.8%')
# READs of one byte that wait for seconds after a loss: the interval of the rate begins at 0.
RARE = ('--op', 'read', '-s', '1', '-q', '2', '-t', '7', '--psn-window', '18', '--delay', '225ns', '--timeout', '23',
        '--selective-repeat', '--loss', '0.17%', '--most-packets', '2000000')


class Plan(unittest.TestCase):
    def planned(self, *options, code=0):
        done = subprocess.run([plan_grid.GEN, 'plan', *options], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def json(self, *options, **settings):
        return json.loads(self.planned(*options, '--json', **settings))

    def test_it_agrees_with_the_simulation(self):
        self.assertEqual(plan_grid.differences(8, 4, seed=1), [])

    def test_what_has_an_exact_form_is_computed(self):
        for options in (('--path', PATH, '-s', '64KiB', '-q', '4', '-t', '2048'), ('--delay', '1ms', '--op', 'read'),
                        ('--delay', '0us', '-s', '1MiB', '-q', '3', '--timeout', '20', '--arbitration', '300'),
                        ('--delay', '5us', '--op', 'compare-swap', '-s', '8', '-q', '4', '-t', '3', '--rate',
                         '1.4Gb/s')):
            planned = self.json(*options)
            self.assertEqual((planned['lossless_from'], planned['throughput_from']), ('computed', 'computed'))
            ran = plan_grid.run('sim', *options)
            self.assertAlmostEqual(planned['throughput_gbps'] / ran['bw_steady_gbps'], 1, delta=plan_grid.EXACT)

    def test_what_has_none_is_simulated_by_plan_itself(self):
        planned = self.json(*SELECTIVE)
        ran = plan_grid.run('sim', *SELECTIVE)
        self.assertEqual((planned['lossless_from'], planned['throughput_from']), ('computed', 'simulated'))
        self.assertEqual([planned[f'throughput{end}_gbps'] for end in ('', '_low', '_high')],
                         [ran[f'bw_steady{end}_gbps'] for end in ('', '_low', '_high')])
        rare, seen = self.json(*RARE), plan_grid.run('sim', *RARE)
        self.assertEqual([rare['throughput_low_gbps'], seen['bw_steady_low_gbps']], [0, 0])
        self.assertRegex(self.planned(*SELECTIVE), r'with losses +[\d.]+ Gb/s, simulated, 95 % interval [\d.]+ to '
                                                   r'[\d.]+ Gb/s, at a loss of 0.008, [\d.]+ % of that')
        turns = ('--delay', '5ms', '-s', '4MiB', '--mtu', '256', '--rate', '25Gb/s', '-q', '3', '-t', '2')
        self.assertEqual(self.json(*turns)['lossless_from'], 'simulated')

    def test_what_is_neither_is_null_and_cannot_be_judged(self):
        many = ('--delay', '1ms', '-q', '1000', '-t', '100000', '--loss', '1e-4')
        planned = self.json(*many)
        self.assertEqual((planned['throughput_gbps'], planned['throughput_from']), (None, None))
        self.assertEqual(planned['verdict']['colour'], 'amber')
        self.assertIn('not known: ', self.planned(*many))
        for limit in '<=', '>':
            self.planned(*many, '--expect', f'throughput_gbps{limit}6', code=1)
        self.planned(*many, '--expect', 'goodput_gbps>6')

    def test_a_run_ends_at_a_number_of_packets(self):
        lossy = ('--delay', '5ms', '-q', '4', '--loss', '1e-6', '--most-packets', '20000')
        self.assertIsNone(self.json(*lossy)['throughput_gbps'])
        self.assertIn('not known: a simulated run of 20,000 packets has no steady rate (--most-packets)',
                      self.planned(*lossy))
        self.assertLess(plan_grid.run('sim', *lossy)['packets'], 40_000)

    def test_what_would_take_the_memory_of_a_long_path_is_null(self):
        far = ('--op', 'write', '-s', '1MiB', '-q', '8', '-t', '1024', '--outstanding', '1024', '--rate', '800Gb/s',
               '--mtu', '256', '--delay', '100ms')
        self.assertIsNone(self.json(*far)['lossless_gbps'])
        self.assertIn('33,552,109 packets on the path at once are more than the 16,777,216 that plan simulates',
                      self.planned(*far))
        few = self.planned(*far, '--psn-window', '16', '--most-packets', '1000')
        self.assertNotIn('packets on the path at once', few)

    def test_where_nothing_gets_through_it_says_why(self):
        planned = self.json('--delay', '100ms', '--timeout', '4')
        self.assertEqual((planned['throughput_gbps'], planned['limit']), (0, 'nothing gets through'))
        self.assertIn('retry', planned['breaks_because'])
        self.assertIsNone(self.json('--delay', '1us', '--timeout', '0', '--loss', '1%')['throughput_gbps'])

    def test_the_loss_that_costs_a_tenth_is_searched(self):
        options = ('--delay', '100us', '-s', '64KiB', '-t', '64', '--timeout', '8')
        self.assertIsNone(self.json(*options)['loss_for_90_percent'])
        planned = self.json(*options, '--find-loss')
        rates = [plan_grid.run('sim', *options, '--loss', f'{planned[f"loss_for_90_percent{end}"]:e}', '--seed', 5)
                 ['bw_steady_gbps'] / planned['lossless_gbps'] for end in ('_low', '', '_high')]
        self.assertGreater(rates[0], 0.89)
        self.assertLess(rates[2], 0.91)
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertIn('costs go-back-N a tenth of that, simulated', self.planned(*options, '--find-loss'))

    def test_progress_is_shown_on_a_terminal(self):
        here, there = pty.openpty()
        self.addCleanup(os.close, here)
        run = subprocess.Popen([plan_grid.GEN, 'plan', *SELECTIVE, '--find-loss'], stdout=subprocess.DEVNULL,
                               stderr=there)
        os.close(there)
        shown = os.read(here, 200)
        run.kill()
        run.wait()
        self.assertRegex(shown, rb'simulating: run \d+, [\d,.kM ]+ packets, ')


if __name__ == '__main__':
    longwire_test.main()
