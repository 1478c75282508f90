# SPDX-License-Identifier: BSD-3-Clause
"""Two captures and more of one path, analysed as one: where packets were lost, late, copied or damaged,
what a point lacks, clocks that differ, outages and steps of the delay. The captures are composed here,
so that their truth is known."""

import random
import struct
import subprocess

import longwire_test
from connect_requests import icrc
from conversation import Conversation
from dissect_analysis import InFolder, dissect, rows
from dissect_explain import explained
from pcap_file import read_pcap, write_pcap
from pcapng_file import write_pcapng

DELAY = 1_903_500  # ns, from one point to the next
AHEAD = 317_200_000  # ns, of the clock of each further point


class PathTalk:
    """WRITEs and their ACKs that pass points 2 ms apart; each packet is seen at some of them."""

    def __init__(self, points=2):
        self.points, self.at, self.next_psn = points, 0, 0
        self.seen = [[] for _ in range(points)]

    def send(self, way, psn, lost=None, copies=0, late=0, nak=False, wait=100_000):
        """`lost`: the number of points that see it, in the order of its way; None: all."""
        self.at += wait
        self.next_psn = max(self.next_psn, psn + 1)
        talk = Conversation(counted=True)
        talk.number = len(self.seen[0]) + len(self.seen[-1])
        if way == 'request':
            talk.request(psn)
        elif nak:
            talk.nak(psn)
        else:
            talk.answer(psn)
        frame = talk.frames[0][1]
        order = range(self.points) if way == 'request' else range(self.points - 1, -1, -1)
        # Answers begin where the requests have arrived.
        begin = self.at if way == 'request' else self.at + DELAY * (self.points - 1)
        for hop, point in enumerate(order):
            if lost is not None and hop >= lost:
                return
            for copy in range(1 + (copies if hop > 0 else 0)):
                self.seen[point].append((begin + hop * DELAY + (late if hop > 0 else 0) + 300 * copy,
                                         frame))

    def exchange(self, first, end):
        for psn in range(first, end):
            self.send('request', psn)
            self.send('answer', psn, wait=0)

    def lose(self, psn, lost):
        """A request that `lost` points see, as send() says; the next ones go, a NAK and repetitions."""
        self.send('request', psn, lost)
        self.send('request', psn + 1)
        self.send('answer', psn, nak=True, wait=0)
        self.at += 2 * self.points * DELAY
        for again in (psn, psn + 1):
            self.send('request', again)
            self.send('answer', again, wait=0)

    def save(self, folder, ahead=AHEAD, keep=lambda point, frame: True, **options):
        paths = []
        for point, frames in enumerate(self.seen):
            path = folder / f'p{point}.pcap'
            moved = sorted((stamp + 10**9 + point * ahead, frame) for stamp, frame in frames
                           if keep(point, frame))
            write_pcap(path, moved, **options)
            paths.append(path)
        return paths


def in_vxlan(frame):
    """The frame within VXLAN over IPv4 (RFC 7348)."""
    inner = struct.pack('>II', 0x08000000, 5001 << 8) + frame
    udp = struct.pack('>HHHH', 50000, 4789, 8 + len(inner), 0)
    ip = struct.pack('>BBHHHBBH4s4s', 0x45, 0, 28 + len(inner), 0, 0x4000, 64, 17, 0, bytes([192, 0, 2, 1]),
                     bytes([192, 0, 2, 2]))
    return bytes(6) + b'\x02' + bytes(5) + b'\x08\x00' + ip + udp + inner


def in_vlan(frame):
    return frame[:12] + struct.pack('>HH', 0x8100, 7) + frame[12:]


def with_hosts(frame, number):
    """The frame between two other hosts, 192.0.`number`.x, with right checksums."""
    made = bytearray(frame)
    made[28] = made[32] = number
    made[24:26] = bytes(2)
    total = sum(struct.unpack('>10H', made[14:34]))
    made[24:26] = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, 'big')
    made[-4:] = icrc(bytes(made))
    return bytes(made)


