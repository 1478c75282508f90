# SPDX-License-Identifier: BSD-3-Clause
"""What roce-gen writes, frame by frame, against an independent decoder."""

import subprocess
import tempfile
import unittest

import gen_decoder
from gen_decoder import Flow

import longwire_test

ENDS = {
    'ipv4': dict(source='192.0.2.1', destination='192.0.2.129'),
    'ipv6': dict(source='2001:db8::1:2', destination='2001:db8:f::3', flow_label=0x54321),
    'rocev1': dict(encapsulation='rocev1', source='192.0.2.8', destination='192.0.2.9',
                   flow_label=0x12345),
}


def run(profile, *options):
    return subprocess.run([longwire_test.program('roce-gen'), 'run', '-', *options],
                          input=profile, capture_output=True, text=True)


class Frames(unittest.TestCase):
    def generate(self, profile):
        with tempfile.NamedTemporaryFile(suffix='.pcap') as out:
            done = run(profile, '--pcap', out.name)
            self.assertEqual(done.returncode, 0, done.stderr)
            return [gen_decoder.decode(frame) for _, _, frame in gen_decoder.read_pcap(out.name)]

    def compare(self, flows, defaults, **everywhere):
        """Each flow by itself, so that the order between flows doesn't matter here."""
        for flow in flows:
            frames = self.generate(gen_decoder.profile([flow], **defaults))
            expected = flow.expected()
            self.assertEqual(len(frames), len(expected), flow.toml())
            for frame, fields in zip(frames, expected):
                fields = {**fields, **everywhere}
                found = {name: frame.get(name) for name in fields}
                self.assertEqual(found, fields, flow.toml())

    def test_every_opcode_is_among_them(self):
        flows = gen_decoder.every_flow()
        opcodes = {f['bth.opcode'] for flow in flows for f in flow.expected()}
        self.assertEqual(len(opcodes), gen_decoder.ALL_OPCODES)

    def test_every_opcode_over_ipv4(self):
        self.compare(gen_decoder.every_flow(), ENDS['ipv4'], src='192.0.2.1', dst='192.0.2.129',
                     **{'udp.srcport': 0xc123, 'ip.flags.df': 1, 'tags': []})

    def test_every_opcode_over_ipv6(self):
        self.compare(gen_decoder.every_flow(), ENDS['ipv6'], src='2001:db8::1:2',
                     dst='2001:db8:f::3', flowlabel=0x54321, **{'udp.srcport': 0xc123})

    def test_every_opcode_over_rocev1(self):
        self.compare(gen_decoder.every_flow(), ENDS['rocev1'], src='::ffff:c000:208',
                     dst='::ffff:c000:209', flowlabel=0x12345)

    def test_vlan_tags(self):
        defaults = dict(ENDS['ipv4'], vlan=[200, 100], vlan_priority=[5, 3])
        self.compare([Flow('rc', 'send')], defaults, tags=[(0x88a8, 200, 5), (0x8100, 100, 3)])
        self.compare([Flow('rc', 'send')], dict(ENDS['ipv6'], vlan=4095), tags=[(0x8100, 4095, 0)])

    def test_empty_message(self):
        self.compare([Flow('rc', 'send', message_size=0), Flow('rc', 'write', message_size=0),
                      Flow('ud', 'send', message_size=0)], ENDS['ipv4'])

    def test_syndromes_in_words(self):
        words = {'psn_sequence_error': 0x60, 'invalid_request': 0x61, 'remote_access_error': 0x62,
                 'remote_operational_error': 0x63, 'invalid_rd_request': 0x64}
        for word, number in words.items():
            flow = Flow('rc', 'ack', syndrome=word)
            flow.keys['aeth'] = number
            self.compare([flow], ENDS['ipv4'])
        for keys, number in ((dict(syndrome='rnr', rnr_timer=14), 0x2e),
                             (dict(syndrome='ack', credits=7), 7), (dict(credits=3), 3),
                             (dict(syndrome=0x41), 0x41), (dict(syndrome=0), 0)):
            flow = Flow('rc', 'ack', **keys)
            flow.keys['aeth'] = number
            self.compare([flow], ENDS['ipv4'])

    def test_flush_placements(self):
        for keys, number in ((dict(placement='persistent'), 2),
                             (dict(placement='both', selectivity='region'), 0x13)):
            flow = Flow('rc', 'flush', **keys)
            flow.keys['feth'] = number
            self.compare([flow], ENDS['ipv4'])

    def test_source_port_as_linux_makes_it(self):
        # rdma_flow_label_to_udp_sport(rdma_calc_flow_label(0x11, 0x12)), by hand: 0x11 * 0x12 =
        # 0x132, which has no bits above 14 to fold.
        frames = self.generate('[[flow]]\nsrc_qp = 0x11\ndst_qp = 0x12\nmessages = 1\n')
        self.assertEqual(frames[0]['udp.srcport'], 0xc132)
        frames = self.generate('[[flow]]\nsource = "::1"\nflow_label = 0x54321\nmessages = 1\n')
        self.assertEqual(frames[0]['udp.srcport'], 0xc000 | (0x0321 ^ 0x15))

    def test_signature_stands_in_the_payload(self):
        profile = '''[[flow]]
            name = "first"
            messages = 1
            [[flow]]
            message_size = 1034
            messages = 3
            rate = "1 kframes/s"
            signature = true'''
        with tempfile.NamedTemporaryFile(suffix='.pcap') as out:
            done = run(profile, '--pcap', out.name, '--json')
            self.assertEqual(done.returncode, 0, done.stderr)
            stamped = [(s * 10**9 + ns, gen_decoder.decode(frame))
                       for s, ns, frame in gen_decoder.read_pcap(out.name)]
        frames = [(at, f['payload']) for at, f in stamped if len(f['payload']) == 1024][1:]
        for sequence, (at, payload) in enumerate(frames):
            self.assertEqual(payload[:8], bytes.fromhex('4c575332 01000001'))
            self.assertEqual(int.from_bytes(payload[8:16], 'big'), sequence)
            self.assertEqual(int.from_bytes(payload[16:24], 'big'), at)
            self.assertEqual(payload[24:], bytes(i & 0xff for i in range(24, 1024)))
        self.assertEqual(len(frames), 3)
        # The LASTs of 10 bytes have no room for one.
        self.assertIn('"unsigned_frames":3', done.stdout)
        self.assertTrue(all(f['icrc_right'] for _, f in stamped))


if __name__ == '__main__':
    longwire_test.main()
