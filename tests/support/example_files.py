# SPDX-License-Identifier: BSD-3-Clause
"""Files that the examples of the programs' --help name, each made as its user would have it."""

import gzip
import re
import shutil
import subprocess

from longwire_test import SOURCE, program
from pcap_file import read_pcap, write_pcap
from pcapng_file import write_pcapng

CAPTURE = SOURCE / 'pcaps/rxe/loss_write_sender_side.pcap'
FLOW = '''[[flow]]
name = "writes"
source = "192.0.2.1"
destination = "192.0.2.2"
operation = "write"
message_size = 1024
rate = "10 kframes/s"
messages = 2000
signature = true
'''
EXPERIMENT = '''[common]
delay = "10us"
iterations = 20
[[scenario]]
name = "a"
[scenario.set]
size = ["64", "64KiB"]
[[plot]]
name = "rates"
x = "size"
y = "bw_average_gbps"
'''
SENDERS = 8
BOX = '''[[rule]]
name = "long haul"
match = "rocev2"
delay = "1ms"
[capacity]
reserve = "3ms"
'''


def _incast():
    """One sink and SENDERS hosts, as in the manual's profile."""
    text = '[[host]]\nname = "sink"\nrank = 0\nreceive = ["sink"]\n'
    text += ''.join(f'[[host]]\nname = "{i}"\nports = ["s{i}"]\n' for i in range(1, SENDERS + 1))
    return text + ''.join(FLOW.replace('"writes"', f'"from{i}"\nhost = "{i}"')
                          for i in range(1, SENDERS + 1))


TEXTS = {
    'profile.toml': FLOW, 'p.toml': FLOW, 'writes.toml': FLOW, 'incast.toml': _incast(),
    'box.toml': BOX, 'my.toml': EXPERIMENT, 'hosts': 'localhost slots=32\n',
    'before.txt': 'NIC statistics:\n     rx_packets: 1000\n',
    'after.txt': 'NIC statistics:\n     rx_packets: 3000\n',
}


def make(folder):
    """Writes all of them into a folder; those of one capture show the same frames."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding='utf-8')
    (folder / 'token.txt').write_text('0123456789abcdef\n', encoding='utf-8')
    (folder / 'token.txt').chmod(0o600)
    frames = read_pcap(CAPTURE)
    for name in 'capture.pcap', 'captured.pcap', 'packets.pcap', 'in.pcap', 'west.pcap', 'east.pcap':
        shutil.copy(CAPTURE, folder / name)
    for name in 'capture.pcapng', 'captured.pcapng', 'growing.pcapng':
        write_pcapng(folder / name, ['eth1'], [(0, *frame) for frame in frames])
    _make_parts(folder, frames)
    _make_both_ends(folder)


def short_profiles(folder):
    """A folder of profiles with a `demo` that lasts a tenth as long, as some ten examples send it."""
    text = (SOURCE / 'profiles' / 'flows' / 'demo.toml').read_text(encoding='utf-8')
    text, changed = re.subn(r'^(messages = \d+)\d\b', r'\1', text, flags=re.M)
    assert changed == 4
    (folder / 'flows').mkdir(parents=True)
    (folder / 'flows' / 'demo.toml').write_text(text, encoding='utf-8')
    return folder


def _make_parts(folder, frames):
    """A capture in turn, as tcpdump -W writes it, with compressed parts."""
    third = len(frames) // 3
    for part in range(3):
        write_pcap(folder / f'ring.pcap{part}', frames[part * third:(part + 1) * third])
    (folder / 'ring.pcap1.gz').write_bytes(gzip.compress((folder / 'ring.pcap1').read_bytes()))
    for name in 'ring.pcap2', 'capture.pcap':
        subprocess.run(['zstd', '-q', folder / name], check=True)


def _make_both_ends(folder):
    """Traffic before and behind a box, as captures, as the box's recording, and its ledger."""
    for words in (['roce-gen', 'run', 'demo', '--pcap', 'near.pcap'],
                  ['roce-impair', 'replay', 'apn-380km', 'near.pcap', 'far.pcap', '--ledger', 'ledger.lwl'],
                  ['roce-impair', 'replay', 'apn-380km', 'near.pcap', 'out.pcap', '--ledger', 'ledger.jsonl',
                   '--pcap', 'rec.pcapng']):
        words[0] = program(words[0])
        subprocess.run(words, cwd=folder, check=True, capture_output=True)
    near, far = (read_pcap(folder / name) for name in ('near.pcap', 'far.pcap'))
    write_pcapng(folder / 'near.pcapng', ['near'], [(0, *frame) for frame in near])
    write_pcapng(folder / 'far.pcapng', ['far'], [(0, *frame) for frame in far])
    both = sorted([(0, *frame) for frame in near] + [(1, *frame) for frame in far],
                  key=lambda frame: frame[1])
    write_pcapng(folder / 'both.pcapng', ['eth1', 'eth2'], both)
    shutil.copy(folder / 'near.pcap', folder / 'arrived.pcap')
    for name in 'recording.pcapng', 'recorded.pcapng':
        shutil.copy(folder / 'rec.pcapng', folder / name)
