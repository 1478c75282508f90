# SPDX-License-Identifier: BSD-3-Clause
"""sessions, messages and anomalies of roce-dissect: no false alarm in captures without loss, frames
that a capture missed, golden reports, and tshark's listing of the same captures."""

import collections
import csv
import io
import json
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from capture_files import OWN, RXE, captures, tshark_of, without_loss
from longwire_test import SOURCE, program
from pcap_file import read_pcap, write_pcap
from pcapng_file import read_pcapng, write_pcapng

GOLDEN = SOURCE / 'tests' / 'golden'
REPORTS = ('connections', 'anomalies')
PSNS = 1 << 24
# What isn't an alarm: it is true of traffic in which nothing is wrong.
OBSERVATIONS = ('window_plateau',)

# The first 60 ACKs are lost behind the server.
NO_ACKS = f'''
[[rule]]
name = "haul"
delay = "100us"
[[event]]
name = "no ACKs"
direction = "east-to-west"
on = "ack"
occurrence = {list(range(1, 61))}
action = "drop"
'''

ACK, ATOMIC_ACK = 17, 18
READ_RESPONSES = (13, 14, 15, 16)
RC, UC, UD = 0, 1, 3  # the upper three bits of an opcode


def dissect(*words):
    return subprocess.run([program('roce-dissect'), *map(str, words)], capture_output=True,
                          text=True, cwd=SOURCE, check=False)


def rows(command, *words):
    done = dissect(command, *words, '--json')
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def alarms(*words):
    return [row for row in rows('anomalies', *words) if row['kind'] not in OBSERVATIONS]


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def pcap(self, frames):
        write_pcap(self.folder / 'made.pcap', frames)
        return self.folder / 'made.pcap'

    def gen(self, *words):
        subprocess.run([program('roce-gen'), *map(str, words)], check=True, capture_output=True)

    def simulated(self, *words):
        path = self.folder / 'simulated.pcapng'
        delay = () if '--path' in words else ('--delay', '100us')
        self.gen('sim', *delay, '--pcap', path, '--pcap-at', 'client-out',
                 '--pcap-at', 'server-in', '--pcap-at', 'server-out', '--pcap-at', 'client-in',
                 *words)
        return path


