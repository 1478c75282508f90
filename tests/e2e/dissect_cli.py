# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect as a user runs it: output formats, exit codes, damaged files, standard input."""

import csv
import io
import json
import os
import pathlib
import re
import resource
import struct
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree
import zlib

from longwire_test import SOURCE, program
from pcap_file import read_pcap, roce_frame, write_pcap

RXE = SOURCE / 'pcaps' / 'rxe'
FILE_HEADER = 24  # of a pcap file
RECORD_HEADER = 16


def dissect(*args, stdin=b''):
    return subprocess.run([program('roce-dissect'), *map(str, args)], input=stdin,
                          capture_output=True)


def records(data):
    """(offset, captured length) of a little-endian pcap file's records."""
    at = FILE_HEADER
    while at < len(data):
        length = struct.unpack_from('<I', data, at + 8)[0]
        yield at, length
        at += RECORD_HEADER + length


def pcapng_block(kind, body):
    size = len(body) + 12
    return struct.pack('<II', kind, size) + body + struct.pack('<I', size)


def pcapng_of(frames, links):
    """A pcapng file: an interface a link type, and (interface, bytes) frames a microsecond apart."""
    data = pcapng_block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1))
    for link in links:
        data += pcapng_block(1, struct.pack('<HHI', link, 0, 0))
    for stamp, (interface, frame) in enumerate(frames):
        head = struct.pack('<IIIII', interface, 0, stamp, len(frame), len(frame))
        data += pcapng_block(6, head + frame + bytes(-len(frame) % 4))
    return data


def icrc_of(packet):
    """The ICRC of a RoCEv2 packet over IPv4, from the IP header to the pad. (IBTA vol. 1, A17)"""
    covered = bytearray(packet)
    for masked in 1, 8, 10, 11, 26, 27, 28 + 4:  # ToS, TTL, checksums, BTH byte 4
        covered[masked] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(covered)))


class InTemporaryFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path


class List(unittest.TestCase):
    def test_one_line_a_frame_in_every_format(self):
        capture = RXE / 'rc_write_send_read.pcap'
        frames = len(list(records(capture.read_bytes())))
        for option, header in ((), 0), (('--json',), 0), (('--csv',), 1):
            run = dissect('list', capture, *option)
            self.assertEqual(run.returncode, 0)
            self.assertEqual(len(run.stdout.splitlines()), frames + header)

    def test_csv_and_json_say_the_same(self):
        for capture in sorted(RXE.glob('*.pcap')):
            lines = dissect('list', capture, '--json').stdout.splitlines()
            rows = csv.DictReader(io.StringIO(dissect('list', capture, '--csv').stdout.decode()))
            for line, row in zip(lines, rows, strict=True):
                fields = {k: str(v) for k, v in json.loads(line).items() if k in row}
                self.assertEqual(fields, {k: v for k, v in row.items() if v})

    def test_filter_takes_libpcaps_syntax_and_keeps_the_numbers(self):
        run = dissect('list', RXE / 'rc_write_send_read.pcap', '--json', '--filter', 'udp[8] = 17')
        frames = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual({f['infiniband.bth.opcode'] for f in frames}, {17})
        self.assertEqual(len(frames), 30)
        self.assertGreater(frames[0]['frame.number'], 1)

    def test_a_bad_filter_is_a_usage_error(self):
        run = dissect('list', RXE / 'atomic.pcap', '--filter', 'udp prot 4791')
        self.assertEqual(run.returncode, 2)
        self.assertEqual(run.stdout, b'')
        self.assertIn(b'udp prot 4791', run.stderr)

    def test_a_display_filter_gets_its_translation(self):
        run = dissect('list', RXE / 'atomic.pcap', '--filter', 'ib.bth.opcode == 18')
        self.assertEqual(run.returncode, 2)
        self.assertIn(b'udp[8] = ', run.stderr)

    def test_standard_input(self):
        capture = RXE / 'atomic.pcap'
        from_file = dissect('list', capture, '--json').stdout
        self.assertEqual(dissect('list', '-', '--json', stdin=capture.read_bytes()).stdout,
                         from_file)


