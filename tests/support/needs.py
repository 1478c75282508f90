# SPDX-License-Identifier: BSD-3-Clause
"""What a test needs of the machine. A test that cannot run is skipped with a sentence "needs X: REMEDY";
./dev test repeats it in its last lines."""

import importlib.util
import os
import resource
import shutil
import unittest

AS_ROOT = 'run as root'
# Debian packages of programs and Python modules that have another name.
PACKAGES = {'capinfos': 'wireshark-common', 'groff': 'groff-base', 'ib_write_bw': 'perftest', 'ip': 'iproute2', 'mkdocs': 'mkdocs-material',
            'mpirun': 'openmpi-bin', 'promtool': 'prometheus', 'pytest-3': 'python3-pytest',
            'scapy': 'python3-scapy', 'systemd-analyze': 'systemd'}


def _unless(met, what, remedy):
    return unittest.skipUnless(met, f'needs {what}: {remedy}')


def _packages(names):
    return 'apt install ' + ' '.join(sorted({PACKAGES.get(name, name) for name in names}))


def root(purpose):
    """`purpose`: what only root may do ("network namespaces")."""
    return _unless(os.geteuid() == 0, f'root, for {purpose}', AS_ROOT)


def tools(*names):
    """Programs on the PATH."""
    missing = [name for name in names if shutil.which(name) is None]
    return _unless(not missing, ', '.join(missing), _packages(missing))


def module(name):
    """A Python module."""
    return _unless(importlib.util.find_spec(name) is not None, f"Python's {name}", _packages([name]))


def cpus(count):
    return _unless(len(os.sched_getaffinity(0)) >= count, f'{count} CPUs', 'this process may use fewer')


def open_files(count):
    """Raises the limit of this process as far as it may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    return _unless(hard >= count, f'{count} open files', 'raise ulimit -Hn')


def lacks(what, error):
    """Skips the test that runs: `what` is missing on this machine, as `error` says."""
    raise unittest.SkipTest(f"needs {what}: {' '.join(str(error).split())}")
