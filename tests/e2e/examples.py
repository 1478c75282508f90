# SPDX-License-Identifier: BSD-3-Clause
"""The examples of every --help, which the man pages repeat: each is run as it stands, in a folder that
has the files it names and nothing else, with the programs on the PATH. Interfaces are veths in a network
namespace of this program; /tmp is the folder. Needs root."""

import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import example_files
import needs
import verdict_outputs
from guides import guide_environment
from longwire_test import SOURCE, program
from mpi_runs import ENVIRONMENT as MPI
from outputs import section

PROGRAMS = ('roce-gen', 'roce-endpoint', 'roce-impair', 'roce-dissect')
TIMEOUT = 120  # s
DONE, FAILED, ENVIRONMENT = 0, 1, 3  # exit codes


@dataclasses.dataclass
class Scene:
    """What is around an example, by commands as its user would type them."""
    serving: tuple = ()      # these say "ready" before it begins
    before: tuple = ()       # these end before it begins
    draining: tuple = ()     # these begin with it, and receive until it has ended
    beside: tuple = ()       # these begin with it
    then: tuple = ()         # these begin once it says "ready"
    interrupted: bool = False  # Ctrl-C ends it, once it is ready and `beside` and `then` have ended
    joined: bool = False     # eth1 leads to eth2; else eth1 leads to far1, eth2 to far2
    code: int = DONE
    until: str = r'^ready$'


SENT = 'roce-gen run demo --quiet --count 1000 --port '
# So slow that the kernel keeps all frames while a busy machine does not run the receiver.
SLOW_DEMO = 'roce-gen run demo --quiet' + ''.join(
    f" --set '{flow}.rate=500 frames/s'"
    for flow in ('write-ipv4', 'send-ipv6', 'ud-ipv4', 'write-imm-ipv6')) + ' --port '
