# SPDX-License-Identifier: BSD-3-Clause
"""A small decoder of RoCE frames for tests, and what a flow of a profile must look like.

Written from the specification's tables; it shares no code with lib/. Both sides of a comparison
are dictionaries of field name to number (or text for addresses), named as in Wireshark.
"""

import ipaddress
import struct
import zlib

TRANSPORTS = {'rc': 0, 'uc': 1, 'rd': 2, 'ud': 3, 'xrc': 5}

# operation: opcodes of FIRST, MIDDLE, LAST, ONLY
OPERATIONS = {
    'send': (0, 1, 2, 4),
    'send_imm': (0, 1, 3, 5),
    'send_inv': (0, 1, 22, 23),
    'write': (6, 7, 8, 10),
    'write_imm': (6, 7, 9, 11),
    'read_request': (None, None, None, 12),
    'read_response': (13, 14, 15, 16),
    'ack': (None, None, None, 17),
    'atomic_ack': (None, None, None, 18),
    'cmp_swap': (None, None, None, 19),
    'fetch_add': (None, None, None, 20),
    'resync': (None, None, None, 21),
    'flush': (None, None, None, 28),
    'atomic_write': (None, None, None, 29),
}
CNP = 0x81
RESPONSES = range(13, 19)
CARRIES_PAYLOAD = ('send', 'send_imm', 'send_inv', 'write', 'write_imm', 'read_response')

# header: (the operations that have it, its fields as (name, bytes))
RETH = [('reth.va', 8), ('reth.r_key', 4), ('reth.dmalen', 4)]
EXTENSIONS = [
    ('feth', {28}, [('feth', 4)]),
    ('reth', {6, 10, 11, 12, 28, 29}, RETH),
    ('atomiceth', {19, 20}, [('atomiceth.va', 8), ('atomiceth.r_key', 4),
                             ('atomiceth.swapdt', 8), ('atomiceth.cmpdt', 8)]),
    ('aeth', {13, 15, 16, 17, 18}, [('aeth.syndrome', 1), ('aeth.msn', 3)]),
    ('atomicacketh', {18}, [('atomicacketh.origremdt', 8)]),
    ('immdt', {3, 5, 9, 11}, [('immdt', 4)]),
    ('ieth', {22, 23}, [('ieth', 4)]),
]


def extensions_of(opcode):
    """The fields that stand between BTH and payload, in their order."""
    if opcode == CNP:
        return []
    transport, operation = opcode >> 5, opcode & 31
    request = operation not in RESPONSES
    fields = []
    if transport == TRANSPORTS['rd']:
        fields.append(('rdeth.ee', 4))
    if transport == TRANSPORTS['ud'] or (transport == TRANSPORTS['rd'] and request):
        fields += [('deth.q_key', 4), ('deth.srcqp', 4)]
    if transport == TRANSPORTS['xrc'] and request:
        fields.append(('xrceth.srq', 4))
    for _, operations, own in EXTENSIONS:
        if operation in operations:
            fields += own
    return fields


def read_pcap(path):
    """(seconds, nanoseconds, bytes) of each frame of a little-endian pcap file."""
    data = open(path, 'rb').read()
    magic, = struct.unpack_from('<I', data)
    scale = {0xa1b23c4d: 1, 0xa1b2c3d4: 1000}[magic]
    frames, place = [], 24
    while place < len(data):
        seconds, fraction, kept, length = struct.unpack_from('<IIII', data, place)
        assert kept == length
        frames.append((seconds, fraction * scale, data[place + 16:place + 16 + kept]))
        place += 16 + kept
    assert place == len(data)
    return frames


def mac_text(data):
    return ':'.join(f'{b:02x}' for b in data)


def decode(frame):
    """Every field of a frame; fields['icrc_right'] by zlib, byte by byte."""
    f = {'eth.dst': mac_text(frame[0:6]), 'eth.src': mac_text(frame[6:12])}
    place, tags = 12, []
    kind, = struct.unpack_from('>H', frame, place)
    while kind in (0x8100, 0x88a8):
        control, following = struct.unpack_from('>HH', frame, place + 2)
        tags.append((kind, control & 0xfff, control >> 13))
        kind, place = following, place + 4
    f['tags'] = tags
    network = place + 2
    if kind == 0x0800:
        bth, covered = _ipv4(frame, network, f)
    else:
        bth, covered = _ipv6_or_grh(frame, network, kind == 0x8915, f)
    _transport(frame, bth, f)
    pseudo = b'\xff' * 8 + bytes(covered[:-4])
    f['icrc_right'] = zlib.crc32(pseudo) == struct.unpack('<I', frame[-4:])[0]
    return f


