# SPDX-License-Identifier: BSD-3-Clause
"""Builds the kernel and the file system in memory that test guests boot, from Debian's packages:
the kernel's package is downloaded and unpacked, all other files are those of this machine. What is
built is kept in build/guest/, under a name that depends on the versions of all that goes in."""

import functools
import hashlib
import lzma
import os
import pathlib
import re
import shutil
import stat
import subprocess
import tempfile

import longwire_test

HERE = pathlib.Path(__file__).parent
KEPT = longwire_test.SOURCE / 'build' / 'guest'
DRIVERS = '/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0'
VERBS = '/usr/lib/x86_64-linux-gnu/libibverbs'

# What a guest has, by the package that it comes from.
PROGRAMS = {
    'busybox-static': ['busybox'],
    'dash': ['dash'],
    'ethtool': ['ethtool'],
    'ibverbs-utils': ['ibv_devices', 'ibv_devinfo', 'ibv_rc_pingpong', 'ibv_uc_pingpong',
                      'ibv_ud_pingpong'],
    'iproute2': ['ip', 'rdma', 'tc'],
    'nftables': ['nft'],
    'perftest': [f'ib_{verb}_{what}' for verb in ('write', 'send', 'read', 'atomic')
                 for what in ('lat', 'bw')],
    'util-linux': ['chrt', 'flock'],
    'rdmacm-utils': ['rcopy', 'rping', 'rstream', 'ucmatose', 'udaddy'],
}
FILES = {  # /etc/rxe.driver names the library that makes verbs of the kernel's soft-RoCE
    'ibverbs-providers': ['/etc/libibverbs.d/rxe.driver', f'{VERBS}/librxe-rdmav34.so'],
    'libgcc-s1': ['/lib/x86_64-linux-gnu/libgcc_s.so.1'],  # rping's pthread_exit() loads it
}
# Without a package of their own in the guest: they build and boot it.
TOOLS = {'kmod': ['depmod', 'modprobe'], 'qemu-system-x86': ['qemu-system-x86_64'],
         'dpkg': ['dpkg'], 'apt': ['apt-get', 'apt-cache']}
MODULES = ['virtio_pci', 'virtio_net', 'virtio_console', 'crc32_generic', 'rdma_rxe', 'ib_umad',
           'rdma_cm', 'rdma_ucm', 'sch_netem', 'sch_tbf', 'nf_tables', 'nft_reject_inet', 'veth', 'e1000e',
           'vmxnet3', 'vfio_iommu_type1', 'vfio_pci']
# DPDK's drivers of the PCI suite; each is loaded from DRIVERS.
DPDK = ['bus_pci', 'bus_vdev', 'mempool_ring', 'mempool_stack', 'net_e1000', 'net_memif',
        'net_null', 'net_pcap', 'net_ring', 'net_virtio', 'net_vmxnet3']


class ImageError(Exception):
    """What is missing, and the package that has it."""


def run(*words, **settings):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **settings)
    if done.returncode != 0:
        raise ImageError(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout}")
    return done.stdout


def find(name, package):
    """The path of a program of this machine."""
    path = shutil.which(name, path='/usr/bin:/usr/sbin:/bin:/sbin')
    if path is None:
        raise ImageError(f'guests need {name} of the package {package}, which is not installed; '
                         './dev setup installs it')
    return path


