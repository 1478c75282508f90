# SPDX-License-Identifier: BSD-3-Clause
"""A ring of four real ranks beside roce-gen sim: ranks 0 and 1 at one bridge, 2 and 3 at another, with
roce-impair between them, so that two of the four hops pass its delay and its rate. The simulated NICs
have what two of the ranks measured at their bridge just before: the round trip of a message, and the
time from one message to the next. The median rate of each hop, of several runs, is within 5 % of the
simulated one, with one message at a time (the delay binds) and with many (the rate binds).

LONGWIRE_RUNS: runs of each kind (default: 7)."""

import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time
import unittest

import longwire_test
import mpi_runs
import needs

GEN = longwire_test.program('roce-gen')
RUNS = int(os.environ.get('LONGWIRE_RUNS', '7'))
TOLERANCE = 0.05
SIZE = 16384
MTU = 1024
DELAY_MS = 25
RATE_MBPS = 40
PACED_MBPS = 60  # each rank, so that the hops at one bridge do not take the cores of the others
DURATION = '4s'
DEPTHS = {'one message at a time': 1, 'many messages': 32}

NETWORK = f"""title = "Two bridges and a box"
[[host]]
name = "h"
count = 4
[[switch]]
name = "west"
buffer = "16MB"
[[switch]]
name = "east"
buffer = "16MB"
[[link]]
between = ["h[12]", "west"]
rate = "10Gb/s"
delay = "0us"
[[link]]
between = ["h[34]", "east"]
rate = "10Gb/s"
delay = "0us"
[[link]]
between = ["west", "east"]
rate = "{RATE_MBPS}Mb/s"
delay = "{DELAY_MS}ms"
""" + ''.join(f'[[flow]]\nfrom = "h{i + 1}"\nto = "h{(i + 1) % 4 + 1}"\n' for i in range(4))


class Lab:
    """A network namespace with two bridges, two veths at each, and a box between them."""

    def __init__(self, test):
        self.test, self.name = test, f'lwb{os.getpid()}'
        self.ip('netns', 'add', self.name)
        test.addCleanup(self.ip, 'netns', 'del', self.name)
        # Of a busy machine, ranks and box get a core soon: they need little of it.
        self.inside = ['nice', '-n', '-10', 'ip', 'netns', 'exec', self.name]
        self.link('set', 'lo', 'up')  # for mpirun
        for bridge in ('west', 'east'):
            self.link('add', bridge, 'type', 'bridge')
            self.up(bridge)
        for port, bridge in (('s0', 'west'), ('s1', 'west'), ('s2', 'east'), ('s3', 'east'), ('boxw', 'west'),
                             ('boxe', 'east')):
            self.link('add', port, 'type', 'veth', 'peer', 'name', 'p' + port)
            self.link('set', 'p' + port, 'master', bridge)
            self.up(port)
            self.up('p' + port)

    def ip(self, *words):
        subprocess.run(['ip', *words], check=True, capture_output=True, text=True)

    def link(self, *words):
        self.ip('-n', self.name, 'link', *words)

    def up(self, name):
        subprocess.run([*self.inside, 'sysctl', '-qw', f'net.ipv6.conf.{name}.disable_ipv6=1'], check=True)
        self.link('set', name, 'up')

    def start_box(self, folder):
        ready = folder / 'ready'
        box = longwire_test.begin(self.test, [
            *self.inside, *longwire_test.BOX, '--delay', f'{DELAY_MS}ms', '--rate', f'{RATE_MBPS}Mb/s', '--buffer', '16MB',
            '--west', 'boxw', '--east', 'boxe', '--ready-file', ready, '--json'])
        while not ready.exists():
            self.test.assertIsNone(box.poll(), 'the box has ended')
            time.sleep(0.02)

    def perf(self, pattern, ports, *words):
        """The rows of all ranks: one report of a run under mpirun."""
        command = [GEN, 'perf', '--pattern', pattern, '--op', 'write', '-m', MTU, '--start-skew', '60s', '--timeout', 18,
                   '--json', '--expect', 'machine <= 90%', *words]
        joined = [*command, '--port', ports[0]]
        for port in ports[1:]:
            joined += [':', '-n', 1, *command, '--port', port]
        done = mpi_runs.mpirun(joined, 1, self.inside)
        self.test.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)['ranks']


def measured_nic(lab):
    """A NIC profile of what a rank needs for a message, without the box: TOML."""
    def messages_a_second(depth, size):
        rows = lab.perf('incast', ['s0', 's1'], '-s', size, '-t', depth, '--duration', '1s')
        return rows[1]['messages'] / 1.0
    round_trip_us = statistics.median(1e6 / messages_a_second(1, 64) for _ in range(3))
    gap_us = statistics.median(1e6 / messages_a_second(64, 64) for _ in range(3))
    # A round trip passes two hosts twice each.
    return (f'title = "Ranks of this machine"\n[nic]\nnic_latency = "{round_trip_us / 4:.3f}us"\n'
            f'nic_message_gap = "{gap_us:.3f}us"\n', round_trip_us, gap_us)


@needs.root('interfaces')
class Ring(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.lab = Lab(self)

    def test_real_ranks_have_the_simulated_rates(self):
        nic, round_trip_us, gap_us = measured_nic(self.lab)
        (self.folder / 'nic.toml').write_text(nic, encoding='utf-8')
        (self.folder / 'ring.toml').write_text(NETWORK, encoding='utf-8')
        self.lab.start_box(self.folder)
        print(f'# measured: {round_trip_us:.1f} us a round trip, {gap_us:.2f} us between messages; load '
              f'{os.getloadavg()[0]:.1f}')
        for name, depth in DEPTHS.items():
            with self.subTest(name):
                self.compare(name, depth)

    def compare(self, name, depth):
        paced = ['--rate-control', 'fixed', '--qp-rate', f'{PACED_MBPS}Mb/s']
        simulated = self.simulated(depth, paced)
        runs = [self.lab.perf('ring', ['s0', 's1', 's2', 's3'], '-s', SIZE, '-t', depth, '--duration', DURATION,
                              *paced) for _ in range(RUNS)]
        for rank, expected in enumerate(simulated):
            rates = [rows[rank]['average_bps'] / 1e6 for rows in runs]
            median = statistics.median(rates)
            print(f'# {name}: hop {rank} to {(rank + 1) % 4}: real {median:.2f} Mb/s ({min(rates):.2f} to {max(rates):.2f}), '
                  f'simulated {expected:.2f}, {100 * (median / expected - 1):+.1f} %')
            self.assertLess(abs(median / expected - 1), TOLERANCE, (rank, rates, expected))

    def simulated(self, depth, paced):
        """Mb/s of the flow of each rank."""
        words = [GEN, 'sim', self.folder / 'ring.toml', '--nic', self.folder / 'nic.toml', '--op', 'write', '-s', SIZE,
                 '--mtu', MTU, '-t', depth, '--timeout', 18, '--duration', DURATION, '--json', *paced]
        done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=mpi_runs.TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        flows = json.loads(done.stdout)['flows']
        return [1000 * sum(flow['goodput_gbps'] for flow in flows if flow['from'] == f'h{rank + 1}') for rank in range(4)]


if __name__ == '__main__':
    longwire_test.main()
