# SPDX-License-Identifier: BSD-3-Clause
"""A run of several ranks under mpirun ends as one: mistakes of any rank end all before a frame is
sent, and a rank that dies or is stopped ends all with the results so far."""

import json
import os
import shutil
import signal
import subprocess

import needs
import gen_ranks
import longwire_test
import mpi_runs
import verdict_outputs
from gen_ranks import GEN, PATIENT, TWO, Namespace, profile_of


class Mistakes(gen_ranks.InFolder):
    def refused(self, done, code, *texts):
        self.assertEqual(done.returncode, code, done.stderr)
        said = [line for line in done.stderr.splitlines()
                if line and not line.startswith(('memory:', 'waiting for'))]
        self.assertEqual(len(said), len(texts), done.stderr)
        for line, text in zip(said, texts):
            self.assertIn(text, line)
        self.assertEqual(done.stdout, '')

    def both(self, one, other):
        return mpi_runs.mpirun([GEN, 'run', self.write(one), ':', '-n', 1, GEN, 'run',
                                      self.write(other, 'other.toml')], 1)

    def test_a_bad_profile_on_one_rank(self):
        bad = TWO.replace('20 kframes/s', '-1 frames/s')
        self.refused(self.both(TWO, bad), 2, 'other.toml:3:8: rate: expected a rate above 0')
        self.assertIn('rank 1 (', self.both(TWO, bad).stderr)
        done = self.run_ranks(bad)
        self.refused(done, 2, 'run.toml:3:8: rate: expected a rate above 0')
        self.assertNotIn('rank ', done.stderr.splitlines()[-1].split('run.toml')[0])

    def test_another_profile_on_one_rank(self):
        self.refused(self.both(TWO, TWO.replace('2000', '2001')), 2,
                     'it has another profile or another program than rank 0')

    def test_hosts_that_are_no_ranks(self):
        for keys, text in (('rank = 2', 'host "x": expected a rank below 2, the number of ranks'),
                           ('', 'host "x": expected a machine that runs a rank'),
                           ('rank = 1', 'host "x": expected another rank than that of host "1", found 1')):
            done = self.run_ranks(TWO + f'[[host]]\nname = "x"\n{keys}\n')
            self.refused(done, 2, text)
            self.assertIn('run.toml:21:1', done.stderr)
        machine = os.uname().nodename
        self.refused(self.run_ranks(TWO + f'[[host]]\nname = "{machine}"\n'), 2,
                     'expected one rank, found ranks 0, 1 on that machine: add rank = N')

    def test_a_rank_without_work(self):
        done = self.run_ranks(TWO, ranks=3)
        self.refused(done, 2, 'expected flows to send or a port to receive at, found neither')
        self.assertIn('rank 2 (', done.stderr)
        self.refused(self.run_ranks(TWO.replace('name = "1"\nports = ["null"]', 'name = "1"').replace(
            'name = "c"\n', 'name = "c"\nhost = "1"\n')), 2, 'expected ports, or --port, to send flow "c"')

    def test_a_port_that_is_not_there(self):
        done = self.run_ranks(TWO.replace('name = "1"\nports = ["null"]', 'name = "1"\nports = ["lwnone0"]'))
        self.refused(done, 3, 'no interface `lwnone0` here')
        self.assertIn('rank 1 (1): ', done.stderr)

    def test_options_that_several_ranks_cannot_serve(self):
        self.refused(self.run_ranks(TWO, '--pcap', 'x.pcap'), 2, '--pcap: not in a run of several ranks')
        self.refused(self.run_ranks(TWO, '--count', '5'), 2, '--count: not in a run of several ranks')
        self.refused(mpi_runs.mpirun([GEN, 'run', self.write(profile_of([], [('a', '')]))], 1), 2,
                     '--pcap OUT or --port PORT is required in a run of one rank')

    def test_hosts_need_several_processes(self):
        done = subprocess.run([GEN, 'run', self.write(TWO), '--port', 'null'], capture_output=True, text=True,
                              timeout=mpi_runs.TIMEOUT, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r'run.toml:5:1: \[\[host\]\]: expected a run of several processes, found '
                                      r'one: mpirun -n 2 roce-gen run ')

    def test_without_the_module_the_message_names_the_package(self):
        alone = self.folder / 'roce-gen'
        shutil.copy(GEN, alone)
        done = subprocess.run([alone, 'run', self.write(TWO)], capture_output=True, text=True,
                              timeout=mpi_runs.TIMEOUT, check=False,
                              env=dict(os.environ, OMPI_COMM_WORLD_SIZE='2'))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn('`apt install longwire-mpi`', done.stderr)


