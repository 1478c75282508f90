# SPDX-License-Identifier: BSD-3-Clause
"""Every header field of every RoCE frame of every capture equals what tshark says.

tshark's answers to our captures are kept in tshark/ (README.md: the command); those to the captures of
LONGWIRE_CAPTURES are asked for."""

import json
import subprocess
import unittest

from capture_files import OWN, further, tshark_table
from longwire_test import program

CNP = '129'

# Where tshark 4.0 is at fault, or has no field of its own; README.md explains each.
# tshark's value as a function of our fields.
TRANSLATED = {
    'infiniband.cm.req.prim_flowlabel': lambda ours: three_bytes(ours, 'prim'),
    'infiniband.cm.req.alt_flowlabel': lambda ours: three_bytes(ours, 'alt'),
    'infiniband.cm.req.prim_pktrate': lambda ours: first_byte(ours, 'prim'),
    'infiniband.cm.req.alt_pktrate': lambda ours: first_byte(ours, 'alt'),
}
# Reserved bits that tshark gives a name and we don't.
RESERVED = {
    'infiniband.cm.req.prim_reserved0', 'infiniband.cm.req.prim_reserved1',
    'infiniband.cm.req.prim_reserved2', 'infiniband.cm.req.alt_reserved0',
    'infiniband.cm.req.alt_reserved1', 'infiniband.cm.req.ip_cm.reserved',
    'infiniband.cm.rep.reserved', 'infiniband.cm.rej.reserved0', 'infiniband.cm.rej.reserved1',
}
# The header and the one field in it go by the same name, so tshark prints the value twice.
TWICE = {'infiniband.immdt', 'infiniband.ieth'}
# tshark has them only within infiniband.reserved, and calls them nothing.
IN_RESERVED = ('infiniband.bth.fecn', 'infiniband.bth.becn', 'infiniband.bth.reserved6')


def flow_word(ours, path):
    """Flow label 20, reserved 6, packet rate 6: the word as it stands in the message."""
    label = int(ours[f'infiniband.cm.req.{path}_flowlabel'], 16)
    return label << 12 | int(ours[f'infiniband.cm.req.{path}_pktrate'], 16)


def three_bytes(ours, path):
    return f'0x{flow_word(ours, path) >> 8 >> 12:08x}'


def first_byte(ours, path):
    return f'0x{flow_word(ours, path) >> 24 & 0x3f:08x}'


def congestion_byte(ours):
    fecn, becn, reserved = (ours[name] for name in IN_RESERVED)
    return f'{fecn << 7 | becn << 6 | reserved:02x}'


def tshark_frames(path):
    """{frame number: {field: value}} without the fields that a frame doesn't have."""
    lines = tshark_table(path).splitlines()
    names = lines[0].split('\t')
    rows = (dict(zip(names, line.split('\t'))) for line in lines[1:])
    return {int(row.pop('frame.number')): {k: v for k, v in row.items() if v} for row in rows}


def our_frames(capture):
    run = subprocess.run([program('roce-dissect'), 'list', '--json', str(capture)],
                         stdout=subprocess.PIPE, text=True, check=True)
    frames = (json.loads(line) for line in run.stdout.splitlines())
    return {f['frame.number']: f for f in frames if 'longwire.icrc' in f}


def differences(theirs, ours):
    """Sentences, one for each field on which the two don't agree."""
    said = {name: str(value) for name, value in ours.items()
            if not name.startswith('longwire.') and name not in (
                'schema', 'version', 'frame.number', 'frame.interface_id', 'frame.interface_name')}
    for name in IN_RESERVED:
        del said[name]
    for name, value in theirs.items():
        if name in RESERVED:
            continue
        if name == 'infiniband.reserved':
            # The BTH's congestion byte comes first, then other headers' reserved bytes.
            if value.split(',')[0] != congestion_byte(ours):
                yield f'congestion byte: tshark {value}, we {congestion_byte(ours)}'
            continue
        own = said.pop(name, None)
        if name in TWICE and own is not None:
            own = f'{own},{own}'
        if name in TRANSLATED and own is not None:
            own = TRANSLATED[name](ours)
        if own != value:
            yield f'{name}: tshark {value}, we {own}'
    if theirs['infiniband.bth.opcode'] == CNP:
        # It doesn't know the opcode, so it finds no ICRC: `verify` vouches for ours.
        said.pop('infiniband.invariant.crc')
    for name, value in said.items():
        yield f'{name}: tshark nothing, we {value}'


class FieldsEqualThoseOfTshark(unittest.TestCase):
    def compare(self, capture):
        theirs, ours = tshark_frames(capture), our_frames(capture)
        with self.subTest(capture=capture.name):
            self.assertEqual(sorted(theirs), sorted(ours), f'{capture.name}: RoCE frames')
            wrong = [f'{capture.name} frame {number}: {sentence}' for number in sorted(theirs)
                     for sentence in differences(theirs[number], ours[number])]
            self.assertFalse(bool(wrong), '\n'.join(wrong[:20]))
        return len(theirs)

    def test_our_captures(self):
        self.assertEqual(sum(map(self.compare, OWN)), 3681)

    def test_further_captures(self):
        """Those of LONGWIRE_CAPTURES."""
        for capture in further():
            self.compare(capture)

    def test_every_kind_of_header_was_compared(self):
        seen = set()
        for capture in OWN:
            for fields in tshark_frames(capture).values():
                seen.update(fields)
        for name in ('bth.psn', 'reth.va', 'deth.srcqp', 'aeth.syndrome.error_code',
                     'aeth.syndrome.timer', 'atomiceth.cmpdt', 'atomicacketh.origremdt',
                     'mad.transactionid', 'cm.req.localqpn', 'cm.rep.startpsn', 'grh.sgid'):
            self.assertIn(f'infiniband.{name}', seen)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
