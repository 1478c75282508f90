# SPDX-License-Identifier: BSD-3-Clause
"""300 composed connections of each storage protocol: `roce-dissect commands` finds each command, with the
time of each part, at whole packets and at snap lengths of 128 and 256. The first argument is the number of
connections of each protocol."""

import pathlib
import sys
import tempfile
import unittest

import longwire_test
import upper_checks

SEEDS = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 300


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


if __name__ == '__main__':
    longwire_test.main()
