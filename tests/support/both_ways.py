# SPDX-License-Identifier: BSD-3-Clause
"""What tests of roce-impair's two directions share: a profile, feeds, and running replay."""

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import longwire_test
from pcap_file import other_frame, roce_frame, write_pcap
from pcapng_file import read_pcapng

START = 1_700_000_000 * 10**9
WAYS = ('west-to-east', 'east-to-west')
INTERFACES = [f'{way} {end}' for way in WAYS for end in ('in', 'out')]
TIMEOUT = 100

# Stages that draw, and don't go by the time.
DRAWN = '''seed = 11
[capacity]
rate = "10Gb/s"
largest_frame = "9000B"
[[rule]]
name = "east"
direction = "west-to-east"
delay = "2ms"
loss = "2%"
duplicate = { probability = "3%" }
corrupt = { probability = "1%", icrc = "recomputed" }
jitter = { distribution = "uniform", low = "0us", high = "500us" }
order = "free"
[[rule]]
name = "west"
direction = "east-to-west"
delay = "1ms"
loss = { model = "gilbert-elliott", p = "1%", r = "30%" }
[[event]]
name = "the hundredth"
qp = 1
occurrence = 100
action = "drop"
'''


def pause_frame(times):
    """By hand, from the standard's figure: {priority: quanta}; from replay's western port."""
    vector = sum(1 << priority for priority in times)
    quanta = [times.get(priority, 0) for priority in range(8)]
    return (bytes.fromhex('0180c2000001 020000000001 8808 0101') + struct.pack('>9H', vector, *quanta)
            ).ljust(60, b'\0')


def crossing(frames=2000, step=7):
    """A feed of two QPs, things that aren't RoCE, and now and then a pause frame."""
    feed = []
    for i in range(frames):
        stamp = START + i * 9_000 + i * step % 5_000
        if i % 250 == 200:
            feed.append((stamp, pause_frame({3: 300})))
        elif i % 10 == 9:
            feed.append((stamp, other_frame(i, 60 + i % 1400)))
        else:
            feed.append((stamp, roce_frame(i, 8 + i * step % 900, qp=0x11 + i % 2)))
    return feed


class Box(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def run_program(self, *words, expect=0, **settings):
        done = subprocess.run(
            [longwire_test.program('roce-impair'), *[str(word) for word in words]],
            capture_output=True, timeout=TIMEOUT, check=False, **settings)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def replay(self, profile, source, out, *options, expect=0):
        (self.folder / 'p.toml').write_text(profile)
        done = self.run_program('replay', self.folder / 'p.toml', source, self.folder / out,
                                '--json', *options, expect=expect)
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'])
        return report

    def both_ways(self, profile, west, east, *options, out='out.pcapng'):
        """The report, and what leaves: (interface, time since START, bytes)."""
        write_pcap(self.folder / 'west.pcap', west)
        write_pcap(self.folder / 'east.pcap', east)
        report = self.replay(profile, self.folder / 'west.pcap', out, '--back',
                             self.folder / 'east.pcap', *options)
        names, frames = read_pcapng(self.folder / out)
        self.assertEqual(names, ['west-to-east out', 'east-to-west out'])
        return report, [(name, stamp - START, data) for name, stamp, data in frames]

    def ledger(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]
