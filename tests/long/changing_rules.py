# SPDX-License-Identifier: BSD-3-Clause
"""2,000 sequences of impair_changes.py (a few run in `./dev test`)."""

import os

os.environ.setdefault('LONGWIRE_SEQUENCES', '2000')

# pylint: disable=wrong-import-position,unused-import
import longwire_test
from impair_changes import Changes  # noqa: E402,F401

if __name__ == '__main__':
    longwire_test.main()
