# SPDX-License-Identifier: BSD-3-Clause
"""200 random networks on one core and on two: see tests/e2e/gen_network_cores.py."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
os.environ.setdefault('LONGWIRE_SEEDS', '200')

import gen_network_cores  # noqa: E402
import longwire_test  # noqa: E402


class Many(gen_network_cores.OneCoreAndTwo):
    pass


if __name__ == '__main__':
    longwire_test.main()
