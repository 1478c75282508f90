# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen respond against a peer that sends it any connection requests, while regular clients use it:
it refuses what doesn't fit, its memory stays within bounds, and clients get through."""

import json
import random
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib

import needs
from endpoints import GEN, Endpoints
from longwire_test import enter_namespaces, main

EXTREMES = [0, 1, 2, 7, 8, 63, 1024, 4096, 65536, 1 << 20, 1 << 26, 1 << 30, 1 << 31, (1 << 31) + 1,
            3037000500, 3037390391, 3036610659, 0xfffffff0, 0xffffffff]
NAME = b'LWPF\x03\x01'  # at the start of perf's private data; size, slots, depth are 12 bytes behind


def with_icrc(frame):
    """The RoCEv2 frame over IPv4 with its right ICRC (IBTA vol. 1, annex A17)."""
    masked = bytearray(frame[14:-4])
    for at in (1, 8, 10, 11, 26, 27, 32):  # DSCP and ECN, TTL, checksums, BTH's reserved byte
        masked[at] = 0xff
    return bytes(frame[:-4]) + struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(masked)))


def frames_of(pcap):
    data, at = pcap.read_bytes(), 24
    while at < len(data):
        length = struct.unpack('<I', data[at + 8:at + 12])[0]
        yield data[at + 16:at + 16 + length]
        at += 16 + length


@needs.root('network namespaces')
class HostilePeers(Endpoints):
    MEMORY_MIB = 64

    def setUp(self):
        super().setUp()
        for words in (['link', 'add', 'a0', 'mtu', '9000', 'type', 'veth', 'peer', 'name', 'b0',
                       'mtu', '9000'], ['link', 'set', 'a0', 'up'], ['link', 'set', 'b0', 'up']):
            subprocess.run(['ip', *words], check=True)
        self.addCleanup(subprocess.run, ['ip', 'link', 'del', 'a0'], check=True)
        self.respond = self.start(GEN, 'respond', '--port', 'b0', '--memory',
                                  f'{self.MEMORY_MIB}MiB')
        self.assertEqual(self.respond.stderr.readline(), 'ready\n')
        self.perf('--pcap', self.folder / 'perf.pcap')
        self.request = next(f for f in frames_of(self.folder / 'perf.pcap') if NAME in f)
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.addCleanup(self.socket.close)
        self.socket.bind(('a0', 0))
        self.ids = iter(range(1, 1 << 30))
        self.random = random.Random(7)

    def perf(self, *options):
        """A regular client gets through, and its messages are right."""
        client = self.start(GEN, 'perf', '--port', 'a0', '--peer', '198.18.0.2', '--op', 'send', '-s',
                            '64', '-n', '10', '--json', '--wait', '30s', *options)
        [line] = self.finish(client).splitlines()
        self.assertEqual((json.loads(line)['iterations'], json.loads(line)['wrong']), (10, 0))

    def changed(self, size=None, slots=None, depth=None):
        """The request with another communication id and other numbers."""
        frame = bytearray(self.request)
        at = frame.index(NAME)
        for place, value in ((12, size), (16, slots), (20, depth)):
            if value is not None:
                frame[at + place:at + place + 4] = struct.pack('>I', value)
        frame[86:90] = struct.pack('>I', next(self.ids))  # behind Ethernet, IPv4, UDP, BTH, DETH, MAD
        return frame

    def resident_mib(self):
        with open(f'/proc/{self.respond.pid}/status', encoding='utf-8') as status:
            return next(int(line.split()[1]) for line in status if line.startswith('VmRSS')) / 1024

    def end(self):
        self.assertIsNone(self.respond.poll(), 'respond has ended')
        self.respond.send_signal(signal.SIGTERM)
        self.finish(self.respond)

    def test_sizes_that_wrap_or_exceed_the_memory_are_refused(self):
        before = self.resident_mib()
        for size, slots, depth in ((3037390391, 3036610659, 3), (64, 128, 0xffffffff),
                                   (0x80000000, 0x80000000, 1), (1, 0xffffffff, 0xffffffff),
                                   (0xffffffff, 0xffffffff, 0xffffffff), (0, 0, 0)):
            self.socket.send(with_icrc(self.changed(size, slots, depth)))
        for _ in range(300):
            self.socket.send(with_icrc(self.changed(*(self.random.choice(EXTREMES)
                                                      for _ in range(3)))))
        self.perf()
        self.assertLess(self.resident_mib(), before + self.MEMORY_MIB)
        self.end()

    def test_a_thousand_changed_requests_a_second_keep_nobody_out(self):
        before = self.resident_mib()
        sender = subprocess.Popen([sys.executable, __file__, 'flood', self.request.hex()])
        self.addCleanup(sender.kill)
        for _ in range(3):
            self.perf()
        self.assertIsNone(sender.poll(), 'the flood has ended')
        self.assertLess(self.resident_mib(), before + self.MEMORY_MIB)
        self.end()


def flood(request):
    """About 1,000 changed requests a second, without end: any bytes of the MAD, any numbers."""
    rng = random.Random(11)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind(('a0', 0))
        while True:
            for _ in range(10):
                frame = bytearray(request)
                frame[86:90] = rng.randbytes(4)
                at = frame.index(NAME)
                for place in (12, 16, 20):
                    if rng.random() < 0.5:
                        number = rng.choice(EXTREMES)
                        frame[at + place:at + place + 4] = struct.pack('>I', number)
                for _ in range(rng.choice((0, 0, 1, 4, 16))):
                    frame[rng.randrange(62, len(frame) - 4)] = rng.randrange(256)
                link.send(with_icrc(frame))
            time.sleep(0.01)


if __name__ == '__main__':
    if sys.argv[1:2] == ['flood']:
        flood(bytes.fromhex(sys.argv[2]))
    else:
        enter_namespaces('--net')  # the veth pair is nobody else's
        main()
