# SPDX-License-Identifier: BSD-3-Clause
"""Programs with a live page (--web), asked by HTTP and shown in headless Chromium."""

import http.client
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from selenium.webdriver.common.by import By

import accessibility
from dissect_report import WINDOW, start_browser

WAIT = 60  # s: Chromium on a busy machine


class Served(unittest.TestCase):
    """A program that serves a live page at 127.0.0.1."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.errors = self.folder / 'errors'

    def serve(self, *words):
        """Starts a program and waits until it has printed the page's URL."""
        with open(self.errors, 'w', encoding='utf-8') as errors:
            process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE,
                                       stderr=errors, text=True, cwd=self.folder)
        self.addCleanup(self.end, process)
        self.wait_for(lambda: process.poll() is not None or 'live page' in self.errors.read_text())
        found = re.search(r'live page: (http://127\.0\.0\.1:(\d+)/)#token=(\S+)', self.errors.read_text())
        self.assertIsNotNone(found, self.errors.read_text())
        self.url, self.port, self.token = found[1], int(found[2]), found[3]
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()

    def wait_for(self, done):
        end = time.monotonic() + WAIT
        while not done():
            self.assertLess(time.monotonic(), end, 'this does not come')
            time.sleep(0.05)

    def headers(self, **changed):
        """The headers that the page itself sends; a header whose value is None is left out."""
        headers = {'Host': f'127.0.0.1:{self.port}', 'Origin': f'http://127.0.0.1:{self.port}',
                   'Authorization': f'Bearer {self.token}', 'Content-Type': 'application/json',
                   **{name.replace('_', '-'): value for name, value in changed.items()}}
        return {name: value for name, value in headers.items() if value is not None}

    def request(self, method, path, body=None, **changed):
        """Status, text and headers of the answer."""
        client = http.client.HTTPConnection('127.0.0.1', self.port, timeout=30)
        try:
            client.request(method, path, body, self.headers(**changed))
            answer = client.getresponse()
            return answer.status, answer.read().decode(), dict(answer.getheaders())
        finally:
            client.close()


class InBrowser(Served):
    """The page in headless Chromium, one for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        profile = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.addClassCleanup(profile.cleanup)
        cls.browser = start_browser(profile.name)
        cls.addClassCleanup(cls.browser.quit)

    def setUp(self):
        """Each test has a tab of its own, and nothing that others have stored or written."""
        super().setUp()
        last = self.browser.current_window_handle
        self.browser.switch_to.new_window('tab')
        tab = self.browser.current_window_handle
        self.browser.switch_to.window(last)
        self.browser.close()
        self.browser.switch_to.window(tab)
        self.browser.execute_cdp_cmd('Storage.clearDataForOrigin', {'origin': '*', 'storageTypes': 'all'})
        self.browser.set_window_size(*WINDOW)
        self.browser.get_log('browser')

    def js(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def find(self, name):
        return self.browser.find_element(By.ID, name)

    def open(self):
        self.browser.get(f'{self.url}#token={self.token}')
        self.wait_for(lambda: self.js('return document.documentElement.dataset.ready') == 'true')

    def check_access(self):
        """In both themes: axe-core finds no barrier, every control and plot has a name for a screen reader,
        and all fits a laptop and a phone."""
        for _ in range(2):
            self.assertEqual(accessibility.findings(self.browser), [])
            self.check_labels_and_width()
            self.find('theme').click()

    def watch_for_shifts(self):
        """From now on, parts of the screen that move without input are counted."""
        self.js("""window.shifted = [];
            new PerformanceObserver((list) => window.shifted.push(...list.getEntries().filter((one) => !one.hadRecentInput)
                .map((one) => [one.value, ...one.sources.map((source) => source.node?.outerHTML?.slice(0, 80))])))
                .observe({ type: 'layout-shift' })""")

    def check_that_nothing_jumped(self):
        """By Chromium's measure, of which 0.1 is called good."""
        shifted = self.js('return window.shifted')
        self.assertLess(sum(value for value, *_ in shifted), 0.01, shifted)

    def check_labels_and_width(self):
        self.assertEqual(self.js("""return [...document.querySelectorAll('input, select, button, .canvas')]
            .filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
            .map((one) => one.id)"""), [])
        self.assertEqual(accessibility.does_not_fit(self.browser), [])
