# SPDX-License-Identifier: BSD-3-Clause
"""What axe-core finds in a page that headless Chromium shows."""

import pathlib

AXE = (pathlib.Path(__file__).parent / 'axe' / 'axe.min.js').read_text(encoding='utf-8')
GRAVE = ('serious', 'critical')


def findings(browser):
    """The serious and critical findings, a line each: the rule, and where it does not hold."""
    # The debugger evaluates it: a page's policy forbids scripts that are not its own.
    browser.execute_cdp_cmd('Runtime.evaluate', {'expression': AXE})
    done = browser.execute_cdp_cmd('Runtime.evaluate', {
        'expression': 'axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations)',
        'awaitPromise': True, 'returnByValue': True})
    return [f"{rule['id']} ({rule['impact']}): {node['html'][:200]}: {node['failureSummary']}"
            for rule in done['result']['value'] if rule['impact'] in GRAVE for node in rule['nodes']]