def _ipv4(frame, at, f):
    assert frame[at] == 0x45 and frame[at + 9] == 17
    total, f['ip.id'], flags = struct.unpack_from('>HHH', frame, at + 2)
    assert at + total == len(frame), 'IP length'
    words = struct.unpack_from('>10H', frame, at)
    total_sum = sum(words)
    assert (total_sum & 0xffff) + (total_sum >> 16) in (0xffff, 0x1fffe), 'IPv4 checksum'
    f['ip.flags.df'] = flags >> 14 & 1
    f['dscp'], f['ecn'], f['ttl'] = frame[at + 1] >> 2, frame[at + 1] & 3, frame[at + 8]
    f['src'] = str(ipaddress.ip_address(frame[at + 12:at + 16]))
    f['dst'] = str(ipaddress.ip_address(frame[at + 16:at + 20]))
    covered = bytearray(frame[at:])
    for masked in (1, 8, 10, 11):
        covered[masked] = 0xff
    _udp(frame, at + 20, covered, 20, f)
    return at + 28, covered


def _udp(frame, at, covered, offset, f):
    f['udp.srcport'], port, length, checksum = struct.unpack_from('>HHHH', frame, at)
    assert port == 4791 and at + length == len(frame) and checksum == 0
    covered[offset + 6:offset + 8] = b'\xff\xff'
    covered[offset + 8 + 4] = 0xff


def _ipv6_or_grh(frame, at, grh, f):
    first, length, following, f['ttl'] = struct.unpack_from('>IHBB', frame, at)
    assert first >> 28 == 6 and at + 40 + length == len(frame), 'IPv6 length'
    assert following == (27 if grh else 17)
    f['dscp'], f['ecn'], f['flowlabel'] = first >> 22 & 63, first >> 20 & 3, first & 0xfffff
    f['src'] = str(ipaddress.ip_address(frame[at + 8:at + 24]))
    f['dst'] = str(ipaddress.ip_address(frame[at + 24:at + 40]))
    covered = bytearray(frame[at:])
    covered[0] |= 0x0f
    covered[1:4] = b'\xff\xff\xff'
    covered[7] = 0xff
    if grh:
        covered[40 + 4] = 0xff
        return at + 40, covered
    _udp(frame, at + 40, covered, 40, f)
    return at + 48, covered


def _transport(frame, at, f):
    opcode, flags, f['bth.p_key'], congestion_qp, ack_psn = struct.unpack_from(
        '>BBHII', frame, at)
    pad = flags >> 4 & 3
    f.update({
        'bth.opcode': opcode, 'bth.se': flags >> 7, 'bth.m': flags >> 6 & 1, 'bth.padcnt': pad,
        'bth.tver': flags & 15, 'bth.f': congestion_qp >> 31, 'bth.b': congestion_qp >> 30 & 1,
        'bth.destqp': congestion_qp & 0xffffff, 'bth.a': ack_psn >> 31,
        'bth.reserved7': ack_psn >> 24 & 0x7f, 'bth.psn': ack_psn & 0xffffff,
    })
    place = at + 12
    for name, width in extensions_of(opcode):
        f[name] = int.from_bytes(frame[place:place + width], 'big')
        place += width
    f['payload'] = frame[place:len(frame) - 4 - pad]
    assert frame[len(frame) - 4 - pad:len(frame) - 4] == bytes(pad), 'pad bytes'


