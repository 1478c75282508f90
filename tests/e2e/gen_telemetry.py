# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen telemetry over RoCEv1, which Linux' soft-RoCE does not speak: the peer is this test. It
hands over a ring by TCP, takes the WRITEs from a veth by a raw socket, and answers as a responder
does. No code of the project reads or makes its frames. Needs root, for a network namespace."""

import ctypes
import ipaddress
import json
import os
import pathlib
import socket
import struct
import subprocess
import tempfile
import threading
import unittest
import zlib

import needs
import gen_decoder
import longwire_test
import verdict_outputs
from longwire_test import SOURCE

GEN, DISSECT = longwire_test.program('roce-gen'), longwire_test.program('roce-dissect')
CLONE_NEWNET = 0x40000000
ROCEV1, NEXT_IS_BTH = 0x8915, 0x1b
WRITE_ONLY, WRITE_ONLY_IMM, ACK = 10, 11, 17
SEQUENCE_ERROR, REMOTE_ACCESS_ERROR = 0x60, 0x62
QPN, R_KEY, VA = 0x123456, 0xcafe0001, 0x7f00_0000_1000
FIRST_PSN = 0xfffff0  # of the peer, which sends no requests
RECORD, SLOTS, RECORDS = 32, 64, 300


def ip(words):
    subprocess.run(['ip', *words.split()], check=True, capture_output=True, text=True)


def gid(address):
    found = ipaddress.ip_address(address)
    return found.packed if found.version == 6 else bytes(10) + b'\xff\xff' + found.packed


def records_of(path):
    """The first 24 bytes of the records of roce32, from a capture's bytes."""
    rows = []
    for _, _, frame in gen_decoder.read_pcap(path):
        rows.append(frame[26:34] + frame[34:36] + frame[38:40] + frame[42:54])
    return rows


