# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect commands: NVMe, NFS and SMB commands of connections that tests/support/upper_composer
makes, and of captures of guests (pcaps/upper) against the kernel's tracepoints and tshark."""

import collections
import dataclasses
import gzip
import json
import pathlib
import random
import statistics
import struct
import subprocess
import tempfile
import unittest

import longwire_test
import needs
import pcap_file
import slow_commands
import upper_checks
import upper_composer
from longwire_test import SOURCE, program

UPPER = SOURCE / 'pcaps' / 'upper'
# What the kernel calls procedures whose compounds have the same main operation, or ask for attributes only.
NFS_NAMES = {'OPEN_NOATTR': 'OPEN', 'FSINFO': 'GETATTR', 'LOOKUP_ROOT': 'GETATTR', 'PATHCONF': 'GETATTR',
             'SERVER_CAPS': 'GETATTR', 'STATFS': 'GETATTR'}
BLOCK = 4096
ACKNOWLEDGE = 17
ABORTED_BY_HOST = 0x371
REQUESTS = (0, 1, 2, 4, 6, 7, 8, 10, 12, 22, 23)  # opcodes: SENDs, WRITEs, READ
ONE_PACKET = (4, 10, 23)  # SEND Only, WRITE Only, SEND Only with Invalidate
LOSSY = ('nvme_loss', 'nvme_rare_loss', 'nfs_loss')
LONG = 10**9
PATH_AND_BACK = 3_800_000


NVME = ('nvme_clean', 'nvme_in_turns', 'nvme_loss', 'nvme_rare_loss', 'nvme_rnr', 'nvme_stopped', 'nvme_outage')
NFS = ('nfs_clean', 'nfs_delay', 'nfs_loss', 'nfs_stopped')


def truth_of(name):
    """The commands of the host's tracepoints."""
    return [json.loads(line) for line in gzip.decompress((UPPER / f'{name}.json.gz').read_bytes()).splitlines()]


def dropped_in(name):
    """(direction, destination QP, PSN, opcode, time in ns) of the frames that roce-impair dropped."""
    lines = map(json.loads, (UPPER / f'{name}.ledger').read_text(encoding='utf-8').splitlines())
    return [(one['direction'], *(one[f'infiniband.bth.{field}'] for field in ('destqp', 'psn', 'opcode')),
             one['time_in_ns']) for one in lines if one.get('action') == 'drop']


def capture_of(name, end='host'):
    return UPPER / f'{name}_{end}.pcap.gz'


@dataclasses.dataclass(frozen=True)
class Packet:
    """A RoCE packet of a capture; `number` from 1 on."""
    number: int
    stamp: int
    source: bytes
    opcode: int
    qp: int
    psn: int


def roce_packets(path):
    """The packets of a gzipped capture over IPv4."""
    with tempfile.NamedTemporaryFile(suffix='.pcap') as plain:
        plain.write(gzip.decompress(path.read_bytes()))
        plain.flush()
        frames = pcap_file.read_pcap(plain.name)
    return [Packet(number, stamp, frame[26:30], frame[42], int.from_bytes(frame[47:50], 'big'),
                   int.from_bytes(frame[51:54], 'big')) for number, (stamp, frame) in enumerate(frames, 1)]


def waited_for(again, frames, dropped):
    """How long a message waited, by the ledger, whose packet `again` is the first that passed after a drop; None:
    the ledger has no drop of it, or several."""
    drops = [when for _, qp, psn, opcode, when in dropped if (qp, psn, opcode) == (again.qp, again.psn, again.opcode)]
    if len(drops) != 1 or drops[0] > again.stamp:
        return None
    same_side = [one for one in frames if one.source == again.source and one.qp == again.qp and one.opcode in REQUESTS]
    ahead = [one.stamp for one in same_side if one.number < again.number
             and 0 <= (one.psn - again.psn) % 2**24 < 2**23 and one.stamp > drops[0] - 10**7]
    return again.stamp - ahead[0] if ahead else None


