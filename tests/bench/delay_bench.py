# SPDX-License-Identifier: BSD-3-Clause
"""How exact a delay of 5 ms is, by the kernel's stamps at both ends of a box between two veth pairs, beside
what passing through without a rule costs in the same round: spinning, in the default idle mode, and beside
two busy processes. The error of a delay is the time between the stamps less 5 ms. Needs root. bench.py
runs it."""

import contextlib
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'support')]

from stamped_path import DELAY, DELAY_NS, PASS, StampedPath, quantile  # noqa: E402  (found by the line above)

FRAMES_PER_SECOND = 2000  # about


class Owner(contextlib.ExitStack):
    """What a test's cleanups are to a path."""

    def addCleanup(self, function, *words, **named):  # pylint: disable=invalid-name
        self.callback(function, *words, **named)


def measure(path, seconds, profile, share, *options, hogs=0):
    """A quantile of how much longer than asked frames took, in us, and the box's share of a core."""
    passage = path.measure(profile, *options, frames=int(FRAMES_PER_SECOND * seconds), hogs=hogs)
    asked = DELAY_NS if profile is DELAY else 0
    return (quantile(passage.times, share) - asked) / 1000, passage.cpu_share


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round: peers beside each other."""
    if os.geteuid() != 0:
        print('delay: not measured: needs root for veth pairs', flush=True)
        return []
    path = StampedPath(stack.enter_context(Owner()), suffix=f'{os.getpid() % 10_000}')

    def of(profile, share, *options, hogs=0):
        return measure(path, settings.seconds, profile, share, *options, hogs=hogs)

    return [
        (('spinning, passing through',), lambda: of(PASS, 0.5, '--idle', 'spin')[0]),
        (('spinning, 5 ms',), lambda: of(DELAY, 0.5, '--idle', 'spin')[0]),
        (('adaptive, 5 ms', 'adaptive, share of a core'), lambda: of(DELAY, 0.5)),
        (('busy, passing through',), lambda: of(PASS, 0.99, hogs=2)[0]),
        (('busy, 5 ms',), lambda: of(DELAY, 0.99, hogs=2)[0]),
    ]
