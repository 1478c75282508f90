# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair replay: virtual time is exact, repeatable, and accounts for every frame."""

import json
import pathlib
import subprocess
import tempfile
import unittest
import xml.dom.minidom

import longwire_test
from both_ways import pause_frame
from pcap_file import is_roce, other_frame, read_pcap, roce_frame, write_pcap
from pcapng_file import write_pcapng

DELAY_NS = 1_903_507
FRAMES = 20_000
LOSS = 0.01


def profile_text(delay=f'{DELAY_NS}ns', loss=LOSS, extra=''):
    return f'{extra}\n[[rule]]\nname = "haul"\ndelay = "{delay}"\nloss = "{loss:%}"\n'


class Feed(unittest.TestCase):
    def setUp(self):
        self.folder_holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.folder_holder.name)
        self.addCleanup(self.folder_holder.cleanup)
        self.sent = [(1_700_000_000 * 10**9 + i * 777,
                      other_frame(i) if i % 10 == 9 else roce_frame(i)) for i in range(FRAMES)]
        write_pcap(self.folder / 'in.pcap', self.sent)
        (self.folder / 'profile.toml').write_text(profile_text())

    def replay(self, out, *options, profile=None, source=None, expect=0, stdin=None):
        command = [longwire_test.program('roce-impair'), 'replay',
                   str(profile or self.folder / 'profile.toml'),
                   str(source or self.folder / 'in.pcap'), str(self.folder / out), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False,
                              stdin=stdin)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def ledger(self, name):
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]


