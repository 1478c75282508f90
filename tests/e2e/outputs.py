# SPDX-License-Identifier: BSD-3-Clause
"""What the programs do when an output can't be written: every command with /dev/full as standard
output and as each of its files, with a limit on the length of files, and on a small tmpfs; files of
two instances; files that are inputs and outputs at once. The commands and options come from --help:
a new one without a test fails here."""

import contextlib
import json
import os
import pathlib
import re
import resource
import subprocess
import tempfile
import time
import unittest

import needs
import pcap_file
import verdict_outputs
from example_files import EXPERIMENT
from longwire_test import BOX, SOURCE, begin, program

GEN, ENDPOINT, IMPAIR, DISSECT = (
    program(name) for name in ('roce-gen', 'roce-endpoint', 'roce-impair', 'roce-dissect'))
FLOW = SOURCE / 'profiles' / 'flows' / 'ipv4-rc-send.toml'
PATH = SOURCE / 'profiles' / 'paths' / 'apn-380km.toml'
NETWORK = SOURCE / 'profiles' / 'networks' / 'long-haul-incast-50km.toml'
FULL = '/dev/full'
TIMEOUT = 120
LIMIT = 64 * 1024  # bytes of a file

RULES = '''[[rule]]
name = "line"
delay = "1ms"
loss = "50%"
'''
SENDER = '''[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "send"
message_size = 1024
rate = "100000 frames/s"
messages = 400
signature = true
'''

# What --help says of an option's value. A value that may name a file is an input below, or an output
# that file_commands() covers. Ports may be files too: test_a_capture_that_a_port_writes_is_checked.
NO_FILES = {
    'all|N|none', '[ADDRESS:]PORT', 'ADDRESS:PORT', 'BYTE', 'BYTES', 'CODE', 'CONDITION', 'CPU', 'DIRECTION', 'EXPECTATION', 'FIELD',
    'FIELD,FIELD', 'FILTER', 'HOW', 'IP',
    'ID', 'KEY', 'KEY=VALUE', 'cc.KEY=VALUE', 'KIND', 'LENGTH', 'MAC', 'N', 'N|KIND=N,...', 'N|qp|message', 'NAME', 'NAME|{...}', 'NETEM', 'OLD=NEW', 'OP',
    'OPTION=VALUE,...', 'PARAMETER=VALUE', 'POINTS',
    'HOST:PORT', 'HOST:SERVICE', 'KEYS', 'IP|HOST:PORT', 'PATTERN', 'POINT', 'PORT', '[QP=]N',
    'RATE', 'RULE', 'S', 'SERVICE', 'SHARE', 'SIZE', 'STYLE', 'T',
    'SIZE[,file=PATH][,hugepages]', 'TOKEN', 'WHICH', 'PARAMETER=VALUE,...',
    'steady|tai|ptp', 'TIME', 'true|false', 'WHAT', 'WHEN', '2x|0.5x|max',
}
INPUTS = {
    'PROFILE', 'CAPTURE', 'IN', 'NEAR', 'FAR', 'SOCKET', '--back', '--data', '--from', 'list -r',
    '--profile', '--cc', '--nic', '--class', '--path', '--network', '--sent', '--control', '--token-file', '--web-token-file', '--web-files', 'telemetry --layout',
    'serve --layout', 'experiment FILE', 'ledger FILE', 'list FILE', 'sim NETWORK', 'summary FILE',
    'verify FILE', 'compare --ledger', 'connections FILE', 'messages FILE', 'commands FILE',
    'anomalies FILE',
    'explain FILE', 'explain --counters', 'extract FILE', 'report FILE',
}
# Outputs that must not exist, so that no link to a full device stands for them: impair_control tries them.
NEW_FILES = {'ctl record FILE.pcapng'}
# Outputs that rxe/endpoint.py and rxe/telemetry.py try, as they need an RDMA device; gen_ranks.py tries the last.
WITH_A_DEVICE = {('serve', '--records'), ('serve', '--junit'), ('telemetry', '--junit'),
                 ('serve', '--html'), ('telemetry', '--pcap'),
                 *((command, option) for command in ('bw', 'lat', 'blast', 'ping')
                   for option in ('--out', '--html', '--junit')),
                 ('run', '--rank-reports')}  # under mpirun: gen_ranks.py


def help_of(words, option='--help'):
    return subprocess.run([*words, option], capture_output=True, text=True, timeout=TIMEOUT,
                          check=True).stdout


def section(text, title):
    found = re.search(rf'^{title}:\n((?:  .*\n)+)', text, re.MULTILINE)
    return found[1].splitlines() if found else []


def leaves(words, name):
    """Each command that runs, "ctl set", and its help."""
    text = help_of(words)
    inner = [line.split()[0] for line in section(text, 'Subcommands') if line[2] != ' ']
    if not inner:
        yield name, help_of(words, '--help-all')
    given = [line.split()[0] for line in section(text, 'Positionals') if line[2] != ' ']
    for command in inner:
        yield from leaves([*words, *given, command], f'{name} {command}'.strip())


