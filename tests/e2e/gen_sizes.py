# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of packets and messages of perf: any payload of a packet between our own endpoints, messages
of up to 2^31 B, sweeps over sizes, and the intervals of a run."""

import csv
import json
import subprocess

import output_schemas
from endpoints import GEN, TIMEOUT, Endpoints
from longwire_test import main


def run(*words, expect=0):
    done = subprocess.run([GEN, *map(str, words)], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)
    if done.returncode != expect:
        raise AssertionError(f'{words}: {done.returncode}: {done.stderr}{done.stdout}')
    return done


class Packets(Endpoints):

    def payloads(self, pcap):
        """Payload lengths of packets that are not the last of their message, by tshark: the frame
        without headers, pad and ICRC."""
        run = subprocess.run(['tshark', '-r', pcap, '-Y', 'infiniband.bth.opcode in {0, 1, 6, 7, 13, 14}',
                              '-T', 'fields', '-e', 'udp.length', '-e', 'infiniband.bth.opcode', '-e',
                              'infiniband.bth.padcnt'], capture_output=True, text=True, check=True)
        headers = {0: 24, 1: 24, 6: 40, 7: 24, 13: 28, 14: 24}  # UDP, BTH, ICRC; RETH, AETH
        return {int(length) - headers[int(opcode)] - int(pad)
                for length, opcode, pad in map(str.split, run.stdout.splitlines())}

    def test_any_payload_of_a_packet_between_our_own_endpoints(self):
        for payload in 64, 1027, 4097, 9001, 14000:
            for op in 'write', 'send', 'read':
                pcap = self.folder / f'{payload}{op}.pcapng'
                west, east = self.wire()
                with self.subTest(f'{op} {payload}'):
                    [ran], said = self.perf(west, east, '--op', op, '-s', 3 * payload + 5, '-n', '12',
                                            '--packet-payload', payload, '--pcap', pcap,
                                            respond=('--packet-payload', '14000'))
                    self.assertEqual((ran['failed'], ran['wrong'], said['wrong']), (0, 0, 0))
                    self.assertEqual((ran['iterations'], ran['mtu']), (12, payload))
                    self.assertEqual(self.payloads(pcap), {payload})

    def perf(self, west, east, *words, **settings):
        return super().perf(west, east, *map(str, words), **settings)

    def test_a_responder_has_room_for_what_it_was_started_for(self):
        west, east = self.wire()
        there = self.start(GEN, 'respond', '--port', east)
        client = self.start(GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '-n', '5',
                            '--packet-payload', '12000')
        _, err = client.communicate(timeout=TIMEOUT)
        self.assertEqual(client.returncode, 1, err)
        self.assertIn('real responders refuse FIRST and MIDDLE packets', err)
        self.assertIn('start respond with --packet-payload 12000', err)
        there.terminate()
        self.finish(there)

    def test_what_is_no_payload_is_refused(self):
        port = ('--port', 'null', '--peer', '198.18.0.2')
        for words, why in (((*port, '--packet-payload', 63), '64 to 14000'),
                           ((*port, '--packet-payload', 14001), '64 to 14000'),
                           ((*port, '--packet-payload', 70, '--mtu', 256), '--mtu'),
                           ((*port, '--packet-payload', 5000, '--selective-repeat'), '4096'),
                           (('--port', 'null', '--address', '192.0.2.1', '--peer', '192.0.2.2:1',
                             '--token', 't', '--packet-payload', 70), 'a device refuses')):
            self.assertIn(why, run('perf', *words, expect=2).stderr)


class Messages(Endpoints):

    def test_the_longest_message_is_2_to_the_31(self):
        for op in 'write', 'read':
            ran = json.loads(run('sim', '--delay', '10us', '--op', op, '-s', '2G', '-n', '1',
                                  '--json').stdout)
            self.assertEqual((ran['bytes'], ran['iterations']), (1 << 31, 1))
            self.assertGreater(ran['bw_average_gbps'], 90)
        for size in '2147483649', '3G', '5G':
            said = run('sim', '--delay', '10us', '-s', size, expect=2).stderr
            self.assertIn('2147483648 B (2^31): RDMA has no longer message', said)

    def test_a_message_has_at_most_half_of_all_psns(self):
        run('sim', '--delay', '0us', '-s', '100', '-n', '1', '--packet-payload', '64')
        said = run('sim', '--delay', '0us', '-s', '1G', '--packet-payload', '64', expect=2).stderr
        self.assertIn('8388608 packets', said)


class Sweeps(Endpoints):

    def test_a_sweep_has_a_row_for_each_combination(self):
        out = self.folder / 'out'
        done = run('sim', '--delay', '100us', '-n', '200', '--sweep', 'size=4K,64K', '--sweep',
                    'loss=0,1e-3', '--out', out)
        with open(out / 'perf-bw.csv', newline='', encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row['size'], row['loss']) for row in rows],
                         [('4K', '0'), ('4K', '1e-3'), ('64K', '0'), ('64K', '1e-3')])
        self.assertIn('<svg', (out / 'bw_average_gbps.svg').read_text(encoding='utf-8'))
        self.assertIn('64K', done.stdout)

    def test_a_sweep_through_a_port(self):
        out = self.folder / 'port'
        west, east = self.wire()
        there = self.start(GEN, 'respond', '--port', east)
        client = self.start(GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '--pattern', 'lat',
                            '-n', '20', '--sweep', 'size=64,4K', '--repeats', '2', '--out', out)
        self.finish(client)
        there.terminate()
        self.finish(there)
        with open(out / 'perf-lat.csv', newline='', encoding='utf-8') as file:
            self.assertEqual([row['size'] for row in csv.DictReader(file)],
                             ['64', '4K'])

    def test_what_cannot_be_swept_is_refused_before_the_first_run(self):
        for sweep, why in (('sizes=4', 'expected an option of a run'), ('size=0', '1 B to 2 GiB'),
                           ('size=4K,', 'PARAMETER=VALUE'), ('op=writ', 'write'),
                           ('pattern=bw,lat', 'expected an option of a run')):
            said = run('sim', '--delay', '1us', '--sweep', sweep, expect=2).stderr
            self.assertIn(why, said)


class Intervals(Endpoints):

    def lines(self, *words):
        """The result of a run of a second with a line for each fifth, and the rows of these lines."""
        west, east = self.wire()
        there = self.start(GEN, 'respond', '--port', east, '--sessions', '1', '--json')
        client = self.start(GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '--json', '--duration',
                            '1', '--interval', '0.2', *words)
        out, err = client.communicate(timeout=TIMEOUT)
        self.assertEqual(client.returncode, 0, err)
        self.finish(there)
        output_schemas.validate(out)
        return json.loads(out), [line.split(' s ')[1].split() for line in err.splitlines() if ' s  ' in line]

    def test_a_rate_has_a_lowest_and_a_highest_interval(self):
        ran, lines = self.lines('-s', '4KiB')
        found = ran['intervals']
        # Those that a busy machine made longer are fewer; the last one may be shorter.
        self.assertIn(found['whole'], (len(lines), len(lines) - 1))
        self.assertEqual(found['length_ns'], 200_000_000)
        self.assertLessEqual(found['bw_least_gbps'], ran['bw_average_gbps'] * 1.1)
        self.assertLessEqual(found['bw_least_gbps'], found['bw_most_gbps'])

    def test_latencies_have_a_lowest_and_a_highest_mean(self):
        ran, lines = self.lines('--pattern', 'lat', '-s', '64')
        found = ran['intervals']
        self.assertIn(found['whole'], (len(lines), len(lines) - 1))
        means = [float(line[2]) for line in lines[:found['whole']]]
        self.assertAlmostEqual(found['t_avg_least_usec'], min(means), delta=0.01)
        self.assertAlmostEqual(found['t_avg_most_usec'], max(means), delta=0.01)
        self.assertAlmostEqual(found['t_min_most_usec'],
                               max(float(line[1]) for line in lines[:found['whole']]), delta=0.01)
        self.assertAlmostEqual(found['t_max_least_usec'],
                               min(float(line[3]) for line in lines[:found['whole']]), delta=0.01)

    def simulated(self, *words):
        """The result of a simulation, and the rows of its lines. The lines change nothing else."""
        every = ('sim', '--delay', '500us', '--seed', '3', '--json', *words)
        alone = json.loads(run(*every).stdout)
        done = run(*every, '--interval', '0.01')
        output_schemas.validate(done.stdout)
        ran = json.loads(done.stdout)
        self.assertEqual({**ran, 'intervals': None, 'verdict': None},
                         {**alone, 'intervals': None, 'verdict': None})
        rows = [line.split(' s ')[1].split() for line in done.stderr.splitlines() if ' s  ' in line]
        self.assertEqual(ran['intervals']['length_ns'], 10_000_000)
        return ran, rows

    def test_a_simulation_has_intervals_of_its_own_time(self):
        for words in (), ('--loss', '1e-3', '--timeout', '10'), ('--op', 'read'), ('-b',), ('-n', '9000'):
            with self.subTest(words):
                words = words if '-n' in words else (*words, '--duration', '80ms')
                ran, rows = self.simulated('-s', '4KiB', '-q', '4', *words)
                found = ran['intervals']
                rates = [float(row[0]) * {'Gb/s': 1, 'Mb/s': 1e-3, 'kb/s': 1e-6, 'b/s': 1e-9}[row[1]]
                         for row in rows]
                whole = rates[:found['whole']]
                self.assertAlmostEqual(found['bw_least_gbps'], min(whole), delta=0.006)
                self.assertAlmostEqual(found['bw_most_gbps'], max(whole), delta=0.006)
                if '--duration' in words:
                    self.assertEqual((found['whole'], len(rows)), (8, 8))
                    self.assertAlmostEqual(sum(rates) / 8, ran['bw_average_gbps'], delta=0.01)
                self.assertEqual(sum(int(row[3].replace(',', '')) for row in rows), ran['retransmitted'])
        stalled, _ = self.simulated('-s', '4KiB', '-t', '1', '--loss', '30%', '--timeout', '13', '--duration', '400ms')
        self.assertGreater(stalled['intervals']['empty'], 0)  # a timeout takes 34 ms

    def test_latencies_of_a_simulation_have_theirs(self):
        ran, rows = self.simulated('--pattern', 'lat', '-s', '64', '--duration', '100ms', '--loss', '1%')
        found = ran['intervals']
        self.assertEqual((found['whole'], len(rows)), (10, 10))
        self.assertEqual(sum(int(row[0]) for row in rows), ran['iterations'])
        counted = [row for row in rows if int(row[0]) > 0]
        self.assertAlmostEqual(found['t_avg_most_usec'], max(float(row[2]) for row in counted), delta=0.01)
        self.assertAlmostEqual(found['t_min_most_usec'], max(float(row[1]) for row in counted), delta=0.01)
        self.assertAlmostEqual(found['t_max_least_usec'], min(float(row[3]) for row in counted), delta=0.01)


if __name__ == '__main__':
    main()
