#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two guests with soft-RoCE, and roce-impair between them; needs root, but neither KVM nor
hugepages. All of it is in a network namespace of its own and ends with this process.

    tests/e2e/rxe/guests.py [--impair PROFILE] [--vhost] [--capture FOLDER] STEP...

A STEP is one of these; without one, steps are read from standard input:

    a: COMMAND                  runs it in guest a (192.168.77.1, fd00:77::1)
    b: COMMAND                  in guest b (192.168.77.2, fd00:77::2)
    h: COMMAND                  on this machine, in the guests' network namespace
    ib_write_lat -n 100         a program of perftest: server in a, client in b
    pair: SERVER || CLIENT      SERVER in a, and CLIENT in b as soon as the server listens

Without --impair, the guests' taps are joined by a Linux bridge. In tests:

    with guests.Guests() as lab, lab.impair('apn-380km') as box:
        pair = lab.perftest('ib_write_lat -n 100 -s 8')
    report = box.report
"""

import argparse
import base64
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / 'support')]

# pylint: disable=wrong-import-position
import guest_image
import longwire_test
import needs
import pcap_file

CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None, use_errno=True)
BOOT_LIMIT = 120  # seconds
MTU = 4200  # RoCE's largest, 4096, and its headers
ADDRESSES = {'a': ('192.168.77.1', 'fd00:77::1'), 'b': ('192.168.77.2', 'fd00:77::2'),
             'host': ('192.168.77.254', 'fd00:77::fe')}
NO_QEMU = os.environ.get('LONGWIRE_NO_QEMU', '') != ''


def needed(test):
    """Decorator of what needs guests."""
    return unittest.skipIf(NO_QEMU, 'needs guests: unset LONGWIRE_NO_QEMU')(needs.root('network namespaces')(test))


KERNEL = ('console=ttyS0 quiet mitigations=off nokaslr panic=-1 tsc=reliable random.trust_cpu=on '
          'clocksource=tsc no_timer_check audit=0 selinux=0 apparmor=0')


RPING_CLOSED = ['client DISCONNECT EVENT...', 'rdma_get_cm_event: Bad file descriptor']


class GuestError(Exception):
    """What did not come up or did not answer, with what it said."""


def die_with_us():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def own_network():
    """Moves this process into a network namespace of its own, once."""
    if own_network.done:
        return
    if os.geteuid() != 0:
        raise GuestError('guests need root, for a network namespace of their own')
    if LIBC.unshare(CLONE_NEWNET) != 0:
        raise GuestError(f'no network namespace: {os.strerror(ctypes.get_errno())}')
    own_network.done = True
    ip('link set lo up')


own_network.done = False


def ip(words):
    done = subprocess.run(['ip', *words.split()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise GuestError(f'ip {words}: {done.stderr.strip()}')


def no_ipv6(interface):
    """The kernel shall send nothing of its own on an interface."""
    path = pathlib.Path(f'/proc/sys/net/ipv6/conf/{interface}/disable_ipv6')
    if path.exists():
        path.write_text('1')


def can_be_real_time():
    return subprocess.run(['chrt', '-f', '10', 'true'], capture_output=True,
                          check=False).returncode == 0


def end(process, first=signal.SIGTERM, patience=10):
    if process.poll() is None:
        process.send_signal(first)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    return process.wait()


class Guest:
    """A machine under software emulation; run() may be called by several threads. `devices` are
    words for QEMU, `kernel_words` for the kernel's command line. vhost-user needs shared memory. Memory
    that is not shared is in large pages, with which a guest answers sooner. With `virtual_time`, an
    instruction takes 1 ns of the guest's time, and what waits, none of ours: what a guest measures
    does not depend on how busy this machine is."""

    def __init__(self, name, folder, devices, memory_mib, kernel, initrd, cpu='Westmere',
                 kernel_words='', shared_memory=False, virtual_time=False):
        self.name, self._folder = name, folder
        self._log = folder / f'{name}.console'
        self._answers, self._told, self._number = {}, threading.Condition(), 0
        self._gone = False
        control = folder / f'{name}.commands'
        memory = 'memory-backend-memfd,share=on' if shared_memory else 'memory-backend-ram'
        time_words = (['tcg,thread=single', '-icount', 'shift=0,sleep=off'] if virtual_time
                      else ['tcg,thread=multi'])
        self._process = subprocess.Popen(
            ['qemu-system-x86_64', '-M', 'q35', '-accel', *time_words, '-cpu', cpu,
             '-m', str(memory_mib),
             '-object', f'{memory},id=ram,size={memory_mib}M',
             '-machine', 'memory-backend=ram', '-nodefaults', '-no-user-config', '-no-reboot',
             '-display', 'none', '-name', f'{name},debug-threads=on', '-kernel', kernel,
             '-initrd', initrd,
             '-append', f'{KERNEL} {kernel_words}',
             '-serial', f'file:{self._log}', '-device', 'virtio-serial-pci',
             '-chardev', f'socket,id=c0,path={control},server=on,wait=off',
             '-device', 'virtserialport,chardev=c0,name=commands', *devices],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=open(folder / f'{name}.qemu', 'wb'), preexec_fn=die_with_us)
        self._socket = self._connect(control)
        threading.Thread(target=self._listen, daemon=True).start()

    def _connect(self, path):
        until = time.monotonic() + 20
        while True:
            opened = socket.socket(socket.AF_UNIX)
            try:
                opened.connect(str(path))
                return opened
            except OSError:
                opened.close()
                if self._process.poll() is not None or time.monotonic() > until:
                    raise GuestError(f'guest {self.name}: QEMU did not start: '
                                     + (self._folder / f'{self.name}.qemu').read_text()) from None
                time.sleep(0.02)

    def _listen(self):
        """Takes answers until the guest ends."""
        with contextlib.suppress(OSError), self._socket.makefile('rb') as lines:
            for line in lines:
                number, code, *output = line.decode().split()
                with self._told:
                    self._answers[number] = (
                        int(code), base64.b64decode(''.join(output)).decode(errors='replace'))
                    self._told.notify_all()
        with self._told:
            self._gone = True
            self._told.notify_all()

    def console(self):
        return self._log.read_text(errors='replace')[-3000:] if self._log.exists() else ''

    def _answer(self, number, timeout):
        """The answer to a command, or None after the time."""
        with self._told:
            self._told.wait_for(lambda: number in self._answers or self._gone, timeout)
            if number in self._answers:
                return self._answers[number]
            if self._gone:
                raise GuestError(f'guest {self.name} has ended; its console:\n{self.console()}')
        return None

    def wait_until_up(self):
        if self._answer('ready', BOOT_LIMIT) is None:
            raise GuestError(f'guest {self.name} did not boot within {BOOT_LIMIT} s:\n'
                             + self.console())

    def begin(self, command):
        """Runs a command beside others; returns a Job."""
        with self._told:
            self._number += 1
            number = str(self._number)
        self._socket.sendall(f'{number} {base64.b64encode(command.encode()).decode()}\n'.encode())
        return Job(self, number, command)

    def run(self, command, timeout=60):
        """(exit code, output) of a command. GuestError if it takes longer than `timeout` s."""
        return self.begin(command).wait(timeout)

    def check(self, command, timeout=60):
        """The output of a command that must succeed."""
        code, output = self.run(command, timeout)
        if code != 0:
            raise GuestError(f'guest {self.name}: {command}: exit code {code}:\n{output}')
        return output

    def prefer(self, preferred):
        """Real-time priority for the guest's devices, and a lower one for its CPU, both on a CPU of
        this machine that is not the other guest's; or none."""
        cpus = sorted(os.sched_getaffinity(0))
        own = cpus[1 if self.name == 'b' and len(cpus) > 1 else 0]
        for task in pathlib.Path(f'/proc/{self._process.pid}/task').iterdir():
            priority = 5 if 'CPU' in (task / 'comm').read_text() else 7
            os.sched_setaffinity(int(task.name), [own] if preferred else cpus)
            os.sched_setscheduler(int(task.name),
                                  os.SCHED_FIFO if preferred else os.SCHED_OTHER,
                                  os.sched_param(priority if preferred else 0))

    def pause(self):
        """Stops the whole machine, its clock excepted."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def cpu_ns(self):
        """CPU time in ns that the guest's CPU has taken of this machine: none while it is idle."""
        return sum(int((task / 'schedstat').read_text().split()[0])
                   for task in pathlib.Path(f'/proc/{self._process.pid}/task').iterdir()
                   if 'CPU' in (task / 'comm').read_text())

    def counters(self):
        """The counters of rxe0."""
        words = self.check('rdma statistic show link rxe0/1').split()[2:]
        return {name: int(value) for name, value in zip(words[::2], words[1::2])}

    def end(self):
        end(self._process, signal.SIGKILL)
        self._socket.close()