def values_of(text):
    """(name, what its value is) of the arguments and options that have a value."""
    for line in section(text, 'Positionals'):
        if line[2] != ' ':
            yield line.split()[0], line.split()[0]
    for line in re.findall(r'^  (-.*)', text, re.MULTILINE):
        names, *value = re.split(r'  +', line)[0].split()
        if value and value[0] != 'Excludes:':
            yield names.split(',')[-1], value[0]


class Outputs(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.frames = self.file('frames.pcap')
        pcap_file.write_pcap(self.frames, [(10**9 + 1000 * i, pcap_file.roce_frame(i, 1000))
                                           for i in range(1000)])
        self.rules = self.file('rules.toml', RULES)
        self.sender = self.file('sender.toml', SENDER)

    def file(self, name, text=None):
        path = self.folder / name
        if text is not None:
            path.write_text(text, encoding='utf-8')
        return path

    def run_it(self, words, stdout=subprocess.PIPE, **settings):
        return subprocess.run([str(word) for word in words], stdout=stdout, stderr=subprocess.PIPE,
                              text=True, errors='replace', timeout=TIMEOUT, check=False, **settings)

    def ledger(self):
        ledger = self.file('made.lwl')
        done = self.run_it([IMPAIR, 'replay', self.rules, self.frames, self.file('made.pcap'),
                            '--ledger', ledger])
        self.assertEqual(done.returncode, 0, done.stderr)
        return ledger

    def experiment(self):
        return self.file('short.toml', EXPERIMENT)

    def wire(self):
        """The two ends of a memif, which the test's process names."""
        return f'memif:{self.folder}/wire', f'memif:{self.folder}/wire,server'

    def perf(self):
        near, _ = self.wire()
        return [GEN, 'perf', '--port', near, '--peer', '198.18.0.2', '--op', 'write', '-s', '4096',
                '-n', '500', '--idle', 'yield']

    def respond(self):
        _, far = self.wire()
        return [GEN, 'respond', '--port', far, '--sessions', '1', '--idle', 'yield']

    def ctl(self, *words):
        return [IMPAIR, 'ctl', self.file('socket'), '--json', *words]

    @contextlib.contextmanager
    def peer_of(self, words):
        """The process that a command talks to, if it needs one, while the command runs."""
        if words[1] == 'ctl':
            self.file('new.pcapng').unlink(missing_ok=True)  # `record` replaces no file
            peer = begin(self, [IMPAIR, 'run', self.rules, '--west', 'net_ring0', '--east',
                                'net_ring1', '--control', self.file('socket'), '--ready-file',
                                self.file('peer'), '--ledger', self.file('peer.jsonl')])
            while not self.file('peer').exists() and peer.poll() is None:
                time.sleep(0.02)
            if words[4] == 'undo':  # which needs a change
                self.run_it(self.ctl('reset'))
            if words[4] == 'stop-recording':
                self.run_it(self.ctl('record', self.file('new.pcapng')))
        elif words[1] == 'respond':
            peer = begin(self, self.perf())
        elif words[1] == 'perf':
            peer = begin(self, self.respond())
        else:
            yield
            return
        yield
        if words[1] == 'ctl':
            peer.terminate()
            self.file('peer').unlink()
        out, error = peer.communicate(timeout=TIMEOUT)
        self.assertEqual(peer.returncode, 0, error + out)

    def run_beside(self, words, **settings):
        with self.peer_of(words):
            return self.run_it(words, **settings)

    def commands(self):
        """Words of each command that ends without a signal, and whether it makes a run's report."""
        ring = ('--port', 'net_ring0', '--receive', 'net_ring0')
        return {
            'gen run into a file': ([GEN, 'run', self.sender, '--pcap', self.file('a.pcap')], True),
            'gen run': ([GEN, 'run', self.sender, *ring, '--quiet', *longwire_test.ANY_RATE], True),
            'gen receive': ([GEN, 'receive', '--port', f'pcap:{self.frames}'], True),
            'gen replay': ([GEN, 'replay', self.frames, '--pcap', self.file('b.pcap')], True),
            'gen search': ([GEN, 'search', FLOW, *ring, '--sizes', '64', '--duration', '20ms',
                            '--settle', '20ms', '--resolution', '50%', '--max-rate', '10Mb/s'],
                           True),
            'gen sim path': ([GEN, 'sim', '--delay', '0us', '-n', '10', '-s', '64'], True),
            'gen sim': (self.network(), True),
            'gen sim --draw': ([*self.DRAW, self.file('network.svg')], False),
            'gen plan': ([GEN, 'plan', '--path', PATH], False),
            'gen perf': (self.perf(), True),
            'gen sim --study': (self.study(), True),
            'gen respond': (self.respond(), True),
            'gen telemetry --help': ([GEN, 'telemetry', '--help'], False),
            'gen experiment': ([GEN, 'experiment', self.experiment(), '--out',
                                self.file('results')], True),
            'gen check': ([GEN, 'check', FLOW], False),
            'gen opcodes': ([GEN, 'opcodes'], False),
            'gen otg': ([GEN, 'otg', '--fields'], False),
            'gen doctor': ([GEN, 'doctor'], False),
            'gen profiles': ([GEN, 'profiles'], False),
            'gen --complete': ([GEN, '--complete', ''], False),
            'gen --man': ([GEN, '--man', 'run'], False),
            'gen --help': ([GEN, '--help'], False),
            'gen run --help': ([GEN, 'run', '--help'], False),
            'gen --version': ([GEN, '--version'], False),
            'impair check': ([IMPAIR, 'check', self.rules], False),
            'impair explain': ([IMPAIR, 'explain', self.rules], False),
            'impair from-tc': ([IMPAIR, 'from-tc', 'delay 10ms loss 1%'], False),
            'impair profiles': ([IMPAIR, 'profiles', '--json'], False),
            'impair replay': ([IMPAIR, 'replay', self.rules, self.frames, self.file('c.pcap')],
                              True),
            'impair run': ([*BOX, self.rules, '--west', f'pcap:{self.frames}', '--east',
                            'null'], True),
            'impair ledger': ([IMPAIR, 'ledger', self.ledger()], False),
            'impair ctl show': (self.ctl('show'), False),
            'impair ctl records': (self.ctl('records'), False),
            'impair ctl set': (self.ctl('set', 'line', 'loss=1%'), False),
            'impair ctl preview': (self.ctl('preview', 'line', 'loss=1%'), False),
            'impair ctl undo': (self.ctl('undo'), False),
            'impair ctl load': (self.ctl('load', self.rules), False),
            'impair ctl event': (self.ctl('event', '{"flap": {"port": "west", "down": "1ms"}}'),
                                 False),
            'impair ctl reset': (self.ctl('reset'), False),
            'impair ctl record': (self.ctl('record', self.file('new.pcapng')), False),
            'impair ctl stop-recording': (self.ctl('stop-recording'), False),
            'dissect list': ([DISSECT, 'list', self.frames], False),
            'dissect list --json': ([DISSECT, 'list', self.frames, '--json'], False),
            'dissect list --csv': ([DISSECT, 'list', self.frames, '--csv'], False),
            'dissect verify': ([DISSECT, 'verify', self.frames], False),
            'dissect connections': ([DISSECT, 'connections', self.frames], False),
            'dissect messages': ([DISSECT, 'messages', self.frames], False),
            'dissect messages --by': ([DISSECT, 'messages', self.frames, '--by', 'size'], False),
            'dissect commands': ([DISSECT, 'commands', self.frames], False),
            'dissect anomalies': ([DISSECT, 'anomalies', self.frames], False),
            'dissect anomalies --csv': ([DISSECT, 'anomalies', self.frames, '--csv'], False),
            'dissect explain': ([DISSECT, 'explain', self.frames], False),
            'dissect explain --json': ([DISSECT, 'explain', self.frames, '--json'], False),
            'dissect annotate': ([DISSECT, 'annotate', self.frames, self.file('annotated.pcapng')], False),
            'dissect annotate to standard output': ([DISSECT, 'annotate', self.frames, '-'], False),
            'dissect report': ([DISSECT, 'report', self.frames, '-o', '-'], False),
            'dissect extract': ([DISSECT, 'extract', self.frames, '--force', '--out',
                                 self.file('extracted')], False),
            'dissect summary': ([DISSECT, 'summary', self.frames], False),
            'dissect summary --csv': ([DISSECT, 'summary', self.frames, '--csv'], False),
            'dissect verify --csv': ([DISSECT, 'verify', self.frames, '--csv'], False),
            'dissect list --fields': ([DISSECT, 'list', self.frames, '-e', 'bth.psn'], False),
            'dissect compare': ([DISSECT, 'compare', self.frames, self.frames], False),
            'dissect compare --csv': ([DISSECT, 'compare', self.frames, self.frames, '--csv'], False),
            'dissect fields': ([DISSECT, 'fields'], False),
            'dissect fields --csv': ([DISSECT, 'fields', '--csv'], False),
        }

    def file_commands(self):
        """Each output file of each command: words but for the file, and the file's name."""
        loop = [GEN, 'run', self.sender, '--port', 'net_ring0', '--receive', 'net_ring0',
                '--quiet']
        receive = [GEN, 'receive', '--port', f'pcap:{self.frames}', '--quiet']
        sim = [GEN, 'sim', '--delay', '0us', '-n', '2000', '-s', '4096']
        replay = [IMPAIR, 'replay', self.rules, self.frames]
        out = self.file('d.pcap')
        ports = ['--west', f'pcap:{self.frames}', '--east', 'null']
        run = [*BOX, self.rules, *ports]
        search = self.commands()['gen search'][0]
        extract = [DISSECT, 'extract', self.frames, '--force', '--out']
        experiment = [GEN, 'experiment', self.experiment(), '--out']
        sweep = [GEN, 'sim', '--delay', '1ms', '-n', '20', '--sweep', 'size=4K,64K', '--out']
        failing = self.file('failing.toml', EXPERIMENT.replace(
            'iterations = 20', 'iterations = 20\nloss = "90%"\nretries = 0\ntimeout = 1'))
        return {
            'gen run FILE': ([GEN, 'run', self.sender, '--pcap'], 'o.pcap'),
            'gen run --pcap': ([*loop, '--pcap'], 'o.pcapng'),
            'gen run --series': ([*loop, '--interval', '10ms', '--series'], 'o.csv'),
            'gen run --histogram': ([*loop, '--histogram'], 'o.csv'),
            'gen receive --pcap': ([*receive, '--pcap'], 'o.pcap'),
            'gen run --report-to': ([*loop, '--report-to'], 'o.json'),
            'gen receive --histogram': ([*receive, '--histogram'], 'o.csv'),
            'gen receive --series': ([*receive, '--interval', '10ms', '--series'], 'o.csv'),
            'gen replay FILE': ([GEN, 'replay', self.frames, '--pcap'], 'o.pcap'),
            'gen replay --pcap': ([GEN, 'replay', self.frames, '--port', 'null', '--pcap'],
                                  'o.pcap'),
            'gen sim path --pcap': ([*sim, '--pcap'], 'o.pcapng'),
            'gen sim path --series': ([*sim, '--series'], 'o.csv'),
            'gen perf --pcap': ([*self.perf(), '--pcap'], 'o.pcap'),
            'gen perf --series': ([*self.perf(), '--series'], 'o.csv'),
            'gen sim --draw': (self.DRAW, 'o.svg'),
            'gen sim --pcap': ([*self.network(), '--pcap-at', 'west:east', '--pcap'], 'o.pcapng'),
            'gen sim --series': ([*self.network(), '--series'], 'o.csv'),
            'gen sim --junit': ([*self.network(), '--expect', 'failed=0', '--junit'], 'o.xml'),
            'gen sim --html': ([*self.network(), '--html'], 'o.html'),
            'gen respond --pcap': ([*self.respond(), '--pcap'], 'o.pcapng'),
            'gen respond --junit': ([*self.respond(), '--junit'], 'o.xml'),
            'gen search csv': ([*search, '--out'], 'found/search.csv'),
            'gen search svg': ([*search, '--out'], 'found/search.svg'),
            'gen experiment --junit': ([*experiment, self.file('judged'), '--junit'], 'o.xml'),
            'gen perf sweep csv': ([*self.perf(), '--sweep', 'size=4K', '--out'], 'made/perf-bw.csv'),
            'gen sim sweep csv': (sweep, 'made/perf-bw.csv'),
            'gen sim sweep svg': (sweep, 'made/bw_average_gbps.svg'),
            'gen experiment csv': (experiment, 'made/short.csv'),
            'gen experiment json': (experiment, 'made/short.json'),
            'gen experiment txt': (experiment, 'made/short.txt'),
            'gen experiment svg': (experiment, 'made/rates.svg'),
            'gen experiment runs': (experiment, 'made/short.runs.jsonl'),
            'gen experiment --pcap-failures': (
                [GEN, 'experiment', failing, '--out', self.file('results'), '--pcap-failures'],
                'failures/failing-cell1-seed1.pcapng'),
            'gen sim --study csv': (self.study()[:-1], 'studied/buffers.csv'),
            'gen sim --study svg': (self.study()[:-1], 'studied/buffers.svg'),
            'dissect compare --junit': ([DISSECT, 'compare', self.frames, self.frames, '--expect',
                                         'loss<=1%', '--junit'], 'o.xml'),
            'dissect compare --html': ([DISSECT, 'compare', self.frames, self.frames, '--html'], 'o.html'),
            'dissect summary --junit': ([DISSECT, 'summary', self.frames, '--expect', 'frames>0',
                                         '--junit'], 'o.xml'),
            'dissect verify --junit': ([DISSECT, 'verify', self.frames, '--expect', 'bad_icrc=0',
                                        '--junit'], 'o.xml'),
            'gen run --junit': ([*loop, '--expect', 'frames>0', '--junit'], 'o.xml'),
            'gen receive --junit': ([*receive, '--expect', 'frames>0', '--junit'], 'o.xml'),
            'gen sim path --junit': ([*sim, '--expect', 'failed=0', '--junit'], 'o.xml'),
            'gen perf --junit': ([*self.perf(), '--expect', 'failed=0', '--junit'], 'o.xml'),
            'gen search --junit': ([*search, '--expect', 'loss>=0', '--junit'], 'o.xml'),
            'gen run --html': ([*loop, '--html'], 'o.html'),
            'gen receive --html': ([*receive, '--html'], 'o.html'),
            'gen replay --html': ([GEN, 'replay', self.frames, '--port', 'null', '--html'],
                                  'o.html'),
            'gen sim path --html': ([*sim, '--html'], 'o.html'),
            'gen perf --html': ([*self.perf(), '--html'], 'o.html'),
            'gen search --html': ([*search, '--html'], 'o.html'),
            'gen experiment --html': ([GEN, 'experiment', self.experiment(), '--out',
                                       self.file('results'), '--html'], 'o.html'),
            'impair run --html': ([*run, '--html'], 'o.html'),
            'impair replay --html': ([*replay, out, '--html'], 'o.html'),
            'gen plan --junit': ([GEN, 'plan', '--delay', '1ms', '--expect', 'goodput_gbps>0', '--junit'], 'o.xml'),
            'impair run --junit': ([*run, '--expect', 'seconds>=0', '--junit'], 'o.xml'),
            'impair replay --junit': ([*replay, out, '--expect', 'seconds>=0', '--junit'],
                                      'o.xml'),
            'dissect report --out': ([DISSECT, 'report', self.frames, '--out'], 'o.html'),
            'dissect annotate OUT': ([DISSECT, 'annotate', self.frames], 'o.pcapng'),
            'dissect extract map': (extract, 'extracted/map.jsonl'),
            'dissect extract messages': (extract, 'extracted/messages.jsonl'),
            'impair replay OUT': (replay, 'o.pcap'),
            'impair replay --ledger': ([*replay, out, '--ledger'], 'o.jsonl'),
            'impair replay --ledger LWL': ([*replay, out, '--ledger'], 'o.lwl'),
            'impair replay --pcap': ([*replay, out, '--pcap'], 'o.pcapng'),
            'impair run --ledger': ([*run, '--ledger'], 'o.jsonl'),
            'impair run --pcap': ([*run, '--pcap'], 'o.pcapng'),
            'impair run --ready-file': ([*run, '--ready-file'], 'ready'),
            'impair check --save': ([IMPAIR, 'check', '--delay', '1ms', '--save'], 'o.toml'),
            'impair explain --save': ([IMPAIR, 'explain', '--delay', '1ms', '--save'], 'o.toml'),
            'impair run --save': ([*BOX, '--delay', '1ms', *ports, '--save'], 'o.toml'),
        }

    def study(self):
        return [GEN, 'sim', '--delay', '0us', '--pattern', 'blast', '--rate', '100Mb/s',
                '--study', self.file('study')]

    DRAW = [GEN, 'sim', NETWORK, '--draw']

    def network(self):
        return [GEN, 'sim', NETWORK, '--duration', '1ms', '-s', '4096']

    def command_of(self, words):
        """"ctl set" of a command's words."""
        ctl = words[1] == 'ctl'
        return f'{words[1]} {words[4]}' if ctl else words[1]

    def test_every_command_and_file_of_the_help_is_in_this_test(self):
        said = {self.command_of(words) + pathlib.Path(words[0]).name
                for words, _ in self.commands().values()}
        written = {(self.command_of(words), str(words[-1])) for words, _ in
                   self.file_commands().values()}
        found = 0
        for binary in GEN, ENDPOINT, IMPAIR, DISSECT:
            for command, text in leaves([binary], ''):
                if binary != ENDPOINT:  # needs an RDMA device: rxe/endpoint.py
                    self.assertIn(command + pathlib.Path(binary).name, said,
                                  'a command without a test of its standard output')
                for name, value in values_of(text):
                    if value in NO_FILES or (INPUTS | NEW_FILES) & {name, f'{command} {name}'}:
                        continue
                    found += 1
                    if (command, name) in WITH_A_DEVICE:
                        continue
                    if (command, name) not in (('replay', 'OUT'), ('annotate', 'OUT')):
                        self.assertIn((command, name), written,
                                      f'{value}: an output without a test, or an unknown value')
        self.assertGreaterEqual(found, 18)

    def test_standard_output_on_a_full_disk(self):
        for name, (words, reports) in self.commands().items():
            with self.subTest(name), open(FULL, 'w', encoding='utf-8') as full:
                expected = self.run_beside(words).stdout
                done = self.run_beside(words, stdout=full)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn('standard output: cannot be written: No space left on device; '
                              'its first 0 bytes are valid', done.stderr)
                if not reports:
                    continue
                first = expected.split('\n', maxsplit=1)[0]
                if verdict_outputs.is_headline(first):  # a busy machine may have another one
                    self.assertTrue(any(map(verdict_outputs.is_headline, done.stderr.splitlines())), done.stderr)
                else:
                    self.assertIn(first.split()[0], done.stderr)

    def test_standard_output_that_nobody_reads(self):
        for name, (words, _) in self.commands().items():
            with self.subTest(name):
                reader, writer = os.pipe()
                os.close(reader)
                done = self.run_beside(words, stdout=writer)
                os.close(writer)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertNotIn('cannot be written', done.stderr)

    def test_head_is_quiet(self):
        big = self.file('big.pcap')
        pcap_file.write_pcap(big, [(10**9 + i, pcap_file.roce_frame(i)) for i in range(20000)])
        done = self.run_it(['sh', '-c', '"$0" list "$1" | head -n 1', DISSECT, big])
        self.assertEqual((done.stderr, done.stdout.count('\n')), ('', 1))

    def test_every_file_on_a_full_device(self):
        for name, (words, file) in self.file_commands().items():
            with self.subTest(name):
                link = self.file(file)
                link.parent.mkdir(exist_ok=True)
                link.unlink(missing_ok=True)  # of another command on the same folder
                link.symlink_to(FULL)
                done = self.run_beside([*words, self.file(file.split('/')[0])])
                link.unlink()
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertRegex(done.stderr, f'{link}: cannot be written: No space left on device'
                                 '(;|:) its first 0 .* are valid')
                if name not in ('impair run --ready-file', 'impair run --save', 'gen sim --draw'):  # nothing has run
                    self.assertTrue(done.stdout, 'no report')

    def check_short(self, name, link, done):
        """A file that didn't fit: an error that says what is valid; that part can be read."""
        self.assertEqual(done.returncode, 3, name + done.stderr)
        self.assertIn(f'{link}: cannot be written: ', done.stderr)
        self.assertTrue(done.stdout, 'no report')
        if not link.exists():
            self.assertIn('nothing of it is kept', done.stderr)
            return
        size = link.stat().st_size
        self.assertRegex(done.stderr, f'its first {size} bytes are valid|, {size} B, are valid|'
                                      'its first [0-9]+ frames are valid, and [0-9]+ are missing')
        if link.suffix in ('.pcap', '.pcapng'):
            read = self.run_it([DISSECT, 'verify', link])
            self.assertNotIn('cut', read.stderr)
        elif link.suffix == '.jsonl':
            for line in link.read_text(encoding='utf-8').splitlines():
                json.loads(line)
        link.unlink()

    # Files that are longer than the limit.
    LONG = ('gen run FILE', 'gen run --pcap', 'gen receive --pcap', 'gen replay FILE',
            'gen replay --pcap', 'gen sim path --pcap', 'gen perf --pcap', 'gen respond --pcap',
            'gen sim --pcap', 'dissect annotate OUT',
            'impair replay OUT', 'impair replay --ledger', 'impair replay --pcap',
            'impair run --ledger', 'impair run --pcap')

    def test_every_long_file_with_a_limit(self):
        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))

        commands = self.file_commands()
        for name in self.LONG:
            words, file = commands[name]
            if 'memif' in str(words):
                continue  # its shared memory is a file too
            if words[0] == IMPAIR and words[1] == 'replay':
                words = ['/dev/null' if word == self.file('d.pcap') else word for word in words]
            with self.subTest(name):
                link = self.file(file)
                done = self.run_it([*words, link], preexec_fn=limited)
                self.check_short(name, link, done)

    @needs.root('file systems')
    def test_every_long_file_on_a_small_disk(self):
        small = self.file('small')
        small.mkdir()
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={LIMIT}', 'small', small],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            needs.lacks('a tmpfs', mounted.stderr)
        self.addCleanup(subprocess.run, ['umount', str(small)], check=False)
        commands = self.file_commands()
        for name in self.LONG:
            words, file = commands[name]
            with self.subTest(name):
                link = small / file
                done = self.run_beside([*words, link])
                self.check_short(name, link, done)
                self.assertEqual(list(small.iterdir()), [])

    def test_a_file_appears_when_it_is_complete(self):
        for name in ('gen run FILE', 'gen replay FILE', 'impair replay OUT', 'gen sim path --pcap', 'gen sim --draw',
                     'dissect annotate OUT'):
            words, file = self.file_commands()[name]
            with self.subTest(name):
                out = self.file(file, 'former')
                done = self.run_it([*words, out],
                                   preexec_fn=lambda: resource.setrlimit(
                                       resource.RLIMIT_FSIZE, (1000, 1000)))
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn('the former file is as it was', done.stderr)
                self.assertEqual(out.read_text(encoding='utf-8'), 'former')

    def test_a_second_instance_does_not_touch_the_first_ones_files(self):
        ledger, capture = self.file('first.jsonl'), self.file('first.pcapng')
        first = begin(self, [IMPAIR, 'run', self.rules, '--west', 'net_ring0', '--east',
                             'net_ring1', '--ledger', ledger, '--pcap', capture, '--ready-file',
                             self.file('ready')])
        while not self.file('ready').exists() and first.poll() is None:
            time.sleep(0.05)
        for path in ledger, capture:
            with open(path, 'a', encoding='utf-8') as file:
                file.write('of the first')
        for option, path in (('--ledger', ledger), ('--pcap', capture)):
            done = self.run_it([IMPAIR, 'run', self.rules, '--west', f'pcap:{self.frames}',
                                '--east', 'null', option, path])
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn('another process is writing it', done.stderr)
            self.assertIn('of the first', path.read_text(encoding='utf-8'))
        first.terminate()
        self.assertEqual(first.wait(TIMEOUT), 0)

    def test_an_input_is_never_an_output(self):
        same = self.file('frames.pcap')
        hard, soft = self.file('hard.pcap'), self.file('soft.pcap')
        hard.hardlink_to(same)
        soft.symlink_to(same)
        before = same.read_bytes()
        for out in same, hard, soft, f'{self.folder}/./frames.pcap':
            for words in ([GEN, 'replay', same, '--pcap', out],
                          [GEN, 'receive', '--port', f'pcap:{same}', '--pcap', out],
                          [GEN, 'run', self.sender, '--port', f'pcap:{same}', '--pcap', out],
                          [GEN, 'run', self.sender, '--port', f'pcap:,{out}', '--receive',
                           f'pcap:{same}'],
                          [IMPAIR, 'replay', self.rules, same, out],
                          [DISSECT, 'annotate', same, out],
                          [IMPAIR, 'run', self.rules, '--west', f'pcap:{same}', '--east',
                           f'pcap:,{out}'],
                          [IMPAIR, 'run', self.rules, '--west', f'pcap:{same},{out}', '--east',
                           'null'],
                          [IMPAIR, 'run', self.rules, '--west', f'pcap:{same}', '--east', 'null',
                           '--ledger', out]):
                with self.subTest(' '.join(map(str, words))):
                    done = self.run_it(words)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn('expected a file of its own', done.stderr)
                    self.assertEqual(same.read_bytes(), before)
        network = self.file('network.toml', NETWORK.read_text(encoding='utf-8'))
        for words in ([GEN, 'run', self.sender, '--pcap', self.sender],
                      [GEN, 'sim', network, '--draw', network],
                      [IMPAIR, 'replay', self.rules, same, self.rules]):
            self.assertEqual(self.run_it(words).returncode, 2)

    def test_a_file_that_the_profile_names_is_never_an_output(self):
        sizes = self.file('sizes.csv', 'size_bytes,cdf\n64,0.5\n1024,1\n')
        payload = self.file('payload.bin', 'some bytes')
        named = self.file('named.toml', SENDER.replace(
            'message_size = 1024', 'message_size = { file = "sizes.csv" }\npayload = "file"\n'
            'payload_file = "payload.bin"'))
        bins = self.file('bins.csv', 'low,high,weight\n0us,1ms,1\n1ms,2ms,3\n')
        frames = self.file('lost.txt', '3\n17\n')
        path = self.file('path.toml', PATH.read_text(encoding='utf-8'))
        impair = self.file('stages.toml', 'path = "path.toml"\n[[rule]]\nname = "r"\n'
                           'jitter = { distribution = "histogram", file = "bins.csv" }\n'
                           'loss = { model = "listed", file = "lost.txt" }\n')
        table = self.file('table.csv', 'bytes,gbps\n64,1\n1024,2\n')
        compared = self.file('compared.toml', EXPERIMENT + (
            '[scenario.compare]\ntable = "table.csv"\nrows = { bytes = "bytes" }\n'
            '[[scenario.compare.column]]\npublished = "gbps"\nours = "bw_average_gbps"\n'))
        loop = [GEN, 'run', named, '--port', 'net_ring0', '--receive', 'net_ring0', '--quiet']
        for words, out in (
                ([GEN, 'run', named, '--pcap'], sizes), ([GEN, 'run', named, '--pcap'], payload),
                ([*loop, '--series'], sizes), ([*loop, '--histogram'], sizes),
                ([*loop, '--report-to'], sizes),
                ([GEN, 'receive', '--port', 'null', '--duration', '1s', '--profile', named,
                  '--pcap'], payload),
                ([GEN, 'receive', '--port', 'null', '--duration', '1s', '--profile', named,
                  '--sent', table, '--pcap'], table),
                ([GEN, 'sim', '--path', impair, '-n', '10', '--pcap'], path),
                ([GEN, 'sim', '--path', impair, '-n', '10', '--series'], bins),
                ([IMPAIR, 'replay', impair, self.frames], bins),
                ([IMPAIR, 'replay', impair, self.frames, '/dev/null', '--ledger'], frames),
                ([IMPAIR, 'run', impair, '--west', f'pcap:{self.frames}', '--east', 'null',
                  '--ledger'], path),
                ([IMPAIR, 'run', impair, '--west', f'pcap:{self.frames}', '--east', 'null',
                  '--ready-file'], bins)):
            with self.subTest(' '.join(map(str, words))):
                before = out.read_bytes()
                done = self.run_it([*words, out])
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn('expected a file of its own', done.stderr)
                self.assertEqual(out.read_bytes(), before)
        # A folder of results in which an input has the name of a result.
        self.file('search.csv').symlink_to(sizes)
        self.file('buffers.svg').symlink_to(path)
        self.file('compared.json').symlink_to(table)
        for words in (
                [GEN, 'search', named, '--port', 'net_ring0', '--receive', 'net_ring0', '--out'],
                [GEN, 'sim', '--path', path, '--pattern', 'blast', '--study'],
                [GEN, 'experiment', compared, '--out']):
            with self.subTest(' '.join(map(str, words))):
                done = self.run_it([*words, self.folder])
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn('expected a file of its own for --', done.stderr)
                self.assertEqual(done.stdout, '')

    def test_a_folder_that_cannot_be_made(self):
        for name in 'gen search csv', 'gen experiment csv', 'gen sim --study csv':
            words, _ = self.file_commands()[name]
            with self.subTest(name):
                done = self.run_it([*words, f'{self.rules}/folder'])
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f'{self.rules}/folder: the folder cannot be made: Not a directory', done.stderr)

    def test_equal_ports_are_refused_before_anything_is_opened(self):
        ledger = self.file('kept.jsonl', 'kept')
        for west, east in (('lo', 'lo'), ('lo', 'af_packet:lo'), ('net_ring0', 'net_ring0'),
                           ('lo', 'net_af_packet7,iface=lo'),
                           ('memif:/tmp/lw.sock', 'memif:/tmp/../tmp/lw.sock')):
            with self.subTest(f'{west} {east}'):
                done = self.run_it([IMPAIR, 'run', self.rules, '--west', west, '--east', east,
                                    '--ledger', ledger])
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn('are the same', done.stderr)
                self.assertEqual(ledger.read_text(encoding='utf-8'), 'kept')
        done = self.run_it([GEN, 'run', self.sender, '--port', 'lo', '--receive', 'af_packet:lo'])
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_capture_that_a_port_writes_is_checked(self):
        """DPDK's driver writes it, and ignores errors."""
        out = self.file('port.pcap')
        words = [*BOX, self.rules, '--west', f'pcap:{self.frames}', '--east']
        done = self.run_it([*words, f'pcap:,{out}'],
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                                 (LIMIT, LIMIT)))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertRegex(done.stderr, f'{out}: cannot be written: [0-9]+ of [0-9]+ bytes are in it')
        self.assertTrue(done.stdout, 'no report')
        done = self.run_it([*words, f'pcap:,{FULL}'])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn(f'{FULL}: cannot be written: No space left on device', done.stderr)

    @needs.root('interfaces')
    def test_an_interface_serves_one_instance(self):
        first = begin(self, [GEN, 'receive', '--port', 'lo', '--quiet'])
        for line in first.stderr:
            if line == 'ready\n':
                break
        for name in 'lo', 'af_packet:lo', 'net_af_packet7,iface=lo':
            done = self.run_it([GEN, 'receive', '--port', name, '--duration', '1s'])
            self.assertEqual(done.returncode, 3, (name, done.stderr))
            self.assertIn(f'roce-gen (process {first.pid}) uses interface', done.stderr)
        first.terminate()
        self.assertEqual(first.wait(TIMEOUT), 0)
        done = self.run_it([GEN, 'receive', '--port', 'lo', '--duration', '100ms', '--quiet'])
        self.assertEqual(done.returncode, 0, done.stderr)

    def demo(self, stranger):
        """The demo with programs that fail at once; the names that are left in its folder."""
        work, tools, build = (self.file(name) for name in ('work', 'tools', 'build'))
        work.mkdir()
        tools.mkdir()
        if stranger:
            (work / 'stranger').write_text('of somebody else', encoding='utf-8')
        commands = {tools / 'mktemp': f'echo {work}'}
        for program_name in 'gen', 'impair', 'dissect':
            (build / program_name).mkdir(parents=True)
            commands[build / program_name / f'roce-{program_name}'] = 'echo no >&2; exit 1'
        for path, command in commands.items():
            path.write_text(f'#!/bin/sh\n{command}\n', encoding='utf-8')
            path.chmod(0o755)
        done = self.run_it(['bash', SOURCE / 'packaging' / 'demo.sh', build],
                           env={**os.environ, 'PATH': f'{tools}:{os.environ["PATH"]}'})
        self.assertEqual(done.returncode, 1, done.stderr)
        return [path.name for path in work.iterdir()] if work.exists() else None

    def test_the_demo_deletes_its_own_files(self):
        self.assertIsNone(self.demo(stranger=False))

    def test_the_demo_deletes_no_other_files(self):
        self.assertEqual(self.demo(stranger=True), ['stranger'])


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
