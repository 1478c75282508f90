# SPDX-License-Identifier: BSD-3-Clause
"""What `meson install` puts where: programs, profiles, manuals, man pages, the shells' completions
and the systemd unit; and that each of them works from there."""

import json
import os
import pathlib
import pty
import re
import select
import shlex
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest

import needs
import longwire_test
import output_schemas
from longwire_test import BUILD, SOURCE, begin

PROGRAMS = ('roce-gen', 'roce-endpoint', 'roce-impair', 'roce-dissect')
TIMEOUT = 60


def run(*words, **settings):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=TIMEOUT, **settings)


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix='longwire-')
        cls.root = pathlib.Path(cls.holder.name)
        cls.root.chmod(0o755)
        done = run('meson', 'install', '-C', BUILD, '--no-rebuild',
                   env={**os.environ, 'DESTDIR': str(cls.root)})
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)
        cls.prefix = next(cls.root.rglob('bin/roce-gen')).parents[1]
        cls.share, cls.bin = cls.prefix / 'share', cls.prefix / 'bin'
        cls.environment = {**os.environ, 'PATH': f'{cls.bin}:{os.environ["PATH"]}'}

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def commands(self, name):
        lines = run(self.bin / name, '--complete', '').stdout.splitlines()
        return [line.split('\t')[0] for line in lines]

    def test_everything_is_there(self):
        shipped = {file.relative_to(SOURCE / 'profiles') for file in
                   (SOURCE / 'profiles').glob('*/**/*') if file.is_file()}
        there = self.share / 'longwire/profiles'
        self.assertEqual({file.relative_to(there) for file in there.rglob('*') if file.is_file()},
                         shipped)
        version = f'{sys.version_info.major}.{sys.version_info.minor}'
        wanted = {*(f'lib/python{version}/dist-packages/longwire/{name}' for name in
                    ('__init__.py', 'py.typed', 'results.pyi')),
                  'share/doc/longwire/packaging/python/examples/loss.py',
                  'lib/systemd/system/longwire-impair@.service', 'share/doc/longwire/LICENSE',
                  'share/man/man5/longwire-impair-profile.5', 'share/man/man7/longwire.7',
                  'share/longwire/captures/cm_rping.pcap',
                  *(f'share/longwire/captures/nvme_loss_{end}.pcap.gz' for end in ('host', 'target')),
                  'share/longwire/captures/loss_write_sender_side.pcap',
                  'share/man/man5/longwire-flow-profile.5'}
        wanted |= {'bin/longwire', 'share/longwire/demo.sh', 'share/longwire/demo_verdict.py'}
        wanted |= {f'share/doc/longwire/{file.relative_to(SOURCE)}' for file in (SOURCE / 'pcaps').rglob('*')
                   if file.is_file()}
        wanted |= {f'share/longwire/schemas/{file.name}'
                   for file in output_schemas.FILES}
        wanted |= {f'share/longwire/grafana/{file.name}'
                   for file in (SOURCE / 'packaging/grafana').iterdir()}
        for name in PROGRAMS:
            wanted |= {f'bin/{name}', f'share/man/man1/{name}.1',
                       f'share/bash-completion/completions/{name}',
                       f'share/zsh/site-functions/_{name}',
                       f'share/fish/vendor_completions.d/{name}.fish'}
            wanted |= {f'share/man/man1/{name}-{command}.1' for command in self.commands(name)}
        wanted |= {f'share/doc/longwire/{file.relative_to(SOURCE)}' for file in
                   (SOURCE / 'README.md', *(file for file in (SOURCE / 'docs').rglob('*') if file.is_file()),
                    *(file for top in ('gen', 'impair', 'dissect')
                      for file in (SOURCE / top).rglob('README.md')))}
        if (BUILD / 'gen/ranks/longwire-mpi.so').exists():  # where Open MPI is installed
            wanted.add('lib/longwire/longwire-mpi.so')
        found = {str(file.relative_to(self.prefix)) for file in self.prefix.rglob('*')
                 if file.is_file() and there not in file.parents}
        self.assertEqual(found, wanted)
        for file in found:
            mode = stat.S_IMODE((self.prefix / file).stat().st_mode)
            self.assertEqual(mode, 0o755 if file.startswith('bin/') else 0o644, file)

    def test_programs_find_the_installed_profiles(self):
        for name in PROGRAMS:
            self.assertEqual(run(self.bin / name, '--version').returncode, 0)
        done = run(self.bin / 'roce-impair', 'profiles', '--json', cwd='/')
        for line in done.stdout.splitlines():
            profile = json.loads(line)
            self.assertTrue(profile['path'].startswith(str(self.share)), profile)
            checked = run(self.bin / 'roce-impair', 'check', profile['name'], cwd='/')
            self.assertIn(checked.returncode, (0, 3), checked.stderr)  # 3: more memory than there is
        self.assertIn('apn-380km', done.stdout)

    # Keys of profiles.

    def page(self, name):
        """The words of a page in bold or in an example, without roff's escapes."""
        text = (self.share / f'man/man5/longwire-{name}-profile.5').read_text(encoding='utf-8')
        literal = re.findall(r'\\fB(.*?)\\fR', text) + re.findall(r'^\.nf\n(.*?)^\.fi', text,
                                                                  re.S | re.M)
        return set(re.findall(r'\w+', ' '.join(literal).replace('\\-', '-')))

    @staticmethod
    def keys_in_sources(folder):
        """Keys that the readers of profiles ask for."""
        text = ''.join(file.read_text(encoding='utf-8')
                       for file in (SOURCE / 'lib/config' / folder).glob('*.cpp'))
        return set(re.findall(r'\b(?:get|get_or|require|tables?)\(\s*"(\w+)"', text))

    @staticmethod
    def keys_in_profiles(folder):
        keys = set()

        def collect(value):
            if isinstance(value, dict):
                keys.update(part for key in value for part in key.split('.'))
                value = value.values()
            if not isinstance(value, str) and hasattr(value, '__iter__'):
                for each in value:
                    collect(each)

        for file in (SOURCE / 'profiles' / folder).glob('*.toml'):
            collect(tomllib.loads(file.read_text(encoding='utf-8')))
        return keys

    def test_each_key_of_a_profile_is_in_its_page(self):
        for name, folder, kinds, least in (('impair', 'impair', ('impair', 'paths'), 60),
                                           ('flow', 'flow', ('flows',), 50)):
            keys = self.keys_in_sources(folder).union(*map(self.keys_in_profiles, kinds))
            self.assertGreaterEqual(len(keys), least)
            self.assertEqual(sorted(keys - self.page(name)), [], f'longwire-{name}-profile(5)')

    @needs.tools('mandoc', 'groff')
    def test_pages_of_profiles_are_clean(self):
        for page in sorted((self.share / 'man').glob('man[57]/*')):
            for tool in (('mandoc', '-T', 'lint', '-W', 'warning'),
                         ('groff', '-K', 'utf8', '-man', '-ww', '-z')):
                done = run(*tool, page)
                self.assertEqual((done.stdout + done.stderr, done.returncode), ('', 0))

    # Completion: each shell is asked as its user would.

    def bash(self, line):
        script = (f'source {self.share}/bash-completion/completions/{line.split()[0]}; '
                  f'COMP_LINE={shlex.quote(line)}; COMP_POINT=${{#COMP_LINE}}; '
                  f'COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); '
                  f'_longwire_{line.split()[0].replace("-", "_")}; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = run('bash', '-c', script, env=self.environment, cwd=self.share)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout.split()

    def test_bash(self):
        for line, offered in (('roce-gen pl', ['plan']), ('roce-gen run dem', ['demo']),
                              ('roce-gen plan --op=wr', ['write']),
                              ('roce-gen plan --op co', ['compare-swap']),
                              ('roce-impair run apn-380km --west lo', ['lo']),
                              ('roce-impair ctl x.sock loa', ['load']),
                              ('roce-dissect verify man/man', ['man/man1', 'man/man5', 'man/man7']),
                              ('roce-gen experiment x --out=longwire/p', ['longwire/profiles']),
                              ('roce-endpoint serve --dev', ['--device'])):
            with self.subTest(line):
                self.assertEqual(sorted(self.bash(line)), offered)
        self.assertIn('opcodes', self.bash('roce-gen '))

    @needs.tools('fish')
    def test_fish(self):
        for line, offered in (('roce-gen pl', ['plan']), ('roce-gen run dem', ['demo']),
                              ('roce-gen plan --op=wr', ['--op=write']),
                              ('roce-impair run apn-380km --west lo', ['lo']),
                              ('roce-dissect verify man/man', ['man/man1/', 'man/man5/', 'man/man7/'])):
            file = self.share / f'fish/vendor_completions.d/{line.split()[0]}.fish'
            self.assertEqual(run('fish', '-n', file).stderr, '')
            done = run('fish', '-c', f'source {file}; complete -C {shlex.quote(line)}',
                       env={**self.environment, 'HOME': str(self.root)}, cwd=self.share)
            words = [each.split('\t')[0] for each in done.stdout.splitlines()]
            self.assertEqual((words, done.stderr), (offered, ''), line)

    @needs.tools('zsh')
    def test_zsh(self):
        folder = self.share / 'zsh/site-functions'
        for name in PROGRAMS:
            self.assertEqual(run('zsh', '-n', folder / f'_{name}').stderr, '')
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.share)
            os.execvpe('zsh', ['zsh', '-f', '-i'], {**self.environment, 'TERM': 'xterm',
                                                    'COLUMNS': '200'})
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, signal.SIGKILL)

        def expect(text):
            seen, end = '', time.monotonic() + TIMEOUT
            while text not in seen:
                self.assertLess(time.monotonic(), end, f'no {text!r} in {seen!r}')
                if select.select([terminal], [], [], 1)[0]:
                    seen += re.sub(r'\x1b\[[\d;?]*[a-zA-Z]|[\0\b]', '',
                                   os.read(terminal, 65536).decode(errors='replace'))

        os.write(terminal, f'PS1="> "; fpath=({folder} $fpath); autoload -Uz compinit; compinit '
                           '-u -D; echo REA\\DY\n'.encode())
        expect('READY')
        for line, seen in (('roce-gen run dem', 'demo '), ('roce-gen plan --op=wr', '--op=write'),
                           ('roce-gen opc', 'opcodes'), ('roce-gen re', 'replay'),
                           ('roce-impair run apn-380km --west me', 'memif:'),
                           ('roce-dissect verify longwi', 'longwire/')):
            os.write(terminal, f'{line}\t'.encode())
            expect(seen)
            os.write(terminal, b'\x15')  # clears the line

    # The systemd unit.

    def unit(self):
        file = self.prefix / 'lib/systemd/system/longwire-impair@.service'
        return re.findall(r'^(\w+)=(.*)$', file.read_text(encoding='utf-8'), re.M)

    @needs.tools('systemd-analyze')
    def test_systemd_accepts_the_unit(self):
        file = self.prefix / 'lib/systemd/system/longwire-impair@.service'
        # It looks for the program where the unit will find it.
        text = file.read_text(encoding='utf-8')
        prefix = re.search(r'^ExecStart=(\S+)/bin/roce-impair', text, re.M)[1]
        copy = self.root / 'longwire-impair@test.service'
        copy.write_text(text.replace(f'={prefix}/bin', f'={self.bin}'), encoding='utf-8')
        done = run('systemd-analyze', 'verify', '--man=no', copy)
        if 'Failed to initialize manager' in done.stderr:
            needs.lacks('a file system for systemd-analyze', done.stderr)
        self.assertEqual((done.stderr, done.returncode), ('', 0))
        unit = dict(self.unit())
        for key, value in (('DynamicUser', 'yes'), ('NoNewPrivileges', 'yes'),
                           ('ProtectSystem', 'strict'), ('Type', 'notify'),
                           ('AmbientCapabilities', 'CAP_NET_RAW CAP_NET_ADMIN'),
                           ('CapabilityBoundingSet', 'CAP_NET_RAW CAP_NET_ADMIN')):
            self.assertEqual(unit[key], value)

    def interfaces(self):
        """Two interfaces that are up, each with a far end of its own."""
        names = [f'lw{os.getpid()}{end}' for end in 'we']
        for name in names:
            made = run('ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', f'{name}p')
            if made.returncode != 0:
                needs.lacks('veth interfaces', made.stderr)
            self.addCleanup(run, 'ip', 'link', 'del', name)
            for each in name, f'{name}p':
                run('ip', 'link', 'set', each, 'up', check=True)
        return names

    def states(self, notified, count):
        """The next messages to the service manager."""
        got = []
        for _ in range(count):
            self.assertTrue(select.select([notified], [], [], TIMEOUT)[0], f'only {got}')
            got.append(notified.recv(4096).decode())
        return got

    def started(self, notified, environment):
        """The unit's service as systemd starts it: ExecStart and ExecReload, as words. Its folders
        are temporary, its user is nobody, and it has the unit's capabilities."""
        unit, top = dict(self.unit()), self.root / 'etc'
        folder = self.root / 'run'
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        settings = {**environment, 'XDG_RUNTIME_DIR': str(folder),
                    'NOTIFY_SOCKET': f'@{notified}'}
        capabilities = ','.join('+' + name.removeprefix('CAP_').lower()
                                for name in unit['AmbientCapabilities'].split())
        words = {}
        for key in 'ExecStart', 'ExecReload':
            line = unit[key].replace('%t/longwire-impair-%i', str(folder)).replace(
                '/etc/longwire', str(top)).replace('%i', 'test').replace('$OPTIONS', '--json')
            program, *rest = shlex.split(line)
            rest = [re.sub(r'\$\{(\w+)\}', lambda found: settings[found[1]], word)
                    for word in rest]
            words[key] = [self.bin / pathlib.Path(program).name, *rest]
        privileges = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups',
                      '--no-new-privs', f'--bounding-set=-all,{capabilities}',
                      f'--inh-caps=-all,{capabilities}', f'--ambient-caps=-all,{capabilities}']
        return begin(self, [*privileges, *words['ExecStart']], env=settings,
                     cwd=folder), words['ExecReload']

    @needs.root('interfaces and another user')
    @needs.tools('setpriv')
    def test_the_service_runs_with_two_capabilities_and_reloads(self):
        west, east = self.interfaces()
        profile = self.root / 'etc/test.toml'
        profile.parent.mkdir()
        profile.write_text('[[rule]]\nname = "r"\ndelay = "2ms"\n', encoding='utf-8')
        name = f'longwire-{os.getpid()}'
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            notified.bind('\0' + name)
            process, reload_words = self.started(
                name, {**self.environment, 'WEST': west, 'EAST': east})
            if not select.select([notified], [], [], TIMEOUT)[0]:
                process.kill()
                self.fail(process.communicate()[1])
            self.assertEqual(self.states(notified, 1), ['READY=1\nSTATUS=forwarding'])
            status = pathlib.Path(f'/proc/{process.pid}/status').read_text(encoding='ascii')
            self.assertEqual(set(re.findall(r'^Cap(?:Prm|Eff|Bnd|Amb):\t(\w+)', status, re.M)),
                             {f'{1 << 12 | 1 << 13:016x}'})
            self.assertRegex(status, r'Uid:\t65534\t65534')
            profile.write_text('[[rule]]\nname = "r"\ndelay = "1ms"\n', encoding='utf-8')
            done = run(*reload_words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('1 ms', done.stdout)
            begun, ended = self.states(notified, 2)
            self.assertRegex(begun, r'^RELOADING=1\nMONOTONIC_USEC=\d+$')
            self.assertEqual(ended, 'READY=1')
            profile.write_text('[[rule]]\nname = "r"\ndelay = "1mm"\n', encoding='utf-8')
            done = run(*reload_words)
            self.assertEqual(done.returncode, 2)
            self.assertIn('test.toml:3:9: delay: expected', done.stderr)
            self.states(notified, 2)
            process.send_signal(signal.SIGTERM)
            self.assertEqual(self.states(notified, 1), ['STOPPING=1'])
            out, err = process.communicate(timeout=TIMEOUT)
            self.assertIn(process.returncode, (0, 1), err)  # on a busy machine frames are late
            self.assertTrue(json.loads(out)['identity_holds'])

    @needs.root('interfaces')
    def test_what_hinders_a_run_is_named_with_the_remedy(self):
        west, east = self.interfaces()
        words = [self.bin / 'roce-impair', 'run', 'apn-89km', '--west', west, '--east', east,
                 '--wait-link', '300ms']
        run('ip', 'link', 'set', f'{west}p', 'down', check=True)
        self.assertIn(f'port `{west}`: no link within 300 ms: the interface has no carrier: is the '
                      'other end up?', run(*words).stderr)
        run('ip', 'link', 'set', west, 'down', check=True)
        self.assertIn(f'port `{west}`: no link within 300 ms: the interface is down: ip link set '
                      f'dev {west} up\n', run(*words).stderr)
        done = run('setpriv', '--bounding-set=-net_raw', '--inh-caps=-net_raw', *words)
        self.assertEqual(done.returncode, 3)
        self.assertIn('needs root, or CAP_NET_RAW: `sudo setcap ', done.stderr)
        with socket.create_server(('127.0.0.1', 0)) as taken:
            port = taken.getsockname()[1]
            name = pathlib.Path('/proc/self/comm').read_text(encoding='utf-8').strip()
            done = run(self.bin / 'roce-impair', 'run', 'apn-89km', '--west', 'null', '--east',
                       'null', '--duration', '1s', '--metrics', f'127.0.0.1:{port}')
            self.assertEqual(done.returncode, 3)
            self.assertIn(f'127.0.0.1:{port}: {name} (process {os.getpid()}) listens there: end it, or '
                          'choose another port', done.stderr)

    def test_readiness_goes_to_a_named_socket_too(self):
        profile = self.root / 'named.toml'
        profile.write_text('[[rule]]\nname = "r"\n', encoding='utf-8')
        path = self.root / 'notify'
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
            notified.bind(str(path))
            process = begin(self, [self.bin / 'roce-impair', 'run', profile, '--west', 'net_ring0',
                                   '--east', 'net_ring1'],
                            env={**self.environment, 'NOTIFY_SOCKET': str(path)})
            self.assertEqual(self.states(notified, 1), ['READY=1\nSTATUS=forwarding'])
            process.send_signal(signal.SIGTERM)
            self.assertEqual(self.states(notified, 1), ['STOPPING=1'])
            process.communicate(timeout=TIMEOUT)


if __name__ == '__main__':
    longwire_test.main()
