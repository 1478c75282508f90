# SPDX-License-Identifier: BSD-3-Clause
"""Captures that the programs write: several files in turn, rings of files, zstd, and how many frames
each interface received and lost, in the file itself. tshark, capinfos and zstd read them."""

import collections
import json
import pathlib
import subprocess
import tempfile
import unittest

import needs
import longwire_test
from pcap_file import roce_frame, write_pcap

FRAMES = 3000
SIZE = 200_000  # most bytes of a file in turn
INTERFACES = ['west-to-east in', 'west-to-east out', 'east-to-west in', 'east-to-west out']
PROFILE = '[[rule]]\nname = "haul"\ndelay = "1ms"\nloss = "1%"\n'
FLOW = ('ipv4-rc-send', '--set', 'ipv4-rc-send.messages=200')  # ten frames each


def tool(*words):
    """What a program prints that isn't of this project."""
    done = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f'{words}: {done.stderr}'
    return done.stdout


def packets(path, *fields):
    """tshark's fields of each packet."""
    words = [word for field in fields for word in ('-e', field)]
    return [tuple(line.split('\t')) for line in
            tool('tshark', '-r', path, '-T', 'fields', *words).splitlines()]


def statistics(path):
    """(received, dropped) of each interface, from the file's statistics blocks, by tshark's
    dissector of the file format itself."""
    found = tool('tshark', '-r', path, '-X', 'read_format:MIME Files Format', '-T', 'fields',
                 '-e', 'pcapng.options.option.data.interface.received',
                 '-e', 'pcapng.options.option.data.interface.dropped')
    columns = [[int(value) for value in column.split(',') if value]
               for column in found.strip('\n').split('\t')]
    return list(zip(*columns))


def in_order(folder, stem):
    return sorted(folder.glob(f'{stem}-[0-9]*'))


