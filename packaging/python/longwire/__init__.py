# SPDX-License-Identifier: BSD-3-Clause
"""longwire from Python: start an impairment box, change it, read its metrics, run a generator;
measure, simulate, plan and sweep; ask captures.

    import longwire

    with longwire.Box('apn-380km', west='eth1', east='eth2') as box:
        box.set('long haul', loss='1%')
        ...
    print(box.report.directions[0].dropped_by_rule.frames)

    for result in longwire.sim(path='apn-380km', size='64KiB', qps=4):
        print(result.bw_average_gbps)
    table = pandas.DataFrame(longwire.rows(longwire.connections('capture.pcapng')))

Results are what the programs print with --json: dictionaries whose keys are attributes too. Their
keys are described by the JSON Schemas in share/longwire/schemas, and typed in results.pyi, which is
made of them. Only Python's standard library is needed, and the programs in PATH.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import typing
import urllib.request

if typing.TYPE_CHECKING:
    from . import results

__all__ = ['Box', 'Generator', 'LongwireError', 'Receiver', 'Result', 'anomalies', 'commands',
           'compare', 'connections', 'experiment', 'explain', 'frames', 'generate', 'messages', 'perf', 'plan', 'rows', 'run',
           'sim', 'summary', 'verify']

# The versions of the outputs that this package reads; of others, 1.
VERSIONS = {'longwire.anomaly': 2, 'longwire.comparison': 3,
            'longwire.connection': 2, 'longwire.control': 3,
            'longwire.experiment': 2, 'longwire.explanation': 2, 'longwire.impair_run': 3, 'longwire.live': 2,
            'longwire.perf_bandwidth': 2, 'longwire.perf_latency': 3, 'longwire.perf_network': 3,
            'longwire.perf_ranks': 2, 'longwire.perf_study': 2, 'longwire.plan': 3,
            'longwire.ranks': 3, 'longwire.rate_search': 2, 'longwire.receive': 2,
            'longwire.respond_session': 2, 'longwire.send': 3, 'longwire.send_replay': 2,
            'longwire.serve_session': 2, 'longwire.summary': 2,
            'longwire.telemetry': 2, 'longwire.verdict': 3}
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


Progress = typing.Callable[[str], None]


def _words_of(options: dict[str, object]) -> list[str]:
    """Options of a command: qp_rate='1Gb/s' is --qp-rate 1Gb/s, all=True is --all, a list repeats
    the option, None and False leave it out."""
    words = []
    for name, value in options.items():
        option = '--' + name.strip('_').replace('_', '-')
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True:
                words.append(option)
            elif each is not None and each is not False:
                words += [option, str(each)]
    return words


def run(program: str, *words: object, progress: Progress | None = None,
        **options: object) -> list[Result]:
    """Runs a program to its end with these words and options, and --json. Returns the objects that
    it prints. `progress` is called with each line that the program writes on standard error
    meanwhile. Exit code 1, that something is not as asked for, is no error: `verdict` says what.
    LongwireError, with what the program said, where it refuses, or has printed nothing."""
    lines, code, said = _lines_of([program, *map(str, words), '--json', *_words_of(options)], progress)
    if code not in (0, 1) or (code == 1 and not lines):
        raise LongwireError(said.strip() or f'exit code {code}')
    return [_read(line) for line in lines]


def _lines_of(command: list[str], progress: Progress | None) -> tuple[list[str], int, str]:
    """Runs a command. Returns what it printed, its exit code, and what it said on standard error."""
    said: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, text=True, encoding='utf-8') as process:

        def listen() -> None:
            for line in process.stderr:
                said.append(line)
                if progress is not None:
                    progress(line.rstrip('\n'))

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        try:
            lines = list(process.stdout)
        except BaseException:
            process.kill()
            raise
        listener.join()
    return lines, process.returncode, ''.join(said)


def perf(*, progress: Progress | None = None, **options: object
         ) -> list[results.PerfBandwidth | results.PerfLatency]:
    """`roce-gen perf`: perf(port='eth1', peer='192.0.2.2'). A result for each size."""
    return run('roce-gen', 'perf', progress=progress, **options)


def sim(network: str | os.PathLike | None = None, *, progress: Progress | None = None, **options: object
        ) -> results.PerfNetwork | list[results.PerfBandwidth | results.PerfLatency]:
    """`roce-gen sim` of a network file, or of a shipped network by its name; without one over a path,
    sim(delay='1ms', size='64KiB'), with a result for each size."""
    if network is None:
        return run('roce-gen', 'sim', progress=progress, **options)
    return run('roce-gen', 'sim', network, progress=progress, **options)[-1]


def plan(**options: object) -> results.Plan:
    """`roce-gen plan`: what a path allows, by calculation."""
    return run('roce-gen', 'plan', **options)[-1]


def experiment(profile: str | os.PathLike, out: str | os.PathLike, *,
               progress: Progress | None = None, **options: object) -> results.Experiment:
    """`roce-gen experiment`, with its files in the folder `out`. Returns what its file of JSON has:
    the parameters and the figures of each run."""
    _, code, said = _lines_of(['roce-gen', 'experiment', str(profile), '--out', str(out),
                               *_words_of(options)], progress)
    files = [name for name in os.listdir(out) if name.endswith('.json')] if code in (0, 1) else []
    if len(files) != 1:
        raise LongwireError(said.strip() or f'exit code {code}: no file of JSON in {out}')
    with open(os.path.join(out, files[0]), encoding='utf-8') as file:
        return _read(file.read())


def frames(*captures: str | os.PathLike, **options: object) -> list[results.Frame]:
    """`roce-dissect list`: each frame with all its fields."""
    return run('roce-dissect', 'list', *captures, **options)


def connections(*captures: str | os.PathLike, **options: object) -> list[results.Connection]:
    """`roce-dissect connections`: each direction of each connection."""
    return run('roce-dissect', 'connections', *captures, **options)


sessions = connections  # the name of release 0.1; the next release lacks it


def messages(*captures: str | os.PathLike, **options: object) -> list[results.Message]:
    """`roce-dissect messages`: each SEND, WRITE, READ and atomic."""
    return run('roce-dissect', 'messages', *captures, **options)


def commands(*captures: str | os.PathLike, **options: object) -> list[results.Command]:
    """`roce-dissect commands`: storage commands, the slowest first, and the parts of their latency."""
    return run('roce-dissect', 'commands', *captures, **options)


def anomalies(*captures: str | os.PathLike, **options: object) -> list[results.Anomaly]:
    """`roce-dissect anomalies`: losses, retransmissions, NAKs and their causes."""
    return run('roce-dissect', 'anomalies', *captures, **options)


def explain(*captures: str | os.PathLike, **options: object) -> results.Explanation:
    """`roce-dissect explain`: the seven questions of an operator, answered."""
    return run('roce-dissect', 'explain', *captures, **options)[-1]


def summary(*captures: str | os.PathLike, **options: object) -> results.Summary:
    """`roce-dissect summary`: kinds of packets, opcodes, QPs, addresses."""
    return run('roce-dissect', 'summary', *captures, **options)[-1]


def verify(*captures: str | os.PathLike, **options: object) -> list[Result]:
    """`roce-dissect verify`: the ICRCs of each file."""
    return run('roce-dissect', 'verify', *captures, **options)


def compare(near: str | os.PathLike, far: str | os.PathLike, **options: object
            ) -> results.Comparison:
    """`roce-dissect compare` of two points of a path: loss, order, delay."""
    return run('roce-dissect', 'compare', near, far, **options)[-1]


def rows(found: dict | typing.Iterable[dict]) -> list[dict[str, object]]:
    """Results as rows for pandas.DataFrame() or csv.DictWriter: the keys of objects within are
    joined by dots, lists stay as they are."""

    def flat(value: dict, before: str = '') -> typing.Iterator[tuple[str, object]]:
        for key, each in value.items():
            if isinstance(each, dict):
                yield from flat(each, f'{before}{key}.')
            else:
                yield before + key, each

    return [dict(flat(each)) for each in ([found] if isinstance(found, dict) else found)]
