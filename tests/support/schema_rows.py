#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares JSON Schemas as sets of rows (path, type, required, unit, description):
schema_rows.py OLD_FOLDER NEW_FOLDER [NAME...]. Prints the rows that only one side has, "-" of the old
and "+" of the new; exit 1 if there are any. References to other schemas are followed."""

import json
import pathlib
import re
import sys

UNIT = re.compile(r', in (ns|us|s|bytes|bits per second|km|percent)\b')


def resolved(schema, folder, file):
    """The schema that a reference leads to, with the reference's own description."""
    while '$ref' in schema:
        name, _, place = schema['$ref'].partition('#')
        file = name or file
        found = json.loads((folder / file).read_text(encoding='utf-8'))
        for key in filter(None, place.split('/')):
            found = found[key]
        own = {key: value for key, value in schema.items() if key != '$ref'}
        schema = {**found, **own}
    return schema, file


def kinds(schema):
    """The types of a schema's values, as a text."""
    if 'const' in schema:
        return f'const {schema["const"]}'
    if 'enum' in schema:
        return 'string'
    types = schema.get('type', 'any')
    return ' or '.join(sorted(types)) if isinstance(types, list) else types


def unit_of(schema):
    """The unit that the schema names, by its key or in its description."""
    found = UNIT.search(schema.get('description', ''))
    named = schema.get('unit', '')
    return found.group(1) if found else named if named not in ('frames', 'bytes') else ''


def rows(schema, folder, file, path='', required=True):
    """All rows of a schema."""
    schema, file = resolved(schema, folder, file)
    yield path, kinds(schema), required, unit_of(schema), schema.get('description', '')
    for key, value in schema.get('properties', {}).items():
        yield from rows(value, folder, file, f'{path}.{key}', key in schema.get('required', []))
    for part in schema.get('allOf', []):
        yield from list(rows(part, folder, file, path))[1:]
    for place, key in (('[]', 'items'), ('{}', 'additionalProperties')):
        if isinstance(schema.get(key), dict):
            yield from rows(schema[key], folder, file, path + place)


def rows_of(folder, name):
    """All rows of the schema of a name in a folder."""
    folder = pathlib.Path(folder)
    file = f'{name}.json'
    if not (folder / file).exists():  # an output that only the other side has
        return set()
    return set(rows(json.loads((folder / file).read_text(encoding='utf-8')), folder, file))


def main():
    old, new, *names = sys.argv[1:]
    names = names or sorted(file.stem for file in pathlib.Path(new).glob('*.json'))
    differs = False
    for name in names:
        before, after = rows_of(old, name), rows_of(new, name)
        differs |= before != after
        for sign, only in (('-', before - after), ('+', after - before)):
            for row in sorted(only):
                print(sign, name, *row, sep=' | ')
    return int(differs)


if __name__ == '__main__':
    sys.exit(main())
