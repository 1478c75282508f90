# SPDX-License-Identifier: BSD-3-Clause
"""What roce-dissect says about Linux' programs through roce-impair, against the box's ledger: rstream
and rcopy, which write in both directions, while requests are lost or overtaken. Software senders
under emulation are slow, and their recoveries lose and reorder their own packets."""

import collections
import json
import struct
import subprocess
import unittest

import guests
import longwire_test

DISSECT = longwire_test.program('roce-dissect')
RESPONSES = (13, 14, 15, 16, 17, 18)
# The far capture of each direction, and the sender's address.
DIRECTIONS = {'west-to-east': ('b', guests.ADDRESSES['a'][0]),
              'east-to-west': ('a', guests.ADDRESSES['b'][0])}
LOSSY = '[[rule]]\nname = "lossy"\ndelay = "1ms"\nloss = "0.5%"\n'
SHUFFLED = '[[rule]]\nname = "shuffled"\ndelay = "1ms"\nreorder = { fraction = "1%", frames = 3 }\n'


def is_request(opcode, qpn):
    return qpn > 1 and opcode % 32 not in RESPONSES


class Far:
    """What the capture behind the box shows of one direction's requests."""

    def __init__(self, path, frames, source):
        self.requests = []  # (PSN, IP identification)
        for _, frame in frames:
            opcode, qpn = frame[42], struct.unpack('>I', frame[46:50])[0] & 0xffffff
            if frame[23] == 17 and '.'.join(map(str, frame[26:30])) == source and is_request(opcode, qpn):
                self.requests.append((struct.unpack('>I', frame[50:54])[0] & 0xffffff,
                                      struct.unpack('>H', frame[18:20])[0]))
        done = subprocess.run([DISSECT, 'anomalies', '--json', path], capture_output=True, text=True, check=True)
        self.anomalies = [json.loads(line) for line in done.stdout.splitlines()]

    def found(self, kind, behind=False):
        """PSNs of requests, each as often as it was reported. `behind`: those that were overtaken behind
        this capture point, which are the other direction's."""
        psns = collections.Counter()
        for row in self.anomalies:
            if (row['kind'] == kind and row['role'] == 'request' and
                    (row['cause'] == 'reordered_behind') == behind):
                psns.update((row['psn'] + i) % 2**24 for i in range(row['packets']))
        return psns

    def shows_loss_of(self, psn):
        """Whether a later packet came before the first one with this PSN."""
        for seen, _ in self.requests:
            if seen == psn:
                return False
            if 0 < (seen - psn) % 2**24 < 2**20:
                return True
        return True

    def overtaken(self):
        """PSNs of requests behind one with a higher PSN, and behind one that the sender has sent later,
        by their IP identifications."""
        psns, newest, highest = collections.Counter(), None, None
        for psn, number in self.requests:
            below = highest is not None and (psn - highest) % 2**24 >= 2**23
            if newest is None or (number - newest) % 2**16 < 2**15:
                newest = number
            elif below:
                psns[psn] += 1
            if not below:
                highest = psn
        return psns


@guests.needed
class AgreesWithTheLedger(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = guests.Guests()
        cls.addClassCleanup(cls.lab.__exit__)
        cls.lab.__enter__()

    def through(self, profile, run):
        """(far capture, requests with a record in the ledger by PSN) for both directions."""
        with self.lab.impair(profile) as box, self.lab.capture() as capture:
            run()
        both = []
        for direction, (side, source) in DIRECTIONS.items():
            path = getattr(capture, side)
            frames = dict(zip('ab', capture.frames()))[side]
            touched = collections.Counter(
                record['infiniband.bth.psn'] for record in box.records()
                if record['direction'] == direction and record['action'] in ('drop', 'reorder')
                and is_request(record['infiniband.bth.opcode'], record['infiniband.bth.destqp']))
            both.append((Far(path, frames, source), touched))
        return both

    def rstream(self):
        server = self.lab.a.begin('exec rstream')
        self.lab.a.check(f'until [ -s /run/pid.{server.number} ]; do sleep 0.02; done; sleep 1')
        try:
            self.lab.b.check('rstream -s 192.168.77.1 -C 50 -S 16384', 120)
        finally:
            server.stop('KILL')

    def rcopy(self):
        server = self.lab.a.begin('exec rcopy')
        self.lab.a.check(f'until [ -s /run/pid.{server.number} ]; do sleep 0.02; done; sleep 1')
        try:
            self.lab.b.check('dd if=/dev/urandom of=/tmp/sent bs=64k count=20 2>/dev/null; '
                             'rcopy /tmp/sent 192.168.77.1:/tmp/copied', 120)
            self.assertEqual(self.lab.a.check('md5sum </tmp/copied'), self.lab.b.check('md5sum </tmp/sent'))
        finally:
            server.stop('KILL')

    def assert_few(self, differing, of, share):
        """At most `share` of `of` differ. Recoveries of rstream overlap, and then it cannot always be
        told to which one a late packet belongs."""
        self.assertLessEqual(sum(differing.values()), share * sum(of.values()), differing)

    def check_losses(self, run, share):
        lost = 0
        for far, dropped in self.through(LOSSY, run):
            reported = far.found('psn_gap')
            self.assert_few(reported - dropped, dropped, share)
            untold = dropped - reported
            shown = collections.Counter({psn: n for psn, n in untold.items() if far.shows_loss_of(psn)})
            self.assert_few(shown, dropped, share)
            lost += sum(dropped.values())
        return lost

    def check_order(self, run, share):
        late = 0
        both = self.through(SHUFFLED, run)
        for (far, _), (_, held) in zip(both, reversed(both)):
            self.assert_few(far.found('out_of_order', behind=True) - held, held, share)
        for far, held in both:
            self.assert_few(far.found('psn_gap'), held, share)
            reported, overtaken = far.found('out_of_order'), far.overtaken()
            for differing in (reported - held, reported - overtaken, overtaken - reported):
                self.assert_few(differing, held, share)
            late += sum(reported.values())
        return late

    def test_losses_of_rstream(self):
        self.assertGreater(self.check_losses(self.rstream, 0.02), 20)

    def test_losses_of_rcopy(self):
        self.check_losses(self.rcopy, 0)  # 0 to 5 of some 400 frames

    def test_order_of_rstream(self):
        self.assertGreater(self.check_order(self.rstream, 0.02), 50)

    def test_order_of_rcopy(self):
        self.check_order(self.rcopy, 0)


if __name__ == '__main__':
    longwire_test.main()
