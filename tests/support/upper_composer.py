# SPDX-License-Identifier: BSD-3-Clause
"""Connections of storage protocols as a capture point sees them, and what their commands are: NVMe over
RDMA, RPC over RDMA with NFS, SMB Direct. Written from NVM Express base 2.0 and RDMA transport 1.0, RFC
8166, 5531, 1813 and 8881, [MS-SMBD] and [MS-SMB2]; shares no code with lib/. Times are in ns."""

import dataclasses
import heapq
import itertools
import random
import struct

import roce_composer as roce

HOST, TARGET = 0, 1


@dataclasses.dataclass
class Expected:
    """A command as the point sees it."""
    protocol: str
    operation: str
    id: int
    bytes: int | None
    direction: int = HOST
    begin: int | None = None
    end: int | None = None
    depth: int = 0
    status: str = 'success'
    failed: bool = False
    waits: bool = False
    target: int | None = None  # time that the target took, if it is one turn
    # What a capture needs of the first packet of the request, or the reply, to show it, in bytes of payload.
    names: list = dataclasses.field(default_factory=list)  # (bytes, name), the least first
    size_needs: int = 0
    cut_bytes: int | None = None  # what it shows of the size with fewer
    status_needs: int = 0

    def seen_with(self, limit):
        """Operation, bytes and status that a capture with this much of each SEND shows."""
        names = [name for needs, name in self.names if needs <= limit]
        return (names[-1] if self.names else self.operation,
                self.bytes if self.size_needs <= limit else self.cut_bytes,
                self.status if self.status_needs <= limit else None)


class Connection:
    """An RC connection with the point at `to_host` and `to_target` ns from its ends. Messages of one
    side leave one after the other."""

    def __init__(self, seed, mtu=1024, to_host=0, to_target=50_000, gap=300):
        self.draw = random.Random(seed)
        self.mtu, self.gap = mtu, gap
        self.delay = (to_host, to_target)
        ends = [roce.Host('10.0.0.1', bytes([2, 0, 0, 0, 0, 1])), roce.Host('10.0.0.2', bytes([2, 0, 0, 0, 0, 2]))]
        self.ends = ends
        self.qp = (0x11, 0x22)  # of the host, of the target
        self.psn = [self.draw.choice((0, 77, 2**24 - 20)), self.draw.choice((5, 2**24 - 9, 1000))]
        self.msn = [0, 0]
        self.free = [0, 0]
        self.frames = []
        self.events, self.order = [], itertools.count()
        self.port = 0xC000 + self.draw.randrange(1000)

    def at(self, when, what):
        heapq.heappush(self.events, (when, next(self.order), what))

    def run(self):
        while self.events:
            when, _, what = heapq.heappop(self.events)
            what(when)
        self.frames.sort(key=lambda one: one[0])
        return self.frames

    def pass_point(self, side, when, packet):
        """A packet leaves a side; returns when it passes the point and when it arrives."""
        passed = when + self.delay[side]
        self.frames.append((passed, roce.frame(self.ends[side], self.ends[1 - side], packet, port=self.port)))
        return passed, passed + self.delay[1 - side]

    def slot(self, side, when):
        start = max(when, self.free[side])
        self.free[side] = start + self.gap
        return start

    def acknowledge(self, side, psn, when):
        self.msn[side] = (self.msn[side] + 1) % 2**24
        header = roce.bth(roce.ACKNOWLEDGE, self.qp[1 - side], psn)
        self.pass_point(side, when, header + roce.aeth(self.msn[side]))

    def _parts(self, data):
        return [data[i:i + self.mtu] for i in range(0, len(data), self.mtu)] or [b'']

    def message(self, side, when, codes, data, head=b''):
        """A SEND or WRITE. Returns (first passed, last passed, arrived)."""
        first, middle, last, only = codes
        parts = self._parts(data)
        passed = []
        for i, part in enumerate(parts):
            code = only if len(parts) == 1 else first if i == 0 else last if i == len(parts) - 1 else middle
            body, pad = roce.padded(part)
            ends = i == len(parts) - 1
            packet = roce.bth(code, self.qp[1 - side], self.psn[side], asks=ends, pad=pad)
            packet += (head if i == 0 else b'') + body
            passed.append(self.pass_point(side, self.slot(side, when), packet))
            if ends:
                self.acknowledge(1 - side, self.psn[side], passed[-1][1])
            self.psn[side] = (self.psn[side] + 1) % 2**24
        return passed[0][0], passed[-1][0], passed[-1][1]

    def send(self, side, when, data):
        return self.message(side, when, (roce.SEND_FIRST, roce.SEND_MIDDLE, roce.SEND_LAST, roce.SEND_ONLY), data)

    def write(self, side, when, address, key, data):
        codes = (roce.WRITE_FIRST, roce.WRITE_MIDDLE, roce.WRITE_LAST, roce.WRITE_ONLY)
        return self.message(side, when, codes, data, roce.reth(address, key, len(data)))

    def read(self, side, when, address, key, data, then):
        """A READ of `data` by a side; calls then(arrival of the last response)."""
        psn = self.psn[side]
        request = roce.bth(roce.READ_REQUEST, self.qp[1 - side], psn, asks=True)
        request += roce.reth(address, key, len(data))
        _, arrived = self.pass_point(side, self.slot(side, when), request)
        parts = self._parts(data)
        self.psn[side] = (psn + len(parts)) % 2**24
        other = 1 - side
        self.msn[other] = (self.msn[other] + 1) % 2**24
        msn = self.msn[other]

        def answer(now):
            for i, part in enumerate(parts):
                code = (roce.RESPONSE_ONLY if len(parts) == 1 else roce.RESPONSE_FIRST if i == 0
                        else roce.RESPONSE_LAST if i == len(parts) - 1 else roce.RESPONSE_MIDDLE)
                body, pad = roce.padded(part)
                packet = roce.bth(code, self.qp[side], psn + i, pad=pad)
                packet += b'' if code == roce.RESPONSE_MIDDLE else roce.aeth(msn)
                passed = self.pass_point(other, self.slot(other, now), packet + body)
            self.at(passed[1], then)
        self.at(arrived, answer)


