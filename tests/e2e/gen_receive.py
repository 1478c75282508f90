# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen as an instrument: what it counts of frames that were dropped, swapped, doubled, damaged
and delayed in known ways, what a run measures of itself, and what people see meanwhile."""

import csv
import json
import os
import pathlib
import random
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from pcap_file import read_pcap, write_pcap

import longwire_test
import needs
import verdict_outputs

GEN = longwire_test.program('roce-gen')
LOOP = 'net_ring0'  # what is sent there comes back

def resealed(frame):
    """A RoCEv2 frame whose bytes were changed, with a right IPv4 checksum and a right ICRC (annex A17)."""
    data = bytearray(frame)
    v6 = data[12:14] == b'\x86\xdd'
    udp = 14 + (40 if v6 else 20)
    end = len(data) - 4
    masked = bytearray(data[14:end])
    if v6:
        masked[0] |= 0x0F
        masked[1:4] = b'\xff' * 3
        masked[7] = 0xFF
    else:
        words = struct.unpack('>10H', data[14:24] + bytes(2) + data[26:34])
        total = sum(words)
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        data[24:26] = (~total & 0xFFFF).to_bytes(2, 'big')
        masked[1] = masked[8] = masked[10] = masked[11] = 0xFF
    masked[udp - 14 + 6:udp - 14 + 8] = b'\xff\xff'
    masked[udp - 14 + 8 + 4] = 0xFF
    data[end:] = zlib.crc32(b'\xff' * 8 + masked).to_bytes(4, 'little')
    return bytes(data)


PROFILE = '''
    name = "two"
    [defaults]
    signature = true
    rate = "20 kframes/s"
    [[flow]]
    name = "write"
    operation = "write"
    message_size = 4000
    messages = 500
    [[flow]]
    name = "send6"
    source = "2001:db8::1"
    transport = "ud"
    message_size = 100
    messages = 1000
    dst_qp = 0x77
    '''


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def path(self, name):
        return str(self.folder / name)

    def gen(self, *arguments, text=None, expect=0):
        rate = longwire_test.ANY_RATE if arguments[0] == 'run' and '--port' in arguments else ()
        done = subprocess.run([GEN, *map(str, arguments), *rate], input=text, capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return done.stdout

    def report(self, *arguments, text=None, expect=0):
        return json.loads(self.gen(*arguments, '--json', text=text, expect=expect))

    def profile(self, expect=''):
        path = self.path('profile.toml')
        pathlib.Path(path).write_text(PROFILE + expect)
        return path


class KnownDamage(InFolder):
    """Frames in a file, changed by hand: the account must be that of the hand."""

    def setUp(self):
        super().setUp()
        self.gen('run', self.profile(), '--pcap', self.path('sent.pcap'))
        self.frames = read_pcap(self.path('sent.pcap'))
        # Each flow's places in the file: the first is IPv4, the second IPv6.
        self.places = [[i for i, (_, data) in enumerate(self.frames)
                        if data[12:14] == ethertype] for ethertype in (b'\x08\0', b'\x86\xdd')]
        self.assertEqual([len(p) for p in self.places], [2000, 1000])

    def received(self, *options, expect=0):
        write_pcap(self.path('came.pcap'), self.frames)
        return self.report('receive', '--port', 'pcap:' + self.path('came.pcap'), '--profile',
                           self.path('profile.toml'), *options, expect=expect)

    def flows(self, *options):
        return {flow['name']: flow for flow in self.received(*options)['flows']}

    def test_nothing_done_nothing_found(self):
        report = self.received()
        self.assertEqual(report['frames'], 3000)
        self.assertEqual(report['icrc_checked'], 3000)
        for flow, frames in zip(report['flows'], (2000, 1000), strict=True):
            self.assertEqual(flow['frames'], frames)
            for figure in ('lost', 'duplicated', 'out_of_order', 'bad_icrc', 'restarts'):
                self.assertEqual(flow[figure], 0)
            self.assertEqual(flow['latency_ns']['max'], 0)

    def test_drops_swaps_and_copies_are_counted_exactly(self):
        write, send = self.places
        frames = list(self.frames)
        # Neighbours of one flow change places; three are copied behind themselves; ten are taken.
        for i in (10, 400, 1900):
            a, b = write[i], write[i + 1]
            frames[a], frames[b] = frames[b], frames[a]
        gone = {send[i] for i in (0, 1, 500, 700, 701, 702, 703, 704, 998, 3)}
        copied = {write[700], write[1000], send[600]}
        self.frames = [frame for i, frame in enumerate(frames) if i not in gone
                       for _ in range(2 if i in copied else 1)]
        flows = self.flows('--expect', 'loss<=2%')
        figures = ('frames', 'lost', 'duplicated', 'out_of_order')
        self.assertEqual([flows['write'][f] for f in figures], [2002, 0, 2, 3])
        self.assertEqual(flows['write']['reordering'], {'max_extent': 1, 'extents': [[1, 1, 3]]})
        self.assertEqual([flows['send6'][f] for f in figures], [991, 10, 1, 0])

    def test_a_frame_held_back_has_its_extent(self):
        send = self.places[1]
        late = self.frames[send[100]]
        self.frames.insert(send[140] + 1, late)
        del self.frames[send[100]]
        flow = self.flows()['send6']
        self.assertEqual((flow['lost'], flow['out_of_order']), (0, 1))
        self.assertEqual(flow['reordering']['max_extent'], 40)

    def test_damage_is_found_whatever_the_sample(self):
        chance = random.Random(1)
        for place in chance.sample(range(3000), 40):
            stamp, data = self.frames[place]
            at = chance.randrange(66, len(data))  # behind the addresses, the ICRC too
            self.frames[place] = (stamp, data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:])
        most = ('--expect', 'loss<=5%')
        every = self.received(*most)
        self.assertEqual(every['bad_icrc'], 40)
        self.assertEqual(sum(f['lost'] for f in every['flows']), 40)
        none = self.received('--check-icrc', 'none', *most)
        self.assertEqual((none['icrc_checked'], none['bad_icrc']), (0, 0))
        sample = self.received('--check-icrc', '100', *most)
        self.assertGreaterEqual(sample['icrc_checked'], 30)
        self.assertLess(sample['icrc_checked'], 300)

    def test_joining_counts_from_the_first(self):
        del self.frames[:1000]
        self.assertGreater(sum(f['lost'] for f in self.received(expect=1)['flows']), 900)
        self.assertEqual(sum(f['lost'] for f in self.received('--join')['flows']), 0)

    def test_a_delay_is_measured_to_the_nanosecond(self):
        self.frames = [(stamp + 1_903_500, data) for stamp, data in self.frames]
        for flow in self.flows('--histogram', self.path('h.csv')).values():
            latency = flow['latency_ns']
            self.assertEqual({latency[k] for k in ('min', 'p50', 'p99_99', 'max')}, {1_903_500})
            self.assertEqual(flow['jitter_ns'], 0)
        with open(self.path('h.csv'), newline='', encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(r['flow'], r['count']) for r in rows],
                         [('write', '2000'), ('send6', '1000')])
        for row in rows:
            first, last = int(row['first']), int(row['last'])
            self.assertLessEqual(first, 1_903_500)
            self.assertLessEqual(1_903_500, last)
            self.assertLess(last - first, 0.001 * first)

    def test_an_emulated_path_is_measured_as_it_was_asked_for(self):
        pathlib.Path(self.path('path.toml')).write_text(
            '[[rule]]\nname = "haul"\ndelay = "1.9ms"\nloss = "1%"\n')
        done = subprocess.run(
            [longwire_test.program('roce-impair'), 'replay', self.path('path.toml'),
             self.path('sent.pcap'), self.path('bent.pcap'), '--json'],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        dropped = json.loads(done.stdout)['directions'][0]['dropped_by_rule']['frames']
        report = self.report('receive', '--port', 'pcap:' + self.path('bent.pcap'))
        self.assertGreater(dropped, 0)
        # What is lost behind a flow's last frame nobody can see.
        self.assertAlmostEqual(sum(f['lost'] for f in report['flows']), dropped, delta=2)
        for flow in report['flows']:
            self.assertEqual((flow['latency_ns']['min'], flow['latency_ns']['max']),
                             (1_900_000, 1_900_000))
            self.assertEqual(flow['out_of_order'] + flow['duplicated'], 0)

    def test_expectations(self):
        self.profile('[expect]\nloss = 0\np99 = "< 2ms"\nrate_error = "1%"\n')
        verdict = self.received()['verdict']
        self.assertEqual((verdict['colour'], verdict['headline']),
                         ('amber', 'cannot tell: rate_error is not observed here: the sender observes it'))
        self.frames = [(stamp + 2_000_000, data) for stamp, data in self.frames]
        del self.frames[self.places[0][7]]
        verdict = self.received(expect=1)['verdict']
        self.assertEqual(verdict_outputs.broken(verdict),
                         [('write', 'loss'), ('write', 'p99'), ('send6', 'p99')])
        self.frames = [f for f in self.frames if f[1][12:14] == b'\x08\0']
        broken = verdict_outputs.broken(self.received(expect=1)['verdict'])
        self.assertIn(('send6', 'loss'), broken)

    def test_a_missing_end_is_seen(self):
        self.profile('[expect]\nloss = 0\n')
        gone = set(self.places[0][1500:])  # 500 of 2,000
        self.frames = [frame for i, frame in enumerate(self.frames) if i not in gone]
        verdict = self.received(expect=1)['verdict']
        self.assertEqual([each['observed'] for each in verdict_outputs.red(verdict)],
                         ['500 of 2,000 frames never came (25 %)'])
        self.profile('[expect]\np99 = "1s"\n')
        verdict = self.received(expect=1)['verdict']
        self.assertEqual(verdict_outputs.observed(verdict, 'loss'),
                         '500 of 3,000 frames never came (16.7 %)')
        self.profile('[expect]\nloss = "30%"\n')
        self.assertEqual(self.received()['verdict']['colour'], 'green')

    def test_only_what_came_excuses_a_missing_end(self):
        """Damage and deliberate faults before the end do not stand for the frames that are missing
        there; frames that came damaged behind the last good one do."""
        self.profile()
        whole, write = list(self.frames), self.places[0]

        def lost(gone, damaged, expect=1):
            frames = [(stamp, data if i not in damaged else data[:-9] + bytes([data[-9] ^ 1]) +
                       data[-8:]) for i, (stamp, data) in enumerate(whole)]
            self.frames = [frame for i, frame in enumerate(frames) if i not in gone]
            report = self.received(expect=expect)
            return {flow['name']: flow['lost'] for flow in report['flows']}['write']

        last = set(write[-5:])
        self.assertEqual(lost(last, set(write[10:15])), 5 + 5)
        self.assertEqual(lost(set(), last, expect=0), 0)
        self.assertEqual(lost(set(write[-2:]), set(write[-4:-2])), 2)
        for kind in ('psn_gap', 'bad_icrc', 'short_middle', 'wrong_tver'):
            path = pathlib.Path(self.profile())
            path.write_text(path.read_text().replace('messages = 500', 'messages = 500\n' +
                            f'fault = [{{ kind = "{kind}", frames = [10, 20, 30, 40, 50] }}]'))
            self.gen('run', path, '--pcap', self.path('sent.pcap'))
            frames = read_pcap(self.path('sent.pcap'))
            ours = [i for i, (_, data) in enumerate(frames) if data[12:14] == b'\x08\0']
            self.frames = [frame for i, frame in enumerate(frames) if i not in ours[-5:]]
            write, = (flow for flow in self.received(expect=1)['flows'] if flow['name'] == 'write')
            self.assertIn(write['lost'], (5, 5 + 5), kind)  # a damaged frame is lost too

    def test_random_streams_are_counted_exactly(self):
        """The truth is that of this loop: which frames it let through, in which order."""
        path = pathlib.Path(self.path('profile.toml'))
        path.write_text('[[flow]]\nname = "f"\noperation = "write"\nsignature = true\n'
                        'messages = 60\nmessage_size = 2000\n')
        self.gen('run', path, '--pcap', self.path('sent.pcap'))
        sent = read_pcap(self.path('sent.pcap'))
        for seed in range(200):
            draw = random.Random(seed)
            loss, copies, damage, order = (draw.choice((0, 0.02, 0.2)) for _ in range(4))
            stream = [(number, draw.random() < damage) for number in range(len(sent))
                      if draw.random() >= loss]
            if draw.random() < 0.5:
                del stream[len(stream) - draw.randrange(1, 10):]
            stream = [each for each in stream for _ in range(2 if draw.random() < copies else 1)]
            for at in range(len(stream) - 1):
                if draw.random() < order:
                    to = min(len(stream) - 1, at + draw.randrange(1, 30))
                    stream.insert(to, stream.pop(at))
            good, damaged, late, again, newest = set(), set(), 0, 0, -1
            for number, bad in stream:
                if bad:
                    damaged.add(number)
                elif number in good:
                    again += 1
                else:
                    late += number < newest
                    good.add(number)
                    newest = max(newest, number)
            self.frames = []
            for at, (number, bad) in enumerate(stream):
                data = bytearray(sent[number][1])
                data[-5] ^= bad << draw.randrange(8)
                self.frames.append((sent[0][0] + 1000 * at, bytes(data)))
            missing = len(sent) - 1 - newest - sum(number > newest for number in damaged)
            gaps = newest + 1 - len(good)
            report = self.received(expect=1 if missing + gaps else 0)
            (flow,) = report['flows']
            self.assertEqual(
                (flow['frames'], flow['lost'], flow['duplicated'], flow['out_of_order'],
                 report['bad_icrc']),
                (len(good) + again, gaps + missing, again, late, sum(bad for _, bad in stream)), seed)
            self.assertEqual(verdict_outputs.broken(report['verdict']),
                             [(None, 'loss')] if missing + gaps else [])

    def test_flows_that_do_not_come_are_listed(self):
        self.profile()
        self.frames = [f for f in self.frames if f[1][12:14] == b'\x08\0']
        report = self.received(expect=1)
        names = {flow['name']: flow for flow in report['flows']}
        self.assertEqual((names['send6']['frames'], names['send6']['lost']), (0, 1000))
        self.assertEqual(names['send6']['source'], '2001:db8::1')
        self.assertEqual(verdict_outputs.observed(report['verdict'], 'loss'),
                         '1,000 of 3,000 frames never came (33.3 %)')

    def test_the_sender_s_report_has_the_last_word(self):
        """Endless flows, and runs that --count ends early."""
        path = self.profile()
        endless = pathlib.Path(path).read_text().replace('messages = 1000',
                                                         'repeat = "forever"')
        pathlib.Path(path).write_text(endless)
        sent = self.report('run', path, '--pcap', self.path('sent.pcap'), '--count', '600',
                           '--report-to', self.path('sent.json'))
        self.frames = read_pcap(self.path('sent.pcap'))
        self.assertEqual(json.loads((self.folder / 'sent.json').read_text()), sent)
        unknown = self.received(expect=1)['verdict']  # of "write", the profile knows 2,000
        self.assertIn('the end of send6, as it repeats forever',
                      verdict_outputs.named(unknown, 'loss')[0]['reason'])
        whole = self.received('--sent', self.path('sent.json'))['verdict']
        self.assertEqual(whole['colour'], 'green', whole['headline'])
        self.frames = self.frames[:-40]
        short = self.received('--sent', self.path('sent.json'), expect=1)['verdict']
        self.assertIn('40 of 600 frames never came', verdict_outputs.observed(short, 'loss'))

    def test_a_report_comes_through_a_socket(self):
        for place in ('unix:' + self.path('report'), 'tcp:127.0.0.1:47118'):
            write_pcap(self.path('came.pcap'), self.frames[:-1])
            receiver = longwire_test.begin(
                self, [GEN, 'receive', '--port', 'pcap:' + self.path('came.pcap'), '--profile',
                       self.path('profile.toml'), '--sent', place, '--json'])
            self.gen('run', self.path('profile.toml'), '--pcap', self.path('sent.pcap'),
                     '--report-to', place)
            out, _ = receiver.communicate(timeout=60)
            self.assertEqual(receiver.returncode, 1)
            self.assertIn('1 of 3,000 frames never came', json.loads(out)['verdict']['headline'])
        self.assertFalse(os.path.exists(self.path('report')))

    def test_a_report_is_taken_from_its_sender_only(self):
        """Others deliver something else before, from 127.0.0.2: a report of any length, none, a part."""
        place = 'tcp:127.0.0.1:47119'
        write_pcap(self.path('came.pcap'), self.frames[:-1])
        receiver = longwire_test.begin(
            self, [GEN, 'receive', '--port', 'pcap:' + self.path('came.pcap'), '--profile',
                   self.path('profile.toml'), '--sent', place, '--sent-from', '127.0.0.1', '--json'])
        for first in (b'{}\n', b'', b'{', b'x' * 1_000_000):
            self.deliver(first, ('127.0.0.2', 0))
        self.deliver(b'x' * 1_000_000, ('127.0.0.1', 0))
        self.gen('run', self.path('profile.toml'), '--pcap', self.path('sent.pcap'), '--report-to', place)
        out, errors = receiver.communicate(timeout=60)
        self.assertEqual(receiver.returncode, 1, errors)
        self.assertIn('1 of 3,000 frames never came', json.loads(out)['verdict']['headline'])

    def deliver(self, text, near):
        end = time.monotonic() + 60
        while True:
            try:
                sender = socket.create_connection(('127.0.0.1', 47119), timeout=30, source_address=near)
                break
            except ConnectionRefusedError:  # it does not listen yet
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
        self.addCleanup(sender.close)
        try:
            sender.sendall(text)
        except OSError:  # refused before all of it was sent
            pass

    def test_a_report_is_bounded(self):
        write_pcap(self.path('came.pcap'), self.frames)
        done = subprocess.run([GEN, 'receive', '--port', 'pcap:' + self.path('came.pcap'), '--profile',
                               self.path('profile.toml'), '--sent', '/dev/zero'],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn('expected at most', done.stderr)

    def test_wrong_reports_are_refused(self):
        path = self.path('profile.toml')
        for text, message in (('{}', 'other text'), ('{"flows":[]}', 'fewer flows')):
            (self.folder / 'sent.json').write_text(text + '\n')
            write_pcap(self.path('came.pcap'), self.frames)
            done = subprocess.run([GEN, 'receive', '--port', 'pcap:' + self.path('came.pcap'),
                                   '--profile', path, '--sent', self.path('sent.json')],
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(message, done.stderr)

    def test_wrong_expectations_are_refused_with_their_places(self):
        self.profile('[expect]\nloss = 2\np99 = "fast"\np98 = "1ms"\n')
        done = subprocess.run([GEN, 'check', self.path('profile.toml')], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        first = PROFILE.count('\n') + 2
        lines = [int(line.split(':')[1]) for line in done.stderr.splitlines()]
        self.assertEqual(lines, [first, first + 1, first + 2])


class AsAsked(InFolder):
    """One frame in one field is not as its profile fixes it, with a right ICRC."""
    FLOW = '''
        [[flow]]
        name = "f"
        operation = "{operation}"
        transport = "{transport}"
        message_size = {size}
        messages = 12
        signature = {signature}
        payload = "{payload}"
        {addresses}
        '''
    ADDRESSES = ('', 'source = "2001:db8::1"\ndestination = "2001:db8::2"')

    def sent(self, addresses, *, operation='write', transport='rc', size=2500, signature='true',
             payload='counter', seed=()):
        pathlib.Path(self.path('flow.toml')).write_text(self.FLOW.format(
            operation=operation, transport=transport, size=size, signature=signature, payload=payload,
            addresses=addresses))
        self.gen('run', self.path('flow.toml'), '--pcap', self.path('sent.pcap'), *seed)
        return [data for _, data in read_pcap(self.path('sent.pcap'))]

    def received(self, frames, expect=0):
        write_pcap(self.path('came.pcap'), [(1000 * i, data) for i, data in enumerate(frames)])
        return self.report('receive', '--port', 'pcap:' + self.path('came.pcap'), '--profile',
                           self.path('flow.toml'), expect=expect)

    @staticmethod
    def counted(report):
        """The fields in which frames differ, with their numbers."""
        fields = {}
        for flow in report['flows']:
            for key, value in flow.items():
                if key.startswith('other_') and key != 'other_naks' and value:
                    fields[key[6:]] = fields.get(key[6:], 0) + value
        return fields

    def check_one(self, frames, at, offset, value, wanted):
        """`value` is added to the byte at `offset` of frame `at`."""
        data = bytearray(frames[at])
        data[offset] = (data[offset] + value) % 256
        report = self.received([*frames[:at], resealed(data), *frames[at + 1:]],
                               expect=1 if wanted else 0)
        self.assertEqual(report['bad_icrc'], 0)
        self.assertEqual(self.counted(report), wanted)
        red = [each['name'] for each in verdict_outputs.red(report['verdict'])]
        self.assertEqual(red, ['as_asked'] if wanted else [])
        self.assertEqual([(flow['name'], flow['lost']) for flow in report['flows']], [('f', 0)])

    def test_each_field_of_a_signed_frame(self):
        for addresses, network in zip(self.ADDRESSES, (20, 40), strict=True):
            for payload in ('counter', 'zeros', 'prbs31'):
                frames = self.sent(addresses, payload=payload)
                bth = 14 + network + 8
                self.assertEqual(self.counted(self.received(frames)), {})
                first, last = 14 + network - 8, 14 + network - 1
                ends = {first + 3: 'source', last: 'destination'} if network == 20 else {
                    14 + 23: 'source', last: 'destination'}
                for offset, field in ends.items():
                    self.check_one(frames, 5, offset, 1, {field: 1})
                self.check_one(frames, 5, bth + 7, 1, {'dest_qp': 1})
                self.check_one(frames, 5, bth + 3, 255, {'pkey': 1})
                self.check_one(frames, 7, bth + 11, 3, {'psn': 1})
                self.check_one(frames, 7, bth, 1, {'opcode': 1})  # a MIDDLE as LAST
                for at in (bth + 12 + 24, len(frames[7]) - 5):  # behind the signature, and the last
                    self.check_one(frames, 7, at, 1, {'payload': 1})
                # Nothing that the profile leaves open: hop limit, ECN, UDP source port.
                self.check_one(frames, 7, 14 + (8 if network == 20 else 7), 1, {})
                self.check_one(frames, 7, 14 + network, 1, {})

    def test_payloads_of_another_seed_are_as_asked(self):
        frames = self.sent('', payload='prbs31', seed=('--seed', '77'))
        self.assertEqual(self.counted(self.received(frames)), {})

    def test_a_shorter_payload_is_not_as_asked(self):
        frames = self.sent('', transport='uc', operation='send', size=600)
        data = bytearray(frames[4][:-4 - 8] + bytes(4))
        length = len(data) - 14
        data[16:18] = length.to_bytes(2, 'big')
        data[38:40] = (length - 20).to_bytes(2, 'big')
        report = self.received([*frames[:4], resealed(data), *frames[5:]], expect=1)
        self.assertEqual(self.counted(report), {'payload': 1})

    def test_each_field_of_a_frame_without_signature(self):
        for addresses, network in zip(self.ADDRESSES, (20, 40), strict=True):
            for transport in 'rc', 'uc':
                frames = self.sent(addresses, transport=transport, signature='false')
                bth = 14 + network + 8
                self.assertEqual(self.counted(self.received(frames)), {})
                self.check_plain(frames, 5, bth + 3, {'pkey': 1})
                self.check_plain(frames, 7, bth, {'opcode': 1})
                self.check_plain(frames, 7, bth + 20, {'payload': 1})
                # Behind the flow's last PSN: no frame of the profile.
                self.check_plain(frames, 35, bth + 10, {'psn': 1})

    def check_plain(self, frames, at, offset, wanted):
        data = bytearray(frames[at])
        data[offset] = (data[offset] + 1) % 256
        report = self.received([*frames[:at], resealed(data), *frames[at + 1:]], expect=1)
        self.assertEqual(self.counted(report), wanted)

    def test_a_misdelivered_frame_counts_in_its_flow(self):
        """Frames of one flow to other addresses neither begin a flow nor are lost."""
        frames = self.sent('')
        for at in range(0, 36, 5):
            data = bytearray(frames[at])
            data[14 + 19] ^= 0x40
            frames[at] = resealed(data)
        report = self.received(frames, expect=1)
        self.assertEqual(self.counted(report), {'destination': 8})
        self.assertEqual([(flow['frames'], flow['lost']) for flow in report['flows']], [(36, 0)])

    def test_copies_do_not_touch_latency(self):
        self.sent('')
        sent = read_pcap(self.path('sent.pcap'))
        frames = [(stamp + 5000 + 100 * i, data) for i, (stamp, data) in enumerate(sent)]
        end = frames[-1][0]
        copies = [(end + 1000 * i, data) for i, (_, data) in enumerate(frames[:20] + frames[::-1], 1)]
        seen = []
        for came in frames, [*frames, *copies]:
            write_pcap(self.path('came.pcap'), came)
            [flow] = self.report('receive', '--port', 'pcap:' + self.path('came.pcap'))['flows']
            seen.append((flow['duplicated'], flow['latency_ns'], flow['jitter_ns']))
        self.assertEqual([copied for copied, *_ in seen], [0, 56])
        self.assertEqual(seen[0][1:], seen[1][1:])
        self.assertEqual(seen[0][1]['max'], 5000 + 100 * 35)


class ReliableDatagrams(InFolder):
    """RD: PSNs are those of the end-to-end context, which several QPs may use."""

    def lost(self, signature, contexts, gone, profile=()):
        text = f'[defaults]\ntransport = "rd"\nmessages = 30\nmessage_size = 100\nsignature = {signature}\n'
        for qp, context in enumerate(contexts, 0x20):
            text += f'[[flow]]\noperation = "send"\ndst_qp = {qp}\nee_context = {context}\n'
        pathlib.Path(self.path('rd.toml')).write_text(text)
        self.gen('run', self.path('rd.toml'), '--pcap', self.path('sent.pcap'))
        frames = [f for i, f in enumerate(read_pcap(self.path('sent.pcap'))) if i not in gone]
        write_pcap(self.path('came.pcap'), frames)
        done = subprocess.run([GEN, 'receive', '--port', 'pcap:' + self.path('came.pcap'), '--json',
                               *profile], capture_output=True, text=True, timeout=60, check=False)
        return [flow['lost'] for flow in json.loads(done.stdout)['flows']]

    def test_loss_is_followed_or_unknown(self):
        known = ('--profile', self.path('rd.toml'))
        # Frames 10 to 13 of two flows that send by turns: two of each.
        gone = {10, 11, 12, 13}
        self.assertEqual(self.lost('true', (1, 1), gone), [2, 2])
        self.assertEqual(self.lost('false', (1, 2), gone), [2, 2])
        self.assertEqual(self.lost('false', (1, 1), gone), [None, None])
        self.assertEqual(self.lost('false', (7,), gone), [4])
        self.assertEqual(self.lost('false', (1, 1), gone, known), [2, 2])
        self.assertEqual(self.lost('true', (1, 1), gone, known), [2, 2])


class OneProcess(InFolder):
    """Sending and measuring with one clock."""

    def check_loop(self, sends, receives):
        report = self.report('run', self.profile('[expect]\nloss = 0\n'), '--port', sends,
                             '--receive', receives, '--series', self.path('s.csv'), '--interval',
                             '20ms', '--histogram', self.path('h.csv'), '--wait', '10s')
        self.assertEqual((report['frames'], report['not_sent']), (3000, 0))
        self.assertEqual(report['received']['frames'], 3000)
        verdict_outputs.check_itself(self, report['verdict'])
        for flow, frames in zip(report['received']['flows'], (2000, 1000), strict=True):
            self.assertEqual((flow['frames'], flow['sent'], flow['lost']), (frames, frames, 0))
            self.assertEqual(flow['lost'] + flow['duplicated'] + flow['out_of_order'], 0)
            self.assertEqual(flow['latency_ns']['count'], frames)
            self.assertGreater(flow['latency_ns']['min'], 0)
        audit = report['audit']
        self.assertGreater(audit['bursts'], 0)
        self.assertGreaterEqual(audit['pacing_error_ns']['min'], 0)
        self.assertGreaterEqual(audit['icrc_checked'], 1)
        self.assertEqual(audit['bad_icrc'], 0)
        with open(self.path('s.csv'), newline='', encoding='utf-8') as file:
            rows = list(csv.DictReader(file))
        for figure in ('sent_frames', 'received_frames'):
            self.assertEqual(sum(int(row[figure]) for row in rows), 3000)
        self.assertEqual({row['flow'] for row in rows}, {'write', 'send6'})
        with open(self.path('h.csv'), newline='', encoding='utf-8') as file:
            self.assertEqual(sum(int(row['count']) for row in csv.DictReader(file)), 3000)

    def test_a_port_that_loops_back(self):
        self.check_loop(LOOP, LOOP)

    def test_two_ends_of_a_wire(self):
        self.check_loop(f'memif:{self.path("wire")},server', f'memif:{self.path("wire")}')

    def test_what_never_comes_is_lost(self):
        report = self.report('run', self.profile('[expect]\nloss = "50%"\n'), '--port', 'null',
                             '--receive', LOOP, '--wait', '50ms', expect=1)
        self.assertEqual(report['received']['frames'], 0)
        self.assertEqual(verdict_outputs.broken(report['verdict'])[-2:],
                         [('write', 'loss'), ('send6', 'loss')])

    def test_a_flow_that_never_comes_fails_the_run(self):
        for signature in ('true', 'false'):
            path = pathlib.Path(self.path('dead.toml'))
            path.write_text(f'[defaults]\nsignature = {signature}\nmessages = 20\n'
                            '[[flow]]\nname = "ok"\n[[flow]]\nname = "dead"\ndst_qp = 0x77\n')
            command = ('run', path, '--port', LOOP, 'null', '--receive', LOOP, '--wait', '100ms')
            report = self.report(*command, '--expect', 'received.flows.*.frames >= 0', expect=1)
            ok, dead = report['received']['flows']
            self.assertEqual((ok['frames'], ok['lost']), (20, 0))
            self.assertEqual((dead['frames'], dead['sent'], dead['lost']), (0, 20, 20))
            self.assertIn('20 of 40 frames never came', verdict_outputs.observed(report['verdict'], 'loss'))
            text = self.gen(*command, expect=1)
            self.assertIn('does not hold: 20 of 40 frames never came (50 %)', text)
            self.gen(*command, '--expect', 'received.flows.*.nothing == 0', expect=2)

    def test_a_sender_is_held_to_its_rate_and_its_pacing(self):
        bounds = '[expect]\nrate_error = "100%"\nnot_sent = 0\npacing_max = "1min"\n'
        self.report('run', self.profile(bounds), '--port', 'null')
        report = self.report('run', self.profile('[expect]\npacing_max = "0ns"\n'), '--port',
                             'null', expect=1)
        self.assertEqual(verdict_outputs.broken(report['verdict']), [(None, 'pacing_max')])

    def test_wrong_use(self):
        for wrong in (['--check-icrc', 'some'], ['--interval', '0s'], ['--check-icrc', '0'],
                      ['--profile', '/nonexistent'], ['--expect', 'demo']):
            self.gen('receive', '--port', LOOP, '--count', '0', *wrong, expect=2)
        self.gen('run', self.profile(), '--pcap', self.path('x'), '--receive', LOOP, expect=2)
        self.gen('run', self.profile(), '--port', LOOP, '--series', '/nonexistent/x', expect=3)


def ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True)


@needs.root('interfaces')
class UntilIdle(InFolder):
    """--until-idle beside frames that the receiver does not measure, sent from the far end of a veth."""
    ENDS = f'lwi{os.getpid()}n', f'lwi{os.getpid()}f'
    IDLE = 0.3  # s
    # A router solicitation, with which a kernel greets each new interface, and who has 192.0.2.1.
    SOLICITATION = bytes.fromhex(
        '333300000002' '020000000001' '86dd' '60000000' '0008' '3aff'
        'fe80000000000000' '00000000000000aa' 'ff02000000000000' '0000000000000002'
        '85007c8d' '00000000')
    ARP = bytes.fromhex('ffffffffffff' '020000000001' '0806' '0001080006040001' '020000000001'
                        'c0000202' '000000000000' 'c0000201').ljust(60, b'\0')

    def setUp(self):
        super().setUp()
        near, far = self.ENDS
        try:
            ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far)
        except (OSError, subprocess.CalledProcessError) as error:
            needs.lacks('interfaces', error)
        self.addCleanup(ip, 'link', 'del', near)
        for end in self.ENDS:
            ip('link', 'set', end, 'addrgenmode', 'none', 'mtu', '9000', 'up')
        self.gen('run', self.profile(), '--pcap', self.path('sent.pcap'))
        self.roce = read_pcap(self.path('sent.pcap'))[0][1]
        self.wire = self.enterContext(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
        self.wire.bind((near, 0))
        self.receiver = longwire_test.begin(self, [GEN, 'receive', '--port', far, '--until-idle',
                                                   f'{self.IDLE}s', '--json', '--quiet'])
        while (line := self.receiver.stderr.readline()) != 'ready\n':
            self.assertTrue(line)

    def ended(self):
        """The receiver's report, when it has ended."""
        out, errors = self.receiver.communicate(timeout=60)
        self.assertEqual(self.receiver.returncode, 0, errors)
        return json.loads(out)

    def check_it_waits_beside(self, frame):
        for _ in range(5):
            self.wire.send(frame)
        time.sleep(3 * self.IDLE)
        self.assertIsNone(self.receiver.poll(), 'it ended before a frame that it measures')
        self.wire.send(self.roce)
        report = self.ended()
        self.assertEqual((report['frames'], report['roce']), (6, 1))

    def test_it_waits_for_a_measured_frame_beside_router_solicitations(self):
        self.check_it_waits_beside(self.SOLICITATION)

    def test_it_waits_for_a_measured_frame_beside_arp(self):
        self.check_it_waits_beside(self.ARP)

    def test_frames_that_are_not_measured_do_not_keep_it_up(self):
        self.wire.send(self.roce)
        end = time.monotonic() + 60
        while self.receiver.poll() is None:
            self.assertLess(time.monotonic(), end, 'it goes on after the last frame that it measures')
            self.wire.send(self.SOLICITATION)
            self.wire.send(self.ARP)
            time.sleep(self.IDLE / 20)
        report = self.ended()
        self.assertEqual(report['roce'], 1)
        self.assertGreater(report['frames'], 1)


class Example(InFolder):
    def test_the_sweep(self):
        sweep = longwire_test.SOURCE / 'gen' / 'examples' / 'sweep.py'
        done = subprocess.run(
            [sys.executable, str(sweep), '--gen', GEN, '--port', LOOP, '--receive', LOOP, '--json',
             '--sizes', '64', '5000', '--rate', '50Mb/s', '--seconds', '0.1'],
            capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([row['size'] for row in rows], [64, 5000])
        for row in rows:
            self.assertGreater(row['frames'], 0)
            self.assertEqual(row['lost'], 0)


if __name__ == '__main__':
    longwire_test.main()
