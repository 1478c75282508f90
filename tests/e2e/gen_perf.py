# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen perf --sim and plan: perftest's columns, the measured 380 km, and two ways to the same
figure: packet by packet, and by closed formulas."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import scapy.utils

import longwire_test

GEN = longwire_test.program('roce-gen')
DISSECT = longwire_test.program('roce-dissect')
PATH = str(longwire_test.SOURCE / 'profiles' / 'paths' / 'apn-380km.toml')
TIMEOUT = 120


def gen(*arguments):
    return subprocess.run([GEN, *arguments], capture_output=True, text=True, timeout=TIMEOUT)


class Perf(unittest.TestCase):
    def lines(self, *arguments):
        done = gen(*arguments, '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_columns_are_perftests(self):
        done = gen('perf', '--sim', '--path', PATH, '-s', '64KiB', '-q', '4', '-t', '2048')
        self.assertEqual(done.returncode, 0, done.stderr)
        header, line = done.stdout.splitlines()
        # perftest 4.5, perftest_parameters.h: RESULT_FMT_G.
        self.assertEqual(header, ' #bytes     #iterations    BW peak[Gb/sec]    '
                                 'BW average[Gb/sec]   MsgRate[Mpps]')
        size, _, peak, average, rate = line.split()
        self.assertEqual(size, '65536')
        self.assertAlmostEqual(float(peak), 69.91, delta=0.02 * 69.91)  # measured: table C.1
        self.assertLessEqual(float(average), float(peak))
        self.assertAlmostEqual(float(rate) * 8 * 65536 / 1000, float(average), delta=0.01)

    def test_latency_is_the_measured_one(self):
        # Table D.1, 64 B, t 128.
        for operation, measured in (('write', 1906.135), ('send', 1904.488), ('read', 3809.492)):
            with self.subTest(operation):
                [line] = self.lines('perf', '--sim', '--path', PATH, '--op', operation,
                                    '--pattern', 'lat', '-s', '64', '-n', '20')
                self.assertEqual(line['iterations'], 20)
                self.assertAlmostEqual(line['t_typical_usec'] / measured, 1, delta=0.01)

    def test_plan_and_simulation_agree(self):
        for options in (('--op', 'write', '-s', '4KiB', '-q', '4', '-t', '2048'),
                        ('--op', 'write', '-s', '1MiB', '-q', '2'),
                        ('--op', 'read', '-s', '64KiB', '-q', '16'),
                        ('--op', 'read', '-s', '1MiB', '-q', '16'),
                        ('--op', 'write', '--imm', '-s', '10000', '-t', '16'),
                        ('--op', 'atomic', '-q', '3'),
                        ('--op', 'send', '-s', '8MiB', '--receive-limit', '92.5Gb/s')):
            with self.subTest(' '.join(options)):
                [planned] = self.lines('plan', '--path', PATH, *options)
                [ran] = self.lines('perf', '--sim', '--path', PATH, *options)
                self.assertAlmostEqual(ran['bw_peak_gbps'] / planned['throughput_gbps'], 1,
                                       delta=0.005)

    def test_plan_names_what_binds(self):
        for options, limit in ((('-t', '64'), 'tx depth'), (('-t', '2048'), 'outstanding work'),
                               (('--op', 'read'), 'outstanding READs'),
                               (('--psn-window', '100'), 'PSN window'),
                               (('-s', '8MiB'), 'line')):
            with self.subTest(limit):
                done = gen('plan', '--path', PATH, *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, f'what binds +{limit}')

    def test_a_run_repeats_itself(self):
        run = ('perf', '--sim', '--delay', '100us', '-s', '64KiB', '-n', '500', '--loss', '1e-3',
               '--timeout', '10')
        first, second = self.lines(*run, '--seed', '3'), self.lines(*run, '--seed', '3')
        self.assertEqual(first, second)
        self.assertGreater(first[0]['retransmitted'], 0)
        self.assertNotEqual(first, self.lines(*run, '--seed', '4'))

    def test_what_crosses_the_path_can_be_dissected(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            file = str(pathlib.Path(folder) / 'perf.pcapng')
            for operation, names in (('write', {'RC WRITE FIRST', 'RC WRITE LAST', 'RC ACK'}),
                                     ('read', {'RC READ REQUEST', 'RC READ RESPONSE LAST'}),
                                     ('atomic', {'RC FETCH ADD', 'RC ATOMIC ACK'})):
                [ran] = self.lines('perf', '--sim', '--delay', '1ms', '--op', operation, '-s',
                                   '10000', '-n', '5', '--pcap', file)
                frames = list(scapy.utils.RawPcapNgReader(file))
                opcodes = {bytes(data)[42] for data, _ in frames}
                known = json.loads(gen('opcodes', '--json').stdout)
                seen = {row['name'] for row in known if row['opcode'] in opcodes}
                self.assertLessEqual(names, seen)
                self.assertEqual(ran['packets'], sum(bytes(d)[29] == 1 for d, _ in frames))
                done = subprocess.run([DISSECT, 'verify', file], capture_output=True, text=True,
                                      timeout=TIMEOUT)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_path_that_carries_nothing_fails(self):
        done = gen('perf', '--sim', '--delay', '1ms', '--loss', '1', '-n', '3', '--timeout', '4')
        self.assertEqual(done.returncode, 1)
        self.assertIn('3 work requests failed', done.stderr)

    def test_wrong_usage(self):
        for arguments in (('perf', '--sim'), ('perf', '--delay', '1ms'),
                          ('perf', '--sim', '--delay', '1ms', '--op', 'read', '--imm'),
                          ('perf', '--sim', '--delay', '1ms', '--path', PATH),
                          ('plan', '--delay', 'soon'), ('plan', '--path', 'none.toml')):
            with self.subTest(' '.join(arguments)):
                self.assertEqual(gen(*arguments).returncode, 2)


if __name__ == '__main__':
    longwire_test.main()
