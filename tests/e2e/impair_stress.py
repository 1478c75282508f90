# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair where it hurts: more than it has room for, a side that goes away, a change every
millisecond, SIGTERM at full load. Every frame stays accounted for."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import unittest

import longwire_test

TIMEOUT = 100
RING = 1024  # frames that memif's ring may still take when nobody reads it
# Null ports give frames of zeros as fast as they are taken.
FEED = ('net_null0,size=64', 'net_null1,size=64')


def profile(delay='5ms', more='', rate='10Gb/s'):
    return (f'[capacity]\nrate = "{rate}"\nsmallest_frame = "1KiB"\nlargest_frame = "1500B"\n'
            f'[[rule]]\nname = "all"\nmatch = "all"\ndelay = "{delay}"\n{more}')


class Stress(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def path(self, name):
        return str(self.folder / name)

    def start(self, text, *options, west=FEED[0], east=FEED[1]):
        (self.folder / 'p.toml').write_text(text)
        return longwire_test.begin(
            self, [*longwire_test.BOX, self.path('p.toml'), '--west', west,
                   '--east', east, '--json', '--ready-file', self.path('ready'), *options])

    def wait_ready(self, process):
        while not os.path.exists(self.path('ready')):
            self.assertIsNone(process.poll(), 'it ended before it was ready')
            time.sleep(0.01)

    def finish(self, process, expect=0):
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, expect, err)
        report = json.loads(out)
        self.assertTrue(report['identity_holds'])
        return report

    def test_more_than_there_is_room_for(self):
        for cores in ('1', '2'):
            # The delay's room is for 6,000 frames of 1 KiB, and frames of 64 B come at full speed.
            report = self.finish(self.start(profile(), '--duration', '500ms', '--cores', cores),
                                 expect=1)
            self.assertFalse(report['resources_hold'])
            for direction in report['directions']:
                self.assertGreater(direction['received']['frames'], 100_000)
                self.assertGreater(direction['dropped_for_resource']['no_room']['frames'], 0)
                self.assertGreater(direction['sent']['frames'], 10_000)
                self.assertGreaterEqual(direction['release_error_ns']['min'], 0)

    def test_sigterm_at_full_load(self):
        for cores in ('1', '2'):
            process = self.start(profile(rate='400Gb/s'), '--cores', cores)
            self.wait_ready(process)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            for direction in self.finish(process)['directions']:
                self.assertGreater(direction['received']['frames'], 10_000)
                self.assertEqual(direction['dropped_for_resource']['stopped']['frames'], 0)
            os.unlink(self.path('ready'))

    def ask(self, request):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(self.path('ctl'))
            client.sendall(json.dumps(request).encode() + b'\n')
            return json.loads(client.makefile().read())

    def test_a_change_every_millisecond(self):
        for cores in ('1', '2'):
            process = self.start(profile(rate='200Gb/s', more='loss = "1%"\n'), '--cores', cores,
                                 '--control', self.path('ctl'))
            self.wait_ready(process)
            for changes in range(100):
                keys = {'delay': f'{1 + changes % 4}ms', 'loss': f'{changes % 3}%'}
                answer = self.ask({'do': 'set', 'rule': 'all', 'keys': keys})
                self.assertTrue(answer['ok'], answer)
                time.sleep(0.001)
            process.send_signal(signal.SIGTERM)
            report = self.finish(process)
            for direction in report['directions']:
                self.assertGreater(direction['received']['frames'], 10_000)
                self.assertEqual(direction['dropped_for_resource']['no_room']['frames'], 0)
            os.unlink(self.path('ready'))

    def test_all_is_dropped_at_full_load(self):
        report = self.finish(self.start(profile(more='loss = "100%"\n'), '--duration', '300ms'))
        for direction in report['directions']:
            self.assertEqual(direction['received'], direction['dropped_by_rule'])
            self.assertGreater(direction['received']['frames'], 10_000)

    def frames_east(self):
        """Received and sent frames of the direction to the east, so far."""
        east = self.ask({'do': 'show'})['report']['directions'][0]
        return east['received']['frames'], east['sent']['frames']

    def test_a_side_that_goes_away(self):
        memif = 'memif:' + self.path('sock')
        box = self.start(profile(), '--control', self.path('ctl'), east=memif + ',server')
        sink = subprocess.Popen(
            [longwire_test.program('roce-gen'), 'receive', '--port', memif],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (sink.poll() is None and sink.kill(), sink.wait()))
        self.wait_ready(box)
        while self.frames_east()[1] <= 10_000:
            time.sleep(0.01)
        sink.kill()
        sink.wait()
        received, sent = old, _ = self.frames_east()  # which may be older than the end of the sink
        while received == old:
            time.sleep(0.01)
            received, sent = self.frames_east()
        box.send_signal(signal.SIGTERM)
        # What can't leave any more is given up after a while, counted, and fails the run.
        east = self.finish(box, expect=1)['directions'][0]
        self.assertGreaterEqual(east['sent']['frames'], sent)
        self.assertLessEqual(east['sent']['frames'], sent + RING)


if __name__ == '__main__':
    longwire_test.main()
