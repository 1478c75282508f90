# SPDX-License-Identifier: BSD-3-Clause
"""Checks the structure of the tree: which module includes which, folders without cycles, how much of
it the path of a frame includes. Prints the sizes.

The compiler enforces most of the layers, as each module is a static library with only its own
dependencies. This script covers what a compiler cannot see: our own modules, headers that every
compiler finds, and the folders inside the programs. Exit 1 with one line per violation; run by
./dev check and by the tests."""

import collections
import pathlib
import re
import sys

# What a module may include besides itself.
MODULES = {
    'core': set(),
    'wire': {'core'},
    'roce': {'core', 'wire'},
    'transport': {'core', 'wire', 'roce'},
    'emulator': {'core', 'wire', 'roce'},
    'analysis': {'core', 'wire', 'roce'},
    'upper': {'core', 'wire', 'roce', 'analysis'},
    # The runs of perf through a simulator, a port or a device.
    'perf': {'core', 'wire', 'roce', 'transport', 'emulator'},
    'sim': {'core', 'wire', 'roce', 'transport', 'emulator', 'perf'},
    'capture': {'core'},
    'nic': {'core'},
    'net': {'core'},
    'report': {'core'},
    # A profile fills the configuration types of the modules that it describes.
    'config': {'core', 'wire', 'roce', 'emulator', 'capture'},
    # An option may name a profile, which completion and the command `profiles` look for.
    'app': {'core', 'report', 'config'},
    'web': {'core', 'net', 'report', 'app'},
}
PROGRAMS = ('gen', 'impair', 'dissect')

# Libraries, and the places that may include them.
LIBRARIES = {
    r'rte_': {'lib/nic', 'gen', 'impair'},
    r'pcap': {'lib/capture'},
    r'zlib|zstd': {'lib/capture'},
    r'isa-l|isa-l\.h': {'lib/wire'},
    r'toml\+\+|toml\.hpp': {'lib/config'},
    r'nlohmann/': {'lib/core', 'lib/report', 'lib/analysis', 'gen', 'impair', 'dissect'},
    r'CLI/': {'lib/app'},
    r'httplib\.h': {'lib/web'},
    r'infiniband/|rdma/': {'gen'},
}
# Libraries that a single file may include.
SINGLE_USERS = {r'mpi\.h': 'gen/ranks/mpi_module.cpp'}
# Modules without a clock: their callers pass the time.
TIMELESS = {'lib/core', 'lib/wire', 'lib/roce', 'lib/emulator', 'lib/transport', 'lib/perf',
            'lib/sim',
            'lib/analysis', 'lib/upper'}
CLOCKS = re.compile(r'\b(steady_clock|system_clock|clock_gettime|gettimeofday|rte_rdtsc)\b')
# What writes files and standard output without checking: lib/core/output.cpp does it for all.
UNCHECKED = re.compile(r'\bofstream\b|\bfopen\(|std::cout\b|\bprint\("|\bstdout\b|O_TRUNC')
WRITES_FILES = 'lib/core/output.cpp'
# What reads a file calls note_input(), so that no output replaces it; the kernel's files are none.
READS = re.compile(r'\bifstream\b[^;]*;|\bO_RDONLY\b')
KERNELS_FILE = re.compile(r'"/(proc|sys|dev)/')

# Names that say nothing without their object.
BARE_VERB = re.compile(r'\b(look|tell)\(')
# A function's declaration or its call without an object; calls of members follow their class.
BARE_TAKE = re.compile(r'(?<!views::)(?<![\w.>])take(<[^<>()]*>)?\(')

# The rows of tables of figures, and texts of C++.
FIGURE = re.compile(r'>\(\s*"([a-z]\w*)",\s*"')
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Figures of programs whose names are also words of lib/report itself: keys that it writes, units.
WORDS_OF_REPORT = {
    'figure_paths.cpp': {'name', 'direction', 'port', 'bytes', 'bits_per_second', 'seconds'},
    'json_line.cpp': {'schema', 'version'},
    'plot.cpp': {'start'},
    'prometheus.cpp': {'counter'},
    'run_page.cpp': {'changes', 'colour', 'command', 'errors', 'exit', 'headline', 'holds', 'machine',
                     'meaning', 'measured', 'name', 'of', 'points', 'report', 'schema', 'statements',
                     'text', 'title', 'verdict', 'version', 'what'},
    'run_rows.cpp': {'description', 'help', 'of', 'path', 'value', 'verdict'},
    'schema.cpp': {'bytes', 'description', 'frames', 'schema', 'title', 'type', 'unit', 'verdict',
                   'version'},
    'verdict.cpp': {'asked', 'of'},
}