class Peer(threading.Thread):
    """The hand-over and the responder of one QP; keeps every frame that it takes."""

    def __init__(self, address, drop=(), encapsulation='rocev1', refuse=0, p_key=0xffff):
        super().__init__(daemon=True)
        self.address, self.drop, self.encapsulation = address, set(drop), encapsulation
        self.refuse, self.p_key = refuse, p_key
        self.frames, self.memory, self.hello, self.trouble = [], {}, None, None
        self._tcp = socket.create_server(('127.0.0.1', 0))
        self.port = self._tcp.getsockname()[1]
        self._raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ROCEV1))
        self._raw.bind(('far', ROCEV1))
        self._raw.settimeout(0.05)
        self.start()

    def run(self):
        try:
            self._serve()
        except Exception as error:  # pylint: disable=broad-except
            self.trouble = error

    def _serve(self):
        connection, _ = self._tcp.accept()
        with connection, connection.makefile('rw') as lines:
            def say(kind, **fields):
                line = {'schema': 'longwire-handover', 'version': 2, 'kind': kind, **fields}
                lines.write(json.dumps(line) + '\n')
                lines.flush()

            self.hello = json.loads(lines.readline())
            say('offer', gid=str(ipaddress.IPv6Address(gid(self.address))),
                encapsulation=self.encapsulation, mtu=1024, q_key=1, max_rd_atomic=16, va=VA, size=RECORD * SLOTS, r_key=R_KEY,
                qps=[{'qpn': QPN, 'psn': FIRST_PSN, 'va': VA, 'r_key': R_KEY}])
            ended = threading.Event()
            responder = threading.Thread(target=self._respond, args=(ended,), daemon=True)
            responder.start()
            line = lines.readline()
            ended.set()
            responder.join()
            if not line:  # the client has left
                return
            done = json.loads(line)
            say('report', checked=0, wrong=0, duplicates=0, out_of_sequence=0, cnps=0, dropped=0,
                counted=False, messages=sum(done['messages']), bytes=done['bytes'], errors=0,
                failure='', counters={},
                signatures=dict.fromkeys(('frames', 'unsigned_frames', 'lost', 'duplicated',
                                          'out_of_order'), 0))

    def _respond(self, ended):
        own, = self.hello['qps']
        expected, asked, count = own['psn'], False, 0
        while not ended.is_set():
            try:
                frame, where = self._raw.recvfrom(9000)
            except TimeoutError:
                continue
            if where[2] == socket.PACKET_OUTGOING:
                continue
            count += 1
            if count in self.drop:
                continue
            self.frames.append(frame)
            if count == self.refuse:
                self._send(own['qpn'], expected, REMOTE_ACCESS_ERROR)
                continue
            f = gen_decoder.decode(frame)
            ahead = (f['bth.psn'] - expected + (1 << 23)) % (1 << 24) - (1 << 23)
            if ahead > 0:
                if not asked:
                    self._send(own['qpn'], expected, SEQUENCE_ERROR)
                asked = True
                continue
            if ahead == 0:
                self.memory.setdefault(f['reth.va'], []).append(f['payload'])
                expected, asked = (expected + 1) % (1 << 24), False
            self._send(own['qpn'], f['bth.psn'], 0x1f)

    def _send(self, qpn, psn, syndrome):
        """An ACK or a NAK. The ICRC is a CRC of the packet with what routers may change as ones."""
        target = socket.inet_pton(socket.AF_INET6, self.hello['gid'])
        bth = struct.pack('>BBHII', ACK, 0, self.p_key, qpn, psn)
        rest = struct.pack('>I', syndrome << 24)
        grh = struct.pack('>IHBB', 6 << 28, len(bth) + len(rest) + 4, NEXT_IS_BTH, 64)
        grh += gid(self.address) + target
        masked = (b'\xff' * 8 + struct.pack('>I', 6 << 28 | 0xfffffff) + grh[4:7] + b'\xff' +
                  grh[8:] + bth[:4] + b'\xff' + bth[5:] + rest)
        icrc = struct.pack('<I', zlib.crc32(masked))
        macs = self.frames[-1][6:12] + self.frames[-1][0:6] if self.frames else b''
        self._raw.send(macs + struct.pack('>H', ROCEV1) + grh + bth + rest + icrc)

    def close(self):
        self.join(20)
        self._tcp.close()
        self._raw.close()