class Job:
    """A command that runs in a guest."""

    def __init__(self, guest, number, command):
        self.guest, self.number, self.command = guest, number, command

    def wait(self, timeout=60):
        """(exit code, output). After `timeout` s the job is killed, and this is a GuestError."""
        answer = self.guest._answer(self.number, timeout)
        if answer is None:
            said = self.output()
            self.signal('KILL')
            raise GuestError(f'guest {self.guest.name}: {self.command}: not done after '
                             f'{timeout} s; it said:\n{said}')
        return answer

    def done(self):
        return self.guest._answer(self.number, 0) is not None

    def output(self):
        """What the job has said so far."""
        return self.guest.run(f'cat /run/out.{self.number}')[1]

    def wait_for(self, text, timeout=30):
        """Waits until the job has said `text`; returns all that it said."""
        until = time.monotonic() + timeout
        while text not in (said := self.output()):
            if self.done() or time.monotonic() > until:
                raise GuestError(f'guest {self.guest.name}: {self.command}: never said `{text}`, '
                                 f'but:\n{said}')
            time.sleep(0.1)
        return said

    def signal(self, name='TERM'):
        """Sends a signal to the job and all that it started."""
        self.guest.run(f'kill -{name} -$(cat /run/pid.{self.number})')

    def stop(self, name='INT', timeout=10):
        """(exit code, output) after a signal."""
        if not self.done():
            self.signal(name)
        return self.wait(timeout)


