# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair run: real processes over pcap and memif ports, without root or hugepages."""

import json
import os
import pathlib
import resource
import signal
import socket
import shutil
import subprocess
import tempfile
import time
import unittest

import needs
import longwire_test
from pcap_file import is_roce, other_frame, read_pcap, roce_frame, write_pcap

FRAMES = 5000
TIMEOUT = 100  # a bound for hung processes, not an expectation


class Run(unittest.TestCase):
    def setUp(self):
        self.folder_holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.folder_holder.name)
        self.addCleanup(self.folder_holder.cleanup)
        self.sent = [other_frame(i, 60 + i % 1400) if i % 10 == 9 else roce_frame(i, 8 + i % 4096)
                     for i in range(FRAMES)]
        write_pcap(self.folder / 'in.pcap', [(i * 10_000, data) for i, data in enumerate(self.sent)])

    def path(self, name):
        return str(self.folder / name)

    def start(self, west, east, *options, delay='1ms', loss=0, rate='10Gb/s', name='p',
              smallest='1KiB'):
        profile = self.folder / f'{name}.toml'
        profile.write_text(f'[capacity]\nrate = "{rate}"\nlargest_frame = "9000B"\n'
                           f'smallest_frame = "{smallest}"\n'
                           f'[[rule]]\nname = "r"\ndelay = "{delay}"\nloss = "{loss:%}"\n')
        return longwire_test.begin(self, [*longwire_test.BOX, profile,
                                          '--west', west, '--east', east, '--json', *options])

    def finish(self, process, expect=0):
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, expect, err + out)
        return json.loads(out) if out else err

    def run_file(self, *options, **settings):
        """in.pcap through the box to out.pcap; the report, and the frames that came out."""
        process = self.start('pcap:' + self.path('in.pcap'), 'pcap:,' + self.path('out.pcap'),
                             *options, **settings)
        report = self.finish(process)
        return report, [data for _, data in read_pcap(self.path('out.pcap'))]

    def assert_same_frames(self, some, others):
        """In whatever order; says how many differ and not all their bytes."""
        self.assertEqual(len(some), len(others))
        self.assertTrue(sorted(some) == sorted(others), 'frames differ')

    def assert_order_kept(self, received):
        """Each kind in the order in which it came; kinds may overtake each other."""
        place = {data: i for i, data in enumerate(self.sent)}
        for kind in (True, False):
            order = [place[data] for data in received if is_roce(data) == kind]
            self.assertEqual(order, sorted(order))

    def test_every_byte_of_every_frame_crosses(self):
        report, received = self.run_file()
        self.assertTrue(report['identity_holds'])
        self.assert_same_frames(received, self.sent)
        self.assert_order_kept(received)
        east = report['directions'][0]
        self.assertEqual(east['received'], east['sent'])
        self.assertEqual(east['received']['bytes'], sum(map(len, self.sent)))
        self.assertGreaterEqual(east['release_error_ns']['min'], 0)

    def test_small_frames_wait_in_arenas(self):
        """Frames of many lengths keep their bytes; 380 km of the smallest ones fit into 512 MB."""
        report, received = self.run_file(smallest='60B', delay='2ms')
        self.assertTrue(report['identity_holds'] and report['resources_hold'])
        self.assert_same_frames(received, self.sent)
        self.assert_order_kept(received)
        path = self.folder / 'far.toml'
        path.write_text(f'path = "{longwire_test.SOURCE}/profiles/paths/apn-380km.toml"\n'
                        '[[rule]]\nname = "r"\ndelay = "path"\n'
                        '[capacity]\nsmallest_frame = "60B"\n')
        checked = subprocess.run([longwire_test.program('roce-impair'), 'check', path, '--json'],
                                 capture_output=True, text=True, timeout=TIMEOUT, check=True)
        memory = json.loads(checked.stdout)['memory']
        self.assertGreater(memory['frames_per_direction'], 283_260)
        self.assertGreater(memory['arena_bytes'], 2 * 283_260 * 192)
        self.assertLess(memory['bytes'], 512_000_000)
        # 34 blocks of 2 MiB receive, 3 send.
        self.assertEqual(memory['interface_ring_bytes'], 37 << 21)

    def test_the_ledger_is_what_is_missing(self):
        report, received = self.run_file('--ledger', self.path('ledger'), loss=0.05)
        there = set(received)
        missing = [i for i, data in enumerate(self.sent) if data not in there]
        self.assertTrue(missing)
        records = [json.loads(line) for line in open(self.path('ledger'))]
        self.assertEqual([r['frame'] for r in records], missing)
        self.assertEqual(report['directions'][0]['dropped_by_rule']['frames'], len(missing))
        self.assertEqual(report['ledger']['skipped'], 0)
        self.assert_order_kept(received)

    def test_a_full_disk_stops_no_frame(self):
        """The report is made, counts what is missing, and the exit code is 3."""
        os.symlink('/dev/full', self.path('full.pcapng'))
        for option, name in (('--ledger', '/dev/full'), ('--pcap', self.path('full.pcapng'))):
            process = self.start('pcap:' + self.path('in.pcap'), 'pcap:,' + self.path('out.pcap'),
                                 option, name, loss=1)
            out, err = process.communicate(timeout=TIMEOUT)
            self.assertEqual(process.returncode, 3, err)
            self.assertIn('No space left on device', err)
            report = json.loads(out)
            east = report['directions'][0]
            self.assertTrue(report['identity_holds'])
            self.assertFalse(report['records_hold'])
            self.assertEqual(east['received']['frames'], len(self.sent))
            written = report[{'--pcap': 'capture'}.get(option, option[2:])]
            self.assertGreaterEqual(written['missing'], east['dropped_by_rule']['frames'])
            self.assertIn(f"{written['missing']} are missing", err)

    def test_ten_thousand_rules_load_at_once(self):
        """It took 13 s; the bound is for slow builds on busy machines."""
        path = self.folder / 'many.toml'
        path.write_text('[capacity]\nrate = "1Gb/s"\n' + ''.join(
            f'[[rule]]\nname = "rule {i}"\nmatch = {{dst_qp = {i}, psn = "{i}-{i + 9000}"}}\n'
            f'loss = "{i % 2:%}"\n' for i in range(10_000)))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*longwire_test.BOX, str(path), '--west',
                               'null', '--east', 'null', '--duration', '50ms'],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertLess(after.ru_utime - before.ru_utime, 6)

    def test_the_same_frames_as_in_virtual_time(self):
        _, received = self.run_file('--seed', '3', loss=0.05)
        subprocess.run([longwire_test.program('roce-impair'), 'replay', self.path('p.toml'),
                        self.path('in.pcap'), self.path('virtual.pcap'), '--seed', '3'],
                       check=True, capture_output=True, timeout=TIMEOUT)
        virtual = [data for _, data in read_pcap(self.path('virtual.pcap'))]
        self.assert_same_frames(received, virtual)

    def test_two_boxes_over_memif_and_sigterm_drains(self):
        socket = 'memif:' + self.path('sock')
        far = self.start(socket, 'pcap:,' + self.path('out.pcap'), delay='3s', rate='20Mb/s',
                         name='far')
        near = self.start('pcap:' + self.path('in.pcap'), socket + ',server', '--until-idle', '1',
                          '--ledger', self.path('ledger'), loss=0.05, name='near')
        near_report = self.finish(near)
        # Everything has been handed over, and waits in the far box or has left it.
        far.send_signal(signal.SIGTERM)
        far_report = self.finish(far)
        self.assertTrue(near_report['identity_holds'] and far_report['identity_holds'])
        handed = near_report['directions'][0]['sent']
        self.assertEqual(far_report['directions'][0]['received'], handed)
        self.assertEqual(far_report['directions'][0]['sent'], handed)
        received = [data for _, data in read_pcap(self.path('out.pcap'))]
        missing = {json.loads(line)['frame'] for line in open(self.path('ledger'))}
        self.assert_same_frames(received,
                                [d for i, d in enumerate(self.sent) if i not in missing])
        self.assert_order_kept(received)

    def test_both_directions_at_once(self):
        west = f"pcap:{self.path('in.pcap')},{self.path('back.pcap')}"
        east = f"pcap:{self.path('in.pcap')},{self.path('out.pcap')}"
        report = self.finish(self.start(west, east))
        for name in ('out.pcap', 'back.pcap'):
            received = [data for _, data in read_pcap(self.path(name))]
            self.assert_same_frames(received, self.sent)
        self.assertTrue(all(d['holds'] for d in report['directions']))

    def test_memif_clients_that_leave_at_once(self):
        """DPDK's driver would end the program: its answer to such a client fails."""
        west = self.path('west.sock')
        # With four times the client's room: the client sends as fast as it can, and a box without
        # room drops frames.
        process = self.start(f'memif:{west},server', 'pcap:,' + self.path('out.pcap'), '--until-idle',
                             '2s', rate='40Gb/s')
        while not os.path.exists(west):
            self.assertIsNone(process.poll(), 'ended before its socket was there')
            time.sleep(0.01)
        for _ in range(100):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
                client.connect(west)
        client = self.start('pcap:' + self.path('in.pcap'), f'memif:{west}', '--until-idle', '1s',
                            name='client')
        self.finish(client)
        report = self.finish(process)
        self.assertEqual(report['directions'][0]['received']['frames'], FRAMES)

    def test_a_profile_that_drops_all(self):
        report, received = self.run_file(loss=1)
        self.assertEqual(received, [d for d in self.sent if not is_roce(d)])
        self.assertTrue(report['identity_holds'])

    def test_duration_and_ready_file(self):
        memif = 'memif:' + self.path('sock')
        # The server outlives the client, which on a loaded machine may be late to see the link.
        server = self.start(memif + ',server', 'null', '--duration', '5', '--ready-file',
                            self.path('ready'), name='server')
        client = self.start(memif, 'null', '--duration', '0.1', name='client')
        self.assertTrue(self.finish(client)['identity_holds'])
        self.assertTrue(self.finish(server)['identity_holds'])
        self.assertTrue(os.path.exists(self.path('ready')))

    def test_ports_that_bring_nothing_are_no_reason_to_end(self):
        for options in (('--duration', '300ms'), ('--duration', '300ms', '--cores', '2')):
            report = self.finish(self.start('null', 'pcap:,' + self.path('out.pcap'), *options))
            self.assertGreaterEqual(report['seconds'], 0.3)
        endless = self.start('null', 'null', '--ready-file', self.path('ready'))
        while not os.path.exists(self.path('ready')):
            self.assertIsNone(endless.poll())
            time.sleep(0.01)
        endless.send_signal(signal.SIGTERM)
        self.assertTrue(self.finish(endless)['identity_holds'])

    def test_what_is_not_there_is_the_environment(self):
        missing = self.finish(self.start('noeth99', 'null'), expect=3)
        self.assertIn('lo', missing)
        self.finish(self.start('pcap:' + self.path('none'), 'null'), expect=3)
        lonely = self.start('memif:' + self.path('nobody'), 'null', '--wait-link', '0.1')
        self.assertIn(',server', self.finish(lonely, expect=3))
        self.finish(self.start('pcap:', 'null'), expect=2)

    @needs.root('another user')
    def test_an_ordinary_user_may(self):
        self.folder.chmod(0o777)
        program = shutil.copy(longwire_test.program('roce-impair'), self.folder)  # which that user can reach
        profile = self.folder / 'p.toml'
        profile.write_text('[[rule]]\nname = "r"\n')
        environment = {k: v for k, v in os.environ.items() if k != 'XDG_RUNTIME_DIR'}
        done = subprocess.run(
            ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups',
             program, *longwire_test.BOX[1:], str(profile), '--west',
             'pcap:' + self.path('in.pcap'), '--east', 'pcap:,' + self.path('out.pcap'), '--json'],
            capture_output=True, text=True, timeout=TIMEOUT, env=environment, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(read_pcap(self.path('out.pcap'))), FRAMES)


if __name__ == '__main__':
    longwire_test.main()
