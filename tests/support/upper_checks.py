# SPDX-License-Identifier: BSD-3-Clause
"""What `roce-dissect commands` says about connections of upper_composer, against what they are."""

import json
import subprocess

import pcap_file
import slow_commands
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


def facts(path):
    """The rows of `roce-dissect commands --facts --json`."""
    done = subprocess.run([program('roce-dissect'), 'commands', path, '--facts', '--json'], capture_output=True,
                          text=True, check=True, timeout=120)
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


SLOW = 15_000_000  # ns: twice what a command takes whose packets all pass
UNDECIDED = ('undecided', 'path_or_target')


def slow_verdict(known, row):
    """What a row names for a command of slow_commands: right, wrong, cannot tell; None: it is not slow."""
    if row['latency_ns'] + row['late_ack_ns'] < SLOW:
        return 'wrong' if row['recovery_ns'] and not known.cause else None
    named = 'late ack' if row['late_ack_ns'] > row['latency_ns'] else row['largest_part']
    causes = row['recovery_cause'].split(' or ')
    if named in UNDECIDED or (named == known.cause and len(causes) > 1 and set(causes) & set(known.tokens)):
        return 'cannot tell'
    agrees = named == known.cause and (not known.tokens or causes[0] in known.tokens)
    return 'right' if agrees else 'wrong'


def slow_verdicts(case, seed, path):
    """The verdicts about the commands of a seed."""
    frames, known, protocol = slow_commands.compose(seed)
    pcap_file.write_pcap(path, frames)
    rows = {row['id']: row for row in commands(path)}
    case.assertEqual(len(rows), len(known), f'seed {seed}')
    verdicts = []
    for one in known:
        verdict = slow_verdict(one, rows[one.id])
        case.assertNotEqual(verdict, 'wrong', f'{protocol} seed {seed}: {one}: {rows[one.id]}')
        case.assertEqual(one.cause is None and verdict is not None, False, f'{protocol} seed {seed}: {one}')
        verdicts.append(verdict)
    return verdicts
