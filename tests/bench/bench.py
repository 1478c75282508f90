# SPDX-License-Identifier: BSD-3-Clause
"""Runs the benchmarks and holds them against the goals of goals.toml.

  bench.py [NAME...] [--strict] [--manual] [--rounds N] [--seconds S] [--core C] [--only WORD]
           [--build DIR] [--json FILE] [--from FILE] [--against DIR]

NAME is a benchmark: gen, impair, sim, ... (all without one). Each is measured in rounds; a line
shows the median of its rounds and the smallest and largest of them, and a ratio is of figures of the
same round. A line whose rounds differ by more than 30 % is marked as unsteady. All figures are
written into FILE (build/bench.json); --from takes them from such a file and measures nothing. --only
measures only the lines whose text has WORD.

Before each measurement the time of a cache line from one core to another and back is taken
(core_distance.cpp): virtual cores that share no cache for a while make everything on two threads
slower. Each round has it beside its figures, and a table the median of all.

A line's `aim` is what its goal shall become: it is shown beside the goal, which is then a floor. A
goal states what a user gets: against another program in the same run, or frames per second that fill
a port. A ratio to a bare loop has an aim and no goal, as it depends on the processor more than on the
program.
--against: DIR is the build folder of another version. Each round measures both builds, one after the
other, in turns first; a line then shows the figure of --build over that of DIR, and is held if the
median is at least 0.97 (at most 1/0.97 for times and memory). Goals are not judged.
--strict: exit 1 when a goal is missed or was not measured; the lines are listed at the end.
--manual: rewrites the tables of the manuals, between <!-- bench: TABLE --> and <!-- end -->, with the
machine and the date. A table whose figures were not all measured stays as it is.
"""

import argparse
import contextlib
import dataclasses
import datetime
import importlib
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
# Rounds that differ by more than this share of their median are marked: what they measured depended on
# something else, such as another process.
MOST_APART = 0.3
# The least that a build may reach of another's figure in alternating rounds.
LEAST_KEPT = 0.97
LESS_IS_BETTER = ('ns', 'us', 's', 'B')
MARK = re.compile(r'(<!-- bench: ([^>]+?) -->\n).*?(<!-- end -->)', re.DOTALL)


