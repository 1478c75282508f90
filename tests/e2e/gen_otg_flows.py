# SPDX-License-Identifier: BSD-3-Clause
"""Flows of packets of roce-gen otg: headers, patterns, sizes, rates and durations are seen by tshark as asked;
metrics are what the captures of both ports have."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zlib

import needs
import otg_client
import yaml
from longwire_test import BOX, SOURCE, begin, program
from otg_client import Refused, Server

FCS = 4
MEASURED = {'enable': True, 'loss': True, 'timestamps': True, 'latency': {'enable': True}}
COUNTED = {'enable': True, 'loss': True}
BTH_AND_RETH = '0a40ffff 00000011 80:00:00:07 0000000000001000 000000aa 00000100'


def counter(kind, start, **more):
    return {'choice': kind, kind: {'start': start, **more}}


def header(kind, **fields):
    """A header; a value that is no pattern is that of all frames."""
    return {'choice': kind, kind: {name: value if isinstance(value, dict) else {'value': value}
                                   for name, value in fields.items()}}


def flow(name, packet, size=None, rate=None, duration=None, metrics=None, **more):
    return {'name': name, 'tx_rx': {'choice': 'port', 'port': {'tx_name': 'tx', 'rx_names': ['rx']}}, 'packet': packet,
            'metrics': metrics or COUNTED,
            **({'size': {'choice': 'fixed', 'fixed': size} if isinstance(size, int) else size} if size else {}),
            **({'rate': rate} if rate else {}), **({'duration': duration} if duration else {}), **more}


def packets(count):
    return {'choice': 'fixed_packets', 'fixed_packets': {'packets': count}}


def rows_of(path, shown, *columns):
    """The columns of the frames of a capture that tshark shows by a filter, as tuples of texts."""
    command = ['tshark', '-r', str(path), '-o', 'ip.check_checksum:TRUE', '-o', 'udp.check_checksum:TRUE', '-Y', shown,
               '-T', 'fields', '-E', 'occurrence=f', *(word for name in columns for word in ('-e', name))]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [tuple(line.split('\t')) for line in text.splitlines()]


class Flows(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def config(self, *flows, **more):
        return {'ports': otg_client.ports(self.folder), 'captures': otg_client.captures(), 'flows': list(flows),
                **more}

    def run_until_stopped(self, server, config):
        """Starts the flows and waits until all have stopped and arrived; {name: row}, captures in the folder."""
        self.assertEqual(server.set_config(config), [])
        self.assertEqual(server.json('GET', '/config'), config)
        server.capture_state('start')
        server.traffic('start')
        rows = server.wait_for(lambda rows: all(row['transmit'] == 'stopped' and row['frames_rx'] == row['frames_tx']
                                                for row in rows), choice='flow')
        server.capture_state('stop')
        for port in ('tx', 'rx'):
            (self.folder / f'{port}.pcapng').write_bytes(server.capture(port))
        return {row['name']: row for row in rows}

    def refused(self, server, config, *parts):
        with self.assertRaises(Refused) as refusal:
            server.set_config(config)
        self.assertEqual(refusal.exception.status, 400)
        self.assertTrue(any(all(part in error for part in parts) for error in refusal.exception.errors),
                        refusal.exception.errors)


@needs.tools('tshark')
class Frames(Flows):
    def test_patterns_sizes_and_checksums(self):
        server = Server(self)
        patterned = flow('patterned', [
            header('ethernet', src=counter('increment', '02:00:00:00:00:fe', count=3), dst='02:00:00:00:01:01'),
            header('vlan', id={'choice': 'values', 'values': [7, 9]}, priority=5),
            header('ipv4', src='10.0.0.1', dst=counter('decrement', '10.0.1.0', step='0.0.0.1', count=4), time_to_live=9,
                   identification=counter('increment', 65535, step=2, count=2),
                   priority={'choice': 'dscp', 'dscp': {'phb': {'value': 26}, 'ecn': {'value': 2}}}),
            header('udp', src_port=counter('increment', 5000, step=10, count=100), dst_port=5001)],
            200, {'choice': 'pps', 'pps': 2000}, packets(300), MEASURED)
        roce = flow('roce', [header('ethernet'), header('ipv6', src='fd00::1', dst='fd00::2', traffic_class=104),
                             header('udp', src_port=49152, dst_port=4791),
                             {'choice': 'custom', 'custom': {'bytes': BTH_AND_RETH}}],
                    {'choice': 'increment', 'increment': {'start': 200, 'end': 600, 'step': 100}},
                    {'choice': 'mbps', 'mbps': 10},
                    {'choice': 'burst', 'burst': {'bursts': 5, 'packets': 20, 'inter_burst_gap': {
                        'choice': 'microseconds', 'microseconds': 1000}}})
        # Frames of 64 bytes have no room for a signature: they are counted by their headers.
        small = flow('small', [header('ethernet'), header('ipv4', src='10.9.0.1', dst='10.9.0.2'), header('udp')],
                     rate={'choice': 'percentage', 'percentage': 1},
                     duration={'choice': 'fixed_seconds', 'fixed_seconds': {'seconds': 0.3}})
        bad = flow('bad', [header('ethernet', ether_type=0x88b5), {'choice': 'custom', 'custom': {'bytes': '01 02 03'}}],
                   100, {'choice': 'kbps', 'kbps': 500}, packets(7),
                   payload={'choice': 'fixed', 'fixed': {'pattern': 'aabb', 'repeat': False}}, metrics={'enable': False})
        rows = self.run_until_stopped(server, self.config(patterned, roce, small, bad))
        self.assertEqual(sorted(rows), ['patterned', 'roce', 'small'])
        self.check_patterned(rows['patterned'])
        self.check_roce(rows['roce'])
        # 2 Mb/s with preamble, gap and FCS, in 0.3 s
        self.assertEqual(rows['small']['frames_tx'], -(-2_000_000 * 3 // (10 * 8 * 84)))
        self.check_counts(rows['small'], 'ip.src == 10.9.0.1')
        payloads = rows_of(self.folder / 'rx.pcapng', 'eth.type == 0x88b5', 'data.data')
        self.assertEqual(payloads, [('010203aabb' + '00' * (100 - FCS - 14 - 5),)] * 7)

    def check_counts(self, row, shown):
        lengths = [[int(size) + FCS for size, in rows_of(self.folder / f'{port}.pcapng', shown, 'frame.len')]
                   for port in ('tx', 'rx')]
        self.assertEqual([row['frames_tx'], row['frames_rx']], [len(lengths[0]), len(lengths[1])])
        self.assertEqual([row['bytes_tx'], row['bytes_rx']], [sum(lengths[0]), sum(lengths[1])])
        self.assertEqual(row['loss'], 0)

    def check_patterned(self, row):
        self.check_counts(row, 'ip.src == 10.0.0.1')
        found = rows_of(self.folder / 'rx.pcapng', 'ip.src == 10.0.0.1', 'eth.src', 'vlan.id', 'vlan.priority', 'ip.dst',
                        'ip.id', 'ip.dsfield', 'ip.ttl', 'udp.srcport', 'udp.dstport', 'ip.checksum.status',
                        'udp.checksum.status', 'frame.len', 'ip.len', 'udp.length')
        wanted = [(f'02:00:00:00:{(0xfe + i % 3) >> 8:02x}:{(0xfe + i % 3) & 0xff:02x}', ('7', '9')[i % 2], '5',
                   ('10.0.1.0', '10.0.0.255', '10.0.0.254', '10.0.0.253')[i % 4], ('0xffff', '0x0001')[i % 2], '0x6a', '9',
                   str(5000 + 10 * (i % 100)), '5001', '1', '1', '196', '178', '158') for i in range(300)]
        self.assertEqual(found, wanted)
        latency = row['latency']
        self.assertTrue(0 < latency['minimum_ns'] <= latency['average_ns'] <= latency['maximum_ns'])
        self.assertLess(row['timestamps']['first_timestamp_ns'], row['timestamps']['last_timestamp_ns'])

    def check_roce(self, row):
        self.check_counts(row, 'ipv6.src == fd00::1')
        found = rows_of(self.folder / 'rx.pcapng', 'ipv6.src == fd00::1', 'infiniband.bth.opcode',
                        'infiniband.bth.destqp', 'infiniband.bth.psn', 'infiniband.reth.va', 'infiniband.reth.dmalen',
                        'ipv6.tclass', 'frame.len')
        self.assertEqual(len(found), 100)
        for i, frame in enumerate(found):
            self.assertEqual([int(cell, 0) for cell in frame],
                             [10, 0x11, 7, 0x1000, 256, 104, 200 + 100 * (i % 5) - FCS])
        subprocess.run(['tshark', '-r', self.folder / 'rx.pcapng', '-Y', 'ipv6.src == fd00::1', '-F', 'pcap', '-w',
                        self.folder / 'one.pcap'], capture_output=True, check=True)
        text = subprocess.run(['tshark', '-r', self.folder / 'one.pcap', '-T', 'fields', '-e', 'infiniband.invariant.crc',
                               '-e', 'frame.number'], capture_output=True, text=True, check=True).stdout
        frames = frames_of_pcap(self.folder / 'one.pcap')
        self.assertEqual([int(line.split('\t')[0], 0) for line in text.splitlines()],
                         [int.from_bytes(icrc_of(frame), 'big') for frame in frames])

    def test_each_kind_of_rate_sends_as_many_frames(self):
        """In a fixed time, a rate is a number of frames: that of Ethernet's overhead and FCS included."""
        server = Server(self)
        rates = {'pps': 1234, 'bps': 1_000_000, 'kbps': 2000, 'mbps': 3, 'gbps': 1, 'percentage': 2.5}
        size, seconds = 1000, 0.2
        on_wire = 8 * (size + 20)
        wanted = {'pps': 1234, 'bps': 1e6 / on_wire, 'kbps': 2e6 / on_wire, 'mbps': 3e6 / on_wire,
                  'gbps': 1e9 / on_wire, 'percentage': 0.025 * 200e6 / on_wire}
        flows = [flow(unit, [header('ethernet')], size, {'choice': unit, unit: rate},
                      {'choice': 'fixed_seconds', 'fixed_seconds': {'seconds': seconds}}) for unit, rate in rates.items()]
        rows = self.run_until_stopped(server, self.config(*flows))
        for unit, rate in wanted.items():
            self.assertAlmostEqual(rows[unit]['frames_tx'], rate * seconds, delta=1, msg=unit)
            self.assertEqual(rows[unit]['bytes_tx'], size * rows[unit]['frames_tx'])

    def test_flows_of_devices(self):
        """Each address to each other one, with the addresses and the tag of the devices, where headers have none."""
        server = Server(self)
        devices = [otg_client.device(number, port, []) for number, port in ((1, 'tx'), (2, 'rx'), (3, 'rx'))]
        for each in devices:
            del each['rocev2']
        devices[0]['ethernets'][0]['vlans'] = [{'name': 'tag', 'id': 42, 'priority': 3}]
        for each in devices[1:]:
            each['ethernets'][0]['vlans'] = [{'name': each['name'], 'id': 42}]
        mesh = flow('mesh', [header('ethernet'), header('ipv4'), header('udp', src_port=1, dst_port=2)], 128,
                    {'choice': 'pps', 'pps': 1000}, packets(20), MEASURED)
        mesh['tx_rx'] = {'choice': 'device', 'device': {'tx_names': ['ip1'], 'rx_names': ['ip2', 'ip3']}}
        rows = self.run_until_stopped(server, self.config(mesh, devices=devices))
        self.assertEqual((rows['mesh']['port_tx'], rows['mesh']['port_rx']), ('tx', 'rx'))
        found = rows_of(self.folder / 'rx.pcapng', 'udp', 'eth.src', 'eth.dst', 'vlan.id', 'vlan.priority', 'ip.src',
                        'ip.dst')
        self.assertEqual(found, [('00:00:00:00:00:01', f'00:00:00:00:00:0{end}', '42', '3', '10.1.1.1', f'10.1.1.{end}')
                                 for _ in range(10) for end in (2, 3)])
        # Over IPv6, in a mixture of sizes whose shares the model has.
        devices = [otg_client.device(number, port, [], version=6) for number, port in ((1, 'tx'), (2, 'rx'))]
        for each in devices:
            del each['rocev2']
        six = flow('six', [header('ethernet'), header('ipv6'), header('udp', src_port=1, dst_port=2)],
                   {'choice': 'weight_pairs', 'weight_pairs': {'choice': 'predefined', 'predefined': 'ipsec_imix'}},
                   {'choice': 'pps', 'pps': 2000}, packets(400))
        six['tx_rx'] = {'choice': 'device', 'device': {'mode': 'one_to_one', 'tx_names': ['ip1'], 'rx_names': ['ip2']}}
        self.run_until_stopped(server, self.config(six, devices=devices))
        found = rows_of(self.folder / 'rx.pcapng', 'udp', 'ipv6.src', 'ipv6.dst', 'eth.dst', 'udp.checksum.status')
        self.assertEqual(set(found), {('fd00::1', 'fd00::2', '00:00:00:00:00:02', '1')})
        sizes = [int(size) + FCS for size, in rows_of(self.folder / 'rx.pcapng', 'udp', 'frame.len')]
        self.assertEqual(set(sizes), {90, 92, 594, 1418})
        self.assertAlmostEqual(sizes.count(90) / 400, 0.5867, delta=0.1)  # four standard deviations

    def test_states(self):
        """Pause and resume keep the counters, start begins anew, and names choose flows."""
        server = Server(self)
        endless = [flow(name, [header('ethernet')], 100, {'choice': 'pps', 'pps': 5000}) for name in ('a', 'b')]
        server.set_config(self.config(*endless))

        def state_of(name):
            return next(row for row in server.metrics('flow', flow_names=[name]))

        def wait_until(name, count):
            return server.wait_for(lambda rows: rows[0]['frames_tx'] >= count, choice='flow', flow_names=[name])[0]
        server.traffic('start', flow_names=['a'])
        wait_until('a', 50)
        self.assertEqual((state_of('b')['transmit'], state_of('b')['frames_tx']), ('stopped', 0))
        server.traffic('pause')
        paused = state_of('a')
        self.assertEqual((paused['transmit'], state_of('b')['transmit']), ('paused', 'stopped'))
        server.traffic('resume')
        again = wait_until('a', paused['frames_tx'] + 50)
        self.assertEqual((again['transmit'], again['loss'] < 100), ('started', True))
        server.traffic('stop')
        self.assertEqual(state_of('a')['frames_tx'], state_of('a')['frames_tx'])
        server.traffic('start', flow_names=['b'])
        wait_until('b', 1)
        self.assertGreater(state_of('a')['frames_tx'], 100)
        columns = server.metrics('flow', flow_names=['b'], metric_names=['frames_tx', 'transmit'])
        self.assertEqual([sorted(row) for row in columns], [['frames_tx', 'name', 'transmit']])

    def test_flows_come_and_go_while_others_run(self):
        """PATCH /config/append and /config/delete change nothing of the flows that run."""
        server = Server(self)
        first, second = (flow(name, [header('ethernet')], 100, {'choice': 'pps', 'pps': 2000}) for name in 'ab')
        config = self.config(first)
        server.set_config(config)
        server.traffic('start')
        server.wait_for(lambda rows: rows[0]['frames_rx'] > 20, choice='flow')
        server.json('PATCH', '/config/append', [{'choice': 'flows', 'flows': [second]}])
        self.assertEqual(server.json('GET', '/config'), {**config, 'flows': [first, second]})
        self.assertEqual([row['transmit'] for row in server.metrics('flow')], ['started', 'stopped'])
        server.traffic('start', flow_names=['b'])
        server.wait_for(lambda rows: rows[1]['frames_rx'] > 20, choice='flow')
        server.json('PATCH', '/config/delete', {'config_delete_list': [{'choice': 'flows', 'flows': ['a']}]})
        self.assertEqual(server.json('GET', '/config'), {**config, 'flows': [second]})
        before = server.metrics('flow')[0]['frames_rx']
        row, = server.wait_for(lambda rows: rows[0]['frames_rx'] > before + 20, choice='flow')
        self.assertEqual(row['name'], 'b')
        for path, body, *parts in (
                ('append', [{'choice': 'flows', 'flows': [second]}], 'config_append_list[0].flows[0].name', 'another'),
                ('append', [{'choice': 'flows', 'flows': [flow('c', [header('ethernet')], 14000)]}], 'size', 'at most'),
                ('append', [{'choice': 'ports'}], 'config_append_list[0].choice', 'flows'),
                ('append', 7, 'expected an object'), ('delete', [{'choice': 'flows', 'flows': ['a']}], 'no "a"')):
            with self.subTest(body=body), self.assertRaises(Refused) as refusal:
                server.json('PATCH', '/config/' + path, body)
            self.assertTrue(all(part in refusal.exception.errors[0] for part in parts), refusal.exception.errors)
        server.json('PATCH', '/config/append', [{'choice': 'flows', 'flows': [flow('c', [header('ethernet')])]}])

    def test_loss_and_delay_of_a_path(self):
        """Through roce-impair: what it drops is the loss, and its delay the least latency."""
        (self.folder / 'path.toml').write_text('[[rule]]\nname = "path"\nmatch = "all"\ndelay = "2ms"\nloss = "10%"\n',
                                               encoding='utf-8')
        begin(self, [*BOX, self.folder / 'path.toml', '--west', f'memif:{self.folder}/tx,server',
                     '--east', f'memif:{self.folder}/rx,server'])
        server = Server(self)
        config = self.config(flow('lossy', [header('ethernet'), header('ipv4'), header('udp')], 200,
                                  {'choice': 'pps', 'pps': 2000}, packets(1000), MEASURED))
        config['ports'] = [{'name': name, 'location': f'memif:{self.folder}/{name}'} for name in ('tx', 'rx')]
        server.set_config(config)
        server.wait_for(lambda rows: all(row['link'] == 'up' for row in rows), choice='port')
        server.capture_state('start')
        server.traffic('start')
        server.wait_for(lambda rows: rows[0]['transmit'] == 'stopped', choice='flow')
        server.wait_for(lambda rows: rows[1]['frames_rx_rate'] == 0 and rows[1]['frames_rx'] > 0, choice='port')
        row, = server.metrics('flow')
        server.capture_state('stop')
        (self.folder / 'rx.pcapng').write_bytes(server.capture('rx'))
        came = len(rows_of(self.folder / 'rx.pcapng', 'frame', 'frame.number'))
        self.assertEqual((row['frames_tx'], row['frames_rx']), (1000, came))
        self.assertAlmostEqual(row['loss'], 100 * (1000 - came) / 1000)
        self.assertTrue(0 < row['loss'] < 30)
        self.assertGreaterEqual(row['latency']['minimum_ns'], 2e6)


