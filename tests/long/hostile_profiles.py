# SPDX-License-Identifier: BSD-3-Clause
"""1,000 random profiles, 300 of them hostile: nesting, length, NUL, extremes of each unit, filters,
files that are none. `check` refuses each wrong one with exit 2 and a position; none crashes, hangs,
or needs more than 5 s of CPU time or 1 GB. LONGWIRE_SEED and LONGWIRE_PROFILE_COUNT, or the first
argument, change the seed and the number of profiles."""

import concurrent.futures
import itertools
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import longwire_test
import random_profiles

SEED = int(os.environ.get('LONGWIRE_SEED', time.time_ns() % 2**32))
PROFILES = int(os.environ.get('LONGWIRE_PROFILE_COUNT', (sys.argv[1:] or [1000])[0]))
HOSTILE = 3  # of ten
del sys.argv[1:]

MOST_CPU_SECONDS, MOST_KIB = 5, 1 << 20
WATCHDOG_SECONDS = 600  # ends a program that hangs, however busy the machine is
SANITIZED = 'ASAN_OPTIONS' in os.environ or 'TSAN_OPTIONS' in os.environ
PLACE = re.compile(rb'[^\n]:\d+:\d+: ')
RULE = '[[rule]]\nname = "r"\n'

WRONG = {
    'time': ['9000000000s', '31536001s', '1e308min', '-1s', 'nan s', 'inf s', '1e-20ns', '1e999s', 's', '1'],
    'rate': ['1001Tb/s', '1e308Tb/s', '0b/s', '-1Gb/s', '1e-300b/s', 'nan Gb/s', '1e999b/s'],
    'size': ['1048577GiB', '1e308B', '-1B', '1.5B', '18446744073709551616', 'nan B', '1e999'],
    'share': ['101%', '-1%', 'nan', '1e999', '1.0000001'],
    'length': ['1000001km', '1e308km', '-1km', 'inf km', '1e999m'],
    'count': ['-1', '18446744073709551616', '0x1ffffffffffffffff', '1.5', 'nan', 'x'],
}
# A key of each kind, with % for its value in quotes.
IMPAIR = {
    'time': ['delay = %', 'jitter = {distribution = "uniform", high = %}', 'jitter = {distribution = '
             '"normal", mean = "0s", deviation = %}', 'reorder = {fraction = "1%%", time = %}',
             'delay = "1ms"\n[capacity]\nreserve = %', '[[event]]\naction = "delay"\ndelay = %',
             '[[flap]]\ntime = %\nport = "west"\ndown = "1s"', '[[flap]]\ntime = "1s"\nport = "west"\ndown = %',
             '[[at]]\ntime = %\nrule = "r"\nset = {loss = 0}', '[[at]]\ntime = "1s"\nrule = "r"\nset = {delay = %}',
             '[[protection]]\ntime = "1s"\npath = "p.toml"\noutage = %',
             '[path]\n[[path.equipment]]\nname = "e"\nlatency = %'],
    'rate': ['queue = {rate = %, buffer = "1MB"}', 'police = {rate = %, burst = "1MB"}',
             '[capacity]\nrate = %', '[path]\nrate = %\n[[path.span]]\nlength = "1km"'],
    'size': ['queue = {rate = "1Gb/s", buffer = %}', 'police = {rate = "1Gb/s", burst = %}',
             '[capacity]\nsmallest_frame = %', 'queue = {rate = "1Gb/s", buffer = "1MB"}\n'
             'mark = {kmin = %, kmax = "1MB"}'],
    'share': ['loss = %', 'corrupt = %', 'duplicate = %', 'mark = %', 'reorder = {fraction = %, swap = true}',
              'loss = {model = "gilbert-elliott", p = %}'],
    'length': ['[path]\n[[path.span]]\nlength = %'],
    'count': ['loss = {model = "every", nth = %}', 'corrupt = {probability = 0, bits = %}',
              'duplicate = {probability = 0, copies = %}', '[[event]]\naction = "drop"\nqp = %',
              '[[event]]\naction = "drop"\npsn_offset = %', '[[event]]\naction = "drop"\noccurrence = %'],
}
FLOW = {
    'time': ['start_after = %', 'stop_after = %', 'arrival = "on_off"\non = %', 'arrival = "on_off"\noff = %'],
    'rate': ['rate = %', 'goodput = %'],
    'size': ['message_size = %', 'message_size = [64, %]', 'message_size = {min = 1, max = %}', 'region = %',
             'operation = "write"\nregion = %'],
    'count': ['messages = %', 'repeat = %', 'qps = %', 'burst = %', 'dst_qp = %', 'ttl = %', 'va_step = %'],
    'share': ['[[flow.fault]]\nkind = "bad_icrc"\nrate = %'],
}