class Load:
    """Commands of a host with up to `depth` open at once; each is begun by begin() of a subclass."""

    def __init__(self, wire, commands, depth):
        self.wire, self.left, self.depth = wire, commands, depth
        self.draw = wire.draw
        self.expected, self.open = [], 0
        self.in_use = set()  # identifiers that the host may not use again

    def start(self, when=1_000_000):
        for i in range(self.depth):
            self.wire.at(when + i * self.draw.randrange(1, 4000), self.next)
        return self

    def next(self, when):
        if self.left > 0:
            self.left -= 1
            self.begin(when)

    def begun(self, command, first, last):
        """Its request passes the point from `first` to `last`: then it is open there."""
        command.begin = first
        self.in_use.add(command.id)
        self.expected.append(command)
        self.wire.at(last, lambda _: self.opened(command))

    def opened(self, command):
        self.open += 1
        command.depth = self.open

    def ended(self, command, passed, arrived):
        """The reply passed the point; its host begins another command."""
        command.end = passed
        self.wire.at(passed, lambda _: self.closed())
        self.wire.at(arrived, lambda _: self.in_use.discard(command.id))
        self.wire.at(arrived + self.draw.randrange(1, 20_000), self.next)

    def closed(self):
        self.open -= 1


# NVMe over RDMA.

NVME_STATUS = {(0, 0): 'success', (0, 2): 'Invalid Field in Command', (0, 0x80): 'LBA Out of Range',
               (2, 0x81): 'Unrecovered Read Error', (0, 6): 'Internal Error'}


