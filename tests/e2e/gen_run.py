# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen's commands: what they write, where they stop, what they refuse, what ports carry."""

import fractions
import json
import math
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import gen_decoder
import pcap_file

import longwire_test

GEN = longwire_test.program('roce-gen')
FLOWS = longwire_test.SOURCE / 'profiles' / 'flows'
START = 1735689600 * 10**9  # 2025-01-01 00:00:00 UTC, where virtual time begins


def gen(*arguments, text=None):
    rate = longwire_test.ANY_RATE if arguments[:1] == ('run',) and '--port' in arguments else ()
    return subprocess.run([GEN, *map(str, arguments), *rate], input=text, capture_output=True, text=True)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return str(self.folder / name)

    def done(self, *arguments, text=None):
        result = gen(*arguments, text=text)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def report(self, *arguments, text=None):
        out = self.done(*arguments, '--json', text=text)
        self.assertEqual(out.count('\n'), 1)
        return json.loads(out)


class Captures(InFolder):
    def bytes_of(self, profile, *options, text=None):
        self.done('run', profile, '--pcap', self.path('x.pcap'), *options, text=text)
        return pathlib.Path(self.path('x.pcap')).read_bytes()

    def test_the_same_seed_gives_the_same_file(self):
        for profile in sorted(FLOWS.glob('*.toml')):
            self.assertEqual(self.bytes_of(profile, '--count', 2000),
                             self.bytes_of(profile, '--count', 2000), profile)

    def test_another_seed_gives_another_random_payload(self):
        text = 'seed = 5\n[[flow]]\npayload = "prbs31"\nmessages = 2\n'
        five = self.bytes_of('-', text=text)
        self.assertEqual(five, self.bytes_of('-', '--seed', 5, text=text))
        self.assertNotEqual(five, self.bytes_of('-', '--seed', 6, text=text))

    def test_the_four_classics_have_a_thousand_frames(self):
        for name in ('ipv4-rc-send', 'ipv4-ud-send', 'ipv6-rc-send', 'ipv6-ud-send'):
            report = self.report('run', FLOWS / f'{name}.toml', '--pcap', self.path('x.pcap'))
            self.assertEqual(report['frames'], 1000)
            self.assertEqual(len(gen_decoder.read_pcap(self.path('x.pcap'))), 1000)

    def test_every_opcode_is_in_its_profile(self):
        self.done('run', FLOWS / 'every-opcode.toml', '--pcap', self.path('x.pcap'))
        frames = [gen_decoder.decode(f) for _, _, f in gen_decoder.read_pcap(self.path('x.pcap'))]
        self.assertEqual(len({f['bth.opcode'] for f in frames}), gen_decoder.ALL_OPCODES)
        self.assertTrue(all(f['icrc_right'] for f in frames))

    def test_count_is_of_the_whole_run(self):
        for count in (0, 1, 7, 108, 109, 200):
            report = self.report('run', FLOWS / 'every-opcode.toml', '--count', count,
                                 '--pcap', self.path('x.pcap'))
            self.assertEqual(report['frames'], min(count, 109))
            self.assertEqual(sum(f['frames'] for f in report['flows']), report['frames'])
            self.assertEqual(len(gen_decoder.read_pcap(self.path('x.pcap'))), report['frames'])

    def test_duration_ends_a_flow_without_end(self):
        text = '[[flow]]\nrate = "10 kframes/s"\nrepeat = "forever"\n'
        report = self.report('run', '-', '--pcap', self.path('x.pcap'), '--duration', '50ms',
                             text=text)
        self.assertEqual(report['frames'], 500)
        refused = gen('run', '-', '--pcap', self.path('x.pcap'), text=text)
        self.assertEqual(refused.returncode, 2)

    def stamps(self, text):
        self.done('run', '-', '--pcap', self.path('x.pcap'), text=text)
        return [s * 10**9 + ns - START for s, ns, _ in gen_decoder.read_pcap(self.path('x.pcap'))]

    def test_frames_are_due_at_their_rate(self):
        stamps = self.stamps('[[flow]]\nrate = "3 kframes/s"\nmessages = 3001\n')
        self.assertEqual(stamps, [i * 10**9 // 3000 for i in range(3001)])

    def test_a_rate_in_bits_counts_all_that_the_wire_carries(self):
        # 1024 B SEND over IPv4: 14 + 20 + 8 + 12 + 1024 + 4, and 24 of preamble, FCS and gap.
        stamps = self.stamps('[[flow]]\nrate = "1Gb/s"\nmessages = 1000\n')
        self.assertEqual(stamps, [i * (1082 + 24) * 8 for i in range(1000)])
        # An empty one is padded to 60 B.
        stamps = self.stamps('[[flow]]\nmessage_size = 0\nrate = "1Gb/s"\nmessages = 10\n')
        self.assertEqual(stamps, [i * 84 * 8 for i in range(10)])

    def test_bursts_keep_the_mean(self):
        stamps = self.stamps('[[flow]]\nrate = "1 kframes/s"\nburst = 32\nmessages = 100\n')
        self.assertEqual(stamps, [i // 32 * 32 * 10**6 for i in range(100)])

    def test_flows_are_merged_by_time_and_then_by_place(self):
        self.done('run', '-', '--pcap', self.path('x.pcap'), text='''
            [[flow]]
            dst_qp = 1
            rate = "1 kframes/s"
            messages = 3
            [[flow]]
            dst_qp = 2
            rate = "2 kframes/s"
            messages = 5''')
        qps = [gen_decoder.decode(f)['bth.destqp']
               for _, _, f in gen_decoder.read_pcap(self.path('x.pcap'))]
        self.assertEqual(qps, [1, 2, 2, 1, 2, 2, 1, 2])

    def test_pcapng_and_standard_output(self):
        self.done('run', FLOWS / 'ipv4-rc-send.toml', '--pcap', self.path('x.pcapng'))
        self.assertEqual(pathlib.Path(self.path('x.pcapng')).read_bytes()[:4].hex(), '0a0d0d0a')
        piped = subprocess.run([GEN, 'run', '-', '--pcap', '-'], input=b'[[flow]]\n',
                               capture_output=True, check=True)
        pathlib.Path(self.path('y.pcap')).write_bytes(piped.stdout)
        self.assertEqual(len(gen_decoder.read_pcap(self.path('y.pcap'))), 1000)


class Commands(InFolder):
    def test_opcodes(self):
        table = [json.loads(line) for line in self.done('opcodes', '--json').splitlines()]
        self.assertEqual(len(table), gen_decoder.ALL_OPCODES)
        by_opcode = {row['opcode']: row for row in table}
        self.assertEqual(by_opcode[0x2b]['name'], 'UC WRITE ONLY IMM')
        self.assertEqual(by_opcode[0x2b]['headers'], ['BTH', 'RETH', 'ImmDt'])
        for line in self.done('opcodes').splitlines()[1:]:
            self.assertIn(int(line.split()[0], 16), by_opcode)

    def test_check_says_what_run_then_does(self):
        for profile in FLOWS.glob('*.toml'):
            said = json.loads(self.done('check', profile, '--json', '--frames', 3))
            did = self.report('run', profile, '--pcap', self.path('x.pcap'))
            self.assertEqual(len(said['first_frames']), 3)
            for flow, ran in zip(said['flows'], did['flows'], strict=True):
                self.assertEqual((flow['name'], flow['frames']), (ran['name'], ran['frames']))
            self.assertEqual(max(f['duration_ns'] for f in said['flows']), did['elapsed_ns'])
            self.assertIn('first frames', self.done('check', profile))

    def test_totals_of_a_range_are_over_the_time_in_which_it_sends(self):
        cases = ['qps = 1000\nmessages = 1\nrate = "1Gb/s"',
                 'qps = 256\nmessages = 4\nrate = "10Gb/s"\nmessage_size = "4KiB"',
                 'qps = 50\nmessages = 2\nrate = "1Gb/s"\nmessage_size = [64, 4096]',
                 'qps = 10\nmessages = 8\nrate = "1 Mframes/s"\nburst = 4',
                 'qps = 1\nmessages = 3\nrate = "3 messages/s"']
        for keys in cases:
            profile = pathlib.Path(self.path('range.toml'))
            profile.write_text(f'[[flow]]\n{keys}\n', encoding='utf-8')
            report = self.report('run', profile, '--pcap', self.path('range.pcap'))
            frames = pcap_file.read_pcap(self.path('range.pcap'))
            first = frames[0][0]
            wire_bits = [8 * (max(60, len(frame)) + 24) for _, frame in frames]
            # The last frame's own time at the rate of the whole range, at most that of its burst.
            rate = report['flows'][0]['rate_achieved']['value']
            if 'frames' in report['flows'][0]['rate_achieved']['unit']:
                own = 4 / rate
            elif 'messages' in report['flows'][0]['rate_achieved']['unit']:
                own = 1 / rate
            else:
                own = max(wire_bits) / rate
            last = frames[-1][0] - first
            self.assertGreaterEqual(report['elapsed_ns'], last, keys)
            self.assertLessEqual(report['elapsed_ns'], last + own * 1e9 + 1, keys)
            said = json.loads(self.done('check', profile, '--json'))
            self.assertEqual(said['flows'][0]['duration_ns'], report['elapsed_ns'], keys)

    def test_packets_of_a_message_are_never_due_early(self):
        """Frame i of a message of p, at r messages/s, is due at the floor of i / (p r) s."""
        for rate, packets in ((3, 4), (3, 3), (7, 5), (1, 3), (0.3, 7)):
            profile = pathlib.Path(self.path('slow.toml'))
            profile.write_text(f'[[flow]]\nrate = "{rate} messages/s"\nmtu = 256\nmessages = 9\n'
                               f'message_size = {256 * packets}\n', encoding='utf-8')
            self.done('run', profile, '--pcap', self.path('slow.pcap'))
            due = [stamp - START for stamp, _ in pcap_file.read_pcap(self.path('slow.pcap'))]
            exact = fractions.Fraction(str(rate)) * packets
            self.assertEqual(due, [math.floor(i * 10**9 / exact) for i in range(len(due))], rate)
            text = self.done('check', profile)
            self.assertIn(f'{float(exact):.3g} frames/s', text)
        self.assertNotIn(' 0 messages/s', self.done('run', profile, '--pcap', self.path('x.pcap')))

    def test_exit_codes(self):
        self.assertEqual(gen('--help').returncode, 0)
        self.assertEqual(gen('--version').returncode, 0)
        self.assertEqual(gen('run', '--help').returncode, 0)
        for wrong in ([], ['rnu'], ['run'], ['run', '-'], ['run', '-', '--pcap'],
                      ['run', '/nonexistent', '--pcap', 'x'], ['check', '-', '--frames', 'x'],
                      ['run', '-', '--pcap', 'x', '--duration', 'soon']):
            self.assertEqual(gen(*wrong, text='[[flow]]').returncode, 2, wrong)
        self.assertEqual(gen('run', '-', '--port', 'nosuch0', text='[[flow]]').returncode, 3)
        self.assertEqual(
            gen('run', '-', '--pcap', '/nonexistent/x.pcap', text='[[flow]]').returncode, 3)

    def test_a_wrong_profile_names_its_places(self):
        pathlib.Path(self.path('bad.toml')).write_text(
            '[[flow]]\nrate = "fast"\ndst_pq = 1\n  mtu = 1500\n')
        for command in (['check'], ['run', '--pcap', self.path('x.pcap')]):
            refused = gen(command[0], self.path('bad.toml'), *command[1:])
            self.assertEqual(refused.returncode, 2)
            places = [line.split(': ')[0] for line in refused.stderr.splitlines()]
            self.assertEqual(places, [self.path('bad.toml') + place
                                      for place in (':2:8', ':3:1', ':4:9')])
            self.assertFalse(os.path.exists(self.path('x.pcap')))


class Ports(InFolder):
    """Real processes, joined by shared memory."""

    PROFILE = '''
        [defaults]
        rate = "5 kframes/s"
        signature = true
        [[flow]]
        operation = "write"
        message_size = 4000
        messages = 250
        [[flow]]
        source = "2001:db8::1"
        transport = "ud"
        message_size = 0
        messages = 500
        dst_qp = 0x77'''

    def receiver(self, *options):
        """A receiver that listens already."""
        process = longwire_test.begin(
            self, [GEN, 'receive', '--port', f'memif:{self.path("wire")},server', '--pcap',
                   self.path('arrived.pcap'), '--json', *options])
        self.assertIn('waiting for the link', process.stderr.readline())
        return process

    def test_all_that_is_sent_arrives_in_order(self):
        receiver = self.receiver('--count', '1500', '--duration', '60s')
        sent = self.report('run', '-', '--port', f'memif:{self.path("wire")}',
                           '--pcap', self.path('sent.pcap'), text=self.PROFILE)
        arrived = json.loads(receiver.communicate()[0])
        self.assertEqual(receiver.returncode, 0)
        self.assertEqual((sent['frames'], sent['not_sent']), (1500, 0))
        self.assertEqual((arrived['frames'], arrived['roce']), (1500, 1500))
        self.assertEqual(arrived['bytes'], sent['bytes'])
        near = gen_decoder.read_pcap(self.path('sent.pcap'))
        far = gen_decoder.read_pcap(self.path('arrived.pcap'))
        self.assertEqual([f for _, _, f in near], [f for _, _, f in far])
        for (s, ns, _), (far_s, far_ns, _) in zip(near, far):
            self.assertLessEqual((s, ns), (far_s, far_ns))
        self.assertTrue(all(gen_decoder.decode(f)['icrc_right'] for _, _, f in far))

    def test_idleness_ends_a_receiver(self):
        receiver = self.receiver('--until-idle', '500ms', '--duration', '60s')
        self.report('run', '-', '--port', f'memif:{self.path("wire")}', '--count', '100',
                    text=self.PROFILE)
        arrived = json.loads(receiver.communicate()[0])
        self.assertEqual(arrived['frames'], 100)

    def test_a_signal_ends_a_receiver_with_its_report(self):
        receiver = self.receiver()
        receiver.send_signal(signal.SIGTERM)
        out, _ = receiver.communicate()
        self.assertEqual(receiver.returncode, 0)
        self.assertEqual(json.loads(out)['frames'], 0)

    def start(self, text, *arguments):
        return longwire_test.begin(self, [GEN, 'run', '-', *longwire_test.ANY_RATE, *arguments], text)

    def test_a_signal_ends_a_run_with_its_report(self):
        endless = '[[flow]]\nrepeat = "forever"\nrate = "50 kframes/s"\n'
        # A fifo: what comes out of it says that the run is under way.
        os.mkfifo(self.path('copy.pcap'))
        run = self.start(endless, '--port', 'null', '--pcap', self.path('copy.pcap'), '--json')
        with open(self.path('copy.pcap'), 'rb') as copy:
            self.assertEqual(len(copy.read(100000)), 100000)
            run.send_signal(signal.SIGINT)
            while copy.read(1 << 20):
                pass
        out, _ = run.communicate()
        self.assertEqual(run.returncode, 0)
        self.assertGreater(json.loads(out)['frames'], 80)

    def test_a_port_that_takes_no_more_is_counted_and_no_hang(self):
        # The other side only sends: what comes its way fills the ring and stays there.
        wire = f'memif:{self.path("wire")}'
        self.start('[[flow]]\nrepeat = "forever"\nrate = "1 frames/s"\n', '--port',
                   wire + ',server')
        result = gen('run', '-', '--port', wire, '--json',
                     text='[[flow]]\nrate = "100 kframes/s"\nmessages = 50000\n')
        report = json.loads(result.stdout)
        self.assertEqual(result.returncode, 1)
        self.assertGreater(report['not_sent'], 0)
        self.assertEqual(report['frames'] + report['not_sent'], 50000)

    def test_a_duration_takes_the_place_of_the_default_number_of_messages(self):
        run = ('run', '-', '--port', 'net_null0', '--duration', '700ms')
        report = self.report(*run, text='[[flow]]\nrate = "2000 frames/s"\n')
        # Of 1,400 that are due; those that are due while the machine stands still at the end are not sent.
        self.assertGreater(report['frames'], 1000)
        self.assertLessEqual(report['frames'], 1400)
        for text in ('[[flow]]\nrate = "2000 frames/s"\nmessages = 100\n',
                     '[defaults]\nmessages = 50\n[[flow]]\nrate = "2000 frames/s"\n'):
            report = self.report(*run, text=text)
            self.assertLessEqual(report['frames'], 100)
            reached, = (each for each in report['verdict']['statements'] if each['name'] == 'reached')
            self.assertEqual(reached['colour'], 'amber')
            self.assertIn('the number of messages in the profile ended it', reached['reason'])

    def test_buffers_used_again_carry_nothing_of_what_they_held(self):
        # Short and long packets, lengths that vary, and damaged frames take turns in the same few
        # buffers; whoever gets them checks every ICRC, and every signature's or PSN's number.
        text = ('[[flow]]\nqps = 8\noperation = "write"\nmessage_size = 3000\nmessages = 1000\n'
                'first_psn = 0xfffff0\nsignature = true\nrate = "100 Mframes/s"\n'
                '[[flow]]\ndst_qp = 0x200\nmessage_size = { min = 0, max = 5000 }\n'
                'messages = 3000\nrate = "50 Mframes/s"\n'
                '[[flow]]\ndst_qp = 0x300\nmessages = 3000\npayload = "prbs31"\n'
                'signature = true\nrate = "50 Mframes/s"\n'
                'fault = [{ kind = "bad_icrc", rate = "10%" }]\n')
        report = self.report('run', '-', '--port', 'net_ring0', '--receive', 'net_ring0',
                             '--check-icrc', 'all', '--expect', 'loss<=20%', text=text)
        received, bad = report['received'], report['faults']['bad_icrc']
        self.assertEqual(received['frames'], report['frames'])
        self.assertGreater(bad, 0)
        self.assertEqual((received['icrc_checked'], received['bad_icrc']),
                         (report['frames'], bad))
        for flow in received['flows']:
            self.assertEqual(flow['lost'], flow['bad_icrc'])
            self.assertEqual((flow['duplicated'], flow['out_of_order'], flow['restarts']),
                             (0, 0, 0))

    def test_a_starved_pool_is_counted_and_no_hang(self):
        # Nobody reads these rings: together they hold more than there are buffers.
        rings = [f'net_ring{i}' for i in range(9)]
        result = gen('run', '-', '--port', *rings, '--json',
                     text='[[flow]]\nqps = 9\nmessages = 2000\nrate = "10 Mframes/s"\n')
        report = json.loads(result.stdout)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(report['frames'] + report['not_sent'], 9 * 2000)
        self.assertGreater(report['frames'], 4096)
        self.assertLessEqual(report['frames'], 8192)

    def test_ten_seconds_starved_or_stuck_end_with_a_report(self):
        text = '[[flow]]\nqps = 9\nrepeat = "forever"\nrate = "1 Mframes/s"\n'
        rings = {'stuck': 1, 'starved': 9}
        runs = {name: self.start(text, '--port', *(f'net_ring{i}' for i in range(ports)),
                                 '--duration', '10s', '--json', '--quiet')
                for name, ports in rings.items()}
        for name, run in runs.items():
            with self.subTest(name):
                report = json.loads(run.communicate(timeout=60)[0])
                self.assertEqual(run.returncode, 1)
                self.assertGreater(report['frames'], 0)
                self.assertLessEqual(report['frames'], 8192)
                self.assertGreater(report['not_sent'], 100_000)
                self.assertEqual(sum(flow['frames'] + flow['not_sent']
                                     for flow in report['flows'][0]['qps']),
                                 report['frames'] + report['not_sent'])
                self.assertLess(report['elapsed_ns'], 30e9)

    def test_a_burst_of_32_is_handed_over_as_one(self):
        report = self.report('run', '-', '--port', 'null',
                             text='[[flow]]\nburst = 32\nmessages = 3200\nmessage_size = 64\n'
                             'rate = "320 kframes/s"\n')
        self.assertEqual((report['frames'], report['audit']['bursts']), (3200, 100))

    def test_check_says_who_paces_a_port(self):
        # None here sends on timestamps.
        text = '[[flow]]\nmessages = 1\n'
        self.assertIn('port null: paced by this program\n',
                      self.done('check', '-', '--port', 'null', text=text))
        report = self.report('check', '-', '--port', 'null', text=text)
        self.assertEqual(report['ports'], [{'port': 'null', 'paced_by': 'program'}])
        self.assertEqual(gen('check', FLOWS / 'demo.toml', '--port', 'nowhere').returncode, 3)

    def test_a_socket_may_be_named_from_here(self):
        with subprocess.Popen([GEN, 'receive', '--port', 'memif:wire,server', '--count', '10',
                               '--json', '--quiet'], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as receiver:
            while 'waiting for the link' not in receiver.stderr.readline():
                pass
            sent = subprocess.run([GEN, 'run', '-', '--port', 'memif:wire', '--quiet'],
                                  cwd=self.folder, input='[[flow]]\nmessages = 10\n',
                                  capture_output=True, text=True)
            self.assertEqual(sent.returncode, 0, sent.stderr)
            self.assertEqual(json.loads(receiver.communicate(timeout=60)[0])['frames'], 10)

    def test_the_null_port_takes_all(self):
        report = self.report('run', '-', '--port', 'null', '--count', '300', text=self.PROFILE)
        self.assertEqual((report['frames'], report['not_sent']), (300, 0))


if __name__ == '__main__':
    longwire_test.main()
