# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen sim and plan: perftest's columns, the measured 380 km, and two ways to the same
figure: packet by packet, and by closed formulas."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest
import xml.dom.minidom

import scapy.utils

import longwire_test
import output_schemas
import verdict_outputs
import steady_rates

GEN = longwire_test.program('roce-gen')
DISSECT = longwire_test.program('roce-dissect')
PATH = str(longwire_test.SOURCE / 'profiles' / 'paths' / 'apn-380km.toml')
IMPAIR = longwire_test.SOURCE / 'profiles' / 'impair'
TIMEOUT = 120


def gen(*arguments):
    return subprocess.run([GEN, *arguments], capture_output=True, text=True, timeout=TIMEOUT)


class CtrlC(unittest.TestCase):
    """A signal ends a simulation early, with the results so far."""

    def begin(self, *arguments, **settings):
        """A simulation that takes very long, once it handles signals."""
        process = longwire_test.begin(self, [GEN, 'sim', '--delay', '10us', *arguments,
                                             '-n', '1000000000'], **settings)
        handled = 0
        while not handled & 1 << signal.SIGINT - 1:
            self.assertIsNone(process.poll())
            status = pathlib.Path(f'/proc/{process.pid}/status').read_text(encoding='utf-8')
            handled = int(status.partition('SigCgt:')[2].split()[0], 16)
        return process

    def ended(self, process, sent=signal.SIGINT):
        """What it printed; the exit code says that it is not complete."""
        time.sleep(0.5)
        self.assertIsNone(process.poll())
        process.send_signal(sent)
        out, error = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1, error)
        self.assertIn('does not hold: a signal ended the run after ', out if out[0] != '{' else error)
        return out

    def test_the_results_so_far_are_in_the_json(self):
        for pattern, figure in (('bw', 'bw_average_gbps'), ('lat', 't_avg_usec'),
                                ('blast', 'throughput_gbps'), ('ping', 'throughput_gbps')):
            with self.subTest(pattern):
                out = self.ended(self.begin('--json', '--pattern', pattern, '-s', '4096'))
                output_schemas.validate(out)
                row = json.loads(out)
                whole = json.loads(gen('sim', '--delay', '10us', '--json', '--pattern',
                                       pattern, '-s', '4096', '-n', '2000').stdout)
                self.assertIs(row['incomplete'], True)
                self.assertNotIn('incomplete', whole)
                done = row.get('iterations', row.get('messages'))
                self.assertTrue(0 < done < 10**9, done)
                # Of what is done, the figure is right: as of a run of its own.
                self.assertAlmostEqual(row[figure] / whole[figure], 1, delta=0.05)

    def test_the_text_says_so(self):
        out = self.ended(self.begin('-s', '4096'), signal.SIGTERM)
        header, row, verdict = out.splitlines()
        self.assertTrue(verdict.startswith('does not hold: a signal ended the run after '), out)
        self.assertIn('#iterations', header)
        self.assertGreater(int(row.split()[1]), 0)

    def test_no_further_size_begins(self):
        process = self.begin('-a', '--json')
        rows = self.ended(process).splitlines()
        self.assertEqual([json.loads(row).get('incomplete', False) for row in rows], [True])

    def test_expectations_are_judged_and_written(self):
        with tempfile.TemporaryDirectory() as folder:
            junit = pathlib.Path(folder, 'r.xml')
            out = self.ended(self.begin('--json', '--expect', 'failed = 0', '--junit', junit))
            verdict = verdict_outputs.read(out)
            self.assertEqual(verdict_outputs.named(verdict, 'failed')[0]['result'], 'holds')
            verdict_outputs.check_junit(self, junit, 'roce-gen sim', [verdict])

    def test_a_second_one_ends_it_at_once(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(writer, False)
        with self.assertRaises(BlockingIOError):  # full: the report waits
            while True:
                os.write(writer, bytes(4096))
        os.set_blocking(writer, True)
        process = subprocess.Popen([GEN, 'sim', '--delay', '10us', '--json', '-n',
                                    '1000000000'], stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(2):
            time.sleep(1)
            self.assertIsNone(process.poll())
            process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT), -signal.SIGINT)


