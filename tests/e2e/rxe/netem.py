# SPDX-License-Identifier: BSD-3-Clause
"""Command lines of netem, through the kernel's own qdisc in a guest and through from-tc and replay:
the same frames at the same times go into both, and what comes out is compared.

The guest runs in virtual time, so its measurements do not depend on this machine. What the guest adds
to each delay (some us) is measured with a constant delay, and subtracted.

Lines without chance must agree frame by frame. Of the others, samples are compared: shares by the
means of batches, so that losses may come in bursts, and delays by their distribution (Kolmogorov and
Smirnov). A right line exceeds a bound of 5.5 deviations in 3 of 10^7 comparisons, and the
distributions theirs in 1 of 10^6: about 400 comparisons fail by chance once in 5,000 runs. replay
draws the same numbers in each run."""

import bisect
import math
import pathlib
import statistics
import struct
import subprocess
import tempfile
import unittest

import guest_image
import guests
import longwire_test
from pcap_file import read_pcap, write_pcap

START = 1_700_000_000 * 10**9
NEAR_NS = 60_000  # a measurement's error in the guest: a frame is sent or taken late by one other
DEVIATIONS, BATCHES = 5.5, 40
KS_BOUND = math.sqrt(-math.log(1e-6 / 2) / 2)  # times sqrt(1 / n + 1 / m)
MIXED = (1500, 100, 700, 64, 300)  # sizes of frames, in turn
HALVES = (1250, 125, 625, 125)  # each takes a multiple of 0.5 ms at 2 Mb/s

