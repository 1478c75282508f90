# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair run --web: the live page in headless Chromium sets loss, which the frames then show,
and undoes it; what a forged Origin, another Host and a wrong token get; options."""

import json
import os
import re
import signal
import socket
import statistics
import subprocess
import time

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import accessibility
import live_page
import needs
from html_pages import pictures_wanted, pixels, take_picture
from longwire_test import BOX, begin, free_port, program
from pcapng_file import read_pcapng

PROFILE = '''
[[rule]]
name = "long haul"
match = "rocev2"
delay = "1ms"
[capacity]
reserve = "5ms"
'''

# One of two frames is marked, behind a queue at half the flow's rate; the event waits for a command.
BUSY_PROFILE = '''
[[rule]]
name = "busy"
match = "rocev2"
delay = "2ms"
mark = {probability = "50%", force = true}
queue = {rate = "10Gb/s", buffer = "100kB"}
[[event]]
name = "lost packet"
on_command = true
direction = "west-to-east"
action = "drop"
[capacity]
reserve = "5ms"
'''

FLOW = '''
[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 1024
rate = "4000 frames/s"
messages = 1000000
'''


class Box(live_page.Served):
    """A run with a live page."""

    def setUp(self):
        super().setUp()
        (self.folder / 'impair.toml').write_text(PROFILE)

    def run_box(self, *options, west='net_ring0', east='net_ring1'):
        return self.serve(*BOX, 'impair.toml', '--west', west,
                          '--east', east, '--web', '0', *options)

    def do(self, request, **changed):
        status, text, _ = self.request('POST', '/do', json.dumps(request), **changed)
        return status, json.loads(text)

    def stop(self, box):
        box.send_signal(signal.SIGTERM)
        began = time.monotonic()
        out, _ = box.communicate(timeout=30)
        self.assertEqual(box.returncode, 0, out + self.errors.read_text())
        return time.monotonic() - began


class Requests(Box):

    def test_only_the_page_itself_with_the_token_is_answered(self):
        box = self.run_box()
        show = {'do': 'show'}
        self.assertEqual(self.do(show)[0], 200)
        self.assertTrue(self.do(show)[1]['report']['identity_holds'])
        here = f'localhost:{self.port}'
        self.assertEqual(self.do(show, Host=here, Origin='http://' + here)[0], 200)
        for status, changed in (
                (401, {'Authorization': 'Bearer ' + '0' * 32}), (401, {'Authorization': None}),
                (403, {'Origin': 'http://evil.example'}), (403, {'Origin': None}),
                (403, {'Origin': 'null'}), (403, {'Origin': f'http://127.0.0.1:{self.port + 1}'}),
                (403, {'Host': f'evil.example:{self.port}', 'Origin': f'http://evil.example:{self.port}'}),
                (403, {'Host': '127.0.0.1'}), (415, {'Content_Type': 'text/plain'})):
            with self.subTest(changed=changed):
                found, answer = self.do({'do': 'set', 'rule': 'long haul', 'keys': {'loss': '9%'}}, **changed)
                self.assertEqual((found, answer['ok']), (status, False), answer)
        self.assertEqual(self.do(show)[1]['rules'][0]['loss'], 0)
        self.assertEqual(self.request('GET', '/events', Authorization='Bearer x')[0], 401)
        self.assertEqual(self.request('GET', '/', Host='evil.example')[0], 403)
        self.assertEqual(self.request('GET', '/etc/passwd')[0], 404)
        self.assertEqual(self.request('OPTIONS', '/do')[0], 405)
        status, page, headers = self.request('GET', '/', Authorization=None, Origin=None)
        self.assertEqual(status, 200)
        self.assertNotIn(self.token, page)
        self.assertNotIn('Access-Control-Allow-Origin', headers)
        self.assertIn("connect-src 'self'", page)
        self.assertEqual(headers['Content-Security-Policy'], "frame-ancestors 'none'")
        self.stop(box)

    def test_requests_are_those_of_ctl(self):
        control = self.folder / 'ctl'
        box = self.run_box('--control', control)
        self.assertEqual(self.do({'do': 'set', 'rule': 'long haul', 'keys': {'loss': '5%'}})[1]['rules'][0]['loss'], 0.05)
        ctl = [program('roce-impair'), 'ctl', str(control)]
        answer = subprocess.run(ctl + ['--json', 'undo'], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(answer.stdout)['rules'][0]['loss'], 0)
        answer = subprocess.run(ctl + ['undo'], capture_output=True, text=True, check=False)
        self.assertEqual((answer.returncode, 'no set, load or reset is left' in answer.stderr), (1, True))
        self.assertIn('no set, load or reset', self.do({'do': 'undo'})[1]['error'])
        first, second = self.do({'do': 'show'})[1]['report']['changes']
        self.assertRegex(first['by'], r'^page, 127\.0\.0\.1:\d+$')
        self.assertEqual((first['key'], first['after'], second['before'], second['by']),
                         ('loss', '"5%"', '"5%"', f'control, user {os.getuid()}'))
        answer = subprocess.run(ctl + ['preview', 'long haul', 'loss=1'], capture_output=True, text=True, check=False)
        self.assertEqual((answer.returncode, '1: write 1% or 100%' in answer.stderr), (2, True), answer)
        answer = subprocess.run(ctl + ['preview', 'long haul', 'delay=3ms'], capture_output=True, text=True, check=True)
        self.assertIn('in flight each way: 100.0 Gb/s x 3 ms = 37.50 MB', answer.stdout)
        self.assertEqual(self.do({'do': 'show'})[1]['rules'][0]['delay_ns'], 1_000_000)
        self.stop(box)

    def test_bounds(self):
        box = self.run_box()
        self.assertEqual(self.request('POST', '/do', 'x' * 17000)[0], 413)
        for head in (b'GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nRange: bytes=' + b'0-1,' * 1900 + b'\r\n\r\n',
                     b'GET /' + b'x' * 30000 + b' HTTP/1.1\r\n\r\n', b'\0' * 5000 + b'\r\n\r\n'):
            with socket.create_connection(('127.0.0.1', self.port), timeout=30) as client:
                try:
                    client.sendall(head)
                    client.shutdown(socket.SHUT_WR)
                    while client.recv(65536):
                        pass
                except OSError:  # the box may have ended it already
                    pass
        request = (f'GET /events HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n'
                   f'Authorization: Bearer {self.token}\r\n\r\n').encode()
        streams = [socket.create_connection(('127.0.0.1', self.port), timeout=30) for _ in range(9)]
        first = []
        for stream in streams:
            self.addCleanup(stream.close)
            stream.sendall(request)
            first.append(stream.recv(12).decode())
        self.assertEqual(first, ['HTTP/1.1 200'] * 8 + ['HTTP/1.1 503'])
        self.assertLess(self.stop(box), 5)  # s: open streams don't hold it up

    def page_of(self, port, headers='', path='/'):
        """The whole answer to a GET that needs no token."""
        with socket.create_connection(('127.0.0.1', port), timeout=30) as client:
            client.sendall(f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{headers}\r\n'.encode())
            return b''.join(iter(lambda: client.recv(65536), b''))

    @needs.open_files(4096)
    def test_an_address_does_not_lock_out_another_one(self):
        """Connections of 127.0.0.2, silent or with half a request, until the box is full of them."""
        metrics = free_port()
        box = self.run_box('--metrics', f'127.0.0.1:{metrics}')
        for port, path in ((self.port, '/'), (metrics, '/metrics')):
            flood = []
            for _ in range(600):
                flood.append(socket.create_connection(('127.0.0.1', port), timeout=30,
                                                      source_address=('127.0.0.2', 0)))
                self.addCleanup(flood[-1].close)
                if len(flood) % 2 == 0:
                    flood[-1].sendall(b'GET / HT')
                if len(flood) % 100 == 0:
                    self.assertTrue(self.page_of(port, path=path).startswith(b'HTTP/1.1 200'))
            flood[0].settimeout(30)
            self.assertEqual(flood[0].recv(1), b'', 'the longest idle one is disconnected')
        self.stop(box)

    def test_a_client_needs_no_new_thread(self):
        box = self.run_box()
        tasks = f'/proc/{box.pid}/task'
        self.wait_for(lambda: self.request('GET', '/')[0] == 200)
        before = len(os.listdir(tasks))
        clients = [socket.create_connection(('127.0.0.1', self.port), timeout=30) for _ in range(50)]
        for client in clients:
            self.addCleanup(client.close)
        self.assertEqual(self.request('GET', '/')[0], 200)  # the box has accepted all before
        self.assertEqual(len(os.listdir(tasks)), before)
        self.stop(box)

    def test_ranges_are_ignored(self):
        metrics = free_port()
        box = self.run_box('--metrics', f'127.0.0.1:{metrics}')

        def peak():
            status = open(f'/proc/{box.pid}/status', encoding='utf-8').read()
            return int(re.search(r'VmHWM:\s+(\d+)', status)[1])  # kB

        plain = self.page_of(self.port)
        before = peak()
        for ranges in ('bytes=' + '0-,' * 2600 + '0-', 'bytes=0-9', 'bytes=9-0', 'x'):
            header = f'Range: {ranges}\r\nIf-Range: x\r\nAccept-Encoding: gzip\r\n'
            for _ in range(6):
                self.assertEqual(self.page_of(self.port, header), plain)
            self.assertTrue(self.page_of(metrics, header, '/metrics').startswith(b'HTTP/1.1 200'))
        self.assertLess(peak() - before, 8 * 1024)
        self.stop(box)

    def test_metrics_are_for_addresses_of_the_box(self):
        metrics = free_port()
        box = self.run_box('--metrics', f'localhost:{metrics}')
        for host, status in ((f'127.0.0.1:{metrics}', 200), (f'localhost:{metrics}', 200), ('', 200),
                             (f'evil.example:{metrics}', 403), ('127.0.0.1', 403)):
            with socket.create_connection(('localhost', metrics), timeout=30) as client:
                client.sendall(f'GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
                self.assertEqual(client.recv(12).decode(), f'HTTP/1.1 {status}', host)
        self.stop(box)

    def test_read_only_refuses_changes(self):
        box = self.run_box('--web-read-only')
        for request in ({'do': 'reset'}, {'do': 'undo'}, {'do': 'load', 'file': '/etc/passwd'},
                        {'do': 'record', 'file': 'x.pcapng'}, {'do': 'stop-recording'},
                        {'do': 'set', 'rule': 'long haul', 'keys': {'loss': '9%'}}):
            self.assertIn('only shows the run', self.do(request)[1]['error'])
        self.assertTrue(self.do({'do': 'show'})[1]['ok'])
        self.stop(box)


class Files(Box):
    """Who holds the page's token names no file but those below --web-files."""

    SECRET = 'token-0123456789abcdef'

    def setUp(self):
        super().setUp()
        self.files = self.folder / 'files'
        self.files.mkdir()
        for name, text in (('trace.csv', 'time,delay\n0s,1ms\n'), ('wrong.csv', f'time,delay\n0s,{self.SECRET}\n'),
                           ('good.toml', '[[rule]]\nname = "good"\n'), ('bad.toml', f'[[rule]]\nloss = "{self.SECRET}"\n'),
                           ('out.toml', 'include = "../secret"\n[[rule]]\n')):
            (self.files / name).write_text(text)
        self.secret = self.folder / 'secret'
        self.secret.write_text(self.SECRET + '\n')
        (self.files / 'link.csv').symlink_to('../secret')

    def error(self, request):
        """The error of a request, which shows no text of a file."""
        status, answer = self.do(request)
        self.assertEqual(status, 200)
        self.assertNotIn(self.SECRET, json.dumps(answer))
        return answer.get('error', '')

    def preview(self, keys):
        return self.error({'do': 'preview', 'rule': 'long haul', 'keys': keys})

    def keys(self, name):
        """Every key that names a file."""
        return ({'trace.file': name}, {'trace': f'{{file = "{name}"}}'}, {'loss': f'{{model = "listed", file = "{name}"}}'},
                {'loss.model': 'listed', 'loss.file': name}, {'jitter': f'{{distribution = "histogram", file = "{name}"}}'},
                {'jitter': f'{{distribution = "netem", deviation = "1us", file = "{name}"}}'})

    def test_by_default_it_names_none(self):
        box = self.run_box('--web-read-only')
        for name in (str(self.secret), 'secret', '/etc/shadow', str(self.files / 'trace.csv')):
            for keys in self.keys(name):
                self.assertIn('--web-files DIR', self.preview(keys), keys)
        self.stop(box)

    def test_those_below_the_folder(self):
        box = self.run_box('--web-files', self.files)
        missing = self.preview({'trace.file': 'none.csv'})
        for name in (str(self.secret), 'secret', '../secret', 'files/../secret', 'link.csv', '/etc/shadow', 'none.csv'):
            for keys in self.keys(name):
                self.assertIn('expected a file below the folder of --web-files', self.preview(keys), keys)
            self.assertEqual(self.preview({'trace.file': name}), missing, name)
            self.assertIn('--web-files', self.error({'do': 'load', 'file': name}))
            self.assertIn('--web-files', self.error({'do': 'event', 'at': {'rule': 'long haul', 'set': {'trace.file': name}}}))
        for name in ('trace.csv', 'files/trace.csv', str(self.files / 'trace.csv')):
            self.assertEqual(self.preview({'trace.file': name}), '')
        self.assertIn('wrong.csv: line 2 ', self.preview({'trace.file': 'wrong.csv'}))
        self.assertIn('bad.toml:2:8: ', self.error({'do': 'load', 'file': 'bad.toml'}))
        self.assertIn('--web-files', self.error({'do': 'load', 'file': 'out.toml'}))
        self.assertEqual(self.error({'do': 'load', 'file': 'good.toml'}), '')
        self.assertIn('loss: expected', self.error({'do': 'set', 'rule': 'good', 'keys': {'loss': '200%'}}))
        self.assertEqual(self.error({'do': 'set', 'rule': 'good', 'keys': {'trace.file': 'trace.csv'}}), '')
        self.stop(box)

    def test_a_recording_is_a_new_file_of_its_name(self):
        box = self.run_box()
        (self.folder / 'dangling.pcapng').symlink_to(self.folder / 'elsewhere.pcapng')
        self.assertIn('exists', self.error({'do': 'record', 'file': 'dangling.pcapng'}))
        self.assertIn('NUL', self.error({'do': 'record', 'file': 'taken.conf\0.pcapng'}))
        self.assertIn('without /', self.error({'do': 'record', 'file': '../x.pcapng'}))
        for name in ('elsewhere.pcapng', 'taken.conf'):
            self.assertFalse((self.folder / name).exists())
        self.stop(box)


