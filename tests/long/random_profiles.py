# SPDX-License-Identifier: BSD-3-Clause
"""Random profiles of both kinds, right and wrong: 10,000 each through `check`, 500 each through a
whole run; many of roce-impair's change their rules. A program may refuse a profile with an error
that has a position. It may not crash, hang or lose a frame, and no audit may fail. LONGWIRE_SEED
and LONGWIRE_PROFILE_COUNT change the seed and the number of profiles."""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time
import unittest

import longwire_test
from pcap_file import other_frame, roce_frame, write_pcap

SEED = int(os.environ.get('LONGWIRE_SEED', time.time_ns() % 2**32))
PROFILES = int(os.environ.get('LONGWIRE_PROFILE_COUNT', 10_000))
RUNS = max(1, PROFILES // 20)
POSITION = re.compile(r'\.toml(:\d+:\d+)?: ')


def share(draw):
    return draw.choice([0, 0.001, 0.3, 1, '"0.1%"', '"50%"', '"100%"', '"1e-3%"'])


def span(draw):
    return '"%s"' % draw.choice(['0us', '1us', '17us', '400us', '1.9ms', '20ms', '1ns', '1s'])


def size(draw):
    return draw.choice(['1', '64', '1500', '"64KiB"', '"1MB"', '"4MB"', '"9600B"'])


def rate(draw):
    return '"%s"' % draw.choice(['1Mb/s', '100Mb/s', '1Gb/s', '10Gb/s', '400Gb/s'])


def number(draw):
    return draw.choice([0, 1, 2, 3, 5, 17, 255, 4096, 65535, 2**24 - 1])


def table(draw, keys):
    """An inline table with each key's value; a key with None is left out."""
    parts = [f'{key} = {value(draw) if callable(value) else value}' for key, value in keys.items()]
    return '{ ' + ', '.join(parts) + ' }'


def loss(draw):
    return draw.choice([
        lambda: share(draw),
        lambda: table(draw, {'model': '"gilbert-elliott"', 'p': share, 'r': share,
                             'bad_loss': share, 'good_loss': share}),
        lambda: table(draw, {'model': '"four-state"', 'p13': share, 'p31': share}),
        lambda: table(draw, {'model': '"bursts"', 'begin': share,
                             'length': draw.randint(1, 40)}),
        lambda: table(draw, {'model': '"every"', 'nth': draw.randint(1, 100)}),
        lambda: table(draw, {'model': '"pattern"',
                             'bits': '"%s"' % bin(draw.getrandbits(9) | 512)[3:]}),
        lambda: table(draw, {'model': '"bit-errors"', 'rate': draw.choice(['1e-12', '1e-5'])}),
        lambda: table(draw, {'model': '"listed"', 'frames': '[3, 17, 18]'}),
    ])()


def jitter(draw):
    keys = draw.choice([
        {'distribution': '"uniform"', 'low': '"0us"', 'high': span},
        {'distribution': '"normal"', 'mean': span, 'deviation': span},
        {'distribution': '"exponential"', 'mean': span},
        {'distribution': '"gamma"', 'shape': '4', 'scale': span},
        {'distribution': '"pareto"', 'shape': draw.choice(['0.5', '1.1', '2.5']), 'minimum': span},
        {'distribution': '"lognormal"', 'median': span, 'sigma': draw.choice(['0.5', '3'])},
    ])
    if draw.random() < 0.3:
        keys = keys | {'half_life': span}
    return table(draw, keys)


def queue(draw):
    keys = {'rate': rate, 'buffer': size}
    if draw.random() < 0.2:
        keys['pfc'] = table(draw, {'priority': draw.randint(0, 7), 'xoff': '"64KiB"',
                                   'xon': '"16KiB"'})
    return table(draw, keys)


def mark(draw):
    return draw.choice([
        lambda: share(draw),
        lambda: table(draw, {'probability': share, 'force': 'true'}),
        lambda: table(draw, {'kmin': '"10kB"', 'kmax': '"100kB"', 'pmax': share,
                             'not_ect': draw.choice(['"drop"', '"pass"'])}),
        lambda: table(draw, {'kmin': '"10kB"', 'kmax': '"100kB"', 'profile': '"step"',
                             'pmin': share, 'at': draw.choice(['"arrival"', '"departure"'])}),
    ])()


def reorder(draw):
    how = draw.choice([{'frames': draw.randint(1, 9)}, {'time': span}, {'swap': 'true'},
                       {'distribution': '"exponential"', 'mean': '"9us"'},
                       {'ahead': 'true'}, {'ahead': 'true', 'gap': draw.randint(1, 9)}])
    return table(draw, {'fraction': share} | how)


def match(draw):
    return draw.choice([
        '"rocev2"', '"all"', '{ operation = "write", position = ["first", "only"] }',
        '{ kind = ["nak", "cnp", "request"] }', '{ dst_qp = [17, "0x100-0x1ff"] }',
        '{ psn = "0xfffff0-15" }', '{ filter = "udp port 4791" }', '{ dscp = 26 }',
        '{ source = "198.18.0.0/15" }', '{ vlan = 7 }',
    ])


STAGES = {
    'police': lambda draw: table(draw, {'rate': rate, 'burst': size}),
    'loss': loss,
    'corrupt': lambda draw: table(draw, {'probability': share, 'bits': draw.randint(1, 64),
                                         'part': draw.choice(['"packet"', '"frame"']),
                                         'icrc': draw.choice(['"wrong"', '"recomputed"'])}),
    'duplicate': lambda draw: table(draw, {'probability': share, 'copies': draw.randint(1, 16)}),
    'rewrite': lambda draw: table(draw, {'probability': share, 'dscp': draw.randint(0, 63),
                                         'ecn': draw.choice(['"not-ect"', '"ect1"', '"ce"'])}),
    'mark': mark,
    'queue': queue,
    'slot': lambda draw: table(draw, {'min': '"3us"', 'max': '"9us"', 'frames': draw.randint(1, 99)}),
    'limit': lambda draw: draw.choice([10, 100, 100_000]),
    'accumulate': lambda draw: table(draw, {'frames': draw.randint(2, 99), 'time': '"20us"'}),
    'delay': span,
    'jitter': jitter,
    'order': lambda draw: draw.choice(['"free"', '"kept"']),
    'reorder': reorder,
}
EVENT = {
    'qp': lambda draw: draw.randint(1, 3),
    'psn_offset': lambda draw: draw.choice([0, 4, '"10-19"', '[1, 3]']),
    'occurrence': lambda draw: draw.choice([1, 2, '[1, 2]']),
    'direction': lambda draw: draw.choice(['"west-to-east"', '"both"']),
    'on': lambda draw: draw.choice(['"request"', '"ack"', '"cnp"']),
}


def keys_of(draw, keys, likely):
    chosen = [key for key in keys if draw.random() < likely]
    text = ''.join(f'{key} = {keys[key](draw)}\n' for key in chosen)
    scheduled = [key for key in chosen if key in ('police', 'loss', 'corrupt', 'duplicate', 'limit', 'rewrite', 'mark',
                                                     'slot', 'delay', 'reorder')
                 and keys is STAGES and draw.random() < likely / 4]
    return text + ''.join(f'when.{key} = {when(draw)}\n' for key in scheduled)


def when(draw):
    if draw.random() < 0.5:
        return (f'{{ every = {draw.randint(20, 10**6)}, for = {draw.randint(1, 19)}, '
                f'from = {draw.randint(0, 10**6)} }}')
    return f'{{ every = "{draw.randint(20, 999)}us", for = "{draw.randint(1, 19)}us" }}'


def shared_queue(draw):
    """The queue of the first rule, and that of the others, which share it."""
    classes = draw.randint(1, 4)
    listed = table(draw, {c: table(draw, {'priority': draw.randint(0, 3), 'weight': draw.randint(1, 9),
                                          'alpha': draw.choice([0.125, 1, 8])})
                          for c in range(classes)})
    mine = lambda: {'class': draw.randrange(classes)}
    return (table(draw, {'rate': rate, 'buffer': '"64KiB"', 'classes': listed} | mine()),
            lambda: table(draw, {'shared': '"r0"'} | mine()))


def change(draw, shares):
    """A change of some stages of the first rule, within the time of the frames."""
    keys = [key for key in STAGES if draw.random() < 0.2 and key not in ('reorder', 'accumulate')
            and not (shares and key == 'queue')]
    sets = [f'{key} = {STAGES[key](draw)}' for key in keys or ['loss']]
    if shares:
        sets += [f'"queue.rate" = {rate(draw)}', f'"queue.classes.0.weight" = {draw.randint(1, 9)}']
    return (f'[[at]]\ntime = "{draw.randint(0, 1_600_000)}ns"\nrule = "r0"\n'
            f'set = {{ {", ".join(sets)} }}\n')


def impair_profile(draw):
    text = f'seed = {draw.getrandbits(32)}\n'
    first, other = shared_queue(draw) if draw.random() < 0.3 else (None, None)
    for rule in range(draw.choice([1, 1, 1, 2, 5])):
        text += f'[[rule]]\nname = "r{rule}"\nmatch = {match(draw)}\n'
        if draw.random() < 0.3:
            text += 'direction = "west-to-east"\n'
        left_out = draw.choice(['reorder', 'accumulate'])  # not both
        stages = {key: value for key, value in STAGES.items() if key != left_out}
        if first:
            del stages['queue']
            text += f'queue = {other() if rule else first}\n'
        text += keys_of(draw, stages, draw.choice([0.1, 0.3, 0.8]))
    for event in range(draw.choice([0, 0, 1, 3])):
        action = draw.choice(['drop', 'mark', 'corrupt', 'duplicate'])
        text += f'[[event]]\nname = "e{event}"\naction = "{action}"\n' + keys_of(draw, EVENT, 0.5)
    for _ in range(draw.choice([0, 0, 1, 2, 6])):
        text += change(draw, shares=first is not None)
    return text + f'[capacity]\nrate = {rate(draw)}\n'


OPERATIONS = ['send', 'send_imm', 'send_inv', 'write', 'write_imm', 'read_request',
              'read_response', 'ack', 'atomic_ack', 'cmp_swap', 'fetch_add', 'resync', 'flush',
              'atomic_write', 'cnp']
FLOW = {
    'transport': lambda draw: '"%s"' % draw.choice(['rc', 'rc', 'uc', 'rd', 'ud', 'xrc']),
    'message_size': lambda draw: draw.choice([
        '0', '1', '64', '1024', '4000', '"64KiB"', '[64, "1KiB"]', '{ min = 64, max = "9KiB" }']),
    'mtu': lambda draw: draw.choice([256, 512, 1024, 2048, 4096]),
    'repeat': lambda draw: draw.choice([1, 2, '"forever"']),
    'payload': lambda draw: draw.choice(['"counter"', '"zeros"', '"prbs31"', '"text"']),
    'signature': lambda draw: draw.choice(['true', 'false']),
    'rate': lambda draw: draw.choice(['"1Gb/s"', '"20 kframes/s"', '"5 kmessages/s"', '"10Gb/s"']),
    'burst': lambda draw: draw.choice([1, 8, 65535, '"message"']),
    'arrival': lambda draw: draw.choice(['"constant"', '"poisson"', '"on_off"']),
    'start_after': span,
    'encapsulation': lambda draw: draw.choice(['"rocev2"', '"rocev2"', '"rocev1"']),
    'vlan': lambda draw: draw.choice([0, 4095, '[100, 200]']),
    'dscp': lambda draw: draw.randint(0, 63),
    'ecn': lambda draw: draw.choice(['"not-ect"', '"ect0"', '"ce"']),
    'source': lambda draw: draw.choice(['"198.18.0.1"', '"2001:db8::1"']),
    'source_port': lambda draw: draw.choice([0, 65535, '"linux"']),
    'dst_qp': number,
    'src_qp': number,
    'first_psn': number,
    'ack_every': lambda draw: draw.choice([0, 1, 7]),
    'va': lambda draw: draw.choice(['0', '"0xffffffffffffff00"', '0x1000']),
    'qps': lambda draw: draw.choice([1, 3, 100]),
    'dst_qp_step': lambda draw: draw.choice([0, 1, 65536]),
}


def flow_profile(draw):
    text = f'seed = {draw.getrandbits(32)}\n'
    for flow in range(draw.choice([1, 1, 2, 4])):
        text += f'[[flow]]\nname = "f{flow}"\noperation = "{draw.choice(OPERATIONS)}"\n'
        text += f'messages = {draw.choice([1, 2, 50])}\n'
        text += keys_of(draw, FLOW, draw.choice([0.05, 0.2, 0.5]))
    return text


def spoilt(draw, text):
    """The text with a few characters changed: most are errors, some only other values."""
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(text))
        new = draw.choice(['', '-', '9' * 25, '"', '.', '\n', '[', '=', '\x00', 'é', '1e400'])
        text = text[:at] + new + text[at + draw.randint(0, 2):]
    return text


