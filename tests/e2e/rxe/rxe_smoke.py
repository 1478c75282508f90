# SPDX-License-Identifier: BSD-3-Clause
"""Two soft-RoCE guests that talk through roce-impair: perftest and rping finish, every ICRC is
right, and messages take as long as the path and the guests. tests/e2e/rxe/rxe.py is the whole suite."""

import unittest

import guests
import longwire_test
import roce_packets

PATH_US = 1903.5  # of profiles/impair/apn-380km
LATENCY = 'ib_write_lat -n 50 -s 8'
NO_DELAY = '[[rule]]\nname = "haul"\n[capacity]\nrate = "10Gb/s"\nlargest_frame = "4500B"\n'


@guests.needed
class Smoke(unittest.TestCase):
    def latency_without_delay(self, lab):
        """The guests' own median in us."""
        with lab.impair(NO_DELAY):
            lab.ping()
            pair = lab.perftest(LATENCY)
        self.assertTrue(pair.finished, pair)
        return guests.typical(pair)

    def test_soft_roce_through_the_path(self):
        lab = guests.Guests()
        self.addCleanup(lab.__exit__)
        lab.__enter__()
        before = self.latency_without_delay(lab)
        with lab.capture() as capture, lab.impair('apn-380km') as box:
            lab.ping()
            latency = lab.perftest(LATENCY)
            throughput = lab.perftest('ib_send_bw -n 50 -s 65536')
            rping = lab.rping('-C 5 -S 512')
        after = self.latency_without_delay(lab)
        print(f'# medians in us: {guests.typical(latency)}; without delay {before}, {after}', flush=True)
        for pair in (latency, throughput, rping):
            self.assertTrue(pair.finished, pair)
        # perftest prints half of the time of a ping and its answer.
        self.assertGreaterEqual(guests.typical(latency), PATH_US)
        self.assertLess(guests.typical(latency), PATH_US + 3 * max(before, after))
        for path in (capture.a, capture.b):
            right, wrong, unverifiable = roce_packets.icrcs(path)
            self.assertEqual((wrong, unverifiable), (0, 0), path)
            self.assertGreater(right, 50 * 65536 // 4096)  # those of ib_send_bw, and more
        for direction in box.report['directions']:
            self.assertGreater(direction['received']['frames'], 100)


if __name__ == '__main__':
    longwire_test.main()
