# SPDX-License-Identifier: BSD-3-Clause
"""--html: the page of a run, of each command that has it. Its values beside those of --json, verdict
and exit code, accounts, profile, versions; runs that fail or are stopped; names that try to break
out; and two pages in headless Chromium, which ask the network for nothing."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import pcap_file
from selenium.webdriver.common.by import By

import accessibility
from dissect_report import start_browser
from example_files import EXPERIMENT
from html_pages import page_data, take_picture
import verdict_outputs
from longwire_test import ANY_RATE, BOX, SOURCE, begin, program

GEN, IMPAIR = program('roce-gen'), program('roce-impair')
DEMO = 'profiles/flows/demo.toml'  # as the picture shows it
TIMEOUT = 120
BREAKS_OUT = '</script><img src=x onerror=document.title="owned">'

RULES = f'''[[rule]]
name = '{BREAKS_OUT}'
delay = "1ms"
loss = "10%"
'''
SENDER = f'''[[flow]]
name = '{BREAKS_OUT}'
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "send"
message_size = 1024
rate = "100000 frames/s"
messages = 400
signature = true
'''
BIT_RATES = {'Tb/s': 1e12, 'Gb/s': 1e9, 'Mb/s': 1e6, 'kb/s': 1e3, 'b/s': 1}
PICTURES = {'gen sim': 'network-report', 'gen sim lat': 'perf-report'}
RING = ('--port', 'net_ring0', '--receive', 'net_ring0')


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.page = self.folder / 'page.html'
        self.frames = self.folder / 'frames.pcap'
        pcap_file.write_pcap(self.frames, [(10**9 + 1000 * i, pcap_file.roce_frame(i, 1000))
                                           for i in range(1000)])

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding='utf-8')
        return path

    def run_it(self, *words, code=0):
        done = subprocess.run([*map(str, words), '--html', str(self.page)], capture_output=True,
                              text=True, timeout=TIMEOUT, check=False, cwd=SOURCE)
        if words[1] != 'search' or done.returncode != 1:  # a busy machine may not offer the rates
            self.assertEqual(done.returncode, code, done.stderr)
        return done

    def impaired(self, *words, **settings):
        return self.run_it(IMPAIR, 'replay', self.file('rules.toml', RULES), self.frames,
                           self.folder / 'out.pcap', '--json', *words, **settings)

    def commands(self):
        sender = self.file('sender.toml', SENDER)
        return {
            'gen run': [GEN, 'run', sender, *RING, '--quiet', '--json', *ANY_RATE],
            'gen run into a file': [GEN, 'run', sender, '--pcap', self.folder / 'a.pcap', '--json'],
            'gen receive': [GEN, 'receive', '--port', f'pcap:{self.folder}/a.pcap', '--json'],
            'gen replay': [GEN, 'replay', self.frames, '--pcap', self.folder / 'b.pcap', '--json'],
            'gen search': [GEN, 'search', sender, *RING, '--sizes', '64,256', '--duration', '20ms',
                           '--settle', '20ms', '--resolution', '50%', '--max-rate', '10Mb/s',
                           '--json'],
            'gen sim path': [GEN, 'sim', '--delay', '0us', '-n', '100', '-a', '--json'],
            'gen sim lat': [GEN, 'sim', '--delay', '10us', '-n', '100', '-s', '64',
                             '--pattern', 'lat', '--json'],
            'gen sim ping': [GEN, 'sim', '--delay', '10us', '-n', '100', '-s', '64',
                              '--pattern', 'ping', '--json'],
            'gen sim': [GEN, 'sim', 'long-haul-incast-100km', '--duration', '20ms', '--json'],
            'impair replay': [IMPAIR, 'replay', self.file('rules.toml', RULES), self.frames,
                              self.folder / 'c.pcap', '--json'],
            'impair run': [*BOX, self.folder / 'rules.toml', '--west',
                           f'pcap:{self.frames}', '--east', 'null', '--until-idle', '200ms',
                           '--json'],
        }


class Pages(InFolder):
    def check_page(self, command, reports):
        text = self.page.read_text(encoding='utf-8')
        self.assertNotRegex(text, r'(src|href)=["\']?(http|//)')
        self.assertIn("default-src 'none'", text)
        self.assertNotIn(BREAKS_OUT, text)
        data = page_data(self.page)
        self.assertEqual(data['command'], command)
        self.assertEqual(data['reports'], reports)
        for report, figures in zip(reports, data['figures'], strict=True):
            self.assertEqual(figures['of'], len(figures['rows']))
            rows = {row['path']: row for row in figures['rows']}
            for key, value in report.items():
                if not isinstance(value, (dict, list)):
                    self.assertEqual(rows[key]['value'], value)
                    self.assertTrue(rows[key]['help'], f'{key}: the schema has no description')
        return data

    def test_each_command_writes_its_page(self):
        for name, words in self.commands().items():
            with self.subTest(name):
                done = self.run_it(*words)
                data = self.check_page(f'roce-{" ".join(name.split()[:2])}',
                                       [json.loads(line) for line in done.stdout.splitlines()])
                self.assertEqual(data['verdict']['exit'], done.returncode)
                self.assertEqual(data['verdict']['colour'] == 'red', done.returncode != 0)
                self.assertTrue(data['plots'] or name == 'gen replay')
                self.assertIn(words[1], data['command_line'])
                for account in data['accounts']:
                    if account['identity']:
                        self.assertTrue(account['rows'])
                        self.assertNotIn(False, [row[-1] for row in account['rows']])

    def test_versions_and_machine(self):
        self.impaired()
        data = page_data(self.page)
        said = subprocess.run([IMPAIR, '--version'], capture_output=True, text=True, check=True)
        for name, text in data['versions']:
            self.assertIn(text, said.stdout, name)
        machine = dict(data['machine'])
        self.assertIn(os.uname().release, machine['Kernel'])
        self.assertTrue(machine['Cores'].startswith(f'{len(os.sched_getaffinity(0))} usable'))

    def test_the_profile_is_there_as_it_was_read(self):
        rules = RULES.replace(BREAKS_OUT, 'line')
        base = self.file('base.toml', rules)
        top = self.file('top.toml', 'include = "base.toml"\nseed = 7\n')
        self.run_it(IMPAIR, 'replay', top, self.frames, self.folder / 'out.pcap', '--set',
                    'line.loss=5%')
        data = page_data(self.page)
        self.assertEqual(dict(map(tuple, data['profiles'])),
                         {str(top): top.read_text(), str(base): rules})
        self.assertEqual(data['changes'], ['line.loss=5%'])

    def test_an_experiment(self):
        out = self.folder / 'results'
        self.run_it(GEN, 'experiment', self.file('short.toml', EXPERIMENT), '--out', out)
        report = json.loads((out / 'short.json').read_text(encoding='utf-8'))
        data = self.check_page('roce-gen experiment', [report])
        self.assertEqual(data['plots'][0]['svg'], (out / 'rates.svg').read_text(encoding='utf-8'))

    def test_plots_have_the_values_of_the_report(self):
        self.run_it(*self.commands()['gen sim path'])
        data = page_data(self.page)
        average = next(curve for curve in data['plots'][0]['curves'] if curve['name'] == 'average')
        unit = {'Gb/s': 1, 'Mb/s': 1e3}[data['plots'][0]['y'].split(', ')[1]]
        self.assertEqual([x for x, _ in average['points']],
                         [report['bytes'] for report in data['reports']])
        for (_, y), report in zip(average['points'], data['reports']):
            self.assertAlmostEqual(y / unit, report['bw_average_gbps'], places=9)
        self.run_it(*self.commands()['gen sim lat'])
        data = page_data(self.page)
        points = {curve['name']: curve['points'][0][1] for curve in data['plots'][0]['curves']}
        self.assertEqual(data['plots'][0]['y'], 'latency, us')
        for name, key in (('least', 't_min_usec'), ('50 %', 't_typical_usec'),
                          ('99.9 %', 't_99_9_usec'), ('most', 't_max_usec')):
            self.assertAlmostEqual(points[name], data['reports'][0][key], places=9)

    def totals_over_time(self, title, per_second):
        """What each curve of a plot of rates adds up to, by its name."""
        plot = next(plot for plot in page_data(self.page)['plots'] if plot['title'] == title)
        unit = {**BIT_RATES, 'frames/s': 1}[plot['y'].split(', ')[1]] / per_second
        totals = {}
        for curve in plot['curves']:
            self.assertEqual(curve['of'], len(curve['points']), 'thinned')
            times = [0, *(x for x, _ in curve['points'])]
            totals[curve['name']] = sum((x - before) * y * unit
                                        for (x, y), before in zip(curve['points'], times))
        return totals

    def assert_totals(self, totals, expected):
        self.assertEqual(set(totals), set(expected))
        for name, value in expected.items():
            self.assertAlmostEqual(totals[name], value, delta=1e-6 * value + 1e-6, msg=name)

    def sender(self):
        return self.file('sender.toml', SENDER.replace(BREAKS_OUT, 'flow'))

    def test_rates_over_time_add_up_to_what_was_sent_and_received(self):
        done = self.run_it(GEN, 'run', self.sender(), *RING, *ANY_RATE, '--quiet', '--json', '--set',
                           'flow.messages=40000')
        report = json.loads(done.stdout)
        sent = report['bytes'] + 24 * report['frames']  # FCS, preamble, gap
        self.assert_totals(self.totals_over_time('Rate over time', 8), {'sent': sent, 'received': sent})
        self.assert_totals(self.totals_over_time('Loss over time', 1), {'lost': 0})
        self.run_it(*self.commands()['impair replay'])
        direction = page_data(self.page)['reports'][0]['directions'][0]
        self.assertGreater(direction['dropped_by_rule']['frames'], 0)
        self.assert_totals(self.totals_over_time('Rate over time', 8),
                           {'west to east, in': direction['received']['bytes'],
                            'west to east, out': direction['sent']['bytes']})
        self.assert_totals(self.totals_over_time('Dropped by rules over time', 1),
                           {'west to east': direction['dropped_by_rule']['frames']})

    def test_rates_over_time_of_a_box_between_two_generators(self):
        west, east = (f'memif:{self.folder}/{side}' for side in 'we')
        ready = self.folder / 'ready'
        box = begin(self, [*BOX, self.file('rules.toml', RULES), '--west', f'{west},server', '--east',
                           f'{east},server', '--ready-file', ready, '--html', self.page, '--json'])
        far_page = self.folder / 'far.html'
        far = begin(self, [GEN, 'receive', '--port', east, '--until-idle', '500ms', '--html', far_page, '--json'])
        near = begin(self, [GEN, 'run', self.sender(), '--port', west, '--set',
                            'flow.messages=20000', '--set', 'flow.rate=20000 frames/s', '--quiet', '--json'])
        sent = json.loads(near.communicate(timeout=TIMEOUT)[0])
        self.assertIn(near.returncode, (0, 1))
        received = json.loads(far.communicate(timeout=TIMEOUT)[0])
        box.terminate()
        direction = json.loads(box.communicate(timeout=TIMEOUT)[0])['directions'][0]
        # After a pause of the machine, what the link has no room for is not sent.
        self.assertEqual(direction['received']['frames'], sum(flow['frames'] for flow in sent['flows']))
        self.assert_totals(self.totals_over_time('Rate over time', 8),
                           {'west to east, in': direction['received']['bytes'],
                            'west to east, out': direction['sent']['bytes']})
        self.page = far_page
        self.assert_totals(self.totals_over_time('Rate over time', 8),
                           {'received': sum(flow['bytes'] + 24 * flow['frames'] for flow in received['flows'])})

    def test_a_run_that_fails_its_expectation(self):
        self.impaired('--expect', 'directions.west-to-east.sent.frames == 0', code=1)
        data = page_data(self.page)
        verdict = data['verdict']
        self.assertEqual((verdict['exit'], verdict['colour']), (1, 'red'))
        row, = verdict_outputs.named(verdict, 'directions.west-to-east.sent.frames')
        sent = data['reports'][0]['directions'][0]['sent']['frames']
        self.assertEqual((row['measured'], row['result']), (sent, 'does not hold'))
        self.assertTrue(verdict['headline'].startswith('does not hold: '))

    def test_an_output_that_fails_is_on_the_page(self):
        (self.folder / 'o.jsonl').symlink_to('/dev/full')
        done = self.impaired('--ledger', self.folder / 'o.jsonl', code=3)
        data = page_data(self.page)
        self.assertEqual((data['verdict']['exit'], data['verdict']['colour']), (3, 'red'))
        self.assertIn(done.stderr.splitlines()[-1], data['verdict']['errors'])

    def test_a_run_that_is_stopped(self):
        ready = self.folder / 'ready'
        ports = ('--west', 'net_ring0', '--east', 'net_ring1', '--ready-file', ready)
        for number in signal.SIGINT, signal.SIGTERM:
            ready.unlink(missing_ok=True)
            self.page.unlink(missing_ok=True)
            run = begin(self, [*BOX, self.file('rules.toml', RULES), *ports, '--html',
                               self.page, '--json'])
            while not ready.exists() and run.poll() is None:
                time.sleep(0.02)
            run.send_signal(number)
            out, error = run.communicate(timeout=TIMEOUT)
            self.assertEqual(run.returncode, 0, error)
            self.assertEqual(page_data(self.page)['reports'], [json.loads(out)])

    def test_what_is_refused_writes_nothing(self):
        self.page.write_text('before', encoding='utf-8')
        self.run_it(IMPAIR, 'replay', self.file('wrong.toml', 'nonsense = 1\n'), self.frames,
                    self.folder / 'out.pcap', code=2)
        self.assertEqual(self.page.read_text(encoding='utf-8'), 'before')
        self.page = '-'
        done = self.run_it(GEN, 'sim', '--delay', '0us', '-n', '1', code=2)
        self.assertIn('--html', done.stderr)
        self.page = self.frames
        done = self.run_it(GEN, 'receive', '--port', f'pcap:{self.frames}', code=2)
        self.assertIn('--html', done.stderr)


class Browser(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.addClassCleanup(cls.profile.cleanup)
        cls.browser = start_browser(cls.profile.name)
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        super().setUp()
        self.browser.get('about:blank')
        self.browser.get_log('performance')

    def tearDown(self):
        """No request but the page's own, and nothing on the console."""
        events = [json.loads(entry['message'])['message']
                  for entry in self.browser.get_log('performance')]
        urls = {event['params']['request']['url'] for event in events
                if event['method'] == 'Network.requestWillBeSent'}
        self.assertEqual(urls, {self.page.as_uri()})
        self.assertEqual(self.browser.get_log('browser'), [])

    def open(self):
        self.browser.get(self.page.as_uri())
        self.assertEqual(self.js('return document.documentElement.dataset.ready'), 'true')
        self.assertNotEqual(self.js('return document.title'), 'owned')
        self.assertEqual(self.js('return document.querySelectorAll("img").length'), 0)

    def js(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def check_that_tables_sort_and_filter(self):
        self.assertEqual(self.js("""return [...document.querySelectorAll('table.data')].filter((table) =>
            !document.getElementById(`${table.id}-filter`) || !table.querySelector('th button')).map((table) => table.id)"""), [])

    def rows(self, table):
        return self.js('''return [...document.querySelectorAll(`#${arguments[0]} tbody tr`)]
            .map((row) => [...row.cells].map((cell) => cell.textContent));''', table)

    def test_an_impaired_replay(self):
        report = json.loads(self.impaired('--expect', 'seconds >= 0').stdout)
        self.open()
        self.assertRegex(self.browser.find_element(By.ID, 'outcome').text, r'^holds: \d+ statements')
        self.browser.find_element(By.ID, 'figures-0-filter').send_keys('sent.frames')
        shown = {row[0]: row[2] for row in self.rows('figures-0')}
        direction = report['directions'][0]
        self.assertEqual(shown['directions.west-to-east.sent.frames'],
                         str(direction['sent']['frames']))
        account = self.rows('account-0')[1]
        self.assertEqual(account[0], f'west-to-east, {BREAKS_OUT}')
        self.assertEqual(account[1].replace(',', ''), str(direction['received']['frames']))
        self.assertEqual(account[-1], 'yes')
        self.assertIn(BREAKS_OUT, self.browser.find_element(By.ID, 'profile-0').text)

    def test_a_run_and_the_picture_of_the_manual(self):
        report = json.loads(self.run_it(GEN, 'run', DEMO, *RING, *ANY_RATE, '--quiet', '--json', '--duration',
                                        '500ms').stdout)
        self.open()
        flows = self.rows('account-1')
        self.assertEqual([row[0] for row in flows],
                         [flow['name'] for flow in report['received']['flows']])
        self.assertEqual([row[1].replace(',', '') for row in flows],
                         [str(flow['sent']) for flow in report['received']['flows']])
        names = self.js('''return [...document.querySelectorAll('.chart svg')]
            .map((svg) => [svg.getAttribute('role'), svg.getAttribute('aria-label')]);''')
        self.assertEqual(len(names), len(page_data(self.page)['plots']))
        for role, label in names:
            self.assertEqual(role, 'img')
            self.assertRegex(label, r'.+\. .+ over .+\. Curves: .+')
        take_picture(self.browser, 'run-report', height=1200)

    def test_an_experiment_begins_with_what_differs_most(self):
        out = self.folder / 'results'
        self.run_it(GEN, 'experiment', 'apn-380km-latency', '--out', out)
        compared = json.loads((out / 'apn-380km-latency.json').read_text(encoding='utf-8'))['comparisons']
        self.open()
        rows = self.rows('requested-values')
        self.assertEqual(len(rows), len(compared))
        self.assertEqual(len({row[0] for row in rows}), len(rows))  # each row has a name of its own
        self.assertNotIn('{', ''.join(row[0] for row in rows))
        far = [abs(float(row[3].removesuffix(' %'))) for row in rows]
        self.assertEqual(far, sorted(far, reverse=True))
        # The comparison is above the plots; a plot is as wide as the page; the figures are folded.
        places = self.js("""return ['requested-title', 'plots-title', 'figures-title'].map((id) =>
            document.getElementById(id).getBoundingClientRect().top)""")
        self.assertEqual(places, sorted(places))
        self.assertGreater(self.js("""return document.querySelector('#plot-0').clientWidth /
            document.querySelector('#plots-place').clientWidth"""), 0.95)
        self.assertFalse(self.js("return document.getElementById('figures-fold').open"))
        self.check_that_tables_sort_and_filter()
        # No word is broken.
        self.assertEqual(self.js("return getComputedStyle(document.querySelector('table.data td')).overflowWrap"), 'break-word')
        self.assertEqual(accessibility.does_not_fit(self.browser), [])
        take_picture(self.browser, 'experiment-report', height=1200)
        for theme in 'light', 'dark':
            self.assertEqual(accessibility.findings(self.browser), [], theme)
            self.browser.find_element(By.ID, 'theme').click()

    def test_no_barriers_in_both_themes(self):
        """On a page of each command."""
        for name, words in self.commands().items():
            self.run_it(*words)
            self.open()
            with self.subTest(name):
                self.check_that_tables_sort_and_filter()
                self.assertEqual(accessibility.does_not_fit(self.browser), [])
            for theme in 'light', 'dark':
                with self.subTest(name, theme=theme):
                    self.assertEqual(accessibility.findings(self.browser), [])
                    self.assertEqual(self.js('return document.documentElement.dataset.theme'), theme)
                self.browser.find_element(By.ID, 'theme').click()
            if name in PICTURES:
                take_picture(self.browser, PICTURES[name], height=1000)

    def test_the_sizes_of_perf_are_rows_of_one_table(self):
        self.run_it(*self.commands()['gen sim path'])
        self.open()
        sizes = [str(2**i) for i in range(1, 24)]
        self.assertEqual([row[0].replace(',', '') for row in self.rows('account-0')], sizes)
        self.browser.find_element(By.ID, 'figures-0-filter').send_keys('bw_average_gbps')
        self.assertEqual([row[0] for row in self.rows('figures-0')], [f'{size} B' for size in sizes])
        self.assertEqual(self.js("""return ['accounts', 'figures'].map((name) =>
            document.querySelectorAll(`#${name}-place table`).length)"""), [1, 1])

    def test_keyboard_dark_and_print(self):
        self.impaired()
        self.open()
        ground = 'return getComputedStyle(document.querySelector(".chart svg > rect")).fill'
        light = self.js(ground)
        self.browser.find_element(By.ID, 'theme').send_keys('\n')
        self.assertNotEqual(self.js(ground), light)
        summary = self.browser.find_element(By.CSS_SELECTOR, '#plot-0 summary')
        summary.send_keys('\n')
        deadline = time.monotonic() + TIMEOUT
        while not self.rows('plot-0-values'):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        data = page_data(self.page)
        self.assertEqual(len(self.rows('plot-0-values')),
                         sum(len(curve['points']) for curve in data['plots'][0]['curves']))
        self.js('dispatchEvent(new Event("beforeprint"))')
        self.assertEqual(self.js('return document.documentElement.dataset.theme'), 'light')


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
