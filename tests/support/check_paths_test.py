# SPDX-License-Identifier: BSD-3-Clause
"""A path that leads out of the source tree is found, in whatever language it stands."""

import unittest

from check_paths import paths_outside


class CheckPaths(unittest.TestCase):
    OUTSIDE = (
        ('tests/e2e/a.py', "captures = SOURCE.parent / 'captures'"),
        ('tests/e2e/a.py', "captures = SOURCE / '../captures'"),
        ('tests/e2e/a.py', "captures = SOURCE / '..' / 'captures'"),
        ('tests/e2e/a.py', "top = pathlib.Path(__file__).resolve().parents[3]"),
        ('tests/e2e/a.py', "open('../../../captures/a.pcap')"),
        ('tests/e2e/a.py', "open('/work/captures/a.pcap')"),
        ('tests/unit/roce/a.cpp', 'folder = test::source_root() / "../captures";'),
        ('tests/unit/roce/a.cpp', 'folder = source_root().parent_path() / "captures";'),
        ('tests/unit/roce/a.cpp', 'std::ifstream("../../../../captures/a.pcap")'),
        ('dev', 'cp ../captures/*.pcap build/'),
        ('dev', 'cd ..'),
        ('.ci/run', 'cd "$(dirname "$0")/../.."'),
        ('packaging/demo.sh', 'ls "$LONGWIRE_SOURCE"/../captures'),
        ('packaging/meson.build', "install_data('../../captures/a.pcap')"),
    )
    INSIDE = (
        ('tests/e2e/a.py', "path = SOURCE / 'pcaps' / 'rxe'"),
        ('tests/e2e/a.py', "path = file.parent / '../secret'"),
        ('tests/e2e/a.py', "top = pathlib.Path(__file__).resolve().parents[2]"),
        ('.ci/run', 'cd "$(dirname "$0")/.."'),
        ('dev', 'say "$@"...'),
        ('docs/start.md', '[install](../README.md)'),
        ('packaging/meson.build', "install_subdir('../docs')"),
    )

    def test_outside(self):
        for name, line in self.OUTSIDE:
            with self.subTest(line):
                self.assertEqual([number for number, _ in paths_outside(name, '\n' + line)], [2])

    def test_inside(self):
        for name, line in self.INSIDE:
            with self.subTest(line):
                self.assertEqual(list(paths_outside(name, line)), [])


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
