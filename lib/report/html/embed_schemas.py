#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes JSON schemas as C++, for lib/report/schema_texts.h: embed_schemas.py OUT SCHEMA.json... Run by meson."""

import json
import pathlib
import sys


def main():
    out, *files = sys.argv[1:]
    rows = []
    for file in sorted(files):
        schema = json.loads(pathlib.Path(file).read_text(encoding='utf-8'))
        text = json.dumps(schema, separators=(',', ':'), ensure_ascii=False)
        if ')json"' in text:
            raise SystemExit(f'embed_schemas.py: {file}: expected no )json", as it would end the literal')
        rows.append(f'    {{"{pathlib.Path(file).stem}", R"json({text})json"}},\n')
    pathlib.Path(out).write_text(
        '#include "report/schema_texts.h"\n\n#include <utility>\n\nnamespace lw::report {\n'
        'namespace {\n\nconstexpr std::pair<std::string_view, std::string_view> kSchemas[] = {\n'
        + ''.join(rows) + '};\n\n}  // namespace\n\n'
        'std::string_view schema_text(std::string_view name) noexcept {\n'
        '  for (const auto& [known, text] : kSchemas)\n    if (known == name) return text;\n'
        '  return {};\n}\n\n}  // namespace lw::report\n', encoding='utf-8')


if __name__ == '__main__':
    main()
