# SPDX-License-Identifier: BSD-3-Clause
"""Lines of perftest behind `roce-gen perf --`. The options are those that the installed programs
list in their own help."""

import json
import re
import signal
import subprocess
import tomllib
import unittest

import needs
import longwire_test

GEN = longwire_test.program('roce-gen')
TIMEOUT = 120
PROGRAMS = [f'ib_{operation}_{kind}' for operation in ('write', 'send', 'read', 'atomic')
            for kind in ('bw', 'lat')]

# Command lines as perftest's README, its man pages and vendors' guides have them: client's lines,
# with the reason where a line is refused.
LINES = (
    'ib_write_bw',
    'ib_write_bw 192.0.2.1',
    'ib_write_bw -a -d mlx5_0 192.0.2.1',
    'ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -a --report_gbits -F',
    'ib_write_bw --report_gbits -d mlx5_0 -x 3 -F 192.0.2.1',
    'ib_write_bw -d mlx5_1 -i 1 -s 65536 -q 8 -D 2 --report_gbits 192.0.2.1',
    'ib_write_bw -b -d mlx5_0 -F --report_gbits 192.0.2.1',
    'ib_write_bw -b --report-both -s 1M -q 2 192.0.2.1',
    'ib_write_bw --size=1048576 --qp=4 --tx-depth=128 --CPU-freq --ib-dev=mlx5_0',
    'ib_write_bw -d rocep1s0f0 -x 3 -m 4096 -s 8388608 --cq-mod 1 192.0.2.1',
    'ib_write_bw -d mlx5_0 -p 18520 -Q 100 -l 8 -I 64 192.0.2.1',
    'ib_write_bw --rate_limit 10 --rate_units g -s 64k 192.0.2.1',
    'ib_write_bw --rate_limit=1000 --rate_units=M -q 2 192.0.2.1',
    'ib_write_bw -w 0.001 -y 0.001 --report_gbits 192.0.2.1',
    'ib_write_bw -u 18 --retry_count 6 -q 16 192.0.2.1',
    'ib_write_bw -c RC -s 4096 -t 64 -N 192.0.2.1',
    'ib_write_bw -D 4 -f 1 --cpu_util 192.0.2.1',
    'ib_write_bw --use_hugepages --mr_per_qp -q 4 192.0.2.1',
    'ib_write_bw --out_json --out_json_file=out.json -a 192.0.2.1',
    'ib_write_bw -z -R --ipv6 2001:db8::1',
    'ib_write_lat',
    'ib_write_lat -a -F 192.0.2.1',
    'ib_write_lat -d mlx5_0 -s 2 -n 1000 192.0.2.1',
    'ib_write_lat -H -U -C 192.0.2.1',
    'ib_write_lat -d mlx5_0 -x 3 -I 220 -R 192.0.2.1',
    'ib_send_bw',
    'ib_send_bw -d mlx5_0 -i 1 -F --report_gbits 192.0.2.1',
    'ib_send_bw -a -c RC -r 512 -t 128 192.0.2.1',
    'ib_send_bw -d mlx4_0 -x 0 -e -m 1024 192.0.2.1',
    'ib_send_bw -b -s 4096 -q 16 -F 192.0.2.1',
    'ib_send_bw --connection=RC --rx-depth=600 --events 192.0.2.1',
    'ib_send_lat -d mlx5_0 -F -a 192.0.2.1',
    'ib_send_lat -s 8 -I 0 -p 20000 192.0.2.1',
    'ib_read_bw -d mlx5_2 -R -t 2048 -q 16 -a --report_gbits -F',
    'ib_read_bw -d mlx5_0 -o 16 -u 20 -s 1M 192.0.2.1',
    'ib_read_bw -b -D 2 --report_gbits 192.0.2.1',
    'ib_read_lat -d mlx5_0 -o 1 -s 4096 -F 192.0.2.1',
    'ib_atomic_bw -A FETCH_AND_ADD -d mlx5_0 192.0.2.1',
    'ib_atomic_bw -A CMP_AND_SWAP -o 8 -q 2 192.0.2.1',
    'ib_atomic_lat -d mlx5_0 -F 192.0.2.1',
    'ib_write_bw -d mlx5_0 --tclass=106 -S 3 192.0.2.1',
    'ib_write_bw -d mlx5_0 -S 3 192.0.2.1',
    'ib_write_bw -d mlx5_0 --use_cuda=0 192.0.2.1',
    'ib_write_bw -d mlx5_0 -O 192.0.2.1  # -O, --dualport: a run has one port',
    'ib_send_bw -g -c UD 192.0.2.1  # -g, --mcg: multicast groups are not there',
    'ib_send_bw -c UD -s 1024 192.0.2.1  # a simulation has RC only',
    'ib_write_bw -c DC 192.0.2.1  # expected RC, UC or UD',
    'ib_send_bw --use-srq -q 8 192.0.2.1',
    'ib_write_bw --rate_limit 1000 --rate_units p 192.0.2.1  # a QP\'s rate is in bits',
    'ib_write_bw -T 96 192.0.2.1',
)