@needs.root('network namespaces')
class OverRocev1(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            needs.lacks('a network namespace', os.strerror(ctypes.get_errno()))
        ip('link set lo up')
        ip('link add near type veth peer name far')
        for name in ('near', 'far'):
            ip(f'link set {name} up')
        ip('addr add 192.0.2.2/24 dev far')
        ip('addr add 2001:db8::2/64 dev far nodad')
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.capture = cls.folder / 'frames.pcap'
        subprocess.run([GEN, 'run', SOURCE / 'profiles/flows/ipv4-rc-send.toml', '--pcap',
                        cls.capture, '--count', str(RECORDS)], check=True, capture_output=True)

    def run_telemetry(self, peer, own, *options):
        done = subprocess.run(
            [GEN, 'telemetry', '--from', self.capture, '--port', 'near',
             '--address', own, '--encapsulation', 'rocev1', '--peer', f'127.0.0.1:{peer.port}',
             '--token', 'any', '--slots', str(SLOTS), '-t', '16', '--json',
             *(() if '--layout' in options else ('--layout', 'roce32')), *options],
            capture_output=True, text=True, timeout=60, check=False)
        peer.close()
        self.assertIsNone(peer.trouble)
        return done

    def telemetry(self, peer, own, *options):
        """What telemetry says, and the capture of what passed its port."""
        pcap = self.folder / f'{self.id()}.{len(own)}.pcapng'
        done = self.run_telemetry(peer, own, '--pcap', pcap, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), pcap

    def check_memory(self, peer):
        """Record n is in slot n % SLOTS, byte for byte, and no other one is there."""
        heads = records_of(self.capture)
        self.assertEqual(len(heads), RECORDS)
        wanted = {VA + RECORD * slot: [heads[n] + n.to_bytes(8, 'big')
                                       for n in range(slot, RECORDS, SLOTS)]
                  for slot in range(SLOTS)}
        self.assertEqual(peer.memory, wanted)

    def test_each_record_is_one_write(self):
        for own, address in (('192.0.2.1', '192.0.2.2'), ('2001:db8::1', '2001:db8::2')):
            peer = Peer(address)
            said, pcap = self.telemetry(peer, own, '--imm-every', '10')
            self.assertEqual((said['records'], said['retransmitted']), (RECORDS, 0))
            self.assertEqual(len(peer.frames), RECORDS)
            first = peer.hello['qps'][0]['psn']
            for n, frame in enumerate(peer.frames):
                f = gen_decoder.decode(frame)
                self.assertEqual(frame[12:14], b'\x89\x15')
                self.assertTrue(f['icrc_right'])
                self.assertEqual((frame[22:38], frame[38:54]), (gid(own), gid(address)))
                self.assertEqual(f['bth.opcode'], WRITE_ONLY_IMM if n % 10 == 9 else WRITE_ONLY)
                self.assertEqual(
                    (f['bth.destqp'], f['bth.psn'], f['reth.va'], f['reth.r_key'],
                     f['reth.dmalen']),
                    (QPN, (first + n) % (1 << 24), VA + RECORD * (n % SLOTS), R_KEY, RECORD))
            self.check_memory(peer)
            shown = subprocess.run([DISSECT, 'verify', '--json', pcap], capture_output=True,
                                   text=True, check=True)
            counts = json.loads(shown.stdout)
            self.assertEqual(counts['icrc_ok'], 2 * RECORDS)  # WRITEs and their ACKs

    def test_records_have_the_class_of_their_layout(self):
        """The traffic class and the hop limit of the GRH, and the P_Key; an option replaces a value."""
        layout = self.folder / 'classed.toml'
        text = (SOURCE / 'profiles/telemetry/roce32.toml').read_text(encoding='utf-8')
        layout.write_text(text + '[class]\ndscp = 26\nhop_limit = 9\np_key = 0x8003\n', encoding='utf-8')
        for options, dscp in ((), 26), (('--dscp', '30'), 30):
            peer = Peer('192.0.2.2', p_key=0x8003)
            said, _ = self.telemetry(peer, '192.0.2.1', '--layout', layout, *options)
            self.assertEqual(said['records'], RECORDS)
            heads = [gen_decoder.decode(frame) for frame in peer.frames]
            self.assertEqual({(f['dscp'], f['ttl'], f['bth.p_key']) for f in heads}, {(dscp, 9, 0x8003)})

    def test_a_gid_of_the_other_kind_is_refused(self):
        peer = Peer('192.0.2.2', encapsulation='rocev2')
        done = self.run_telemetry(peer, '192.0.2.1')
        self.assertEqual((done.returncode, peer.frames), (3, []))
        self.assertIn('::ffff:192.0.2.2 is of rocev2, and this side sends rocev1', done.stderr)

    def test_lost_writes_are_sent_again(self):
        peer = Peer('192.0.2.2', drop=(7, 60, 61, 200))
        said, _ = self.telemetry(peer, '192.0.2.1', '--timeout', '15')
        self.assertEqual(said['records'], RECORDS)
        self.assertGreaterEqual(said['retransmitted'], 4)
        self.check_memory(peer)

    def test_a_write_that_is_refused_fails(self):
        peer = Peer('192.0.2.2', refuse=40)
        done = self.run_telemetry(peer, '192.0.2.1')
        self.assertEqual(done.returncode, 1, done.stderr)
        verdict = json.loads(done.stdout)['verdict']
        verdict_outputs.check_itself(self, verdict)
        failed, = verdict_outputs.named(verdict, 'failed')
        self.assertEqual(failed['result'], 'does not hold')
        self.assertIn('remote access', failed['observed'])


if __name__ == '__main__':
    longwire_test.main()
