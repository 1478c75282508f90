# SPDX-License-Identifier: BSD-3-Clause
"""A page that is hard to find or to read is named: by another title, a title of two pages, no link, or its
length."""

import pathlib
import tempfile
import unittest

from check_links import wrong_titles

MANUAL = {
    'README.md': '# Top\n\n- [A guide](docs/a.md)\n',
    'docs/index.md': '# Manual\n\n- [A guide](a.md)\n- [B](b.md) of two\n',
    'docs/a.md': '# A guide\n',
    'docs/b.md': '# Another guide\n',
    'packaging/longwire.7.md': '# longwire\n\n- A guide: `a.md`\n',
}


class CheckLinks(unittest.TestCase):
    def found(self, **changed):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for path, text in (MANUAL | {key.replace('__', '/') + '.md': text for key, text in changed.items()}).items():
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_text(text, encoding='utf-8')
            return list(wrong_titles(folder))

    def test_nothing_is_wrong(self):
        self.assertEqual(self.found(), [])

    def test_a_list_with_another_title(self):
        (line,) = self.found(README='# Top\n\n- [My guide](docs/a.md)\n')
        self.assertIn('README.md: the title of a.md is "A guide", found "My guide"', line)

    def test_the_man_page_with_another_title(self):
        (line,) = self.found(**{'packaging__longwire.7': '# longwire\n\n- My guide: `a.md`\n'})
        self.assertIn('longwire.7.md: the title', line)

    def test_a_page_that_no_other_links(self):
        (line,) = self.found(docs__b='# Another guide\n[here](b.md)\n', docs__index='# Manual\n')
        self.assertIn('docs/b.md: no other page links to it', line)

    def test_a_picture_that_no_page_shows(self):
        with tempfile.TemporaryDirectory() as name:
            docs = pathlib.Path(name) / 'docs'
            docs.mkdir()
            (docs / 'index.md').write_text('# Manual\n\n![Shown](a.png)\n', encoding='utf-8')
            for picture in 'a.png', 'b.png':
                (docs / picture).write_bytes(b'')
            self.assertEqual(list(wrong_titles(pathlib.Path(name))), ['docs/b.png: no page shows it'])

    def test_two_pages_with_one_title(self):
        (line,) = self.found(docs__b='# A guide\n')
        self.assertIn('docs/b.md: has the title of docs/a.md', line)

    def test_a_page_that_is_too_long(self):
        table, code, section = '| a |\n' * 2001, '```\n' + 'a ' * 2001 + '\n```\n', 'a ' * 490 + '\n# A\n'
        self.assertEqual(self.found(docs__b='# Another guide\n' + table + code + 4 * section), [])
        (line,) = self.found(docs__b='# Another guide\n' + 4 * section + 'a ' * 40)
        self.assertIn('docs/b.md: 2011 words of prose, expected at most 2000', line)
        (line,) = self.found(docs__b='# Another guide\n' + 'a ' * 701)
        self.assertIn('docs/b.md: 704 words without a heading, expected at most 700', line)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
