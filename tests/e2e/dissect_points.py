# SPDX-License-Identifier: BSD-3-Clause
"""Capture points that are decided from the frames: halves, parts and views of one point, and points
of their own. Captures of pcaps/cases, and siblings of them with known truth, which are composed
here."""


import longwire_test
from conversation import Conversation
from dissect_analysis import InFolder, dissect, rows
from dissect_cases import CASES
from dissect_explain import explained
from capture_files import further
from longwire_test import SOURCE
from pcap_file import write_pcap
from pcapng_file import write_pcapng

FIRST_HOST, SECOND_HOST = bytes([2, 0, 0, 0, 0, 1]), bytes([2, 0, 0, 0, 0, 2])


def talk_of(count=40, lost=()):
    """WRITEs and their ACKs, 6 us apart. A lost one is sent again after a NAK."""
    talk = Conversation(counted=True)
    for psn in range(count):
        if psn in lost:
            talk.request(psn + 1, wait=2)
            talk.nak(psn)
            talk.request(psn)
            talk.answer(psn)
        talk.request(psn)
        talk.answer(psn, wait=5)
    return talk


def is_request(frame):
    return frame[6:12] == FIRST_HOST


def later(frames, delay_ns, change=lambda frame: frame):
    return [(stamp + delay_ns, change(frame)) for stamp, frame in frames]


def next_hop(frame):
    """Behind a router: TTL one less (with its checksum), other MAC addresses."""
    made = bytearray(frame)
    made[0:12] = bytes.fromhex('0200000000aa0200000000bb')
    made[22] -= 1
    made[24:26] = bytes(2)
    words = sum(int.from_bytes(made[i:i + 2]) for i in range(14, 34, 2))
    words = (words & 0xFFFF) + (words >> 16)
    made[24:26] = (~((words & 0xFFFF) + (words >> 16)) & 0xFFFF).to_bytes(2)
    return bytes(made)


class Points(InFolder):
    def case(self, name):
        path, = CASES.glob(f'{name}.pcap*')
        return path

    def decided(self, path, *options):
        return [(point['name'], point['decided_by'], point['repeated_views'])
                for point in explained(path, *options)['points']]

    def frames_in(self, name, frames):
        """A pcapng file of (interface, time in ns, bytes), in the order of time."""
        names = []
        for interface, _, _ in frames:
            if interface not in names:
                names.append(interface)
        path = self.folder / name
        write_pcapng(path, names, [(names.index(interface), stamp, frame) for interface, stamp, frame
                                   in sorted(frames, key=lambda entry: entry[1])])
        return path

    def check_equal(self, path, once, *options):
        """Each command finds in the capture what it finds in `once`, but for the frames' numbers."""
        skipped = ('frame', 'last_frame', 'related_frame', 'first_frame', 'completion_frame', 'point',
                   'point_decided_by', 'where', 'time_ns', 'detail')
        for command in ('connections', 'messages', 'anomalies'):
            found, wanted = ([{key: value for key, value in row.items() if key not in skipped}
                              for row in rows(command, source, *words)]
                             for source, words in ((path, options), (once, ())))
            self.assertEqual(found, wanted, command)


class Halves(Points):
    def test_each_interface_has_one_direction(self):
        path = self.case('halves_two_interfaces')
        self.assertEqual(self.decided(path), [('enp1s0f0+enp1s0f1', 'halves', False)])
        session, = rows('connections', path)
        self.assertEqual((session['requests'], session['responses'], session['rtt_samples']),
                         (50, 50, 50))
        self.assertEqual(session['point_decided_by'], 'halves')

    def test_a_file_for_each_direction(self):
        talk = talk_of(lost=(7, 20))
        once = talk.save(self.folder / 'once.pcap')
        files = []
        for name, way in (('there', True), ('back', False)):
            files.append(self.folder / f'{name}.pcapng')
            write_pcapng(files[-1], [name], [(0, stamp, frame) for stamp, frame in talk.frames
                                             if is_request(frame) == way])
        wanted, = rows('connections', once)
        found, = rows('connections', *files)
        self.assertEqual((found['point'], found['requests'], found['naks']),
                         ('there+back', 44, {'0': 2}))
        self.assertEqual([found[key] for key in ('responses', 'retransmitted', 'rtt_p50_ns')],
                         [wanted[key] for key in ('responses', 'retransmitted', 'rtt_p50_ns')])

    def test_two_hosts_with_two_interfaces_each(self):
        frames = talk_of().frames
        taps = []
        for stamp, frame in frames:
            here, there = ('a-tx', 'b-rx') if is_request(frame) else ('b-tx', 'a-rx')
            taps += [(here, stamp, frame), (there, stamp + 800, frame)]
        path = self.frames_in('four.pcapng', taps)
        self.assertEqual(sorted(self.decided(path)),
                         [('a-tx+a-rx', 'halves', False), ('b-rx+b-tx', 'halves', False)])
        self.assertEqual(len(rows('connections', path)), 1)
        self.assertEqual(len(rows('connections', path, '--apart')), 2)


