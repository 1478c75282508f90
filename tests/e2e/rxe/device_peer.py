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
import output_schemas

GEN = longwire_test.program('roce-gen')
TOKEN = 'a-token-of-the-tests'
PORT = ['--port', 'far', '--peer', f"{guests.ADDRESSES['a'][0]}:18515", '--token', TOKEN]
ADDRESS = '192.168.77.9'
LOSSY = '''[[rule]]
name = "lossy"
delay = "1900us"
loss = "1%"
'''
CORRUPT = '''[[rule]]
name = "silent"
match = { opcode = "UC SEND LAST" }
corrupt = { probability = "20%", bits = 8, offset = 100, icrc = "recomputed" }
'''
FLOWS = f'''[[flow]]
source = "{ADDRESS}"
message_size = "4KiB"
mtu = 1024
messages = 50
qps = 4
rate = "20Mb/s"
'''


def event(psn_offset, action='"drop"'):
    """What happens to one packet of the first QP on its way to the device."""
    return f'''[[event]]
direction = "east-to-west"
qp = 1
psn_offset = {psn_offset}
occurrence = 1
action = {action}
'''


@guests.needed
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
        lines = [line for line in said.splitlines() if line.startswith('{')]
        for line in lines:
            output_schemas.validate(line)
        return [json.loads(line) for line in lines]

    def gen(self, *words, expect=0):
        done = subprocess.run([GEN, *words], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return done

    def flows(self, expect=0, **keys):
        """What roce-gen, which exits with `expect`, and the device's side say of flows with these
        keys."""
        profile = self.lab.folder / 'flows.toml'
        said = dict(line.split(' = ') for line in FLOWS.splitlines()[1:])
        said |= {key: f'"{value}"' if key in ('operation', 'transport') else value
                 for key, value in keys.items()}
        profile.write_text('[[flow]]\n' + ''.join(f'{key} = {value}\n'
                                                  for key, value in said.items()))
        done = self.gen('run', profile, *PORT, '--json', expect=expect)
        for line in done.stdout.splitlines():
            output_schemas.validate(line)
        sent, device = (json.loads(line) for line in done.stdout.splitlines())
        return sent, device['device']

    def perf(self, *words):
        done = self.gen('perf', *PORT, '--address', ADDRESS, '--timeout', '15', '--json', *words)
        output_schemas.validate(done.stdout)
        return json.loads(done.stdout)

    def test_its_acks_have_the_class_of_the_connection(self):
        """The hand-over carries the class, and the device's QP sends in it. It has no CNPs."""
        server, pcap = self.serve(), self.lab.folder / 'class.pcapng'
        with self.lab.impair('[[rule]]\nname = "far"\ndelay = "0us"\n'):
            ran = self.perf('--op', 'write', '-s', '4KiB', '-n', '20', '--tclass', '106',
                            '--hop-limit', '9', '--pcap', pcap)
            self.ended(server)
        run = subprocess.run(['tshark', '-r', pcap, '-Y', 'infiniband.bth.destqp != 1', '-T',
                              'fields', '-e', 'ip.src', '-e', 'ip.dsfield.dscp', '-e',
                              'ip.dsfield.ecn', '-e', 'ip.ttl'],
                             capture_output=True, text=True, check=True)
        rows = {tuple(line.split('\t')) for line in run.stdout.splitlines()}
        # The device's ACKs have the hop limit of its own route.
        self.assertEqual(rows, {(ADDRESS, '26', '2', '9'),
                                (guests.ADDRESSES['a'][0], '26', '2', '64')})
        self.assertEqual({(row['way'], row['kind'], row['dscp']) for row in ran['classes']},
                         {('sent', 'data', 26), ('received', 'ack', 26)})

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
        server = self.serve()
        with self.lab.bridge():
            for transport in ('rc', 'uc'):
                with self.subTest(transport):
                    sent, device = self.flows(operation='write', transport=transport)
                    frames = sum(flow['frames'] for flow in sent['flows'])
                    self.assertEqual(frames, 800)
                    self.assertEqual(device['counters']['rcvd_pkts'], frames)
                    self.assertNotIn('rx_icrc_err', device['counters'])
                    self.assertFalse(device['counted'])  # by its program
                    self.assertNotIn('signatures', device)
        self.ended(server)

    def test_signatures_of_a_profiles_flows(self):
        """The device's side reads them where it sees messages."""
        cases = {'rc': ('send', 'write_imm', 'write'), 'uc': ('send_imm', 'write_imm'),
                 'ud': ('send',)}
        server = self.serve()
        expected = []
        with self.lab.bridge():
            for transport, operations in cases.items():
                for operation in operations:
                    size = 1024 if transport == 'ud' else 4096
                    with self.subTest(f'{operation} {transport}'):
                        _, device = self.flows(operation=operation, transport=transport,
                                               message_size=size, signature='true')
                        expected.append(50 * size // 1024 if operation != 'write' else None)
                        if expected[-1]:
                            self.assertEqual(device['signatures'],
                                             {'frames': 4 * expected[-1], 'unsigned_frames': 0,
                                              'lost': 0, 'duplicated': 0, 'out_of_order': 0})
                            self.assertEqual((device['checked'], device['wrong']), (200, 0))
                        else:
                            self.assertNotIn('signatures', device)
        for frames, session in zip(expected, self.ended(server), strict=True):
            self.assertEqual('signatures_not_read' in session, frames is None, session)
            if frames is None:
                continue
            flows = session['signatures']['flows']
            self.assertEqual([(flow['name'], flow['source'], flow['frames'], flow['lost'])
                              for flow in flows],
                             [(f'flow {i}', ADDRESS, frames, 0) for i in range(4)])
            for flow in flows:  # the host's clock is not the guest's
                self.assertNotIn('latency_ns', flow)
                self.assertRegex(flow['no_latency'], 'clock')

    def test_silent_corruption_of_a_profiles_flows(self):
        """Of some messages the second packet is changed, and its ICRC computed anew."""
        server = self.serve()
        with self.lab.impair(CORRUPT) as box:
            _, device = self.flows(expect=1, operation='send', transport='uc', qps=2,
                                   message_size=1500, signature='true', payload='"prbs31"')
        changed = len(box.records())
        self.assertGreater(changed, 10)
        self.assertEqual((device['checked'], device['wrong'], device['signatures']['lost']),
                         (100, changed, 0))
        code, said = server.stop()
        self.assertEqual(code, 1, said)

    def test_lost_frames_are_missing_signatures(self):
        """Of UC, a device drops all of a message that lacks a packet. The FIRST, as without a later
        one soft-RoCE also drops the next SEND, and every WRITE that follows."""
        server = self.serve()
        cases = (  # of 50 messages; the packets that are dropped; what is lost, also at the end
            ({'operation': 'send', 'message_size': 1000}, (7, 30, 31, 49), 4, 1),
            ({'operation': 'send', 'message_size': 4096}, (8, 196), 8, 4),
            ({'operation': 'write_imm', 'message_size': 4096}, (8, 16, 196), 12, 4))
        for keys, packets, lost, last in cases:
            with self.subTest(keys):
                with self.lab.impair('[[rule]]\nname = "all"\n'
                                     + ''.join(map(event, packets))) as box:
                    _, device = self.flows(transport='uc', qps=1, signature='true', **keys)
                self.assertEqual([record['action'] for record in box.records()],
                                 ['drop'] * len(packets))
                frames = 50 if keys['message_size'] == 1000 else 200
                self.assertEqual((device['signatures']['frames'], device['signatures']['lost']),
                                 (frames - lost, lost))
        for (_, _, lost, last), session in zip(cases, self.ended(server), strict=True):
            [flow] = session['signatures']['flows']
            self.assertEqual((flow['lost'], flow['missing_at_end'], flow['duplicated'],
                              flow['out_of_order']), (lost - last, last, 0, 0))

    def test_copies_and_late_datagrams_are_counted(self):
        """One frame is lost, two arrive twice, one late, and the last when roce-gen has ended."""
        server = self.serve()
        events = (event(7), event(20, '"duplicate"'), event(21, '"duplicate"'),
                  event(30, '"delay"\ndelay = "5ms"'), event(49, '"delay"\ndelay = "300ms"'))
        with self.lab.impair('[[rule]]\nname = "all"\ndelay = "1ms"\norder = "free"\n'
                             + ''.join(events)):
            _, device = self.flows(operation='send', transport='ud', message_size=1024, qps=1,
                                   signature='true')
        self.ended(server)
        self.assertEqual(device['signatures'], {'frames': 51, 'unsigned_frames': 0, 'lost': 1,
                                                'duplicated': 2, 'out_of_order': 1})

    def test_a_wrong_token_is_refused(self):
        self.serve()
        with self.lab.bridge():
            wrong = ['another-token-of-it' if word == TOKEN else word for word in PORT]
            done = self.gen('perf', *wrong, '--address', ADDRESS, expect=1)
            self.assertIn('token', done.stderr)


if __name__ == '__main__':
    longwire_test.main()
