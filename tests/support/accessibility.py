# SPDX-License-Identifier: BSD-3-Clause
"""What axe-core finds in a page that headless Chromium shows, and what does not fit its width."""

import pathlib
import time

AXE = (pathlib.Path(__file__).parent / 'axe' / 'axe.min.js').read_text(encoding='utf-8')
GRAVE = ('serious', 'critical')
# Nine tenths of axe-core's time go into the contrast of each text on a page, and equal styles have equal
# contrasts: one element of each style is enough.
FIND = '''(async () => {
    const rules = %s;
    const stylesOf = new Map();
    const behind = (element) => {
      if (!element) return '';
      if (!stylesOf.has(element)) {
        const style = getComputedStyle(element);
        stylesOf.set(element, [behind(element.parentElement), style.backgroundColor, style.backgroundImage,
                               style.opacity, style.filter].filter((part, index, parts) =>
                                   index == 0 || part != [, 'rgba(0, 0, 0, 0)', 'none', '1', 'none'][index]).join());
      }
      return stylesOf.get(element);
    };
    const oneOfEachStyle = new Map();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const element = texts.currentNode.parentElement;
      if (!texts.currentNode.data.trim() || !element.checkVisibility()) continue;
      const style = getComputedStyle(element);
      const key = [behind(element), style.color, style.fontSize, style.fontWeight, style.position,
                   style.textShadow].join();
      if (!oneOfEachStyle.has(key)) oneOfEachStyle.set(key, element);
    }
    const resultTypes = ['violations'];
    const found = await axe.run(document, {...rules, resultTypes});
    const include = [...oneOfEachStyle.values()];
    const exclude = include.flatMap((element) => [...element.children]).filter(
        (child) => !include.includes(child));
    const contrasts = await axe.run({include, exclude},
                                    {runOnly: ['color-contrast'], resultTypes});
    return [...found.violations, ...contrasts.violations];
  })()'''
ALL = '{rules: {"color-contrast": {enabled: false}}}'
COLOURS = '{runOnly: ["link-in-text-block"]}'


def findings(browser, only_colours=False):
    """The serious and critical findings, a line each: the rule, and where it does not hold."""
    # The debugger evaluates it: a page's policy forbids scripts that are not its own.
    if not browser.execute_cdp_cmd('Runtime.evaluate', {'expression': 'window.axe != null'})['result']['value']:
        browser.execute_cdp_cmd('Runtime.evaluate', {'expression': AXE})
    done = browser.execute_cdp_cmd('Runtime.evaluate', {
        'expression': FIND % (COLOURS if only_colours else ALL), 'awaitPromise': True, 'returnByValue': True})
    return [f"{rule['id']} ({rule['impact']}): {node['html'][:200]}: {node['failureSummary']}"
            for rule in done['result']['value'] if rule['impact'] in GRAVE for node in rule['nodes']]


WIDTHS = (1280, 400)  # of a laptop and of a phone, in px
LEAST_TEXT = 10       # px
SETTLED = 20          # s
# Texts of pictures are scaled with them.
UNREADABLE = '''
    const small = [], root = document.documentElement;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const element = texts.currentNode.parentElement;
      if (!texts.currentNode.data.trim() || !element.checkVisibility() || ['SCRIPT', 'STYLE', 'TITLE', 'title'].includes(element.tagName)) continue;
      const matrix = element.getScreenCTM?.();
      const size = parseFloat(getComputedStyle(element).fontSize) * (matrix ? Math.hypot(matrix.a, matrix.b) : 1);
      if (size < arguments[0] - 0.01) small.push(`${size.toFixed(1)} px: ${texts.currentNode.data.trim().slice(0, 60)}`);
    }
    if (root.scrollWidth > root.clientWidth) {
      const wide = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > root.clientWidth + 1);
      small.push(`${root.scrollWidth} px in ${root.clientWidth}: ${wide.map((one) => one.outerHTML.slice(0, 80)).slice(0, 3).join(' | ')}`);
    }
    return small;'''


def set_width(browser, width, height=800):
    """A window can't be as narrow as a phone; the page can."""
    browser.execute_cdp_cmd('Emulation.setDeviceMetricsOverride',
                            {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})


def does_not_fit(browser):
    """At each width: texts below 10 px, and what makes the page scroll sideways."""
    found = []
    for width in WIDTHS:
        set_width(browser, width)
        end = time.monotonic() + SETTLED
        while (unfit := browser.execute_script(UNREADABLE, LEAST_TEXT)) and time.monotonic() < end:
            time.sleep(0.05)  # plots take the new width when the page has been drawn
        found += [f'at {width} px: {each}' for each in unfit]
    browser.execute_cdp_cmd('Emulation.clearDeviceMetricsOverride', {})
    return found
