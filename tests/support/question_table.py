#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What each command asks of its results, from the list that the build makes of the programs' tables:

    question_table.py QUESTIONS [--write]

docs/reference/verdict.md has the tables between two marks; --write writes them again. Prints what
is wrong, and exits with 1 if something is."""

import json
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs/reference/verdict.md'
MARK = re.compile(r'(<!-- questions -->\n).*?(<!-- end of questions -->)', re.S)
ASKED = '| name | commands | asked | beyond it | observed by |\n|---|---|---|---|---|\n'
NAMED = '| name | commands | figure | value |\n|---|---|---|---|\n'


def read(file):
    """The commands of all programs: program, command, verdict, questions."""
    return json.loads(pathlib.Path(file).read_text(encoding='utf-8'))


def names_of(commands):
    """Commands as text: "roce-gen `run`, `receive`; roce-impair `run`"."""
    programs = {}
    for each in commands:
        programs.setdefault(each['program'], []).append(f'`{each["command"]}`')
    return '; '.join(f'{program} {", ".join(names)}' for program, names in programs.items())


def rows_of(commands):
    """Each question once, with the commands that have it."""
    rows = {}
    for command in commands:
        for question in command['questions']:
            rows.setdefault(json.dumps(question), []).append(command)
    return [(json.loads(question), names_of(having)) for question, having in rows.items()]


def beyond(question):
    """What a value beyond the limit is."""
    return 'amber' if question['noted'] else 'red'


def table(commands):
    """The tables as Markdown."""
    judging = [each for each in commands if each['verdict'] and each['questions']]
    reading = [each for each in commands if not each['verdict']]
    silent = [each for each in commands if not each['questions']]
    rows = rows_of(judging)
    text = ASKED + ''.join(
        f'| `{row["name"]}` | {names} | {row["asked"]} | {beyond(row)} | {row["where"]} |\n'
        for row, names in rows if row['asked'])
    text += ('\nFigures with a short name that only an expectation asks for:\n\n' + NAMED + ''.join(
        f'| `{row["name"]}` | {names} | {row["meaning"]} | {row["unit"]} |\n'
        for row, names in rows if not row['asked']))
    text += f'\nThese print no verdict, and say as an error that a file is damaged: {names_of(reading)}.\n'
    return text + f'\nThese ask nothing of a result: {names_of(silent)}.\n'


def mistakes(file, page=PAGE):
    """What is wrong with the page's tables."""
    listed = MARK.search(page.read_text(encoding='utf-8'))
    if listed is None or listed.group(0) != f'{listed.group(1)}{table(read(file))}{listed.group(2)}':
        yield f'{page}: the questions are not current: tests/support/question_table.py {file} --write'


def main(file, write=False):
    """The command line."""
    if write:
        text = PAGE.read_text(encoding='utf-8')
        new = table(read(file))
        PAGE.write_text(MARK.sub(lambda found: found[1] + new + found[2], text), encoding='utf-8')
    found = list(mistakes(file))
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:] == ['--write']))