class Perf(unittest.TestCase):
    def lines(self, *arguments):
        done = gen(*arguments, '--json')
        self.assertEqual(done.returncode, 0, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_columns_are_perftests(self):
        done = gen('sim', '--path', PATH, '-s', '64KiB', '-q', '4', '-t', '2048')
        self.assertEqual(done.returncode, 0, done.stderr)
        header, line, verdict = done.stdout.splitlines()
        self.assertTrue(verdict.startswith('holds: '), verdict)
        # perftest 4.5, perftest_parameters.h: RESULT_FMT_G; and a column of ours.
        self.assertEqual(header, ' #bytes     #iterations    BW peak[Gb/sec]    '
                                 'BW average[Gb/sec]   MsgRate[Mpps]   BW steady[Gb/sec]')
        size, _, peak, average, rate, steady = line.split()
        self.assertEqual(size, '65536')
        self.assertAlmostEqual(float(steady), 69.91, delta=0.02 * 69.91)  # measured: table C.1
        self.assertAlmostEqual(float(average), float(steady), delta=0.01 * float(steady))
        self.assertLessEqual(float(steady), float(peak))
        self.assertAlmostEqual(float(rate) * 8 * 65536 / 1000, float(average), delta=0.01)

    def test_latency_is_the_measured_one(self):
        # Table D.1, 64 B, t 128.
        for operation, measured in (('write', 1906.135), ('send', 1904.488), ('read', 3809.492)):
            with self.subTest(operation):
                [line] = self.lines('sim', '--path', PATH, '--op', operation,
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
                [ran] = self.lines('sim', '--path', PATH, *options)
                self.assertAlmostEqual(ran['bw_steady_gbps'] / planned['throughput_gbps'], 1,
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

    def test_what_is_said_to_fill_the_path_fills_it(self):
        for options in (('--op', 'write', '-s', '64KiB'), ('--op', 'read', '-s', '256KiB'),
                        ('--op', 'send', '-s', '1MiB')):
            with self.subTest(' '.join(options)):
                [planned] = self.lines('plan', '--path', PATH, *options)
                for share, full in ((1, True), (0.9, False)):
                    deep = str(int(share * planned['messages_needed']))
                    [ran] = self.lines('sim', '--path', PATH, *options, '-t', deep,
                                       '--outstanding', deep, '--reads', deep,
                                       '--responder-reads', '0')
                    reached = ran['bw_steady_gbps'] / planned['goodput_gbps']
                    self.assertEqual(reached > 0.99, full, f'{deep} outstanding: {reached}')

    def test_the_loss_that_costs_a_tenth_does(self):
        options = ('--delay', '100us', '-s', '64KiB', '-t', '64', '--timeout', '8')
        [planned] = self.lines('plan', *options, '--find-loss')
        # 50,000 messages are 800,000 packets and some hundred losses: 1 % of scatter.
        [ran] = self.lines('sim', *options, '-n', '50000', '--loss',
                           f"{planned['loss_for_90_percent']:e}")
        self.assertGreater(ran['retransmitted'], 10_000)
        # The loss is the middle of two that are a factor of 2 or 4 apart.
        self.assertAlmostEqual(ran['bw_average_gbps'] / planned['throughput_gbps'], 0.9, delta=0.06)

    def test_ping_and_blast_count_as_the_study_does(self):
        for options in (('--pattern', 'ping', '--op', 'send'),
                        ('--pattern', 'ping', '--op', 'write', '--imm'),
                        ('--pattern', 'blast', '--op', 'send', '--buffers', '1'),
                        ('--pattern', 'blast', '--op', 'write', '--buffers', '8'),
                        ('--pattern', 'blast', '--op', 'write', '--imm', '--buffers', '128'),
                        ('--pattern', 'blast', '--op', 'read', '--buffers', '8')):
            with self.subTest(' '.join(options)):
                [ran] = self.lines('sim', '--delay', '1ms', *options, '-s', '4KiB', '-n',
                                   '640')
                self.assertEqual(ran['messages'], 640)
                halves = 2 if ran['pattern'] == 'ping' else 1
                self.assertAlmostEqual(ran['one_way_usec'], ran['elapsed_usec'] / 640 / halves)
                self.assertAlmostEqual(ran['throughput_gbps'],
                                       640 * 4096 * 8 / ran['elapsed_usec'] / 1000)
                # So many round trips of 2 ms and 2 us in NICs.
                trips = 640 / ran['buffers']
                self.assertAlmostEqual(ran['elapsed_usec'] / 2002 / trips, 1, delta=0.04)
        for wrong in (('ping', 'read'), ('ping', 'atomic'), ('blast', 'atomic')):
            self.assertEqual(gen('sim', '--delay', '1ms', '--pattern', wrong[0], '--op',
                                 wrong[1]).returncode, 2)

    def test_a_write_is_read_back_from_a_passive_peer(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            file = str(pathlib.Path(folder) / 'x.pcapng')
            [ran] = self.lines('sim', '--delay', '1ms', '--pattern', 'ping', '--op',
                               'write', '-s', '4KiB', '-n', '5', '--pcap', file)
            opcodes = [bytes(data)[42] for data, _ in scapy.utils.RawPcapNgReader(file)]
        self.assertEqual(ran['messages'], 5)
        # A round trip of 2 ms, 2 us in NICs, and 4 KiB that go there and come back.
        self.assertAlmostEqual(2 * ran['one_way_usec'], 2002 + 2 * 0.335, delta=0.1)
        # WRITE ONLY, READ REQUEST; ACK, READ RESPONSE ONLY.
        for opcode in (10, 12, 17, 16):
            self.assertEqual(opcodes.count(opcode), 5)

    def test_memory_does_not_grow_with_time(self):
        def peak(*arguments):
            pid = os.posix_spawn(GEN, [GEN, 'sim', *arguments], os.environ,
                                 file_actions=[(os.POSIX_SPAWN_OPEN, 1, '/dev/null',
                                                os.O_WRONLY, 0)])
            _, status, used = os.wait4(pid, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), 0)
            return used.ru_maxrss  # KiB

        for options in (('--path', PATH, '-s', '4KiB', '-t', '16384', '--outstanding', '16384'),
                        ('--path', str(IMPAIR / 'marked-bottleneck-380km.toml'), '-s', '64KiB',
                         '-q', '4', '--rate-control', 'dcqcn', '--loss', '1e-4', '--timeout', '10')):
            with self.subTest(options):
                short, long = (peak(*options, '--duration', time) for time in ('60ms', '600ms'))
                # Eight bytes kept of each of the 1.6 million packets in between would be 13 MB; pages
                # of libraries come and go by themselves.
                self.assertLess(long - short, 4096)

    def test_how_many_buffers_fill_a_channel(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            rows = self.lines('sim', '--delay', '0us', '--rate', '1Gb/s', '--pattern',
                              'blast', '--study', folder)
            self.assertEqual(len(rows), 24)
            for row in rows:
                self.assertLessEqual(abs(row['buffers'] - row['formula']),
                                     max(2, 0.03 * row['formula']), row)
            with open(pathlib.Path(folder) / 'buffers.csv', newline='', encoding='utf-8') as file:
                self.assertEqual([{key: json.loads(value) for key, value in row.items()}
                                  for row in csv.DictReader(file)],
                                 [{key: value for key, value in row.items() if key not in ('schema', 'version')}
                                  for row in rows])
            by_size = [[r['buffers'] for r in rows if r['bytes'] == size]
                       for size in (4096, 65536, 1 << 20)]
            for needs in by_size:
                self.assertEqual(needs, sorted(needs))
            svg = (pathlib.Path(folder) / 'buffers.svg').read_text()
            marks = svg.count('<circle') + svg.count('<polygon')
            self.assertEqual(marks, 24 + 3)  # the points, and the legend's three
            self.assertEqual(svg.count('<polyline'), 3)
            xml.dom.minidom.parseString(svg)

    def test_a_series_shows_what_each_qp_is_at(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            file = pathlib.Path(folder) / 'series.csv'
            [ran] = self.lines('sim', '--delay', '1ms', '-s', '64KiB', '-n', '2000', '-q',
                               '2', '--loss', '1e-3', '--timeout', '10', '--series', str(file))
            with file.open(newline='') as opened:
                rows = list(csv.DictReader(opened))
        self.assertEqual({row['qp'] for row in rows}, {'0', '1'})
        times = [float(row['time_us']) for row in rows if row['qp'] == '0']
        self.assertEqual(times, sorted(times))
        last = [int([r for r in rows if r['qp'] == qp][-1]['retransmitted']) for qp in '01']
        self.assertGreater(sum(last), 0)
        self.assertLessEqual(sum(last), ran['retransmitted'])
        self.assertGreater(max(int(row['outstanding']) for row in rows), 100)
        measured = [float(row['rtt_us']) for row in rows if float(row['rtt_us']) > 0]
        self.assertGreaterEqual(min(measured), 2000)

    def test_a_run_repeats_itself(self):
        run = ('sim', '--delay', '100us', '-s', '64KiB', '-n', '500', '--loss', '1e-3',
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
                [ran] = self.lines('sim', '--delay', '1ms', '--op', operation, '-s',
                                   '10000', '-n', '5', '--pcap', file)
                frames = list(scapy.utils.RawPcapNgReader(file))
                opcodes = {bytes(data)[42] for data, _ in frames}
                known = self.lines('opcodes', '--json')
                seen = {row['name'] for row in known if row['opcode'] in opcodes}
                self.assertLessEqual(names, seen)
                self.assertEqual(ran['packets'], sum(bytes(d)[29] == 1 for d, _ in frames))
                done = subprocess.run([DISSECT, 'verify', file], capture_output=True, text=True,
                                      timeout=TIMEOUT)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_any_point_of_the_path_can_be_dissected(self):
        def verify(file):
            return subprocess.run([DISSECT, 'verify', file], capture_output=True, text=True,
                                  timeout=TIMEOUT)

        run = ('sim', '--path', str(IMPAIR / 'apn-380km-marks.toml'), '-n', '2000', '-s',
               '64KiB', '--loss', '1e-4', '--mark', '1e-3', '--timeout', '10', '--rate-control',
               'dcqcn', '--seed', '3', '--pcap')
        frames = {}
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            for point in ('client-out', 'server-in', 'server-out', 'client-in'):
                file = str(pathlib.Path(folder) / f'{point}.pcapng')
                [ran] = self.lines(*run, file, '--pcap-at', point)
                done = verify(file)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                frames[point] = [bytes(data) for data, _ in scapy.utils.RawPcapNgReader(file)]
            every = str(pathlib.Path(folder) / 'all.pcapng')
            points = [word for point in frames for word in ('--pcap-at', point)]
            self.lines(*run, every, *points)
            self.assertEqual(verify(every).returncode, 0)
            self.assertEqual(len(list(scapy.utils.RawPcapNgReader(every))),
                             sum(len(of) for of in frames.values()))

        def marked(point):
            return sum(frame[15] & 3 == 3 for frame in frames[point])

        def crossed(point):
            return len(frames[point])

        cnps = sum(frame[42] == 0x81 for frame in frames['client-out'])  # for marked ACKs
        self.assertEqual(crossed('client-out') - cnps, ran['packets'])
        lost = sum(crossed(a) - crossed(b) for a, b in (('client-out', 'server-in'),
                                                       ('server-out', 'client-in')))
        self.assertEqual(lost, ran['lost'])
        self.assertGreater(lost, 0)
        self.assertEqual(marked('client-out') + marked('server-out'), 0)
        self.assertEqual(marked('server-in') + marked('client-in'), ran['marked'])
        self.assertGreater(marked('server-in'), 0)

    def test_an_impair_profile_lies_between(self):
        [line] = self.lines('sim', '--path', str(IMPAIR / 'apn-380km-marks.toml'),
                            '-q', '4', '--rate-control', 'dcqcn', '--duration', '40ms')
        packets = line['packets']
        self.assertGreater(packets, 50000)
        self.assertAlmostEqual(line['marked'] / packets, 1e-4, delta=4 * (1e-4 / packets) ** 0.5)
        self.assertGreater(line['cnps'], 0)
        self.assertLessEqual(line['cnps'], line['marked'])
        self.assertEqual(line['lost'], 0)
        [bare] = self.lines('sim', '--path', PATH, '-q', '4', '--duration', '40ms')
        self.assertEqual(bare['cnps'], 0)

    def test_a_target_that_no_cut_lowers_is_soon_reached_again(self):
        packets = {}
        for lowers in ('true', 'false'):
            [line] = self.lines('sim', '--delay', '100us', '--mark', '0.1%',
                                '--rate-control', 'dcqcn', '--set', 'cc.rpg_byte_reset=0', '--duration',
                                '60ms', '--set', f'cc.clamp_tgt_rate_after_time_inc={lowers}')
            packets[lowers] = line['packets']
        self.assertGreater(packets['false'], packets['true'])

    def test_a_slower_link_on_the_way_is_what_both_go_by(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            profile = pathlib.Path(folder) / 'x.toml'
            profile.write_text('[[rule]]\ndelay = "100us"\n'
                               'queue = { rate = "10Gb/s", buffer = "8MB" }\n', encoding='utf-8')
            options = ('--path', str(profile), '-q', '2', '-t', '16')
            [simulated] = self.lines('sim', *options)
            [planned] = self.lines('plan', *options)
        self.assertAlmostEqual(simulated['bw_steady_gbps'] / 9.80, 1, delta=0.005)
        self.assertAlmostEqual(planned['throughput_gbps'] / 9.80, 1, delta=0.005)

    def test_what_cannot_be_simulated_is_refused(self):
        done = gen('sim', '--path', str(IMPAIR / 'protection-switch.toml'))
        self.assertEqual(done.returncode, 2)
        self.assertIn('protection-switch.toml: [[at]]', done.stderr)
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            profile = pathlib.Path(folder) / 'x.toml'
            profile.write_text('[[rule]]\nname = "lossless"\ndelay = "100us"\nqueue = { rate = '
                               '"10Gb/s", buffer = "8MB", pfc = { xoff = "4MB", xon = "2MB" } }\n',
                               encoding='utf-8')
            done = gen('sim', '--path', str(profile))
        self.assertEqual(done.returncode, 2)
        self.assertIn('the rule `lossless`: queue.pfc:', done.stderr)

    def test_a_time_beyond_that_of_a_simulation_is_refused(self):
        for options, why in ((('--rate', '1b/s'), 'from 1kb/s to 100Tb/s'),
                             (('--rate', '200Tb/s'), 'from 1kb/s to 100Tb/s'),
                             (('--op', 'send', '--receive-limit', '1b/s'), 'at least 1 kb/s'),
                             (('--rate', '1kb/s', '-s', '1048576', '-n', '2000'), 'found 194 days'),
                             (('--duration', '145440min'), 'found 101 days'),
                             (('--delay', '3601s'), 'at most 1 h'),
                             (('--delay', '60min', '-n', '2000'), 'at most 100 days')):
            delay = () if '--delay' in options else ('--delay', '1us')
            done = gen('sim', *delay, *options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(why, done.stderr)

    def test_an_option_that_would_do_nothing_is_refused(self):
        for options, why in ((('--mark', '1%'), '--mark goes with --rate-control dcqcn'),
                             (('--repost', '1us'), '--repost goes with --receives'),
                             (('--credits',), '--credits goes with --receives'),
                             (('--receives', '4'), '--receives goes with --op send'),
                             (('--path-buffer', '1MB'), '--path-buffer goes with a path profile'),
                             (('--rate', '200Tb/s'), '--rate: expected a rate from')):
            with self.subTest(' '.join(options)):
                done = gen('sim', '--delay', '1ms', *options)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(why, done.stderr)

    def test_every_parameter_is_in_the_result(self):
        options = {'--arbitration': ('7', 'arbitration_packets', 7),
                   '--nic-per-packet': ('90ns', 'nic_per_packet_ns', 90),
                   '--nic-per-message': ('3us', 'nic_per_message_ns', 3000),
                   '--nic-message-gap': ('80ns', 'nic_message_gap_ns', 80),
                   '--nic-nak-reaction': ('2us', 'nic_nak_reaction_ns', 2000),
                   '--nic-step-overhead': ('5us', 'nic_step_overhead_ns', 5000),
                   '--ack-every': ('3', 'ack_every', 3), '--rnr-timer': ('5', 'rnr_timer', 5),
                   '--rnr-retries': ('6', 'rnr_retries', 6), '--retries': ('4', 'retries', 4),
                   '--receives': ('9', 'receives', 9), '--repost': ('1us', 'repost_ns', 1000),
                   '--reorder-packets': ('512', 'reorder_packets', 512),
                   '--psn-window': ('700', 'psn_window', 700), '--timeout': ('11', 'timeout', 11),
                   '--loss': ('1e-6', 'loss', 1e-6), '--seed': ('5', 'seed', 5)}
        words = [word for name, (text, _, _) in options.items() for word in (name, text)]
        [ran] = self.lines('sim', '--delay', '10us', '--op', 'send', '-s', '9000', '-n',
                           '50', '--credits', '--selective-repeat', *words)
        for name, (_, key, value) in options.items():
            self.assertEqual(ran[key], value, name)
        self.assertEqual((ran['credits'], ran['recovery']), (True, 'selective-repeat'))
        [slow] = self.lines('sim', '--path', PATH, '--rate', '400Gb/s', '--path-buffer',
                            '1MB', '-n', '10')
        self.assertEqual((slow['path_buffer_bytes'], slow['path_rate_bps']), (10**6, 100e9))

    def test_what_a_nic_takes_for_a_packet_and_a_message_counts(self):
        def rate(*options):
            [ran] = self.lines('sim', '--delay', '1us', '-s', '64', '--mtu', '256', *options)
            return ran['msg_rate_mpps']

        self.assertAlmostEqual(rate('--nic-per-packet', '50ns'), 20, delta=0.3)
        self.assertAlmostEqual(rate('--nic-per-message', '100ns'), 10, delta=0.2)

    def test_compare_and_swap(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            file = str(pathlib.Path(folder) / 'x.pcapng')
            [ran] = self.lines('sim', '--delay', '1us', '--op', 'compare-swap', '-n', '4',
                               '--pcap', file)
            opcodes = [bytes(data)[42] for data, _ in scapy.utils.RawPcapNgReader(file)]
        self.assertEqual((ran['operation'], ran['iterations']), ('CMP SWAP', 4))
        self.assertEqual((opcodes.count(0x13), opcodes.count(0x12)), (4, 4))

    def test_a_path_without_any_delay(self):
        [ran] = self.lines('sim', '--delay', '0us', '--nic-latency', '0us')
        self.assertAlmostEqual(ran['bw_steady_gbps'], 98.0, delta=0.3)

    def test_a_path_that_carries_nothing_fails(self):
        done = gen('sim', '--delay', '1ms', '--loss', '100%', '-n', '3', '--timeout', '4')
        self.assertEqual(done.returncode, 1)
        self.assertIn('3 work requests failed; the first at ', done.stdout)
        self.assertIn(' on QP 0 of the client: retry exceeded', done.stdout)
        for pattern in ('bw', 'lat', 'blast'):
            done = gen('sim', '--delay', '1ms', '--loss', '100%', '-n', '3', '--timeout', '4',
                       '--pattern', pattern, '--json')
            ran = json.loads(done.stdout)
            output_schemas.validate(ran)
            self.assertEqual(ran['failure'], 'retry exceeded')

    def test_qps_that_wait_for_ever_are_named(self):
        for arguments in (('-n', '1000'), ('-n', '1000', '-q', '3'), ('--duration', '20ms'), (),
                          ('--pattern', 'lat', '-n', '1000')):
            with self.subTest(arguments):
                done = gen('sim', '--delay', '1us', '--timeout', '0', '--loss', '1%',
                           *arguments)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertRegex(done.stdout, r'does not hold: (1 QP waits|[23] QPs wait) for ever: .*--timeout 0')
        ran = gen('sim', '--delay', '1us', '--timeout', '0', '-n', '1000')
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_a_send_queue_that_takes_long_to_drain_waits_for_nothing(self):
        """25 s of messages are posted when the run ends, and nothing is lost."""
        done = gen('sim', '-s', '1MiB', '-t', '30000', '--rate', '10Gb/s', '--delay', '1us',
                   '--timeout', '0', '-J')
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_nine_of_ten_intervals_hold_the_long_run_mean(self):
        """tests/long has more configurations and seeds."""
        self.assertGreaterEqual(steady_rates.held(steady_rates.CONFIGURATIONS[-1], seeds=40), 36)

    def test_a_rate_that_cannot_be_measured_is_not_given(self):
        for count in ('2', '10', '50', '100', '1000', '20000'):
            done = gen('sim', '--delay', '100us', '-s', '3000', '-n', count, '--json')
            ran = json.loads(done.stdout)
            output_schemas.validate(ran)
            for figure in ('bw_peak_gbps', 'bw_steady_gbps'):
                self.assertTrue(ran[figure] is None or ran[figure] <= 100, ran[figure])
            if count in ('2', '10', '50', '20000'):
                self.assertEqual(ran['bw_steady_gbps'] is None, count != '20000', count)
        done = gen('sim', '--delay', '100us', '-s', '3000', '-n', '10')
        self.assertRegex(done.stdout, r'\n 3000 +10 +- +[0-9.]+\s+[0-9.]+\s+-\n-: the run is too short')

    def test_a_steady_rate_with_losses_has_its_interval(self):
        options = ('--op', 'send', '-s', '65536', '--mtu', '2048', '--rate', '400Gb/s', '--delay',
                   '50us', '-t', '16', '--outstanding', '1', '--loss', '0.213%', '--timeout', '12')
        [long] = self.lines('sim', *options, '-n', '400000', '--seed', '77')
        for length in ((), ('--round-trips', '0')):
            [ran] = self.lines('sim', *options, *length)
            low, rate, high = (ran[f'bw_steady{end}_gbps'] for end in ('_low', '', '_high'))
            self.assertTrue(ran['steady'])
            self.assertLessEqual(max(high - rate, rate - low), 0.05 * rate)
            self.assertAlmostEqual(rate, long['bw_average_gbps'], delta=0.08 * rate)
        held = 0
        for seed in range(40):
            [ran] = self.lines('sim', *options, '-n', '5000', '--seed', str(seed))
            held += ran['bw_steady_low_gbps'] <= long['bw_average_gbps'] <= ran['bw_steady_high_gbps']
            self.assertFalse(ran['steady'])
        self.assertGreaterEqual(held, 34)  # 95 % of 40 is 38: below 34 is one in 100
        done = gen('sim', *options, '-n', '5000')
        self.assertRegex(done.stdout, r'not steady after \d+ packets: [0-9.]+ to [0-9.]+ Gb/s')

    def test_a_responder_takes_as_many_reads_as_it_has_room_for(self):
        read = ('sim', '--delay', '100us', '--op', 'read', '-n', '500')
        for options, done in (((), True), (('--reads', '17'), False),
                              (('--reads', '17', '--responder-reads', '17'), True),
                              (('--reads', '64', '--responder-reads', '0'), True),
                              (('--reads', '16', '--responder-reads', '15'), False),
                              (('--reads', '16', '--loss', '1e-2', '--timeout', '8'), True)):
            with self.subTest(options):
                ran = gen(*read, *options)
                self.assertEqual(ran.returncode, 0 if done else 1, ran.stderr)
                self.assertEqual('remote invalid request' in ran.stdout, not done)

    def test_requests_that_no_memory_holds_are_refused(self):
        posted = ('sim', '--delay', '1us', '-q', '468', '-t', '699436')
        refused = gen(*posted)
        self.assertEqual(refused.returncode, 2)
        self.assertIn('468 QPs with 699436 requests each: expected up to 67108864', refused.stderr)
        self.assertEqual(gen(*posted, '-n', '2').returncode, 0)  # no more are posted

    def test_a_length_is_above_zero_and_may_lack_a_unit(self):
        for length in ('0s', '0', '-1s', 'soon'):
            refused = gen('sim', '--delay', '1us', '--duration', length)
            self.assertEqual(refused.returncode, 2)
            self.assertIn('expected a time', refused.stderr)
        [ran] = self.lines('sim', '--delay', '1us', '--rate', '1Mb/s', '--duration', '10')
        self.assertEqual(ran['elapsed_ns'], 10_000_000_000)

    def test_wrong_usage(self):
        for arguments in (('sim',), ('perf', '--delay', '1ms'),
                          ('sim', '--delay', '1ms', '--op', 'read', '--imm'),
                          ('sim', '--delay', '1ms', '--path', PATH),
                          ('sim', '--delay', '1ms', '--rate-control', 'some'),
                          ('sim', '--delay', '1ms', '--set', 'cc.rpg_gd=16'),
                          ('sim', '--delay', '1ms', '--set', 'rpg_gd=11'), ('sim', '--delay', '1ms', '--set', 'cc.rpg=1'),
                          ('sim', '--delay', '1ms', '--pattern', 'incast'), ('sim', '--delay', '1ms', '--pattern', 'ring'),
                          ('sim', 'fat-tree-16', '--network', 'fat-tree-16'),
                          ('sim', '--delay', '1ms', '--set', 'cc.clamp_tgt_rate_after_time_inc=sometimes'),
                          ('plan', '--delay', 'soon'), ('plan', '--path', 'none.toml')):
            with self.subTest(' '.join(arguments)):
                self.assertEqual(gen(*arguments).returncode, 2)

    def test_a_line_of_a_former_release_is_answered_by_the_line_to_use(self):
        for former, line in (
                ('perf --sim --path apn-380km -s 64K --json', 'sim --path apn-380km -s 64K --json'),
                ('perf --network fat-tree-16 --duration 1ms --sim', 'sim --network fat-tree-16 --duration 1ms'),
                ('perf --sim --delay 1ms --rpg-gd 12 --clamp-tgt-rate --cnp-scope=port',
                 'sim --delay 1ms --set cc.rpg_gd=12 --set cc.clamp_tgt_rate=true --set cc.cnp_scope=port'),
                ('perf --sim --delay 1ms --sweep rpg-gd=10,11 --rate-control dcqcn',
                 'sim --delay 1ms --sweep cc.rpg_gd=10,11 --rate-control dcqcn'),
                ('perf --sim --delay 10us -- ib_write_bw -n 100 --report_gbits',
                 'sim --delay 10us -- ib_write_bw -n 100 --report_gbits'),
                ('sim --delay 1us -n 10 --dce-tcp-g 1000', 'sim --delay 1us -n 10 --set cc.dce_tcp_g=1000'),
                ('respond --port null --cnp-delay 3', 'respond --port null --set cc.cnp_delay=3')):
            with self.subTest(former):
                done = gen(*former.split())
                self.assertEqual((done.returncode, done.stdout), (2, ''))
                self.assertEqual(done.stderr.splitlines()[-1], f'  roce-gen {line}')
                if line.startswith('sim') and 'sweep' not in line:
                    self.assertEqual(gen(*line.split()).returncode, 0, line)


if __name__ == '__main__':
    longwire_test.main()