def covers(row, again, frames):
    """Whether the packet is the request or the completion of a row."""
    begin = frames[row['begin_frame'] - 1]
    return again.number == row['end_frame'] or (begin.source, begin.psn) == (again.source, again.psn)


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

    def test_failures_are_counted_by_the_names_of_their_status(self):
        path = self.folder / 'made.pcap'
        for protocol in ('nvme', 'nfs', 'smb'):
            frames, expected, _ = upper_composer.compose(protocol, 7, 200)
            pcap_file.write_pcap(path, frames)
            facts, = upper_checks.facts(path)
            failed = collections.Counter(one.status for one in expected if one.failed)
            self.assertEqual(facts['errors_by_status'], failed)
            self.assertGreater(facts['errors'], 10)
            self.assertEqual(facts['errors'], failed.total())

    @needs.tools('tshark')
    def test_smb_responses_are_those_of_tshark(self):
        path = self.folder / 'made.pcap'
        for seed in (3, 4):
            pcap_file.write_pcap(path, upper_composer.compose('smb', seed)[0])
            fields = [word for name in ('frame.number', 'smb2.msg_id', 'smb2.cmd', 'smb2.nt_status')
                      for word in ('-e', name)]
            done = subprocess.run(['tshark', '-r', path, '-Y', 'smb2.flags.response == 1 and smb2.nt_status != 0x103',
                                   '-T', 'fields', *fields], capture_output=True, text=True, check=True)
            known = {(int(frame), int(number), upper_composer.SMB_NAMES[int(command)],
                      upper_composer.SMB_STATUS[int(status, 16)])
                     for frame, number, command, status in (line.split('\t') for line in done.stdout.splitlines())}
            rows = {(row['end_frame'], row['id'], row['operation'], row['status'])
                    for row in upper_checks.commands(path)}
            self.assertGreater(len(known), 50)
            self.assertEqual(rows & known, known)

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


class Slow(Folder):
    """Captures whose packets are lost, refused or late at known places; tests/long has more of them."""

    def test_a_cause_that_is_named_is_right(self):
        verdicts = [verdict for seed in range(4)
                    for verdict in upper_checks.slow_verdicts(self, seed, self.folder / 'made.pcap')]
        self.assertGreater(verdicts.count('right'), 15)


