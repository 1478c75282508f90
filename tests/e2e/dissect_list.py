# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect list: which frames, which fields, which time. tshark is the judge."""

import csv
import io
import json
import pathlib
import subprocess
import tempfile
import unittest

import needs
from longwire_test import SOURCE, program
from pcap_file import read_pcap, write_pcap
from pcapng_file import write_pcapng

RXE = SOURCE / 'pcaps' / 'rxe'

# A condition of ours and the same as a display filter of Wireshark.
CONDITIONS = (
    ('bth.opcode == 17', 'infiniband.bth.opcode == 17'),
    ('infiniband.bth.opcode in {0..4, 10}', 'infiniband.bth.opcode in {0..4, 10}'),
    ('bth.psn > 0x800000 && bth.a == 1', 'infiniband.bth.psn > 0x800000 && infiniband.bth.a == 1'),
    ('reth.va', 'infiniband.reth.va'),
    ('reth.dmalen >= 1024 || deth', 'infiniband.reth.dmalen >= 1024 || infiniband.deth'),
    ('!udp', '!udp'),
    ('ip.addr == 192.168.77.1 && !(udp.srcport == 4791)',
     'ip.addr == 192.168.77.1 && !(udp.srcport == 4791)'),
    ('ip.src == 192.168.77.0/31', 'ip.src == 192.168.77.0/31'),
    ('ip.src != 192.168.77.1', 'ip.src != 192.168.77.1'),
    ('ipv6.dst == fe80::/10', 'ipv6.dst == fe80::/10'),
    ('vlan.id in {1, 100}', 'vlan.id in {1, 100}'),
    ('frame.len > 1000', 'frame.len > 1000'),
    ('ip and not udp.srcport eq 4791', 'ip and not udp.srcport eq 4791'),
    ('infiniband or ipv6', 'infiniband or ipv6'),
    ('infiniband.aeth and bth.psn ge 100', 'infiniband.aeth and infiniband.bth.psn ge 100'),
    ('vlan or bth.opcode ne 17', 'vlan or infiniband.bth.opcode ne 17'),
    ('frame.time_relative le 0.005', 'frame.time_relative le 0.005'),
    ('frame.time_relative gt 0.001 and frame.len lt 200', 'frame.time_relative gt 0.001 and frame.len lt 200'),
    ('frame.time_epoch < 1795230000.5', 'frame.time_epoch < 1795230000.5'),
    ('ip.dsfield.dscp != 0 || ip.dsfield.ecn & 2', 'ip.dsfield.dscp != 0 || ip.dsfield.ecn & 2'),
    ('eth.addr == ff:ff:ff:ff:ff:ff', 'eth.addr == ff:ff:ff:ff:ff:ff'),
    ('udp.port == 4791', 'udp.port == 4791'),
)
# Conditions of ours that are display filters as they stand; tshark counts all of them in one run.
SAME = (
    'frame', 'eth', 'ip', 'infiniband', 'infiniband.reth', 'infiniband.aeth', 'infiniband.immdt',
    'udp.dstport==4791', 'udp.port eq 4791 and ip', 'udp.length > 100', 'eth.type == 0x0800', 'ip.proto == 17',
    'ip.ttl == 64', 'ip.addr == 192.168.77.0/24', 'ip.src in {192.168.77.0/24}',
    'ip.src == 192.168.77.1 && ip.dst == 192.168.77.2', 'ip.src == 192.168.77.1 || ip.dst == 192.168.77.1',
    'infiniband.bth.opcode eq 17 or infiniband.bth.opcode eq 10',
    'infiniband.bth.opcode in {6..10}', '(infiniband.bth.opcode == 17) and not (ip.src == 192.168.77.1)',
    'infiniband.bth.psn >= 0x10', 'infiniband.bth.destqp == 0x000011', 'infiniband.bth.destqp ne 0x11',
    '!(infiniband.bth.destqp == 0x11)', 'not infiniband.bth.destqp == 0x11', 'infiniband.bth.a == True',
    'infiniband.bth.a == 1', 'infiniband.bth.p_key == 0xffff',
    'infiniband.reth.dmalen > 100', 'infiniband.deth.srcqp', 'ip.dsfield.ecn == 3', 'frame.number == 12',
    'frame.number >= 10 and frame.number <= 20', 'frame.len < 100', 'udp && infiniband',
    'infiniband && !infiniband.aeth', 'frame.time_relative > 0.001', 'frame.time_delta > 0.001',
    'frame.time_delta == 0', 'vlan.id == 100 and infiniband')
FIELDS = ('frame.number', 'frame.len', 'eth.src', 'vlan.id', 'ip.src', 'ip.dst', 'ipv6.src',
          'udp.srcport', 'infiniband.bth.opcode', 'infiniband.bth.destqp', 'infiniband.bth.psn',
          'infiniband.reth.va', 'infiniband.reth.r_key', 'infiniband.aeth.msn', 'ip.addr',
          'udp.port')

SCHEMA = {'schema': 'longwire.frame', 'version': 1}


