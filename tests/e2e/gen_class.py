# SPDX-License-Identifier: BSD-3-Clause
"""Classes of traffic of perf, respond and replay: tshark reads what is in the frames of both sides,
and a roce-impair between them sorts by them."""

import json
import subprocess
import unittest

from endpoints import GEN, TIMEOUT, Endpoints
from longwire_test import main, program

# A packet is lost, so that there is a NAK, and some are marked, so that there are CNPs.
LOSSY = '''[[rule]]
name = "line"
delay = "100us"
[[event]]
name = "lost"
qp = 1
psn_offset = [20]
occurrence = 1
direction = "{way}"
action = "drop"
[[event]]
name = "marked"
qp = 1
psn_offset = [5, 40]
direction = "{way}"
action = "mark"
'''
KINDS = ('data', 'ack', 'nak', 'cnp')
PEERS = {'v4': '198.18.0.2', 'v6': '2001:db8::2'}


def seen(pcap):
    """A row for each RoCE packet of connections: kind, DSCP, ECN, VLAN, priority, hop limit, source,
    source port, flow label, P_Key, opcode."""
    names = ('infiniband.bth.opcode', 'infiniband.aeth.syndrome', 'ip.dsfield.dscp',
             'ip.dsfield.ecn', 'ipv6.tclass.dscp', 'ipv6.tclass.ecn', 'vlan.id', 'vlan.priority',
             'ip.ttl', 'ipv6.hlim', 'eth.src', 'udp.srcport', 'ipv6.flow', 'infiniband.bth.p_key')
    run = subprocess.run(['tshark', '-r', str(pcap), '-Y', 'infiniband.bth.destqp != 1', '-T',
                          'fields'] + [word for name in names for word in ('-e', name)],
                         capture_output=True, text=True, check=True)
    rows = []
    for line in run.stdout.splitlines():
        field = dict(zip(names, line.split('\t')))
        opcode = int(field['infiniband.bth.opcode'])
        syndrome = int(field['infiniband.aeth.syndrome'] or '0', 0)
        kind = ('cnp' if opcode == 129 else 'data' if opcode & 31 != 17
                else 'ack' if syndrome >> 5 == 0 else 'nak')
        number = lambda *of: next((int(field[name], 0) for name in of if field[name]), None)
        rows.append({
            'kind': kind, 'dscp': number('ip.dsfield.dscp', 'ipv6.tclass.dscp'),
            'ecn': number('ip.dsfield.ecn', 'ipv6.tclass.ecn'), 'vlan': number('vlan.id'),
            'priority': number('vlan.priority'), 'hops': number('ip.ttl', 'ipv6.hlim'),
            'from': int(field['eth.src'][-2:]), 'port': number('udp.srcport'),
            'label': number('ipv6.flow'), 'p_key': number('infiniband.bth.p_key'),
            'opcode': opcode})
    return rows


def words(**values):
    """Options of one value for each kind."""
    return [word for name, each in values.items()
            for word in (f'--{name}', ','.join(f'{kind}={value}'
                                               for kind, value in zip(KINDS, each)))]


class Kinds(Endpoints):
    CLIENT = {'dscp': (10, 12, 14, 50), 'ecn': (2, 0, 1, 0), 'priority': (1, 2, 3, 7)}
    SERVER = {'dscp': (18, 20, 22, 46), 'ecn': (1, 2, 0, 2), 'priority': (4, 5, 6, 0)}

    def check_side(self, rows, side, expected, vlan):
        """The packets that `side` sent have the class of their kind."""
        found = set()
        for row in rows:
            if row['from'] != side or row['ecn'] == 3:
                continue
            kind = KINDS.index(row['kind'])
            found.add(row['kind'])
            self.assertEqual((row['dscp'], row['ecn']),
                             (expected['dscp'][kind], expected['ecn'][kind]), row)
            self.assertEqual((row['vlan'], row['priority']),
                             (vlan, expected['priority'][kind] if vlan is not None else None))
            self.assertEqual(row['hops'], 40 + side)
        return found

    def test_each_kind_has_its_class_at_both_sides(self):
        """Both sides send data and answer it, so each sends ACKs; a NAK and CNPs come from the side
        whose peer's packets are lost and marked."""
        for family, peer in PEERS.items():
            for vlan in None, 100:
                for way, notifier in ('west-to-east', 2), ('east-to-west', 1):
                    with self.subTest(f'{family}, VLAN {vlan}, {way}'):
                        self.check_kinds(family, peer, vlan, way, notifier)

    def check_kinds(self, family, peer, vlan, way, notifier):
        tag = () if vlan is None else ('--vlan', str(vlan))
        own = () if family == 'v4' else ('--address', peer)
        pcaps = [self.folder / f'{family}-{vlan}-{way}-{side}.pcapng' for side in '12']
        with self.box(f'{family}{vlan}{way[0]}', LOSSY.format(way=way)) as (west, east):
            [ran], said = self.perf(
                west, east, '--op', 'write', '-b', '-s', '32768', '-n', '16', '--timeout', '15',
                *words(**self.CLIENT), *tag, '--hop-limit', '41', '--pcap', pcaps[0], peer=peer,
                respond=(*own, *words(**self.SERVER), *tag, '--hop-limit', '42', '--pcap', pcaps[1]))
        self.assertEqual((ran['failed'], ran['wrong'], said['wrong']), (0, 0, 0))
        for pcap in pcaps:
            rows = seen(pcap)
            for side, expected in ((1, self.CLIENT), (2, self.SERVER)):
                every = set(KINDS) if side == notifier else {'data', 'ack'}
                self.assertEqual(self.check_side(rows, side, expected, vlan), every)
        for report, pcap, side in ((ran, pcaps[0], 1), (said, pcaps[1], 2)):
            self.check_counts(report, seen(pcap), side)

    def check_counts(self, report, rows, side):
        """The report counts what tshark counts in the side's own capture."""
        counted = {(row['way'], row['kind'], row['dscp'], row['ecn'], row.get('priority')):
                   row['packets'] for row in report['classes']}
        captured = {}
        for row in rows:
            way = 'sent' if row['from'] == side else 'received'
            key = (way, row['kind'], row['dscp'], row['ecn'], row['priority'])
            captured[key] = captured.get(key, 0) + 1
        self.assertEqual(counted, captured)


