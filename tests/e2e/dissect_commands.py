# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect commands: NVMe, NFS and SMB commands of connections that tests/support/upper_composer
makes, and of captures of guests (pcaps/upper) against the kernel's tracepoints and tshark."""

import collections
import gzip
import json
import pathlib
import subprocess
import tempfile
import unittest

import longwire_test
import needs
import pcap_file
import upper_checks
import upper_composer
from longwire_test import SOURCE, program

UPPER = SOURCE / 'pcaps' / 'upper'
# What the kernel calls procedures whose compounds have the same main operation, or ask for attributes only.
NFS_NAMES = {'OPEN_NOATTR': 'OPEN', 'FSINFO': 'GETATTR', 'LOOKUP_ROOT': 'GETATTR', 'PATHCONF': 'GETATTR',
             'SERVER_CAPS': 'GETATTR', 'STATFS': 'GETATTR'}
BLOCK = 4096
ACKNOWLEDGE = 17
LONG = 10**9


def truth_of(name):
    return [json.loads(line) for line in (UPPER / f'{name}.json').read_text(encoding='utf-8').splitlines()]


def capture_of(name, end='host'):
    return UPPER / f'{name}_{end}.pcap.gz'


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)


class Composed(Folder):
    def test_commands_are_those_that_were_made(self):
        for protocol in ('nvme', 'nfs', 'smb'):
            for seed, snap in ((1, 65535), (2, 128), (3, 256)):
                with self.subTest(protocol=protocol, seed=seed):
                    upper_checks.check(self, protocol, seed, self.folder / 'made.pcap', snap)

    def test_a_given_protocol_is_that_which_is_recognised(self):
        for protocol in ('nvme', 'nfs', 'smb'):
            path = self.folder / 'made.pcap'
            pcap_file.write_pcap(path, upper_composer.compose(protocol, 4)[0])
            self.assertEqual(upper_checks.commands(path), upper_checks.commands(path, '--upper', protocol))

    def test_two_captures_divide_path_and_target(self):
        frames, _, wire = upper_composer.compose('nvme', 6)
        far = []
        for stamp, frame in frames:
            of_host = frame[26:30] == bytes([10, 0, 0, 1])
            # The far point is next to the target; its clock is a second ahead.
            far.append((stamp + 10**9 + (wire.delay[1] if of_host else -wire.delay[1]), frame))
        near_path, far_path = self.folder / 'near.pcap', self.folder / 'far.pcap'
        pcap_file.write_pcap(near_path, frames)
        pcap_file.write_pcap(far_path, sorted(far, key=lambda one: one[0]))
        alone = upper_checks.commands(near_path)
        both = upper_checks.commands(near_path, far_path)
        self.assertEqual(len(both), len(alone))
        for row, of_both in zip(alone, both):
            self.assertEqual(of_both['latency_ns'], row['latency_ns'])
            self.assertEqual(sum(of_both[part] for part in upper_checks.PARTS), row['latency_ns'])
            self.assertIsNotNone(of_both['far_point'])
            self.assertGreaterEqual(of_both['path_ns'], 2 * wire.delay[1])
            self.assertEqual(of_both['undecided_ns'], 0)


