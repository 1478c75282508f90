# SPDX-License-Identifier: BSD-3-Clause
"""The JSON of every command, by its schema. The commands with --json come from
--help: a new one without a test fails here, and so does a schema that no output uses."""

import json
import pathlib
import re
import subprocess
import tempfile
import time
import unittest
import urllib.request

import jsonschema

import figure_names
import output_schemas
import pcap_file
import upper_composer
from gen_experiment import FAILING
from longwire_test import ANY_LATENESS, SOURCE, begin, program
from outputs import leaves

PROGRAMS = {name: program(f'roce-{name}') for name in ('gen', 'endpoint', 'impair', 'dissect')}
PROFILES = SOURCE / 'profiles'
PATH = PROFILES / 'paths' / 'apn-380km.toml'
FLOWS = PROFILES / 'flows'
CAPTURES = sorted((SOURCE / 'pcaps' / 'rxe').glob('*.pcap'))
TIMEOUT = 120

# Validated by rxe/endpoint.py, rxe/telemetry.py and rxe/device_peer.py, as they need an RDMA device.
DEVICE_COMMANDS = {'endpoint serve', 'endpoint bw', 'endpoint lat', 'endpoint blast', 'endpoint ping',
                   'gen telemetry'}
DEVICE_SCHEMAS = {'serve_session', 'send_device', 'telemetry'}
# Of runs under mpirun, which gen_ranks.py checks.
RANKS_SCHEMAS = {'rank', 'ranks', 'perf_ranks'}

