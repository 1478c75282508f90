# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of QPs, message sizes, and what check says about them, against an independent decoder."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import gen_decoder

import longwire_test

GEN = longwire_test.program('roce-gen')
FLOWS = longwire_test.SOURCE / 'profiles' / 'flows'


def gen(*arguments, text=None):
    done = subprocess.run([GEN, *map(str, arguments)], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def frames_of(text):
    with tempfile.NamedTemporaryFile(suffix='.pcap') as out:
        gen('run', '-', '--pcap', out.name, text=text)
        return [gen_decoder.decode(f) for _, _, f in gen_decoder.read_pcap(out.name)]


class Ranges(unittest.TestCase):
    def test_each_qp_has_its_own_fields(self):
        frames = frames_of('''[[flow]]
            qps = 3
            operation = "write"
            message_size = 1500
            messages = 2
            source = ["2001:db8::1", "2001:db8::2"]
            dst_qp = 0x200
            dst_qp_step = 2
            rkey = 0x10
            rkey_step = 1
            va = 0x1000
            va_step = 0x10000
            first_psn = 0xffffff
            source_port = 50000
            source_port_step = 1''')
        self.assertEqual(len(frames), 12)
        self.assertTrue(all(f['icrc_right'] for f in frames))
        for i, f in enumerate(frames):
            qp, packet = i % 3, i // 3
            self.assertEqual(f['bth.destqp'], 0x200 + 2 * qp)
            self.assertEqual(f['bth.psn'], (0xffffff + packet) % 2**24)
            self.assertEqual(f['src'], '2001:db8::2' if qp == 1 else '2001:db8::1')
            self.assertEqual(f['udp.srcport'], 50000 + qp)
            if packet % 2 == 0:
                self.assertEqual(f['reth.r_key'], 0x10 + qp)
                self.assertEqual(f['reth.va'], 0x1000 + 0x10000 * qp + packet // 2 * 1500)

    def test_check_and_the_report_speak_of_the_range(self):
        text = '[[flow]]\nname = "many"\nqps = 1000\nmessages = 2\n'
        self.assertLess(gen('check', '-', text=text).count('\n'), 20)
        with tempfile.NamedTemporaryFile(suffix='.pcap') as out:
            self.assertLess(gen('run', '-', '--pcap', out.name, text=text).count('\n'), 5)
            report = json.loads(gen('run', '-', '--pcap', out.name, '--json', text=text))
        flow, = report['flows']
        self.assertEqual((flow['frames'], flow['messages']), (2000, 2000))
        self.assertEqual(len(flow['qps']), 1000)
        self.assertEqual({qp['frames'] for qp in flow['qps']}, {2})
        self.assertAlmostEqual(flow['rate_achieved']['value'] / 1e9, 1, delta=1e-3)

    def test_every_profile_lints(self):
        for profile in sorted(FLOWS.glob('*.toml')):
            self.assertIn('first frames', gen('check', profile))


class Stops(unittest.TestCase):
    def test_an_endless_flow_stops_when_it_should(self):
        text = '[[flow]]\nrepeat = "forever"\nrate = "1 kframes/s"\nstop_after = "20ms"\n'
        self.assertEqual(len(frames_of(text)), 20)
        flow, = json.loads(gen('check', '-', '--json', text=text))['flows']
        self.assertEqual((flow['frames'], flow['exact']), (20, True))


class Sizes(unittest.TestCase):
    OPERATIONS = {'send': 'rc', 'send_imm': 'uc', 'write': 'rc', 'write_imm': 'xrc',
                  'read_response': 'rc', 'read_request': 'rc'}

    def expected(self, operation, transport, sizes, mtu):
        """Opcode, PSN from 0xfffffe on, payload, and the RETH's length where there is one."""
        psn, codes = 0xfffffe, gen_decoder.OPERATIONS[operation]
        for size in sizes:
            count = max(1, -(-size // mtu))
            carries = operation != 'read_request'
            for i in range(count if carries else 1):
                last = i + 1 == count
                code = codes[3] if count == 1 or not carries else codes[
                    0 if i == 0 else 2 if last else 1]
                length = min(mtu, size - i * mtu) if carries else 0
                yield (gen_decoder.TRANSPORTS[transport] << 5 | code, (psn + i) % 2**24,
                       bytes(b & 0xff for b in range(length)), size)
            psn += count

    def test_listed_sizes_of_every_operation(self):
        sizes = [0, 1, 255, 256, 257, 1000, 2048]
        for operation, transport in self.OPERATIONS.items():
            frames = frames_of(f'''[[flow]]
                operation = "{operation}"
                transport = "{transport}"
                mtu = 256
                first_psn = 0xfffffe
                message_size = {sizes}
                messages = 14''')
            expected = list(self.expected(operation, transport, sizes * 2, 256))
            self.assertEqual(len(frames), len(expected), operation)
            for f, (opcode, psn, payload, size) in zip(frames, expected):
                self.assertEqual((f['bth.opcode'], f['bth.psn'], f['payload'], f['icrc_right']),
                                 (opcode, psn, payload, True), operation)
                self.assertEqual(f.get('reth.dmalen', size), size)
                self.assertEqual(f['bth.padcnt'], -len(payload) % 4)

    def test_signatures_stand_where_there_is_room(self):
        frames = frames_of('''[[flow]]
            message_size = { min = 0, max = 3000 }
            messages = 200
            signature = true''')
        sequence = 0
        for f in frames:
            self.assertTrue(f['icrc_right'])
            if len(f['payload']) < 24:
                continue
            self.assertEqual(f['payload'][:8].hex(), '4c57533201000000')
            self.assertEqual(int.from_bytes(f['payload'][8:16], 'big'), sequence)
            sequence += 1
        self.assertGreater(sequence, 200)

    def test_a_payload_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / 'data.bin').write_bytes(b'RDMA')
            (folder / 'p.toml').write_text('[[flow]]\npayload = "file"\npayload_file = "data.bin"\n'
                                           'message_size = 10\nmessages = 1\n')
            gen('run', folder / 'p.toml', '--pcap', folder / 'x.pcap')
            (_, _, frame), = gen_decoder.read_pcap(folder / 'x.pcap')
            self.assertEqual(gen_decoder.decode(frame)['payload'], b'RDMARDMARD')


class Answers(unittest.TestCase):
    def test_every_rnr_timer(self):
        for timer in range(32):
            frame, = frames_of(f'[[flow]]\noperation = "ack"\nsyndrome = "rnr"\n'
                               f'rnr_timer = {timer}\nmessages = 1\n')
            self.assertEqual(frame['aeth.syndrome'], 0x20 | timer)


if __name__ == '__main__':
    longwire_test.main()
