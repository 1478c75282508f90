#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A described setting has one meaning: in the help of each command that has its option, and in the schema
of each output that has its key.

    check_meanings.py SETTINGS BUILD

SETTINGS: the list that the build makes of the rows. BUILD: the folder with the programs and schemas.
Prints what has another meaning, and exits with 1 if something does."""

import json
import pathlib
import re
import subprocess
import sys

# Keys of outputs and options that are something else under the same name: where, and what.
OTHERS = {
    'qps': {'perf_network': 'of each pair of hosts', 'perf_ranks': 'of each pair of ranks', 'rank': 'a list of QPs',
            'ranks': 'a list of QPs', 'send': 'a list of QPs', 'summary': 'frames by QP', 'live': 'QPs that a row sums up',
            'roce-endpoint': 'at most those of one hand-over'},
    'rate_bps': {'impair_check': 'the rate of a line', 'roce-endpoint': 'of a device'},
    'reads': {'roce-endpoint': 'at most those of a device'},
    'timeout': {'roce-endpoint': 'of both sides', 'roce-gen telemetry': 'of the writer'},
    'retries': {'roce-endpoint': 'soft-RoCE takes 7 as endless', 'roce-gen telemetry': 'of the writer'},
    'tx_depth': {'roce-gen telemetry': 'records in flight'},
}

# Tables of a file whose keys have a meaning only there: "rate" of a link, and of a policer.
LOCAL = ('network_', 'stage_')


def meanings_of_schema(schema):
    """(key, meaning) of each property, at any depth."""
    for key, value in schema.get('properties', {}).items():
        if 'description' in value:
            yield key, value['description']
        yield from meanings_of_schema(value)
    if isinstance(schema.get('items'), dict):
        yield from meanings_of_schema(schema['items'])


def commands_of(program):
    """Names of the program's commands."""
    text = subprocess.run([program, '--help'], check=True, capture_output=True, text=True).stdout
    listed = re.search(r'^Subcommands:\n((?:  .*\n)+)', text, re.M)
    return re.findall(r'^  (\S+)', listed[1], re.M) if listed else []


def meanings_of_help(program, command):
    """(option, meaning) of each option of a command, without its default."""
    text = subprocess.run([program, command, '--help-all'], check=True, capture_output=True, text=True).stdout
    for names, meaning in re.findall(r'^  (-\S+)(?: \S+)?  +(.*)$', text, re.M):
        yield names.split(',')[-1], re.sub(r' \(default: .*\)$', '', meaning)


def plain(text):
    """A meaning without what its outputs add to it: case of the first letter, full stop, unit."""
    text = re.sub(r', in (ns|us|Mb/s|bits per second|bytes)\b', '', text.strip().rstrip('.'))
    return text[:1].lower() + text[1:]


def main(settings, build):
    """The command line."""
    build = pathlib.Path(build)
    tables = json.loads(pathlib.Path(settings).read_text(encoding='utf-8'))
    rows = [row for name, table in tables.items() if not name.startswith(LOCAL) for row in table]
    found = [(path.stem, key, meaning) for path in sorted((build / 'packaging').glob('*.json'))
             for key, meaning in meanings_of_schema(json.loads(path.read_text(encoding='utf-8')))]
    options = [(f'{program.name} {command}', option, meaning)
               for program in (build / 'gen/roce-gen', build / 'gen/roce-endpoint')
               for command in commands_of(program) for option, meaning in meanings_of_help(program, command)]
    wrong = []
    for row in rows:
        option = row['name'].split(',')[-1]
        places = [place for place in found if place[1] == row['key']]
        if option.startswith('--'):
            places += [place for place in options if place[1] == option]
        others = OTHERS.get(row['key'], {})
        for place, key, meaning in places:
            if plain(meaning) != plain(row['meaning']) and not any(place.startswith(o) for o in others):
                wrong.append(f'{place}: {key} is "{meaning}", but its row says "{row["meaning"]}"')
    print('\n'.join(wrong))
    return 1 if wrong or not rows or not options else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