class Verify(InTemporaryFolder):
    KEYS = ['schema', 'version', 'file', 'frames', 'roce', 'icrc_ok', 'bad_icrc', 'icrc_unverifiable',
            'unknown_link_types', 'unopened_tunnels', 'damage', 'verdict']

    def test_every_capture_is_right(self):
        captures = sorted(RXE.glob('*.pcap'))
        run = dissect('verify', '--json', *captures)
        self.assertEqual(run.returncode, 0)
        lines = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual([line['file'] for line in lines], [str(c) for c in captures])
        for line in lines:
            self.assertEqual(list(line), self.KEYS)
            self.assertEqual(line['icrc_ok'], line['roce'])
            self.assertGreater(line['roce'], 0)
            self.assertEqual((line['unknown_link_types'], line['damage']), ({}, None))

    def test_csv_has_a_line_a_file(self):
        captures = [RXE / 'atomic.pcap', RXE / 'rnr_nak.pcap']
        rows = list(csv.DictReader(io.StringIO(dissect('verify', '--csv', *captures).stdout.decode())))
        self.assertEqual([row['file'] for row in rows], [str(capture) for capture in captures])
        self.assertEqual((rows[0]['icrc_ok'], rows[0]['unknown_link_types'], rows[0]['damage']),
                         ('20', '{}', ''))

    def test_a_flipped_payload_bit_is_found(self):
        data = bytearray((RXE / 'uc_send_write.pcap').read_bytes())
        offset, length = list(records(data))[3]
        data[offset + RECORD_HEADER + length - 20] ^= 4
        run = dissect('verify', self.file('bad.pcap', data), '--json')
        self.assertEqual(run.returncode, 1)
        self.assertEqual(json.loads(run.stdout)['bad_icrc'], 1)
        text = dissect('verify', self.folder / 'bad.pcap').stdout.decode()
        self.assertIn(f'frame 4 at offset {offset}', text)

    def test_frames_cut_by_the_snap_length_are_unverifiable(self):
        data = (RXE / 'uc_send_write.pcap').read_bytes()
        cut = bytearray(data[:FILE_HEADER])
        for offset, length in records(data):
            keep = min(length, 80)
            cut += data[offset:offset + 8] + struct.pack('<II', keep, length)
            cut += data[offset + RECORD_HEADER:offset + RECORD_HEADER + keep]
        run = dissect('verify', self.file('cut.pcap', cut), '--json')
        self.assertEqual(run.returncode, 0)
        line = json.loads(run.stdout)
        self.assertEqual(line['icrc_unverifiable'], line['roce'])
        self.assertEqual(line['roce'], 60)

    def test_interfaces_of_different_link_types(self):
        frame = (RXE / 'atomic.pcap').read_bytes()[FILE_HEADER + RECORD_HEADER:][:86]
        data = pcapng_of([(0, frame), (1, frame[14:])], links=[1, 101])
        run = dissect('verify', self.file('mixed.pcapng', data), '--json')
        self.assertEqual(json.loads(run.stdout)['icrc_ok'], 2)

    def test_unknown_link_types_and_damage_are_in_the_json(self):
        frame = (RXE / 'atomic.pcap').read_bytes()[FILE_HEADER + RECORD_HEADER:][:86]
        data = pcapng_of([(0, frame), (1, frame), (1, frame), (2, frame), (0, frame)],
                         links=[1, 147, 105])
        path = self.file('unknown.pcapng', data[:-3])
        run = dissect('verify', path, '--json')
        self.assertEqual(run.returncode, 1)
        line = json.loads(run.stdout)
        self.assertEqual((line['frames'], line['icrc_ok']), (4, 1))
        self.assertEqual(line['unknown_link_types'], {'105': 1, '147': 2})
        self.assertRegex(line['damage'], r'unknown.pcapng: offset \d+: the file is cut')
        self.assertIn(b'2 frames are not read: their link type 147', run.stderr)
        nothing = dissect('verify', self.file('text', b'[flow]'), '--json')
        self.assertIn('expected a pcap or pcapng capture',
                      json.loads(nothing.stdout)['damage'])


class DamagedFiles(InTemporaryFolder):
    def test_cut_in_mid_record_shows_everything_before_and_names_the_offset(self):
        data = (RXE / 'atomic.pcap').read_bytes()
        offset = list(records(data))[7][0]
        for size in offset + 3, offset + RECORD_HEADER, offset + RECORD_HEADER + 20:
            path = self.file('cut.pcap', data[:size])
            for command in 'list', 'verify', 'summary':
                run = dissect(command, path, '--json')
                self.assertEqual(run.returncode, 1)
                self.assertIn(f'offset {offset}'.encode(), run.stderr)
            self.assertEqual(len(dissect('list', path).stdout.splitlines()), 7)
            self.assertEqual(json.loads(dissect('verify', path, '--json').stdout)['frames'], 7)

    def test_every_truncation_ends_by_itself(self):
        data = (RXE / 'ud_send.pcap').read_bytes()[:700]
        ends = {FILE_HEADER} | {o + RECORD_HEADER + n for o, n in records(data)}
        for size in range(0, len(data), 7):
            run = dissect('verify', '-', '--json', stdin=data[:size])
            self.assertEqual(run.returncode, 0 if size in ends else 1, size)

    def test_not_a_capture(self):
        for name, data in ('empty', b''), ('text', b'[flow]\n'), ('gzip', b'\x1f\x8b\x08\0'):
            run = dissect('list', self.file(name, data))
            self.assertEqual(run.returncode, 1)
            self.assertEqual(run.stdout, b'')
            self.assertIn(b'offset 0', run.stderr)

    def test_no_such_file_is_a_usage_error_and_the_others_are_read(self):
        run = dissect('verify', '--json', self.folder / 'none.pcap', RXE / 'atomic.pcap')
        self.assertEqual(run.returncode, 2)
        self.assertIn(b'none.pcap', run.stderr)
        self.assertEqual(json.loads(run.stdout)['icrc_ok'], 20)