class WrongGoals(Exception):
    """goals.toml, a recorded file or a manual is not as it should be."""


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of goals.toml."""
    text: str
    bench: str
    figure: str
    unit: str
    over: str = None
    minus: str = None
    at_least: float = None
    at_most: float = None
    aim: float = None  # what the bound shall become; it can't be missed
    table: str = None

    @property
    def goal(self):
        return self.at_least is not None or self.at_most is not None

    @property
    def figures(self):
        return [f for f in (self.figure, self.over, self.minus) if f]

    def holds(self, value):
        return ((self.at_least is None or value >= self.at_least) and
                (self.at_most is None or value <= self.at_most))

    def show(self, value):
        """What the line is about: a ratio without a unit, everything else with it."""
        return f'{value:.2f}' if self.over else show(value, self.unit)

    def bound(self):
        bounds = [f'{sign} {self.show(value)}' for sign, value in
                  (('≥', self.at_least), ('≤', self.at_most)) if value is not None]
        return ', '.join(bounds + ([f'aim {self.show(self.aim)}'] if self.aim is not None else []))


def show(value, unit):
    """A figure with its unit: 12.3 M frames/s, 41.5 ns, 0.02 %."""
    if unit == 'share':
        return f'{100 * value:.3g} %'
    if unit in ('ns', 'us'):
        return f'{value:.1f} {unit}'
    for factor, prefix in ((1e9, 'G'), (1e6, 'M'), (1e3, 'k')):
        if abs(value) >= factor:
            number = f'{value / factor:.3g}' if value < 999.5 * factor else f'{value / factor:.0f}'
            return f'{number} {prefix}{"" if unit in ("b/s", "B/s", "B", "s") else " "}{unit}'
    return f'{value:.3g} {unit}'


def load_lines(path=HERE / 'goals.toml'):
    """The lines of a file of goals, checked."""
    with open(path, 'rb') as file:
        entries = tomllib.load(file).get('line', [])
    lines, known = [], {f.name for f in dataclasses.fields(Line)}
    for number, entry in enumerate(entries, 1):
        where = f'{path}: line {number} ({entry.get("text", "no text")})'
        if unknown := set(entry) - known:
            raise WrongGoals(f'{where}: unknown key {sorted(unknown)[0]}')
        if missing := {'text', 'bench', 'figure', 'unit'} - set(entry):
            raise WrongGoals(f'{where}: expected {sorted(missing)[0]}, found none')
        if 'over' in entry and 'minus' in entry:
            raise WrongGoals(f'{where}: expected one of over and minus, found both')
        for bound in ('at_least', 'at_most', 'aim'):
            if bound in entry and not isinstance(entry[bound], (int, float)):
                raise WrongGoals(f'{where}: {bound}: expected a number, found {entry[bound]!r}')
        lines.append(Line(**entry))
    texts = [(line.table, line.text) for line in lines]
    if twice := [text for text in texts if texts.count(text) > 1]:
        raise WrongGoals(f'{path}: expected each text once in a table, found {twice[0][1]} again')
    return lines


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A line and what was measured; value is None where a figure is missing. `low` and `high` are
    the rounds' smallest and largest value."""
    line: Line
    value: float = None
    figure: float = None
    peer: float = None
    low: float = None
    high: float = None

    @property
    def unsteady(self):
        """Whether the rounds differ by more than MOST_APART of the median: judge it with care."""
        return self.high - self.low > MOST_APART * abs(self.value)

    def spread(self):
        """"0.81 to 0.93"; empty where all rounds have shown the same."""
        low, high = self.line.show(self.low), self.line.show(self.high)
        return '' if low == high else f'{low} to {high}'

    @property
    def missed(self):
        return self.line.goal and (self.value is None or not self.line.holds(self.value))

    def state(self):
        if not self.line.goal:
            return ''
        return 'not measured' if self.value is None else 'missed' if self.missed else 'held'


def judge(line, figures):
    """`figures`: {bench: {figure: [a value per round]}}."""
    measured = figures.get(line.bench, {})
    columns = [measured.get(name) for name in line.figures]
    if not all(columns):
        return Verdict(line)
    if len(set(map(len, columns))) > 1:  # a round failed: its figures have no peers
        return Verdict(line)
    rounds = len(columns[0])
    ours = columns[0][:rounds]
    peer = columns[1][:rounds] if len(columns) > 1 else None
    values = (ours if peer is None else
              [a / b if b else math.inf for a, b in zip(ours, peer)] if line.over else
              [a - b for a, b in zip(ours, peer)])
    return Verdict(line, statistics.median(values), statistics.median(ours),
                   None if peer is None else statistics.median(peer), min(values), max(values))


def text_of(verdict):
    """A verdict as a line for people."""
    line = verdict.line
    if verdict.value is None:
        return f'{line.text}: not measured'
    text = f'{line.text}: {line.show(verdict.value)}'
    notes = [f'rounds {verdict.spread()}'] if verdict.spread() else []
    if verdict.peer is not None:
        notes.append(f'{show(verdict.figure, line.unit)}, {show(verdict.peer, line.unit)}')
    if notes:
        text += f' ({"; ".join(notes)})'
    if verdict.unsteady:
        text += f', unsteady: the rounds differ by more than {MOST_APART:.0%}'
    if line.goal:
        return f'{text}, goal {line.bound()}: {verdict.state()}'
    return text + (f', {line.bound()}' if line.bound() else '')


@dataclasses.dataclass(frozen=True)
class Comparison:
    """A figure of two builds, in alternating rounds."""
    bench: str
    figure: str
    unit: str
    ratios: tuple  # ours over theirs, a value per round; empty: one of them was not measured

    @property
    def missed(self):
        if not self.ratios:
            return True
        ratio = statistics.median(self.ratios)
        return ratio > 1 / LEAST_KEPT if self.unit in LESS_IS_BETTER else ratio < LEAST_KEPT

    def text(self):
        name = f'{self.bench}: {self.figure}'
        if not self.ratios:
            return f'{name}: not measured'
        rounds = f'rounds {min(self.ratios):.2f} to {max(self.ratios):.2f}'
        return (f'{name}: {statistics.median(self.ratios):.3f} of the other build ({rounds}): '
                f'{"missed" if self.missed else "held"}')