# (line, gap in ms, sizes): 500 frames each.
EXACT = (
    ('delay 10ms', 1, (200,)),
    ('delay 100ms', 1, (200,)),
    ('rate 5mbit', 1, (200,)),
    ('rate 5mbit', 1, MIXED),
    ('rate 1mbit 20', 2, MIXED),
    ('rate 1mbit 20 limit 10000', 1, MIXED),
    ('rate 2mbit 0 48 5', 1, MIXED),
    ('rate 2mbit 10 100 20', 1, MIXED),
    ('rate 2mbit delay 250us limit 10', 1, HALVES),
    ('rate 1mbit delay 20ms', 2, MIXED),
    ('rate 2mbit delay 20250us limit 25', 1, HALVES),
    ('limit 20 delay 50400us', 1, (200,)),
    ('delay 10ms reorder 100% gap 5', 1, (200,)),
    ('loss 100% duplicate 100% delay 10ms', 1, (200,)),
    ('slot 20400us', 1, (200,)),
    ('slot 20400us packets 5', 5, (200,)),
    ('slot 20400us bytes 3000', 5, MIXED),
)
# (line, gap in ms): 2,000 frames of 200 B each.
CHANCE = (
    ('delay 20ms 5ms', 1),
    ('delay 20ms 5ms 25%', 1),
    ('delay 20ms 30ms', 1),
    ('delay 20ms 5ms distribution normal', 1),
    ('delay 30ms 5ms distribution pareto', 1),
    ('delay 30ms 5ms distribution paretonormal', 1),
    ('delay 30ms 5ms 50% distribution experimental', 1),
    ('loss 5%', 1),
    ('loss random 30%', 1),
    ('loss 30% 60%', 1),
    ('loss 30% 90%', 1),
    ('loss state 5%', 1),
    ('loss state 5% 40% 10% 30% 1%', 1),
    ('loss gemodel 5%', 1),
    ('loss gemodel 5% 30%', 1),
    ('loss gemodel 5% 30% 80% 1%', 1),
    ('duplicate 10%', 1),
    ('duplicate 30% 60%', 1),
    ('delay 10ms 1ms 1% duplicate 30% 60%', 4),
    ('loss 50% duplicate 100%', 1),
    ('loss 20% duplicate 50%', 1),
    ('duplicate 100%', 1),
    ('corrupt 5%', 1),
    ('corrupt 40%', 1),
    ('corrupt 30% 60%', 1),
    ('delay 10ms reorder 25%', 1),
    ('delay 10ms reorder 25% gap 5', 1),
    ('delay 10ms reorder 40% 50%', 1),
    ('delay 10ms reorder 40% 50% gap 3', 1),
    ('delay 20ms 5ms reorder 50%', 1),
    ('rate 1mbit delay 20ms 3ms', 12),
    ('slot 10ms 30ms', 1),
    ('slot distribution normal 20ms 3ms', 1),
    ('delay 10ms slot 20ms', 1),
    ('delay 50ms slot 20ms 25ms packets 100', 1),
    ('delay 20ms 5ms loss 5% duplicate 5% corrupt 5%', 1),
    ('rate 1mbit delay 10ms loss 10%', 1),
    ('delay 20ms 5ms distribution normal loss gemodel 2% 20%', 1),
)
# As scripts and guides in public have them, with usual values for what is a variable there: continuous
# integration, chaos tests, satellite and mobile links, selftests of Linux.
PUBLIC_EXACT = (
    ('delay 2000ms', 1, (200,)),
    ('delay 50000', 1, MIXED),
    ('latency 100ms', 1, (200,)),
    ('delay 150ms limit 1000000', 1, MIXED),
    ('limit 187500 delay 25ms loss 0%', 1, (200,)),
    ('limit 10000 delay 0ms', 1, MIXED),
    ('rate 10mbit delay 4ms', 1, MIXED),
    ('rate 100mbit delay 20ms', 1, MIXED),
    ('rate 1000kbit', 2, MIXED),
    ('limit 30 rate 256kbit delay 140ms', 4, MIXED),
    ('limit 1000 rate 2mbit', 1, MIXED),
    ('limit 4 duplicate 100%', 1, (200,)),
    ('delay 10ms reorder 100% gap 10', 1, (200,)),
)
PUBLIC_CHANCE = (
    ('delay 100ms 10ms 25%', 1),
    ('delay 100ms 20ms distribution normal', 1),
    ('limit 100000 delay 10ms 2ms loss 2%', 1),
    ('loss 0.5%', 1),
    ('loss 0.3% 25%', 1),
    ('loss 10% 50%', 1),
    ('loss 50% delay 300 100', 1),
    ('delay 100ms loss 5% duplicate 2%', 1),
    ('delay 100ms loss 1% rate 5mbit', 1),
    ('delay 250ms loss 10.0000% rate 1000kbit', 2),
    ('rate 600kbit delay 40ms 10ms', 20),
    ('delay 1000ms 50ms reorder 8% corrupt 5% duplicate 2% 5% loss 5%', 1),
    ('delay 200ms 40ms 25% loss 15.3% 25% duplicate 1% corrupt 0.1% reorder 5% 50%', 1),
    ('loss random 0.5% delay 2ms reorder 95% 80%', 1),
    ('delay 3000ms 30ms 20%', 4),
    ('loss state 10% 90%', 1),
    ('loss gemodel 5% 50% 0% 100%', 1),
    ('reorder 25% delay 500ms 100ms', 1),
    ('delay 90ms 90ms 25% reorder 0.1% 50% gap 5', 1),
    ('duplicate 20', 1),
    ('corrupt 0.2%', 1),
    ('corrupt 50%', 1),
)
# (line, bytes of the burst, bits per second, gap in ms, sizes)
PUBLIC_TBF = (
    ('tbf rate 1mbit burst 32kbit latency 400ms', 4096, 1e6, 2, MIXED),
    ('tbf rate 1mbit burst 10kbit latency 100ms', 1280, 1e6, 2, MIXED),
    ('tbf rate 220kbit latency 50ms burst 1540', 1540, 220e3, 4, MIXED),
    ('tbf rate 256kbit buffer 1600 limit 3000', 1600, 256e3, 4, MIXED),
    ('tbf rate 512kbit burst 10kb latency 70ms', 10_240, 512e3, 2, MIXED),
    ('tbf rate 100kbit burst 32kbit latency 400ms', 4096, 100e3, 8, MIXED),
    ('tbf rate 6mbit burst 32kbit latency 20ms', 4096, 6e6, 1, MIXED),
)
GUEST = None


