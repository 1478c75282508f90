# SPDX-License-Identifier: BSD-3-Clause
"""Congestion control of perf and respond in real time: what is marked on the way makes CNPs, CNPs
slow who sends, and a fixed rate is kept, whoever sends the data."""

import collections
import csv
import json
import subprocess

from endpoints import GEN, TIMEOUT, Endpoints
from longwire_test import main

# Three packets are marked on the way, the second when a window that had left before is through.
CONGESTED = '''[[rule]]
name = "line"
delay = "100us"
[[event]]
name = "congested"
direction = "{direction}"
qp = 1
psn_offset = [200, 2300, 2600]
action = "mark"
'''
# Slow enough for a machine that looks seldom: each cut halves the rate, and 40 ms bring some back.
SLOW = ('--set', 'cc.rpg_time_reset=40000', '--set', 'cc.rpg_byte_reset=0', '--set', 'cc.dce_tcp_rtt=100000',
        '--set', 'cc.rpg_ai_rate=100')
LINE_BYTES = 4178 / 4096  # of a full packet, per byte of payload
QP_RATE = 400e6


def fields(pcap, shown, *names):
    """What tshark sees, a row of the named fields a packet."""
    run = subprocess.run(['tshark', '-r', str(pcap), '-Y', shown, '-T', 'fields'] +
                         [word for name in names for word in ('-e', name)],
                         capture_output=True, text=True, check=True)
    return [line.split('\t') for line in run.stdout.splitlines()]


class Profile(Endpoints):
    """--cc: the parameters of a profile, which --set changes."""

    def simulate(self, *options):
        return subprocess.run([str(GEN), 'sim', '--delay', '100us', '-n', '10', '--json',
                               '--rate-control', 'dcqcn', *options], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)

    def test_options_apply_after_the_profile_wherever_they_stand(self):
        for options in (('--cc', 'dcqcn-sigcomm15', '--set', 'cc.rpg_gd=12'),
                        ('--set', 'cc.rpg_gd=12', '--cc', 'dcqcn-sigcomm15')):
            ran = json.loads(self.simulate(*options).stdout)
            self.assertEqual([ran[key] for key in ('rpg_gd', 'rpg_time_reset', 'alpha_update', 'rpg_hai_rate')],
                             [12, 55, 'after-cut', 50])

    def test_what_is_wrong_in_a_profile_is_said_with_its_place(self):
        profile = self.folder / 'cc.toml'
        profile.write_text('[cc]\nrpg_gdd = 3\nrpg_gd = 99\nclamp_tgt_rate = 1\n', encoding='utf-8')
        run = self.simulate('--cc', str(profile))
        self.assertEqual(run.returncode, 2)
        for said in ('cc.toml:2:1: unknown key "rpg_gdd": did you mean "rpg_gd"?',
                     'cc.toml:3:10: rpg_gd: expected a whole number from 10 to 15, found 99',
                     'cc.toml:4:18: clamp_tgt_rate: expected true or false, found 1'):
            self.assertIn(said, run.stderr)


