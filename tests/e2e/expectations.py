# SPDX-License-Identifier: BSD-3-Clause
"""--expect, [expect] and --junit: the same form, exit codes and file in every command."""

import json
import pathlib
import signal
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

import longwire_test
import output_schemas
import verdict_outputs
from pcap_file import roce_frame, write_pcap

GEN = longwire_test.program('roce-gen')
IMPAIR = longwire_test.program('roce-impair')
DISSECT = longwire_test.program('roce-dissect')
FRAMES = 4000
LOSS = 0.05
RIGHT = longwire_test.SOURCE / 'pcaps' / 'rxe' / 'atomic.pcap'

RULES = f'[[rule]]\nname = "haul"\nloss = "{LOSS:%}"\n'
FLOW = '[[flow]]\nname = "w"\nrate = "20000 frames/s"\nmessages = 500\nsignature = true\n'

PLAN = ['plan', '--delay', '1ms']
SIM = ['sim', '--delay', '10us', '-n', '200', '-s', '4096']


def figure_at(report, path):
    """The figure by its path, as the manual says it."""
    if not path:
        return report
    for count in range(len(path), 0, -1):
        key, rest = '.'.join(path[:count]), path[count:]
        if isinstance(report, dict) and key in report:
            return figure_at(report[key], rest)
        if isinstance(report, list):
            for index, item in enumerate(report):
                names = [item.get(k) for k in ('name', 'direction', 'port')] + [
                    next(iter(item.values()))] if isinstance(item, dict) else []
                if key in (str(index), *names):
                    return figure_at(item, rest)
    raise KeyError(path)


