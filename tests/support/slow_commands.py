# SPDX-License-Identifier: BSD-3-Clause
"""Connections of NVMe and NFS over RDMA with slow commands whose causes are known: packets that a path
loses, on either side of the capture point, a receiver without buffers, a slow target. Senders go back to a
lost packet by a NAK or by their timer (IBTA vol. 1, 9.7.5 to 9.9.2). One command is open at a time. Shares
no code with lib/. Times are in ns."""

import dataclasses
import random
import struct

import compose_nic_captures as cm
import roce_composer as roce
import upper_composer as upper

HOST, TARGET = 0, 1
SEQUENCE_ERROR, RNR_NAK = 0x60, 0x20
RNR_CODE, RNR_WAIT = 22, 20_480_000  # of the timer field (IBTA vol. 1, table 56)
MTU, GAP, TURN = 1024, 400, 3000
NEXT_TO = 1000  # a point that is nearer to an end is next to it
TIMEOUTS = {14: 4096 << 14, 19: 4096 << 19}


@dataclasses.dataclass
class Known:
    """What happened to a command. `cause`: what made it slow: nothing, target, recovery, or late ack."""
    id: int
    cause: str | None = None
    tokens: tuple = ()  # names that anomalies has for it
    begin: int | None = None


@dataclasses.dataclass
class Fault:
    what: str      # lost, rnr, ack lost
    index: int = 0  # of the packet of a burst
    before: bool = False  # lost before the point; else behind it