DRAIN = 'roce-gen receive --port '
BOX = 'roce-impair run box.toml --west net_ring0 --east net_ring1 --control /tmp/'
TWO = BOX.replace('box.toml', 'apn-380km')
# Scenes by the examples' beginnings, the first that fits; all other examples run alone.
SCENES = {
    # Sender and receiver at the two ends of a memif, or of a veth.
    'roce-gen run demo --port memif:/tmp/lw.sock,server': Scene(draining=(DRAIN + 'memif:/tmp/lw.sock',)),
    'roce-gen receive --port memif:/tmp/lw.sock,server': Scene(beside=(SENT + 'memif:/tmp/lw.sock',)),
    'roce-gen receive --port memif:/tmp/lw.sock': Scene(beside=(SENT + 'memif:/tmp/lw.sock,server',)),
    'roce-gen receive --port eth1 --port eth2': Scene(then=(SENT + 'far1',), interrupted=True),
    'roce-gen receive --port eth1 --profile demo': Scene(
        then=(SLOW_DEMO + 'far1',), interrupted=True),
    'roce-gen receive --port eth1 --until-idle': Scene(
        then=('roce-gen run p.toml --quiet --port far1 --report-to tcp:127.0.0.1:7000',)),
    'roce-gen replay captured.pcap --port memif': Scene(draining=(DRAIN + 'memif:/tmp/lw.sock,server',)),
    'roce-gen run demo --port eth1 --receive eth2': Scene(joined=True),
    # Its trials take minutes.
    'roce-gen search ipv4-rc-send': Scene(joined=True, interrupted=True, code=FAILED, until='.'),
    'roce-gen search': Scene(joined=True),
    # A requester and its responder.
    'roce-gen perf --port memif': Scene(
        beside=('roce-gen respond --port memif:/tmp/lw.sock,server --sessions 1',)),
    'roce-gen perf --port eth1 --peer': Scene(serving=('roce-gen respond --port far1 --sessions 1',)),
    'roce-gen perf --port eth1 --address 192.0.2.1 --cm': Scene(
        serving=('roce-gen respond --port far1 --address 192.0.2.2 --cm 7174 --sessions 1',)),
    'roce-gen respond --port memif': Scene(
        beside=('roce-gen perf --port memif:/tmp/lw.sock --peer 198.18.0.2 -n 10',), interrupted=True),
    'roce-gen respond --port eth1 --address 192.0.2.2 --mac': Scene(
        then=('roce-gen perf --port far1 --address 192.0.2.1 --peer 192.0.2.2 -n 10',)),
    'roce-gen respond --port eth1 --address 192.0.2.2 --cm': Scene(
        then=('roce-gen perf --port far1 --address 192.0.2.1 --cm 192.0.2.2:7174 -n 10 -s 64',),
        interrupted=True),
    'roce-gen respond --port eth1': Scene(
        then=('roce-gen perf --port far1 --address 192.0.2.1 --peer 192.0.2.2 -n 10',), interrupted=True),
    'roce-gen otg --listen': Scene(interrupted=True, until='^serving '),
    'roce-gen experiment my.toml --resume': Scene(before=('roce-gen experiment my.toml',)),
    # A box, until somebody ends it, and who asks it.
    'roce-impair run apn-380km --west memif': Scene(
        draining=(DRAIN + 'memif:/tmp/e.sock',), beside=(SENT + 'memif:/tmp/w.sock',), interrupted=True,
        code=FAILED),  # before its --duration
    'roce-impair run': Scene(then=(SENT + 'far1',), interrupted=True),
    'roce-impair ctl a.sock,b.sock': Scene(
        serving=(TWO + 'a.sock', TWO.replace('ring0', 'ring2').replace('ring1', 'ring3') + 'b.sock')),
    'roce-impair ctl /tmp/impair.sock records': Scene(
        serving=(BOX + 'impair.sock --ledger ledger.jsonl',)),
    'roce-impair ctl /tmp/impair.sock stop-recording': Scene(
        serving=(BOX + 'impair.sock --pcap episode.pcapng',)),
    'roce-impair ctl /tmp/impair.sock undo': Scene(
        serving=(BOX + 'impair.sock',), before=('roce-impair ctl /tmp/impair.sock reset',)),
    'roce-impair ctl /tmp/impair.sock event': Scene(
        serving=(BOX.replace('box.toml', 'protection-switch') + 'impair.sock',)),
    'roce-impair ctl': Scene(serving=(BOX + 'impair.sock',)),
    # Captures that grow.
    'tcpdump': Scene(then=(SENT.replace('1000', '2000') + 'far1',), until='listening on'),
    'roce-dissect list --follow': Scene(interrupted=True, until=r'^ +1 '),
}
# Examples that cannot run here, by their beginnings, and why. Their options are accepted: what they lack
# is the environment.
NOT_HERE = {
    'roce-endpoint': 'needs an RDMA device: rxe/endpoint.py has one',
    'roce-gen run writes.toml --port eth1 --peer': 'needs roce-endpoint serve, on an RDMA device',
    'roce-gen perf --port eth1 --address 192.0.2.1 --peer': 'needs roce-endpoint serve, on an RDMA device',
    'roce-gen telemetry': 'needs roce-endpoint serve, on an RDMA device',
    'mpirun -n 9': 'needs nine machines, or a port for each rank: gen_ranks has them',
}


def entry_of(table, example):
    return next((value for begin, value in table.items() if example.startswith(begin)), None)


def commands_of(lines):
    """One command a row, where a backslash continues a line."""
    return re.sub(r'\\\n\s*', '', '\n'.join(line.strip() for line in lines)).split('\n')


def collect(words):
    """{example: the command whose --help has it} of a command and its subcommands."""
    shown = subprocess.run([*words, '--help'], capture_output=True, text=True, check=True).stdout
    found = {example: words for example in commands_of(section(shown, 'Examples'))}
    given = [line.split()[0] for line in section(shown, 'Positionals') if line[2] != ' ']
    for line in section(shown, 'Subcommands'):
        if line[2] != ' ':
            found = {**collect([*words, *given, line.split()[0]]), **found}
    return found


def every_example():
    return {example: words for name in PROGRAMS for example, words in collect([program(name)]).items()}


