# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen telemetry writes records of a capture's packets into the memory of a soft-RoCE guest,
through a path with loss; roce-endpoint there follows the ring. A reader that is lapped says so."""

import hashlib
import json
import subprocess
import time
import unittest

import guests
import longwire_test
import output_schemas
import pcap_file

GEN = longwire_test.program('roce-gen')
TOKEN = 'a-token-of-the-tests'
LOSSY = '''[[rule]]
name = "lossy"
loss = "1%"
'''
RECORDS = 100_000


def records_of(path):
    """What roce32 asks for, from the bytes of the capture alone: rows of CSV without the counter."""
    rows = []
    for _, frame in pcap_file.read_pcap(path):
        ip = 14
        if frame[12:14] != b'\x08\x00' or frame[ip + 9] != 17:
            continue
        udp = ip + (frame[ip] & 15) * 4
        if len(frame) < udp + 20:
            continue
        address = ['.'.join(map(str, frame[at:at + 4])) for at in (ip + 12, ip + 16)]
        rows.append(','.join([*address, frame[udp:udp + 2].hex(), frame[udp + 4:udp + 6].hex(),
                              frame[udp + 8:udp + 20].hex()]))
    return rows


@guests.needed
class Telemetry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = guests.Guests(host=True, memory_mib=512)
        cls.addClassCleanup(cls.lab.__exit__)
        cls.lab.__enter__()
        cls.lab.a.check(f'echo {TOKEN} > /tmp/token')
        cls.capture = cls.lab.folder / 'frames.pcap'
        made = subprocess.run([GEN, 'run', longwire_test.SOURCE / 'profiles/flows/ipv4-rc-send.toml',
                               '--pcap', cls.capture, '--count', '1000'], capture_output=True,
                              text=True, check=False)
        assert made.returncode == 0, made.stderr

    def serve(self, *options):
        job = self.lab.a.begin('exec roce-endpoint serve --device rxe0 --gid 1 --region 4MiB '
                               '--token-file /tmp/token --json --layout roce32 '
                               f'--records /tmp/records.csv {" ".join(options)}')
        self.addCleanup(self.lab.a.run, 'killall -KILL roce-endpoint')
        job.wait_for('--token')
        return job

    def begin(self, *options, source=None):
        return longwire_test.begin(self, [
            GEN, 'telemetry', '--from', source or self.capture, '--port', 'far',
            '--address', '192.168.77.9', '--peer', f"{guests.ADDRESSES['a'][0]}:18515",
            '--token', TOKEN, '--timeout', '16', '--wait', '120s', '--json',
            *(() if '--layout' in options else ('--layout', 'roce32')), *options])

    def finish(self, process, expect=0):
        out, err = process.communicate(timeout=240)
        self.assertEqual(process.returncode, expect, err + out)
        output_schemas.validate(out)
        return json.loads(out)

    def test_every_record_arrives_through_loss(self):
        server = self.serve()
        with self.lab.impair(LOSSY):
            ran = self.finish(self.begin('--loop', str(RECORDS // 1000), '-t', '32', '--slots',
                                         str(1 << 17)))
            code, said = server.stop()
        self.assertEqual(code, 0, said)
        print(f"# {ran['records']} records in {ran['elapsed_ns'] / 1e9:.1f} s, "
              f"{ran['retransmitted']} packets sent again")
        self.assertEqual((ran['records'], ran['passed_over'], ran['cut'], ran['missed']),
                         (RECORDS, 0, 0, 0))
        self.assertGreater(ran['retransmitted'], 100)
        expected = records_of(self.capture)
        self.assertEqual(len(expected), 1000)
        found = self.lab.a.check('cut -d, -f1-5 /tmp/records.csv | tail -n +2 | md5sum; '
                                 'tail -n 1 /tmp/records.csv; wc -l < /tmp/records.csv', 60)
        text = ''.join(row + '\n' for row in expected) * (RECORDS // 1000)
        self.assertEqual(found.split()[0], hashlib.md5(text.encode()).hexdigest())
        self.assertTrue(found.splitlines()[1].endswith(f'{RECORDS - 1:016x}'), found)
        self.assertEqual(int(found.splitlines()[2]), RECORDS + 1)

    def test_packets_of_a_port_are_written_or_missed(self):
        server = self.serve()
        with self.lab.bridge():
            port = f'pcap:{self.capture}'
            ran = self.finish(self.begin('-t', '4096', source=port))
            few = self.finish(self.begin('-t', '4', source=port), expect=1)
            code, said = server.stop()
        self.assertEqual(code, 0, said)
        self.assertEqual((ran['records'], ran['missed']), (1000, 0))
        self.assertEqual(few['records'] + few['missed'], 1000)
        self.assertGreater(few['missed'], 0)

    def test_records_have_the_class_of_their_layout(self):
        """Also the ACKs of the device; an option replaces a value."""
        layout = self.lab.folder / 'classed.toml'
        text = (longwire_test.SOURCE / 'profiles/telemetry/roce32.toml').read_text(encoding='utf-8')
        layout.write_text(text + '[class]\ndscp = 26\necn = "ect1"\nhop_limit = 9\n', encoding='utf-8')
        for options, dscp in ((), '26'), (('--dscp', '30'), '30'):
            server, pcap = self.serve(), self.lab.folder / f'class{dscp}.pcapng'
            with self.lab.bridge():
                ran = self.finish(self.begin('-t', '16', '--layout', str(layout), '--pcap', pcap, *options))
                server.stop()
            self.assertEqual(ran['records'], 1000)
            shown = subprocess.run(['tshark', '-r', pcap, '-Y', 'infiniband.bth.destqp != 1', '-T', 'fields',
                                    '-e', 'ip.src', '-e', 'ip.dsfield.dscp', '-e', 'ip.dsfield.ecn', '-e', 'ip.ttl'],
                                   capture_output=True, text=True, check=True).stdout
            # The device's ACKs have the hop limit of its own route.
            self.assertEqual({tuple(line.split('\t')) for line in shown.splitlines()},
                             {('192.168.77.9', dscp, '1', '9'), (guests.ADDRESSES['a'][0], dscp, '1', '64')})

    def test_immediates_wake_a_reader(self):
        server = self.serve('--poll', 'event')
        with self.lab.bridge():
            ran = self.finish(self.begin('--loop', '2', '--imm-every', '100', '-t', '16'))
            code, said = server.stop()
        self.assertEqual((code, ran['records']), (0, 2000), said)

    def packets(self):
        """Packets that the guest's device has received."""
        return int(self.lab.a.check('cat /sys/class/infiniband/*/ports/1/hw_counters/rcvd_pkts', 60))

    def until(self, holds):
        end = time.monotonic() + 60
        while not holds():
            self.assertLess(time.monotonic(), end, 'the device receives nothing more')

    def test_a_lapped_reader_is_told(self):
        server = self.serve()
        with self.lab.bridge():
            begun = self.packets()
            process = self.begin('--loop', '1000', '--slots', '256', '-t', '32', '--duration', '10s')
            self.until(lambda: self.packets() > begun + 256)
            server.signal('STOP')
            stopped = self.packets()
            self.until(lambda: self.packets() > stopped + 1024)
            server.signal('CONT')
            ran = self.finish(process)
            code, said = server.stop()
        self.assertEqual(code, 1, said)
        self.assertGreater(ran['records'], 256)
        self.assertRegex(said, 'lapped')


if __name__ == '__main__':
    longwire_test.main()
