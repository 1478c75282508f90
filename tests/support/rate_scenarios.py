# SPDX-License-Identifier: BSD-3-Clause
"""Captures of one connection whose rate something bounds, and what that is: a full link, the
sender's window, its application, its receiver, pauses. Times follow from the queue's recurrence
(a packet departs when it and the packet before it allow it); shares no code with lib/.

A scenario has frames of a capture point, at the sender ('S') or at the receiver ('R'), the answers
to "was it congestion?" that are right, and the limit that bounds the rate, if it is visible."""

import dataclasses
import math
import random
import struct

from many_qps import CLIENT, ETHERNET, SERVER, _frame, ack, write

LINE = 100e9
OVERHEAD = 74  # bytes of a WRITE ONLY frame, beside its payload
QP, PORT, FIRST = 0x22, 50_000, 1000
PAUSE = bytes.fromhex('0180c2000001') + bytes.fromhex('02000000ff01') + b'\x88\x08'


@dataclasses.dataclass
class Scenario:
    name: str
    frames: list
    answers: set           # that are right; "cannot tell" always is
    limit: str = None      # 'window', 'full link', 'reads'; None: no limit is visible
    full_rate: float = 0   # of payload, in b/s
    paused_ns: float = 0   # from pauses of its packets to their ends


def tagged(frame, priority):
    return frame[:12] + struct.pack('>HH', 0x8100, priority << 13) + frame[12:]


def pfc(priority, quanta):
    times = [quanta if i == priority else 0 for i in range(8)]
    return (PAUSE + struct.pack('>HH8H', 0x0101, 1 << priority, *times)).ljust(60, b'\0')


def link_pause(quanta):
    return (PAUSE + struct.pack('>HH', 1, quanta)).ljust(60, b'\0')


def sent(count, one_way, size=1024, window=1 << 30, link=LINE, ready=lambda number: 0, stops=(),
         more=lambda at: 0):
    """Times in ns of each packet: sent, received, acknowledged (at the sender). One packet is one
    message; `ready`: when the application asks for it; `stops`: spans in which nothing is sent;
    `more`: what the way back takes more, at a time."""
    bits = 8 * (size + OVERHEAD)
    leave = depart = 0
    times = []
    for number in range(count):
        leave = max(leave + bits / LINE * 1e9, ready(number))
        if number >= window:
            leave = max(leave, times[number - window][2] + 300)
        for begin, end in stops:
            if begin <= leave < end:
                leave = end
        depart = max(leave + one_way / 2, depart) + bits / link * 1e9
        there = depart + one_way / 2
        times.append((leave, there, there + 500 + one_way + more(there)))
    return times


def frames_of(times, point, one_way, size=1024, priority=None):
    made = []
    for number, (leave, there, back) in enumerate(times):
        at, answered = (leave, back) if point == 'S' else (there, back - one_way)
        made.append(write(round(at), QP, FIRST + number, PORT, size))
        made.append(ack(round(answered), QP, FIRST + number, PORT, number + 1))
    if priority is not None:
        made = [(stamp, tagged(frame, priority)) for stamp, frame in made]
    return sorted(made)


def full_links(draw):
    for window in (64, 96, 128, 256, 512, 700):
        one_way = draw.choice([3000, 8000, 15_000])
        fills = window * 8 * (1024 + OVERHEAD) / (2 * one_way + 500)  # b/ns: the window in a round trip
        link = draw.choice([rate for rate in (2e9, 5e9, 10e9, 25e9) if rate < fills * 1e9 / 1.4])
        times = sent(4 * window + 400, one_way, window=window, link=link)
        rate = link * 1024 / (1024 + OVERHEAD)
        name = f'full link {link / 1e9:g}G window {window}'
        yield Scenario(f'{name} S', frames_of(times, 'S', one_way), {'yes'}, 'full link', rate)
        if window in (96, 256, 512):
            yield Scenario(f'{name} R', frames_of(times, 'R', one_way), {'yes'})
    for over in (1.15, 1.5, 2.5):
        link = draw.choice([5e9, 10e9])
        gap = 8 * (1024 + OVERHEAD) / link * 1e9 / over
        times = sent(1500, 5000, link=link, ready=lambda number, gap=gap: number * gap)
        yield Scenario(f'queue fills, {over} times {link / 1e9:g}G S', frames_of(times, 'S', 5000),
                       {'yes'}, 'full link', link * 1024 / (1024 + OVERHEAD))


