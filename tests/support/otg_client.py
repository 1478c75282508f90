# SPDX-License-Identifier: BSD-3-Clause
"""A client of the Open Traffic Generator API for tests, and configurations for it: those of a typical
RoCEv2 test, and ones that are drawn from the table of the model's fields (tests/support/otg_fields.csv),
not from our own rows."""

import csv
import http.client
import json
import pathlib
import random
import re
import time

from longwire_test import begin, program

FIELDS = pathlib.Path(__file__).with_name('otg_fields.csv')
TIMEOUT = 60  # s
ECN = ('non_ect', 'ect_1', 'ect_0', 'ce')


def fields_of_the_model():
    """{(message, field): row} of the table."""
    with FIELDS.open(encoding='utf-8', newline='') as table:
        return {(row['message'], row['field']): row for row in csv.DictReader(table)}


class Refused(Exception):
    """An answer that is an Error of the model."""

    def __init__(self, status, body):
        super().__init__(f'{status}: {body}')
        self.status, self.body = status, body
        self.errors = body['errors']


class Server:
    """roce-gen otg, which ends with the test."""

    def __init__(self, test, *options, prefix=()):
        self.process = begin(test, [*prefix, program('roce-gen'), 'otg', '--listen', '0', *options])
        test.addCleanup(self.end)
        line = self.process.stderr.readline()
        self.port = int(re.fullmatch(r'serving http://127\.0\.0\.1:(\d+)\n', line)[1])

    def end(self):
        """Ends it as a user does, so that it removes its folder."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(TIMEOUT)

    def ask(self, method, path, body=None, **headers):
        """(status, Content-Type, body) of an answer."""
        client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=TIMEOUT)
        try:
            if body is not None:
                headers.setdefault('Content-Type', 'application/json')
                body = body if isinstance(body, (str, bytes)) else json.dumps(body)
            client.request(method, path, body, headers)
            answer = client.getresponse()
            return answer.status, answer.getheader('Content-Type'), answer.read()
        finally:
            client.close()

    def json(self, method, path, body=None):
        """The JSON of an answer. Raises Refused."""
        status, kind, text = self.ask(method, path, body)
        assert kind == 'application/json', kind
        if status != 200:
            raise Refused(status, json.loads(text))
        return json.loads(text)

    def set_config(self, config):
        return self.json('POST', '/config', config)['warnings']

    def control(self, *path, **values):
        """control('traffic', 'flow_transmit', state='start')"""
        body = values
        for name in reversed(path):
            body = {'choice': name, name: body}
        return self.json('POST', '/control/state', body)['warnings']

    def protocols(self, state):
        return self.control('protocol', 'all', state=state)

    def traffic(self, state, **names):
        return self.control('traffic', 'flow_transmit', state=state, **names)

    def capture_state(self, state):
        return self.control('port', 'capture', state=state)

    def capture(self, port):
        status, kind, body = self.ask('POST', '/monitor/capture', {'port_name': port})
        if status != 200:
            raise Refused(status, json.loads(body))
        assert kind == 'application/octet-stream', kind
        return body

    def metrics(self, choice='rocev2_flow', **request):
        answer = self.json('POST', '/monitor/metrics', {'choice': choice, choice: request})
        return answer[answer['choice']]

    def wait_for(self, condition, **request):
        """Waits until `condition` holds for the rows of metrics; returns them."""
        until = time.monotonic() + TIMEOUT
        while True:
            rows = self.metrics(**request)
            if condition(rows):
                return rows
            assert time.monotonic() < until, rows
            assert self.process.poll() is None, 'the server has ended'
            time.sleep(0.02)

    def wait_until_up(self, versions=(4,)):
        for version in versions:
            self.wait_for(lambda rows: rows and all(row['qp_down'] == 0 for row in rows),
                          choice=f'rocev2_ipv{version}')

    def wait_until_messages(self, count):
        """Each row that has them counts as many complete messages."""
        return self.wait_for(lambda rows: rows and all(row.get('message_complete_rx', count) >= count
                                                       for row in rows))


def marks(dscp, ecn):
    return {'choice': 'ip_dscp', 'ip_dscp': {'value': dscp}, 'ecn_value': ecn}


def qp(name, **parameters):
    return {'qp_name': name, 'connection_type': {'choice': 'reliable_connection',
                                                 'reliable_connection': parameters}}


def device(number, port, qps, version=4, ib_mtu=1024, peer=None, **ethernet):
    """A device at 10.1.1.NUMBER or fd00::NUMBER with a peer at the other of 1 and 2."""
    other = peer or 3 - number
    address = '10.1.1.{}' if version == 4 else 'fd00::{}'
    return {'name': f'device{number}',
            'ethernets': [{'name': f'eth{number}', 'mac': f'00:00:00:00:00:{number:02x}',
                           'connection': {'choice': 'port_name', 'port_name': port},
                           f'ipv{version}_addresses': [{'name': f'ip{number}',
                                                        'address': address.format(number),
                                                        'gateway': address.format(other)}],
                           **ethernet}],
            'rocev2': {f'ipv{version}_interfaces': [{f'ipv{version}_name': f'ip{number}', 'ib_mtu': ib_mtu,
                                                     'peers': [{'name': f'peer{number}', 'qps': qps,
                                                                'destination_ip_address':
                                                                    address.format(other)}]}]}}


def flow(name, sender, verb='write', size=64, unit='kb', **more):
    choice, immediate = {'choice': verb}, more.pop('immediate', 'bb')
    if verb.endswith('immediate'):
        choice[verb] = {'immediate_data': immediate}
    return {'name': name, 'tx_endpoint': sender, 'rocev2_verb': choice, 'message_size': size,
            'message_size_unit': unit, **more}


def flows_at(port, percent, *flows):
    rate = {'value': percent, 'flows': list(flows)}
    return {'tx_ports': [{'port_name': port, 'transmit_type': {'choice': 'target_line_rate',
                                                               'target_line_rate': rate}}]}


def port_settings(port, cnp=(44, 'ect_0'), ack=(59, 'ect_0'), nak=(48, 'ect_1'), cnp_delay=55, retries=None,
                  **dcqcn):
    return {'port_name': port, 'protocols': [{'choice': 'rocev2', 'rocev2': {
        'cnp': {**marks(*cnp), 'cnp_delay_timer': cnp_delay},
        'connection_type': {'choice': 'reliable_connection', 'reliable_connection': {
            'ack': marks(*ack), 'nak': marks(*nak), **(retries or {})}},
        **({'dcqcn_settings': dcqcn} if dcqcn else {})}}]}


def ports(folder, rate='200Mb/s'):
    """Two ports of one server that are connected to each other."""
    return [{'name': 'tx', 'location': f'memif:{folder}/link,server,rate={rate}'},
            {'name': 'rx', 'location': f'memif:{folder}/link,rate={rate}'}]


def captures():
    return [{'name': 'capture', 'port_names': ['tx', 'rx'], 'format': 'pcapng'}]


# A busy machine stops a program for longer than the standard 3 retries of 1 ms take.
PATIENT = {'retransmission_timeout_value': 2000, 'retransmission_retry_count': 7}
RETRIES = {'enable_retransmission_timeout': False, 'retransmission_timeout_value': 10}


def both_ways(folder):
    """One QP each way, SEND and WRITE with immediate; all settings of both ports."""
    return {'ports': ports(folder), 'captures': captures(),
            'devices': [device(1, 'tx', [qp('QP_1', source_qp_number=33, dscp=27)], ib_mtu=1027),
                        device(2, 'rx', [qp('QP_2', source_qp_number=34, dscp=28, ecn='ect_0')], ib_mtu=1027)],
            'stateful_flows': {'rocev2': [
                {'tx_ports': [*flows_at('tx', 80, flow('QP_2', 'QP_1', 'send_with_immediate', 1, 'kb',
                                                       immediate='bb'))['tx_ports'],
                              *flows_at('rx', 80, flow('QP_1', 'QP_2', 'write_with_immediate', 1, 'mb',
                                                       immediate='aa'))['tx_ports']]}]},
            'options': {'per_port_options': [
                port_settings('tx', retries=RETRIES, alpha_g=1020, initial_alpha=1000,
                              maximum_rate_decrement_at_time=12),
                port_settings('rx', retries=RETRIES, alpha_g=1022, initial_alpha=1000,
                              maximum_rate_decrement_at_time=13)]}}


def two_qps_with_shared_flows(folder):
    """Two QPs at each end; four flows at one port's rate, two of them of one QP each."""
    def qps(names, first, dscps):
        return [qp(name, source_qp_number=first + i, dscp=dscp, ecn=('ect_0', 'ect_1')[i])
                for i, (name, dscp) in enumerate(zip(names, dscps))]
    return {'ports': ports(folder), 'captures': captures(),
            'devices': [device(1, 'tx', qps(('QP_1', 'QP_2'), 33, (27, 41)), ib_mtu=1027),
                        device(2, 'rx', qps(('QP_3', 'QP_4'), 35, (28, 38)), ib_mtu=1027)],
            'stateful_flows': {'rocev2': [flows_at(
                'tx', 98,
                flow('QP_1', 'QP_1', 'send_with_immediate', 1, 'kb', immediate='bb'),
                flow('QP_2', 'QP_3', 'write_with_immediate', 1, 'mb', immediate='aa'),
                flow('QP_3', 'QP_1', 'send_with_immediate', 1, 'kb', immediate='bf'),
                flow('QP_4', 'QP_3', 'write_with_immediate', 1, 'mb', immediate='fa'))]},
            'options': {'per_port_options': [
                port_settings('tx', cnp=(49, 'ect_1'), retries=RETRIES, alpha_g=1020, initial_alpha=1000,
                              maximum_rate_decrement_at_time=12),
                {'port_name': 'rx', 'protocols': []}]}}


