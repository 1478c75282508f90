#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The table of the manual of the fields of the Open Traffic Generator model, from what the program
prints of its rows:

    otg_table.py ROCE_GEN [--write]

It is in docs/reference/roce-gen-otg.md between <!-- fields of the model --> and <!-- end of fields -->;
--write writes it again. Prints what is wrong, and exits with 1 if something is."""

import itertools
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs/reference/roce-gen-otg.md'
MARK = re.compile(r'(<!-- fields of the model -->\n).*?(<!-- end of fields -->)', re.S)
HEAD = '| field | values | default | what becomes of it |\n|---|---|---|---|\n'
USES = {'applied': '', 'constant': 'only the default: ', 'refused': 'refused: '}


def rows_of(roce_gen):
    """The rows that the program prints."""
    text = subprocess.run([roce_gen, 'otg', '--fields', '--json'], capture_output=True, text=True,
                          check=True).stdout
    return [json.loads(line) for line in text.splitlines()]


def line(row):
    """A row as Markdown."""
    values = row.get('bounds') or row.get('type', '')
    default = row.get('default', '')
    return (f"| `{row['field']}` | {values} | {default and f'`{default}`'} | "
            f"{USES[row['use']]}{row['meaning']} |\n")


def table(rows):
    """All messages, each with its fields."""
    groups = itertools.groupby(rows, lambda row: row['message'])
    return ''.join(f'\n`{message}`:\n\n{HEAD}{"".join(map(line, group))}' for message, group in groups) + '\n'


def current(text, rows):
    """The page with the table as it should be."""
    return MARK.sub(lambda found: found[1] + table(rows) + found[2], text)


def main(roce_gen, write=False):
    """The command line."""
    text = PAGE.read_text(encoding='utf-8')
    new = current(text, rows_of(roce_gen))
    if not MARK.search(text):
        print(f'{PAGE}:1: expected a table of fields, found none')
        return 1
    if write:
        PAGE.write_text(new, encoding='utf-8')
    elif new != text:
        print(f'{PAGE}:1: its table is not that of the rows: run tests/support/otg_table.py {roce_gen} --write')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], '--write' in sys.argv[2:]))
