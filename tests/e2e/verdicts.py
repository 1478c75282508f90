# SPDX-License-Identifier: BSD-3-Clause
"""Each command and each thing that it asks of its results: where an outcome falls short, text, --json,
the page, JUnit's file and the exit code say so alike. The list of what commands ask is the one that
the build makes of the programs' tables, so a new command or question without a case fails here."""

import ctypes
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import longwire_test
import needs
import question_table
import verdict_outputs
from longwire_test import ANY_RATE, BOX
from pcap_file import read_pcap, write_pcap

PROGRAMS = ('roce-gen', 'roce-endpoint', 'roce-impair', 'roce-dissect')
GEN, ENDPOINT, IMPAIR, DISSECT = map(longwire_test.program, PROGRAMS)
QUESTIONS = longwire_test.BUILD / 'tests/support/questions.json'
TESTS = longwire_test.SOURCE / 'tests'
TIMEOUT = 240  # seconds: it ends a program that hangs
CLONE_NEWNET = 0x40000000
COLOURS = ('green', 'amber', 'red')
LIVE = r'^ *\d.* s'  # a line of --live

FLOW = '[[flow]]\nname = "w"\nrate = "20000 frames/s"\nmessages = 500\nsignature = true\n'
ENDLESS = FLOW.replace('messages = 500', 'repeat = "forever"')
RULES = '[[rule]]\nname = "haul"\ndelay = "1us"\n'
LOSSY = '''[[scenario]]
name = "lossy"
repeats = 2
show = ["bw_average_gbps"]
[scenario.set]
delay = "10us"
iterations = 20
timeout = 4
loss = "90%"
'''

FAR = '''[[scenario]]
name = "far"
show = ["bw_average_gbps"]
[scenario.set]
delay = "10us"
iterations = 20
size = [4096]
[scenario.compare]
table = "{}"
rows = {{ size = "size" }}
[[scenario.compare.column]]
published = "gbps"
ours = "bw_average_gbps"
within = "1%"
'''