class Parts(Points):
    def test_packets_are_divided_between_two_ports(self):
        path = self.case('spray_two_interfaces')
        self.assertEqual(self.decided(path), [('eth2+eth3', 'parts', False)])
        self.assertEqual({row['kind'] for row in rows('anomalies', path)}, {'window_plateau'})
        session, = rows('connections', path)
        self.assertEqual(session['requests'], 60)

    def test_four_ports_and_a_loss(self):
        talk = talk_of(lost=(9,))
        once = talk.save(self.folder / 'once.pcap')
        path = self.frames_in('four.pcapng', [(f'p{i * 7 % 4}', stamp, frame)
                                              for i, (stamp, frame) in enumerate(talk.frames)])
        self.assertEqual(len(self.decided(path)), 1)
        self.check_equal(path, once)

    def test_a_port_of_other_hosts_is_a_point_of_its_own(self):
        def other(frame):
            return frame[:26] + bytes([198, 51, 100, 1, 198, 51, 100, 2]) + frame[34:]
        frames = talk_of().frames
        path = self.frames_in('two.pcapng', [('eth0', *entry) for entry in frames] +
                              [('eth1', *entry) for entry in later(frames, 500, other)])
        self.assertEqual(self.decided(path), [('eth0', 'one tap', False), ('eth1', 'one tap', False)])


class Views(Points):
    def test_each_frame_was_captured_twice(self):
        for name, words in (('views_mirror', 'equal bytes'), ('views_vlan', 'VLAN tags'),
                            ('views_any_sll2', 'interface index'),
                            ('views_captured_twice', 'equal bytes')):
            with self.subTest(name):
                path = self.case(name)
                found = explained(path)
                point, = found['points']
                self.assertTrue(point['repeated_views'])
                self.assertIn(words, point['sentence'])
                self.assertEqual(2 * found['further_views'], found['roce'])
                self.assertEqual(rows('anomalies', path), [])

    def test_before_and_behind_a_router_with_losses_and_copies(self):
        talk = talk_of(lost=(7, 20))
        copied = talk.frames[30]
        talk.frames.insert(31, (copied[0] + 100, copied[1]))  # by the path, before both views
        once = talk.save(self.folder / 'once.pcap')
        self.assertEqual(sum(row['kind'] == 'duplicate' for row in rows('anomalies', once)), 1)
        both = sorted(talk.frames + later(talk.frames, 3000, next_hop), key=lambda entry: entry[0])
        path = self.folder / 'both.pcap'
        write_pcap(path, both)
        self.assertIn('TTL', explained(path)['points'][0]['sentence'])
        self.check_equal(path, once)
        self.check_equal(path, once, '--jobs', '2')

    def test_two_interfaces_that_show_the_same(self):
        frames = talk_of().frames
        once = self.folder / 'once.pcap'
        write_pcap(once, frames)
        path = self.frames_in('bond.pcapng', [('eth0', *entry) for entry in frames] +
                              [('bond0', *entry) for entry in later(frames, 300)])
        self.assertEqual(self.decided(path), [('eth0+bond0', 'views', True)])
        self.check_equal(path, once)

    def test_copies_of_the_path_are_no_views(self):
        """Each request is copied, so each is answered twice; answers are copied as well."""
        talk = Conversation()
        for psn in range(40):
            for wait in (4, .3):
                talk.request(psn, wait=wait)
            for wait in (2, .2, .3, .2):
                talk.answer(psn, wait=wait)
        path = talk.save(self.folder / 'copies.pcap')
        self.assertEqual(self.decided(path), [('', 'one tap', False)])

    def test_most_requests_sent_again_are_no_views(self):
        """Requests only: a sender without IP identifications goes back twice, soon and far."""
        talk = Conversation()
        for begin, end in ((0, 100), (32, 200), (132, 200)):
            for psn in range(begin, end):
                talk.request(psn, wait=.3)
        path = talk.save(self.folder / 'back.pcap')
        self.assertEqual(self.decided(path), [('', 'one tap', False)])
        self.assertEqual(sum(row['packets'] for row in rows('anomalies', path)
                             if row['kind'] == 'retransmission'), 136)
        views = self.folder / 'views.pcap'  # the same in two views
        write_pcap(views, sorted(talk.frames + later(talk.frames, 900), key=lambda entry: entry[0]))
        self.assertEqual(self.decided(views), [('', 'one tap', True)])
        self.check_equal(views, path)

    def test_what_is_sent_again_soon_has_a_multiple_of_views(self):
        """A third of the packets comes again within 20 us, and is answered again; each frame twice."""
        talk = Conversation(counted=False)
        for psn in range(60):
            for _ in range(2 if psn % 3 == 0 else 1):
                talk.request(psn, wait=10)
                talk.answer(psn, wait=5)
        once = talk.save(self.folder / 'once.pcap')
        path = self.folder / 'twice.pcap'
        write_pcap(path, sorted(talk.frames + later(talk.frames, 900), key=lambda entry: entry[0]))
        self.assertEqual(self.decided(path), [('', 'one tap', True)])
        self.check_equal(path, once)


