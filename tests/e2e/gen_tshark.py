# SPDX-License-Identifier: BSD-3-Clause
"""tshark reads what roce-gen writes: no malformed frame, every field as the profile asked.

tshark 4.0 is no judge of these, which gen_frames.py's decoder judges alone: RD (it reads RDETH
four bytes too far on), XRC, FLUSH, ATOMIC WRITE and CNP (opcodes it doesn't know), and empty
SENDs (malformed to it).
"""

import subprocess
import tempfile
import unittest

import gen_decoder
from gen_frames import ENDS

import needs
import longwire_test

NETWORK = {
    'ipv4': {'ip.dsfield.dscp': 'dscp', 'ip.dsfield.ecn': 'ecn', 'ip.ttl': 'ttl'},
    'ipv6': {'ipv6.tclass.dscp': 'dscp', 'ipv6.tclass.ecn': 'ecn', 'ipv6.hlim': 'ttl'},
    'rocev1': {'infiniband.grh.hoplmt': 'ttl'},
}
# tshark's name: the decoder's, where an opcode has it. tshark shows an AtomicETH's address and
# key under RETH's names.
FIELDS = {
    'eth.src': 'eth.src', 'eth.dst': 'eth.dst',
    **{f'infiniband.{name}': name for name in (
        'bth.opcode', 'bth.se', 'bth.m', 'bth.padcnt', 'bth.tver', 'bth.p_key', 'bth.destqp',
        'bth.a', 'bth.reserved7', 'bth.psn', 'deth.q_key', 'deth.srcqp', 'reth.va', 'reth.r_key',
        'reth.dmalen', 'atomiceth.swapdt', 'atomiceth.cmpdt', 'aeth.syndrome', 'aeth.msn',
        'atomicacketh.origremdt', 'immdt', 'ieth')},
}


BARE_HEX = ('infiniband.immdt', 'infiniband.ieth')  # tshark prints these as bytes


def number(name, text):
    """A number as tshark prints it, decimal or hexadecimal; other text as it is."""
    try:
        return int(text, 16 if name in BARE_HEX else 0)
    except ValueError:
        return text


def judged(flow):
    return flow.transport in ('rc', 'uc', 'ud') and flow.operation not in ('flush', 'atomic_write')


@needs.tools('tshark')
class Tshark(unittest.TestCase):
    maxDiff = None

    def flows(self):
        """Each with a QP of its own: so frames find their expectation in a mixed capture."""
        flows = [flow for flow in gen_decoder.every_flow() if judged(flow)]
        for index, flow in enumerate(flows):
            flow.own['dst_qp'] = flow.keys['dst_qp'] = 0x1000 + index
        return flows

    def read(self, path, names):
        command = ['tshark', '-n', '-r', path, '-T', 'fields', '-E', 'separator=/t',
                   '-E', 'occurrence=f']
        for name in [*names, '_ws.malformed']:
            command += ['-e', name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows = []
        for line in done.stdout.splitlines():
            *values, malformed = line.split('\t')
            self.assertEqual(malformed, '', line)
            rows.append({name: number(name, value) for name, value in zip(names, values)})
        return rows

    def check(self, encapsulation):
        flows = self.flows()
        names = {**FIELDS, **NETWORK[encapsulation]}
        with tempfile.NamedTemporaryFile(suffix='.pcap') as out:
            subprocess.run([longwire_test.program('roce-gen'), 'run', '-', '--pcap', out.name],
                           input=gen_decoder.profile(flows, **ENDS[encapsulation]), text=True,
                           check=True, capture_output=True)
            rows = self.read(out.name, list(names))
        self.assertEqual(len(rows), sum(len(flow.expected()) for flow in flows))
        for flow in flows:
            own = [r for r in rows if r['infiniband.bth.destqp'] == flow.keys['dst_qp']]
            expected = flow.expected()
            self.assertEqual(len(own), len(expected), flow.toml())
            for row, fields in zip(own, expected):
                self.compare(row, fields, names)

    def compare(self, row, fields, names):
        fields = dict(fields)
        if 'atomiceth.va' in fields:
            fields['reth.va'] = fields['atomiceth.va']
            fields['reth.r_key'] = fields['atomiceth.r_key']
        expected = {name: fields.get(ours, '') for name, ours in names.items()}
        self.assertEqual(row, expected)

    def test_ipv4(self):
        self.check('ipv4')

    def test_ipv6(self):
        self.check('ipv6')

    def test_rocev1(self):
        self.check('rocev1')


if __name__ == '__main__':
    longwire_test.main()
