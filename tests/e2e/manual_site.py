# SPDX-License-Identifier: BSD-3-Clause
"""The manual as a web site: each page has one title, no Markdown in its text, links whose targets are
there, a place in the navigation, and no barrier to access that axe-core finds in both colour schemes."""

import functools
import html.parser
import http.server
import pathlib
import re
import subprocess
import tempfile
import threading
import unittest

from selenium.webdriver.support.wait import WebDriverWait

import needs
import accessibility
import longwire_test
from dissect_report import start_browser
from html_pages import take_picture
from longwire_test import SOURCE

# At once: the theme lets colours change in the course of 125 ms.
SHOW_SCHEME = '''
    document.head.insertAdjacentHTML('beforeend', '<style>* { transition: none !important }</style>');
    document.body.setAttribute('data-md-color-scheme', arguments[0]);'''

class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.titles, self.ids, self.links, self.text, self._silent = 0, set(), [], '', 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.titles += tag == 'h1'
        self.ids.add(attrs.get('id'))
        if tag == 'a' and 'href' in attrs:
            self.links.append(attrs['href'])
        self._silent += tag in ('code', 'script', 'style')

    def handle_endtag(self, tag):
        self._silent -= tag in ('code', 'script', 'style')

    def handle_data(self, data):
        if not self._silent:
            self.text += data


@needs.tools('mkdocs')
class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.addClassCleanup(holder.cleanup)
        cls.root = pathlib.Path(holder.name).resolve()
        done = subprocess.run(['mkdocs', 'build', '-q', '-f', SOURCE / 'packaging/mkdocs.yml', '-d',
                               cls.root], capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr  # strict: a warning is an error
        cls.pages = {path: Page(path.read_text(encoding='utf-8'))
                     for path in cls.root.rglob('*.html') if path.name != '404.html'}

    def test_each_page_has_one_title_and_no_markdown(self):
        self.assertGreater(len(self.pages), 40)
        for path, page in self.pages.items():
            with self.subTest(path.name):
                self.assertEqual(page.titles, 1)
                self.assertNotRegex(page.text, r'```|^#{1,6} |\]\(')

    def test_each_link_has_its_target(self):
        for path, page in self.pages.items():
            for link in page.links:
                if re.match(r'[a-z]+:', link):
                    continue
                with self.subTest(page=path.name, link=link):
                    name, _, anchor = link.partition('#')
                    target = (path.parent / name).resolve() if name else path
                    target = target / 'index.html' if target.is_dir() else target
                    self.assertTrue(target.exists())
                    if anchor and target in self.pages:
                        self.assertIn(anchor, self.pages[target].ids)

    def test_each_page_of_the_manual_is_in_the_navigation(self):
        listed = set(re.findall(r'[:-] (\S+\.md)$', (SOURCE / 'packaging/mkdocs.yml').read_text(), re.M))
        there = {str(path.relative_to(SOURCE / 'docs')) for path in (SOURCE / 'docs').rglob('*.md')}
        self.assertEqual(listed, there)

    def browser(self):
        profile = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(profile.cleanup)
        browser = start_browser(profile.name)
        self.addCleanup(browser.quit)
        return browser

    def test_the_index_of_options_finds_one(self):
        """Without a server, as in the package."""
        browser = self.browser()
        browser.get((self.root / 'reference/options.html').as_uri())
        field = browser.find_element('class name', 'option-filter')
        for words in '--on-link-loss', 'loses link':
            field.clear()
            field.send_keys(words)
            shown = browser.execute_script("""return [...document.querySelectorAll('.md-typeset tbody tr')]
                .filter(row => !row.hidden).map(row => row.textContent)""")
            with self.subTest(words):
                self.assertIn('roce-impair run', '\n'.join(row for row in shown if '--on-link-loss' in row))
                self.assertLess(len(shown), 5)

    def test_the_search_finds_an_option(self):
        """Through a server: the theme's search, to which a hyphen before a word means: without it."""
        server = http.server.ThreadingHTTPServer(
            ('127.0.0.1', 0), functools.partial(QuietHandler, directory=self.root))
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        browser = self.browser()
        browser.get(f'http://127.0.0.1:{server.server_port}/index.html')
        browser.execute_script("document.querySelector('[data-md-toggle=search]').click()")
        field = browser.find_element('css selector', '.md-search__input')
        field.send_keys('--on-link-loss')
        result = '.md-search-result__list a[href*="roce-impair-run.html"]'
        WebDriverWait(browser, 60).until(lambda browser: browser.find_elements('css selector', result))

    def test_pages_fit_a_laptop_and_a_phone(self):
        """The landing page, and two guides with tables and outputs."""
        browser = self.browser()
        for name in 'index.html', 'start.html', 'what-happened.html':
            browser.get((self.root / name).as_uri())
            with self.subTest(name):
                self.assertEqual(accessibility.does_not_fit(browser), [])
            if name == 'index.html':
                accessibility.set_width(browser, 400)  # a phone gets the curves drawn for it
                WebDriverWait(browser, 60).until(lambda browser: browser.execute_script(
                    "const {currentSrc, width, naturalWidth} = document.querySelector('picture img');"
                    "return currentSrc.endsWith('-narrow.svg') && width >= naturalWidth * 0.95"))
                take_picture(browser, 'site')
                browser.execute_script(SHOW_SCHEME, 'slate')
                take_picture(browser, 'site-phone', width=400)

    def test_no_barriers_in_both_schemes(self):
        """The dark scheme is the theme's for all pages: its colours are looked at on each kind of page."""
        browser = self.browser()
        kinds = {'index.html', 'start.html', 'options.html', 'roce-dissect-explain.html', 'impair-profile.html',
                 'verdict.html', '404.html'}
        seen = set()
        for path in [*self.pages, self.root / '404.html']:
            browser.get(path.as_uri())
            for scheme in ('default', 'slate'):
                if scheme == 'slate' and path.name not in kinds:
                    continue
                seen.add((path.name, scheme))
                browser.execute_script(SHOW_SCHEME, scheme)
                with self.subTest(page=path.name, scheme=scheme):
                    self.assertEqual(accessibility.findings(browser, only_colours=scheme == 'slate'), [])
        self.assertLessEqual({(name, 'slate') for name in kinds}, seen)


if __name__ == '__main__':
    longwire_test.main()