# What is shown elsewhere: the test's file and name, for a command or for a whole program.
ELSEWHERE = {
    ('roce-gen run', 'sent_icrc'): 'unit/gen/verdict_test.cpp: AnIcrcOfOursThatIsWrongFails',
    ('roce-gen run', 'ranks'): 'e2e/gen_ranks.py: test_a_skew_above_the_limit_fails_the_run',
    ('roce-gen run', 'device'): 'e2e/rxe/device_peer.py: test_silent_corruption_of_a_profiles_flows',
    ('roce-gen run', 'clock'): 'unit/gen/verdict_test.cpp: LatenciesNeedOneClock',
    ('roce-gen receive', 'machine'):
        'e2e/gen_presence.py: test_frames_that_found_the_kernels_ring_full_fail_the_verdict',
    ('roce-gen perf', 'ranks'): 'e2e/gen_ranks.py: test_ctrl_c_ends_perf_with_the_results_so_far',
    ('roce-gen perf', 'loss'): 'unit/gen/perf_verdict_test.cpp: MessagesThatDidNotArriveAreLoss',
    ('roce-gen perf', 'machine'): 'unit/gen/perf_verdict_test.cpp: WhatTheMachineLostIsToldApart',
    ('roce-gen telemetry', 'records'): 'e2e/rxe/telemetry.py: test_packets_of_a_port_are_written_or_missed',
    ('roce-gen telemetry', 'failed'): 'e2e/gen_telemetry.py: test_a_write_that_is_refused_fails',
    ('roce-gen', 'ended'): 'e2e/gen_links.py: test_an_interface_that_disappears_ends_the_run',
    ('roce-gen', 'stall'): 'unit/core/machine_test.cpp: a_long_stall_is_amber',
    ('roce-gen', 'machine'): 'unit/core/machine_test.cpp: losses_are_named_with_share_place_and_moment',
    ('roce-gen', 'file'): 'e2e/outputs.py: test_every_file_on_a_full_device',
    ('roce-impair', 'accounts'): 'unit/impair/report_test.cpp: BooksThatDoNotAddUpAreNotHidden',
    ('roce-impair', 'audits'): 'unit/impair/report_test.cpp: AnEventThatWasNotCarriedOutFailsTheRun',
    ('roce-impair', 'releases'): 'unit/impair/report_test.cpp: AFrameThatLeftTooEarlyFailsTheRun',
    ('roce-impair', 'scenario'):
        'e2e/impair_scenario.py: test_steps_that_were_due_and_are_not_done_fail_the_run',
    ('roce-impair', 'late'): 'unit/impair/report_test.cpp: LateFramesAreTheMachines',
    ('roce-impair', 'step_lateness'): 'unit/impair/report_test.cpp: LateStepsAreTheMachines',
    ('roce-impair', 'links'): 'e2e/impair_kernel.py: --on-link-loss',
    ('roce-impair', 'errors'): 'unit/impair/report_test.cpp: FramesThatThePortsLostFailTheRun',
    ('roce-impair replay', 'reached'): 'unit/impair/report_test.cpp: WhatEndedItIsJudged',
    ('roce-impair replay', 'machine'):
        'unit/impair/report_test.cpp: FramesThatTheBoxLostFailTheRun',
    ('roce-endpoint', 'goodput'): 'unit/gen/perf_verdict_test.cpp: NoPayloadFails',
    ('roce-endpoint', 'failed'): 'unit/gen/perf_verdict_test.cpp: FailuresFail',
    ('roce-endpoint', 'wrong'): 'e2e/rxe/endpoint.py: test_silent_corruption_is_found',
    ('roce-gen', 'deadlock'): 'e2e/gen_network.py: test_a_pfc_deadlock_is_named_and_the_run_fails',
    ('roce-gen', 'jobs'): 'e2e/gen_network.py: test_a_job_that_does_not_end_fails',
    ('roce-gen', 'as_asked'):
        'unit/gen/measurement_test.cpp: FramesThatTheProfileDoesNotHaveAreCountedByField',
    ('roce-endpoint', 'loss'): 'unit/gen/perf_verdict_test.cpp: MessagesThatDidNotArriveAreLoss',
    ('roce-endpoint', 'reached'):
        'unit/gen/perf_verdict_test.cpp: ASignalEndsARunEarlyUnlessItIsEndless',
    ('roce-endpoint', 'stall'): 'unit/core/machine_test.cpp: a_long_stall_is_amber',
    ('roce-endpoint', 'file'): 'e2e/rxe/endpoint.py: test_a_full_disk_is_reported',
    ('roce-endpoint', 'broken'): 'e2e/rxe/endpoint.py: test_a_killed_client_leaves_nothing_registered',
    ('roce-endpoint', 'machine'): 'e2e/rxe/endpoint.py: test_a_lapped_reader_hears_of_it',
}


# What tests of Boxed show.
SHOWN_BY_BOXED = {'roce-gen run': {'duplicated', 'out_of_order', 'bad_icrc'},
                   'roce-gen perf': {'resent', 'wrong'}, 'roce-gen respond': {'wrong', 'broken'}}


@dataclasses.dataclass
class Case:
    """A run whose outcome falls short: the worst colour of the statements on the question, and the
    exit code. `words`: the command. `until`: a line of standard error after which `act` comes. `json`: the
    file of the report, of a command without --json."""
    question: str
    colour: str
    code: int
    words: list
    until: str = ''
    act: str = 'interrupt'
    json: str = ''


def pause(process):
    """Stops a process for 300 ms."""
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    process.send_signal(signal.SIGCONT)


ACTS = {'interrupt': lambda process: process.send_signal(signal.SIGINT), 'pause': pause}


def help_of(program, *command):
    done = subprocess.run([longwire_test.program(program), *command, '--help'], capture_output=True,
                          text=True, timeout=TIMEOUT, check=True)
    return done.stdout


