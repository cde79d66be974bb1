#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs `make test-PHASE` for each phase, prints how long each took, and stops at the first that fails.
#   tools/run_phases.sh PHASE...
set -uo pipefail
cd "$(dirname "$0")/.."

passed=0
report=""
began=$(date +%s)
for phase in "$@"; do
  printf '\n==== %s\n' "$phase"
  start=$(date +%s)
  if ! "${MAKE:-make}" --no-print-directory "test-$phase"; then
    printf '%s\n==== %s FAILED after %d s\nphases: %d passed, 1 failed\n' \
      "$report" "$phase" $(($(date +%s) - start)) "$passed"
    exit 1
  fi
  passed=$((passed + 1))
  line=$(printf '%-14s %5d s' "$phase" $(($(date +%s) - start)))
  printf '==== %s\n' "$line"
  report+=$line$'\n'
done
printf '\n%s%-14s %5d s\nphases: %d passed, 0 failed\n' "$report" total $(($(date +%s) - began)) "$passed"