def nvme_command(opcode, cid, sgl, namespace=1, words=(0, 0, 0)):
    head = struct.pack('<BBHI', opcode, 0x40, cid, namespace)
    return head + bytes(16) + sgl + struct.pack('<3I', *words) + bytes(12)


def keyed_sgl(address, length, key):
    return struct.pack('<Q', address) + length.to_bytes(3, 'little') + struct.pack('<IB', key, 0x40)


def in_capsule_sgl(length):
    return struct.pack('<QI3xB', 0, length, 0x01)


def nvme_completion(cid, head, queue, status=(0, 0)):
    kind, code = status
    return struct.pack('<QHHHH', 0, head, queue, cid, (kind << 8 | code) << 1)


class NvmeQueue(Load):
    """An I/O queue: reads, writes with keyed and in-capsule data, flushes."""

    def __init__(self, wire, commands, depth, queue=1, entries=128):
        super().__init__(wire, commands, depth)
        self.queue, self.entries = queue, entries
        self.cid = self.draw.choice((0, 0xFFFE, 0xFFFF, 1234))
        self.head = 0
        self.connect()

    def connect(self):
        sgl = in_capsule_sgl(1024)
        words = (self.queue << 16, self.entries - 1, 0)
        data = struct.pack('<BBHB', 0x7F, 0x40, 0xFFF0, 1) + bytes(19) + sgl + struct.pack('<3I', *words) + bytes(12)
        command = Expected('nvme', 'fabrics connect', 0xFFF0, 1024)

        def go(when):
            first, last, arrived = self.wire.send(HOST, when, data + bytes(1024))
            self.begun(command, first, last)
            self.wire.at(arrived + 30_000, lambda now: self.complete(command, now))
        self.left += 1
        self.wire.at(1000, go)

    def take_cid(self):
        while True:
            self.cid = (self.cid + 1) % 2**16
            if self.cid not in self.in_use and self.cid != 0xFFF0:
                return self.cid

    def begin(self, when):
        kind = self.draw.choice(('read', 'read', 'write', 'inline', 'flush'))
        cid, key = self.take_cid(), self.draw.choice((0x77, self.draw.randrange(1, 2**32)))
        address = self.draw.randrange(1, 2**40) * 4096 + cid * 2**52 % 2**63
        length = self.draw.choice((512, 4096, 4096, 8192, 20480))
        if kind == 'flush':
            command, sgl, length = Expected('nvme', 'flush', cid, 0), keyed_sgl(0, 0, 0), 0
        elif kind == 'inline':
            length = self.draw.choice((512, 2048, 4096))
            command, sgl = Expected('nvme', 'write', cid, length), in_capsule_sgl(length)
        else:
            command, sgl = Expected('nvme', kind, cid, length), keyed_sgl(address, length, key)
        opcode = {'read': 2, 'write': 1, 'inline': 1, 'flush': 0}[kind]
        data = nvme_command(opcode, cid, sgl) + (bytes(length) if kind == 'inline' else b'')
        first, last, arrived = self.wire.send(HOST, when, data)
        self.begun(command, first, last)
        service = self.draw.randrange(5_000, 400_000)
        if kind in ('read', 'flush', 'inline'):
            command.target = service
        act = {'read': self.answer_read, 'write': self.answer_write}.get(kind, self.complete)
        self.wire.at(arrived + service, lambda now: act(command, now, address, key, length))

    def answer_read(self, command, when, address, key, length):
        pieces = self.draw.choice((1, 1, 2))
        at = 0
        for i in range(pieces):
            some = length // pieces if i < pieces - 1 else length - at
            start, last, _ = self.wire.write(TARGET, when, address + at, key, bytes(some))
            if i == 0:
                command.target = start - self.wire.delay[TARGET] - when + command.target
            at += some
        command.target -= last  # its completion follows the data
        self.complete(command, when)

    def answer_write(self, command, when, address, key, length):
        self.wire.read(TARGET, when, address, key, bytes(length),
                       lambda now: self.complete(command, now + self.draw.randrange(1, 90_000)))

    def complete(self, command, when, *_):
        status = self.draw.choice(list(NVME_STATUS)[:1] * 20 + list(NVME_STATUS))
        if command.operation == 'fabrics connect':
            status = (0, 0)
        command.status, command.failed = NVME_STATUS[status], status != (0, 0)

        def reply(now):
            self.head = (self.head + 1) % self.entries
            data = nvme_completion(command.id, self.head, self.queue, status)
            before = self.wire.slot(TARGET, now) - now
            self.wire.free[TARGET] -= self.wire.gap
            if command.target is not None and command.operation != 'read':
                command.target += before
            first, passed, arrived = self.wire.send(TARGET, now, data)
            if command.operation == 'read':
                command.target += first
            self.ended(command, passed, arrived)
        self.wire.at(when, reply)


