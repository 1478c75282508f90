# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen plan beside roce-gen sim, on a small random grid; tests/long has the large one."""

import json
import subprocess
import unittest

import longwire_test
import plan_grid

PATH = str(longwire_test.SOURCE / 'profiles' / 'paths' / 'apn-380km.toml')


class Plan(unittest.TestCase):
    def planned(self, *options):
        done = subprocess.run([plan_grid.GEN, 'plan', *options], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_it_agrees_with_the_simulation(self):
        self.assertEqual(plan_grid.differences(60, 16, 40_000, seed=1), [])

    def test_a_pair_of_long_reads_is_not_taken_for_one_that_takes_turns(self):
        """Two READs of 16,384 packets do not share the responder's port as two WRITEs do."""
        options = ('--op', 'read', '-s', '4194304', '--mtu', '256', '--rate', '200Gb/s', '--delay',
                   '2ms', '-q', '2', '-t', '2048', '--reads', '1')
        planned = json.loads(self.planned(*options, '--json'))
        if not planned['simulate']:
            ran = plan_grid.run('sim', *options)
            self.assertAlmostEqual(planned['throughput_gbps'] / ran['bw_steady_gbps'], 1,
                                   delta=plan_grid.LOSSLESS)

    def test_losses_are_part_of_it(self):
        options = ('--path', PATH, '-s', '64KiB', '-q', '4', '-t', '2048')
        self.assertNotIn('with losses', self.planned(*options))
        self.assertRegex(self.planned(*options, '--loss', '1e-4'),
                         r'with losses +\d+\.\d+ Gb/s at a loss of 0.0001, \d+\.\d % of that')
        self.assertRegex(self.planned(*options, '--selective-repeat'),
                         'loss +.* costs selective repeat a tenth')
        whole = json.loads(self.planned(*options, '--json'))
        tenth = json.loads(self.planned(*options, '--json', '--loss',
                                        f"{whole['loss_for_90_percent']:e}"))
        self.assertAlmostEqual(tenth['throughput_gbps'] / whole['throughput_gbps'], 0.9, places=4)
        self.assertEqual(tenth['lossless_gbps'], whole['throughput_gbps'])

    def test_more_losses_carry_less(self):
        for how in ((), ('--selective-repeat',), ('--adaptive',), ('--op', 'read', '-q', '16')):
            rates = [json.loads(self.planned('--path', PATH, *how, '--loss', loss,
                                             '--json'))['throughput_gbps']
                     for loss in ('0', '1e-7', '1e-6', '1e-5', '1e-4', '1e-3', '1e-2', '1e-1', '100%')]
            known = [rate for rate in rates if rate is not None]  # null: no formula holds
            self.assertEqual(known, sorted(known, reverse=True), how)
            self.assertGreaterEqual(len(known), 4)


if __name__ == '__main__':
    longwire_test.main()
