# SPDX-License-Identifier: BSD-3-Clause
"""roce-endpoint between two soft-RoCE guests: every operation and pattern with its data checked,
refused clients, floods, and what is left when either side is killed."""

import contextlib
import csv
import json
import pathlib
import random
import re
import subprocess
import tempfile
import time
import unittest

import guests
import hostile_clients
import longwire_test
import output_schemas
from html_pages import page_data

TOKEN = 'a-token-of-the-tests'
SERVER = guests.ADDRESSES['a'][0]
SILENT = 120  # connections
# One payload in five with eight bits flipped, and an ICRC that hides it; ACKs are too short for it.
CORRUPT = '''[[rule]]
name = "silent"
match = "rocev2"
corrupt = { probability = "20%", bits = 8, offset = 100, icrc = "recomputed" }
'''
# A message of 48 bytes: its number, and the rest in hexadecimal.
RECORD = '''[[field]]
name = "number"
header = "counter"
bytes = 8
[[field]]
name = "rest"
header = "transport"
offset = 0
bytes = 40
'''

HELLO = {'schema': 'longwire-handover', 'version': 2, 'kind': 'hello', 'token': TOKEN,
         'transport': 'rc', 'operation': 'write', 'immediate': False, 'echo': False,
         'read_back': False, 'bytes': 4096, 'slots': 4, 'depth': 4, 'count': 0, 'checked': True,
         'signatures': False, 'payload_crcs': [], 'mtu': 1024, 'timeout': 18, 'retries': 6,
         'rnr_retries': 7, 'hop_limit': 64, 'p_key': 0xffff, 'gid': '::ffff:192.168.77.2',
         'qps': [{'qpn': 0x77, 'psn': 1, 'va': 0, 'r_key': 0}]}
EXTREMES = (0, -1, 1 << 31, 1 << 32, 1 << 63, 1 << 64, 1e308, '', 'x' * 1000, [], {}, None,
            HELLO['qps'] * 600)


def mutated_hello(chance):
    """A line of a client without the token, with some fields that are extreme or gone."""
    hello = {**HELLO, 'token': 'a-token-of-a-stranger'}
    for field in chance.sample(sorted(hello), chance.randrange(4)):
        hello[field] = chance.choice(EXTREMES)
    for field in chance.sample(sorted(hello), chance.randrange(2)):
        del hello[field]
    return json.dumps(hello).encode() + b'\n'


def words_of(output):
    """The lines of JSON among what a program said."""
    rows = [json.loads(line) for line in output.splitlines() if line.startswith('{')]
    for row in rows:
        # Not of records, which have the keys of their layout, and not of the hand-over.
        if row.get('schema', '').startswith('longwire.'):
            output_schemas.validate(row)
    return rows


