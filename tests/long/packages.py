# SPDX-License-Identifier: BSD-3-Clause
"""The Debian packages of ./dev package in a clean root, which mmdebstrap makes: installed, used and
purged. Needs root and Debian's mirror; ./dev package --test runs it."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

import longwire_test
from longwire_test import BUILD, SOURCE

TIMEOUT = 900
STEPS = 60  # of a new user, at least
# What programs need in a root: DPDK reads the cores from /sys.
MOUNTS = 'mount -t proc proc "$0/proc" && for f in dev sys; do mount --rbind /$f "$0/$f"; done && '
# What apt, dpkg, ldconfig and systemd's tools write themselves, whatever package comes or goes.
NOT_OURS = ('dev/', 'proc/', 'run/', 'sys/', 'tmp/', 'var/cache/', 'var/lib/apt/', 'var/lib/dpkg/',
            'var/log/', 'etc/ld.so.cache')


@contextlib.contextmanager
def said(what):
    """Prints how long it took, for the manual: a machine's load decides, so no test judges it."""
    began = time.monotonic()
    yield
    print(f'# {what} within {time.monotonic() - began:.1f} s', flush=True)


class Packages(unittest.TestCase):
    """One root for all steps, which follow each other."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix='longwire-')
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name, 'root')

    def run_it(self, *words, **settings):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              timeout=TIMEOUT, **settings)
        self.assertEqual(done.returncode, 0, f'{words}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}')
        return done

    def inside(self, *words):
        """A command in the root, with /proc, in namespaces of its own; the network stays."""
        return self.run_it('unshare', '--mount', '--pid', '--fork', 'sh', '-c',
                           MOUNTS + 'exec chroot "$0" "$@"', self.root, *words,
                           env={**os.environ, 'DEBIAN_FRONTEND': 'noninteractive', 'HOME': '/root',
                                'PATH': '/usr/sbin:/usr/bin:/sbin:/bin'})

    def files(self):
        names = {str(path.relative_to(self.root)) for path in self.root.rglob('*')
                 if path.is_symlink() or not path.is_dir()}
        return {name for name in names if not name.startswith(NOT_OURS)}

    def test_they_are_installed_used_and_purged(self):
        packages = sorted(BUILD.glob('longwire*.deb'), reverse=True)
        self.assertEqual([package.name.split('_')[0] for package in packages],
                         ['longwire', 'longwire-mpi', 'longwire-doc'])
        programs, module, manuals = packages
        depends = {package: self.run_it('dpkg-deb', '-f', package, 'Depends').stdout for package in packages}
        self.assertNotIn('mpi', depends[programs])
        self.assertIn('libopenmpi', depends[module])  # 130 packages: it is not installed here
        self.run_it('mmdebstrap', '--variant=apt', '--include=systemd,iproute2,iputils-ping', 'bookworm', self.root)
        before = self.files()
        for package in (programs, manuals):
            self.run_it('cp', package, self.root / 'tmp')
        self.inside('apt-get', 'update', '-q')
        began = time.monotonic()
        with said('installed'):
            self.inside('apt-get', 'install', '-q', '-y', '--no-install-recommends',
                        *(f'/tmp/{package.name}' for package in (programs, manuals)))
        installed = time.monotonic() - began
        self.assertTrue((self.root / 'etc/longwire').is_dir())
        self.follow_the_guides(installed)
        self.check_programs()
        verified = self.inside('systemd-analyze', 'verify', '--man=no',
                               '/lib/systemd/system/longwire-impair@.service')
        self.assertNotIn('longwire', verified.stderr)
        self.inside('apt-get', 'purge', '-q', '-y', 'longwire', 'longwire-doc')
        self.inside('apt-get', 'autoremove', '-q', '-y', '--purge')
        self.assertEqual(self.files() - before, set())
        self.assertFalse((self.root / 'etc/longwire').exists())
        self.assertFalse((self.root / 'usr/share/longwire').exists())

    def follow_the_guides(self, installed):
        """What a new user types, from the installation, which took `installed` s, to a measured path, an
        explained pair of captures and a reproduced table: the commands of the pages verbatim, in empty
        folders; each prints what its page shows. Programs find what is installed by /proc/self/exe."""
        steps, seconds = 1, installed
        for name in 'start_guide.py', 'guides.py':
            done = self.run_it('unshare', '--mount', 'sh', '-c', MOUNTS + 'exec "$@"', self.root,
                               sys.executable, SOURCE / 'tests' / 'e2e' / name,
                               env={**os.environ, 'LONGWIRE_START_ROOT': str(self.root)})
            for line in done.stdout.splitlines():
                if line.startswith('# '):
                    print(line, flush=True)
                if of_page := re.match(r'# (\S+\.md): (\d+) steps in ([\d.]+) s', line):
                    steps, seconds = steps + int(of_page[2]), seconds + float(of_page[3])
        print(f'# {steps} steps of a new user in {seconds:.0f} s', flush=True)
        self.assertGreaterEqual(steps, STEPS)

    def check_programs(self):
        version = (SOURCE / 'meson.build').read_text(encoding='utf-8').split("version: '")[1]
        version = version.split("'")[0]
        for name in 'roce-gen', 'roce-endpoint', 'roce-impair', 'roce-dissect':
            shown = self.inside(name, '--version').stdout
            self.assertTrue(shown.startswith(f'{name} {version}\ncommit '), shown)
        listed = [json.loads(line) for line in
                  self.inside('roce-gen', 'profiles', '--json').stdout.splitlines()]
        self.assertEqual({profile['path'].rsplit('/', 2)[0] for profile in listed},
                         {'/usr/share/longwire/profiles'})
        self.inside('roce-gen', 'run', 'demo', '--pcap', '/tmp/near.pcap')
        self.inside('roce-impair', 'replay', 'apn-380km', '/tmp/near.pcap', '/tmp/far.pcap')
        compared = self.inside('roce-dissect', 'compare', '/tmp/near.pcap', '/tmp/far.pcap',
                               '--delay', '1903.5us', '--loss', '0.1%')
        self.assertIn('within the interval', compared.stdout)
        # The captures of the reference, and the manual as a web site.
        self.inside('sh', '-c', 'cd /usr/share/doc/longwire && roce-dissect explain pcaps/rxe/atomic.pcap')
        self.assertTrue((self.root / 'usr/share/doc/longwire/html/index.html').exists())
        # Ports: DPDK's drivers are there.
        self.inside('roce-gen', 'run', 'demo', '--port', 'null', '--duration', '100ms', '--quiet')
        self.inside('roce-impair', 'run', *longwire_test.ANY_LATENESS, 'apn-380km', '--west', 'pcap:/tmp/near.pcap',
                    '--east', 'null', '--until-idle', '1s', '--json')


if __name__ == '__main__':
    longwire_test.main()
