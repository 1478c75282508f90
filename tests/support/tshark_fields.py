# SPDX-License-Identifier: BSD-3-Clause
"""The command that asks tshark 4.0 for every header field of every RoCE frame of a capture;
tests/golden/README.md says why it looks as it does."""

import re
import subprocess

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


# Frames and payloads are not taken for those of other protocols.
AS_IS = ['-d', 'udp.port==0-65535,infiniband',
         *(word for guesser in GUESSERS for word in ('--disable-protocol', guesser))]


def command(capture, names):
    words = ['tshark', '-n', '-r', str(capture), *AS_IS,
             '-Y', 'infiniband && (udp.dstport == 4791 || eth.type == 0x8915)']
    words += ['-T', 'fields', '-E', 'header=y', '-E', 'occurrence=a', '-E', 'aggregator=,']
    for name in names:
        words += ['-e', name]
    return words


def used_columns(table):
    """Columns that no frame fills say nothing."""
    rows = [line.split('\t') for line in table.splitlines()]
    kept = [i for i in range(len(rows[0])) if i == 0 or any(row[i] for row in rows[1:])]
    return ''.join('\t'.join(row[i] for i in kept) + '\n' for row in rows)