class Expectations(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        write_pcap(self.path('in.pcap'), [(10**18 + i * 1000, roce_frame(i)) for i in range(FRAMES)])
        self.rules = self.file('rules.toml', RULES)
        self.flow = self.file('flow.toml', FLOW)

    def path(self, name):
        return str(self.folder / name)

    def file(self, name, text):
        (self.folder / name).write_text(text, encoding='utf-8')
        return self.path(name)

    def run_it(self, words, expect):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, expect, f'{words}\n{done.stdout}\n{done.stderr}')
        return done

    def commands(self):
        """Each command with --expect, and a figure of its report that is above 0."""
        frames = self.path('in.pcap')
        loop = ['--port', 'net_ring0', '--receive', 'net_ring0']
        return {
            'roce-impair replay': ([IMPAIR, 'replay', self.rules, frames, self.path('out.pcap')],
                                   'directions.west-to-east.loss_share'),
            'roce-impair run': ([*longwire_test.BOX, self.rules, '--west', f'pcap:{frames}', '--east',
                                 'null'], 'directions.west-to-east.dropped_by_rule.frames'),
            'roce-gen run': ([GEN, 'run', self.flow, *loop, '--quiet', *longwire_test.ANY_RATE],
                             'received.flows.w.latency_ns.p50'),
            'roce-gen receive': ([GEN, 'receive', '--port', f'pcap:{frames}', '--quiet'],
                                 'frames'),
            'roce-gen sim': ([GEN, *SIM], 'bw_average_gbps'),
            'roce-gen plan': ([GEN, *PLAN], 'goodput_gbps'),
            'roce-gen search': ([GEN, 'search', self.flow, *loop, '--sizes', '64', '--duration',
                                 '50ms', '--settle', '50ms', '--resolution', '50%'],
                                'sizes.0.message_size'),
            'roce-dissect compare': ([DISSECT, 'compare', frames, frames],
                                     'directions.near_to_far.sent'),
            'roce-dissect summary': ([DISSECT, 'summary', frames], 'roce.frames'),
            'roce-dissect verify': ([DISSECT, 'verify', RIGHT], 'icrc_ok'),
        }

    def asked(self, report):
        """The statements that somebody asked for."""
        return [each for each in report['verdict']['statements'] if 'asked_by' in each]

    def judged(self, report):
        """What was asked, of what, and whether it holds."""
        return [(each.get('of'), each['asked'], each['result'] == 'holds') for each in self.asked(report)]

    def check_junit(self, junit, program, report):
        verdict_outputs.check_itself(self, report['verdict'])
        verdict_outputs.check_junit(self, junit, program, [report['verdict']])

    def test_each_command_judges_its_figures(self):
        for program, (words, figure) in self.commands().items():
            with self.subTest(program):
                junit = self.path('r.xml')
                done = self.run_it([*words, '--json', '--expect', f'{figure} > 0', '--junit',
                                    junit], 0)
                line = done.stdout.splitlines()[-1]
                output_schemas.validate(line)
                report = json.loads(line)
                judged = self.asked(report)[-1]
                self.assertGreater(judged['measured'], 0)
                self.assertEqual(judged['measured'], figure_at(report, figure.split('.')))
                self.assertEqual((judged['asked'], judged['asked_by']), (f'{figure} > 0', '--expect'))
                self.check_junit(junit, program, report)

                done = self.run_it([*words, '--json', '--expect', f'{figure} <= 0', '--expect',
                                    f'{figure}>0', '--junit', junit], 1)
                report = json.loads(done.stdout.splitlines()[-1])
                self.assertEqual([holds for *_, holds in self.judged(report)[-2:]], [False, True])
                self.check_junit(junit, program, report)
                self.assertIn('does not hold: ', done.stderr)

                done = self.run_it([*words, '--expect', f'{figure}<0'], 1)
                self.assertRegex(done.stdout, rf'does not hold: .*{figure} [0-9.e+,-]+.*; asked: {figure}<0 '
                                              r'\(--expect\)')

    def test_each_command_names_near_figures(self):
        for program, (words, figure) in self.commands().items():
            with self.subTest(program):
                wrong = 'directions.' + figure.rsplit('.', maxsplit=1)[-1] + 's'
                done = self.run_it([*words, '--expect', f'{wrong}>0', '--junit',
                                    self.path('r.xml')], 2)
                self.assertIn(f'--expect: {wrong}>0: the report has no figure "{wrong}": did you '
                              'mean "', done.stderr)
                self.assertEqual(done.stdout, '')
                self.assertFalse((self.folder / 'r.xml').exists(), 'it ran')
                self.assertFalse((self.folder / 'out.pcap').exists(), 'it ran')

    def test_what_the_run_lacks_is_said_after_it(self):
        """A figure that a report may have, and this one has not: no such flow."""
        words, _ = self.commands()['roce-gen run']
        wrong = 'received.flows.x.frames'
        done = self.run_it([*words, '--expect', f'{wrong}>0', '--junit', self.path('r.xml')], 2)
        self.assertIn(f'cannot tell: {wrong} cannot be judged; asked: {wrong}>0 (--expect): the report '
                      f'has no figure "{wrong}": did you mean "', done.stdout)
        root = xml.etree.ElementTree.parse(self.path('r.xml')).getroot()
        self.assertIn('did you mean', next(root.iter('error')).get('message'))

    def test_a_profile_names_the_place_of_a_wrong_figure(self):
        profile = self.file('f.toml', '[expect]\nflows.w.frame = "> 10"\n' + FLOW)
        done = self.run_it([GEN, 'run', profile, '--pcap', self.path('x.pcap')], 2)
        self.assertIn('f.toml:2:17: flows.w.frame > 10: the report has no figure "flows.w.frame": '
                      'did you mean "flows.*.frames"', done.stderr)
        self.assertFalse((self.folder / 'x.pcap').exists())

    def test_units_are_those_of_the_figure(self):
        words, _ = self.commands()['roce-gen sim']
        for text, code in (('bw_average_gbps > 1Mb/s', 0), ('bw_average_gbps > 100Tb/s', 1),
                           ('elapsed_ns < 1s', 0), ('elapsed_ns < 1ns', 1), ('bytes = 4KiB', 0),
                           ('bw_average_gbps > 1us', 2), ('operation = 1', 2),
                           ('immediate = false', 0), ('immediate = true', 1)):
            self.run_it([*words, '--expect', text], code)

    def test_a_star_is_each_of_them(self):
        junit = self.path('r.xml')
        done = self.run_it([IMPAIR, 'replay', self.rules, self.path('in.pcap'), self.path('o.pcap'),
                            '--expect', 'directions.*.rules.*.received.frames >= 1', '--json',
                            '--junit', junit], 1)
        report = json.loads(done.stdout)
        rules = report['directions'][0]['rules']
        self.assertEqual([(each['name'].split('.')[3], each['measured'], each['result'] == 'holds')
                          for each in self.asked(report)],
                         [(r['name'], r['received']['frames'], r['received']['frames'] > 0)
                          for r in rules])
        self.check_junit(junit, 'roce-impair replay', report)

    def test_a_profile_has_expectations(self):
        lost = 'directions.west-to-east.loss_share'
        table = f'[expect]\n{lost} = ["> 1%", "< 10%"]\nresources_hold = true\n'
        base = self.file('base.toml', table + RULES)
        own = self.file('own.toml', f'include = "base.toml"\n[expect]\n{lost} = "< 1%"\n')
        wrong = self.file('wrong.toml', '[expect]\nholds = "few"\n' + RULES)
        replay = [IMPAIR, 'replay', base, self.path('in.pcap'), self.path('o.pcap'), '--json']
        report = json.loads(self.run_it(replay, 0).stdout)
        self.assertEqual(self.judged(report), [(None, f'{lost} > 1%', True), (None, f'{lost} < 10%', True),
                                               (None, 'resources_hold == true', True)])
        self.assertEqual([pathlib.Path(each['asked_by']).name for each in self.asked(report)],
                         ['base.toml:2:38', 'base.toml:2:38', 'base.toml:3:18'])
        replay[2] = own  # its keys replace the included ones
        report = json.loads(self.run_it(replay, 1).stdout)
        self.assertEqual(self.judged(report),
                         [(None, f'{lost} < 1%', False), (None, 'resources_hold == true', True)])
        replay[2] = wrong
        self.assertIn('wrong.toml:2:9: holds: holds: expected a number', self.run_it(replay, 2).stderr)

    def test_bounds_of_flows_are_in_the_file(self):
        junit = self.path('r.xml')
        profile = self.file('f.toml', '[expect]\nloss = 0\np99 = "< 1ns"\nflows.w.frames = "> 10"\n'
                            'received.frames = ">= 500"\n' + FLOW)
        words = [GEN, 'run', profile, '--port', 'net_ring0', '--receive', 'net_ring0', '--quiet']
        report = json.loads(self.run_it([*words, '--json', '--junit', junit], 1).stdout)
        self.assertEqual(self.judged(report),
                         [('w', 'loss <= 0', True), ('w', 'p99 < 1ns', False),
                          (None, 'flows.w.frames > 10', True), (None, 'received.frames >= 500', True)])
        self.check_junit(junit, 'roce-gen run', report)
        misspelt = self.file('m.toml', '[expect]\nlosss = 0\n' + FLOW)
        done = self.run_it([GEN, 'run', misspelt, '--pcap', self.path('x.pcap')], 2)
        self.assertIn('did you mean "loss"?', done.stderr)

    def test_what_is_wrong_is_refused_before_the_run(self):
        replay, _ = self.commands()['roce-impair replay']
        for more, said in ((['--expect', 'seconds'], 'expected NAME<=VALUE'),
                           (['--expect', 'seconds < few'], 'seconds: expected a number'),
                           (['--expect', 'seconds < 1Gb/s'], 'seconds is a time'),
                           (['--expect', 'seconds < 64K'], 'seconds is a time'),
                           (['--expect', 'seconds<9', '--junit', self.rules], 'PROFILE')):
            done = self.run_it([*replay, *more], 2)
            self.assertIn(said, done.stderr)
            self.assertFalse((self.folder / 'out.pcap').exists())
        self.run_it([*replay, '--expect', 'seconds<9', '--junit', '/nonexistent/x.xml'], 3)

    def test_the_file_is_written_after_ctrl_c(self):
        junit = self.path('r.xml')
        run = longwire_test.begin(self, [IMPAIR, 'run', self.rules, '--west', 'null', '--east',
                                         'null', '--json', '--expect', 'seconds < 1us', '--junit',
                                         junit])
        while 'ready' not in run.stderr.readline():
            pass
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 1)
        self.check_junit(junit, 'roce-impair run', json.loads(out))


if __name__ == '__main__':
    longwire_test.main()