def compare(lines, ours, theirs):
    """A Comparison for each figure that is a line's own; peers are the same program in both."""
    found = {}
    for line in lines:
        values = [figures.get(line.bench, {}).get(line.figure, []) for figures in (ours, theirs)]
        unit = 'ns' if line.figure.endswith(' ns') else line.unit
        ratios = (tuple(a / b for a, b in zip(*values) if b)
                  if len(values[0]) == len(values[1]) else ())
        found[line.bench, line.figure] = Comparison(line.bench, line.figure, unit, ratios)
    return list(found.values())


def table_text(verdicts, recorded):
    """A manual's table, with what it was measured on."""
    def cells(verdict):
        line = verdict.line
        ours, peer = show(verdict.figure, line.unit), ''
        if verdict.peer is not None:
            peer = show(verdict.peer, line.unit)
        value = line.show(verdict.value) if verdict.peer is not None else ''
        rounds = verdict.spread() + (' (unsteady)' if verdict.unsteady else '')
        goal = line.bound() + (' (missed)' if verdict.missed else '')
        return f'| {line.text} | {ours} | {peer} | {value} | {rounds} | {goal} |\n'

    apart = [ns for bench in sorted({verdict.line.bench for verdict in verdicts})
             for ns in recorded.get('cores_apart_ns', {}).get(bench, [])]
    cores = (f', a cache line to another core and back in {statistics.median(apart):.0f} ns '
             f'({min(apart):.0f} to {max(apart):.0f})') if apart else ''
    return (f'{recorded["cpu"]}, {recorded["date"]}, medians of {recorded["rounds"]} rounds{cores}:\n\n'
            '| ours : peer | ours | peer | ratio or difference | rounds | goal |\n'
            '|---|---|---|---|---|---|\n' + ''.join(map(cells, verdicts)))


def rewrite(text, verdicts, recorded):
    """A manual with its tables written again, and the names of those that stay as they are."""
    kept = []

    def replace(match):
        rows = [v for v in verdicts if v.line.table == match[2]]
        if not rows:
            raise WrongGoals(f'no line of goals.toml is of table "{match[2]}"')
        if any(v.value is None for v in rows):
            kept.append(match[2])
            return match[0]
        return match[1] + table_text(rows, recorded) + match[3]

    return MARK.sub(replace, text), kept


def manuals_of(folder):
    """The pages of the manual that may have tables."""
    return sorted((folder / 'docs').rglob('*.md'))


def rewrite_manuals(folder, verdicts, recorded):
    if recorded['optimization'] != '3':
        raise WrongGoals(f'--manual: expected figures of a release build, found optimization '
                         f'{recorded["optimization"]}')
    for path in manuals_of(folder):
        name = path.relative_to(folder)
        before = path.read_text(encoding='utf-8')
        after, kept = rewrite(before, verdicts, recorded)
        for table in kept:
            print(f'{name}: table {table} stays as it is: not all of it was measured')
        if after != before:
            path.write_text(after, encoding='utf-8')
            print(f'{name}: rewritten')


class Settings:
    """What the benchmarks are asked for. `build`: of the programs that are measured."""

    def __init__(self, options, lines, build=None):
        self.rounds, self.seconds, self.core = options.rounds, options.seconds, options.core
        self.build = build or options.build
        self._wanted = {(line.bench, figure) for line in lines for figure in line.figures}

    def wants(self, bench, figure):
        """Whether a line needs this figure."""
        return (bench, figure) in self._wanted

    def wanted(self, bench):
        """All figures of a benchmark that lines need."""
        return sorted(figure for of, figure in self._wanted if of == bench)

    def cores_apart(self):
        """ns of a cache line from this core to another and back; nothing if there is only this one."""
        others = os.sched_getaffinity(0) - {self.core}
        if not others:
            return None
        run = subprocess.run([self.program('tests', 'bench', 'core_distance'), str(self.core),
                              str(max(others))], capture_output=True, text=True, check=True)
        return float(run.stdout)

    def program(self, *parts):
        return str(self.build.joinpath(*parts))

    def turn(self):
        """End-to-end tests, which benchmarks share code with, use this build from now on."""
        os.environ['LONGWIRE_BUILD'] = str(self.build)


