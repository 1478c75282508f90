#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh FOLDER: ./dev demo, with FOLDER a build, and longwire demo, with that of the programs. The
# same flows go through the same 380 km of all-photonic network with 0.1 % loss twice: in virtual time,
# which is exact, and between real processes, which are joined by memif and wait for this machine's
# cores. roce-dissect compares what went in with what came out. No root, no hugepages, no NIC.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
programs=$(readlink -f "${1:-build}")
verdict=$here/demo_verdict.py

# program gen: of a build, or of an installation.
program() {
  local one
  for one in "$programs/$1/roce-$1" "$programs/roce-$1"; do
    [ ! -x "$one" ] || { printf '%s\n' "$one"; return; }
  done
  printf 'demo: no roce-%s in %s\n' "$1" "$programs" >&2
  exit 3
}
gen=$(program gen) impair=$(program impair) dissect=$(program dissect)
# In the source tree the profiles are beside this folder; installed programs find theirs.
[ ! -d "$here/../profiles/flows" ] || export LONGWIRE_PROFILES=$here/../profiles

work=$(mktemp -d)
made=({near,far,sent,arrived}.pcapng {impair,receive}.txt {gen,impair,receive}.err {west,east}.sock {virtual,real}.json)
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
say() { printf '\n$ %s\n' "$*" | sed "s#$work/##g; s#$programs/[a-z/]*roce-#roce-#g"; }
run() { say "$@"; "$@"; }

west=$work/west.sock east=$work/east.sock
# One process that fails leaves the others waiting for it: cleanup ends them.
give_up() {
  tail -n 5 "$work"/*.err >&2
  printf '\nThe demo FAILED: a process ended in error.\n'
  exit 1
}

asked=(--delay 1903.5us --loss 0.1%)
printf '1. In virtual time: a capture through the path\n'
run "$gen" run demo --pcap "$work/sent.pcapng" 2>"$work/gen.err" || give_up
run "$impair" replay apn-380km "$work/sent.pcapng" "$work/arrived.pcapng" 2>"$work/impair.err" || give_up
run "$dissect" compare "$work/sent.pcapng" "$work/arrived.pcapng" "${asked[@]}" || give_up
"$dissect" compare "$work/sent.pcapng" "$work/arrived.pcapng" "${asked[@]}" --json >"$work/virtual.json"

printf '\n2. Between real processes\n\n'
receive=("$gen" receive --port "memif:$east" --pcap "$work/far.pcapng" --until-idle 2)
path=("$impair" run apn-380km
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
run "$gen" run demo --port "memif:$west" --pcap "$work/near.pcapng" \
  2>"$work/gen.err" || [ $? = 1 ] || give_up  # 1: a busy machine sent more slowly, as its verdict says
wait "$receive_pid" || give_up
wait "$impair_pid" || give_up
pids=()

say "# what roce-impair reports"
cat "$work/impair.txt"
cd "$work"
run "$dissect" verify near.pcapng far.pcapng || failed=1
run "$dissect" compare near.pcapng far.pcapng "${asked[@]}" || failed=1

if [ "$failed" != 0 ]; then
  tail -n 5 "$work"/*.err >&2
  printf '\nThe demo FAILED: see above what did not hold.\n'
  exit 1
fi
# The verdict in plain words, from the same comparisons as JSON.
"$dissect" compare near.pcapng far.pcapng "${asked[@]}" --json >real.json
if command -v python3 >/dev/null; then
  say "# the verdict"
  python3 "$verdict" virtual.json real.json
fi