class Recognised(Folder):
    """What names a protocol where the messages do not."""

    def facts_of(self, frames):
        path = self.folder / 'made.pcap'
        pcap_file.write_pcap(path, sorted(frames, key=lambda one: one[0]))
        facts, = upper_checks.facts(path)
        return facts

    @staticmethod
    def link_with(port, data, count=40):
        link, now = slow_commands.Link(1, (500, 50_000), 14, port), 20_000_000
        for i in range(count):
            now = link.burst(i % 2, now, slow_commands.send_of(data))[1] + 1000
        return link.frames

    def test_the_service_of_the_connection_manager_names_the_protocol(self):
        noise = bytes(random.Random(1).randrange(128, 256) for _ in range(200))
        for port, protocol in ((4420, 'nvme'), (20049, 'nfs'), (445, 'smb'), (5445, 'smb'), (3260, 'iser'), (5640, '9p')):
            facts = self.facts_of(self.link_with(port, noise))
            self.assertEqual((facts['protocol'], facts['recognised_by'], facts['sends']), (protocol, 'service', 40)
                             if protocol in ('nvme', 'nfs', 'smb') else (protocol, 'service', facts['sends']))
            self.assertEqual(facts['commands'], 0)

    def test_unknown_and_encrypted_payload_is_said(self):
        noise = bytes(random.Random(1).randrange(128, 256) for _ in range(200))
        facts = self.facts_of(self.link_with(999, noise))
        self.assertEqual((facts['protocol'], facts['recognised_by'], facts['commands']), ('unknown', 'nothing', 0))
        text = subprocess.run([program('roce-dissect'), 'commands', self.folder / 'made.pcap'], capture_output=True,
                              text=True, check=True).stdout
        self.assertIn('unknown or encrypted payload', text)
        transform = b'\xfdSMB' + bytes(48) + noise
        message = struct.pack('<HHHHIII4x', 255, 1, 0, 0, 0, 24, len(transform)) + transform
        facts = self.facts_of(self.link_with(999, message))
        self.assertEqual((facts['protocol'], facts['detail'], facts['encrypted'], facts['commands']),
                         ('smb', 'encrypted', 40, 0))


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
        for name in NVME:
            for one, row in self.matched(name):
                operation = one['operation'].removeprefix('nvme_cmd_').removeprefix('nvme_admin_')
                operation = operation.removeprefix('nvme_').replace('fabrics_type', 'fabrics').replace('_', ' ')
                self.assertEqual(row['operation'], operation)
                if operation in ('read', 'write'):
                    self.assertEqual(row['bytes'], (one['length'] + 1) * BLOCK)
                # Two controllers of nvme_rnr have commands with equal numbers: either may be the one.
                if row['latency_ns'] is not None and name != 'nvme_rnr':
                    self.assertLess(row['latency_ns'] / 1000, one['latency_us'])
                    # A host that gives a command up by its own timer sends nothing that says so.
                    self.assertEqual(row['failed'], one['status'] not in (0, ABORTED_BY_HOST))

    def test_nfs_calls_are_those_of_the_kernel(self):
        for one, row in [pair for name in NFS for pair in self.matched(name)]:
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

    def test_a_long_path_changes_nothing_that_the_host_takes(self):
        """What the kernel measures beside the capture, with a path of 1.9 ms and without one, in turns: the median
        changes by at most 50 us or 20 %."""
        near, far = [], []
        for one, row in self.matched('nvme_in_turns'):
            if one['operation'] == 'nvme_cmd_read' and row['bytes'] == BLOCK:
                beside = one['latency_us'] - row['latency_ns'] / 1000
                (far if row['latency_ns'] > PATH_AND_BACK else near).append(beside)
        self.assertGreater(min(len(near), len(far)), 200)
        usual = statistics.median(near)
        self.assertAlmostEqual(statistics.median(far), usual, delta=max(50, 0.2 * usual))
        low, high = (sorted(near)[round(share * (len(near) - 1))] for share in (0.01, 0.99))
        inside = sum(low <= one <= high for one in far)
        self.assertGreaterEqual(inside, 0.95 * len(far))

    def retransmissions(self, name):
        done = subprocess.run([program('roce-dissect'), 'anomalies', capture_of(name), '--json', '--kind',
                               'retransmission'], capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_what_came_again_was_dropped(self):
        """The recovery of a command begins with a packet that roce-impair dropped; of a command whose request was
        acknowledged late, it dropped the ACK."""
        for name in ('nvme_loss', 'nfs_loss'):
            dropped = {(psn, opcode == ACKNOWLEDGE) for _, _, psn, opcode, _ in dropped_in(name)}
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

    def test_recoveries_are_those_of_the_ledger(self):
        """From a packet that roce-impair dropped, or the first packet behind it where that is all that the host's
        side shows, until it passed again: within 50 us."""
        compared = 0
        for name in LOSSY:
            frames = roce_packets(capture_of(name))
            for row in upper_checks.commands(capture_of(name)):
                if row['recovery_frame'] is None or not row['recovery_ns'] or row['undecided_ns']:
                    continue
                again = frames[row['recovery_frame'] - 1]
                waited = waited_for(again, frames, dropped_in(name))
                if waited is not None and again.opcode in ONE_PACKET and covers(row, again, frames):
                    self.assertAlmostEqual(row['recovery_ns'], waited, delta=50_000, msg=f'{name}: {row}')
                    compared += 1
        self.assertGreater(compared, 10)

    def test_a_stopped_target_is_named(self):
        for name in ('nvme_stopped', 'nfs_stopped'):
            alone = [row for row in upper_checks.commands(capture_of(name)) if (row['latency_ns'] or 0) > LONG // 2]
            self.assertGreaterEqual(len(alone), 3, name)
            for row in alone:
                self.assertIn(row['largest_part'], ('target', 'path_or_target', 'undecided'), row)
            both = upper_checks.commands(capture_of(name), capture_of(name, 'target'))
            for row in both:
                if (row['latency_ns'] or 0) > LONG // 2:
                    self.assertGreater(row['target_ns'], 0.98 * row['latency_ns'], row)

    def test_refused_requests_are_named(self):
        rows = [row for row in upper_checks.commands(capture_of('nvme_rnr')) if row['recovery_cause'] == 'rnr']
        self.assertGreater(len(rows), 20)
        full = {row['connection'] for row in upper_checks.commands(capture_of('nvme_rnr')) if row['full']}
        self.assertTrue(full)
        for one in upper_checks.facts(capture_of('nvme_rnr')):
            self.assertEqual((one['exhausted'] > 0, one['exhausted_ns'] > 0), (one['connection'] in full,) * 2)

    def test_a_path_outage_leaves_commands_open_and_keep_alives_unanswered(self):
        rows = upper_checks.commands(capture_of('nvme_outage'))
        lost = [row for row in rows if row['latency_ns'] is None and not row['waits']]
        self.assertEqual(sorted(row['operation'] for row in lost), ['keep alive', 'read'])
        for row in lost:
            self.assertGreater(row['open_ns'], 5 * LONG)
        facts = upper_checks.facts(capture_of('nvme_outage'))
        self.assertEqual(sum(one['keep_alives_missed'] for one in facts), 1)
        self.assertEqual({one['keep_alive_ns'] for one in facts}, {None, 5 * LONG})

    def test_explain_says_what_the_slowest_commands_waited_for(self):
        done = subprocess.run([program('roce-dissect'), 'explain', capture_of('nvme_stopped'), '--json'],
                              capture_output=True, text=True, check=False)
        sentence = json.loads(done.stdout.splitlines()[0])['commands']
        self.assertRegex(sentence, r'^The slowest \d+ of \d+ nvme read commands took up to 1\.\d+ s, of which ')

    def test_nothing_came_again_in_clean_captures(self):
        for name in ('nvme_clean', 'nvme_in_turns', 'nfs_clean', 'nfs_delay'):
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
