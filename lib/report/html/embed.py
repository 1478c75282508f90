#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Joins a template, styles and scripts to one web page and writes it as C++, for
lib/report/html_page.h. Run by meson.

The template has these words, each once: @LICENCES@, @POLICY@, @STYLE@, @SCRIPT@ and @DATA@. The policy
allows these styles and scripts by their hashes and nothing else: no network, and no script that a
name in the data brings. A live page (--live) may ask its own server."""

import argparse
import base64
import hashlib
import pathlib


def text_of(paths):
    return '\n'.join(pathlib.Path(path).read_text(encoding='utf-8') for path in paths)


def source(text):
    """What a Content-Security-Policy calls an element's text."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def page(options):
    style, script = text_of(options.style), text_of(options.script)
    for text, end in ((style, '</style'), (script, '</script')):
        if end in text.lower():
            raise SystemExit(f'embed.py: expected no "{end}" in the files, as it would end the element')
    self_only = "connect-src 'self'; "
    policy = (f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; "
              f"{self_only if options.live else ''}"
              "base-uri 'none'; form-action 'none'")
    made = pathlib.Path(options.template).read_text(encoding='utf-8')
    for word, text in (('@LICENCES@', text_of(options.licence)), ('@POLICY@', policy),
                       ('@STYLE@', style), ('@SCRIPT@', script)):
        if made.count(word) != 1:
            raise SystemExit(f'embed.py: {options.template}: expected {word} once')
        made = made.replace(word, text)
    return made.split('@DATA@')


def literal(text):
    if ')page"' in text:
        raise SystemExit('embed.py: expected no )page" in the files, as it would end the literal')
    return f'R"page({text})page"'


def main():
    parser = argparse.ArgumentParser()
    for name in ('--name', '--template', '--out'):
        parser.add_argument(name, required=True)
    for name in ('--style', '--script'):
        parser.add_argument(name, nargs='+', required=True)
    parser.add_argument('--licence', nargs='+', default=[], help='of what others wrote in the page')
    parser.add_argument('--live', action='store_true', help='scripts may ask the server of the page')
    options = parser.parse_args()
    before, after = page(options)
    space, _, name = options.name.rpartition('::')
    pathlib.Path(options.out).write_text(
        f'#include "report/html_page.h"\n\nnamespace {space} {{\n'
        f'extern const report::HtmlPage {name};\n'
        f'const report::HtmlPage {name}{{\n{literal(before)},\n{literal(after)}}};\n'
        f'}}  // namespace {space}\n', encoding='utf-8')


if __name__ == '__main__':
    main()
