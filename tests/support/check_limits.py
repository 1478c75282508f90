#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the headers of limits, and that the manual quotes them as they are.

    check_limits.py [--write] [FOLDER]

Each constant of a limits.h has a comment of `///`, which the constants of the next lines share, and is
used outside the headers of limits:

    /// Longest request with its head, in bytes: a change of every key of a rule takes 6 KiB.
    inline constexpr std::size_t kMostRequest = std::size_t{20} << 10;

A page of the manual quotes a header, or some of its constants, between these two lines:

    <!-- limits: lib/net/limits.h [NAME...] -->
    <!-- end of limits -->

docs/security.md quotes all headers. --write writes the tables again, and appends those that
docs/security.md lacks. Prints FILE:LINE and what is wrong; exits with 1 if something is."""

import argparse
import ast
import dataclasses
import operator
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ('lib', 'gen', 'impair', 'dissect')
SECURITY = pathlib.Path('docs/security.md')
MARK = re.compile(r'(<!-- limits: (\S+)((?: \w+)*) -->\n).*?(<!-- end of limits -->)', re.S)
CONSTANT = re.compile(r'((?:^ *///.*\n)*)^ *inline constexpr\s+([\w:]+)\s+(\w+)\s*(?:=\s*)?([^;]+);',
                      re.M)
DURATION = re.compile(r'(?:std::chrono::)?(hours|minutes|seconds|milliseconds|microseconds|'
                      r'nanoseconds)[({](.*)[)}]')
SHORT = {'hours': 'h', 'minutes': 'min', 'seconds': 's', 'milliseconds': 'ms',
         'microseconds': 'us', 'nanoseconds': 'ns'}
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.LShift: operator.lshift, ast.FloorDiv: operator.floordiv}


class WrongLimits(Exception):
    """A header of limits, or a page that quotes one, is not as it should be: FILE:LINE: why."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """A constant of a header of limits."""
    name: str
    value: int
    unit: str  # of a duration: "s"; "" for a number
    comment: str
    where: str  # FILE:LINE

    def shown(self):
        """The value with its unit, which is bytes if the comment says so before its first colon: in
        KiB, MiB ... where that is exact."""
        if self.unit:
            return f'{self.value:,} {self.unit}'
        if 'bytes' in self.comment.partition(':')[0]:
            for bits, prefix in ((50, 'PiB'), (40, 'TiB'), (30, 'GiB'), (20, 'MiB'), (10, 'KiB')):
                if self.value and self.value % (1 << bits) == 0:
                    return f'{self.value >> bits:,} {prefix}'
            return f'{self.value:,} B'
        return f'{self.value:,}'


def number_of(text, known):
    """The value of a C++ expression of integers, of + - * / << and of constants before it."""
    text = re.sub(r'\bstd::(?:size_t|u?int\d+_t)\{([^{}]*)\}', r'(\1)', text).replace('/', '//')
    text = re.sub(r"(?<=\d)'(?=\d)", '', text)
    text = re.sub(r'\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b', r'\1', text)

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name) and node.id in known:
            return known[node.id].value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise ValueError(text)

    return value(ast.parse(text.strip(), mode='eval').body)


def value_of(kind, text, known):
    """(number, unit) of a constant of type `kind`, from its initializer."""
    text = ' '.join(text.split())
    if text.startswith('{') and text.endswith('}'):
        text = text[1:-1]
    if duration := DURATION.fullmatch(text):
        return number_of(duration[2], known), SHORT[duration[1]]
    return number_of(text, known), SHORT.get(kind.removeprefix('std::chrono::'), '')


def read_header(path, name):
    """{name: Limit} of a header, which error messages call `name`."""
    text, limits = path.read_text(encoding='utf-8'), {}
    comment, end = '', 0  # of the constant before
    for found in CONSTANT.finditer(text):
        lines = [line.strip().removeprefix('///').strip() for line in found[1].splitlines()]
        if lines or text[end:found.start()] != '\n':
            comment = ' '.join(lines)
        end = found.end()
        where = f'{name}:{text.count(chr(10), 0, found.start(3)) + 1}'
        if not comment:
            raise WrongLimits(f'{where}: {found[3]}: expected a comment of "///" before it, found none')
        try:
            number, unit = value_of(found[2], found[4], limits)
        except (ValueError, SyntaxError, ZeroDivisionError):
            raise WrongLimits(f'{where}: {found[3]}: expected integers with + - * / <<, or a duration '
                              f'of std::chrono, found {" ".join(found[4].split())}') from None
        limits[found[3]] = Limit(found[3], number, unit, comment, where)
    if len(limits) != text.count('constexpr'):
        raise WrongLimits(f'{name}:1: expected each constexpr as "inline constexpr TYPE NAME = VALUE;"')
    return limits


def read_headers(folder=SOURCE):
    """{path within the folder: {name: Limit}} of all headers of limits."""
    paths = sorted(path for top in PRODUCT for path in (folder / top).rglob('limits.h'))
    names = [path.relative_to(folder).as_posix() for path in paths]
    return {name: read_header(path, name) for name, path in zip(names, paths)}


def unused(folder, headers):
    """Complaints about constants that no other file uses."""
    text = '\n'.join(path.read_text(encoding='utf-8') for top in PRODUCT
                     for path in (folder / top).rglob('*')
                     if path.suffix in ('.h', '.cpp') and path.name != 'limits.h')
    words = set(re.findall(r'\bk\w+', text))
    return [f'{limit.where}: {limit.name} is used nowhere: use it or delete it'
            for limits in headers.values() for limit in limits.values() if limit.name not in words]


def table(limits):
    rows = [(f'`{limit.name}`', limit.shown(), limit.comment.replace('|', '\\|')) for limit in limits]
    return '| limit | value | what it bounds |\n|---|---|---|\n' + ''.join(
        f'| {" | ".join(row)} |\n' for row in rows)


def quoted(text, page, headers):
    """A page with its tables written again, and the headers that it quotes as a whole."""
    whole = set()

    def replace(mark):
        where = f'{page}:{text.count(chr(10), 0, mark.start()) + 1}'
        if mark[2] not in headers:
            raise WrongLimits(f'{where}: expected a header of limits, found {mark[2]}')
        limits, names = headers[mark[2]], mark[3].split()
        if wrong := [name for name in names if name not in limits]:
            raise WrongLimits(f'{where}: {mark[2]} has no constant {wrong[0]}')
        if not names:
            whole.add(mark[2])
        return mark[1] + table(limits[name] for name in names or limits) + mark[4]

    return MARK.sub(replace, text), whole


def pages(folder):
    """The pages of the manual."""
    found = [*(folder / 'docs').rglob('*.md')]
    for top in PRODUCT:
        found += (folder / top).rglob('*.md')
    return sorted(found)


def append_missing(folder, headers):
    """Adds an empty table of each header that docs/security.md does not quote as a whole."""
    path = folder / SECURITY
    text = path.read_text(encoding='utf-8')
    for name in sorted(set(headers) - quoted(text, SECURITY, headers)[1]):
        text += f'\n`{name}`:\n\n<!-- limits: {name} -->\n<!-- end of limits -->\n'
    path.write_text(text, encoding='utf-8')


def check(folder, write):
    """Complaints about all headers and pages; with `write`, tables are written again."""
    headers = read_headers(folder)
    complaints, of_security = unused(folder, headers), set()
    if write:
        append_missing(folder, headers)
    for path in pages(folder):
        page = path.relative_to(folder)
        before = path.read_text(encoding='utf-8')
        after, whole = quoted(before, page, headers)
        if page == SECURITY:
            of_security = whole
        if after != before and write:
            path.write_text(after, encoding='utf-8')
            print(f'{page}: rewritten')
        elif after != before:
            complaints.append(f'{page}:1: its limits are not those of the headers: run '
                              'tests/support/check_limits.py --write')
    complaints += [f'{SECURITY}:1: expected a table of {name}, <!-- limits: {name} -->, found none: run '
                   'tests/support/check_limits.py --write' for name in headers if name not in of_security]
    return complaints


def main(words):
    parser = argparse.ArgumentParser(prog='check_limits.py', description=__doc__.splitlines()[0])
    parser.add_argument('--write', action='store_true', help='write the tables again')
    parser.add_argument('folder', nargs='?', type=pathlib.Path, default=SOURCE)
    options = parser.parse_args(words)
    try:
        complaints = check(options.folder, options.write)
    except WrongLimits as error:
        complaints = [str(error)]
    print(*complaints, sep='\n', end='\n' if complaints else '')
    return 1 if complaints else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