def losses(paths):
    return [(row['kind'], row['role'], row['psn'], row['where']) for row in rows('anomalies', *paths)
            if row['kind'] in ('lost_after_capture', 'psn_gap', 'out_of_order', 'duplicate')]


class TwoPoints(InFolder):
    def talk(self, change, points=2):
        talk = PathTalk(points)
        talk.exchange(0, 40)
        change(talk)
        talk.exchange(talk.next_psn, 80)
        return talk

    def test_a_loss_is_told_once_with_its_place(self):
        places = {0: 'before p0.pcap', 1: 'p0.pcap > p1.pcap', 2: 'behind p1.pcap'}
        for lost, where in places.items():
            for ahead in (0, AHEAD, -AHEAD):
                with self.subTest(lost=lost, ahead=ahead):
                    paths = self.talk(lambda talk, at=lost: talk.lose(40, at)).save(self.folder, ahead)
                    kind = 'psn_gap' if lost == 0 else 'lost_after_capture'
                    self.assertEqual(losses(paths), [(kind, 'request', 40, where)])
                    self.assertEqual(len(rows('messages', *paths)), 80)
                    session, *others = [row for row in rows('connections', *paths) if row['messages']]
                    self.assertEqual(others, [])
                    self.assertEqual(session['where'], 'p0.pcap, p1.pcap')
                    place, = [place for place in explained(*paths)['places']
                              if place['place'] == where]
                    self.assertEqual(place['lost_requests'], 1)

    def test_an_ack_that_is_lost_on_the_way_back(self):
        def lose(talk):
            talk.send('request', 40)
            talk.send('answer', 40, lost=1, wait=0)
        paths = self.talk(lose).save(self.folder)
        self.assertEqual(losses(paths),
                         [('lost_after_capture', 'response', 40, 'p1.pcap > p0.pcap')])

    def test_copies_and_late_packets_between(self):
        def copy(talk):
            talk.send('request', 40, copies=1)
            talk.send('answer', 40, wait=0)
        paths = self.talk(copy).save(self.folder)
        self.assertEqual(losses(paths), [('duplicate', 'request', 40, 'p0.pcap > p1.pcap')])

    def test_three_points(self):
        for lost, where in {1: 'p0.pcap > p1.pcap', 2: 'p1.pcap > p2.pcap', 3: 'behind p2.pcap'}.items():
            with self.subTest(where):
                paths = self.talk(lambda talk, at=lost: talk.lose(40, at), 3).save(self.folder)
                self.assertEqual(losses(paths), [('lost_after_capture', 'request', 40, where)])

    def test_a_point_with_one_direction(self):
        talk = self.talk(lambda talk: talk.lose(40, 1))
        paths = talk.save(self.folder, keep=lambda point, frame: point == 0 or frame[11] == 1)
        self.assertEqual(losses(paths), [('lost_after_capture', 'request', 40, 'p0.pcap > p1.pcap')])
        said = explained(*paths)
        self.assertIn('records none of the', ' '.join(said['path_notes']))
        compared = rows('compare', *paths, '--two-clocks')[0]
        self.assertEqual([(way['sent'], way['lost']) for way in compared['directions']], [(82, 1)])
        self.assertEqual([(lack['point'], lack['what'], lack['frames']) for lack in compared['lacks']],
                         [('far', 'answers', 81)])

    def two_talks(self):
        """Frames of a talk with a loss, and of another between other hosts: by point."""
        plain = self.talk(lambda talk: talk.lose(40, 1))
        other = self.talk(lambda talk: None)
        moved = [[(stamp + 37_000, with_hosts(frame, 7)) for stamp, frame in seen] for seen in other.seen]
        return plain, moved

    def test_a_point_that_lacks_a_vlan_or_a_tunnel(self):
        carriers = {'VLAN 7': in_vlan, 'VXLAN 5001': in_vxlan}
        for name, carried in carriers.items():
            for lacking in (0, 1):
                for plain_lacks in (False, True):
                    with self.subTest(name, lacking=lacking, plain_lacks=plain_lacks):
                        self.check_carrier(name, carried, lacking, plain_lacks)

    def check_carrier(self, name, carried, lacking, plain_lacks):
        """One point's filter takes the frames of the carrier alone, or only the others."""
        plain, moved = self.two_talks()
        for point, other in zip(plain.seen, moved):
            if point is plain.seen[lacking] and plain_lacks:
                point.clear()
            if point is not plain.seen[lacking] or plain_lacks:
                point += [(stamp, carried(frame)) for stamp, frame in other]
        paths = plain.save(self.folder)
        compared = rows('compare', *paths, '--two-clocks')[0]
        lack, = compared['lacks']
        wanted = 'frames without VLAN and tunnel' if plain_lacks else name
        self.assertEqual((lack['point'], lack['what'], lack['carrier']),
                         (('near', 'far')[lacking], 'carrier', wanted))
        self.assertEqual([way['lost'] for way in compared['directions']], [0 if plain_lacks else 1, 0])
        said = ' '.join(explained(*paths)['path_notes'])
        self.assertIn(f'p{lacking}.pcap does not record {wanted}', said)
        where = [row[3] for row in losses(paths)]
        self.assertEqual(where, ['p0.pcap > p1.pcap'] if not plain_lacks else where)

    def test_a_point_that_lacks_a_share(self):
        for lacking in (0, 1):
            for share in (2, 4):
                with self.subTest(lacking=lacking, share=share):
                    draw = random.Random(share)
                    talk = self.talk(lambda talk: talk.lose(40, 1))
                    kept = lambda point, frame: point != lacking or draw.randrange(share) != 0
                    paths = talk.save(self.folder, keep=kept)
                    compared = rows('compare', *paths, '--two-clocks')[0]
                    self.assertEqual({(lack['point'], lack['what']) for lack in compared['lacks']},
                                     {(('near', 'far')[lacking], 'share')})
                    self.assertLessEqual([way['lost'] for way in compared['directions']], [1, 0])
                    self.assertIn(f'p{lacking}.pcap lacks', ' '.join(explained(*paths)['path_notes']))
                    self.assertLessEqual(len([row for row in losses(paths)
                                              if row[0] == 'lost_after_capture']), 1)

    def test_frames_that_are_cut_within_their_headers(self):
        paths = self.talk(lambda talk: talk.lose(40, 1)).save(self.folder, snap=64)
        self.assertEqual(losses(paths), [('lost_after_capture', 'request', 40, 'p0.pcap > p1.pcap')])

    def test_a_frame_that_one_capture_lacks_is_not_lost(self):
        talk = self.talk(lambda talk: talk.exchange(40, 41))
        missing = talk.seen[1][100][1]
        paths = talk.save(self.folder, keep=lambda point, frame: point == 0 or frame != missing)
        (kind, _, _, where), = losses(paths)
        self.assertEqual((kind, where), ('psn_gap', 'p1.pcap'))

    def test_a_tunnel_at_one_point(self):
        """Far captures within VXLAN what near sends without."""
        near, far = self.talk(lambda talk: talk.lose(40, 1)).save(self.folder)
        write_pcap(far, [(stamp, in_vxlan(frame)) for stamp, frame in read_pcap(far)])
        self.assertEqual(losses((near, far)),
                         [('lost_after_capture', 'request', 40, 'p0.pcap > p1.pcap')])
        compared = rows('compare', near, far, '--two-clocks')[0]
        self.assertEqual([way['lost'] for way in compared['directions']], [1, 0])

    def test_clocks(self):
        """A far clock that steps during the capture, one of PTP, and a free one: the loss stays where it is."""
        draw = random.Random(4)
        clocks = {'steps': lambda at: at + (5_000_000 if at > 10**9 + 4_000_000 else 0),
                  'PTP': lambda at: at + draw.randrange(-200, 200),
                  'free': lambda at: round(at * (1 + 40e-6)) + AHEAD}
        for name, clock in clocks.items():
            with self.subTest(name):
                near, far = self.talk(lambda talk: talk.lose(40, 1)).save(self.folder, 0)
                write_pcap(far, [(clock(stamp), frame) for stamp, frame in read_pcap(far)])
                self.assertEqual(losses((near, far)),
                                 [('lost_after_capture', 'request', 40, 'p0.pcap > p1.pcap')])

    def test_late_packets(self):
        def delay(talk):
            talk.send('request', 40, late=450_000)
            talk.exchange(41, 44)
            talk.send('answer', 44, wait=1_000_000)
        for ahead in (0, AHEAD):
            paths = self.talk(delay).save(self.folder, ahead)
            found = [row for row in losses(paths) if row[0] == 'out_of_order']
            self.assertEqual(found, [('out_of_order', 'request', 40, 'p0.pcap > p1.pcap')])

    def test_what_the_receiver_lost_is_no_queue_of_the_path(self):
        paths = self.talk(lambda talk: talk.lose(40, 2)).save(self.folder)
        said = explained(*paths)['congestion']['reason']
        self.assertIn('the receiver or its last cable', said)
        self.assertNotIn('bad link', said)

        def lose_both(talk):
            talk.lose(40, 2)
            talk.exchange(42, 44)
            talk.send('request', 44)
            talk.send('answer', 44, lost=1, wait=0)
        said = explained(*self.talk(lose_both).save(self.folder))['congestion']['reason']
        self.assertTrue(said.startswith('1 packet was lost behind the last point, by the receiver'), said)
        self.assertIn('Of the others: 1 answer was lost between the points', said)

    def test_commands_given_as_evidence_say_how_it_was_analysed(self):
        paths = self.talk(lambda talk: talk.lose(40, 1)).save(self.folder)
        for words, wanted in ((('--apart',), ' --apart'), (('--points', 'p0.pcap,p1.pcap'), ' --points p0.pcap,p1.pcap')):
            commands = [statement['command'] for statement in explained(*paths, *words)['statements']]
            with_points = [command for command in commands if 'anomalies' in command]
            self.assertGreater(len(with_points), 0)
            for command in with_points:
                self.assertIn(wanted, command)

    def test_apart_analyses_each_point_alone(self):
        paths = self.talk(lambda talk: talk.lose(40, 1)).save(self.folder)
        self.assertGreater(len(rows('messages', *paths, '--apart')), 150)
        self.assertEqual({row['where'] for row in rows('anomalies', *paths, '--apart')}, {''})