class Tree:
    """Files for a guest; as bytes, an archive that the kernel unpacks (newc). It also unpacks
    several archives in a row, so that one can be added to a kept one."""

    def __init__(self):
        self._entries = {}  # path without its first slash: (mode, content)

    def _put(self, path, mode, content=b''):
        parent = os.path.dirname(path)
        if parent and parent not in self._entries:
            self._put(parent, stat.S_IFDIR | 0o755)
        self._entries[path] = (mode, content)

    def folder(self, path):
        self._put(path.strip('/'), stat.S_IFDIR | 0o755)

    def link(self, path, target):
        self._put(path.strip('/'), stat.S_IFLNK | 0o777, target.encode())

    def file(self, path, content, mode=0o755):
        self._put(path.strip('/'), stat.S_IFREG | mode, content)

    def __contains__(self, path):
        return path.strip('/') in self._entries

    def copy(self, source):
        """A file of this machine where it really is, and the links by which it was named."""
        while True:
            folder = os.path.realpath(os.path.dirname(source))
            path = os.path.join(folder, os.path.basename(source))
            if path in self:
                return
            if not os.path.islink(path):
                self.file(path, pathlib.Path(path).read_bytes())
                return
            self.link(path, os.readlink(path))
            source = os.path.join(folder, os.readlink(path))

    def libraries(self, program):
        """What a program or a library is linked with."""
        listed = subprocess.run(['ldd', program], capture_output=True, text=True, check=False)
        missing = re.findall(r'(\S+) => not found', listed.stdout)
        if missing:
            raise ImageError(f"{program} needs {', '.join(missing)}, which this machine hasn't")
        for library in re.findall(r'/\S+\.so\S*', listed.stdout):
            self.copy(library)

    def program(self, source):
        """A program in /usr/bin, with its libraries."""
        self.file(f'usr/bin/{os.path.basename(source)}', pathlib.Path(source).read_bytes())
        self.libraries(source)

    def archive(self):
        parts = []
        for number, (path, (mode, content)) in enumerate(
                [*self._entries.items(), ('TRAILER!!!', (0, b''))], 1):
            name = path.encode() + b'\0'
            numbers = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
            head = b'070701' + b''.join(b'%08x' % n for n in numbers) + name
            parts += [head, bytes(-len(head) % 4), content, bytes(-len(content) % 4)]
        whole = b''.join(parts)
        return whole + bytes(-len(whole) % 512)


def kernel_package():
    """The name of Debian's current kernel package."""
    listed = run('apt-cache', 'depends', 'linux-image-amd64')
    found = re.search(r'Depends: (linux-image-\S+)', listed)
    if not found:
        raise ImageError('guests need a kernel: apt knows no package linux-image-amd64; '
                         'as root: apt-get update')
    return found[1]


def download_kernel(folder):
    """The kernel's package as a file in `folder`."""
    package = kernel_package()
    try:
        run('apt-get', 'download', '-qq', package, cwd=folder)
    except ImageError as error:
        raise ImageError(f'guests need the package {package}, which cannot be downloaded: '
                         f'{error}') from None
    return next(pathlib.Path(folder).glob('*.deb'))


def unpack_kernel():
    """The folder with the unpacked kernel package; downloads it the first time."""
    kept = sorted(KEPT.glob('linux-image-*'))
    if kept:
        return kept[-1]
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as folder:
        os.chmod(folder, 0o777)  # apt downloads as another user where it can
        try:
            deb = download_kernel(folder)
        except ImageError:
            if os.geteuid() != 0:
                raise
            run('apt-get', 'update', '-qq')  # its lists are missing, or too old
            deb = download_kernel(folder)
        run('dpkg', '-x', deb, f'{folder}/unpacked')
        place = KEPT / deb.stem
        try:
            os.rename(f'{folder}/unpacked', place)
        except OSError:
            if not place.exists():  # another process was not faster
                raise
    return place


def vmlinux(kernel):
    """The kernel as an ELF file: a guest that needn't unpack it boots ten seconds earlier."""
    packed = next((kernel / 'boot').glob('vmlinuz-*')).read_bytes()
    at = packed.find(b'\xfd7zXZ\0')
    while at >= 0:
        try:
            unpacked = lzma.LZMADecompressor().decompress(packed[at:])
            if unpacked.startswith(b'\x7fELF'):
                return unpacked
        except lzma.LZMAError:
            pass
        at = packed.find(b'\xfd7zXZ\0', at + 1)
    raise ImageError(f'{kernel}: no kernel packed by xz in it')


def add_modules(tree, kernel, modules=()):
    """The kernel's modules; /mod/need.NAME lists what NAME needs, in order."""
    version = next((kernel / 'lib/modules').iterdir()).name
    run(find('depmod', 'kmod'), '-b', kernel, version)
    for name in modules or MODULES:
        said = run(find('modprobe', 'kmod'), '-d', kernel, '-S', version, '--show-depends', name)
        paths = re.findall(r'^insmod (.+?\.ko\S*)', said, re.M)
        for path in paths:
            tree.file(f'mod/{os.path.basename(path)}', pathlib.Path(path).read_bytes())
        names = ''.join(os.path.basename(path) + '\n' for path in paths)
        tree.file(f'mod/need.{name}', names.encode())