class Replay(Feed):
    def test_untouched_frames_keep_bytes_and_times(self):
        self.replay('out.pcap')
        got = [f for f in read_pcap(self.folder / 'out.pcap') if not is_roce(f[1])]
        self.assertEqual(got, [f for f in self.sent if not is_roce(f[1])])

    def test_delay_is_exact_and_order_kept(self):
        self.replay('out.pcap')
        received = read_pcap(self.folder / 'out.pcap')
        self.assertEqual([t for t, _ in received], sorted(t for t, _ in received))
        sent_at = {data: t for t, data in self.sent}
        roce = [f for f in received if is_roce(f[1])]
        for stamp, data in roce:
            self.assertEqual(stamp, sent_at[data] + DELAY_NS)
        place = {data: i for i, (_, data) in enumerate(self.sent)}
        order = [place[data] for _, data in roce]
        self.assertEqual(order, sorted(order))

    def test_a_delay_for_which_no_wire_would_have_room_is_replayed(self):
        # 10 min at 100 Gb/s are 9e9 frames; this capture has fewer.
        profile = self.folder / 'long.toml'
        profile.write_text('[[rule]]\nmatch = "all"\ndelay = "10min"\nduplicate = "100%"\n')
        self.replay('out.pcap', profile=profile)
        received = read_pcap(self.folder / 'out.pcap')
        self.assertEqual(received, [(stamp + 600 * 10**9, data) for stamp, data in self.sent
                                    for _ in range(2)])

    def test_a_profile_from_netem_does_what_netem_is_told(self):
        """tc-netem(8): delays uniform around the time, packets may overtake, independent loss."""
        netem = 'tc qdisc add dev eth1 root netem delay 2ms 500us loss 10% limit 100000'
        made = subprocess.run([longwire_test.program('roce-impair'), 'from-tc', netem],
                              capture_output=True, text=True, check=True)
        profile = self.folder / 'netem.toml'
        profile.write_text(made.stdout)
        self.replay('out.pcap', profile=profile)
        sent_at = {data: stamp for stamp, data in self.sent}
        received = read_pcap(self.folder / 'out.pcap')
        delays = sorted(stamp - sent_at[data] for stamp, data in received)
        share = len(received) / FRAMES
        self.assertLess(abs(share - 0.9), 5 * (0.9 * 0.1 / FRAMES)**0.5)
        self.assertGreaterEqual(delays[0], 1_500_000)
        self.assertLessEqual(delays[-1], 2_500_000)
        # Kolmogorov's distance from the uniform distribution, at 99.9 %.
        distance = max(abs((at + 1) / len(delays) - (delay - 1_500_000) / 1_000_000)
                       for at, delay in enumerate(delays))
        self.assertLess(distance, 1.95 / len(delays)**0.5)
        place = {data: at for at, (_, data) in enumerate(self.sent)}
        order = [place[data] for _, data in received]
        self.assertNotEqual(order, sorted(order))

    def test_ledger_names_exactly_the_missing_frames(self):
        done = self.replay('out.pcap', '--ledger', str(self.folder / 'ledger'), '--json')
        there = {data for _, data in read_pcap(self.folder / 'out.pcap')}
        missing = [i for i, (_, data) in enumerate(self.sent) if data not in there]
        records = self.ledger('ledger')
        self.assertEqual([r['frame'] for r in records], missing)
        for record in records:
            self.assertEqual(record['time_in_ns'], self.sent[record['frame']][0])
            self.assertEqual((record['rule'], record['stage'], record['action']),
                             ('haul', 'loss', 'drop'))
            self.assertIsNone(record['time_out_ns'])
            self.assertEqual(record['infiniband.bth.psn'], record['frame'])
            self.assertEqual(record['infiniband.bth.destqp'], 0x11)
            self.assertEqual(record['infiniband.bth.opcode'], 0x0A)
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'])
        east = report['directions'][0]
        self.assertEqual(east['received']['frames'], FRAMES)
        self.assertEqual(east['dropped_by_rule']['frames'], len(missing))
        self.assertEqual(east['sent']['frames'], FRAMES - len(missing))
        self.assertEqual(report['ledger']['records'], len(missing))

    def test_loss_is_within_its_own_bounds(self):
        self.replay('out.pcap')
        eligible = sum(is_roce(data) for _, data in self.sent)
        lost = FRAMES - len(read_pcap(self.folder / 'out.pcap'))
        deviation = (eligible * LOSS * (1 - LOSS)) ** 0.5
        self.assertLess(abs(lost - eligible * LOSS), 4.5 * deviation)

    def test_same_seed_same_bytes_another_seed_others(self):
        for name, seed in (('a', '5'), ('b', '5'), ('c', '6')):
            self.replay(f'{name}.pcap', '--seed', seed, '--ledger', str(self.folder / name))
        a, b, c = ((self.folder / f'{n}.pcap').read_bytes() for n in 'abc')
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)
        self.assertEqual((self.folder / 'a').read_bytes(), (self.folder / 'b').read_bytes())

    def test_a_compressed_capture_gives_the_same_bytes(self):
        self.replay('plain.pcap')
        plain = (self.folder / 'plain.pcap').read_bytes()
        for tool, suffix in (('gzip', 'gz'), ('zstd', 'zst')):
            packed = self.folder / f'in.pcap.{suffix}'
            subprocess.run([tool, '-q', '-k', self.folder / 'in.pcap'], check=True)
            self.replay(f'{suffix}.pcap', source=packed)
            self.assertEqual((self.folder / f'{suffix}.pcap').read_bytes(), plain, tool)
            with open(packed, 'rb') as stdin:
                self.replay(f'{suffix}-stdin.pcap', source='-', stdin=stdin)
            self.assertEqual((self.folder / f'{suffix}-stdin.pcap').read_bytes(), plain, tool)

    def test_directions_draw_apart(self):
        self.replay('east.pcap')
        self.replay('west.pcap', '--direction', 'east-to-west')
        self.assertNotEqual((self.folder / 'east.pcap').read_bytes(),
                            (self.folder / 'west.pcap').read_bytes())

    def test_ledger_of_all_holds_every_frame_with_its_times(self):
        (self.folder / 'profile.toml').write_text(profile_text(extra='[ledger]\nall = true'))
        self.replay('out.pcap', '--ledger', str(self.folder / 'ledger'))
        records = self.ledger('ledger')
        self.assertEqual(sorted(r['frame'] for r in records), list(range(FRAMES)))
        out = {data: t for t, data in read_pcap(self.folder / 'out.pcap')}
        for record in records:
            stamp, data = self.sent[record['frame']]
            self.assertEqual(record['time_in_ns'], stamp)
            self.assertEqual(record['time_out_ns'], out.get(data))

    def test_real_frames_cross_unchanged(self):
        (self.folder / 'profile.toml').write_text(profile_text(loss=0))
        captures = sorted((longwire_test.SOURCE / 'pcaps' / 'rxe').glob('*.pcap'))
        self.assertTrue(captures)
        for capture in captures:
            with self.subTest(capture=capture.name):
                self.replay('out.pcap', source=capture)
                sent = read_pcap(capture)
                received = read_pcap(self.folder / 'out.pcap')
                self.assertEqual(sorted(d for _, d in received), sorted(d for _, d in sent))
                waits = {r - s for (r, d) in received for (s, e) in sent if d == e}
                self.assertTrue(waits)

    def test_interfaces_are_kept(self):
        self.replay('out.pcapng')
        self.replay('back.pcap', source=self.folder / 'out.pcapng')
        self.assertTrue(read_pcap(self.folder / 'back.pcap'))

    def test_a_cut_capture_gives_what_it_holds_and_fails(self):
        content = (self.folder / 'in.pcap').read_bytes()
        (self.folder / 'cut.pcap').write_bytes(content[:-5])
        done = self.replay('out.pcap', '--json', source=self.folder / 'cut.pcap', expect=1)
        self.assertEqual(json.loads(done.stdout)['directions'][0]['received']['frames'],
                         FRAMES - 1)

    def test_a_stamp_beyond_all_times_ends_the_replay(self):
        """Once it ran for ever: what is due behind it was never due."""
        frames = [(0, 1_700_000_000 * 10**9 + i, roce_frame(i)) for i in range(5)]
        for stamp in 2**63 - 1, 2**63, 2**62, 2**64 - 2**62:
            write_pcapng(self.folder / 'late.pcapng', [''], frames + [(0, stamp, roce_frame(5))])
            done = self.replay('out.pcap', '--json', source=self.folder / 'late.pcapng', expect=1)
            self.assertIn('expected one from 1823 to 2116', done.stderr)
            self.assertEqual(json.loads(done.stdout)['directions'][0]['received']['frames'], 5)

    def test_mistakes_are_usage(self):
        (self.folder / 'bad.toml').write_text('[[rule]]\ndelya = "1ms"\n')
        done = self.replay('out.pcap', profile=self.folder / 'bad.toml', expect=2)
        self.assertIn('bad.toml:2:1', done.stderr)
        self.replay('out.pcap', '--direction', 'up', expect=2)
        self.replay('out.pcap', source=self.folder / 'none.pcap', expect=2)

    def test_a_name_that_is_refused_leaves_other_files_alone(self):
        old = self.folder / 'old.jsonl'
        for out, options in (('out.pcap.gz', ('--ledger', old)),
                             ('out.pcap', ('--ledger', 'ledger.gz')),
                             ('out.pcap', ('--ledger', old, '--pcap', 'c.pcapng.gz'))):
            old.write_text('of another run\n')
            done = self.replay(out, *options, expect=2)
            self.assertIn('.gz', done.stderr)
            self.assertEqual(old.read_text(), 'of another run\n')
            self.assertFalse((self.folder / out).exists())