class NetemGuest:
    """A guest with a pair of interfaces, the qdisc on one of them."""

    def __init__(self):
        guests.own_network()
        self._folder = tempfile.TemporaryDirectory(prefix='netem.')
        folder = pathlib.Path(self._folder.name)
        probe = longwire_test.BUILD / 'tests' / 'e2e' / 'rxe' / 'netem_probe'
        tree = guest_image.Tree()
        for path in guest_image.netem_distributions():
            tree.copy(path)
        kernel = guest_image.initrd_with([probe], False, folder / 'initrd')
        with open(folder / 'initrd', 'ab') as initrd:
            initrd.write(tree.archive())
        self.machine = guests.Guest('netem', folder, [], 256, kernel, folder / 'initrd',
                                    virtual_time=True)
        self.machine.wait_until_up()
        self.machine.check('''set -e
need veth sch_netem sch_tbf
ip link add out type veth peer name in
for i in out in; do echo 1 >/proc/sys/net/ipv6/conf/$i/disable_ipv6; ip link set $i up; done''')
        still = self.passed('delay 10ms', 1, 200, (200,))
        self.added_ns = statistics.median(still.delays) - 10_000_000

    def passed(self, line, gap_ms, count, sizes):
        """What the kernel's netem, or tbf, does with frames, as an Outcome."""
        qdisc = line if line.startswith('tbf') else f'netem {line}'
        said = self.machine.check(f'''set -e
tc qdisc add dev out root {qdisc}
netem_probe out in {gap_ms * 1_000_000} {count} {' '.join(map(str, sizes))}
tc qdisc del dev out root''', 120)
        sent, arrived = [], []
        for words in map(str.split, said.splitlines()):
            if words[0] == 's':
                sent.append(int(words[1]))
            elif words[0] == 'r':
                arrived.append(tuple(map(int, words[1:])))
        return Outcome(sent, arrived)

    def end(self):
        self.machine.end()
        self._folder.cleanup()


def setUpModule():
    global GUEST
    if not guests.NO_QEMU:
        GUEST = NetemGuest()


def tearDownModule():
    if GUEST:
        GUEST.end()


def composed(number, size):
    """Frame `number` as netem_probe.cpp composes it."""
    copies = struct.pack('<I', number) * 3
    rest = bytes((i * 7 + number) & 0xff for i in range(26, size))
    return bytes((2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5)) + copies + rest


def number_of(frame):
    a, b, c = struct.unpack_from('<III', frame, 14)
    return (a & b) | (a & c) | (b & c)


class Outcome:
    """What became of frames: `sent` is when each was sent, `arrived` has (number, time, wrong bits),
    in order. Times are in ns."""

    def __init__(self, sent, arrived):
        self.sent, self.arrived = sent, arrived
        count = len(sent)
        self.copies, self.wrong, first = [0] * count, [0] * count, [None] * count
        latest = -1
        self.overtaken = [0] * count
        for number, time, wrong in arrived:
            self.copies[number] += 1
            self.wrong[number] += wrong
            if first[number] is None:
                first[number] = time - sent[number]
                self.overtaken[number] = int(number < latest)
            latest = max(latest, number)
        self.first = first
        self.lost = [int(n == 0) for n in self.copies]
        self.delays = [delay for delay in first if delay is not None]
        # Frames that leave together, as behind a slot.
        self.together = [int(b[1] - a[1] < 500_000) for a, b in zip(arrived, arrived[1:])]
        self.lost_in_a_row = [a * b for a, b in zip(self.lost, self.lost[1:])]
        self.copied_in_a_row = [int(a > 1 and b > 1) for a, b in zip(self.copies, self.copies[1:])]
        self.wrong_in_a_row = [int(a > 0 and b > 0) for a, b in zip(self.wrong, self.wrong[1:])]
        self.overtaken_in_a_row = [a * b for a, b in zip(self.overtaken, self.overtaken[1:])]


SHARES = ('lost', 'lost_in_a_row', 'copies', 'copied_in_a_row', 'wrong', 'wrong_in_a_row', 'overtaken',
          'overtaken_in_a_row', 'together')


def mean_and_variance(values):
    """The mean, and its variance by the means of batches; at least that of one more event."""
    size = len(values) // BATCHES
    means = [statistics.fmean(values[i * size:(i + 1) * size]) for i in range(BATCHES)]
    # Without an event in a sample, its batches do not show how rare events are.
    least = (sum(map(bool, values)) + 1) / len(values)**2 if any(values) else 1 / len(values)**2
    return statistics.fmean(values), max(statistics.variance(means) / BATCHES, least)


def distance(some, others, near):
    """The largest difference of two samples' distributions, where values that are `near` count as
    equal."""
    some, others = sorted(some), sorted(others)
    most = 0.0
    for a, b in ((some, others), (others, some)):
        for i, value in enumerate(a):
            most = max(most, (i + 1) / len(a) - bisect.bisect_right(b, value + near) / len(b))
    return most


