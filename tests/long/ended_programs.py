# SPDX-License-Identifier: BSD-3-Clause
"""Programs that end at random instants, by SIGTERM, SIGINT or SIGKILL: what they wrote is readable
up to the last whole record, and after SIGTERM and SIGINT nothing is cut. Every command that writes a
file is here. LONGWIRE_SEED and LONGWIRE_INSTANTS change the seed and the number of instants."""

import concurrent.futures
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
from example_files import EXPERIMENT
from pcap_file import other_frame, roce_frame, write_pcap

SEED = int(os.environ.get('LONGWIRE_SEED', time.time_ns() % 2**32))
INSTANTS = int(os.environ.get('LONGWIRE_INSTANTS', 50))
FLOWS = '[[flow]]\nqps = 4\nrepeat = "forever"\nrate = "20 kframes/s"\n'
RULES = '[[rule]]\nmatch = "all"\ndelay = "1ms"\nloss = "1%"\n[capacity]\nrate = "1Gb/s"\n'
LONG_EXPERIMENT = EXPERIMENT.replace('iterations = 20', 'iterations = 2000')
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


def ledger_remainder(data):
    """Bytes behind the last whole block of a compact ledger."""
    if len(data) < 16:
        return len(data)
    if data[:8] != b'LWLEDGER':
        raise ValueError('no ledger')
    at = 16
    while at + 8 <= len(data):
        size = struct.unpack_from('<I', data, at + 4)[0]
        if at + 8 + size > len(data):
            break
        at += 8 + size
    return len(data) - at


def whole_text(data):
    """A file that appears when it is complete."""
    if data.endswith(b'\n') or data.endswith(b'</svg>'):
        return 0
    raise ValueError('a file that should appear when it is complete is cut')


REMAINDERS = {'.pcap': pcap_remainder, '.pcapng': pcapng_remainder, '.jsonl': lines_remainder,
              '.csv': text_remainder, '.lwl': ledger_remainder, '.json': whole_text,
              '.svg': whole_text, '.txt': whole_text}
# What reads them, and its exit codes: 1 for a file that ends too early.
READERS = {'.pcap': ('roce-dissect', 'summary'), '.pcapng': ('roce-dissect', 'summary'),
           '.lwl': ('roce-impair', 'ledger')}


