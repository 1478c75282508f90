# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen sim NETWORK: what a network file may say, and what its reports are worth."""

import collections
import csv
import json
import pathlib
import subprocess
import tempfile
import unittest

import longwire_test
import output_schemas
import verdict_outputs

GEN = longwire_test.program('roce-gen')
DISSECT = longwire_test.program('roce-dissect')
NETWORKS = longwire_test.SOURCE / 'profiles' / 'networks'
TIMEOUT = 120
# Duration of networks whose jobs last longer than the other ones.
LONGER = {'two-sites-job': '40ms', 'two-sites-training': '40ms'}

STAR = """[[host]]
name = "h"
count = 4
[[host]]
name = "r"
[[switch]]
name = "s"
{switch}
[[link]]
name = "all"
between = ["*", "s"]
delay = "1us"
{link}
[workload]
pattern = "incast"
to = "r"
{workload}
"""
# A change of that file, and the position and text of the error.
WRONG = [
    (('to = "r"', 'to = "x"'), ':16:', 'expected the name of a host or switch, found "x"'),
    (('to = "r"', 'to = "s"'), ':16:', 'expected a host, found the switch "s"'),
    (('to = "r"', ''), ':14:', 'expected the host that an incast goes to'),
    (('between = ["*", "s"]', 'between = ["h*", "s"]'), ':4:1:', 'one [[link]] of the host "r", found 0'),
    (('between = ["*", "s"]', 'between = ["r", "s"]'), ':1:1:',
     'one [[link]] of the host "h1", found 0; so of 3 others'),
    (('between = ["*", "s"]', 'between = ["*"]'), ':11:', 'expected two names, found 1'),
    (('delay = "1us"', ''), ':9:', 'expected a delay, "1us", or a distance'),
    (('delay = "1us"', 'delay = "11s"'), ':12:', 'a time up to 10s'),
    (('count = 4', 'count = 5000'), ':3:', '1 to 2048'),
    (('name = "r"', 'name = "h1"'), ':5:', 'expected each name once, found "h1" again'),
    (('pattern = "incast"', 'pattern = "incest"'), ':15:', '"incast"'),
    (('{switch}', 'mark = { kmin = "2kB", kmax = "1kB" }'), ':8:', 'expected at most kmax'),
    (('{switch}', 'bufer = "1MB"'), ':8:', '"buffer"'),
    (('{workload}', 'load = 0.5'), ':17:', 'expected a [[workload.size]] beside it'),
    (('{workload}', 'qps = 0'), ':17:', '1 to 4096'),
    (('{workload}', '[[flow]]\nfrom = "h1"'), ':17:', 'to: expected a host or a pattern of hosts'),
    (('{workload}', '[[flow]]\nfrom = "h1"\nto = "h1"'), ':1:', 'hosts that send to others, found none'),
    (('{switch}', 'alpha = "all"'), ':8:', 'expected a number from 0.001 to 1024, "none" or "auto", found "all"'),
    (('{switch}', 'headroom = "1MB"'), ':8:', 'expected pfc = true beside it'),
    (('[[switch]]', '[fabric]\nkind = "clos"\nhosts = 2\ndistance = "1km"\n[[switch]]'), ':9:',
     'expected kind = "two-sites" beside it'),
    (('[[switch]]', '[fabric]\nkind = "rail"\nhosts = 300\n[[switch]]'), ':8:',
     'at most 2048 hosts in all, found 2400'),
    (('{workload}', 'load = 0.5\n[[workload.size]]\nbytes = 0'), ':19:', 'a size from 1B to 2GiB'),
    (('{workload}', '[[flow]]\nfrom = "h1"\nto = "h2"\nsize = "3GiB"'), ':20:', 'a size from 1B to 2GiB'),
    (('{switch}', 'classes = [{ weight = 2000 }]'), ':8:', '1 to 1000'),
    (('count = 4', 'count = 4\nclass = 2\n[[switch]]\nname = "t"\nclasses = [{}, {}]'), ':7:',
     'one for each class of hosts, 0 to 2, found 2'),
    # 100 Gb/s over 1861 us twice, two packets and the response, for each of five links.
    (('delay = "1us"', 'distance = "380km"'), ':6:', '46.57 MB for the link to'),
]


