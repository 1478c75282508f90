# SPDX-License-Identifier: BSD-3-Clause
"""Published results on networks: roce-gen experiment compares each with its table, and exits with 1
where one is further off than asked for."""

import subprocess
import tempfile
import unittest

import longwire_test

GEN = longwire_test.program('roce-gen')
TIMEOUT = 900


class Published(unittest.TestCase):
    def test_networks_give_the_published_figures(self):
        for name in ('long-haul-incast', 'long-haul-variants', 'fat-tree-16', 'selective-repeat', 'fifty-km-400g'):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([GEN, 'experiment', name, '--out', folder], capture_output=True,
                                      text=True, timeout=TIMEOUT, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == '__main__':
    longwire_test.main()
