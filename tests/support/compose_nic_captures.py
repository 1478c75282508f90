# SPDX-License-Identifier: BSD-3-Clause
"""Writes the captures of pcaps/nic: connections of network cards without loss, as the port of the
first host saw them. Run by hand, from anywhere; tests/e2e/composed.py fails where a file is not what
this program writes.

    compose_nic_captures.py [FOLDER]
"""

import dataclasses
import heapq
import itertools
import pathlib
import random
import struct
import sys

import roce_composer as roce
from pcap_file import write_pcap
from roce_composer import Host

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'pcaps' / 'nic'
START = 1_700_000_000_000_000_000  # ns
BITS_PER_NS = 100  # of the link between the hosts
ONE_WAY, ANSWERING = 1_500, 700  # ns: of the path, of the responder
RKEY, ADDRESS, Q_KEY = 0x1800AB, 0x7F3210000000, 0x11111111
CM_Q_KEY = 0x80010000


def mac(number):
    return bytes.fromhex('0c42a1') + number.to_bytes(3, 'big')


def hosts(first='10.7.0.1', second='10.7.0.2', **settings):
    return Host(first, mac(1), **settings), Host(second, mac(2), **settings)


class Capture:
    """Two hosts on a link, in virtual time. Frames are stamped at the first host's port."""

    def __init__(self, ends, seed=1):
        self.ends = ends
        self.chance = random.Random(seed)
        self.now, self.events, self.order = START, [], itertools.count()
        self.free = [START, START]  # when the port of each end has sent what it has
        self.numbers = [self.chance.randrange(65536) for _ in ends]
        self.frames = []

    def after(self, wait, act):
        heapq.heappush(self.events, (self.now + wait, next(self.order), act))

    def run(self):
        while self.events:
            self.now, _, act = heapq.heappop(self.events)
            act()
        return sorted(self.frames, key=lambda frame: frame[0])

    def send(self, end, packet, port, arrived=None):
        """Sends a packet of an end; calls `arrived` when the other end has it."""
        self.numbers[end] = (self.numbers[end] + 1) % 65536
        self.send_frame(end, roce.frame(self.ends[end], self.ends[1 - end], packet, port=port,
                                        identification=self.numbers[end]), arrived)

    def send_frame(self, end, frame, arrived=None):
        departed = max(self.now, self.free[end])
        self.free[end] = departed + (len(frame) + 24) * 8 // BITS_PER_NS
        self.frames.append((departed + (ONE_WAY if end == 1 else 0), frame))
        if arrived:
            self.after(self.free[end] - self.now + ONE_WAY, arrived)


def letters(count, first=0):
    """Data that no dissector takes for another protocol, as tshark takes 08 00 for IPv4."""
    return bytes(97 + (first + at) % 26 for at in range(count))


