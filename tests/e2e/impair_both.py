# SPDX-License-Identifier: BSD-3-Clause
"""roce-impair replay of both directions at once: where the frames come from, and that a recorded
run, or replay, is decided again as it was."""

import json
import shutil
import struct
import unittest

import longwire_test
from both_ways import DRAWN, INTERFACES, START, WAYS, Box, crossing
from pcap_file import other_frame, read_pcap, roce_frame, write_pcap
from pcapng_file import PACKET, blocks, read_pcapng, write_pcapng

LOGGED = DRAWN.replace('[capacity]', '[ledger]\nall = true\n[capacity]')

# Stages that go by the time, queues that talk and listen, and a course of events.
TIMED = '''seed = 5
[capacity]
rate = "1Gb/s"
largest_frame = "9000B"
[ledger]
all = true
[[rule]]
name = "lossless"
match = {dst_qp = 17}
delay = "300us"
queue = { rate = "150Mb/s", buffer = "1MB", pfc = { xoff = "20kB", xon = "5kB", link = "50Gb/s" } }
[[rule]]
name = "timed"
police = { rate = "300Mb/s", burst = "20kB" }
delay = "100us"
duplicate = "2%"
jitter = { distribution = "normal", mean = "50us", deviation = "5us", half_life = "1ms" }
[[at]]
time = "4ms"
over = "2ms"
every = "1ms"
rule = "timed"
set = { delay = "1ms" }
[[flap]]
port = "east"
time = "8ms"
down = "1ms"
'''
PAUSES = '[[rule]]\nqueue = { rate = "1Gb/s", buffer = "1MB", pfc = { priority = 3 } }\n'


PASS = '[[rule]]\nmatch = "all"\n'


class Recorded(Box):
    def decisions(self, name):
        """What was decided about each frame, without the times."""
        return {(r['direction'], r['frame'], r.get('copy', 0)):
                {key: value for key, value in r.items() if not key.startswith('time')}
                for r in self.ledger(name)}

    def stays(self, name):
        """How long each frame that left was inside, ns."""
        return {(r['direction'], r['frame'], r.get('copy', 0)): r['time_out_ns'] - r['time_in_ns']
                for r in self.ledger(name) if r['time_out_ns'] is not None}

    def test_a_run_between_ports_is_decided_again_as_it_was(self):
        for side, step in (('west', 7), ('east', 11)):
            write_pcap(self.folder / f'{side}.pcap',
                       [(stamp, data) for stamp, data in crossing(3000, step)])
        (self.folder / 'p.toml').write_text(LOGGED)
        for cores in '1', '2':
            run = self.run_program(
                *longwire_test.BOX[1:], self.folder / 'p.toml', '--west', f'pcap:{self.folder}/west.pcap', '--east',
                f'pcap:{self.folder}/east.pcap', '--json', '--cores', cores, '--pcap',
                self.folder / 'c.pcapng', '--ledger', self.folder / 'run')
            self.assertEqual(json.loads(run.stdout)['capture']['skipped'], 0)
            report = self.replay(LOGGED, self.folder / 'c.pcapng', 'out.pcapng', '--both',
                                 '--ledger', self.folder / 'replayed')
            again = self.decisions('replayed')
            self.assertEqual(again, self.decisions('run'))
            self.assertEqual([d['received']['frames'] for d in report['directions']], [3000, 3000])
            for way, stages in ((WAYS[0], {'loss', 'duplicate', 'corrupt', 'event', 'delay'}),
                                (WAYS[1], {'loss', 'event', 'delay'})):
                seen = [r.get('stages', [r['stage']]) for key, r in again.items() if key[0] == way]
                self.assertLessEqual(stages, {stage for each in seen for stage in each})
            # The delays that were drawn are the same: real time adds to them, and takes nothing.
            stays = self.stays('replayed')
            self.assertGreater(len(stays), 5000)
            for key, stay in self.stays('run').items():
                self.assertGreaterEqual(stay, stays[key], key)

    def test_a_replays_own_capture_gives_the_same_bytes(self):
        first = ['--pcap', self.folder / '1.pcapng', '--ledger', self.folder / '1.ledger']
        report, frames = self.both_ways(TIMED, crossing(), crossing(step=11), *first)
        again = self.replay(TIMED, self.folder / '1.pcapng', 'out2.pcapng', '--both', '--pcap',
                            self.folder / '2.pcapng', '--ledger', self.folder / '2.ledger')
        for one, two in (('1.pcapng', '2.pcapng'), ('1.ledger', '2.ledger'),
                         ('out.pcapng', 'out2.pcapng')):
            self.assertEqual((self.folder / one).read_bytes(), (self.folder / two).read_bytes())
        for each in report, again:
            del each['capture'], each['ledger']
        self.assertEqual(report, again)
        # All that it was about did happen, both ways.
        self.assertEqual(report['scenario']['done'], report['scenario']['all'])
        for direction in report['directions']:
            pauses = direction['stages'][0]['pauses']
            self.assertTrue(all(pauses[kind] > 0 for kind in ('asked', 'ended', 'heard')), pauses)
            self.assertGreater(direction['dropped_for_resource']['link_down']['frames'], 0)
        # One pause frame came from the east while its port was down.
        self.assertEqual([d['consumed']['frames'] for d in report['directions']], [8, 7])
        self.assertEqual([stamp for _, stamp, _ in frames], sorted(s for _, s, _ in frames))

    def test_frames_that_a_recording_skipped_are_missed(self):
        whole, gappy = self.folder / 'whole.pcapng', self.folder / 'gappy.pcapng'
        self.both_ways(LOGGED, crossing(), crossing(step=11), '--pcap', whole)
        self.assertNotIn('not_captured', self.replay(LOGGED, whole, 'out2.pcapng', '--both'))
        kept, number = [], 0
        for kind, body, block in blocks(whole.read_bytes()):
            if kind == PACKET and struct.unpack_from('<I', body)[0] == 0:
                number += 1
                if 300 <= number % 1000 < 500:
                    continue
            kept.append(block)
        gappy.write_bytes(b''.join(kept))
        report = self.replay(LOGGED, gappy, 'out2.pcapng', '--both')
        self.assertEqual(report['directions'][0]['received']['frames'], 1600)
        self.assertEqual(report['not_captured'], 400)

    def test_directions_draw_as_each_by_itself(self):
        profile = LOGGED[:LOGGED.index('[[event]]')]
        _, frames = self.both_ways(profile, crossing(), crossing(step=11))
        for way, side in zip(WAYS, ('west', 'east')):
            self.replay(profile, self.folder / f'{side}.pcap', 'one.pcap', '--direction', way)
            self.assertEqual([(START + stamp, data) for name, stamp, data in frames
                              if name == f'{way} out'], read_pcap(self.folder / 'one.pcap'))


