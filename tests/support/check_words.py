# SPDX-License-Identifier: BSD-3-Clause
"""Finds retired names (retired_names.txt) in product code, help texts and manuals.

Exit 1 with one line per occurrence: file, line, the name, and what to write instead."""

import pathlib
import re
import sys

# A text in quotes within code; one of a single word may be the name of a figure, which is an interface.
QUOTED = re.compile(r'"((?:[^"\\\n]|\\.)*)"|\'([^\'\n]* [^\'\n]*)\'|`([^`\n]* [^`\n]*)`')
PROGRAMS_AND_LIBRARY = ('lib', 'gen', 'impair', 'dissect')


def retired(list_file):
    """(compiled pattern, where, replacement) per line of the list."""
    for line in list_file.read_text(encoding='utf-8').splitlines():
        if not line.strip() or line.startswith('#'):
            continue
        pattern, where, replacement = re.split(r'\s{2,}', line.strip(), maxsplit=2)
        yield re.compile(rf'(?<![\w-])(?:{pattern})(?![\w-])'), where, replacement


CHANGES = 'docs/changelog.md'  # what was said before


def files(root):
    for top in PROGRAMS_AND_LIBRARY:
        for path in sorted((root / top).rglob('*')):
            if path.suffix in ('.h', '.cpp', '.md', '.js', '.html'):
                yield path
    for folder in (root, root / 'docs', root / 'docs/reference', root / 'packaging', root / 'pcaps', root / 'tests'):
        yield from sorted(folder.glob('*.md'))
    for script in 'packaging/demo.sh', 'packaging/demo_verdict.py', 'packaging/longwire':
        if (root / script).is_file():
            yield root / script
    yield from sorted((root / 'profiles').rglob('*.toml'))
    yield from sorted((root / 'tests/golden/analysis').glob('*.txt'))


def texts_of(path, line):
    """What users read of a line: of a manual all but code, of a profile or an output all, of code its texts
    with a space."""
    if path.suffix in ('.toml', '.txt'):
        return line
    if path.suffix in ('.md', '.html'):
        return re.sub(r'`[^`]*`', ' ', line)
    return '\n'.join(text for found in QUOTED.findall(re.sub(r'^\s*//.*', '', line)) for text in found if ' ' in text)


def applies(path, where):
    if where == 'texts':
        return str(path) != CHANGES
    if path.parts[:2] == ('docs', 'reference'):
        return False
    if where == 'all':
        return path.suffix in ('.h', '.cpp', '.md')
    if where == 'manuals':
        return path.suffix == '.md'
    if where == 'code':
        return path.suffix in ('.h', '.cpp')
    return path.parts[0] == where and path.suffix not in ('.js', '.html')


def violations(root, list_file):
    names = list(retired(list_file))
    for file in files(root):
        name = file.relative_to(root)
        active = [(pattern, where, new) for pattern, where, new in names if applies(name, where)]
        for number, line in enumerate(file.read_text(encoding='utf-8').splitlines(), 1):
            texts = texts_of(file, line)
            for pattern, where, replacement in active:
                found = pattern.search(texts if where == 'texts' else line)
                if found:
                    yield f'{name}:{number}: "{found[0]}" is retired; write: {replacement}'


def main():
    here = pathlib.Path(__file__).resolve()
    found = list(violations(here.parents[2], here.with_name('retired_names.txt')))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
