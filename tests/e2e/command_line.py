# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of the programs: help with examples, version, usage errors."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import needs
from longwire_test import SOURCE, program

COMMANDS = {
    'roce-gen': ('run', 'receive', 'replay', 'search', 'perf', 'sim', 'respond', 'otg', 'telemetry',
                 'plan', 'experiment', 'check', 'profiles', 'opcodes', 'doctor'),
    'roce-endpoint': ('serve', 'bw', 'lat', 'blast', 'ping'),
    'roce-impair': ('check', 'ctl', 'explain', 'ledger', 'profiles', 'replay', 'run'),
    'roce-dissect': ('list', 'verify', 'summary', 'connections', 'messages', 'commands', 'anomalies',
                     'explain', 'annotate', 'extract', 'report', 'compare', 'fields'),
}
CAPTURE = SOURCE / 'pcaps/rxe/atomic.pcap'
LONGEST_LIST = 25  # options under one heading of --help
TO = ('--peer', '192.0.2.1', '--token', 'x')


def run(name, *words):
    return subprocess.run([program(name), *words], capture_output=True, text=True)


class CommandLine(unittest.TestCase):
    def test_every_command_has_help_with_an_example(self):
        for name, commands in COMMANDS.items():
            for words in (), *((command,) for command in commands):
                shown = run(name, *words, '--help')
                self.assertEqual(shown.returncode, 0, words)
                self.assertRegex(shown.stdout, rf'Examples:\n  {" ".join((name, *words))}\b')

    def test_help_names_each_command(self):
        for name, commands in COMMANDS.items():
            shown = run(name, '--help').stdout
            for command in commands:
                self.assertRegex(shown, rf'\n  {command} +\w')

    def lists_in_help(self, name, command):
        """The options of each heading."""
        lists, heading = {}, None
        for line in run(name, command, '--help-all').stdout.partition('\nExamples:')[0].splitlines():
            if re.match(r'[^ ].*:$', line):
                heading = line[:-1]
            if option := re.match(r' +(?:-\w,)?(--[\w-]+)', line):
                lists.setdefault(heading, []).append(option[1])
        return lists

    def test_long_help_is_in_groups_and_the_common_options_are_first(self):
        used = set()
        for name, commands in COMMANDS.items():
            for command in commands:
                lists = self.lists_in_help(name, command)
                with self.subTest(f'{name} {command}'):
                    self.assertLessEqual(max(map(len, lists.values()), default=0), LONGEST_LIST, lists)
                used.update(*lists.values())
                page = run(name, '--man', command).stdout.replace('\\-', '-')
                headings = re.findall(r'^\.SS (.*)$', page.partition('.SH COMMANDS')[0], re.M)
                self.assertEqual(headings, [heading for heading in lists if heading not in ('Options', 'Subcommands')], command)
        for command, groups in (('perf', {'What is sent': '--op', 'How much': '--qps', 'Connection': '--peer',
                                          'Timing': '--timeout', 'Output': '--json'}),
                                ('sim', {'What is sent': '--size', 'How much': '--iterations', 'Connection': '--path',
                                         'Timing': '--rate-control', 'Output': '--pcap'})):
            lists = self.lists_in_help('roce-gen', command)
            for heading, option in groups.items():
                self.assertIn(option, lists[heading])
        table = (SOURCE / 'lib/app/option_groups.cpp').read_text(encoding='utf-8').partition('kRows[]')[2]
        self.assertEqual(set(re.findall(r'--[a-z][\w-]*', table.partition('};')[0])) - used, set())

    def test_rarely_used_options_are_in_the_whole_help_only(self):
        for command, usual, rare in (('perf', '--peer', '--start-skew'), ('sim', '--path', '--arbitration')):
            short, whole = (run('roce-gen', command, option).stdout for option in ('--help', '--help-all'))
            listed, all_of_them = (set(re.findall(r'^ +(?:-\w,)?(--[\w-]+)', text, re.M)) for text in (short, whole))
            self.assertTrue({usual} <= listed < all_of_them, listed - all_of_them)
            self.assertIn(rare, all_of_them - listed)
            self.assertIn(f'\n{len(all_of_them - listed)} further options: --help-all\n', short)
            self.assertNotIn('further options', whole)
            self.assertLess(len(short.splitlines()), 0.8 * len(whole.splitlines()))

    def test_a_man_page_says_things_once(self):
        """Of each option no clause stands twice, and no two options have one text."""
        looked_at = 0
        for name, commands in COMMANDS.items():
            for command in commands:
                page = run(name, '--man', command).stdout.replace('\\-', '-').partition('.SH EXAMPLES')[0]
                texts = [' '.join(line for line in block.splitlines()[1:] if line and not line.startswith('.'))
                         for block in re.split(r'^\.TP\n', page, flags=re.M)[1:] if block.startswith('\\fB-')]
                clauses = [[clause.strip() for clause in re.split(r'[;.:(),]', text) if len(clause.split()) > 2]
                           for text in texts]
                looked_at += len(texts)
                with self.subTest(f'{name} {command}'):
                    self.assertEqual([clause for one in clauses for clause in one if one.count(clause) > 1], [])
                    long = [text for text in texts if len(text.split()) > 3]
                    self.assertEqual([text for text in long if long.count(text) > 1], [])
        self.assertGreater(looked_at, 400)

    def test_retired_names_are_taken_with_a_note(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, words, new in (
                    ('roce-gen', ('receive', '--port', 'pcap:' + str(CAPTURE), '--capture', f'{folder}/a.pcap'), '--pcap'),
                    ('roce-gen', ('receive', '--port', 'pcap:' + str(CAPTURE), '--pcap', f'{folder}/b.pcap',
                                  '--capture-bytes=64'), '--pcap-bytes'),
                    ('roce-impair', ('replay', 'apn-380km', str(CAPTURE), f'{folder}/c.pcap', '--capture',
                                     f'{folder}/d.pcapng'), '--pcap'),
                    ('roce-impair', ('run', 'apn-380km', '--dry-run', '--west', 'null', '--east', 'null', '--wait', '1s'),
                     '--wait-link'),
                    ('roce-endpoint', ('bw', '--connect', '127.0.0.1:1', '--token', 'x', '-n', '1'), '--peer')):
                old = next(word for word in reversed(words) if re.fullmatch(r'--(capture.*|connect|wait)', word))
                old = old.partition('=')[0]
                with self.subTest(old=old, name=name):
                    done = run(name, *words)
                    self.assertIn(f'note: {old} is now {new}; the next release refuses the old name\n', done.stderr)
                    self.assertEqual(done.returncode, 3 if name == 'roce-endpoint' else 0, done.stderr)
                    for shown in (run(name, words[0], '--help'), run(name, '--man', words[0]),
                                  run(name, '--complete', words[0], '--')):
                        self.assertNotRegex(shown.stdout.replace('\\-', '-'), rf'{old}(?![\w-])')
            # The command `sessions`, and the keys of JSON.
            capture = str(SOURCE / 'pcaps/rxe/loss_write_sender_side.pcap')
            old, new = run('roce-dissect', 'sessions', capture, '--json'), run('roce-dissect', 'connections', capture, '--json')
            self.assertIn('note: sessions is now connections; the next release refuses the old name\n', old.stderr)
            self.assertEqual((old.stdout, new.stderr), (new.stdout, ''))
            for row in map(json.loads, new.stdout.splitlines()):
                self.assertEqual([row[key] for key in ('session', 'resent', 'resent_share')],
                                 [row[key] for key in ('connection', 'retransmitted', 'retransmitted_share')])
            for shown in run('roce-dissect', '--help'), run('roce-dissect', '--man'), run('roce-dissect', '--complete', ''):
                self.assertNotRegex(shown.stdout, r'\bsessions\b')
            self.assertEqual(run('roce-dissect', 'explain', 'sessions').returncode, 2)  # a file's name
            # What looks like one is a value, or follows "--".
            done = run('roce-impair', 'replay', 'apn-380km', '--', '--capture', f'{folder}/c.pcap')
            self.assertNotIn('is now', done.stderr)

    def test_help_is_also_a_command(self):
        for name, commands in COMMANDS.items():
            for words in (), (commands[0],):
                self.assertEqual(run(name, 'help', *words).stdout, run(name, *words, '--help').stdout)
        refused = run('roce-gen', 'help', 'rnu')
        self.assertEqual((refused.returncode, refused.stdout), (2, ''))
        self.assertIn('did you mean `run`?', refused.stderr)

    def test_a_file_in_place_of_a_command(self):
        file = str(SOURCE / 'README.md')
        for name, command in (('roce-dissect', 'explain'), ('roce-impair', 'explain'),
                              ('roce-gen', 'check')):
            refused = run(name, file)
            self.assertEqual(refused.returncode, 2)
            self.assertIn(f'expected a command before {file}, for example `{name} {command} {file}`',
                          refused.stderr)

    def test_version(self):
        version = re.search(r"\n  version: '([^']+)'", (SOURCE / 'meson.build').read_text())[1]
        commit = subprocess.run(['git', '-C', SOURCE, 'rev-parse', 'HEAD'], capture_output=True,
                                text=True)
        libraries = {'roce-gen': 'DPDK', 'roce-endpoint': 'libibverbs', 'roce-impair': 'DPDK',
                     'roce-dissect': 'libpcap'}
        for name in COMMANDS:
            first, *more = run(name, '--version').stdout.splitlines()
            self.assertEqual(first, f'{name} {version}')
            self.assertRegex(more[-1], rf'^built with {libraries[name]} \d+\.\d+.*, fmt \d')
            if commit.returncode == 0:
                self.assertRegex(more[0], r'^commit [0-9a-f]{12}(-dirty)? of \d{4}-\d\d-\d\d$')
        self.assertNotIn('DPDK', run('roce-dissect', '--version').stdout)

    def test_usage_errors_exit_with_2_and_name_the_option(self):
        for name, words, said in (
                ('roce-gen', (), 'roce-gen: expected a command: run, receive, '),
                ('roce-gen', ('fly',), 'roce-gen: no command `fly`\nits commands: run, receive, '),
                ('roce-gen', ('check', 'demo', '--xyz'), 'roce-gen check: no option `--xyz`\n'),
                ('roce-gen', ('check', 'demo', 'demo'), 'not expected: demo'),
                ('roce-impair', ('ctl',), 'SOCKET is required'),
                ('roce-impair', ('ctl', 'x.sock'),
                 'roce-impair ctl: expected a command: show, records, set, preview, load, event, record, stop-recording, reset, undo\n'),
                ('roce-impair', ('ctl', 'x.sock', 'shwo'),
                 'roce-impair ctl: no command `shwo`; did you mean `show`?\nits commands: show, '),
                ('roce-gen', ('run', 'x.toml', '--pcap'), '--pcap'),
                ('roce-gen', ('run', 'x.toml'), '--pcap OUT or --port PORT is required'),
                ('roce-gen', ('plan', '--size', 'big'), '--size: '),
                ('roce-gen', ('plan', '--qps', '0'), '--qps: expected a whole number from 1'),
                ('roce-gen', ('plan', '--op', 'fly'), '--op: expected write, send, read, atomic or compare-swap'),
                ('roce-gen', ('receive',), '--port is required'),
                ('roce-endpoint', ('serve',), '--region is required'),
                ('roce-gen', ('run', 'x.toml', '--port', 'null', '--port=null', '--seed', '1', '--seed', '2'),
                 'roce-gen run: expected `--seed` once, found it twice'),
                ('roce-endpoint', ('serve', '--region', '1MiB,disk=x'), 'file=PATH'),
                ('roce-endpoint', ('serve', '--region', '1MiB', '--accept', 'me'), 'an IPv4 or IPv6'),
                ('roce-endpoint', ('serve', '--region', '1MiB', '--listen', ':x'), '--listen: '),
                ('roce-endpoint', ('serve', '--region', '1MiB', '--records', 'x'),
                 '--records goes with --layout'),
                ('roce-endpoint', ('serve', '--region', '1MiB', '--layout', 'number:counter8'),
                 'number:counter8: no such profile'),
                ('roce-endpoint', ('lat', *TO, '--poll', 'event'), 'raises no event'),
                ('roce-endpoint', ('lat', *TO, '--transport', 'ud'), 'measure bw or blast'),
                ('roce-endpoint', ('bw', *TO, '--transport', 'ud'), 'carries SENDs only'),
                ('roce-endpoint', ('bw', *TO, '--op', 'read', '--inline'), '--inline goes with'),
                ('roce-endpoint', ('blast', *TO, '--op', 'atomic'), 'blast goes with'),
                ('roce-endpoint', ('ping', *TO, '--op', 'read'), 'ping goes with'),
                ('roce-impair', ('run', 'x.toml', '--west', 'null'), '--east is required'),
                ('roce-impair', ('ctl', 'x.sock', 'set', 'rule', 'loss'), 'expected KEY=VALUE'),
                ('roce-impair', ('replay', 'a', 'b', 'c', '--back', 'd', '--both'), 'excludes'),
                ('roce-dissect', ('list', 'x', '--json', '--csv'), 'excludes'),
                ('roce-dissect', ('list', 'x', '--where', 'bth.opcode == 256'), 'at most 255'),
                ('roce-dissect', ('list', 'x', '--time', 'local'), '--time: '),
                ('roce-dissect', ('list', 'x', '-e', 'nothing.alike'), 'no field "nothing.alike"'),
                ('roce-dissect', ('commands', 'x', '--upper', 'iscsi'), 'nvme, nfs or smb'),
                ('roce-dissect', ('messages', 'x', '--by', 'qp'),
                 '--by: expected operation, size or operation,size, found "qp"'),
                ('roce-dissect', ('anomalies', 'x', '--kind', 'gap'),
                 '--kind: expected one of psn_gap, '),
                ('roce-dissect', ('explain', 'x', '--counters', 'y'),
                 '--counters: expected two files, BEFORE and AFTER, found 1'),
                ('roce-dissect', ('explain', 'x', '--port-address', '10.0.0.1'),
                 '--port-address goes with --counters'),
                ('roce-dissect', ('report', 'x'), '--out is required'),
                ('roce-dissect', ('extract', 'x'), '--out is required'),
                ('roce-dissect', ('extract', 'x', '-o', 'y', '--what', 'all'), 'memory,reads,sends'),
                ('roce-dissect', ('compare', 'a', 'b', '--loss', 'much'), '--loss: '),
                ('roce-dissect', ('compare', 'a', 'b', '--expect', 'loss'), 'expected NAME<=VALUE'),
                ('roce-dissect', ('compare', 'a', 'b', '--expect', 'p99<=3'), 'p99: expected a time'),
                ('roce-dissect', ('compare', 'a', 'b', '--expect', 'lost<=few'), 'lost: expected a number'),
                ('roce-dissect', ('compare', 'a', 'b', '--ledger', 'c', '--filter', 'udp'), 'excludes'),
                ('roce-dissect', ('compare', 'a', '--two-clocks'), '--two-clocks needs FAR'),
                ('roce-dissect', ('compare', 'a', 'b', '--two-clocks', '--ledger', 'c'), 'excludes'),
                ('roce-dissect', ('compare', '-', 'b', '--ledger', '-'), 'is a capture already')):
            done = run(name, *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertEqual(done.stdout, '')
            self.assertIn(said, done.stderr)

    def test_what_is_misspelt_is_suggested(self):
        for name, words, said in (
                ('roce-gen', ('opcode',), '`opcodes`'),
                ('roce-gen', ('rnu', 'x.toml'), '`run`'),
                ('roce-gen', ('run', 'x.toml', '--pcp', 'y.pcap'), '`--pcap`'),
                ('roce-gen', ('run', 'x.toml', '--pcap', 'y.pcap', '--cuont=3'), '`--count`'),
                ('roce-gen', ('plan', '--op', 'wrte'), 'did you mean "write"?'),
                ('roce-gen', ('check', 'demmo'), 'did you mean `demo`?'),
                ('roce-gen', ('plan', '--path', 'apn-380mk'), 'did you mean `apn-380km`?'),
                ('roce-gen', ('experiment', 'apn-380km-minimum'), 'did you mean `apn-380km-minima`?'),
                ('roce-impair', ('ctl', '/nowhere/x.sock', 'shwo'), '`show`'),
                ('roce-impair', ('ctl', '/nowhere/x.sock', 'show', '--jsno'), '`--json`'),
                ('roce-impair', ('check', 'apn-380k'), 'did you mean `apn-380km`?'),
                ('roce-impair', ('check', str(SOURCE / 'profiles/impair/apn-380k.toml')),
                 'did you mean `apn-380km`?'),
                ('roce-endpoint', ('serve', '--region', '1MiB', '--layout', 'flow84'),
                 'did you mean `flow48`?'),
                ('roce-dissect', ('verfy', 'x'), '`verify`'),
                ('roce-dissect', ('compare', 'a', 'b', '--expect', 'los<=1'), 'did you mean "'),
                ('roce-dissect', ('list', 'x', '--josn'), '`--json`'),
                ('roce-dissect', ('list', 'x', '--where', 'bth.pns'), 'did you mean "bth.psn"')):
            done = run(name, *words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(said, done.stderr)
            self.assertRegex(done.stderr, r'[Dd]id you mean')
        self.assertNotIn('mean', run('roce-gen', 'fly').stderr)

    def test_a_shipped_profile_is_found_by_its_name(self):
        words = {'roce-gen': (('check', 'demo'), ('plan', '--path', 'apn-380km'),
                              ('check', 'profiles/flows/demo.toml'),
                              ('plan', '--path', 'profiles/paths/apn-380km.toml')),
                 'roce-impair': (('check', 'apn-380km'), ('check', 'dci-1000km.toml'),
                                 ('check', 'profiles/impair/apn-380km.toml'))}
        with tempfile.TemporaryDirectory() as prefix:
            installed = pathlib.Path(prefix, 'bin')
            installed.mkdir()
            shutil.copytree(SOURCE / 'profiles', pathlib.Path(prefix, 'share/longwire/profiles'))
            for name, commands in words.items():
                shutil.copy(program(name), installed)
                for command in commands:
                    for binary in program(name), installed / name:
                        done = subprocess.run([binary, *command], capture_output=True, text=True,
                                              cwd='/')
                        self.assertEqual(done.returncode, 0, (command, done.stderr))

    def profiles(self, name, *words, **settings):
        done = subprocess.run([program(name), 'profiles', '--json', *words], capture_output=True,
                              text=True, check=True, **settings)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_profiles_lists_each_shipped_profile_with_a_description(self):
        folders = {'roce-gen': ('flows', 'experiments', 'paths', 'impair', 'telemetry', 'networks', 'classes',
                                'congestion', 'nics'),
                   'roce-impair': ('impair', 'paths')}
        for name, kinds in folders.items():
            listed = self.profiles(name, cwd='/')
            self.assertEqual(
                [(profile['kind'], profile['name']) for profile in listed],
                [(kind, file.stem) for kind in kinds
                 for file in sorted((SOURCE / 'profiles' / kind).glob('*.toml'),
                                    key=lambda file: file.stem)])
            for profile in listed:
                self.assertEqual((profile['schema'], profile['version']), ('longwire.profile', 1))
                self.assertTrue(os.path.samefile(
                    profile['path'],
                    SOURCE / 'profiles' / profile['kind'] / f'{profile["name"]}.toml'))
                self.assertGreater(len(profile['description']), 20, profile)
            text = run(name, 'profiles').stdout.splitlines()
            self.assertEqual(len(text), 1 + len(listed))
        self.assertEqual({profile['kind'] for profile in
                          self.profiles('roce-gen', '--kind', 'telemetry', cwd='/')}, {'telemetry'})

    def test_the_search_path_of_profiles(self):
        text = '# {}. More of it.\n[[rule]]\nname = "r"\ndelay = "{}"\n'
        with tempfile.TemporaryDirectory() as top:
            home, first, second, work = (pathlib.Path(top, name) for name in (
                'home/.config/longwire', 'first', 'second/impair', 'work'))
            environment = {**os.environ, 'HOME': f'{top}/home',
                           'LONGWIRE_PROFILES': f'{first}:{top}/nowhere:{second.parent}'}
            environment.pop('XDG_CONFIG_HOME', None)

            def delay(name='mine'):
                done = subprocess.run([program('roce-impair'), 'check', name, '--json'],
                                      capture_output=True, text=True, cwd=work, env=environment)
                return json.loads(done.stdout)['delay_ns'] if done.returncode == 0 else done.stderr

            work.mkdir()
            self.assertIn('\nlooked for in the working directory, profiles, '
                          f'{first}, {top}/nowhere, {second.parent}, {home}, ', delay())
            # Each place goes before those that came first.
            for us, folder in enumerate((home, second, first, work), 1):
                folder.mkdir(parents=True, exist_ok=True)
                (folder / 'mine.toml').write_text(text.format('Mine', f'{us}us'), encoding='utf-8')
                self.assertEqual(delay(), us * 1000)
                (mine,) = (profile for profile in
                           self.profiles('roce-impair', cwd=work, env=environment)
                           if profile['name'] == 'mine')
                self.assertTrue(os.path.samefile(work / mine['path'], folder / 'mine.toml'))
                self.assertEqual((mine['kind'], mine['description']), ('impair', 'Mine'))
            self.assertIn('did you mean `mine`?', delay('minne'))
            # A profile of another kind, and a folder, do not hide it; $XDG_CONFIG_HOME is obeyed.
            (work / 'mine.toml').write_text('[[flow]]\n', encoding='utf-8')
            (work / 'mine').mkdir()
            self.assertEqual(delay(), 3000)
            environment['XDG_CONFIG_HOME'] = top
            del environment['LONGWIRE_PROFILES']
            self.assertIn('no such profile', delay())

    def completed(self, name, *words, cwd='/'):
        done = subprocess.run([program(name), '--complete', *words], capture_output=True,
                              text=True, check=True, cwd=cwd)
        return [line.split('\t')[0] for line in done.stdout.splitlines()]

    def test_completion_offers_what_may_follow(self):
        for name, words, offered in (
                ('roce-gen', ('re',), ['receive', 'replay', 'respond']),
                ('roce-dissect', ('',), list(COMMANDS['roce-dissect'])),
                ('roce-gen', ('--v',), ['--version']),
                ('roce-gen', ('run', 'dem'), ['demo', ':files']),
                ('roce-gen', ('run', 'demo', '--pc'), ['--pcap']),
                ('roce-gen', ('run', 'demo', '--quiet', '--qu'), []),
                ('roce-gen', ('plan', '--op', 'co'), ['compare-swap']),
                ('roce-gen', ('plan', '--op=wr'), ['--op=write']),
                ('roce-gen', ('plan', '--path', 'tr'), ['transpacific-9000km', ':files']),
                ('roce-gen', ('perf', '-q', ''), []),
                ('roce-gen', ('run', 'demo', '--port', 'lo'), ['lo']),
                ('roce-gen', ('run', 'demo', '--port', 'p'), ['pcap:']),
                ('roce-gen', ('telemetry', '--from', 'memi'), ['memif:', ':files']),
                ('roce-gen', ('experiment', 'x', '--out', ''), [':folders']),
                ('roce-endpoint', ('serve', '--layout', ''), ['flow48', 'roce32', ':files']),
                ('roce-impair', ('run', 'apn-380km', '--west', 'lo', '--east=lo'), ['--east=lo']),
                ('roce-impair', ('ctl', ''), [':files']),
                ('roce-impair', ('ctl', 'x.sock', ''), ['show', 'records', 'set', 'preview', 'load', 'event', 'record',
                                                           'stop-recording', 'reset', 'undo']),
                ('roce-impair', ('ctl', 'x.sock', 'load', 'protection'), ['protection-switch',
                                                                         ':files']),
                ('roce-impair', ('ctl', 'x.sock', 'show', '--j'), ['--json']),
                ('roce-dissect', ('list', 'a.pcap', 'b'), [':files']),
                ('roce-dissect', ('nothing', '--x='), [])):
            with self.subTest(' '.join((name, *words))):
                found = self.completed(name, *words)
                self.assertEqual([word for word in found
                                  if word != ':files' or ':files' in offered], offered)

    def test_each_option_can_be_completed_and_is_in_its_man_page(self):
        for name, commands in COMMANDS.items():
            for command in commands:
                if (name, command) == ('roce-impair', 'ctl'):
                    continue
                shown = run(name, command, '--help-all').stdout
                options = set(re.findall(r'^ +(?:-\w,)?(--[\w-]+)', shown, re.M)) - {'--help', '--help-all'}
                page = run(name, '--man', command).stdout.replace('\\-', '-')
                self.assertIn(f'.SH NAME\n{name}-{command} - ', page)
                found = self.completed(name, command, '--')
                for option in options:
                    self.assertIn(f'\\fB{option}\\fR', page)
                    self.assertIn(option, found)

    @needs.tools('mandoc', 'groff')
    def test_man_pages_are_clean(self):
        for name, commands in COMMANDS.items():
            for words in ((), *((command,) for command in commands)):
                page = run(name, '--man', *words).stdout
                self.assertRegex(page, r'^\.TH ROCE')
                for tool in (('mandoc', '-T', 'lint', '-W', 'warning'),
                             ('groff', '-man', '-ww', '-z')):
                    done = subprocess.run(tool, input=page, capture_output=True, text=True)
                    self.assertEqual((done.stdout + done.stderr, done.returncode), ('', 0), words)
        done = run('roce-gen', '--man', 'fly')
        self.assertEqual((done.returncode, done.stdout), (2, ''))
        self.assertIn('--man: roce-gen has no command `fly`; it has run, receive', done.stderr)

    def findings(self, *before):
        done = subprocess.run([*before, program('roce-gen'), 'doctor', '--json'],
                              capture_output=True, text=True, check=True)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        for row in rows:
            self.assertEqual((row['schema'], row['version']), ('longwire.finding', 1))
            self.assertIn(row['state'], ('ok', 'note', 'problem'))
            for text in row['meaning'], row['fix']:
                self.assertEqual(bool(text), row['state'] != 'ok', row)
        return {row['topic']: row for row in rows}

    def test_doctor_says_what_the_kernel_says(self):
        def line(path):
            try:
                return pathlib.Path('/sys', path).read_text(encoding='ascii').strip()
            except OSError:
                return ''

        found = self.findings()
        self.assertEqual(found['kernel']['found'], f'Linux {os.uname().release}')
        self.assertEqual(found['clock source']['found'],
                         line('devices/system/clocksource/clocksource0/current_clocksource')
                         or 'unknown')
        isolated = line('devices/system/cpu/isolated') or 'none'
        self.assertEqual(found['cores']['found'],
                         f'{len(os.sched_getaffinity(0))} usable, isolated: {isolated}')
        usable = sorted(os.sched_getaffinity(0))
        if isolated == 'none' and len(usable) >= 4:
            self.assertIn(f'isolcpus={usable[-2]},{usable[-1]} ', found['cores']['fix'])
        elif isolated == 'none':
            self.assertIn('four cores or more', found['cores']['fix'])
        free = any(line(f'kernel/mm/hugepages/{size}/free_hugepages') not in ('', '0')
                   for size in os.listdir('/sys/kernel/mm/hugepages'))
        self.assertEqual(found['hugepages']['state'], 'ok' if free else 'note')
        groups = len(os.listdir('/sys/kernel/iommu_groups')
                     if os.path.isdir('/sys/kernel/iommu_groups') else ())
        self.assertEqual(found['IOMMU']['found'], f'{groups} groups' if groups else 'none')
        self.assertLessEqual({'frequency', 'PCI ports', 'capabilities'}, set(found))
        text = run('roce-gen', 'doctor').stdout
        for topic, row in found.items():
            self.assertRegex(text, rf'(?m)^{row["state"]} +{topic}: ')

    @needs.root('capabilities')
    def test_doctor_sees_missing_capabilities(self):
        self.assertEqual(self.findings()['capabilities'],
                         {**self.findings()['capabilities'], 'state': 'ok',
                          'found': 'CAP_NET_RAW, CAP_NET_ADMIN'})
        for sets, missing in (('-net_raw', 'no CAP_NET_RAW'),
                              ('-net_raw,-net_admin', 'no CAP_NET_RAW, CAP_NET_ADMIN')):
            found = self.findings('setpriv', f'--bounding-set={sets}', f'--inh-caps={sets}')
            self.assertEqual((found['capabilities']['state'], found['capabilities']['found']),
                             ('problem', missing))

    @needs.root('interfaces')
    def test_doctor_names_commands_that_help(self):
        name = f'lw{os.getpid()}d'
        made = subprocess.run(['ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name',
                               f'{name}p'], capture_output=True, text=True)
        if made.returncode != 0:
            needs.lacks('veth interfaces', made.stderr)
        self.addCleanup(subprocess.run, ['ip', 'link', 'del', name], check=True)
        subprocess.run(['ip', 'link', 'set', f'{name}p', 'up'], check=True)
        finding = self.findings()[f'interface {name}']
        self.assertRegex(finding['found'], r'^virtual, down, MTU 1500\b')
        self.assertEqual((finding['meaning'], finding['fix']),
                         ('a run waits for its link', f'sudo ip link set {name} up'))
        self.follow(finding)
        finding = self.findings()[f'interface {name}']
        self.assertRegex(finding['found'], r'^virtual, up, MTU 1500, [\d.]+ Gb/s')
        self.assertRegex(finding['meaning'], '^RoCE frames of a path MTU above 1024 B do not fit(;|$)')
        self.assertRegex(finding['fix'], f'^sudo ip link set {name} mtu 4200( && |$)')  # GRO: not of every kernel
        self.follow(finding)
        finding = self.findings()[f'interface {name}']
        self.assertEqual(finding['state'], 'ok')
        self.assertRegex(finding['found'], r'^virtual, up, MTU 4200, [\d.]+ Gb/s, stamps of the kernel ')

    def follow(self, finding):
        """Executes the commands that the finding names."""
        for command in finding['fix'].split(' && '):
            subprocess.run(command.removeprefix('sudo ').split(), check=True, capture_output=True)

    def test_quantities_have_the_same_units_everywhere(self):
        for words in (('-s', '64K'), ('-s', '64KiB'), ('-s', '65536'), ('--rate', '100Gbit'),
                      ('--rate', '100Gb/s')):
            done = run('roce-gen', 'plan', '--delay', '1ms', *words)
            self.assertEqual(done.returncode, 0, (words, done.stderr))
        for words in (('search', 'x', '--port', 'p', '--receive', 'p', '--sizes', '64,64kB,64K'),
                      ('perf', '--port', 'nowhere0', '--peer', '10.0.0.1', '-s', '64kB')):
            self.assertNotIn('expected a size', run('roce-gen', *words).stderr)

    def test_negative_numbers_are_refused(self):
        for name, words in (('roce-gen', ('run', 'demo', '--pcap', '/dev/null', '--count')),
                            ('roce-gen', ('receive', '--port', 'null', '--count')),
                            ('roce-gen', ('replay', 'x', '--pcap', '/dev/null', '--count')),
                            ('roce-gen', ('check', 'demo', '--frames')),
                            ('roce-gen', ('plan', '--delay', '1ms', '-q')),
                            ('roce-impair', ('run', 'apn-380km', '--west', 'null', '--east',
                                             'null', '--pcap-bytes')),
                            ('roce-dissect', ('list', 'x', '-c')),
                            ('roce-dissect', ('summary', 'x', '--max-flows'))):
            for number in '-3', '-0x3', '1.5', '3x':
                done = run(name, *words, number)
                self.assertEqual((done.returncode, done.stdout), (2, ''), (words, number))
                self.assertIn(words[-1], done.stderr)

    def test_a_share_is_a_percentage_or_has_an_exponent(self):
        for loss in '1e-1', '"1e-1"', '"10%"', '"10 %"':
            done = subprocess.run([program('roce-impair'), 'check', '-'], capture_output=True,
                                  text=True, input=f'[[rule]]\nname = "a"\nloss = {loss}\n'
                                                   f'duplicate = {loss}\ncorrupt = {loss}\n')
            self.assertEqual(done.returncode, 0, (loss, done.stderr))
            self.assertRegex(done.stdout, r'loss +10 ?%')
            self.assertNotIn('0.1', done.stdout)
        for p in '1e-2', '"1%"':
            model = f'{{ model = "gilbert-elliott", p = {p}, r = "30%" }}'
            done = subprocess.run([program('roce-impair'), 'check', '-'], capture_output=True,
                                  text=True, input=f'[[rule]]\nname = "a"\nloss = {model}\n')
            self.assertIn('Gilbert-Elliott p 1 % r 30 %', done.stdout, done.stderr)

    def test_options_of_an_outer_command_may_follow_the_inner_one(self):
        done = run('roce-impair', 'ctl', '/nowhere/x.sock', 'show', '--json')
        self.assertNotIn('expected', done.stderr)
        self.assertNotEqual(done.returncode, 2)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