class Options(Box):

    def refused(self, *options):
        done = subprocess.run([*BOX, str(self.folder / 'impair.toml'),
                               '--west', 'net_ring0', '--east', 'net_ring1', '--duration', '1ms',
                               *map(str, options)], capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_a_token_is_a_line_without_its_end(self):
        token = self.folder / 'token'
        for text in ('a-token-of-our-own', 'a-token-of-our-own\n', 'a-token-of-our-own\r\nmore\n'):
            token.write_bytes(text.encode())
            token.chmod(0o600)
            with open(self.errors, 'w', encoding='utf-8') as errors:
                box = subprocess.Popen([*BOX, 'impair.toml', '--west', 'net_ring0',
                                        '--east', 'net_ring1', '--web', '0', '--web-token-file', token],
                                       stderr=errors, stdout=subprocess.PIPE, text=True, cwd=self.folder)
            self.addCleanup(self.end, box)
            self.wait_for(lambda: 'live page' in self.errors.read_text())
            self.port = int(re.search(r'live page: http://127.0.0.1:(\d+)/', self.errors.read_text())[1])
            self.token = 'a-token-of-our-own'
            self.assertEqual(self.do({'do': 'show'})[0], 200)
            self.stop(box)

    def test_the_folder_of_files_is_there(self):
        self.assertIn('--web-files: expected a folder, found none at ', self.refused('--web', '0', '--web-files', 'missing'))

    def test_another_address_needs_a_token_file(self):
        self.assertIn('expected --web-token-file FILE', self.refused('--web', '0.0.0.0:0'))
        self.assertIn('expected [ADDRESS:]PORT in numbers', self.refused('--web', 'example.com:80'))
        self.assertIn('expected [ADDRESS:]PORT in numbers', self.refused('--web', '127.0.0.1:70000'))
        token = self.folder / 'token'
        token.write_text('short\n')
        token.chmod(0o600)
        self.assertIn('16 to 256 characters', self.refused('--web', '0', '--web-token-file', token))
        for wrong in ('/dev/zero', 'x' * 300, '', 'a-token-of-\x01our-own\n'):
            if wrong != '/dev/zero':
                token.write_text(wrong)
            self.assertIn('expected a line of 16 to 256 characters', self.refused(
                '--web', '0', '--web-token-file', token if wrong != '/dev/zero' else wrong))
        self.assertIn("can't be read", self.refused('--web', '0', '--web-token-file', self.folder))
        token.write_text('a-token-of-our-own\n')
        token.chmod(0o644)
        self.assertIn('every user can read it', self.refused('--web', '0', '--web-token-file', token))
        token.chmod(0o600)
        done = subprocess.run([*BOX, str(self.folder / 'impair.toml'),
                               '--west', 'net_ring0', '--east', 'net_ring1', '--duration', '100ms',
                               '--web', '0.0.0.0:0', '--web-token-file', str(token)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn('a-token-of-our-own', done.stderr)


class Page(live_page.InBrowser, Box):

    def lost(self):
        """Frames that rules dropped, and frames received, west to east."""
        west = self.do({'do': 'show'})[1]['report']['directions'][0]
        return west['dropped_by_rule']['frames'], west['received']['frames']

    def dropped_by_events(self):
        """Frames that events dropped, west to east. The queue drops others where the machine holds the
        sender up: what is overdue comes as a burst."""
        west = self.do({'do': 'show'})[1]['report']['directions'][0]
        return sum(stages['acted'].get('event', 0) for stages in west['stages'])

    def test_loss_is_set_seen_in_the_frames_and_undone(self):
        (self.folder / 'flow.toml').write_text(FLOW)
        west, east = f'memif:{self.folder}/w', f'memif:{self.folder}/e'
        box = self.run_box(west='memif:w,server', east='memif:e,server')  # short names for the picture
        begin(self, [program('roce-gen'), 'receive', '--port', east])
        begin(self, [program('roce-gen'), 'run', self.folder / 'flow.toml', '--port', west])
        self.open()
        self.assertNotIn(self.token, self.browser.current_url)
        self.wait_for(lambda: self.lost()[1] > 2000)
        self.assertEqual(self.lost()[0], 0)
        plots = ('rate', 'dropped', 'inside', 'delay')
        self.wait_for(lambda: all(self.drawn(plot) for plot in plots))
        marks = [pixels(self.browser, f'{plot}-plot', '--bad') for plot in plots]
        accessibility.set_width(self.browser, 1280)
        self.watch_for_shifts()
        self.find('loss-0').send_keys('1%')
        self.find('preview-0').click()
        self.wait_for(lambda: 'Would be in force' in self.find('effect-0').text)
        self.assertEqual(self.lost()[0], 0)
        self.find('apply-0').click()
        self.wait_for(lambda: 'In force' in self.find('effect-0').text)
        before = self.lost()
        self.wait_for(lambda: self.lost()[1] > before[1] + 10_000)
        after = self.lost()
        self.assertAlmostEqual((after[0] - before[0]) / (after[1] - before[1]), 0.01, delta=0.005)
        self.wait_for(lambda: int(self.cell('Dropped by it').replace(',', '')) > 0)
        self.check_that_nothing_jumped()
        self.browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
        self.assertEqual(self.find('verdict').get_attribute('data-colour'), 'green')
        self.assertRegex(self.find('verdict').text, r'^holds: \d+ statements$')
        if pictures_wanted():
            self.wait_for(lambda: self.lost()[1] > before[1] + 60_000)  # a curve of 15 s
            take_picture(self.browser, 'live')
            self.find('theme').click()
            take_picture(self.browser, 'live-phone', width=400)
            self.find('theme').click()
        drawn = self.js("""return ['rate', 'dropped', 'inside'].map((name) =>
            document.getElementById(`${name}-plot`).uplot.data.map((column) => column.filter((y) => y !== null)))""")
        # b/s of 4000 frames/s; a sender that waited for a core catches up.
        self.assertAlmostEqual(statistics.median(drawn[0][1]), 34e6, delta=20e6)
        self.assertGreater(max(drawn[1][1]), 0)  # % dropped
        self.assertEqual(set(drawn[1][2]), {0})  # nothing comes from the east
        self.find('file').send_keys('../elsewhere.pcapng')
        self.find('start-recording').click()
        self.wait_for(lambda: 'without /' in self.find('problem').text)
        self.find('file').clear()
        self.find('file').send_keys('episode.pcapng')
        self.find('start-recording').click()
        self.wait_for(lambda: 'Recording to episode.pcapng' in self.find('recording').text)
        self.wait_for(lambda: self.find('stop-recording').is_enabled())
        self.find('stop-recording').click()
        self.wait_for(lambda: 'Recorded episode.pcapng' in self.find('recording').text)
        self.assertGreater(len(read_pcapng(self.folder / 'episode.pcapng')[1]), 0)
        self.wait_for(lambda: self.achieved().get('lost', [''])[-1] == 'yes')
        self.assertEqual(self.achieved()['lost'][0], '1 %')
        self.assertEqual(marks, [0] * len(plots))
        self.wait_for(lambda: all(pixels(self.browser, f'{plot}-plot', '--bad') > 20 for plot in plots))
        self.find('undo').click()
        self.wait_for(lambda: self.field('loss') == '')
        before = self.lost()
        self.wait_for(lambda: self.lost()[1] > before[1] + 4000)
        self.assertEqual(self.lost()[0], before[0])
        self.assertEqual(self.browser.get_log('browser'), [])
        box.send_signal(signal.SIGTERM)
        box.communicate(timeout=30)

    def cell(self, title):
        return self.js('''const heads = [...document.querySelectorAll('#rules th')].map((th) => th.textContent);
            return document.querySelector('#rules tbody tr').cells[heads.indexOf(arguments[0])].textContent;''', title)

    def drawn(self, name):
        """The last values of a plot's series."""
        return self.js(f"""const {{uplot}} = document.getElementById('{name}-plot') ?? {{}};
            return uplot?.data.slice(1).map((column) => column.filter((y) => y !== null).at(-1)) ?? null""")

    def test_delays_marks_queues_events_and_records_are_shown(self):
        (self.folder / 'flow.toml').write_text(FLOW)
        (self.folder / 'impair.toml').write_text(BUSY_PROFILE)
        west, east = f'memif:{self.folder}/w', f'memif:{self.folder}/e'
        box = self.run_box('--ledger', self.folder / 'ledger.jsonl', west=west + ',server', east=east + ',server')
        begin(self, [program('roce-gen'), 'receive', '--port', east])
        begin(self, [program('roce-gen'), 'run', self.folder / 'flow.toml', '--port', west])
        self.open()
        self.wait_for(lambda: self.lost()[1] > 4000 and self.drawn('ce') and self.drawn('delay'))
        median, most = self.drawn('delay')[:2]  # ns
        self.assertLess(2_000_000 * 511 / 512, median)  # the rule's, and the page's rounding
        self.assertLessEqual(median, most)
        self.assertLess(most, 2_092_000)  # and a full buffer's
        self.assertAlmostEqual(self.drawn('ce')[0], 50, delta=10)  # %: 2000 frames
        self.assertIsNotNone(self.drawn('queue'))
        self.wait_for(lambda: self.find('records').is_displayed())
        shown = self.js("return [...document.querySelectorAll('#records tbody tr')].map((one) => one.textContent)")
        self.assertEqual(len(shown), 20)
        self.assertTrue(all('busy' in one for one in shown), shown)  # the queue acts on each
        words = (r'\d+:\d\d:\d\d.*west → eastRC WRITE ONLY, PSN \d+, QP 0x[0-9a-f]+: (?:marked CE, )?delayed by queue'
                 r'busy(\d+\.?\d*) ms')
        delays = [re.fullmatch(words, one) for one in shown]
        self.assertTrue(all(delays), shown)
        self.assertGreaterEqual(min(float(delay[1]) for delay in delays), 2)  # and what a busy machine adds
        self.assertTrue(any('marked CE' in one for one in shown), shown)
        self.check_achieved()
        self.check_access()
        self.browser.find_element(By.CSS_SELECTOR, '[aria-label="Start lost packet now"]').click()
        self.wait_for(lambda: self.dropped_by_events() == 1)
        self.wait_for(lambda: '1 of 1' in self.find('events').text)
        self.find('arm').click()
        self.wait_for(lambda: self.dropped_by_events() == 2)
        self.find('occurrence').send_keys('x')
        self.find('arm').click()
        self.wait_for(lambda: 'occurrence' in self.find('problem').text)
        self.assertEqual(self.dropped_by_events(), 2)
        self.assertEqual(self.browser.get_log('browser'), [])
        box.send_signal(signal.SIGTERM)
        box.communicate(timeout=30)

    def achieved(self):
        """Asked, achieved, interval and whether it holds, of west to east, by what it is."""
        rows = self.js("""return [...document.querySelectorAll('#achieved tbody tr')]
            .map((row) => [...row.cells].map((cell) => cell.textContent))""")
        return {what: rest for _, way, what, *rest in rows if way == 'west → east'}

    def check_achieved(self):
        found = self.achieved()
        self.assertRegex(found['delay, median'][0], r'^2(\.\d+)? ms$')
        self.assertRegex(found['delay, median'][1], r'^half left at most [\d.]+ (ns|us|ms) late$')
        self.assertRegex(found['delay, 99 %'][1], r'^99 % left at most [\d.]+ (ns|us|ms) late$')
        asked, seen, interval, holds = found['chosen to mark']
        self.assertEqual((asked, holds), ('50 %', 'yes'))
        low, high = (float(end.strip(' %')) for end in interval.split(' to '))
        self.assertTrue(low <= float(seen.strip(' %')) <= high, found['chosen to mark'])
        self.assertEqual(found['fullest buffer'][0], '100 kB')
        self.assertRegex(found['in the queue now'][1], r'^[\d.]+ k?B$')

    def test_every_control_has_a_label_and_the_page_fits_a_phone(self):
        box = self.run_box()
        self.browser.set_window_size(500, 900)
        self.open()
        self.check_access()
        self.find('theme').click()
        self.assertEqual(self.js('return document.documentElement.dataset.theme'), 'dark')
        self.stop(box)

    def test_a_screen_of_1280_by_800_shows_what_matters(self):
        box = self.run_box()
        self.browser.set_window_size(1280, 800)
        self.open()
        self.wait_for(lambda: self.js("return document.querySelectorAll('#rate-figure canvas, #dropped-figure canvas').length") == 2)
        bottoms = self.js("""return Object.fromEntries(['verdict', 'westward', 'asked', 'rate-figure', 'dropped-figure',
            'delay-0', 'loss-0'].map((id) => [id, document.getElementById(id).getBoundingClientRect().bottom + scrollY]))""")
        self.assertEqual({name: bottom for name, bottom in bottoms.items() if not 0 < bottom <= 800}, {})
        small = self.js("""return [...document.querySelectorAll('body *')].filter((one) => one.textContent.trim() &&
            one.checkVisibility() && parseFloat(getComputedStyle(one).fontSize) < 10).map((one) => one.outerHTML.slice(0, 80))""")
        self.assertEqual(small, [])
        self.stop(box)

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def test_the_keyboard_alone_changes_a_rule(self):
        box = self.run_box()
        self.open()
        self.press(Keys.TAB, Keys.ENTER)  # to the controls
        self.wait_for(lambda: '#change' in self.browser.current_url)
        focused = lambda: self.js('return document.activeElement.id')
        for _ in range(20):
            if focused() == 'loss-0':
                break
            self.press(Keys.TAB)
        self.assertEqual(focused(), 'loss-0')
        self.press('2%', Keys.ENTER)
        self.wait_for(lambda: 'In force' in self.find('effect-0').text)
        self.wait_for(lambda: self.do({'do': 'show'})[1]['rules'][0]['keys'].get('loss') == '"2%"')
        for _ in range(20):
            if focused() == 'undo':
                break
            self.press(Keys.TAB)
        self.press(Keys.SPACE)
        self.wait_for(lambda: self.field('loss') == '')
        self.stop(box)

    def field(self, name):
        return self.find(f'{name}-0').get_property('value')

    def type(self, name, text):
        self.find(f'{name}-0').clear()
        self.find(f'{name}-0').send_keys(text)

    def test_each_field_takes_its_placeholder_and_shows_the_value_in_force(self):
        # Without a reserve: a change takes the memory that it needs.
        (self.folder / 'impair.toml').write_text(PROFILE.partition('[capacity]')[0])
        box = self.run_box()
        self.open()
        self.wait_for(lambda: self.field('delay') == '1ms')
        for width in (1280, 800, 400):
            self.browser.set_window_size(width, 900)
            self.check_access()
        for name in ('delay', 'jitter', 'loss', 'rate', 'buffer'):
            with self.subTest(name):
                placeholder = self.find(f'{name}-0').get_attribute('placeholder')
                self.type(name, placeholder + '\n')  # Enter applies
                self.wait_for(lambda: 'In force' in self.find('effect-0').text)
                self.wait_for(lambda name=name, value=placeholder: value == self.field(name) and
                              any(value in one for one in self.keys().values()))
        self.assertEqual(self.keys(), {'name': '"long haul"', 'match': '"rocev2"', 'delay': '"2ms"',
                                       'jitter': '"10us"', 'loss': '"0.1%"', 'queue.rate': '"10Gbit"',
                                       'queue.buffer': '"1MB"'})
        self.type('rate', '5Gb/s\n')  # the buffer stays
        self.wait_for(lambda: self.keys()['queue.rate'] == '"5Gb/s"')
        self.assertEqual(self.keys()['queue.buffer'], '"1MB"')
        self.find('rate-0').clear()
        self.find('apply-0').click()
        self.wait_for(lambda: 'queue.rate' not in self.keys() and self.field('buffer') == '')
        self.type('rate', '10Gbit\n')  # alone
        self.wait_for(lambda: self.keys().get('queue') == '"10Gbit"')
        self.find('undo').click()
        self.wait_for(lambda: 'queue' not in self.keys() and self.field('rate') == '')
        log = self.js("return [...document.querySelectorAll('#changes tbody tr')].map((one) => one.innerText)")
        self.assertTrue(any('jitter' in line and '10us' in line and 'page' in line for line in log), log)
        self.stop(box)

    def test_an_error_is_beside_its_field(self):
        box = self.run_box()
        self.open()
        self.wait_for(lambda: self.field('delay') == '1ms')
        for name, wrong in (('loss', '200%'), ('delay', 'soon'), ('jitter', '10 parsecs'), ('rate', 'fast'),
                            ('delay', '1h'), ('delay', '10s')):
            with self.subTest(name=name, wrong=wrong):
                before = self.field(name)
                self.type(name, wrong + '\n')
                refusal = f"return document.getElementById('{name}-0').nextElementSibling.textContent"
                self.wait_for(lambda refusal=refusal: self.js(refusal) != '')
                self.assertEqual(self.find(f'{name}-0').get_attribute('aria-invalid'), 'true')
                self.type(name, before)
                self.find('preview-0').click()
                self.wait_for(lambda: 'No field differs' in self.find('effect-0').text)
        self.assertFalse(self.find('problem').is_displayed())
        self.stop(box)

    def keys(self):
        return self.do({'do': 'show'})[1]['rules'][0]['keys']

    def test_a_wrong_token_is_said(self):
        box = self.run_box()
        self.browser.get(f'{self.url}#token=wrong')
        self.wait_for(lambda: 'wrong token' in self.find('problem').text)
        self.stop(box)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