class Changes(InFolder):
    """Delays of one direction or both that change."""

    def captures(self, delays, lost=(), missed=(), ahead=0, back=True, count=400):
        """`delays`: functions of a packet's number that give its delay there and back. `missed`: by far's
        capture alone."""
        there, back_delay = delays
        points = [], []
        for number in range(count):
            talk = Conversation(counted=True)
            talk.number = number
            talk.request(number)
            talk.answer(number)
            at = 10**9 + number * 100_000
            (_, request), (_, answer) = talk.frames
            points[0].append((at, request))
            if number not in lost and number not in missed:
                points[1].append((at + there(number) + ahead, request))
            if number in lost:  # the sender repeats it
                at += 40_000_000
                points[0].append((at, request))
                points[1].append((at + there(number) + ahead, request))
            if back:
                points[1].append((at + 2_000_000 + ahead, answer))
                points[0].append((at + 2_000_000 + back_delay(number), answer))
        paths = []
        for name, frames in zip(('near', 'far'), points):
            paths.append(self.folder / f'{name}.pcap')
            write_pcap(paths[-1], sorted(frames))
        return paths

    def compared(self, *arguments, **options):
        return rows('compare', *self.captures(*arguments, **options))[0]

    def test_a_step_of_both_directions_is_the_path(self):
        draw = random.Random(1)
        jitter = lambda number: DELAY // 2 + draw.randrange(90_000) + (193_400 if number >= 200 else 0)
        step, = self.compared((jitter, jitter))['delay_steps']
        self.assertEqual(step['of'], 'path')
        self.assertAlmostEqual(step['there_ns'], 193_400, delta=20_000)
        self.assertLessEqual(abs(step['frame'] - 381), 24)

    def test_a_step_of_one_direction(self):
        steady = lambda number: DELAY // 2
        stepped = lambda number: DELAY // 2 + (50_000 if number >= 200 else 0)
        step, = self.compared((stepped, steady))['delay_steps']
        self.assertEqual((step['of'], step['there_ns']), ('path, one way', 50_000))
        step, = self.compared((stepped, steady), back=False)['delay_steps']
        self.assertEqual(step['of'], 'either')

    def test_an_outage(self):
        steady = lambda number: DELAY // 2
        found = self.compared((steady, steady), lost=range(100, 140))
        outage, = found['outages']
        self.assertEqual((outage['direction'], outage['packets']), ('near_to_far', 40))
        self.assertEqual(outage['begin_ns'], 10**9 + 100 * 100_000)
        self.assertEqual(found['delay_steps'], [])

    def test_a_gap_of_a_capture(self):
        """Far's capture pauses: the receiver acknowledges what it lacks. Where the sender repeats nothing, the
        frames may have been replayed."""
        steady = lambda number: DELAY // 2
        found = self.compared((steady, steady), missed=range(100, 140))
        outage, = found['outages']
        self.assertEqual((outage['packets'], outage['acknowledged']), (40, 0))
        there = found['directions'][0]
        self.assertEqual((there['lost'], there['lost_acknowledged']), (40, 40))

    def test_a_gap_of_a_capture_of_a_sender_that_repeats(self):
        talk = PathTalk()
        talk.exchange(0, 40)
        talk.lose(40, 1)
        talk.exchange(talk.next_psn, 200)
        near, far = talk.save(self.folder)
        frames = read_pcap(far)
        write_pcap(far, [entry for number, entry in enumerate(frames)
                         if not (200 <= number < 260 and entry[1][11] == 1)])
        found = rows('compare', near, far, '--two-clocks')[0]
        gap, = found['outages']
        self.assertEqual((gap['packets'], gap['acknowledged']), (30, 30))
        self.assertIn('the capture paused, not the path', gap['text'])
        self.assertEqual([way['lost'] for way in found['directions']], [1, 0])
        lack, = found['lacks']
        self.assertEqual((lack['point'], lack['what'], lack['frames']), ('far', 'share', 30))

    def test_a_tap_that_sees_one_link_of_several(self):
        """Far sees requests of three links in four, or of one of two, and all answers. One request is lost."""
        steady = lambda number: DELAY // 2
        for links in (2, 4):
            for back in (True, False):  # without answers nothing shows that they arrived
                with self.subTest(links=links, back=back):
                    draw = random.Random(links)
                    missed = {number for number in range(10, 390) if draw.randrange(links) == 0} - {50}
                    found = self.compared((steady, steady), lost={50}, missed=missed, back=back)
                    there = found['directions'][0]
                    self.assertEqual(there['lost'], 1 if back else len(missed) + 1)
                    lacks = [(lack['what'], lack['frames']) for lack in found['lacks']]
                    self.assertEqual(lacks, [('share', len(missed))] if back else [])

    def test_queueing_has_a_begin_an_end_and_a_size(self):
        draw = random.Random(2)
        waits = lambda number: DELAY // 2 + draw.randrange(2_000) + (300_000 if 100 <= number < 130 else 0)
        steady = lambda number: DELAY // 2 + draw.randrange(2_000)
        period, = self.compared((waits, steady))['periods']
        self.assertEqual((period['kind'], period['direction'], period['packets']), ('queueing', 'near_to_far', 30))
        self.assertEqual((period['begin_ns'], period['end_ns']), (10**9 + 10_000_000, 10**9 + 12_900_000))
        self.assertAlmostEqual(period['most_ns'], 301_000, delta=2_000)
        self.assertEqual(self.compared((steady, steady))['periods'], [])

    def test_a_burst_of_late_packets(self):
        late = lambda number: DELAY // 2 + (250_000 if 100 <= number < 140 and number % 3 == 0 else 0)
        steady = lambda number: DELAY // 2
        periods = self.compared((late, steady))['periods']
        burst, = [one for one in periods if one['kind'] == 'reordering']
        self.assertEqual((burst['direction'], burst['packets']), ('near_to_far', 13))
        self.assertEqual((burst['begin_ns'], burst['end_ns']), (10**9 + 10_200_000, 10**9 + 13_800_000))

    def test_a_drift_of_both_directions_is_the_path(self):
        draw = random.Random(3)
        grows = lambda number: DELAY // 2 + draw.randrange(200) + 200 * number  # 2 us a ms
        drift = self.compared((grows, grows))['delay_drift']
        self.assertIn('in both directions: the path becomes longer', drift['text'])
        self.assertAlmostEqual(drift['there_ns'], 2_000_000, delta=20_000)
        falls = lambda number: DELAY // 2 + draw.randrange(200) - 200 * number
        self.assertIn('the clocks drift', self.compared((grows, falls))['delay_drift']['text'])
        steady = lambda number: DELAY // 2 + draw.randrange(200)
        self.assertIsNone(self.compared((steady, steady)).get('delay_drift'))

    def test_no_step_in_jitter_alone(self):
        for seed in range(10):
            draw = random.Random(seed)
            jitter = lambda number, draw=draw: DELAY // 2 + round(draw.expovariate(1 / 20_000))
            found = self.compared((jitter, jitter))
            self.assertEqual((found['delay_steps'], found['outages']), ([], []))