class Options(Endpoints):

    def run_pair(self, *options, respond=(), name='run', op='write', size=8192, messages=20):
        pcap = self.folder / f'{name}.pcapng'
        west, east = self.wire()
        [ran], said = self.perf(west, east, '--op', op, '-s', str(size), '-n', str(messages),
                                '--pcap', pcap, *options, respond=respond)
        self.assertEqual((ran['failed'], ran['wrong']), (0, 0))
        return ran, said, seen(pcap)

    def test_a_responder_answers_in_the_class_of_its_client(self):
        """As NICs do: ACKs have the class of the connection. Its CNPs have a class of their own."""
        _, _, rows = self.run_pair('--tclass', '106', '--vlan', '7', '-S', '3', '--hop-limit', '9',
                                   '--p-key', '0x8012', '--ecn', 'data=ce')
        self.assertEqual({(row['dscp'], row['vlan'], row['hops'], row['p_key']) for row in rows
                          if row['kind'] != 'cnp'}, {(26, 7, 9, 0x8012)})
        self.assertEqual({row['ecn'] for row in rows if row['kind'] == 'data'}, {3})
        self.assertEqual({row['ecn'] for row in rows if row['kind'] == 'ack'}, {2})
        self.assertEqual({(row['dscp'], row['priority']) for row in rows if row['kind'] == 'cnp'},
                         {(48, 6)})

    def test_a_responder_with_a_class_keeps_it(self):
        _, _, rows = self.run_pair('--tos', '104', respond=('--dscp', '30'))
        self.assertEqual({(row['from'], row['dscp'], row['ecn']) for row in rows},
                         {(1, 26, 0), (2, 30, 0)})

    def test_received_marks_make_cnps_by_the_settings_of_the_receiver(self):
        for scope, at_most in ('qp', None), ('port', 1):
            ran, said, rows = self.run_pair('-q', '4', '--ecn', 'data=ce', name=scope, messages=10,
                                            respond=('--set', 'cc.min_time_between_cnps=60000000',
                                                     '--set', f'cc.cnp_scope={scope}'))
            cnps = [row for row in rows if row['kind'] == 'cnp']
            self.assertEqual(len(cnps), at_most or 4)
            self.assertEqual((ran['cnps'], said['cnps']), (len(cnps), len(cnps)))

    def test_source_ports_are_fixed_or_by_qp_or_by_message(self):
        of_data = lambda rows: [row['port'] for row in rows
                                if row['from'] == 1 and row['kind'] == 'data']
        _, _, rows = self.run_pair('--source-port', '50001', name='fixed')
        self.assertEqual(set(of_data(rows)), {50001})
        _, _, rows = self.run_pair('-q', '2', name='qp')
        self.assertEqual(len(set(of_data(rows))), 2)
        _, _, rows = self.run_pair('--source-port', 'message', name='message')
        ports = of_data(rows)
        self.assertEqual(len(set(ports)), 20)
        self.assertGreaterEqual(min(ports), 49152)
        packets = [sum(1 for p in ports if p == port) for port in set(ports)]
        self.assertEqual(set(packets), {2})  # both packets of a message have one port
        _, _, rows = self.run_pair('--flow_label', '0x12345', name='label')
        self.assertEqual(set(of_data(rows)), {0xc000 | 0x2345 & 0x3fff ^ 0x12345 >> 14})

    def test_packets_of_another_partition_are_not_taken(self):
        """The responder counts them; the client's QP fails, as nobody answers."""
        west, east = self.wire()
        [ran], said = self.perf(west, east, '-n', '1', '--timeout', '8', '--retries', '1',
                                '--p-key', '0x8001', respond=('--p-key', '0x8002'), expect=1)
        self.assertGreater(said['other_partition'], 0)
        self.assertEqual(ran['failure'], 'retry exceeded')

    def test_a_profile_has_the_class_and_an_option_replaces_it(self):
        profile = self.folder / 'class.toml'
        profile.write_text('[class]\ndscp = { data = 11, ack = 12 }\necn = "ect1"\nvlan = 9\n'
                           'priority = "data=5,ack=4"\n')
        other = self.folder / 'other.toml'
        other.write_text('[class]\ndscp = "data=21,ack=22"\nvlan = 10\nhop_limit = 7\n')
        _, _, rows = self.run_pair('--class', profile, '--vlan', '10', '-b', name='profile',
                                   respond=('--class', other))
        self.assertEqual({(row['kind'], row['dscp'], row['vlan'], row['hops']) for row in rows if row['from'] == 2},
                         {('data', 21, 10, 7), ('ack', 22, 10, 7)})
        own = {(row['kind'], row['dscp'], row['ecn'], row['vlan'], row['priority'])
               for row in rows if row['from'] == 1}
        self.assertEqual(own, {('data', 11, 1, 10, 5), ('ack', 12, 1, 10, 4)})
        ran, _, _ = self.run_pair('--class', 'lossless-3', name='shipped')
        self.assertEqual(ran['traffic_class']['vlan'], 100)
        self.assertEqual(ran['traffic_class']['kinds'][0],
                         {'kind': 'data', 'dscp': 26, 'ecn': 2, 'priority': 3})

    def test_what_is_no_class_is_refused(self):
        profile = self.folder / 'wrong.toml'
        profile.write_text('[class]\ndscp = { data = 64 }\necn = "maybe"\nhops = 3\n')
        port = ('--port', 'null', '--peer', '198.18.0.2', '--peer-mac', '02:00:00:00:00:02')
        for given, why in (
                ((*port, '--class', str(profile)), 'wrong.toml:2:8: dscp: data: expected a number'),
                ((*port, '--class', str(profile)), 'wrong.toml:3:7: ecn: expected not-ect'),
                ((*port, '--class', str(profile)), 'hops'),
                ((*port, '--dscp', 'ack=64'), 'from 0 to 63'),
                ((*port, '--dscp', 'acks=6'), 'expected data, ack, nak or cnp'),
                ((*port, '--tclass', '256'), 'from 0 to 255'),
                ((*port, '--vlan', '4095'), 'from 0 to 4094'),
                ((*port, '--source-port', 'any'), 'qp or message'),
                ((*port, '--encapsulation', 'rocev1', '--ecn', 'ce'), 'rocev1'),
                (('--delay', '1us', '--dscp', '3'), 'goes with `roce-gen perf`')):
            command = 'perf' if '--port' in given else 'sim'
            done = subprocess.run([GEN, command, *given], capture_output=True, text=True,
                                  timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, 2, given)
            self.assertIn(why, done.stderr)