SENDER = '''[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 1024
rate = "100000 frames/s"
messages = 400
signature = true
qps = 2
[[flow.fault]]
kind = "bad_icrc"
rate = "2%"
'''
RULES = '''[[rule]]
name = "line"
delay = "1ms"
loss = "5%"
duplicate = "1%"
corrupt = "1%"
'''


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.folder = pathlib.Path(cls.holder.name)
        cls.frames = cls.folder / 'frames.pcap'
        pcap_file.write_pcap(cls.frames, [(10**9 + 1000 * i, pcap_file.roce_frame(i, 1000))
                                          for i in range(1000)])
        cls.rules = cls.write('rules.toml', RULES)
        cls.sender = cls.write('sender.toml', SENDER)
        cls.seen, cls.covered = set(), set()

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def write(cls, name, text):
        file = cls.folder / name
        file.write_text(text, encoding='utf-8')
        return file

    def validated(self, command, text):
        """Validates all lines; returns them as read."""
        if text:  # a capture may have nothing to list
            self.covered.add(command)
        for line in text.splitlines():
            with self.subTest(command):
                self.seen.add(output_schemas.validate(line))
        return [json.loads(line) for line in text.splitlines()]

    def check(self, command, *words, exits=(0, 1)):
        """Runs "gen run" with these words and --json, and validates what it prints."""
        name, *inner = command.split()
        done = subprocess.run([PROGRAMS[name], *inner, *map(str, words), '--json'],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertIn(done.returncode, exits, done.stderr)
        return self.validated(command, done.stdout)

    def send_and_measure(self):
        ring = ('--port', 'net_ring0', '--receive', 'net_ring0', '--quiet')
        for flow in sorted(FLOWS.glob('*.toml')):
            self.check('gen check', flow)
            self.check('gen run', flow, '--count', 2000, '--pcap', self.folder / 'flow.pcap')
            self.check('gen receive', '--port', f'pcap:{self.folder}/flow.pcap', '--quiet')
        self.check('gen check', self.sender, '--port', 'null')
        self.check('gen run', self.sender, *ring)
        self.check('gen run', self.sender, '--port', 'null', '--quiet', '--catch-up', '1ms')
        self.check('gen replay', self.frames, '--pcap', self.folder / 'again.pcap')
        self.check('gen replay', self.frames, '--port', 'null')
        self.check('gen search', FLOWS / 'ipv4-rc-send.toml', *ring[:-1], '--sizes', 64, '--duration',
                   '20ms', '--settle', '20ms', '--resolution', '50%', '--max-rate', '10Mb/s')

    def watch(self):
        """The state that a live page gets, as it waits, runs and ends."""
        run = begin(self, [PROGRAMS['gen'], 'run', self.sender, '--port', 'net_ring0', '--receive', 'net_ring0',
                           '--set', 'flow0.messages=100000000', '--quiet', '--web', '0'])
        url, token = run.stderr.readline().strip().removeprefix('live page: ').split('#token=')
        page = urllib.request.Request(url + 'events', headers={'Authorization': f'Bearer {token}'})
        states = []
        with urllib.request.urlopen(page, timeout=TIMEOUT) as events:
            for line in map(bytes.decode, events):
                if not line.startswith('data: '):
                    continue
                states += self.validated('gen run', line[6:])
                if states[-1]['phase'] == 'running':
                    run.terminate()  # once: a second signal ends it at once
                    break
            for line in map(bytes.decode, events):
                states += self.validated('gen run', line.removeprefix('data: ').strip())
        self.assertEqual(states[-1]['phase'], 'ended')
        run.communicate(timeout=TIMEOUT)

    def simulate(self):
        sim = ('--path', PATH, '-n', 100)
        for words in (('--op', 'write', '-a'), ('--op', 'read', '-q', 4), ('--pattern', 'ping'),
                      ('--op', 'send', '--pattern', 'blast', '--rate', '1Gb/s'),
                      ('--op', 'write', '--pattern', 'lat'), ('--op', 'atomic'),
                      ('--op', 'write', '--rate-control', 'dcqcn')):
            self.check('gen sim', *sim, *words)
        self.check('gen sim', '--delay', '0us', '--pattern', 'blast', '--rate', '100Mb/s',
                   '--study', self.folder / 'study')
        self.check('gen sim', 'fat-tree-16', '--duration', '1ms')
        self.check('gen plan', '--path', PATH)
        self.experiment(self.write('lossy.toml', FAILING), code=1)
        self.experiment(PROFILES / 'experiments' / 'apn-380km-throughput.toml', '--scenario', 'table C.1',
                        '--only', 'size=64KiB', code=0)

    def experiment(self, profile, *words, code):
        """It has no --json: its file of results is JSON."""
        done = subprocess.run([PROGRAMS['gen'], 'experiment', profile, '--out', self.folder / 'results', *words],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        results = self.folder / 'results' / f'{profile.stem}.json'
        self.seen.add(output_schemas.validate(results.read_text(encoding='utf-8')))

    def talk(self):
        """A requester and a responder over memif."""
        wire = f'memif:{self.folder}/wire'
        peer = begin(self, [PROGRAMS['gen'], 'respond', '--port', f'{wire},server', '--sessions', '1',
                            '--idle', 'yield', '--json'])
        self.check('gen perf', '--port', wire, '--peer', '198.18.0.2', '--op', 'write', '-s', 4096,
                   '-n', 500, '--idle', 'yield')
        out, error = peer.communicate(timeout=TIMEOUT)
        self.assertEqual(peer.returncode, 0, error)
        self.validated('gen respond', out)

    def impair(self):
        for profile in sorted([*(PROFILES / 'impair').glob('*.toml'), PATH]):
            self.check('impair explain', profile)
            self.check('impair check', profile, exits=(0, 3))  # 3: more memory than there is
            self.check('impair replay', profile, self.frames, self.folder / 'far.pcap')
        self.check('impair replay', self.rules, self.frames, self.folder / 'far.pcap', '--ledger',
                   self.folder / 'ledger.jsonl')
        self.check('impair replay', self.rules, self.frames, self.folder / 'far.pcap', '--dry-run')
        self.check('impair run', self.rules, '--west', f'pcap:{self.frames}', '--east', 'null',
                   *ANY_LATENESS, '--ledger', self.folder / 'run.jsonl', '--pcap', self.folder / 'run.pcapng')

    def control(self):
        socket, ready = self.folder / 'socket', self.folder / 'ready'
        process = begin(self, [PROGRAMS['impair'], 'run', self.rules, '--west', 'net_ring0', '--east',
                               'net_ring1', '--control', socket, '--ready-file', ready, '--json',
                               '--ledger', self.folder / 'control.jsonl'])
        while not ready.exists() and process.poll() is None:
            time.sleep(0.02)
        for words in (('show',), ('records',), ('preview', 'line', 'loss=1%'), ('set', 'line', 'loss=1%'), ('undo',),
                      ('load', self.rules), ('reset',), ('record', self.folder / 'control.pcapng'),
                      ('stop-recording',), ('record', self.folder / 'control2.pcapng'), ('show',),
                      ('event', '{"flap": {"port": "west", "down": "1ms"}}')):
            done = subprocess.run([PROGRAMS['impair'], 'ctl', str(socket), '--json', *map(str, words)],
                                  capture_output=True, text=True, timeout=TIMEOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.validated(f'impair ctl {words[0]}', done.stdout)
        process.terminate()
        self.validated('impair run', process.communicate(timeout=TIMEOUT)[0])

    def dissect(self):
        for capture in CAPTURES:
            for command in ('list', 'verify', 'connections', 'messages', 'anomalies', 'summary', 'explain'):
                self.check(f'dissect {command}', capture)
            self.check('dissect messages', capture, '--by', 'size')
            self.extract(capture)
            lossy = self.folder / 'lossy.pcap'
            self.check('impair replay', self.rules, capture, lossy)
            self.extract(lossy)
        stored = self.folder / 'stored.pcap'
        pcap_file.write_pcap(stored, upper_composer.compose('nvme', 1)[0])
        for options in (), ('--by', 'operation,size'), ('--facts',):
            self.check('dissect commands', stored, *options)
        self.check('dissect summary', *CAPTURES, '--max-flows', 1)
        far = self.folder / 'far.pcap'
        self.check('dissect compare', self.frames, far, '--ledger', self.folder / 'ledger.jsonl',
                   '--delay', '1ms', '--loss', '5%', '--expect', 'loss<=50%')
        self.check('dissect compare', CAPTURES[0], CAPTURES[0])

    def extract(self, capture):
        out = self.folder / 'extracted'
        self.check('dissect extract', capture, '--force', '--out', out)
        for name in ('map.jsonl', 'messages.jsonl'):
            self.validated('dissect extract', (out / name).read_text(encoding='utf-8'))

    def test_output_of_every_command(self):
        for part in (self.send_and_measure, self.watch, self.simulate, self.talk, self.impair, self.control,
                     self.dissect):
            with self.subTest(part.__name__):
                part()
        self.check('gen otg', '--fields')
        for command in ('gen opcodes', 'gen doctor', 'gen profiles', 'impair profiles',
                        'dissect fields'):
            self.check(command)
        offered = set()
        for name, binary in PROGRAMS.items():
            if '--json' in self.help_of(binary, 'ctl') and name == 'impair':
                offered |= {f'impair ctl {one}' for one, _ in leaves([binary, 'ctl', 'S'], '')}
            offered |= {f'{name} {command}' for command, text in leaves([binary], '')
                        if re.search(r'[ ,]--json ', text)}
        self.assertEqual(offered - self.covered, DEVICE_COMMANDS, 'commands without a test')
        self.assertEqual(output_schemas.OUTPUTS - self.seen, DEVICE_SCHEMAS | RANKS_SCHEMAS,
                         'schemas without use')

    @staticmethod
    def help_of(*words):
        return subprocess.run([*words, '--help'], capture_output=True, text=True, timeout=TIMEOUT,
                              check=False).stdout

    def test_fields_of_frames_are_those_of_list(self):
        done = subprocess.run([PROGRAMS['dissect'], 'fields', '--json'], capture_output=True,
                              text=True, timeout=TIMEOUT, check=True)
        fields = {row['name']: row['help'] or row['name'] for row in map(json.loads, done.stdout.splitlines())}
        described = {name: value['description'] for name, value in
                     output_schemas.SCHEMAS['frame']['properties'].items()}
        self.assertEqual({**fields, 'schema': described['schema'], 'version': described['version']},
                         described)


class Files(unittest.TestCase):
    """The schemas themselves."""

    def objects(self, schema, place):
        """(place, object) of all objects with named properties within a schema."""
        if isinstance(schema, dict):
            if schema.get('type') == 'object' and 'properties' in schema:
                yield place, schema
            for key, value in schema.items():
                yield from self.objects(value, f'{place}/{key}')
        elif isinstance(schema, list):
            for i, value in enumerate(schema):
                yield from self.objects(value, f'{place}/{i}')

    def test_schemas_are_valid_and_closed(self):
        for name, schema in output_schemas.SCHEMAS.items():
            jsonschema.Draft202012Validator.check_schema(schema)
            self.assertTrue(schema['$id'].endswith(f'/{name}.json'))
            for place, one in self.objects(schema, name):
                with self.subTest(place):
                    closed = {one.get('additionalProperties'), one.get('unevaluatedProperties')}
                    self.assertIn(False, closed)
                    self.assertLessEqual(set(one['required']), set(one['properties']))
                    for key, value in one['properties'].items():
                        self.assertTrue(value.get('description'), key)

    def test_the_manual_lists_each_figure_with_one_spelling(self):
        self.assertEqual(list(figure_names.mistakes(output_schemas.FILES[0].parent)), [])

    def test_another_spelling_and_another_unit_are_found(self):
        names = figure_names.Names()
        names.add({'properties': {'bad_icrc': {}, 'west_to_east': {}, 'gap': {'unit': 'ns'}}}, 'one')
        names.add({'properties': {'rows': {'items': {'properties': {'icrc_bad': {}, 'east_to_west': {}}}},
                                  'gap': {'unit': 'us'}}}, 'other')
        self.assertEqual(sorted(names.mistakes()), ['two spellings of a figure: bad_icrc, icrc_bad',
                                                    'two units of a figure: gap in ns, us'])
        self.assertIn('| `gap` | ns, us | one, other |', names.table())

    def test_a_key_that_no_schema_names_fails(self):
        row = {'schema': 'longwire.opcode', 'version': 1, 'opcode': 4, 'name': 'a', 'transport': 'RC',
               'operation': 'SEND', 'position': 'only', 'role': 'request', 'payload': 'any',
               'headers': []}
        self.assertEqual(output_schemas.validate(row), 'opcode')
        for wrong in ({**row, 'more': 1}, {**row, 'opcode': '4'}, {**row, 'version': 2},
                      {**row, 'schema': 'longwire.other'}, {'schema': 'longwire.opcode'}, [row]):
            with self.assertRaises(AssertionError):
                output_schemas.validate(wrong)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
