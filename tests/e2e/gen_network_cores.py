# SPDX-License-Identifier: BSD-3-Clause
"""Random networks with long cables run on one core and on two: the output is the same, byte for byte.
LONGWIRE_SEEDS changes the number of networks, LONGWIRE_SEED the first one."""

import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import longwire_test

GEN = longwire_test.program('roce-gen')
TIMEOUT = 300
FIRST, NETWORKS = int(os.environ.get('LONGWIRE_SEED', 1)), int(os.environ.get('LONGWIRE_SEEDS', 10))
LONG = ['1km', '2km', '5km', '20km', '100km', '400km']


def switch_lines(draw, name, pauses):
    buffer = '400MB' if pauses else draw.choice(['2MB', '4MB', '16MB', '64MB'])
    lines = ['[[switch]]', f'name = "{name}"', f'buffer = "{buffer}"']
    if draw.random() < 0.6:
        lines.append('mark = { kmin = "20kB", kmax = "200kB", pmax = "%d%%", at = "%s" }' % (
            draw.choice([1, 20, 100]), draw.choice(['arrival', 'departure'])))
    if pauses:
        lines.append('pfc = true')
    elif draw.random() < 0.5:
        lines.append(f'alpha = {draw.choice([0.125, 1, 8])}')
    return lines


def site_lines(draw, site, pauses):
    """A site of one or two switches, the first of which has the long cables. Returns lines and hosts."""
    hosts = draw.randint(1, 5)
    lines = switch_lines(draw, f'{site}-border', pauses)
    leaf = f'{site}-border'
    if draw.random() < 0.5:
        leaf = f'{site}-leaf'
        lines += switch_lines(draw, leaf, pauses)
        lines += ['[[link]]', f'between = ["{leaf}", "{site}-border"]', 'delay = "300ns"',
                  f'count = {draw.randint(1, 3)}']
    lines += ['[[host]]', f'name = "{site}-h"', f'count = {hosts}', '[[link]]',
              f'between = ["{site}-h*", "{leaf}"]', f'rate = "{draw.choice([25, 100, 200])}Gb/s"',
              f'delay = "{draw.choice([100, 900, 2000])}ns"']
    return lines, hosts


def traffic_lines(draw, sites):
    kind = draw.choice(['workload', 'load', 'flows', 'job', 'job', 'job and load'])
    lines = []
    if kind == 'workload':
        lines += ['[workload]', f'pattern = "{draw.choice(["permutation", "all-to-all"])}"',
                  f'qps = {draw.randint(1, 3)}']
    if kind.endswith('load') and kind != 'workload':
        lines += ['[workload]', 'pattern = "all-to-all"', f'load = {draw.choice([0.1, 0.5, 0.9])}',
                  '[[workload.size]]', 'bytes = "4KiB"', 'weight = 8', '[[workload.size]]', 'bytes = "256KiB"']
    if kind == 'flows':
        for _ in range(draw.randint(1, 3)):
            here, there = draw.sample(sites, 2)
            lines += ['[[flow]]', f'from = "{here}-h*"', f'to = "{there}-h*"',
                      f'messages = {draw.randint(1, 40)}', f'size = "{draw.choice(["1KiB", "64KiB", "1MiB"])}"']
    if 'job' in kind:
        lines += ['[[job]]', 'ranks = ["*-h*"]', f'collective = "{draw.choice(["all-reduce", "all-to-all"])}"',
                  f'size = "{draw.choice(["64KiB", "1MiB", "4MiB"])}"', f'repeat = {draw.randint(1, 4)}',
                  f'compute = "{draw.choice([0, 50, 700])}us"']
    return lines


def network(draw):
    """A file of two or three sites, joined by long cables, some of several."""
    sites = ['a', 'b', 'c'][:draw.choice([2, 2, 3])]
    pauses = draw.random() < 0.2
    lines = ['title = "Drawn"']
    for site in sites:
        lines += site_lines(draw, site, pauses)[0]
    for here, there in zip(sites, sites[1:]):
        lines += ['[[link]]', f'between = ["{here}-border", "{there}-border"]',
                  f'distance = "{draw.choice(LONG[:4] if pauses else LONG)}"',
                  f'rate = "{draw.choice([50, 100, 400])}Gb/s"', f'count = {draw.randint(1, 2)}']
    if draw.random() < 0.3:
        lines += ['[[host]]', 'name = "far-h"', '[[link]]', f'between = ["far-h", "{sites[0]}-border"]',
                  f'distance = "{draw.choice(LONG[:4])}"']
    return '\n'.join(lines + traffic_lines(draw, sites)) + '\n'


def words(draw):
    chosen = ['--duration', draw.choice(['2ms', '5ms', '9ms']), '-s', draw.choice(['4K', '64K', '512K'])]
    if draw.random() < 0.4:
        chosen.append('--selective-repeat')
    if draw.random() < 0.6:
        chosen += ['--rate-control', 'dcqcn']
    return chosen


class OneCoreAndTwo(unittest.TestCase):
    maxDiff = 2000

    def test_they_simulate_the_same(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            for seed in range(FIRST, FIRST + NETWORKS):
                with self.subTest(seed):
                    draw = random.Random(seed)
                    path = pathlib.Path(folder, f'{seed}.toml')
                    path.write_text(network(draw), encoding='utf-8')
                    self.check(path, [*words(draw), '--seed', str(seed)])

    def check(self, path, chosen):
        outputs = []
        for cores in (1, 2):
            series = path.with_suffix('.csv')
            done = subprocess.run([GEN, 'sim', path, *chosen, '--cores', str(cores), '--json', '--series',
                                   series], capture_output=True, text=True, timeout=TIMEOUT)
            self.assertIn(done.returncode, (0, 1), f'{path.read_text()}\n{chosen}\n{done.stderr}')
            outputs.append((done.stdout, series.read_text(encoding='utf-8')))
        self.assertEqual(outputs[0], outputs[1], path.read_text() + str(chosen))


if __name__ == '__main__':
    longwire_test.main()
