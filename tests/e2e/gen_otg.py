# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen otg: a client of the tests' own sets configurations, gets them back, connects QPs, sends and
captures; what is asked is seen by tshark and counted by roce-dissect. LONGWIRE_SEEDS changes the number
of configurations that are drawn, LONGWIRE_SEED the first of them."""

import ast
import calendar
import collections
import itertools
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import needs
import otg_client
import otg_table
from longwire_test import BOX, begin, program
from otg_client import ECN, Refused, Server

GEN, DISSECT = program('roce-gen'), program('roce-dissect')
SEED, DRAWN = int(os.environ.get('LONGWIRE_SEED', 1)), int(os.environ.get('LONGWIRE_SEEDS', 2))

# Kinds of packets by BTH's opcode, and of an acknowledgement by AETH's syndrome.
SENDS, WRITES, READ_REQUEST, RESPONSES = range(0, 6), range(6, 12), 12, range(13, 17)
ACK, CNP, NAK_SYNDROME = 17, 129, 0x60


def kind_of(frame):
    if frame.opcode == CNP:
        return 'cnp'
    if frame.opcode == ACK:
        return 'nak' if frame.syndrome & 0x60 == NAK_SYNDROME else 'ack'
    return 'data'


Frame = collections.namedtuple('Frame', 'source opcode qp psn dscp ecn port syndrome va r_key length immediate '
                                        'bytes vlan time')


def frames_of(path):
    """The RoCEv2 frames of a capture without those of connection management, as tshark reads them."""
    columns = ('ip.src', 'ipv6.src', 'infiniband.bth.opcode', 'infiniband.bth.destqp', 'infiniband.bth.psn',
               'ip.dsfield', 'ipv6.tclass', 'udp.srcport', 'infiniband.aeth.syndrome', 'infiniband.reth.va',
               'infiniband.reth.r_key', 'infiniband.reth.dmalen', 'infiniband.immdt', 'frame.len', 'vlan.id',
               'frame.time_epoch')
    command = ['tshark', '-r', str(path), '-Y', 'infiniband.bth && !(infiniband.bth.destqp == 1)', '-T', 'fields',
               '-E', 'separator=/t', '-E', 'occurrence=f', *(word for name in columns for word in ('-e', name))]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [frame_of(line.split('\t')) for line in text.splitlines()]


def frame_of(cells):
    def number(cell):
        return int(cell, 0) if cell else None
    v4, v6, opcode, qp, psn, tos, tclass, port, syndrome, va, key, length, immediate, size, vlan, time = cells
    traffic_class = number(tos or tclass)
    return Frame(v4 or v6, number(opcode), number(qp), number(psn), traffic_class >> 2, traffic_class & 3,
                 number(port), number(syndrome), number(va), number(key), number(length),
                 int(immediate.replace(':', ''), 16) if immediate else None, number(size), number(vlan), float(time))


class Otg(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def refused(self, server, config, *parts):
        """The configuration is refused, with an error that has all these parts."""
        with self.assertRaises(Refused) as refusal:
            server.set_config(config)
        self.assertEqual(refusal.exception.status, 400)
        self.assertEqual(refusal.exception.body['kind'], 'validation')
        self.assertTrue(any(all(part in error for part in parts) for error in refusal.exception.errors),
                        refusal.exception.errors)

    def run_once(self, server, config, messages=3, versions=(4,)):
        """Runs the flows of a configuration until each QP has some messages, captured at both ends.
        Returns the rows of the QPs and the frames of each port."""
        server.set_config(config)
        self.assertEqual(server.json('GET', '/config'), config)
        server.protocols('start')
        server.wait_until_up(versions)
        server.capture_state('start')
        server.traffic('start')
        server.wait_until_messages(messages)
        self.assertEqual(server.traffic('stop'), [])
        rows = server.metrics()
        server.capture_state('stop')
        frames = {}
        for port in ('tx', 'rx'):
            path = self.folder / f'{port}.pcapng'
            path.write_bytes(server.capture(port))
            frames[port] = frames_of(path)
        server.protocols('stop')
        return rows, frames


class Model(Otg):
    def test_rows_are_those_of_the_model(self):
        text = subprocess.run([GEN, 'otg', '--fields', '--json'], capture_output=True, text=True, check=True).stdout
        rows = [json.loads(line) for line in text.splitlines()]
        table = otg_client.fields_of_the_model()
        names = {(row['message'], row['field']) for row in rows}
        messages = {message for message, _ in names}
        self.assertEqual({field for field in table if field[0] in messages} - names, set())
        for row in rows:
            with self.subTest(message=row['message'], field=row['field']):
                self.compare(row, table.get((row['message'], row['field'])))

    def test_the_manual_has_the_rows(self):
        page = otg_table.PAGE.read_text(encoding='utf-8')
        self.assertEqual(otg_table.current(page, otg_table.rows_of(GEN)), page)

    def compare(self, row, model):
        """What our rows say of a field is what the model says, where the field is applied."""
        if model is None:
            self.assertEqual(row['use'], 'refused')
            return
        if row['use'] != 'applied':
            self.assertTrue(row['meaning'])
            return
        if model['required']:
            self.assertEqual(row.get('default'), 'required')
        elif model['default'].startswith('['):
            self.assertEqual([row.get('default')], [str(value) for value in ast.literal_eval(model['default'])])
        elif model['default']:
            self.assertEqual(row.get('default'), model['default'].lower() if row['type'] == 'boolean'
                             else model['default'])
        bounds = row.get('bounds', '')
        if model['values']:
            # State.Protocol has a field rocev2, but does not list it among its choices.
            more = {'rocev2'} if row['message'] == 'State.Protocol' else set()
            self.assertLessEqual(set(bounds.split()) - more, set(model['values'].split()))
        elif model['maximum'] and 'digits' not in bounds and row['message'] != 'Rocev2.ImmediateData':
            self.assertEqual(bounds, f"{model['minimum'] or 0} to {model['maximum']}")

    def test_metrics_have_the_columns_of_the_model(self):
        server = Server(self)
        server.set_config(otg_client.both_ways(self.folder))
        table = otg_client.fields_of_the_model()
        for choice, message in (('port', 'Port.Metric'), ('rocev2_ipv4', 'Rocev2IPv4.Metric.PerPeer'),
                                ('rocev2_flow', 'Rocev2Flow.Metric.PerQP')):
            for row in server.metrics(choice):
                self.assertEqual({column for column in row if (message, column) not in table}, set())

    def test_each_problem_is_named_by_its_path(self):
        server = Server(self)
        config = otg_client.both_ways(self.folder)
        self.assertEqual(server.json('GET', '/config'), {})

        def changed(path, value):
            copy = json.loads(json.dumps(config))
            place = copy
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            return copy
        parameters = ('devices', 0, 'rocev2', 'ipv4_interfaces', 0, 'peers', 0, 'qps', 0, 'connection_type',
                      'reliable_connection')
        path = 'devices[0].rocev2.ipv4_interfaces[0].peers[0].qps[0].connection_type.reliable_connection.'
        self.refused(server, changed((*parameters, 'dscp'), 64), path + 'dscp', '0 to 63', '64')
        self.refused(server, changed((*parameters, 'dspc'), 6), path + 'dspc', 'is it `dscp`?')
        self.refused(server, changed((*parameters, 'ecn'), 'ect'), path + 'ecn', 'non_ect, ect_1, ect_0, ce')
        self.refused(server, changed((*parameters, 'initial_psn'), 1 << 24), path + 'initial_psn', '24 bits')
        self.refused(server, changed(('devices', 1, 'bgp'), {}), 'devices[1].bgp', 'not supported')
        self.refused(server, changed(('lags',), [{}]), 'lags', 'not supported')
        self.refused(server, changed(('ports', 0, 'location'), f'memif:{self.folder}/link,server'),
                     'ports[0].location', 'rate=')
        self.refused(server, changed(('devices', 0, 'ethernets', 0, 'connection', 'port_name'), 'tz'),
                     'devices[0].ethernets[0].connection.port_name', 'is it "tx"?')
        self.assertEqual(server.json('GET', '/config'), {})
        status, _, body = server.ask('POST', '/config', '{"ports": [')
        self.assertEqual((status, json.loads(body)['errors']), (400, ['the body is not JSON']))

    def test_requests_that_are_not_of_the_model(self):
        server = Server(self)
        for method, path, body, status in (('GET', '/', None, 404), ('DELETE', '/config', None, 405),
                                           ('PATCH', '/config', {}, 501),
                                           ('POST', '/control/action', {'choice': 'protocol'}, 400),
                                           ('POST', '/control/state', {}, 400)):
            with self.assertRaises(Refused) as refusal:
                server.json(method, path, body)
            self.assertEqual(refusal.exception.status, status)
        self.assertEqual(server.ask('GET', '/config', None, Origin='http://evil.example')[0], 403)
        self.assertEqual(server.ask('GET', '/config', None, Host='evil.example')[0], 403)
        self.assertEqual(server.ask('POST', '/config', 'ports: []', **{'Content-Type': 'text/plain'})[0], 415)
        self.assertEqual(server.json('GET', '/capabilities/version')['api_spec_version'], '1.61.0')

    def test_a_token_is_asked_for(self):
        token = self.folder / 'token'
        token.write_text('0123456789abcdef\n', encoding='utf-8')
        token.chmod(0o600)
        server = Server(self, '--token-file', token)
        self.assertEqual(server.ask('GET', '/config')[0], 401)
        self.assertEqual(server.ask('GET', '/config', Authorization='Bearer 0123456789abcdef')[0], 200)


@needs.tools('tshark')
class Traffic(Otg):
    def check_counts(self, rows, frames):
        """Columns of each QP are what was captured at the two ports."""
        for row in rows:
            sent = [frame for frame in frames[row['port_tx']] if frame.source == row['src_ipv4']]
            got = [frame for frame in frames[row['port_rx']] if frame.source == row['src_ipv4']]
            back = [frame for frame in frames[row['port_tx']] if frame.source == row['dest_ipv4']]
            reads = row['flow_name'].endswith('read')
            kinds = RESPONSES if reads else (*SENDS, *WRITES)
            if reads:
                sent, got = ([frame for frame in frames[port] if frame.source == row['dest_ipv4']]
                             for port in (row['port_rx'], row['port_tx']))
            data = [[frame for frame in end if frame.opcode in kinds and
                     frame.qp == row['src_qp' if reads else 'dest_qp']] for end in (sent, got)]
            self.assertEqual([row['data_frames_tx'], row['data_frames_rx']], [len(data[0]), len(data[1])], row)
            self.assertEqual([row['tx_bytes'], row['rx_bytes']],
                             [sum(frame.bytes for frame in end) for end in data], row)
            self.assertEqual(row['frame_delta'], len(data[0]) - len(data[1]))
            acks = [frame for frame in back if kind_of(frame) == 'ack' and frame.qp == row['src_qp']]
            self.assertEqual(row['ack_rx'], len(acks), row)
            self.assertGreater(row['message_tx'], 0)
            self.assertEqual(row['message_fail'], 0)

    def check_marks(self, frames, address, dscp, ecn, port=None):
        """All data of the address has these marks."""
        data = [frame for frame in frames if frame.source == address and kind_of(frame) == 'data']
        self.assertTrue(data)
        self.assertEqual({(frame.dscp, frame.ecn) for frame in data}, {(dscp, ECN.index(ecn))})
        if port is not None:
            self.assertEqual({frame.port for frame in data}, {port})

    def check_answers(self, frames, address, kind, dscp, ecn):
        found = {(frame.dscp, frame.ecn) for frame in frames if frame.source == address and kind_of(frame) == kind}
        self.assertLessEqual(found, {(dscp, ECN.index(ecn))}, kind)
        return bool(found)

    def test_a_qp_each_way(self):
        server = Server(self)
        rows, frames = self.run_once(server, otg_client.both_ways(self.folder), messages=2)
        self.check_counts(rows, frames)
        self.check_marks(frames['rx'], '10.1.1.1', 27, 'ect_1', 49152)
        self.check_marks(frames['rx'], '10.1.1.2', 28, 'ect_0', 49152)
        for address in ('10.1.1.1', '10.1.1.2'):
            self.assertTrue(self.check_answers(frames['rx'], address, 'ack', 59, 'ect_0'))
        self.assertEqual({frame.immediate for frame in frames['rx'] if frame.immediate is not None}, {0xbb, 0xaa})
        self.assertEqual([row['src_qp'] for row in rows], [33, 34])
        for row in rows:
            # 80 % of 200 Mb/s, with preamble, gap and FCS, and what a stopped program makes up for.
            data = [frame for frame in frames['rx'] if frame.source == row['src_ipv4'] and kind_of(frame) == 'data']
            bits = 8 * sum(frame.bytes + 24 for frame in data)
            self.assertLess(bits / (data[-1].time - data[0].time), 1.3 * 160e6)
            self.assertGreater(row['min_latency'], 0)
            self.assertLessEqual(row['min_latency'], row['avg_latency'])

    def test_qps_with_several_flows(self):
        server = Server(self)
        config = otg_client.two_qps_with_shared_flows(self.folder)
        warnings = server.set_config(config)
        self.assertEqual([part for part in warnings if 'tx_endpoint' in part], warnings)
        rows, frames = self.run_once(server, config, messages=2)
        self.assertEqual([row['flow_name'] for row in rows], ['QP_1+QP_3', 'QP_2+QP_4'])
        self.check_counts(rows, frames)
        self.assertEqual({frame.immediate for frame in frames['rx'] if frame.immediate is not None},
                         {0xbb, 0xbf, 0xaa, 0xfa})

    def test_each_verb(self):
        server = Server(self)
        rows, frames = self.run_once(server, otg_client.four_qps(self.folder))
        self.check_counts(rows, frames)
        self.assertEqual([(row['src_qp'], row['dest_qp']) for row in rows], [(2, 5), (3, 4), (4, 3), (5, 2)])
        peers = server.metrics('rocev2_ipv4')
        self.assertEqual([row['qp_up'] for row in peers], [0, 0])
        self.assertEqual([row['connect_request_tx'] + row['connect_request_rx'] >= 4 for row in peers], [True, True])
        self.assertEqual([row['unknown_msg_rx'] for row in peers], [0, 0])
        warnings = server.traffic('start')
        self.assertEqual(['is not connected' in warning for warning in warnings], [True] * 4)
        server.traffic('stop')

    def test_marked_packets_make_cnps(self):
        """Data with ECN CE: CNPs in their class, and no more often than asked; DCQCN takes the rate that it is
        to have after the first one."""
        server = Server(self)
        config = otg_client.both_ways(self.folder)
        config['devices'][0]['rocev2']['ipv4_interfaces'][0]['peers'][0]['qps'] = [
            otg_client.qp('QP_1', source_qp_number=33, dscp=27, ecn='ce')]
        config['options']['per_port_options'] = [
            otg_client.port_settings('tx', retries=otg_client.PATIENT, initial_rate_after_first_cnp=5,
                                     minimum_rate_limmit=5, additive_increment_rate=0, hyper_increment_rate=0),
            otg_client.port_settings('rx', cnp=(44, 'ect_0'), cnp_delay=200)]
        config['stateful_flows']['rocev2'][0]['tx_ports'].pop()
        (row,), frames = self.run_once(server, config, messages=100)
        cnps = [frame for frame in frames['rx'] if kind_of(frame) == 'cnp' and frame.source == '10.1.1.2']
        self.assertTrue(self.check_answers(frames['rx'], '10.1.1.2', 'cnp', 44, 'ect_0'))
        self.assertEqual([row['cnp_tx'], row['cnp_rx']], [len(cnps)] * 2)
        self.assertEqual(row['ecn_ce_rx'], row['data_frames_rx'])
        # As soon as the port has no other frame to send, a CNP leaves; both are of one thread.
        gaps = [later.time - earlier.time for earlier, later in itertools.pairwise(cnps)]
        self.assertGreater(sum(gap > 190e-6 for gap in gaps), 0.9 * len(gaps))
        server.protocols('start')
        server.wait_until_up()
        server.traffic('start')
        low, high = 0.5 * 0.01, 1.2 * 0.01  # 5 % of 200 Mb/s, in Gb/s, without preamble, gap and FCS
        server.wait_for(lambda rows: low < rows[0]['data_tx_rate'] < high)
        server.traffic('stop')

    def test_drawn_configurations(self):
        """Each field that was drawn is on the wire, or in what the program counts."""
        server = Server(self)
        for seed in range(SEED, SEED + DRAWN):
            with self.subTest(seed=seed):
                drawn = otg_client.Drawn(self.folder, seed)
                rows, frames = self.run_once(server, drawn.config, versions=(drawn.version,))
                self.check_drawn(drawn, rows[0], frames)

    def check_drawn(self, drawn, row, frames):
        addresses = [row['src_ipv4'], row['dest_ipv4']]
        self.check_counts([{**row, 'flow_name': drawn.verb}], frames)
        read = drawn.verb == 'read'
        source, target = drawn.ends[::-1] if read else drawn.ends
        bytes_of = drawn.size << {'bytes': 0, 'kb': 10, 'mb': 20}[drawn.unit]
        requests = [frame for frame in frames['rx'] if frame.source == addresses[0] and
                    frame.opcode in (*SENDS, *WRITES, READ_REQUEST)]
        self.assertEqual({frame.port for frame in requests}, {drawn.ends[0]['udp_source_port']})
        self.assertEqual(requests[0].psn, drawn.ends[0]['initial_psn'])
        self.assertEqual({(frame.dscp, frame.ecn) for frame in requests},
                         {(drawn.ends[0]['dscp'], ECN.index(drawn.ends[0]['ecn']))})
        for end, number in zip(drawn.ends, (row['src_qp'], row['dest_qp'])):
            self.assertEqual(number, end['source_qp_number'])
        reths = {(frame.va, frame.r_key, frame.length) for frame in requests if frame.va is not None}
        if not drawn.verb.startswith('send'):
            self.assertEqual(reths, {(int(drawn.ends[1]['virtual_address'], 16),
                                      int(drawn.ends[1]['remote_key'], 16), bytes_of)})
        immediates = {frame.immediate for frame in requests if frame.immediate is not None}
        self.assertEqual(immediates, {int(drawn.immediate, 16)} if drawn.verb.endswith('immediate') else set())
        self.assertIsNotNone(source and target)
        for address, settings in zip(addresses, drawn.settings):
            asked = settings['protocols'][0]['rocev2']
            answers = asked['connection_type']['reliable_connection']
            for kind, wanted in (('ack', answers['ack']), ('nak', answers['nak']), ('cnp', asked['cnp'])):
                self.check_answers(frames['rx'], address, kind, wanted['ip_dscp']['value'], wanted['ecn_value'])


class States(Otg):
    def test_flows_pause_and_single_peers_stop(self):
        server = Server(self)
        config = otg_client.four_qps(self.folder)
        server.set_config(config)
        server.protocols('start')
        server.wait_until_up()
        server.traffic('start', flow_names=['flow_write', 'flow_send'])
        done = [row['message_complete_rx'] for row in server.wait_for(
            lambda rows: all(rows[i]['message_complete_rx'] > 3 for i in (0, 2)))]
        self.assertEqual((done[1], done[3]), (0, 0))
        self.assertEqual(server.traffic('pause', flow_names=['flow_write']), [])
        paused, other = (server.metrics()[i] for i in (0, 2))
        self.assertEqual((paused['message_tx'], paused['frame_delta']), (paused['message_complete_rx'], 0))
        rows = server.wait_for(lambda rows: rows[2]['message_complete_rx'] > other['message_complete_rx'] + 3)
        self.assertEqual(rows[0]['message_tx'], paused['message_tx'])
        server.traffic('resume', flow_names=['flow_write'])
        server.wait_for(lambda rows: rows[0]['message_complete_rx'] > paused['message_complete_rx'] + 3)
        self.assertEqual(server.traffic('stop'), [])
        # The QPs of the two peers are each other's ends, so one end stops both.
        server.control('protocol', 'rocev2', 'peers', state='down', peer_names=['peer1'])
        self.assertEqual([row['qp_up'] for row in server.metrics('rocev2_ipv4')], [0, 0])
        peer, = server.metrics('rocev2_ipv4', per_peer={'peer_names': ['peer1']})
        self.assertEqual((peer['disconnect_request_tx'] >= 4, peer['disconnect_reply_rx']), (True, 4))
        server.control('protocol', 'rocev2', 'peers', state='up', peer_names=['peer1'])
        server.wait_until_up()
        with self.assertRaises(Refused) as refusal:
            server.control('protocol', 'rocev2', 'peers', state='up', peer_names=['peer9'])
        self.assertIn('peer_names[0]', refusal.exception.errors[0])

    def test_a_process_that_is_killed_is_replaced(self):
        server = Server(self)
        config = otg_client.both_ways(self.folder)
        server.set_config(config)
        engine = children_of(children_of(server.process.pid)[0])[0]
        os.kill(engine, signal.SIGKILL)
        with self.assertRaises(Refused) as refusal:
            server.metrics()
        self.assertEqual((refusal.exception.status, refusal.exception.body['kind']), (500, 'internal'))
        self.assertIn('has ended', refusal.exception.errors[0])
        with self.assertRaises(Refused) as refusal:
            server.metrics()
        self.assertIn('POST /config', refusal.exception.errors[0])
        server.set_config(config)
        server.protocols('start')
        server.wait_until_up()


def children_of(process):
    return [int(word) for word in pathlib.Path(f'/proc/{process}/task/{process}/children').read_text().split()]


def ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True)


def veth_pairs(test):
    """Two pairs of interfaces, which end with the test: the names of their one ends, and of their others."""
    for near, far in (('sender', 'west'), ('receiver', 'east')):
        try:
            ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far)
        except (OSError, subprocess.CalledProcessError) as error:
            needs.lacks('interfaces', error)
        test.addCleanup(subprocess.run, ['ip', 'link', 'del', near], stderr=subprocess.DEVNULL, check=False)
        for name in (near, far):
            ip('link', 'set', name, 'addrgenmode', 'none', 'up')
    return ('sender', 'receiver'), ('west', 'east')


def out_of_sequence(frames, first_psn):
    """Request packets beyond the next PSN that the receiver expects, as go-back-N has them."""
    expected, count = first_psn, 0
    for frame in frames:
        ahead = (frame.psn - expected) % (1 << 24)
        if ahead == 0:
            expected = (expected + 1) % (1 << 24)
        elif ahead < 1 << 23:
            count += 1
    return count


def seconds_of(timestamp):
    """Since 1970, of a UTC time with nanoseconds."""
    whole, fraction = timestamp.rstrip('Z').split('.')
    return calendar.timegm(time.strptime(whole, '%Y-%m-%dT%H:%M:%S')) + int(fraction) / 1e9


@needs.tools('tshark')
class TwoServers(Otg):
    """A server at each end of a path of 1.9 ms with 0.1 % loss."""

    def locations(self):
        """Those of the two servers' ports, and those of the box: interfaces, where the test may make them."""
        if os.geteuid() == 0:
            return veth_pairs(self)
        return ([f'memif:{self.folder}/{name}' for name in ('tx', 'rx')],
                [f'memif:{self.folder}/{name},server' for name in ('tx', 'rx')])

    def config(self, number, name, location):
        """One end: its own port, and a flow of QP 1."""
        flows = [otg_client.flows_at(name, 50, otg_client.flow('far', 'qp1', 'write', 16, 'kb'))]
        return {'ports': [{'name': name, 'location': f'{location},rate=100Mb/s'}],
                'captures': [{'name': 'capture', 'port_names': [name], 'format': 'pcapng'}],
                'devices': [otg_client.device(number, name, [otg_client.qp(f'qp{number}', dscp=26, ecn='ect_0')])],
                'stateful_flows': {'rocev2': flows if number == 1 else []},
                'options': {'per_port_options': [otg_client.port_settings(
                    name, retries={'retransmission_timeout_value': 100, 'retransmission_retry_count': 200})]}}

    def begin_both(self):
        """Two servers whose QPs are connected."""
        (self.folder / 'path.toml').write_text(
            '[[rule]]\nname = "path"\nmatch = "rocev2"\ndelay = "1.9ms"\nloss = "0.1%"\n'
            'mark = "1%"\n', encoding='utf-8')
        ends, box = self.locations()
        begin(self, [*BOX, self.folder / 'path.toml', '--west', box[0], '--east', box[1]])
        servers = [Server(self) for _ in range(2)]
        for number, (server, name, location) in enumerate(zip(servers, ('tx', 'rx'), ends), 1):
            server.set_config(self.config(number, name, location))
            server.protocols('start')
        for server in servers:
            server.wait_until_up()
            server.capture_state('start')
        return servers

    def run_both(self):
        """The two rows of the QPs, merged, and the captures of both ends."""
        west, east = self.begin_both()
        begun = time.monotonic()
        west.traffic('start')
        east.wait_for(lambda rows: rows and rows[0].get('nak_tx', 0) > 0 and rows[0]['message_complete_rx'] > 100)
        self.assertEqual(west.traffic('stop'), [])
        self.elapsed = time.monotonic() - begun
        sent, got = west.metrics()[0], east.metrics()[0]
        paths = []
        for server, name in zip((west, east), ('tx', 'rx')):
            server.capture_state('stop')
            paths.append(self.folder / f'{name}.pcapng')
            paths[-1].write_bytes(server.capture(name))
        return sent, got, paths

    def compare(self, sent, got, west, east):
        """All columns but frame_delta, which no end alone knows."""
        columns = {field for message, field in otg_client.fields_of_the_model()
                   if message == 'Rocev2Flow.Metric.PerQP'}
        self.assertEqual({*sent, *got}, columns - {'frame_delta'})

        def of(frames, source, kind):
            return [frame for frame in frames if frame.source == source and kind_of(frame) == kind]
        left, came = of(west, '10.1.1.1', 'data'), of(east, '10.1.1.1', 'data')
        self.assertEqual((sent['flow_name'], sent['port_tx'], got['port_rx']), ('far', 'tx', 'rx'))
        for row in (sent, got):
            self.assertEqual((row['src_qp'], row['dest_qp'], row['src_ipv4'], row['dest_ipv4']),
                             (2, 2, '10.1.1.1', '10.1.1.2'))
        self.assertEqual((sent['data_frames_tx'], sent['tx_bytes']), (len(left), sum(frame.bytes for frame in left)))
        self.assertEqual((got['data_frames_rx'], got['rx_bytes']), (len(came), sum(frame.bytes for frame in came)))
        self.assertGreater(len(left), len(came))
        self.assertEqual(sent['data_frames_retransmitted'], len(left) - len({frame.psn for frame in left}))
        self.assertEqual(got['frame_sequence_error'], out_of_sequence(came, 0))
        for kind in ('ack', 'nak', 'cnp'):
            self.assertEqual(got[f'{kind}_tx'], len(of(east, '10.1.1.2', kind)))
            self.assertEqual(sent[f'{kind}_rx'], len(of(west, '10.1.1.2', kind)))
        self.assertEqual(got['ecn_ce_rx'], sum(frame.ecn == 3 for frame in came))
        self.assertGreater(got['ecn_ce_rx'], 0)
        ends = sum(frame.opcode in (8, 10) for frame in {frame.psn: frame for frame in left}.values())
        self.assertEqual((sent['message_tx'], got['message_complete_rx'], sent['message_fail']), (ends, ends, 0))
        self.compare_times(sent, got, left, came, of(west, '10.1.1.2', 'ack'))

    def compare_times(self, sent, got, left, came, acks):
        near = 0.05  # s: of clocks that are read one after the other on a busy machine
        for column, frame in (('first_timestamp', came[0]), ('last_timestamp', came[-1])):
            self.assertAlmostEqual(seconds_of(got[column]), frame.time, delta=near)
        self.assertTrue(acks[-1].time - left[0].time - near <= sent['flow_completion_time'] / 1e3 <= self.elapsed + near,
                        sent)
        self.assertTrue(1_900_000 <= got['min_latency'] <= got['avg_latency'] <= got['max_latency'], got)
        for row, column, frames in ((sent, 'data_tx_rate', left), (got, 'data_rx_rate', came)):
            # Of 500 ms: no more than the busiest 500 ms of the capture.
            busiest = max(sum(each.bytes for each in frames if 0 <= each.time - frame.time <= 0.5 + near)
                          for frame in frames[::50])
            self.assertTrue(0 <= row[column] <= 8 * (busiest + 200_000) / 0.5 / 1e9, (row[column], busiest))

    def dissect(self, sent, got, west, east):
        """What roce-dissect counts of the connection at the sender and at the receiver."""
        west, east = map(self.connection, (west, east))
        self.assertEqual((west['requests'], west['retransmitted'], west['messages'], west['first_psn']),
                         (sent['data_frames_tx'], sent['data_frames_retransmitted'], sent['message_tx'], 0))
        self.assertEqual((west['from_qp'], west['to_qp']), (sent['src_qp'], sent['dest_qp']))
        self.assertEqual(east['requests'], got['data_frames_rx'])
        self.assertEqual(west['responses'], sent['ack_rx'] + sent['nak_rx'])
        self.assertEqual(east['responses'], got['ack_tx'] + got['nak_tx'])
        self.assertEqual((west['cnps'], east['ce']), (sent['cnp_rx'], got['ecn_ce_rx']))

    @staticmethod
    def connection(path):
        """The direction of the sender's requests."""
        text = subprocess.run([DISSECT, 'connections', path, '--json'], capture_output=True, text=True,
                              check=True).stdout
        rows = [json.loads(line) for line in text.splitlines()]
        return next(row for row in rows if row.get('from') == '10.1.1.1' and row['requests'])

    def test_counts_are_those_of_the_captures(self):
        sent, got, paths = self.run_both()
        self.compare(sent, got, *map(frames_of, paths))
        self.dissect(sent, got, *paths)