class Pair:
    """How a server and its client ended."""

    def __init__(self, server, client):
        self.server_code, self.server_output = server
        self.client_code, self.client_output = client

    @property
    def finished(self):
        return self.server_code == 0 and self.client_code == 0

    def __str__(self):
        return (f'client, exit code {self.client_code}:\n{self.client_output}\n'
                f'server, exit code {self.server_code}:\n{self.server_output}')


class Box:
    """A running roce-impair; `report` is its report once it has ended."""

    def __init__(self, lab, profile, options, real_time, ports):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix='box.', dir=lab.folder))
        if '\n' in profile:
            path = self.folder / 'profile.toml'
            path.write_text(profile)
            profile = path
        self.ledger, self.report, ready = self.folder / 'ledger.jsonl', None, self.folder / 'ready'
        before = ['chrt', '-f', '10'] if real_time and can_be_real_time() else []
        self._out, self._err = self.folder / 'out', self.folder / 'err'
        self._process = subprocess.Popen(
            [*before, *longwire_test.BOX, profile, '--west', ports[0],
             '--east', ports[1], '--json', '--ledger', self.ledger, '--ready-file', ready,
             *options],
            stdin=subprocess.DEVNULL, stdout=open(self._out, 'wb'), stderr=open(self._err, 'wb'),
            cwd=self.folder, preexec_fn=die_with_us)
        self._ready = ready

    def stay_on(self, cpu):
        """All threads on one CPU of this machine."""
        for task in pathlib.Path(f'/proc/{self._process.pid}/task').iterdir():
            os.sched_setaffinity(int(task.name), [cpu])

    def wait_until_ready(self, timeout=90):
        until = time.monotonic() + timeout
        while not self._ready.exists():
            if self._process.poll() is not None or time.monotonic() > until:
                raise GuestError('roce-impair did not start:\n' + self.said())
            time.sleep(0.02)

    def said(self):
        return self._err.read_text() + self._out.read_text()

    def stop(self):
        """Ends it; its report. GuestError unless its exit code is 0."""
        if self.report is None:
            code = end(self._process, patience=30)
            if code != 0:
                raise GuestError(f'roce-impair ended with {code}:\n{self.said()}')
            self.report = json.loads(self._out.read_text())
        return self.report

    def records(self):
        """The ledger's records of frames, once the box has ended."""
        lines = [json.loads(line) for line in self.ledger.read_text().splitlines()]
        return [line for line in lines if 'change' not in line]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            self.kill()

    def kill(self):
        end(self._process, signal.SIGKILL)


