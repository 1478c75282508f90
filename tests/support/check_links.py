#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that each relative link of the manuals leads to a file of the tree, and to a heading in it, and
that each test that they name as code (`tests/...`) is there. Of the pages in docs/: each has a title of
its own, another page links to each, a list names each by its title, the one of man longwire too, and
its prose is short enough to be read. A page shows each picture.

    check_links.py [FOLDER]

Prints FILE:LINE and the link of each that does not; exits with 1 if there is one."""

import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ('.png', '.svg')
LINK = re.compile(r'(?:!?\[[^\]]*\]\(|<source [^>]*srcset=")([^")\s]+)[")]', re.S)
TEST = re.compile(r'`(tests/[^`\s]*)`')
# An item of a list that is a link and nothing else.
LISTED = re.compile(r'^- \[([^\]\n]+)\]\(([^)#\s]+\.md)\)$', re.M)
MOST_WORDS = 2000  # of a page's prose: without tables and code
MOST_WITHOUT_HEADING = 700  # words in a row
LOGS = ('changelog.md',)  # grow for ever, and are searched rather than read
OVERVIEW = 'packaging/longwire.7.md'
IN_OVERVIEW = re.compile(r'^- (.+): `([\w-]+\.md)`$', re.M)


def manuals(folder):
    """All Markdown files but those of builds."""
    return [file for file in sorted(folder.rglob('*.md'))
            if not file.relative_to(folder).parts[0].startswith(('build', '.'))]


def without_code(text):
    """Code keeps its lines and loses their text, so that line numbers stay."""
    text = re.sub(r'^```.*?^```', lambda code: '\n' * code[0].count('\n'), text, flags=re.M | re.S)
    return re.sub(r'`[^`\n]*`', 'code', text)


def anchors_of(file):
    """The headings of a file as GitHub and mkdocs name them in a link."""
    text = re.sub(r'^```.*?^```', '', file.read_text(encoding='utf-8'), flags=re.M | re.S)
    titles = re.findall(r'^#+ (.*)$', text, re.M)
    return {re.sub(r'[^\w\- ]', '', title.lower()).replace(' ', '-') for title in titles}


def is_good(file, target):
    """The link TARGET, in a manual FILE."""
    if re.match(r'[a-z]+:', target):
        return True
    path, _, anchor = target.partition('#')
    found = (file.parent / path).resolve() if path else file
    if not found.exists():
        return False
    return not anchor or (found.is_file() and anchor in anchors_of(found))


def dead_ends(file, folder):
    """(line, link or test) of each that is not there."""
    original = file.read_text(encoding='utf-8')
    text = without_code(original)
    found = [(text, link) for link in LINK.finditer(text) if not is_good(file, link[1])]
    found += [(original, test) for test in TEST.finditer(original) if not (folder / test[1]).exists()]
    for within, match in found:
        yield within.count('\n', 0, match.start()) + 1, match[1]


def title_of(page):
    return page.read_text(encoding='utf-8').split('\n', 1)[0].removeprefix('# ')


def words_of_sections(page):
    """How many words the page has outside tables and code, of each heading and what is below it."""
    lines = re.sub(r'^```.*?^```', '', page.read_text(encoding='utf-8'), flags=re.M | re.S).split('\n')
    words = [0]
    for line in lines:
        if line.startswith('#'):
            words.append(0)
        words[-1] += 0 if line.lstrip().startswith('|') else len(line.split())
    return words


def long_prose(name, words):
    """A line for a page, and for a section, of more words than one reads."""
    if sum(words) > MOST_WORDS:
        yield f'{name}: {sum(words)} words of prose, expected at most {MOST_WORDS}'
    if max(words) > MOST_WITHOUT_HEADING:
        yield f'{name}: {max(words)} words without a heading, expected at most {MOST_WITHOUT_HEADING}'


def listed_pages(folder):
    """(manual, text, page) of each item of a list that names a page."""
    for file in manuals(folder):
        for text, target in LISTED.findall(file.read_text(encoding='utf-8')):
            yield file, text, (file.parent / target).resolve()
    overview = folder / OVERVIEW
    if overview.exists():
        for text, name in IN_OVERVIEW.findall(overview.read_text(encoding='utf-8')):
            yield overview, text, folder / 'docs' / name


def linked_pages(folder):
    """The pages that another page links to."""
    found = set()
    for file in manuals(folder):
        for link in LINK.finditer(without_code(file.read_text(encoding='utf-8'))):
            target = (file.parent / link[1].partition('#')[0]).resolve()
            if target != file.resolve():
                found.add(target)
    return found


def wrong_titles(folder):
    """A line of text for each page of docs/ that is hard to find."""
    for file, text, page in listed_pages(folder):
        if page.exists() and text != title_of(page):
            yield f'{file.relative_to(folder)}: the title of {page.name} is "{title_of(page)}", found "{text}"'
    pages, titles = sorted((folder / 'docs').rglob('*.md')), {}
    linked = linked_pages(folder)
    for page in pages:
        name = page.relative_to(folder)
        if page.name not in LOGS:
            yield from long_prose(name, words_of_sections(page))
        if page.name != 'index.md' and page.resolve() not in linked:
            yield f'{name}: no other page links to it'
        if titles.setdefault(title_of(page), name) != name:
            yield f'{name}: has the title of {titles[title_of(page)]}'
    for picture in sorted((folder / 'docs').rglob('*')):
        if picture.suffix in PICTURES and picture.resolve() not in linked:
            yield f'{picture.relative_to(folder)}: no page shows it'


def main(folder):
    """Checks all manuals of a folder."""
    wrong = 0
    for line in wrong_titles(folder):
        print(line)
        wrong += 1
    for file in manuals(folder):
        for line, target in dead_ends(file, folder):
            print(f'{file.relative_to(folder)}:{line}: leads nowhere: {target}')
            wrong += 1
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE))
