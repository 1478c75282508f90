# SPDX-License-Identifier: BSD-3-Clause
"""What a run was asked to do is in force before the next request is looked at: sequences of 20
requests from three clients at a time (the Python package, the control socket, `roce-impair ctl`)
beside a model that carries them out one after another, in the order of the numbers that the answers
have. The model is written from roce-impair-ctl.md. LONGWIRE_SEQUENCES: how many sequences."""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import unittest

import longwire_test
from longwire_test import program

sys.path.append(str(longwire_test.SOURCE / 'packaging' / 'python'))

import longwire  # noqa: E402  pylint: disable=wrong-import-position

SEQUENCES = int(os.environ.get('LONGWIRE_SEQUENCES', 10))
SEED = int(os.environ.get('LONGWIRE_SEED', 1))
REQUESTS = 20

PROFILE = '''
[[rule]]
name = "c"
match = "all"
delay = "{delay}us"
[[at]]
name = "cut"
rule = "c"
set = {{ delay = "{cut}us" }}
{more}
[capacity]
rate = "1Gb/s"
reserve = "200ms"
'''
# A scenario whose first step is due as soon as the profile is loaded, and another one in the past.
FIRST_STEPS = '''
[[at]]
time = "1ns"
rule = "c"
set = { delay = "9us" }
[[at]]
name = "second"
time = "2ns"
rule = "c"
set = { delay = "8us" }
'''
FILES = {'plain.toml': {'delay': 1, 'cut': 2, 'steps': []}, 'steps.toml': {'delay': 3, 'cut': 4, 'steps': [9, 8]}}


@dataclasses.dataclass
class State:
    """The profile in force: its file, and the values that it was given since, the newest last."""
    file: str
    source: int = 0  # number of the load
    edits: tuple = ()  # (by a step, delay in us)
    undo: list = dataclasses.field(default_factory=list)
    steps: list = dataclasses.field(default_factory=list)  # of a load, that are due

    def delay(self):
        return self.edits[-1][1] if self.edits else FILES[self.file]['delay']

    def take_step(self):
        self.edits += ((True, self.steps.pop(0)),)

    def remember(self):
        self.undo = [*self.undo, (self.file, self.source, self.edits)][-32:]

    def take(self, what, value):
        if what == 'set':
            self.remember()
            self.edits += ((False, value),)
        elif what == 'event':
            self.edits += ((True, FILES[self.file]['cut'] if value == 'cut' else value),)
        elif what == 'load':
            self.remember()
            self.file, self.source, self.edits = value, self.source + 1, ()
            self.steps = list(FILES[value]['steps'])
        elif what == 'reset':
            self.remember()
            self.edits = tuple(edit for edit in self.edits if edit[0])
        elif what == 'undo':
            self.go_back(*self.undo.pop())

    def go_back(self, file, source, edits):
        if source == self.source:
            edits = (*(edit for edit in self.edits if edit[0]), *(edit for edit in edits if not edit[0]))
        self.file, self.source, self.edits = file, source, edits


def draw_request(draw):
    what = draw.choice(('set', 'set', 'set', 'event', 'event', 'event', 'load', 'undo', 'reset'))
    value = {'set': lambda: draw.randrange(10, 100_000), 'load': lambda: draw.choice(list(FILES)),
             'event': lambda: draw.choice(('cut', draw.randrange(10, 100_000)))}.get(what, lambda: None)()
    return what, value


