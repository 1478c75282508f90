# SPDX-License-Identifier: BSD-3-Clause
"""Linux's soft-RoCE accepts the frames that roce-gen sends: every opcode of RC, UC and UD, over IPv4
and IPv6. rxe checks headers, addresses, keys and the ICRC before it counts a packet as received, and
must count exactly those that were sent. roce-endpoint in the guest makes the QPs; this test is its
client by the hand-over that its manual describes."""

import json
import socket
import subprocess
import time
import unittest

import guests
import longwire_test

TOKEN = 'token-of-this-test'
PEER_MAC = '02:00:00:00:00:01'
# Of the sender, which is no address of this machine; and of the guest.
FAMILIES = {1: ('192.168.77.2', guests.ADDRESSES['a'][0]),
            2: ('fd00:77::2', guests.ADDRESSES['a'][1])}
MTU = 1024
# What a session of roce-endpoint is for, and the operations of roce-gen that are sent to its QPs, in
# messages of 2500 and 100 bytes, or of a size. What the server has to refuse, as it has no such key,
# ends the session, so it is alone. FLUSH and ATOMIC WRITE are missing: rxe of Linux 6.1
# is older than they are.
SESSIONS = [
    ({}, ['write', 'ack', 'atomic_ack', 'read_response']),
    ({'immediate': True}, ['write_imm']),
    ({'operation': 'send'}, ['send', 'send_imm']),
    ({'operation': 'send'}, [('send_inv', 2500)]),
    ({'operation': 'send'}, [('send_inv', 100)]),
    ({'operation': 'read'}, ['read_request']),
    ({'operation': 'atomic', 'bytes': 8}, ['fetch_add', 'cmp_swap']),
    ({'transport': 'uc'}, ['write']),
    ({'transport': 'uc', 'immediate': True}, ['write_imm']),
    ({'transport': 'uc', 'operation': 'send'}, ['send', 'send_imm']),
    ({'transport': 'ud', 'operation': 'send', 'bytes': 1000}, ['send', 'send_imm']),
]
WITH_MEMORY = {'write', 'write_imm', 'read_request', 'fetch_add', 'cmp_swap'}
WITH_SIZE = {'write', 'write_imm', 'send', 'send_imm', 'send_inv', 'read_response',
             'read_request'}


class Session:
    """QPs of roce-endpoint that are ready to receive, while the connection is open."""

    def __init__(self, address, gid, options, qps):
        hello = {'schema': 'longwire-handover', 'version': 2, 'kind': 'hello', 'token': TOKEN,
                 'transport': 'rc', 'operation': 'write', 'immediate': False, 'bytes': 4096,
                 'echo': False, 'read_back': False, 'slots': 8, 'depth': 8, 'count': 0,
                 'checked': False, 'signatures': False, 'payload_crcs': [], 'mtu': MTU, 'timeout': 14, 'retries': 6,
                 'rnr_retries': 6, 'hop_limit': 64, 'p_key': 0xffff,
                 'gid': gid if ':' in gid else f'::ffff:{gid}',
                 'qps': [{'qpn': 100 + i, 'psn': 1000 * i, 'va': 0, 'r_key': 0}
                         for i in range(qps)]} | options
        until = time.monotonic() + 20
        while True:
            self._connection = socket.create_connection((address, 18515), 20)
            self._connection.sendall(json.dumps(hello).encode() + b'\n')
            line = self._connection.makefile().readline()
            offer = json.loads(line)
            if offer['kind'] == 'offer':
                break
            self._connection.close()
            # The server may still end the session before.
            if 'try again later' not in line or time.monotonic() > until:
                raise AssertionError(line)
            time.sleep(0.1)
        self.qps, self.q_key = offer['qps'], offer['q_key']

    def close(self):
        self._connection.close()


def flow(name, transport, operation, size, qp, number, session, family):
    keys = {'name': name, 'transport': transport, 'operation': operation, 'mtu': MTU,
            'messages': 1, 'rate': '1 kframes/s', 'dst_qp': qp['qpn'], 'src_qp': 100 + number,
            'first_psn': 1000 * number, 'source': FAMILIES[family][0],
            'destination': FAMILIES[family][1], 'source_mac': PEER_MAC,
            'destination_mac': '52:54:00:77:00:01', 'start_after': f'{100 * number}ms'}
    if operation in WITH_SIZE:
        keys['message_size'] = size
    if operation in WITH_MEMORY:
        keys |= {'va': f"0x{qp['va']:x}", 'rkey': qp['r_key']}
    if transport == 'ud':
        keys['q_key'] = session.q_key
    return '[[flow]]\n' + ''.join(f'{key} = {json.dumps(value)}\n' for key, value in keys.items())


@guests.needed
class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = guests.Guests(host=True,
                                programs=[longwire_test.program('roce-endpoint')])
        cls.addClassCleanup(cls.lab.__exit__)
        cls.lab.__enter__()
        bridge = cls.lab.bridge()
        cls.addClassCleanup(bridge.__exit__, None, None, None)
        bridge.__enter__()
        cls.lab.ping()
        for peer, _ in FAMILIES.values():
            cls.lab.a.check(f'ip neigh add {peer} lladdr {PEER_MAC} dev eth0 nud permanent')
        cls.lab.a.check(f"echo '{TOKEN}' >/tmp/token")

    def send(self, family, options, operations):
        """Frames that roce-gen sent for some operations, and those that rxe counted."""
        transport = options.get('transport', 'rc')
        wanted = []
        for operation in operations:
            if isinstance(operation, tuple):
                wanted.append(operation)
            elif transport == 'ud' or operation not in WITH_SIZE - {'read_request'}:
                wanted.append((operation, 100))
            else:
                wanted += [(operation, 2500), (operation, 100)]
        session = Session(FAMILIES[family][1], FAMILIES[family][0], options, len(wanted))
        self.addCleanup(session.close)
        profile = self.lab.folder / 'flows.toml'
        profile.write_text(''.join(
            flow(f'{operation} {size}', transport, operation, size, qp, number, session, family)
            for number, ((operation, size), qp) in enumerate(zip(wanted, session.qps))))
        before = self.lab.a.counters()['rcvd_pkts']
        done = subprocess.run([longwire_test.program('roce-gen'), 'run', profile, '--port', 'far',
                               '--json'], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        sent = json.loads(done.stdout)['frames']
        received = self.lab.a.counters()['rcvd_pkts'] - before
        session.close()
        return sent, received

    def test_every_opcode_is_received(self):
        for family in FAMILIES:
            server = self.lab.a.begin(f'exec roce-endpoint serve --device rxe0 --gid {family} '
                                      '--region 64MiB --token-file /tmp/token')
            server.wait_for('ready')
            for options, operations in SESSIONS:
                with self.subTest(family=family, options=options, operations=operations):
                    sent, received = self.send(family, options, operations)
                    self.assertGreaterEqual(sent, len(operations))
                    self.assertEqual(received, sent)
            server.stop()
        self.assertNotIn('bad ICRC', self.lab.a.check('dmesg'))


if __name__ == '__main__':
    longwire_test.main()
