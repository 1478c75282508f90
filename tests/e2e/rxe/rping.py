# SPDX-License-Identifier: BSD-3-Clause
"""Linux' own rping against roce-gen's connection management and transport, through a path with loss:
rping's client reaches `roce-gen respond`, and `roce-gen perf` reaches rping's server."""

import json
import unittest

import guests
import longwire_test
import roce_packets

GEN = longwire_test.program('roce-gen')
PORT = ('--port', 'far', '--address', '192.168.77.9')
LOSSY = '''[[rule]]
name = "lossy"
delay = "500us"
loss = "1%"
'''
PINGS = 60


@guests.needed
class Rping(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = guests.Guests(host=True)
        cls.addClassCleanup(cls.lab.__exit__)
        cls.lab.__enter__()

    def through(self, options, beside, profile=LOSSY):
        """Runs roce-gen with `options` through a box; `beside(process)` runs until its end. Returns
        its output and the box's report."""
        record = self.lab.folder / f'{self.id()}.pcap'
        with self.lab.impair(profile) as box:
            process = longwire_test.begin(self, [GEN, *options, '--pcap', record])
            said = beside(process)
            out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, f'{err}\n{out}\n{said}')
        right, wrong, _ = roce_packets.icrcs(record)
        self.assertEqual(wrong, 0)
        self.assertGreater(right, 6 * PINGS)
        return json.loads(out), box.report

    def test_its_client_is_served(self):
        def client(process):
            self.wait_until_ready(process)
            code, said = self.lab.a.run(
                f'timeout 60 rping -c -a 192.168.77.9 -C {PINGS} -S 9000 -V -v', 70)
            self.assertEqual(code, 0, said)
            self.assertIn(f'rdma-ping-{PINGS - 1}: ', said)
            return said
        session, report = self.through(
            ['respond', *PORT, '--cm', '7174', '--sessions', '1', '--json'], client)
        self.assertEqual((session['checked'], session['wrong'], session['broken']), (PINGS, 0, 0))
        self.assertGreater(sum(d['dropped_by_rule']['frames'] for d in report['directions']), 0)

    def test_its_server_is_reached(self):
        server = self.lab.a.begin(f'exec rping -s -a 192.168.77.1 -S 9000 -C {PINGS} -v')
        self.lab.a.check(f'until [ -s /run/pid.{server.number} ]; do sleep 0.02; done; '
                         f'exec listening $(cat /run/pid.{server.number})', 40)
        ran, _ = self.through(
            ['perf', *PORT, '--cm', '192.168.77.1:7174', '-n', str(PINGS), '-s', '9000',
             '--timeout', '15', '--json'], lambda _: '')
        self.assertEqual((ran['iterations'], ran['failed'], ran['wrong']), (PINGS, 0, 0))
        code, said = server.wait(20)
        self.assertEqual(code, 0, said)
        self.assertIn(f'server ping data: rdma-ping-{PINGS - 1}: ', said)

    @staticmethod
    def wait_until_ready(process):
        for line in process.stderr:
            if line.strip() == 'ready':
                return


if __name__ == '__main__':
    longwire_test.main()
