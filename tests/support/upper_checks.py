# SPDX-License-Identifier: BSD-3-Clause
"""What `roce-dissect commands` says about connections of upper_composer, against what they are."""

import json
import subprocess

import pcap_file
import upper_composer
from longwire_test import program

HEADERS = 14 + 20 + 8 + 12  # Ethernet to BTH
PARTS = ('path_ns', 'target_ns', 'path_or_target_ns', 'transfer_ns', 'recovery_ns', 'credit_wait_ns',
         'undecided_ns')


def commands(*words):
    """The rows of `roce-dissect commands --json`."""
    done = subprocess.run([program('roce-dissect'), 'commands', *map(str, words), '--json'], capture_output=True,
                          text=True, check=False, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f'exit {done.returncode}: {done.stderr}')
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(case, protocol, seed, path, snap=65535, number=60):
    """Composes a capture and compares each command."""
    frames, expected, wire = upper_composer.compose(protocol, seed, number)
    pcap_file.write_pcap(path, frames, snap=snap)
    rows = commands(path)
    begin = frames[0][0]
    by_key = {(row['id'], row['begin_ns'] + begin): row for row in rows}
    case.assertEqual(len(rows), len(expected), f'{protocol} seed {seed}')
    latencies = [row['latency_ns'] for row in rows]
    case.assertEqual(latencies, sorted(latencies, reverse=True))
    for one in expected:
        where = f'{protocol} seed {seed} snap {snap}: {one}'
        case.assertIn((one.id, one.begin), by_key, where)
        row = by_key[one.id, one.begin]
        seen = one.seen_with(snap - HEADERS)
        case.assertEqual((row['operation'], row['bytes'], row['status']), seen, where)
        case.assertEqual((row['protocol'], row['latency_ns'], row['depth']),
                         (one.protocol, one.end - one.begin, one.depth), where)
        case.assertEqual(row['failed'], one.failed and seen[2] is not None, where)
        case.assertEqual(sum(row[part] for part in PARTS), row['latency_ns'], where)
        case.assertEqual((row['recovery_ns'], row['recovery_frame'], row['recovery_cause']), (0, None, ''), where)
        if one.target is not None and row['undecided_ns'] == 0:
            case.assertEqual((row['path_ns'], row['target_ns']), (2 * wire.delay[1], one.target), where)
    return rows
