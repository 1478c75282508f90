# SPDX-License-Identifier: BSD-3-Clause
"""The blocks of a guide that a test executes: fenced with `console run`, and these words:

  installed  only where the packages are installed, as the programs of a build have other names and places
  only     the output differs from run to run: the command must succeed, what it prints is not compared
  in NAME  the command goes on in a terminal of this name, until a block in the same terminal begins
           with ^C; until it prints `ready`, no later block begins

A line that begins with `$ ` or `# ` is a command, the lines behind it are what it prints; `...` stands
for any lines."""

import dataclasses
import re
import signal
import subprocess
import time

import verdict_outputs

FENCE = re.compile(r'^```console run((?: \w+)*)\n(.*?)^```$', re.S | re.M)
TIMEOUT = 120


@dataclasses.dataclass
class Block:
    commands: list  # [(command, the lines that it prints)]
    compared: bool
    terminal: str  # '': the command ends before the next one begins
    installed: bool = False  # not for a build


def blocks_of(text):
    """The blocks of a guide in their order."""
    return [_block(words.split(), body) for words, body in FENCE.findall(text)]


def _block(words, body):
    terminal = words[words.index('in') + 1] if 'in' in words else ''
    return Block(_commands_of(body), 'only' not in words, terminal, 'installed' in words)


def _commands_of(body):
    found = []
    for line in body.splitlines():
        if line.startswith(('$ ', '# ')):
            found.append((line[2:], []))
        elif line == '^C':
            found.append(('^C', []))
        else:
            found[-1][1].append(line.rstrip())
    return found


def pattern_of(lines):
    """A regular expression of these lines, where `...` is any."""
    text = ''.join(r'(?:.*\n)*?' if line == '...' else re.escape(line) + r'[ \t]*\n' for line in lines)
    return r'\A' + text + r'\Z'


class Terminal:
    """A command that goes on while others run; `folder` gets its output."""

    def __init__(self, words, folder, environment):
        self.output = folder / f'output-{id(self)}'
        with open(self.output, 'w', encoding='utf-8') as output:
            self.process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT,
                                            env=environment)

    def text(self):
        return self.output.read_text(encoding='utf-8')

    def wait_until_ready(self):
        end = time.monotonic() + TIMEOUT
        while not re.search('^ready$', self.text(), re.M):
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f'not ready: {self.text()}')
            time.sleep(0.05)

    def interrupt(self):
        """Ctrl-C. What the command printed after it."""
        before = len(self.text())
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=TIMEOUT)
        return self.text()[before:]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def steps_of(blocks):
    """How many commands a user types."""
    return sum(len(block.commands) for block in blocks)


class Runner:
    """Executes the blocks of one guide in `folder`; `test` is the unittest.TestCase that judges. `prefix`:
    words before each command's shell, which keep its process."""

    def __init__(self, test, folder, environment, prefix=()):
        self.test, self.folder, self.environment, self.prefix = test, folder, environment, prefix
        self.terminals = {}
        self.shown = []  # [(command, what it printed)], without those of terminals
        self.ended = []  # when each of these had ended, by time.monotonic()

    def run(self, blocks):
        for block in blocks:
            for command, lines in block.commands:
                with self.test.subTest(command=command):
                    self._run(block, command, lines)

    def _run(self, block, command, lines):
        if command == '^C':
            shown = self.terminals[block.terminal].interrupt()
            process = self.terminals[block.terminal].process
            if process.returncode != 1 or not verdict_outputs.is_late(self.terminals[block.terminal].text()):
                self.test.assertIn(process.returncode, (0, -signal.SIGINT))
        elif block.terminal:
            terminal = Terminal([*self.prefix, 'bash', '-c', 'exec ' + command], self.folder,
                                self.environment)
            self.test.addCleanup(terminal.end)
            self.terminals[block.terminal] = terminal
            terminal.wait_until_ready()
            return
        else:
            done = subprocess.run([*self.prefix, 'bash', '-c', command], cwd=self.folder,
                                  env=self.environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=TIMEOUT, check=False)
            shown = done.stdout
            self.shown.append((command, shown))
            self.ended.append(time.monotonic())
            if not block.compared:
                self.test.assertEqual(done.returncode, 0, shown)
        if block.compared:
            self.test.assertRegex(shown, pattern_of(lines))
