# SPDX-License-Identifier: BSD-3-Clause
"""roce-dissect report: the page in headless Chromium. Its values beside those of sessions and
anomalies; sorting, filtering, an anomaly's place in the plot, keyboard, dark, print; names that try to
break out; a large capture; and that it asks the network for nothing."""

import gzip
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import accessibility
from html_pages import page_data, pixels, take_picture
from capture_files import RXE, captures
from longwire_test import SOURCE, program
from pcap_file import read_pcap
from pcapng_file import write_pcapng

LOSS = RXE / 'loss_write_sender_side.pcap'
CLEAN = RXE / 'cm_rping.pcap'
BREAKS_OUT = '</script><img src=x onerror=document.title="owned">'
WINDOW = 1280, 1400  # CSS pixels
WAIT = 60  # s: Chromium on a busy machine
CLICK_AGAIN = 5  # s: a click is lost where the page moves under it


def dissect(*words, **settings):
    return subprocess.run([program('roce-dissect'), *map(str, words)], capture_output=True,
                          check=False, **settings)


def rows_of(command, *words):
    """The JSON lines of a command, in order."""
    done = dissect(command, *words, '--json')
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def table_of(table):
    return [dict(zip(table['columns'], row)) for row in table['rows']]


def start_browser(folder):
    """A headless browser with a profile of its own, which has gone when it quits."""
    options = Options()
    options.binary_location = shutil.which('chromium') or '/usr/bin/chromium'
    for word in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
                 f'--window-size={WINDOW[0]},{WINDOW[1]}', '--force-prefers-reduced-motion',
                 f'--user-data-dir={folder}/profile'):
        options.add_argument(word)
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    driver = shutil.which('chromedriver') or '/usr/bin/chromedriver'
    return webdriver.Chrome(service=Service(driver), options=options)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def report(self, *files, name='report.html'):
        path = self.folder / name
        done = dissect('report', *files, '-o', path, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path


class Page(InFolder):
    @classmethod
    def setUpClass(cls):
        cls.profile = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.addClassCleanup(cls.profile.cleanup)
        cls.browser = start_browser(cls.profile.name)
        cls.addClassCleanup(cls.browser.quit)

    def tearDown(self):
        """Whatever a test did: no request but the page's own, and nothing on the console."""
        urls = [event['params']['request']['url'] for event in self.events()
                if event['method'] == 'Network.requestWillBeSent']
        self.assertEqual([url for url in urls if not url.startswith('file://')], [])
        self.assertEqual(set(urls), self.opened)
        self.assertEqual(self.browser.get_log('browser'), [])

    def events(self):
        return [json.loads(entry['message'])['message']
                for entry in self.browser.get_log('performance')]

    def setUp(self):
        super().setUp()
        self.opened = set()
        self.browser.get('about:blank')
        self.events()

    def open(self, path, anchor=''):
        self.browser.get('about:blank')
        self.browser.get(path.as_uri() + anchor)
        self.opened.add(path.as_uri())
        self.wait_for(lambda: self.js('return document.documentElement.dataset.ready') == 'true')

    def js(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def wait_for(self, done):
        end = time.monotonic() + WAIT
        while not done():
            self.assertLess(time.monotonic(), end, 'the page does not get there')
            time.sleep(0.02)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def cells(self, table, title):
        """The texts of a column, from top to bottom."""
        return self.js('''const [id, title] = arguments;
            const heads = [...document.querySelectorAll(`#${id} th`)].map((th) => th.textContent);
            return [...document.querySelectorAll(`#${id} tbody tr`)]
                .map((row) => row.cells[heads.indexOf(title)].textContent);''', table, title)

    def click(self, element):
        self.js('arguments[0].scrollIntoView({block: "center"})', element)
        element.click()

    def click_until(self, element, done):
        end = time.monotonic() + WAIT
        while not done():
            self.assertLess(time.monotonic(), end, 'the page does not get there')
            self.click(element)
            again = time.monotonic() + CLICK_AGAIN
            while not done() and time.monotonic() < again:
                time.sleep(0.02)

    def head(self, table, title):
        return next(button for button in
                    self.browser.find_elements(By.CSS_SELECTOR, f'#{table} th button')
                    if button.text.rstrip(' ▲▼') == title)

    def sort(self, table, title):
        self.click(self.head(table, title))
        return self.head(table, title).find_element(By.XPATH, '..').get_attribute('aria-sort')

    def filter(self, table, words):
        field = self.find(f'#{table}-filter')
        field.clear()
        field.send_keys(words)

    def view(self):
        """The span of the PSN plot in seconds, and the session that it shows."""
        shown = self.find('#psn-figure')
        return (float(shown.get_attribute('data-from')), float(shown.get_attribute('data-to')),
                shown.get_attribute('data-connection'))

    def pixels(self, plot, colour):
        return pixels(self.browser, plot, colour)

    def test_values_are_those_of_sessions_and_anomalies(self):
        self.open(self.report(LOSS))
        sessions, anomalies = rows_of('connections', LOSS), rows_of('anomalies', LOSS)
        messages = rows_of('messages', LOSS, '--by', 'operation')
        self.assertEqual(self.cells('anomalies', 'Display filter'), [row['display_filter'] for row in anomalies])
        self.assertEqual(self.cells('connections', 'Retransmitted'), [str(row['retransmitted']) for row in sessions])
        self.assertEqual(self.cells('connections', 'NAKs'),
                         [str(sum(row['naks'].values())) for row in sessions])
        self.assertEqual(self.cells('connections', 'Messages'), [str(row['messages']) for row in sessions])
        self.assertEqual(self.cells('anomalies', 'Frame'), [str(row['frame']) for row in anomalies])
        self.assertEqual(self.cells('anomalies', 'Kind'), [row['kind'] for row in anomalies])
        self.assertEqual(self.cells('messages', 'Operation'), [row['operation'] for row in messages])
        self.assertEqual(self.cells('messages', 'Messages'), [str(row['messages']) for row in messages])
        said = json.loads(dissect('explain', LOSS, '--json').stdout)
        shown = self.find('#verdict').text
        for statement in said['statements']:
            self.assertIn(statement['text'], shown)
        self.assertIn(said['congestion']['reason'], shown)
        self.assertEqual(self.find('#title').text, str(LOSS))

    def test_the_plots_have_every_packet_of_a_small_capture(self):
        for path in captures():
            with self.subTest(path.stem):
                data = page_data(self.report(path))
                rows = {(row['connection'], row['direction']): row for row in rows_of('connections', path)}
                for plots in data['plots']:
                    row = rows[plots['connection'], plots['direction']]
                    self.assertEqual(len(plots['retransmitted']['t']), row['retransmitted'])
                    self.assertEqual(sum(plots['intervals']['payload']), row['payload_bytes'])
                    self.assertEqual(sum(plots['intervals']['ce']), row['ce'])
                    self.assertEqual(sum(plots['intervals']['cnps']), row['cnps'])
                    self.assertEqual(len(plots['naks']['t']),
                                     sum(row['naks'].values()) + row['rnr_naks'])
                    self.assertEqual(len(plots['rtt']['t']), row['rtt_samples'])
                    requests = sum(len(plots[name]['t']) for name in ('requests', 'retransmitted', 'late'))
                    if row['transport'] != 'UD':
                        self.assertEqual(requests, row['requests'])

    def test_marks_are_drawn_and_legends_hide_them(self):
        self.open(self.report(LOSS))
        self.assertGreater(self.pixels('psn', '--vermilion'), 100)
        self.assertGreater(self.pixels('psn', '--orange'), 20)
        self.assertGreater(self.pixels('goodput', '--blue'), 20)
        button = next(one for one in self.browser.find_elements(
            By.CSS_SELECTOR, '#psn-figure .legend button') if one.text == 'retransmitted')
        button.send_keys(Keys.ENTER)
        self.assertEqual(button.get_attribute('aria-pressed'), 'false')
        self.wait_for(lambda: self.pixels('psn', '--vermilion') == 0)

    def name_the_page(self, *captures):
        """By the names of files without their folders, which are this machine's."""
        self.js("document.getElementById('title').textContent = arguments[0]", ', '.join(path.name for path in captures))

    def test_the_picture_of_the_manual(self):
        self.open(self.report(LOSS))
        self.name_the_page(LOSS)
        self.click(self.find('#theme'))
        take_picture(self.browser, 'report-phone', width=400)
        self.click(self.find('#theme'))
        self.click(self.find('#anomaly-3 a'))
        take_picture(self.browser, 'report', of=self.find('.plots'))

    def test_headers_sort_by_mouse_and_keyboard(self):
        self.open(self.report(LOSS))
        costs = {str(row['frame']): row['duration_ns'] for row in rows_of('anomalies', LOSS)
                 if row['kind'] == 'retransmission'}
        self.filter('anomalies', 'retransmission')
        self.assertEqual(self.sort('anomalies', 'Cost'), 'descending')
        self.assertEqual(self.cells('anomalies', 'Frame'),
                         sorted(costs, key=costs.get, reverse=True))
        self.head('anomalies', 'Cost').send_keys(Keys.ENTER)
        self.assertEqual(self.cells('anomalies', 'Frame'), sorted(costs, key=costs.get))
        self.assertEqual(self.sort('anomalies', 'Frame'), 'descending')
        frames = [int(frame) for frame in self.cells('anomalies', 'Frame')]
        self.assertEqual(frames, sorted(frames, reverse=True))

    def test_the_filter_wants_all_words(self):
        self.open(self.report(LOSS))
        rows = rows_of('anomalies', LOSS)
        for words, wanted in (('retransmission', lambda row: row['kind'] == 'retransmission'),
                              ('retransmission arrive', lambda row: row['cause'] == 'ack_lost'),
                              ('no such word', lambda row: False)):
            self.filter('anomalies', words)
            expected = [str(row['frame']) for row in rows if wanted(row)]
            self.assertEqual(self.cells('anomalies', 'Frame'), expected)
            self.assertEqual(self.find('#anomalies-count').text, f'{len(expected)} of {len(rows)} rows')
        self.click(self.find('.statement button'))  # "in the table" of the first statement
        self.assertEqual(set(self.cells('anomalies', 'Kind')), {'retransmission'})

    def test_an_anomaly_leads_to_its_place(self):
        page = self.report(LOSS)
        rows = rows_of('anomalies', LOSS)
        begin = read_pcap(LOSS)[0][0]
        for number in (1, 3, len(rows)):
            row = rows[number - 1]
            self.open(page)
            whole = self.view()
            link = self.find(f'#anomaly-{number} a')
            self.assertEqual(link.text, str(row['frame']))
            self.click_until(link, lambda: self.view() != whole)
            low, high, session = self.view()
            at = (row['time_ns'] - begin) / 1e9
            self.assertEqual(session, f"{row['connection']}.{row['direction']}")
            self.assertTrue(low <= at <= high, (low, at, high))
            self.assertEqual(self.find('#anomalies tr[aria-current=true]').get_attribute('id'),
                             f'anomaly-{number}')
            self.assertIn(f"{row['kind']} in frame {row['frame']}", self.find('#chosen').text)
            self.assertGreater(self.pixels('psn', '--bad'), 50)  # the line and the ring
            # The address leads there again.
            self.wait_for(lambda: f'anomaly={number}' in self.js('return location.hash'))
            self.open(page, self.js('return location.hash'))
            again = self.view()
            self.assertEqual(again[2], session)
            self.assertTrue(again[0] <= at <= again[1], again)

    def test_the_keyboard_moves_and_zooms(self):
        self.open(self.report(LOSS))
        plot = self.find('#psn')
        first, last, _ = self.view()
        plot.send_keys('+')
        low, high, _ = self.view()
        self.assertAlmostEqual(high - low, (last - first) / 2, places=9)
        plot.send_keys(Keys.ARROW_RIGHT)
        moved = self.view()
        self.assertAlmostEqual(moved[0] - low, (high - low) / 5, places=9)
        plot.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        self.assertLess(self.view()[0], low)
        plot.send_keys('-', '-')
        self.assertEqual(self.view()[:2], (first, last))
        plot.send_keys('+', '+', '0')
        self.assertEqual(self.view()[:2], (first, last))
        spans = self.js('''return ['psn', 'rtt', 'outstanding', 'goodput'].map(
            (id) => document.querySelector(`#${id} canvas`) !== null)''')
        self.assertEqual(spans, [True] * 4)
        self.find('#connection').send_keys(Keys.ARROW_DOWN)
        self.wait_for(lambda: self.view()[2] != '1.0')

    def media(self, **settings):
        self.browser.execute_cdp_cmd('Emulation.setEmulatedMedia', settings)

    def background(self):
        return self.js('return getComputedStyle(document.body).backgroundColor')

    def test_dark_light_and_print(self):
        self.addCleanup(self.media, media='', features=[])
        self.open(self.report(LOSS))
        light = self.background()
        self.media(features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
        self.wait_for(lambda: self.background() != light)
        self.assertGreater(self.pixels('psn', '--vermilion'), 100)  # that of the dark theme
        self.click(self.find('#theme'))
        self.assertEqual(self.background(), light)
        self.media(media='print')
        self.assertEqual(self.js('''return ['.bar', '#controls', '.readout'].map((selector) =>
            getComputedStyle(document.querySelector(selector)).display)'''), ['none'] * 3)
        self.assertEqual(self.background(), 'rgb(255, 255, 255)')

    def test_no_barriers_in_both_themes(self):
        for path in LOSS, CLEAN:
            self.open(self.report(path))
            with self.subTest(path.stem):
                self.assertEqual(accessibility.does_not_fit(self.browser), [])
            for theme in 'light', 'dark':
                with self.subTest(path.stem, theme=theme):
                    self.assertEqual(accessibility.findings(self.browser), [])
                    self.assertEqual(self.js('return document.documentElement.dataset.theme'), theme)
                self.click(self.find('#theme'))

    def test_nothing_is_wrong_with_a_clean_capture(self):
        self.open(self.report(CLEAN))
        self.assertIn('Nothing is wrong', self.find('#verdict').text)
        self.assertIn('Was it congestion?\nNo', self.find('[data-question="congestion"]').text)
        self.assertEqual(self.cells('anomalies', 'Frame'), [])
        self.assertEqual(self.pixels('psn', '--vermilion'), 0)

    def two_captures(self):
        """Both ends of a path that loses packets of three QPs."""
        taps = {'near': ('client-out', 'client-in'), 'far': ('server-in', 'server-out')}
        for name, points in taps.items():
            both = self.folder / f'{name}.pcapng'
            subprocess.run([program('roce-gen'), 'sim', '--delay', '1900us', '--loss', '2%', '--seed', '3',
                            '-n', '60', '-q', '3', '-s', '4K', '-t', '8', '--pcap', both,
                            *(word for point in points for word in ('--pcap-at', point))],
                           check=True, capture_output=True)
            subprocess.run([program('roce-gen'), 'replay', both, '--pcap', self.folder / f'{name}.pcap'],
                           check=True, capture_output=True)
        return self.folder / 'near.pcap', self.folder / 'far.pcap'

    def check_the_path(self, compared):
        """The section "Between the points": lost frames, their marks, a flow alone, the distribution."""
        ways = compared['directions']
        frames = [one for way in ways for one in way['lost_frames']]
        self.assertGreater(len(frames), 3)
        self.assertEqual(self.cells('lost', 'PSN'), [str(one['psn']) for one in frames])
        self.assertEqual(self.cells('lost', 'Packet'), [one['opcode'] for one in frames])
        self.assertGreater(self.pixels('path-delay', '--blue'), 50)
        self.assertGreater(self.pixels('path-delay', '--green'), 50)
        self.assertGreater(self.pixels('path-delay', '--vermilion'), 5 * ways[0]['lost'])
        self.assertGreater(self.pixels('path-distribution', '--blue'), 50)
        flows = self.js('return [...document.querySelectorAll("#path-flow option")].map((o) => o.textContent)')
        self.assertEqual(len(flows), 7)  # all, and three QPs each way
        lost = [int(flow.split(': ')[-1].split()[0]) for flow in flows[1:]]
        self.assertEqual(sum(lost), len(frames))
        self.js('''const list = document.getElementById('path-flow');
            list.value = '0.1'; list.dispatchEvent(new Event('change'));''')
        self.assertEqual(self.pixels('path-delay', '--green'), 0)
        self.assertGreater(self.pixels('path-delay', '--vermilion'), 0)
        plot = self.find('#path-delay')
        span = lambda: float(self.find('#path-delay-figure').get_attribute('data-to')) - float(
            self.find('#path-delay-figure').get_attribute('data-from'))
        whole = span()
        plot.send_keys('+')
        self.assertAlmostEqual(span(), whole / 2, places=9)

    def check_access(self):
        for theme in 'light', 'dark':
            with self.subTest(theme=theme):
                self.assertEqual(accessibility.findings(self.browser), [])
            self.click(self.find('#theme'))

    def test_two_captures_have_the_path_between_them(self):
        captures_of = self.two_captures()
        compared = json.loads(dissect('compare', *captures_of, '--json').stdout)
        self.open(self.report(*captures_of))
        self.check_the_path(compared)
        self.open(self.report(captures_of[0]))
        self.assertFalse(self.find('#path').is_displayed())

    def test_the_page_of_a_comparison(self):
        captures_of = self.two_captures()
        page = self.folder / 'compare.html'
        done = dissect('compare', *captures_of, '--loss', '2%', '--html', page, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        compared = json.loads(dissect('compare', *captures_of, '--json').stdout)
        self.open(page)
        self.assertEqual(self.find('#text').text, done.stdout.split('\n', 1)[1].strip())
        self.assertEqual(self.find('#outcome').get_attribute('data-colour'), 'green')
        self.assertEqual(self.cells('directions', 'Lost'), [str(way['lost']) for way in compared['directions']])
        self.assertEqual(self.find('#title').text, ', '.join(map(str, captures_of)))
        self.check_the_path(compared)
        self.assertEqual(self.cells('lost', 'Frame'),
                         [str(one['frame']) for way in compared['directions'] for one in way['lost_frames']])
        self.assertEqual(accessibility.does_not_fit(self.browser), [])
        self.check_access()
        self.name_the_page(*captures_of)
        take_picture(self.browser, 'compare-report', height=1000)

    def test_outages_and_steps_are_moments_of_the_page(self):
        near, far, page = (self.folder / name for name in ('near.pcap', 'far.pcap', 'compare.html'))
        subprocess.run([program('roce-gen'), 'run', 'ipv4-rc-send', '--set', 'ipv4-rc-send.rate=100 frames/s',
                        '--set', 'ipv4-rc-send.messages=120', '--pcap', near], check=True, capture_output=True)
        subprocess.run([program('roce-impair'), 'replay', 'protection-switch', near, far], check=True,
                       capture_output=True)
        dissect('compare', near, far, '--html', page)
        self.open(page)
        self.assertEqual(self.find('#path-delay-figure').get_attribute('data-moments'), '3')
        self.assertGreater(self.pixels('path-delay', '--bad'), 50)
        self.assertIn('outage: all 5 packets of 40 ms were lost', self.find('#path-left').text)
        self.assertIn('+193.4 us', self.find('#path-left').text)
        dissect('compare', near, LOSS, '--html', page)
        self.open(page)
        self.assertIn('No packet was seen at both points', self.find('#path-distribution-figure').text)
        self.assertGreater(self.pixels('path-delay', '--vermilion'), 5)

    def test_every_session_of_every_capture_is_shown(self):
        far = self.folder / 'far.pcapng'  # stamps of a damaged capture
        frames = [data for _, data in read_pcap(LOSS)]
        write_pcapng(far, ['a'], [(0, 2**62 * (i % 2) + i, data) for i, data in enumerate(frames)])
        one_way = self.folder / 'one_way.pcapng'
        write_pcapng(one_way, ['a'], [(0, *frame) for frame in read_pcap(LOSS) if frame[1][29] == 2])
        said = {}
        for path in (far, one_way, *sorted(RXE.glob('*.pcap'))):
            self.open(self.report(path))
            for key in self.js('return [...document.querySelectorAll("#connection option")].map((o) => o.value)'):
                self.js('''const list = document.getElementById('connection');
                    list.value = arguments[0]; list.dispatchEvent(new Event('change'));''', key)
                self.assertEqual(self.view()[2], key)
                self.assertLess(self.view()[0], self.view()[1])
                said.setdefault(path, []).append(self.find('#outstanding-figure').text)
        self.assertIn('Not known: no acknowledgement was captured', ' '.join(said[one_way]))
        self.assertIn('No request was captured', ' '.join(said[one_way]))

    def test_a_capture_without_roce(self):
        empty = self.folder / 'empty.pcapng'
        write_pcapng(empty, ['a'], [(0, 10**9, bytes(60))])
        self.open(self.report(empty))
        self.assertFalse(self.find('#plots').is_displayed())
        self.assertIn('1 frame, 0 of RoCE', self.find('#about').text)

    def test_names_cannot_break_out(self):
        capture = self.folder / BREAKS_OUT.replace('/', '')
        write_pcapng(capture, [BREAKS_OUT], [(0, stamp, data) for stamp, data in read_pcap(LOSS)])
        page = self.report(capture)
        shown = page_data(page)['connections']
        self.assertEqual(shown['rows'][0][shown['columns'].index('point')], BREAKS_OUT)
        self.open(page)
        self.assertEqual(self.js('return document.querySelectorAll("img").length'), 0)
        self.assertIn('roce-dissect report', self.js('return document.title'))
        self.assertEqual(self.cells('connections', 'Point')[0], BREAKS_OUT)
        self.assertEqual(self.find('#title').text, str(capture))
        # Nor does a script that is not the page's run: the policy forbids it.
        self.js('''const made = document.createElement('script');
            made.textContent = 'document.title = "owned"'; document.body.append(made);''')
        self.assertNotEqual(self.js('return document.title'), 'owned')
        self.assertIn('Content Security Policy', self.browser.get_log('browser')[0]['message'])

    def test_a_large_capture_is_thinned(self):
        big = self.folder / 'big.pcapng'
        subprocess.run([program('roce-gen'), 'sim', '--delay', '10us', '--op', 'write', '-s',
                        '4KiB', '-n', '3000', '-q', '20', '--loss', '2%', '--pcap', big, '--pcap-at',
                        'client-out', '--pcap-at', 'client-in'], check=True, capture_output=True)
        page = self.report(big)
        self.assertLess(page.stat().st_size, 8_000_000)
        data, rows = page_data(page), rows_of('connections', big)
        self.assertEqual(data['connections']['of'], 20)
        self.assertEqual(len({plots['connection'] for plots in data['plots']}), 16)
        by_key = {(row['connection'], row['direction']): row for row in rows}
        # The worst have plots, and none of their events is left out before plain packets.
        trouble = {row['connection']: row['recoveries'] + sum(row['naks'].values()) for row in rows}
        self.assertEqual(data['plots'][0]['connection'] in
                         sorted(trouble, key=trouble.get, reverse=True)[:3], True, trouble)
        for plots in data['plots']:
            row = by_key[plots['connection'], plots['direction']]
            self.assertLessEqual(len(plots['requests']['t']), 1500 + 2500)
            self.assertEqual(plots['requests']['of'] + plots['retransmitted']['of'] + plots['late']['of'],
                             row['requests'])
            self.assertEqual(len(plots['naks']['t']), sum(row['naks'].values()))
            self.assertEqual(plots['retransmitted']['of'], row['retransmitted'])
            if row['retransmitted'] <= 2500:
                self.assertEqual(len(plots['retransmitted']['t']), row['retransmitted'])
            # However a series is thinned, its extremes stay; each WRITE is one packet of 4 KiB.
            self.assertEqual(max(sum_up(plots['outstanding']['y'])), row['most_outstanding'] * 4096)
            self.assertEqual(min(sum_up(plots['rtt']['y'])), row['rtt_min_ns'])
        anomalies = rows_of('anomalies', big)
        self.assertEqual(data['anomalies']['of'], len(anomalies))
        self.open(page)
        self.assertRegex(self.find('#psn-figure .thinned').text, r'request: [1,\d]+ of 3,000 points')
        self.assertIn('Of 20 connections, the worst 16 have plots', self.find('#plotted').text)
        self.assertEqual(len(self.cells('anomalies', 'Frame')), min(200, len(anomalies)))
        # A link leads to a moment, however long the capture is, and to its row of the table.
        first = data['plots'][0]['connection']
        number, row = next((at, row) for at, row in enumerate(table_of(data['anomalies']), 1)
                           if at > 500 and row['connection'] == first and row['kind'] == 'nak')
        self.open(page, f'#connection={first}&direction=0&anomaly={number}')
        low, high, _ = self.view()
        self.assertTrue(low <= row['time_ns'] / 1e9 <= high, (low, high, row))
        self.assertLess(high - low, 1e-3)
        self.assertTrue(self.js('''const row = document.querySelector('#anomalies [aria-current=true]');
            const [inner, outer] = [row, row.closest('.rows')].map((one) => one.getBoundingClientRect());
            return row.id === arguments[0] && inner.top >= outer.top && inner.bottom <= outer.bottom;
            ''', f'anomaly-{number}'))

    def test_no_process_is_left_behind(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        browser = start_browser(folder.name)
        browser.get(self.report(CLEAN).as_uri())
        browser.quit()

        def running():
            lines = [entry.read_bytes() for entry in pathlib.Path('/proc').glob('[0-9]*/cmdline')
                     if entry.exists()]
            return [line for line in lines if folder.name.encode() in line]
        self.wait_for(lambda: not running())


def sum_up(differences):
    total, sums = 0, []
    for difference in differences:
        total += difference
        sums.append(total)
    return sums


class Files(InFolder):
    def test_several_files_standard_input_and_compressed_ones(self):
        frames = read_pcap(LOSS)
        halves = [self.folder / name for name in ('a.pcapng', 'b.pcapng')]
        for path, part in zip(halves, (frames[:90], frames[90:])):
            write_pcapng(path, [''], [(0, *frame) for frame in part])
        packed = self.folder / 'packed.pcap.gz'
        packed.write_bytes(gzip.compress(LOSS.read_bytes()))
        expected = page_data(self.report(LOSS))
        self.assertEqual(page_data(self.report(*halves))['anomalies'], expected['anomalies'])
        self.assertEqual(page_data(self.report(packed))['anomalies'], expected['anomalies'])
        piped = self.folder / 'piped.html'
        done = dissect('report', '-', '-o', piped, input=LOSS.read_bytes())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(page_data(piped)['plots'], expected['plots'])
        printed = dissect('report', LOSS, '-o', '-', text=True)
        self.assertEqual(printed.stdout, (self.folder / 'report.html').read_text().replace(
            json.dumps(str(packed)), json.dumps(str(LOSS), ensure_ascii=False)))
        filtered = dissect('report', LOSS, '--filter', 'src host 192.168.77.1', '-o', piped)
        self.assertEqual(filtered.returncode, 0, filtered.stderr)
        self.assertEqual(page_data(piped)['frames'], 57)

    def test_a_run_that_fails_leaves_the_page_as_it_was(self):
        page = self.report(LOSS)
        before = page.read_bytes()
        garbage = self.folder / 'garbage.pcap'
        garbage.write_bytes(b'no capture')
        for words, code, said in (((garbage, '-o', page), 1, 'garbage.pcap'),
                                  ((self.folder / 'none', '-o', page), 2, 'none'),
                                  ((page, '-o', page), 2, 'report.html'),
                                  ((LOSS, '-o', self.folder / 'no/such.html'), 3, 'no/such.html'),
                                  ((LOSS, '-o', self.folder), 3, self.folder.name),
                                  ((LOSS,), 2, '--out is required')):
            done = dissect('report', *words, text=True)
            self.assertEqual(done.returncode, code, (words, done.stderr))
            self.assertIn(said, done.stderr)
            self.assertEqual(page.read_bytes(), before)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         ['garbage.pcap', 'report.html'])

    def test_a_damaged_capture_is_reported_up_to_its_damage(self):
        cut = self.folder / 'cut.pcap'
        cut.write_bytes(LOSS.read_bytes()[:-10])
        done = dissect('report', cut, '-o', self.folder / 'cut.html', text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn('cut.pcap', done.stderr)
        self.assertEqual(page_data(self.folder / 'cut.html')['frames'], len(read_pcap(LOSS)) - 1)

    def test_the_page_carries_the_licence_and_no_address(self):
        text = self.report(LOSS).read_text(encoding='utf-8')
        licence = (SOURCE / 'lib/report/html/uplot/LICENSE').read_text(encoding='utf-8')
        self.assertIn(licence, text)
        self.assertNotRegex(text, r'(src|href)=["\']?(http|//)')
        self.assertIn("default-src 'none'", text)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
