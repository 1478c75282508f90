# SPDX-License-Identifier: BSD-3-Clause
"""Deliberate faults: each frame that has one differs from its sound self just so, and no other
frame does. Sound frames are judged by an independent decoder, faulty ones byte by byte."""

import json
import struct
import subprocess
import tempfile
import unittest
import zlib

import gen_decoder

import longwire_test

GEN = longwire_test.program('roce-gen')

# FIRST, MIDDLE, MIDDLE, LAST of RC WRITE, three times.
FLOW = '''
[[flow]]
operation = "write"
mtu = 256
message_size = 1001
messages = 3
first_psn = 0xfffffe
'''
FIRST, MIDDLE, LAST, ONLY = 6, 7, 8, 10
MESSAGE = [FIRST, MIDDLE, MIDDLE, LAST]
ENDS = {'ipv4': ('source = "192.0.2.1"\n', 14 + 20), 'ipv6': ('source = "2001:db8::1"\n', 14 + 40)}


def fault(kind, **keys):
    parts = [f'kind = "{kind}"'] + [f'{k} = {gen_decoder.toml_value(v)}' for k, v in keys.items()]
    return 'fault = [{ ' + ', '.join(parts) + ' }]\n'


def generate(profile, *options):
    with tempfile.NamedTemporaryFile(suffix='.pcap') as out:
        done = subprocess.run([GEN, 'run', '-', '--pcap', out.name, '--json', *options],
                              input=profile, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [frame for _, _, frame in gen_decoder.read_pcap(out.name)], json.loads(done.stdout)


def icrc_of(frame, udp):
    """By zlib, over what the IP header's end says; from the specification's masks."""
    covered = bytearray(frame[14:-4])
    if udp == 34:
        for masked in (1, 8, 10, 11):
            covered[masked] = 0xff
    else:
        covered[0] |= 0x0f
        covered[1:4] = b'\xff' * 3
        covered[7] = 0xff
    at = udp - 14
    covered[at + 6:at + 8] = b'\xff\xff'
    covered[at + 8 + 4] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + bytes(covered)))