class OfDevices(unittest.TestCase):
    """What roce-endpoint says before it looks for the device, which is not there."""

    def test_what_verbs_do_not_set_is_refused_or_warned_of(self):
        endpoint = program('roce-endpoint')
        for command in 'bw --peer 127.0.0.1 --token T -d none0', 'serve --device none0 --region 4KiB':
            for given, code, why in (
                    ('--hop-limit 9', 3, 'warning: --hop-limit 9: Linux takes'),
                    ('--tclass 106 --flow-label 5 -S 3 --p-key 0xffff', 3, 'no RDMA device "none0"'),
                    ('--vlan 7', 2, '--vlan: a device takes the VLAN from the interface'),
                    ('--source-port 50000', 2, '--source-port: a device chooses'),
                    ('--dscp 26,ack=4', 2, 'a device sends data, ACKs and NAKs of a QP in one class'),
                    ('--priority cnp=7', 2, 'CNPs in one that its driver sets')):
                done = subprocess.run([endpoint, *command.split(), *given.split()], capture_output=True,
                                      text=True, timeout=TIMEOUT, check=False)
                self.assertEqual(done.returncode, code, f'{command} {given}: {done.stderr}')
                self.assertIn(why, done.stderr)
                self.assertEqual('warning' in done.stderr, 'hop' in given)