# RPC over RDMA, and NFS.

def opaque(data):
    return struct.pack('>I', len(data)) + data + bytes(-len(data) % 4)


def segment(key, length, address):
    return struct.pack('>IIQ', key, length, address)


def read_list(chunks):
    return b''.join(struct.pack('>II', 1, position) + segment(*one) for position, one in chunks) + bytes(4)


def write_list(chunks):
    return b''.join(struct.pack('>II', 1, len(one)) + b''.join(segment(*s) for s in one)
                    for one in chunks) + bytes(4)


def reply_chunk(segments):
    if not segments:
        return bytes(4)
    return struct.pack('>II', 1, len(segments)) + b''.join(segment(*s) for s in segments)


def transport(xid, credits, kind, reads=(), writes=(), reply=()):
    return struct.pack('>4I', xid, 1, credits, kind) + read_list(reads) + write_list(writes) + reply_chunk(reply)


def rpc_call(xid, version, procedure, arguments, program=100003):
    auth = struct.pack('>II', 1, 24) + bytes(24)  # AUTH_SYS
    return struct.pack('>6I', xid, 0, 2, program, version, procedure) + auth + bytes(8) + arguments


def rpc_reply(xid, results):
    return struct.pack('>3I', xid, 1, 0) + bytes(8) + bytes(4) + results


NFS_STATUS = {0: 'success', 2: 'NFSERR_NOENT', 13: 'NFSERR_ACCES', 70: 'NFSERR_STALE', 10008: 'NFSERR_DELAY'}
HANDLE = opaque(bytes(range(32)))
SEQUENCE = struct.pack('>I', 53) + bytes(32)
PUTFH = struct.pack('>I', 22) + HANDLE
GETATTR4 = struct.pack('>III', 9, 1, 0x18)


def compound(*operations):
    return opaque(b'') + struct.pack('>II', 1, len(operations)) + b''.join(operations)