class InBytes(unittest.TestCase):
    """Faults that leave all other frames and all other bytes as they are."""

    FRAMES = [0, 1, 3, 7, 11]

    def edited(self, kind, frame, udp):
        """What the sound frame becomes, made by hand."""
        frame, bth = bytearray(frame), udp + 8
        if kind == 'bad_icrc':
            frame[-4:] = bytes(b ^ 0xff for b in frame[-4:])
            return bytes(frame)
        if kind == 'wrong_pad_count':
            pad = frame[bth + 1] >> 4 & 3
            frame[bth + 1] = frame[bth + 1] & 0xcf | (pad + 1 & 3) << 4
        if kind == 'wrong_tver':
            frame[bth + 1] |= 1
        if kind == 'bad_p_key':
            frame[bth + 3] ^= 1
        if kind == 'wrong_udp_length':
            length, = struct.unpack_from('>H', frame, udp + 4)
            struct.pack_into('>H', frame, udp + 4, length + 4)
        frame[-4:] = icrc_of(frame, udp)
        return bytes(frame)

    def compare(self, extra, check):
        for ends, udp in ENDS.values():
            sound, report = generate(FLOW + ends + extra)
            self.assertTrue(all(gen_decoder.decode(f)['icrc_right'] for f in sound))
            self.assertNotIn('faults', report)
            check(FLOW + ends + extra, sound, udp)

    def test_each_fault_is_just_that(self):
        kinds = ('bad_icrc', 'wrong_pad_count', 'wrong_tver', 'bad_p_key', 'wrong_udp_length')

        def check(profile, sound, udp):
            for kind in kinds:
                bent, report = generate(profile + fault(kind, frames=self.FRAMES))
                expected = [self.edited(kind, f, udp) if i in self.FRAMES else f
                            for i, f in enumerate(sound)]
                self.assertEqual(bent, expected, kind)
                self.assertEqual(report['faults'], {kind: len(self.FRAMES)})
                self.assertEqual(report['flows'][0]['faults'], {kind: len(self.FRAMES)})

        self.compare('', check)
        self.compare('signature = true\n', check)

    def test_faults_where_sizes_vary(self):
        flow = FLOW.replace('1001', '[10, 300, 0, 1024, 601]').replace('= 3', '= 10')
        for ends, udp in ENDS.values():
            sound, _ = generate(flow + ends + 'signature = true\n')
            for kind in ('bad_icrc', 'wrong_pad_count', 'wrong_tver'):
                bent, _ = generate(flow + ends + 'signature = true\n' + fault(kind, rate='100%'))
                self.assertEqual(bent, [self.edited(kind, f, udp) for f in sound], kind)

    def test_truncated_frames_keep_their_own_pad_count(self):
        for ends, (source, udp) in ENDS.items():
            for sizes in ('[1023, 1021]', '[5, 6, 7, 8]', '[300, 1001, 255]'):
                profile = (f'[[flow]]\n{source}mtu = 256\nmessages = 12\nmessage_size = {sizes}\n'
                           'signature = true\n')
                sound, _ = generate(profile)
                bent, report = generate(profile + fault('truncated_bth', rate='100%'))
                self.assertEqual(len(bent), len(sound), ends)
                self.assertEqual(report['payload_bytes'], 0)
                for short, whole in zip(bent, sound, strict=True):
                    self.assertEqual(len(short), udp + 8 + 8)
                    self.assertEqual(short[udp + 8:], whole[udp + 8:udp + 16], sizes)

    def test_truncated_bth(self):
        def check(profile, sound, udp):
            bent, report = generate(profile + fault('truncated_bth', frames=self.FRAMES))
            self.assertEqual(report['faults'], {'truncated_bth': 5})
            for i, (good, bad) in enumerate(zip(sound, bent, strict=True)):
                if i not in self.FRAMES:
                    self.assertEqual(good, bad)
                    continue
                expected = bytearray(good[:udp + 8 + 8])
                struct.pack_into('>H', expected, udp + 4, 16)
                if udp == 34:
                    struct.pack_into('>H', expected, 16, 20 + 16)
                    struct.pack_into('>H', expected, 24, 0)
                    total = sum(struct.unpack_from('>10H', expected, 14))
                    struct.pack_into('>H', expected, 24, ~(total % 0xffff) & 0xffff)
                else:
                    struct.pack_into('>H', expected, 18, 16)
                self.assertEqual(bytes(expected), bad)

        self.compare('', check)


