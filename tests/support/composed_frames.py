# SPDX-License-Identifier: BSD-3-Clause
"""Frames between two hosts, byte by byte: RoCEv2 over IPv4 or IPv6, connection managers' messages,
ICMP, ARP and neighbour discovery. Written from the standards' texts, shares no code with lib/;
tests/e2e/dissect_questions.py compares them with scapy and tshark. Times are in microseconds."""

import struct
import zlib

SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_ONLY = 4, 6, 7, 8, 10
READ_REQUEST, READ_FIRST, READ_MIDDLE, READ_LAST, READ_ONLY = 12, 13, 14, 15, 16
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE, COMPARE_SWAP, FETCH_ADD, FLUSH, ATOMIC_WRITE = 17, 18, 19, 20, 28, 29
UC, UD, CNP = 0x20, 0x60, 0x81
ACK, SEQUENCE_ERROR, NOT_READY = 0x1F, 0x60, 0x2E
GSI, GSI_KEY = 1, 0x80010000


def checksum(data):
    data = bytes(data) + b'\0' * (len(data) % 2)
    total = sum(struct.unpack(f'>{len(data) // 2}H', data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def crc32c(data):
    """The Castagnoli CRC, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def covered(packet, v6, masks=('tos', 'ttl', 'sums', 'becn')):
    """What the ICRC covers (annex A17): an IP packet without its last four bytes, `masks` set to ones."""
    data = bytearray(packet[:-4])
    udp = 40 if v6 else 20
    if v6:
        if 'tos' in masks:
            data[0] |= 0x0F
            data[1:4] = b'\xff' * 3  # traffic class, flow label
        if 'ttl' in masks:
            data[7] = 0xFF
    else:
        if 'tos' in masks:
            data[1] = 0xFF
        if 'ttl' in masks:
            data[8] = 0xFF
        if 'sums' in masks:
            data[10:12] = b'\xff\xff'
    if 'sums' in masks:
        data[udp + 6:udp + 8] = b'\xff\xff'
    if 'becn' in masks:
        data[udp + 12] = 0xFF
    return b'\xff' * 8 + data


def right(packet, v6):
    return zlib.crc32(covered(packet, v6)).to_bytes(4, 'little')


def zero(_packet, _v6):
    return bytes(4)


def reversed_bytes(packet, v6):
    return right(packet, v6)[::-1]


def castagnoli(packet, v6):
    return crc32c(covered(packet, v6)).to_bytes(4, 'little')


def unmasked_tos(packet, v6):
    return zlib.crc32(covered(packet, v6, ('ttl', 'sums', 'becn'))).to_bytes(4, 'little')


def unmasked_ttl(packet, v6):
    return zlib.crc32(covered(packet, v6, ('tos', 'sums', 'becn'))).to_bytes(4, 'little')


def without_ones(packet, v6):
    return zlib.crc32(covered(packet, v6)[8:]).to_bytes(4, 'little')


class Host:
    """An end: number 1 to 254."""

    def __init__(self, number, v6=False):
        self.number, self.v6 = number, v6
        self.mac = bytes([2, 0, 0, 0, 0, number])
        self.ip = (bytes.fromhex('fd00') + bytes(13) if v6 else bytes([10, 0, 0])) + bytes([number])
        self.name = f'fd00::{number:x}' if v6 else f'10.0.0.{number}'
        self.gid = self.ip if v6 else bytes(10) + b'\xff\xff' + self.ip


def bth(opcode, qp, psn, asks=False, p_key=0xFFFF, pad=0):
    return struct.pack('>BBHII', opcode, pad << 4, p_key, qp, asks << 31 | psn % 2**24)


def aeth(msn, syndrome=ACK):
    return struct.pack('>I', syndrome << 24 | msn % 2**24)


def reth(length, address=0x10000, key=0x77):
    return struct.pack('>QII', address, key, length)


class ComposedCapture:
    """Frames as a capture point between the hosts saw them: (time in ns, bytes)."""

    def __init__(self, v6=False, at=0):
        self.v6, self.at, self.frames = v6, at, []
        self.icrc = {}  # by the number of the host: how it computes ICRCs

    def wait(self, microseconds):
        self.at += microseconds

    def ethernet(self, source, target, kind, body):
        self.frames.append((round(self.at * 1000), target + source + kind.to_bytes(2) + body))
        return self.frames[-1][1]

    def ip(self, source, target, protocol, body, tos=0, ttl=64, length=None):
        """An IP packet. `length`: that of its body by the header."""
        length = len(body) if length is None else length
        if self.v6:
            return struct.pack('>IHBB', 6 << 28 | tos << 20, length, protocol, ttl) + source.ip + target.ip + body
        head = struct.pack('>BBHHHBBH', 0x45, tos, 20 + length, 0, 0x4000, ttl, protocol, 0) + source.ip + target.ip
        return head[:10] + checksum(head).to_bytes(2) + head[12:] + body

    def network(self, source, target, packet):
        return self.ethernet(source.mac, target.mac, 0x86DD if self.v6 else 0x0800, packet)

    def packet(self, source, target, roce, port=None, tos=0):
        """An IP packet with RoCEv2. `roce`: from the BTH on, without the ICRC."""
        udp = struct.pack('>HHHH', port or 0xC000 + source.number, 4791, 12 + len(roce), 0)
        packet = self.ip(source, target, 17, udp + roce + bytes(4), tos)
        return packet[:-4] + self.icrc.get(source.number, right)(packet, self.v6)

    def roce(self, source, target, roce, **options):
        return self.network(source, target, self.packet(source, target, roce, **options))

    def trimmed(self, source, target, roce, size, tos=0, **options):
        """The packet, cut to a frame of `size` bytes by a switch that sets `tos`."""
        packet = bytearray(self.packet(source, target, roce, **options))
        if self.v6:
            packet[:4] = (6 << 28 | tos << 20).to_bytes(4)
        else:
            packet[1] = tos
            packet[10:12] = bytes(2)
            packet[10:12] = checksum(packet[:20]).to_bytes(2)
        return self.network(source, target, bytes(packet[:size - 14]))

    # ICMP, ARP, neighbour discovery.

    def icmp(self, device, frame, kind, code, quoted=None, rest=0):
        """An ICMP message from `device` to the sender of `frame`, which it quotes."""
        packet = frame[14:]
        to = Host(frame[11], self.v6)
        body = struct.pack('>BBHI', kind, code, 0, rest) + packet[:quoted]
        pseudo = (device.ip + to.ip + struct.pack('>II', len(body), 58)) if self.v6 else b''
        body = body[:2] + checksum(pseudo + body).to_bytes(2) + body[4:]
        return self.network(device, to, self.ip(device, to, 58 if self.v6 else 1, body))

    def asks_address(self, asker, target):
        """An ARP request, or a neighbour solicitation."""
        if not self.v6:
            body = struct.pack('>HHBBH', 1, 0x0800, 6, 4, 1) + asker.mac + asker.ip + bytes(6) + target.ip
            return self.ethernet(asker.mac, b'\xff' * 6, 0x0806, body)
        group = Host(target.number, True)
        group.ip = bytes.fromhex('ff0200000000000000000001ff') + target.ip[13:]
        group.mac = bytes.fromhex('3333ff') + target.ip[13:]
        return self.neighbour(asker, group, 135, target.ip + b'\x01\x01' + asker.mac)

    def tells_address(self, host, asker):
        """The answer."""
        if not self.v6:
            body = struct.pack('>HHBBH', 1, 0x0800, 6, 4, 2) + host.mac + host.ip + asker.mac + asker.ip
            return self.ethernet(host.mac, asker.mac, 0x0806, body)
        return self.neighbour(host, asker, 136, host.ip + b'\x02\x01' + host.mac, 0x60000000)

    def neighbour(self, source, target, kind, body, flags=0):
        body = struct.pack('>BBHI', kind, 0, 0, flags) + body
        pseudo = source.ip + target.ip + struct.pack('>II', len(body), 58)
        body = body[:2] + checksum(pseudo + body).to_bytes(2) + body[4:]
        return self.network(source, target, self.ip(source, target, 58, body, ttl=255))


class Managers:
    """The messages of two connection managers (IBTA vol. 1, 12.6, annex A11) about one connection:
    `one` asks `other`. `rdma`: with the addresses of RDMA's manager in the private data."""

    KINDS = {'req': 0x10, 'mra': 0x11, 'rej': 0x12, 'rep': 0x13, 'rtu': 0x14, 'dreq': 0x15, 'drep': 0x16,
             'sidr_req': 0x17, 'sidr_rep': 0x18}

    def __init__(self, capture, one, other, *, ids=(0x101, 0x202), qps=(0x11, 0x22), psns=(100, 900), rdma=True,
                 port=7174, mtu=3, retries=7, timeout=14, p_key=0xFFFF, service=None, transport=0):
        self.capture, self.one, self.other, self.ids, self.qps, self.psns = capture, one, other, ids, qps, psns
        self.rdma, self.port, self.mtu, self.retries, self.timeout = rdma, port, mtu, retries, timeout
        self.p_key, self.transport = p_key, transport
        self.service = service if service is not None else 0x01060000 + port if rdma else 0x1234
        self.numbers = 0

    def send(self, by, kind, body):
        """`by`: 0 for the side that asked, 1 for the other."""
        source, target = (self.one, self.other) if by == 0 else (self.other, self.one)
        self.numbers += 1
        # A message that is sent again has the same transaction ID.
        head = struct.pack('>BBBBHHQHHI', 1, 7, 2, 3, 0, 0, self.ids[0] << 32 | self.KINDS[kind], self.KINDS[kind], 0, 0)
        deth = struct.pack('>II', GSI_KEY, GSI)
        return self.capture.roce(source, target, bth(UD + SEND_ONLY, GSI, self.numbers) + deth +
                                 (head + body).ljust(256, b'\0'))

    def own(self, by):
        return struct.pack('>II', self.ids[by], self.ids[1 - by])

    def request(self):
        private = bytes([0, 6 << 4 if self.capture.v6 else 4 << 4]) + struct.pack('>H', 40_000)
        private += self.one.gid + self.other.gid
        path = struct.pack('>HH', 0xFFFF, 0xFFFF) + self.one.gid + self.other.gid
        path += struct.pack('>IBBBB', 3, 0, 64, 0, self.timeout << 3)
        return self.send(0, 'req', struct.pack(
            '>IIQQIIIIIIHBB', self.ids[0], 0, self.service, 0x0200000000000001, 0, 0, self.qps[0] << 8 | 16,
            16, 20 << 3 | self.transport << 1, self.psns[0] << 8 | 20 << 3 | self.retries, self.p_key,
            self.mtu << 4 | 7, 15 << 4) + path + bytes(44) + (private if self.rdma else b''))

    def reply(self):
        return self.send(1, 'rep', self.own(1) + struct.pack(
            '>IIIIBBBBQ', 0, self.qps[1] << 8, 0, self.psns[1] << 8, 16, 16, 0, 7 << 5, 0x0200000000000002))

    def ready(self):
        return self.send(0, 'rtu', self.own(0))

    def reject(self, reason, by=1, of=0):
        """`of`: the message refused, 0 REQ, 1 REP, 2 neither."""
        ids = struct.pack('>II', self.ids[by] if of or by == 0 else 0, self.ids[1 - by])
        return self.send(by, 'rej', ids + struct.pack('>BBH', of << 6, 0, reason))

    def more_time(self, by=1, of=0, timeout=20):
        return self.send(by, 'mra', self.own(by) + struct.pack('>BB', of << 6, timeout << 3))

    def disconnect(self, by):
        return self.send(by, 'dreq', self.own(by) + struct.pack('>I', self.qps[1 - by] << 8))

    def disconnected(self, by):
        return self.send(by, 'drep', self.own(by))

    def ask_service(self):
        return self.send(0, 'sidr_req', struct.pack('>IHHQ', self.ids[0], self.p_key, 0, self.service))

    def tell_service(self, status, qp=0):
        return self.send(1, 'sidr_rep', struct.pack('>IBBHIQI', self.ids[0], status, 0, 0, qp << 8, self.service,
                                                    0x11111111))

    def come_up(self, wait=200):
        self.request()
        self.capture.wait(wait)
        self.reply()
        self.capture.wait(wait)
        self.ready()
        self.capture.wait(wait)


class Connection:
    """Packets between two QPs of a reliable or unreliable connection. `service`: 0 RC, UC."""

    def __init__(self, capture, one, other, *, qps=(0x11, 0x22), psn=100, service=0, p_key=0xFFFF, port=None,
                 tos=2):
        self.capture, self.ends, self.qps, self.psn = capture, (one, other), qps, psn
        self.service, self.p_key, self.port, self.tos, self.msn = service, p_key, port, tos, 0

    def options(self):
        return {'port': self.port, 'tos': self.tos}

    def head(self, opcode, psn, asks, by=0):
        return bth(self.service + opcode, self.qps[1 - by], psn, asks, self.p_key)

    def request(self, opcode, psn, body=b'', asks=True):
        return self.capture.roce(*self.ends, self.head(opcode, psn, asks) + body, **self.options())

    def answer(self, opcode, psn, body):
        one, other = self.ends
        return self.capture.roce(other, one, self.head(opcode, psn, False, 1) + body, **self.options())

    def write(self, psn, length=256, asks=True):
        return self.request(WRITE_ONLY, psn, reth(length) + bytes([psn % 251]) * length, asks)

    def message(self, psn, packets, mtu=1024, lost=(), first=WRITE_FIRST, wait=1):
        """A WRITE of several packets but those of `lost`."""
        for at in range(packets):
            opcode = WRITE_ONLY if packets == 1 else first if at == 0 else WRITE_LAST if at == packets - 1 else WRITE_MIDDLE
            head = reth(packets * mtu) if at == 0 else b''
            self.capture.wait(wait)
            if at not in lost:
                self.request(opcode, psn + at, head + bytes([(psn + at) % 251]) * mtu, at == packets - 1)

    def ack(self, psn, syndrome=ACK):
        self.msn += 1
        return self.answer(ACKNOWLEDGE, psn, aeth(self.msn, syndrome))

    def good(self, count, round_trip=8, gap=4):
        """`count` WRITEs, each answered."""
        for _ in range(count):
            self.write(self.psn)
            self.capture.wait(round_trip)
            self.ack(self.psn)
            self.capture.wait(gap)
            self.psn += 1

    def read(self, psn, length):
        return self.request(READ_REQUEST, psn, reth(length))

    def responses(self, psn, sizes, wait=1):
        """The response to a READ in packets of these sizes."""
        self.msn += 1
        for at, size in enumerate(sizes):
            kind = (READ_ONLY if len(sizes) == 1 else READ_FIRST if at == 0 else
                    READ_LAST if at == len(sizes) - 1 else READ_MIDDLE)
            self.answer(kind, psn + at, (b'' if kind == READ_MIDDLE else aeth(self.msn)) + bytes(size))
            self.capture.wait(wait)

    def repeat(self, send, times, wait, scale=1.0):
        """Calls `send` `times` times more, `wait` apart; each wait is `scale` times the one before."""
        for _ in range(times):
            self.capture.wait(wait)
            send()
            wait *= scale
