#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The index of all options of the programs, from the tables of the manual's pages:

    option_index.py [--write]

docs/reference/options.md is the index between two marks; --write writes it again. Prints what is wrong,
and exits with 1 if the index is old."""

import collections
import itertools
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / 'docs/reference'
PAGE = FOLDER / 'options.md'
MARK = re.compile(r'(<!-- options -->\n).*?(<!-- end of options -->)', re.S)
HEAD = '| option | what it is, on the first of its pages | pages |\n|---|---|---|\n'
OPTION = re.compile(r'(?<![\w-])(--[a-z][\w-]*)')
CODE = re.compile(r'`([^`]*)`')
MOST = 90  # characters of an explanation


def rows_of(text):
    """(first cell, second cell) of each row of each table."""
    for line in re.sub(r'^```.*?^```', '', text, flags=re.M | re.S).split('\n'):
        cells = [cell.strip() for cell in re.split(r'(?<!\\)\|', line.strip().strip('|'))]
        if line.startswith('|') and len(cells) > 1:
            yield cells[0], cells[1]


def in_short(text):
    """The beginning of an explanation, without links."""
    text = re.sub(r'\[([^\]]*)\]\([^)]*\)', r'\1', text)
    short = re.split(r'(?<=[^.])\. |; |: see ', text)[0].rstrip('.:')
    if len(short) > MOST:
        short = short[:MOST].rsplit(' ', 1)[0] + ' ...'
    if short.count('(') > short.count(')'):
        short = short.rsplit(' (', 1)[0]
    return short + '`' if short.count('`') % 2 else short


def options():
    """Each option with its explanation and its pages: those whose tables have it in their first column."""
    found = collections.OrderedDict()
    for page in sorted(FOLDER.glob('*.md')):
        if page == PAGE:
            continue
        text = page.read_text(encoding='utf-8')
        title = text.split('\n', 1)[0].removeprefix('# ').split(':')[0]
        for first, second in rows_of(text):
            names = [name for code in CODE.findall(first) for name in OPTION.findall(code)]
            for name in dict.fromkeys(names):
                meaning, pages = found.setdefault(name, (in_short(second), {}))
                pages[title] = page.name
    return found


def row(name, meaning, pages):
    """A row of the index."""
    links = ', '.join(f'[{title}]({page})' for title, page in pages.items())
    return f'| `{name}` | {meaning} | {links} |\n'


def index():
    """The index as Markdown: a table for each first letter."""
    by_letter = itertools.groupby(sorted(options().items()), key=lambda option: option[0][2].upper())
    return ''.join(f'## {letter}\n\n{HEAD}{"".join(row(name, *found) for name, found in rows)}\n'
                   for letter, rows in by_letter)


def main(words):
    """Compares the page with the index, or writes it."""
    text = PAGE.read_text(encoding='utf-8')
    right = MARK.sub(lambda match: match[1] + index() + match[2], text)
    if words == ['--write']:
        PAGE.write_text(right, encoding='utf-8')
    elif right != text:
        print(f'{PAGE.relative_to(FOLDER.parents[1])}: the index is old; write it: '
              'python3 tests/support/option_index.py --write')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