class InTheStream(unittest.TestCase):
    """Faults in PSNs and in the order of packets: every frame is sound by itself."""

    def stream(self, kind, flow=FLOW, **keys):
        frames, report = generate(flow + fault(kind, **keys))
        decoded = [gen_decoder.decode(f) for f in frames]
        self.assertTrue(all(f['icrc_right'] for f in decoded))
        self.count = report['faults'][kind]
        return ([f['bth.opcode'] for f in decoded],
                [(f['bth.psn'] - 0xfffffe) % 2**24 for f in decoded],
                [len(f['payload']) for f in decoded])

    SIZES = [256, 256, 256, 233]

    def test_psn_gap(self):
        opcodes, psns, sizes = self.stream('psn_gap', frames=[2, 8])
        self.assertEqual(opcodes, MESSAGE * 3)
        self.assertEqual(psns, [0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13])
        self.assertEqual(sizes, self.SIZES * 3)

    def test_duplicate_psn(self):
        opcodes, psns, sizes = self.stream('duplicate_psn', frames=[2, 8])
        self.assertEqual(opcodes, MESSAGE * 3)
        self.assertEqual(psns, [0, 1, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9])
        self.assertEqual(sizes, self.SIZES * 3)

    def test_first_after_first(self):
        opcodes, psns, sizes = self.stream('first_after_first', frames=[1, 7])
        self.assertEqual(opcodes, [FIRST] + MESSAGE + [FIRST, MIDDLE] + MESSAGE + MESSAGE)
        self.assertEqual(psns, list(range(15)))
        self.assertEqual(self.count, 2)

    def test_middle_without_first(self):
        opcodes, psns, sizes = self.stream('middle_without_first', frames=[0, 5])
        self.assertEqual(opcodes, [MIDDLE] + MESSAGE + [MIDDLE] + MESSAGE + MESSAGE)
        self.assertEqual(psns, list(range(14)))
        self.assertEqual(sizes, [256] + self.SIZES + [256] + self.SIZES * 2)

    def test_middle_among_onlys(self):
        flow = '[[flow]]\noperation = "write"\nmessages = 3\nfirst_psn = 0xfffffe\n'
        opcodes, psns, _ = self.stream('middle_without_first', flow, frames=[1])
        self.assertEqual(opcodes, [ONLY, MIDDLE, ONLY, ONLY])
        self.assertEqual(psns, [0, 1, 2, 3])

    def test_short_middle(self):
        opcodes, psns, sizes = self.stream('short_middle', frames=[1, 6])
        self.assertEqual(opcodes, MESSAGE * 3)
        self.assertEqual(psns, list(range(12)))
        self.assertEqual(sizes, [256, 252, 256, 233, 256, 256, 252, 233] + self.SIZES)

    def test_a_frame_that_cannot_leaves_it_to_the_next(self):
        _, _, sizes = self.stream('short_middle', frames=[3])
        self.assertEqual(sizes, self.SIZES + [256, 252, 256, 233] + self.SIZES)
        _, psns, _ = self.stream('duplicate_psn', frames=[0])
        self.assertEqual(psns, [0, 0] + list(range(1, 11)))


class Rates(unittest.TestCase):
    def test_a_share_of_the_frames(self):
        flow = '[[flow]]\nmessages = 10000\nmessage_size = 64\n' + fault('bad_icrc', rate='10%')
        frames, report = generate(flow)
        wrong = [i for i, f in enumerate(frames) if not gen_decoder.decode(f)['icrc_right']]
        # 1000 with a deviation of 30: five of them either way.
        self.assertAlmostEqual(len(wrong), 1000, delta=150)
        self.assertEqual(report['faults'], {'bad_icrc': len(wrong)})
        self.assertEqual(generate(flow)[0], frames)
        self.assertNotEqual(generate(flow, '--seed', '2')[0], frames)

    def test_several_faults_never_share_a_frame(self):
        flow = FLOW.replace('messages = 3', 'messages = 500') + '''fault = [
            { kind = "bad_icrc", rate = "30%" },
            { kind = "psn_gap", rate = "30%" },
            { kind = "wrong_tver", frames = [10, 20] }]
            '''
        frames, report = generate(flow)
        decoded = [gen_decoder.decode(f) for f in frames]
        gaps = [i for i in range(1, len(decoded))
                if (decoded[i]['bth.psn'] - decoded[i - 1]['bth.psn']) % 2**24 == 2]
        wrong = [i for i, f in enumerate(decoded) if not f['icrc_right']]
        versions = [i for i, f in enumerate(decoded) if f['bth.tver'] == 1]
        self.assertFalse(set(gaps) & set(wrong) | set(gaps) & set(versions)
                         | set(wrong) & set(versions))
        self.assertEqual(report['faults'], {'bad_icrc': len(wrong), 'psn_gap': len(gaps),
                                            'wrong_tver': 2})

    def test_check_shows_them(self):
        shown = subprocess.run([GEN, 'check', '-', '--frames', '3'],
                               input=FLOW + fault('wrong_tver', frames=[1]),
                               capture_output=True, text=True, check=True).stdout
        self.assertIn('wrong_tver: frames 1', shown)
        self.assertIn('[wrong_tver] RC WRITE MIDDLE', shown)


if __name__ == '__main__':
    longwire_test.main()
