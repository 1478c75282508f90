# SPDX-License-Identifier: BSD-3-Clause
"""A sender and a receiver of RC packets, in virtual time, and what a capture between them holds. It
knows what became of each packet, and shares no code with lib/. Times are in microseconds."""

import heapq

from conversation import SEND, Conversation


class TwoEnds:
    """Sends `count` SENDs or WRITEs of one packet, one each `gap`. `ahead`, `behind`: delay of a
    packet from its sender to the capture point, and from there to its receiver. `fate(psn, turn)`:
    what is added to both for the packet's transmission `turn`, from 0; None for one of them: it is
    lost there. `answer_fate(number)`: as `fate`, of an answer, seen from the receiver. `asks_often`: the receiver
    sends a NAK for each packet behind a hole. `reaction`: from a NAK until its sender goes back."""

    def __init__(self, count=60, gap=1, ahead=2, behind=20, selective=False, counted=False, ask_every=8,
                 timer=4000, retries=7, opcode=SEND, fate=None, answer_fate=None, stops_at=None, asks_often=False,
                 reaction=0):
        self.count, self.gap, self.ahead, self.behind = count, gap, ahead, behind
        self.selective, self.ask_every, self.timer, self.retries = selective, ask_every, timer, retries
        self.opcode, self.stops_at, self.asks_often = opcode, stops_at, asks_often
        self.reaction = reaction
        self.fate = fate or (lambda psn, turn: (0, 0))
        self.answer_fate = answer_fate or (lambda number: (0, 0))
        self.talk = Conversation(counted)
        self.events, self.seen, self.order = [], [], 0
        self.turns, self.lost, self.late = {}, set(), set()
        self.next, self.acked, self.again, self.heard = 0, 0, [], None  # the sender
        self.tried = 0  # times that its timer has run out since the last answer
        self.expected, self.kept, self.asked, self.answers = 0, set(), None, 0  # the receiver

    def at(self, time, do, *words):
        self.order += 1
        heapq.heappush(self.events, (time, self.order, do, words))

    def run(self):
        self.at(0, self.send)
        self.at(self.timer, self.expire, 0)
        while self.events:
            self.now, _, do, words = heapq.heappop(self.events)
            do(*words)
        for stamp, _, add, words in sorted(self.seen, key=lambda one: one[:2]):
            self.talk.at = stamp
            add(*words)
        return self

    # The sender.

    def send(self):
        if self.again:
            self.transmit(self.again.pop(0))
        elif self.next < self.count:
            self.transmit(self.next)
            self.next += 1
        if self.acked < self.count and self.tried <= self.retries:
            self.at(self.now + self.gap, self.send)

    def transmit(self, psn):
        turn = self.turns[psn] = self.turns.get(psn, -1) + 1
        ahead, behind = self.fate(psn, turn)
        # The sender numbers packets as it sends them, which Conversation.add does as they pass.
        self.talk.number += 1
        number = self.talk.number if self.talk.counted else 0
        if ahead is None:
            return self.lost.add(psn)
        here = self.now + self.ahead + ahead
        asks = psn % self.ask_every == self.ask_every - 1 or psn == self.count - 1
        self.pass_by(here, self.request, psn, number, asks)
        if behind is None:
            return self.lost.add(psn)
        self.at(here + self.behind + behind, self.arrive, psn, asks)

    def request(self, psn, number, asks):
        self.talk.number = number - 1
        self.talk.request(psn, 0, self.opcode, asks)

    def pass_by(self, time, add, *words):
        self.order += 1
        self.seen.append((time, self.order, add, words))

    def expire(self, acked):
        if self.acked == self.count or self.tried > self.retries:
            return
        if self.acked == acked and self.next > acked:
            self.tried += 1
            if self.tried <= self.retries:
                self.again = [acked] if self.selective else list(range(acked, self.next))
        self.at(self.now + self.timer, self.expire, self.acked)

    def hear(self, nak, psn):
        self.tried = 0
        self.acked = max(self.acked, psn if nak else psn + 1)
        if nak and psn >= self.acked and psn != self.heard:
            self.heard = psn  # a NAK that is repeated asks for nothing more
            if self.reaction:
                self.at(self.now + self.reaction, self.go_back, psn)
            else:
                self.go_back(psn)
        self.again = [one for one in self.again if one >= self.acked]

    def go_back(self, psn):
        psn = max(psn, self.acked)
        self.again = [*self.again, psn] if self.selective else list(range(psn, self.next))

    # The receiver.

    def arrive(self, psn, asks):
        if self.stops_at is not None and self.now >= self.stops_at:
            return
        if psn > self.expected:
            if self.selective:
                self.kept.add(psn)
            return self.ask()
        if psn < self.expected:
            return self.answer(False, self.expected - 1)
        self.expected += 1
        self.asked = None
        while self.expected in self.kept:
            self.kept.remove(self.expected)
            self.expected += 1
            asks = True
        if self.kept:
            return self.ask()
        if asks:
            self.answer(False, self.expected - 1)

    def ask(self):
        if self.asked == self.expected and not self.asks_often:
            return
        self.asked = self.expected
        self.answer(True, self.expected)

    def answer(self, nak, psn):
        behind, ahead = self.answer_fate(self.answers)
        self.answers += 1
        if behind is None:
            return
        here = self.now + self.behind + behind
        self.pass_by(here, self.talk.nak if nak else self.talk.answer, psn, 0)
        if ahead is not None:
            self.at(here + self.ahead + ahead, self.hear, nak, psn)