TOP_LEVEL = {
    'meson.build', 'lib', 'gen', 'impair', 'dissect', 'profiles', 'tests', 'pcaps', 'docs',
    'packaging', 'README.md', 'dev', 'ARCHITECTURE.md', 'LICENSE',
}
MOST_TYPES_ON_THE_WAY = {'roce-gen': 50, 'roce-impair': 60, 'roce-dissect': 30}
# Types that the files on the way and all that they include define. A number grows only with a reason
# in its commit.
MOST_TYPES_INCLUDED = {'roce-gen': 300, 'roce-impair': 399, 'roce-dissect': 189}
TYPE = re.compile(r'^ *(?:class|struct|enum(?: class)?) (?:alignas\(.*\) )?\w+(?: final)?(?: : .*)? *\{',
                  re.M)
FILE_TYPE = re.compile(r'^(?:class|struct|enum(?: class)?) (?:alignas\(.*\) )?(\w+)(?: final)?(?: : .*)? *\{',
                       re.M)
# A command's .cpp is reached through the command list and has no header of its own.
COMMAND_FOLDERS = ('gen/commands', 'impair/cli', 'dissect/commands')
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')

NAMESPACE = re.compile(r'^namespace ?([\w:]*) \{$')
FILE_SCOPE_NAME = re.compile(  # a function, variable or type; bodies and members are indented
    r'^(?=\S)(?!using |namespace |return |#|//|static_assert)(?:[\w:<>,&*\[\]() ]*[ &*>])?'
    r'(\w+)(?:\(|(?= =)|(?=\{))|^(?:class|struct|enum class|enum) (\w+)')


def sources(root):
    for top in ('lib',) + PROGRAMS:
        for path in sorted((root / top).rglob('*')):
            if path.suffix in ('.h', '.cpp'):
                yield path


