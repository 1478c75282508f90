# SPDX-License-Identifier: BSD-3-Clause
"""Limits that the manual quotes are those of the headers, and none of them is unused."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import check_limits

HEADER = '''// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace lw::net {

/// Longest request with its head, in bytes: a change of every key of a rule takes 6 KiB.
inline constexpr std::size_t kMostRequest = std::size_t{20} << 10;

/// Clients that are connected at once.
/// Further ones take the place of the longest idle one: each has 4096 bytes.
inline constexpr std::size_t kMostClients = 2'560 / 10;

/// Memory of all clients, in bytes.
inline constexpr std::uint64_t kMostMemory = kMostClients * kMostRequest + 1;

/// Longest time without progress.
inline constexpr auto kLongestIdle = std::chrono::seconds(10);
/// Longest answer time.
inline constexpr std::chrono::milliseconds kLongestAnswer{2 * 1'000};
inline constexpr auto kLongestWait = std::chrono::hours(1);

}  // namespace lw::net
'''
USES = 'kMostRequest kMostClients kMostMemory kLongestIdle kLongestAnswer kLongestWait'
PAGE = 'Before.\n<!-- limits: lib/net/limits.h -->\nold\n<!-- end of limits -->\nAfter.\n'


class CheckLimits(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.write('lib/net/limits.h', HEADER)
        self.write('gen/main.cpp', USES)
        self.write('docs/security.md', PAGE)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding='utf-8')
        return path

    def check(self, *options):
        """(exit code, what was printed)"""
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = check_limits.main([*options, str(self.folder)])
        return code, out.getvalue()

    def test_values_are_those_of_the_compiler(self):
        limits = check_limits.read_headers(self.folder)['lib/net/limits.h']
        self.assertEqual({name: (limit.value, limit.unit) for name, limit in limits.items()},
                         {'kMostRequest': (20480, ''), 'kMostClients': (256, ''),
                          'kMostMemory': (256 * 20480 + 1, ''), 'kLongestIdle': (10, 's'),
                          'kLongestAnswer': (2000, 'ms'), 'kLongestWait': (1, 'h')})

    def test_a_page_is_written_once_and_is_current_then(self):
        code, said = self.check()
        self.assertEqual((code, said.startswith('docs/security.md:1:')), (1, True), said)
        self.assertEqual(self.check('--write'), (0, 'docs/security.md: rewritten\n'))
        page = (self.folder / 'docs/security.md').read_text(encoding='utf-8')
        self.assertIn('| `kMostRequest` | 20 KiB | Longest request with its head, in bytes: a change of '
                      'every key of a rule takes 6 KiB. |\n', page)
        self.assertIn('| `kMostClients` | 256 | Clients that are connected at once. Further ones take',
                      page)
        self.assertIn('| `kMostMemory` | 5,242,881 B |', page)
        self.assertIn('| `kLongestAnswer` | 2,000 ms | Longest answer time. |\n'
                      '| `kLongestWait` | 1 h | Longest answer time. |\n', page)
        self.assertTrue(page.startswith('Before.\n') and page.endswith('<!-- end of limits -->\nAfter.\n'))
        self.assertEqual(self.check('--write'), (0, ''))
        self.write('lib/net/limits.h', HEADER.replace('{20}', '{21}'))
        self.assertEqual(self.check()[0], 1)

    def test_a_header_that_no_page_quotes_is_added(self):
        self.write('docs/security.md', 'Before.\n')
        self.assertEqual(self.check('--write')[0], 0)
        page = (self.folder / 'docs/security.md').read_text(encoding='utf-8')
        self.assertTrue(page.startswith('Before.\n\n`lib/net/limits.h`:\n\n<!-- limits: lib/net/limits.h'))
        self.assertEqual(self.check(), (0, ''))

    def test_other_pages_quote_some_constants(self):
        self.check('--write')
        page = self.write('gen/README.md',
                          '<!-- limits: lib/net/limits.h kLongestIdle -->\n<!-- end of limits -->\n')
        self.assertEqual(self.check()[0], 1)
        self.check('--write')
        self.assertEqual(page.read_text(encoding='utf-8').count('| `k'), 1)
        self.assertEqual(self.check(), (0, ''))

    def test_what_is_wrong_is_named_with_its_place(self):
        self.check('--write')
        for name, text, where in (
                ('gen/main.cpp', USES.replace('kMostClients', 'x'), 'lib/net/limits.h:11: kMostClients'),
                ('lib/net/limits.h', HEADER.replace('/// Longest answer time.\n', '\n'),
                 'lib/net/limits.h:19: kLongestAnswer: expected a comment'),
                ('lib/net/limits.h', HEADER.replace('{20} << 10', '{size_of(x)}'),
                 'lib/net/limits.h:7: kMostRequest: expected integers'),
                ('lib/net/limits.h', HEADER.replace('inline constexpr auto', 'constexpr auto'),
                 'lib/net/limits.h:1: expected each constexpr'),
                ('docs/security.md', 'Nothing.\n', 'docs/security.md:1: expected a table of lib/net'),
                ('docs/security.md', PAGE.replace('lib/net', 'lib/nat'),
                 'docs/security.md:2: expected a header of limits, found lib/nat/limits.h'),
                ('docs/other.md', PAGE.replace(' -->\nold', ' kNone -->\nold'),
                 'docs/other.md:2: lib/net/limits.h has no constant kNone')):
            with self.subTest(where):
                path = self.folder / name
                before = path.read_text(encoding='utf-8') if path.exists() else None
                self.write(name, text)
                code, said = self.check()
                self.assertEqual(code, 1)
                self.assertIn(where, said)
                path.unlink() if before is None else self.write(name, before)
        self.assertEqual(self.check(), (0, ''))


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
