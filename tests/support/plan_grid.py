# SPDX-License-Identifier: BSD-3-Clause
"""A random grid on which `roce-gen plan` is held against `roce-gen perf --sim`."""

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
SIMULATE, SIMULATE_LOSSY = 0.1, 0.4


def run(*words):
    done = subprocess.run([GEN, *map(str, words), '--json'], capture_output=True, text=True,
                          timeout=600, check=False)
    if done.returncode != 0:
        raise AssertionError(f'{" ".join(map(str, words))}: {done.stderr}')
    return json.loads(done.stdout)


class Point:
    """One configuration of the grid: every option of plan, rates from 1 to 800 Gb/s."""

    simulate = False  # plan says that no formula holds

    def __init__(self, rng, lossy):
        def log_uniform(low, high):
            return math.exp(rng.uniform(math.log(low), math.log(high)))

        self.op = rng.choice(('write', 'send', 'read', 'atomic', 'compare-swap'))
        self.mtu = rng.choice((256, 512, 1024, 2048, 4096))
        self.qps = rng.choice((1, 1, 2, 4, 8, 16))
        self.size = 8 if self.fetches_8_bytes() else int(log_uniform(8, 512 << 10))
        self.depth = int(log_uniform(1, 512))
        self.outstanding = rng.choice((16, 64, 128, 256))
        self.ns_a_byte = 8 / log_uniform(1, 800)
        self.reads = rng.choice((1, 4, 16, 64))
        # Where messages are longer than a burst of the arbitration (256 packets), and QPs with few of
        # them take turns, losses change their order: a run has no steady rate then.
        if lossy and self.qps > 1 and self.messages() <= 3:
            self.size = min(self.size, 256 * self.mtu)
        self.psns = int(log_uniform(16, 20000)) if rng.random() < 1 / 3 else 1 << 23
        packet_ns = (self.mtu + 82) * self.ns_a_byte
        self.delay = int(log_uniform(1000, min(5e6, 10000 * packet_ns)))  # ns
        self.more = []
        for name, low, high in (('--nic-per-packet', 1, 2000), ('--nic-per-message', 1, 5000),
                                ('--nic-latency', 1, 5000)):
            if not lossy and rng.random() < 0.3:
                self.more += [name, f'{int(log_uniform(low, high))}ns']
        for name, low, high in (('--arbitration', 1, 4096), ('--ack-every', 1, 256),
                                ('--reorder-packets', 16, 65536)):
            if not lossy and rng.random() < 0.3:
                self.more += [name, int(log_uniform(low, high))]
        if not lossy and self.op in ('write', 'send') and rng.random() < 0.2:
            self.more += ['--imm']
        self.loss = log_uniform(1e-6, 1e-2) if lossy else 0
        self.selective = rng.random() < 0.5
        self.timeout = self.timeout_above(4 * self.needed_ns()) + rng.choice((0, 1, 2))
        if not lossy:
            self.timeout = 31  # never expires

    def fetches_8_bytes(self):
        return self.op in ('atomic', 'compare-swap')

    def messages(self):
        """Messages that a QP may have outstanding."""
        reads = self.op == 'read' or self.fetches_8_bytes()
        return min(self.depth, self.outstanding, self.reads if reads else self.outstanding)

    def packets(self):
        return max(1, math.ceil(self.size / self.mtu))

    def message_ns(self):
        return (self.size + 98 * self.packets()) * self.ns_a_byte

    def round_trip_ns(self):
        return 2 * self.delay + 2000

    def needed_ns(self):
        """The longest time in which nothing is acknowledged although nothing is lost."""
        messages = self.messages() if self.op == 'read' or self.fetches_8_bytes() else 1
        return self.round_trip_ns() + messages * self.qps * self.message_ns()

    @staticmethod
    def timeout_above(nanoseconds):
        return max(1, math.ceil(math.log2(nanoseconds / 4096)))

    def options(self):
        return ['--op', self.op, '-s', self.size, '-q', self.qps, '-t', self.depth,
                '--outstanding', self.outstanding, '--reads', self.reads, '--responder-reads', 0,
                '--psn-window', self.psns, '--rate', f'{8 / self.ns_a_byte:.4f}Gb/s', *self.more,
                '--mtu', self.mtu, '--delay', f'{self.delay}ns', '--timeout', self.timeout,
                *(['--selective-repeat'] if self.selective else [])]

    def duration_ns(self, planned_gbps, budget):
        """Enough packets and round trips for a mean, and timeouts where they cost few packets."""
        packet_ns = 8 * min(self.size, self.mtu) / planned_gbps
        trips = 150 * (self.round_trip_ns() + self.qps * self.message_ns())
        timers = 40 * 4096 * 2 ** self.timeout
        return int(max(trips, budget * packet_ns, min(timers, 15 * budget * packet_ns)))

    def check_without_loss(self):
        """What is wrong, or nothing."""
        plan = run('plan', *self.options())
        planned, self.simulate = plan['throughput_gbps'], plan['simulate']
        if self.simulate:
            return []
        ran = run('perf', '--sim', *self.options())
        steady, average = ran['bw_steady_gbps'], ran['bw_average_gbps']
        wrong = []
        if abs(planned / steady - 1) > LOSSLESS:
            wrong.append(f'{planned:.4g} planned, {steady:.4g} Gb/s simulated')
        if abs(average / steady - 1) > 0.01:
            wrong.append(f'average {average:.4g}, steady {steady:.4g} Gb/s')
        return wrong

    def check_with_loss(self, budget):
        planned = run('plan', *self.options(), '--loss', self.loss)
        self.simulate = planned['simulate']
        if self.simulate:
            return []
        length = f"{self.duration_ns(planned['lossless_gbps'], budget)}ns"
        rates = [run('perf', '--sim', *self.options(), '--loss', self.loss, '--duration', length,
                     '--seed', seed)['bw_average_gbps'] for seed in range(1, SEEDS + 1)]
        median = statistics.median(rates)
        if abs(planned['throughput_gbps'] / median - 1) <= LOSSY:
            return []
        return [f"{planned['throughput_gbps']:.4g} planned, {median:.4g} Gb/s simulated (from "
                f'{min(rates):.4g} to {max(rates):.4g})']

    def check(self, budget):
        wrong = self.check_with_loss(budget) if self.loss > 0 else self.check_without_loss()
        words = [*self.options(), *(['--loss', self.loss] if self.loss > 0 else [])]
        return [f'{what}: {" ".join(map(str, words))}' for what in wrong]


def differences(lossless, lossy, budget, seed):
    """Checks so many points; `budget`: packets of a run with losses. A line for each that is wrong.
    LONGWIRE_GRID_SEED chooses other points."""
    seed = int(os.environ.get('LONGWIRE_GRID_SEED', seed))
    print(f'# LONGWIRE_GRID_SEED={seed}: {lossless} points without losses, {lossy} with', flush=True)
    rng = random.Random(seed)
    points = [Point(rng, i >= lossless) for i in range(lossless + lossy)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [line for found in pool.map(lambda point: point.check(budget), points)
                 for line in found]
    for kind, most in ((points[:lossless], SIMULATE), (points[lossless:], SIMULATE_LOSSY)):
        said = sum(point.simulate for point in kind)
        if said > most * len(kind) + 2 * math.sqrt(most * len(kind)):
            wrong.append(f'plan says "simulate" for {said} of {len(kind)} points')
    return wrong