def google_round(settings, bench):
    """{figure: value} of one round of a google-benchmark program; all of it if no line needs any."""
    wanted = {re.escape(figure.removesuffix(' ns')) for figure in settings.wanted(bench)}
    run = subprocess.run(
        ['taskset', '-c', str(settings.core), settings.program('tests', 'bench', f'bench_{bench}'),
         f'--benchmark_filter=^({"|".join(sorted(wanted)) or ".*"})$', '--benchmark_format=json',
         f'--benchmark_min_time={settings.seconds / 5}'],
        capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f'bench_{bench}: {run.returncode}\n{run.stderr}')
    figures = {}
    for entry in json.loads(run.stdout)['benchmarks']:
        if entry.get('error_occurred'):
            raise SystemExit(f'bench_{bench}: {entry["name"]}: {entry["error_message"]}')
        unit = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9}[entry['time_unit']]
        rate = entry.get('items_per_second', 1e9 / (entry['cpu_time'] * unit))
        figures[entry['name']] = rate
        figures[f'{entry["name"]} ns'] = 1e9 / rate
    return figures


def add_to(figures, found):
    for name, value in found.items():
        figures.setdefault(name, []).append(value)


def measurements_of(settings, bench, stack):
    """(names of figures, what measures them) of one benchmark, for each of which `names` is None if
    only the measurement tells them."""
    if not (HERE / f'{bench}_bench.py').exists():
        return [(None, lambda: google_round(settings, bench))]
    module = importlib.import_module(f'{bench}_bench')
    return [(names, run) for names, run in module.runs(settings, stack)
            if any(settings.wants(bench, name) for name in names)]


def measured(names, run):
    """{figure: value} of one measurement."""
    found = run()
    return found if names is None else dict(zip(names, found if isinstance(found, tuple) else (found,)))


def figures_of(all_settings, bench):
    """For each build, {figure: [a value per round]} of one benchmark; and how far the cores were
    apart before each measurement. Of several builds, each is measured first in turn."""
    figures, apart = [{} for _ in all_settings], []
    with contextlib.ExitStack() as stack:
        runs = list(zip(*(measurements_of(s, bench, stack) for s in all_settings)))
        builds = list(range(len(all_settings)))
        for number in range(all_settings[0].rounds):
            for versions in runs:
                distance = all_settings[0].cores_apart() if versions[0][0] else None
                if distance:
                    apart.append(distance)
                for build in builds if number % 2 == 0 else reversed(builds):
                    all_settings[build].turn()
                    names, run = versions[build]
                    try:
                        found = measured(names, run)
                    except (Exception, SystemExit) as why:  # pylint: disable=broad-except
                        print(f'# {bench}, round {number + 1}: {(names or [bench])[0]}: not measured: '
                              f'{why}', file=sys.stderr, flush=True)
                        continue
                    add_to(figures[build], found)
                    if names:
                        shown = ', '.join(f'{name} {found[name]:.6g}' for name in names)
                        apart_text = f'; cores {distance:.0f} ns apart' if distance else ''
                        print(f'# {bench}, round {number + 1}: {shown}{apart_text}', file=sys.stderr,
                              flush=True)
    return figures, apart


def known_benches():
    """All benchmarks: google-benchmark programs and BENCH_bench.py."""
    programs = {p.stem.removesuffix('_bench') for p in HERE.glob('*_bench.cpp')}
    scripts = {p.stem.removesuffix('_bench') for p in HERE.glob('*_bench.py')}
    return sorted(programs | scripts)


def cpu_model():
    text = pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8')
    found = re.search(r'model name\s*: (.*)', text)
    return found.group(1).strip() if found else 'unknown processor'


def optimization_of(build):
    """meson's optimization level of a build folder."""
    options = json.loads((build / 'meson-info' / 'intro-buildoptions.json').read_text())
    return next(option['value'] for option in options if option['name'] == 'optimization')