def ran(*words):
    """The program's result; a hang is one too."""
    try:
        return subprocess.run([str(word) for word in words], capture_output=True, timeout=120,
                              check=False)
    except subprocess.TimeoutExpired:
        return None


class RandomProfiles(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(holder.name)
        self.addCleanup(holder.cleanup)
        print(f'# seed {SEED}', flush=True)

    def written(self, profile_of, number_, spoil):
        draw = random.Random(SEED * 1_000_003 + number_)
        text = profile_of(draw)
        if draw.random() < spoil:
            text = spoilt(draw, text)
        file = self.folder / f'{number_}.toml'
        file.write_bytes(text.encode())
        return file

    def failed(self, file, why, done):
        output = '' if done is None else done.stderr.decode(errors='replace')[-800:]
        self.fail(f'seed {SEED}, profile {file.name}: {why}\n{output}\n{file.read_text()}')

    def check(self, program, profile_of):
        def one(i):
            file = self.written(profile_of, i, 0.3)
            return file, ran(longwire_test.program(program), 'check', file)

        accepted = 0
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for file, done in pool.map(one, range(PROFILES)):
                if done is not None and done.returncode == 3 and b'not enough memory' in done.stderr:
                    file.unlink()
                    continue
                if done is None or done.returncode not in (0, 2):
                    self.failed(file, 'hang' if done is None else f'exit {done.returncode}', done)
                if done.returncode == 2 and not POSITION.search(done.stderr.decode()):
                    self.failed(file, 'an error without a position', done)
                accepted += done.returncode == 0
                file.unlink()
        print(f'# {program}: {accepted} of {PROFILES} profiles accepted', flush=True)
        self.assertGreater(accepted, PROFILES // 20)

    def test_impair_check(self):
        self.check('roce-impair', impair_profile)

    def test_gen_check(self):
        self.check('roce-gen', flow_profile)

    def runs(self, profile_of, run):
        """`run(file)` tells whether the profile was accepted."""
        done = i = 0
        while done < RUNS:
            done += run(self.written(profile_of, 10**9 + i, 0))
            i += 1
            self.assertLess(i, 100 * RUNS, 'hardly any profile was accepted')

    def test_impair_replay(self):
        frames = [(1_700_000_000 * 10**9 + i * 777,
                   other_frame(i) if i % 10 == 9 else roce_frame(i)) for i in range(2000)]
        write_pcap(self.folder / 'in.pcap', frames)

        def run(file):
            done = ran(longwire_test.program('roce-impair'), 'replay', file,
                       self.folder / 'in.pcap', self.folder / 'out.pcap', '--json')
            if done is not None and done.returncode == 2:
                return False
            if done is None or done.returncode not in (0, 1):
                self.failed(file, 'hang' if done is None else f'exit {done.returncode}', done)
            report = json.loads(done.stdout)
            one = report['directions'][0]
            if not report['identity_holds'] or one['received']['frames'] != len(frames):
                self.failed(file, 'frames are not accounted for', done)
            if not report['stages_hold']:
                self.failed(file, 'the audit claims a failure', done)
            verify = ran(longwire_test.program('roce-dissect'), 'summary',
                         self.folder / 'out.pcap', '--json')
            if verify is None or verify.returncode not in (0, 1):
                self.failed(file, 'the output is no capture', verify)
            return True

        self.runs(impair_profile, run)

    def test_gen_run(self):
        def run(file):
            out = self.folder / 'gen.pcap'
            done = ran(longwire_test.program('roce-gen'), 'run', file, '--pcap', out, '--count',
                       2000, '--json')
            if done is not None and done.returncode == 2:
                return False
            if done is None or done.returncode != 0:
                self.failed(file, 'hang' if done is None else f'exit {done.returncode}', done)
            verify = ran(longwire_test.program('roce-dissect'), 'verify', out)
            if verify is None or verify.returncode != 0:
                self.failed(file, 'a frame of the capture is wrong', verify)
            return True

        self.runs(flow_profile, run)


if __name__ == '__main__':
    longwire_test.main()