class Made:
    """A profile: the program that reads it, its bytes, whether it is surely wrong, files beside it."""

    def __init__(self, program, text, wrong=True, **files):
        self.program, self.wrong, self.files = program, wrong, files
        self.text = text if isinstance(text, bytes) else text.encode()


def either(draw, text, **more):
    """`text` in a profile of either program."""
    if draw.random() < 0.5:
        return Made('roce-impair', RULE + text, **more)
    return Made('roce-gen', '[[flow]]\n' + text, **more)


def deep(draw):
    depth = draw.choice([33, 100, 257, 5_000, 50_000])
    dots = '.'.join(['a'] * depth)
    return either(draw, draw.choice([
        dots + ' = 1', f'[{dots}]', f'[[{dots}]]', 'a = ' + '[' * depth + ']' * depth, 'a = ' + '[' * depth,
        'a = ' + '{a=' * depth + '1' + '}' * depth, 'a = {' + dots + ' = 1}', 'a = [{' + dots + ' = [1]}]',
        '.'.join(['"a"'] * depth) + ' = 1', 'a = ' + '[{a.b=' * depth + '1' + '}]' * depth]))


def long(draw):
    return either(draw, draw.choice([
        lambda: 'x' * draw.choice([10**5, 10**7]) + ' = 1',
        lambda: 'delay = "' + '9' * draw.choice([10**3, 10**7]) + 's"',
        lambda: 'frames = [' + '1,' * draw.choice([10**6 - 10, 10**6, 5 * 10**6]) + ']',
        lambda: '\n'.join(f'k{i} = 1' for i in range(draw.choice([10**3, 10**5]))),
        lambda: '[[event]]\n[[flow]]\n' * draw.choice([50_001, 10**5]),
        lambda: '# ' + 'x' * draw.choice([17 << 20, 70 << 20]),
        lambda: 'name = """' + '\n' * 10**6 + '"""\nx = 1',
        lambda: 'a = {' + ','.join(f'k{i} = "v"' for i in range(10**5)) + '}',
        lambda: 'name = "' + '\\u001b' * 10**5 + '"\nmatch = 1\nqps = "x"',
    ])())


def nul(draw):
    return either(draw, draw.choice([
        'name = "a\\u0000b"', '"na\\u0000me" = 1', 'name = "a\0b"', '\0', 'name = "\\U00000000"',
        'source = "10.0.0.1\\u0000"', 'payload_file = "/etc/passwd\\u0000.txt"', '# a\0b']))


def extreme(draw):
    program, keys, head = draw.choice([('roce-impair', IMPAIR, RULE), ('roce-gen', FLOW, '[[flow]]\n')])
    kind = draw.choice(list(keys))
    key, value = draw.choice(keys[kind]), draw.choice(WRONG[kind])
    return Made(program, head + key.replace('%%', '%%%%').replace('%', f'"{value}"', 1).replace('%%', '%'))


def largest(draw):
    """Largest values of several keys together: their sums and products are the danger."""
    year = '"31536000s"'
    return Made(*draw.choice([
        ('roce-impair', RULE + f'delay = {year}\nreorder = {{fraction = "100%", time = {year}}}\njitter = '
         f'{{distribution = "pareto", shape = 0.05, minimum = {year}}}\norder = "free"\nqueue = '
         '{rate = "1kb/s", buffer = "4GiB"}\n[capacity]\nrate = "1000Tb/s"\nreserve = ' + year),
        ('roce-impair', 'name = "p"\nrate = "1000Tb/s"\n' + '[[span]]\nlength = "1000000km"\n' * 1000),
        ('roce-impair', 'name = "p"\n' + f'[[equipment]]\nname = "e"\ncount = 100000\nlatency = {year}\n' * 9),
        ('roce-impair', RULE + f'delay = "1ms"\n[[at]]\ntime = {year}\nrule = "r"\nover = {year}\nsteps = 1000\n'
         f'set = {{delay = {year}}}'),
        ('roce-impair', RULE + f'[[flap]]\ntime = {year}\nport = "west"\ndown = "1s"\ntimes = 1000\nevery = {year}'),
        ('roce-impair', '[[event]]\naction = "drop"\npsn_offset = "0-16777215"\noccurrence = "1-1000000000"'),
        ('roce-impair', '[[event]]\naction = "drop"\npsn_offset = "0-65535"\n' * 20),
        ('roce-impair', '[[event]]\naction = "delay"\ndelay = ' + year + '\n'),
        ('roce-gen', f'[[flow]]\nstart_after = {year}\nmessages = 1099511627776\nrepeat = 1099511627776\n'
         'message_size = "2GiB"\nrate = "1b/s"'),
        ('roce-gen', '[[flow]]\nqps = 1048576\n' * 3),
        ('roce-gen', f'link = "1000Tb/s"\n[[flow]]\narrival = "on_off"\non = "1ns"\noff = {year}\nrate = "1000Tb/s"'),
        ('roce-gen', '[[flow]]\nmessages = 1\nva = "0xffffffffffffffff"\nva_step = "0xffffffffffffffff"\nqps = 1000\n'
         'operation = "write"\nregion = "1048576GiB"'),
        ('roce-gen', '[[flow]]\nmessages = 10\nrate = "0.000001 frames/s"\narrival = "poisson"'),
    ]), wrong=False)


