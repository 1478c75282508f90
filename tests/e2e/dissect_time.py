# SPDX-License-Identifier: BSD-3-Clause
"""Windows in time (--from, --to, -Y) of all commands that read captures, and times in rows of text (--time)."""

import json
import subprocess

from capture_files import RXE
from dissect_analysis import InFolder, dissect, rows
from dissect_path import PathTalk
from pcap_file import read_pcap, write_pcap

CAPTURE = RXE / 'loss_write_sender_side.pcap'
READERS = 'list', 'verify', 'summary', 'connections', 'messages', 'anomalies', 'explain', 'annotate', 'extract', \
    'report', 'compare'


def utc(ns):
    date = subprocess.run(['date', '-u', '-d', f'@{ns // 10**9}', '+%FT%T'], capture_output=True, text=True,
                          check=True).stdout.strip()
    return f'{date}.{ns % 10**9:09}Z'


class Windows(InFolder):
    def test_every_command_that_reads_captures_has_them(self):
        for command in READERS:
            said = dissect(command, '--help').stdout
            for option in '--from TIME', '--to TIME':
                self.assertIn(option, said, command)

    def test_a_condition_is_a_window_of_all_commands(self):
        for command in READERS:
            self.assertIn('-Y', dissect(command, '--help').stdout, command)
        condition = 'frame.time_relative >= 0.01 && frame.time_relative <= 0.1'
        for command in 'verify', 'summary', 'connections', 'messages', 'anomalies', 'explain':
            with self.subTest(command):
                found, wanted = (rows(command, CAPTURE, '--json', *words) if command == 'explain'
                                 else rows(command, CAPTURE, *words)
                                 for words in (('-Y', condition), ('--from', '10ms', '--to', '100ms')))
                if command == 'explain':  # but for the commands that it names
                    self.assertEqual(found[0]['frames'], wanted[0]['frames'])
                    for statement in found[0]['statements']:
                        if not statement['command'].startswith('roce-dissect list'):
                            self.assertIn(' -Y ', statement['command'])
                else:
                    self.assertEqual(found, wanted)
        done = dissect('connections', CAPTURE, '-Y', 'longwire.psn_gap > 1')
        self.assertEqual(done.returncode, 2)
        self.assertIn('known to `list` only', done.stderr)

    def test_both_ends_are_included_and_numbers_stay(self):
        stamps = [stamp for stamp, _ in read_pcap(CAPTURE)]
        first, last = 20, 60
        wanted = [index + 1 for index, stamp in enumerate(stamps) if stamps[first] <= stamp <= stamps[last]]
        for begin, end in ((f'{stamps[first] - stamps[0]}ns', f'{stamps[last] - stamps[0]}ns'),
                           (utc(stamps[first]), utc(stamps[last])),
                           (utc(stamps[first]).rstrip('Z').replace('T', ' '), f'{stamps[last] - stamps[0]}ns')):
            with self.subTest(begin):
                found = dissect('list', CAPTURE, '--from', begin, '--to', end, '-e', 'frame.number').stdout.split()
                self.assertEqual([int(number) for number in found], wanted)
        alone = self.folder / 'alone.pcap'
        write_pcap(alone, [frame for frame in read_pcap(CAPTURE) if stamps[first] <= frame[0] <= stamps[last]])
        for command in 'verify', 'summary':
            there, = rows(command, CAPTURE, '--from', utc(stamps[first]), '--to', utc(stamps[last]))
            here, = rows(command, alone)
            self.assertEqual({**there, 'file': ''} if command == 'verify' else there['frames'],
                             {**here, 'file': ''} if command == 'verify' else here['frames'])
        session = rows('connections', CAPTURE, '--from', utc(stamps[first]), '--to', utc(stamps[last]))
        self.assertEqual([row['payload_bytes'] for row in session],
                         [row['payload_bytes'] for row in rows('connections', alone)])

    def test_a_time_that_is_none_is_an_error(self):
        for text in '2026-02-30', '2026-11-23T25:00', '-1s', 'yesterday', '2026-11-23T14:31:50.', '5', '':
            with self.subTest(text):
                done = dissect('list', CAPTURE, '--from', text)
                self.assertEqual(done.returncode, 2)
                self.assertIn('--from: expected a time since the first frame', done.stderr)
        self.assertEqual(dissect('list', CAPTURE, '--from', '2200-01-01T00:00').stdout, '')

    def test_two_captures_are_compared_within_it(self):
        for ahead, more in ((0, ()), (317_200_000, ('--two-clocks',))):
            talk = PathTalk()
            talk.exchange(0, 100)
            talk.send('request', 100, lost=1)
            talk.exchange(101, 150)
            middle = talk.at + 10**9
            talk.exchange(150, 200)
            talk.send('request', 200, lost=1)
            talk.exchange(201, 300)
            paths = talk.save(self.folder, ahead)
            begin = read_pcap(paths[0])[0][0]
            lost = lambda *words: rows('compare', *paths, *more, *words)[0]['directions'][0]['lost']
            self.assertEqual(lost(), 2)
            self.assertEqual(lost('--from', f'{middle - begin}ns'), 1)
            self.assertEqual(lost('--to', utc(middle)), 1)
            self.assertEqual(lost('-Y', f'frame.time_relative >= {(middle - begin) / 1e9:.9f}'), 1)
            self.assertEqual(lost('--from', '12ms', '--to', '18ms'), 0)

    def test_commands_given_as_evidence_have_the_same_window(self):
        said = json.loads(dissect('explain', CAPTURE, '--to', '60s', '--no-tunnels', '--json').stdout)
        commands = [statement['command'] for statement in said['statements']]
        self.assertGreater(len(commands), 0)
        for command in commands:
            self.assertIn(' --to 60s --no-tunnels', command)


class Times(InFolder):
    def test_rows_of_text_have_them(self):
        frames = [stamp for stamp, _ in read_pcap(CAPTURE)]
        begin = frames[0]
        for command, stamp_of in (('anomalies', lambda row: row['time_ns']),
                                  ('messages', lambda row: frames[row['first_frame'] - 1])):
            stamps = [stamp_of(row) for row in rows(command, CAPTURE)]
            texts = {'utc': [utc(stamp) for stamp in stamps[:5]],
                     'relative': [f'{(stamp - begin) / 1e9:.9f}' for stamp in stamps[:5]]}
            for style, wanted in texts.items():
                lines = dissect(command, CAPTURE, '--time', style).stdout.splitlines()
                self.assertEqual([line.split()[1] for line in lines[:5]], wanted, command)
            plain = dissect(command, CAPTURE).stdout.splitlines()
            self.assertEqual(plain[0].split()[1], 'connection')
        table = dissect('connections', CAPTURE, '--time', 'utc').stdout.splitlines()
        self.assertIn('begins', table[0])
        self.assertIn(utc(read_pcap(CAPTURE)[0][0])[:19], table[1])

    def test_sentences_have_them(self):
        near, far = self.folder / 'near.pcap', self.folder / 'far.pcap'
        talk = PathTalk()
        talk.exchange(0, 60)
        for psn in range(60, 80):
            talk.send('request', psn, lost=1)
        begin = talk.at + 10**9 - 19 * 100_000
        talk.exchange(80, 200)
        near, far = talk.save(self.folder, 0)
        for command in 'compare', 'explain':
            self.assertIn(f'at {utc(begin)}', dissect(command, near, far, '--time', 'utc').stdout)
            self.assertIn(f'at {(begin - read_pcap(near)[0][0]) / 1e9:.6f} s', dissect(command, near, far).stdout)


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
