# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen run --web and receive --web: the live page in headless Chromium, whose figures are those
of the final report; what a wrong token, a forged Origin and another Host get; options."""

import http.client
import json
import signal
import subprocess

import live_page
import output_schemas
from html_pages import pictures_wanted, take_picture
from longwire_test import BOX, begin, program

GEN = program('roce-gen')

# Frames with faults that a receiver sees: damaged ones count as bad and as lost.
FLOWS = '''
name = "two flows"
[defaults]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 1024
rate = "2000 frames/s"
signature = true
messages = 1000000
[[flow]]
name = "clean"
qps = 2
[[flow]]
name = "faulty"
[[flow.fault]]
kind = "bad_icrc"
rate = "2%"
'''
# What the path between does, for the page of a receiver.
RULES = '''
[[rule]]
name = "path"
match = "rocev2"
delay = "1ms"
loss = "1%"
duplicate = "1%"
mark = {probability = "10%", force = true}
[capacity]
reserve = "5ms"
'''


class Requests(live_page.Served):

    def setUp(self):
        super().setUp()
        (self.folder / 'flows.toml').write_text(FLOWS)

    def run_on_a_ring(self, *options):
        return self.serve(GEN, 'run', self.folder / 'flows.toml', '--port', 'net_ring0', '--receive',
                          'net_ring0', '--quiet', '--web', '0', *options)

    def first_state(self, phase=None):
        """The first event of a page, or the first in `phase`, by the schema. One connection: the
        server has few, and finds out only with its next event that one is closed."""
        client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        try:
            client.request('GET', '/events', None, self.headers())
            for line in map(bytes.decode, client.getresponse()):
                if line == '\n':
                    continue
                self.assertTrue(line.startswith('data: {'), line)
                self.assertEqual(output_schemas.validate(line[6:]), 'live')
                state = json.loads(line[6:])
                if phase in (None, state['phase']):
                    return state
        finally:
            client.close()
        self.fail(f'the page ended without the phase {phase}')

    def test_only_the_page_itself_with_the_token_is_answered(self):
        run = self.run_on_a_ring()
        self.first_state('running')
        for status, changed in (
                (401, {'Authorization': 'Bearer ' + '0' * 32}), (401, {'Authorization': None}),
                (403, {'Origin': 'http://evil.example'}), (403, {'Origin': 'null'}),
                (403, {'Origin': f'http://127.0.0.1:{self.port + 1}'}),
                (403, {'Host': f'evil.example:{self.port}', 'Origin': f'http://evil.example:{self.port}'}),
                (403, {'Host': '127.0.0.1'})):
            with self.subTest(changed=changed):
                found, text, headers = self.request('GET', '/events', **changed)
                self.assertEqual((found, json.loads(text)['ok']), (status, False))
                self.assertNotIn('Access-Control-Allow-Origin', headers)
        self.assertEqual(self.request('GET', '/', Host='evil.example')[0], 403)
        self.assertEqual(self.request('POST', '/do', '{"do":"show"}')[0], 404)  # nothing can be changed
        self.assertEqual(self.request('POST', '/events', '{}')[0], 405)
        status, page, headers = self.request('GET', '/', Authorization=None, Origin=None)
        self.assertEqual(status, 200)
        self.assertNotIn(self.token, page)
        self.assertIn("default-src 'none'", page)
        self.assertIn("connect-src 'self'", page)
        self.assertEqual(headers['Content-Security-Policy'], "frame-ancestors 'none'")
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=30)

    def test_the_state_before_the_links_are_up_and_the_last_one(self):
        run = self.serve(GEN, 'receive', '--port', f'memif:{self.folder}/wire', '--quiet', '--web', '0')
        state = self.first_state()
        self.assertEqual((state['phase'], state['flows']), ('waiting', []))
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=30)
        run = self.run_on_a_ring('--count', '3000', '--json')
        client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        self.addCleanup(client.close)
        client.request('GET', '/events', None, self.headers())
        states = [json.loads(line[6:]) for line in client.getresponse().read().decode().splitlines() if line]
        self.assertEqual(states[-1]['phase'], 'ended')
        report = json.loads(run.communicate(timeout=30)[0])
        self.assertEqual(states[-1]['total']['sent']['frames'], report['frames'])
        self.assertEqual(states[-1]['total']['received']['frames'],
                         sum(flow['frames'] for flow in report['received']['flows']))
        self.assertEqual(sum(count for _, _, count in states[-1]['latencies_ns']),
                         sum(flow['latency_ns']['count'] for flow in report['received']['flows']))

    def refused(self, *options):
        done = subprocess.run([GEN, 'run', str(self.folder / 'flows.toml'), '--count', '10', *map(str, options)],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_options(self):
        ring = ('--port', 'net_ring0')
        self.assertIn('--port PORT is needed', self.refused('--pcap', self.folder / 'x.pcap', '--web', '0'))
        self.assertIn('expected --web-token-file FILE', self.refused(*ring, '--web', '0.0.0.0:0'))
        self.assertIn('expected [ADDRESS:]PORT in numbers', self.refused(*ring, '--web', 'example.com:80'))
        token = self.folder / 'token'
        token.write_text('a-token-of-our-own\n')
        token.chmod(0o644)
        self.assertIn('every user can read it', self.refused(*ring, '--web', '0', '--web-token-file', token))
        token.chmod(0o600)
        done = subprocess.run([GEN, 'run', str(self.folder / 'flows.toml'), '--count', '10', '--port', 'null',
                               '--web', '0.0.0.0:0', '--web-token-file', str(token)],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('live page: http://0.0.0.0:', done.stderr)
        self.assertNotIn('a-token-of-our-own', done.stderr)


class Page(live_page.InBrowser):

    def setUp(self):
        super().setUp()
        (self.folder / 'flows.toml').write_text(FLOWS)

    def rows(self, table):
        """The table's rows by their first cell, each by the columns' titles."""
        titles, *rows = self.js("""return [...document.querySelectorAll(`#${arguments[0]} tr`)]
            .map((row) => [...row.cells].map((cell) => cell.textContent))""", table)
        return {row[0]: dict(zip(titles, row)) for row in rows}

    def count(self, table, row, title):
        return int(self.rows(table).get(row, {}).get(title, '0').replace(',', ''))

    def drawn(self, name):
        """The values of a plot's series."""
        return self.js(f"""const {{uplot}} = document.getElementById('{name}-plot') ?? {{}};
            return uplot?.data.slice(1).map((column) => column.filter((y) => y !== null)) ?? null""")

    def end_run(self, run):
        """Ends a run; its report, once the page shows the end."""
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=30)
        self.wait_for(lambda: 'the final figures' in self.find('about').text)
        return json.loads(out)

    def assert_shown(self, shown, flows):
        """A row of received flows has the sums of the report's flows."""
        # The page has gaps; the report has also the last frames of the profile that never came.
        self.assertLessEqual(int(shown['Lost'].replace(',', '')), sum(flow['lost'] for flow in flows))
        for title, key in (('Frames', 'frames'), ('Duplicated', 'duplicated'),
                           ('Out of order', 'out_of_order'), ('Bad ICRC', 'bad_icrc'), ('CE', 'ce_marks')):
            self.assertEqual(shown[title], f'{sum(flow[key] for flow in flows):,}', title)
        self.assert_time(shown['Max'], max(flow['latency_ns']['max'] for flow in flows))
        self.assert_time(shown['99 %'], max(flow['latency_ns']['p99'] for flow in flows))
        count = sum(flow['latency_ns']['count'] for flow in flows)
        self.assert_time(shown['Latency, mean'],
                         sum(flow['latency_ns']['mean'] * flow['latency_ns']['count'] for flow in flows) / count)

    def assert_time(self, text, ns):
        value, unit = text.split()
        self.assertAlmostEqual(float(value) * {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}[unit] / ns, 1, delta=1e-3)

    def test_what_is_sent_and_received_is_that_of_the_report(self):
        run = self.serve(GEN, 'run', self.folder / 'flows.toml', '--port', 'net_ring0', '--receive', 'net_ring0',
                         '--json', '--quiet', '--web', '0')
        self.open()
        self.assertNotIn(self.token, self.browser.current_url)
        self.assertEqual(self.find('title').text, 'two flows')
        self.wait_for(lambda: self.count('received-flows', 'all', 'Frames') > 8000)
        self.assertEqual(self.rows('sent-flows')['clean (2 QPs)']['Rate asked'], '2000 frames/s')
        self.wait_for(lambda: self.drawn('rate') and len(self.drawn('rate')[0]) >= 4 and self.drawn('damage'))
        sent, received = (sorted(values)[len(values) // 2] for values in self.drawn('rate'))
        self.assertAlmostEqual(sent, 4000 * 1122 * 8, delta=20e6)  # b/s, of frames with what is around them
        self.assertAlmostEqual(received, 4000 * 1098 * 8, delta=20e6)
        self.assertAlmostEqual(sum(self.drawn('loss')[0]) / len(self.drawn('loss')[0]), 1, delta=0.7)  # %: 2 % of half the frames
        self.assertEqual(set(self.drawn('order')[0]), {0})
        self.assertEqual(self.find('verdict').get_attribute('data-colour'), 'red')
        self.assertIn('never came', self.find('notes').text)
        self.assertIn('had a wrong ICRC', self.find('notes').text)
        report = self.end_run(run)
        flows = {name: [flow for flow in report['received']['flows'] if flow['name'] == name]
                 for name in ('clean', 'faulty')}
        shown = self.rows('received-flows')
        self.assert_shown(shown['clean (2 QPs)'], flows['clean'])
        self.assert_shown(shown['faulty'], flows['faulty'])
        self.assert_shown(shown['all'], flows['clean'] + flows['faulty'])
        self.assertGreater(flows['faulty'][0]['bad_icrc'], 0)
        shown = self.rows('sent-flows')
        self.assertEqual([shown[name]['Frames'] for name in ('clean (2 QPs)', 'faulty', 'all')],
                         [f"{n:,}" for n in (*(flow['frames'] for flow in report['flows']), report['frames'])])
        self.assertEqual(shown['all']['Not sent'], '0')
        self.assertEqual(self.browser.get_log('browser'), [])

    def test_the_page_of_a_receiver(self):
        (self.folder / 'rules.toml').write_text(RULES)
        west, east = f'memif:{self.folder}/w', f'memif:{self.folder}/e'
        run = self.serve(GEN, 'receive', '--port', east, '--profile', self.folder / 'flows.toml', '--json',
                         '--quiet', '--web', '0')
        self.open()
        self.assertIn('waits for the links', self.find('about').text)
        begin(self, [*BOX, self.folder / 'rules.toml', '--west', west + ',server',
                     '--east', east + ',server', '--idle', 'yield'])
        begin(self, [GEN, 'run', self.folder / 'flows.toml', '--port', west, '--quiet'])
        self.wait_for(lambda: self.count('received-flows', 'all', 'Frames') > 20_000)
        self.assertFalse(self.find('sent-section').is_displayed())
        if pictures_wanted():
            self.wait_for(lambda: len(self.drawn('rate')[0]) > 40)
            take_picture(self.browser, 'gen-live', height=1100)
        self.assertAlmostEqual(sum(self.drawn('ce')[0]) / len(self.drawn('ce')[0]), 10, delta=3)  # %
        mean, median, most = (values[-1] for values in self.drawn('latency'))
        self.assertLess(1_000_000 * 127 / 128, median)  # ns: the rule's delay, and the page's rounding
        self.assertLess(1_000_000, mean)
        self.assertLessEqual(median, most)
        self.assertGreater(sum(self.drawn('order')[1]), 0)
        report = self.end_run(run)
        self.assert_shown(self.rows('received-flows')['all'], report['flows'])
        self.assertGreater(sum(flow['lost'] for flow in report['flows']), 0)
        self.assertEqual(self.browser.get_log('browser'), [])

    def test_labels_keys_colours_and_a_phone(self):
        run = self.serve(GEN, 'run', self.folder / 'flows.toml', '--port', 'net_ring0', '--receive', 'net_ring0',
                         '--quiet', '--web', '0')
        self.browser.set_window_size(500, 900)
        self.open()
        self.wait_for(lambda: self.drawn('rate') and self.drawn('latency'))
        self.check_access()
        self.assertTrue(self.js("""return [...document.querySelectorAll('.rows, .canvas')].every((one) => one.tabIndex === 0)"""))
        self.find('theme').click()
        self.assertEqual(self.js('return document.documentElement.dataset.theme'), 'dark')
        self.assertEqual(self.browser.get_log('browser'), [])
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=30)

    def test_a_wrong_token_is_said(self):
        run = self.serve(GEN, 'run', self.folder / 'flows.toml', '--port', 'null', '--quiet', '--web', '0')
        self.browser.get(f'{self.url}#token=wrong')
        self.wait_for(lambda: 'wrong token' in self.find('problem').text)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=30)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
