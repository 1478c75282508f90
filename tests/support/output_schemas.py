# SPDX-License-Identifier: BSD-3-Clause
"""Validates lines of JSON by their schemas, which the build makes of the tables of figures."""

import json

import jsonschema

import longwire_test

FILES = sorted((longwire_test.BUILD / 'packaging').glob('*.json'))
PREFIX = 'longwire.'
SCHEMAS = {file.stem: json.loads(file.read_text(encoding='utf-8')) for file in FILES}
OUTPUTS = set(SCHEMAS)


def validate(line):
    """The name of the schema of a line, a text or what was read of it. Raises AssertionError with
    all that the schema does not allow."""
    row = json.loads(line) if isinstance(line, str) else line
    name = row.get('schema', '').removeprefix(PREFIX) if isinstance(row, dict) else ''
    if name not in OUTPUTS:
        raise AssertionError(f'no schema describes {str(row)[:200]}')
    schema = SCHEMAS[name]
    validator = jsonschema.Draft202012Validator(schema)
    found = [f'{name}: {"/".join(map(str, error.absolute_path))}: {error.message[:300]}'
             for error in validator.iter_errors(row)]
    if found:
        raise AssertionError('\n'.join(found))
    return name