def dissect(*args):
    return subprocess.run([program('roce-dissect'), *map(str, args)], capture_output=True,
                          text=True)


def tshark(*args):
    done = subprocess.run(['tshark', '-n', *map(str, args)], capture_output=True, text=True,
                          check=True)
    return done.stdout


@needs.tools('tshark')
class AsTshark(unittest.TestCase):
    def test_where_selects_what_a_display_filter_selects(self):
        selected = 0
        for name in ('rc_write_send_read', 'rnr_nak', 'ud_send', 'ipv6_rc', 'vlan100', 'tos_dscp'):
            capture = RXE / f'{name}.pcap'
            for condition, display_filter in CONDITIONS:
                numbers = dissect('list', capture, '--where', condition, '-e',
                                  'frame.number')
                self.assertEqual(numbers.stderr, '')
                wanted = tshark('-r', capture, '-Y', display_filter, '-T', 'fields', '-e',
                                'frame.number')
                self.assertEqual(numbers.stdout, wanted, (name, condition))
                selected += len(wanted.splitlines())
        self.assertGreater(selected, 3000)

    def test_filters_that_users_of_wireshark_type(self):
        for name in 'rc_write_send_read', 'vlan100':
            capture = RXE / f'{name}.pcap'
            counted = tshark('-q', '-r', capture, '-z', 'io,stat,0,' + ','.join(SAME))
            cells = next(line for line in counted.splitlines() if '<>' in line).split('|')[2:-1]
            for condition, frames in zip(SAME, cells[::2], strict=True):
                with self.subTest(condition, capture=name):
                    ours = dissect('list', capture, '-Y', condition, '-e', 'frame.number')
                    self.assertEqual((len(ours.stdout.splitlines()), ours.stderr), (int(frames), ''))

    def test_a_line_of_tshark_prints_what_tshark_prints(self):
        capture = RXE / 'rnr_nak.pcap'
        for line in (('-r', capture, '-Y', 'infiniband.bth.opcode == 17', '-T', 'fields', '-e',
                      'frame.number', '-e', 'infiniband.bth.psn', '-e', 'ip.src'),
                     ('-T', 'fields', '-e', 'frame.len', '-r', capture, '-c', '5')):
            done = dissect('list', *line)
            self.assertEqual((done.stdout, done.stderr), (tshark(*line), ''))
        for ours, theirs in ((('-T', 'json'), ('--json',)), (('-T', 'text'), ())):
            self.assertEqual(dissect('list', '-r', capture, *ours).stdout,
                             dissect('list', capture, *theirs).stdout)

    def test_fields_are_printed_as_tshark_prints_them(self):
        words = [word for field in FIELDS for word in ('-e', field)]
        for name in 'rc_write_send_read', 'vlan100', 'ipv6_rc':
            capture = RXE / f'{name}.pcap'
            # tshark takes the headers within ICMP errors for the frame's.
            roce = ('-Y', 'infiniband.bth.opcode') if name != 'vlan100' else ('-Y', 'infiniband')
            wanted = tshark('-r', capture, *roce, '-T', 'fields', *words)
            self.assertEqual(dissect('list', capture, '--where', 'bth.opcode', *words).stdout,
                             wanted, name)


