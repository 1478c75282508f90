# SPDX-License-Identifier: BSD-3-Clause
"""The layers hold: by the compiler where it can, by check_modules.py where it can't."""

import json
import pathlib
import shlex
import subprocess
import tempfile
import unittest

import check_modules
from longwire_test import BUILD, SOURCE


class Layers(unittest.TestCase):

    def test_the_tree_has_no_violation(self):
        self.assertEqual(list(check_modules.violations(SOURCE)), [])

    def found_in(self, place, text):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            path = root / place
            path.parent.mkdir(parents=True)
            path.write_text(text)
            return list(check_modules.violations(root))

    def test_a_violation_is_found(self):
        spdx = '// SPDX-License-Identifier: BSD-3-Clause\n'
        for place, line in [
                ('lib/wire/x.h', '#include "roce/frame.h"'),
                ('lib/wire/x.h', '#include <pcap.h>'),
                ('lib/emulator/x.cpp', '#include <rte_mbuf.h>'),
                ('lib/nic/x.cpp', '#include "capture/reader.h"'),
                ('lib/emulator/x.cpp', 'auto t = std::chrono::steady_clock::now();'),
                ('gen/x.cpp', '#include "impair/loop.h"'),
                ('lib/roce/x.cpp', '#include "gen/engine.h"'),
                ('dissect/x.cpp', '#include <rte_ethdev.h>'),
                ('gen/ranks/x.cpp', '#include <mpi.h>'),
                ('lib/wire/x.h', 'void look();'),
                ('lib/wire/x.h', 'bool take(std::string_view sign);'),
                ('lib/wire/x.cpp', 'void Reader::take() {}'),
                ('lib/wire/x.cpp', 'const auto psn = take<std::uint32_t>();')]:
            with self.subTest(place=place, line=line):
                self.assertEqual(len(self.found_in(place, spdx + line + '\n')), 1)
        for line in ('#include "wire/bth.h"', 'tracker.take(number);', 'rows | std::views::take(3);',
                     'take_front(rows);', '// take()'):
            with self.subTest(line=line):
                self.assertEqual(self.found_in('lib/emulator/x.cpp', f'{spdx}{line}\n'), [])
        self.assertEqual(len(self.found_in('lib/wire/x.h', '#pragma once\n')), 1)

    def test_a_figure_of_a_program_in_report_is_found(self):
        spdx = '// SPDX-License-Identifier: BSD-3-Clause\n'
        figure = 'auto row = FigureOf<Sent>::of<&Sent::lost>(\n    "lost",\n "Frames lost.");\n'
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for place, text in [('gen/x.cpp', spdx + figure),
                                ('lib/report/own.cpp', spdx + figure.replace('lost', 'kept')),
                                ('lib/report/x.cpp', spdx + 'auto n = json["lost"];  // "lost"\n'
                                                            'auto m = json["kept"];\n'
                                                            'auto o = "frames lost";\n')]:
                (root / place).parent.mkdir(parents=True, exist_ok=True)
                (root / place).write_text(text)
            found = list(check_modules.violations(root))
        self.assertEqual(len(found), 1, found)
        self.assertIn('lib/report/x.cpp:2: "lost" is a figure of a program', found[0])

    def test_a_hidden_name_is_found(self):
        spdx = '// SPDX-License-Identifier: BSD-3-Clause\n'
        inner = spdx + 'namespace lw::gen {\nnamespace {\n\nint SPACE() { return 1; }\n\n}  // namespace\n'
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for place, text in [
                    ('lib/core/x.h', spdx + '#pragma once\nnamespace lw {\n\nint beside(int a);\n\n'
                                            '}  // namespace lw\n'),
                    ('gen/x.cpp', inner.replace('SPACE', 'beside')),
                    ('gen/y.cpp', inner.replace('SPACE', 'other'))]:
                (root / place).parent.mkdir(parents=True, exist_ok=True)
                (root / place).write_text(text)
            found = list(check_modules.violations(root))
        self.assertEqual(len(found), 1, found)
        self.assertIn('gen/x.cpp:5: beside in an anonymous namespace hides beside of lib/core/x.h',
                      found[0])


