# SPDX-License-Identifier: BSD-3-Clause
"""Compares what `explain` answers to "Was it congestion?" with what the queues of r2.py held.

The truth is Yes where a round trip's worth or more, at the link's rate, and four packets waited before a
packet in a queue on the way, or it had no room; No where never a tenth of that did; between, either answer passes.
The packet that is being sent does not wait: one behind a longer one is stored and forwarded, on an idle link too."""
import collections
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import fam
import score

CANNOT_TELL = 'cannot tell'


def truth_of(net, point):
    """'yes', 'no' or 'between', of the queues that connections at `point` pass."""
    hosts = {net.ends[t.conn, 0].host for _, t, *_ in net.caps[point]}
    queues = [net.qB] + [net.qA[host] for host in hosts]
    round_trip = 2 * (net.d1 + net.d2)  # ns
    held = {queue: queue.maxbytes * 8 / queue.rate / round_trip for queue in queues}
    few = 4  # packets: two of one sender meet for an instant, as the simulator rounds to nanoseconds
    if any(queue.drops or held[queue] >= 1 and queue.maxpackets >= few for queue in queues):
        return 'yes'
    return 'no' if max(held.values()) < 0.1 else 'between'


def answer_of(path, words):
    done = subprocess.run([os.environ['ROCE_DISSECT'], 'explain', path, '--json', *words],
                          capture_output=True, text=True, timeout=100)
    return json.loads(done.stdout)['congestion']


def main(families, first, last, rated):
    """`rated`: roce-dissect gets the links' rate. Prints a line for each false answer and each family; the last line has the sums."""
    os.makedirs('work', exist_ok=True)
    path = f'work/congestion-{os.getpid()}.pcap'
    all_counts = collections.Counter()
    for family in fam.FAMS if families == 'all' else families.split(','):
        counts = collections.Counter()
        for seed in range(first, last):
            net, _ = fam.FAMS[family](seed)
            net.run(60 * 10**9)
            for point in 'AMB':
                rows, _ = score.variant_rows(net, point, 'full', seed)
                if len(rows) < 4:
                    continue
                score.write(path, net, rows, 'full', seed)
                words = ['--link-rate', f'{net.qB.rate}Gb/s'] if rated else []
                truth, told = truth_of(net, point), answer_of(path, words)
                false = {truth, told['answer']} == {'yes', 'no'}
                counts.update(['captures', told['answer']] + ['false ' + told['answer']] * false)
                if false or os.environ.get('VERBOSE'):
                    print(family, seed, point, 'is', truth, 'said', told['answer'], told['reason'])
        print(family, dict(counts), flush=True)
        all_counts += counts
    print('all', json.dumps(all_counts))


if __name__ == '__main__':
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), 'rated' in sys.argv[4:])
