# SPDX-License-Identifier: BSD-3-Clause
"""Many configurations of roce-gen otg that are drawn from the model's table: see tests/e2e/gen_otg.py."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'e2e'))
os.environ.setdefault('LONGWIRE_SEEDS', '50')

import gen_otg  # noqa: E402
import longwire_test  # noqa: E402


class Drawn(gen_otg.Traffic):
    test_marked_packets_make_cnps = test_a_qp_each_way = test_each_verb = test_qps_with_several_flows = None


if __name__ == '__main__':
    longwire_test.main()
