#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs `make test-PHASE` for each phase, prints how long each took and how much time of processors, and stops at the first
# that fails.
#   tools/run_phases.sh PHASE... [-- PHASE... -- PHASE...]
# The lists behind the first `--` run side by side, so that a phase that keeps one processor busy costs no time of the others.
# Their phases print when they end.
set -uo pipefail
cd "$(dirname "$0")/.."

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
report=$folder/report
touch "$report"
began=$(date +%s)
passed() { wc -l < "$report"; }

run() {  # PHASE
  local start result TIMEFORMAT='%U %S'
  start=$(date +%s)
  { time "${MAKE:-make}" --no-print-directory "test-$1" 2>&3; } 3>&2 2> "$folder/$1.time"
  result=$?
  if [ $result != 0 ]; then
    printf '==== %s FAILED after %d s\n' "$1" $(($(date +%s) - start))
    return 1
  fi
  printf '%-14s %5d s %6d s of processors\n' "$1" $(($(date +%s) - start)) "$(awk '{ print int($1 + $2) }' "$folder/$1.time")" |
    tee -a "$report" | sed 's/^/==== /'
}

run_quietly() {  # PHASE...: each prints when it has ended
  local failed
  for phase in "$@"; do
    run "$phase" > "$folder/$phase" 2>&1
    failed=$?
    { printf '\n==== %s\n' "$phase"; cat "$folder/$phase"; }
    [ $failed = 0 ] || return 1
  done
}

fail() {
  printf '\n%s\nphases: %d passed, 1 failed\n' "$(cat "$report")" "$(passed)"
  exit 1
}

while [ $# -gt 0 ] && [ "$1" != -- ]; do
  printf '\n==== %s\n' "$1"
  run "$1" || fail
  shift
done

set -m  # each list is a process group, to be ended as one
lists=()
while [ $# -gt 0 ]; do
  shift
  list=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do list+=("$1") && shift; done
  run_quietly "${list[@]}" &
  lists+=($!)
done
stop() { for list in "${lists[@]}"; do kill -- -"$list"; done 2> /dev/null; }
trap 'stop; exit 130' INT TERM
for _ in "${lists[@]}"; do
  if ! wait -n; then
    stop
    fail
  fi
done

printf '\n%s\n%-14s %5d s\nphases: %d passed, 0 failed\n' "$(cat "$report")" total $(($(date +%s) - began)) "$(passed)"
