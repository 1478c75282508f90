# SPDX-License-Identifier: BSD-3-Clause
"""300 composed connections of each storage protocol: `roce-dissect commands` finds each command, with the
time of each part, at whole packets and at snap lengths of 128 and 256. The first argument is the number of
connections of each protocol; LONGWIRE_SEEDS is a tenth of it."""

import collections
import os
import pathlib
import sys
import tempfile
import unittest

import longwire_test
import upper_checks

ALL = 10 * int(os.environ.get('LONGWIRE_SEEDS', '30'))
SEEDS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else ALL


class UpperLayers(unittest.TestCase):
    def check(self, protocol):
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            for seed in range(1000, 1000 + SEEDS):
                with self.subTest(protocol=protocol, seed=seed):
                    path = pathlib.Path(folder) / 'made.pcap'
                    upper_checks.check(self, protocol, seed, path, (65535, 128, 256)[seed % 3])

    def test_nvme(self):
        self.check('nvme')

    def test_nfs(self):
        self.check('nfs')

    def test_smb(self):
        self.check('smb')

    def test_the_causes_of_slow_commands_are_known(self):
        """A cause that is named is right; of 200 slow commands, it cannot tell that of 20 at most."""
        counts = collections.Counter()
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            for seed in range(max(SEEDS // 10, 30)):
                with self.subTest(seed=seed):
                    counts.update(upper_checks.slow_verdicts(self, seed, pathlib.Path(folder) / 'made.pcap'))
        slow = counts['right'] + counts['cannot tell']
        print(f'# {slow} slow commands, cannot tell {counts["cannot tell"]}')
        self.assertLessEqual(counts['cannot tell'], slow / 10)


if __name__ == '__main__':
    longwire_test.main()
