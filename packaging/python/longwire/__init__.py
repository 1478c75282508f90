# SPDX-License-Identifier: BSD-3-Clause
"""longwire from Python: start an impairment box, change it, read its metrics, run a generator.

    import longwire

    with longwire.Box('apn-380km', west='eth1', east='eth2') as box:
        box.set('long haul', loss='1%')
        ...
    print(box.report.directions[0].dropped_by_rule.frames)

Results are what the programs print with --json: dictionaries whose keys are attributes too. Their
keys are described by the JSON Schemas in share/longwire/schemas. Only Python's standard library is
needed, and the programs in PATH.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request

__all__ = ['Box', 'Generator', 'LongwireError', 'Receiver', 'Result', 'generate']

# The versions of the outputs that this package reads; of others, 1.
VERSIONS = {'longwire.control': 3, 'longwire.impair_run': 3, 'longwire.perf_bandwidth': 2,
            'longwire.perf_latency': 3, 'longwire.rate_search': 2, 'longwire.receive': 2,
            'longwire.send': 3, 'longwire.send_replay': 2}
_START = 60.0  # s: the longest time that a program may take to start
_POLL = 0.02  # s


class LongwireError(RuntimeError):
    """A program refused, or ended early. The message is what it said."""


class Result(dict):
    """A JSON object whose keys are attributes too."""

    def __getattr__(self, key: str):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f'no key {key!r}: expected one of {", ".join(self)}') from None


def _read(line: str) -> Result:
    """One object that a program printed."""
    found = json.loads(line, object_hook=Result)
    version = VERSIONS.get(found.get('schema'), 1)
    if found.get('version') != version:
        raise LongwireError(f'expected version {version} of {found.get("schema")}, '
                            f'found {found.get("version")}: is the package as old as the programs?')
    return found


class _Program:
    """A program that runs beside us, as a context. It ends with the context at the latest."""

    def __init__(self, *words: object):
        self._words = [str(word) for word in words]
        self._process: subprocess.Popen | None = None
        #: The report: there once the program has ended.
        self.report: Result | None = None
        #: 0: everything is as asked for; 1: `report.verdict` says what is not.
        self.exit_code: int | None = None

    def _start(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self._out = open(os.path.join(self._folder.name, 'out'), 'w+', encoding='utf-8')
        self._errors = open(os.path.join(self._folder.name, 'errors'), 'w+', encoding='utf-8')
        self._process = subprocess.Popen(self._words + self._more_words(), stdout=self._out,
                                         stderr=self._errors, stdin=subprocess.DEVNULL)

    def _more_words(self) -> list[str]:
        return []

    def _said(self) -> str:
        with open(self._errors.name, encoding='utf-8') as errors:
            return errors.read()

    def _wait_until(self, ready) -> None:
        """Until ready() is true. Error: the program has ended before, or it takes too long."""
        end = time.monotonic() + _START
        while not ready():
            if self._process.poll() is not None:
                raise LongwireError(self._said().strip() or f'{self._words[0]} has ended')
            if time.monotonic() > end:
                raise LongwireError(f'{self._words[0]} has not started within {_START:.0f} s: '
                                    + self._said().strip())
            time.sleep(_POLL)

    def wait(self, timeout: float | None = None) -> Result:
        """Waits until the program ends by itself. Returns the report."""
        self.exit_code = self._process.wait(timeout)
        self._out.seek(0)
        lines = self._out.read().splitlines()
        if self.exit_code not in (0, 1) or not lines:
            raise LongwireError(self._said().strip() or f'exit code {self.exit_code}')
        self.report = _read(lines[-1])
        return self.report

    def stop(self, timeout: float = _START) -> Result:
        """Ends the program as Ctrl-C does. Returns the report."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        return self.wait(timeout)

    def _clean(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for file in (self._out, self._errors):
            file.close()
        self._folder.cleanup()

    def __enter__(self):
        self._start()
        try:
            self._wait_until(self._is_ready)
        except BaseException:
            self._clean()
            raise
        return self

    def _is_ready(self) -> bool:
        return True

    def __exit__(self, kind, *_) -> None:
        try:
            if kind is None and self.report is None:
                self.stop()
        finally:
            self._clean()


class Box(_Program):
    """`roce-impair run` between two ports. `profile` is a file or the name of a shipped profile;
    `options` are further ones of the command, such as '--ledger', 'ledger.jsonl'.

    Inside the context the box answers requests; it forwards once the links of both ports are up,
    for which wait_for_links() waits. Each request raises LongwireError where the box refuses it,
    and has changed nothing then."""

    def __init__(self, profile: str | os.PathLike, *options: object, west: str, east: str):
        super().__init__('roce-impair', 'run', profile, '--west', west, '--east', east, '--json',
                         *options)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder.name, name)

    def _more_words(self) -> list[str]:
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self._metrics = f'127.0.0.1:{free.getsockname()[1]}'
        return ['--control', self._path('control'), '--ready-file', self._path('ready'),
                '--metrics', self._metrics]

    def _is_ready(self) -> bool:
        try:
            self.show()
        except OSError:
            return False
        return True

    def wait_for_links(self) -> None:
        """Until the links of both ports are up."""
        self._wait_until(lambda: os.path.exists(self._path('ready')))

    def request(self, what: str, **keys: object) -> Result:
        """A request of `roce-impair ctl`: request('set', rule='long haul', keys={'loss': '1%'})."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_START)
            client.connect(self._path('control'))
            client.sendall(json.dumps({'do': what, **keys}).encode() + b'\n')
            with client.makefile(encoding='utf-8') as answers:
                line = answers.readline()
        if not line:
            raise ConnectionError('the box has closed the connection')
        answer = _read(line)
        if not answer.ok:
            raise LongwireError(answer.error)
        return answer

    def set(self, rule: str, changes: dict[str, object] | None = None, **keys: object) -> Result:
        """Changes keys of a rule, written as in a profile; '' removes a key. Keys with a dot are in
        `changes`: set('long haul', {'queue.rate': '1Gb/s'}). Returns the rules in force."""
        return self.request('set', rule=rule, keys={**(changes or {}), **keys})

    def show(self) -> Result:
        """The rules in force and, as `report`, the report so far."""
        return self.request('show')

    def undo(self) -> Result:
        """Undoes the last set() or load()."""
        return self.request('undo')

    def reset(self) -> Result:
        """Undoes every set() since the profile was loaded."""
        return self.request('reset')

    def load(self, profile: str | os.PathLike) -> Result:
        """Another profile, by its file."""
        return self.request('load', file=os.path.abspath(profile))

    def event(self, event: str | dict) -> Result:
        """Starts an act or an event of the profile by its name, or a new event by its keys."""
        return self.request('event', **({'name': event} if isinstance(event, str) else
                                        {'event': event}))

    def metrics(self) -> dict[str, list[tuple[dict[str, str], float]]]:
        """Prometheus' samples by name: the labels and the value of each."""
        with urllib.request.urlopen(f'http://{self._metrics}/metrics', timeout=_START) as page:
            text = page.read().decode()
        samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for name, labels, value in re.findall(r'^(\w+)(?:\{(.*)\})? (\S+)$', text, re.M):
            pairs = {key: json.loads(f'"{said}"')  # the same escapes as in JSON
                     for key, said in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels)}
            samples.setdefault(name, []).append((pairs, float(value)))
        return samples


class Receiver(_Program):
    """`roce-gen receive` from ports; it is ready for frames inside the context, unless a port waits
    for its link. Its report has the loss, order and latency of each flow."""

    def __init__(self, *ports: str, options: tuple[object, ...] = ()):
        super().__init__('roce-gen', 'receive', *(word for port in ports for word in ('--port', port)),
                         '--json', *options)

    def _is_ready(self) -> bool:
        said = self._said()
        return 'ready' in said.splitlines() or 'waiting for the link' in said


class Generator(_Program):
    """`roce-gen run` of a flow profile. wait() waits until all is sent, stop() ends it before."""

    def __init__(self, profile: str | os.PathLike, *options: object, port: str):
        super().__init__('roce-gen', 'run', profile, '--port', port, '--json', *options)


def generate(profile: str | os.PathLike, *options: object, port: str) -> Result:
    """Sends all of a flow profile. Returns the report."""
    with Generator(profile, *options, port=port) as generator:
        return generator.wait()