def filters(draw):
    count = draw.choice([300, 20_000])
    text = draw.choice([
        ' or '.join(f'tcp port {i}' for i in range(count)), 'port 1' + ' or 2' * count, ' and '.join(['vlan'] * count),
        'host server1', 'net loopback or udp', 'port domain', 'proto \\\\tcp', '(' * 20_000 + 'ip' + ')' * 20_000,
        '!' * 1_000 + 'ip', ' or '.join(f'portrange {i}-65535' for i in range(1, count)), 'udp prot 1', 'host a\\u0000b',
        'gateway box', '+'.join(f'ip[{i}]' for i in range(count)) + ' = 1'])
    return Made('roce-impair', f'[[rule]]\nmatch = {{filter = "{text}"}}\n')


def many_filters(draw):
    text = ' or '.join(f'portrange {i}-65535' for i in range(1, draw.choice([10, 100])))
    return Made('roce-impair', f'[[rule]]\nmatch = {{filter = "udp and ({text})"}}\n' * draw.choice([1, 300]),
                wrong=False)


def bytes_(draw):
    return either(draw, 'delay = "1ms"', wrong=False) if draw.random() < 0.1 else Made(
        draw.choice(['roce-impair', 'roce-gen']), draw.choice([
            b'[[rule]]\rdelay = "1ms"\r[[flow]]\r', b'name = "\xff\xfe"\n', b'\xed\xa0\x80 = 1', b'\xfe\xff\x00[',
            b'\xef\xbb\xbf\xef\xbb\xbf[[flow]]', b'name = "\xc3"\n[[rule]]', b'a = 1\na = 2\n', b'[a]\n[a]\n', b'[[a]]\n[a]',
            b'name = 1979-05-27T07:32:00Z\n[[rule]]\n[[flow]]\n', b'seed = 99999999999999999999999\n', b'seed = -1\n[[rule]]',
            b'seed = nan\n[[rule]]\n[[flow]]', b'seed = inf\n[[flow]]\n[[rule]]', b'seed = 1e999\n[[flow]]', b'= 1', b'"', b'"""',
            b"'''", b'[', b'[[', b'a = [', b'a = {', b'\x1b[2J', b'a.b = 1\na = 2', b'seed = 0x1ffffffffffffffff', b'\x0b', b'\x7f']))


def includes(draw):
    return Made('roce-impair', *draw.choice([
        ('include = "PROFILE"\n' + RULE,), ('include = "/dev/zero"\n' + RULE,), ('include = "/"\n' + RULE,),
        ('include = "none.toml"\n' + RULE,), ('include = ["PIPE"]\n' + RULE,), ('include = [1]\n' + RULE,),
        ('include = [' + '"OTHER",' * 100 + ']\n' + RULE,), ('[path]\ninclude = "OTHER"\n' + RULE,),
        ('path = "/dev/zero"\n' + RULE + 'delay = "path"',), ('path = "PIPE"\n' + RULE + 'delay = "path"',)]))


FILE_KEYS = ['trace = {file = "DATA"}', 'jitter = {distribution = "histogram", file = "DATA"}',
             'jitter = {distribution = "values", file = "DATA"}', 'loss = {model = "listed", file = "DATA"}',
             'loss = {model = "bursts", begin = "10%", file = "DATA"}',
             'jitter = {distribution = "netem", deviation = "1ms", file = "DATA"}']
