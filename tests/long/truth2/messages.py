# SPDX-License-Identifier: BSD-3-Clause
"""Compares the latencies of `messages` with the answers that completed the messages of r2.py.

exact: the latency is right. open: none is given. hidden: it is wrong, and no frame shows it: the answer that
it ends with was lost or overtaken behind the capture point, and nothing was sent again until the one that
completed the message. wrong: all others."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fam
import score


def completions_of(net, rows):
    """By connection, end and first PSN: (first frame, completing frame), of the messages that are
    completed within the capture."""
    first, frame_of = {}, {}
    for number, (_, sent, _, damage, _) in enumerate(rows, 1):
        if sent is None or damage is not None:
            continue
        frame_of.setdefault(sent.uid, number)
        if sent.role == 'req':
            first.setdefault((sent.conn, sent.end, sent.psn), number)
    found = {}
    for (conn, end), side in net.ends.items():
        for work, _, answer in side.completed3:
            begin = first.get((conn, end, work.first))
            if answer is not None and answer.uid in frame_of and begin is not None:
                found[conn, end, work.first & score.M24] = begin, frame_of[answer.uid]
    return found


def is_hidden(rows, sent, told, truth, end):
    """Whether nothing that is captured shows that the answer in frame `told` did not complete a message
    of `sent`, whose PSNs are before `end`, but that in frame `truth`."""
    said, right = rows[told - 1][1], rows[truth - 1][1]
    overtaken = said.deliv and right.deliv and (said.deliv[0] < right.deliv[0]) != (told < truth)
    if said.deliv and not overtaken:
        return False
    between = rows[min(told, truth) - 1:max(told, truth)]
    return not any(
        again is not None and again.role == 'req' and (again.conn, again.end) == (sent.conn, sent.end)
        and again.why and not copy and damage is None and again.psn < end
        for _, again, copy, damage, _ in between)


def main(families, first_seed, last_seed, points='AMB'):
    os.makedirs('work', exist_ok=True)
    path = f'work/messages-{os.getpid()}.pcap'
    sums = collections.Counter()
    for family in fam.FAMS if families == 'all' else families.split(','):
        counts = collections.Counter()
        for seed in range(first_seed, last_seed):
            net, selective = fam.FAMS[family](seed)
            net.run(60 * 10**9)
            for point in points:
                rows, _ = score.variant_rows(net, point, 'full', seed)
                if len(rows) < 4:
                    continue
                score.write(path, net, rows, 'full', seed)
                truth = completions_of(net, rows)
                for told in score.js('messages', path, '--json'):
                    sent = rows[told['first_frame'] - 1][1]
                    known = truth.pop((sent.conn, sent.end, told['first_psn']), None)
                    if known is None or told['partial']:
                        continue
                    begin, end = known
                    right = rows[end - 1][0] - rows[begin - 1][0]
                    kind = 'exact' if told['latency_ns'] == right else 'open' if told['latency_ns'] is None else \
                        'hidden' if is_hidden(rows, sent, told['completion_frame'], end, sent.psn + told['packets']) \
                        else 'wrong'
                    counts.update(['messages', kind])
                    if kind != 'exact' and os.environ.get('VERBOSE'):
                        print(family, seed, point, 'sr' if selective else 'gbn', told['operation'], told['packets'],
                              told['first_psn'], kind, 'frames', told['first_frame'], told['completion_frame'],
                              'not', begin, end, told['retransmitted_packets'])
                counts['not told'] += len(truth)
        print(family, dict(counts), flush=True)
        sums += counts
    print('all', json.dumps(sums))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
