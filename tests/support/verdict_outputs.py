# SPDX-License-Identifier: BSD-3-Clause
"""The outputs of a verdict: text, --json, the page of --html, JUnit's file and the exit code, which
must agree."""

import json
import xml.etree.ElementTree

import html_pages

WORDS = {'green': ('holds: ',), 'amber': ('note: ', 'cannot tell: '),
         'red': ('does not hold: ', 'cannot tell: ')}


def read(line):
    """The verdict in a line of JSON."""
    return json.loads(line)['verdict']


def red(verdict):
    """The red statements."""
    return [each for each in verdict['statements'] if each['colour'] == 'red']


def broken(verdict):
    """Of what, and name of each red statement."""
    return [(each.get('of'), each['name']) for each in red(verdict)]


def observed(verdict, name):
    """What was observed by the statement of this name."""
    statement, = named(verdict, name)
    return statement['observed']


def named(verdict, name):
    """The statements of this name."""
    return [each for each in verdict['statements'] if each['name'] == name]


def is_headline(line):
    """True if a line of text is the worst statement of a verdict."""
    return line.startswith(sum(WORDS.values(), ()))


def is_late(text):
    """True if all that does not hold is that a busy machine sent late."""
    lines = [line for line in text.splitlines() if line.startswith(WORDS['red'])]
    return bool(lines) and all('of the rate asked for' in line for line in lines)


def check_itself(test, verdict):
    """Its colour, result and exit code are those of its worst statement."""
    colours = ('green', 'amber', 'red')
    worst = max((each['colour'] for each in verdict['statements']), key=colours.index)
    test.assertEqual(verdict['colour'], worst)
    test.assertEqual(verdict['exit'] != 0, worst == 'red', verdict['headline'])
    test.assertTrue(verdict['headline'].startswith(WORDS[worst]), verdict['headline'])
    for each in verdict['statements']:
        test.assertTrue(each['asked'] and each['observed'], each)
        test.assertEqual(each['colour'] == 'green',
                         each['result'] == 'holds' and 'reason' not in each, each)
        if each['result'] == 'cannot tell':
            test.assertTrue(each['reason'], each)
            test.assertEqual(each['colour'], 'red' if 'asked_by' in each else 'amber', each)


def check_junit(test, file, program, verdicts):
    """JUnit's file has a case for each statement, with its result."""
    root = xml.etree.ElementTree.parse(file).getroot()
    test.assertEqual((root.tag, root.get('name')), ('testsuites', program))
    statements = [each for verdict in verdicts for each in verdict['statements']]
    tells = {'failures': ('does not hold', 'red'), 'errors': ('cannot tell', 'red'),
             'skipped': ('cannot tell', 'amber')}
    test.assertEqual(int(root.get('tests')), len(statements))
    for key, (result, colour) in tells.items():
        test.assertEqual(int(root.get(key)), sum((each['result'], each['colour']) == (result, colour)
                                                 for each in statements), key)
    said = sorted(case.find(kind).get('message') if kind != 'system-out' else case.find(kind).text
                  for case in root.iter('testcase')
                  for kind in ('failure', 'error', 'skipped', 'system-out')
                  if case.find(kind) is not None)
    test.assertEqual(len(said), len(statements))
    for each in statements:
        test.assertTrue(any(each['observed'] in sentence for sentence in said), each)


def check_page(test, file, verdicts, code):
    """The page's verdict is that of the reports; it is green only with exit code 0."""
    page = html_pages.page_data(file)['verdict']
    colours = ('green', 'amber', 'red')
    worst = max((verdict['colour'] for verdict in verdicts), key=colours.index)
    test.assertEqual(page['colour'], 'red' if code else worst)
    test.assertEqual(page['exit'], code)
    statements = [each for verdict in verdicts for each in verdict['statements']]
    test.assertEqual([{key: value for key, value in each.items() if key != 'report'}
                      for each in page['statements']], statements)
    if worst == 'red':
        test.assertTrue(page['headline'].startswith(WORDS['red']), page['headline'])


def check_text(test, text, colour):
    """The text has a line that says the verdict, and none that says a better one first."""
    lines = [line for line in text.splitlines()
             if line.startswith(sum(WORDS.values(), ()))]
    test.assertTrue(lines and lines[0].startswith(WORDS[colour]), text)