class Summary(unittest.TestCase):
    def test_adds_up(self):
        for capture in sorted(RXE.glob('*.pcap')):
            data = capture.read_bytes()
            line = json.loads(dissect('summary', capture, '--json').stdout)
            lengths = [struct.unpack_from('<I', data, at + 12)[0] for at, _ in records(data)]
            self.assertEqual(line['frames'], len(lengths))
            self.assertEqual(line['bytes'], sum(lengths))
            for table in 'opcodes', 'qps', 'addresses':
                self.assertEqual(sum(row['frames'] for row in line[table]), line['roce']['frames'])
            others = sum(row['frames'] for row in line['not_roce'].values())
            self.assertEqual(line['roce']['frames'] + others, line['frames'])

    def test_kinds_of_packets(self):
        """Against the opcodes and syndromes that list shows."""
        kinds = {}
        for name in 'rnr_nak', 'atomic', 'rc_write_send_read', 'loss_read_requester_side':
            capture = RXE / f'{name}.pcap'
            wanted = {}
            for line in dissect('list', capture, '--json', '--where', 'bth.opcode').stdout.splitlines():
                frame = json.loads(line)
                opcode, syndrome = frame['infiniband.bth.opcode'], frame.get('infiniband.aeth.syndrome')
                kind = 'requests'
                if 13 <= opcode & 31 <= 16 or opcode & 31 == 18:
                    kind = 'responses'
                elif opcode & 31 == 17:
                    kind = ('ACKs', 'RNR NAKs', 'reserved', 'NAKs')[syndrome >> 5 & 3]
                wanted[kind] = wanted.get(kind, 0) + 1
            found = json.loads(dissect('summary', capture, '--json').stdout)['kinds']
            self.assertEqual({kind: count['frames'] for kind, count in found.items()}, wanted)
            kinds |= wanted
        self.assertEqual(set(kinds), {'requests', 'responses', 'ACKs', 'NAKs', 'RNR NAKs'})

    def test_csv_says_what_json_says(self):
        run = dissect('summary', RXE / 'vlan100.pcap', '--csv')
        rows = list(csv.DictReader(io.StringIO(run.stdout.decode())))
        line = json.loads(dissect('summary', RXE / 'vlan100.pcap', '--json').stdout)
        self.assertEqual((line['schema'], line['version']), ('longwire.summary', 2))
        for table, counts in (('kind', line['kinds']), ('vlan', line['vlans']),
                              ('not_roce', line['not_roce']), ('ecn', line['ecn'])):
            self.assertEqual({row['name']: {'frames': int(row['frames']), 'bytes': int(row['bytes'])}
                              for row in rows if row['table'] == table}, counts)
        self.assertEqual([int(row['frames']) for row in rows if row['table'] == 'opcode'],
                         [row['frames'] for row in line['opcodes']])
        self.assertEqual([int(row['frames']) for row in rows if row['table'] == 'qp'],
                         [row['frames'] for row in line['qps']])
        self.assertEqual({row['name']: int(row['frames']) for row in rows if row['table'] == 'total'},
                         {'all': line['frames'], 'RoCE': line['roce']['frames']})

    def test_text_names_opcodes_and_vlans(self):
        text = dissect('summary', RXE / 'vlan100.pcap').stdout.decode()
        for word in 'RC SEND FIRST', '192.168.78.1', 'VLAN':
            self.assertIn(word, text)


