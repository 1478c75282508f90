# SPDX-License-Identifier: BSD-3-Clause
"""Our own packet-socket port against DPDK's af_packet driver: roce-impair between two veth links, in
one direction, as many frames as it takes. The two drivers alternate; each line is the median of the
rounds, in frames per second of the box's CPU time, so that what the sender and other programs take
of the machine doesn't count.

  port_bench.py [--rounds N] [--seconds S] [--json FILE]

Exit 1 when our own port is slower: a ratio below 1 less NOISE. Needs root."""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get('LONGWIRE_BUILD', SOURCE / 'build'))
IMPAIR, GEN = BUILD / 'impair' / 'roce-impair', BUILD / 'gen' / 'roce-gen'
SUFFIX = os.getpid()
HOSTS = (f'lwb{SUFFIX}w', f'lwb{SUFFIX}e')
NOISE = 0.05


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


def measure(prefix, size, seconds, folder):
    """(frames per CPU second of the box, frames per second)."""
    profile, flows = folder / 'p.toml', folder / 'f.toml'
    profile.write_text('[[rule]]\nname = "r"\ndelay = "0ms"\n')
    flows.write_text(f'[[flow]]\nmessage_size = {size}\nrate = "9Gb/s"\nrepeat = "forever"\n')
    box = subprocess.Popen([IMPAIR, 'run', profile, '--west', f'{prefix}{HOSTS[0]}m', '--east',
                            f'{prefix}{HOSTS[1]}m', '--json'],
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    sender = None
    try:
        for line in box.stderr:
            if 'ready' in line:
                break
        sender = subprocess.Popen(['ip', 'netns', 'exec', HOSTS[0], GEN, 'run', flows, '--port',
                                   'far', '--quiet'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = forwarded()
        while forwarded() < before + 1000:  # it has begun
            if sender.poll() is not None:
                raise SystemExit(f'roce-gen ended: {sender.returncode}')
            time.sleep(0.1)
        frames, spent, began = forwarded(), cpu_seconds(box.pid), time.monotonic()
        time.sleep(seconds)
        frames, spent = forwarded() - frames, cpu_seconds(box.pid) - spent
        return frames / spent, frames / (time.monotonic() - began)
    finally:
        for process in (sender, box):
            if process:
                process.send_signal(signal.SIGTERM)
                process.wait(30)
        box.stderr.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--seconds', type=float, default=2)
    parser.add_argument('--json')
    options = parser.parse_args()
    if os.geteuid() != 0:
        print('port_bench: skipped: needs root for network namespaces')
        return 0
    results, slower = {}, False
    with tempfile.TemporaryDirectory() as holder:
        try:
            links()
            for size in (16, 1024, 4096):
                rates = {'': [], 'af_packet:': []}
                for _ in range(options.rounds):
                    for prefix, found in rates.items():
                        found.append(measure(prefix, size, options.seconds, pathlib.Path(holder)))
                (own, own_rate), (old, old_rate) = (
                    [statistics.median(column) for column in zip(*found)]
                    for found in rates.values())
                ratio = own / old
                slower |= ratio < 1 - NOISE
                results[size] = {'own': own, 'af_packet': old, 'ratio': ratio, 'own_rate': own_rate,
                                 'af_packet_rate': old_rate}
                print(f'payload {size:>5} B: own port {own / 1e3:8.1f} k frames per CPU second, '
                      f'af_packet {old / 1e3:8.1f} k: ratio {ratio:.2f}; forwarded '
                      f'{own_rate / 1e3:.1f} k and {old_rate / 1e3:.1f} k frames/s', flush=True)
        finally:
            remove_links()
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results) + '\n')
    if slower:
        print('port_bench: our own port is slower than af_packet')
    return 1 if slower else 0


if __name__ == '__main__':
    sys.exit(main())