def icrc_of(frame):
    """The ICRC that a RoCEv2 frame over IPv6 without options ends with (IBTA vol. 1, annex A17)."""
    ip, udp, bth = 14, 54, 62
    masked = bytearray(frame[ip:-4])
    masked[0] |= 0x0F  # traffic class and flow label
    masked[1:4] = b'\xff\xff\xff'
    masked[7] = masked[bth - ip + 4] = 0xFF  # hop limit, FECN and BECN
    masked[udp - ip + 6:udp - ip + 8] = b'\xff\xff'  # checksum
    return zlib.crc32(b'\xff' * 8 + masked).to_bytes(4, 'little')


def frames_of_pcap(path):
    """The frames of a pcap file in this machine's byte order."""
    data, at, frames = path.read_bytes(), 24, []
    while at < len(data):
        size = int.from_bytes(data[at + 8:at + 12], 'little')
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames


class Yaml(Flows):
    def post(self, server, text, kind='application/yaml'):
        status, _, body = server.ask('POST', '/config', text, **{'Content-Type': kind})
        return status, json.loads(body)

    def test_a_configuration_in_yaml_is_that_in_json(self):
        server = Server(self)
        config = otg_client.both_ways(self.folder)
        for kind in ('application/yaml', 'application/x-yaml', 'text/yaml'):
            self.assertEqual(self.post(server, yaml.safe_dump(config), kind), (200, {'warnings': []}))
        self.assertEqual(server.json('GET', '/config'), config)
        flows = self.config(flow('f', [header('ethernet', src='00:00:00:00:00:01')]))
        self.assertEqual(self.post(server, yaml.safe_dump(flows, default_flow_style=True))[0], 200)
        self.assertEqual(server.json('GET', '/config'), flows)

    def test_what_is_refused(self):
        server = Server(self)
        bomb = 'a: &a [x, x]\n' + ''.join(f'{b}: &{b} [*{a}, *{a}]\n' for a, b in zip('abcdefgh', 'bcdefghi'))
        many = '\n'.join(f'k{number}: 1' for number in range(100))
        for text, *parts in ((bomb, 'line 2', 'aliases'), ('[' * 100000, 'nested deeper'), ('- ' * 1000, 'nested deeper'),
                             ('ports: [', 'not YAML: line'), ('{a: 1, a: 2}', 'line 1, column 8', 'there already'),
                             ('a: 1\n---\nb: 2\n', 'one document'), ('', 'found nothing'), ('!!python/name:x y', 'tag'),
                             ('? [a]\n: 1', 'key'), (many, 'keys in a mapping'), ('\x00', 'not YAML'),
                             ('ports: 7', 'ports: expected a list')):
            with self.subTest(text=text[:40]):
                status, body = self.post(server, text)
                self.assertEqual((status, body['kind']), (400, 'validation'))
                self.assertTrue(all(part in body['errors'][0] for part in parts), body)
        self.assertEqual(self.post(server, 'a: 1', 'text/plain')[0], 415)
        wide = json.dumps({f'k{number}': 1 for number in range(80000)})
        self.assertIn('at most 64 fields', self.post(server, wide, 'application/json')[1]['errors'][0])


