# SPDX-License-Identifier: BSD-3-Clause
"""One run of several ranks under mpirun: each sends its flows, all start together, one report has
the sums. gen_ranks_ends: an error or the end of any rank ends all."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import needs
import longwire_test
import mpi_runs
import output_schemas
import verdict_outputs

GEN = longwire_test.program('roce-gen')
# Ranks of a busy machine start late: the skew is not what these tests are about.
PATIENT = ('--start-skew', '60s')


def profile_of(hosts, flows, messages=2000, rate='20 kframes/s', more=''):
    """Hosts: (name, keys). Flows: (name, keys)."""
    text = f'[defaults]\nmessages = {messages}\nrate = "{rate}"\nsignature = true\n'
    for kind, entries in (('host', hosts), ('flow', flows)):
        for name, keys in entries:
            text += f'[[{kind}]]\nname = "{name}"\n{keys}\n'
    return text + more


TWO = profile_of([('west', 'rank = 0\nports = ["null"]'), ('1', 'ports = ["null"]')],
                 [('a', 'host = "west"'), ('b', 'qps = 3'), ('c', '')])


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, text, name='run.toml'):
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return path

    def run_ranks(self, text, *words, ranks=2, before=()):
        return mpi_runs.mpirun([GEN, 'run', self.write(text), *PATIENT, *longwire_test.ANY_RATE, *words],
                               ranks, before)

    def report(self, text, *words, ranks=2, before=(), code=0):
        """The report, whose sums are those of the ranks' own reports."""
        parts = self.folder / 'ranks'
        done = self.run_ranks(text, '--json', '--rank-reports', parts, *words, ranks=ranks,
                              before=before)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count('\n'), 1, done.stdout)
        self.assertEqual(output_schemas.validate(done.stdout), 'ranks')
        whole = json.loads(done.stdout)
        own = [json.loads((parts / f'{rank}.json').read_text()) for rank in range(ranks)]
        for part in own:
            self.assertEqual(output_schemas.validate(part), 'rank')
        self.check_sums(whole, own)
        if any(flow['frames'] > 0 for flow in whole.get('received', {}).get('flows', ())):
            self.assertEqual([each['result'] for each in verdict_outputs.named(whole['verdict'], 'as_asked')],
                             ['holds'])
        return whole

    def check_sums(self, whole, own):
        sums = ('frames', 'bytes', 'payload_bytes', 'messages', 'not_sent')
        for key in sums:
            self.assertEqual(whole[key], sum(part[key] for part in own), key)
            self.assertEqual(whole[key], sum(flow[key] for flow in whole['flows']), key)
        self.assertEqual([flow for part in own for flow in part['flows']],
                         [{key: value for key, value in flow.items() if key != 'host'}
                          for part in own for flow in whole['flows'] if flow['host'] == part['host']])
        for row, part in zip(whole['ranks'], own, strict=True):
            self.assertEqual((row['rank'], row['host']), (part['rank'], part['host']))
            self.assertEqual({key: row['sent'][key] for key in sums}, {key: part[key] for key in sums})
            self.assertEqual((row['late_ns'], row['missed']), (part['late_ns'], part['missed']))
        self.assertEqual({part['run'] for part in own}, {whole['run']})
        received = [part['received'] for part in own if 'received' in part]
        if not received:
            return
        for key in ('frames', 'roce', 'bytes', 'bad_icrc'):
            self.assertEqual(whole['received'][key], sum(part[key] for part in received), key)
        rows = {(flow['flow'], flow['receiver']): flow for flow in whole['received']['flows']
                if flow['frames'] > 0}
        parts = {(flow['flow'], part['host']): flow for part in own if 'received' in part
                 for flow in part['received']['flows']}
        self.assertEqual(set(rows), set(parts))
        for key, flow in parts.items():
            self.assertEqual({name: rows[key][name] for name in flow}, flow)


