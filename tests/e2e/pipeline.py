# SPDX-License-Identifier: BSD-3-Clause
"""gen -> impair -> far side as separate processes over memif, without root or hugepages: what
arrives is what was sent, byte for byte and in order, less the frames that the ledger says were
dropped, and nothing else."""

import json
import pathlib
import signal
import struct
import subprocess
import tempfile
import unittest

from longwire_test import SOURCE, begin, program

PROFILE = '''
seed = 5
[[rule]]
name = "path"
delay = "2ms"
loss = "2%"
'''

FLOWS = '''
[defaults]
rate = "2500 frames/s"
signature = true
[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 3000
messages = 1000
[[flow]]
source = "2001:db8::1"
destination = "2001:db8::2"
operation = "send_imm"
message_size = 700
messages = 3000
[[flow]]
source = "198.18.0.3"
destination = "198.18.0.4"
transport = "ud"
message_size = 64
messages = 3000
'''


def frames_of(path):
    """The frames of a little-endian pcapng, a few lines that share no code with lib/capture."""
    data, offset, frames = path.read_bytes(), 0, []
    while offset < len(data):
        kind, length = struct.unpack_from('<II', data, offset)
        if kind == 6:
            captured, = struct.unpack_from('<I', data, offset + 20)
            frames.append(data[offset + 28:offset + 28 + captured])
        offset += length
    return frames


class Pipeline(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / 'impair.toml').write_text(PROFILE)
        (self.folder / 'flows.toml').write_text(FLOWS)

    def start(self, *words):
        return begin(self, words)

    def finish(self, process):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        return json.loads(out)

    def run_pipeline(self):
        at = self.folder
        impair = self.start(program('roce-impair'), 'run', at / 'impair.toml',
                            '--west', f'memif:{at}/west.sock,server',
                            '--east', f'memif:{at}/east.sock,server',
                            '--ledger', at / 'ledger.jsonl', '--json')
        far = self.start(program('roce-gen'), 'receive', '--port', f'memif:{at}/east.sock',
                         '--pcap', at / 'far.pcapng', '--until-idle', '2s', '--json')
        sender = self.start(program('roce-gen'), 'run', at / 'flows.toml',
                            '--port', f'memif:{at}/west.sock', '--pcap', at / 'near.pcapng',
                            '--json')
        sent = self.finish(sender)
        received = self.finish(far)
        impair.send_signal(signal.SIGTERM)  # it drains what is in flight, then reports
        return sent, self.finish(impair), received

    def test_only_what_the_ledger_says_is_missing(self):
        self.run_pipeline()
        near = frames_of(self.folder / 'near.pcapng')
        far = frames_of(self.folder / 'far.pcapng')
        records = [json.loads(line) for line in (self.folder / 'ledger.jsonl').open()]
        dropped = {r['frame'] for r in records if r['action'] == 'drop'}
        self.assertEqual(len(near), 9000)
        self.assertGreater(len(dropped), 100)  # 2 % of 9000: 180, and 6 sigma below is 100
        self.assertEqual(far, [f for i, f in enumerate(near) if i not in dropped])

    def test_everybody_counts_the_same(self):
        self.run_pipeline()
        for end in ('near', 'far'):
            verified = subprocess.run(
                [program('roce-dissect'), 'verify', '--json', self.folder / f'{end}.pcapng'],
                capture_output=True, text=True, check=True)
            counts = json.loads(verified.stdout)
            self.assertEqual(counts['icrc_ok'], counts['frames'])
            self.assertEqual(counts['frames'], len(frames_of(self.folder / f'{end}.pcapng')))
        compared = subprocess.run(
            [program('roce-dissect'), 'compare', self.folder / 'near.pcapng',
             self.folder / 'far.pcapng', '--json'], capture_output=True, text=True, check=True)
        path = json.loads(compared.stdout)['directions'][0]
        records = [json.loads(line) for line in (self.folder / 'ledger.jsonl').open()]
        self.assertEqual(path['lost'], sum(r['action'] == 'drop' for r in records))
        self.assertEqual((path['invented'], path['duplicated'], path['reordered']), (0, 0, 0))
        self.assertGreaterEqual(path['delay_ns']['min'], 2_000_000)


class Demo(unittest.TestCase):

    def test_runs_and_is_content(self):
        done = subprocess.run(['bash', SOURCE / 'packaging/demo.sh',
                               pathlib.Path(program('roce-gen')).parents[1]],
                              capture_output=True, text=True, timeout=100)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
