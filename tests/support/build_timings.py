# SPDX-License-Identifier: BSD-3-Clause
"""Prints what took the longest in a ninja build, from its .ninja_log, and the sum of all. Files that
are compiled together (meson's unity) are one line with the names of the files.

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


def names_of(output, folder):
    """The files of a unit by name, " " before them; "" for any other output."""
    unit = folder / output.replace('meson-generated_', '').removesuffix('.o')
    if not output.endswith('.cpp.o') or not unit.is_file():
        return ''
    return ''.join(f' {pathlib.Path(line).name.rstrip(">")}'
                   for line in unit.read_text(encoding='utf-8').splitlines())


def main():
    folder = pathlib.Path(sys.argv[1]).parent
    log = pathlib.Path(sys.argv[1]).read_text(encoding='utf-8')
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    seconds = seconds_of(log)
    for output in sorted(seconds, key=seconds.get, reverse=True)[:count]:
        print(f'{seconds[output]:7.1f} s  {output}{names_of(output, folder)}')
    print(f'{sum(seconds.values()):7.1f} s  in all, {len(seconds)} outputs')


if __name__ == '__main__':
    main()