def measure(all_settings, benches):
    """What is recorded of the first build; figures of a second one are `figures_against`."""
    settings = all_settings[0]
    recorded = {'cpu': cpu_model(), 'date': datetime.date.today().isoformat(),
                'rounds': settings.rounds, 'seconds': settings.seconds,
                'optimization': optimization_of(settings.build),
                'load_before': os.getloadavg(), 'figures': {}, 'cores_apart_ns': {}}
    for bench in benches:
        figures, recorded['cores_apart_ns'][bench] = figures_of(all_settings, bench)
        recorded['figures'][bench] = figures[0]
        for other in figures[1:]:
            recorded.setdefault('figures_against', {})[bench] = other
    return recorded


def chosen(options, lines):
    """The benchmarks and the lines that were asked for."""
    for name in options.name:
        if name not in known_benches():
            raise WrongGoals(f'expected one of {", ".join(known_benches())}, found {name}')
    lines = [line for line in lines if options.only in line.text and
             (not options.name or line.bench in options.name)]
    all_of = {line.bench for line in lines} if options.only else known_benches()
    benches = options.name or sorted(all_of)
    return benches, lines


def parse(words):
    parser = argparse.ArgumentParser(prog='bench.py', description=__doc__.splitlines()[0])
    parser.add_argument('name', nargs='*')
    parser.add_argument('--strict', action='store_true')
    parser.add_argument('--manual', action='store_true')
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--core', type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument('--only', default='')
    parser.add_argument('--build', type=pathlib.Path,
                        default=pathlib.Path(os.environ.get('LONGWIRE_BUILD', SOURCE / 'build')))
    parser.add_argument('--against', type=pathlib.Path)
    parser.add_argument('--json', type=pathlib.Path)
    parser.add_argument('--from', dest='recorded', type=pathlib.Path)
    parser.add_argument('--goals', type=pathlib.Path, default=HERE / 'goals.toml')
    parser.add_argument('--manuals', type=pathlib.Path, default=SOURCE)
    return parser.parse_args(words)


def report_pairs(pairs, options):
    for pair in pairs:
        print(pair.text(), flush=True)
    missed = [pair for pair in pairs if pair.missed]
    print(f'{len(pairs) - len(missed)} of {len(pairs)} figures held')
    for pair in missed:
        print(f'missed: {pair.text()}')
    return 1 if options.strict and missed else 0


def run(options):
    benches, lines = chosen(options, load_lines(options.goals))
    if options.recorded:
        recorded = json.loads(options.recorded.read_text(encoding='utf-8'))
    else:
        builds, wanted = [options.build], lines
        if options.against:  # peers are the same programs in both
            builds.append(options.against)
            wanted = [dataclasses.replace(line, over=None, minus=None) for line in lines]
        recorded = measure([Settings(options, wanted, build) for build in builds], benches)
        file = options.json or options.build / 'bench.json'
        file.write_text(json.dumps(recorded, indent=1) + '\n', encoding='utf-8')
    if 'figures_against' in recorded:
        return report_pairs(compare(lines, recorded['figures'], recorded['figures_against']), options)
    verdicts = [judge(line, recorded['figures']) for line in lines]
    for verdict in verdicts:
        print(text_of(verdict), flush=True)
    for bench in sorted(set(benches) - {line.bench for line in lines}):
        for name, values in recorded['figures'].get(bench, {}).items():
            print(f'{bench}: {name}: {statistics.median(values):.6g}')
    if options.manual:  # the tables of other benchmarks stay
        all_verdicts = [judge(line, recorded['figures']) for line in load_lines(options.goals)]
        rewrite_manuals(options.manuals, all_verdicts, recorded)
    missed = [verdict for verdict in verdicts if verdict.missed]
    goals = sum(verdict.line.goal for verdict in verdicts)
    print(f'{goals - len(missed)} of {goals} goals held')
    for verdict in missed:
        print(f'missed: {text_of(verdict)}')
    return 1 if options.strict and missed else 0


def main(words=None):
    try:
        return run(parse(words))
    except WrongGoals as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.path.insert(0, str(HERE))
    sys.exit(main())