class Guests(Folder):
    def matched(self, name):
        """Pairs of a tracepoint's command and the row of the capture. The trace goes on after the capture."""
        rows = collections.defaultdict(list)
        for row in sorted(upper_checks.commands(capture_of(name)), key=lambda row: row['begin_frame']):
            rows[row['id']].append(row)
        pairs, missing = [], []
        for one in sorted(truth_of(name), key=lambda one: one.get('begin_us', 0)):
            # The kernel traces the Connect of an I/O queue with queue 0.
            fits = [row for row in rows[one['id']] if one.get('operation', '').endswith('connect')
                    or row['queue'] == one.get('queue')]
            if fits:
                rows[one['id']].remove(fits[0])
                pairs.append((one, fits[0]))
            else:
                missing.append(one)
        self.assertLessEqual(len(missing), 0.01 * len(pairs), missing)
        return pairs

    def test_nvme_commands_are_those_of_the_kernel(self):
        for name in ('nvme_clean', 'nvme_loss'):
            for one, row in self.matched(name):
                operation = one['operation'].removeprefix('nvme_cmd_').removeprefix('nvme_admin_')
                operation = operation.removeprefix('nvme_').replace('fabrics_type', 'fabrics').replace('_', ' ')
                self.assertEqual(row['operation'], operation)
                if operation in ('read', 'write'):
                    self.assertEqual(row['bytes'], (one['length'] + 1) * BLOCK)
                if row['latency_ns'] is not None:
                    self.assertLess(row['latency_ns'] / 1000, one['latency_us'])
                    self.assertEqual(row['failed'], one['status'] != 0)

    def test_nfs_calls_are_those_of_the_kernel(self):
        for one, row in self.matched('nfs_clean') + self.matched('nfs_loss'):
            if row['latency_ns'] is None:
                continue
            self.assertEqual(row['operation'], 'NFSv4 ' + NFS_NAMES.get(one['operation'], one['operation']))
            self.assertLess(row['latency_ns'] / 1000, one['latency_us'] + 1)

    def test_hosts_of_nvme_wait_for_a_late_acknowledgement(self):
        """What the kernel measures beside the capture is as in the clean run, but for the guest's pauses."""
        beside = {name: sorted(one['latency_us'] * 1000 - row['latency_ns'] - row['late_ack_ns']
                               for one, row in self.matched(name) if row['latency_ns'] is not None)
                  for name in ('nvme_clean', 'nvme_loss')}
        late = [row for _, row in self.matched('nvme_loss') if row['late_ack_ns'] > 10**9]
        self.assertEqual(len(late), 3)
        for times in beside.values():
            self.assertLess(times[-1], 50 * 10**6)

    def retransmissions(self, name):
        done = subprocess.run([program('roce-dissect'), 'anomalies', capture_of(name), '--json', '--kind',
                               'retransmission'], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_what_came_again_was_dropped(self):
        """The recovery of a command begins with a packet that roce-impair dropped; of a command whose request was
        acknowledged late, it dropped the ACK."""
        for name in ('nvme_loss', 'nfs_loss'):
            ledger = map(json.loads, (UPPER / f'{name}.ledger').read_text(encoding='utf-8').splitlines())
            dropped = {(one['infiniband.bth.psn'], one['infiniband.bth.opcode'] == ACKNOWLEDGE)
                       for one in ledger if one.get('action') == 'drop'}
            retransmissions, judged = self.retransmissions(name), 0
            for row in upper_checks.commands(capture_of(name)):
                late = row['late_ack_ns'] > LONG
                if row['undecided_ns'] or not (late or row['recovery_ns']):
                    continue
                begin, = [one for one in retransmissions
                          if one['frame'] <= row['recovery_frame'] <= one['last_frame']]
                self.assertIn((begin['psn'], late), dropped, row)
                judged += 1
            self.assertGreater(judged, 2)

    def test_recoveries_are_those_of_anomalies(self):
        for name in ('nvme_loss', 'nfs_loss'):
            known = {row['frame']: row['duration_ns'] for row in self.retransmissions(name)}
            compared = 0
            for row in upper_checks.commands(capture_of(name)):
                if row['recovery_cause'] == 'timer' and row['recovery_ns'] > LONG:
                    self.assertAlmostEqual(row['recovery_ns'], known[row['recovery_frame']], delta=50_000)
                    compared += 1
            self.assertGreater(compared, 2)

    def test_nothing_came_again_in_clean_captures(self):
        for name in ('nvme_clean', 'nfs_clean'):
            for end in ('host', 'target'):
                for row in upper_checks.commands(capture_of(name, end)):
                    self.assertEqual((row['recovery_ns'] or 0, row['recovery_frame']), (0, None), row)

    @needs.tools('tshark')
    def test_latencies_are_those_of_tshark(self):
        for name, times in (('nvme_clean', ('nvme.cmd_latency', 'nvme.fabrics.cmd_latency')), ('nfs_clean', ('rpc.time',))):
            with self.subTest(name):
                plain = self.folder / 'plain.pcap'
                plain.write_bytes(gzip.decompress(capture_of(name).read_bytes()))
                fields = [word for time in ('frame.number', *times) for word in ('-e', time)]
                done = subprocess.run(['tshark', '-r', plain, '-T', 'fields', *fields], capture_output=True,
                                      text=True, check=True)
                known = {row['end_frame']: row['latency_ns'] for row in upper_checks.commands(plain)}
                compared = 0
                for line in done.stdout.splitlines():
                    frame, *values = line.split('\t')
                    for value in filter(None, values):
                        factor = 10**6 if name.startswith('nvme') else 10**9
                        self.assertAlmostEqual(known[int(frame)], float(value) * factor, delta=1000)
                        compared += 1
                self.assertGreater(compared, 100)


if __name__ == '__main__':
    longwire_test.main()
