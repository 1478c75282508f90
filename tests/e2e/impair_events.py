# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair replay with rules on RoCE fields and targeted events: over real captures exactly the
asked packets are lost, late, marked, corrupted or sent twice. Which frames those are is read from
the captures' raw bytes here, by RoCEv2's layout over IPv4 without options."""

import json
import pathlib
import struct
import subprocess
import tempfile
import unittest

import longwire_test
from pcap_file import is_roce, read_pcap

CAPTURES = longwire_test.SOURCE / 'pcaps' / 'rxe'
IP, BTH = 14, 42
SEND_ONLY, ACK, READ_RESPONSES = 0x04, 0x11, range(0x0D, 0x11)


def opcode(frame):
    return frame[BTH]


def dest_qp(frame):
    return struct.unpack_from('>I', frame, BTH + 4)[0] & 0xFFFFFF


def psn(frame):
    return struct.unpack_from('>I', frame, BTH + 8)[0] & 0xFFFFFF


def is_request(frame):
    return is_roce(frame) and opcode(frame) < 0x0D


def is_nak(frame):
    return is_roce(frame) and opcode(frame) == ACK and frame[BTH + 12] >> 5 == 3


class Events(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(holder.name)
        self.addCleanup(holder.cleanup)

    def replay(self, capture, profile):
        """What came in, what went out, the ledger and the report."""
        (self.folder / 'p.toml').write_text(profile)
        source = CAPTURES / f'{capture}.pcap'
        done = subprocess.run(
            [longwire_test.program('roce-impair'), 'replay', str(self.folder / 'p.toml'),
             str(source), str(self.folder / 'out.pcap'), '--ledger', str(self.folder / 'ledger'),
             '--json'], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        ledger = [json.loads(line) for line in (self.folder / 'ledger').read_text().splitlines()]
        return (read_pcap(source), read_pcap(self.folder / 'out.pcap'), ledger,
                json.loads(done.stdout)['directions'][0])

    def assert_lost(self, capture, profile, lost):
        """Exactly the frames of these indices are missing from the way out."""
        sent, got, ledger, _ = self.replay(capture, profile)
        expected = [data for i, (_, data) in enumerate(sent) if i not in lost]
        self.assertTrue(lost)
        self.assertEqual([data for _, data in got], expected)
        self.assertEqual([r['frame'] for r in ledger], sorted(lost))

    def frames(self, capture):
        return [data for _, data in read_pcap(CAPTURES / f'{capture}.pcap')]

    def test_listed_transmissions_of_listed_psns_are_lost_through_go_back_n(self):
        sent = self.frames('loss_write_sender_side')
        psns = [12668758, 12668771, 12668777]
        lost = set()
        for wanted in psns:
            times = [i for i, f in enumerate(sent) if is_request(f) and psn(f) == wanted]
            lost.update(times[1:2])
        self.assert_lost('loss_write_sender_side',
                         f'[[event]]\npsn = {psns}\noccurrence = 2\naction = "drop"\n', lost)

    def test_offsets_count_from_the_first_psn_of_the_kth_qp(self):
        sent = self.frames('rc_write_send_read')
        qps = []
        for frame in sent:
            key = frame[IP + 12:IP + 20] + frame[BTH + 5:BTH + 8]
            if is_roce(frame) and dest_qp(frame) > 1 and key not in qps:
                qps.append(key)
        third = [i for i, f in enumerate(sent) if is_request(f)
                 and f[IP + 12:IP + 20] + f[BTH + 5:BTH + 8] == qps[2]]
        start = psn(sent[third[0]])
        lost = {next(i for i in third if psn(sent[i]) == start + offset) for offset in (0, 2)}
        self.assert_lost('rc_write_send_read',
                         '[[event]]\nqp = 3\npsn_offset = [0, 2]\naction = "drop"\n', lost)

    def test_the_nth_nak_and_read_response(self):
        sent = self.frames('rnr_nak')
        naks = [i for i, f in enumerate(sent) if is_nak(f)]
        self.assert_lost('rnr_nak', '[[event]]\non = "nak"\noccurrence = "5-6"\naction = "drop"\n',
                         set(naks[4:6]))
        sent = self.frames('loss_read_requester_side')
        responses = [i for i, f in enumerate(sent) if is_roce(f) and opcode(f) in READ_RESPONSES]
        self.assert_lost('loss_read_requester_side',
                         '[[event]]\non = "read_response"\noccurrence = 7\naction = "drop"\n',
                         {responses[6]})

    def test_mark_delay_and_duplicate_touch_their_packet_alone(self):
        events = ''.join(f'[[event]]\nname = "{action}"\npsn = {number}\naction = "{action}"\n{more}'
                         for action, number, more in (('mark', 12668743, ''),
                                                      ('delay', 12668745, 'delay = "1s"\n'),
                                                      ('duplicate', 12668747, '')))
        sent, got, _, report = self.replay('loss_write_sender_side', events)
        by_psn = {psn(data): (stamp, data) for stamp, data in reversed(sent) if is_request(data)}
        marked = by_psn[12668743][1]
        self.assertEqual(marked[IP + 1] & 3, 0)
        outs = [data for _, data in got]
        self.assertNotIn(marked, outs)
        self.assertEqual(sum(1 for f in outs if psn(f) == 12668743 and f[IP + 1] & 3 == 3), 1)
        stamp, late = by_psn[12668745]
        self.assertIn((stamp + 10**9, late), got)
        self.assertEqual(outs.count(by_psn[12668747][1]), 2)
        rest = [f for f in sent if f[1] not in (marked, late)]
        twin = by_psn[12668747]
        remaining = [f for f in got if f[1] != late and psn(f[1]) != 12668743]
        remaining.remove(twin)
        self.assertEqual(remaining, rest)
        self.assertEqual([(e['happened'], e['all']) for e in report['events']], [(1, 1)] * 3)

    def test_a_corrupted_packet_is_the_only_bad_icrc(self):
        self.replay('loss_write_sender_side', '[[event]]\npsn = 12668750\naction = "corrupt"\n')
        done = subprocess.run(
            [longwire_test.program('roce-dissect'), 'verify', str(self.folder / 'out.pcap'),
             '--json'], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(json.loads(done.stdout)['bad_icrc'], 1)

    def test_rules_on_fields_take_their_packets_and_no_others(self):
        loses = {
            '{kind = "nak"}': is_nak,
            '{operation = "read_response", position = ["first", "last"]}':
                lambda f: is_roce(f) and opcode(f) in (0x0D, 0x0F),
            '{opcode = "RC SEND ONLY", source = "192.168.77.2"}':
                lambda f: is_roce(f) and opcode(f) == SEND_ONLY and f[IP + 15] == 2,
            '{filter = "arp or tcp"}':
                lambda f: f[12:14] == b'\x08\x06' or (f[12:14] == b'\x08\x00' and f[IP + 9] == 6),
        }
        for match, chosen in loses.items():
            total = 0
            for capture in ('rnr_nak', 'loss_read_requester_side', 'rc_write_send_read'):
                lost = {i for i, f in enumerate(self.frames(capture)) if chosen(f)}
                total += len(lost)
                if lost:
                    self.assert_lost(capture, f'[[rule]]\nmatch = {match}\nloss = "100%"\n', lost)
            self.assertTrue(total, match)

    def test_a_bad_filter_is_refused_at_its_place(self):
        (self.folder / 'p.toml').write_text('[[rule]]\nmatch = {filter = "udp prot 4791"}\n')
        done = subprocess.run(
            [longwire_test.program('roce-impair'), 'check', str(self.folder / 'p.toml')],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn('p.toml:2:19: filter', done.stderr)


if __name__ == '__main__':
    longwire_test.main()
