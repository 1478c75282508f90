# SPDX-License-Identifier: BSD-3-Clause
"""What judges the benchmarks: goals are read and checked, medians and ratios are right, a missed goal
fails --strict, and --manual writes the tables and nothing else. Recorded figures, nothing is
measured."""

import contextlib
import io
import json
import pathlib
import re
import shutil
import sys
import tempfile
import types
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402  (found by the line above)
import longwire_test  # noqa: E402

GOALS = """
[[line]]
text = "ours : peer"
bench = "gen"
figure = "ours"
over = "peer"
at_least = 0.9
unit = "frames/s"
table = "speed"

[[line]]
text = "a delay"
bench = "impair"
figure = "delayed"
minus = "passage"
at_most = 5000
unit = "ns"
table = "delay"

[[line]]
text = "without a goal"
bench = "gen"
figure = "ours"
unit = "frames/s"
table = "speed"
"""
# Three rounds, the second of them disturbed: the medians of each are 12 and 10, but the rounds' own
# ratios are 0.8, 6 and 0.95.
RECORDED = {
    'cpu': 'Some CPU', 'date': '2026-11-23', 'rounds': 3, 'optimization': '3',
    'figures': {'gen': {'ours': [8e6, 12e6, 19e6], 'peer': [10e6, 2e6, 20e6]},
                'impair': {'delayed': [9000, 7000, 8000], 'passage': [1000, 2000, 4000]}},
}
MANUAL = """# A manual

<!-- bench: speed -->
old text
<!-- end -->

Between them.

<!-- bench: delay -->
old | table
<!-- end -->
"""