@needs.tools('tshark', 'capinfos', 'zstd')
class Files(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        write_pcap(self.path('in.pcap'), [(1_700_000_000 * 10**9 + i * 1000, roce_frame(i))
                                          for i in range(FRAMES)])
        self.path('profile.toml').write_text(PROFILE)

    def path(self, name):
        return self.folder / name

    def run_it(self, *words, expect=0):
        done = subprocess.run([longwire_test.program(words[0]), *map(str, words[1:])],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def replay(self, capture, *options, expect=0):
        """The report's part about the recording."""
        done = self.run_it('roce-impair', 'replay', self.path('profile.toml'),
                           self.path('in.pcap'), self.path('out.pcap'), '--pcap', capture,
                           '--json', *options, expect=expect)
        return json.loads(done.stdout)['capture'], done.stderr


class Rotation(Files):
    FIELDS = ('frame.time_epoch', 'frame.interface_name', 'frame.comment', 'frame.len')

    def setUp(self):
        super().setUp()
        self.replay(self.path('one.pcapng'))
        self.whole = packets(self.path('one.pcapng'), *self.FIELDS)

    def test_files_in_turn_hold_what_one_file_holds(self):
        report, _ = self.replay(self.path('c.pcapng'), '--rotate', SIZE)
        files = in_order(self.folder, 'c')
        self.assertGreater(len(files), 3)
        self.assertEqual(report['files'], len(files))
        self.assertEqual(files[0].name, 'c-00001.pcapng')
        self.assertFalse(self.path('c.pcapng').exists())
        self.assertEqual([packet for file in files for packet in packets(file, *self.FIELDS)],
                         self.whole)
        for file in files[:-1]:
            self.assertTrue(SIZE - 2000 < file.stat().st_size <= SIZE, file)

    def test_each_file_counts_its_own_frames(self):
        self.replay(self.path('c.pcapng'), '--rotate', SIZE)
        for file in in_order(self.folder, 'c'):
            seen = collections.Counter(name for name, in packets(file, 'frame.interface_name'))
            self.assertEqual(statistics(file), [(seen[name], 0) for name in INTERFACES])
            said = tool('capinfos', file)
            self.assertEqual(said.count('Number of stat entries = 1'), 4)

    def test_a_ring_keeps_the_last_files(self):
        report, _ = self.replay(self.path('c.pcapng'), '--rotate', SIZE, '--ring', 3)
        files = in_order(self.folder, 'c')
        self.assertEqual(len(files), 3)
        self.assertEqual(files[-1].name, f"c-{report['files']:05}.pcapng")
        kept = [packet for file in files for packet in packets(file, *self.FIELDS)]
        self.assertEqual(kept, self.whole[-len(kept):])
        self.assertEqual(report['frames'], len(self.whole))
        self.assertEqual(report['removed'], len(self.whole) - len(kept))

    def test_a_senders_pcap_files(self):
        self.run_it('roce-gen', 'run', *FLOW, '--pcap', self.path('one.pcap'))
        self.run_it('roce-gen', 'run', *FLOW, '--pcap', self.path('s.pcap'),
                    '--rotate', SIZE)
        files = in_order(self.folder, 's')
        self.assertGreater(len(files), 3)
        fields = ('frame.time_epoch', 'infiniband.bth.psn', 'infiniband.invariant.crc')
        sent = packets(self.path('one.pcap'), *fields)
        self.assertEqual(len(sent), 2000)
        self.assertEqual([packet for file in files for packet in packets(file, *fields)], sent)

    def test_a_receivers_files(self):
        done = self.run_it('roce-gen', 'receive', '--port', f"pcap:{self.path('in.pcap')}",
                           '--pcap', self.path('r.pcapng'), '--pcap-bytes', 60, '--rotate',
                           SIZE, '--ring', 2, '--json')
        self.assertEqual(json.loads(done.stdout)['frames'], FRAMES)
        files = in_order(self.folder, 'r')
        self.assertEqual(len(files), 2)
        for file in files:
            seen = packets(file, 'frame.cap_len', 'frame.len')
            self.assertEqual({captured for captured, _ in seen}, {'60'})
            self.assertNotEqual({length for _, length in seen}, {'60'})
            self.assertEqual(statistics(file), [(len(seen), 0)])
            self.assertIn('Capture length = 60\n', tool('capinfos', file))

    def test_options_that_need_another(self):
        words = ('roce-impair', 'replay', self.path('profile.toml'), self.path('in.pcap'),
                 self.path('out.pcap'))
        capture = ('--pcap', self.path('c.pcapng'))
        for options, said in ((('--ring', 3, *capture), '--ring: --rotate SIZE is needed too'),
                              (('--rotate', '1GB'), '--rotate: --pcap FILE is needed too'),
                              (('--rotate', '10kB', *capture), 'a size of at least 64'),
                              (('--rotate', '1GB', '--ring', 0, *capture), 'from 1 to 100000')):
            self.assertIn(said, self.run_it(*words, *options, expect=2).stderr)
        done = self.run_it('roce-gen', 'run', *FLOW, '--pcap', '-', '--rotate',
                           '1GB', expect=2)
        self.assertIn('several files', done.stderr)
        self.assertEqual(in_order(self.folder, 'c'), [])


class Zstd(Files):
    def test_unpacked_it_is_the_plain_recording(self):
        self.replay(self.path('plain.pcapng'))
        report, _ = self.replay(self.path('c.pcapng.zst'))
        packed, plain = self.path('c.pcapng.zst'), self.path('plain.pcapng').read_bytes()
        unpacked = subprocess.run(['zstd', '-dc', packed], capture_output=True, check=True).stdout
        self.assertEqual(unpacked, plain)
        self.assertLess(packed.stat().st_size, len(plain) / 2)
        self.assertEqual((report['frames'], report['missing']), (len(packets(packed, 'frame.len')),
                                                                 0))

    def test_our_own_reader_reads_it(self):
        self.replay(self.path('plain.pcapng'))
        self.replay(self.path('c.pcapng.zst'))
        listed = [self.run_it('roce-dissect', 'list', '--csv', self.path(name)).stdout
                  for name in ('plain.pcapng', 'c.pcapng.zst')]
        self.assertEqual(*listed)
        self.assertGreater(listed[0].count('\n'), FRAMES)

    def test_every_file_in_turn_is_whole(self):
        """Compressed frames wait in the compressor, so a file may be longer than asked."""
        report, _ = self.replay(self.path('c.pcapng.zst'), '--rotate', 64_000)
        files = in_order(self.folder, 'c')
        self.assertEqual(len(files), report['files'])
        self.assertEqual(files[0].name, 'c-00001.pcapng.zst')
        for file in files:
            tool('zstd', '-t', file)
        self.assertEqual(sum(len(packets(file, 'frame.len')) for file in files),
                         report['frames'])

    def test_of_a_sender_and_a_receiver(self):
        self.run_it('roce-gen', 'run', *FLOW, '--pcap', self.path('s.pcap.zst'))
        self.run_it('roce-gen', 'run', *FLOW, '--pcap', self.path('s.pcap'))
        unpacked = subprocess.run(['zstd', '-dc', self.path('s.pcap.zst')], capture_output=True,
                                  check=True).stdout
        self.assertEqual(unpacked, self.path('s.pcap').read_bytes())
        self.run_it('roce-gen', 'receive', '--port', f"pcap:{self.path('in.pcap')}", '--pcap',
                    self.path('r.pcapng.zst'))
        self.assertEqual(len(packets(self.path('r.pcapng.zst'), 'frame.len')), FRAMES)

    def test_names_of_other_compressions_are_refused(self):
        done = self.run_it('roce-gen', 'run', *FLOW, '--pcap',
                           self.path('s.pcap.gz'), expect=2)
        self.assertIn('not compressed', done.stderr)


class Run(Files):
    """Over ports, where a thread of its own writes the frames from the rings."""

    def run_over_ports(self, capture, *options, expect=0):
        done = self.run_it('roce-impair', 'run', *longwire_test.ANY_LATENESS, self.path('profile.toml'), '--west',
                           f"pcap:{self.path('in.pcap')}", '--east', f"pcap:,{self.path('out.pcap')}", '--pcap',
                           capture, '--json', *options, expect=expect)
        return json.loads(done.stdout), done.stderr

    def check(self, files, report):
        """Each interface's frames, by tshark, by the report, and by the files themselves."""
        seen, counted = collections.Counter(), collections.Counter()
        for file in files:
            seen.update(name for name, in packets(file, 'frame.interface_name'))
            for name, (received, dropped) in zip(INTERFACES, statistics(file)):
                counted[name] += received - dropped
        for interface in report['interfaces']:
            self.assertEqual(seen[interface['name']], interface['frames'])
            self.assertEqual(counted[interface['name']], interface['frames'])
        self.assertEqual([interface['name'] for interface in report['interfaces']], INTERFACES)

    def test_files_in_turn(self):
        report, _ = self.run_over_ports(self.path('c.pcapng'), '--rotate', SIZE)
        capture, direction = report['capture'], report['directions'][0]
        files = in_order(self.folder, 'c')
        self.assertEqual((capture['files'], capture['missing']), (len(files), 0))
        self.assertGreater(len(files), 3)
        self.assertEqual(capture['interfaces'][0]['frames'], FRAMES)
        self.assertEqual(capture['interfaces'][1]['frames'], direction['sent']['frames'])
        self.check(files, capture)

    def test_bytes_are_those_that_came_in(self):
        self.run_over_ports(self.path('c.pcapng.zst'))
        payloads = packets(self.path('in.pcap'), 'infiniband.bth.psn', 'infiniband.invariant.crc')
        came = subprocess.run(['tshark', '-r', self.path('c.pcapng.zst'), '-Y',
                               'frame.interface_name == "west-to-east in"', '-T', 'fields', '-e',
                               'infiniband.bth.psn', '-e', 'infiniband.invariant.crc'],
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual([tuple(line.split('\t')) for line in came.splitlines()], payloads)

    @needs.root('file systems')
    def test_a_full_disk_is_in_the_file_itself(self):
        small = self.path('small')
        small.mkdir()
        mounted = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=200k', 'small', small],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            needs.lacks('a tmpfs', mounted.stderr)
        self.addCleanup(subprocess.run, ['umount', str(small)], check=False)
        report, said = self.run_over_ports(small / 'c.pcapng', expect=3)
        capture = report['capture']
        self.assertIn('No space left on device', said)
        self.assertIn(f"its first {capture['frames']} frames are valid, and "
                      f"{capture['missing']} are missing", said)
        self.assertGreater(capture['frames'], 200)
        self.assertGreater((small / 'c.pcapng').stat().st_size, 180_000)
        self.check([small / 'c.pcapng'], capture)
        self.assertEqual(statistics(small / 'c.pcapng'),
                         [(interface['frames'] + interface['lost'], interface['lost'])
                          for interface in capture['interfaces']])
        self.assertEqual(capture['interfaces'][0]['frames'] + capture['interfaces'][0]['lost'],
                         FRAMES)

    def test_reserved_blocks_are_given_back(self):
        self.run_over_ports(self.path('c.pcapng'))
        status = self.path('c.pcapng').stat()
        self.assertLess(status.st_blocks * 512, status.st_size + 65536)


if __name__ == '__main__':
    longwire_test.main()