class Dcqcn(Endpoints):

    def rates(self, pcap, opcodes, first_cut):
        """Packets of data a second, as they left: in the 150 behind the first cut, and in the last
        1000."""
        times = [float(t) for t, opcode in fields(
            pcap, 'infiniband.bth.opcode', 'frame.time_epoch', 'infiniband.bth.opcode')
            if int(opcode) in opcodes]
        cut = [t for t in times if t > first_cut][:150]
        return 149 / (cut[-1] - cut[0]), 999 / (times[-1] - times[-1000])

    def check(self, ran, pcap, series, sender, receiver, opcodes):
        """`pcap` is of the sender's port."""
        self.assertEqual((ran['failed'], ran['wrong']), (0, 0))
        cnps = fields(pcap, 'infiniband.bth.opcode == 129', 'ip.src', 'ip.dst',
                           'ip.dsfield.dscp', 'infiniband.bth.reserved7', 'frame.time_epoch')
        self.assertEqual({tuple(row[:3]) for row in cnps}, {(receiver, sender, '48')})
        self.assertEqual(len(cnps), ran['cnps'])
        self.assertTrue(2 <= len(cnps) <= 3, cnps)  # packets that come together earn one
        slow, recovered = self.rates(pcap, opcodes, float(cnps[0][4]))
        print(f'# {len(cnps)} CNPs: {slow:.0f} packets/s behind the first, {recovered:.0f} at last')
        self.assertGreater(recovered, 1.5 * slow)
        if series is None:
            return
        with open(series, encoding='utf-8') as file:
            told = [float(row['rate_gbps']) * 1e9 for row in csv.DictReader(file)]
        self.assertAlmostEqual(told[0], QP_RATE)
        self.assertLessEqual(min(told), 0.55 * QP_RATE)
        self.assertGreater(told[-1], 1.5 * min(told))

    def test_marked_writes_slow_the_sender_and_it_recovers(self):
        pcap, series = self.folder / 'c.pcapng', self.folder / 's.csv'
        with self.box('there', CONGESTED.format(direction='west-to-east')) as (west, east):
            [ran], said = self.perf(west, east, '--op', 'write', '-s', '65536', '-n', '400',
                                    '--rate-control', 'dcqcn', '--qp-rate', '400Mb/s', *SLOW,
                                    '--series', series, '--pcap', pcap)
        self.assertEqual(said['cnps'], ran['cnps'])
        self.check(ran, pcap, series, '198.18.0.1', '198.18.0.2', (6, 7, 8))

    def test_marked_answers_to_reads_slow_the_responder(self):
        pcap = self.folder / 'r.pcapng'
        with self.box('back', CONGESTED.format(direction='east-to-west')
                      .replace('qp = 1', 'qp = 1\non = "read_response"')) as (west, east):
            [ran], said = self.perf(west, east, '--op', 'read', '-s', '65536', '-n', '400',
                                    '--rate-control', 'dcqcn', '--qp-rate', '400Mb/s',
                                    respond=(*SLOW, '--pcap', pcap))
        self.assertEqual(said['cnps'], 0)
        self.check(ran, pcap, None, '198.18.0.2', '198.18.0.1', (13, 14, 15))

    def notified(self, name, options, size=65536, messages=60, depth=60):
        """Times of the first packet and of the CNPs, with their QPs, where the packets of four QPs are
        marked throughout: by the responder's own recording."""
        pcap = self.folder / f'{name}.pcapng'
        with self.box(name, '[[rule]]\nname = "line"\ndirection = "west-to-east"\n'
                      'delay = "100us"\nmark = "100%"\n') as (west, east):
            [ran], said = self.perf(west, east, '--op', 'write', '-s', str(size), '-n', str(messages),
                                    '-t', str(depth), '-q', '4', '--rate-control', 'dcqcn', '--qp-rate',
                                    '100Mb/s', *SLOW, '--set', 'cc.rpg_min_rate=50', respond=(*options, '--pcap', pcap))
        self.assertEqual((ran['failed'], ran['wrong']), (0, 0))
        cnps = [(float(t), qp) for t, qp in fields(
            pcap, 'infiniband.bth.opcode == 129', 'frame.time_epoch', 'infiniband.bth.destqp')]
        self.assertEqual((len(cnps), ran['cnps']), (said['cnps'], said['cnps']))
        self.assertGreater(len(cnps), 3)
        marked = fields(pcap, 'ip.dsfield.ecn == 3', 'frame.time_epoch')
        return float(marked[0][0]), cnps

    def test_the_time_between_cnps_is_of_a_qp_a_destination_or_the_port(self):
        """A CNP may leave later than it was due, so what is bounded is their number."""
        least = 0.02
        for scope in 'qp', 'destination', 'port':
            with self.subTest(scope):
                begin, cnps = self.notified(scope, ('--set', f'cc.min_time_between_cnps={least * 1e6:.0f}',
                                                    '--set', f'cc.cnp_scope={scope}'))
                most = 1 + int((cnps[-1][0] - begin) / least)  # of one QP, destination or port
                each = collections.Counter(qp for _, qp in cnps)
                print(f'# {scope}: {len(cnps)} CNPs, {dict(each)} by QP, at most {most}')
                self.assertLessEqual(max(each.values()), most)
                if scope == 'qp':
                    self.assertEqual(len(each), 4)
                    self.assertGreater(len(cnps), most)
                else:
                    self.assertLessEqual(len(cnps), most)

    def test_a_cnp_is_ready_its_delay_after_the_mark(self):
        """One message at a time of each QP, over 100 us: the run is longer than 40 ms."""
        begin, cnps = self.notified('late', ('--set', 'cc.cnp_delay=10000'), 4096, 400, 1)
        print(f'# the first CNP after {1e3 * (cnps[0][0] - begin):.3f} ms')
        self.assertGreater(cnps[0][0] - begin, 0.8 * 0.01)

    def test_without_it_marks_are_answered_and_nobody_slows_down(self):
        """The notification point is the receiver's own, as a NIC's is."""
        with self.box('there', CONGESTED.format(direction='west-to-east')) as (west, east):
            [ran], said = self.perf(west, east, '--op', 'write', '-s', '65536', '-n', '50')
        self.assertEqual((ran['cnps'], said['checked']), (said['cnps'], 50))
        self.assertTrue(1 <= said['cnps'] <= 3, said)