# Further lines from repositories, issues and guides that are public, as they stand there; lengths
# above 1 s are shortened.
PUBLIC_LINES = (
    'ib_read_bw --ib-dev=mlx5_1 --CPU-freq --duration=1 --port=10000 --size=2048 '
    '--post_list=32 --qp=2 --cq-mod=4 --num_of_mrs=3 10.0.3.9',
    'ib_read_bw -a -R -T 41 -F -x 3 -m 4096 -p 10000 --report_gbits -d mlx5_2 -q 1 10.0.0.1',
    'ib_send_bw -d mlx5_4 192.168.20.123',
    'ib_write_bw -s 1048576 -D 1 -x 0 -F --report_gbits -d mlx5_ib0',
    'ib_send_bw -D1 -F -s 4096 -b',
    'ib_send_bw 10.0.0.1 -D1 --output bandwidth --report_gbits -F',
    'ib_send_lat -d mlx5_0 -s 16384 -D 1 10.0.0.1',
    'ib_send_lat -d mlx5_0 10.0.33.3 -zR',
    'ib_read_bw -n 100000 -s 4096 -m 2048 -d mlx5_0 10.0.2.116',
    'ib_read_bw 10.0.0.1 -d mlx5_0 -s 65536 -q 4 -l 32 -n 1000 -p 4001 -F --tclass 96',
    'ib_atomic_bw -d rxe0 -s 8 -n 1000',
    'ib_write_bw --disable_pcie_relaxed -d mlx5_0 -p 18600 -s 1000 -n 50 10.0.0.1',
    'ib_write_lat -d mlx5_0 -n 10 -F -x 3 -s 1024 --report_gbits',
    'sudo taskset 0020 raw_ethernet_bw -d mlx4_3 -l 8 --size 64 --client --duration 1 '
    '--source_mac f4:52:14:10:16:f0 --dest_mac f4:52:14:10:18:20  # no RDMA',
    'ib_write_bw -q 16 -s 65536 -t 64',
    'ib_send_bw -d mlx5_0 -a -c UD -m 4096  # a simulation has RC only',
    'ib_read_bw -d mlx5_0 -o 16 -u 18',
    'ib_send_bw -R -d mlx5_1 -i 1 192.168.0.204 --report_gbits -n 1000 -a -F',
    'numactl --physcpubind=3 ib_send_lat -a',
    'ib_write_bw -d mlx5_0 -c UC -s 8M -n 100  # a simulation has RC only',
    'ib_write_bw -F -d mlx5_0 -p 1 -T 105 -R -x 3 -D 1',
    'ib_read_bw -a -R -T 41 -F -x 3 -m 4096 -p 10000 --report_gbits -d mlx5_2 -q 1 '
    '--use_cuda=0 --use_cuda_dmabuf',
    'sudo taskset -c 28 ib_write_bw -d mlx5_3 -D 1 clx-host-108 -s 65536 -p 10000 -F  '
    '--report_gbit -b -q 2 --out_json --out_json_file=/tmp/perftest_mlx5_3.json',
    'sudo taskset -c 84 ib_write_bw -d mlx5_4 -s 65536 -D 1 -p 10001 -F --report_gbit -b -q 2 '
    '--output=bandwidth',
    'watch ib_write_bw -d mlx5_0 -q 1 --report_gbits -F',
    'ib_write_bw -d mlx5_0 -q 1 --report_gbits -F -a 192.168.100.201',
    'ib_write_bw -D 1 -d mlx5_0 server_1_ip',
    'ib_write_bw -a -n 10000 -F -x 0 --report_gbits --report-min-bw=1000 -d ibp5 localhost  # '
    '--report-min-bw: perftest up to',
    'ib_write_bw -d mlx5_2 --report_gbits',
    './ib_write_bw -d mlx5_0 -S 0 --report_gbits -m 4096 -x 3 --qp 4 -a -F --tclass 224 -b '
    '--use_cuda=1 --use_cuda_dmabuf --ipv6-addr --use_data_direct -p 50001',
    './ib_write_lat -d mlx5_cx6_0 -a -F --report_gbit --write_with_imm --use_cuda=0',
    'ib_write_lat -d rocep1s0f0 -x 3 -s 4194304 -n 1000',
    '~/perftest/ib_write_lat -d rocep117s0 -x 5 -s 4194304 -n 1000 192.0.2.1',
    'ib_write_lat -a -R --ib-dev mlx5_0 --ib-port 1',
    'ib_send_lat -H',
    'ib_write_lat --use_opendma=0 -d mlx5_0 -s 64  # --use_opendma: perftest up to',
    'ib_write_lat -d mlx5_0 -s 64 10.0.0.2',
    'ib_write_lat -d rdmap49s0 -s 64 -F',
    'ib_write_bw -d rxe0 -x 1 127.0.0.1',
    'ib_write_bw -d rdma_dev -x 0 -R 10.0.0.2',
    'ib_send_bw -d mlx5_0 -a',
    'ib_send_bw -R -d rocep130s0 -a -F',
    'ib_send_bw -d rxe0 -i 1 -F --report_gbits 10.100.0.1',
    'sudo ip netns exec server ib_send_bw -d rocep1s0 -R --report_gbits -s 8388608 -D 1',
    '~/bin/ib_send_bw -s 1M -D 1 -p 18600 -d mlx5_1 -x 3',
    'ib_read_lat -d mlx5_0 -F -x 3 -D 1',
    'ib_read_lat -d rocep7s0 -i 1 -x 3 192.168.100.1',
    'srun -w a,b -N2 -n2 ib_read_lat -d mlx5_0 -i 1',
    'ib_read_lat -d rxe0 -s 1K -n 1000',
    'ib_write_bw --use_cuda=0 -d mlx5_0 -s 65536 --report_gbits 192.0.2.1',
    'kubectl exec -n ai-training ddp-worker-1 -- ib_write_bw --use_cuda=0 10.1.2.3',
    'ib_write_bw -d mlx5_0 -R --tos 106 -D 1 -q 8 --report_gbits 10.0.0.1',
    'ib_write_bw -d mlx5_0 --flow_label 17 -x 3 -F 192.0.2.1',
    'ib_send_bw --use-srq -d mlx5_0 -c XRC 10.0.0.1  # expected RC, UC or UD',
    'ib_send_bw -c UD -d mlx5_0 -s 2048 10.0.0.1  # a simulation has RC only',
    'ib_write_bw -d mlx5_0 --bind_source_ip 10.0.0.2 10.0.0.1',
    'ib_atomic_bw -d mlx5_0 -A CMP_AND_SWAP -F 10.0.0.1',
    'ib_atomic_lat -d mlx5_0 --iter 100 10.0.0.1',
    'ib_read_bw -d mlx5_0 --cqe_poll 16 --data_validation -t 64 10.0.0.1',
    'chrt -f 50 ib_send_lat -d mlx5_0 -s 64 --dur 1 10.0.0.1',
)