class Capture:
    """tcpdump on both taps, into the files `a` and `b`."""

    def __init__(self, folder, only='udp port 4791', taps=('tapA', 'tapB')):
        self.a, self.b = pathlib.Path(folder) / 'a.pcap', pathlib.Path(folder) / 'b.pcap'
        self._processes = [self._begin(tap, path, only)
                           for tap, path in zip(taps, (self.a, self.b))]

    @staticmethod
    def _begin(tap, path, only):
        # Without --immediate-mode the frames of the last second are lost at the end. Without -s, each
        # slot of tcpdump's ring has 256 KiB.
        process = subprocess.Popen(
            ['tcpdump', '--immediate-mode', '--time-stamp-precision=nano', '-Z', 'root', '-U',
             '-i', tap, '-s', '10000', '-B', '131072', '-w', path, *([only] if only else [])],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=die_with_us)
        said = ''
        while 'listening on' not in said:
            line = process.stderr.readline()
            if not line:
                raise GuestError(f'tcpdump on {tap}: {said}')
            said += line
        return process

    def stop(self):
        """Ends both; GuestError if they missed frames."""
        time.sleep(0.3)
        for process in self._processes:
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=20)[1]
            missed = re.search(r'(\d+) packets? dropped by kernel', said)
            if not missed or missed[1] != '0':
                raise GuestError(f'tcpdump missed frames: {said}')

    def frames(self):
        """The frames at a and those at b, as (ns, bytes)."""
        return pcap_file.read_pcap(self.a), pcap_file.read_pcap(self.b)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is None:
            self.stop()
        else:
            for process in self._processes:
                end(process)
        for process in self._processes:
            process.stderr.close()