class EndedPrograms(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / 'flows.toml').write_text(FLOWS)
        (self.folder / 'fast.toml').write_text(FLOWS.replace('20 kframes/s', '2 Gb/s'))
        (self.folder / 'rules.toml').write_text(RULES)
        print(f'# seed {SEED}', flush=True)

    def check_file(self, file, ended_by):
        data = file.read_bytes()
        remainder = REMAINDERS[file.suffix](data)
        if ended_by != signal.SIGKILL:
            self.assertEqual(remainder, 0, f'{file.name}: cut by {ended_by.name}')
        if file.suffix in READERS and data:
            name, *words = READERS[file.suffix]
            read = subprocess.run([longwire_test.program(name), *words, str(file)],
                                  capture_output=True, timeout=60, check=False)
            codes = (0, 1) if ended_by == signal.SIGKILL or file.suffix == '.lwl' else (0,)
            if len(data) >= 24:
                self.assertIn(read.returncode, codes, read.stderr)
        return len(data) - remainder

    def end_once(self, number, words_in, beside, longest):
        """Bytes of whole records that one run left."""
        draw = random.Random(SEED * 1000 + number)
        ended_by, after = draw.choice(SIGNALS), draw.uniform(0, longest)
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            folder = pathlib.Path(name)
            other = beside and subprocess.Popen(list(map(str, beside(folder))),
                                                stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL)
            with subprocess.Popen(list(map(str, words_in(folder))), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                try:
                    process.wait(after)
                except subprocess.TimeoutExpired:
                    process.send_signal(ended_by)
                _, error = process.communicate(timeout=60)
            if other:
                time.sleep(0.2)
                self.assertIn(other.poll(), (None, 0, 1, 3),
                              f'seed {SEED}: its peer crashed when it ended by {ended_by.name}')
                other.kill()
                other.wait()
            # Before a program handles signals, they end it as they end any program.
            self.assertIn(process.returncode, (0, 1, -ended_by),
                          f'seed {SEED}, {ended_by.name} after {after} s: {error.decode()}')
            return sum(self.check_file(file, ended_by) for file in folder.rglob('*')
                       if file.suffix in REMAINDERS and file.is_file())

    def end_at_random(self, words_in, beside=None, longest=1):
        """`words_in(folder)` is the command, which writes into a folder of its own; `beside` is its
        peer, which must not end with it; `longest`: seconds."""
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            written = list(pool.map(lambda i: self.end_once(i, words_in, beside, longest),
                                    range(INSTANTS)))
        self.assertGreater(sum(written), 0, 'nothing was ever written')

    def gen(self, *words):
        return [longwire_test.program('roce-gen'), *words]

    def test_gen_writes_a_capture(self):
        self.end_at_random(lambda folder: self.gen(
            'run', self.folder / 'flows.toml', '--pcap', folder / 'out.pcap', '--count', 200_000))

    def test_gen_sends(self):
        self.end_at_random(lambda folder: self.gen(
            'run', self.folder / 'flows.toml', '--port', 'net_ring0', '--receive', 'net_ring0',
            '--pcap', folder / 'sent.pcapng', '--series', folder / 'series.csv', '--interval',
            '50ms', '--histogram', folder / 'latency.csv', '--report-to', folder / 'report.json'))

    def test_gen_sends_into_a_port_that_is_a_file(self):
        self.end_at_random(lambda folder: self.gen(
            'run', self.folder / 'flows.toml', '--port', f'pcap:,{folder}/out.pcap'))

    def test_gen_receives(self):
        self.end_at_random(
            lambda folder: self.gen(
                'receive', '--port', f'memif:{folder}/wire,server', '--pcap', folder / 'in.pcapng',
                '--series', folder / 'series.csv', '--interval', '50ms', '--histogram',
                folder / 'latency.csv'),
            lambda folder: self.gen('run', self.folder / 'fast.toml', '--port',
                                    f'memif:{folder}/wire'), 2)

    def test_a_memif_server_starts_where_another_was_killed(self):
        """A socket's file stays behind, and clients that are still there connect again."""
        wire = f'memif:{self.folder}/wire'
        draw = random.Random(SEED)
        for i in range(INSTANTS + 1):
            last = i == INSTANTS
            receiver = longwire_test.begin(self, self.gen(
                'receive', '--port', wire + ',server', '--until-idle', '1s', '--quiet', '--json'))
            sender = longwire_test.begin(self, self.gen(
                'run', self.folder / 'flows.toml', '--port', wire, '--count', 200, '--quiet'))
            if not last:
                time.sleep(draw.uniform(0, 0.6))
                receiver.kill()
                sender.terminate()
            sent, received = sender.wait(60), receiver.wait(60)
            self.assertIn(sent, (0, 1, -signal.SIGTERM), sender.stderr.read())
            self.assertEqual(received, 0 if last else -signal.SIGKILL, receiver.stderr.read())
            if last:
                self.assertEqual(json.loads(receiver.stdout.read())['frames'], 200)

    def test_gen_replays(self):
        write_pcap(self.folder / 'in.pcap', [(i * 50_000, roce_frame(i)) for i in range(20_000)])
        self.end_at_random(lambda folder: self.gen(
            'replay', self.folder / 'in.pcap', '--port', 'null', '--pcap', folder / 'out.pcap'))
        self.end_at_random(lambda folder: self.gen(
            'replay', self.folder / 'in.pcap', '--loop', 10, '--pcap', folder / 'out.pcapng'))

    def perf(self, folder, *options):
        return self.gen('perf', '--port', f'memif:{folder}/wire', '--peer', '198.18.0.2', '-s',
                        '4KiB', '--duration', '3s', *options)

    def respond(self, folder, *options):
        return self.gen('respond', '--port', f'memif:{folder}/wire,server', *options)

    def test_perf_and_respond(self):
        self.end_at_random(
            lambda folder: self.perf(folder, '--pcap', folder / 'near.pcapng', '--series',
                                     folder / 'series.csv'), self.respond, 2)
        self.end_at_random(
            lambda folder: self.respond(folder, '--pcap', folder / 'far.pcap'), self.perf, 2)

    def test_studies(self):
        (self.folder / 'e.toml').write_text(LONG_EXPERIMENT)
        self.end_at_random(lambda folder: self.gen('experiment', self.folder / 'e.toml', '--out',
                                                   folder / 'out'))
        self.end_at_random(lambda folder: self.gen(
            'search', self.folder / 'flows.toml', '--port', 'net_ring0', '--receive', 'net_ring0',
            '--sizes', '64', '--duration', '20ms', '--settle', '20ms', '--resolution', '50%',
            '--max-rate', '10Mb/s', '--out', folder / 'out'), longest=2)
        self.end_at_random(lambda folder: self.gen(
            'sim', '--delay', '10us', '-n', 3000, '-s', '4KiB', '--pcap',
            folder / 'out.pcapng', '--series', folder / 'series.csv'))

    def test_impair_runs(self):
        for ledger in 'ledger.jsonl', 'ledger.lwl':
            self.end_at_random(lambda folder, ledger=ledger: [
                *longwire_test.BOX, self.folder / 'rules.toml', '--west',
                'net_null0,size=64', '--east', 'net_null1', '--ledger', folder / ledger,
                '--pcap', folder / 'record.pcapng', '--json'])

    def test_impair_replays(self):
        write_pcap(self.folder / 'in.pcap',
                   [(i * 777, other_frame(i) if i % 10 == 9 else roce_frame(i))
                    for i in range(100_000)])
        for ledger in 'ledger.jsonl', 'ledger.lwl':
            self.end_at_random(lambda folder, ledger=ledger: [
                longwire_test.program('roce-impair'), 'replay', self.folder / 'rules.toml',
                self.folder / 'in.pcap', folder / 'out.pcap', '--ledger', folder / ledger,
                '--pcap', folder / 'record.pcapng'])


if __name__ == '__main__':
    longwire_test.main()