@guests.needed
class Netem(unittest.TestCase):
    def replayed(self, line, sent, sizes):
        """What from-tc and replay do with the same frames at the same times."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            frames = [composed(number, sizes[number % len(sizes)]) for number in range(len(sent))]
            write_pcap(folder / 'in.pcap',
                       [(START + time, frame) for time, frame in zip(sent, frames)])
            impair = longwire_test.program('roce-impair')
            profile = subprocess.run([impair, 'from-tc', line], capture_output=True, text=True,
                                     check=False)
            self.assertEqual(profile.returncode, 0, profile.stderr)
            (folder / 'profile.toml').write_text(profile.stdout)
            done = subprocess.run([impair, 'replay', folder / 'profile.toml', folder / 'in.pcap',
                                   folder / 'out.pcap'], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            arrived = []
            for stamp, frame in read_pcap(folder / 'out.pcap'):
                number = number_of(frame)
                wrong = sum((a ^ b).bit_count() for a, b in zip(frame, frames[number]))
                arrived.append((number, stamp - START, wrong))
            return Outcome(sent, arrived)

    def both(self, line, gap_ms, count, sizes):
        kernel = GUEST.passed(line, gap_ms, count, sizes)
        self.assertEqual(len(kernel.sent), count)
        return kernel, self.replayed(line, kernel.sent, sizes)

    def test_lines_without_chance(self):
        for line, gap_ms, sizes in EXACT + PUBLIC_EXACT:
            with self.subTest(line, gap_ms=gap_ms):
                kernel, ours = self.both(line, gap_ms, 500, sizes)
                self.assertGreater(len(kernel.arrived), 50)
                self.assertEqual([a[0] for a in kernel.arrived], [a[0] for a in ours.arrived])
                for (number, theirs, _), (_, time, _) in zip(kernel.arrived, ours.arrived):
                    self.assertLess(abs(theirs - GUEST.added_ns - time), NEAR_NS,
                                    (number, theirs, time))

    def test_lines_with_chance(self):
        for line, gap_ms in CHANCE + PUBLIC_CHANCE:
            with self.subTest(line):
                kernel, ours = self.both(line, gap_ms, 2000, (200,))
                for name in SHARES:
                    theirs, noise = mean_and_variance(getattr(kernel, name))
                    mean, own_noise = mean_and_variance(getattr(ours, name))
                    self.assertLess(abs(theirs - mean), DEVIATIONS * math.sqrt(noise + own_noise),
                                    (name, theirs, mean))
                delays = [delay - GUEST.added_ns for delay in kernel.delays]
                bound = KS_BOUND * math.sqrt(1 / len(delays) + 1 / len(ours.delays))
                self.assertLess(distance(delays, ours.delays, NEAR_NS), bound,
                                (statistics.quantiles(delays), statistics.quantiles(ours.delays)))

    def test_lines_of_tbf(self):
        """The kernel lets a burst pass at once, which takes its time at the rate here: so frames leave later
        by as much as the burst takes at most, and as many more are dropped."""
        for line, burst, rate, gap_ms, sizes in PUBLIC_TBF:
            with self.subTest(line):
                kernel, ours = self.both(line, gap_ms, 500, sizes)
                self.assertGreater(len(kernel.arrived), 20)
                theirs = {number: time for number, time, _ in kernel.arrived}
                sizes_of = [sizes[number % len(sizes)] for number in range(500)]
                for number, _, _ in kernel.arrived + ours.arrived:
                    self.assertLessEqual(sizes_of[number], burst, number)
                frame_ns = max(size for size in sizes if size <= burst) * 8e9 / rate
                for number, time, _ in ours.arrived:
                    if number not in theirs:
                        continue
                    later = time - (theirs[number] - GUEST.added_ns)
                    self.assertGreater(later, -frame_ns - NEAR_NS, number)
                    self.assertLess(later, burst * 8e9 / rate + frame_ns + NEAR_NS, number)
                passed = [sum(sizes_of[number] for number, _, _ in one.arrived) for one in (kernel, ours)]
                self.assertLess(abs(passed[0] - passed[1]), burst + 2 * max(sizes), passed)


if __name__ == '__main__':
    longwire_test.main()