class NoFalseAlarm(InFolder):
    def test_whole_captures(self):
        for path in without_loss():
            with self.subTest(path.stem):
                self.assertEqual(alarms(path), [])
                self.assertGreater(len(rows('connections', path)), 0)

    def test_one_direction(self):
        for path in without_loss():
            sources = {(row['ip.src'] if row.get('ip.src') else row.get('ipv6.src'))
                       for row in tshark_of(path)} - {None, ''}
            for source in sources:
                with self.subTest(f'{path.stem} from {source}'):
                    self.assertEqual(alarms(path, '--filter', f'src host {source}'), [])

    def test_a_part_of_a_capture(self):
        for path in without_loss():
            frames = read_pcap(path)
            for cut in sorted({1, 2, 3, 5, 7, 11, *(len(frames) * i // 8 for i in range(1, 8))}):
                with self.subTest(f'{path.stem} cut at {cut}'):
                    self.assertEqual(alarms(self.pcap(frames[cut:])), [], 'the first are missing')
                    self.assertEqual(alarms(self.pcap(frames[:cut])), [], 'the last are missing')

    def test_cut_frames(self):
        """Below 70 bytes (IPv6: 90), RETHs are cut off; below 58 (78), AETHs."""
        def totals(path):
            return [sum(row[key] for row in rows('connections', path))
                    for key in ('requests', 'messages', 'payload_bytes')]
        compared = collections.Counter()
        for path in without_loss():
            for snap in 54, 58, 60, 64, 68, 74, 78, 80, 96, 128:
                cut = self.folder / 'cut.pcap'
                write_pcap(cut, read_pcap(path), snap)
                with self.subTest(f'{path.stem}, {snap} bytes of each frame'):
                    self.assertEqual(alarms(cut), [])
                    self.assertEqual(dissect('list', cut, '--where', 'psn_gap>0', '-e',
                                             'frame.number').stdout, '')
                    before, after = totals(path), totals(cut)
                    if before[0] == after[0]:  # all BTHs were captured
                        compared[snap] += path in OWN
                        self.assertEqual(before, after)
        self.assertEqual(compared, {54: 11, 58: 12, 60: 12, 64: 14, 68: 14, 74: 17, 78: 17, 80: 17, 96: 18,
                                    128: 18})

    def test_psns_wrap(self):
        wrapped = self.folder / 'wrapped.pcap'
        for path in without_loss():
            for flow in [row for row in rows('connections', path) if row['requests'] > 1]:
                middle = flow['first_psn'] + flow['requests'] // 2
                self.gen('replay', path, '--pcap', wrapped, '--psn-offset', -middle % PSNS)
                with self.subTest(f'{path.stem} to QP {flow["to_qp"]}'):
                    self.assertEqual(alarms(wrapped), [])
                    moved = [row for row in rows('connections', wrapped)
                             if row['connection'] == flow['connection']
                             and row['direction'] == flow['direction']]
                    self.assertEqual([row['messages'] for row in moved], [flow['messages']])
                    self.assertGreater(moved[0]['first_psn'], PSNS // 2)

    def test_a_queue_pair_that_is_used_again(self):
        """The same connections once more, a second later: same QPs, same PSNs."""
        both = self.folder / 'both.pcapng'
        for operation in 'write', 'send', 'read', 'atomic':
            names, frames = read_pcapng(self.simulated('--op', operation, '-s', '3000', '-q', 3,
                                                       '-n', 200))
            later = max(stamp for _, stamp, _ in frames) + 10**9
            write_pcapng(both, names, [(names.index(name), stamp + shift, data)
                                       for shift in (0, later) for name, stamp, data in frames])
            with self.subTest(operation):
                self.assertEqual(alarms(both), [])
                self.assertEqual(len(rows('connections', both)), 2 * 2 * 3)
        for path in without_loss():
            if path.stem == 'frames':
                continue  # single frames, of which nothing tells a repetition
            frames = read_pcap(path)
            later = frames[-1][0] - frames[0][0] + 2 * 10**9
            with self.subTest(path.stem):
                self.assertEqual(alarms(self.pcap([(stamp + shift, data) for shift in (0, later)
                                                   for stamp, data in frames])), [])

    def test_a_sender_without_answers_is_no_new_connection(self):
        """It goes back to its first PSN although the server has answered all."""
        (self.folder / 'no-acks.toml').write_text(NO_ACKS)
        path = self.simulated('--path', self.folder / 'no-acks.toml', '--op', 'write', '-s', '3000',
                              '-n', 200, '--tx-depth', 20, '--timeout', 12)
        server = f'{path}@server-in,server-out'
        self.assertEqual(len(rows('connections', server)), 1)
        found = alarms(server)
        # The capture ends before a timer of the other 180 messages would: it may be too short.
        self.assertEqual([(row['psn'], row['packets'], row['cause'], row['certainty'])
                          for row in found if row['kind'] == 'retransmission'],
                         [(0, 20, 'ack_lost', 'either')] * 3)
        self.assertEqual({row['kind'] for row in found}, {'retransmission', 'retry_storm'})

    def test_simulated_runs_with_coalesced_acks(self):
        for operation in 'write', 'send', 'read', 'atomic', 'compare-swap':
            for acks in 0, 4, 64:
                path = self.simulated('--op', operation, '-s', '20000', '-q', 3, '-n', 200,
                                      '--ack-every', acks)
                with self.subTest(f'{operation}, an ACK for {acks} packets'):
                    self.assertEqual(alarms(path), [])
                    sessions = rows('connections', path)
                    self.assertEqual(collections.Counter(row['point'] for row in sessions),
                                     {'client': 3, 'server': 3})
                    self.assertEqual({row['messages'] for row in sessions}, {200})
                    self.assertTrue(all(row['from_qp'] and row['to_qp'] for row in sessions))
                    self.assertTrue(all(row['rtt_min_ns'] >= 200_000 for row in sessions
                                        if row['point'] == 'client'))

    def test_points_with_one_direction(self):
        names, frames = read_pcapng(self.simulated('--op', 'read', '-s', '20000', '-n', 200))
        for name in names:
            one = [(0, stamp, data) for point, stamp, data in frames if point == name]
            write_pcapng(self.folder / 'one.pcapng', [name], one)
            with self.subTest(name):
                self.assertGreater(len(one), 100)
                self.assertEqual(alarms(self.folder / 'one.pcapng'), [])


class MissingFrames(InFolder):
    """1 % of the frames of a capture without loss are deleted: the capture missed them, and the
    network has carried them."""

    def deleted(self, path, frames, seed):
        chance = random.Random(f'{path.stem} {seed}')
        some = {i for i in range(len(frames)) if chance.random() < 0.01}
        return some or {chance.randrange(len(frames))}

    def check(self, found, listed, deleted, end):
        """`listed`: tshark's fields by frame number; `deleted`: numbers of frames; `end`: of the
        capture, in ns."""
        unreliable = any(int(listed[number]['infiniband.bth.opcode']) >> 5 in (UC, UD)
                         for number in deleted if number in listed)
        for row in found:
            if row['kind'] == 'unanswered':
                self.assertTrue(any(self.is_last_answer(listed, number) for number in deleted), row)
                continue
            self.assertEqual(row['kind'], 'psn_gap', row)
            if row['cause'] != 'missing_in_capture':
                # Nothing answers, so nothing tells; or the requester may ask behind the capture's end.
                may_be_asked = row['role'] == 'response' and end - row['time_ns'] < 1_000_000
                self.assertTrue(unreliable or may_be_asked, row)
                self.assertEqual([one['cause'] for one in row['alternatives']],
                                 ['lost_before', 'missing_in_capture'])

    def is_last_answer(self, listed, number):
        """Whether no later response of its flow is in the capture: then nothing acknowledges."""
        if number not in listed:
            return False
        flow = self.flow_of(listed[number])
        return (int(listed[number]['infiniband.bth.opcode']) in (*READ_RESPONSES, ACK, ATOMIC_ACK)
                and not any(later > number and self.flow_of(row) == flow
                            and int(row['infiniband.bth.opcode']) in (*READ_RESPONSES, ACK,
                                                                      ATOMIC_ACK)
                            for later, row in listed.items()))

    def flow_of(self, row):
        return row.get('ip.src'), row.get('ipv6.src'), row['infiniband.bth.destqp']

    def test_gaps_are_the_captures(self):
        gaps = 0
        for path in without_loss():
            frames = read_pcap(path)
            listed = {int(row['frame.number']): row for row in tshark_of(path)}
            for seed in range(8):
                some = self.deleted(path, frames, seed)
                made = self.pcap([frame for i, frame in enumerate(frames) if i not in some])
                with self.subTest(f'{path.stem}, without {sorted(i + 1 for i in some)}'):
                    found = alarms(made)
                    gaps += len(found) * (path in OWN)
                    self.check(found, listed, {i + 1 for i in some}, max(frame[0] for frame in frames))
        self.assertEqual(gaps, 96)

    def test_every_request_that_is_missing_is_counted(self):
        """In a long capture each deleted request and READ response is one missing PSN."""
        for operation in 'write', 'send', 'read':
            names, frames = read_pcapng(self.simulated('--op', operation, '-s', '20000', '-n', 400))
            client = [frame for frame in frames if frame[0] in ('client-out', 'client-in')]
            data = 'client-in' if operation == 'read' else 'client-out'
            chance = random.Random(operation)
            keep = [frame for i, frame in enumerate(client) if frame[0] != data
                    or i < 100 or i > len(client) - 100 or chance.random() >= 0.01]
            missing = len(client) - len(keep)
            made = self.folder / 'made.pcapng'
            write_pcapng(made, names, [(names.index(name), stamp, frame)
                                       for name, stamp, frame in keep])
            with self.subTest(operation):
                self.assertGreater(missing, 10)
                found = alarms(made)
                self.assertEqual({(row['kind'], row['cause']) for row in found},
                                 {('psn_gap', 'missing_in_capture')})
                self.assertEqual(sum(row['packets'] for row in found), missing)
                self.assertEqual([row['psns_missing_in_capture']
                                  for row in rows('connections', made)], [missing])


class CutFrames(InFolder):
    def test_a_repeated_read_without_reth_is_the_same_request(self):
        path = self.simulated('--op', 'read', '-s', '1000', '-n', 500, '--loss', '1%', '--timeout', 12)
        names, frames = read_pcapng(path)
        cut = self.folder / 'cut.pcap'
        write_pcap(cut, [(stamp, data) for name, stamp, data in frames if name.startswith('client')], 64)
        kinds = collections.Counter(row['kind'] for row in alarms(cut))
        self.assertGreater(kinds['retransmission'], 3)
        self.assertEqual(kinds['psn_reused'], 0)


class CutAcknowledgements(InFolder):
    def test_no_cause_is_invented(self):
        """Without AETHs, nothing tells a NAK from an ACK."""
        cut = self.folder / 'cut.pcap'
        write_pcap(cut, read_pcap(RXE / 'loss_write_sender_side.pcap'), 56)
        self.assertEqual({(row['kind'], row['certainty']) for row in alarms(cut)},
                         {('retransmission', 'either'), ('retry_storm', 'certain')})
        for row in alarms(cut):
            if row['kind'] == 'retransmission':
                self.assertEqual({one['cause'] for one in row['alternatives']},
                                 {'timer', 'nak', 'rnr'})
        explained = json.loads(dissect('explain', cut, '--json').stdout.splitlines()[0])
        self.assertEqual(explained['congestion']['answer'], 'cannot tell')


def golden_report(command):
    text = ''
    for path in OWN:
        name = path.relative_to(SOURCE)
        done = dissect(command, name)
        assert (done.returncode, done.stderr) == (0, ''), done.stderr
        text += f'$ roce-dissect {command} {name}\n{done.stdout}\n'
    return text


def golden_file(command):
    return GOLDEN / 'analysis' / f'{command}.txt'


class Golden(unittest.TestCase):
    """The reports of each capture in pcaps/. A difference is an error, or a change that its commit
    justifies; `dissect_analysis.py --regenerate` writes the files."""

    def test_reports_are_as_before(self):
        self.maxDiff = None
        for command in REPORTS:
            with self.subTest(command):
                kept = golden_file(command).read_text(encoding='utf-8')
                self.assertEqual(golden_report(command), kept)


class Manual(unittest.TestCase):
    """What the manual and the guide show of captures in pcaps/ is what the program prints."""

    def test_output_is_that_of_a_run(self):
        shown = 0
        for page in (SOURCE / 'README.md', *sorted((SOURCE / 'docs').rglob('*.md'))):
            text = page.read_text(encoding='utf-8')
            for block in re.findall(r'^```(?:console run)?\n(\$ roce-dissect .*?)^```', text,
                                    re.M | re.S):
                for command, output in re.findall(
                        r'^\$ roce-dissect ((?:connections|messages|anomalies|explain) pcaps/[^\n]*)\n'
                        r'(.*?)(?=^\$ |\Z)', block, re.M | re.S):
                    if '--counters' in command:
                        continue  # of files that are not in the tree
                    with self.subTest(f'{page}: {command}'):
                        done = subprocess.run(f'{shlex.quote(program("roce-dissect"))} {command}', shell=True,
                                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                              text=True, cwd=SOURCE, check=True)
                        self.assertEqual(output.rstrip(), done.stdout.rstrip())
                        shown += 1
        self.assertGreaterEqual(shown, 10)


class AgreesWithTshark(unittest.TestCase):
    """tshark's fields of the same captures, counted without longwire."""

    def is_data(self, row):
        """A request of a QP whose requests are followed: not of the connection manager."""
        opcode = int(row['infiniband.bth.opcode'])
        general = int(row['infiniband.bth.destqp'], 16) <= 1
        return (not general and opcode != 0x81
                and opcode & 31 not in (*READ_RESPONSES, ACK, ATOMIC_ACK))

    def key(self, row):
        return (row['ip.dst'] if row.get('ip.dst') else row.get('ipv6.dst'),
                int(row['infiniband.bth.destqp'], 16))

    def test_requests_of_each_qp(self):
        for path in captures():
            listed = collections.Counter(self.key(row) for row in tshark_of(path)
                                         if self.is_data(row) and self.key(row)[0])
            ours = collections.Counter()
            for row in rows('connections', path):
                if row['requests'] and row['encapsulation'] != 'RoCEv1':
                    ours[row['to'], row['to_qp']] += row['requests']
            with self.subTest(path.stem):
                self.assertEqual(ours, listed)

    def test_naks_by_code(self):
        naks = 0
        for path in captures():
            listed, rnrs = collections.Counter(), 0
            for row in tshark_of(path):
                kind = row.get('infiniband.aeth.syndrome.opcode')
                if kind == '3':
                    listed[row['infiniband.aeth.syndrome.error_code']] += 1
                rnrs += kind == '1'
            ours, sessions = collections.Counter(), rows('connections', path)
            for row in sessions:
                ours.update(row['naks'])
            naks += sum(listed.values()) * (path in OWN)
            with self.subTest(path.stem):
                self.assertEqual(ours, listed)
                self.assertEqual(sum(row['rnr_naks'] for row in sessions), rnrs)
        self.assertEqual(naks, 30)

    def test_messages_and_their_lengths(self):
        """Without loss each LAST and ONLY ends a message, in the order of the capture."""
        for path in without_loss():
            lengths, ends = collections.Counter(), 0
            for row in tshark_of(path):
                if not self.is_data(row):
                    continue
                opcode = int(row['infiniband.bth.opcode']) & 31
                ends += opcode in (2, 3, 4, 5, 8, 9, 10, 11, 12, 19, 20, 22, 23)
                if row.get('infiniband.reth.dmalen'):
                    lengths[int(row['infiniband.reth.dmalen'])] += 1
            messages = rows('messages', path)
            with self.subTest(path.stem):
                self.assertEqual(len(messages), ends)
                self.assertEqual(collections.Counter(row['bytes'] for row in messages
                                                     if row['va'] is not None
                                                     and 'READ' in row['operation']
                                                     or row['operation'] == 'WRITE'), lengths)
                self.assertFalse(any(row['partial'] or row['retransmitted_packets'] for row in messages))

    def test_losses_of_the_sender_side(self):
        """Every NAK of the capture is an anomaly, and names the frame with its PSN."""
        path = RXE / 'loss_write_sender_side.pcap'
        listed = {int(row['frame.number']): row for row in tshark_of(path)}
        found = rows('anomalies', path)
        naks = {number for number, row in listed.items()
                if row['infiniband.aeth.syndrome.opcode'] == '3'}
        self.assertEqual({row['frame'] for row in found if row['kind'] == 'nak'}, naks)
        for row in found:
            if row['kind'] == 'nak':
                self.assertEqual(int(listed[row['frame']]['infiniband.bth.psn']), row['psn'])
                self.assertEqual(int(listed[row['related_frame']]['infiniband.bth.psn']),
                                 row['psn'])
        repeated = collections.Counter(
            (row['infiniband.bth.destqp'], row['infiniband.bth.psn'], row['ip.src'])
            for row in listed.values() if self.is_data(row))
        resent = sum(count - 1 for count in repeated.values())
        self.assertEqual(sum(row['packets'] for row in found if row['kind'] == 'retransmission'),
                         resent)
        self.assertEqual(sum(row['retransmitted'] for row in rows('connections', path)), resent)


class Formats(unittest.TestCase):
    SCHEMAS = {'connections': ('longwire.connection', 2), 'messages': ('longwire.message', 1),
               'anomalies': ('longwire.anomaly', 2)}

    def test_json_and_csv_say_the_same(self):
        for path in captures():
            for command, schema in self.SCHEMAS.items():
                with self.subTest(f'{command} {path.stem}'):
                    objects = rows(command, path)
                    done = dissect(command, path, '--csv')
                    table = list(csv.DictReader(io.StringIO(done.stdout)))
                    self.assertEqual(len(table), len(objects))
                    for row, cells in zip(objects, table):
                        self.assertEqual((row.pop('schema'), row.pop('version')), schema)
                        self.assertEqual({key: self.cell(value) for key, value in row.items()},
                                         cells)

    def cell(self, value):
        if value is None:
            return ''
        return value if isinstance(value, str) else json.dumps(value, separators=(',', ':'))

    def test_every_row_of_a_command_has_the_same_keys(self):
        for command in self.SCHEMAS:
            keys = {tuple(row) for path in OWN for row in rows(command, path)}
            self.assertEqual(len(keys), 1, command)

    def test_messages_by_operation_and_size(self):
        path = RXE / 'cm_rping.pcap'
        messages = rows('messages', path)
        for by in 'operation', 'size', 'operation,size':
            keys = by.split(',')
            value = {'operation': 'operation', 'size': 'bytes'}
            counted = collections.Counter(tuple(row[value[key]] for key in keys)
                                          for row in messages)
            groups = rows('messages', path, '--by', by)
            self.assertEqual({tuple(group[key] for key in keys): group['messages']
                              for group in groups}, counted)
            self.assertEqual(sum(group['bytes'] for group in groups),
                             sum(row['bytes'] for row in messages))
            latencies = [row['latency_ns'] for row in messages]
            self.assertEqual(max(group['latency_max_ns'] for group in groups), max(latencies))
            self.assertEqual(min(group['latency_min_ns'] for group in groups), min(latencies))
            self.assertEqual({group['schema'] for group in groups}, {'longwire.message_group'})
            text = dissect('messages', path, '--by', by).stdout
            self.assertEqual(len(text.splitlines()), len(groups) + 1)

    def test_anomalies_of_one_kind(self):
        path = RXE / 'rnr_nak.pcap'
        every = rows('anomalies', path)
        for kinds in ('rnr_nak',), ('retransmission', 'nak'):
            words = [word for kind in kinds for word in ('--kind', kind)]
            self.assertEqual(rows('anomalies', path, *words),
                             [row for row in every if row['kind'] in kinds])
        done = dissect('anomalies', path, '--kind', 'gap')
        self.assertEqual(done.returncode, 2)
        self.assertIn('psn_gap', done.stderr)

    def test_nothing_to_report_is_said(self):
        path = RXE / 'ud_send.pcap'
        self.assertEqual(dissect('anomalies', path).stdout, 'no anomaly\n')
        self.assertEqual(dissect('anomalies', path, '--json').stdout, '')
        none = ('--filter', 'host 203.0.113.9')
        self.assertEqual(dissect('connections', path, *none).stdout, 'no RoCE frame\n')


if __name__ == '__main__':
    import longwire_test
    if sys.argv[1:] == ['--regenerate']:
        for report in REPORTS:
            golden_file(report).write_text(golden_report(report), encoding='utf-8')
        sys.exit(0)
    longwire_test.main()