def includes(path):
    """(line number, quote, included name) of each include of a file."""
    for number, line in enumerate(path.read_text(encoding='utf-8').splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, *match.groups()


def module_of(path, root):
    """lib/wire for a file of a library module, gen for a file of a program."""
    parts = path.relative_to(root).parts
    return '/'.join(parts[:2]) if parts[0] == 'lib' else parts[0]


def layer_violation(place, target):
    """Why `place` may not include the module or program `target`, or None."""
    if place.startswith('lib/'):
        module = place.removeprefix('lib/')
        if target in PROGRAMS:
            return 'a library module never includes a program'
        if target != module and target not in MODULES.get(module, set()):
            return f'lib/{module} may include {sorted(MODULES.get(module, set())) or "only core"}'
    elif target in PROGRAMS and target != place:
        return 'programs never include each other'
    return None


def check_file(path, root):
    place = module_of(path, root)
    name = path.relative_to(root)
    lines = path.read_text(encoding='utf-8').splitlines()
    if not lines or 'SPDX-License-Identifier: BSD-3-Clause' not in lines[0]:
        yield f'{name}:1: expected the SPDX line first'
    noted = any('note_input(' in line for line in lines)
    for number, line in enumerate(lines, 1):
        if READS.search(line.split('//')[0]) and not noted and not KERNELS_FILE.search(line):
            yield f'{name}:{number}: reads a file; expected note_input() (core/output.h) before it'
        if place in TIMELESS and CLOCKS.search(line):
            yield f'{name}:{number}: {place} reads a clock; expected the time as a parameter'
        if BARE_VERB.search(line.split('//')[0]):
            yield f'{name}:{number}: a bare verb as a name; expected its object too: look_at_links()'
        if BARE_TAKE.search(line.split('//')[0]):
            yield f'{name}:{number}: take() as a name; expected what it does: count_frame(), accept()'
        if UNCHECKED.search(line.split('//')[0]) and name.as_posix() != WRITES_FILES:
            yield f'{name}:{number}: writes without a check; expected the functions of core/output.h'
    for number, quote, included in includes(path):
        if quote == '"':
            reason = layer_violation(place, included.split('/')[0])
            if reason:
                yield f'{name}:{number}: includes {included}: {reason}'
        for library, allowed in LIBRARIES.items():
            if re.match(library, included) and place not in allowed:
                yield f'{name}:{number}: includes <{included}>, which only {sorted(allowed)} may'
        for library, user in SINGLE_USERS.items():
            if re.match(library, included) and name.as_posix() != user:
                yield f'{name}:{number}: includes <{included}>, which only {user} may'


def program_keys(root):
    """A text of lib/report that is the name of a program's figure: report renders all of them, and
    knows none."""
    texts = {path: path.read_text(encoding='utf-8') for path in sources(root)}
    own = root / 'lib/report'
    figures = {name for path, text in texts.items() if own not in path.parents
               if 'FigureOf<' in text for name in FIGURE.findall(text)}
    for path, text in texts.items():
        if own not in path.parents:
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if INCLUDE.match(line):
                continue
            found = figures & set(TEXT.findall(line.split('//')[0]))
            for name in sorted(found - WORDS_OF_REPORT.get(path.name, set())):
                yield (f'{path.relative_to(root)}:{number}: "{name}" is a figure of a program; expected '
                       'a value that the program gives, such as report::RunRows')


def folder_graph(root):
    """Which folder of a program includes which: {folder: {folder: example}}. The program's own folder
    has only main.cpp and limits.h, which includes nothing of ours."""
    graph = collections.defaultdict(dict)
    for path in sources(root):
        folder = path.relative_to(root).parent.as_posix()
        if folder.startswith('lib/'):
            continue
        for number, quote, included in includes(path):
            target = pathlib.PurePosixPath(included).parent.as_posix()
            if (quote == '"' and target not in {folder, *PROGRAMS}
                    and target.split('/')[0] in PROGRAMS):
                graph[folder].setdefault(target, f'{path.relative_to(root)}:{number}')
    return graph


def folder_cycles(root):
    """A line for each pair of folders that reach each other."""
    graph = folder_graph(root)

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for target in graph.get(todo.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return seen

    reach = {folder: reached(folder) for folder in graph}
    for folder, targets in sorted(graph.items()):
        for target, example in sorted(targets.items()):
            if folder in reach.get(target, ()):
                yield f'{example}: {folder} includes {target}, which includes {folder}: a cycle'


def orphans(root):
    """A .cpp has the name of its header, except commands and main.cpp."""
    for path in sources(root):
        folder = path.relative_to(root).parent.as_posix()
        if path.suffix != '.cpp' or path.name == 'main.cpp' or folder in COMMAND_FOLDERS:
            continue
        if path.stem.endswith('_command') or path.with_suffix('.h').exists():
            continue
        yield f'{path.relative_to(root)}: expected a header of the same name'


def file_scope_names(path):
    """(namespace, in an anonymous namespace, name, line) of what a file defines at file scope."""
    spaces = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if opened := NAMESPACE.match(line):
            spaces.append(opened[1])
        elif line.startswith('}  // namespace'):
            del spaces[-1:]
        elif spaces and (named := FILE_SCOPE_NAME.match(line)):
            yield '::'.join(filter(None, spaces)), '' in spaces, named[1] or named[2], number


def hidden_names(root):
    """An anonymous namespace that hides a name of a header of an outer namespace: in a unity build,
    other files of the unit would call it instead."""
    declared = collections.defaultdict(set)
    for path in sources(root):
        if path.suffix == '.h':
            for space, anonymous, name, _ in file_scope_names(path):
                if not anonymous:
                    declared[name].add((space, path.relative_to(root)))
    for path in sources(root):
        for space, anonymous, name, number in file_scope_names(path):
            hidden = [str(header) for outer, header in declared[name]
                      if anonymous and path.suffix == '.cpp' and space.startswith(outer + '::')]
            if hidden:
                yield (f'{path.relative_to(root)}:{number}: {name} in an anonymous namespace hides '
                       f'{name} of {", ".join(sorted(hidden))}; give it another name')


def chains(root):
    """Program, functions [(name, header)] and all headers of each chain of ARCHITECTURE.md."""
    text = (root / 'ARCHITECTURE.md').read_text()
    section = text.partition('## The path of one frame')[2].partition('\n## ')[0]
    for chain in section.split('\n**')[1:]:
        functions, header = [], None
        for step in re.findall(r'^\d+\. (.*)$', chain, re.M):
            words = re.findall(r'`([^`]+)`', step)
            header = next((w for w in words if w.endswith(('.h', '.cpp'))), header)
            name = re.sub(r'<.*?>', '', words[0]).split('::')[-1]
            functions.append((name, header))
        headers = set(re.findall(r'`((?:lib|gen|impair|dissect)/[^`]+\.h)`', chain))
        yield chain.partition(',')[0], functions, sorted(headers)


def chain_violations(root):
    """The chains name functions that exist, and few types are needed to read them."""
    for program, functions, headers in chains(root):
        if len(functions) > 10:
            yield f'ARCHITECTURE.md: {program}: {len(functions)} functions on the way; at most 10'
        for name, place in functions:
            path = root / place
            if not path.exists() or not re.search(rf'\b{name}\(', path.read_text()):
                yield f'ARCHITECTURE.md: {program}: {place} has no function {name}()'
        types = sum(len(TYPE.findall((root / header).read_text())) for header in headers)
        if types > MOST_TYPES_ON_THE_WAY[program]:
            yield (f'ARCHITECTURE.md: {program}: the headers on the way define {types} types; '
                   f'at most {MOST_TYPES_ON_THE_WAY[program]}')


def types_in(paths):
    return sum(len(TYPE.findall(path.read_text(encoding='utf-8'))) for path in paths)


def included_from(root, names):
    """All files of ours that files of the tree include, and these files."""
    found, todo = set(), [root / name for name in names]
    while todo:
        path = todo.pop()
        if path in found:
            continue
        found.add(path)
        for _, quote, included in includes(path):
            places = (root / 'lib' / included, root / included)
            todo += [place for place in places if quote == '"' and place.exists()]
    return found


def closures(root):
    """Program, and all files that its chain of ARCHITECTURE.md includes."""
    for program, functions, headers in chains(root):
        places = {place for _, place in functions if (root / place).exists()}
        yield program, included_from(root, places | set(headers))


def closure_violations(root):
    for program, files in closures(root):
        if (types := types_in(files)) > MOST_TYPES_INCLUDED[program]:
            yield (f'{program}: the path of a frame includes {types} types; at most '
                   f'{MOST_TYPES_INCLUDED[program]} (MOST_TYPES_INCLUDED)')


def sizes(root):
    """A line for each part of the tree, and for each path of a frame."""
    for top in ('lib',) + PROGRAMS:
        files = [path for path in sources(root) if path.relative_to(root).parts[0] == top]
        lines = sum(len(path.read_text(encoding='utf-8').splitlines()) for path in files)
        yield f'{top}: {len(files)} files, {lines} lines, {types_in(files)} types'
    for program, files in closures(root):
        yield f'path of a frame, {program}: includes {len(files)} files, {types_in(files)} types'


def repeated_names(root):
    """{name: headers} of types that two headers of lib, of lib and a program, or of one program
    define: two programs never meet."""
    headers = collections.defaultdict(list)
    for path in sources(root):
        if path.suffix == '.h':
            for name in FILE_TYPE.findall(path.read_text(encoding='utf-8')):
                headers[name].append(path.relative_to(root))
    tops = {name: [path.parts[0] for path in paths] for name, paths in headers.items()}
    return {name: paths for name, paths in headers.items()
            if len(set(tops[name])) < len(paths) or ('lib' in tops[name] and len(paths) > 1)}


def name_violations(root):
    for name, paths in sorted(repeated_names(root).items()):
        yield f"{name}: a type of this name is in {' and in '.join(map(str, paths))}"


def violations(root):
    for path in sources(root):
        yield from check_file(path, root)
    yield from hidden_names(root)
    yield from program_keys(root)
    yield from folder_cycles(root)
    for entry in sorted(root.iterdir()):
        if entry.name.startswith('.') or entry.name.startswith('build'):
            continue
        if entry.name not in TOP_LEVEL:
            yield f'{entry.name}: not a part of the top level'


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    found = [*violations(root), *orphans(root), *chain_violations(root), *closure_violations(root),
             *name_violations(root)]
    for line in [*sizes(root), *found]:
        print(line)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