class Sending(InFolder):
    def test_two_ranks_share_the_flows_and_one_report_has_the_sums(self):
        whole = self.report(TWO)
        self.assertEqual([(flow['name'], flow['host']) for flow in whole['flows']],
                         [('a', 'west'), ('b', 'west'), ('c', '1')])
        self.assertEqual([flow['frames'] for flow in whole['flows']], [2000, 6000, 2000])
        self.assertEqual([row['sent']['frames'] for row in whole['ranks']], [8000, 2000])
        self.assertTrue(all(row['reported'] for row in whole['ranks']))
        self.assertEqual(whole['ranks'][0]['clock_bound_ns'], 0)
        # One machine has one steady clock: the difference is 0, within its bound.
        far = whole['ranks'][1]
        self.assertLessEqual(abs(far['clock_ahead_ns']), far['clock_bound_ns'])
        self.assertGreater(far['clock_bound_ns'], 0)
        late = [row['late_ns'] for row in whole['ranks']]
        self.assertEqual(whole['start']['skew_ns'], max(late) - min(late))
        self.assertGreaterEqual(min(late), 0)

    def test_the_text_has_hosts_flows_and_sums(self):
        done = self.run_ranks(TWO)
        self.assertEqual(done.returncode, 0, done.stderr)
        for pattern in (r'   0  west ', r'   1  1 ', r'the ranks started within \S+ \S+, wrong by at most',
                        r'b \(3 QPs\)  west', r'10000 frames, .* 0 not sent'):
            self.assertRegex(done.stdout, pattern)

    def test_sixteen_ranks(self):
        hosts = [(str(rank), 'ports = ["null"]') for rank in range(16)]
        whole = self.report(profile_of(hosts, [(f'f{i}', '') for i in range(32)], messages=200), ranks=16)
        self.assertEqual([flow['host'] for flow in whole['flows']], [str(i % 16) for i in range(32)])
        self.assertEqual(whole['frames'], 32 * 200)

    def test_ports_of_the_command_line_and_expectations_of_the_whole(self):
        flows = [('a', ''), ('b', '')]
        junit, page = self.folder / 'run.xml', self.folder / 'run.html'
        whole = self.report(profile_of([], flows), '--port', 'null', '--expect', 'frames == 4000', '--expect',
                            'start.skew_ns >= 0', '--junit', junit, '--html', page)
        self.assertEqual([flow['host'] for flow in whole['flows']],
                         [f'{os.uname().nodename}/{rank}' for rank in (0, 1)])
        verdict_outputs.check_junit(self, junit, 'roce-gen run', [whole['verdict']])
        self.assertEqual([each['asked'] for each in verdict_outputs.named(whole['verdict'], 'frames')],
                         ['frames == 4000'])
        text = page.read_text(encoding='utf-8')
        for part in ('longwire.ranks', 'frames of all ranks = frames of the run', 'all ranks of a common run start together'):
            self.assertIn(part, text)
        done = self.run_ranks(profile_of([], flows), '--port', 'null', '--expect', 'frames == 2000')
        self.assertEqual(done.returncode, 1)

    def test_a_skew_above_the_limit_fails_the_run(self):
        done = mpi_runs.mpirun([GEN, 'run', self.write(TWO), '--start-skew', '0'], 2)
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r'does not hold: the ranks started within .*: --start-skew allows 0')

    def test_a_common_clock_is_not_corrected(self):
        whole = self.report(TWO, '--clock', 'tai')
        self.assertTrue(whole['clock'].startswith('CLOCK_TAI'))
        far = whole['ranks'][1]
        self.assertFalse(far['clock_corrected'])
        self.assertLessEqual(abs(far['clock_ahead_ns']), far['clock_bound_ns'])
        self.assertGreaterEqual(far['stamp_bound_ns'], far['clock_bound_ns'])