class Ends(gen_ranks.InFolder):
    LONG = TWO.replace('2000', '2000000')

    def start(self, *words, text=LONG, ranks=2):
        """A long run that has begun."""
        run = mpi_runs.Started(self, [GEN, 'run', self.write(text), *PATIENT, *longwire_test.ANY_RATE, *words],
                               ranks)
        said = ''
        while f'{ranks} ranks have started' not in said:
            line = run.process.stderr.readline()
            self.assertTrue(line, f'it ended early: {said}')
            said += line
        return run, run.ranks()

    def test_ctrl_c_ends_all_with_the_results_so_far(self):
        run, _ = self.start('--json')
        run.process.send_signal(signal.SIGINT)
        done = run.end()
        self.assertEqual(done.returncode, 1, done.stderr)
        whole = json.loads(done.stdout)
        self.assertEqual(whole['interrupted'], 'stopped by a signal')
        self.assertTrue(all(row['reported'] for row in whole['ranks']))
        self.assertEqual(whole['frames'], sum(row['sent']['frames'] for row in whole['ranks']))

    def test_a_killed_rank_ends_all(self):
        run, pids = self.start('--json')
        os.kill(pids[1], signal.SIGKILL)
        done = run.end()
        self.assertNotEqual(done.returncode, 0)
        whole = json.loads(done.stdout)
        self.assertEqual([row['reported'] for row in whole['ranks']], [True, False])
        self.assertIn('rank 1 (1) sent no results: it was killed, or its machine failed',
                      verdict_outputs.observed(whole['verdict'], 'ranks'))

    def test_a_killed_rank_among_three(self):
        """The others' results are there."""
        text = self.LONG + '[[host]]\nname = "2"\nports = ["null"]\n[[flow]]\nname = "d"\nhost = "2"\n'
        run, pids = self.start('--json', text=text, ranks=3)
        os.kill(pids[1], signal.SIGKILL)
        done = run.end()
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual([row['reported'] for row in json.loads(done.stdout)['ranks']], [True, False, True])

    def test_rank_0_killed(self):
        run, pids = self.start()
        os.kill(pids[0], signal.SIGKILL)
        done = run.end()
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, '')


@needs.root('interfaces')
class Stopped(gen_ranks.InFolder):
    def test_a_rank_whose_interface_disappears_stops_all(self):
        space = Namespace(self)
        text = profile_of([('0', 'ports = ["null"]'), ('1', 'ports = ["s1"]')], [('a', 'host = "0"'), ('b', 'host = "1"')],
                          messages=2_000_000, rate='1 kframes/s')
        run = mpi_runs.Started(self, [GEN, 'run', self.write(text), *PATIENT, '--json'], 2, space.inside)
        said = ''
        while '2 ranks have started' not in said:
            line = run.process.stderr.readline()
            self.assertTrue(line, f'it ended early: {said}')
            said += line
        space.ip('-n', space.name, 'link', 'del', 's1')
        done = run.end()
        self.assertEqual(done.returncode, 1, done.stderr)
        whole = json.loads(done.stdout)
        self.assertEqual(whole['interrupted'], 'rank 1 (1): port `s1`: the interface has disappeared')
        self.assertTrue(all(row['reported'] for row in whole['ranks']))


if __name__ == '__main__':
    longwire_test.main()