@dataclasses.dataclass
class Queue:
    """A queue pair's requester, at the first host unless `end` is 1, and its responder. Messages are
    posted one behind the other; answers come `ANSWERING` after the last packet of a request."""
    capture: Capture
    qp: int  # of the requester
    peer: int  # of the responder
    psn: int
    mtu: int = 1024
    port: int = 0xC000
    peer_port: int = 0xC000
    end: int = 0
    transport: int = roce.RC
    window: int = 4  # messages that wait for their answers

    def __post_init__(self):
        self.messages, self.waiting, self.msn = [], 0, 0

    def post(self, send, *words):
        self.messages.append((send, words))
        self.capture.after(0, self.next)

    def next(self):
        while self.messages and self.waiting < self.window:
            self.waiting += 1
            send, words = self.messages.pop(0)
            send(*words)

    def finish(self):
        self.waiting -= 1
        self.next()

    def packet(self, opcode, body=b'', data=b'', asks=False):
        data, pad = roce.padded(data)
        head = roce.bth(self.transport | opcode, self.peer, self.psn, asks=asks, pad=pad)
        self.psn += 1
        return head + body + data

    def request(self, packet, arrived=None):
        self.capture.send(self.end, packet, self.port, arrived)

    def answer(self, opcode, psn, body=b'', data=b'', arrived=None):
        data, pad = roce.padded(data)
        packet = roce.bth(opcode, self.qp, psn, pad=pad) + body + data
        self.capture.send(1 - self.end, packet, self.peer_port, arrived)

    def parts(self, data):
        return [data[at:at + self.mtu] for at in range(0, len(data), self.mtu)] or [b'']

    def message(self, kind, data, head=b'', tail=b''):
        """A SEND or WRITE (`kind`: the opcode of FIRST, then of ONLY) with its ACK."""
        first, only = kind
        parts = self.parts(data)
        for at, part in enumerate(parts):
            last = at == len(parts) - 1
            opcode = (only if len(parts) == 1 else first + (2 if last else 1 if at else 0)) + bool(tail and last)
            body = (head if at == 0 else b'') + (tail if last else b'')
            asks = last and self.transport == roce.RC
            psn = self.psn
            self.request(self.packet(opcode, body, part, asks),
                         (lambda: self.acknowledge(psn)) if asks else None)
        if self.transport != roce.RC:
            self.capture.after(0, self.finish)

    def acknowledge(self, psn):
        self.msn += 1
        body = roce.aeth(self.msn)
        self.capture.after(ANSWERING, lambda: self.answer(roce.ACKNOWLEDGE, psn, body, arrived=self.finish))

    def send(self, size, immediate=None):
        tail = b'' if immediate is None else immediate.to_bytes(4, 'big')
        self.message((roce.SEND_FIRST, roce.SEND_ONLY), letters(size, self.psn), tail=tail)

    def write(self, size, immediate=None, offset=0):
        tail = b'' if immediate is None else immediate.to_bytes(4, 'big')
        self.message((roce.WRITE_FIRST, roce.WRITE_ONLY), letters(size, self.psn),
                     roce.reth(ADDRESS + offset, RKEY + self.peer, size), tail)

    def read(self, size, offset=0):
        psn, parts = self.psn, self.parts(letters(size, offset))
        request = self.packet(roce.READ_REQUEST, roce.reth(ADDRESS + offset, RKEY + self.peer, size), asks=True)
        self.psn += len(parts) - 1
        self.request(request, lambda: self.capture.after(ANSWERING, lambda: self.respond(psn, parts)))

    def respond(self, psn, parts):
        self.msn += 1
        for at, part in enumerate(parts):
            last = at == len(parts) - 1
            opcode = (roce.RESPONSE_ONLY if len(parts) == 1 else roce.RESPONSE_FIRST if at == 0
                      else roce.RESPONSE_LAST if last else roce.RESPONSE_MIDDLE)
            body = b'' if opcode == roce.RESPONSE_MIDDLE else roce.aeth(self.msn)
            self.answer(opcode, psn + at, body, part, self.finish if last else None)

    def atomic(self, opcode, operand, compare, found):
        psn = self.psn
        request = self.packet(opcode, roce.atomic_eth(ADDRESS, RKEY + self.peer, operand, compare), asks=True)
        self.request(request, lambda: self.capture.after(ANSWERING, lambda: self.found(psn, found)))

    def found(self, psn, value):
        self.msn += 1
        self.answer(roce.ATOMIC_ACK, psn, roce.aeth(self.msn) + value.to_bytes(8, 'big'), arrived=self.finish)


def other_traffic(capture):
    """What else a host's port sees: ARP, and TCP to and from port 4791."""
    near, far = capture.ends
    arp = struct.pack('>HHBBH', 1, 0x0800, 6, 4, 1) + near.mac + near.ip.packed + bytes(6) + far.ip.packed
    tcp = struct.pack('>HHIIBBHHH', 4791, 40_000, 1, 1, 0x50, 0x10, 512, 0, 0)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 20 + len(tcp), 7, 0x4000, 64, 6, 0, near.ip.packed, far.ip.packed)
    for body in (b'\xff' * 6 + near.mac + b'\x08\x06' + arp, far.mac + near.mac + b'\x08\x00' + ip + tcp):
        capture.send_frame(0, body.ljust(roce.SHORTEST_FRAME, b'\0'))


def nccl():
    """Eight QPs each way whose PSNs all begin at 0, as NCCL sets them up: WRITEs, then an empty WRITE WITH
    IMMEDIATE. Their UDP source ports are unlike in the two directions, and some are those of other
    protocols (TFTP, PTP, GTP-U, BFD)."""
    capture = Capture(hosts(dscp=26))
    ports = (69, 319, 2152, 3784, 4500, 49_377, 53_006, 65_535)
    for end in (0, 1):
        for number in range(8):
            queue = Queue(capture, 0x120 + number, 0x4A0 + number * 3, 0, 1024, ports[number], ports[-number - 1])
            if end == 1:
                queue = Queue(capture, 0x4A0 + number * 3, 0x120 + number, 0, 1024, ports[-number - 1],
                              ports[number], end=1)
            for step in range(3):
                wait = step * 120_000 + number * 9_000 + end * 61_000
                size = 1024 * (2 + number % 3) + 64 * step
                capture.after(wait, lambda q=queue, s=size, o=step << 16: (q.post(q.write, s, None, o),
                                                                           q.post(q.write, 0, s)))
    capture.after(30_000, lambda: other_traffic(capture))
    return capture.run()