class Guide(unittest.TestCase):
    def test_the_page_runs(self):
        """The guide's test passes, with our client in place of snappi (tests/support/snappi_stand_in)."""
        page = (SOURCE / 'docs/snappi-over-a-long-path.md').read_text(encoding='utf-8')
        (config,), (test,) = (re.findall(rf'^```{kind}\n(.*?)^```$', page, re.M | re.S) for kind in ('yaml', 'python'))
        server = Server(self)
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            pathlib.Path(folder, 'bulk.yaml').write_text(config, encoding='utf-8')
            pathlib.Path(folder, 'test_bulk.py').write_text(test.replace(':8443', f':{server.port}'), encoding='utf-8')
            programs = pathlib.Path(program('roce-impair')).parent
            done = subprocess.run(
                [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', folder], cwd=folder, capture_output=True,
                text=True, check=False, env={
                    **os.environ, 'PATH': f'{programs}:{os.environ["PATH"]}', 'LONGWIRE_PROFILES': str(SOURCE / 'profiles'),
                    'PYTHONPATH': f'{SOURCE}/packaging/python:{SOURCE}/tests/support/snappi_stand_in'})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn('1 passed', done.stdout)


class Refusals(Flows):
    def test_each_problem_is_named_by_its_path(self):
        server = Server(self)
        ethernet, ipv4, udp = header('ethernet'), header('ipv4'), header('udp')
        cases = (
            (flow('f', [ethernet, {'choice': 'tcp', 'tcp': {}}]), 'flows[0].packet[1].tcp', 'not supported'),
            (flow('f', [ethernet, udp, ipv4]), 'flows[0].packet[1]', 'the order is'),
            (flow('f', [ethernet, header('vlan', id=4096)]), 'flows[0].packet[1].vlan.id.value', '0 to 4095'),
            (flow('f', [ethernet, header('ipv4', src={'choice': 'random', 'random': {}})]), 'ipv4.src', 'random'),
            (flow('f', [ethernet, header('ipv4', src='10.0.0')]), 'ipv4.src.value', 'an IPv4 address'),
            (flow('f', [{'choice': 'custom', 'custom': {'bytes': '0g'}}]), 'flows[0].packet[0].custom.bytes', 'hexadecimal'),
            (flow('f', [ethernet, {'choice': 'custom', 'custom': {'bytes': '00' * 80}}]), 'flows[0].size', '98 bytes'),
            (flow('f', [ethernet], 20000), 'flows[0].size.fixed', '14122'),
            (flow('f', [ethernet], rate={'choice': 'pps', 'pps': 0}), 'flows[0].rate.pps', 'above 0'),
            (flow('f', [ethernet, ipv4, udp], 64, metrics=MEASURED), 'metrics.latency.enable', 'from 70 bytes on'),
            (flow('f', [ethernet], duration={'choice': 'fixed_packets', 'fixed_packets': {'packets': 1, 'gap': 20}}),
             'duration.fixed_packets.gap', 'only 12'),
            (flow('f', [ethernet], size={'choice': 'weight_pairs', 'weight_pairs': {'choice': 'custom', 'custom': [
                {'size': 64, 'weight': 0}]}}), 'flows[0].size.weight_pairs', 'weights'),
            ({**flow('f', [ethernet]), 'tx_rx': {'choice': 'port', 'port': {'tx_name': 'ty'}}},
             'flows[0].tx_rx.port.tx_name', 'is it "tx"?'),
            ({**flow('f', [ethernet]), 'egress_packet': []}, 'flows[0].egress_packet', 'not supported'),
        )
        for each, *parts in cases:
            with self.subTest(parts=parts):
                self.refused(server, self.config(each), *parts)
        self.refused(server, self.config(flow('f', [ethernet]), flow('f', [ethernet])), 'flows[1].name', 'another name')
        devices = [otg_client.device(number, 'tx', [], peer=99) for number in range(1, 33)]
        for each in devices:
            del each['rocev2']
        names = [f'ip{number}' for number in range(1, 33)]
        many = [{**flow(f'f{number}', [ethernet, ipv4], 100),
                 'tx_rx': {'choice': 'device', 'device': {'tx_names': names, 'rx_names': names}}} for number in range(5)]
        self.refused(server, self.config(*many, devices=devices), 'flows', 'at most 4096 pairs')
        config = self.config(flow('f', [ethernet], rate={'choice': 'percentage', 'percentage': 1}))
        config['ports'] = [{'name': name, 'location': f'memif:{self.folder}/link{role}'}
                           for name, role in (('tx', ',server'), ('rx', ''))]
        self.refused(server, config, 'flows[0]', 'rate=')


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
