# SPDX-License-Identifier: BSD-3-Clause
"""Retired words are found in what users read, and only there; names in use are not."""

import pathlib
import tempfile
import unittest

import check_words

LIST = pathlib.Path(check_words.__file__).with_name('retired_names.txt')


class CheckWords(unittest.TestCase):
    FOUND = (
        ('lib/a.cpp', 'print("{} packets resent");', 'retransmitted'),
        ('lib/a.cpp', 'print("they were sent again");', 'retransmitted'),
        ('dissect/a.cpp', 'print("2 packets were sent 3 packets again");', 'retransmitted'),
        ('dissect/report/a.js', "text('packets re-sent');", 'retransmitted'),
        ('dissect/report/a.js', 'const text = `session ${row.number}`;', 'connection'),
        ('docs/guide.md', 'Session 2 has lost packets.', 'connection'),
        ('docs/guide.md', '$ roce-dissect sessions a.pcap', 'connections'),
        ('gen/README.md', 'frames never seen here', 'lost before they were read'),
        ('impair/a.html', '<td>passed untouched</td>', 'passed unchanged'),
        ('README.md', 'the largest extent of reordering', 'reordering extent'),
        ('docs/reference/page.md', 'counted as in the study', 'first post'),
        ('gen/a.cpp', 'print("1 connections");', 'counted()'),
        ('docs/start.md', 'lost: 1 frames', 'counted()'),
        ('docs/start.md', 'configured      1 QPs, 128 messages', 'counted()'),
        ('tests/golden/analysis/a.txt', 'at most 1 READs and atomics at once', 'counted()'),
        ('profiles/flows/a.toml', '# packets that are sent again', 'retransmitted'),
        ('lib/a.h', 'class Lane {};', 'Link'),
        ('impair/b.cpp', '// it will linger', 'drain'),
    )
    NOT_FOUND = (
        ('lib/a.cpp', 'constexpr auto kName = "resent";'),  # the name of a figure
        ('lib/a.cpp', 'counts.resent += 1;  // sent again'),  # not what a user reads
        ('docs/guide.md', 'The key `resent` of a statement'),
        ('docs/guide.md', 'a session of the server, and its connections'),
        ('docs/changelog.md', 'packets that are sent again'),  # what was said before
        ('docs/start.md', '1 frame, 11 frames, 0.1 frames and 1-1 frames'),
        ('docs/guide.md', 'the reordering extent of 3 packets'),
        ('tests/e2e/a.py', 'print("packets resent")'),
    )

    def found(self, name, line):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text('\n' + line + '\n', encoding='utf-8')
            return list(check_words.violations(root, LIST))

    def test_retired_words_have_a_place_and_a_replacement(self):
        for name, line, replacement in self.FOUND:
            with self.subTest(line):
                found = self.found(name, line)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(f'{name}:2: "'), found)
                self.assertIn(replacement, found[0])

    def test_words_in_use(self):
        for name, line in self.NOT_FOUND:
            with self.subTest(line):
                self.assertEqual(self.found(name, line), [])


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
