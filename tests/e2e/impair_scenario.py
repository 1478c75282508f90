# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios, protection switching, flaps and commands: in virtual time to the nanosecond, and in
a run."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

import needs
import longwire_test
from longwire_test import program
from pcap_file import is_roce, other_frame, read_pcap, roce_frame, write_pcap

START = 1_700_000_000 * 10**9
GAP = 10_000
FRAMES = 4000  # 40 ms

PATHS = '''
[path]
[[path.span]]
length = "200km"

[[rule]]
name = "haul"
delay = "path"
loss = 0
'''
DELAY_200, DELAY_100 = 979_478, 489_739  # km x 1.4682 / c


class Scenario(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def impair(self, *words, expect=0):
        done = subprocess.run([program('roce-impair'), *map(str, words)], capture_output=True,
                              text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return done


class Replay(Scenario):
    def setUp(self):
        super().setUp()
        self.sent = [(START + i * GAP, other_frame(i) if i % 10 == 9 else roce_frame(i))
                     for i in range(FRAMES)]
        write_pcap(self.folder / 'in.pcap', self.sent)

    def replay(self, profile, *options):
        """{frame's number: when it left}, the ledger's records of frames, the report."""
        done = self.impair('replay', self.write('p.toml', profile), self.folder / 'in.pcap',
                           self.folder / 'out.pcap', '--json', '--ledger', self.folder / 'ledger',
                           *options)
        number = {data: i for i, (_, data) in enumerate(self.sent)}
        received = read_pcap(self.folder / 'out.pcap')
        self.order = [number[data] for _, data in received if is_roce(data)]
        left = {number[data]: stamp - START for stamp, data in received}
        self.ledger = [json.loads(line) for line in
                       (self.folder / 'ledger').read_text().splitlines()]
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'])
        return left, [one for one in self.ledger if 'change' not in one], report

    def test_an_at_changes_keys_at_its_instant(self):
        left, _, report = self.replay(PATHS + '''
[[at]]
time = "10ms"
rule = "haul"
set = { loss = "100%" }
[[at]]
time = "20ms"
rule = "haul"
set = { loss = 0, delay = "3ms" }
''')
        for i in range(FRAMES):
            if i % 10 == 9:
                self.assertEqual(left[i], i * GAP)
            elif i * GAP < 10_000_000:
                self.assertEqual(left[i], i * GAP + DELAY_200)
            elif i * GAP < 20_000_000:
                self.assertNotIn(i, left)
            else:
                self.assertEqual(left[i], i * GAP + 3_000_000)
        self.assertEqual(report['scenario'], {'done': 2, 'failed': 0, 'all': 2, 'latest_ns': 0})

    def test_changes_are_logged_with_their_instants_and_frames(self):
        """In the report, the ledger of both forms, the recording and the page."""
        profile = PATHS + '''
[[at]]
name = "worse"
time = "10ms"
rule = "haul"
set = { loss = "50%", delay = "3ms" }
[[flap]]
name = "cut"
port = "east"
time = "20ms"
down = "5ms"
'''
        page = self.folder / 'page.html'
        recording = self.folder / 'c.pcapng'
        _, _, report = self.replay(profile, '--html', page, '--pcap', recording)
        ledger = self.ledger
        changes = report['changes']
        self.assertEqual([(one['since_first_frame_ns'], one['by'], one['name'], one['key'],
                           one['before'], one['after']) for one in changes],
                         [(10_000_000, 'scenario "worse"', 'haul', 'delay', '"path"', '"3ms"'),
                          (10_000_000, 'scenario "worse"', 'haul', 'loss', '0', '"50%"'),
                          (20_000_000, 'scenario "cut"', 'east', 'link', 'up', 'down'),
                          (25_000_000, 'scenario "cut"', 'east', 'link', 'down', 'up')])
        for one in changes:
            self.assertEqual(one['time_ns'], START + one['since_first_frame_ns'])
            # The frame of this instant comes after the change.
            self.assertEqual(one['first_frame_west_to_east'], one['since_first_frame_ns'] // GAP)
        self.assertEqual([one['change'] for one in ledger if 'change' in one], changes)
        at = [i for i, one in enumerate(ledger) if 'change' in one]
        for i in at:
            before = [one['frame'] for one in ledger[:i] if 'frame' in one and one['time_in_ns'] <
                      ledger[i]['change']['time_ns']]
            self.assertEqual(len(before), sum('frame' in one for one in ledger[:i]))
        self.impair('replay', self.folder / 'p.toml', self.folder / 'in.pcap',
                    self.folder / 'out.pcap', '--ledger', self.folder / 'l.lwl')
        printed = [json.loads(line) for line in
                   self.impair('ledger', self.folder / 'l.lwl').stdout.splitlines()]
        self.assertEqual(printed, ledger)
        comments = subprocess.run(['tshark', '-r', recording, '-Y', 'frame.comment contains "change"',
                                   '-T', 'fields', '-e', 'frame.comment'], capture_output=True,
                                  text=True, check=True).stdout
        self.assertEqual(comments.count('; change before frame'), 4)
        self.assertIn('haul: loss 0 -> "50%" (scenario "worse")', comments)
        compared = subprocess.run([program('roce-dissect'), 'compare', str(recording), '--ledger',
                                   str(self.folder / 'ledger')], capture_output=True, text=True,
                                  check=False)
        self.assertEqual(compared.returncode, 0, compared.stdout + compared.stderr)
        marks = page.read_text().count('stroke-dasharray=\\"3 4\\"')
        self.assertEqual(marks, 2 * 2 * 4, 'each change in both plots over time, each drawn for two widths')
        text = self.impair('replay', self.folder / 'p.toml', self.folder / 'in.pcap',
                           self.folder / 'out.pcap').stdout
        self.assertIn('4 changes took effect:\n  at 10 ms; haul: delay', text)

    def test_each_configuration_is_audited(self):
        """By the frames that came in while it was in force, as the captures show them."""
        left, _, report = self.replay(PATHS + '''
[[at]]
time = "10ms"
rule = "haul"
set = { loss = "50%" }
[[at]]
time = "20ms"
rule = "haul"
set = { loss = "10%", delay = "1ms" }
''')
        spans = [(0, 10), (10, 20)]
        self.assertEqual([(one['from_ns'], one['to_ns']) for one in report['ended_audits']],
                         [(1_000_000 * begin, 1_000_000 * end) for begin, end in spans[1:]])
        for one, (begin, end) in zip(report['ended_audits'], spans[1:]):
            frames = [i for i in range(begin * 1_000_000 // GAP, end * 1_000_000 // GAP) if i % 10 != 9]
            lost = sum(i not in left for i in frames)
            check, = (check for check in one['checks'] if check['what'] == 'lost')
            self.assertEqual((check['frames'], check['asked'], check['holds'], check['enough']),
                             (len(frames), 0.5, True, True))
            self.assertAlmostEqual(check['seen'], lost / len(frames))
            self.assertLess((check['low'], 0.5), (0.5, check['high']))
        text = self.impair('replay', self.folder / 'p.toml', self.folder / 'in.pcap',
                           self.folder / 'out.pcap').stdout
        self.assertRegex(text, 'before the changes:\n  10 ms to 20 ms, west-to-east, haul: lost ')
        self.check_the_whole_run(report, text, left)

    def check_the_whole_run(self, report, text, left):
        """The sum of the two configurations that lose frames, and what left of all."""
        run = {(one['direction'], one['rule']): one for one in report['run_audits']}
        haul = run['west-to-east', 'haul']
        self.assertEqual(haul['configurations'], 2)
        frames = {span: [i for i in range(*span) if i % 10 != 9]
                  for span in ((1000, 2000), (2000, FRAMES))}
        lost = sum(i not in left for span in frames.values() for i in span)
        asked = sum(share * len(span) for share, span in zip((0.5, 0.1), frames.values()))
        check, = (check for check in haul['checks'] if check['what'] == 'lost')
        count = sum(map(len, frames.values()))
        self.assertEqual(check['frames'], count)
        self.assertAlmostEqual(check['asked'], asked / count)
        self.assertAlmostEqual(check['seen'], lost / count)
        self.assertTrue(check['holds'] and check['low'] < asked / count < check['high'])
        out, error = run['west-to-east', '']['checks']
        self.assertEqual((out['what'], error['what']), ('bytes out', 'least delay error'))
        self.assertEqual(out['seen'], report['directions'][0]['sent']['bytes'])
        self.assertTrue(out['holds'] and error['holds'])
        self.assertRegex(text, 'over the whole run:\n  west-to-east: bytes out .*\n'
                               '  west-to-east: least delay error .*: holds\n'
                               '  west-to-east, haul: lost ')

    def test_a_ramp_is_a_staircase(self):
        left, _, _ = self.replay(PATHS + '''
[[at]]
time = "10ms"
rule = "haul"
set = { delay = "1ms" }
[[at]]
time = "20ms"
rule = "haul"
over = "10ms"
steps = 10
set = { delay = "2ms" }
''')
        for i in range(1000, FRAMES):
            if i % 10 == 9:
                continue
            step = min(10, max(0, (i * GAP - 20_000_000) // 1_000_000))
            self.assertEqual(left[i], i * GAP + 1_000_000 + step * 100_000)

    def protection(self, order, outage='1ms'):
        return PATHS + f'''
[[protection]]
name = "cut"
time = "10ms"
outage = "{outage}"
order = "{order}"
path = {{ span = [{{ length = "100km" }}] }}
'''

    def test_a_protection_is_an_outage_and_another_path(self):
        left, ledger, report = self.replay(self.protection('kept'))
        lost = [i for i in range(1000, 1100) if i % 10 != 9]
        self.assertEqual([r['frame'] for r in ledger], lost)
        self.assertEqual({(r['stage'], r['action']) for r in ledger}, {('outage', 'drop')})
        self.assertEqual(report['directions'][0]['stages'][0]['acted'], {'outage': len(lost)})
        self.assertEqual(report['directions'][0]['dropped_by_rule']['frames'], len(lost))
        for i in range(1100, FRAMES):
            if i % 10 != 9:
                self.assertEqual(left[i], i * GAP + DELAY_100)

    def test_a_shorter_path_reorders_only_where_asked(self):
        left, _, _ = self.replay(self.protection('kept', '50us'))
        self.assertEqual(self.order, sorted(self.order))
        # What came over the new path waits for the last frame of the old one, and is right behind:
        # a nanosecond for the outage, and one for its end. (999 is no rule's.)
        self.assertEqual(left[1005], left[998] + 2)
        self.assertEqual(left[998], 998 * GAP + DELAY_200)
        left, _, _ = self.replay(self.protection('free', '50us'))
        self.assertNotEqual(self.order, sorted(self.order))
        self.assertEqual(left[1005], 1005 * GAP + DELAY_100)

    def test_a_port_that_flaps_is_dark_both_ways(self):
        flap = '''
[[flap]]
time = "10ms"
port = "{}"
down = "1ms"
every = "10ms"
times = 2
'''
        left, ledger, report = self.replay(PATHS + flap.format('west'))
        dark = [*range(1000, 1100), *range(2000, 2100)]
        self.assertEqual(sorted(set(range(FRAMES)) - set(left)), dark)
        self.assertEqual({r['action'] for r in ledger}, {'link_down'})
        want = report['directions'][0]['dropped_for_resource']['link_down']
        self.assertEqual(want['frames'], len(dark))
        left, _, report = self.replay(PATHS + flap.format('east'))
        out = {i: i * GAP + (DELAY_200 if i % 10 != 9 else 0) for i in range(FRAMES)}
        dark = [i for i in out if 10_000_000 < out[i] <= 11_000_000
                or 20_000_000 < out[i] <= 21_000_000]
        lost = set(range(FRAMES)) - set(left)
        self.assertLessEqual(len(lost.symmetric_difference(dark)), 4)  # at the very instants

    def test_the_same_again_gives_the_same_bytes(self):
        profile = self.protection('kept').replace('loss = 0', 'loss = "5%"')
        self.replay(profile)
        first = (self.folder / 'out.pcap').read_bytes()
        self.replay(profile)
        self.assertEqual((self.folder / 'out.pcap').read_bytes(), first)

    def test_a_compact_ledger_says_the_same(self):
        profile = self.protection('kept').replace('loss = 0', 'loss = "5%"\nreorder = { fraction = "3%", time = "10us" }')
        self.replay(profile)
        lines = (self.folder / 'ledger').read_text()
        self.assertGreater(lines.count('\n'), 200)
        self.impair('replay', self.folder / 'p.toml', self.folder / 'in.pcap',
                    self.folder / 'out.pcap', '--ledger', self.folder / 'l.lwl')
        self.assertEqual(self.impair('ledger', self.folder / 'l.lwl').stdout, lines)
        content = (self.folder / 'l.lwl').read_bytes()
        changes = sum(len(line) for line in lines.splitlines() if line.startswith('{"change"'))
        self.assertLess(len(content), 45 * lines.count('\n') + changes + 100)
        (self.folder / 'cut.lwl').write_bytes(content[:-60])
        self.impair('ledger', self.folder / 'cut.lwl', expect=1)
        self.impair('ledger', self.folder / 'in.pcap', expect=1)

    def tshark(self, *fields):
        command = ['tshark', '-r', str(self.folder / 'c.pcapng'), '-T', 'fields']
        for field in fields:
            command += ['-e', field]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return [line.split('\t') for line in done.stdout.splitlines()]

    @needs.tools('tshark')
    def test_a_capture_shows_both_sides_with_comments(self):
        profile = self.protection('kept').replace('loss = 0', 'loss = "5%"\nduplicate = "2%"')
        left, ledger, report = self.replay(profile, '--pcap', self.folder / 'c.pcapng')
        seen = self.tshark('frame.interface_name', 'frame.comment', 'frame.time_epoch')
        self.assertEqual(len(seen), report['capture']['frames'])
        came = [s for s in seen if s[0] == 'west-to-east in']
        went = [s for s in seen if s[0] == 'west-to-east out']
        self.assertEqual(len(came) + len(went), len(seen))
        self.assertEqual(len(came), FRAMES)
        self.assertEqual(len(went), report['directions'][0]['sent']['frames'])
        by_frame = {r['frame']: r for r in ledger if 'copy' not in r}
        for i, (_, comment, stamp) in enumerate(came):
            self.assertEqual(round(float(stamp.split('.')[1])), i * GAP)
            record = by_frame.get(i)
            usual = 'pass' if i % 10 == 9 else 'delay'
            self.assertTrue(comment.startswith(f'{record["action"] if record else usual}; '
                                               f'frame {i}'), comment)
        self.assertIn('drop; frame 1001; rule haul; stage outage', [s[1] for s in came])
        self.assertTrue(any(', copy 1; rule haul' in s[1] for s in went))
        self.impair('replay', self.folder / 'p.toml', self.folder / 'in.pcap',
                    self.folder / 'out.pcap', '--pcap', self.folder / 'c.pcap', expect=2)

    def test_the_path_that_takes_over_may_be_longer_and_of_a_higher_rate(self):
        profile = PATHS + '''
[[protection]]
time = "10ms"
outage = "1ms"
path = { rate = "400Gb/s", span = [ { length = "1000km" } ] }
'''
        left, _, report = self.replay(profile)
        self.assertEqual(report['scenario']['failed'], 0)
        self.assertEqual(left[1200], 1200 * GAP + 4_897_388)  # km x 1.4682 / c

    def test_the_shipped_scenarios_run(self):
        for name in ('protection-switch', 'degrading-path'):
            profile = longwire_test.SOURCE / 'profiles' / 'impair' / f'{name}.toml'
            self.assertIn('scenario', json.loads(self.impair('check', '--json', profile).stdout))
            self.impair('replay', profile, self.folder / 'in.pcap', self.folder / 'out.pcap')

    def test_mistakes_name_the_acts_own_line(self):
        profile = self.write('bad.toml', PATHS + '[[at]]\ntime = "1s"\nrule = "haul"\n'
                                                 'set = { loss = 7 }\n')
        self.assertIn('bad.toml:13:9: loss: 7: write 7%', self.impair('check', profile, expect=2).stderr)


class Running(Scenario):
    def start(self, profile, west, east, *options):
        process = self.begin(profile, west, east, *options)
        self.wait_for(process)
        return process

    def begin(self, profile, west, east, *options):
        self.ready = self.folder / 'ready'
        return longwire_test.begin(
            self, [*longwire_test.BOX, self.write('p.toml', profile), '--west', west,
                   '--east', east, '--json', '--control', self.folder / 'ctl', '--ready-file',
                   self.ready, *options])

    def wait_for(self, process):
        end = time.monotonic() + 60
        while not self.ready.exists():
            self.assertIsNone(process.poll(), 'the run ended')
            self.assertLess(time.monotonic(), end, 'never ready')
            time.sleep(0.02)

    def stop(self, process):
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        return json.loads(out)

    def ctl(self, *words, expect=0):
        return self.impair('ctl', self.folder / 'ctl', '--json', *words, expect=expect)

    def shown(self):
        return json.loads(self.ctl('show').stdout)

    def until(self, true, what):
        end = time.monotonic() + 20
        while not true():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)


class Run(Running):
    def test_commands_fire_what_the_profile_names(self):
        process = self.start(PATHS + '''
[[protection]]
name = "cut"
outage = "20ms"
path = { span = [{ length = "100km" }] }
[[at]]
name = "worse"
rule = "haul"
over = "50ms"
steps = 5
set = { loss = "5%" }
''', 'net_ring0', 'net_ring1')
        self.ctl('event', 'cut')
        rule = lambda: self.shown()['rules'][0]
        self.until(lambda: rule()['delay_ns'] == DELAY_100, 'the other path')
        self.ctl('event', 'worse')
        self.until(lambda: rule()['loss'] == 0.05, 'the ramp')
        self.assertIn('expected the name of an [[at]]', self.ctl('event', 'cat', expect=2).stderr)
        self.assertIn('port: expected', self.ctl('event', '{"flap": {"down": "1s"}}',
                                                 expect=2).stderr)
        # `set` on top of what the scenario did; `reset` takes only that away.
        self.ctl('set', 'haul', 'loss=9%')
        self.assertEqual(json.loads(self.ctl('reset').stdout)['rules'][0]['loss'], 0.05)
        self.ctl('event', '{"at": {"rule": "haul", "set": {"loss": "1%"}}}')
        self.until(lambda: rule()['loss'] == 0.01, 'an act by itself')
        report = self.stop(process)
        self.assertEqual((report['scenario']['done'], report['scenario']['all']), (8, 8))

    def test_steps_that_were_due_and_are_not_done_fail_the_run(self):
        """A millisecond between steps is too little for a profile of so many rules."""
        rules = ''.join(f'[[rule]]\nname = "rule {i}"\nmatch = {{dst_qp = {i}}}\nloss = 0\n' for i in range(2000))
        process = self.start(rules, 'net_ring0', 'net_ring1')
        self.ctl('event', json.dumps({'at': {'name': 'too fast', 'rule': 'rule 7', 'over': '40ms', 'steps': 40,
                                             'set': {'loss': '40%'}}}))
        self.until(lambda: 'overdue' in self.shown()['report']['scenario'], 'late steps')
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, err)
        scenario = json.loads(out)['scenario']
        self.assertEqual([act['name'] for act in scenario['overdue']], ['too fast'])
        self.assertEqual(scenario['overdue'][0]['steps'] + scenario['done'], 40)

    def test_commands_queue_a_stated_number_of_steps(self):
        process = self.start(PATHS, 'net_ring0', 'net_ring1')
        flaps = json.dumps({'flap': {'port': 'west', 'down': '60min', 'every': '120min', 'times': 1000}})
        for _ in range(5):
            self.ctl('event', flaps)
        self.assertIn('at most 10000 steps', self.ctl('event', flaps, expect=1).stderr)
        self.stop(process)

    def test_a_run_follows_its_scenario_and_records_it(self):
        """From the first frame on: an outage, another path, a flap, an event on command; the
        capture and the ledger tell of each."""
        at = self.folder
        process = self.begin(PATHS.replace('loss = 0', '') + '''
[[protection]]
time = "500ms"
outage = "300ms"
path = { span = [{ length = "100km" }] }
[[flap]]
port = "east"
time = "1200ms"
down = "300ms"
[[event]]
name = "hit"
on_command = true
action = "drop"
''', f'memif:{at}/w,server', f'memif:{at}/e,server', '--pcap', at / 'c.pcapng', '--ledger',
                             at / 'l.lwl')
        flow = self.write('flow.toml', '''
[[flow]]
source = "198.18.0.1"
destination = "198.18.0.2"
operation = "write"
message_size = 256
rate = "2000 frames/s"
repeat = "forever"
signature = true
''')
        far = subprocess.Popen([program('roce-gen'), 'receive', '--port', f'memif:{at}/e',
                                '--until-idle', '2s', '--json'], stdout=subprocess.PIPE, text=True)
        self.addCleanup(far.stdout.close)
        self.addCleanup(lambda: far.poll() is None and far.kill())
        near = subprocess.Popen([program('roce-gen'), 'run', str(flow), '--port', f'memif:{at}/w', '--json'],
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(near.stdout.close)
        self.addCleanup(lambda: near.poll() is None and near.kill())
        self.wait_for(process)
        self.until(lambda: self.shown()['report'].get('scenario', {}).get('done') == 4, 'steps')
        self.ctl('event', 'hit')
        self.until(lambda: self.shown()['report']['directions'][0].get('events'), 'the hit')
        near.send_signal(signal.SIGTERM)
        sent = json.loads(near.communicate(timeout=60)[0])['frames']
        far.communicate(timeout=60)
        report = self.stop(process)
        east = report['directions'][0]
        self.assertEqual(east['received']['frames'], sent)
        outage = east['stages'][0]['acted']['outage']
        down = east['dropped_for_resource']['link_down']['frames']
        # 300 ms of 2000 frames/s each, on a machine that may stand still.
        self.assertTrue(0 < outage < 1200 and 0 < down < 1200, (outage, down))
        self.assertEqual(east['events'], [{'name': 'hit', 'happened': 1, 'all': 1}])
        self.assertEqual(east['dropped_by_rule']['frames'], outage + 1)
        self.assertEqual(report['scenario']['done'], 5)
        self.assertEqual(report['capture']['skipped'], 0)
        self.assertEqual(report['capture']['frames'],
                         sum(d['received']['frames'] + d['sent']['frames']
                             for d in report['directions']))
        ledger = [json.loads(line) for line in
                  self.impair('ledger', at / 'l.lwl').stdout.splitlines()]
        changes = [r['change'] for r in ledger if 'change' in r]
        ledger = [r for r in ledger if 'change' not in r]
        self.assertEqual(changes, report['changes'])
        self.assertEqual({one['by'] for one in changes[-1:]},
                         {f'control, user {os.getuid()} "hit"'})
        self.assertEqual(sum(r['stage'] == 'outage' for r in ledger), outage)
        self.assertEqual(sum(r['action'] == 'link_down' for r in ledger), down)
        self.assertEqual([r['action'] for r in ledger if r['stage'] == 'event'], ['drop'])


@needs.root('interfaces')
class Link(Running):
    """Where a port is a Linux interface, its peer sees the link go down."""

    def test_the_peer_sees_a_flap(self):
        name = f'lw{os.getpid() % 100000}'
        if subprocess.run(['ip', 'link', 'add', name + 'a', 'type', 'veth', 'peer', 'name',
                           name + 'b'], capture_output=True, check=False).returncode:
            needs.lacks('veth interfaces', 'ip link add fails')
        self.addCleanup(subprocess.run, ['ip', 'link', 'del', name + 'a'], check=False,
                        capture_output=True)
        for end in 'ab':
            subprocess.run(['ip', 'link', 'set', name + end, 'up'], check=True)
        carrier = lambda: int(pathlib.Path(f'/sys/class/net/{name}b/carrier').read_text())
        process = self.start(PATHS, name + 'a', 'net_ring1')
        self.assertEqual(carrier(), 1)
        self.ctl('event', '{"flap": {"port": "west", "down": "700ms"}}')
        self.until(lambda: carrier() == 0, 'down')
        self.until(lambda: carrier() == 1, 'up again')
        self.until(lambda: self.shown()['report']['scenario']['done'] == 2, 'both steps')
        self.stop(process)


if __name__ == '__main__':
    longwire_test.main()