class NfsMount(Load):
    """Calls of NFSv3 and NFSv4.1: inline, with read and write chunks, long calls and long replies."""

    def __init__(self, wire, commands, depth, credits=64):
        super().__init__(wire, commands, depth)
        self.xid = self.draw.choice((0, 2**32 - 3, self.draw.randrange(2**32)))
        self.credits = credits

    def begin(self, when):
        self.xid = (self.xid + 1) % 2**32
        xid, version = self.xid, self.draw.choice((3, 4))
        kind = self.draw.choice(('read', 'read', 'small read', 'write', 'small write', 'plain', 'lookup',
                                 'list', 'long call'))
        length = self.draw.choice((100, 1000)) if kind.startswith('small') else self.draw.choice(
            (4096, 8192, 16384, 5000))
        key, address = self.draw.randrange(1, 2**32), self.draw.randrange(2**50)
        chunk = (key, length, address)
        name, procedure, arguments = self.call_of(kind, version, length)
        counted = kind in ('read', 'small read', 'write', 'small write')
        command = Expected('nfs', f'NFSv{version} {name}', xid, length if counted else None)
        call = rpc_call(xid, version, procedure, arguments)
        if kind == 'read':
            data = transport(xid, 32, 0, writes=[[chunk]]) + call
        elif kind == 'write':
            data = transport(xid, 32, 0, reads=[(len(call), chunk)]) + call
        elif kind == 'list':
            data = transport(xid, 32, 0, reply=[chunk]) + call
        elif kind == 'long call':
            data = transport(xid, 32, 1, reads=[(0, (key, len(call), address))])
        else:
            data = transport(xid, 32, 0) + call + (bytes(length) if kind == 'small write' else b'')
        self.note_needs(command, kind, version, len(data) - len(call) if kind != 'small write' else 28, length)
        first, last, arrived = self.wire.send(HOST, when, data)
        self.begun(command, first, last)
        service = self.draw.randrange(5_000, 400_000)
        self.wire.at(arrived + service, lambda now: self.serve(command, kind, now, chunk, call))

    @staticmethod
    def note_needs(command, kind, version, head, length):
        """`head`: bytes before the call. A long call is in the first response of a READ, whose AETH takes 4."""
        if kind == 'long call':
            head = 4
        procedure, arguments = head + 24, head + 24 + 32 + 8
        if version == 3:
            command.names = [(0, 'RPC call'), (procedure, command.operation)]
            command.size_needs = arguments + 36 + 8 + 4
        else:
            before = arguments + 4 + 8 + 36 + 40
            command.names = [(0, 'RPC call'), (procedure, 'NFSv4 COMPOUND'), (before + 4, command.operation)]
            command.size_needs = before + 4 + 16 + 8 + (8 if command.operation.endswith('WRITE') else 4)
        if kind in ('read', 'write'):
            command.cut_bytes = length
        command.size_needs *= command.bytes is not None

    @staticmethod
    def call_of(kind, version, length):
        """Name, procedure and arguments; those of `small write` without their data."""
        state = bytes(16)
        if version == 3:
            return {'read': ('READ', 6, HANDLE + struct.pack('>QI', 0, length)),
                    'write': ('WRITE', 7, HANDLE + struct.pack('>QIII', 0, length, 2, length)),
                    'plain': ('GETATTR', 1, HANDLE),
                    'lookup': ('LOOKUP', 3, HANDLE + opaque(b'name')),
                    'list': ('READDIR', 16, HANDLE + bytes(16) + struct.pack('>I', 4096)),
                    'long call': ('SYMLINK', 10, HANDLE + opaque(b'link') + bytes(24) + opaque(bytes(3000)))
                    }[kind.removeprefix('small ')]
        return {'read': ('READ', 1, compound(SEQUENCE, PUTFH, struct.pack('>I', 25) + state
                                             + struct.pack('>QI', 0, length))),
                'write': ('WRITE', 1, compound(SEQUENCE, PUTFH, struct.pack('>I', 38) + state
                                               + struct.pack('>QII', 0, 2, length))),
                'plain': ('GETATTR', 1, compound(SEQUENCE, PUTFH, GETATTR4)),
                'lookup': ('LOOKUP', 1, compound(SEQUENCE, PUTFH, struct.pack('>I', 15) + opaque(b'name'),
                                                 struct.pack('>I', 10), GETATTR4)),
                'list': ('READDIR', 1, compound(SEQUENCE, PUTFH, struct.pack('>I', 26) + bytes(24))),
                'long call': ('CREATE', 1, compound(SEQUENCE, PUTFH, struct.pack('>II', 6, 5)
                                                    + opaque(bytes(3000))))
                }[kind.removeprefix('small ')]

    def serve(self, command, kind, when, chunk, call):
        key, length, address = chunk
        if kind == 'write':
            self.wire.read(TARGET, when, address, key, bytes(length), lambda now: self.reply(command, kind, now, chunk))
        elif kind == 'long call':
            self.wire.read(TARGET, when, address, key, call, lambda now: self.reply(command, kind, now, chunk))
        else:
            self.reply(command, kind, when, chunk)

    def reply(self, command, kind, when, chunk):
        status = self.draw.choice([0] * 20 + list(NFS_STATUS))
        command.status, command.failed = NFS_STATUS[status], status != 0
        key, length, address = chunk
        results = struct.pack('>I', status) + bytes(100)
        reply = rpc_reply(command.id, results)
        if kind == 'read' and status == 0:
            self.wire.write(TARGET, when, address, key, bytes(length))
            data = transport(command.id, self.credits, 0, writes=[[chunk]]) + reply
            command.status_needs = len(data) - len(reply) + 28
        elif kind == 'list' and status == 0:
            self.wire.write(TARGET, when, address, key, reply + bytes(length - len(reply)))
            data = transport(command.id, self.credits, 1, reply=[chunk])
            command.status_needs = 16 + 28
        else:
            data = transport(command.id, self.credits, 0) + reply
            command.status_needs = 28 + 28
            if kind == 'small read' and status == 0:
                data += bytes(command.bytes)
        self.wire.at(when, lambda now: self.send_reply(command, now, data))

    def send_reply(self, command, now, data):
        _, passed, arrived = self.wire.send(TARGET, now, data)
        self.ended(command, passed, arrived)


