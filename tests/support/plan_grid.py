# SPDX-License-Identifier: BSD-3-Clause
"""A random grid on which `roce-gen plan` is held against `roce-gen sim`."""

import concurrent.futures
import json
import math
import os
import random
import statistics
import subprocess

import longwire_test

GEN = longwire_test.program('roce-gen')
LOSSLESS, LOSSY = 0.03, 0.15  # how far plan may be off: of a run; of the median of five seeds
SEEDS = 5
# The largest share of the points for which plan may say that no formula holds.
SIMULATE, SIMULATE_LOSSY = 0.10, 0.40
FEW = 200  # points: of fewer, the share may be two standard deviations larger
OFF = 0.01  # of the points for which it states a figure, this share may be off by up to two bounds


def run(*words):
    done = subprocess.run([GEN, *map(str, words), '--json'], capture_output=True, text=True,
                          timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f'{" ".join(map(str, words))}: {done.stderr}')
    return json.loads(done.stdout)


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


# The most packets that the windows of a point hold, and that its path has in flight: a run of 120
# round trips takes seconds.
MOST_IN_FLIGHT = 10_000
MOST_OUTSTANDING = 100_000


class Point:
    """One configuration of the grid: every option of plan, each over its range as far as its run is
    one of seconds; rates from 1 to 800 Gb/s."""

    simulate = False  # plan says that no formula holds

    def __init__(self, rng, lossy):
        def some(low, high):
            return int(log_uniform(rng, low, high))

        self.loss = log_uniform(rng, 1e-6, 1e-2) if lossy else 0
        self.op = rng.choice(('write', 'send', 'read', 'atomic', 'compare-swap'))
        self.mtu = rng.choice((256, 512, 1024, 2048, 4096))
        self.qps = some(1, 1024)
        self.ns_a_byte = 8 / log_uniform(rng, 1, 800)
        self.depth, self.outstanding = some(1, 1 << 20), some(1, 1 << 20)
        self.reads, self.taken = some(1, 1 << 16), rng.choice((0, some(1, 1 << 16)))
        self.psns = some(16, 1 << 23) if rng.random() < 1 / 3 else 1 << 23
        self.selective = rng.random() < 0.5
        self.reorder = some(16, 1 << 23) if rng.random() < 0.3 else 1 << 16
        self.size = 8 if self.fetches_8_bytes() else some(1, min(1 << 30, 20_000 * self.mtu))
        self.bound_windows(rng)
        packet_ns = (self.mtu + 82) * self.ns_a_byte
        self.delay = some(100, min(1e8, MOST_IN_FLIGHT * packet_ns))  # ns
        self.timeout = rng.randrange(32)
        self.retries = rng.randrange(8) if rng.random() < 0.3 else 7
        self.more = self.other_options(rng, some)

    def bound_windows(self, rng):
        """Draws the windows again, smaller, until a run with them takes seconds."""
        self.depth = min(self.depth, MOST_OUTSTANDING // self.qps)
        while self.qps * self.messages() * self.packets() > MOST_OUTSTANDING:
            if self.messages() > 1:
                name = rng.choice(('depth', 'outstanding', 'reads'))
                setattr(self, name, int(log_uniform(rng, 1, getattr(self, name) + 1)))
            elif self.qps > 1:
                self.qps = int(log_uniform(rng, 1, self.qps))
            else:
                self.size = int(log_uniform(rng, 1, self.size))

    def other_options(self, rng, some):
        more = []
        for name, low, high in (('--nic-per-packet', 1, 2000), ('--nic-per-message', 1, 5000),
                                ('--nic-latency', 1, 5000)):
            if rng.random() < 0.3:
                more += [name, f'{some(low, high)}ns']
        if rng.random() < 0.3:
            more += ['--arbitration', some(1, 1 << 14)]
        if rng.random() < 0.3:
            more += ['--ack-every', rng.choice((0, some(1, 1 << 14), some(1, 1 << 14)))]
        if self.op in ('write', 'send') and rng.random() < 0.2:
            more += ['--imm']
        if self.op == 'send' and rng.random() < 0.2:
            more += ['--receive-limit', f'{8 / self.ns_a_byte * rng.uniform(0.3, 1.1):.4f}Gb/s']
        if rng.random() < 0.3:
            more += ['--adaptive']
        return more

    def fetches(self):
        return self.op == 'read' or self.fetches_8_bytes()

    def fetches_8_bytes(self):
        return self.op in ('atomic', 'compare-swap')

    def messages(self):
        """Messages that a QP may have outstanding."""
        most = min(self.depth, self.outstanding)
        return min(most, self.reads) if self.fetches() else most

    def packets(self):
        return max(1, math.ceil(self.size / self.mtu))

    def message_ns(self):
        return (self.size + 98 * self.packets()) * self.ns_a_byte

    def round_trip_ns(self):
        return 2 * self.delay + 2000

    def path(self):
        """The delay; of some points as a length of fibre, which is 1.4682 times slower than c."""
        if self.delay % 5 == 0:
            return ['--distance', f'{self.delay * 299792.458e-9 / 1.4682:.6f}km']
        return ['--delay', f'{self.delay}ns']

    def options(self):
        return ['--op', self.op, '-s', self.size, '-q', self.qps, '-t', self.depth,
                '--outstanding', self.outstanding, '--reads', self.reads, '--responder-reads',
                self.taken, '--psn-window', self.psns, '--reorder-packets', self.reorder, '--rate',
                f'{8 / self.ns_a_byte:.4f}Gb/s', *self.more, '--mtu', self.mtu, *self.path(),
                '--timeout', self.timeout, '--retries', self.retries,
                *(['--selective-repeat'] if self.selective else [])]

    def duration_ns(self, planned_gbps, budget):
        """Enough packets and round trips for a mean, and timeouts where they cost few packets."""
        packet_ns = 8 * min(self.size, self.mtu) / planned_gbps
        trips = 150 * (self.round_trip_ns() + self.qps * self.message_ns())
        timers = 40 * 4096 * 2 ** self.timeout
        return int(max(min(trips, 15 * budget * packet_ns), budget * packet_ns,
                       min(timers, 15 * budget * packet_ns)))

    def run(self, *more):
        """What sim says of these options, and whether it ended well."""
        done = subprocess.run([GEN, 'sim', *map(str, self.options()), *map(str, more),
                               '--json'], capture_output=True, text=True, timeout=600, check=False)
        if done.returncode not in (0, 1):
            raise AssertionError(f'{self.words()}: {done.stderr}')
        return json.loads(done.stdout), done.returncode == 0

    def check_break(self, lossless):
        """Work requests fail; with losses alone if some ten are lost in a run of seconds."""
        length = []
        if lossless > 0:  # only losses break it
            most = 2_000_000
            messages = min(10 / self.loss, most) / self.qps / self.packets()
            length = ['--loss', f'{self.loss:e}', '-n', max(5, math.ceil(messages))]
            if 10 / self.loss > most:
                return []
        ran, _ = self.run(*length)
        if ran['failed'] > 0:
            return []
        return [(math.inf, 'QPs break as planned, and none does as simulated')]

    def check_without_loss(self, plan):
        """What is wrong, and by how many bounds; nothing if all is right."""
        ran, well = self.run()
        if not well:
            return [(math.inf, f'the simulation ends with {ran["failed"]} failures')]
        steady, average = ran['bw_steady_gbps'], ran['bw_average_gbps']
        planned = plan['throughput_gbps']
        return [
            (abs(planned / steady - 1) / LOSSLESS,
             f'{planned:.4g} planned, {steady:.4g} Gb/s simulated'),
            (abs(average / steady - 1) / 0.01, f'average {average:.4g}, steady {steady:.4g} Gb/s')]

    def check_with_loss(self, plan, budget):
        length = f"{self.duration_ns(plan['throughput_gbps'], budget)}ns"
        rates = [self.run('--loss', f'{self.loss:e}', '--duration', length, '--seed',
                          seed)[0]['bw_average_gbps'] for seed in range(1, SEEDS + 1)]
        median = statistics.median(rates)
        return [(abs(plan['throughput_gbps'] / median - 1) / LOSSY if median > 0 else math.inf,
                 f"{plan['throughput_gbps']:.4g} planned, {median:.4g} Gb/s simulated (from "
                 f'{min(rates):.4g} to {max(rates):.4g})')]

    def words(self):
        loss = ['--loss', f'{self.loss:e}'] if self.loss > 0 else []
        return ' '.join(map(str, [*self.options(), *loss]))

    def check(self, budget):
        """How many bounds the plan is off, with a line for each; nothing where it is within them."""
        plan = run('plan', *self.options(), *(['--loss', f'{self.loss:e}'] if self.loss > 0 else []))
        self.simulate = plan['simulate']
        if self.simulate:
            return []
        if plan['breaks_because']:
            found = self.check_break(plan['lossless_gbps'])
        else:
            found = (self.check_with_loss(plan, budget) if self.loss > 0
                     else self.check_without_loss(plan))
        return [(off, f'{what}: {self.words()}') for off, what in found if off > 1]


def differences(lossless, lossy, budget, seed):
    """Checks so many points; `budget`: packets of a run with losses. A line for each that is off by
    more than twice its bound, and for all that are off if they are more than 1 in 100.
    LONGWIRE_GRID_SEED chooses other points."""
    seed = int(os.environ.get('LONGWIRE_GRID_SEED', seed))
    print(f'# LONGWIRE_GRID_SEED={seed}: {lossless} points without losses, {lossy} with', flush=True)
    rng = random.Random(seed)
    points = [Point(rng, i >= lossless) for i in range(lossless + lossy)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        off = [each for found in pool.map(lambda point: point.check(budget), points)
               for each in found]
    for bounds, line in off:
        print(f'# {bounds:.2f} bounds: {line}', flush=True)
    stated = sum(not point.simulate for point in points)
    few = len(off) <= OFF * stated
    wrong = [line for bounds, line in off if bounds > 2 or not few]
    for kind, most in ((points[:lossless], SIMULATE), (points[lossless:], SIMULATE_LOSSY)):
        said = sum(point.simulate for point in kind)
        print(f'# plan says "simulate" for {said} of {len(kind)} points', flush=True)
        chance = 2 * math.sqrt(most * len(kind)) if len(kind) < FEW else 0
        if said > most * len(kind) + chance:
            wrong.append(f'plan says "simulate" for {said} of {len(kind)} points')
    return wrong
