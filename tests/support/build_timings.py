# SPDX-License-Identifier: BSD-3-Clause
"""Prints the files of a ninja build that took the longest, from its .ninja_log, and the sum of all.

usage: build_timings.py .ninja_log [COUNT]"""

import pathlib
import sys


def seconds_of(log):
    """{output: seconds} of the last build of each output."""
    seconds = {}
    for line in log.splitlines()[1:]:
        start, end, _, output, *_ = line.split('\t')
        seconds[output] = (int(end) - int(start)) / 1000
    return seconds


def main():
    log = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    seconds = seconds_of(log)
    for output in sorted(seconds, key=seconds.get, reverse=True)[:count]:
        print(f'{seconds[output]:7.1f} s  {output}')
    print(f'{sum(seconds.values()):7.1f} s  in all, {len(seconds)} files')


if __name__ == '__main__':
    main()