# SMB Direct and SMB2.

SMB_STATUS = {0: 'success', 0xC0000022: 'STATUS_ACCESS_DENIED', 0xC0000034: 'STATUS_OBJECT_NAME_NOT_FOUND',
              0xC000009A: 'STATUS_INSUFFICIENT_RESOURCES'}
SMB_PENDING = 0x103
SMB_READ, SMB_WRITE, SMB_ECHO, SMB_CREATE, SMB_CLOSE, SMB_NOTIFY = 8, 9, 13, 5, 6, 15
SMB_NAMES = {8: 'SMB2 READ', 9: 'SMB2 WRITE', 13: 'SMB2 ECHO', 5: 'SMB2 CREATE', 6: 'SMB2 CLOSE'}


def smb2_header(command, message, *, response=False, status=0, asynchronous=None, following=0):
    flags = (1 if response else 0) | (2 if asynchronous else 0)
    identity = struct.pack('<Q', asynchronous) if asynchronous else struct.pack('<II', 0, 5)
    return (b'\xfeSMB' + struct.pack('<HHIHHIIQ', 64, 1, status, command, 1, flags, following, message) + identity
            + struct.pack('<Q', 9) + bytes(16))


def smb2_read(message, length, descriptor=b''):
    body = struct.pack('<HBBIQ16xIIIHH', 49, 0, 0, length, 0, 0, 1 if descriptor else 0, 0,
                       64 + 48 if descriptor else 0, len(descriptor))
    return smb2_header(SMB_READ, message) + body + (descriptor or b'\0')


def smb2_write(message, length, descriptor=b''):
    body = struct.pack('<HHIQ16xIIHHI', 49, 0 if descriptor else 64 + 48, 0 if descriptor else length, 0,
                       1 if descriptor else 0, length if descriptor else 0, 64 + 48 if descriptor else 0,
                       len(descriptor), 0)
    return smb2_header(SMB_WRITE, message) + body + (descriptor or bytes(length))


def smbd_fragments(data, most, credits=(255, 1)):
    """The data transfer messages of a message of SMB2."""
    room = most - 24
    parts = [data[i:i + room] for i in range(0, len(data), room)]
    left = len(data)
    for part in parts:
        left -= len(part)
        yield struct.pack('<HHHHIII4x', *credits, 0, 0, left, 24, len(part)) + part