class Order(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, keys in FILES.items():
            more = FIRST_STEPS if keys['steps'] else ''
            (self.folder / name).write_text(PROFILE.format(more=more, **keys))

    def new_box(self):
        return longwire.Box(self.folder / 'plain.toml', *longwire_test.ANY_LATENESS, west='net_ring0',
                            east='net_ring1')

    def keys_of(self, what, value):
        if what == 'set':
            return {'rule': 'c', 'keys': {'delay': f'{value}us'}}
        if what == 'load':
            return {'file': str(self.folder / value)}
        if what == 'event':
            return {'name': 'cut'} if value == 'cut' else \
                {'at': {'rule': 'c', 'set': {'delay': f'{value}us'}}}
        return {}

    def by_package(self, what, value):
        try:
            return self.box.request(what, **self.keys_of(what, value))
        except longwire.LongwireError as refused:
            return {'ok': False, 'error': str(refused)}

    def by_socket(self, what, value):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.control)
            client.sendall(json.dumps({'do': what, **self.keys_of(what, value)}).encode() + b'\n')
            with client.makefile() as answer:
                return json.loads(answer.readline())

    def by_ctl(self, what, value):
        words = {'set': ['c', f'delay={value}us'], 'load': [self.folder / str(value)],
                 'event': [value if value == 'cut' else json.dumps(self.keys_of(what, value))]}.get(what, [])
        told = subprocess.run([program('roce-impair'), 'ctl', self.control, what, *words, '--json'],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertTrue(told.stdout or told.stderr)
        return json.loads(told.stdout) if told.stdout else {'ok': False, 'error': told.stderr.decode()}

    def ask_in_turn(self, ask, requests):
        return [(request, ask(*request)) for request in requests]

    def check(self, state, answered):
        """Follows the answers of a sequence in the order of their numbers."""
        for (what, value), answer in sorted((one for one in answered if one[1]['ok']),
                                            key=lambda one: one[1]['change']):
            while state.steps:  # steps that are due go before a change
                state.take_step()
                self.number += 1
            state.take(what, value)
            self.number += 2 if what == 'event' else 1  # the command, and its step
            while state.steps and self.number < answer['change']:
                state.take_step()
                self.number += 1
            self.assertEqual(answer['change'], self.number, (what, value))
            self.assertEqual(answer['rules'][0]['delay_ns'], state.delay() * 1000, (what, value))

    def run_sequence(self, draw, state):
        requests = [draw_request(draw) for _ in range(REQUESTS)]
        clients = (self.by_package, self.by_socket, self.by_ctl)
        with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
            asked = [pool.submit(self.ask_in_turn, ask, requests[i::len(clients)])
                     for i, ask in enumerate(clients)]
            answered = [one for each in asked for one in each.result()]
        for (what, value), answer in answered:
            if not answer['ok']:
                self.assertEqual(what, 'undo', (value, answer))
                self.assertIn('is left', answer['error'])
        self.check(state, answered)

    def test_requests_take_effect_one_after_another(self):
        state = State('plain.toml')
        self.number = 0
        os.environ['PATH'] = os.path.dirname(program('roce-impair')) + ':' + os.environ['PATH']
        with self.new_box() as self.box:
            self.control = self.box._path('control')  # pylint: disable=protected-access
            self.box.wait_for_links()
            for sequence in range(SEQUENCES):
                with self.subTest(sequence=sequence, seed=SEED):
                    self.run_sequence(random.Random(f'{SEED} {sequence}'), state)
        self.assertEqual(self.box.exit_code, 0, self.box.report)
        self.assertEqual(self.box.report.scenario.failed, 0)
        self.assertEqual(self.box.report.scenario.done, self.box.report.scenario.all)

    def test_an_event_that_is_answered_is_in_force(self):
        """The cut of an event, and a set that comes after its answer."""
        os.environ['PATH'] = os.path.dirname(program('roce-impair')) + ':' + os.environ['PATH']
        with self.new_box() as box:
            box.wait_for_links()
            for i in range(20):
                self.assertEqual(box.request('event', name='cut').rules[0].delay_ns, 2000)
                self.assertEqual(box.set('c', delay=f'{50 + i}us').rules[0].delay_ns, (50 + i) * 1000)
                self.assertEqual(box.show().rules[0].delay_ns, (50 + i) * 1000)
        self.assertEqual(box.exit_code, 0)


if __name__ == '__main__':
    longwire_test.main()
