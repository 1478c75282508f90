# SPDX-License-Identifier: BSD-3-Clause
"""Lines of perftest behind `roce-gen sim --`. The options are those that the installed programs
list in their own help."""

import json
import re
import signal
import subprocess
import tomllib
import unittest

import needs
import longwire_test
from perftest_lines import FURTHER_LINES, LINES, PUBLIC_LINES

GEN = longwire_test.program('roce-gen')
TIMEOUT = 120
PROGRAMS = [f'ib_{operation}_{kind}' for operation in ('write', 'send', 'read', 'atomic')
            for kind in ('bw', 'lat')]

def sim(*line, before=('--delay', '10us')):
    return subprocess.run([GEN, 'sim', *before, '--', *line], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)


def listed(program):
    """The options in a program's help: letter or none, name, whether it takes a value."""
    text = subprocess.run([program, '--help'], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    for line in (text.stdout + text.stderr).splitlines():
        found = re.match(r'\s+(?:-(\w), )?--([\w-]+)(=?)', line)
        if found:
            yield found.groups()


class Perftest(unittest.TestCase):
    @needs.tools('ib_write_bw')
    def test_every_option_of_the_installed_programs_is_known(self):
        for program in PROGRAMS:
            options = list(listed(program))
            self.assertGreater(len(options), 40, program)
            for letter, name, _ in options:
                if name == 'run_infinitely':
                    continue  # and it does
                for option in ('--' + name, *(('-' + letter,) if letter else ())):
                    # As the last word: an option with a value lacks it, the others are taken.
                    done = sim(program, '-n', '5', option)
                    self.assertNotIn('has no such option', done.stderr, f'{program} {option}')
                    self.assertIn(done.returncode, (0, 2), f'{program} {option}: {done.stderr}')

    def test_lines_as_guides_have_them(self):
        """Each is run, but for its length, or refused with the reason."""
        self.assertGreaterEqual(len(LINES), 46)
        self.assertGreaterEqual(len(PUBLIC_LINES), 60)
        self.assertGreaterEqual(len(FURTHER_LINES), 20)
        for line in LINES + PUBLIC_LINES + FURTHER_LINES:
            words, _, why = line.partition('  # ')
            code = 2 if why else 0
            has_length = re.search(r' (-D|-n |--dur|--iter)', words)
            shorter = [] if has_length else ['-n', '5']
            done = sim(*words.split(), *shorter)
            self.assertEqual(done.returncode, code, f'{line}: {done.stderr}')
            self.assertIn(why, done.stderr, line)
            self.assertEqual(bool(done.stdout), code == 0, line)

    def test_a_line_is_what_its_own_options_are(self):
        line = 'ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -s 64K -n 1000 --report_gbits -F --out_json'
        pasted = sim(*line.split())
        self.assertEqual(pasted.returncode, 0, pasted.stderr)
        own = subprocess.run([GEN, 'sim', '--delay', '10us', '-t', '2048', '-q', '4', '-s',
                              '64KiB', '-n', '1000', '--timeout', '14', '--json'],
                             capture_output=True, text=True, timeout=TIMEOUT, check=True)
        self.assertEqual(json.loads(pasted.stdout), json.loads(own.stdout))
        self.assertIn("--timeout 14: perftest's default, where roce-gen has 18", pasted.stderr)
        self.assertIn('-F, --CPU-freq is ignored', pasted.stderr)

    def test_both_ways_each_direction_has_the_rate_of_one(self):
        for operation in ('write', 'send', 'read'):
            line = f'ib_{operation}_bw -q 4 -t 2048 -n 2000 --out_json'.split()
            one, both = (json.loads(sim(*line, *more, before=('--path', 'apn-380km')).stdout)
                         for more in ((), ('-b', '--report-both')))
            self.assertEqual(both['iterations'], 2 * one['iterations'])
            self.assertEqual(both['bw_there_gbps'], both['bw_back_gbps'])
            # ACKs share a link with the other direction's data.
            self.assertAlmostEqual(both['bw_there_gbps'] / one['bw_average_gbps'], 1, delta=0.01)
            self.assertAlmostEqual(both['bw_average_gbps'], 2 * both['bw_there_gbps'], places=9)

    def test_a_margin_leaves_the_start_out(self):
        """The first round trip of 3.8 ms brings nothing: 5 % of 76 ms, and none of it between the
        margins."""
        def average(*margin):
            done = subprocess.run([GEN, 'sim', '--path', 'apn-380km', '-q', '4', '-t', '2048',
                                   '--duration', '76ms', '--json', *margin], capture_output=True,
                                  text=True, timeout=TIMEOUT, check=True)
            return json.loads(done.stdout)
        whole, within = average(), average('--margin', '20ms')
        self.assertLess(whole['bw_average_gbps'], 0.97 * whole['bw_steady_gbps'])
        self.assertAlmostEqual(within['bw_average_gbps'] / within['bw_steady_gbps'], 1, delta=0.02)

    def test_options_are_taken_without_a_line(self):
        done = subprocess.run([GEN, 'sim', '--delay', '10us', '--iters=1000', '--qp', '2',
                               '-R', '--out_json'], capture_output=True, text=True, timeout=TIMEOUT,
                              check=True)
        ran = json.loads(done.stdout)
        self.assertEqual((ran['iterations'], ran['qps'], ran['timeout']), (2000, 2, 18))
        self.assertIn('-R, --rdma_cm is ignored', done.stderr)

    def test_roce_endpoint_takes_lines_and_options_too(self):
        """Up to the device, which is not there."""
        endpoint = longwire_test.program('roce-endpoint')
        for command, words, code, why in (
                ('bw', '-- ib_write_bw -d none0 -x 3 -q 4 -t 64 -R 127.0.0.1', 3, 'no RDMA device "none0"'),
                ('bw', '--peer 127.0.0.1 -d none0 --iters=5 -F', 3, 'no RDMA device "none0"'),
                ('lat', '-- ib_write_bw 127.0.0.1', 2, 'roce-endpoint lat is not its command'),
                ('bw', '-- ib_write_bw -b -d none0 127.0.0.1', 3, 'no RDMA device "none0"'),
                ('bw', '-- ib_send_bw -b -c UD 127.0.0.1', 2, '--bidirectional goes with'),
                ('bw', '--peer 127.0.0.1 -b --poll event', 2, '--bidirectional goes with')):
            done = subprocess.run([endpoint, command, '--token', 'T', *words.split()],
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(why, done.stderr)

    def test_a_limit_below_which_the_run_fails(self):
        for limit, code in (('10', 0), ('99', 1)):
            done = sim('ib_write_bw', '-n', '1000', '-w', limit, '--report_gbits')
            self.assertEqual(done.returncode, code, done.stderr)

    def test_it_runs_until_a_signal(self):
        run = subprocess.Popen([GEN, 'sim', '--delay', '10us', '--json', '--run_infinitely',
                                '-D', '1'], stdout=subprocess.PIPE, text=True)
        rows = [json.loads(run.stdout.readline()) for _ in range(3)]
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=TIMEOUT)
        self.assertEqual(run.returncode, 0)
        self.assertEqual([row['seed'] for row in rows], [1, 2, 3])

    def test_the_published_lines_have_the_parameters_of_the_experiments(self):
        """sim takes them as they are; only their length is another here."""
        lines = 0
        for file in sorted((longwire_test.SOURCE / 'profiles' / 'experiments').glob('*.toml')):
            experiment = tomllib.loads(file.read_text(encoding='utf-8'))
            for premise in experiment.get('premise', ()):
                if not premise['parameter'].startswith('command'):
                    continue
                lines += 1
                line = re.sub(r' -n \d+', '', premise['value']).replace(' -a', ' -s 64k') + ' -n 100'
                done = sim(*line.split(), '--out_json', before=('--path', 'apn-380km'))
                self.assertEqual(done.returncode, 0, done.stderr)
                ran, operation = json.loads(done.stdout), line.split('_')[1]
                scenario = next(each['set'] for each in experiment['scenario']
                                if operation in each['set']['op'])
                self.assertEqual(ran['qps'], scenario.get('qps', 1))
                depths = scenario['tx_depth']
                self.assertIn(ran['tx_depth'], depths if isinstance(depths, list) else [depths])
                length = re.search(r'-n (\d+)', premise['value'])
                if length:
                    full = next(each['full'] for each in experiment['scenario']
                                if operation in each['set']['op'])
                    self.assertEqual(int(length[1]), full['iterations'])
        self.assertEqual(lines, 3)

    def test_what_is_not_there_is_refused(self):
        for line, why in (('ib_write_bw --reversed', 'from the client to the server'),
                          ('ib_write_lat --run_infinitely', 'goes with a _bw'),
                          ('ib_foo', 'expected ib_write_bw'), ('', 'expected a line of perftest'),
                          ('ib_write_bw -q', 'expected a value')):
            done = sim(*line.split())
            self.assertEqual(done.returncode, 2, line)
            self.assertIn(why, done.stderr)


if __name__ == '__main__':
    longwire_test.main()