class Fields(unittest.TestCase):
    def test_every_style_has_the_chosen_fields_in_their_order(self):
        capture = RXE / 'rnr_nak.pcap'
        words = ('--fields', 'bth.psn,frame.number', '-e', 'aeth.msn')
        names = ['infiniband.bth.psn', 'frame.number', 'infiniband.aeth.msn']
        text = dissect('list', capture, *words).stdout.splitlines()
        rows = list(csv.DictReader(io.StringIO(dissect('list', capture, *words, '--csv').stdout)))
        lines = [json.loads(line) for line in
                 dissect('list', capture, *words, '--json').stdout.splitlines()]
        whole = [json.loads(line) for line in
                 dissect('list', capture, '--json').stdout.splitlines()]
        self.assertEqual(list(rows[0]), names)
        for tabs, row, line, every in zip(text, rows, lines, whole, strict=True):
            self.assertEqual(line, SCHEMA | {name: every[name] for name in names if name in every})
            self.assertEqual(tabs.split('\t'), [str(line.get(name, '')) for name in names])
            self.assertEqual(list(row.values()), tabs.split('\t'))

    def test_the_table_is_that_of_fields(self):
        table = [json.loads(line) for line in dissect('fields', '--json').stdout.splitlines()]
        rows = list(csv.DictReader(io.StringIO(dissect('fields', '--csv').stdout)))
        self.assertEqual([(row['name'], row['type'], str(row['bits'])) for row in table],
                         [(row['name'], row['type'], row['bits']) for row in rows])
        self.assertEqual({(row['schema'], row['version']) for row in table}, {('longwire.field', 1)})
        known = {row['name'] for row in table}
        shown = set()
        for name in 'cm_rping', 'atomic', 'vlan100', 'ipv6_cm_rping', 'ud_send':
            for line in dissect('list', RXE / f'{name}.pcap', '--json').stdout.splitlines():
                shown |= set(json.loads(line)) - set(SCHEMA)
        self.assertLessEqual(shown, known)
        self.assertGreater(len(shown), 100)
        header = dissect('list', RXE / 'atomic.pcap', '--csv').stdout.splitlines()[0].split(',')
        self.assertLessEqual(set(header), known)
        types = {row['name']: row['type'] for row in table}
        self.assertEqual((types['infiniband.bth.psn'], types['ip.src'], types['frame.time_epoch']),
                         ('number', 'IPv4 address', 'time'))

    def test_formats_that_exclude_each_other_are_usage_errors(self):
        capture = RXE / 'rnr_nak.pcap'
        for line, why in ((('-T', 'fields', capture), '-T: fields goes with -e FIELD'),
                          (('-T', 'json', '--csv', capture), '-T goes without --csv'),
                          (('-T', 'text', '-e', 'ip.src', capture), '-T: text goes without -e'),
                          (('-T', 'pdml', capture), 'pdml'),
                          ((), 'FILE: expected a capture, or -r FILE'),
                          (('-Y', 'bth.opcode == 1', '--where', 'bth.psn == 1', capture),
                           'expected `--where` once')):
            done = dissect('list', *line)
            self.assertEqual(done.returncode, 2, line)
            self.assertIn(why, done.stderr)

    def test_a_misspelt_name_is_a_usage_error_with_a_hint(self):
        for words in (('-e', 'bth.pns'), ('--fields', 'frame.number,bth.pns'),
                      ('--where', 'bth.pns == 3')):
            run = dissect('list', RXE / 'atomic.pcap', *words)
            self.assertEqual((run.returncode, run.stdout), (2, ''))
            self.assertIn('no field "bth.pns": did you mean "bth.psn"?', run.stderr)

    def test_the_name_of_the_interface(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, 'two.pcapng')
            write_pcapng(path, ['west', ''], [(0, 5, bytes(60)), (1, 6, bytes(60))])
            run = dissect('list', path, '-e', 'frame.interface_name', '-e', 'frame.interface_id')
            self.assertEqual(run.stdout, 'west\t0\n1\t1\n')
            run = dissect('list', path, path, '--where', 'frame.interface_name == west', '-e',
                          'frame.number')
            self.assertEqual(run.stdout, '1\n2\n')


class Selection(unittest.TestCase):
    def test_count_ends_the_list(self):
        capture = RXE / 'rnr_nak.pcap'
        every = dissect('list', capture).stdout.splitlines()
        self.assertEqual(dissect('list', capture, '-c', '7').stdout.splitlines(), every[:7])
        some = dissect('list', capture, '-c', '2', '--where', 'aeth.syndrome & 0x60 == 0x20').stdout
        self.assertEqual(some.count('RNR NAK'), 2)
        self.assertEqual(dissect('list', capture, '--count', '0').stdout, '')

    def test_times(self):
        capture = RXE / 'atomic.pcap'
        epochs = [int(text.replace('.', '')) for text in
                  dissect('list', capture, '-e', 'frame.time_epoch').stdout.split()]
        deltas = [0] + [b - a for a, b in zip(epochs, epochs[1:])]
        for style, wanted in (('relative', [t - epochs[0] for t in epochs]), ('delta', deltas)):
            lines = dissect('list', capture, '--time', style).stdout.splitlines()
            self.assertEqual([line.split()[1] for line in lines],
                             [f'{ns // 10**9}.{ns % 10**9:09}' for ns in wanted])
        first = dissect('list', capture, '--time', 'absolute').stdout.split()[1]
        date = subprocess.run(['date', '-u', '-d', f'@{epochs[0] // 10**9}', '+%FT%T'],
                              capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(first, f'{date}.{epochs[0] % 10**9:09}Z')

    def test_psn_gaps_are_those_of_the_psns(self):
        frames = read_pcap(RXE / 'uc_send_write.pcap')
        for missing in ((), (5, 6, 7, 20), (1, 2, 40)):
            with self.subTest(missing), tempfile.TemporaryDirectory(prefix='longwire-') as folder:
                capture = pathlib.Path(folder, 'some.pcap')
                write_pcap(capture, [frame for number, frame in enumerate(frames, 1)
                                     if number not in missing])
                fields = 'frame.number,ip.src,bth.destqp,bth.psn,psn_gap'
                rows = [line.split('\t') for line in dissect(
                    'list', capture, '--where', 'longwire.opcode', '--fields',
                    fields).stdout.splitlines()]
                last, wanted = {}, []
                for number, source, qp, psn, _ in rows:  # UC: each packet takes one PSN
                    expected = last.get((source, qp), int(psn))
                    wanted.append((number, str(int(psn) - expected)))
                    last[source, qp] = int(psn) + 1
                self.assertEqual([(row[0], row[4]) for row in rows], wanted)
                self.assertEqual(any(gap != '0' for _, gap in wanted), bool(missing))
                where = dissect('list', capture, '--where', 'psn_gap > 0', '-e', 'frame.number')
                self.assertEqual(where.stdout.split(), [n for n, gap in wanted if gap != '0'])


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
