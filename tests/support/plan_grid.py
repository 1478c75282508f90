# SPDX-License-Identifier: BSD-3-Clause
"""A random grid on which `roce-gen plan` is held against `roce-gen sim`: each rate is computed and exact, the
rate of the same simulated run, or null where that run has none."""

import collections
import concurrent.futures
import json
import math
import os
import random
import subprocess

import longwire_test

GEN = longwire_test.program('roce-gen')
EXACT = 1e-3  # how far a computed rate may be from a simulated one, whose window has an end of 1e-4


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
# After so many packets a run ends, of plan and of sim alike.
MOST_PACKETS = 2_000_000


class Point:
    """One configuration of the grid: every option of plan, each over its range as far as its run is
    one of seconds; rates from 1 to 800 Gb/s."""

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
                                ('--nic-latency', 1, 5000), ('--nic-message-gap', 1, 2000)):
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
                '--timeout', self.timeout, '--retries', self.retries, '--most-packets', MOST_PACKETS,
                *(['--selective-repeat'] if self.selective else [])]

    def words(self):
        loss = ['--loss', f'{self.loss:e}'] if self.loss > 0 else []
        return [*self.options(), *loss]

    def simulated(self, *more):
        """What `roce-gen sim` says of these options."""
        done = subprocess.run([GEN, 'sim', *map(str, self.options()), *map(str, more), '--json'],
                              capture_output=True, text=True, timeout=600, check=False)
        if done.returncode not in (0, 1):
            raise AssertionError(f'{self.words()}: {done.stderr}')
        return json.loads(done.stdout)

    def check(self):
        """What is wrong with the plan's figures, a text each; how many are computed, simulated, null."""
        plan = run('plan', *self.words())
        wrong = []
        if abs(plan['bdp_bytes'] - plan['round_trip_ns'] / self.ns_a_byte) > 1e-4 * plan['bdp_bytes']:
            wrong.append('bdp_bytes is not the round trip times the rate')
        wrong += self.compared(plan, 'lossless', self.simulated())
        if self.loss > 0:
            wrong += self.compared(plan, 'throughput', self.simulated('--loss', f'{self.loss:e}'))
        elif (plan['throughput_gbps'], plan['throughput_from']) != (plan['lossless_gbps'], plan['lossless_from']):
            wrong.append('without losses, the throughput is another')
        words = ' '.join(map(str, self.words()))
        return ([f'{text}: {words}' for text in wrong],
                [plan['lossless_from'], *([plan['throughput_from']] if self.loss > 0 else [])])

    def compared(self, plan, name, ran):
        """What is wrong with a rate of the plan, beside the simulation of the same options. Where a round
        trip is short, all QPs' messages complete at once: the simulation's window has them or not."""
        planned, source, steady = plan[f'{name}_gbps'], plan[f'{name}_from'], ran['bw_steady_gbps']
        whole = ran['failed'] == 0 and 'stuck_qps' not in ran
        if name == 'throughput' and ran['bw_steady_low_gbps'] is None:
            whole = False  # a rate by chance without its interval
        if source is None:
            return [f'{name}: null, and the simulation has {steady}'] if steady and whole else []
        if source == 'computed':
            off = abs(planned / steady - 1) if steady and whole else math.inf
            burst = self.qps * self.messages() / max(ran['iterations'], 1)
            return [f'{name}: {planned:.6g} computed, {steady} simulated'] if off > EXACT + burst else []
        if planned == 0:
            return [] if ran['iterations'] == 0 and ran['failed'] > 0 else [f'{name}: 0, and something gets through']
        wrong = [] if planned == steady else [f'{name}: {planned} planned, {steady} simulated']
        if name == 'throughput':
            ends = [plan[f'throughput_{end}_gbps'] for end in ('low', 'high')]
            if ends != [ran[f'bw_steady_{end}_gbps'] for end in ('low', 'high')]:
                wrong.append(f'{name}: another interval than that of the simulation')
        return wrong


def differences(lossless, lossy, seed):
    """Checks so many points. A line for each figure that is wrong. LONGWIRE_GRID_SEED chooses other
    points."""
    seed = int(os.environ.get('LONGWIRE_GRID_SEED', seed))
    print(f'# LONGWIRE_GRID_SEED={seed}: {lossless} points without losses, {lossy} with', flush=True)
    rng = random.Random(seed)
    points = [Point(rng, i >= lossless) for i in range(lossless + lossy)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        checked = list(pool.map(Point.check, points))
    sources = collections.Counter(source for _, found in checked for source in found)
    print(f'# figures: {sources["computed"]} computed, {sources["simulated"]} simulated, '
          f'{sources[None]} null', flush=True)
    return [line for wrong, _ in checked for line in wrong]