class Sorted(Endpoints):
    QUEUES = '''[[rule]]
name = "{name}"
match = {{ dscp = 26 }}
queue = {{ rate = "1Gb/s", buffer = "16MB", class = 0, classes = {{ 0 = {{ priority = 1 }}, 1 = {{ }} }} }}
[[rule]]
name = "{name} rest"
match = "all"
queue = {{ shared = "{name}", class = 1 }}
'''

    def test_a_box_sorts_into_two_queues_by_dscp(self):
        """Each rule counts the packets of its class; what is not of connections goes to the rest."""
        with self.box('sorted', self.QUEUES.format(name='lossless')) as (west, east):
            [ran], said = self.perf(west, east, '--op', 'write', '-s', '16384', '-n', '100', '--dscp',
                                    '26,ack=10', respond=('--dscp', 'data=26,ack=27'))
        there, back = self.report['directions']
        counts = lambda report, way: {
            dscp: sum(row['packets'] for row in report['classes']
                      if row['way'] == way and row['dscp'] == dscp) for dscp in (26, 27)}
        rules = lambda direction: [rule['received']['frames'] for rule in direction['rules']]
        management = 20  # datagrams of the set-up and of ARP, at most
        self.assertEqual(counts(ran, 'sent')[26], 400)
        # ConnectRequest, ReadyToUse and DisconnectRequest are in the class of data
        self.assertTrue(400 < rules(there)[0] < 400 + management, rules(there))
        self.assertLess(rules(there)[1], management)
        self.assertEqual(counts(said, 'sent')[26], 0)
        self.assertGreaterEqual(rules(back)[1], counts(said, 'sent')[27])


class Replayed(Endpoints):

    def replayed(self, *options):
        capture = self.folder / 'in.pcapng'
        if not capture.exists():
            with self.box('lossy', LOSSY.format(way='west-to-east')) as (west, east):
                self.perf(west, east, '--op', 'write', '-s', '32768', '-n', '8', '--timeout', '12',
                          '--pcap', capture)
        out = self.folder / 'out.pcap'
        done = subprocess.run([GEN, 'replay', capture, '--pcap', out, '--json', *options],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        verified = subprocess.run(['tshark', '-r', out, '-o', 'ip.check_checksum:TRUE', '-Y',
                                   'ip.checksum.status == "Bad"'], capture_output=True, text=True,
                                  check=True)
        self.assertEqual(verified.stdout, '')
        report = json.loads(subprocess.run(
            [str(GEN).replace('gen/roce-gen', 'dissect/roce-dissect'), 'verify', out, '--json'],
            capture_output=True, text=True, check=True).stdout.splitlines()[-1])
        return seen(capture), seen(out), report

    def test_a_replay_has_the_class_that_is_asked_for(self):
        before, after, verified = self.replayed(
            '--dscp', '9,cnp=5', '--ecn', 'ack=0', '--vlan', '33', '--priority', 'data=2,cnp=7',
            '--hop-limit', '3', '--source-port', '50000', '--p-key', '0x8003')
        self.assertEqual(verified['wrong'] if 'wrong' in verified else 0, 0)
        self.assertEqual(len(before), len(after))
        for old, new in zip(before, after):
            self.assertEqual(new['kind'], old['kind'])
            self.assertEqual(new['dscp'], 5 if new['kind'] == 'cnp' else 9)
            self.assertEqual(new['ecn'], 0 if new['kind'] == 'ack' else old['ecn'])
            self.assertEqual((new['vlan'], new['priority']),
                             (33, {'data': 2, 'cnp': 7}.get(new['kind'], 0)))
            self.assertEqual((new['hops'], new['port'], new['p_key']), (3, 50000, 0x8003))

    def test_a_profile_has_the_class_of_a_replay(self):
        profile = self.folder / 'class.toml'
        profile.write_text('[class]\ndscp = { data = 11, ack = 12 }\nvlan = 9\npriority = "3,cnp=6"\n')
        before, after, _ = self.replayed('--class', profile, '--vlan', '10')
        for old, new in zip(before, after):
            dscp = {'data': 11, 'ack': 12}.get(old['kind'], old['dscp'])
            self.assertEqual(new, {**old, 'dscp': dscp, 'vlan': 10, 'priority': 6 if old['kind'] == 'cnp' else 3})

    def test_what_is_not_asked_for_stays(self):
        before, after, _ = self.replayed('--dscp', 'nak=1')
        for old, new in zip(before, after):
            self.assertEqual(new, {**old, 'dscp': 1} if old['kind'] == 'nak' else old)


if __name__ == '__main__':
    main()
