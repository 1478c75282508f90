# SPDX-License-Identifier: BSD-3-Clause
"""UC and UD over a port, in real time: messages arrive whole or not at all, what is lost stays lost,
and both sides agree on how much that is."""

import subprocess

from endpoints import GEN, TIMEOUT, Endpoints
from longwire_test import main

# Of five packets a message: the third of one, the second and third of another.
HOLES = '''[[rule]]
name = "line"
delay = "100us"
[[event]]
name = "holes"
direction = "west-to-east"
qp = 1
psn_offset = [12, 31, 32]
action = "drop"
'''
ROUGH = '''seed = 5
[[rule]]
name = "rough"
delay = "200us"
loss = "2%"
corrupt = "1%"
duplicate = "1%"
reorder = { fraction = "1%", frames = 3 }
'''
CALM = ('--rate-control', 'fixed', '--qp-rate', '200Mb/s')


class Unreliable(Endpoints):

    def opcodes(self, pcap):
        """What tshark sees go to other QPs than the connection manager's."""
        run = subprocess.run(['tshark', '-r', str(pcap), '-Y', 'infiniband && '
                              'infiniband.bth.destqp != 1', '-T', 'fields', '-e',
                              'infiniband.bth.opcode'], capture_output=True, text=True, check=True)
        return {int(opcode) for opcode in run.stdout.split()}

    def test_a_message_with_a_hole_is_none(self):
        pcap = self.folder / 'c.pcapng'
        for options, size, lost, dropped, opcodes in (
                (('uc', '--op', 'send'), 20000, 2, 4, {32, 33, 34}),
                (('uc', '--op', 'write'), 20000, 2, 4, {38, 39, 40}),
                (('uc', '--op', 'write', '--imm'), 20000, 2, 4, {38, 39, 41}),
                (('ud', '--op', 'send'), 4096, 3, 0, {100}),
                (('ud', '--op', 'send', '--imm'), 8, 3, 0, {101})):
            with self.subTest(' '.join(options)):
                with self.box('holes', HOLES) as (west, east):
                    [ran], said = self.perf(west, east, '--transport', *options, '-s', str(size),
                                            '-n', '60', '-t', '8', *CALM, '--expect', 'loss<=10%', '--pcap', pcap)
                self.assertEqual((ran['transport'], ran['iterations'], ran['failed'],
                                  ran['lost_messages']), (options[0].upper(), 60, 0, lost))
                self.assertEqual((said['checked'], said['bytes']), (60 - lost, (60 - lost) * size))
                self.assertEqual((said['wrong'], said['dropped'], said['duplicates']),
                                 (0, dropped, 0))
                self.assertEqual(self.opcodes(pcap), opcodes)

    def test_whatever_the_path_does_they_are_whole(self):
        for options, size in ((('uc', '--op', 'send'), 9000), (('uc', '--op', 'write'), 9000),
                              (('ud', '--op', 'send'), 1000)):
            with self.subTest(' '.join(options)):
                with self.box('rough', ROUGH) as (west, east):
                    [ran], said = self.perf(west, east, '--transport', *options, '-s', str(size),
                                            '-n', '500', '-q', '2', *CALM, '--wait', '20s', '--expect', 'loss<=50%')
                self.assertEqual((ran['iterations'], said['wrong'], said['gone']), (1000, 0, 0))
                self.assertEqual(said['bytes'], said['checked'] * size)
                arrived = said['checked'] - said['duplicates']
                self.assertEqual(ran['lost_messages'], 1000 - arrived)
                print(f"# {' '.join(options)}: {arrived} of 1000 arrived, {said['duplicates']} twice")
                self.assertTrue(600 < arrived < 1000, arrived)

    def test_marks_slow_who_sends_to_nobody_that_answers(self):
        """CNPs are all that comes back."""
        marked = HOLES.replace('"drop"', '"mark"').replace('[12, 31, 32]', '[12]')
        with self.box('marked', marked) as (west, east):
            [ran], said = self.perf(west, east, '--transport', 'uc', '--op', 'write', '-s', '20000',
                                    '-n', '60', '--rate-control', 'dcqcn', '--qp-rate', '200Mb/s')
        self.assertEqual((said['cnps'], ran['cnps'], ran['lost_messages']), (1, 1, 0))

    def test_what_they_lack_is_refused(self):
        for words, why in ((('uc', '--op', 'read'), '--op send or write'),
                           (('ud', '--op', 'write', '-s', '100'), '--op send'),
                           (('ud', '--op', 'send', '-s', '64KiB'), 'up to the MTU'),
                           (('uc', '--op', 'send', '-s', '4'), '-s 8'),
                           (('uc', '--op', 'send', '--pattern', 'lat'), 'measure bw or blast'),
                           (('uc', '--op', 'send', '--selective-repeat'), '--transport rc')):
            done = subprocess.run([GEN, 'perf', '--port', 'null', '--peer', '198.18.0.2',
                                   '--transport', *words], capture_output=True, text=True,
                                  timeout=TIMEOUT)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(why, done.stderr)


if __name__ == '__main__':
    main()