class PathOfAFrame(unittest.TestCase):
    """How much of the tree one includes who reads the path of a frame."""

    FILES = {'ARCHITECTURE.md': '# A\n## The path of one frame\n\n**roce-gen, in short**:\n'
                                '1. `run()` in `gen/run.cpp`; `lib/wire/bth.h`\n',
             'gen/run.cpp': '#include <vector>\n#include "gen/run.h"\nvoid run() {}\n',
             'gen/run.h': '#include "core/time.h"\nstruct Run {\n};\n',
             'lib/core/time.h': 'class Clock final {\n};\nenum class Unit : char {\n};\n',
             'lib/core/other.h': 'struct Other {\n};\n',
             'lib/wire/bth.h': 'struct Bth {\n};\n'}

    def test_what_is_included_counts_once(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in self.FILES.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            [(program, files)] = check_modules.closures(root)
            self.assertEqual(program, 'roce-gen')
            self.assertEqual({path.relative_to(root).as_posix() for path in files},
                             {'gen/run.cpp', 'gen/run.h', 'lib/core/time.h', 'lib/wire/bth.h'})
            self.assertEqual(check_modules.types_in(files), 4)
            self.assertIn('path of a frame, roce-gen: includes 4 files, 4 types',
                          list(check_modules.sizes(root)))
            (root / 'lib' / 'wire' / 'bth.h').write_text('struct Bth {\n};\n' * 400)
            [violation] = check_modules.closure_violations(root)
            self.assertIn('roce-gen: the path of a frame includes 403 types', violation)

    def test_the_tree_has_not_grown(self):
        self.assertEqual(list(check_modules.closure_violations(SOURCE)), [])


class NamesOfTypes(unittest.TestCase):
    FILES = {'lib/core/time.h': 'struct Clock {\n};\n', 'lib/nic/clock.h': 'class Clock final {\n};\n',
             'gen/run.h': 'struct Run {\n};\nenum class Unit : char {\n};\n', 'impair/run.h': 'struct Run {\n};\n',
             'lib/core/unit.h': 'enum class Unit {\n};\n', 'gen/unit.cpp': 'struct Clock {\n};\n'}

    def test_in_two_places_where_both_can_be_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in self.FILES.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            self.assertEqual(set(check_modules.repeated_names(root)), {'Clock', 'Unit'})
            [clock, unit] = check_modules.name_violations(root)
            self.assertTrue(clock.startswith('Clock: a type of this name is in '), clock)
            for place in 'gen/run.h', 'lib/core/unit.h':
                self.assertIn(place, unit)

    def test_none_in_the_tree(self):
        self.assertEqual(list(check_modules.name_violations(SOURCE)), [])


class Compiler(unittest.TestCase):
    """A stray DPDK include outside nic/ and the programs doesn't compile."""

    def compiles(self, module, text):
        """Whether `text` compiles with the very command of the sources of a module."""
        commands = json.loads((BUILD / 'compile_commands.json').read_text())
        command = next(c for c in commands if c['output'].startswith(module + '/'))
        with tempfile.NamedTemporaryFile('w', suffix='.cpp') as stray:
            stray.write(text)
            stray.flush()
            words = [w for w in shlex.split(command['command'])]
            words[words.index('-c') + 1] = stray.name
            words[words.index('-o') + 1] = '/dev/null'
            for flag in ('-MQ', '-MF'):
                at = words.index(flag)
                del words[at:at + 2]
            words.remove('-MD')
            words.append('-fsyntax-only')
            done = subprocess.run(words, cwd=command['directory'], capture_output=True, text=True)
        return done.returncode == 0, done.stderr

    def test_dpdk_is_out_of_reach_below_nic(self):
        stray = '#include <rte_ethdev.h>\nint main() { return 0; }\n'
        for module in ('lib/core', 'lib/wire', 'lib/roce', 'lib/emulator', 'lib/capture',
                       'lib/config'):
            with self.subTest(module=module):
                compiled, words = self.compiles(module, stray)
                self.assertFalse(compiled)
                self.assertIn('rte_ethdev.h', words)

    def test_and_within_reach_in_nic(self):
        compiled, words = self.compiles('lib/nic', '#include <rte_ethdev.h>\n')
        self.assertTrue(compiled, words)

    # A stage of a rule, with the hooks of its list and the members of a test.
    STAGE = """#include "emulator/hook_check.h"
namespace lw::emulator {
struct Tried {
  static constexpr std::string_view kName = "tried";
  static constexpr HookSet kHooks = {Hook::apply%s};
  struct Settings {};
  struct Stats {};
  void apply(Passage& p, Stats& stats) noexcept;
  %s
};
static_assert(hooks_hold<Tried>());
}
"""

    def test_a_stage_lists_the_hooks_that_it_has(self):
        absent = 'the stage lists this hook, and has no member that can be called as it'
        unlisted = 'the stage has this member, and does not list its hook'
        inherit = 'void inherit(Tried& old, const RuleConfig& rule, const RuleConfig& old_rule);'
        varies = 'static bool varies(const RuleConfig& rule);'
        for hooks, members, hook, error in [
                ('', '', None, None),
                (', Hook::inherit, Hook::varies', inherit + varies, None, None),
                (', Hook::inherit', inherit.replace('inherit', 'inherits'), 'inherit', absent),
                (', Hook::inherit', 'void inherit(Tried& old);', 'inherit', absent),
                (', Hook::varies', varies.replace('bool', 'void'), 'varies', absent),
                ('', inherit, 'inherit', unlisted),
                ('', 'static bool varies(int wrong);', 'varies', unlisted),
                ('', 'static constexpr Stage kNumber = Stage{16};', 'number', unlisted),
                ('', 'void leave(Passage& p, Stats& stats, const roce::Envelope& e);', 'leave',
                 unlisted)]:
            with self.subTest(hooks=hooks, members=members):
                compiled, words = self.compiles('lib/emulator', self.STAGE % (hooks, members))
                self.assertEqual(compiled, error is None, words)
                if error:
                    self.assertIn(error, words)
                    self.assertRegex(words, rf'CheckedHook<lw::emulator::Tried, .*Hook::{hook}>')


if __name__ == '__main__':
    import longwire_test
    longwire_test.main()
