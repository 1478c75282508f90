# SPDX-License-Identifier: BSD-3-Clause
"""How long a client of a forwarding roce-impair waits for its answer: alone, and while hostile
clients (tests/support/hostile_clients.py) are at work at the same listener, which run in a process
of their own; and how many changes take effect in a second while steps of a scenario wait. bench.py
runs it."""

import contextlib
import multiprocessing
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / 'support'), str(HERE.parent / 'e2e')]

import hostile  # noqa: E402  (found by the line above)
import hostile_clients  # noqa: E402

FRAMES_PER_SECOND = 100_000
LISTENERS = ('control socket', 'metrics', 'page')
PAUSE = 0.01  # s, between two questions: longer than an answer is reused


class Owner(contextlib.ExitStack):
    """What a test's cleanups are to a box."""

    def addCleanup(self, function, *words):  # pylint: disable=invalid-name
        self.callback(function, *words)


def attack(listener, kind, begun, ended):
    """Clients of one kind, and after a second new ones in their place, until `ended` is set."""
    while not ended.is_set():
        with contextlib.ExitStack() as stack:
            hostile_clients.KINDS[kind](listener, stack)
            begun.set()
            ended.wait(1)


@contextlib.contextmanager
def under_attack(listener, kind):
    begun, ended = multiprocessing.Event(), multiprocessing.Event()
    attacker = multiprocessing.Process(target=attack, args=(listener, kind, begun, ended))
    attacker.start()
    try:
        if not begun.wait(hostile_clients.TIMEOUT):
            raise SystemExit(f'{kind}: the clients did not connect')
        yield
    finally:
        ended.set()
        attacker.join()


def waited(listener, seconds):
    """ms within which 99 % of the answers came, to one question after another for `seconds`."""
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        if not listener.answers_regular():
            raise SystemExit('a client was not answered')
        times.append((time.monotonic() - begin) * 1000)
        time.sleep(PAUSE)
    return statistics.quantiles(times, n=100)[98]


def changes_per_second(steps, seconds):
    """1 / the median time of a `set`, while so many steps of the scenario wait."""
    scenario = ''.join(f'[[at]]\ntime = "{3600 + i}s"\nrule = "path"\nset = {{ loss = "1%" }}\n'
                       for i in range(steps))
    with Owner() as owner:
        box = hostile.Box(owner, hostile.PROFILE + scenario, FRAMES_PER_SECOND)
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            loss = len(times) % 2 + 1
            request = f'{{"do":"set","rule":"path","keys":{{"loss":"{loss}%"}}}}\n'.encode()
            change = hostile.Listener(box.control, request, request, b'"ok":true', b'"ok":false')
            begin = time.monotonic()
            if not change.answers_regular():
                raise SystemExit('a change was refused')
            times.append(time.monotonic() - begin)
        return 1 / statistics.median(times)


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round."""
    box = hostile.Box(stack.enter_context(Owner()), hostile.PROFILE, FRAMES_PER_SECOND)

    def alone(listener):
        return waited(listener, settings.seconds)

    def attacked(listener, kind):
        with under_attack(listener, kind):
            return waited(listener, settings.seconds)

    found = [((f'changes, {steps} steps wait',),
              lambda steps=steps: changes_per_second(steps, settings.seconds))
             for steps in (0, 10_000)]
    for name in LISTENERS:
        listener = box.listener(name)
        found.append(((f'{name} alone',), lambda listener=listener: alone(listener)))
        for kind in hostile_clients.KINDS:
            found.append(((f'{name}, {kind}',),
                          lambda listener=listener, kind=kind: attacked(listener, kind)))
    return found