READ_SIZES = (1, 2, 3, 4, 8, 63, 64, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 9001, 20_000)


def reads():
    """READs of many sizes with path MTUs of 256 to 4096 bytes, up to four at a time."""
    capture = Capture(hosts())
    for number, mtu in enumerate((256, 512, 1024, 2048, 4096)):
        queue = Queue(capture, 0x200 + number, 0x310 + number * 7, 0xFFFFF0 - 40 * number, mtu, 50_000 + number * 811,
                      50_000 + number * 811)
        for at, size in enumerate(READ_SIZES[number::2] if mtu > 256 else READ_SIZES[:14]):
            capture.after((number + 1) * 400_000, lambda q=queue, s=size, o=at << 16: q.post(q.read, s, o))
    return capture.run()


def reads_ipv6():
    """READs between WRITEs and SENDs, over IPv6 with flow labels."""
    capture = Capture(hosts('fd00:7::1', 'fd00:7::2', flow_label=0xA53C1, dscp=24))
    queue = Queue(capture, 0x88, 0x99, 0x123456, 2048, 0xD3A1, 0xD3A1)
    for at, size in enumerate((8, 2048, 6000, 1, 4096, 12_289)):
        queue.post(queue.write, size, None, at << 20)
        queue.post(queue.read, size + 3, at << 20)
        queue.post(queue.send, size, at)
    return capture.run()


def atomics():
    """FETCH ADD and CMP SWAP on one word, one at a time; each finds what the one before left."""
    capture = Capture(hosts())
    queue = Queue(capture, 0x51, 0x6F, 0x00FFFA, port=0xE0E0, peer_port=0xE0E0, window=1)
    value = 2**64 - 3
    for number in range(24):
        if number % 3 < 2:
            queue.post(queue.atomic, roce.FETCH_ADD, number + 1, 0, value)
            value = (value + number + 1) % 2**64
        else:
            compare = value if number % 2 else value ^ 1
            queue.post(queue.atomic, roce.CMP_SWAP, number * 1000, compare, value)
            value = number * 1000 if compare == value else value
    return capture.run()


def unreliable():
    """UC WRITEs and SENDs with path MTU 1024, and UD SENDs, both ways."""
    capture = Capture(hosts())
    for end in (0, 1):
        uc = Queue(capture, 0x30 + end, 0x31 - end, 0x777 * (end + 1), 1024, 0xC123, end=end, transport=roce.UC)
        for number, size in enumerate((0, 5, 1024, 1025, 3072, 5000)):
            capture.after(20_000 * number + 7_000 * end, lambda q=uc, s=size: (q.post(q.write, s), q.post(q.send, s)))
        for number in range(6):
            capture.after(21_000 * number + 9_000 * end + 3_000,
                          lambda e=end, n=number: datagram(capture, e, 0x40 + e, 0x41 - e, n, letters(40 * n + 8, n)))
    return capture.run()


def datagram(capture, end, qp, peer, psn, data, q_key=Q_KEY):
    data, pad = roce.padded(data)
    capture.send(end, roce.bth(roce.UD | roce.SEND_ONLY, peer, psn, pad=pad) + roce.deth(q_key, qp) + data, 0xC0FE)


def mad(attribute, transaction, body):
    """A message of the connection manager: 256 bytes. (IBTA vol. 1, 12.6 and 13.4)"""
    head = struct.pack('>BBBBHHQHHI', 1, 7, 2, 3, 0, 0, transaction, attribute, 0, 0)
    return (head + body).ljust(256, b'\0')


def gid(host):
    address = host.ip
    return address.packed if address.version == 6 else bytes(10) + b'\xff\xff' + address.packed


