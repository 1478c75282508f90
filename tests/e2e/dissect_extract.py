# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect extract: the bytes in its files are those of tshark's fields in real captures, and of
a model of memory and streams in captures that are made here: lost, late, repeated, cut and damaged
packets, captures that begin within a message, and addresses at the ends of 64 bits."""

import collections
import csv
import gzip
import io
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

import needs
import tshark_fields
from capture_files import OWN, RXE, captures
from longwire_test import SOURCE, begin, program
from pcap_file import MAGIC_NS, read_pcap, write_pcap

SEND, SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_IMM = 4, 0, 1, 2, 5
WRITE, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_IMM = 10, 6, 7, 8, 11
UD_SEND = 100
READ, ANSWER_FIRST, ANSWER_MIDDLE, ANSWER_LAST, ANSWER = 12, 13, 14, 15, 16
ATOMIC_ACK, CMP_SWAP, FETCH_ADD = 18, 19, 20
PSNS = 1 << 24
HERE, THERE = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
TO_THERE, TO_HERE = 0x22, 0x11  # QPs
RKEY = 0x1234
MTU = 256


def reth(va, length, rkey=RKEY):
    return struct.pack('>QII', va, rkey, length)


def frame(opcode, psn, headers=b'', payload=b'', back=False, qp=None):
    """RoCEv2 over IPv4 with a right ICRC."""
    pad = -len(payload) % 4
    qp = qp or (TO_HERE if back else TO_THERE)
    bth = struct.pack('>BBHII', opcode, 0x40 | pad << 4, 0xFFFF, qp, psn % PSNS)
    body = headers + payload + bytes(pad)
    udp_length = 8 + len(bth + body) + 4
    ends = (THERE, HERE) if back else (HERE, THERE)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 2, 20 + udp_length, 0, 0x4000, 64, 17, 0, *ends)
    udp = struct.pack('>HHHH', 0xC000, 4791, udp_length, 0)
    masked = (b'\xff' * 8 + ip[:1] + b'\xff' + ip[2:8] + b'\xff' + ip[9:10] + b'\xff\xff' + ip[12:]
              + udp[:6] + b'\xff\xff' + bth[:4] + b'\xff' + bth[5:])
    icrc = struct.pack('<I', zlib.crc32(masked + body))
    return b'\x02' * 12 + b'\x08\x00' + ip + udp + bth + body + icrc


def pieces(data):
    return [data[at:at + MTU] for at in range(0, len(data), MTU)] or [b'']


def message(first, middle, last, only, psn, data, headers=b'', end=b'', **more):
    """The packets of a message, as (psn, frame)."""
    parts = pieces(data)
    if len(parts) == 1:
        return [(psn, frame(only, psn, headers + end, data, **more))]
    codes = [first] + [middle] * (len(parts) - 2) + [last]
    return [(psn + i, frame(code, psn + i, (headers if i == 0 else b'')
                            + (end if i == len(parts) - 1 else b''), part, **more))
            for i, (code, part) in enumerate(zip(codes, parts))]


def write(psn, va, data, rkey=RKEY):
    return message(WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE, psn, data,
                   reth(va, len(data), rkey))


def send(psn, data):
    return message(SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND, psn, data)


def answers(psn, data):
    parts = pieces(data)
    codes = ([ANSWER] if len(parts) == 1
             else [ANSWER_FIRST] + [ANSWER_MIDDLE] * (len(parts) - 2) + [ANSWER_LAST])
    aeth = struct.pack('>I', 1)
    return [(psn + i, frame(code, psn + i, b'' if code == ANSWER_MIDDLE else aeth, part, back=True))
            for i, (code, part) in enumerate(zip(codes, parts))]


class Memory:
    """What WRITEs leave: a byte a key."""

    def __init__(self):
        self.bytes = {}

    def write(self, va, data):
        self.bytes.update(zip(range(va, va + len(data)), data))

    def forget(self, va, length):
        for at in range(va, va + length):
            self.bytes.pop(at, None)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.made = 0

    def pcap(self, frames, snap=None):
        """A capture of frames, 1 us apart, cut to `snap` bytes each."""
        path = self.folder / 'made.pcap'
        out = struct.pack('<IHHiIII', MAGIC_NS, 2, 4, 0, 0, 262144, 1)
        for i, data in enumerate(frames):
            kept = data[:snap]
            out += struct.pack('<IIII', 1, 1000 * i, len(kept), len(data)) + kept
        path.write_bytes(out)
        return path

    def run_it(self, *words, code=0, **settings):
        done = subprocess.run([program('roce-dissect'), 'extract', *map(str, words)],
                              capture_output=True, text=True, check=False, **settings)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def extract(self, capture, *words):
        """The folder of the files, and the rows of its map by schema."""
        self.made += 1
        out = self.folder / f'out{self.made}'
        self.run_it(capture, '-o', out, *words)
        return out, self.rows(out / 'map.jsonl')

    @staticmethod
    def rows(path):
        rows = collections.defaultdict(list)
        for line in path.read_text(encoding='utf-8').splitlines():
            row = json.loads(line)
            rows[row['schema'].removeprefix('longwire.')].append(row)
        return rows

    def memory_of(self, out, rows, rkey=RKEY):
        """The bytes that the files say were written, by address."""
        found = {}
        for row in rows['extracted_range']:
            if row['r_key'] != f'{rkey:#010x}':
                continue
            with open(out / row['file'], 'rb') as file:
                file.seek(row['offset'])
                data = file.read(row['bytes'])
            self.assertEqual(len(data), row['bytes'])
            va = int(row['va'], 16)
            found.update(zip(range(va, va + len(data)), data))
        return found

    def stream(self, out, kind, direction=0, session=1):
        return (out / f'{kind}-connection{session}-direction{direction}.bin').read_bytes()


class AsTshark(InFolder):
    """Real captures: payloads and header fields as tshark shows them, put together here."""

    FIELDS = ('frame.number', 'ip.src', 'ip.dst', 'ipv6.src', 'ipv6.dst',
              'infiniband.grh.sgid', 'infiniband.grh.dgid', 'infiniband.bth.opcode',
              'infiniband.bth.destqp', 'infiniband.bth.psn', 'infiniband.bth.padcnt',
              'infiniband.reth.va', 'infiniband.reth.r_key', 'infiniband.deth.srcqp', 'data.data')

    def packets(self, path):
        done = subprocess.run(['tshark', '-n', '-r', path, '-Y', 'infiniband.bth.opcode', *tshark_fields.AS_IS, '-T',
                               'fields', '-E', 'header=y',
                               *(word for field in self.FIELDS for word in ('-e', field))],
                              capture_output=True, text=True, check=True)
        raw = [data for _, data in read_pcap(path)]
        for row in csv.DictReader(io.StringIO(done.stdout), delimiter='\t'):
            row = {key.split('.', 1)[-1] if 'infiniband' in key else key: value
                   for key, value in row.items()}
            code, pad = int(row['bth.opcode']), int(row['bth.padcnt'])
            data = bytes.fromhex(row['data.data'])
            data = data[:len(data) - pad]
            header = {SEND: 54, WRITE_IMM: 74, UD_SEND: 62}.get(code)
            if header and (not data or code == UD_SEND):  # tshark takes it for another protocol
                header += 20 if row['ipv6.src'] else 0
                data = raw[int(row['frame.number']) - 1][header:-4 - pad]
            qp = int(row['bth.destqp'], 16)
            source, target = (  # RoCEv1 has GIDs; an IPv4 address in one is that address
                (row[f'ip.{end}'] or row[f'ipv6.{end}'] or row[f'grh.{end[0]}gid'])
                .removeprefix('::ffff:') for end in ('src', 'dst'))
            if qp > 1:
                yield code, (source, target, qp, row['deth.srcqp']), int(row['bth.psn']), row, data

    def truth(self, path):
        """Memory by host and rkey, and the streams of SENDs and READ responses."""
        flows = collections.defaultdict(dict)
        for code, flow, psn, row, data in self.packets(path):
            answer = 13 <= code & 31 <= 18
            flows[flow, answer].setdefault(psn, (code, row, data))
        memory, sends, reads = collections.defaultdict(Memory), [], []
        for (flow, answer), packets in flows.items():
            stream = b''
            place = None
            first = next(iter(packets))
            for _, (code, row, data) in sorted(packets.items(), key=lambda one: (one[0] - first + 2**23) % 2**24):
                operation = code & 31
                if answer and operation in range(ANSWER_FIRST, ANSWER + 1):
                    stream += data
                elif not answer and operation <= SEND_IMM:
                    stream += data
                elif not answer and operation in range(WRITE_FIRST, WRITE_IMM + 1):
                    if row['reth.va']:
                        place = [int(row['reth.va'], 16), int(row['reth.r_key'], 16)]
                    memory[flow[1], place[1]].write(place[0], data)
                    place[0] += len(data)
            if stream:
                (reads if answer else sends).append(stream)
        return memory, sends, reads

    @needs.tools('tshark')
    def test_real_captures(self):
        checked = collections.Counter()
        for path in captures():
            with self.subTest(path.stem):
                memory, sends, reads = self.truth(path)
                out, rows = self.extract(path)
                self.assertEqual(rows['extracted_gap'], [])
                files = collections.defaultdict(list)
                for row in rows['extracted_file']:
                    files[row['kind']].append((out / row['file']).read_bytes())
                self.assertEqual(sorted(files['sends']), sorted(sends))
                self.assertEqual(sorted(files['reads']), sorted(reads))
                for (host, rkey), truth in memory.items():
                    mine = {**rows, 'extracted_range': [row for row in rows['extracted_range']
                                                        if row['host'] == host]}
                    self.assertEqual(self.memory_of(out, mine, rkey), truth.bytes)
                if path in OWN:
                    checked.update({'memory': len(memory), 'sends': len(sends), 'reads': len(reads)})
        self.assertEqual(checked, {'memory': 36, 'sends': 39, 'reads': 16})

    def test_atomics_leave_their_result(self):
        """perftest adds 1 to, or swaps, the same 8 bytes: what the next atomic finds there."""
        out, rows = self.extract(RXE / 'atomic.pcap')
        golden = gzip.open(SOURCE / 'tests/golden/tshark/rxe-atomic.tsv.gz', 'rt')
        with golden:
            listed = list(csv.DictReader(golden, delimiter='\t', quoting=csv.QUOTE_NONE))
        results = {}
        for row in listed:
            if row['infiniband.bth.opcode'] not in (str(FETCH_ADD), str(CMP_SWAP)):
                continue
            original, = (int(answer['infiniband.atomicacketh.origremdt']) for answer in listed
                         if answer['infiniband.bth.opcode'] == str(ATOMIC_ACK)
                         and answer['infiniband.bth.psn'] == row['infiniband.bth.psn'])
            operand = int(row['infiniband.atomiceth.swapdt'])
            if row['infiniband.bth.opcode'] == str(FETCH_ADD):
                value = (original + operand) % 2**64
            else:
                compare = int(row['infiniband.atomiceth.cmpdt'])
                value = operand if compare == original else original
            results[int(row['infiniband.reth.r_key'], 16), int(row['infiniband.reth.va'], 16)] = value
        self.assertEqual(len(results), 2)
        for (rkey, va), value in results.items():
            memory = self.memory_of(out, rows, rkey)
            self.assertEqual(bytes(memory[va + i] for i in range(8)), value.to_bytes(8, 'little'))


class Written(InFolder):
    """Memory of made captures."""

    def check(self, frames, truth, gaps=0, **more):
        out, rows = self.extract(self.pcap(frames, **more))
        self.assertEqual(self.memory_of(out, rows), truth.bytes)
        self.assertEqual(sum(row['bytes'] for row in rows['extracted_gap']), gaps)
        return out, rows

    def some_writes(self, seed, psn=100):
        """WRITEs at random places of 16 KiB: their packets in order, and their messages."""
        chance = random.Random(seed)
        packets, messages = [], []
        for _ in range(60):
            data = chance.randbytes(chance.choice((1, 7, 64, 256, 257, 1000, 3000)))
            va = 0x7f0000000000 + chance.randrange(16384)
            messages.append((psn, va, data))
            packets += write(psn, va, data)
            psn += len(pieces(data))
        return packets, messages

    def test_the_highest_psn_stays(self):
        for seed in range(8):
            for start in 100, PSNS - 50:  # a wrap
                packets, messages = self.some_writes(seed, start)
                truth = Memory()
                for _, va, data in messages:
                    truth.write(va, data)
                chance = random.Random(seed)
                late = sorted(packets, key=lambda one: one[0] + chance.choice((0, 0, 0, 4.5)))
                again = []
                for i, packet in enumerate(packets):  # go-back-N, after the 5 behind it passed
                    again.append(packet)
                    if chance.random() < 0.05:
                        again += packets[max(0, i - 5):i + 1]
                lost = list(packets)
                for i in sorted(chance.sample(range(6, len(packets) - 6), 6)):
                    lost[i] = None  # and sent again later
                lost = [one for one in lost if one]
                lost += [one for one in packets if one not in lost]
                for name, some in (('in order', packets), ('late', late), ('repeated', again),
                                   ('lost, sent again', lost)):
                    with self.subTest(f'{name}, seed {seed} from {start}'):
                        out, rows = self.check([data for _, data in some], truth)
                        row, = rows['extracted_file']
                        self.assertEqual(row['packets'], len(packets))
                        self.assertEqual(row['repeated_packets'], len(some) - len(packets))
                        self.assertEqual(rows['unplaced'], [])

    def test_lost_packets_are_gaps(self):
        chance = random.Random(5)
        data = chance.randbytes(40 * MTU)
        for lost in ((3,), (1, 2, 38), (39,), (5, 7, 9)):
            packets = write(7, 0x1000, data)
            truth = Memory()
            truth.write(0x1000, data)
            for i in lost:
                truth.forget(0x1000 + i * MTU, MTU)
            kept = [one for i, (_, one) in enumerate(packets) if i not in lost]
            with self.subTest(str(lost)):
                out, rows = self.check(kept, truth, gaps=MTU * len(lost))
                missing = set()
                for row in rows['extracted_gap']:
                    first = int(row['va'], 16)
                    missing |= set(range(first, first + row['bytes']))
                    self.assertEqual(row['offset'], first - 0x1000)
                self.assertEqual(missing, {0x1000 + i * MTU + j for i in lost for j in range(MTU)})
                row, = self.rows(out / 'messages.jsonl')['extracted_message']
                self.assertEqual((row['bytes'], row['missing_bytes'], row['partial']),
                                 (len(data), MTU * len(lost), True))
                self.assertIn('Missing in the capture', self.run_it(
                    self.folder / 'made.pcap', '-o', self.folder / f'text{lost[0]}').stdout)

    def test_a_lost_first_packet_leaves_the_others_without_address(self):
        data = bytes(range(256)) * 4
        packets = [one for _, one in write(7, 0x1000, data) + write(11, 0x8000, data)]
        truth = Memory()
        truth.write(0x8000, data)
        for kept in packets[1:], packets[2:]:
            _, rows = self.check(kept, truth)
            left, = rows['unplaced']
            count = len(kept) - 4
            self.assertEqual((left['reason'], left['packets'], left['bytes']),
                             ('no_address', count, count * MTU))
        # It comes late: all have their place.
        truth.write(0x1000, data)
        self.check([*packets[1:4], packets[0], *packets[4:]], truth)

    def test_a_lost_whole_message_is_told(self):
        packets = [one for psn in range(20) for _, one in write(psn, 0x1000 + 8 * psn, bytes([psn] * 8))]
        truth = Memory()
        for psn in range(20):
            if psn not in (7, 8):
                truth.write(0x1000 + 8 * psn, bytes([psn] * 8))
        _, rows = self.check(packets[:7] + packets[9:], truth)
        left, = rows['unplaced']
        self.assertEqual((left['reason'], left['packets'], left['first_psn']), ('not_captured', 2, 7))

    def test_cut_frames(self):
        data = random.Random(3).randbytes(1000)
        truth = Memory()
        header = 54
        for i, part in enumerate(pieces(data)):
            kept = 120 - header - (16 if i == 0 else 0)
            truth.write(0x1000 + i * MTU, part[:kept])
        self.check([one for _, one in write(5, 0x1000, data)], truth, snap=120,
                   gaps=1000 - len(truth.bytes))

    def test_bad_icrcs(self):
        data = random.Random(3).randbytes(4 * MTU)
        packets = [one for _, one in write(5, 0x1000, data)]
        broken = packets[1][:100] + bytes([packets[1][100] ^ 1]) + packets[1][101:]
        truth = Memory()
        truth.write(0x1000, data)
        whole = [packets[0], broken, *packets[2:], packets[1]]
        _, rows = self.check(whole, truth)
        self.assertEqual([(row['reason'], row['packets']) for row in rows['unplaced']],
                         [('bad_icrc', 1)])
        truth.forget(0x1000 + MTU, MTU)
        self.check(whole[:-1], truth, gaps=MTU)
        out, rows = self.extract(self.pcap(whole[:-1]), '--bad-icrcs')
        truth.write(0x1000 + MTU, broken[54:54 + MTU])
        self.assertEqual(self.memory_of(out, rows), truth.bytes)

    def test_addresses_of_all_64_bits(self):
        places = [0, 2**64 - 600, 2**32 - 100, 2**63, 2**63 - 2**20, 5]
        packets, truth, psn = [], Memory(), 0
        for i, va in enumerate(places):
            packets += write(psn, va, bytes([i + 1] * 600))
            truth.write(va, bytes([i + 1] * 600))
            psn += 3
        out, rows = self.check([one for _, one in packets], truth)
        for row in rows['extracted_file']:
            self.assertLess(row['length'], 2**33)
            self.assertLess((out / row['file']).stat().st_blocks * 512, 2**20)
        # Beyond the end there is nothing.
        _, rows = self.extract(self.pcap([one for _, one in write(0, 2**64 - 100, bytes(600))]))
        self.assertEqual(sum(row['bytes'] for row in rows['extracted_range']), 100)
        self.assertEqual({row['reason'] for row in rows['unplaced']}, {'malformed'})

    def test_files_have_no_room_below(self):
        """Written from the end, and from anywhere: the file begins with the lowest address."""
        for order in range(99, -1, -1), random.Random(1).sample(range(100), 100):
            packets, truth = [], Memory()
            for psn, i in enumerate(order):
                packets += write(psn, 0x5000 + 5000 * i, bytes([i + 1] * 100))
                truth.write(0x5000 + 5000 * i, bytes([i + 1] * 100))
            out, rows = self.check([one for _, one in packets], truth)
            row, = rows['extracted_file']
            self.assertEqual((row['va'], row['length']), ('0x5000', 99 * 5000 + 100))
            content = (out / row['file']).read_bytes()
            self.assertEqual(content, bytes(truth.bytes.get(0x5000 + at, 0)
                                            for at in range(row['length'])))

    def test_regions_of_rkeys_and_hosts(self):
        one = write(0, 0x1000, b'a' * 8) + write(1, 0x1000, b'b' * 8, rkey=7)
        other = [(2, frame(WRITE, 2, reth(0x1000, 8), b'c' * 8, back=True))]
        out, rows = self.extract(self.pcap([data for _, data in one + other]))
        self.assertEqual({(row['host'], row['r_key']): (out / row['file']).read_bytes()
                          for row in rows['extracted_file']},
                         {('10.0.0.2', '0x00001234'): b'a' * 8, ('10.0.0.2', '0x00000007'): b'b' * 8,
                          ('10.0.0.1', '0x00001234'): b'c' * 8})
        out, rows = self.extract(self.folder / 'made.pcap', '--what', 'reads,sends')
        self.assertEqual(rows['extracted_file'], [])
        one_session = self.extract(self.folder / 'made.pcap', '--connection', 99)[1]
        self.assertEqual(one_session['extracted_file'], [])

    def test_immediates_and_empty_messages(self):
        immediate = struct.pack('>I', 0xCAFE)
        frames = [frame(WRITE_IMM, 0, reth(0x1000, 4) + immediate, b'abcd'),
                  frame(WRITE_IMM, 1, reth(0, 0) + immediate), frame(WRITE, 2, reth(0x2000, 0))]
        truth = Memory()
        truth.write(0x1000, b'abcd')
        out, _ = self.check(frames, truth)
        rows = self.rows(out / 'messages.jsonl')['extracted_message']
        self.assertEqual([(row['bytes'], row['immediate']) for row in rows],
                         [(4, '0x0000cafe'), (0, '0x0000cafe'), (0, None)])

    def test_atomics(self):
        add = struct.pack('>QIQQ', 0x1000, RKEY, 5, 0)
        swap = struct.pack('>QIQQ', 0x1008, RKEY, 99, 7)
        aeth = struct.pack('>I', 1)

        def answer(psn, original):
            return frame(ATOMIC_ACK, psn, aeth + struct.pack('>Q', original), back=True)

        requests = [frame(FETCH_ADD, 0, add), frame(CMP_SWAP, 1, swap), frame(CMP_SWAP, 2, swap)]
        later = [one for _, one in write(3, 0x1004, b'zzzz')]  # executed behind the atomics
        truth = Memory()
        truth.write(0x1000, (2**64 - 2 + 5 & 2**64 - 1).to_bytes(8, 'little'))
        truth.write(0x1008, (99).to_bytes(8, 'little'))
        truth.write(0x1004, b'zzzz')
        self.check([*requests, *later, answer(0, 2**64 - 2), answer(1, 7), answer(2, 99)], truth)
        # Without an answer nothing tells what is in memory.
        truth.forget(0x1000, 8)
        truth.write(0x1004, b'zzzz')
        self.check([*requests, *later, answer(1, 7), answer(2, 99)], truth, gaps=4)


class Streams(InFolder):
    def sends(self, count, seed=0, psn=50):
        chance = random.Random(seed)
        packets, data = [], []
        for _ in range(count):
            data.append(chance.randbytes(chance.choice((0, 1, 100, 256, 300, 2000))))
            packets += send(psn, data[-1])
            psn += len(pieces(data[-1]))
        return packets, data

    def test_sends_in_the_order_of_their_psns(self):
        for seed in range(6):
            for start in 50, PSNS - 40:
                packets, data = self.sends(60, seed, start)
                chance = random.Random(seed)
                late = sorted(packets, key=lambda one: one[0] + chance.choice((0, 0, 0, 4.5)))
                late[0:0] = [late.pop(late.index(packets[0]))]
                back = [*packets[:30], *packets[32:40], *packets[30:]]  # 2 lost; go-back-N
                for name, some in ('in order', packets), ('late', late), ('go-back-N', back):
                    with self.subTest(f'{name}, seed {seed} from {start}'):
                        out, rows = self.extract(self.pcap([one for _, one in some]))
                        self.assertEqual(self.stream(out, 'sends'), b''.join(data))
                        row, = rows['extracted_file']
                        self.assertEqual(row['repeated_packets'], len(some) - len(packets))
                        self.assertEqual(rows['extracted_gap'] + rows['unplaced'], [])
                        index = self.rows(out / 'messages.jsonl')['extracted_message']
                        self.assertEqual([row['bytes'] for row in index], [len(one) for one in data])
                        at = 0
                        for row in index:
                            self.assertEqual((row['offset'], row['partial']), (at, False))
                            at += row['bytes']

    def test_lost_in_the_middle_of_a_send(self):
        data = random.Random(9).randbytes(8 * MTU)
        packets = [one for psn in (0, 8) for _, one in send(psn, data)]
        out, rows = self.extract(self.pcap(packets[:2] + packets[4:]))
        expected = data[:2 * MTU] + bytes(2 * MTU) + data[4 * MTU:] + data
        self.assertEqual(self.stream(out, 'sends'), expected)
        gap, = rows['extracted_gap']
        self.assertEqual((gap['offset'], gap['bytes']), (2 * MTU, 2 * MTU))
        index = self.rows(out / 'messages.jsonl')['extracted_message']
        self.assertEqual([(row['missing_bytes'], row['partial']) for row in index],
                         [(2 * MTU, True), (0, False)])

    def test_lost_first_and_last_packets(self):
        data = random.Random(9).randbytes(4 * MTU)
        packets = [one for psn in (0, 4) for _, one in send(psn, data)]
        out, rows = self.extract(self.pcap(packets[:3] + packets[5:]))
        # Nothing tells that they were not of one message: as much room as they need is left.
        self.assertEqual(self.stream(out, 'sends'),
                         data[:3 * MTU] + bytes(2 * MTU) + data[MTU:])
        self.assertEqual([(row['reason'], row['packets'], row['first_psn'])
                          for row in rows['unplaced']], [('not_captured', 2, 3)])
        index = self.rows(out / 'messages.jsonl')['extracted_message']
        self.assertEqual([(row['partial'], row['missing_bytes']) for row in index],
                         [(True, 2 * MTU)])
        # A message that ends before the gap, and one that begins within it.
        out, rows = self.extract(self.pcap(packets[:4] + packets[5:]))
        self.assertEqual(self.stream(out, 'sends'), data + data[MTU:])
        index = self.rows(out / 'messages.jsonl')['extracted_message']
        self.assertEqual([row['partial'] for row in index], [False, True])
        # A capture that begins within a message.
        out, _ = self.extract(self.pcap(packets[2:]))
        self.assertEqual(self.stream(out, 'sends'), data[2 * MTU:] + data)

    def test_sends_between_other_requests(self):
        frames = []
        psn = 0
        for i in range(10):
            frames += [one for _, one in send(psn, bytes([i] * 300))]
            frames += [one for _, one in write(psn + 2, 0x1000, bytes(300))]
            frames += [frame(READ, psn + 4, reth(0x9000, 1000))]
            frames += [one for _, one in answers(psn + 4, bytes([i + 100] * 1000))]
            psn += 8
        out, rows = self.extract(self.pcap(frames))
        self.assertEqual(self.stream(out, 'sends'), b''.join(bytes([i] * 300) for i in range(10)))
        self.assertEqual(self.stream(out, 'reads'),
                         b''.join(bytes([i + 100] * 1000) for i in range(10)))
        self.assertEqual(rows['unplaced'] + rows['extracted_gap'], [])

    def test_reads(self):
        chance = random.Random(2)
        data = [chance.randbytes(length) for length in (1000, 0, 5, 256, 4000)]
        frames, psn = [], 10
        replies = []
        for i, one in enumerate(data):
            frames.append(frame(READ, psn, reth(0x1000 * i, len(one))))
            replies += answers(psn, one)
            psn += len(pieces(one))
        out, rows = self.extract(self.pcap(frames + [one for _, one in replies]))
        self.assertEqual(self.stream(out, 'reads'), b''.join(data))
        index = self.rows(out / 'messages.jsonl')['extracted_message']
        self.assertEqual([(row['va'], row['bytes'], row['partial']) for row in index],
                         [(f'{0x1000 * i:#x}', len(one), False) for i, one in enumerate(data)])

    def test_lost_responses_and_a_read_that_is_sent_again(self):
        data = random.Random(4).randbytes(2000)  # 8 packets
        request = frame(READ, 10, reth(0x1000, 2000))
        replies = [one for _, one in answers(10, data)]
        out, rows = self.extract(self.pcap([request, *replies[:3], *replies[5:]]))
        self.assertEqual(self.stream(out, 'reads'),
                         data[:3 * MTU] + bytes(2 * MTU) + data[5 * MTU:])
        gap, = rows['extracted_gap']
        self.assertEqual((gap['offset'], gap['bytes']), (3 * MTU, 2 * MTU))
        rest = frame(READ, 13, reth(0x1000 + 3 * MTU, 2000 - 3 * MTU))
        again = [one for _, one in answers(13, data[3 * MTU:])]
        out, rows = self.extract(self.pcap([request, *replies[:3], *replies[5:], rest, *again]))
        self.assertEqual(self.stream(out, 'reads'), data)
        self.assertEqual(rows['extracted_gap'], [])
        row, = rows['extracted_file']
        self.assertEqual((row['packets'], row['repeated_packets']), (8, 3))
        # Without responses there is nothing.
        out, rows = self.extract(self.pcap([request]))
        self.assertEqual(rows['extracted_file'], [])
        self.assertEqual([(row['reason'], row['bytes']) for row in rows['unplaced']],
                         [('no_response', 2000)])

    def test_responses_alone(self):
        """A capture of one direction: the data is there, its address is not."""
        data = [random.Random(4).randbytes(length) for length in (2000, 5, 700)]
        frames, psn = [], 10
        for one in data:
            frames += [answer for _, answer in answers(psn, one)]
            psn += len(pieces(one))
        out, _ = self.extract(self.pcap(frames))
        name, = (path.name for path in out.glob('reads-*'))
        self.assertEqual((out / name).read_bytes(), b''.join(data))
        index = self.rows(out / 'messages.jsonl')['extracted_message']
        self.assertEqual([(row['va'], row['bytes']) for row in index],
                         [(None, len(one)) for one in data])

    def test_many_connections(self):
        """More files than are open at once."""
        count = 700
        frames = [frame(SEND, i, b'', struct.pack('>I', i * 1000 + qp), qp=qp)
                  for i in range(3) for qp in range(0x100, 0x100 + count)]
        out, rows = self.extract(self.pcap(frames))
        self.assertEqual(len(rows['extracted_file']), count)
        for row in rows['extracted_file']:
            values = struct.unpack('>III', (out / row['file']).read_bytes())
            self.assertEqual(values[0], values[1] - 1000)
            self.assertEqual(values[0], values[2] - 2000)
        _, rows = self.extract(self.folder / 'made.pcap', '--max-files', 10)
        self.assertEqual(len(rows['extracted_file']), 10)
        self.assertEqual(sum(row['packets'] for row in rows['unplaced']
                             if row['reason'] == 'no_room'), 3 * (count - 10))


class Folder(InFolder):
    """Where the files go, and what stops them."""

    def test_every_form_of_report(self):
        capture = RXE / 'rc_write_send_read.pcap'
        out = self.folder / 'a' / 'b'
        rows = [json.loads(line) for line in self.run_it(capture, '-o', out, '--json').stdout.splitlines()]
        self.assertEqual({(row['schema'], row['version']) for row in rows},
                         {('longwire.extracted_file', 1)})
        self.assertEqual(sorted([row['file'] for row in rows] + ['map.jsonl', 'messages.jsonl']),
                         sorted(os.listdir(out)))
        table = list(csv.DictReader(io.StringIO(
            self.run_it(capture, '-o', self.folder / 'c', '--csv').stdout)))
        self.assertEqual([row['file'] for row in table], [row['file'] for row in rows])
        for row in rows:
            self.assertEqual((out / row['file']).stat().st_size, row['length'])

    def test_standard_input_several_files_and_packed_ones(self):
        frames = [data for _, data in read_pcap(RXE / 'rc_write_send_read.pcap')]
        stamped = [(10**9 + i, data) for i, data in enumerate(frames)]
        halves = self.folder / 'one.pcap', self.folder / 'two.pcap'
        write_pcap(halves[0], stamped[::2])
        write_pcap(halves[1], stamped[1::2])
        packed = self.folder / 'all.pcap.gz'
        packed.write_bytes(gzip.compress((RXE / 'rc_write_send_read.pcap').read_bytes()))
        outs = [self.extract(RXE / 'rc_write_send_read.pcap')[0], self.extract(packed)[0]]
        outs.append(self.folder / 'split')
        self.run_it(*halves, '-o', outs[-1])
        outs.append(self.folder / 'piped')
        with open(RXE / 'rc_write_send_read.pcap', 'rb') as capture:
            self.run_it('-', '-o', outs[-1], stdin=capture)
        contents = [{path.name: path.read_bytes() for path in out.glob('*.bin')} for out in outs]
        self.assertEqual(len(contents[0]), 8)
        for other in contents[1:]:
            self.assertEqual(other, contents[0])

    def test_a_growing_capture_until_ctrl_c(self):
        content = (RXE / 'rc_write_send_read.pcap').read_bytes()
        path, out = self.folder / 'growing.pcap', self.folder / 'out'
        path.write_bytes(content[:len(content) // 2])
        process = begin(self, [program('roce-dissect'), 'extract', path, '--follow', '-o', out])
        time.sleep(0.3)
        with open(path, 'ab') as growing:
            growing.write(content[len(content) // 2:])
        time.sleep(0.5)
        self.assertEqual(list(out.glob('*.bin')), [])  # they are not complete
        process.send_signal(signal.SIGINT)
        shown, said = process.communicate(timeout=20)
        self.assertEqual((process.returncode, said), (0, ''))
        self.assertIn('8 files with 110.1 kB of data', shown)
        whole, _ = self.extract(RXE / 'rc_write_send_read.pcap')
        for file in whole.glob('*.bin'):
            self.assertEqual((out / file.name).read_bytes(), file.read_bytes())

    def test_a_folder_with_files_is_refused(self):
        capture = RXE / 'rc_write_send_read.pcap'
        out = self.folder / 'out'
        self.run_it(capture, '-o', out)
        (out / 'mine').write_text('mine', encoding='utf-8')
        sends = out / 'sends-connection3-direction0.bin'
        content = sends.read_bytes()
        sends.write_bytes(b'former')
        done = self.run_it(capture, '-o', out, code=3)
        self.assertIn('--force', done.stderr)
        self.assertEqual(sends.read_bytes(), b'former')
        elsewhere = self.folder / 'elsewhere'
        elsewhere.write_bytes(b'not mine')
        sends.unlink()
        sends.symlink_to(elsewhere)
        self.run_it(capture, '-o', out, '--force')
        self.assertEqual(sends.read_bytes(), content)
        self.assertEqual(elsewhere.read_bytes(), b'not mine')
        self.assertEqual((out / 'mine').read_text(encoding='utf-8'), 'mine')
        self.assertIn('expected a folder', self.run_it(capture, '-o', elsewhere, code=3).stderr)
        self.run_it(capture, '-o', '/proc/nowhere', code=3)
        self.assertIn('memory,reads,sends',
                      self.run_it(capture, '-o', out, '--what', 'all', code=2).stderr)
        self.run_it(capture, code=2)

    def test_an_input_is_not_replaced(self):
        out = self.folder / 'out'
        out.mkdir()
        capture = out / 'sends-connection1-direction0.bin'
        shutil.copy(RXE / 'uc_send_write.pcap', capture)
        content = capture.read_bytes()
        self.run_it(capture, '-o', out, '--force', code=2)
        self.assertEqual(capture.read_bytes(), content)

    def large(self):
        data = random.Random(1).randbytes(400 * MTU)
        return self.pcap([one for _, one in write(0, 0x1000, data)])

    @needs.root('file systems')
    def test_a_full_disk(self):
        small = self.folder / 'small'
        small.mkdir()
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'small', small],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            needs.lacks('a tmpfs', mounted.stderr)
        self.addCleanup(subprocess.run, ['umount', str(small)], check=False)
        done = self.run_it(self.large(), '-o', small / 'out', code=3)
        self.assertIn('No space left on device; no data is kept', done.stderr)
        self.assertEqual(done.stdout, '')
        self.assertEqual(os.listdir(small), [])

    def test_a_limit_of_file_sizes(self):
        done = self.run_it(self.large(), '-o', self.folder / 'out', code=3,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192,) * 2))
        self.assertIn('no data is kept', done.stderr)
        self.assertFalse((self.folder / 'out').exists())

    def test_a_damaged_capture(self):
        capture = self.large()
        capture.write_bytes(capture.read_bytes()[:-100])
        done = self.run_it(capture, '-o', self.folder / 'out', code=1)
        self.assertIn('1 file with', done.stdout)
        rows = self.rows(self.folder / 'out' / 'map.jsonl')
        self.assertEqual(sum(row['bytes'] for row in rows['extracted_gap']), MTU)


class Manual(InFolder):
    """What the manual shows of extract is what the programs print."""

    def test_output_is_that_of_a_run(self):
        text = (SOURCE / 'docs/reference/roce-dissect-extract.md').read_text(encoding='utf-8')
        block = re.search(r'^```\n(\$ .*?)^```', text, re.M | re.S)[1]
        (self.folder / 'pcaps').symlink_to(SOURCE / 'pcaps')
        path = f'{pathlib.Path(program("roce-dissect")).parent}:{os.environ["PATH"]}'
        shown = re.findall(r'^\$ ([^\n]*)\n(.*?)(?=^\$ |\Z)', block, re.M | re.S)
        self.assertEqual(len(shown), 4)
        for command, output in shown:
            done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True,
                                  cwd=self.folder, env={**os.environ, 'PATH': path})
            self.assertEqual(done.stdout, output)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
