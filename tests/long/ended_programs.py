# SPDX-License-Identifier: BSD-3-Clause
"""Programs that end at random instants, by SIGTERM, SIGINT or SIGKILL: what they wrote is readable
up to the last whole record, and after SIGTERM and SIGINT nothing is cut."""

import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import time
import unittest

import longwire_test
from pcap_file import other_frame, roce_frame, write_pcap

SEED = int(os.environ.get('LONGWIRE_SEED', time.time_ns() % 2**32))
INSTANTS = int(os.environ.get('LONGWIRE_INSTANTS', 50))
FLOWS = '[[flow]]\nqps = 4\nrepeat = "forever"\nrate = "20 kframes/s"\n'
RULES = '[[rule]]\nmatch = "all"\ndelay = "1ms"\nloss = "1%"\n[capacity]\nrate = "1Gb/s"\n'
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)


def pcap_remainder(data):
    """Bytes behind the last whole record of a pcap file."""
    if len(data) < 24:
        return len(data)
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from('<I', data, at + 8)[0]
        if at + 16 + size > len(data):
            break
        at += 16 + size
    return len(data) - at


def pcapng_remainder(data):
    """Bytes behind the last whole block of a pcapng file."""
    at = 0
    while at + 12 <= len(data):
        size = struct.unpack_from('<I', data, at + 4)[0]
        if size < 12 or size % 4:
            raise ValueError(f'block of {size} bytes at {at}')
        if at + size > len(data):
            break
        if struct.unpack_from('<I', data, at + size - 4)[0] != size:
            raise ValueError(f'block at {at} has two sizes')
        at += size
    return len(data) - at


def lines_remainder(data):
    """Bytes behind the last whole line of JSON."""
    whole, _, rest = data.rpartition(b'\n')
    for line in whole.splitlines():
        json.loads(line)
    return len(rest)


def text_remainder(data):
    return len(data.rpartition(b'\n')[2])


REMAINDERS = {'.pcap': pcap_remainder, '.pcapng': pcapng_remainder, '.jsonl': lines_remainder,
              '.csv': text_remainder}


class EndedPrograms(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / 'flows.toml').write_text(FLOWS)
        (self.folder / 'rules.toml').write_text(RULES)
        print(f'# seed {SEED}', flush=True)

    def check_files(self, outputs, ended_by):
        for name in outputs:
            file = self.folder / name
            if not file.exists():
                continue  # not begun, or not complete under its name
            data = file.read_bytes()
            remainder = REMAINDERS[file.suffix](data)
            if ended_by != signal.SIGKILL:
                self.assertEqual(remainder, 0, f'{name}: cut by {ended_by.name}')
            file.unlink()

    def end_at_random(self, command, outputs):
        draw = random.Random(SEED)
        for _ in range(INSTANTS):
            ended_by = draw.choice(SIGNALS)
            after = draw.uniform(0, 1)
            with subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                try:
                    process.wait(after)
                except subprocess.TimeoutExpired:
                    process.send_signal(ended_by)
                _, error = process.communicate(timeout=60)
            # Before a program handles signals, they end it as they end any program.
            self.assertIn(process.returncode, (0, 1, -ended_by),
                          f'seed {SEED}, {ended_by.name} after {after} s: {error.decode()}')
            self.check_files(outputs, ended_by)

    def test_gen_writes_a_capture(self):
        self.end_at_random([longwire_test.program('roce-gen'), 'run', self.folder / 'flows.toml',
                            '--pcap', self.folder / 'out.pcap', '--count', 1_000_000],
                           ['out.pcap'])

    def test_gen_sends(self):
        self.end_at_random([longwire_test.program('roce-gen'), 'run', self.folder / 'flows.toml',
                            '--port', 'null', '--pcap', self.folder / 'sent.pcapng', '--series',
                            self.folder / 'series.csv', '--interval', '50ms', '--json'],
                           ['sent.pcapng', 'series.csv'])

    def test_impair_runs(self):
        self.end_at_random([longwire_test.program('roce-impair'), 'run',
                            self.folder / 'rules.toml', '--west', 'net_null0,size=64', '--east',
                            'net_null1', '--ledger', self.folder / 'ledger.jsonl', '--capture',
                            self.folder / 'record.pcapng', '--json'],
                           ['ledger.jsonl', 'record.pcapng'])

    def test_impair_replays(self):
        write_pcap(self.folder / 'in.pcap',
                   [(i * 777, other_frame(i) if i % 10 == 9 else roce_frame(i))
                    for i in range(100_000)])
        self.end_at_random([longwire_test.program('roce-impair'), 'replay',
                            self.folder / 'rules.toml', self.folder / 'in.pcap',
                            self.folder / 'out.pcap', '--ledger', self.folder / 'ledger.jsonl'],
                           ['out.pcap', 'ledger.jsonl'])


if __name__ == '__main__':
    longwire_test.main()
