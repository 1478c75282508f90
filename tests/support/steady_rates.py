# SPDX-License-Identifier: BSD-3-Clause
"""How often the interval of `sim`'s steady rate holds the long-run mean."""

import concurrent.futures
import json
import os
import subprocess

import longwire_test

GEN = longwire_test.program('roce-gen')
LONG_RUNS, LONGER = 4, 20  # runs for the mean, each so many times as long as the first one
# Losses that cost round trips, and losses that wait for a timer, which are rare and long.
CONFIGURATIONS = (
    '-s 4096 -t 16 --delay 50us --loss 1% --timeout 10',
    '-s 65536 -q 4 -t 32 --delay 100us --rate 25Gb/s --loss 0.2% --timeout 12',
    '--op send -s 8KiB --mtu 1024 -t 8 --delay 20us --loss 0.5% --timeout 9 --selective-repeat',
    '--op read -s 4096 -q 2 -t 16 --delay 50us --loss 0.5% --timeout 11',
    '--op atomic -q 3 -t 4 --delay 30us --loss 1% --timeout 14',
    '-s 2048 -t 4 --delay 10us --loss 1% --timeout 16 --adaptive')


def run(options, seed, *more):
    done = subprocess.run([GEN, 'sim', *options.split(), '--seed', str(seed), *more,
                           '--json'], capture_output=True, text=True, timeout=600, check=True)
    return json.loads(done.stdout)


def held(options, seeds):
    """In how many runs of so many seeds the interval holds the mean, which is that of longer runs
    with other seeds, from their first post to their end."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = list(pool.map(lambda seed: run(options, seed), range(1, seeds + 1)))
        length = f"{LONGER * runs[0]['elapsed_ns']}ns"
        others = pool.map(lambda seed: run(options, seed, '--duration', length),
                          range(100_001, 100_001 + LONG_RUNS))
        mean = sum(each['bw_average_gbps'] for each in others) / LONG_RUNS
    inside = sum(each['bw_steady_low_gbps'] <= mean <= each['bw_steady_high_gbps'] for each in runs)
    print(f'# {inside} of {seeds} intervals hold {mean:.5g} Gb/s: {options}', flush=True)
    return inside