class Guests:
    """Guests a and b with rxe0, on the taps tapA and tapB, or with `vhost` on sockets that
    roce-impair serves. With host=True there is only guest a, and this machine is the other end:
    the wire from tapB goes to the interface `far` with the address ADDRESSES['host']."""

    def __init__(self, vhost=False, host=False, memory_mib=384, programs=(), mtu=MTU, modules=()):
        self._folder = tempfile.TemporaryDirectory(prefix='guests.')
        self.folder = pathlib.Path(self._folder.name)
        self.vhost, self.host, self.mtu = vhost, host, mtu
        self.names = ['a'] if host else ['a', 'b']
        self._memory_mib = memory_mib
        self._programs = list(programs)
        self._modules = list(modules)
        endpoint = longwire_test.BUILD / 'gen' / 'roce-endpoint'
        if endpoint.exists():
            self._programs.append(endpoint)
        self._machines = {}

    @property
    def a(self):
        return self._machines['a']

    @property
    def b(self):
        return self._machines['b']

    def __enter__(self):
        try:
            self._start()
            return self
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        for machine in self._machines.values():
            machine.end()
        for name in ('tapA', 'tapB', 'bridge') if own_network.done else ():
            # /sys shows the first network namespace, so try; what is not there needs no removal.
            subprocess.run(['ip', 'link', 'del', name], capture_output=True, check=False)
        self._folder.cleanup()

    def sockets(self):
        """The ports of roce-impair with `vhost`."""
        return [f'vhost:{self.folder}/{name}.vhost' for name in 'ab']

    def _wires(self):
        for letter in 'AB'[:len(self.names)]:
            ip(f'tuntap add dev tap{letter} mode tap vnet_hdr')
        if self.host:
            ip('link add tapB type veth peer name far')
            ip(f'link set far mtu {self.mtu} up')
            ip(f"addr add {ADDRESSES['host'][0]}/24 dev far")
            ip(f"addr add {ADDRESSES['host'][1]}/64 dev far nodad")
        for letter in 'AB':
            no_ipv6(f'tap{letter}')
            ip(f'link set tap{letter} mtu {self.mtu} txqueuelen 4096 up')

    def _network(self, name, number):
        """QEMU's words for the guest's interface."""
        card = f'virtio-net-pci,netdev=n0,mac=52:54:00:77:00:0{number},rx_queue_size=1024'
        if not self.vhost:
            return ['-netdev', f'tap,id=n0,ifname=tap{name.upper()},script=no,downscript=no',
                    '-device', card]
        # With interrupts by messages, QEMU 7.2 crashes without KVM: vectors=0.
        return ['-chardev', f'socket,id=v0,path={self.folder}/{name}.vhost,reconnect=1',
                '-netdev', 'vhost-user,id=n0,chardev=v0,queues=1',
                '-device', card + ',tx_queue_size=1024,vectors=0']

    def _start(self):
        initrd = self.folder / 'initrd'
        kernel = guest_image.initrd_with(self._programs, False, initrd, self._modules)  # may download
        own_network()
        if not self.vhost:
            self._wires()
        for number, name in enumerate(self.names, 1):
            self._machines[name] = Guest(name, self.folder, self._network(name, number),
                                         self._memory_mib, kernel, initrd,
                                         shared_memory=self.vhost)
        for machine in self._machines.values():
            machine.wait_until_up()
        for number, machine in enumerate(self._machines.values(), 1):
            v4, v6 = ADDRESSES[machine.name]
            machine.check(f'''set -e
hostname {machine.name}
need virtio_net crc32_generic rdma_rxe ib_umad rdma_cm rdma_ucm
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
ip link set eth0 mtu {self.mtu} up
ip addr add {v4}/24 dev eth0
ip addr add {v6}/64 dev eth0 nodad
rdma link add rxe0 type rxe netdev eth0''', BOOT_LIMIT)

    @contextlib.contextmanager
    def bridge(self):
        """A Linux bridge between the taps."""
        ip('link add bridge type bridge stp_state 0 forward_delay 0 mcast_snooping 0')
        ip(f'link set bridge mtu {self.mtu} up')
        no_ipv6('bridge')
        for tap in ('tapA', 'tapB'):
            ip(f'link set {tap} master bridge')
        try:
            yield
        finally:
            ip('link del bridge')

    def begin_impair(self, profile, *options, real_time=True, queueing=True):
        """impair() that doesn't wait for the links. With `vhost` it must come before the guests,
        which boot only once their sockets are served."""
        suffix = ',qdisc' if queueing else ''
        ports = self.sockets() if self.vhost else [f'tapA{suffix}', f'tapB{suffix}']
        return Box(self, str(profile), options, real_time, ports)

    def impair(self, profile, *options, **settings):
        """roce-impair between the guests; a is in the west. `profile` is a name, a path or the text
        of a profile. With `queueing`, captures of the taps show what it sends. Its files are in
        the folder of the Box, in which it also runs."""
        box = self.begin_impair(profile, *options, **settings)
        try:
            box.wait_until_ready()
        except BaseException:
            box.kill()
            raise
        return box

    @contextlib.contextmanager
    def preferred(self):
        """Meanwhile the guests come before all but roce-impair on this machine's CPUs."""
        if not can_be_real_time():
            yield
            return
        for machine in self._machines.values():
            machine.prefer(True)
        try:
            yield
        finally:
            for machine in self._machines.values():
                machine.prefer(False)

    def capture(self, folder=None):
        return Capture(folder or tempfile.mkdtemp(prefix='capture.', dir=self.folder))

    def pair(self, server, client, timeout=60):
        """A server in a, and a client in b once the server listens; a Pair. GuestError if either
        takes longer than `timeout` s."""
        job = self.a.begin(f'exec {server}')
        code, _ = self.a.run(f'until [ -s /run/pid.{job.number} ]; do sleep 0.02; done; '
                             f'exec listening $(cat /run/pid.{job.number})', 40)
        if code != 0:
            return Pair(job.stop(), (None, 'not started, as the server does not listen'))
        try:
            ended = self.b.run(client, timeout)
        except GuestError as error:
            raise GuestError(f'{error}\nserver: {job.output()}') from None
        try:
            return Pair(job.wait(15), ended)
        except GuestError as error:
            return Pair((None, str(error)), ended)

    def perftest(self, words, timeout=60, gid=1):
        """A Pair of one of perftest's programs: `ib_write_lat -n 100`."""
        program, *options = words.split()
        common = f"{program} -d rxe0 -x {gid} -F {' '.join(options)}"
        address = ADDRESSES['a'][1 if gid == 2 and '-R' in options else 0]
        return self.pair(common, f'{common} {address}', timeout)

    def rping(self, options, address=ADDRESSES['a'][0], timeout=60):
        """A Pair of rping, which compares the data that come back."""
        pair = self.pair(f'rping -s -a {address} {options}', f'rping -c -V -a {address} {options}',
                         timeout)
        # After the last ping, one thread of rping may close what the other one waits for.
        if pair.client_output.splitlines() == RPING_CLOSED:
            pair.client_code = 0
        return pair

    def ping(self):
        """Waits until the guests reach each other, so that both know their addresses."""
        other = self.names[1] if len(self.names) > 1 else 'host'
        self.a.check(f'ping -c 1 -w 20 {ADDRESSES[other][0]}; ping -c 1 -w 20 '
                     f'{ADDRESSES[other][1]}')


