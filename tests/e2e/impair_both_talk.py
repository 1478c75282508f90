# SPDX-License-Identifier: BSD-3-Clause
"""What the two directions of roce-impair replay have to say to each other comes at its nanosecond:
pause frames, held against the queue's departures counted by hand, and connections' set-up."""

import subprocess

import needs
import longwire_test
from both_ways import START, Box, pause_frame
from pcap_file import is_roce, other_frame, read_pcap, roce_frame, write_pcap


class Pause(Box):
    SIZE, LINE_NS = 1034, 80  # a frame's bytes, and a byte's time at 100 Mb/s
    EACH = (SIZE + 24) * LINE_NS

    @classmethod
    def profile(cls, pfc):
        return f'''[[rule]]
name = "slow"
direction = "west-to-east"
queue = {{ rate = "100Mb/s", buffer = "1MB", pfc = {pfc} }}
'''

    @classmethod
    def stream(cls, frames=200, every=10_000):
        return [(START + i * every, roce_frame(i, 960)) for i in range(frames)]

    def departures(self, arrivals):
        """When each has left the link, one after the other."""
        free, gone = 0, []
        for at in arrivals:
            free = max(free, at) + self.EACH
            gone.append(free)
        return gone

    def test_a_full_queue_asks_at_its_nanosecond(self):
        west = self.stream()
        arrivals = [stamp - START for stamp, _ in west]
        gone = self.departures(arrivals)

        def held(at):
            return sum(self.SIZE for came, left in zip(arrivals, gone) if came <= at < left)

        full = next(at for at in arrivals if held(at) >= 60_000)
        empty = next(at for at in gone if at > full and held(at) <= 30_000)
        half = 65_535 * 512 // 10 // 2  # of the longest pause at 10 Gb/s, ns
        asked = list(range(full, empty, half))
        self.assertGreater(len(asked), 3)
        # The other direction has nothing of its own.
        report, frames = self.both_ways(
            self.profile('{ priority = 5, xoff = "60kB", xon = "30kB", link = "10Gb/s" }'), west,
            [(START, other_frame(0))])
        pauses = [(stamp, data) for name, stamp, data in frames
                  if name == 'east-to-west out' and data[12:14] == b'\x88\x08']
        expected = [(at, pause_frame({5: 65_535})) for at in asked] + [(empty, pause_frame({5: 0}))]
        self.assertEqual(pauses, expected)
        self.assertEqual([stamp for name, stamp, _ in frames if name == 'west-to-east out'], gone)
        self.assertEqual(report['directions'][1]['created']['frames'], len(expected))
        self.assertEqual(report['directions'][0]['stages'][0]['pauses'],
                         {'asked': len(asked), 'ended': 1, 'heard': 0, 'silent_ns': 0})

    @needs.tools('tshark')
    def test_tshark_reads_what_it_asks(self):
        self.both_ways(self.profile('{ priority = 5, xoff = "60kB", xon = "30kB" }'), self.stream(),
                       [(START, other_frame(0))])
        fields = ['frame.interface_name', 'eth.dst', 'eth.src', 'macc.opcode', 'macc.cbfc.enbv',
                  'macc.cbfc.pause_time.c5']
        read = subprocess.run(
            ['tshark', '-r', str(self.folder / 'out.pcapng'), '-Y', 'macc', '-T', 'fields',
             *[word for field in fields for word in ('-e', field)]],
            capture_output=True, text=True, check=True).stdout.splitlines()
        rows = [line.split('\t') for line in read]
        self.assertGreater(len(rows), 2)
        self.assertEqual({tuple(row[:3]) for row in rows},
                         {('east-to-west out', '01:80:c2:00:00:01', '02:00:00:00:00:01')})
        numbers = [[int(word, 0) for word in row[3:]] for row in rows]
        self.assertEqual(numbers,
                         [[0x0101, 1 << 5, 0xFFFF]] * (len(rows) - 1) + [[0x0101, 1 << 5, 0]])

    def test_a_queue_is_silent_for_exactly_its_quanta(self):
        west = self.stream()
        quantum = 512 * 10  # ns at 100 Mb/s
        asked = 1_000_000
        # The whole pause; one that is ended early; and one for another priority.
        for quanta, ended in ((20_000, None), (20_000, 3_000_000), (None, None)):
            east = [(START + asked, pause_frame({3: quanta} if quanta else {4: 20_000}))]
            resumes = asked + (quanta or 0) * quantum
            if ended:
                east.append((START + ended, pause_frame({3: 0})))
                resumes = ended
            expected, free = [], 0
            for stamp, _ in west:
                begins = max(free, stamp - START)
                if begins >= asked:  # what is being sent is sent to its end
                    begins = max(begins, resumes)
                free = begins + self.EACH
                expected.append(free)
            report, frames = self.both_ways(self.profile('{ priority = 3 }'), west, east)
            sent = {way: [(stamp, data) for name, stamp, data in frames if name == f'{way} out']
                    for way in ('west-to-east', 'east-to-west')}
            self.assertEqual([stamp for stamp, _ in sent['west-to-east']], expected)
            # A pause that the queue obeys goes no further; one for another priority is forwarded as it came.
            forwarded = [] if quanta else [(stamp - START, data) for stamp, data in east]
            self.assertEqual(sent['east-to-west'], forwarded)
            there, back = report['directions']
            self.assertEqual(back['consumed']['frames'], len(east) - len(forwarded))
            self.assertEqual(there.get('stages')[0].get('pauses', {}).get('silent_ns', 0),
                             resumes - asked if quanta else 0)
            self.assertTrue(report['stages_hold'])


class Connections(Box):
    CLIENT = bytes([192, 168, 77, 2])

    def test_a_lost_first_packet_is_known_from_set_up_that_crosses(self):
        frames = read_pcap(longwire_test.SOURCE / 'pcaps' / 'rxe' / 'cm_rping.pcap')
        west = [frame for frame in frames if frame[1][26:30] == self.CLIENT]
        east = [frame for frame in frames if frame[1][26:30] != self.CLIENT]
        requests = [i for i, (_, f) in enumerate(west)
                    if is_roce(f) and f[42] < 0x0D and f[47:50] != b'\0\0\1']
        # The first request never came here; what did is its second transmission, behind the second
        # request.
        (_, lost), (stamp, second) = west[requests[0]], west[requests[1]]
        west[requests[0]:requests[1] + 1] = (west[requests[0] + 1:requests[1] + 1]
                                             + [(stamp + 1, lost)])
        event = ('[[event]]\nname = "first"\ndirection = "west-to-east"\nqp = 1\npsn_offset = 0\n'
                 'action = "drop"\n')
        write_pcap(self.folder / 'west.pcap', west)
        write_pcap(self.folder / 'east.pcap', east)
        for more, gone in (([], second), (['--back', self.folder / 'east.pcap'], lost)):
            report = self.replay(event, self.folder / 'west.pcap', 'out.pcap', *more)
            left = [data for _, data in read_pcap(self.folder / 'out.pcap')]
            self.assertEqual(report['directions'][0]['events'][0]['happened'], 1)
            self.assertNotIn(gone, left)
            expected = [data for _, data in west + (east if more else []) if data != gone]
            self.assertEqual(sorted(left), sorted(expected))


if __name__ == '__main__':
    longwire_test.main()