class Stages(Feed):
    """The same feed through other stages; what the ledger says is what the bytes show."""

    def stages(self, keys, *options):
        text = f'[[rule]]\nname = "haul"\ndelay = "{DELAY_NS}ns"\n{keys}\n'
        (self.folder / 'profile.toml').write_text(text)
        done = self.replay('out.pcap', '--ledger', str(self.folder / 'ledger'), '--json', *options)
        report = json.loads(done.stdout)
        self.assertTrue(report['identity_holds'] and report['stages_hold'])
        return report['directions'][0], read_pcap(self.folder / 'out.pcap'), self.ledger('ledger')

    def test_a_queue_beyond_all_memory_is_refused_with_the_arithmetic(self):
        slow = self.folder / 'slow.toml'
        slow.write_text('[[rule]]\nqueue = { rate = "1kb/s", buffer = "4GiB" }\n')
        # A file's frames could be counted.
        with open(self.folder / 'in.pcap', 'rb') as source:
            done = self.replay('out.pcap', profile=slow, source='-', expect=3, stdin=source)
        self.assertIn('not enough memory: 100.0 Gb/s x ', done.stderr)

    def test_listed_frames_are_lost_and_no_others(self):
        # Nine frames in ten are RoCE: number i of them is frame i + i // 9.
        listed = [0, 8, 9, 500, 17_999]
        _, received, records = self.stages(
            f'loss = {{ model = "listed", frames = {listed} }}')
        expected = [i + i // 9 for i in listed]
        there = {data for _, data in received}
        self.assertEqual([i for i, (_, data) in enumerate(self.sent) if data not in there],
                         expected)
        self.assertEqual([r['frame'] for r in records], expected)

    def test_corrupted_frames_are_those_the_ledger_names(self):
        _, received, records = self.stages('corrupt = { probability = "1%", bits = 4 }')
        sent = {data for _, data in self.sent}
        changed = [data for _, data in received if data not in sent]
        self.assertGreater(len(changed), 100)
        self.assertEqual(len(changed), len(records))
        for record in records:
            self.assertEqual((record['stage'], record['action']), ('corrupt', 'corrupt'))
            self.assertEqual(record['infiniband.bth.psn'], record['frame'])

    def test_copies_are_created_sent_and_named(self):
        direction, received, records = self.stages('duplicate = { probability = "1%", copies = 2 }')
        created = direction['created']['frames']
        self.assertGreater(created, 200)
        self.assertEqual(len(received), FRAMES + created)
        self.assertEqual(len([r for r in records if 'copy' in r]), created)
        self.assertEqual(len(set(received)), FRAMES)  # copies leave with their originals

    def test_a_swap_changes_places_with_the_next(self):
        _, received, records = self.stages('reorder = { fraction = "5%", swap = true }')
        place = {data: i for i, (_, data) in enumerate(self.sent)}
        order = [place[data] for _, data in received if is_roce(data)]
        self.assertEqual(sorted(order), [i for i in range(FRAMES) if i % 10 != 9])
        late = [b for a, b in zip(order, order[1:]) if b < a]
        self.assertEqual(late, sorted(r['frame'] for r in records))
        self.assertGreater(len(late), 500)

    def checks(self, keys):
        direction, _, _ = self.stages(keys)
        return {check['what']: check for check in direction['stages'][0]['checks']}

    def test_four_states_are_held_to_their_equilibrium(self):
        p13, p31, p32, p23, p14 = 0.12, 0.25, 0.1, 0.4, 0.02
        checks = self.checks(
            f'loss = {{ model = "four-state", p13 = {p13:e}, p31 = {p31:e}, '
            f'p32 = {p32:e}, p23 = {p23:e}, p14 = {p14:e} }}')
        # Worked out here by itself: from frame to frame until nothing changes.
        arrives, arrives_in_burst, lost_in_burst, lost_alone = 1, 0, 0, 0
        for _ in range(10_000):
            begun = arrives * (p13 + p14) + arrives_in_burst * p23
            arrives, arrives_in_burst, lost_in_burst, lost_alone = (
                arrives * (1 - p13 - p14) + lost_in_burst * p31 + lost_alone,
                arrives_in_burst * (1 - p23) + lost_in_burst * p32,
                arrives * p13 + arrives_in_burst * p23 + lost_in_burst * (1 - p31 - p32),
                arrives * p14)
        lost = lost_in_burst + lost_alone
        self.assertAlmostEqual(checks['lost']['asked'], lost, places=9)
        self.assertAlmostEqual(checks['mean burst']['asked'], lost / begun, places=6)
        self.assertIn("bursts' lengths", checks)
        for check in checks.values():
            self.assertLess(check['low'], check['high'])

    def test_a_trace_is_held_to_its_rows(self):
        (self.folder / 'course.csv').write_text(
            'time,loss,rate\n0us,10%,0.5Gb/s\n100us,,\n300us,1%,4Gb/s\n')
        checks = self.checks('loss = "2%"\nqueue = { rate = "10Gb/s", buffer = "10MB" }\n'
                             'trace = { file = "course.csv", period = "500us" }')
        # Two fifths of the time its own loss, of the rest a third 10 % and two thirds 1 %.
        self.assertAlmostEqual(checks['lost by the trace']['asked'], 0.04, places=3)
        self.assertAlmostEqual(checks['lost by the trace']['frames'] / (FRAMES * 0.9), 0.6,
                               places=2)
        self.assertEqual(checks['lost']['asked'], 0.02)
        self.assertIn('rate while busy', checks)

    def test_a_wandering_delay_is_held_to_its_half_life(self):
        checks = self.checks('jitter = { distribution = "normal", mean = "50us", '
                             'deviation = "200ns", half_life = "3us" }')
        self.assertEqual(checks['half-life']['asked'], 3000)
        self.assertGreater(checks['half-life']['frames'], 500)
        self.assertEqual(checks['mean jitter']['asked'], 50_000)
        self.assertIn("jitter's distribution", checks)

    def test_every_stage_of_the_shipped_profile_runs(self):
        shipped = longwire_test.SOURCE / 'profiles' / 'impair' / 'every-stage.toml'
        for direction in ('west-to-east', 'east-to-west'):
            done = self.replay('out.pcap', '--direction', direction, '--json', profile=shipped)
            self.assertTrue(json.loads(done.stdout)['identity_holds'])

    def test_names_cannot_write_to_a_terminal(self):
        profile = self.folder / 'names.toml'
        profile.write_text(r'''
[[rule]]
name = "a\u001b[2Jb\u0007\u009b31mc\r\nevery frame is accounted for"
loss = "10%"
[[event]]
name = "e\u001b]0;t\u0007"
action = "drop"
[[at]]
name = "x\u001b[5m"
time = "1us"
rule = "a\u001b[2Jb\u0007\u009b31mc\r\nevery frame is accounted for"
set = { loss = "5%" }
''', encoding='utf-8')
        texts = [self.replay('out.pcap', '--junit', str(self.folder / 'j.xml'), profile=profile)]
        for command in 'check', 'explain':
            texts.append(subprocess.run([longwire_test.program('roce-impair'), command, str(profile)], check=True,
                                        capture_output=True, text=True))
        for done in texts:
            for text in done.stdout, done.stderr:
                self.assertNotRegex(text, '[\x00-\x09\x0b-\x1f\x7f-\x9f]')
                self.assertNotRegex(text, '(?m)^every frame')
        self.assertIn('a?[2Jb??31mc??every frame is accounted for', texts[0].stdout)
        xml.dom.minidom.parse(str(self.folder / 'j.xml'))

    def test_a_listed_loss_counts_what_an_event_drops(self):
        profile = self.folder / 'listed.toml'
        profile.write_text('[[rule]]\nname = "r"\nloss = { model = "listed", frames = [4, 9] }\n'
                           '[[event]]\nname = "e"\naction = "drop"\noccurrence = 3\n')
        write_pcap(self.folder / 'few.pcap', [(1000 * i, roce_frame(i)) for i in range(12)])
        self.replay('out.pcap', profile=profile, source=self.folder / 'few.pcap')
        left = {int.from_bytes(frame[51:54], 'big') for _, frame in read_pcap(self.folder / 'out.pcap')}
        self.assertEqual(set(range(12)) - left, {2, 4, 9})

    def test_pauses_at_a_low_rate_have_a_limit(self):
        profile = self.folder / 'slow.toml'
        profile.write_text('[[rule]]\nname = "r"\ndirection = "west-to-east"\nqueue = { rate = "1kb/s", '
                           'buffer = "20kB", pfc = { priority = 3, xoff = "100B", xon = "50B" } }\n')
        write_pcap(self.folder / 'few.pcap', [(1000 * i, roce_frame(i)) for i in range(3)])
        write_pcap(self.folder / 'back.pcap', [(1000, pause_frame({3: 65_535}))])
        done = self.replay('out.pcap', '--back', str(self.folder / 'back.pcap'), profile=profile,
                           source=self.folder / 'few.pcap', expect=1)
        self.assertIn('more than 10000000 pause frames', done.stderr)


class Check(unittest.TestCase):
    def check(self, profile):
        done = subprocess.run(
            [longwire_test.program('roce-impair'), 'check', '--json',
             str(longwire_test.SOURCE / 'profiles' / profile)],
            capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    def test_the_380_km_path(self):
        report = self.check('impair/apn-380km.toml')
        # The report of the measured system: 1861.0 us in the fibre, 1903.5 us in all.
        for way in ('west-to-east', 'east-to-west'):
            self.assertAlmostEqual(report['path'][way]['fibre_ns'] / 1000, 1861.0, places=1)
            self.assertAlmostEqual(report['path'][way]['one_way_ns'] / 1000, 1903.5, places=1)
            self.assertEqual(report['delay_ns'], report['path'][way]['one_way_ns'])
        self.assertAlmostEqual(report['bandwidth_delay_bytes'] / 1e6, 23.79, places=2)

    def test_a_path_by_itself_is_a_profile(self):
        # km x 1.4682 / c, and what its file says of the equipment.
        for name, fibre_us, equipment_us in (('apn-89km', 435.9, 41.3), ('metro-40km', 195.9, 8),
                                             ('dci-1000km', 4897.4, 45.1)):
            report = self.check(f'paths/{name}.toml')
            there = report['path']['west-to-east']
            self.assertAlmostEqual(there['fibre_ns'] / 1000, fibre_us, places=1)
            self.assertEqual(there['equipment_ns'], round(equipment_us * 1000))
            self.assertEqual(report['path']['round_trip_ns'], 2 * there['one_way_ns'])
            self.assertEqual(report['rules'][0]['delay_ns'], there['one_way_ns'])

    def test_the_plain_filter(self):
        report = self.check('impair/rocev2-only.toml')
        self.assertAlmostEqual(report['bandwidth_delay_bytes'], 23.75e6, delta=1)
        frames = {line['payload']: line['frames'] for line in report['in_flight']}
        self.assertEqual(frames[4096], 5685)
        self.assertEqual(frames[0], 282_739)


if __name__ == '__main__':
    longwire_test.main()
