# SPDX-License-Identifier: BSD-3-Clause
"""What `anomalies A B` says of packets that were lost, late, copied or damaged between two points,
before the first and behind the last, compared with what became of each packet in a simulator that
shares nothing with the analysis (tests/long/truth2).

path_score.py FAMILY[,FAMILY] FIRST LAST [SHIFT_NS]: seeds from FIRST up to LAST; the far clock is
SHIFT_NS ahead."""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.environ.get('TRUTH2', str(pathlib.Path(__file__).parent / 'truth2')))
os.environ.setdefault('ROCE_DISSECT', 'roce-dissect')
import fam  # noqa: E402
import r2  # noqa: E402

M24 = (1 << 24) - 1


def way(tx):
    """The points of a packet, in the order of its way."""
    return 'AB' if tx.end == 0 else 'BA'


def good(tx, point):
    return [at for at, bad in tx.pts.get(point, ()) if not bad]


def key(tx, what, place):
    return tx.conn, tx.end, 'req' if tx.role == 'req' else 'resp', tx.psn & M24, what, place


def truth_of(net):
    """Counts what happened to packets, by what and where."""
    happened = collections.Counter()
    newest, newest_sent = {}, {}
    arrivals, passed = [], []
    for tx in net.txs:
        if net.ends[tx.conn, 0].host is not net.A[0]:
            continue  # point A is at the port of the first host
        if not tx.deliv and tx.lost is None and not any(bad for seen in tx.pts.values()
                                                        for _, bad in seen):
            continue  # on its way when the simulation ended
        first, last = way(tx)
        at_first, at_last = good(tx, first), good(tx, last)
        if not tx.pts.get(first):
            happened[key(tx, 'lost', 'before')] += 1
            continue
        if at_first and not tx.pts.get(last):
            happened[key(tx, 'lost', 'between')] += 1
        elif at_first and not at_last:
            happened[key(tx, 'damaged', 'between')] += 1
        elif at_last and not tx.deliv:
            happened[key(tx, 'lost', 'behind')] += 1
        if not at_first:
            happened[key(tx, 'damaged', 'before')] += 1
        if len(at_first) > 1:
            happened[key(tx, 'copied', 'before')] += len(at_first) - 1
        if at_first:
            passed.append((min(at_first), tx.uid, tx))
        if at_first and len(at_last) > len(at_first):
            happened[key(tx, 'copied', 'between')] += len(at_last) - len(at_first)
        if at_first and at_last:
            arrivals.append((min(at_last), min(at_first), tx))
    for _, sent, tx in sorted(arrivals, key=lambda entry: entry[0]):
        flow = tx.conn, tx.end
        if sent < newest.get(flow, -1):
            happened[key(tx, 'late', 'between')] += 1
        newest[flow] = max(newest.get(flow, -1), sent)
    for _, sent, tx in sorted(passed, key=lambda entry: entry[:2]):
        flow = tx.conn, tx.end
        if sent < newest_sent.get(flow, -1):
            happened[key(tx, 'late', 'before')] += 1
        newest_sent[flow] = max(newest_sent.get(flow, -1), sent)
    return happened


WHAT = {'lost_after_capture': 'lost', 'psn_gap': 'lost', 'out_of_order': 'late',
        'duplicate': 'copied', 'bad_icrc': 'damaged'}


def claims_of(net, rows, numbers):
    """Counts what the rows say, and how many are undecided."""
    said, undecided = collections.Counter(), 0
    for row in rows:
        what = WHAT.get(row['kind'])
        if not what or row['cause'] in ('missing_in_capture', 'reordered_behind', 'trimmed'):
            continue
        where = row['where']
        place = ('before' if where.startswith('before') else
                 'behind' if where.startswith('behind') else 'between')
        tx = numbers[row['frame'] - 1]
        if net.ends[tx.conn, 0].host is not net.A[0]:
            continue
        if row['certainty'] != 'certain':
            undecided += 1
            continue
        if place == 'between':
            end, role = tx.end, 'req' if tx.role == 'req' else 'resp'
        else:
            requester = tx.end if tx.role == 'req' else 1 - tx.end
            role = 'req' if row['role'] == 'request' else 'resp'
            end = requester if role == 'req' else 1 - requester
        for number in range(row['packets'] or 1):
            said[tx.conn, end, role, (row['psn'] + number) & M24, what, place] += 1
    return said, undecided


def rows_of(net, folder, shift):
    """The rows of `anomalies`, and the packet of each frame."""
    frames = []
    for order, point in enumerate('AB'):
        rows = [(at + (shift if point == 'B' else 0), tx, copy, damage, ce)
                for at, tx, copy, damage, ce in net.caps[point] if tx is not None]
        r2.pcap(str(folder / f'{point}.pcap'),
                [(at, r2.frame(net, *rest)) for at, *rest in rows], 0, nano=True)
        frames += [(row[0], order, index, row[1]) for index, row in enumerate(rows)]
    frames.sort(key=lambda entry: entry[:3])
    done = subprocess.run([os.environ['ROCE_DISSECT'], 'anomalies', folder / 'A.pcap',
                           folder / 'B.pcap', '--json'], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()], [f[3] for f in frames]


def score(families, seeds, shift=0, show=0):
    """Claims, false ones, undecided ones, events and missed ones, of each family."""
    totals = {}
    with tempfile.TemporaryDirectory() as name:
        for family in families:
            total = collections.Counter()
            for seed in seeds:
                net, _ = fam.FAMS[family](seed)
                net.run(60 * 10**9)
                rows, numbers = rows_of(net, pathlib.Path(name), shift)
                said, undecided = claims_of(net, rows, numbers)
                happened = truth_of(net)
                total['undecided'] += undecided
                total['claims'] += sum(said.values())
                for what, count in (said - happened).items():
                    total['false'] += count
                    total[f'false {what[4]} {what[5]} {what[2]}'] += count
                    if show:
                        print('FALSE', family, seed, what, count)
                for what, count in happened.items():
                    if what[5] != 'between':
                        continue
                    missed = max(0, count - said[what])
                    total['events'] += count
                    total['missed'] += missed
                    if missed:
                        total[f'missed {what[4]} {what[5]} {what[2]}'] += missed
                        if show:
                            print('MISSED', family, seed, what, missed)
            totals[family] = total
    return totals


if __name__ == '__main__':
    for family, total in score(sys.argv[1].split(','), range(int(sys.argv[2]), int(sys.argv[3])),
                               int(sys.argv[4]) if len(sys.argv) > 4 else 0,
                               len(sys.argv) > 5).items():
        print(family, dict(total))