class Bench(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.goals = self.folder / 'goals.toml'
        self.recorded = self.folder / 'recorded.json'
        self.write(GOALS, RECORDED)
        (self.folder / 'docs').mkdir()
        (self.folder / 'docs' / 'plain.md').write_text('# Without a table\n', encoding='utf-8')
        (self.folder / 'docs' / 'figures.md').write_text(MANUAL, encoding='utf-8')

    def write(self, goals, recorded):
        self.goals.write_text(goals, encoding='utf-8')
        self.recorded.write_text(json.dumps(recorded), encoding='utf-8')

    def run_bench(self, *words, code=0):
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            ended = bench.main([*words, '--goals', str(self.goals), '--from', str(self.recorded),
                                '--manuals', str(self.folder)])
        self.assertEqual(ended, code, out.getvalue() + error.getvalue())
        return out.getvalue() + error.getvalue()

    def manual(self):
        return (self.folder / 'docs' / 'figures.md').read_text(encoding='utf-8')

    def test_a_ratio_is_the_median_of_the_rounds_own(self):
        out = self.run_bench()
        self.assertIn('ours : peer: 0.95 (rounds 0.80 to 6.00; 12 M frames/s, 10 M frames/s), unsteady: the '
                      'rounds differ by more than 30%, goal ≥ 0.90: held', out)
        self.assertIn('a delay: 5000.0 ns (rounds 4000.0 ns to 8000.0 ns; 8000.0 ns, 2000.0 ns), unsteady', out)
        self.assertIn('without a goal: 12 M frames/s (rounds 8 M frames/s to 19 M frames/s), unsteady', out)
        self.assertIn('2 of 2 goals held', out)

    def test_rounds_that_differ_are_marked(self):
        """A limit of 30 % of the median, and nothing is said where all rounds have shown the same."""
        for rounds, said in (([10, 10, 10], 'a: 10 frames\n'),
                             ([9, 10, 12], 'a: 10 frames (rounds 9 frames to 12 frames)\n'),
                             ([9, 10, 12.1], 'a: 10 frames (rounds 9 frames to 12.1 frames), unsteady: '
                              'the rounds differ by more than 30%\n'),
                             ([0, 0, 1], 'a: 0 frames (rounds 0 frames to 1 frames), unsteady')):
            self.write('[[line]]\ntext = "a"\nbench = "gen"\nfigure = "a"\nunit = "frames"\n',
                       {**RECORDED, 'figures': {'gen': {'a': rounds}}})
            self.assertIn(said, self.run_bench('gen'))

    def test_strict_fails_where_a_goal_is_missed(self):
        self.run_bench('--strict')
        self.write(GOALS.replace('at_least = 0.9', 'at_least = 0.96'), RECORDED)
        self.run_bench()
        out = self.run_bench('--strict', code=1)
        self.assertIn('1 of 2 goals held', out)
        self.assertIn('missed: ours : peer: 0.95', out)
        self.assertNotIn('missed: a delay', out)
        self.write(GOALS.replace('at_most = 5000', 'at_most = 4999.9'), RECORDED)
        self.assertIn('missed: a delay', self.run_bench('--strict', code=1))

    def test_an_aim_is_shown_and_never_missed(self):
        self.write(GOALS.replace('at_least = 0.9', 'at_least = 0.9\naim = 1.2'), RECORDED)
        self.assertIn('goal ≥ 0.90, aim 1.20: held', self.run_bench('--strict'))
        self.write(GOALS.replace('at_least = 0.9', 'aim = 1.2'), RECORDED)
        out = self.run_bench('--strict')
        self.assertRegex(out, r'ours : peer: 0\.95 .*, aim 1\.20\n')
        self.assertIn('1 of 1 goals held', out)

    def test_two_builds_are_compared_by_the_rounds_of_each_figure(self):
        """More is better, but for times; goals are not judged."""
        against = {'gen': {'ours': [8e6, 12.1e6, 20e6]}, 'impair': {'delayed': [9000, 6800, 7800]}}
        self.write(GOALS.replace('at_least = 0.9', 'at_least = 9'),
                   {**RECORDED, 'figures_against': against})
        out = self.run_bench('--strict')
        self.assertIn('gen: ours: 0.992 of the other build (rounds 0.95 to 1.00): held', out)
        self.assertIn('impair: delayed: 1.026 of the other build (rounds 1.00 to 1.03): held', out)
        self.assertIn('2 of 2 figures held', out)
        for bench_name, figure, values in (('gen', 'ours', [8.3e6, 12.4e6, 19.7e6]),
                                           ('impair', 'delayed', [8000, 6500, 7700]),
                                           ('impair', 'delayed', [9000])):
            changed = {**against, bench_name: {figure: values}}
            self.write(GOALS, {**RECORDED, 'figures_against': changed})
            self.assertIn(f'missed: {bench_name}: {figure}: ', self.run_bench('--strict', code=1))

    def test_builds_take_turns(self):
        measured = []
        settings = [bench.Settings(bench.parse(['--rounds', '2', '--build', name]),
                                   [bench.Line('a', 'gen', 'a', 'frames/s')])
                    for name in ('new', 'old')]
        for each in settings:
            each.cores_apart = lambda: None
        module = types.SimpleNamespace(runs=lambda s, _: [
            (('a',), lambda: measured.append(s.build.name) or len(measured))])
        with unittest.mock.patch.dict(sys.modules, {'gen_bench': module}), \
                contextlib.redirect_stderr(io.StringIO()):
            figures, _ = bench.figures_of(settings, 'gen')
        self.assertEqual(measured, ['new', 'old', 'old', 'new'])
        self.assertEqual(figures, [{'a': [1, 4]}, {'a': [2, 3]}])

    def test_what_was_not_measured_is_missed(self):
        figures = {'gen': RECORDED['figures']['gen'], 'impair': {'delayed': [1]}}
        self.write(GOALS, {**RECORDED, 'figures': figures})
        out = self.run_bench('--strict', code=1)
        self.assertIn('missed: a delay: not measured', out)
        self.run_bench('gen', '--strict')
        self.run_bench('--only', 'peer', '--strict')

    def test_manual_rewrites_what_is_between_the_marks(self):
        self.run_bench('--manual')
        text = self.manual()
        self.assertIn('<!-- bench: speed -->\nSome CPU, 2026-11-23, medians of 3 rounds:\n\n', text)
        self.assertIn('| ours : peer | 12 M frames/s | 10 M frames/s | 0.95 | 0.80 to 6.00 (unsteady) '
                      '| ≥ 0.90 |\n', text)
        self.assertIn('| without a goal | 12 M frames/s |  |  | 8 M frames/s to 19 M frames/s '
                      '(unsteady) |  |\n<!-- end -->\n', text)
        self.assertIn('| a delay | 8000.0 ns | 2000.0 ns | 5000.0 ns | 4000.0 ns to '
                      '8000.0 ns (unsteady) | ≤ 5000.0 ns |\n', text)
        self.assertNotIn('old', text)
        self.assertEqual(bench.MARK.sub('', text), bench.MARK.sub('', MANUAL))
        self.run_bench('--manual')
        self.assertEqual(self.manual(), text)

    def test_manual_says_what_was_missed(self):
        self.write(GOALS.replace('at_least = 0.9', 'at_least = 0.96'), RECORDED)
        self.run_bench('--manual')
        self.assertIn('| 0.95 | 0.80 to 6.00 (unsteady) | ≥ 0.96 (missed) |', self.manual())

    def test_a_table_that_was_not_measured_stays(self):
        self.write(GOALS, {**RECORDED, 'figures': {'gen': RECORDED['figures']['gen']}})
        out = self.run_bench('--manual')
        self.assertIn('docs/figures.md: table delay stays as it is', out)
        self.assertIn('old | table', self.manual())
        self.assertNotIn('old text', self.manual())

    def test_tables_of_other_benchmarks_stay(self):
        self.write(GOALS, {**RECORDED, 'figures': {'gen': RECORDED['figures']['gen']}})
        out = self.run_bench('gen', '--manual')
        self.assertIn('docs/figures.md: table delay stays as it is', out)
        self.assertIn('docs/figures.md: rewritten', out)

    def test_a_table_says_how_far_the_cores_were_apart(self):
        self.write(GOALS, {**RECORDED, 'cores_apart_ns': {'gen': [50, 331, 51], 'impair': [52]}})
        self.run_bench('--manual')
        self.assertIn('medians of 3 rounds, a cache line to another core and back in ', self.manual())
        self.assertRegex(self.manual(), r'back in 5[12] ns \(50 to 331\):')

    def test_figures_of_a_debug_build_are_for_no_manual(self):
        self.write(GOALS, {**RECORDED, 'optimization': '0'})
        self.run_bench()
        self.assertIn('expected figures of a release build', self.run_bench('--manual', code=2))
        self.assertEqual(self.manual(), MANUAL)

    def test_a_round_that_failed_leaves_its_line_unmeasured(self):
        figures = {**RECORDED['figures'], 'gen': {'ours': [1e6, 2e6], 'peer': [1e6] * 3}}
        self.write(GOALS, {**RECORDED, 'figures': figures})
        self.assertIn('missed: ours : peer: not measured', self.run_bench('--strict', code=1))

    def test_wrong_goals_are_refused(self):
        for old, new, what in (
                ('bench = "gen"', 'bunch = "gen"', 'line 1 (ours : peer): unknown key bunch'),
                ('unit = "frames/s"\n', '', 'expected unit, found none'),
                ('over = "peer"', 'over = "peer"\nminus = "x"', 'expected one of over and minus'),
                ('at_least = 0.9', 'at_least = "0.9"', 'at_least: expected a number'),
                ('at_least = 0.9', 'aim = "0.9"', 'aim: expected a number'),
                ('text = "without a goal"', 'text = "ours : peer"', 'ours : peer again')):
            with self.subTest(what):
                self.write(GOALS.replace(old, new, 1), RECORDED)
                self.assertIn(what, self.run_bench(code=2))

    def test_an_unknown_name_and_an_unknown_table_are_refused(self):
        self.assertIn('found gne', self.run_bench('gne', code=2))
        (self.folder / 'docs' / 'figures.md').write_text(MANUAL.replace('delay', 'dealy'),
                                                       encoding='utf-8')
        self.assertIn('no line of goals.toml is of table "dealy"', self.run_bench('--manual', code=2))

    def test_figures_show_their_units(self):
        for value, unit, shown in ((1234567, 'frames/s', '1.23 M frames/s'),
                                   (123456789, 'frames/s', '123 M frames/s'),
                                   (207e9, 'b/s', '207 Gb/s'), (0.0002, 'share', '0.02 %'),
                                   (41.53, 'ns', '41.5 ns'), (0, 'frames', '0 frames'),
                                   (999.9e6, 'frames/s', '1000 M frames/s')):
            self.assertEqual(bench.show(value, unit), shown)


class Project(unittest.TestCase):
    """goals.toml, the benchmarks and the manuals belong together."""

    def setUp(self):
        self.lines = bench.load_lines()

    def test_every_figure_has_a_benchmark(self):
        names = set(bench.known_benches())
        for line in self.lines:
            self.assertIn(line.bench, names, line.text)
            script = HERE / f'{line.bench}_bench.py'
            if script.exists():
                continue
            program = (HERE / f'{line.bench}_bench.cpp').read_text(encoding='utf-8')
            for figure in line.figures:
                name = figure.split('/')[0]
                self.assertRegex(program, rf'BENCHMARK\({name}\)|Name\("{name}"\)', line.text)

    def test_scripts_measure_what_lines_need(self):
        settings = bench.Settings(bench.parse([]), self.lines)
        for name in ('dissect', 'gen', 'impair', 'telemetry'):
            module = __import__(f'{name}_bench')
            with contextlib.ExitStack() as stack:
                measured = {figure for names, _ in module.runs(settings, stack) for figure in names}
            needed = set(settings.wanted(name)) - {'64 flows, two cores', '64 flows, one core'}
            self.assertLessEqual(needed, measured, name)

    def test_every_table_of_the_manuals_has_lines(self):
        tables = {line.table for line in self.lines}
        found = set()
        for name in bench.manuals_of(longwire_test.SOURCE):
            text = name.read_text(encoding='utf-8')
            marks = [match[2] for match in bench.MARK.finditer(text)]
            self.assertEqual(len(marks), len(re.findall('<!-- bench:', text)), name)
            self.assertEqual(len(marks), text.count('<!-- end -->'), name)
            found |= set(marks)
        self.assertLessEqual(found, tables)
        self.assertEqual(tables, found, 'a table is in no manual')

    def test_manual_leaves_everything_else(self):
        with tempfile.TemporaryDirectory(prefix='longwire-') as name:
            folder = pathlib.Path(name)
            shutil.copytree(longwire_test.SOURCE / 'docs', folder / 'docs')
            figures = {}
            for line in self.lines:
                for figure in line.figures:
                    figures.setdefault(line.bench, {})[figure] = [1.0]
            recorded = {**RECORDED, 'figures': figures}
            verdicts = [bench.judge(line, figures) for line in self.lines]
            with contextlib.redirect_stdout(io.StringIO()):
                bench.rewrite_manuals(folder, verdicts, recorded)
            for manual in bench.manuals_of(longwire_test.SOURCE):
                before = manual.read_text(encoding='utf-8')
                after = (folder / manual.relative_to(longwire_test.SOURCE)).read_text(encoding='utf-8')
                self.assertEqual(bench.MARK.sub('', after), bench.MARK.sub('', before))


if __name__ == '__main__':
    longwire_test.main()