class Compare(InTemporaryFolder):
    def frames(self):
        data = (RXE / 'uc_send_write.pcap').read_bytes()
        return [data[at + RECORD_HEADER:at + RECORD_HEADER + n] for at, n in records(data)]

    def test_loss_and_delay_against_what_was_asked(self):
        frames = [(0, frame) for frame in self.frames()]
        near = self.file('near.pcapng', pcapng_of(frames, links=[1]))
        # The far point's first stamp is 0 too: every frame took 0 us, and six before the last are lost.
        far = self.folder / 'far.pcap'
        write_pcap(far, [(1000 * at, frame) for at, (_, frame) in enumerate(frames)
                         if not 53 <= at < 59])
        run = dissect('compare', near, far, '--delay', '1us', '--loss', '10%', '--json')
        self.assertEqual(run.returncode, 0)
        (way,) = json.loads(run.stdout)['directions']
        self.assertEqual((way['sent'], way['lost'], way['invented']), (60, 6, 0))
        self.assertTrue(way['asked_loss_within'])
        self.assertEqual(way['delay_ns']['max'], 0)
        self.assertEqual(way['delay_error_ns']['mean'], -1000)
        text = dissect('compare', near, far).stdout.decode()
        self.assertIn('looks like loss of the path', text)

    def recording(self, more=b'', *options, duplex=False):
        """roce-impair's recording of a lossy path of 1.9035 ms, and its report."""
        profile = self.file('path.toml', more + b'[[rule]]\nname = "far"\ndelay = "1903.5us"\n'
                            b'loss = "10%"\n')
        for way, name in (('there', 'rnr_nak.pcap'), ('back', 'uc_send_write.pcap')):
            data = bytearray((RXE / name).read_bytes())
            for at, _ in records(data):
                data[at + RECORD_HEADER + 15] |= 2  # ECT(0); the ICRC doesn't cover it
            (self.folder / way).write_bytes(data)
        if duplex:  # each host at its end
            frames = read_pcap(RXE / 'rnr_nak.pcap')
            for way, host in (('there', 2), ('back', 1)):
                write_pcap(self.folder / way, [(at, f) for at, f in frames if f[29] == host])
        run = subprocess.run(
            [program('roce-impair'), 'replay', profile, self.folder / 'there', self.folder / 'o.pcapng',
             '--back', self.folder / 'back', '--pcap', self.folder / 'rec.pcapng', '--json', *options],
            capture_output=True, text=True, check=True)
        return self.folder / 'rec.pcapng', json.loads(run.stdout)['directions']

    def test_a_recording_holds_both_ends(self):
        path, ways = self.recording()
        run = dissect('compare', path, '--json')
        self.assertEqual(run.returncode, 0, run.stderr)
        found = json.loads(run.stdout)['directions']
        for way in ways:
            self.assertGreater(way['dropped_by_rule']['frames'], 0)
        self.assertEqual([(way['sent'], way['lost'], way['invented'], way['delay_ns']['min'],
                           way['delay_ns']['max']) for way in found],
                         [(way['received']['frames'], way['dropped_by_rule']['frames'], 0, 1903500,
                           1903500) for way in ways])

    def test_a_direction_that_is_lost_completely_is_lost(self):
        path, ways = self.recording(b'[[rule]]\nname = "cut"\ndirection = "east-to-west"\n'
                                    b'loss = "100%"\n')
        there, back = json.loads(dissect('compare', path, '--json').stdout)['directions']
        self.assertEqual((back['sent'], back['received'], back['lost'], back['invented']),
                         (60, 0, 60, 0))
        self.assertEqual(there['lost'], ways[0]['dropped_by_rule']['frames'])

    def ways_of(self, path, *options):
        """What compare says of a recording, and of its ends as two captures: the same."""
        both = json.loads(dissect('compare', path, '--json', *options).stdout)['directions']
        ends = dissect('compare', f'{path}@0,3', f'{path}@1,2', '--json', *options)
        self.assertEqual(json.loads(ends.stdout)['directions'], both, ends.stderr)
        return both

    def test_two_captures_tell_as_much_as_a_recording(self):
        path, ways = self.recording()
        for way, found in zip(ways, self.ways_of(path)):
            self.assertEqual(found['lost'], way['dropped_by_rule']['frames'])
        for lost in 'west-to-east', 'east-to-west':
            path, ways = self.recording(f'[[rule]]\nname = "cut"\ndirection = "{lost}"\n'
                                        'loss = "100%"\n'.encode())
            for way, found in zip(ways, self.ways_of(path)):
                self.assertEqual((found['sent'], found['lost'], found['invented']),
                                 (way['received']['frames'], way['dropped_by_rule']['frames'], 0))

    def test_loss_copies_and_order_are_those_of_the_impairer(self):
        path, ways = self.recording(b'[[rule]]\nname = "all"\ndelay = "1903.5us"\nloss = "5%"\n'
                                    b'duplicate = "5%"\nreorder = { fraction = "5%", frames = 3 }\n')
        out = {}
        for line in dissect('list', f'{path}@1,3', '--json').stdout.splitlines():
            frame = json.loads(line)
            number = int(re.search('frame ([0-9]+)', frame['frame.comment'])[1])
            way = frame['frame.interface_id'] // 2
            flow = frame['ip.src'], frame['infiniband.bth.destqp']
            out.setdefault(way, []).append((number, flow))
        for way, found in zip(ways, self.ways_of(path, '--across-flows')):
            numbers = [number for number, _ in out[ways.index(way)]]
            once = list(dict.fromkeys(numbers))
            late = sum(number < max(once[:i], default=-1) for i, number in enumerate(once))
            self.assertGreater(late, 0)
            self.assertEqual((found['lost'], found['duplicated'], found['reordered']),
                             (way['dropped_by_rule']['frames'], len(numbers) - len(once), late))
        for way, found in enumerate(self.ways_of(path)):
            latest, late, seen = {}, 0, set()
            for number, flow in out[way]:
                if number not in seen:
                    late += number < latest.get(flow, -1)
                    latest[flow] = max(number, latest.get(flow, -1))
                seen.add(number)
            self.assertEqual(found['reordered'], late)

    def test_what_the_impairer_corrupts_is_changed(self):
        for seed, icrc in enumerate(('wrong', 'recomputed', 'wrong')):
            path, _ = self.recording(
                b'[[rule]]\nname = "all"\ndelay = "1.9ms"\nloss = "5%"\nduplicate = "5%"\n'
                b'jitter = { distribution = "uniform", low = "0us", high = "50us" }\n'
                b'corrupt = { probability = "5%", icrc = "' + icrc.encode() + b'" }\n',
                '--seed', str(seed + 1), '--ledger', self.folder / 'ledger')
            records = [json.loads(line) for line in (self.folder / 'ledger').open()]
            for way, found in zip(('west-to-east', 'east-to-west'), self.ways_of(path)):
                own = [r for r in records if r['direction'] == way]
                corrupted = [r['frame'] for r in own if 'corrupt' in r.get('stages', [r['stage']])
                             and r['time_out_ns'] and not r.get('copy')]
                dropped = [r for r in own if r['action'] == 'drop' and not r.get('copy')]
                copies = [r for r in own if r.get('copy') and r['time_out_ns']]
                self.assertEqual(
                    (found['changed'], found['lost'], found['duplicated'], found['invented']),
                    (len(corrupted), len(dropped), len(copies), 0))
                self.assertEqual(found['damaged'], len(corrupted) if icrc == 'wrong' else 0)
                self.assertEqual(len(found['changed_frames']), len(corrupted))
                for frame in found['changed_frames']:
                    # One flipped bit: a field or a byte of the payload, and a new ICRC.
                    names = {field['field'] for field in frame['fields']}
                    self.assertEqual('infiniband.invariant.crc' in names, icrc == 'recomputed')
                    self.assertTrue(names or frame['payload_bytes'] == 1, frame)

    def rewritten(self, frame):
        """What a gateway makes of a frame, by scapy: other addresses, port, DSCP, ECN and TTL."""
        from scapy.all import IP, UDP, Ether
        packet = Ether(frame)
        packet[Ether].dst, packet[IP].src = '02:00:00:00:00:99', '10.9.9.9'
        packet[IP].ttl, packet[IP].tos = 17, (8 << 2) | 3
        packet[UDP].sport = 50000
        del packet[IP].chksum
        data = bytearray(bytes(packet))
        data[-4:] = icrc_of(data[14:-4])
        self.assertEqual(len(data), len(frame))
        return bytes(data)

    def test_rewritten_headers_are_named(self):
        frames = self.frames()
        near = self.file('near.pcapng', pcapng_of([(0, f) for f in frames], links=[1]))
        far = self.file('far.pcapng', pcapng_of([(0, self.rewritten(f)) for f in frames], links=[1]))
        self.assertEqual(dissect('verify', far).returncode, 0)
        [way] = json.loads(dissect('compare', near, far, '--json').stdout)['directions']
        self.assertEqual((way['sent'], way['changed'], way['lost'], way['invented'], way['damaged']),
                         (60, 60, 0, 0, 0))
        self.assertEqual((way['ce'], way['marked']), (60, 60))
        rewritten = {}
        for row in way['rewritten']:
            key = row['field'], row['received']
            rewritten[key] = rewritten.get(key, 0) + row['frames']
        self.assertEqual(rewritten, {('eth.dst', '02:00:00:00:00:99'): 60, ('ip.ttl', '17'): 60,
                                     ('ip.dsfield.dscp', '8'): 60, ('ip.dsfield.ecn', '3'): 60,
                                     ('ip.src', '10.9.9.9'): 60, ('udp.srcport', '50000'): 60})
        self.assertEqual(len(way['changed_frames']), 60)
        for frame in way['changed_frames']:
            self.assertEqual({field['field']: field['received'] for field in frame['fields']
                              if field['field'] in ('ip.src', 'udp.srcport')},
                             {'ip.src': '10.9.9.9', 'udp.srcport': '50000'})
        text = dissect('compare', near, far).stdout.decode()
        self.assertRegex(text, r'ip.ttl +64 +17 +60')
        self.assertIn('    ip.src 192.168.77.2 > 10.9.9.9', text)

    def test_snapped_captures_and_captures_without_icrc(self):
        frames = self.frames()
        near = self.file('near.pcapng', pcapng_of([(0, f) for f in frames], links=[1]))
        cut = bytearray(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 86, 1))
        came = [(i, frame) for i, frame in enumerate(frames) if not 56 <= i < 59]
        for i, frame in came:
            cut += struct.pack('<IIII', 0, i + 7, 86, len(frame)) + frame[:86]
        far = self.file('far.pcap', cut)
        stripped = self.folder / 'bare.pcap'
        write_pcap(stripped, [(1000 * i, f[:-4] + bytes(4)) for i, f in came])
        for end, payload in (far, 16), (stripped, None):
            done = json.loads(dissect('compare', near, end, '--json').stdout)
            [way] = done['directions']
            self.assertEqual((way['sent'], way['lost'], way['changed'], way['invented']),
                             (60, 3, 0, 0))
            self.assertEqual(done['matched'], {'by': 'content'} | (
                {'payload_bytes': payload} if payload else {}))
        text = dissect('compare', near, far).stdout.decode()
        self.assertIn('matched by headers and the first 16 B of the payload', text)
        done = dissect('compare', near, '-', stdin=bytes(cut))
        self.assertIn(b'57 cut or in fragments, so left out', done.stdout)

    def test_when_most_frames_are_damaged_their_icrcs_are_bad(self):
        frames = self.frames()
        near = self.file('near.pcapng', pcapng_of([(0, f) for f in frames], links=[1]))
        damaged = [f[:80] + bytes([f[80] ^ 1]) + f[81:] for f in frames]
        far = self.file('far.pcapng', pcapng_of([(0, f) for f in damaged], links=[1]))
        done = json.loads(dissect('compare', near, far, '--json').stdout)
        [way] = done['directions']
        self.assertEqual(done['matched'], {'by': 'icrc'})
        self.assertEqual((way['changed'], way['damaged'], way['lost']), (60, 60, 0))
        # Of a cut capture and a whole one, the whole one's bad ICRCs count.
        cut = bytearray(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 100, 1))
        for frame in frames:
            cut += struct.pack('<IIII', 0, 0, 78, len(frame)) + frame[:78]
        done = json.loads(dissect('compare', self.file('cut.pcap', cut), self.file(
            'one.pcapng', pcapng_of([(0, f) for f in damaged[:1] + frames[1:]], links=[1])),
            '--json').stdout)
        [way] = done['directions']
        self.assertEqual(done['matched']['by'], 'content')
        self.assertEqual((way['changed'], way['damaged'], way['lost']), (1, 1, 0))

    def test_the_damage_of_a_recording_is_said_once(self):
        path, _ = self.recording()
        os.truncate(path, path.stat().st_size - 5)
        run = dissect('compare', path)
        self.assertEqual((run.returncode, run.stderr.count(b'rec.pcapng')), (1, 1), run.stderr)

    def test_an_interface_of_a_file(self):
        path, ways = self.recording()
        for name, wanted in (('west-to-east in', ways[0]['received']), ('0', ways[0]['received']),
                             ('east-to-west out', ways[1]['sent'])):
            lines = dissect('list', f'{path}@{name}', '--json').stdout.splitlines()
            self.assertEqual(len(lines), wanted['frames'], name)
            run = dissect('verify', f'{path}@{name}', '--json')
            self.assertEqual(json.loads(run.stdout)['frames'], wanted['frames'], name)
        both = json.loads(dissect('summary', f'{path}@0,2', '--json').stdout)
        self.assertEqual(both['frames'], sum(way['received']['frames'] for way in ways))
        for command in (['list', f'{path}@north'], ['compare', f'{path}@north', f'{path}@4']):
            run = dissect(*command)
            self.assertEqual((run.returncode, run.stdout), (2, b''))
            self.assertIn(b'no interface "north": it has 0 "west-to-east in", 1', run.stderr)
        other = self.file('a@b.pcap', (RXE / 'atomic.pcap').read_bytes())
        self.assertEqual(dissect('verify', other).returncode, 0)
        for near in (other, '-', f'{path}@0'):
            run = dissect('compare', near)
            self.assertEqual((run.returncode, run.stdout), (2, b''))
            self.assertIn(b'FAR', run.stderr)

    def test_expectations_decide_the_exit_code(self):
        path, ways = self.recording()
        lost = [way['dropped_by_rule']['frames'] for way in ways]
        holds = [f'lost<={max(lost)}', 'loss<50%', 'min==1903.5us', 'p99 <= 1.91ms', 'max>=1ms',
                 'jitter==0us', 'reordered==0', 'duplicates<1%', 'ce=0', 'changed!=7', 'mean>1ms']
        options = [word for text in holds for word in ('--expect', text)]
        done = dissect('compare', path, *options, '--json')
        self.assertEqual(done.returncode, 0, done.stdout)
        verdict = json.loads(done.stdout)['verdict']
        judged = [each for each in verdict['statements'] if 'asked_by' in each]
        self.assertEqual(sorted((each['asked'], each['of']) for each in judged),
                         sorted((text, way) for text in holds for way in ('near_to_far', 'far_to_near')))
        self.assertEqual(verdict['colour'], 'green')
        self.assertEqual([each['measured'] for each in judged if each['name'] == 'lost'], lost)

        junit = self.folder / 'r.xml'
        done = dissect('compare', path, *options, '--expect', f'lost<{max(lost)}', '--expect',
                       'p50<1.9ms', '--junit', junit)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout.decode(), r'does not hold: near_to_far: p50 1\.90[34] ms; asked: '
                                               r'p50<1\.9ms \(--expect\)')
        suites = {suite.get('name'): suite for suite in xml.etree.ElementTree.parse(junit).getroot()}
        for name, count in zip(('near_to_far', 'far_to_near'), lost):
            suite = suites[name]
            cases = {case.get('name').partition(': ')[2]: case for case in suite}
            self.assertEqual(set(cases), {*holds, f'lost<{max(lost)}', 'p50<1.9ms'})
            self.assertEqual((suite.get('tests'), int(suite.get('failures'))),
                             ('13', 1 + (count == max(lost))))
            self.assertIn('does not hold: ', cases['p50<1.9ms'].find('failure').get('message'))
            self.assertEqual(cases[f'lost<={max(lost)}'].find('system-out').text,
                             f'holds: {name}: lost {count}; asked: lost<={max(lost)} (--expect)')

    def test_csv_has_the_figures_of_json(self):
        path, _ = self.recording()
        found = json.loads(dissect('compare', path, '--json').stdout)
        self.assertEqual((found['schema'], found['version']), ('longwire.comparison', 3))
        rows = csv.DictReader(io.StringIO(dissect('compare', path, '--csv').stdout.decode()))
        for row, way in zip(rows, found['directions'], strict=True):
            self.assertEqual(row.pop('direction'), way['direction'])
            for key, value in row.items():
                told = (way['delay_ns'][key[6:].removesuffix('_ns')] if key.startswith('delay_')
                        else way[key])
                self.assertEqual(float(value), told, key)

    def test_nothing_holds_of_no_frames(self):
        empty = self.file('empty.pcapng', pcapng_of([], links=[1]))
        done = dissect('compare', empty, empty, '--expect', 'lost==0', '--expect', 'max<1s')
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.count(b'cannot tell: '), 2)
        self.assertIn(b'note: no frame was seen at both points', done.stdout)

    def recording_with_ledger(self):
        """A recording in which every kind of difference occurs, and the records of its ledger."""
        ledger = self.folder / 'ledger.jsonl'
        path, _ = self.recording(
            b'[[rule]]\nname = "all"\ndelay = "1.9ms"\nloss = "5%"\nduplicate = "5%"\n'
            b'corrupt = "5%"\nmark = "10%"\nreorder = { fraction = "3%", frames = 3 }\n',
            '--ledger', ledger)
        return path, ledger, ledger.read_text(encoding='utf-8').splitlines()

    def test_a_ledger_explains_every_difference(self):
        path, ledger, records = self.recording_with_ledger()
        for places in (path,), (f'{path}@0,3', f'{path}@1,2'):
            done = dissect('compare', *places, '--ledger', ledger, '--json')
            found = json.loads(done.stdout)
            self.assertEqual(done.returncode, 0, found['ledger'])
            self.assertEqual(sum(way['records'] for way in found['ledger'].values()), len(records))
            for direction in found['directions']:
                way = found['ledger'][direction['direction']]
                self.assertEqual(way['differences'], sum(direction[kind] for kind in (
                    'lost', 'changed', 'duplicated', 'reordered', 'marked')))
                self.assertGreater(way['differences'], 0)
        junit = self.folder / 'r.xml'
        from_stdin = dissect('compare', path, '--ledger', '-', '--junit', junit,
                             stdin=ledger.read_bytes())
        self.assertEqual(from_stdin.returncode, 0)
        self.assertIn(b'each explains the other', from_stdin.stdout)
        root = xml.etree.ElementTree.parse(junit).getroot()
        self.assertEqual((root.get('tests'), root.get('failures')), ('4', '0'))

    def test_what_the_ledger_does_not_explain_is_listed(self):
        path, ledger, records = self.recording_with_ledger()
        entries = [json.loads(line) for line in records]
        number = {kind: next(i for i, e in enumerate(entries) if wanted(e)) for kind, wanted in {
            'lost': lambda e: e['action'] == 'drop',
            'changed': lambda e: e['action'] == 'corrupt',
            'marked CE': lambda e: e['action'] == 'mark',
            'copied': lambda e: e.get('copy') and e['action'] == 'duplicate'}.items()}
        for kind, i in number.items():
            ledger.write_text('\n'.join(records[:i] + records[i + 1:]) + '\n', encoding='utf-8')
            done = dissect('compare', path, '--ledger', ledger, '--json')
            self.assertEqual(done.returncode, 1, kind)
            [text] = [text for way in json.loads(done.stdout)['ledger'].values()
                      for text in way['difference_texts']]
            self.assertRegex(text, f'^{kind} frame [0-9]+: .* qp 0x[0-9a-f]+ psn '
                             f'{entries[i]["infiniband.bth.psn"]}$')
            self.assertIn(b'1 difference UNEXPLAINED',
                          dissect('compare', path, '--ledger', ledger).stdout)
        # A record that no frame shows: what it says was lost has arrived.
        late = next(e for e in entries if e['action'] == 'mark')
        for change, why in (({'time_out_ns': None, 'action': 'drop'}, '1 arrived, 0 by the ledger'),
                            ({'infiniband.bth.psn': 1}, 'no such frame was sent'),
                            ({'time_out_ns': late['time_out_ns'] + 10_000}, 'at another time')):
            lines = [json.dumps(late | change if e is late else e) for e in entries]
            ledger.write_text('\n'.join(lines) + '\n', encoding='utf-8')
            done = dissect('compare', path, '--ledger', ledger)
            self.assertEqual(done.returncode, 1, why)
            self.assertIn(why, done.stdout.decode())

    def test_a_ledger_that_cannot_be_read(self):
        path, ledger, records = self.recording_with_ledger()
        for line, said in (
                ('{"direction":"up"}', 'ledger.jsonl:2: direction: expected west-to-east or east-to-west, found "up"'),
                ('no', 'ledger.jsonl:2: expected a JSON object, found "no"'),
                (records[1].replace('"frame"', '"fame"'), 'ledger.jsonl:2: expected the key "frame"'),
                (records[1].replace('"stage":"', '"stage":"x'), 'expected the name of a stage')):
            ledger.write_text(records[0] + '\n' + line + '\n', encoding='utf-8')
            done = dissect('compare', path, '--ledger', ledger)
            self.assertEqual((done.returncode, done.stdout), (2, b''), line)
            self.assertIn(said, done.stderr.decode())
        ledger.write_bytes(b'LWLEDGER' + bytes(100))
        self.assertIn(b'roce-impair ledger', dissect('compare', path, '--ledger', ledger).stderr)
        for missing in self.folder, self.folder / 'nowhere':
            done = dissect('compare', path, '--ledger', missing)
            self.assertEqual((done.returncode, done.stdout), (2, b''))
            self.assertIn(b'cannot be read', done.stderr)

    def test_two_clocks_are_estimated_from_both_directions(self):
        from pcapng_file import read_pcapng
        jitter = b'jitter = { distribution = "exponential", mean = "20us" }\n'
        for offset, drift, noise in ((0, 0, False), (12_345_678, 0, False), (-7_000_000_000, 0, True),
                                     (1_000_000, 40e-6, False), (3_600 * 10**9, -100e-6, False),
                                     (3_600 * 10**9, 100e-6, True)):
            path, _ = self.recording(b'[[rule]]\nname = "all"\ndelay = "1.9ms"\nloss = "5%"\n'
                                     + (jitter if noise else b''), duplex=True)
            _, frames = read_pcapng(path)
            begin = min(stamp for _, stamp, _ in frames)
            near, far = [], []
            for name, stamp, data in frames:
                if name in ('west-to-east in', 'east-to-west out'):
                    near.append((stamp, data))
                else:
                    far.append((stamp + offset + round((stamp - begin) * drift), data))
            for end, stamped in ('near', near), ('far', far):
                write_pcap(self.folder / f'{end}.pcap', sorted(stamped, key=lambda f: f[0]))
            run = dissect('compare', self.folder / 'near.pcap', self.folder / 'far.pcap',
                          '--two-clocks', '--json')
            self.assertEqual(run.returncode, 0, run.stderr)
            found = json.loads(run.stdout)
            there, back = found['directions']
            self.assertEqual(there['sent'] + back['sent'], 1923)
            self.assertEqual((there['invented'], back['invented']), (0, 0))
            clocks = found['clocks']
            case = (offset, drift, noise, clocks)
            within = 20_000 if noise else 2
            self.assertFalse(clocks['variation_only'])
            at_far = min(stamp for name, stamp, _ in frames
                         if name in ('west-to-east out', 'east-to-west in'))
            self.assertLess(abs(clocks['offset_ns'] - offset - (at_far - begin) * drift), within,
                            case)
            if not noise:
                self.assertLess(abs(clocks['drift_ppm'] - drift * 1e6), 0.05, case)
            plain = dissect('compare', self.folder / 'near.pcap', self.folder / 'far.pcap')
            self.assertEqual(b'(see --two-clocks)' in plain.stdout, abs(offset) > 1_900_000)
            for way in there, back:
                self.assertLess(abs(way['delay_ns']['min'] - 1_900_000), within, case)
                if not noise:
                    self.assertLess(abs(way['delay_ns']['max'] - 1_900_000), within, case)
            self.assertIn(b'if the shortest delays of both directions are equal',
                          dissect('compare', self.folder / 'near.pcap', self.folder / 'far.pcap',
                                  '--two-clocks').stdout.replace(b'\n', b' '))

    def test_two_clocks_and_one_direction_give_the_variation_only(self):
        frames = [frame for frame in self.frames() if frame[29] == 2]
        near, far = self.folder / 'near.pcap', self.folder / 'far.pcap'
        write_pcap(near, [(10**18 + i * 10**6, frame) for i, frame in enumerate(frames)])
        write_pcap(far, [(10**18 - 10**12 + i * (10**6 + 7) + i % 3 * 1000, frame)
                         for i, frame in enumerate(frames)])
        done = dissect('compare', near, far, '--two-clocks')
        self.assertIn(b'delays of one direction only: delays are the variation', done.stdout)
        [way] = json.loads(dissect('compare', near, far, '--two-clocks', '--json').stdout)['directions']
        self.assertEqual((way['sent'], way['lost'], way['delay_ns']['min'], way['delay_ns']['max']),
                         (len(frames), 0, 0, 2000))

    def test_a_bad_delay_is_a_usage_error(self):
        run = dissect('compare', RXE / 'atomic.pcap', RXE / 'atomic.pcap', '--delay', 'soon')
        self.assertEqual(run.returncode, 2)
        self.assertIn(b'soon', run.stderr)


