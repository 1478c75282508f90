#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the man pages; `meson install` runs it with the folder of the man pages and the programs.

Section 1: what each program prints for --man, from its lists of options. Section 5: the chapters
about profiles of the manuals, from Markdown. Section 7: an overview, from Markdown."""

import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[1]

# Page: its section, the manual, the line of NAME, references.
PAGES = {
    'longwire': (
        '7', 'packaging/longwire.7.md', 'RoCEv2 traffic, long paths and captures',
        'roce-gen(1), roce-impair(1), roce-dissect(1), roce-endpoint(1), longwire-impair-profile(5), '
        'longwire-flow-profile(5)'),
    'longwire-impair-profile': (
        '5', 'docs/reference/impair-profile.md', 'rules, events and scenarios of roce-impair',
        'roce-impair(1), roce-impair-check(1), roce-impair-profiles(1), pcap-filter(7)'),
    'longwire-flow-profile': (
        '5', 'docs/reference/flow-profile.md', 'flows of roce-gen',
        'roce-gen(1), roce-gen-check(1), roce-gen-profiles(1)'),
}
# Chapters that belong to a page and are in another manual: heading, manual, from, to (the end).
MORE = {
    'longwire-flow-profile': [('Bounds', 'docs/reference/roce-gen-run.md', '## Bounds\n', '\n#')],
    'longwire-impair-profile': [
        ('Stages of a rule', 'docs/reference/impair-stages.md', '# Stages of a rule', None),
        ('Queues, pauses and classes', 'docs/reference/impair-queue.md', '# Queues, pauses and classes', None)],
}


def escaped(text):
    text = text.replace('\\', '\\e').replace('-', '\\-')
    return '\\&' + text if text[:1] in ('.', "'") else text


def inline(text):
    """One line of Markdown as roff."""
    text = re.sub(r'\[([^\]]+)\]\([^)]*\)', r'\1', text)
    out = ''
    for piece in re.split(r'(`[^`]+`|\*\*[^*]+\*\*)', text.replace('\\|', '|')):
        mark = '`' if piece.startswith('`') else '**' if piece.startswith('**') else ''
        words = escaped(piece.strip(mark) if mark else piece)
        out += f'\\fB{words}\\fR' if mark and len(piece) > 2 else words
    return '\\&' + out if out[:1] in ('.', "'") else out


def cells_of(line):
    return [cell.strip() for cell in re.split(r'(?<!\\)\|', line.strip().strip('|'))]


def table(lines):
    """A definition list: the first cell, and the others with their headings."""
    headings = cells_of(lines[0])
    for line in lines[2:]:
        first, *others = cells_of(line)
        if not first.strip('` ') or first.isdigit():  # numbered rows
            first, others = others[0], others[1:]
        names = headings[-len(others):]
        texts = [inline(cell) if i == 0 else f'{escaped(names[i])}: {inline(cell)}'
                 for i, cell in enumerate(others) if cell]
        yield from ('.TP', inline(first), '; '.join(texts) or '\\&')


def blocks(text):
    """Paragraphs, tables, code and headings, in order."""
    for part in re.split(r'(```.*?\n```\n)', re.sub(r'<!--.*?-->\n?', '', text), flags=re.S):
        if part.startswith('```'):
            yield 'code', part.split('\n')[1:-2]
            continue
        for block in re.split(r'\n(?:\s*\n)+|\n(?=#|- |\d+\. )', part):
            lines = [line for line in block.split('\n') if line.strip()]
            if lines:
                heading = re.match(r'#+', lines[0])
                yield (heading[0] if heading else lines[0][0] if lines[0][0] in '|-' else 'text',
                       lines)


def roff(text):
    """Markdown as roff, without a title."""
    out = []
    for kind, lines in blocks(text):
        if kind.startswith('##'):
            macro = '.SH' if kind == '##' else '.SS'
            title = inline(lines[0].lstrip('# '))
            out.append(f'{macro} {title.upper() if macro == ".SH" else title}')
            lines = lines[1:]
            if not lines:
                continue
            kind = 'text'
        after_heading = not out or out[-1].startswith(('.SH', '.SS'))
        if kind == 'code':
            out += ([] if after_heading else ['.PP']) + ['.nf', '.RS 4',
                                                         *(escaped(line) for line in lines),
                                                         '.RE', '.fi']
        elif kind == '|':
            out += table(lines)
        elif kind == '-':
            out += ['.IP \\(bu 2', *(inline(line.removeprefix('- ')) for line in lines)]
        else:
            out += ([] if after_heading else ['.PP']) + [inline(line) for line in lines]
    return '\n'.join(out) + '\n'


def manual_page(name, date, version):
    section, manual, purpose, references = PAGES[name]
    text = (SOURCE / manual).read_text(encoding='utf-8')
    body = '## Description\n' + text.split('\n', 1)[1]
    for heading, manual, begin, end in MORE.get(name, ()):
        text = (SOURCE / manual).read_text(encoding='utf-8')
        start = text.index(begin) + len(begin)
        chapter = text[start:text.index(end, start) if end else None]
        body += f'\n\n## {heading}\n\n{re.sub("^## ", "### ", chapter, flags=re.M).strip()}\n'
    seen = ', '.join(f'\\fB{escaped(page[:-3])}\\fR{page[-3:]}' for page in references.split(', '))
    return (f'.TH {escaped(name).upper()} {section} "{date}" "longwire {version}" "longwire"\n'
            f'.SH NAME\n{escaped(name)} \\- {escaped(purpose)}\n{roff(body)}'
            f'.SH SEE ALSO\n{seen}\n')


def output_of(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def pages(programs):
    """(section, file name, text) of each page."""
    date = version = ''
    for program in programs:
        name = pathlib.Path(program).name
        page = output_of(program, '--man')
        date, version = re.match(r'\.TH \S+ 1 "(.*?)" "longwire (.*?)"', page).groups()
        yield '1', f'{name}.1', page
        for line in output_of(program, '--complete', '').splitlines():
            command = line.split('\t')[0]
            yield '1', f'{name}-{command}.1', output_of(program, '--man', command)
    for name, (section, *_) in PAGES.items():
        yield section, f'{name}.{section}', manual_page(name, date, version)


def main():
    folder, *programs = sys.argv[1:]
    top = pathlib.Path(os.environ['MESON_INSTALL_DESTDIR_PREFIX'], folder)
    for section, name, text in pages(programs):
        path = top / f'man{section}' / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
        path.chmod(0o644)


if __name__ == '__main__':
    main()