@needs.root('interfaces')
class Received(InFolder):
    """What ranks send, and another one receives."""

    def test_frames_of_a_rank_with_another_clock(self):
        """Rank 1 runs in a namespace whose steady clock is 1000 s ahead."""
        wire = f'memif:{self.folder}/wire'
        text = profile_of([('0', f'receive = ["{wire},server"]'), ('1', f'ports = ["{wire}"]')],
                          [('w', 'host = "1"')], more='[expect]\nlatency_max = "10s"\nloss = 0\n')
        path = self.write(text)
        words = [GEN, 'run', path, *PATIENT, *longwire_test.ANY_RATE, '--json']
        ahead = ['unshare', '--time', '--monotonic', '1000']
        if subprocess.run([*ahead, 'true'], capture_output=True, check=False).returncode != 0:
            needs.lacks('time namespaces', 'unshare --time fails')
        done = mpi_runs.mpirun([*words, ':', '-n', 1, *ahead, *words], 1)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        whole = json.loads(done.stdout)
        far = whole['ranks'][1]
        self.assertTrue(far['clock_corrected'])
        self.assertLess(abs(far['clock_ahead_ns'] - 1000_000_000_000), 1_000_000_000)
        row, = whole['received']['flows']
        self.assertEqual((row['frames'], row['sent'], row['lost']), (2000, 2000, 0))
        self.assertEqual((row['sender'], row['receiver']), ('1', '0'))
        self.assertEqual(row['latency_bound_ns'], far['stamp_bound_ns'])
        # Without the correction the latencies would be -1000 s.
        self.assertGreaterEqual(row['latency_ns']['min'], -row['latency_bound_ns'])
        self.assertLess(row['latency_ns']['p50'], 10_000_000_000)

    def test_four_ranks_with_a_veth_each_send_through_a_box_to_a_fifth(self):
        space = Namespace(self)
        impair = space.box(self.folder)
        hosts = [(str(rank), f'ports = ["s{rank}"]') for rank in range(4)] + [('4', 'receive = ["sink"]')]
        flows = [(f'f{i}', f'host = "{i % 4}"\nsource = "192.0.2.{i + 1}"\ndestination = "192.0.2.99"\n'
                           f'source_mac = "02:00:00:00:01:0{i}"\ndestination_mac = "02:00:00:00:00:99"')
                 for i in range(8)]
        whole = self.report(profile_of(hosts, flows, messages=1000, rate='1 kframes/s',
                                       more='[expect]\nbad_icrc = 0\n'),
                            '--wait', '5s', ranks=5, before=space.inside)
        rows = whole['received']['flows']
        self.assertEqual([row['flow'] for row in sorted(rows, key=lambda row: row['flow'])], list(range(8)))
        for row in rows:
            self.assertEqual((row['sender'], row['receiver']), (str(row['flow'] % 4), '4'))
            self.assertEqual(row['sent'], 1000)
            self.assertEqual(row['frames'] + row['lost'], 1000)
            self.assertEqual(row['duplicated'], 0)
            self.assertGreaterEqual(row['latency_ns']['min'], 1_000_000 - row['latency_bound_ns'])
        impair.terminate()
        out, error = impair.communicate(timeout=mpi_runs.TIMEOUT)
        box = json.loads(out)
        self.assertEqual(impair.returncode, 0, error)
        self.assertEqual(whole['received']['roce'], sum(row['frames'] for row in rows))
        self.assertGreaterEqual(box['directions'][0]['sent']['frames'], whole['received']['roce'])