class CommandLine(unittest.TestCase):
    def test_help_and_version(self):
        self.assertEqual(dissect('--version').returncode, 0)
        for command in (), ('list',), ('verify',), ('summary',), ('compare',):
            run = dissect(*command, '--help')
            self.assertEqual(run.returncode, 0)
            self.assertIn(b'Example', run.stdout)

    def test_bad_usage(self):
        for words in (), ('show',), ('list',), ('list', '--json', '--csv', 'x'), ('verify', '--x'):
            self.assertEqual(dissect(*words).returncode, 2, words)


class Bounds(InTemporaryFolder):
    """What needs more memory than there is, and what is bounded."""

    def test_a_record_beyond_memory_is_an_error_with_its_offset(self):
        huge = 200 << 20
        header = struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 262144, 1)
        ng = pcapng_block(0x0a0d0d0a, struct.pack('<IHHq', 0x1a2b3c4d, 1, 0, -1))
        for data, offset in ((header + struct.pack('<IIII', 0, 0, huge, huge), FILE_HEADER),
                             (ng + struct.pack('<II', 6, huge), len(ng))):
            path = self.folder / 'huge'
            path.write_bytes(data)
            os.truncate(path, len(data) + huge)
            done = subprocess.run(
                [program('roce-dissect'), 'verify', path], capture_output=True, text=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (huge, huge)))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r'huge: offset \d+: cannot be read: not enough memory')
            found = int(done.stderr.split('offset ')[1].split(':')[0])
            self.assertGreaterEqual(found, offset)
            self.assertLess(found, offset + huge)

    def many_flows(self, name, count):
        path = self.folder / name
        write_pcap(path, [(10**9 + i, roce_frame(i, qp=i + 1)) for i in range(count)])
        return path

    def test_summary_keeps_some_flows_and_counts_the_others_together(self):
        path = self.many_flows('many.pcap', 100)
        all_of_them = json.loads(dissect('summary', path, '--json').stdout)
        self.assertEqual(len(all_of_them['qps']), 100)
        self.assertNotIn('others', all_of_them)
        some = json.loads(dissect('summary', path, '--json', '--max-flows', '10').stdout)
        self.assertEqual([qp['destqp'] for qp in some['qps']], list(range(91, 101)))
        others = some['others']['qps']
        self.assertEqual((others['flows'], others['frames']), (90, 90))
        self.assertEqual(others['bytes'] + sum(qp['bytes'] for qp in some['qps']), some['bytes'])
        self.assertIn('others (90 flows)',
                      dissect('summary', path, '--max-flows', '10').stdout.decode())

    def test_compare_judges_forgotten_flows_frame_by_frame(self):
        frames = []
        for i in range(100):
            frame = bytearray(roce_frame(i))
            frame[29] = i  # a source of its own
            frames.append((10**9 + i, bytes(frame)))
        near, far = self.folder / 'near.pcap', self.folder / 'far.pcap'
        write_pcap(near, frames)
        write_pcap(far, [(at + 5000, frame) for at, frame in frames[:89] + frames[-1:]])
        for option in (), ('--max-flows', '7'):
            found = json.loads(dissect('compare', near, far, '--json', *option).stdout)
            [way] = found['directions']
            self.assertEqual((way['sent'], way['received'], way['lost']), (100, 90, 10))
            self.assertEqual(way['delay_ns']['max'], 5000)
            self.assertEqual('forgotten_flows' in found, bool(option))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