def base(kernel):
    """What all guests have."""
    tree = Tree()
    for name in ('bin', 'sbin', 'usr/sbin'):
        tree.link(name, '/usr/bin')
    for name in ('lib', 'lib64'):
        tree.link(name, f'/usr/{name}')
    for name in ('proc', 'sys', 'dev', 'tmp', 'run', 'usr/bin', 'var'):
        tree.folder(name)
    tree.link('var/run', '/run')
    busybox = find('busybox', 'busybox-static')
    for applet in run(busybox, '--list').split():
        tree.link(f'usr/bin/{applet}', 'busybox')
    for package, names in PROGRAMS.items():
        for name in names:
            tree.program(find(name, package))
    tree.link('usr/bin/sh', 'dash')  # busybox's shell prefers its own ip and tc
    for package, paths in FILES.items():
        for path in paths:
            if not os.path.exists(path):
                raise ImageError(f'guests need {path} of the package {package}; ./dev setup '
                                 'installs it')
            tree.copy(path)
            tree.libraries(path)
    tree.file('etc/hosts', b'127.0.0.1 localhost\n')
    tree.file('etc/nsswitch.conf', b'hosts: files\n')
    tree.file('etc/passwd', b'root:x:0:0:root:/:/bin/sh\n')
    tree.file('etc/group', b'root:x:0:\n')
    for name in ('init', 'need', 'listening'):
        path = 'init' if name == 'init' else f'usr/bin/{name}'
        tree.file(path, (HERE / f'guest_{name}.sh').read_bytes())
    tree.link('usr/bin/modprobe', 'need')
    add_modules(tree, kernel)
    return tree


@functools.cache
def image():
    """(kernel, archive): paths of what is in all guests; builds them if anything is new."""
    for package, names in [*PROGRAMS.items(), *TOOLS.items()]:
        for name in names:
            find(name, package)
    kernel = unpack_kernel()
    packages = [*PROGRAMS, *FILES, *TOOLS]
    versions = run('dpkg-query', '-W', '-f', '${Package} ${Version}\n', *packages)
    scripts = [path.read_bytes() for path in sorted(HERE.glob('guest_*'))]
    key = hashlib.sha256(b'\0'.join([kernel.name.encode(), versions.encode(), *scripts]))
    folder = KEPT / key.hexdigest()[:16]
    if not folder.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as work:
            made = pathlib.Path(work) / 'made'
            made.mkdir()
            (made / 'vmlinux').write_bytes(vmlinux(kernel))
            (made / 'initrd').write_bytes(base(kernel).archive())
            try:
                made.rename(folder)
            except OSError:
                if not folder.exists():  # another process was not faster
                    raise
        for old in KEPT.glob('?' * 16):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)
    return folder / 'vmlinux', folder / 'initrd'


def netem_distributions():
    """The files with distributions of delays that tc gives to netem."""
    folders = (pathlib.Path(path) for path in run('dpkg', '-L', 'iproute2').split()
               if path.endswith('/tc'))
    found = [str(path) for folder in folders for path in sorted(folder.glob('*.dist'))]
    if not found:
        raise ImageError('guests need normal.dist of the package iproute2; ./dev setup installs it')
    return found


def add_dpdk(tree):
    """DPDK's drivers, as links to the files that the programs are linked with."""
    for name in DPDK:
        path = f'{DRIVERS}/librte_{name}.so'
        if not os.path.exists(path):
            raise ImageError(f'guests need {path}; expected DPDK 22.11 of Debian 12')
        tree.copy(path)
        tree.libraries(path)


def initrd_with(programs, dpdk, path, modules=()):
    """Writes to `path` what a guest boots: the files of all guests, the given programs with their
    libraries, the shipped layouts of records, further modules of the kernel and, if `dpdk`, DPDK's drivers for
    PCI devices. Returns the kernel's path."""
    kernel, archive = image()
    tree = Tree()
    for program in programs:
        tree.program(program)
    for layout in (longwire_test.SOURCE / 'profiles' / 'telemetry').glob('*.toml'):
        tree.file(f'usr/share/longwire/profiles/telemetry/{layout.name}', layout.read_bytes())
    if dpdk:
        add_dpdk(tree)
    if modules:
        add_modules(tree, unpack_kernel(), modules)
    with open(path, 'wb') as out:
        with open(archive, 'rb') as kept:
            shutil.copyfileobj(kept, out)
        out.write(tree.archive())
    return kernel
