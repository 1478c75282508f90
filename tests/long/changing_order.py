# SPDX-License-Identifier: BSD-3-Clause
"""2,000 sequences of impair_order.py, of which `./dev test` runs a few."""

import os
import sys

import longwire_test

os.environ.setdefault('LONGWIRE_SEQUENCES', '2000')
sys.path.append(str(longwire_test.SOURCE / 'tests' / 'e2e'))

from impair_order import Order  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

if __name__ == '__main__':
    longwire_test.main()