class Perf(InFolder):
    """perf over ranks: who sends to whom, and the sums."""

    def perf(self, pattern, ports, *words, before=(), code=0):
        # A busy machine loses frames of its own.
        command = [GEN, 'perf', '--pattern', pattern, '-s', 4096, '-m', 1024, '--json', *PATIENT, '--expect',
                   'machine <= 90%', *words]
        parts = [[*command, '--port', port] for port in ports]
        joined = parts[0]
        for part in parts[1:]:
            joined += [':', '-n', 1, *part]
        done = mpi_runs.mpirun(joined, 1, before)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if code > 1:
            return done
        self.assertEqual(output_schemas.validate(done.stdout), 'perf_ranks')
        whole = json.loads(done.stdout)
        rows = whole['ranks']
        self.assertEqual(verdict_outputs.broken(whole['verdict']), [])
        for key in ('messages', 'bytes'):
            self.assertEqual(whole[key], sum(row[key] for row in rows))
        self.assertEqual(whole['bytes'], sum(row['received_bytes'] for row in rows))
        self.assertEqual(whole['messages'], sum(row['checked'] for row in rows))
        self.assertEqual(len({row['address'] for row in rows}), len(ports))
        return whole

    def wires(self):
        return [f'memif:{self.folder}/wire,server', f'memif:{self.folder}/wire']

    def test_incast_and_all_to_all_of_two_ranks(self):
        rows = self.perf('incast', self.wires(), '-n', 500, '-q', 3)['ranks']
        self.assertEqual([row['messages'] for row in rows], [0, 1500])
        self.assertEqual([row['connections'] for row in rows], [3, 0])
        rows = self.perf('all-to-all', self.wires(), '-n', 500, '--op', 'send')['ranks']
        self.assertEqual([row['messages'] for row in rows], [500, 500])
        self.assertEqual([row['connections'] for row in rows], [1, 1])

    def test_a_ring_of_two_ranks_is_all_to_all(self):
        rows = self.perf('ring', self.wires(), '-n', 300)['ranks']
        self.assertEqual([row['messages'] for row in rows], [300, 300])

    @needs.root('interfaces')
    def test_four_ranks_over_a_bridge(self):
        space = Namespace(self)
        ports = [f's{rank}' for rank in range(4)]
        rows = self.perf('incast', ports, '-n', 200, before=space.inside)['ranks']
        self.assertEqual([row['messages'] for row in rows], [0, 200, 200, 200])
        self.assertEqual(rows[0]['connections'], 3)
        page = self.folder / 'perf.html'
        whole = self.perf('all-to-all', ports, '-n', 200, '-q', 2, '--html', page, '--expect',
                          'fairness <= 1', before=space.inside)
        self.assertIn('Packets retransmitted', page.read_text(encoding='utf-8'))
        self.assertEqual([row['messages'] for row in whole['ranks']], [3 * 2 * 200] * 4)
        self.assertEqual([row['connections'] for row in whole['ranks']], [6] * 4)
        self.assertGreater(whole['fairness'], 0.25)
        rows = self.perf('ring', ports, '-n', 200, before=space.inside)['ranks']
        self.assertEqual([row['messages'] for row in rows], [200] * 4)
        self.assertEqual([row['received_bytes'] for row in rows], [200 * 4096] * 4)
        self.assertEqual([row['connections'] for row in rows], [1] * 4)

    def test_mistakes_of_perf(self):
        done = self.perf('incast', ['null', 'null'], '--address', '192.0.2.1', code=2)
        self.assertIn('--address: expected another address than that of rank 0 (', done.stderr)
        done = subprocess.run([GEN, 'perf', '--pattern', 'incast', '--port', 'null'], capture_output=True,
                              text=True, timeout=mpi_runs.TIMEOUT, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn('--pattern incast: expected several processes, found one: mpirun -n 3', done.stderr)
        done = subprocess.run([GEN, 'perf', '--pattern', 'incast', '--port', 'null', '--peer', '192.0.2.1'],
                              capture_output=True, text=True, timeout=mpi_runs.TIMEOUT, check=False)
        self.assertIn('--peer: does not go with --pattern incast', done.stderr)

    def test_ctrl_c_ends_perf_with_the_results_so_far(self):
        one, other = self.wires()
        words = [GEN, 'perf', '--pattern', 'incast', '--duration', '100s', '--json', *PATIENT, '--port']
        run = mpi_runs.Started(self, [*words, one, ':', '-n', 1, *words, other], 1)
        said = ''
        while '2 ranks have started' not in said:
            line = run.process.stderr.readline()
            self.assertTrue(line, f'it ended early: {said}')
            said += line
        run.process.send_signal(signal.SIGINT)
        done = run.end()
        self.assertEqual(done.returncode, 1, done.stderr)
        whole = json.loads(done.stdout)
        self.assertIn('ended early: stopped by a signal',
                      verdict_outputs.observed(whole['verdict'], 'ranks'))
        self.assertTrue(all(row['reported'] for row in whole['ranks']))


class Namespace:
    """A network namespace: s0 to s3 in a bridge, and `box`, whose far side is `sink`."""

    def __init__(self, test):
        self.name = f'lwr{os.getpid()}'
        self.test = test
        self.ip('netns', 'add', self.name)
        test.addCleanup(self.ip, 'netns', 'del', self.name)
        self.inside = ['ip', 'netns', 'exec', self.name]
        self.ip('-n', self.name, 'link', 'set', 'lo', 'up')  # for mpirun
        self.add('hub', 'type', 'bridge')
        for rank in range(4):
            self.pair(f's{rank}', f'p{rank}', bridged=f'p{rank}')
        self.pair('west', 'pw', bridged='pw')
        self.pair('east', 'sink')

    def ip(self, *words):
        subprocess.run(['ip', *words], check=True, capture_output=True, text=True)

    def add(self, name, *words):
        self.ip('-n', self.name, 'link', 'add', name, *words)
        self.up(name)

    def up(self, name):
        self.test.assertEqual(subprocess.run(
            [*self.inside, 'sysctl', '-qw', f'net.ipv6.conf.{name}.disable_ipv6=1'],
            check=False).returncode, 0)
        self.ip('-n', self.name, 'link', 'set', name, 'up')

    def pair(self, one, other, bridged=None):
        self.add(one, 'type', 'veth', 'peer', 'name', other)
        self.up(other)
        if bridged:
            self.ip('-n', self.name, 'link', 'set', bridged, 'master', 'hub')

    def box(self, folder):
        """A roce-impair that delays all by 1 ms."""
        ready = folder / 'ready'
        process = longwire_test.begin(self.test, [
            *self.inside, *longwire_test.BOX, '--delay', '1ms', '--west', 'west',
            '--east', 'east', '--ready-file', ready, '--json'])
        while not ready.exists():
            self.test.assertIsNone(process.poll(), 'the box has ended')
            time.sleep(0.02)
        return process


if __name__ == '__main__':
    longwire_test.main()
