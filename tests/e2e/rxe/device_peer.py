# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen as the peer of an RDMA device: `roce-endpoint serve` in a soft-RoCE guest hands over its
QPs, and roce-gen's own transport or a profile's flows reach them from a raw port."""

import hashlib
import json
import os
import subprocess
import unittest

import guests
import longwire_test

GEN = longwire_test.program('roce-gen')
TOKEN = 'a-token-of-the-tests'
PORT = ['--port', 'far', '--peer', f"{guests.ADDRESSES['a'][0]}:18515", '--token', TOKEN]
ADDRESS = '192.168.77.9'
LOSSY = '''[[rule]]
name = "lossy"
delay = "1900us"
loss = "1%"
'''
FLOWS = f'''[[flow]]
operation = "write"
source = "{ADDRESS}"
message_size = "4KiB"
mtu = 1024
messages = 50
qps = 4
rate = "20Mb/s"
'''


@unittest.skipIf(guests.NO_QEMU, 'LONGWIRE_NO_QEMU is set')
class DevicePeer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = guests.Guests(host=True, memory_mib=640)
        cls.addClassCleanup(cls.lab.__exit__)
        cls.lab.__enter__()
        cls.lab.a.check(f'echo {TOKEN} > /tmp/token')

    def serve(self, region='64MiB'):
        job = self.lab.a.begin('exec roce-endpoint serve --device rxe0 --gid 1 '
                               f'--region {region} --token-file /tmp/token --json')
        self.addCleanup(self.lab.a.run, 'killall -KILL roce-endpoint')
        job.wait_for('--token')
        return job

    def ended(self, server):
        """The server's sessions, after its end."""
        code, said = server.stop()
        self.assertEqual(code, 0, said)
        return [json.loads(line) for line in said.splitlines() if line.startswith('{')]

    def gen(self, *words, expect=0):
        done = subprocess.run([GEN, *words], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return done

    def perf(self, *words):
        done = self.gen('perf', *PORT, '--address', ADDRESS, '--timeout', '15', '--json', *words)
        return json.loads(done.stdout)

    def test_a_file_arrives_through_loss(self):
        data = os.urandom(64 << 20)
        path = self.lab.folder / 'data'
        path.write_bytes(data)
        server = self.serve('64MiB,file=/tmp/region')
        with self.lab.impair(LOSSY) as box:
            ran = self.perf('--op', 'write', '-s', '32KiB', '-t', '6', '--data', str(path))
            self.ended(server)
        self.assertEqual((ran['failed'], ran['iterations']), (0, len(data) >> 15))
        self.assertGreater(ran['retransmitted'], 0)
        self.assertGreater(sum(d['dropped_by_rule']['frames'] for d in box.report['directions']),
                           100)
        found = self.lab.a.check('md5sum /tmp/region; rm /tmp/region').split()[0]
        self.assertEqual(found, hashlib.md5(data).hexdigest())

    def test_every_operation_through_loss(self):
        cases = {  # messages that the device's side checks, and the client's words
            'SEND': (150, '--op send -s 4KiB -n 150'),
            'SEND with immediate': (100, '--op send --imm -s 9000 -n 100 -t 16'),
            'WRITE': (16, '--op write -s 8KiB -n 150 -t 16'),
            'WRITE with immediate': (200, '--op write --imm -s 9000 -n 100 -q 2 -t 8'),
            'READ': (0, '--op read -s 9000 -n 100 -t 8'),
            'FETCH ADD': (0, '--op atomic -n 100'),
            'COMPARE SWAP': (0, '--op compare-swap -n 50'),
            'ping-pong': (30, '--op send -s 64 -n 30 --pattern lat'),
        }
        server = self.serve()
        with self.lab.impair(LOSSY):
            for name, (checked, words) in cases.items():
                with self.subTest(name):
                    ran = self.perf(*words.split())
                    self.assertEqual((ran['failed'], ran['wrong']), (0, 0))
                    self.assertEqual(ran['responder']['checked'], checked)
            for session in self.ended(server):
                self.assertEqual((session['wrong'], session['failure']), (0, ''))

    def test_datagrams(self):
        server = self.serve()
        with self.lab.bridge():
            for words in ('--op send --transport ud -s 1024 -n 100', '--op send --transport uc '
                          '-s 9000 -n 50', '--op write --imm --transport uc -s 9000 -n 50'):
                with self.subTest(words):
                    ran = self.perf('--rate-control', 'fixed', '--qp-rate', '20Mb/s',
                                    *words.split())
                    self.assertEqual((ran['lost_messages'], ran['wrong']), (0, 0))
        self.ended(server)

    def test_writes_that_nobody_counts(self):
        """The last frames are still on their way when the client says that it is done."""
        server = self.serve()
        with self.lab.impair('[capacity]\nrate = "1Gb/s"\n[[rule]]\nname = "far"\n'
                             'delay = "200ms"\n'):
            ran = self.perf('--rate-control', 'fixed', '--qp-rate', '20Mb/s', '--op', 'write',
                            '--transport', 'uc', '-s', '9000', '-n', '50', '-t', '8')
        self.assertEqual((ran['responder']['checked'], ran['responder']['dropped']), (8, 0))
        self.assertTrue(ran['arrivals_unknown'])
        self.assertNotIn('lost_messages', ran)
        [session] = self.ended(server)
        self.assertFalse(session['counted'])

    def test_a_profiles_flows(self):
        """Each frame is one that the device accepts."""
        profile = self.lab.folder / 'flows.toml'
        server = self.serve()
        with self.lab.bridge():
            for transport in ('rc', 'uc'):
                with self.subTest(transport):
                    profile.write_text(FLOWS + f'transport = "{transport}"\n')
                    done = self.gen('run', profile, *PORT, '--json')
                    sent, device = (json.loads(line) for line in done.stdout.splitlines())
                    frames = sum(flow['frames'] for flow in sent['flows'])
                    self.assertEqual(frames, 800)
                    self.assertEqual(device['device']['counters']['rcvd_pkts'], frames)
                    self.assertNotIn('rx_icrc_err', device['device']['counters'])
                    self.assertFalse(device['device']['counted'])  # by its program
        self.ended(server)

    def test_a_wrong_token_is_refused(self):
        self.serve()
        with self.lab.bridge():
            wrong = ['another-token-of-it' if word == TOKEN else word for word in PORT]
            done = self.gen('perf', *wrong, '--address', ADDRESS, expect=1)
            self.assertIn('token', done.stderr)


if __name__ == '__main__':
    longwire_test.main()
