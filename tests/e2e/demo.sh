#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# ./dev demo: four real processes. roce-gen sends four flows through roce-impair, which is 380 km
# of all-photonic network with 0.1 % loss; the far side is captured; roce-dissect explains both
# captures. No root, no hugepages, no NIC: the processes are joined by memif.
set -euo pipefail
build=$(readlink -f "${1:-build}")
cd "$(dirname "$(readlink -f "$0")")/../.."
verdict=$PWD/tests/e2e/demo_verdict.py
gen=$build/gen/roce-gen impair=$build/impair/roce-impair dissect=$build/dissect/roce-dissect

work=$(mktemp -d)
made=({near,far}.pcapng {impair,receive}.txt {gen,impair,receive}.err {west,east}.sock compare.json)
pids=()
cleanup() {
  [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
  # Only what the demo made: a folder that holds something else stays.
  (cd "$work" && rm -f -- "${made[@]}")
  rmdir -- "$work" 2>/dev/null ||
    printf 'kept %s: it holds files that the demo did not make\n' "$work" >&2
}
trap cleanup EXIT

# Runs a command and shows it as a person would type it, file names shortened.
say() { printf '\n$ %s\n' "$*" | sed "s#$work/##g; s#$build/[a-z]*/##g"; }
run() { say "$@"; "$@"; }

west=$work/west.sock east=$work/east.sock
# One process that fails leaves the others waiting for it: cleanup ends them.
give_up() {
  tail -n 5 "$work"/*.err >&2
  printf '\nThe demo FAILED: a process ended in error.\n'
  exit 1
}

receive=("$gen" receive --port "memif:$east" --pcap "$work/far.pcapng" --until-idle 2)
path=("$impair" run profiles/impair/apn-380km.toml
  --west "memif:$west,server" --east "memif:$east,server" --until-idle 3)

printf '   roce-gen  ====memif====>  roce-impair  ====memif====>  far.pcapng\n'
printf '  near.pcapng            380 km, 0.1 %% loss\n'
say "${path[@]}" '&'
"${path[@]}" >"$work/impair.txt" 2>"$work/impair.err" &
pids+=($!)
impair_pid=$!
say "${receive[@]}" '&'
"${receive[@]}" >"$work/receive.txt" 2>"$work/receive.err" &
pids+=($!)
receive_pid=$!

failed=0
run "$gen" run profiles/flows/demo.toml --port "memif:$west" --pcap "$work/near.pcapng" \
  2>"$work/gen.err" || [ $? = 1 ] || give_up  # 1: a busy machine sent more slowly, as its verdict says
wait "$receive_pid" || give_up
wait "$impair_pid" || give_up
pids=()

say "# what roce-impair reports"
cat "$work/impair.txt"
cd "$work"
run "$dissect" verify near.pcapng far.pcapng || failed=1
run "$dissect" compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1% || failed=1

if [ "$failed" != 0 ]; then
  tail -n 5 "$work"/*.err >&2
  printf '\nThe demo FAILED: see above what did not hold.\n'
  exit 1
fi
# The verdict in plain words, from the same comparison as JSON.
say "# the verdict"
"$dissect" compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1% --json >compare.json
python3 "$verdict" compare.json
