#!/usr/bin/env bash
# Installs the client SDKs that the tests of this folder drive, the conformance
# suites of test/conformance and the reference servers of test/codemode, at the
# versions that the lock files name, in .cache/clients. Installs once for each
# content of the lock files. Fails when something could not be had; what could be
# stays.
set -uo pipefail
source "$(dirname "$0")/../../scripts/lib.sh"
clients=$cache/clients
here=test/clients
mkdir -p "$clients"
# Two of these at once would undo each other's work; where flock is missing
# (macOS) one has to see to it that there is one.
if command -v flock >/dev/null; then
  exec 9>"$clients/lock"
  flock 9
fi

# place puts a finished folder where the tests look for it.
place() {
  touch "$1/complete"
  rm -rf "$2"
  mv "$1" "$2"
}

# javascript NAME FOLDER installs what the package.json and the lock of FOLDER name.
javascript() {
  local at new
  at=$clients/$1-$(key "$2/package.json" "$2/package-lock.json")
  [ -e "$at/complete" ] && return
  if ! node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' 2>/dev/null; then
    echo "clients: no Node 22 (scripts/setup.sh installs it)" >&2
    return 1
  fi
  new=$at.new
  rm -rf "$new"
  mkdir -p "$new/bin"
  cp "$2/package.json" "$2/package-lock.json" "$new"
  # Not npm ci: it refuses the lock for an optional package that only Windows has.
  npm install --prefix "$new" --no-save --no-audit --no-fund --loglevel=error >&2 || return 1
  # Whatever PATH holds later, the tests run the Node that was found now.
  ln -s "$(node -e 'console.log(process.execPath)')" "$new/bin/node"
  place "$new" "$at"
}

# python NAME MINOR installs NAME/requirements.txt with a Python of at least 3.MINOR. A
# virtual environment knows its own path, so it is made in place.
python() {
  local at candidate
  at=$clients/$1-$(key "$here/$1/requirements.txt")
  [ -e "$at/complete" ] && return
  for candidate in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    "$candidate" -c "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, $2))" 2>/dev/null || continue
    "$candidate" -m venv --clear "$at" &&
      "$at/bin/python" -m pip install --quiet --disable-pip-version-check -r "$here/$1/requirements.txt" >&2 &&
      touch "$at/complete"
    return
  done
  echo "clients: no Python of at least 3.$2 with venv for $1" >&2
  return 1
}

status=0
javascript node $here/node || status=1
javascript conformance test/conformance/suites || status=1
javascript servers test/codemode/node || status=1
python python 11 || status=1
python langchain 11 || status=1
exit $status
