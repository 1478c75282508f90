# SPDX-License-Identifier: BSD-3-Clause
"""Our own packet-socket port against DPDK's af_packet driver: roce-impair between two veth links, in
one direction, as many frames as it takes. The two drivers alternate; rates are frames per second of
the box's CPU time, so that what the sender and other programs take of the machine doesn't count.
Needs root. bench.py runs it."""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

SUFFIX = os.getpid()
HOSTS = (f'lwb{SUFFIX}w', f'lwb{SUFFIX}e')
DRIVERS = {'own': '', 'af_packet': 'af_packet:'}


def ip(*words):
    subprocess.run(['ip', *words], check=True, capture_output=True)


def links():
    for name in HOSTS:
        ip('netns', 'add', name)
        ip('link', 'add', f'{name}m', 'type', 'veth', 'peer', 'name', 'far', 'netns', name)
        ip('link', 'set', f'{name}m', 'addrgenmode', 'none', 'mtu', '9000', 'up')
        ip('-n', name, 'link', 'set', 'far', 'addrgenmode', 'none', 'mtu', '9000', 'up')


def remove_links():
    for name in HOSTS:
        subprocess.run(['ip', 'link', 'del', f'{name}m'], check=False, capture_output=True)
        subprocess.run(['ip', 'netns', 'del', name], check=False, capture_output=True)


def forwarded():
    """Frames that the far end of the second link has received."""
    shown = subprocess.run(['ip', '-n', HOSTS[1], '-s', '-j', 'link', 'show', 'far'], check=True,
                           capture_output=True).stdout
    return json.loads(shown)[0]['stats64']['rx']['packets']


def cpu_seconds(pid):
    """What all threads of a process have had of a CPU."""
    return sum(int((task / 'schedstat').read_text().split()[0])
               for task in pathlib.Path(f'/proc/{pid}/task').iterdir()) / 1e9


def measure(settings, driver, size, folder):
    """Frames per CPU second of the box."""
    box_program, gen_program = (settings.program('impair', 'roce-impair'),
                                settings.program('gen', 'roce-gen'))
    prefix = DRIVERS[driver]
    profile, flows = folder / 'p.toml', folder / 'f.toml'
    profile.write_text('[[rule]]\nname = "r"\ndelay = "0ms"\n')
    flows.write_text(f'[[flow]]\nmessage_size = {size}\nrate = "9Gb/s"\nrepeat = "forever"\n')
    box = subprocess.Popen([box_program, 'run', profile, '--west', f'{prefix}{HOSTS[0]}m', '--east',
                            f'{prefix}{HOSTS[1]}m', '--json'],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    sender = None
    try:
        for line in box.stderr:
            if 'ready' in line:
                break
        sender = subprocess.Popen(['ip', 'netns', 'exec', HOSTS[0], gen_program, 'run', flows, '--port',
                                   'far', '--quiet'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = forwarded()
        while forwarded() < before + 1000:  # it has begun
            if sender.poll() is not None:
                raise SystemExit(f'roce-gen ended: {sender.returncode}')
            time.sleep(0.1)
        frames, spent = forwarded(), cpu_seconds(box.pid)
        time.sleep(settings.seconds)
        return (forwarded() - frames) / (cpu_seconds(box.pid) - spent)
    finally:
        for process in (sender, box):
            if process:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
        box.stderr.close()


def runs(settings, stack):
    """(names of figures, what measures them) in the order of a round: peers beside each other."""
    if os.geteuid() != 0:
        print('port: not measured: needs root for network namespaces', flush=True)
        return []
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix='longwire-')))
    stack.callback(remove_links)
    links()
    return [((f'{driver} {size}',),
             lambda driver=driver, size=size: measure(settings, driver, size, folder))
            for size in (16, 1024, 4096) for driver in DRIVERS]