RECORDED = '''[[rule]]
name = "path"
delay = "1900us"
jitter = "50us"

[[at]]
time = "300ms"
rule = "path"
set = { loss = "100%" }

[[at]]
time = "350ms"
rule = "path"
set = { loss = "", delay = "2100us" }

[capacity]
rate = "1Gb/s"
'''


class Recorded(InFolder):
    """An outage and a step that roce-impair makes in both directions, in its recording: two points in one file."""

    def test_outages_and_steps_of_a_recording(self):
        profile = self.folder / 'profile.toml'
        profile.write_text(RECORDED)
        for name, ends in (('there', ('198.18.0.1', '198.18.0.2')), ('back', ('198.18.0.2', '198.18.0.1'))):
            self.run_program('roce-gen', 'run', 'ipv4-rc-send', '--set', f'ipv4-rc-send.source={ends[0]}', '--set',
                             f'ipv4-rc-send.destination={ends[1]}', '--set', 'ipv4-rc-send.rate=1000 frames/s',
                             '--set', 'ipv4-rc-send.messages=80', '--pcap', f'{name}.pcap')
        self.run_program('roce-impair', 'replay', profile, 'there.pcap', 'out.pcapng', '--back', 'back.pcap',
                         '--pcap', 'recording.pcapng')
        found, = rows('compare', self.folder / 'recording.pcapng')
        self.assertEqual({(one['direction'], one['packets']) for one in found['outages']},
                         {('near_to_far', 50), ('far_to_near', 50)})
        begin = read_pcap(self.folder / 'there.pcap')[0][0]
        for one in found['outages']:
            self.assertLessEqual(abs(one['begin_ns'] - begin - 300_000_000), 1_000_000)
        step, = found['delay_steps']
        self.assertEqual(step['of'], 'path')
        self.assertAlmostEqual(step['there_ns'], 200_000, delta=25_000)
        self.assertAlmostEqual(step['back_ns'], 200_000, delta=25_000)
        self.assertLessEqual(abs(step['at_ns'] - begin - 350_000_000), 1_000_000)
        text = dissect('compare', self.folder / 'recording.pcapng').stdout
        self.assertIn('outage far > near at 0.300000 s', text)
        self.assertIn('in both directions: the path is longer, by about', text)

    def run_program(self, name, *words):
        subprocess.run([longwire_test.program(name), *map(str, words)], cwd=self.folder, check=True,
                       capture_output=True)