@guests.needed
class Endpoint(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = guests.Guests(programs=[longwire_test.program('roce-endpoint')])
        cls.addClassCleanup(cls.lab.__exit__)
        cls.lab.__enter__()
        with cls.lab.bridge():
            cls.lab.ping()
        cls.lab.a.check(f'echo {TOKEN} > /tmp/token')
        cls.lab.a.check(f"cat > /tmp/record.toml << 'END'\n{RECORD}END")

    def setUp(self):
        self.between = contextlib.ExitStack()
        self.addCleanup(self.between.close)
        self.between.enter_context(self.lab.bridge())

    def what_the_server_said(self, output):
        return f'{output}\nserver: {self.server.output()}\n' + self.lab.a.run('dmesg | tail')[1]

    def tearDown(self):
        self.lab.a.run('killall -KILL roce-endpoint')
        self.lab.b.run('killall -KILL roce-endpoint')

    def serve(self, options='', region='64MiB'):
        job = self.lab.a.begin(f'exec roce-endpoint serve --device rxe0 --region {region} '
                               f'--token-file /tmp/token --json {options}')
        self.server = job
        said = job.wait_for('--token')
        self.assertIn(f'ready\nroce-endpoint bw --peer {SERVER}:18515 --token {TOKEN}', said)
        return job

    def client(self, command, host=SERVER, token=TOKEN, timeout=90):
        pattern, _, rest = command.partition(' ')
        return self.lab.b.run(f'roce-endpoint {pattern} --peer {host} --token {token} --json '
                              f'{rest}', timeout)

    def measure(self, command, host=SERVER):
        code, output = self.client(command, host)
        self.assertEqual(code, 0, self.what_the_server_said(output))
        return words_of(output)[-1]

    def sessions(self, server):
        code, output = server.stop()
        self.assertEqual(code, 0, output)
        return words_of(output)

    def registered(self):
        """Memory regions of roce-endpoint that the server's kernel knows."""
        return self.lab.a.check('rdma res show mr').count('roce-endpoint')

    def test_bandwidth_of_every_operation(self):
        cases = {  # messages, of them checked by the server, and the client's words
            'WRITE': (100, 16, '--op write -s 32KiB -n 100 -t 16'),
            'SEND': (200, 200, '--op send -s 4KiB -n 200'),
            'SEND imm': (100, 100, '--op send --imm -s 1 -n 100'),
            'WRITE imm': (150, 150, '--op write --imm -s 9000 -n 50 -q 3 --post-list 8 '
                                    '--signal periodic'),
            'READ REQUEST': (100, 0, '--op read -s 16KiB -n 100 --poll event'),
            'FETCH ADD': (200, 0, '--op atomic -n 200'),
            'CMP SWAP': (200, 0, '--op compare-swap -n 100 -q 2'),
            'WRITE uc': (200, 16, '--op write --transport uc -s 8KiB -n 200 -t 16'),
            'SEND ud': (200, 200, '--op send --transport ud -s 1KiB -n 200'),
        }
        server = self.serve('--qps 4')
        for messages, _, words in cases.values():
            found = self.measure('bw ' + words)
            self.assertEqual(found['iterations'], messages, words)
            self.assertEqual(found.get('lost_messages', 0), 0, words)
            self.assertGreater(found['bw_average_gbps'], 0, words)
        for (name, (messages, checked, _)), found in zip(cases.items(), self.sessions(server)):
            self.assertTrue(name.startswith(found['operation']), found)
            self.assertEqual((found['messages'], found['checked'], found['wrong'],
                              found['failure'], found['errors']), (messages, checked, 0, '', 0),
                             name)
            self.assertGreaterEqual(found['counters']['rcvd_pkts'], messages, name)

    def test_both_ways_each_side_sends_and_checks(self):
        """As many messages of each side, on QPs of its own."""
        cases = {  # messages of each side; of them checked at the side that gets them
            'WRITE': (300, 48, '--op write -s 32KiB -n 100 -q 3 -t 16'),
            'WRITE imm': (200, 200, '--op write --imm -s 9000 -n 200'),
            'SEND': (400, 400, '--op send -s 4KiB -n 200 -q 2'),
            'READ REQUEST': (100, 0, '--op read -s 16KiB -n 100 --reads 4'),
            'FETCH ADD': (200, 0, '--op atomic -n 200'),
            'CMP SWAP': (200, 0, '--op compare-swap -n 100 -q 2'),
        }
        server = self.serve('--qps 4')
        for messages, _, words in cases.values():
            found = self.measure('bw -b ' + words)
            self.assertEqual(found['iterations'], 2 * messages, words)
            self.assertGreater(found['bw_there_gbps'], 0, words)
            self.assertGreater(found['bw_back_gbps'], 0, words)
            self.assertAlmostEqual(found['bw_there_gbps'] + found['bw_back_gbps'],
                                   found['bw_average_gbps'], places=6)
        timed = self.measure('bw -b --op write -s 4KiB --duration 600ms --margin 100ms')
        sessions = self.sessions(server)
        for (name, (messages, checked, words)), found in zip(cases.items(), sessions):
            self.assertTrue(name.startswith(found['operation']), found)
            size = 8 if 'atomic' in words or 'compare' in words else found['size']
            self.assertEqual((found['messages'], found['checked'], found['wrong'],
                              found['failure'], found['errors'], found['sent_messages'],
                              found['sent_bytes']),
                             (messages, checked, 0, '', 0, messages, messages * size), name)
            # Packets of the client's messages, and acknowledgements of this side's.
            self.assertGreaterEqual(found['counters']['rcvd_pkts'], 2 * messages, name)
        self.assertEqual(sessions[-1]['messages'] + sessions[-1]['sent_messages'],
                         timed['iterations'])
        self.assertGreater(sessions[-1]['sent_messages'], 0)

    def test_latency_and_the_studys_patterns(self):
        server = self.serve()
        for words in ('--op write', '--op write --imm --poll event', '--op send -s 8KiB',
                      '--op read', '--op atomic', '--op send --inline -s 1'):
            found = self.measure(f'lat {words} -n 40')
            self.assertEqual(found['iterations'], 40, words)
            self.assertLessEqual(found['t_min_usec'], found['t_typical_usec'])
            self.assertGreater(found['t_min_usec'], 0)
        for words in ('--op write', '--op send --inline', '--op write --imm'):
            found = self.measure(f'ping {words} -n 40')
            self.assertEqual((found['pattern'], found['messages']), ('ping', 40), words)
            self.assertAlmostEqual(found['one_way_usec'], found['elapsed_usec'] / 80, delta=0.01)
        for words in ('--op read', '--op send --post-list 4 --signal periodic', '--op write --imm'):
            found = self.measure(f'blast {words} -n 100 -s 4KiB --buffers 4')
            self.assertEqual((found['pattern'], found['messages']), ('blast', 100), words)
            self.assertAlmostEqual(found['one_way_usec'], found['elapsed_usec'] / 100, delta=0.01)
            self.assertAlmostEqual(found['throughput_gbps'],
                                   100 * 4096 * 8 / found['elapsed_usec'] / 1000, places=6)
            self.assertGreater(found['cpu_percent'], 0)
        for found in self.sessions(server):
            self.assertEqual((found['wrong'], found['failure']), (0, ''), found)

    def test_both_sides_send_in_the_class_of_the_client(self):
        """The traffic class of its option is in data and ACKs, over both families."""
        server = self.serve()
        capture = self.lab.capture()
        for host in SERVER, f"'[{guests.ADDRESSES['a'][1]}]'":
            code, said = self.client('bw -s 4KiB -n 20 --tclass 106 -S 3 --hop-limit 9', host)
            self.assertEqual(code, 0, said)
            self.assertIn('warning: --hop-limit 9', said)
        capture.stop()
        self.sessions(server)
        shown = subprocess.run(['tshark', '-r', capture.a, '-Y', 'infiniband.bth.destqp != 1', '-T', 'fields',
                                '-e', 'ip.src', '-e', 'ipv6.src', '-e', 'ip.dsfield', '-e', 'ipv6.tclass'],
                               capture_output=True, text=True, check=True).stdout
        rows = {tuple(filter(None, line.split('\t'))) for line in shown.splitlines()}
        self.assertEqual({(source, int(value, 0)) for source, value in rows},
                         {(address, 106) for name in 'ab' for address in guests.ADDRESSES[name]})

    def test_a_run_for_a_time_over_ipv6(self):
        server = self.serve()
        found = self.measure('bw -s 4KiB --duration 500ms --signal periodic',
                             f"'[{guests.ADDRESSES['a'][1]}]'")
        session, = self.sessions(server)
        self.assertEqual(session['messages'], found['iterations'])
        self.assertEqual(session['peer'], guests.ADDRESSES['b'][1])
        self.assertGreater(found['elapsed_ns'], 400e6)

    def test_it_runs_until_a_signal_and_leaves_margins_out(self):
        server = self.serve()
        command = f'roce-endpoint bw --peer {SERVER} --token {TOKEN} --json -s 4KiB --forever'
        code, output = self.lab.b.run(
            f'{command} --duration 600ms --margin 200ms > /tmp/rows & run=$!; '
            'until [ "$(wc -l < /tmp/rows)" -ge 3 ]; do kill -0 $run || break; sleep 0.2; done; '
            'kill -INT $run; wait $run; echo "exit code $?"; cat /tmp/rows', 90)
        self.assertEqual(code, 0, self.what_the_server_said(output))
        self.assertIn('exit code 0', output)
        rows = words_of(output)
        self.assertGreaterEqual(len(rows), 3)
        # The signal may end the next run while it connects: that session is not in order.
        code, output = server.stop()
        self.assertIn(code, (0, 1), output)
        sessions = words_of(output)
        self.assertGreaterEqual(len(sessions), len(rows))
        for row, session in zip(rows, sessions):
            self.assertEqual((session['messages'], session['wrong'], session['failure']),
                             (row['iterations'], 0, ''))
        for row in rows[:3]:  # the signal may have ended later ones before their time
            # The margins leave 200 ms, in which some of the messages complete, each as a whole.
            within = row['bw_average_gbps'] * 200e6 / 8 / 4096
            self.assertAlmostEqual(within, round(within), places=6)
            self.assertGreater(within, 0)
            self.assertLess(within, row['iterations'])

    def test_what_is_written_is_in_the_file(self):
        server = self.serve(region='64KiB,file=/tmp/region', options='--sessions 1')
        self.measure('bw --op write -s 4KiB -t 16 -n 100')
        self.assertEqual(server.wait()[0], 0)
        # Slot i has the last message whose number is i modulo 16; the number is its first word.
        numbers = self.lab.a.check('for i in $(seq 0 15); do dd if=/tmp/region bs=4096 skip=$i '
                                   'count=1 2>/dev/null | head -c 8 | hexdump -v -e \'8/1 "%02x"\';'
                                   ' echo; done; stat -c %s /tmp/region').split()
        self.assertEqual([int(number, 16) for number in numbers[:-1]],
                         [n for slot in range(16) for n in range(84, 100) if n % 16 == slot])
        self.assertEqual(numbers[-1], '65536')

    def huge_pages(self, what):
        return int(re.search(rf'HugePages_{what}: +(\d+)', self.lab.a.check('cat /proc/meminfo'))[1])

    def test_a_region_of_huge_pages(self):
        self.lab.a.check('echo 8 > /proc/sys/vm/nr_hugepages')
        self.addCleanup(self.lab.a.check, 'echo 0 > /proc/sys/vm/nr_hugepages')
        self.assertEqual(self.huge_pages('Free'), 8)
        server = self.serve(region='4MiB,hugepages')
        self.assertEqual((self.huge_pages('Free'), self.huge_pages('Rsvd')), (8, 2))
        self.measure('bw --op send -s 64KiB -t 32 -n 200')  # 64 slots: the whole region
        self.assertEqual((self.huge_pages('Free'), self.huge_pages('Rsvd')), (6, 0))
        self.measure('bw --op write -s 64KiB -t 64 -n 200')
        self.measure('bw --op read -s 64KiB -t 64 -n 200')
        self.assertEqual([(found['messages'], found['checked'], found['wrong'])
                          for found in self.sessions(server)],
                         [(200, 200, 0), (200, 64, 0), (200, 0, 0)])
        self.assertEqual(self.huge_pages('Free'), 8)

    def test_refused_clients_hear_why(self):
        server = self.serve('--qps 2 --transport rc')
        for words, token, said in (
                ('bw', 'another-token-16', 'refused by the server: wrong token'),
                ('bw -s 1MiB -t 100', TOKEN, 'the run needs a region of 104.9 MB'),
                ('bw -q 3', TOKEN, 'this server has --qps 2'),
                ('bw --op send --transport uc -s 64', TOKEN, 'another --transport')):
            code, output = self.client(words, token=token)
            self.assertEqual(code, 1, output)
            self.assertIn(said, output)
        self.assertEqual(self.registered(), 0)
        self.assertEqual(self.measure('bw -n 20 -s 64')['iterations'], 20)
        self.assertEqual(len(self.sessions(server)), 1)
        server = self.serve('--accept 192.168.77.9 --accept fd00:77::9')
        code, output = self.client('bw')
        self.assertEqual(code, 1, output)
        self.assertIn('192.168.77.2 is not an accepted address', output)
        self.assertEqual(self.sessions(server), [])

    def test_what_a_device_lacks_is_said(self):
        for words, code, said in (
                ('--device rxe7', 3, r'no RDMA device "rxe7".*which has rxe0'),
                ('--device rxe0 --gid 99', 3, r'--gid 99: rxe0 has no such GID; it has 0: fe80'),
                ('--device rxe0 --region 1GiB,hugepages', 3, 'nr_hugepages')):
            region = '' if '--region' in words else '--region 1MiB'
            found, output = self.lab.a.run(f'roce-endpoint serve {region} {words}')
            self.assertEqual(found, code, output)
            self.assertRegex(output, said)
        server = self.serve()
        self.lab.b.check('ip link set eth0 mtu 1500')
        self.addCleanup(self.lab.b.check, 'ip link set eth0 mtu 4200')
        code, output = self.client('bw --mtu 4096')
        self.assertEqual(code, 2, output)
        self.assertIn('ip link set eth0 mtu 4200', output)
        self.lab.b.check('echo u:x:1000:1000::/tmp:/bin/sh >> /etc/passwd')
        code, output = self.lab.b.run(f"su u -c 'ulimit -l 64; roce-endpoint bw --device rxe0 "
                                      f"--peer {SERVER} --token {TOKEN}'")
        self.assertEqual(code, 3, output)
        self.assertIn('the limit of locked memory is 65.54 kB: `ulimit -l unlimited`', output)
        self.lab.b.check('ip link set eth0 down')
        code, output = self.lab.b.run(f'roce-endpoint bw --device rxe0 --peer {SERVER} '
                                      f'--token {TOKEN}')
        self.lab.b.check('ip link set eth0 up; ip addr replace '
                         f"{guests.ADDRESSES['b'][1]}/64 dev eth0 nodad")
        self.assertEqual(code, 3, output)
        self.assertIn('ip link set eth0 up', output)
        self.sessions(server)

    def test_connections_that_say_nothing_keep_nobody_out(self):
        server = self.serve('--sessions 1')
        flood = self.lab.b.begin(f'for i in $(seq {SILENT}); do sleep 60 | nc {SERVER} 18515 & '
                                 'done; echo flooding; wait')
        flood.wait_for('flooding')
        found = self.measure('bw -n 50 -s 64')
        flood.stop('KILL')
        self.assertEqual(found['iterations'], 50)
        self.assertEqual(server.wait()[0], 0)

    def test_hostile_clients_keep_nobody_out(self):
        guests.ip(f'addr add {guests.ADDRESSES["host"][0]}/24 dev bridge')
        chance = random.Random(hostile_clients.SEED)
        listener = hostile_clients.Listener((SERVER, 18515), mutated_hello(chance), b'', b'', b'')
        kinds = {**hostile_clients.KINDS, 'requests': lambda listener, stack: hostile_clients.many(
            listener, stack, lambda: mutated_hello(chance))}
        server = self.serve()
        memory = "grep VmHWM /proc/$(pidof roce-endpoint)/status | tr -dc '[:digit:]'"
        before = int(self.lab.a.check(memory))
        for name, kind in kinds.items():
            with self.subTest(name), contextlib.ExitStack() as stack:
                kind(listener, stack)
                self.assertEqual(self.measure('bw -n 50 -s 64')['iterations'], 50)
        self.assertLess(int(self.lab.a.check(memory)) - before, 64 << 10)  # KiB
        with contextlib.ExitStack() as stack:
            for kind in kinds.values():
                kind(listener, stack)
            self.assertEqual(len(self.sessions(server)), len(kinds))

    def test_half_open_connections_keep_nobody_out(self):
        from scapy.all import IP, TCP, Ether, RandShort, sendp  # pylint: disable=all
        server = self.serve('--sessions 1')
        sendp([Ether(dst='52:54:00:77:00:01') / IP(src=f'192.168.77.{i}', dst=SERVER) /
               TCP(sport=int(RandShort()), dport=18515, flags='S', seq=i)
               for i in range(100, 200) for _ in range(10)], iface='bridge', verbose=False)
        self.assertEqual(self.measure('bw -n 50 -s 64')['iterations'], 50)
        self.assertEqual(server.wait()[0], 0)

    def test_garbage_ends_a_session(self):
        server = self.serve('--sessions 1')
        code, output = self.lab.b.run(f"(echo '{json.dumps(HELLO)}'; sleep 2; echo garbage; sleep "
                                      f'5) | nc {SERVER} 18515')
        self.assertEqual(code, 0, output)
        offer, report = words_of(output)
        self.assertEqual((offer['kind'], offer['size'], len(offer['qps'])), ('offer', 16384, 1))
        self.assertEqual(report['failure'], 'done: expected a line of JSON, found "garbage"')
        self.assertEqual(self.registered(), 0)
        self.assertEqual(server.wait()[0], 1)

    def begin_client(self, words):
        job = self.lab.b.begin(f'exec roce-endpoint {words} --peer {SERVER} --token {TOKEN}')
        until = time.monotonic() + 20
        while self.registered() == 0 and time.monotonic() < until:
            time.sleep(0.1)
        self.assertGreater(self.registered(), 0, self.what_the_server_said(job.output()))
        return job

    def test_a_killed_client_leaves_nothing_registered(self):
        server = self.serve()
        for words in ('bw --op write -s 4KiB --duration 60s', 'lat --op send -n 1000000',
                      'lat --op write -n 1000000'):
            client = self.begin_client(words)
            self.assertNotEqual(client.stop('KILL')[0], 0)
            until = time.monotonic() + 20
            while self.registered() > 0 and time.monotonic() < until:
                time.sleep(0.1)
            self.assertEqual(self.registered(), 0, words)
        self.assertEqual(self.measure('bw -n 20 -s 64')['iterations'], 20)
        code, output = server.stop()
        self.assertEqual(code, 1, output)
        ended = words_of(output)
        self.assertEqual([re.search('closed|reset|error', s['failure']) is not None
                          for s in ended], [True, True, True, False], ended)
        said = [line for line in output.splitlines() if line.startswith('does not hold: ')]
        self.assertEqual(len(said), 3, said)

    def test_a_killed_server_ends_the_client_with_its_completion_error(self):
        # Three times 1.07 s: longer than a busy machine stands still.
        for words in ('bw --op write -s 4KiB --duration 60s --timeout 18 --retries 2',
                      'bw --op send -s 4KiB --duration 60s --timeout 18 --retries 2'):
            server = self.serve()
            client = self.begin_client(words)
            self.assertNotEqual(server.stop('KILL')[0], 0)
            began = time.monotonic()
            code, output = client.wait(60)
            self.assertEqual(code, 1, output)
            self.assertIn('transport retry counter exceeded', output)
            self.assertLess(time.monotonic() - began, 30)
            self.assertEqual(self.registered(), 0)

    def data_of_page(self, guest, path):
        """What a page of --html shows."""
        copy = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix='longwire-'))) / 'page.html'
        copy.write_text(guest.check(f'cat {path}'), encoding='utf-8')
        return page_data(copy)

    def test_pages_show_what_was_printed(self):
        server = self.serve('--html /tmp/served.html')
        for command, plots in ('bw --op write -n 50 -t 8 -a --no-check', 1), ('lat --op send -n 20 -s 64', 2):
            code, output = self.client(command + ' --html /tmp/page.html')
            self.assertEqual(code, 0, self.what_the_server_said(output))
            data = self.data_of_page(self.lab.b, '/tmp/page.html')
            self.assertEqual(data['reports'], words_of(output))
            self.assertGreaterEqual(len(data['plots']), plots)
            self.assertEqual(data['verdict']['exit'], 0)
        served = self.sessions(server)
        self.assertEqual(self.data_of_page(self.lab.a, '/tmp/served.html')['reports'], served)

    def test_a_sweep_is_written_as_experiments_are(self):
        server = self.serve()
        words = (f'roce-endpoint bw --peer {SERVER} --token {TOKEN} -n 50 -t 8 --sweep '
                 'size=64,4KiB --sweep qps=1,2 --delay 100us --rate 10G --out ')
        code, output = self.lab.b.run(words + '/tmp/swept --html /tmp/swept.html')
        self.assertEqual(code, 0, output)
        rows = list(csv.DictReader(self.lab.b.check('cat /tmp/swept/endpoint-bw.csv').splitlines()))
        self.assertEqual([(row['size'], row['qps'], row['iterations']) for row in rows],
                         [('64', '1', '50'), ('64', '2', '100'), ('4KiB', '1', '50'),
                          ('4KiB', '2', '100')])
        for row in rows:
            for figure in ('bw_average_gbps', 'plan_gbps', 'sim_gbps'):
                self.assertGreater(float(row[figure]), 0, row)
        found = json.loads(self.lab.b.check('cat /tmp/swept/endpoint-bw.json'))
        self.assertEqual(found['name'], 'endpoint-bw')
        output_schemas.validate(found)
        page = self.data_of_page(self.lab.b, '/tmp/swept.html')
        self.assertEqual(page['reports'], [found])
        self.assertEqual(len(page['plots']), 3)
        for figure in ('bw_average_gbps', 'plan_gbps', 'sim_gbps'):
            self.assertIn('</svg>', self.lab.b.check(f'cat /tmp/swept/{figure}.svg'))
        self.lab.b.check('mkdir /tmp/full; ln -s /dev/full /tmp/full/endpoint-bw.csv')
        code, output = self.lab.b.run(words + '/tmp/full')
        self.assertEqual(code, 3, output)
        self.assertIn('endpoint-bw.csv: cannot be written: No space left on device', output)
        code, output = self.lab.b.run(words.replace('size=64', 'speed=64') + '/tmp/swept')
        self.assertEqual(code, 2, output)
        self.assertIn('--sweep: expected an option with a value, such as size, found "speed"',
                      output)
        self.sessions(server)

    RECORDS = '--layout /tmp/record.toml'

    def test_records_arrive_through_loss(self):
        self.lab.b.check('tc qdisc add dev eth0 root netem loss 1% limit 10000')
        self.addCleanup(self.lab.b.check, 'tc qdisc del dev eth0 root')
        server = self.serve(f'{self.RECORDS} --records /tmp/records.csv --sessions 1')
        # Without IMM the ring is polled; every record has its own bytes.
        self.measure('bw --op write -s 48 -n 6000 --slots 8192 -t 16 --timeout 17')
        code, output = server.wait()
        self.assertEqual(code, 0, output)
        session, = words_of(output)
        self.assertEqual(session['ring'], {'records': 6000, 'lapped': 0, 'laps': 0, 'lost': 0})
        self.assertGreater(session['out_of_sequence'] + session['duplicates'], 0, session)
        rows = self.lab.a.check('cat /tmp/records.csv').splitlines()
        self.assertEqual(rows[0], 'number,rest')
        numbers, contents = zip(*(row.split(',') for row in rows[1:]))
        self.assertEqual([int(number, 16) for number in numbers], list(range(6000)))
        self.assertEqual(len(set(contents)), 6000)

    def test_a_lapped_reader_hears_of_it(self):
        server = self.serve(f'{self.RECORDS} --records /tmp/records.jsonl --sessions 1')
        client = self.begin_client('bw --op write -s 48 --duration 120s -t 16')
        server.signal('STOP')
        time.sleep(3)  # the device goes on writing
        server.signal('CONT')
        code, output = client.stop(timeout=60)
        self.assertEqual(code, 0, output)
        code, output = server.wait()
        self.assertEqual(code, 1, output)
        ring = words_of(output)[0]['ring']
        self.assertGreater(ring['laps'], 0, ring)
        self.assertEqual(ring['records'] + ring['lapped'] + ring['lost'],
                         words_of(output)[0]['messages'])
        records = words_of(self.lab.a.check('cat /tmp/records.jsonl'))
        self.assertEqual(len(records), ring['records'])
        numbers = [record['number'] for record in records]
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_what_is_no_record_is_refused(self):
        server = self.serve(self.RECORDS)
        for words, said in (('bw -s 64', 'takes records of 48 B, not of 64 B'),
                            ('bw --op send -s 48', 'takes records: WRITEs on one QP')):
            code, output = self.client(words)
            self.assertEqual(code, 1, output)
            self.assertIn(said, output)
        self.sessions(server)

    def test_silent_corruption_is_found(self):
        self.between.close()
        box = self.between.enter_context(self.lab.impair(CORRUPT))
        server = self.serve()
        for words in ('bw --op send -s 512 -n 100', 'bw --op write -s 512 -n 100 -t 100',
                      'bw --op read -s 512 -n 100'):
            code, output = self.client(words)
            self.assertEqual(code, 1, output)
            self.assertRegex(output, r'\d+ messages arrived with other bytes than were sent')
        code, output = server.stop()
        self.assertEqual(code, 1, output)
        send, write, read = words_of(output)
        self.assertEqual((send['messages'], send['checked']), (100, 100))
        for found in send, write:
            self.assertGreater(found['wrong'], 0)
            self.assertLess(found['wrong'], 60)
        self.assertEqual((read['wrong'], read['failure']), (0, ''))  # the client checks READs
        self.between.close()
        # One packet a message: each frame that the box changed is a wrong message, of a SEND or a
        # WRITE in the server and of a READ in the client.
        self.assertGreater(len(box.records()), send['wrong'] + write['wrong'])

    def test_a_full_disk_is_reported(self):
        server = self.serve()
        code, output = self.lab.b.run(f'roce-endpoint bw --peer {SERVER} --token {TOKEN} -n 20 '
                                      '-s 64 2>&1 > /dev/full')
        self.assertEqual(code, 3, self.what_the_server_said(output))
        self.assertIn('standard output: cannot be written: No space left on device', output)
        self.sessions(server)
        server = self.serve(f'{self.RECORDS} --records /dev/full --sessions 1')
        self.measure('bw --op write -s 48 -n 50')
        code, output = server.wait()
        self.assertEqual(code, 3, output)
        self.assertIn('/dev/full: cannot be written: No space left on device', output)


if __name__ == '__main__':
    longwire_test.main()