class Link:
    """The frames of a connection at a point between its ends."""

    def __init__(self, seed, delay, timeout, port=4420):
        self.draw = random.Random(seed)
        self.delay, self.timer = delay, TIMEOUTS[timeout]
        self.ends = cm.hosts()
        self.qp = (0x51, 0x62)
        self.psn = [self.draw.randrange(2**24), 2**24 - self.draw.randrange(1, 40)]
        self.msn = [0, 0]
        self.frames = []
        self._set_up(timeout, port)

    def _set_up(self, timeout, port):
        request = cm.connect_request(self.ends, self.qp[0], self.psn[0], 7, port, timeout)
        for when, side, attribute, body in ((0, 0, 0x10, request),
                                            (4_000_000, 1, 0x13, cm.connect_reply(self.qp[1], self.psn[1], 8, 7)),
                                            (8_000_000, 0, 0x14, struct.pack('>II', 7, 8))):
            data = roce.bth(roce.UD | roce.SEND_ONLY, 1, when // 10**6) + roce.deth(cm.CM_Q_KEY, 1)
            self.packet(side, when, data + cm.mad(attribute, 1, body))

    def packet(self, side, when, packet, lost=None):
        """When it arrives. `lost`: before the point (True), or behind it (False); None: not lost."""
        if lost is not True:
            frame = roce.frame(self.ends[side], self.ends[1 - side], packet, port=0xC123)
            self.frames.append((when + self.delay[side], frame))
        return when + sum(self.delay)

    def answer(self, side, when, psn, syndrome=0x1F, lost=None):
        """An ACK or NAK of a side."""
        head = roce.bth(roce.ACKNOWLEDGE, self.qp[1 - side], psn)
        return self.packet(side, when, head + roce.aeth(self.msn[side], syndrome), lost)

    def burst(self, side, when, packets, fault=None):
        """Sends (opcode, bytes behind the BTH) one after the other. Returns when the receiver has all, and
        when their sender knows it."""
        first, other, last = self.psn[side], 1 - side, len(packets) - 1
        self.psn[side] = (first + len(packets)) % 2**24

        def send(i, now, lost=None):
            opcode, body = packets[i]
            body, pad = roce.padded(body)
            return self.packet(side, now, roce.bth(opcode, self.qp[other], first + i, asks=True, pad=pad) + body, lost)

        begin = 0
        if fault and fault.what in ('lost', 'rnr'):
            begin = fault.index if fault.what == 'lost' else 0
            arrived = [send(i, when + i * GAP, fault.before if fault.what == 'lost' and i == begin else None)
                       for i in range(len(packets))]
            when = self._again(fault, side, when, arrived, first)
        for i in range(begin, len(packets)):
            has_all = send(i, when + (i - begin) * GAP)
        self.msn[other] += 1
        ack_lost = fault is not None and fault.what == 'ack lost'
        known = self.answer(other, has_all + TURN, first + last, lost=fault.before if ack_lost else None)
        if ack_lost:
            again = send(last, when + last * GAP + self.timer)
            known = self.answer(other, again + TURN, first + last)
        return has_all, known

    def _again(self, fault, side, when, arrived, first):
        """When a sender repeats what was lost or refused."""
        other = 1 - side
        if fault.what == 'rnr':
            told = self.answer(other, arrived[0] + TURN, first, RNR_NAK | RNR_CODE)
            return told + RNR_WAIT
        if fault.index + 1 < len(arrived):
            return self.answer(other, arrived[fault.index + 1] + TURN, first + fault.index, SEQUENCE_ERROR) + TURN
        return when + fault.index * GAP + self.timer

    def read(self, when, address, key, length, fault=None):
        """A READ of the target; returns when it has the data. `fault`: a lost request (index -1), or a lost
        response."""
        first, count = self.psn[TARGET], -(-length // MTU)
        self.psn[TARGET] = (first + count) % 2**24
        self.msn[HOST] += 1
        lost_request = fault is not None and fault.index < 0
        arrived = self._ask(when, first, address, key, length, fault.before if lost_request else None)
        if lost_request:
            when += self.timer
            arrived = self._ask(when, first, address, key, length)
        there = self._respond(arrived + TURN, first, 0, count, None if lost_request else fault)
        if fault is None or lost_request:
            return there[-1]
        seen = there[fault.index + 1] + TURN if fault.index + 1 < count else when + self.timer
        at = fault.index * MTU
        arrived = self._ask(seen, first + fault.index, address + at, key, length - at)
        return self._respond(arrived + TURN, first, fault.index, count)[-1]

    def _ask(self, when, psn, address, key, length, lost=None):
        packet = roce.bth(roce.READ_REQUEST, self.qp[HOST], psn, asks=True) + roce.reth(address, key, length)
        return self.packet(TARGET, when, packet, lost)

    def _respond(self, when, first, begin, count, fault=None):
        arrived = []
        for i in range(begin, count):
            alone, opens, ends = count - begin == 1, i == begin, i == count - 1
            code = (roce.RESPONSE_ONLY if alone else roce.RESPONSE_FIRST if opens
                    else roce.RESPONSE_LAST if ends else roce.RESPONSE_MIDDLE)
            body = b'' if code == roce.RESPONSE_MIDDLE else roce.aeth(self.msn[HOST])
            packet = roce.bth(code, self.qp[TARGET], first + i) + body + bytes(MTU)
            lost = fault.before if fault is not None and i == fault.index else None
            arrived.append(self.packet(HOST, when + (i - begin) * GAP, packet, lost))
        return arrived


def parts(data, codes, head=b''):
    """The packets of a SEND or WRITE."""
    first, middle, last, only = codes
    pieces = [data[i:i + MTU] for i in range(0, len(data), MTU)]
    if len(pieces) == 1:
        return [(only, head + data)]
    opcodes = [first] + [middle] * (len(pieces) - 2) + [last]
    return [(code, (head if i == 0 else b'') + piece) for i, (code, piece) in enumerate(zip(opcodes, pieces))]


def send_of(data):
    return parts(data, (roce.SEND_FIRST, roce.SEND_MIDDLE, roce.SEND_LAST, roce.SEND_ONLY))


def write_of(address, key, data):
    codes = (roce.WRITE_FIRST, roce.WRITE_MIDDLE, roce.WRITE_LAST, roce.WRITE_ONLY)
    return parts(data, codes, roce.reth(address, key, len(data)))


class NvmeCommands:
    """Request and completion of a command of an I/O queue."""
    name = 'nvme'

    @staticmethod
    def request(number, kind, address, key, length):
        opcode = {'read': 2, 'write': 1, 'plain': 0}[kind]
        sgl = upper.keyed_sgl(address, length, key) if kind != 'plain' else upper.keyed_sgl(0, 0, 0)
        return upper.nvme_command(opcode, number, sgl)

    @staticmethod
    def reply(number, kind, chunk):
        del kind, chunk
        return upper.nvme_completion(number, number % 128, 1)


class NfsCommands:
    """Call and reply of NFSv3."""
    name = 'nfs'

    @staticmethod
    def request(number, kind, address, key, length):
        name = kind if kind != 'plain' else 'plain'
        _, procedure, arguments = upper.NfsMount.call_of(name, 3, length)
        call = upper.rpc_call(number, 3, procedure, arguments)
        chunk = (key, length, address)
        reads = [(len(call), chunk)] if kind == 'write' else ()
        return upper.transport(number, 32, 0, reads=reads, writes=[[chunk]] if kind == 'read' else ()) + call

    @staticmethod
    def reply(number, kind, chunk):
        writes = [[chunk]] if kind == 'read' else ()
        return upper.transport(number, 32, 0, writes=writes) + upper.rpc_reply(number, bytes(104))


PROTOCOLS = (NvmeCommands, NfsCommands)


class SlowCommands:
    """Commands one after the other, of which some are slow."""

    def __init__(self, seed, share=0.25):
        self.draw = draw = random.Random(seed)
        self.protocol = PROTOCOLS[seed % 2]
        delay = draw.choice(((500, 1_900_000), (900_000, 1_000_000), (1_900_000, 500)))
        self.link = Link(seed, delay, draw.choice(tuple(TIMEOUTS)))
        self.share = share
        self.known = []

    def run(self, commands):
        now = 20_000_000
        for number in range(1, commands + 1):
            now = self._command(number, now) + self.draw.randrange(5_000, 200_000)
        return sorted(self.link.frames, key=lambda one: one[0])

    def _before(self, sender):
        """Whether a packet is lost before the point: not on the short way between it and an end."""
        to_sender, to_other = self.link.delay[sender], self.link.delay[1 - sender]
        return self.draw.random() < 0.5 if min(to_sender, to_other) > NEXT_TO else to_sender > to_other

    def _lost(self, count):
        """A lost packet of a burst of the target, and the names of how it comes again."""
        index = self.draw.randrange(count)
        names = ('nak',) if index + 1 < count else ('timer',)
        return Fault('lost', index, self._before(TARGET)), names

    def _command(self, number, now):
        draw, link = self.draw, self.link
        kind, length = draw.choice(('read', 'read', 'write', 'plain')), MTU * draw.choice((1, 4, 8))
        address, key = draw.randrange(2**40) * 4096, draw.randrange(1, 2**32)
        known = Known(number)
        self.known.append(known)
        where = self._slow(kind) if draw.random() < self.share else None
        asked = self.protocol.request(number, kind, address, key, length)
        known.begin = now + link.delay[HOST]
        fault = self._request_fault(known, where)
        there, acknowledged = link.burst(HOST, now, send_of(asked), fault)
        service = draw.randrange(50_000, 150_000)
        if where == 'target':
            known.cause, service = 'target', draw.randrange(25_000_000, 50_000_000)
        ended = self._serve(known, kind, there + service, (key, length, address), where)
        return max(ended, acknowledged) if self.protocol is NvmeCommands else ended

    def _slow(self, kind):
        """What is wrong with a command."""
        choices = ['target', 'refused', 'reply']
        if self.link.delay[TARGET] > NEXT_TO:
            choices += ['request', 'request']
        if self.protocol is NvmeCommands:
            choices.append('late ack')
        if kind == 'write':
            choices.append('data')
        return self.draw.choice(choices)

    def _request_fault(self, known, where):
        if where == 'request':
            # Behind the point: before it, the command begins with what comes again.
            known.cause, known.tokens = 'recovery', ('timer',)
            return Fault('lost')
        if where == 'refused':
            known.cause, known.tokens = 'recovery', ('rnr',)
            return Fault('rnr')
        if where == 'late ack':
            known.cause, known.tokens = 'late ack', ('ack_lost', 'timer')
            return Fault('ack lost', before=self._before(TARGET))
        return None

    def _serve(self, known, kind, when, chunk, where):
        """The target's part; returns when the host has the reply."""
        key, length, address = chunk
        reply = send_of(self.protocol.reply(known.id, kind, chunk))
        if kind == 'write':
            when = self._fetch(known, when, chunk, where) + self.draw.randrange(5_000, 50_000)
        packets = (write_of(address, key, bytes(length)) if kind == 'read' else []) + reply
        fault = None
        if where == 'reply':
            fault, known.tokens = self._lost(len(packets))
            known.cause = 'recovery'
        return self.link.burst(TARGET, when, packets, fault)[0]

    def _fetch(self, known, when, chunk, where):
        key, length, address = chunk
        fault = None
        if where == 'data':
            count = length // MTU
            index = self.draw.randrange(-1, count)
            fault = Fault('lost', index, self._before(TARGET if index < 0 else HOST))
            known.cause, known.tokens = 'recovery', ('response_lost', 'timer', 'nak')
        return self.link.read(when, address, key, length, fault)


def compose(seed, commands=40):
    """Frames (time, bytes) at the point, and what happened to each command."""
    load = SlowCommands(seed)
    return load.run(commands), load.known, load.protocol.name