def typical(pair):
    """The median in us of a latency test, of which it prints min, max and typical."""
    for line in pair.client_output.splitlines():
        figures = re.findall(r'[\d.]+', line)
        if re.match(r'\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+\s+[\d.]+', line):
            return float(figures[4])
    raise GuestError(f'no figures in:\n{pair}')


def each_latency(pair):
    """The latencies in us of a latency test with -U, in the order in which they were measured."""
    figures = [float(one) for one in
               re.findall(r'^\s*\d+,\s+([\d.]+)\s*$', pair.client_output, re.M)]
    if not figures:
        raise GuestError(f'no figures in:\n{pair}')
    return figures


def do_step(lab, step):
    kind, _, rest = step.partition(':')
    if kind in lab.names:
        code, said = getattr(lab, kind).run(rest, 3600)
        print(f'{said.rstrip()}\n[{code}]', flush=True)
    elif kind == 'h':
        done = subprocess.run(rest, shell=True, capture_output=True, text=True, check=False)
        print(f'{(done.stdout + done.stderr).rstrip()}\n[{done.returncode}]', flush=True)
    elif kind == 'pair':
        server, _, client = rest.partition('||')
        print(lab.pair(server.strip(), client.strip(), 3600), flush=True)
    else:
        print(lab.perftest(step, 3600), flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--impair', metavar='PROFILE', help='roce-impair between the guests')
    parser.add_argument('--vhost', action='store_true', help='its ports are vhost:SOCKET')
    parser.add_argument('--host', action='store_true',
                        help='only guest a; the interface `far` of this machine is the other end')
    parser.add_argument('--capture', metavar='FOLDER', help='captures of both taps')
    parser.add_argument('--program', action='append', default=[], help='file for the guests')
    parser.add_argument('--memory', type=int, default=384, metavar='MIB')
    parser.add_argument('steps', nargs='*')
    return parser.parse_args()


def main():
    chosen = arguments()
    if chosen.vhost and not chosen.impair:
        sys.exit('--vhost needs --impair')
    profile = chosen.impair
    if profile and os.path.exists(profile):
        profile = os.path.abspath(profile)
    lab = Guests(chosen.vhost, chosen.host, chosen.memory, chosen.program)
    box = None
    with contextlib.ExitStack() as stack:
        if profile:
            if chosen.vhost:
                box = lab.begin_impair(profile)
                stack.callback(box.kill)
            stack.enter_context(lab)
            if box is None:
                box = lab.impair(profile)
                stack.callback(box.kill)
        else:
            stack.enter_context(lab)
            stack.enter_context(lab.bridge())
        if chosen.capture:
            stack.enter_context(Capture(chosen.capture))
        for step in chosen.steps or map(str.strip, sys.stdin):
            print(f'# {step}', flush=True)
            if step:
                do_step(lab, step)
        if box:
            box.stop()
            print(box.said())


if __name__ == '__main__':
    try:
        main()
    except (GuestError, guest_image.ImageError) as problem:
        sys.exit(f'guests: {problem}')
