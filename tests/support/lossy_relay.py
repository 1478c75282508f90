# SPDX-License-Identifier: BSD-3-Clause
"""Relays frames from one Linux interface to another, loses, copies, delays and damages some of them,
and prints what it did, as JSON: for each run of a sender, in order, how many distinct frames it let
through undamaged, how many copies, late and damaged ones. Frames are told apart by the signature at
the start of the payload. Shares no code with lib/.

    lossy_relay.py FROM TO SEED LOSS COPIES DAMAGE LATE

Ends when standard input ends."""

import collections
import json
import random
import select
import socket
import sys

MAGIC = (b'LWSG', b'LWS2')
ALL_TYPES = socket.htons(3)
OUTGOING = 4


def signature_of(frame):
    """The run and the flow's sequence number, from a frame's signature; None without one."""
    if frame[12:14] != b'\x08\x00' or frame[36:38] != b'\x12\xb7':
        return None
    at = 54 + (16 if frame[42] in (0x06, 0x0A) else 0)  # behind the BTH and the RETH
    payload = frame[at:]
    if len(payload) < 24 or payload[:3] != b'LWS':
        return None
    number = int.from_bytes(payload[8:16], 'big')
    return number >> 48, int.from_bytes(payload[4:8], 'big') & 0xFFFFFF, number & (1 << 48) - 1


class Relay:
    def __init__(self, out, draw, shares):
        self.out, self.draw, self.shares = out, draw, shares
        self.runs = collections.OrderedDict()
        self.held = []  # frames that leave behind later ones

    def run_of(self, run):
        return self.runs.setdefault(run, {'sent': 0, 'good': {}, 'newest': {}, 'duplicated': 0,
                                          'bad_icrc': 0, 'out_of_order': 0})

    def take(self, frame):
        mark = signature_of(frame)
        if mark is None:
            self.out.send(frame)
            return
        self.run_of(mark[0])['sent'] += 1
        loss, copies, damage, late = self.shares
        if self.draw.random() < loss:
            return
        times = 2 if self.draw.random() < copies else 1
        for _ in range(times):
            bad = self.draw.random() < damage
            if self.draw.random() < late:
                self.held.append([self.draw.randrange(1, 20), frame, mark, bad])
            else:
                self.put(frame, mark, bad)
        for each in self.held:
            each[0] -= 1
        ready = [each for each in self.held if each[0] == 0]
        self.held = [each for each in self.held if each[0] > 0]
        for _, held, its, bad in ready:
            self.put(held, its, bad)

    def put(self, frame, mark, bad):
        run, flow, number = mark
        counts = self.run_of(run)
        if bad:
            frame = bytearray(frame)
            frame[-5 - self.draw.randrange(8)] ^= 1 << self.draw.randrange(8)
            counts['bad_icrc'] += 1
        elif number in counts['good'].setdefault(flow, set()):
            counts['duplicated'] += 1
        else:
            counts['good'][flow].add(number)
            counts['out_of_order'] += number < counts['newest'].get(flow, 0)
            counts['newest'][flow] = max(number, counts['newest'].get(flow, 0))
        self.out.send(bytes(frame))

    def flush(self):
        for _, frame, mark, bad in self.held:
            self.put(frame, mark, bad)
        self.held = []

    def counts(self):
        return [{'sent': run['sent'], 'received': sum(map(len, run['good'].values())),
                 'duplicated': run['duplicated'], 'bad_icrc': run['bad_icrc'],
                 'out_of_order': run['out_of_order']} for run in self.runs.values()]


def opened(name):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, ALL_TYPES)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    raw.bind((name, 0))
    return raw


def main():
    source, out, seed, *shares = sys.argv[1:]
    taken = opened(source)
    relay = Relay(opened(out), random.Random(int(seed)), [float(share) for share in shares])
    print('ready', flush=True)
    while True:
        readable, _, _ = select.select([taken, sys.stdin], [], [], 0.02)
        if taken in readable:
            frame, address = taken.recvfrom(1 << 16)
            if address[2] != OUTGOING:
                relay.take(frame)
        elif sys.stdin in readable:
            break
        else:
            relay.flush()  # the sender is silent
    print(json.dumps(relay.counts()), flush=True)


if __name__ == '__main__':
    main()
