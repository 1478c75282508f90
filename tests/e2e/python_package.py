# SPDX-License-Identifier: BSD-3-Clause
"""The Python package: a box is started, changed and read, a generator and a receiver are run; its
example; and the pytest fixture of the guide, as the guide has it."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import needs
from longwire_test import ANY_LATENESS, BUILD, SOURCE, program

PACKAGE = SOURCE / 'packaging/python'
GUIDE = SOURCE / 'docs/impaired-link-in-ci.md'
sys.path.insert(0, str(PACKAGE))
os.environ['PATH'] = ':'.join([*(str(pathlib.Path(program(name)).parent)
                                 for name in ('roce-gen', 'roce-impair', 'roce-dissect')),
                               os.environ['PATH']])
os.environ['PYTHONPATH'] = f'{PACKAGE}:{os.environ.get("PYTHONPATH", "")}'

import longwire  # noqa: E402

PROFILE = '''
[[rule]]
name = "path"
delay = "1ms"
[[event]]
name = "lost packet"
on_command = true
direction = "west-to-east"
action = "drop"
'''
FLOW = '''
[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 1024
rate = "10000 frames/s"
messages = 1000000
'''


class Package(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        (self.folder / 'path.toml').write_text(PROFILE, encoding='utf-8')
        (self.folder / 'flow.toml').write_text(FLOW, encoding='utf-8')
        self.west, self.east = f'memif:{self.folder}/w', f'memif:{self.folder}/e'

    def box(self, **ports):
        return longwire.Box(self.folder / 'path.toml', *ANY_LATENESS, **{
            'west': self.west + ',server', 'east': self.east + ',server', **ports})

    def frames_until(self, box, count):
        """Frames received from the west, and dropped by rules, once `count` more were received."""
        first = self.counts(box)
        self.wait_for(lambda: self.counts(box)[0] >= first[0] + count)
        now = self.counts(box)
        return now[0] - first[0], now[1] - first[1]

    def wait_for(self, done):
        end = time.monotonic() + 60
        while not done():
            self.assertLess(time.monotonic(), end, 'this does not come')
            time.sleep(0.02)

    @staticmethod
    def counts(box):
        west = box.show().report.directions[0]
        return west.received.frames, west.dropped_by_rule.frames

    def test_loss_is_set_seen_in_the_frames_and_undone(self):
        with self.box() as box:
            with longwire.Receiver(self.east) as receiver, \
                    longwire.Generator(self.folder / 'flow.toml', port=self.west) as generator:
                box.wait_for_links()
                self.assertEqual(self.frames_until(box, 1000)[1], 0)
                self.assertEqual(box.set('path', loss='1%').rules[0].loss, 0.01)
                received, dropped = self.frames_until(box, 20_000)
                deviation = (0.01 * 0.99 / received) ** 0.5
                self.assertAlmostEqual(dropped / received, 0.01, delta=5 * deviation)
                self.assertEqual(box.undo().rules[0].loss, 0)
                before = self.counts(box)[1]
                box.event('lost packet')
                self.frames_until(box, 1000)
                self.wait_for(lambda: box.show().report.directions[0].get('events', [{}])[0].get('happened') == 1)
                self.assertEqual(self.counts(box)[1], before + 1)
                samples = box.metrics()['longwire_impair_dropped_by_rule_frames_total']
                self.assertGreaterEqual(dict((labels['direction'], value) for labels, value in samples
                                             if labels['rule'] == 'path')['west-to-east'], dropped)
                generator.stop()
                time.sleep(0.5)
                receiver.stop()
        self.assertEqual((box.exit_code, box.report.identity_holds), (0, True))
        west = box.report.directions[0]
        self.assertEqual(generator.report.frames, west.received.frames)
        self.assertEqual(receiver.report.frames, west.sent.frames)
        self.assertEqual(west.received.frames, west.sent.frames + west.dropped_by_rule.frames)

    def test_what_is_refused_is_an_exception(self):
        with self.assertRaisesRegex(longwire.LongwireError, 'path.toml.*unknown key "dely"'):
            (self.folder / 'path.toml').write_text('[[rule]]\ndely = "1ms"\n', encoding='utf-8')
            with self.box():
                self.fail('it has started')
        (self.folder / 'path.toml').write_text(PROFILE, encoding='utf-8')
        with self.box(west='net_ring0', east='net_ring1') as box:
            box.wait_for_links()
            for changes in ({'los': '1%'}, {'loss': '200%'}):
                with self.assertRaisesRegex(longwire.LongwireError, 'los'):
                    box.set('path', changes)
            with self.assertRaisesRegex(longwire.LongwireError, 'expected the name'):
                box.event('no such event')
            self.assertEqual(box.show().rules[0].loss, 0)
            with self.assertRaises(AttributeError):
                box.show().reports
        with self.assertRaisesRegex(longwire.LongwireError, 'no such profile'):
            longwire.generate(self.folder / 'none.toml', port='null')

    def test_measurements_are_rows(self):
        """A run of each command, against what the command itself prints."""
        results = longwire.sim(delay='100us', size=['4KiB'], qps=2, all=False)
        self.assertEqual([(each.bytes, each.qps) for each in results], [(4096, 2)])
        [latency] = longwire.sim(delay='100us', pattern='lat', size=64, iterations=10)
        self.assertGreater(latency.t_min_usec, 100)
        lines = []
        [ran] = longwire.sim(delay='1ms', duration='50ms', interval='10ms', progress=lines.append)
        self.assertEqual((ran.intervals.whole, len([line for line in lines if ' s  ' in line])), (5, 5))
        planned = longwire.plan(delay='1ms', op='write')
        self.assertEqual(planned.schema, 'longwire.plan')
        network = longwire.sim('long-haul-incast-50km', duration='1ms')
        [row] = longwire.rows(network)
        self.assertEqual(row['verdict.exit'], network.verdict.exit)
        self.assertTrue(all(not isinstance(value, dict) for value in row.values()))
        with self.assertRaisesRegex(longwire.LongwireError, '--dely'):
            longwire.sim(dely='1ms')

    def test_captures_are_rows(self):
        capture = SOURCE / 'pcaps/rxe/loss_write_sender_side.pcap'
        frames = longwire.frames(capture)
        self.assertEqual(len(frames), longwire.summary(capture).frames)
        self.assertEqual(len({len(longwire.rows(each)) for each in frames}), 1)
        self.assertGreater(len(longwire.anomalies(capture)), 0)
        self.assertGreater(len(longwire.messages(capture)), 0)
        self.assertEqual({each.schema for each in longwire.connections(capture)}, {'longwire.connection'})
        self.assertEqual(longwire.explain(capture).schema, 'longwire.explanation')
        self.assertEqual(longwire.verify(capture)[-1].verdict.exit, 0)
        self.assertEqual(longwire.compare(capture, capture).schema, 'longwire.comparison')
        with self.assertRaisesRegex(longwire.LongwireError, 'none.pcap'):
            longwire.frames(self.folder / 'none.pcap')

    def test_an_experiment_has_its_files_and_its_results(self):
        profile = self.folder / 'small.toml'
        profile.write_text('[common]\ndelay = "100us"\n[[scenario]]\nname = "sizes"\n[scenario.set]\n'
                           'size = ["4KiB", "64KiB"]\n', encoding='utf-8')
        found = longwire.experiment(profile, self.folder / 'out')
        self.assertEqual((found.schema, len(found.cells)), ('longwire.experiment', 2))
        said = []
        with self.assertRaisesRegex(longwire.LongwireError, 'unknown key "sizes"'):
            profile.write_text('sizes = 3\n', encoding='utf-8')
            longwire.experiment(profile, self.folder / 'none', progress=said.append)
        self.assertIn('sizes', ''.join(said))

    def test_each_version_and_type_is_that_of_a_schema(self):
        schemas = [json.loads(file.read_text(encoding='utf-8'))['properties']
                   for file in (BUILD / 'packaging').glob('*.json')]
        versions = {each['schema']['const']: each['version']['const'] for each in schemas
                    if 'schema' in each}
        self.assertEqual({name: version for name, version in versions.items() if version != 1},
                         longwire.VERSIONS)
        out = self.folder / 'results.pyi'
        subprocess.run([sys.executable, PACKAGE / 'write_types.py', BUILD / 'packaging', out], check=True)
        body = ast.parse(out.read_text(encoding='utf-8')).body
        classes = {node.name: node for node in body if isinstance(node, ast.ClassDef)}
        # Those whose keys are no names, such as infiniband.bth.opcode.
        others = {node.targets[0].id for node in body if isinstance(node, ast.Assign)}
        self.assertIn('bw_average_gbps', [row.target.id for row in classes['PerfBandwidth'].body
                                          if isinstance(row, ast.AnnAssign)])
        source = (PACKAGE / 'longwire/__init__.py').read_text(encoding='utf-8')
        for name in re.findall(r'results\.(\w+)', source):
            self.assertTrue(name == 'pyi' or name in classes or name in others, name)

    def test_no_process_is_left(self):
        with self.assertRaises(ZeroDivisionError):
            with self.box(west='net_ring0', east='net_ring1') as box:
                folder, process = pathlib.Path(box._folder.name), box._process
                _ = 1 / 0
        self.assertIsNotNone(process.returncode)
        self.assertFalse(folder.exists())

    def test_example(self):
        done = subprocess.run([sys.executable, str(PACKAGE / 'examples/loss.py')], timeout=120,
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        sent, dropped, received = map(int, re.findall(r'\d+', done.stdout))
        self.assertEqual((sent, dropped + received), (20_000, 20_000))
        self.assertAlmostEqual(dropped, 200, delta=5 * 14.1)


@needs.root('network namespaces')
@needs.tools('pytest-3')
class Guide(unittest.TestCase):
    def test_fixture_and_test_are_right(self):
        fixture, test = re.findall(r'^```python\n(.*?)^```', GUIDE.read_text(encoding='utf-8'), re.S | re.M)
        with tempfile.TemporaryDirectory(prefix='longwire-') as folder:
            pathlib.Path(folder, 'conftest.py').write_text(fixture, encoding='utf-8')
            pathlib.Path(folder, 'test_path.py').write_text(test, encoding='utf-8')
            # Namespaces of its own, so that names are free and nothing stays.
            done = subprocess.run(
                ['unshare', '--net', '--mount', 'sh', '-c',
                 'mkdir -p /run/netns && mount -t tmpfs none /run/netns && exec pytest-3 -q -p no:cacheprovider'],
                cwd=folder, timeout=300, capture_output=True, text=True, check=False,
                env={**os.environ, 'LONGWIRE_PROFILES': str(SOURCE / 'profiles/impair')})
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn('1 passed', done.stdout)

    def test_the_fixture_is_short(self):
        fixture = re.search(r'^```python\n(.*?)^```', GUIDE.read_text(encoding='utf-8'), re.S | re.M)[1]
        self.assertLessEqual(len([line for line in fixture.splitlines() if line.strip()]), 21)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
