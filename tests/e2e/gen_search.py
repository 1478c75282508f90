# SPDX-License-Identifier: BSD-3-Clause
"""roce-gen search: over a loop that loses nothing, and over Linux interfaces with a token bucket
between them (root). What is held is that the bracket is what its trials say, not how fast a
machine is."""

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree

import needs
import longwire_test
import output_schemas
import verdict_outputs
from html_pages import page_data

GEN = longwire_test.program('roce-gen')
PROFILE = str(longwire_test.SOURCE / 'profiles' / 'flows' / 'ipv4-rc-send.toml')
TIMEOUT = 120
NAMESPACE = f'lw{os.getpid()}s'


DISSECT = longwire_test.program('roce-dissect')
RELAY = str(longwire_test.SOURCE / 'tests' / 'support' / 'lossy_relay.py')


class Search(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def search(self, *options, prefix=(), profile=PROFILE, codes=(0, 1)):
        done = subprocess.run([*prefix, GEN, 'search', profile, '--json', '--out',
                               str(self.folder), *options],
                              capture_output=True, text=True, timeout=TIMEOUT)
        self.assertIn(done.returncode, codes, done.stderr)  # a busy machine may not offer the rates
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, report['verdict']['exit'])
        self.check(report)
        return report

    def check(self, report):
        """A search's ends are trials of its own, as near as asked, and judged by the rule."""
        with open(self.folder / 'search.csv', newline='') as file:
            rows = list(csv.DictReader(file))
        trials = [t for size in report['sizes'] for t in size['trials']]
        self.assertEqual([[json.loads(row[key] or 'null') for key in trial] for row, trial in zip(rows, trials, strict=True)],
                         [list(trial.values()) for trial in trials])
        self.assertEqual([int(row['message_size']) for row in rows],
                         [size['message_size'] for size in report['sizes'] for _ in size['trials']])
        for trial in trials:
            self.assertEqual(trial['lost'], trial['sent'] - trial['received'])
            within = trial['lost'] <= report['loss'] * trial['sent']
            growth, most = trial['delay_growth_ns'], trial['span_ns'] * report['resolution'] / trial['fraction']
            hidden = (trial['disturbed'] if growth is None else
                      growth + 2 * trial['delay_noise_ns'] >= int(most))
            self.assertEqual(trial['passed'],
                             trial['offered'] and within and not trial['delay_grows'] and not hidden)
            self.assertIn('disturbed', trial)
        for size in report['sizes']:
            passes, fails = size['passes'], size['fails']
            low = passes['fraction'] if passes else 0
            high = min((end['fraction'] for end in (fails, size['not_offered']) if end), default=1)
            self.assertTrue(passes is None or passes in size['trials'] and passes['passed'])
            self.assertTrue(fails is None or fails in size['trials'] and not fails['passed'])
            # A stall makes a queue drop at most as many frames as come late.
            self.assertTrue(fails is None or fails['delay_grows'] or
                            fails['lost'] - fails['held_up'] > report['loss'] * fails['sent'])
            self.assertLessEqual(high - low, report['resolution'])
        plot = xml.etree.ElementTree.parse(self.folder / 'search.svg')
        texts = [element.text for element in plot.iter('{http://www.w3.org/2000/svg}text')]
        self.assertIn('message size, bytes', texts)
        for size in report['sizes']:
            self.assertIn(str(size['message_size']), texts)

    def test_over_a_loop(self):
        report = self.search('--port', 'net_ring0', '--receive', 'net_ring0', '--sizes',
                             '0,64,4096', '--max-rate', '20Mb/s', '--duration', '200ms',
                             '--settle', '100ms', '--resolution', '10%')
        self.assertEqual([s['message_size'] for s in report['sizes']], [0, 64, 4096])
        # Nobody else puts frames there: none can arrive that wasn't sent.
        for size in report['sizes']:
            for trial in size['trials']:
                self.assertLessEqual(trial['received'], trial['sent'])

    def test_a_signal_reports_the_trials_so_far(self):
        page = self.folder / 'page.html'
        run = longwire_test.begin(self, [
            GEN, 'search', PROFILE, '--port', 'net_ring0', '--receive', 'net_ring0', '--json', '--verbose',
            '--sizes', '64,128', '--max-rate', '1Mb/s', '--duration', '100ms', '--settle', '10ms',
            '--repeat', '1000', '--junit', self.folder / 'junit.xml', '--expect', 'sizes.0.message_size > 0',
            '--html', page, '--out', self.folder])
        while ' sent, ' not in run.stderr.readline():
            pass
        run.send_signal(signal.SIGINT)
        out, error = run.communicate(timeout=TIMEOUT)
        self.assertEqual(run.returncode, 1, error)
        self.assertIn('interrupted: 0 of 2 message sizes are finished', error)
        report = json.loads(out)
        output_schemas.validate(report)
        self.assertTrue(report['incomplete'])
        (size,) = report['sizes']
        self.assertGreater(len(size['trials']), 0)
        with open(self.folder / 'search.csv', newline='') as file:
            self.assertEqual(len(list(csv.DictReader(file))), len(size['trials']))
        self.assertEqual(page_data(page)['reports'], [report])
        verdict_outputs.check_junit(self, self.folder / 'junit.xml', 'roce-gen search', [report['verdict']])

    def namespace(self):
        """A function that runs `ip`, once there is a network namespace."""
        def ip(*words):
            subprocess.run(['ip', *words], check=True, capture_output=True, timeout=TIMEOUT)
        try:
            ip('netns', 'add', NAMESPACE)
        except (OSError, subprocess.CalledProcessError) as error:
            needs.lacks('network namespaces', error)
        self.addCleanup(ip, 'netns', 'del', NAMESPACE)
        return ip

    def profile(self, text):
        path = self.folder / 'profile.toml'
        path.write_text(text, encoding='utf-8')
        return str(path)

    @needs.root('network namespaces')
    def test_loss_copies_order_and_damage_count_apart(self):
        """The truth is that of a relay between two pairs of interfaces."""
        ip = self.namespace()
        for near, far in (('a0', 'w0'), ('b0', 'e0')):
            ip('-n', NAMESPACE, 'link', 'add', near, 'type', 'veth', 'peer', 'name', far)
            for name in (near, far):
                ip('-n', NAMESPACE, 'link', 'set', name, 'up')
        inside = ('ip', 'netns', 'exec', NAMESPACE)
        profile = self.profile('[[flow]]\noperation = "write"\nrate = "4 Mb/s"\n'
                               '[[flow]]\nrate = "4 Mb/s"\ndst_qp = 7\n')
        for seed, shares in enumerate(((0, 0, 0.2, 0), (0.2, 0.02, 0, 0), (0, 0.1, 0, 0.1),
                                       (0.1, 0.03, 0.2, 0.05), (0, 0, 0, 0))):
            relay = subprocess.Popen([*inside, sys.executable, RELAY, 'w0', 'e0', str(seed),
                                      *map(str, shares)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)
            self.addCleanup(relay.kill)
            self.assertEqual(relay.stdout.readline(), 'ready\n')
            report = self.search('--port', 'a0', '--receive', 'b0', '--sizes', '1000', '--duration',
                                 '400ms', '--settle', '200ms', '--resolution', '40%', '--loss', '1%',
                                 profile=profile, prefix=inside)
            truth, _ = relay.communicate(timeout=TIMEOUT)
            (size,) = report['sizes']
            self.assertEqual([{key: trial[key] for key in run} for trial, run in
                              zip(size['trials'], json.loads(truth), strict=True)],
                             json.loads(truth), shares)
            self.assertEqual(report['measure'], 'capacity')
            harmless = shares[0] == shares[2] == 0
            # A busy machine may offer no rate in full.
            offered = any(trial['offered'] for trial in size['trials'])
            self.assertEqual(size['passes'] is not None, harmless and offered, shares)

    def test_messages_are_those_of_the_size_under_test(self):
        profile = self.profile('[defaults]\noperation = "write"\nmessage_size = 1024\n'
                               'rate = "10 Mb/s"\n[[flow]]\nregion = "64KiB"\n'
                               '[[flow]]\noperation = "send"\ndst_qp = 9\n'
                               '[[flow]]\noperation = "read_request"\ndst_qp = 10\n')
        capture = str(self.folder / 'sent.pcap')
        self.search('--port', f'pcap:,{capture}', '--receive', 'net_ring0', '--sizes',
                    '64,4096,2000', '--duration', '100ms', '--settle', '10ms', '--loss', '100%',
                    profile=profile)
        listed = subprocess.run([DISSECT, 'list', capture, '--json'], check=True,
                                capture_output=True, text=True, timeout=TIMEOUT)
        lengths, ends = [], set()
        for line in listed.stdout.splitlines():
            frame = json.loads(line)
            length = frame.get('infiniband.reth.dmalen')
            if length is None or frame['infiniband.bth.destqp'] != '0x000012':
                continue
            if length not in lengths:
                lengths.append(length)
            ends.add(int(frame['infiniband.reth.va'], 16) + length - 0x100000)
        self.assertEqual(lengths, [64, 4096, 2000])
        self.assertLessEqual(max(ends), 65536)
        said = subprocess.run([DISSECT, 'explain', capture], check=True, capture_output=True,
                              text=True, timeout=TIMEOUT).stdout
        self.assertIn('What was lost, late or copied? Fine', said)
        self.assertNotIn('incomplete', said)
        refused = subprocess.run([GEN, 'search', profile, '--port', 'net_ring0', '--receive',
                                  'net_ring0', '--sizes', '128KiB', '--duration', '50ms'],
                                 capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("can't have messages of 131072 B: its region has 65536 B", refused.stderr)

    @needs.root('network namespaces')
    def test_over_a_bottleneck(self):
        ip = self.namespace()
        ip('-n', NAMESPACE, 'link', 'add', 'near', 'type', 'veth', 'peer', 'name', 'far')
        for name in ('near', 'far'):
            ip('-n', NAMESPACE, 'link', 'set', name, 'up')
        bucket = subprocess.run(['tc', '-n', NAMESPACE, 'qdisc', 'add', 'dev', 'near', 'root', 'tbf',
                                 'rate', '5mbit', 'burst', '20kb', 'limit', '20kb'],
                                capture_output=True, text=True)
        if bucket.returncode != 0:
            needs.lacks('token bucket', bucket.stderr)
        report = self.search('--port', 'near,qdisc', '--receive', 'far', '--sizes', '64',
                             '--max-rate', '100Mb/s', '--duration', '300ms', '--settle', '200ms',
                             '--resolution', '5%', prefix=('ip', 'netns', 'exec', NAMESPACE), codes=(1,))
        # Twenty times what the bucket of our own port lets by.
        self.assertIsNotNone(report['sizes'][0]['not_offered'])
        self.assertIn('not offered above', report['verdict']['headline'])

    def bottleneck(self, buffer, *options, disturb=lambda box: None):
        """A search over a box whose link has 60 Mb/s, and the buffer in bytes. `disturb` is called again
        and again with the box meanwhile."""
        profile = self.folder / f'{buffer}.toml'
        profile.write_text(f'[[rule]]\nname = "link"\ndelay = "1ms"\nqueue = {{ rate = "60Mb/s", '
                           f'buffer = "{buffer}B" }}\n'
                           '[capacity]\nrate = "2Gb/s"\nsmallest_frame = "256B"\n')
        west, east = (f'memif:{self.folder}/{buffer}-{side}' for side in ('west', 'east'))
        box = longwire_test.begin(self, (*longwire_test.BOX, profile, '--west', west + ',server',
                                         '--east', east + ',server'))
        ended = threading.Event()

        def meanwhile():
            while not ended.is_set():
                disturb(box)
                ended.wait(0.1)
        thread = threading.Thread(target=meanwhile)
        thread.start()
        try:
            return self.search('--port', west, '--receive', east, '--sizes', '1024', '--max-rate',
                               '100Mb/s', *options)
        finally:
            ended.set()
            thread.join()
            box.send_signal(signal.SIGTERM)
            box.communicate(timeout=TIMEOUT)

    def test_buffers_of_any_size_hide_no_bottleneck(self):
        """The largest buffer takes what is above 60 Mb/s of a whole trial: nothing is lost, and the
        latency grows. A machine that cannot say so says that."""
        for buffer in 64_000, 8_000_000:
            report = self.bottleneck(buffer, '--duration', '500ms', '--settle', '200ms', '--resolution', '0.5%')
            [size] = report['sizes']
            passes, fails = size['passes'], size['fails']
            print(f'# {buffer} B: passes {passes and passes["wire_bps"]}, {len(size["trials"])} trials')
            if size['not_offered']:
                continue
            self.assertLessEqual(passes['wire_bps'], 60.6e6)
            self.assertGreaterEqual(passes['wire_bps'], 59.4e6)
            self.assertTrue(fails['delay_grows'] or buffer < 1_000_000)

    def test_a_box_that_stands_still_is_no_bound_of_the_path(self):
        """For 25 ms every 100 ms: a burst of 156 kB at half of the rate, of which the buffer holds 64 kB."""
        def stop(box):
            box.send_signal(signal.SIGSTOP)
            time.sleep(0.025)
            box.send_signal(signal.SIGCONT)
        report = self.bottleneck(64_000, '--duration', '300ms', '--settle', '100ms', '--resolution', '10%',
                                 disturb=stop)
        [size] = report['sizes']
        self.assertTrue(any(trial['lost'] > 0 and trial['held_up'] >= trial['lost'] for trial in size['trials']))
        for trial in size['trials']:
            if trial['fraction'] <= 0.59:
                self.assertFalse(trial['lost'] > trial['held_up'], trial)
        self.assertTrue(size['fails'] is None or size['fails']['fraction'] > 0.59)
        self.assertIsNotNone(size['not_offered'])
        self.assertIn('not offered above', report['verdict']['headline'])

    def test_a_message_that_the_transport_cannot_carry_is_refused(self):
        profile = self.folder / 'ud.toml'
        profile.write_text('[[flow]]\nname = "u"\nsource = "198.18.0.1"\ntransport = "ud"\n'
                           'destination = "198.18.0.2"\nrate = "1000 messages/s"\n'
                           'operation = "send"\nmessage_size = 64\n', encoding='utf-8')
        refused = subprocess.run([GEN, 'search', str(profile), '--port', 'net_ring0', '--receive',
                                  'net_ring0', '--sizes', '8KiB', '--duration', '50ms'],
                                 capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn('flow "u" can\'t have messages of 8192 B', refused.stderr)

    def test_wrong_usage(self):
        for wrong in ([], ['--port', 'null'], ['--port', 'null', '--receive', 'null', '--sizes', 'x'],
                      ['--port', 'null', '--receive', 'null', '--loss', '2'],
                      ['--port', 'null', '--receive', 'null', '--resolution', '0'],
                      ['--port', 'null', '--receive', 'null', '--repeat', '0']):
            refused = subprocess.run([GEN, 'search', PROFILE, *wrong], capture_output=True)
            self.assertEqual(refused.returncode, 2, wrong)


if __name__ == '__main__':
    longwire_test.main()