class Flow:
    """A flow as a profile says it, and the frames that it therefore must have.

    `keys` are the profile's, with these defaults said out loud so that the expectation doesn't
    hang on the program's own.
    """

    DEFAULTS = dict(
        source_mac='02:00:00:00:00:01', destination_mac='02:00:00:00:00:02', dscp=26, ecn='ect0',
        ttl=63, source_port=0xc123, dst_qp=0xabcdef, src_qp=0x123456, first_psn=0xfffffe,
        p_key=0x8001, mig_req=True, se=True, mtu=256, message_size=600, messages=2,
        payload='counter', rate='1 kframes/s',
        va=0x1122334455667788, rkey=0xdeadbeef, q_key=0x80010001, ee_context=0x00fedc,
        xrc_srq=0x0a0b0c, swap=0x0102030405060708, compare=0x1112131415161718,
        add=0x2122232425262728, original=0x3132333435363738, msn=0xffffff, immediate=0xcafe0001,
        immediate_step=0x10, invalidate_rkey=0x99887766)
    # Keys that would be refused where they have no place; [defaults] takes them all.
    ECN = {'not-ect': 0, 'ect1': 1, 'ect0': 2, 'ce': 3}

    def __init__(self, transport, operation, **keys):
        self.transport, self.operation = transport, operation
        self.own = keys
        self.keys = {**self.DEFAULTS, **keys}

    def toml(self):
        lines = ['[[flow]]', f'operation = "{self.operation}"']
        if self.transport:
            lines.append(f'transport = "{self.transport}"')
        lines += [f'{key} = {toml_value(value)}' for key, value in self.own.items()]
        return '\n'.join(lines) + '\n'

    def _opcodes(self):
        if self.operation == 'cnp':
            return [CNP]
        first, middle, last, only = OPERATIONS[self.operation]
        count = 1
        if self.operation in CARRIES_PAYLOAD:
            count = max(1, -(-self.keys['message_size'] // self.keys['mtu']))
        codes = [only] if count == 1 else [first] + [middle] * (count - 2) + [last]
        return [TRANSPORTS[self.transport] << 5 | code for code in codes]

    def expected(self):
        """One dictionary of fields a frame."""
        frames, psn = [], self.keys['first_psn']
        for message in range(self.keys['messages']):
            opcodes = self._opcodes()
            for index, opcode in enumerate(opcodes):
                frames.append(self._frame(message, index, opcode, index + 1 == len(opcodes),
                                          psn + index))
            size, mtu = self.keys['message_size'], self.keys['mtu']
            psn += max(1, -(-size // mtu)) if self.operation == 'read_request' else len(opcodes)
        return frames

    def _payload(self, opcode, index):
        if opcode == CNP:
            return bytes(16)
        if self.operation == 'atomic_write':
            return bytes(range(8))
        if self.operation not in CARRIES_PAYLOAD:
            return b''
        k = self.keys
        length = min(k['mtu'], k['message_size'] - index * k['mtu'])
        return bytes(i & 0xff for i in range(length))

    def _frame(self, message, index, opcode, ends, psn):
        k = self.keys
        cnp = opcode == CNP
        request = not cnp and opcode & 31 not in RESPONSES
        payload = self._payload(opcode, index)
        f = {
            'eth.src': k['source_mac'], 'eth.dst': k['destination_mac'],
            'dscp': k['dscp'], 'ecn': self.ECN[k['ecn']], 'ttl': k['ttl'],
            'bth.opcode': opcode, 'bth.se': int(k['se'] and ends), 'bth.m': int(k['mig_req']),
            'bth.padcnt': -len(payload) % 4, 'bth.tver': 0, 'bth.p_key': k['p_key'],
            'bth.f': 0, 'bth.b': int(cnp), 'bth.destqp': k['dst_qp'],
            'bth.a': int(ends and request and self.transport in ('rc', 'rd', 'xrc')),
            'bth.reserved7': 0, 'bth.psn': 0 if cnp else psn % 2**24,
            'payload': payload, 'icrc_right': True,
        }
        values = self._extension_values(message)
        f.update({name: values[name] for name, _ in extensions_of(opcode)})
        return f

    def _extension_values(self, message):
        k = self.keys
        length = {'atomic_write': 8}.get(self.operation, k['message_size'])
        step = 8 if self.operation in ('cmp_swap', 'fetch_add') else length
        swap = self.operation == 'cmp_swap'
        va = k['va'] + message * step
        return {
            'rdeth.ee': k['ee_context'], 'deth.q_key': k['q_key'], 'deth.srcqp': k['src_qp'],
            'xrceth.srq': k['xrc_srq'], 'feth': k.get('feth', 1),
            'reth.va': va, 'reth.r_key': k['rkey'], 'reth.dmalen': length,
            'atomiceth.va': va, 'atomiceth.r_key': k['rkey'],
            'atomiceth.swapdt': k['swap'] if swap else k['add'],
            'atomiceth.cmpdt': k['compare'] if swap else 0,
            'aeth.syndrome': k.get('aeth', 31), 'aeth.msn': (k['msn'] + message) % 2**24,
            'atomicacketh.origremdt': k['original'],
            'immdt': (k['immediate'] + message * k['immediate_step']) % 2**32,
            'ieth': k['invalidate_rkey'],
        }


def toml_value(value):
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if value < 2**63 else f'"{value:#x}"'
    if isinstance(value, list):
        return '[' + ', '.join(toml_value(v) for v in value) + ']'
    return f'"{value}"'


def profile(flows, **defaults):
    """A profile's text: every key of Flow.DEFAULTS stands in [defaults]."""
    lines = ['[defaults]']
    lines += [f'{k} = {toml_value(v)}' for k, v in {**Flow.DEFAULTS, **defaults}.items()]
    return '\n'.join(lines) + '\n' + ''.join(flow.toml() for flow in flows)


def every_flow():
    """Flows that between them have every opcode, each with every field away from its default."""
    flows = []
    for transport in ('rc', 'uc', 'rd', 'xrc'):
        sends = ['send', 'send_imm', 'write', 'write_imm']
        sends += ['read_response'] if transport != 'uc' else []
        sends += ['send_inv'] if transport in ('rc', 'xrc') else []
        for operation in sends:
            flows.append(Flow(transport, operation, message_size=601))  # FIRST MIDDLE LAST
            flows.append(Flow(transport, operation, message_size=255))  # ONLY
        if transport == 'uc':
            continue
        for operation in ('read_request', 'ack', 'atomic_ack', 'cmp_swap', 'fetch_add', 'flush',
                          'atomic_write'):
            flows.append(Flow(transport, operation))
    flows.append(Flow('rd', 'resync'))
    flows += [Flow('ud', 'send', message_size=254), Flow('ud', 'send_imm', message_size=253)]
    flows.append(Flow(None, 'cnp'))
    return flows


ALL_OPCODES = 89  # RC 25, UC 12, RD 24, UD 2, XRC 25, CNP: counted by hand from the tables above