class Outputs(Points):
    def test_each_command_names_the_point_and_what_decided_it(self):
        path = self.case('halves_two_interfaces')
        found = {command: rows(command, path)[0] for command in ('connections', 'messages')}
        found['extract'] = rows('extract', path, '--out', self.folder / 'data')[0]
        for command in ('connections', 'messages', 'extract'):
            self.assertEqual((found[command]['point'], found[command]['point_decided_by']),
                             ('enp1s0f0+enp1s0f1', 'halves'), command)
        self.assertEqual([row['point_decided_by'] for row in rows('anomalies', self.case('views_mirror'),
                                                                  '--points', 'each')][0], 'option')
        pause, = rows('anomalies', self.case('pause_802_3x'))
        self.assertEqual((pause['point'], pause['point_decided_by']), (None, None))


class Captures(Points):
    """All captures of the project: what is not halves, parts or views is called so nowhere."""

    SEVERAL = ('halves_two_interfaces', 'span_mirror_far', 'spray_goback_two_interfaces',
               'spray_two_interfaces', 'views_any_sll2', 'views_captured_twice', 'views_mirror',
               'views_vlan')

    def test_no_halves_parts_or_views_are_found_where_there_are_none(self):
        for path in [*sorted((SOURCE / 'pcaps').glob('*/*.pcap*')), *further()]:
            with self.subTest(path.name):
                explanation = explained(path)
                said = [point['sentence'] for point in explanation['points'] if point['sentence']]
                several = path.name.split('.')[0] in self.SEVERAL
                self.assertEqual(len(said), 1 if several else 0, said)
                self.assertLessEqual(len(explanation['points']), 1)
                self.assertFalse([line for line in explanation['overview'] if 'two clocks' in line])


class OwnPoints(Points):
    def hosts(self):
        talk = talk_of(lost=(7,))
        files = []
        for host in (FIRST_HOST, SECOND_HOST):
            files.append(self.folder / f'host{host[-1]}.pcapng')
            write_pcapng(files[-1], ['eth0'],
                         [(0, stamp + (0 if frame[6:12] == host else 40_000), frame)
                          for stamp, frame in talk.frames])
        return files

    def test_two_hosts_with_one_name(self):
        one, other = self.hosts()
        joined, = rows('connections', one, other)
        self.assertEqual(joined['where'], 'eth0 of host1.pcapng, eth0 of host2.pcapng')
        found = rows('connections', one, other, '--apart')
        self.assertEqual(sorted(row['point'] for row in found),
                         ['eth0 of host1.pcapng', 'eth0 of host2.pcapng'])
        self.assertEqual([row['duplicates'] for row in found], [0, 0])

    def test_files_without_names(self):
        frames = talk_of().frames
        near, far = self.folder / 'near.pcap', self.folder / 'far.pcap'
        write_pcap(near, frames)
        write_pcap(far, later(frames, 30_000_000))  # another clock
        self.assertEqual([row['where'] for row in rows('connections', near, far)],
                         ['near.pcap, far.pcap'])
        found = rows('connections', near, far, '--apart')
        self.assertEqual(sorted(row['point'] for row in found), ['far.pcap', 'near.pcap'])

    def test_the_parts_of_a_ring_are_one_point(self):
        frames = talk_of().frames
        first, second = self.folder / 'ring0', self.folder / 'ring1'
        write_pcap(first, frames[:31])
        write_pcap(second, frames[31:])
        found, = rows('connections', second, first)
        self.assertEqual((found['point'], found['requests']), ('', 40))


class Option(Points):
    def test_it_overrides_what_the_frames_show(self):
        path = self.case('halves_two_interfaces')
        self.assertEqual(self.decided(path, '--points', 'enp1s0f0,enp1s0f1'),
                         [('enp1s0f0', 'option', False), ('enp1s0f1', 'option', False)])
        self.assertEqual(self.decided(path, '--points', '0+1'),
                         [('enp1s0f0+enp1s0f1', 'option', False)])
        mirror = self.case('views_mirror')
        self.assertEqual(self.decided(mirror, '--points', 'each'), [('views_mirror.pcap.gz', 'option', False)])
        self.assertEqual({row['kind'] for row in rows('anomalies', mirror, '--points', 'each')},
                         {'duplicate'})

    def test_a_name_that_is_unknown_or_given_twice(self):
        path = self.case('halves_two_interfaces')
        for text, why in (('enp1s0f0+eth9', '"eth9" at character 10 is no interface'),
                          ('0,0', '"0" at character 3 names an interface that is named before'),
                          (',', '"" at character 1 is no interface')):
            for command in ('connections', 'messages', 'anomalies', 'explain'):
                run = dissect(command, path, '--points', text)
                self.assertEqual(run.returncode, 2, (command, text))
                self.assertIn(why, run.stderr)

    def test_what_was_decided_is_said_once(self):
        run = dissect('connections', self.case('halves_two_interfaces'))
        self.assertEqual(run.stderr, 'enp1s0f0 and enp1s0f1 are halves of one point: each carries one '
                         'direction.\n')


if __name__ == '__main__':
    longwire_test.main()
