#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of packages.txt that are missing.
#   tools/install_packages.sh [GROUP...]            groups are the [names] in packages.txt; none means all
#   tools/install_packages.sh --upgrade PACKAGE...  the newest version of these, of which older ones are installed
#   tools/install_packages.sh --upgrade-libraries   the same for the libraries of packages.txt; wheels bring them along, and an upgrade
#                                                   between two builds would compile again what includes them
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v dpkg-query >/dev/null; then
  echo "This is not a Debian system: the packages of packages.txt have to be there already." >&2
  exit 0
fi
if [ "${1:-}" = --upgrade-libraries ]; then
  old=$(awk '/^lib.*-dev / {print $1}' packages.txt | LC_ALL=C xargs apt-cache policy | awk '
    /^[^ ]/ {name = $1; sub(/:$/, "", name)}  $1 == "Installed:" {installed = $2}
    $1 == "Candidate:" && installed != "(none)" && $2 != installed {print name}')
  [ -n "$old" ] || exit 0
  set -- --upgrade $old
fi
upgrade=()
if [ "${1:-}" = --upgrade ]; then
  shift
  upgrade=(--only-upgrade --no-remove)
  wanted="$*"
else
  wanted=$(awk -v groups=" $* " '
  /^# \[/   { match($0, /\[[a-z]+\]/); group = substr($0, RSTART + 1, RLENGTH - 2); next }
  /^[a-z]/  { if (groups ~ /^ *$/ || index(groups, " " group " ")) print $1 }' packages.txt)
fi

missing=()
for package in $wanted; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] && [ ${#upgrade[@]} = 0 ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing ${missing[*]}"
as_root=()
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "Please install these packages as root: ${missing[*]}" >&2; exit 1; }
  as_root=(sudo)
fi
install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${upgrade[@]}" "${missing[@]}")
"${install[@]}" </dev/null || { "${as_root[@]}" apt-get update -q && "${install[@]}" </dev/null; }
