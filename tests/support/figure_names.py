#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The names of figures, from the JSON Schemas that the build makes of the tables:

    figure_names.py SCHEMAS [--write]

docs/reference/figure-names.md lists them between two marks; --write writes the list again. Prints what
is wrong, and exits with 1 if something is: an old list, two spellings of one name (the same words in
another order), or a name with two units."""

import collections
import json
import pathlib
import re
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs/reference/figure-names.md'
MARK = re.compile(r'(<!-- names of figures -->\n).*?(<!-- end of names -->)', re.S)
HEAD = '| name | unit | outputs |\n|---|---|---|\n'


class Names:
    """Names of figures with their units and outputs."""

    def __init__(self):
        self.units = collections.defaultdict(set)
        self.outputs = collections.defaultdict(set)

    def add(self, schema, output):
        """Adds the names below a schema. Fields of frames have dots; schema and version are in all; names
        of the release before are deprecated."""
        for name, value in schema.get('properties', {}).items():
            if value.get('deprecated'):
                continue
            if '.' not in name and name not in ('schema', 'version'):
                self.outputs[name].add(output)
                self.units[name] |= {value['unit']} if 'unit' in value else set()
            self.add(value, output)
        for part in schema.get('allOf', []):
            self.add(part, output)
        for key in ('items', 'additionalProperties'):
            if isinstance(schema.get(key), dict):
                self.add(schema[key], output)

    def mistakes(self):
        """A line for each name that has two spellings or two units."""
        spelt = collections.defaultdict(set)
        for name in self.outputs:
            if '_to_' not in name:  # a direction: its reverse is another figure
                spelt[tuple(sorted(name.split('_')))].add(name)
        for names in spelt.values():
            if len(names) > 1:
                yield f'two spellings of a figure: {", ".join(sorted(names))}'
        for name, units in self.units.items():
            if len(units) > 1:
                yield f'two units of a figure: {name} in {", ".join(sorted(units))}'

    def table(self):
        """The list as Markdown."""
        return HEAD + ''.join(
            f'| `{name}` | {", ".join(sorted(self.units[name]))} | {", ".join(sorted(outputs))} |\n'
            for name, outputs in sorted(self.outputs.items()))


def read(folder):
    """The names of all schemas of a folder."""
    names = Names()
    for file in sorted(pathlib.Path(folder).glob('*.json')):
        names.add(json.loads(file.read_text(encoding='utf-8')), file.stem)
    return names


def mistakes(folder, page=PAGE):
    """What is wrong with the names of a folder's schemas, and with the page's list of them."""
    names = read(folder)
    yield from sorted(names.mistakes())
    listed = MARK.search(page.read_text(encoding='utf-8'))
    if listed is None or listed.group(0) != f'{listed.group(1)}{names.table()}{listed.group(2)}':
        yield f'{page}: the list of figures is not current: tests/support/figure_names.py {folder} --write'


def main(folder, write=False):
    """The command line."""
    if write:
        table = read(folder).table()
        text = PAGE.read_text(encoding='utf-8')
        PAGE.write_text(MARK.sub(lambda found: found[1] + table + found[2], text), encoding='utf-8')
    found = list(mistakes(folder))
    print('\n'.join(found))
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2:] == ['--write']))
