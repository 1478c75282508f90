#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Asks tshark 4.0 for every header field of every RoCE frame of our captures, and keeps
the answers in tshark/. README.md says why the command looks as it does. Run it by hand, from
anywhere; the tests only read what it wrote.

    regenerate_tshark.py [FOLDER OF OTHER PEOPLE'S CAPTURES]
"""

import gzip
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
OTHERS = SOURCE.parent / 'shared' / 'pcaps' / 'others'

# Header layers; what tshark makes of payloads is not ours to judge.
LAYERS = re.compile(
    r'infiniband\.(bth|grh|rdeth|deth|reth|atomiceth|aeth|atomicacketh|immdt|ieth|mad|cm'
    r'|invariant|reserved)(\.|$)')
# Whole headers or private data as a string of bytes: the fields within them are compared.
WHOLE = re.compile(
    r'infiniband\.(bth|grh|rdeth|deth|reth|atomiceth|aeth|atomicacketh|mad|mad\.data'
    r'|cm\.req\.ip_cm|cm\..*\.private|cm\.rej\.ari)$')

# What stands below, and in the capture's record.
ENVELOPE = ['frame.number', 'frame.time_epoch', 'frame.len', 'frame.cap_len', 'eth.dst', 'eth.src',
            'eth.type', 'vlan.id', 'vlan.priority', 'ip.src', 'ip.dst', 'ip.dsfield.dscp',
            'ip.dsfield.ecn', 'ip.id', 'ip.ttl', 'ip.proto', 'ipv6.src', 'ipv6.dst',
            'ipv6.tclass.dscp', 'ipv6.tclass.ecn', 'ipv6.flow', 'ipv6.hlim', 'ipv6.nxt',
            'udp.srcport', 'udp.dstport', 'udp.length']

# Dissectors that guess at payloads; one of them stumbles over empty ones and hides the ICRC.
GUESSERS = ['rpcordma', 'smc', 'smb_direct', 'nvme-rdma', 'lnet', 'iser', 'infiniband_sdp', 'fcoib',
            'drbd', 'infiniband.eoib']


def fields():
    listing = subprocess.run(['tshark', '-G', 'fields'], capture_output=True, text=True, check=True)
    names = [line.split('\t')[2] for line in listing.stdout.splitlines() if line.startswith('F\t')]
    return ENVELOPE + sorted({name for name in names if LAYERS.match(name)
                              and not WHOLE.match(name)})


def command(capture, names):
    words = ['tshark', '-n', '-r', str(capture), '-d', 'udp.port==0-65535,infiniband',
             '-Y', 'infiniband && (udp.dstport == 4791 || eth.type == 0x8915)']
    for guesser in GUESSERS:
        words += ['--disable-protocol', guesser]
    words += ['-T', 'fields', '-E', 'header=y', '-E', 'occurrence=a', '-E', 'aggregator=,']
    for name in names:
        words += ['-e', name]
    return words


def used_columns(table):
    """Columns that no frame fills say nothing."""
    rows = [line.split('\t') for line in table.splitlines()]
    kept = [i for i in range(len(rows[0])) if i == 0 or any(row[i] for row in rows[1:])]
    return ''.join('\t'.join(row[i] for i in kept) + '\n' for row in rows)


def main():
    names = fields()
    others = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else OTHERS
    folders = {'rxe': SOURCE / 'pcaps' / 'rxe', 'others': others}
    for label, folder in folders.items():
        for capture in sorted(folder.glob('*.pcap')):
            run = subprocess.run(command(capture, names), capture_output=True, text=True, check=True)
            target = HERE / 'tshark' / f'{label}-{capture.stem}.tsv.gz'
            table = used_columns(run.stdout)
            # Without a time inside, equal answers are equal files.
            target.write_bytes(gzip.compress(table.encode(), mtime=0))
            print(f'{target.name}: {table.count(chr(10)) - 1} frames', file=sys.stderr)


if __name__ == '__main__':
    main()