class Network(unittest.TestCase):

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def write(self, *changes, name='net.toml'):
        text = STAR
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        for place in ('{switch}', '{link}', '{workload}'):
            text = text.replace(place, '')
        (self.folder / name).write_text(text, encoding='utf-8')
        return self.folder / name

    def run_gen(self, *words, code=0):
        done = subprocess.run([GEN, *map(str, words)], capture_output=True, text=True, timeout=TIMEOUT,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def network(self, file, *words, **options):
        return self.run_gen('sim', file, *words, **options)

    def test_mistakes_have_their_places(self):
        for change, place, text in WRONG:
            changes = [change]
            if '380km' in change[1]:
                changes.append(('{switch}', 'pfc = true'))
            with self.subTest(change=change):
                file = self.write(*changes)
                said = self.network(file, '--duration', '1ms', code=2).stderr
                self.assertIn(f'{file}{place}', said)
                self.assertIn(text, said)

    def test_options_that_a_network_replaces_are_refused(self):
        file = self.write()
        for words, text in ((('--delay', '1ms'), '--delay does not go with --network'),
                            (('--loss', '10%'), '--loss does not go with --network'),
                            (('-q', '4'), '[workload] has `qps`'),
                            (('-n', '10'), '[workload] has `messages`'),
                            (('--op', 'read'), 'goes with --op write and send'),
                            (('--sample', '1ns'), '2 million samples'),
                            (('--warm-up', '2ms'), 'less than the --duration')):
            said = self.network(file, '--duration', '1ms', *words, code=2).stderr
            self.assertIn(text, said)
        self.assertIn('expected a --duration', self.network(file, code=2).stderr)
        self.assertIn('goes with --network', self.run_gen('sim', '--delay', '1us', '--sample', '1ms',
                                                          code=2).stderr)

    def test_a_permutation_reaches_every_host_whatever_the_seed(self):
        """Two networks that no link joins: with some seeds, a sender's receiver is in its own."""
        text = ''.join(f'[[host]]\nname = "{side}"\ncount = 2\n[[switch]]\nname = "s-{side}"\n'
                       f'[[link]]\nbetween = ["{side}?", "s-{side}"]\ndelay = "1us"\n' for side in 'ab')
        file = self.folder / 'islands.toml'
        file.write_text(text + '[workload]\npattern = "permutation"\nfrom = "a1"\n', encoding='utf-8')
        for seed in range(1, 9):
            said = self.network(file, '--duration', '1ms', '--seed', seed, code=2).stderr
            self.assertIn('found no way', said)

    def test_what_would_not_fit_into_memory_is_refused(self):
        file = self.write(('{workload}', 'load = 0.9\n[[workload.size]]\nbytes = 1'))
        self.assertIn('20 million flows', self.network(file, '--duration', '10s', '--sample', '1ms', code=2).stderr)
        file = self.write(('count = 4', 'count = 2000'), ('{workload}', 'qps = 4096'))
        self.assertIn('at most 1048576 QPs', self.network(file, '--duration', '1ms', code=2).stderr)

    def ring(self):
        """Five switches with PFC, each with a host that sends two switches further on."""
        text = ''.join(f"""[[host]]
name = "h{i}"
[[switch]]
name = "s{i}"
pfc = true
buffer = "2MB"
[[link]]
between = ["h{i}", "s{i}"]
delay = "100ns"
[[link]]
between = ["s{i}", "s{(i + 1) % 5}"]
delay = "500ns"
[[flow]]
from = "h{i}"
to = "h{(i + 2) % 5}"
""" for i in range(5))
        (self.folder / 'ring.toml').write_text(text, encoding='utf-8')
        return self.folder / 'ring.toml'

    def test_a_pfc_deadlock_is_named_and_the_run_fails(self):
        file = self.ring()
        done = self.network(file, '--duration', '20ms', '--json', code=1)
        got = json.loads(done.stdout)
        output_schemas.validate(done.stdout)
        self.assertIn('PFC deadlock since', done.stderr)
        [deadlock] = got['deadlocks']
        ports = deadlock['ports']
        self.assertEqual(set(ports), {f's{i}->s{(i + 1) % 5}' for i in range(5)})
        # Each waits for the next one.
        for port, following in zip(ports, ports[1:] + ports[:1]):
            self.assertEqual(port.split('->')[1], following.split('->')[0])
        self.assertEqual((got['pattern'], got['total_gbps']), ('flows', 0))

    def test_an_incast_with_pfc_is_fair_unless_its_buffer_has_no_threshold(self):
        shares = {}
        for threshold in ('', 'alpha = "none"'):
            file = self.write(('{switch}', f'pfc = true\nbuffer = "4MB"\n{threshold}'),
                              ('delay = "1us"', 'delay = "100ns"'))
            done = self.network(file, '--duration', '20ms', '-t', '64', '--json')
            rates = [flow['goodput_gbps'] for flow in json.loads(done.stdout)['flows']]
            shares[threshold] = max(abs(rate * len(rates) / sum(rates) - 1) for rate in rates)
            self.assertEqual('no threshold' in done.stderr, bool(threshold), done.stderr)
        self.assertLess(shares[''], 0.02)
        self.assertGreater(shares['alpha = "none"'], 0.5)

    def test_flows_are_described_one_by_one(self):
        file = self.write(('{workload}', """[[flow]]
from = "h1"
to = "h2"
qps = 2
size = "4KiB"
start = "2ms"
messages = 10
[[flow]]
from = "h[34]"
to = "h1"
load = 0.2
size = "64KiB"
"""), ('pattern = "incast"\nto = "r"', 'pattern = "incast"\nfrom = "h2"\nto = "r"'))
        got = json.loads(self.network(file, '--duration', '10ms', '--warm-up', '5ms', '--json').stdout)
        first = [flow for flow in got['flows'] if flow['from'] == 'h1']
        self.assertEqual([(flow['to'], flow['bytes'], flow['finished']) for flow in first],
                         2 * [('h2', 40960, True)])
        self.assertEqual({flow['to'] for flow in got['flows'] if flow['from'] in ('h3', 'h4')}, {'h1'})
        self.assertIsNone(got['fairness'])
        # Line rate of one flow, and 0.2 of two links.
        self.assertAlmostEqual(got['total_gbps'], 98 + 40, delta=15)

    def test_templates_have_the_hosts_and_links_that_they_say(self):
        for keys, hosts, switches, links in (
                ('kind = "clos"\nhosts = 32\nleaves = 4\nspines = 2', 32, 6, 32 + 8),
                ('kind = "rail"\nhosts = 4\nrails = 2\nspines = 2', 8, 4, 8 + 4),
                ('kind = "two-sites"\nhosts = 16\nleaves = 2\nspines = 2\ndistance = "300km"\n'
                 'long_links = 3', 32, 10, 2 * (16 + 4 + 2) + 3)):
            file = self.folder / 'fabric.toml'
            file.write_text(f'[fabric]\n{keys}\noversubscription = 2\n[workload]\n'
                            'pattern = "permutation"\n', encoding='utf-8')
            said = self.run_gen('sim', file, '--draw', self.folder / 'f.svg').stdout
            self.assertIn(f'{hosts} hosts, {switches} switches, {links} links', said)
            svg = (self.folder / 'f.svg').read_text(encoding='utf-8')
            self.assertEqual((svg.count('<circle'), svg.count('<rect'), svg.count('<line')),
                             (hosts, switches, links))
            got = json.loads(self.run_gen('sim', file, '--duration', '2ms', '--json').stdout)
            self.assertGreater(got['total_gbps'], 0)

    def test_equal_ways_are_used_unless_a_template_says_first(self):
        for ecmp, used in (('true', {'spine1', 'spine2'}), ('false', {'spine1'})):
            file = self.folder / 'ways.toml'
            file.write_text(f'[fabric]\nkind = "clos"\nhosts = 8\nleaves = 2\nspines = 2\necmp = {ecmp}\n'
                            '[workload]\npattern = "all-to-all"\n', encoding='utf-8')
            got = json.loads(self.run_gen('sim', file, '--duration', '1ms', '--json').stdout)
            self.assertEqual({port['port'].split('->')[1] for port in got['ports']
                              if '->spine' in port['port'] and port['sent'] > 0}, used)

    def test_two_sites_take_twelve_lines(self):
        file = NETWORKS / 'two-sites-300km.toml'
        self.assertLessEqual(len(file.read_text(encoding='utf-8').splitlines()), 12)
        got = json.loads(self.run_gen('sim', file, '--duration', '5ms', '--json').stdout)
        self.assertEqual((got['hosts'], len(got['flows'])), (128, 64))
        self.assertTrue(all(flow['from'].startswith('a-h') and flow['to'].startswith('b-h')
                            for flow in got['flows']))
        self.assertEqual(len({flow['to'] for flow in got['flows']}), 64)
        names = [port['port'] for port in got['ports']]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn('a-border->b-border#4', names)

    def job(self, *keys, options=(), duration='10s', code=0):
        file = self.folder / 'job.toml'
        file.write_text('[fabric]\nkind = "two-sites"\nhosts = 4\ndistance = "300km"\n[[job]]\n' +
                        ''.join(key + '\n' for key in keys), encoding='utf-8')
        return self.run_gen('sim', file, '--duration', duration, '--json', *options, code=code)

    def test_a_job_is_compared_with_one_site_and_an_ideal_network(self):
        """Two of the eight hops of a ring are 300 km long, and 14 messages in a row pass four of them."""
        done = self.job('ranks = "*-h*"', 'collective = "all-reduce"', 'size = "64kB"')
        [job] = json.loads(done.stdout)['jobs']
        self.assertTrue(job['ended'])
        self.assertEqual((job['ranks'], job['iterations'], job['algorithm']), (8, 1, 'ring'))
        self.assertAlmostEqual(job['bus_gbps'], job['algorithm_gbps'] * 2 * 7 / 8)
        self.assertAlmostEqual(job['elapsed_us'] - job['one_site_us'], 4 * 1469.2, delta=1)
        self.assertLess(job['ideal_us'], job['one_site_us'])

    def test_the_time_of_a_job_is_divided_by_cause(self):
        [job] = json.loads(self.job('ranks = "*-h*"', 'collective = "all-reduce"', 'size = "8MiB"',
                                    'compute = "2ms"', 'repeat = 2').stdout)['jobs']
        spent = job['spent']
        self.assertAlmostEqual(sum(spent.values()), job['elapsed_us'], places=3)
        self.assertAlmostEqual(spent['computing_us'], 2 * 2000, places=3)
        self.assertGreater(spent['path_us'], 6 * 1469)  # a rank may be ahead in its second iteration
        self.assertEqual([step['step'] for step in job['steps']], list(range(1, 15)))
        for step in job['steps']:
            self.assertEqual(step['messages'], 2 * 8)
            self.assertAlmostEqual(sum(step['spent'].values()) / 16, step['mean_us'], places=3)
            self.assertGreaterEqual(step['longest_us'], step['mean_us'])

    def trace(self, *rows, code=0):
        (self.folder / 't.csv').write_text('rank,start,peer,bytes,depends_on\n' + '\n'.join(rows), encoding='utf-8')
        return self.job('ranks = "*-h*"', 'trace = "t.csv"', code=code)

    def test_a_trace_says_who_sends_what_after_what(self):
        """Ranks 0 to 3 are in one site. The third row waits for both others, the second one for its start."""
        done = self.trace('0, 0us, 1, 1MiB,', '2, 1ms, 1, 64KiB,', '1, 0us, 3, 4KiB, 1 2')
        [job] = json.loads(done.stdout)['jobs']
        self.assertEqual((job['collective'], job['size']), ('trace', (1 << 20) + (1 << 16) + 4096))
        self.assertEqual([(step['step'], step['messages']) for step in job['steps']], [(1, 2), (2, 1)])
        self.assertAlmostEqual(job['spent']['computing_us'], 1000, places=3)
        wire_us = (16 + 1) * 4178 * 8 / 100e3
        self.assertAlmostEqual(job['elapsed_us'], 1000 + wire_us + 2 * 1.2 + 2 * 4178 * 8 / 100e3, delta=0.5)

    def test_a_wrong_trace_is_refused_by_its_line(self):
        for row, said in (('0, 0us, 8, 1MiB,', 't.csv: line 3: peer: expected 0 to 7, found "8"'),
                          ('0, 0us, 0, 1MiB,', 'line 3: peer: expected another rank than 0'),
                          ('0, 0us, 1, 3GiB,', 'line 3: bytes: expected 1 B to 2 GiB'),
                          ('0, 61min, 1, 1MiB,', 'line 3: start: expected at most 1h'),
                          ('0, 0us, 1, 1MiB, 2', 'line 3: depends_on: expected 1 to 1, found "2", the number of an '),
                          ('2, 0us, 1, 1MiB, 1', 'line 3: depends_on: expected rows that go to rank 2, found row 1'),
                          ('1, 0us, 2, 1MiB,' + ' 1' * 4097, 'line 3: depends_on: expected at most 4096 rows'),
                          ('2, 0us, 1', 'line 3: expected 5 fields, rank,start,peer,bytes,depends_on, found 3')):
            with self.subTest(row=row):
                self.assertIn(said, self.trace('0, 0us, 1, 1MiB,', row, code=2).stderr)
        self.assertIn('size: expected it or a trace, found both',
                      self.job('ranks = "*-h*"', 'trace = "t.csv"', 'size = "1MiB"', code=2).stderr)
        (self.folder / 't.csv').write_text('0,0us,1,1MiB,\n', encoding='utf-8')
        self.assertIn('line 1: expected the heading rank,start,peer,bytes,depends_on',
                      self.job('ranks = "*-h*"', 'trace = "t.csv"', code=2).stderr)

    def test_a_job_that_does_not_end_fails(self):
        done = self.job('ranks = "*-h*"', 'name = "training"', 'collective = "all-to-all"', 'size = "8MiB"',
                        'repeat = 30', duration='5ms', code=1)
        report = json.loads(done.stdout)
        self.assertFalse(report['jobs'][0]['ended'])
        self.assertIn('of 30 iterations have not ended', report['verdict']['headline'])

    def job_with_losses(self, *options, code):
        """A hierarchical all-reduce whose bursts overflow a switch's buffer at the ends of messages."""
        return self.job('ranks = "*-h*"', 'collective = "all-reduce"', 'algorithm = "hierarchical"',
                        'size = "16MiB"', '[switches]', 'buffer = "1MB"', options=options, duration='20s', code=code)

    def test_lost_ends_of_messages_cost_one_timeout_each(self):
        done = self.job_with_losses('--selective-repeat', '--timeout', '14', code=0)
        report = json.loads(done.stdout)
        self.assertTrue(report['jobs'][0]['ended'], done.stdout)
        self.assertGreater(report['dropped'], 100)
        self.assertLess(report['timeouts'], report['dropped'] / 20)

    def test_a_job_that_waits_for_ever_says_so(self):
        done = self.job_with_losses('--selective-repeat', '--timeout', '0', code=1)
        statement = json.loads(done.stdout)['verdict']['headline']
        self.assertRegex(statement, r'1 of 1 iteration has not ended: \d+ messages? waits? for ever, the first from '
                         r'[ab]-h\d to [ab]-h\d \(step \d+\): a packet was lost, no later one shows it, and '
                         r'--timeout 0 sets no timer')

    def test_a_request_that_fails_is_named_by_its_host(self):
        done = self.job_with_losses('--timeout', '8', '--retries', '0', code=1)
        self.assertRegex(json.loads(done.stdout)['verdict']['headline'],
                         r'the first at .* on QP \d+ of [ab]-h\d: retry exceeded')

    def test_a_job_that_cannot_be_is_refused_by_its_key(self):
        for keys, said in ((('ranks = "a-h1"', 'collective = "broadcast"', 'size = "1MiB"'),
                            'ranks: expected two hosts or more, found 1'),
                           (('ranks = "*-h*"', 'collective = "all-reduse"', 'size = "1MiB"'),
                            'did you mean "all-reduce"?'),
                           (('ranks = "*-h*"', 'collective = "all-gather"', 'algorithm = "tree"', 'size = "1MiB"'),
                            'expected an algorithm of all-gather, found tree'),
                           (('ranks = "*-h*"', 'collective = "broadcast"', 'size = "8GiB"'),
                            "expected messages of at most 2 GiB, RDMA's longest")):
            with self.subTest(said=said):
                self.assertIn(said, self.job(*keys, code=2).stderr)

    def test_headroom_has_a_row_for_each_term(self):
        file = self.write(('{switch}', 'pfc = true\nresponse = "1us"'), ('delay = "1us"', 'delay = "20us"'))
        said = self.run_gen('sim', file, '--draw', self.folder / 'f.svg').stdout
        rows = {name.strip(): int(value) for name, value in
                (line.rsplit(None, 1) for line in said.split('headroom, in bytes')[1].splitlines()[1:])}
        self.assertEqual(rows['cable, both ways'], 500_000)
        self.assertEqual(rows['response of the neighbour'], 12_500)
        self.assertEqual(rows.pop('needed'), sum(rows.values()))

    def test_a_run_lasts_as_long_as_it_was_asked_to(self):
        got = json.loads(self.network(self.write(), '--duration', '2500us', '--sample', '1ms', '--json').stdout)
        self.assertEqual(got['elapsed_us'], 2500)

    def test_report_series_and_page_have_the_same_figures(self):
        file, series, page = self.write(('{workload}', 'qps = 2')), self.folder / 's.csv', self.folder / 'p.html'
        words = (file, '--duration', '4ms', '--sample', '500us', '--size', '16KiB')
        got = json.loads(self.network(*words, '--json', '--series', series, '--html', page).stdout)
        output_schemas.validate(json.dumps(got))
        self.assertEqual(len(got['flows']), 8)
        self.assertAlmostEqual(sum(flow['goodput_gbps'] for flow in got['flows']), got['total_gbps'], 6)
        with open(series, encoding='utf-8') as lines:
            rows = list(csv.DictReader(lines))
        ports = {port['port']: port for port in got['ports']}
        self.assertEqual(len(rows), 8 * len(ports))
        late = [row for row in rows if row['port'] == 's->r' and float(row['time_ms']) > 2]
        mean = sum(float(row['utilization']) for row in late) / len(late)
        self.assertAlmostEqual(mean, ports['s->r']['utilization'], 3)
        self.assertEqual(max(int(row['queue_bytes']) for row in late), ports['s->r']['most_queued_bytes'])
        self.assertEqual(sum(int(row['dropped']) for row in rows), got['dropped'])
        text = self.network(*words).stdout
        self.assertIn(f"{got['total_gbps']:.2f} Gb/s", text)
        html = page.read_text(encoding='utf-8')
        for text in ('links coloured by use', 'Queues of the fullest ports', '100.0 Gb/s, '):
            self.assertTrue(text in html, text)  # the page is too long for a message

    def test_captures_have_what_the_ports_sent(self):
        """By tshark: the frames of each port, in the order of time; what came in and did not leave was
        dropped. By roce-dissect: their ICRCs."""
        file = self.write(('{switch}', 'buffer = "100kB"'), ('{workload}', 'messages = 20'))
        path = self.folder / 'n.pcapng'
        points = [word for point in ('h1:s', 'h2:s', 'h3:s', 'h4:s', 's:r', 'r:s') for word in ('--pcap-at', point)]
        got = json.loads(self.network(file, '--duration', '100ms', '--size', '64KiB', '--pcap', path, *points,
                                      '--json').stdout)
        rows = subprocess.run(['tshark', '-r', path, '-T', 'fields', '-e', 'frame.interface_name',
                               '-e', 'frame.time_epoch', '-e', 'infiniband.bth.opcode'],
                              capture_output=True, text=True, check=True).stdout.splitlines()
        frames = [row.split('\t') for row in rows]
        self.assertEqual([float(at) for _, at, _ in frames], sorted(float(at) for _, at, _ in frames))
        at = collections.Counter(name for name, _, _ in frames)
        port = next(port for port in got['ports'] if port['port'] == 's->r')
        self.assertGreater(port['dropped'], 0)
        self.assertEqual(at['s:r'], port['sent'])
        self.assertEqual(sum(at[f'h{i}:s'] for i in range(1, 5)), port['sent'] + port['dropped'])
        self.assertEqual({opcode for name, _, opcode in frames if name == 'r:s'}, {'17'})
        subprocess.run([DISSECT, 'verify', path], capture_output=True, check=True)
        for point, text in (('h1:h2', 'expected a neighbour of h1 (s)'), ('h1:x', 'a host or switch, found "x"'),
                            ('h1', 'expected FROM:TO')):
            said = self.network(file, '--duration', '1ms', '--pcap', path, '--pcap-at', point, code=2).stderr
            self.assertIn(text, said)
        self.assertIn('--pcap-at FROM:TO', self.network(file, '--duration', '1ms', '--pcap', path, code=2).stderr)

    def test_classes_share_a_port_as_weights_and_priorities_say(self):
        """Two hosts whose queues at the port never run empty: by weight, or all for the higher priority."""
        for classes, shares in (('{ weight = 3 }, { weight = 1 }', (0.75, 0.25)),
                                ('{ priority = 1 }, { priority = 2 }', (0, 1)),
                                ('{ priority = 1, weight = 9 }, { priority = 1, weight = 1 }', (0.9, 0.1))):
            for queues in ('per-output', 'per-input'):
                file = self.write(('count = 4', 'class = 0\n[[host]]\nname = "g"\nclass = 1'),
                                  ('{switch}', f'classes = [{classes}]\nqueues = "{queues}"'))
                got = json.loads(self.network(file, '--duration', '20ms', '--size', '64KiB', '--tx-depth', '32',
                                              '--outstanding', '32', '--json').stdout)
                self.assertEqual(got['dropped'], 0)
                for flow in got['flows']:
                    share = flow['goodput_gbps'] / got['total_gbps']
                    self.assertAlmostEqual(share, shares['hg'.index(flow['from'])], delta=0.01)

    def test_a_message_takes_as_long_as_queue_and_rate_say(self):
        """By Little: 32 messages of 64 KiB in flight at the rate of the QP, without loss."""
        file = self.write(('count = 4', 'count = 1'))
        got = json.loads(self.network(file, '--duration', '20ms', '--size', '64KiB', '--tx-depth', '32', '--outstanding',
                                      '32', '--json').stdout)
        flow = got['flows'][0]
        expected = 32 * 65536 * 8 / flow['goodput_gbps'] / 1000
        for key in ('latency_p50_us', 'latency_p99_us', 'latency_most_us'):
            self.assertAlmostEqual(flow[key] / expected, 1, delta=0.04, msg=key)

    def test_messages_end_a_run_and_sizes_have_their_times(self):
        file = self.write(('{workload}', 'messages = 3\nstart_within = "0s"'))
        got = json.loads(self.network(file, '--duration', '1s', '--size', '64KiB', '-t', '1', '--json').stdout)
        [size] = got['sizes']
        self.assertEqual((size['bytes'], size['flows']), (3 * 65536, 4))
        self.assertTrue(all(flow['finished'] for flow in got['flows']))
        self.assertLess(got['elapsed_us'], 10_000)
        # Twelve messages share one link: none is faster, the last not much slower.
        wire = 12 * 16 * 4178 * 8 / 100e3
        self.assertGreater(got['longest_flow_us'], wire)
        self.assertLess(got['longest_flow_us'], wire + 40)

    def test_shipped_networks_run(self):
        for file in sorted(NETWORKS.glob('*.toml')):
            with self.subTest(file=file.name):
                got = json.loads(self.network(file.stem, '--duration', LONGER.get(file.stem, '12ms'),
                                              '--sample', '1ms', '--json').stdout)
                self.assertGreater(got['packets'], 0)
                self.assertEqual(got['failed'], 0)

    def check_no_payload(self, why, *changes):
        """Text, --json, page, JUnit and exit code of a network in which nothing is completed."""
        file, page, junit = self.write(*changes), self.folder / 'p.html', self.folder / 'j.xml'
        words = (file, '--duration', '1ms', '--size', '64KiB')
        text = self.network(*words, code=1).stdout
        said = f'does not hold: no payload was completed after 500 us: {why}'
        self.assertRegex(text.splitlines()[0], said)
        got = json.loads(self.network(*words, '--json', '--html', page, '--junit', junit, code=1).stdout)
        output_schemas.validate(json.dumps(got))
        verdict_outputs.check_itself(self, got['verdict'])
        self.assertEqual(verdict_outputs.broken(got['verdict']), [(None, 'goodput')])
        self.assertRegex(got['verdict']['headline'], said)
        self.assertEqual((got['total_gbps'], got['flows'][0]['bytes']), (0, 0))
        self.assertNotIn('elapsed_us', got['flows'][0])
        self.assertRegex(page.read_text(encoding='utf-8'), said)
        self.assertEqual(junit.read_text(encoding='utf-8').count('<failure'), 1)

    def test_a_network_that_drops_all_fails(self):
        self.check_no_payload(r'[\d,]+ packets dropped, 0 timeouts', ('{switch}', 'buffer = "1kB"'))

    def test_a_run_that_ends_before_the_first_completion_fails(self):
        self.check_no_payload('0 packets dropped, 0 timeouts', ('delay = "1us"', 'delay = "10ms"'))

    def test_a_flow_without_payload_is_judged_if_it_is_asked_for(self):
        """One whose first message is not completed yet, beside others: the whole has goodput."""
        file = self.write()
        words = (file, '--duration', '1ms', '--size', '1MB', '-t', '1')
        flows = json.loads(self.network(*words, '--json').stdout)['flows']
        self.assertEqual({flow['goodput_gbps'] > 0 for flow in flows}, {True, False})
        got = json.loads(self.network(*words, '--json', '--expect', 'flows.*.goodput_gbps > 0', code=1).stdout)
        self.assertEqual(len(verdict_outputs.red(got['verdict'])),
                         sum(flow['goodput_gbps'] == 0 for flow in flows))

    def test_expectations_are_judged(self):
        file = self.write()
        self.network(file, '--duration', '2ms', '--expect', 'failed == 0')
        self.network(file, '--duration', '2ms', '--expect', 'fairness > 2', code=1)


if __name__ == '__main__':
    longwire_test.main()