def perf(*line, before=('--sim', '--delay', '10us')):
    return subprocess.run([GEN, 'perf', *before, '--', *line], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)


def listed(program):
    """The options in a program's help: letter or none, name, whether it takes a value."""
    text = subprocess.run([program, '--help'], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    for line in (text.stdout + text.stderr).splitlines():
        found = re.match(r'\s+(?:-(\w), )?--([\w-]+)(=?)', line)
        if found:
            yield found.groups()


class Perftest(unittest.TestCase):
    @needs.tools('ib_write_bw')
    def test_every_option_of_the_installed_programs_is_known(self):
        for program in PROGRAMS:
            options = list(listed(program))
            self.assertGreater(len(options), 40, program)
            for letter, name, _ in options:
                if name == 'run_infinitely':
                    continue  # and it does
                for option in ('--' + name, *(('-' + letter,) if letter else ())):
                    # As the last word: an option with a value lacks it, the others are taken.
                    done = perf(program, '-n', '5', option)
                    self.assertNotIn('has no such option', done.stderr, f'{program} {option}')
                    self.assertIn(done.returncode, (0, 2), f'{program} {option}: {done.stderr}')

    def test_lines_as_guides_have_them(self):
        """Each is run, but for its length, or refused with the reason."""
        self.assertGreaterEqual(len(LINES), 46)
        self.assertGreaterEqual(len(PUBLIC_LINES), 60)
        for line in LINES + PUBLIC_LINES:
            words, _, why = line.partition('  # ')
            code = 2 if why else 0
            has_length = re.search(r' (-D|-n |--dur|--iter)', words)
            shorter = [] if has_length else ['-n', '5']
            done = perf(*words.split(), *shorter)
            self.assertEqual(done.returncode, code, f'{line}: {done.stderr}')
            self.assertIn(why, done.stderr, line)
            self.assertEqual(bool(done.stdout), code == 0, line)

    def test_a_line_is_what_its_own_options_are(self):
        line = 'ib_write_bw -d mlx5_2 -R -t 2048 -q 4 -s 64k -n 1000 --report_gbits -F --out_json'
        pasted = perf(*line.split())
        self.assertEqual(pasted.returncode, 0, pasted.stderr)
        own = subprocess.run([GEN, 'perf', '--sim', '--delay', '10us', '-t', '2048', '-q', '4', '-s',
                              '64KiB', '-n', '1000', '--timeout', '14', '--json'],
                             capture_output=True, text=True, timeout=TIMEOUT, check=True)
        self.assertEqual(json.loads(pasted.stdout), json.loads(own.stdout))
        self.assertIn("--timeout 14: perftest's default, where roce-gen has 18", pasted.stderr)
        self.assertIn('-F, --CPU-freq is ignored', pasted.stderr)

    def test_both_ways_each_direction_has_the_rate_of_one(self):
        for operation in ('write', 'send', 'read'):
            line = f'ib_{operation}_bw -q 4 -t 2048 -n 2000 --out_json'.split()
            one, both = (json.loads(perf(*line, *more, before=('--sim', '--path', 'apn-380km')).stdout)
                         for more in ((), ('-b', '--report-both')))
            self.assertEqual(both['iterations'], 2 * one['iterations'])
            self.assertEqual(both['bw_there_gbps'], both['bw_back_gbps'])
            # ACKs share a link with the other direction's data.
            self.assertAlmostEqual(both['bw_there_gbps'] / one['bw_average_gbps'], 1, delta=0.01)
            self.assertAlmostEqual(both['bw_average_gbps'], 2 * both['bw_there_gbps'], places=9)

    def test_a_margin_leaves_the_start_out(self):
        """The first round trip of 3.8 ms brings nothing: 5 % of 76 ms, and none of it between the
        margins."""
        def average(*margin):
            done = subprocess.run([GEN, 'perf', '--sim', '--path', 'apn-380km', '-q', '4', '-t', '2048',
                                   '--duration', '76ms', '--json', *margin], capture_output=True,
                                  text=True, timeout=TIMEOUT, check=True)
            return json.loads(done.stdout)
        whole, within = average(), average('--margin', '20ms')
        self.assertLess(whole['bw_average_gbps'], 0.97 * whole['bw_steady_gbps'])
        self.assertAlmostEqual(within['bw_average_gbps'] / within['bw_steady_gbps'], 1, delta=0.02)

    def test_options_are_taken_without_a_line(self):
        done = subprocess.run([GEN, 'perf', '--sim', '--delay', '10us', '--iters=1000', '--qp', '2',
                               '-R', '--out_json'], capture_output=True, text=True, timeout=TIMEOUT,
                              check=True)
        ran = json.loads(done.stdout)
        self.assertEqual((ran['iterations'], ran['qps'], ran['timeout']), (2000, 2, 18))
        self.assertIn('-R, --rdma_cm is ignored', done.stderr)

    def test_roce_endpoint_takes_lines_and_options_too(self):
        """Up to the device, which is not there."""
        endpoint = longwire_test.program('roce-endpoint')
        for command, words, code, why in (
                ('bw', '-- ib_write_bw -d none0 -x 3 -q 4 -t 64 -R 127.0.0.1', 3, 'no RDMA device "none0"'),
                ('bw', '--peer 127.0.0.1 -d none0 --iters=5 -F', 3, 'no RDMA device "none0"'),
                ('lat', '-- ib_write_bw 127.0.0.1', 2, 'roce-endpoint lat is not its command'),
                ('bw', '-- ib_write_bw -b -d none0 127.0.0.1', 3, 'no RDMA device "none0"'),
                ('bw', '-- ib_send_bw -b -c UD 127.0.0.1', 2, '--bidirectional goes with'),
                ('bw', '--peer 127.0.0.1 -b --poll event', 2, '--bidirectional goes with')):
            done = subprocess.run([endpoint, command, '--token', 'T', *words.split()],
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertIn(why, done.stderr)

    def test_a_limit_below_which_the_run_fails(self):
        for limit, code in (('10', 0), ('99', 1)):
            done = perf('ib_write_bw', '-n', '1000', '-w', limit, '--report_gbits')
            self.assertEqual(done.returncode, code, done.stderr)

    def test_it_runs_until_a_signal(self):
        run = subprocess.Popen([GEN, 'perf', '--sim', '--delay', '10us', '--json', '--run_infinitely',
                                '-D', '1'], stdout=subprocess.PIPE, text=True)
        rows = [json.loads(run.stdout.readline()) for _ in range(3)]
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=TIMEOUT)
        self.assertEqual(run.returncode, 0)
        self.assertEqual([row['seed'] for row in rows], [1, 2, 3])

    def test_the_published_lines_have_the_parameters_of_the_experiments(self):
        """perf takes them as they are; only their length is another here."""
        lines = 0
        for file in sorted((longwire_test.SOURCE / 'profiles' / 'experiments').glob('*.toml')):
            experiment = tomllib.loads(file.read_text(encoding='utf-8'))
            for premise in experiment.get('premise', ()):
                if not premise['parameter'].startswith('command'):
                    continue
                lines += 1
                line = re.sub(r' -n \d+', '', premise['value']).replace(' -a', ' -s 64k') + ' -n 100'
                done = perf(*line.split(), '--out_json', before=('--sim', '--path', 'apn-380km'))
                self.assertEqual(done.returncode, 0, done.stderr)
                ran, operation = json.loads(done.stdout), line.split('_')[1]
                scenario = next(each['set'] for each in experiment['scenario']
                                if operation in each['set']['op'])
                self.assertEqual(ran['qps'], scenario.get('qps', 1))
                depths = scenario['tx_depth']
                self.assertIn(ran['tx_depth'], depths if isinstance(depths, list) else [depths])
                length = re.search(r'-n (\d+)', premise['value'])
                if length:
                    full = next(each['full'] for each in experiment['scenario']
                                if operation in each['set']['op'])
                    self.assertEqual(int(length[1]), full['iterations'])
        self.assertEqual(lines, 3)

    def test_what_is_not_there_is_refused(self):
        for line, why in (('ib_write_bw --reversed', 'from the client to the server'),
                          ('ib_write_lat --run_infinitely', 'goes with a _bw'),
                          ('ib_foo', 'expected ib_write_bw'), ('', 'expected a line of perftest'),
                          ('ib_write_bw -q', 'expected a value')):
            done = perf(*line.split())
            self.assertEqual(done.returncode, 2, line)
            self.assertIn(why, done.stderr)


if __name__ == '__main__':
    longwire_test.main()