class Fixed(Endpoints):

    def test_a_rate_is_kept_whoever_sends(self):
        """What a nap misses is made up for, up to 10 ms of it. A machine that keeps a process
        waiting for longer costs it more, so here the rate is reached in the best tenth of a run, and
        never exceeded by the whole."""
        west, east = self.wire()
        for operation in ('write', 'send', 'read'):
            pcap = self.folder / f'{operation}.pcapng'
            record = ('--pcap', pcap)
            reads = operation == 'read'
            [ran], _ = self.perf(west, east, '--op', operation, '-s', '65536', '-n', '100', '-q',
                                 '2', '--rate-control', 'fixed', '--qp-rate', '100Mb/s',
                                 *(() if reads else record), respond=record if reads else ())
            self.assertEqual((ran['iterations'], ran['failed'], ran['wrong']), (200, 0, 0))
            share = ran['bw_average_gbps'] * 1e9 * LINE_BYTES / 200e6
            best = self.best_tenth(pcap) / 200e6
            print(f'# {operation}: {100 * share:.2f} % of the rate, {100 * best:.2f} % at best')
            self.assertLess(share, 1.01)
            self.assertGreater(best, 0.9)

    def best_tenth(self, pcap):
        """Bits of full packets a second, in the fastest tenth of a recording of 3200 of them."""
        times = [float(t) for [t] in fields(pcap, 'frame.len > 4000', 'frame.time_epoch')]
        self.assertGreaterEqual(len(times), 3200)
        fastest = min(late - early for early, late in zip(times, times[320:]))
        return 320 * 4178 * 8 / fastest

    def test_what_is_asked_of_the_wrong_side_is_refused(self):
        for words, why in (
                (('--qp-rate', '1Gb/s'), 'goes with --rate-control'),
                (('--op', 'read', '--rate-control', 'dcqcn', '--set', 'cc.rpg_gd=10'), 'roce-gen respond'),
                (('--op', 'read', '--rate-control', 'dcqcn', '--cc', 'dcqcn-sigcomm15'), 'roce-gen respond'),
                (('--rate-control', 'dcqcn', '--set', 'cc.min_time_between_cnps=9'), 'roce-gen respond')):
            done = subprocess.run([GEN, 'perf', '--port', 'null', '--peer', '198.18.0.2', *words],
                                  capture_output=True, text=True, timeout=TIMEOUT)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(why, done.stderr)

    def test_a_port_without_a_rate_wants_one(self):
        west, east = self.wire()
        there = self.start(GEN, 'respond', '--port', east)
        client = self.start(GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '--rate-control',
                            'dcqcn')
        _, err = client.communicate(timeout=TIMEOUT)
        self.assertEqual(client.returncode, 2, err)
        self.assertIn('--qp-rate', err)
        there.terminate()
        self.finish(there)


if __name__ == '__main__':
    main()