@needs.root('interfaces')
class Links(Otg):
    def test_a_link_goes_down_and_comes_back(self):
        """What was lost is sent again once the link is back: no message fails."""
        veth_pairs(self)
        server = Server(self)
        config = otg_client.four_qps(self.folder)
        config['ports'] = [{'name': name, 'location': f'{location},rate=100Mb/s'}
                           for name, location in (('tx', 'sender'), ('rx', 'west'))]
        server.set_config(config)
        server.protocols('start')
        server.wait_until_up()
        server.traffic('start')
        before = server.wait_until_messages(3)

        def wait_for_link(state):
            return server.wait_for(lambda rows: rows[0]['link'] == state, choice='port')[0]['last_change']
        server.control('port', 'link', state='down', port_names=['tx'])
        down = wait_for_link('down')
        silent = server.wait_for(lambda rows: rows[1]['frames_rx_rate'] == 0, choice='port')[1]
        server.control('port', 'link', state='up', port_names=['tx'])
        wait_for_link('up')
        server.wait_for(lambda rows: rows[1]['frames_rx'] > silent['frames_rx'], choice='port')
        server.wait_until_messages(max(row['message_complete_rx'] for row in before) + 3)
        server.wait_for(lambda rows: rows[0]['last_change'] > down, choice='port')
        self.assertEqual(server.traffic('stop'), [])
        self.assertEqual([row['message_fail'] for row in server.metrics()], [0] * 4)


if __name__ == '__main__':
    import longwire_test
    longwire_test.enter_namespaces('--net')
    longwire_test.main()