class SmbShare(Load):
    """Commands of SMB2: data through RDMA and within messages, fragments, interim responses."""

    MOST = 1364

    def __init__(self, wire, commands, depth):
        super().__init__(wire, commands, depth)
        self.message_id = self.draw.choice((0, 2**64 - 40, self.draw.randrange(2**63)))
        self.busy = [0, 0]
        self.negotiate()

    def negotiate(self):
        request = struct.pack('<HHHHIII', 0x0100, 0x0100, 0, 255, self.MOST, self.MOST, 2**20)
        answer = struct.pack('<HHHHHHIIIII', 0x0100, 0x0100, 0x0100, 0, 255, 255, 0, 2**20, self.MOST, self.MOST,
                             2**20)
        self.wire.at(1000, lambda now: self.wire.at(
            self.wire.send(HOST, now, request)[2], lambda then: self.wire.send(TARGET, then, answer)))

    def send(self, side, when, data):
        """All fragments of a message, which no other message interrupts."""
        times = [self.wire.send(side, when, one) for one in smbd_fragments(data, self.MOST)]
        return times[0][0], times[-1][1], times[-1][2]

    def begin(self, when):
        self.message_id = (self.message_id + 1) % (2**64 - 1)
        message = self.message_id
        kind = self.draw.choice(('read', 'read', 'small read', 'write', 'small write', 'echo', 'create', 'close'))
        length = self.draw.choice((100, 3000, 5000)) if kind.startswith('small') else self.draw.choice((4096, 65536))
        key, address = self.draw.randrange(1, 2**32), self.draw.randrange(2**50)
        descriptor = struct.pack('<QII', address, key, length)
        code = {'echo': SMB_ECHO, 'create': SMB_CREATE, 'close': SMB_CLOSE}.get(kind)
        if kind.endswith('read'):
            code, data = SMB_READ, smb2_read(message, length, descriptor if kind == 'read' else b'')
        elif kind.endswith('write'):
            code, data = SMB_WRITE, smb2_write(message, length, descriptor if kind == 'write' else b'')
        else:
            data = smb2_header(code, message) + bytes(4 if kind == 'echo' else 60)
        counted = code in (SMB_READ, SMB_WRITE)
        command = Expected('smb', SMB_NAMES[code], message, length if counted else None)
        command.size_needs = 24 + 64 + (8 if code == SMB_READ else 40) if counted else 0
        first, last, arrived = self.send(HOST, when, data)
        self.begun(command, first, last)
        service = self.draw.randrange(5_000, 400_000)
        if self.draw.random() < 0.1:
            self.wire.at(arrived + service // 2, lambda now: self.send(
                TARGET, now, smb2_header(code, message, response=True, status=SMB_PENDING, asynchronous=(message + 7) % 2**64 or 1)
                + bytes(9)))
        self.wire.at(arrived + service, lambda now: self.serve(command, code, kind, now, (address, key, length)))

    def serve(self, command, code, kind, when, where):
        address, key, length = where
        if kind == 'read':
            self.wire.write(TARGET, when, address, key, bytes(length))
            self.wire.at(when, lambda now: self.respond(command, code, kind, now))
        elif kind == 'write':
            self.wire.read(TARGET, when, address, key, bytes(length),
                           lambda now: self.respond(command, code, kind, now))
        else:
            self.respond(command, code, kind, when)

    def respond(self, command, code, kind, when):
        status = self.draw.choice([0] * 20 + list(SMB_STATUS))
        command.status, command.failed = SMB_STATUS[status], status != 0
        data = smb2_header(code, command.id, response=True, status=status) + bytes(17)
        if kind == 'small read' and status == 0:
            data += bytes(command.bytes)
        _, passed, arrived = self.send(TARGET, when, data)
        self.ended(command, passed, arrived)


LOADS = {'nvme': NvmeQueue, 'nfs': NfsMount, 'smb': SmbShare}


def compose(protocol, seed, commands=60):
    """The frames of a connection, (time, bytes) each, and its commands."""
    draw = random.Random(seed * 7919 + 1)
    wire = Connection(seed, mtu=draw.choice((1024, 4096)), to_host=draw.choice((0, 2000, 900_000)),
                      to_target=draw.choice((3000, 50_000, 950_000)))
    load = LOADS[protocol](wire, commands, draw.choice((1, 2, 8, 32))).start()
    frames = wire.run()
    return frames, load.expected, wire
