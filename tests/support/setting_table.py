#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The settings of described structs, from the list that the build makes of their rows:

    setting_table.py SETTINGS [--write]

Pages of the manual have them between <!-- settings: NAME --> and <!-- end of settings -->; --write
writes them again. Prints what is wrong, and exits with 1 if something is."""

import json
import pathlib
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parents[2] / 'docs'
MARK = re.compile(r'(<!-- settings: (\w+) -->\n).*?(<!-- end of settings -->)', re.S)
HEAD = '| {} | meaning | values | default |\n|---|---|---|---|\n'


def table(rows):
    """The rows of a struct as Markdown, with its keys or its options."""
    name = 'option' if rows[0]['name'].startswith('-') else 'key'
    return HEAD.format(name) + ''.join(
        f'| {names(row["name"])} | {row["meaning"]} | {row["values"]} | {row["default"]} |\n' for row in rows)


def names(text):
    """The names of an option, or a key, as code."""
    return ', '.join(f'`{name}`' for name in text.split(','))


def current(text, settings):
    """A page with its tables as they should be. A table that nobody describes is a KeyError."""
    return MARK.sub(lambda found: found[1] + table(settings[found[2]]) + found[3], text)


def main(file, write=False):
    """The command line."""
    settings = json.loads(pathlib.Path(file).read_text(encoding='utf-8'))
    listed, wrong = set(), []
    for page in sorted(DOCS.rglob('*.md')):
        text = page.read_text(encoding='utf-8')
        listed |= {found[2] for found in MARK.finditer(text)}
        new = current(text, settings)
        if new == text:
            continue
        if write:
            page.write_text(new, encoding='utf-8')
        else:
            wrong.append(f'{page}: settings are not current: tests/support/setting_table.py {file} --write')
    wrong += [f'{name}: no page lists these settings' for name in settings.keys() - listed]
    print('\n'.join(wrong))
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:] == ['--write']))