@needs.root('network namespaces')
class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.addClassCleanup(holder.cleanup)
        cls.files = pathlib.Path(holder.name, 'files')
        cls.files.mkdir()
        example_files.make(cls.files)
        cls.environment = {**guide_environment(), **{key: value for key, value in MPI.items()
                                                     if key.startswith('OMPI')}}
        cls.environment['LONGWIRE_PROFILES'] = \
            f"{example_files.short_profiles(cls.files.parent / 'profiles')}:{SOURCE / 'profiles'}"
        cls.environment['PATH'] = f"{pathlib.Path(program('roce-endpoint')).parent}:{cls.environment['PATH']}"

    def setUp(self):
        self.joined = None

    def test_each_example_runs(self):
        for example in every_example():
            if example.startswith('mpirun') and not shutil.which('mpirun'):
                continue
            with self.subTest(example=example):
                self.try_example(example)

    def test_each_scene_and_reason_is_of_an_example(self):
        examples = every_example()
        for begin in (*SCENES, *NOT_HERE):
            self.assertTrue(any(example.startswith(begin) for example in examples), begin)

    def test_man_pages_have_the_same_examples(self):
        for example, words in every_example().items():
            page = subprocess.run([words[0], '--man', *words[1:2]], capture_output=True, text=True,
                                  check=True).stdout.replace('\\-', '-').replace('\\(aq', "'")
            page = page.replace('\\e', '\\').replace('\\&', '')
            with self.subTest(example=example):
                self.assertIn(example, commands_of(page.splitlines()))

    def try_example(self, example):
        scene = entry_of(SCENES, example) or Scene()
        if entry_of(NOT_HERE, example):
            scene = Scene(code=ENVIRONMENT)
        self.join(scene.joined)
        with tempfile.TemporaryDirectory(prefix='lw') as folder:
            self.folder = pathlib.Path(folder)
            self.running = []
            self.copy_files(' '.join((example, *scene.serving, *scene.before, *scene.then)))
            try:
                self.run_scene(example, scene)
            finally:
                for process in self.running:
                    self.end(process)

    def copy_files(self, text):
        """Those that the commands name; a pattern finds two."""
        for file in self.files.iterdir():
            named = re.search(rf'(?<![\w./-]){re.escape(file.name)}(?![\w.])', text.replace('pcap:', ''))
            if named or ('*.pcap' in text and file.name in ('near.pcap', 'capture.pcap')):
                shutil.copy(file, self.folder)

    def run_scene(self, example, scene):
        for command in scene.serving:
            self.wait_until_ready(self.start(command), r'^ready$')
        for command in scene.before:
            self.finish(self.start(command))
        process = self.start(example)
        for command in scene.draining:
            self.start(command)
        others = [self.start(command) for command in scene.beside]
        if scene.then:
            self.wait_until_ready(process, scene.until)
        others += [self.start(command) for command in scene.then]
        if scene.interrupted:
            self.wait_until_ready(process, scene.until)
            for other in others:
                self.finish(other)
            os.killpg(process.pid, signal.SIGINT)
        self.finish(process, scene.code)
        if not scene.interrupted:
            for other in others:
                self.finish(other)

    def join(self, joined):
        """Lays the wires of eth1 and eth2."""
        if joined == self.joined:
            return
        self.joined = joined
        for name in 'eth1', 'eth2':
            subprocess.run(['ip', 'link', 'del', name], capture_output=True, check=False)
        for one, other in ((('eth1', 'eth2'),) if joined else (('eth1', 'far1'), ('eth2', 'far2'))):
            for words in (f'add {one} type veth peer name {other}', f'set {one} mtu 4200 up',
                          f'set {other} mtu 4200 up'):
                subprocess.run(['ip', 'link', *words.split()], check=True)

    def start(self, command):
        """A command line in a shell, in a process group of its own. Its outputs go to files."""
        number = len(self.running)
        outputs = [open(self.folder / f'.{name}{number}', 'w', encoding='utf-8') for name in ('out', 'err')]
        process = subprocess.Popen(['bash', '-o', 'pipefail', '-c', command.replace('/tmp/', f'{self.folder}/')],
                                   cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=outputs[0], stderr=outputs[1], start_new_session=True)
        for output in outputs:
            output.close()
        process.command = command
        process.out, process.err = (self.folder / f'.{name}{number}' for name in ('out', 'err'))
        self.running.append(process)
        return process

    @staticmethod
    def said(process):
        return process.out.read_text(encoding='utf-8') + process.err.read_text(encoding='utf-8')

    def wait_until_ready(self, process, pattern):
        end = time.monotonic() + TIMEOUT
        while not re.search(pattern, self.said(process), re.M):
            if process.poll() is not None or time.monotonic() > end:
                self.fail(f'not ready: {process.command}\n{self.said(process)}')
            time.sleep(0.02)

    def finish(self, process, code=DONE):
        try:
            process.wait(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            self.fail(f'does not end: {process.command}\n{self.said(process)}')
        if code == DONE and process.returncode == FAILED and verdict_outputs.is_late(self.said(process)):
            return
        self.assertEqual(process.returncode, code, f'{process.command}\n{self.said(process)}')

    @staticmethod
    def end(process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


if __name__ == '__main__':
    import longwire_test
    longwire_test.enter_namespaces('--net')
    longwire_test.main()