def four_qps(folder):
    """Four QPs at each end, each with a flow, of all verbs."""
    names = [f'QP_{i}' for i in range(1, 9)]
    verbs = ('write', 'write_with_immediate', 'send', 'read')
    return {'ports': ports(folder), 'captures': captures(),
            'devices': [device(1, 'tx', [qp(name, dscp=10 + i) for i, name in enumerate(names[:4])]),
                        device(2, 'rx', [qp(name, dscp=20 + i) for i, name in enumerate(names[4:])])],
            'stateful_flows': {'rocev2': [flows_at('tx', 60, *(
                flow(f'flow_{verb}', name, verb, 4, 'kb', rx_endpoint=other)
                for verb, name, other in zip(verbs, names, reversed(names))))]},
            'options': {'per_port_options': [port_settings(port, retries=PATIENT) for port in ('tx', 'rx')]}}


class Drawn:
    """A configuration drawn from the model's table, as `config`, and what was drawn for each end: one QP
    pair, one or two flows, the settings of both ports. The fields are the table's; what is in JSON but not
    in the table does not exist."""

    def __init__(self, folder, seed):
        self.random = random.Random(seed)
        self.table = fields_of_the_model()
        self.version = self.random.choice((4, 6))
        self.ib_mtu = self.random.choice((256, 512, 1024, 1027, 1360, self.random.randrange(64, 1380)))
        self.ends = [self.parameters() for _ in range(2)]
        self.settings = [self.settings_of(port) for port in ('tx', 'rx')]
        self.verb = self.random.choice(self.values('Rocev2.Verb', 'choice'))
        self.size, self.unit = self.random.choice(((self.random.randrange(1, 65536), 'bytes'),
                                                   (self.random.randrange(1, 33), 'kb'), (1, 'mb')))
        self.immediate = f'{self.random.getrandbits(32):08x}'
        self.percent = self.random.randrange(20, 99)
        config = {'ports': ports(folder, '100Mb/s'), 'captures': captures(),
                  'devices': [device(number, port, [qp(f'qp{number}', **end)], self.version, self.ib_mtu)
                              for number, port, end in zip((1, 2), ('tx', 'rx'), self.ends)],
                  'stateful_flows': {'rocev2': [flows_at('tx', self.percent, flow(
                      'flow', 'qp1', self.verb, self.size, self.unit, immediate=self.immediate))]},
                  'options': {'per_port_options': self.settings}}
        self.config = json.loads(json.dumps(config))

    def values(self, message, field):
        return self.table[message, field]['values'].split()

    def number(self, message, field, most=None):
        row = self.table[message, field]
        low, high = int(row['minimum'] or 0), int(row['maximum'] or 1000)
        high = min(high, most or high)
        return self.random.choice((low, high, self.random.randint(low, high)))

    def parameters(self):
        """Of a QP. What has 25 bits in the model has 24 on the wire."""
        last = (1 << 24) - 1
        drawn = {key: self.number('Rocev2.QPParameters', key, last)
                 for key in ('source_qp_number', 'dscp', 'udp_source_port', 'initial_psn')}
        drawn['ecn'] = self.random.choice(self.values('Rocev2.QPParameters', 'ecn'))
        drawn['virtual_address'] = f'{self.random.getrandbits(48):016x}'
        drawn['remote_key'] = f'{self.random.getrandbits(32):08x}'
        return drawn

    def drawn_marks(self, message):
        return (self.number('Rocev2.PriorityValue', 'value'),
                self.random.choice(self.values(message, 'ecn_value')))

    def settings_of(self, port):
        # Without a limit, or with a long one, a run whose start is slow does not fail.
        retries = {'enable_retransmission_timeout': self.random.choice((True, False)),
                   'retransmission_timeout_value': self.random.choice((500, 5369)),
                   'retransmission_retry_count': self.number('Rocev2.AckAndNak', 'retransmission_retry_count')}
        percent = {key: self.random.choice((10, 50, 100.0)) for key in (
            'initial_rate_after_first_cnp', 'minimum_rate_limmit', 'additive_increment_rate',
            'hyper_increment_rate')}
        whole = {key: self.number('Rocev2.DCQCN', key) for key in (
            'alpha_g', 'initial_alpha', 'maximum_rate_decrement_at_time', 'rate_increment_byte_counter',
            'rate_increment_threshold')}
        times = {key: self.random.randrange(1, 1000) for key in (
            'alpha_update_period', 'rate_reduction_time_period', 'rate_increment_time')}
        return port_settings(port, self.drawn_marks('Rocev2.CNP'), self.drawn_marks('Rocev2.ACK'),
                             self.drawn_marks('Rocev2.NAK'), self.number('Rocev2.CNP', 'cnp_delay_timer'), retries,
                             enable_dcqcn=self.random.choice((True, False)),
                             clamp_target_rate=self.random.choice((True, False)), **percent, **whole, **times)