FILE_DATA = [
    lambda: b'', lambda: b'\0' * 100, lambda: b'x' * (17 << 20), lambda: b'time,delay\n0s,9000000000s\n',
    lambda: b'time,rate\n0s,1e308Tb/s\n', lambda: b'time,delay\n0s,' + b'9' * 10**6 + b's\n', lambda: b'99999999999999999999 x\n',
    lambda: b'-1us,1us,1\n', lambda: b'0us,1us,1e308x\n', lambda: b'time,delay\n0s,1ms\n' + b'1ms,1ms\n' * 10**5,
    lambda: b'time,' * 10**5 + b'\n0s\n', lambda: b't' * 10**5 + b',delay\n0s,1ms\n', lambda: b'\xff\xfe',
    lambda: b'time,rate\n0s,' + b'0' * 10**5 + b'1b/s\n', lambda: b'0' * 10**5 + b'2us,1us,1\n']


# What is right all the same: a heading before one time, and a list without frames.
RIGHT_FILES = {(2, 10), (3, 0)}  # of FILE_KEYS and FILE_DATA


def hostile_file(key, data, place='data'):
    """A file that a profile names, which is none or is hostile itself."""
    return Made('roce-impair', RULE + FILE_KEYS[key].replace('DATA', place),
                wrong=place != 'data' or (key, data) not in RIGHT_FILES, data=FILE_DATA[data]())


def files(draw):
    return hostile_file(draw.randrange(len(FILE_KEYS)), draw.randrange(len(FILE_DATA)),
                        draw.choice(['data', '/dev/zero', 'PIPE', '/', 'none']))


def repeating(text, zeros):
    """Profiles with a long text, or number, at each place which an error message repeats."""
    return [Made(*each) for each in (
        ('roce-impair', f'[[rule]]\nname = "{text}"\n' * 2),
        ('roce-impair', f'{RULE}[[at]]\nname = "a"\ntime = "1s"\nrule = "{text}"\nset = {{delay = "1ms"}}\n'),
        ('roce-impair', RULE + f'[[at]]\nname = "{text}"\ntime = "1s"\nrule = "r"\nset = {{delay = "1ms"}}\n' * 2),
        ('roce-impair', f'{RULE}queue = {{shared = "{text}"}}\n'), ('roce-impair', f'include = "{text}"\n{RULE}'),
        ('roce-impair', f'{RULE}trace = {{file = "{text}"}}\n'), ('roce-impair', f'path = "{text}"\n{RULE}'),
        ('roce-impair', f'{RULE}queue = {{rate = "{zeros}1b/s", buffer = "1MB"}}\n'),
        ('roce-impair', f'{RULE}queue = {{rate = "1Gb/s", buffer = "{zeros}B"}}\n'),
        ('roce-impair', f'{RULE}match = {{filter = "{text}"}}\n'), ('roce-impair', f'{RULE}match = {{psn = "{text}"}}\n'),
        ('roce-impair', f'{RULE}"{text}" = 1\n'), ('roce-impair', f'["{text}"]\n' * 2 + RULE),
        ('roce-gen', f'[[host]]\nname = "{text}"\n' * 2), ('roce-gen', f'[[flow]]\nname = "{text}"\n' * 2),
        ('roce-gen', f'[[flow]]\nmessage_size = {{file = "{text}"}}\n'), ('roce-gen', f'[[flow]]\nrate = "{zeros} Gb/s"\n'))]


def sweeps(draw):
    return Made('roce-impair', RULE + draw.choice([
        'delay = "1ms"\n' + ''.join(f'[[at]]\nname = "a{i}"\nrule = "r"\nover = "10s"\nsteps = 1000\n'
                                    'set = {delay = "2ms"}\n' for i in range(11)),
        ''.join(f'[[at]]\ntime = "{i + 1}ms"\nrule = "none"\nset = {{loss = 0}}\n' for i in range(5_000)),
        ''.join(f'[[flap]]\nname = "f{i}"\nport = "west"\ndown = "1s"\ntimes = 1000\nevery = "2s"\n' for i in range(9)),
    ]))


KINDS = [deep, long, nul, extreme, extreme, extreme, largest, filters, many_filters, bytes_, includes, files, sweeps]


class Ran:
    """A run of `check`, with its exit status, its messages, and what it cost."""

    def __init__(self, words, errors, limits):
        with errors.open('wb') as out:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out,
                                       preexec_fn=limits)
            watchdog = threading.Timer(WATCHDOG_SECONDS, process.kill)
            watchdog.start()
            _, status, usage = os.wait4(process.pid, 0)
            watchdog.cancel()
        process.returncode = self.exit = os.waitstatus_to_exitcode(status)
        self.cpu_seconds, self.kib = usage.ru_utime + usage.ru_stime, usage.ru_maxrss
        self.errors = errors.read_bytes()


def limit_resources():
    """Ends a program that goes far beyond what is allowed, before the machine suffers."""
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))