class Cases(unittest.TestCase):
    """The cases of all commands, and how one is checked."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)
        self.flow = self.file('flow.toml', FLOW)
        self.endless = self.file('endless.toml', ENDLESS)
        self.rules = self.file('rules.toml', RULES)
        subprocess.run([GEN, 'run', self.flow, '--pcap', self.path('all.pcap'), '--quiet'], check=True,
                       capture_output=True, timeout=TIMEOUT)
        self.captures(read_pcap(self.path('all.pcap')))

    def captures(self, frames):
        """Captures of what could have come of the flow."""
        hours = 7200 * 10**9
        damaged = [(at, frame[:-1] + bytes([frame[-1] ^ 1])) for at, frame in frames[:9]]
        for name, some in (
                ('short', frames[:391]), ('copies', frames[:100] + frames[50:60] + frames[100:]),
                ('late', [(at + hours * (i < 9), frame) for i, (at, frame) in enumerate(frames)]),
                ('order', [*frames[:10], *frames[12:20], *frames[10:12], *frames[20:]]),
                ('damaged', damaged + frames[9:]), ('empty', []), ('gaps', frames[:100] + frames[150:]),
                ('untold', [(at, frame[:70]) for at, frame in frames[:9]] + frames[9:]),
                ('long', [(at, frame + bytes(9000)) for at, frame in frames[:9]] + frames[9:])):
            write_pcap(self.path(f'{name}.pcap'), some)
        whole = (self.folder / 'all.pcap').read_bytes()
        (self.folder / 'cut.pcap').write_bytes(whole[:len(whole) // 2 + 13])

    def path(self, name):
        return str(self.folder / name)

    def pcap(self, name):
        return f'pcap:{self.folder}/{name}.pcap'

    def file(self, name, text):
        (self.folder / name).write_text(text, encoding='utf-8')
        return self.path(name)

    def run_once(self, case, *more):
        process = longwire_test.begin(self, [*case.words, *more])
        err = ''
        if case.until:
            for line in process.stderr:
                err += line
                if re.search(case.until, line):
                    break
            ACTS[case.act](process)
        out, rest = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, case.code, f'{case.words}\n{out}\n{err}{rest}')
        return out

    def check(self, command, case):
        """Runs it for a person, and for a machine."""
        text = self.run_once(case)
        junit, page = self.folder / 'r.xml', self.folder / 'r.html'
        outputs = [*([] if case.json else ['--json']), '--junit', str(junit)]
        has_page = '--html' in help_of(*command.split())
        out = self.run_once(case, *outputs, *(['--html', str(page)] if has_page else []))
        lines = [pathlib.Path(case.json).read_text(encoding='utf-8')] if case.json else out.splitlines()
        verdicts = [verdict_outputs.read(line) for line in lines]
        for verdict in verdicts:
            verdict_outputs.check_itself(self, verdict)
        statements = [each for verdict in verdicts
                      for each in verdict_outputs.named(verdict, case.question)]
        self.assertTrue(statements, out)
        self.assertEqual(max((each['colour'] for each in statements), key=COLOURS.index), case.colour,
                         json.dumps(verdicts, indent=1))
        worst = max((verdict['colour'] for verdict in verdicts), key=COLOURS.index)
        verdict_outputs.check_text(self, text, worst)
        verdict_outputs.check_junit(self, junit, command, verdicts)
        if has_page:
            verdict_outputs.check_page(self, page, verdicts, case.code)

    # The cases of each command. A machine that is busy sends late: where another question is shown,
    # any rate will do.

    def cases_of_gen_run(self):
        run = [GEN, 'run', self.flow, '--quiet', *ANY_RATE]
        endless = [GEN, 'run', self.endless, *ANY_RATE, '--port', 'net_null0', '--live']
        back = [*run, '--port', 'net_null0', '--receive', self.pcap('empty')]
        return [
            Case('rate', 'red', 1, [GEN, 'run', self.flow, '--quiet', '--port', 'net_null0', '--set',
                                    'w.rate=100Tb/s', '--set', 'w.messages=5000000']),
            Case('reached', 'amber', 0, [*run, '--port', 'net_null0', '--duration', '600s']),
            Case('reached', 'red', 1, [*endless, '--duration', '600s'], until=LIVE),
            Case('reached', 'amber', 0, endless, until=LIVE),
            Case('machine', 'red', 1, [*run, '--port', 'net_ring0', '--set', 'w.messages=3000']),
            Case('stall', 'amber', 0, endless + ['--duration', '3s'], until=LIVE, act='pause'),
            Case('stall', 'red', 1, endless + ['--duration', '3s', '--strict-machine'],
                 until=LIVE, act='pause'),
            Case('file', 'red', 3, [*run, '--port', 'net_null0', '--pcap', '/dev/full']),
            Case('loss', 'red', 1, back),
            Case('loss', 'red', 1, [*back, '--expect', 'loss<=99%']),
        ]

    def cases_of_gen_receive(self):
        receive = [GEN, 'receive', '--profile', self.flow, '--quiet', '--port']

        def of(name, *more):
            return [*receive, self.pcap(name), *more]
        return [
            Case('loss', 'red', 1, of('short')),
            Case('loss', 'amber', 0, [GEN, 'receive', '--quiet', '--port', self.pcap('damaged')]),
            Case('loss', 'red', 1, of('short', '--expect', 'loss<=21%')),
            Case('loss', 'red', 1, of('empty')),
            Case('duplicated', 'amber', 0, of('copies')),
            Case('duplicated', 'red', 1, of('copies', '--expect', 'duplicated<=1%')),
            Case('out_of_order', 'amber', 0, of('order')),
            Case('out_of_order', 'red', 1, of('order', '--expect', 'out_of_order==0')),
            Case('bad_icrc', 'amber', 0, of('damaged', '--expect', 'loss<=2%')),
            Case('bad_icrc', 'red', 1, of('damaged', '--expect', 'loss<=2%', '--expect', 'bad_icrc==0')),
            Case('clock', 'amber', 0, of('late')),
            Case('latency_max', 'red', 1, of('late', '--expect', 'latency_max<=1s')),
            Case('p99', 'red', 1, of('empty', '--expect', 'p99<=1s', '--expect', 'loss<=100%')),
            Case('file', 'red', 3, of('all', '--pcap', '/dev/full')),
        ]

    def cases_of_gen_replay(self):
        def of(name, *more, port='net_null0'):
            return [GEN, 'replay', self.path(f'{name}.pcap'), '--port', port, *more]
        return [
            Case('rate', 'red', 1, of('all', '--rate', '100Tb/s', '--loop', '2000')),
            Case('reached', 'red', 1, of('all', '--duration', '600s', '--loop', '0', '--live'),
                 until=LIVE),
            Case('sendable', 'red', 1, of('long', *ANY_RATE)),
            Case('machine', 'red', 1, of('all', '--loop', '9', *ANY_RATE, port='net_ring0')),
            Case('stall', 'amber', 0, of('all', '--duration', '3s', '--loop', '0', '--live', *ANY_RATE), until=LIVE, act='pause'),
            Case('file', 'red', 1, of('cut', *ANY_RATE)),
        ]

    def cases_of_gen_search(self):
        search = [GEN, 'search', self.flow, '--sizes', '64', '--duration', '50ms', '--settle', '20ms',
                  '--resolution', '40%', '--port']
        return [
            Case('passes', 'red', 1, [*search, 'net_null0', '--receive', 'net_ring0']),
            Case('passes', 'red', 1, [*search, 'net_ring0', '--receive', 'net_ring0', '--max-rate',
                                      '1000Gb/s']),
            Case('passes', 'red', 1, [*search, 'net_ring0', '--receive', 'net_ring0', '--expect',
                                      'passes>=1000Gb/s']),
            Case('file', 'red', 3, [*search, 'net_ring0', '--receive', 'net_ring0', '--max-rate',
                                    '1Mb/s', '--out', '/dev/full']),
        ]

    def cases_of_gen_sim(self):
        sim = [GEN, 'sim', '--delay', '10us']
        return [
            Case('goodput', 'red', 1, [*sim, '-n', '3', '--loss', '100%', '--timeout', '4']),
            Case('failed', 'red', 1, [*sim, '-n', '3', '--loss', '100%', '--timeout', '4']),
            Case('stuck', 'red', 1, [*sim, '-n', '100', '--loss', '50%', '--timeout', '0']),
            Case('reached', 'red', 1, [*sim, '--duration', '100000s', '--live'], until=LIVE),
            Case('file', 'red', 3, [*sim, '-n', '100', '--pcap', '/dev/full']),
        ]

    def cases_of_gen_plan(self):
        plan = [GEN, 'plan', '--delay', '1ms']
        return [
            Case('unknown', 'amber', 0, [*plan, '--timeout', '0', '--loss', '1%']),
            Case('throughput_gbps', 'red', 1, [*plan, '--timeout', '0', '--loss', '1%', '--expect', 'throughput_gbps>0']),
            Case('breaks', 'amber', 0, [*plan, '--timeout', '4']),
        ]

    def cases_of_gen_experiment(self):
        table = self.file('table.csv', 'size,gbps\n4096,1\n')
        experiment = [GEN, 'experiment', '--jobs', '1', '--out', self.path('out')]

        def of(name, text):
            return [*experiment, self.file(f'{name}.toml', text)], self.path(f'out/{name}.json')
        lossy, lossy_json = of('lossy', LOSSY)
        far, far_json = of('far', FAR.format(table))
        long, long_json = of('long', LOSSY.replace('90%', '0%').replace('iterations = 20', 'iterations = [9, 2000001, 2000002, 2000003]'))
        return [
            Case('failed', 'red', 1, lossy, json=lossy_json),
            Case('published', 'red', 1, far, json=far_json),
            Case('reached', 'red', 1, [*long, '--live'], until=r'1 of 4 runs', json=long_json),
        ]

    def cases_of_impair_run(self):
        run = [*BOX, self.rules, '--west', self.pcap('all'), '--east', 'null']
        waits = [IMPAIR, 'run', self.rules, '--west', 'net_null0', '--east', 'null']
        small = self.file('small.toml', '[capacity]\nrate = "1Mb/s"\n[[rule]]\nname = "haul"\n'
                          'match = "all"\ndelay = "1s"\n')
        idle = [IMPAIR, 'run', self.rules, '--west', 'net_ring0', '--east', 'net_ring1', '--duration', '3s',
                '--live']
        return [
            Case('machine', 'red', 1, [IMPAIR, 'run', small, *waits[3:], '--duration', '500ms']),
            Case('stall', 'amber', 0, idle, until=LIVE, act='pause'),
            Case('stall', 'red', 1, [*idle, '--strict-machine'], until=LIVE, act='pause'),
            Case('records', 'red', 3, [*run, '--set', 'haul.loss=50%', '--ledger', '/dev/full']),
            Case('file', 'red', 3, [*run, '--set', 'haul.loss=50%', '--ledger', '/dev/full']),
            Case('reached', 'red', 1, [*waits, '--duration', '600s'], until='ready'),
        ]

    def cases_of_impair_replay(self):
        replay = [IMPAIR, 'replay', self.rules]
        loses = [*replay, self.path('all.pcap'), self.path('out.pcap'), '--set', 'haul.loss=50%']
        return [
            Case('records', 'red', 3, [*loses, '--ledger', '/dev/full']),
            Case('file', 'red', 1, [*replay, self.path('cut.pcap'), self.path('out.pcap')]),
            Case('directions.west-to-east.loss_share', 'red', 1,
                 [*loses, '--expect', 'directions.west-to-east.loss_share<1%']),
        ]

    def cases_of_dissect_verify(self):
        verify = [DISSECT, 'verify']
        return [
            Case('icrc', 'red', 1, [*verify, self.path('damaged.pcap')]),
            Case('icrc', 'red', 1, [*verify, self.path('all.pcap'), self.path('damaged.pcap')]),
            Case('unverifiable', 'amber', 0, [*verify, self.path('untold.pcap')]),
            Case('unverifiable', 'red', 1, [*verify, self.path('untold.pcap'), '--expect',
                                            'unverifiable==0']),
            Case('capture', 'red', 1, [*verify, self.path('cut.pcap')]),
        ]

    def cases_of_dissect_summary(self):
        return [Case('capture', 'red', 1, [DISSECT, 'summary', self.path('cut.pcap')]),
                Case('roce.frames', 'red', 1, [DISSECT, 'summary', self.path('all.pcap'), '--expect',
                                               'roce.frames<9'])]

    def cases_of_dissect_compare(self):
        def of(near, far, *more):
            return [DISSECT, 'compare', self.path(f'{near}.pcap'), self.path(f'{far}.pcap'), *more]
        ledger = self.path('ledger.jsonl')
        subprocess.run([IMPAIR, 'replay', self.rules, self.path('all.pcap'), self.path('through.pcap'),
                        '--ledger', ledger, '--set', 'haul.loss=50%'], check=True,
                       capture_output=True, timeout=TIMEOUT)
        return [
            Case('compared', 'amber', 0, of('all', 'empty')),
            Case('compared', 'red', 1, of('all', 'empty', '--expect', 'compared>=1')),
            Case('loss', 'red', 1, of('all', 'gaps', '--expect', 'loss<=1%')),
            Case('capture', 'red', 1, of('all', 'cut')),
            Case('ledger', 'red', 1, of('all', 'gaps', '--ledger', ledger)),
        ]

    def cases(self, command):
        """The cases of a command; none: it has none."""
        make = getattr(self, 'cases_of_' + command.removeprefix('roce-').replace(' ', '_'), None)
        return make() if make else []


@needs.root('network namespaces')
class Boxed(Cases):
    """Cases that need a box between two ends."""

    @classmethod
    def setUpClass(cls):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            needs.lacks('a network namespace', os.strerror(ctypes.get_errno()))
        for end in ('west', 'east'):
            names = (end, f'box-{end}')
            for words in (f'add {names[0]} mtu 9000 type veth peer name {names[1]} mtu 9000',
                          *(f'set {name} addrgenmode none up' for name in names)):
                subprocess.run(['ip', 'link', *words.split()], check=True, timeout=TIMEOUT)

    def box(self, keys):
        """A box between two wires, the names of whose far ends it returns."""
        rules = self.file('box.toml', f'[[rule]]\nname = "box"\ndelay = "1ms"\n{keys}\n'
                          '[capacity]\nrate = "2Gb/s"\nsmallest_frame = "256B"\n'
                          'largest_frame = "4500B"\n')
        box = longwire_test.begin(self, [IMPAIR, 'run', rules, '--west', 'box-west', '--east', 'box-east'])
        said = ''
        while 'ready' not in said:
            line = box.stderr.readline()
            self.assertTrue(line, said)
            said += line
        return 'west', 'east'

    def test_run_through_a_path_that_copies_reorders_and_damages(self):
        west, east = self.box('duplicate = "10%"\ncorrupt = "10%"\n'
                              'reorder = { fraction = "10%", frames = 3 }')
        run = [GEN, 'run', self.flow, '--quiet', *ANY_RATE, '--port', west, '--receive',
               east]
        for question in ('duplicated', 'out_of_order', 'bad_icrc'):
            with self.subTest(question):
                some = [*run, '--expect', 'loss<=50%']
                self.check('roce-gen run', Case(question, 'amber', 0, some))
                self.check('roce-gen run', Case(question, 'red', 1,
                                                [*some, '--expect', f'{question}==0']))
        self.check('roce-gen run', Case('loss', 'red', 1, run))

    def perf(self, case, east, *respond):
        """Checks a case of perf against a responder of its own. What the last of its sessions says."""
        there = longwire_test.begin(self, [GEN, 'respond', '--port', east, '--sessions', '2', '--json',
                                           *respond])
        self.check('roce-gen perf', case)
        out, err = there.communicate(timeout=TIMEOUT)
        verdict = verdict_outputs.read(out.splitlines()[-1])
        verdict_outputs.check_itself(self, verdict)
        self.assertEqual(there.returncode, verdict['exit'], err)
        return verdict

    def test_perf_through_a_path_that_loses(self):
        west, east = self.box('loss = "3%"')
        verdict = self.perf(Case('resent', 'amber', 0, [
            GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '-n', '300', '-s', '8192']), east)
        self.assertEqual(verdict_outputs.named(verdict, 'wrong')[0]['colour'], 'green')

    def test_latency_through_a_path_that_loses(self):
        west, east = self.box('loss = "10%"')
        self.perf(Case('resent', 'amber', 0, [
            GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '--pattern', 'lat', '-n', '100', '-s', '64',
            '--timeout', '10']), east)

    @staticmethod
    def received(name):
        """Packets that an interface received."""
        said = subprocess.run(['ip', '-json', '-stats', 'link', 'show', name], capture_output=True, text=True,
                              timeout=TIMEOUT, check=True).stdout
        return json.loads(said)[0]['stats64']['rx']['packets']

    def test_a_peer_that_is_killed(self):
        west, east = self.box('')
        there = longwire_test.begin(self, [GEN, 'respond', '--port', east, '--json'])
        self.assertIn('ready', there.stderr.readline())
        here = longwire_test.begin(self, [GEN, 'perf', '--port', west, '--peer', '198.18.0.2',
                                          '--duration', '600s'])
        while self.received(east) < 1000:
            self.assertIsNone(here.poll(), 'perf ended')
        here.kill()
        here.wait(timeout=TIMEOUT)
        there.send_signal(signal.SIGINT)
        out, err = there.communicate(timeout=TIMEOUT)
        self.assertEqual(there.returncode, 0, err)
        statement, = verdict_outputs.named(verdict_outputs.read(out.splitlines()[-1]), 'broken')
        self.assertEqual((statement['result'], statement['reason']),
                         ('cannot tell', '1 of them left without a word'))

    def test_perf_through_a_path_that_damages_unseen(self):
        west, east = self.box('corrupt = { probability = "10%", part = "packet", icrc = "recomputed" }')
        verdict = self.perf(Case('wrong', 'red', 1, [
            GEN, 'perf', '--port', west, '--peer', '198.18.0.2', '-n', '300', '-s', '8192', '--verify', 'all']),
                            east)
        self.assertEqual(verdict_outputs.named(verdict, 'wrong')[0]['colour'], 'red')


class Matrix(Cases):
    """One test for each command: its cases."""


def add_commands():
    """A test for each command that has cases."""
    def make(command):
        def test(self):
            for number, case in enumerate(self.cases(command)):
                with self.subTest(f'{case.question} {case.colour} {number}'):
                    self.check(command, case)
        return test
    for row in question_table.read(QUESTIONS):
        command = f'{row["program"]} {row["command"]}'
        name = command.removeprefix('roce-').replace(' ', '_').replace('-', '_')
        if hasattr(Matrix, f'cases_of_{name}'):
            setattr(Matrix, f'test_{name}', make(command))


add_commands()


class Table(Cases):
    """The list of what commands ask is whole, and each entry has a case."""

    def test_each_command_is_in_the_list(self):
        listed = {(row['program'], row['command']) for row in question_table.read(QUESTIONS)}
        for program in PROGRAMS:
            section = help_of(program).split('Subcommands:')[-1].split('Commands:')[-1]
            commands = re.findall(r'^  ([a-z][a-z-]+)  ', section, re.M)
            self.assertGreater(len(commands), 3, section)
            for command in commands:
                self.assertIn((program, command), listed, 'a command without its questions')

    def test_each_question_has_a_case(self):
        for row in question_table.read(QUESTIONS):
            command = f'{row["program"]} {row["command"]}'
            if not row['verdict']:
                continue
            cases = 'roce-gen sim' if command == 'roce-gen perf' else command  # the same questions
            boxed = 'roce-gen perf' if command == 'roce-gen sim' else command
            shown = {case.question for case in self.cases(cases)} | SHOWN_BY_BOXED.get(boxed, set())
            for question in row['questions']:
                name = question['name']
                with self.subTest(f'{command}: {name}'):
                    if not question['asked'] or name in shown:
                        continue
                    where = ELSEWHERE.get((boxed, name)) or ELSEWHERE[row['program'], name]
                    file, test = where.split(': ')
                    self.assertIn(test, (TESTS / file).read_text(encoding='utf-8'))

    def test_nothing_is_listed_elsewhere_in_vain(self):
        asked = {(of, question['name']) for row in question_table.read(QUESTIONS)
                 for of in (row['program'], f'{row["program"]} {row["command"]}')
                 for question in row['questions']}
        self.assertEqual(set(ELSEWHERE) - asked, set())

    def test_the_manual_has_the_list(self):
        self.assertEqual(list(question_table.mistakes(QUESTIONS)), [])


if __name__ == '__main__':
    longwire_test.main()
