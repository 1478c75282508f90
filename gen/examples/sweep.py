#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sweeps the message size and prints what came through: an example of driving roce-gen.

    ./sweep.py --port eth1 --receive eth2 --sizes 64 1024 4096 --rate 10Gb/s --seconds 2

Each step gives roce-gen a profile on its standard input and reads one line of JSON from it.
Needs nothing but Python.
"""

import argparse
import json
import subprocess
import sys

PROFILE = '''
[[flow]]
name = "sweep"
operation = "write"
mtu = 4096
message_size = {size}
rate = "{rate}"
repeat = "forever"
signature = true

[expect]
loss = 0
'''


def measure(options, size):
    """One run: roce-gen's report. Exit code 1 says that a bound didn't hold, and isn't an error."""
    command = [options.gen, 'run', '-', '--json', '--quiet', '--duration', f'{options.seconds}s']
    command += ['--port', options.port, '--receive', options.receive]
    result = subprocess.run(command, input=PROFILE.format(size=size, rate=options.rate),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode not in (0, 1):
        sys.exit(f'{" ".join(command)}\n{result.stderr}')
    return json.loads(result.stdout)


def row_of(size, report):
    sent = report['flows'][0]
    came = next((flow for flow in report['received']['flows'] if flow['signed']), None)
    lost = came['lost'] if came else sent['frames']
    latency = came['latency_ns'] if came else {'p50': 0, 'p99': 0, 'max': 0}
    gigabits = 8 * sent['bytes'] / report['elapsed_ns'] if report['elapsed_ns'] else 0
    return {'size': size, 'frames': sent['frames'], 'Gb/s': round(gigabits, 3), 'lost': lost,
            'p50 us': latency['p50'] / 1000, 'p99 us': latency['p99'] / 1000,
            'max us': latency['max'] / 1000}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--gen', default='roce-gen', help='the program')
    parser.add_argument('--port', required=True, help='where to send')
    parser.add_argument('--receive', required=True, help='where it comes back; may be the same')
    parser.add_argument('--sizes', type=int, nargs='+', default=[64, 256, 1024, 4096, 65536],
                        help='of messages, bytes; at least 24, as a signature is')
    parser.add_argument('--rate', default='1Gb/s')
    parser.add_argument('--seconds', type=float, default=1)
    parser.add_argument('--json', action='store_true', help='rows of JSON in place of the table')
    options = parser.parse_args()
    lossless = True
    for number, size in enumerate(options.sizes):
        row = row_of(size, measure(options, size))
        lossless = lossless and row['lost'] == 0
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        if number == 0:
            print(''.join(f'{title:>12}' for title in row))
        print(''.join(f'{value:>12}' for value in row.values()), flush=True)
    return 0 if lossless else 1


if __name__ == '__main__':
    sys.exit(main())
