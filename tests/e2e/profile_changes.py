# SPDX-License-Identifier: BSD-3-Clause
"""Profiles from several files (include), changed on the command line (--set), and --dry-run."""

import json
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from longwire_test import program
from pcap_file import read_pcap, roce_frame, write_pcap

BASE = '''seed = 7
[[rule]]
name = "long haul"
loss = "1%"
queue.rate = "10Gb/s"
queue.buffer = "1MB"
delay = "1ms"
[[rule]]
name = "rest"
delay = "3ms"
'''
TOP = '''include = "sub/base.toml"
[[rule]]
name = "first"
match = {kind = "cnp"}
delay = "2ms"
[[rule]]
name = "long haul"
loss = "5%"
queue.rate = "20Gb/s"
'''


class ProfileChanges(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / 'sub').mkdir()
        self.write('sub/base.toml', BASE)
        self.top = self.write('top.toml', TOP)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding='utf-8')
        return self.folder / name

    def run_program(self, name, *words, expect=0):
        done = subprocess.run([program(name), *map(str, words)], capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def refused(self, profile, *words):
        return self.run_program('roce-impair', 'check', profile, *words, expect=2).stderr

    def rules(self, profile, *words):
        shown = self.run_program('roce-impair', 'explain', profile, '--json', *words).stdout
        return {rule['name']: {stage['stage']: stage['text'] for stage in rule['stages']}
                for rule in json.loads(shown)['rules']}

    def test_the_including_file_wins_key_by_key(self):
        rules = self.rules(self.top)
        self.assertEqual(list(rules), ['first', 'long haul', 'rest'])
        self.assertIn('5 %', rules['long haul']['loss'])
        self.assertIn('20.00 Gb/s with a buffer of 1.00 MB', rules['long haul']['queue'])
        self.assertIn('1 ms', rules['long haul']['delay'])

    def test_a_later_file_of_a_list_wins(self):
        self.write('more.toml', '[[rule]]\nname = "rest"\ndelay = "9ms"\n')
        both = self.write('both.toml', 'include = ["sub/base.toml", "more.toml"]\n')
        self.assertIn('9 ms', self.rules(both)['rest']['delay'])

    def test_errors_name_the_included_file(self):
        self.write('sub/base.toml', BASE.replace('"1ms"', '"1 parsec"'))
        self.assertIn(f'{self.folder}/sub/base.toml:7:9: delay: expected', self.refused(self.top))
        self.write('sub/base.toml', BASE + '[[rule\n')
        self.assertIn('sub/base.toml:11:', self.refused(self.top))

    def test_includes_that_cannot_be(self):
        wrong = {'include = "none.toml"': 'wrong.toml:1:11: include: expected a file',
                 'include = 7': 'wrong.toml:1:11: include: expected a string',
                 'include = "wrong.toml"': 'wrong.toml:1:11: include: expected no cycle'}
        for text, error in wrong.items():
            self.assertIn(error, self.refused(self.write('wrong.toml', text + '\n')))
        for depth in range(12):
            self.write(f'{depth}.toml', f'include = "{depth + 1}.toml"\n')
        self.write('12.toml', BASE)
        self.assertIn('expected at most 8 files within each other',
                      self.refused(self.folder / '0.toml'))

    def test_set_changes_a_rule(self):
        rules = self.rules(self.top, '--set', 'long haul.queue.rate=5Gb/s', '--set', 'rest.delay=',
                           '--set', 'rest.loss=2%')
        self.assertIn('5.00 Gb/s', rules['long haul']['queue'])
        self.assertEqual(list(rules['rest']), ['loss'])
        path = 'apn-380km'
        self.assertIn('7 ms', self.rules(path, '--set', 'long haul.delay=7ms')['long haul']['delay'])

    def test_wrong_changes_are_explained(self):
        for change, error in (('long hall.loss=1%', 'did you mean "long haul"?'),
                              ('long haul.dely=1ms', 'did you mean "delay"?'),
                              ('long haul.loss=7', 'loss: 7: write 7%'),
                              ('loss', 'expected KEY=VALUE'),
                              ('loss=1%', 'expected the name of a [[rule]], a dot')):
            self.assertIn(error, self.refused(self.top, '--set', change))

    def test_flows_have_both(self):
        self.write('base.toml', '[[flow]]\nname = "web"\nrate = "1Gb/s"\nmessages = 5\nmessage_size = "256B"\n')
        flows = self.write('flows.toml', 'include = "base.toml"\nseed = 3\n')
        out = self.folder / 'out.pcap'
        self.run_program('roce-gen', 'run', flows, '--pcap', out, '--set', 'web.messages=9')
        self.assertEqual(len(read_pcap(out)), 9)
        self.assertIn('did you mean "web"?', self.run_program(
            'roce-gen', 'check', flows, '--set', 'wep.messages=9', expect=2).stderr)

    def test_a_dry_run_opens_nothing(self):
        out, ledger = self.folder / 'out.pcap', self.folder / 'ledger.jsonl'
        runs = (('roce-impair', 'run', self.top, '--west', 'no-such-port', '--east', 'null',
                 '--ledger', ledger),
                ('roce-impair', 'replay', self.top, self.folder / 'none.pcap', out),
                ('roce-gen', 'run', 'demo', '--pcap', out))
        for words in runs:
            text = self.run_program(*words, '--dry-run').stdout
            self.assertIn('nothing was opened', text)
            json.loads(self.run_program(*words, '--dry-run', '--json').stdout)
        plan = json.loads(self.run_program(*runs[0], '--dry-run', '--json').stdout)
        self.assertEqual((plan['schema'], plan['version'], plan['west']),
                         ('longwire.dry_run', 1, 'no-such-port'))
        self.assertFalse(out.exists() or ledger.exists())
        self.write('sub/base.toml', 'x = 1\n')
        self.run_program(*runs[0], '--dry-run', expect=2)

    def test_an_interrupted_replay_reports_what_it_did(self):
        frames = [(10**18 + i * 1000, roce_frame(i)) for i in range(1000)]
        write_pcap(self.folder / 'in.pcap', frames)
        profile = self.write('p.toml', '[[rule]]\ndelay = "1ms"\n')
        out = self.folder / 'out.pcap'
        with subprocess.Popen([program('roce-impair'), 'replay', profile, '-', out, '--json'],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as replay:
            replay.stdin.write((self.folder / 'in.pcap').read_bytes())
            replay.stdin.flush()  # and no end: the replay waits for more
            time.sleep(1)
            replay.send_signal(signal.SIGINT)
            report, errors = replay.communicate(timeout=30)
        self.assertEqual(replay.returncode, 1, errors)
        self.assertIn(b'does not hold: a signal ended it', errors)
        self.assertIn('west-to-east', json.dumps(json.loads(report)))
        self.assertGreater(len(read_pcap(out)), 0)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