def connect_request(ends, qp, psn, local, port, timeout=18):
    """A REQ for RDMA CM's TCP port space. (IBTA vol. 1, 12.6.5 and annex A11)"""
    near, far = ends
    head = struct.pack('>IIQQII', local, 0, 0x01060000 | port, 0x0C42A10300000001, 0, 0)
    qps = struct.pack('>IIII', qp << 8 | 16, 16, 20 << 3, psn << 8 | 20 << 3 | 7)
    mtu = struct.pack('>HBB', 0xFFFF, 3 << 4 | 7, 15 << 4)
    primary = (struct.pack('>HH', 0xFFFF, 0xFFFF) + gid(near) + gid(far) +
               struct.pack('>IBBBB', 0x3, 0, 64, 1 << 3, timeout << 3))
    private = bytes([0, 0x40]) + struct.pack('>H', 41_000) + bytes(12) + near.ip.packed + bytes(12) + far.ip.packed
    return head + qps + mtu + primary + bytes(44) + private


def connect_reply(qp, psn, local, remote):
    """A REP. (IBTA vol. 1, 12.6.8)"""
    return struct.pack('>IIIIIIBBBBQ', local, remote, 0, qp << 8, 0, psn << 8, 16, 16, 15 << 3, 7 << 5, 0x0C42A10300000002)


def connected():
    """Two connections of RDMA CM: REQ, REP, RTU, some operations, DREQ, DREP."""
    capture = Capture(hosts())
    for number in (0, 1):
        capture.after(number * 3_000_000, lambda n=number: connect(capture, n))
    return capture.run()


def connect(capture, number):
    qp, peer, psn, peer_psn = 0xA10 + number, 0xB20 + number, 0x5A5A00 + number * 999, 0x3C3C00 + number * 77
    local, remote, transaction = 0x1000 + number, 0x2000 + number, 0xABCD0000 + number
    pair, back = struct.pack('>II', local, remote), struct.pack('>II', remote, local)

    def manage(wait, end, attribute, body):
        capture.after(wait, lambda: datagram(capture, end, 1, 1, number * 16 + wait // 100_000,
                                             mad(attribute, transaction, body), CM_Q_KEY))

    manage(0, 0, 0x10, connect_request(capture.ends, qp, psn, local, 18_515))
    manage(200_000, 1, 0x13, connect_reply(peer, peer_psn, remote, local))
    manage(300_000, 0, 0x14, pair)
    queue = Queue(capture, qp, peer, psn, port=0xC777, peer_port=0xC777)
    other = Queue(capture, peer, qp, peer_psn, port=0xC777, peer_port=0xC777, end=1)
    capture.after(400_000, lambda: [queue.post(queue.send, size) for size in (16, 16, 100)])
    capture.after(500_000, lambda: [other.post(other.send, size) for size in (16, 2500)])
    capture.after(600_000, lambda: [queue.post(queue.read, 64), queue.post(queue.write, 64)])
    manage(1_000_000, 0, 0x15, pair + struct.pack('>I', peer << 8))
    manage(1_200_000, 1, 0x16, back)


def frames():
    """Single frames: UC SEND ONLY over IPv4 and IPv6, a CNP, and RoCEv1: a printed WRITE ONLY of a Mellanox
    card (its ICRC is dd492f73) and its ACK."""
    near, far = hosts()
    six = hosts('fd00:9::1', 'fd00:9::2')
    old = [Host(f'::ffff:10.1.2.{number}', mac(number), ecn=roce.NOT_ECT) for number in (1, 2)]
    data, pad = roce.padded(b'RDMA write operation\0')
    send = roce.bth(roce.UC | roce.SEND_ONLY, 0xD2, 7) + b'ping'
    cnp = roce.bth(roce.CNP, 0x118, 0, becn=True) + bytes(16)
    old_write = roce.bth(roce.WRITE_ONLY, 0x932, 1, asks=True, pad=pad) + roce.reth(26_600_384, 178_013, 21) + data
    old_ack = roce.bth(roce.ACKNOWLEDGE, 0x930, 1) + roce.aeth(1)
    made = (roce.frame(near, far, send, port=0xC00D), roce.frame(dataclasses.replace(far, dscp=48), near, cnp),
            roce.frame_v1(*old, old_write), roce.frame_v1(*reversed(old), old_ack),
            roce.frame(*six, send, port=0xC00D))
    return [(START + 1_000_000 * at, data) for at, data in enumerate(made)]


CAPTURES = {'nccl': nccl, 'reads': reads, 'reads_ipv6': reads_ipv6, 'atomics': atomics,
            'unreliable': unreliable, 'connected': connected, 'frames': frames}


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, compose in CAPTURES.items():
        write_pcap(folder / f'{name}.pcap', compose())


if __name__ == '__main__':
    main()
