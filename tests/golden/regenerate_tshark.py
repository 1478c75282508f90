#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Asks tshark 4.0 for every header field of every RoCE frame of our captures, and keeps
the answers in tshark/. README.md says why the command looks as it does. Run it by hand, from
anywhere; the tests only read what it wrote."""

import gzip
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / 'support'))

import tshark_fields  # noqa: E402
from capture_files import OWN  # noqa: E402


def main():
    names = tshark_fields.fields()
    for capture in OWN:
        run = subprocess.run(tshark_fields.command(capture, names), capture_output=True, text=True, check=True)
        target = HERE / 'tshark' / f'{capture.parent.name}-{capture.stem}.tsv.gz'
        table = tshark_fields.used_columns(run.stdout)
        # Without a time inside, equal answers are equal files.
        target.write_bytes(gzip.compress(table.encode(), mtime=0))
        print(f'{target.name}: {table.count(chr(10)) - 1} frames', file=sys.stderr)


if __name__ == '__main__':
    main()
