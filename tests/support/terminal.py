# SPDX-License-Identifier: BSD-3-Clause
"""A pseudo-terminal, and what a program has drawn in it: of ECMA-48, the sequences that a live view
may use. Anything else is an error."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

SEQUENCE = re.compile(r'\x1b\[(\??)([\d;]*)([A-Za-z])')


class Screen:
    """Interprets what a terminal gets."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines, self.row, self.column = {}, 0, 0
        self.alternate, self.cursor, self.wraps = False, True, True
        self.drawn = None  # the lines of the last whole screen
        self.widest, self.lowest = 0, 0  # of that screen
        self.drawings = 0
        self._rest = ''

    def feed(self, text):
        text = self._rest + text
        at = 0
        while at < len(text):
            if text[at] == '\x1b':
                found = SEQUENCE.match(text, at)
                if not found:
                    if len(text) - at > 16:
                        raise ValueError(f'unknown sequence {text[at:at + 16]!r}')
                    break
                self._control(*found.groups())
                at = found.end()
            else:
                self._put(text[at])
                at += 1
        self._rest = text[at:]

    def _put(self, character):
        if character == '\r':
            self.column = 0
        elif character == '\n':
            self.row += 1
        else:
            line = self.lines.get(self.row, '').ljust(self.column)
            self.lines[self.row] = line[:self.column] + character + line[self.column + 1:]
            self.column += 1

    def _control(self, private, numbers, letter):
        if private and letter in 'hl':
            state = letter == 'h'
            if numbers == '1049':
                self.alternate = state
                self.lines, self.row, self.column = {}, 0, 0
            elif numbers == '25':
                self.cursor = state
            elif numbers == '7':
                self.wraps = state
            else:
                raise ValueError(f'unknown mode {numbers}')
        elif letter == 'H' and not numbers:
            self.row = self.column = 0
        elif letter == 'K' and not numbers:
            self.lines[self.row] = self.lines.get(self.row, '')[:self.column]
        elif letter == 'J' and not numbers:
            self.lines = {row: line for row, line in self.lines.items() if row <= self.row}
            self.drawn = [self.lines.get(row, '') for row in range(self.row + 1)]
            self.widest, self.lowest = max(map(len, self.drawn)), self.row + 1
            self.drawings += 1
        elif letter != 'm':
            raise ValueError(f'unknown sequence {numbers}{letter}')

    def restored(self):
        return not self.alternate and self.cursor and self.wraps


class Terminal:
    """Runs a program whose standard error, and standard output unless told otherwise, is a
    terminal."""

    def __init__(self, command, columns=120, rows=40, environment=(), **settings):
        self.screen = Screen(columns, rows)
        self.master, self.slave = pty.openpty()
        self.resize(columns, rows)
        before = {key: value for key, value in os.environ.items() if key != 'NO_COLOR'}
        settings = {'stdin': self.slave, 'stdout': self.slave, **settings}
        self.process = subprocess.Popen(
            list(map(str, command)), stderr=self.slave, start_new_session=True,
            env={**before, 'TERM': 'xterm', 'LC_ALL': 'C.UTF-8', **dict(environment)},
            preexec_fn=lambda: fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0), **settings)
        os.close(self.slave)
        self.bytes = b''

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        self.screen.columns, self.screen.rows = columns, rows

    def type(self, keys):
        os.write(self.master, keys)

    def read(self):
        """Takes what the program has written, at least a byte. False: it has closed the terminal."""
        try:
            got = os.read(self.master, 65536)
        except OSError:  # how Linux ends it
            return False
        self.bytes += got
        self.screen.feed(got.decode(errors='replace'))
        return bool(got)

    def until(self, condition):
        while not condition(self.screen):
            if not self.read():
                raise AssertionError(f'the program ended before: {self.bytes[-2000:]!r}')

    def finish(self):
        """Reads to the end. Returns the exit code."""
        while self.read():
            pass
        return self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