class HostileProfiles(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(holder.name)
        self.addCleanup(holder.cleanup)
        print(f'# seed {SEED}', flush=True)

    def made(self, number):
        draw = random.Random(SEED * 1_000_003 + number)
        if number % 10 < HOSTILE:
            kind = KINDS[(number // 10 * HOSTILE + number % 10) % len(KINDS)]
            return kind.__name__, kind(draw)
        program, profile_of = draw.choice([('roce-impair', random_profiles.impair_profile),
                                           ('roce-gen', random_profiles.flow_profile)])
        text = profile_of(draw)
        if draw.random() < 0.3:
            text = random_profiles.spoilt(draw, text)
        return 'random', Made(program, text, wrong=False)

    def write(self, folder, made):
        folder.mkdir()
        os.mkfifo(folder / 'pipe')
        (folder / 'p.toml').write_text('[[span]]\nlength = "1km"\n')
        (folder / 'other.toml').write_text('[capacity]\nrate = "1Gb/s"\n')
        for name, data in made.files.items():
            (folder / name).write_bytes(data)
        text = made.text
        for word, name in ((b'PROFILE', b'x.toml'), (b'PIPE', b'pipe'), (b'OTHER', b'other.toml')):
            text = text.replace(word, name)
        (folder / 'x.toml').write_bytes(text)

    def problem(self, number):
        """Runs one profile. Returns a description of what is wrong with its run, or None."""
        kind, made = self.made(number)
        return self.problem_of(f'seed {SEED}, profile {number}', kind, made)

    def problem_of(self, name, kind, made):
        folder = self.folder / name.replace(' ', '-')
        self.write(folder, made)
        ran = Ran([longwire_test.program(made.program), 'check', str(folder / 'x.toml')], folder / 'errors',
                  limit_resources)
        wrong = [
            ran.exit not in (0, 2, 3) and f'exit {ran.exit}',
            ran.exit == 3 and b'memory' not in ran.errors and 'exit 3',
            made.wrong and ran.exit != 2 and f'accepted, or exit {ran.exit}',
            ran.exit == 2 and not PLACE.search(ran.errors) and 'an error without a position',
            len(ran.errors) > 1 << 16 and f'{len(ran.errors)} bytes of errors',
            b'\x1b' in ran.errors and 'an escape character in an error',
            ran.cpu_seconds > MOST_CPU_SECONDS and not SANITIZED and f'{ran.cpu_seconds:.1f} s of CPU time',
            ran.kib > MOST_KIB and not SANITIZED and f'{ran.kib >> 10} MiB']
        wrong = ', '.join(why for why in wrong if why)
        self.worst = max(self.worst, (ran.cpu_seconds, kind, name))
        self.largest = max(self.largest, (ran.kib >> 10, kind, name))
        return wrong and (f'{name} ({kind}, {made.program}): {wrong}\n'
                          f'{ran.errors[-400:]!r}\n{made.text[:400]!r}')

    def check(self, problem, items):
        self.worst = self.largest = (0, '', '')
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            problems = [found for found in pool.map(problem, items) if found]
        print(f'# at most {self.worst[0]:.2f} s of CPU time ({self.worst[2]}, {self.worst[1]}) and '
              f'{self.largest[0]} MiB ({self.largest[2]}, {self.largest[1]})', flush=True)
        self.assertEqual(problems, [], '\n\n'.join(problems))

    def test_check(self):
        self.check(self.problem, range(PROFILES))

    def test_each_hostile_file_for_each_key(self):
        def problem(pair):
            key, data = pair
            made = hostile_file(key, data)
            return self.problem_of(f'file {data} of key {key}', 'files', made)
        self.check(problem, itertools.product(range(len(FILE_KEYS)), range(len(FILE_DATA))))

    def test_each_text_that_a_message_repeats(self):
        mades = [made for text in ('n', '\\u001b', '\u00e9') for made in repeating(text * 400_000, '0' * 400_000)]
        self.check(lambda pair: self.problem_of(f'text {pair[0]}', 'repeating', pair[1]), enumerate(mades))

    def test_what_is_no_regular_file(self):
        os.mkfifo(self.folder / 'pipe')
        for program in ('roce-impair', 'roce-gen'):
            for place in ('/dev/zero', self.folder / 'pipe', self.folder, '/dev/null'):
                with self.subTest(program=program, place=place):
                    ran = Ran([longwire_test.program(program), 'check', str(place)], self.folder / 'errors',
                              limit_resources)
                    self.assertEqual(ran.exit, 2, ran.errors)


if __name__ == '__main__':
    longwire_test.main()
