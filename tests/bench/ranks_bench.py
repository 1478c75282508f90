# SPDX-License-Identifier: BSD-3-Clause
"""How far apart two ranks on one machine start, and to within what their clocks are compared: the
skew of `mpirun -n 2 roce-gen run` on null ports, the bound that the run states, and how far the
comparison is from the truth, which is 0, as one machine has one steady clock. For an idle machine:
a rank that waits for a core starts late. bench.py runs it."""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / 'support'))

import longwire_test  # noqa: E402  (found by the line above)
import mpi_runs  # noqa: E402

PROFILE = """[defaults]
messages = 1000
rate = "10 kframes/s"
[[flow]]
name = "a"
[[flow]]
name = "b"
"""
RUNS = 5


def measure():
    """(skew, bound, error of the comparison) in ns: of several runs, the one with the least skew."""
    with tempfile.NamedTemporaryFile('w', suffix='.toml') as profile:
        profile.write(PROFILE)
        profile.flush()
        words = [*mpi_runs.MPIRUN, '-n', '2', longwire_test.program('roce-gen'), 'run', profile.name,
                 '--port', 'null', '--json', '--quiet', '--start-skew', '10s']
        found = []
        for _ in range(RUNS):
            done = subprocess.run(words, capture_output=True, text=True, env=mpi_runs.ENVIRONMENT,
                                  timeout=mpi_runs.TIMEOUT, check=False)
            if done.returncode != 0:
                raise SystemExit(done.stderr)
            report = json.loads(done.stdout)
            found.append((report['start']['skew_ns'], report['start']['bound_ns'],
                          abs(report['ranks'][1]['clock_ahead_ns'])))
    return min(found)


def runs(_settings, _stack):
    """(names of figures, what measures them) in the order of a round."""
    return [(('skew', 'bound', 'error'), measure)]