class Inputs(Box):
    def refused(self, word, source, *options, expect=2, profile=PASS):
        (self.folder / 'p.toml').write_text(profile)
        done = self.run_program('replay', self.folder / 'p.toml', source,
                                self.folder / 'out.pcapng', *options, expect=expect)
        self.assertIn(word, done.stderr.decode())

    def test_what_goes_out_is_ignored_and_time_decides(self):
        stamps = (5, 1, 3, 5)
        frames = [(interface, START + at, other_frame(interface * 10 + at))
                  for interface, at in zip((0, 2, 1, 2), stamps)]
        write_pcapng(self.folder / 'in.pcapng', INTERFACES, frames)
        report = self.replay(PASS, self.folder / 'in.pcapng', 'out.pcapng', '--both')
        _, out = read_pcapng(self.folder / 'out.pcapng')
        # Each direction is in order by itself; of equal stamps west to east's is first.
        self.assertEqual(out, [('east-to-west out', START + 1, other_frame(21)),
                               ('west-to-east out', START + 5, other_frame(5)),
                               ('east-to-west out', START + 5, other_frame(25))])
        self.assertNotIn('stamps_backwards', report)
        # A pcap file has them in the order of time, too.
        self.replay(PASS, self.folder / 'in.pcapng', 'out.pcap', '--both')
        self.assertEqual(read_pcap(self.folder / 'out.pcap'), [frame[1:] for frame in out])

    def test_in_may_be_easts(self):
        write_pcap(self.folder / 'a.pcap', [(START, other_frame(1))])
        write_pcap(self.folder / 'b.pcap', [(START, other_frame(2))])
        self.replay(PASS, self.folder / 'a.pcap', 'out.pcapng', '--direction', 'east-to-west',
                    '--back', self.folder / 'b.pcap')
        self.assertEqual(read_pcapng(self.folder / 'out.pcapng')[1],
                         [('east-to-west out', START, other_frame(1)),
                          ('west-to-east out', START, other_frame(2))])

    def test_interfaces_that_say_nothing_are_refused_by_name(self):
        frame = [(0, START, other_frame(0))]
        source = self.folder / 'x.pcapng'
        write_pcapng(source, [INTERFACES[0], 'eth7'], frame)
        self.refused('x.pcapng: interface 1 is named "eth7"', source, '--both')
        write_pcapng(source, [''], frame)
        self.refused('x.pcapng: interface 0 has no name', source, '--both')
        write_pcap(self.folder / 'x.pcap', [frame[0][1:]])
        self.refused('x.pcap: interface 0 has no name', self.folder / 'x.pcap', '--both')
        write_pcapng(source, INTERFACES[1::2], frame)
        self.refused('none of its interfaces has what came in', source, '--both')
        self.refused('standard input', '-', '--both')
        self.refused('standard input', '-', '--back', '-')
        self.refused('excludes', source, '--both', '--back', source)
        self.refused('excludes', source, '--both', '--direction', 'east-to-west')
        self.refused('none.pcap', source, '--back', self.folder / 'none.pcap')

    def test_a_recording_without_both_is_refused(self):
        source = self.folder / 'x.pcapng'
        write_pcapng(source, INTERFACES, [(0, START, other_frame(0)), (1, START, other_frame(0))])
        self.refused('x.pcapng: a recording of roce-impair', source)
        # What a replay of both directions left can be one direction's again.
        write_pcapng(source, INTERFACES[1::2], [(0, START, other_frame(0))])
        self.replay(PASS, source, 'out.pcapng')

    def test_no_file_is_written_over_another(self):
        source, out = self.folder / 'a.pcapng', self.folder / 'out.pcapng'
        write_pcapng(source, ['a'], [(0, START, other_frame(0))])
        content = source.read_bytes()
        (self.folder / 'link').symlink_to(source)
        self.refused('--back', self.folder / 'b.pcap', '--back', out)
        self.refused('--ledger', source, '--ledger', self.folder / 'link')
        self.refused('--pcap', source, '--pcap', source)
        self.refused('--pcap', source, '--pcap', out)
        self.refused('--pcap', source, '--ledger', self.folder / 'new.pcapng', '--pcap',
                     self.folder / '..' / self.folder.name / 'new.pcapng')
        self.assertEqual(source.read_bytes(), content)
        shutil.copy(source, out)
        self.refused('OUT', out)

    def test_several_link_types_are_refused(self):
        ethernet, raw = self.folder / 'e.pcapng', self.folder / 'r.pcapng'
        packet = roce_frame(1)[14:]
        write_pcapng(ethernet, ['a'], [(0, START, roce_frame(1))])
        write_pcapng(raw, ['b'], [(0, START, packet)], [101])
        self.refused('r.pcapng: frames of link type 101 beside those of 1', ethernet, '--back', raw)
        write_pcapng(self.folder / 'both.pcapng', INTERFACES,
                     [(0, START, roce_frame(1)), (2, START, packet)], [1, 1, 101, 101])
        self.refused('link type 101', self.folder / 'both.pcapng', '--both')
        # Bare packets by themselves are fine, but have no pause frames.
        self.replay('[[rule]]\ndelay = "1us"\n', raw, 'out.pcapng', '--back', raw)
        self.assertEqual([stamp for _, stamp, _ in read_pcapng(self.folder / 'out.pcapng')[1]],
                         [START + 1000] * 2)
        self.refused('pause frames', raw, '--back', raw, profile=PAUSES)

    def test_a_damaged_second_capture_gives_what_it_holds_and_fails(self):
        write_pcap(self.folder / 'west.pcap', crossing(100))
        write_pcap(self.folder / 'east.pcap', crossing(100))
        content = (self.folder / 'east.pcap').read_bytes()
        (self.folder / 'cut.pcap').write_bytes(content[:-5])
        (self.folder / 'p.toml').write_text(PASS)
        done = self.run_program('replay', self.folder / 'p.toml', self.folder / 'west.pcap',
                                self.folder / 'out.pcap', '--json', '--back',
                                self.folder / 'cut.pcap', expect=1)
        self.assertIn('cut.pcap: offset', done.stderr.decode())
        self.assertEqual([d['received']['frames'] for d in json.loads(done.stdout)['directions']],
                         [100, 99])

    def test_standard_input_is_read_with_its_interfaces(self):
        frames = [(i % 2, START + i, other_frame(i)) for i in range(5)]
        write_pcapng(self.folder / 'in.pcapng', ['one', 'two'], frames)
        (self.folder / 'p.toml').write_text(PASS)
        with open(self.folder / 'in.pcapng', 'rb') as source:
            self.run_program('replay', self.folder / 'p.toml', '-', self.folder / 'out.pcapng',
                             stdin=source)
        names, out = read_pcapng(self.folder / 'out.pcapng')
        self.assertEqual(names, ['one', 'two'])
        self.assertEqual(out, [(names[i], *rest) for i, *rest in frames])


if __name__ == '__main__':
    longwire_test.main()
