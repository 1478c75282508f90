# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen replay: what a capture holds comes out again, at its pace or another, rewritten as asked
and in nothing else. The judges are zlib's ICRC, the tests' own decoder and roce-dissect."""

import ipaddress
import itertools
import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import gen_decoder
from pcap_file import other_frame, read_pcap, write_pcap

import longwire_test

GEN = longwire_test.program('roce-gen')
DISSECT = longwire_test.program('roce-dissect')
FLOWS = longwire_test.SOURCE / 'profiles' / 'flows'
RXE = longwire_test.SOURCE / 'pcaps' / 'rxe'
START = 1_700_000_000 * 10**9 + 123456789


def gen(*arguments, **options):
    return subprocess.run([GEN, *map(str, arguments)], capture_output=True, text=True, **options)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def replay(self, capture, *options):
        """The frames that come out, and the report."""
        out = self.folder / 'out.pcap'
        result = gen('replay', capture, '--pcap', out, '--json', *options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return read_pcap(out), json.loads(result.stdout)

    def write(self, frames, name='in.pcap'):
        write_pcap(self.folder / name, frames)
        return self.folder / name

    def generated(self, profile='every-opcode.toml'):
        path = self.folder / 'generated.pcap'
        done = gen('run', FLOWS / profile, '--pcap', path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path


class Pace(InFolder):
    GAPS = (0, 1, 999_999_999, 12_345, 0, 3_000_000_001)

    def capture(self):
        stamps, at = [], START
        for gap in self.GAPS:
            at += gap
            stamps.append(at)
        return self.write([(t, other_frame(i)) for i, t in enumerate(stamps)]), stamps

    def stamps(self, *options):
        capture, stamps = self.capture()
        frames, _ = self.replay(capture, *options)
        return [t - START for t, _ in frames], [t - START for t in stamps]

    def test_its_own_pace_is_exact(self):
        for capture in sorted(RXE.glob('*.pcap')):
            frames, report = self.replay(capture)
            captured = read_pcap(capture)
            # A stamp that goes back, as rnr_nak.pcap has one, is due with the frame before it.
            due = list(itertools.accumulate((t for t, _ in captured), max))
            self.assertEqual([t for t, _ in frames], due, capture.name)
            self.assertEqual([data for _, data in frames], [data for _, data in captured])
            self.assertEqual(report['frames'], len(frames))
        got, stamps = self.stamps()
        self.assertEqual(got, stamps)

    def test_multiples_of_it(self):
        for text, factor in (('2x', (1, 2)), ('0.5x', (2, 1)), ('4', (1, 4))):
            got, stamps = self.stamps('--speed', text)
            self.assertEqual(got, [t * factor[0] // factor[1] for t in stamps])
        got, _ = self.stamps('--speed', 'max')
        self.assertEqual(got, [0] * len(self.GAPS))

    def test_a_rate_knows_nothing_of_the_stamps(self):
        got, _ = self.stamps('--rate', '3000frames/s')
        self.assertEqual(got, [i * 10**9 // 3000 for i in range(len(self.GAPS))])
        got, _ = self.stamps('--rate', '1Gb/s')  # 60 B, and 24 of preamble, FCS and gap
        self.assertEqual(got, [i * 84 * 8 for i in range(len(self.GAPS))])

    def test_passes_follow_each_other_by_the_mean_gap(self):
        got, stamps = self.stamps('--loop', 3)
        length = stamps[-1] + stamps[-1] // (len(stamps) - 1)
        self.assertEqual(got, [n * length + t for n in range(3) for t in stamps])
        got, _ = self.stamps('--loop', 2, '--rate', '1Mframes/s')
        self.assertEqual(got, [i * 1000 for i in range(2 * len(self.GAPS))])
        got, _ = self.stamps('--loop', 0, '--count', 20)
        self.assertEqual(len(got), 20)

    def test_stamps_that_go_back_don_t(self):
        capture = self.write([(START + t, other_frame(i)) for i, t in enumerate((5, 3, 9, 4, 10))])
        frames, _ = self.replay(capture)
        self.assertEqual([t - START for t, _ in frames], [5, 5, 9, 9, 10])

    def test_duration_ends_it(self):
        got, stamps = self.stamps('--duration', '1s')
        self.assertEqual(got, [t for t in stamps if t < 10**9])


class Rewriting(InFolder):
    def test_every_opcode_field_by_field(self):
        capture = self.generated()
        before = [gen_decoder.decode(f) for _, f in read_pcap(capture)]
        qp, srcqp = before[0]['bth.destqp'], next(
            f['deth.srcqp'] for f in before if 'deth.srcqp' in f)
        rkey = next(f['reth.r_key'] for f in before if 'reth.r_key' in f)
        frames, report = self.replay(
            capture, '--src-mac', '02:aa:00:00:00:01', '--dst-mac', '02:aa:00:00:00:02',
            '--source', '203.0.113.5', '--map-qp', f'{qp}=0xabcdef', '--map-qp', f'{srcqp}=77',
            '--psn-offset', '0xfffffe', '--psn-offset', f'{qp:#x}=1000',
            '--map-rkey', f'{rkey:#x}=0xdeadbeef')
        qps, self.changed = {qp: 0xabcdef, srcqp: 77}, 0
        for old, (_, data) in zip(before, frames, strict=True):
            old.update({'eth.src': '02:aa:00:00:00:01', 'eth.dst': '02:aa:00:00:00:02'})
            if ':' not in old['src']:
                old['src'] = '203.0.113.5'
            elif struct.unpack('>H', data[12:14])[0] == 0x8915:
                old['src'] = '::ffff:203.0.113.5'
            if old['bth.opcode'] != gen_decoder.CNP:
                offset = 1000 if old['bth.destqp'] == qp else -2
                old['bth.psn'] = (old['bth.psn'] + offset) % 2**24
            for name in ('bth.destqp', 'deth.srcqp'):
                if name in old:
                    old[name] = qps.get(old[name], old[name])
            for name in ('reth.r_key', 'atomiceth.r_key', 'ieth'):
                if old.get(name) == rkey:
                    old[name] = 0xdeadbeef
                    self.changed += 1
            new = gen_decoder.decode(data)
            self.assertTrue(new['icrc_right'])
            if '::ffff:' in old['src']:
                for f in (old, new):  # two ways to write one address
                    f['src'] = f['src'].replace('::ffff:203.0.113.5', '::ffff:cb00:7105')
            self.assertEqual(new, old)
        self.assertGreater(self.changed, 10)
        self.assertEqual((report['read'], report['not_roce']), (len(before), 0))

    def test_real_frames_verify(self):
        for capture in sorted(RXE.glob('*.pcap')):
            v6 = 'ipv6' in capture.name
            self.replay(capture, '--source', 'fd00:77::1=fd00::77' if v6 else
                        '192.168.77.1=192.0.2.77',
                        '--map-qp', '0x11=0x99', '--psn-offset=-5', '--map-rkey', '0x1=0x2')
            verdict = subprocess.run([DISSECT, 'verify', self.folder / 'out.pcap'],
                                     capture_output=True, text=True)
            self.assertEqual(verdict.returncode, 0, verdict.stdout)

    def test_both_directions_keep_two_hosts(self):
        capture = RXE / 'rc_mtu1024.pcap'
        a, b = '192.168.77.1', '192.168.77.2'
        for way in ('--source', '--destination'):
            refused = gen('replay', capture, '--pcap', self.folder / 'out.pcap', way, '192.0.2.1')
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f'{way} 192.0.2.1: frames go from {b} to {a} and back', refused.stderr)
        with open(capture, 'rb') as file:
            refused = gen('replay', '-', '--pcap', self.folder / 'out.pcap', '--source',
                          '192.0.2.1', stdin=file)
        self.assertEqual(refused.returncode, 2)
        new = {a: '203.0.113.1', b: '203.0.113.2'}
        options = [word for old in new for way in ('--source', '--destination')
                   for word in (way, f'{old}={new[old]}')]
        frames, _ = self.replay(capture, *options)
        for (_, old), (_, data) in zip(read_pcap(capture), frames, strict=True):
            if old[12:14] != b'\x08\0':
                continue
            before, after = ([str(ipaddress.ip_address(f[at:at + 4])) for at in (26, 30)]
                             for f in (old, data))
            self.assertEqual(after, [new[ip] for ip in before])
        verdict = subprocess.run([DISSECT, 'verify', self.folder / 'out.pcap'],
                                 capture_output=True, text=True)
        self.assertEqual(verdict.returncode, 0, verdict.stdout)

    def test_a_wrong_icrc_stays_wrong(self):
        frames = read_pcap(self.generated('ipv4-rc-send.toml'))[:20]
        for i in range(0, 20, 2):
            t, data = frames[i]
            frames[i] = t, data[:-1] + bytes([data[-1] ^ 0x40])
        out, _ = self.replay(self.write(frames), '--psn-offset', '7')
        right = [gen_decoder.decode(data)['icrc_right'] for _, data in out]
        self.assertEqual(right, [False, True] * 10)

    def test_what_is_no_roce_passes_or_is_left_out(self):
        frames = read_pcap(self.generated('ipv4-rc-send.toml'))[:10]
        others = [(frames[-1][0] + i, other_frame(i)) for i in range(5)]
        capture = self.write(frames + others)
        out, report = self.replay(capture, '--src-mac', '02:aa:00:00:00:01')
        self.assertEqual(out[10:], others)
        self.assertEqual((report['frames'], report['not_roce']), (15, 5))
        out, report = self.replay(capture, '--roce-only')
        self.assertEqual(out, frames)
        self.assertEqual((report['frames'], report['left_out']), (10, 5))

    def test_cut_frames_are_counted_and_not_sent(self):
        capture = self.write([(START, other_frame(0)), (START + 7, other_frame(1))])
        content = bytearray(capture.read_bytes())
        struct.pack_into('<I', content, 24 + 12, 1000)  # the first was longer on the wire
        capture.write_bytes(content)
        out, report = self.replay(capture)
        self.assertEqual(out, [(START + 7, other_frame(1))])
        self.assertEqual((report['read'], report['cut'], report['frames']), (2, 1, 1))


class Commands(InFolder):
    def test_wrong_usage(self):
        capture = self.write([(START, other_frame(0))])
        for wrong in ([], ['--pcap'], ['--pcap', 'x', '--speed', 'fast'],
                      ['--pcap', 'x', '--rate', '0'], ['--pcap', 'x', '--map-qp', '1'],
                      ['--pcap', 'x', '--map-qp', '0x1000000=1'], ['--pcap', 'x', '--loop', '0'],
                      ['--pcap', 'x', '--source', 'here'], ['--pcap', 'x', '--src-mac', '1'],
                      ['--pcap', 'x', '--speed', '2x', '--rate', '1Gb/s']):
            self.assertEqual(gen('replay', capture, *wrong, cwd=self.folder).returncode, 2, wrong)
        self.assertFalse((self.folder / 'x').exists())
        missing = gen('replay', '/nonexistent', '--pcap', self.folder / 'x')
        self.assertIn(missing.returncode, (2, 3))

    def test_other_links_are_refused(self):
        capture = self.write([(START, other_frame(0))])
        content = bytearray(capture.read_bytes())
        struct.pack_into('<I', content, 20, 101)
        capture.write_bytes(content)
        refused = gen('replay', capture, '--pcap', self.folder / 'x.pcap')
        self.assertEqual(refused.returncode, 2, refused.stderr)

    def test_through_a_port_all_arrives_in_order(self):
        capture = RXE / 'rc_write_send_read.pcap'
        wire = f'memif:{self.folder / "wire"}'
        far, near = self.folder / 'far.pcap', self.folder / 'near.pcap'
        frames = [data for _, data in read_pcap(capture)]
        receiver = longwire_test.begin(
            self, [GEN, 'receive', '--port', wire + ',server', '--pcap', far, '--json', '--count',
                   2 * len(frames), '--duration', '60s'])
        self.assertIn('waiting for the link', receiver.stderr.readline())
        sent = gen('replay', capture, '--port', wire, '--pcap', near, '--rate', '20000frames/s',
                   '--loop', 2, '--json')
        self.assertEqual(sent.returncode, 0, sent.stderr)
        receiver.communicate()
        self.assertEqual(json.loads(sent.stdout)['frames'], 2 * len(frames))
        for copy in (near, far):
            self.assertEqual([data for _, data in read_pcap(copy)], frames * 2)


if __name__ == '__main__':
    longwire_test.main()
