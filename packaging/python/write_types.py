#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the types of the package's results: write_types.py SCHEMAS OUT.pyi. Each JSON Schema of the
folder becomes a TypedDict, and so does each object within it, with the meaning of each key."""

import json
import keyword
import pathlib
import sys

PLAIN = {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool', 'null': 'None'}


def class_name(name):
    """"PerfBandwidth" for "perf_bandwidth"."""
    return ''.join(part.capitalize() for part in name.replace('-', '_').split('_'))


class Writer:
    def __init__(self, folder):
        self.folder = folder
        self.classes = []  # texts, those that others use first
        self.names = set()

    def resolved(self, schema, file):
        """The schema that a reference leads to, and its file."""
        while '$ref' in schema:
            name, _, place = schema['$ref'].partition('#')
            file = name or file
            schema = json.loads((self.folder / file).read_text(encoding='utf-8'))
            for key in filter(None, place.split('/')):
                schema = schema[key]
        return schema, file

    def type_of(self, schema, file, name):
        """The Python type of a schema's values; objects become classes called `name`."""
        schema, file = self.resolved(schema, file)
        if 'const' in schema or 'enum' in schema:
            values = schema.get('enum', [schema.get('const')])
            return f'Literal[{", ".join(repr(value) for value in values)}]'
        parts = [self.type_of(part, file, name) for key in ('anyOf', 'oneOf')
                 for part in schema.get(key, [])]
        if parts:
            return ' | '.join(dict.fromkeys(parts))
        types = schema.get('type', [])
        types = [types] if isinstance(types, str) else types
        return ' | '.join(self.simple(schema, file, name, kind) for kind in types) or 'Any'

    def simple(self, schema, file, name, kind):
        if kind == 'array':
            return f'list[{self.type_of(schema.get("items", {}), file, name)}]'
        if kind != 'object':
            return PLAIN[kind]
        if schema.get('properties') or schema.get('allOf'):
            return self.add(schema, file, name)
        more = schema.get('additionalProperties')
        return f'dict[str, {self.type_of(more, file, name) if isinstance(more, dict) else "Any"}]'

    def add(self, schema, file, name):
        """Adds a class. Returns its name."""
        while name in self.names:
            name += '_'
        self.names.add(name)
        lines = [f'class {name}(TypedDict, total=False):',
                 f'    """{schema.get("description", "")}"""']
        parts = [schema, *(self.resolved(part, file)[0] for part in schema.get('allOf', []))]
        properties = {key: value for part in parts
                      for key, value in part.get('properties', {}).items()}
        plain = all(key.isidentifier() and not keyword.iskeyword(key) for key in properties)
        rows = [(key, self.type_of(value, file, name + class_name(key)), value.get('description', ''))
                for key, value in properties.items()]
        if plain:
            lines += [f'    {key}: {kind}  # {meaning}' for key, kind, meaning in rows]
        else:  # keys that are no names
            pairs = ''.join(f'    {key!r}: {kind},  # {meaning}\n' for key, kind, meaning in rows)
            lines = [f'{name} = TypedDict({name!r}, {{\n{pairs}}}, total=False)']
        self.classes.append('\n'.join(lines))
        return name


def main(folder, out):
    writer = Writer(pathlib.Path(folder))
    for file in sorted(writer.folder.glob('*.json')):
        schema = json.loads(file.read_text(encoding='utf-8'))
        if 'schema' in schema.get('properties', {}):
            writer.add(schema, file.name, class_name(file.stem))
    text = ('# SPDX-License-Identifier: BSD-3-Clause\n'
            '# Made by write_types.py of the JSON Schemas of this release.\n'
            'from typing import Any, Literal, TypedDict\n\n\n' + '\n\n\n'.join(writer.classes) + '\n')
    pathlib.Path(out).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main(*sys.argv[1:])