def windows(draw):
    for window, one_way in ((4, 10_000), (8, 50_000), (16, 500_000), (32, 2_000_000), (64, 100_000)):
        times = sent(20 * window + 200, one_way, window=window,
                     more=lambda at, most=one_way / 50: draw.random() * most)
        name = f'window {window}, {one_way / 1000:g} us'
        yield Scenario(f'{name} S', frames_of(times, 'S', one_way), {'no'}, 'window')
        if window > 8:
            yield Scenario(f'{name} R', frames_of(times, 'R', one_way), {'no'})


def varying_paths(draw):
    """The way back grows and shrinks to twice the time: nothing is full."""
    for window, one_way in ((16, 20_000), (48, 100_000)):
        period = draw.uniform(10, 40) * one_way
        times = sent(40 * window, one_way, window=window,
                     more=lambda at, p=period, most=one_way: most * (1 + math.sin(6.28 * at / p)))
        yield Scenario(f'window {window}, a path that varies S', frames_of(times, 'S', one_way),
                       {'no'}, 'window')


def reads(draw):
    """So many READs at once, over a long path."""
    for depth, one_way in ((4, 50_000), (16, draw.choice([200_000, 1_000_000]))):
        frames, answered = [], []
        at = 0
        for number in range(300):
            at = max(at + 100, answered[number - depth] if number >= depth else 0)
            answered.append(at + 2 * one_way + 700)
            reth = struct.pack('>QII', 0x1000 * number, 1, 1024)
            frames.append((at, _frame(CLIENT, SERVER, PORT, QP, FIRST + number, 0x0C, reth)))
            frames.append((answered[-1], _frame(SERVER, CLIENT, PORT, QP, FIRST + number, 0x10,
                                                struct.pack('>I', 0x1F000000 | number + 1) + bytes(1024))))
        yield Scenario(f'{depth} READs at once', sorted(frames), {'no'}, 'reads')


def pausing_applications(draw):
    for burst, idle, link in ((1, 50_000, LINE), (8, 200_000, LINE), (32, 1_000_000, LINE),
                              (16, 300_000, 25e9), (64, 400_000, 25e9)):
        shift = [idle * draw.uniform(0, .3) for _ in range(800)]
        times = sent(600, 8000, link=link,
                     ready=lambda number, b=burst, i=idle, s=shift: number // b * i + s[number // b])
        for point in ('S', 'R') if burst in (8, 64) else ('S',):
            yield Scenario(f'application sends {burst} each {idle / 1000:g} us {point}',
                           frames_of(times, point, 8000), {'no'})


def not_ready_receivers(draw):
    """SENDs, of which some find no buffer."""
    for share, wait in ((.05, 120_000), (.2, 640_000), (.5, 80_000), (.1, 1_280_000)):
        at, frames, psn, refused = 0, [], FIRST, False
        while psn < FIRST + 200:
            frames.append((round(at), _frame(CLIENT, SERVER, PORT, QP, psn, 4, bytes(256))))
            refused = not refused and draw.random() < share
            syndrome = 0x2E if refused else 0x1F
            answer = struct.pack('>I', syndrome << 24 | psn - FIRST + (0 if refused else 1))
            frames.append((round(at + 9000), _frame(SERVER, CLIENT, PORT, QP, psn, 0x11, answer)))
            at += 9000 + (wait if refused else 1000)
            psn += not refused
        yield Scenario(f'receiver not ready {share:g}', frames, {'no'})


def pauses(draw):
    for kind, own in (('pfc', True), ('pfc', True), ('pfc', True), ('pfc', False), ('pfc', False),
                      ('link', True), ('link', True)):
        stops = [(begin, begin + draw.randint(20_000, 60_000))
                 for begin in range(100_000, 1_000_000, 150_000)]
        times = sent(1500, 8000, ready=lambda number: number * 700, stops=stops if own else ())
        frames = frames_of(times, 'S', 8000, priority=3 if kind == 'pfc' else None)
        for begin, end in stops:
            for stamp, quanta in ((begin - 1, 0xFFFF), (end - 1, 0)):
                frames.append((stamp, link_pause(quanta) if kind == 'link'
                               else pfc(3 if own else 5, quanta)))
        yield Scenario(f'{kind} pauses{"" if own else " of another priority"}', sorted(frames),
                       {'yes'} if own else {'no'}, paused_ns=sum(b - a for a, b in stops) if own else 0)


def scenarios(seed=1):
    draw = random.Random(seed)
    for kind in (full_links, windows, varying_paths, reads, pausing_applications, not_ready_receivers, pauses):
        yield from kind(draw)