class Halves(InFolder):
    """Points of two taps that have one direction each, in files or as interfaces of one."""

    def saved(self, ahead, name_of):
        """`name_of`: the file of a point and a direction, and the interface within it, or None."""
        talk = PathTalk()
        talk.exchange(0, 40)
        talk.lose(40, 1)
        talk.exchange(talk.next_psn, 80)
        files = {}
        for point, frames in enumerate(talk.seen):
            for stamp, frame in frames:
                file, interface = name_of(('near', 'far')[point], ('answers', 'requests')[frame[11] == 1])
                files.setdefault(file, {}).setdefault(interface, []).append((stamp + 10**9 + point * ahead, frame))
        for file, taps in files.items():
            if file.endswith('.pcap'):
                write_pcap(self.folder / file, sorted(taps[None]))
            else:
                write_pcapng(self.folder / file, list(taps),
                             sorted(((number, stamp, frame) for number, frames in enumerate(taps.values())
                                     for stamp, frame in frames), key=lambda entry: entry[1]))
        return [self.folder / file for file in sorted(files, key=lambda name: name.split('-')[-1])]

    def test_each_point_is_joined_whatever_the_clocks(self):
        layouts = {
            'four files': lambda point, way: (f'{point}-{way}.pcap', None),
            'two files': lambda point, way: (f'{point}.pcapng', way),
            'three files': lambda point, way: (f'{point}-{way}.pcap' if point == 'far' else 'near.pcap', None),
        }
        for name, layout in layouts.items():
            for ahead in (0, AHEAD, -AHEAD, 1_000_000, -5_000_000):
                with self.subTest(name, ahead=ahead):
                    paths = self.saved(ahead, layout)
                    points = explained(*paths)['points']
                    self.assertEqual(len(points), 2)
                    for point in points:
                        ends = {tap.split('-')[0] for tap in point['taps']} if 'files' in name and \
                            name != 'two files' else {point['name'].split(' of ')[-1]}
                        self.assertEqual(len(ends), 1, points)
                    (kind, role, psn, where), = losses(paths)
                    self.assertEqual((kind, role, psn), ('lost_after_capture', 'request', 40))
                    self.assertRegex(where, 'near.* > .*far')


class TwoClocks(InFolder):
    def test_the_drift_of_coarse_stamps_is_no_better_than_they_allow(self):
        talk = PathTalk()
        talk.exchange(0, 150)
        paths = talk.save(self.folder)
        for path, drift in zip(paths, (0, 30e-6)):
            write_pcap(path, [(round(stamp * (1 + drift)) // 1000 * 1000, frame)
                              for stamp, frame in read_pcap(path)])
        clocks = rows('compare', *paths, '--two-clocks')[0]['clocks']
        self.assertGreater(clocks['drift_uncertainty_ppm'], 20)
        self.assertLess(abs(clocks['drift_ppm'] - 30), clocks['drift_uncertainty_ppm'])

    def test_asymmetry_goes_with_two_clocks(self):
        paths = PathTalk()
        paths.exchange(0, 20)
        near, far = paths.save(self.folder)
        self.assertEqual(dissect('compare', near, far, '--asymmetry', '10us').returncode, 2)
        said = dissect('compare', near, far, '--two-clocks', '--asymmetry', '10us').stdout
        self.assertIn('+-5 us more', said)


if __name__ == '__main__':
    longwire_test.main()
