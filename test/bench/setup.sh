#!/usr/bin/env bash
# Installs one thing that `make bench` compares with or measures, and prints its
# path:
#
#   test/bench/setup.sh uv|monty|data|bwrap|go-judge|mcp-run-python
#
# Everything but the Debian package goes into .cache, at the versions below, and is
# installed once for each version. What cannot be had is an exit status of 1 with
# the reason on standard error; the benchmark then names it as absent and goes on.
set -uo pipefail
source "$(dirname "$0")/../../scripts/lib.sh"
place=$cache/bench
mkdir -p "$place"

absent() {
  echo "$*" >&2
  exit 1
}

# venv NAME PACKAGE… prints the folder of an environment that has the packages.
venv() {
  local name=$1 at candidate
  shift
  at=$place/$name-$(echo "$@" | sha256sum | cut -c1-16)
  if [ ! -e "$at/complete" ]; then
    for candidate in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11; do
      "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null && break
      candidate=
    done
    [ -n "$candidate" ] || absent "no Python of at least 3.10 with venv"
    "$candidate" -m venv --clear "$at" >&2 &&
      "$at/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2 &&
      touch "$at/complete" || absent "PyPI did not supply $*"
  fi
  echo "$at"
}

uv() {
  local at
  at=$(venv uv uv==0.13.8) && echo "$at/bin/uv"
}

monty() {
  local at
  at=$(venv monty pydantic-monty==1.4.0) && echo "$at/bin/python"
}

# data is the environment of an operator who works with tables.
data() { venv data pandas==3.1.1 numpy==2.4.6; }

bwrap() {
  type -P bwrap || { apt_install bubblewrap && type -P bwrap; } || absent "bubblewrap is not here and apt-get cannot install it"
}

# One on the PATH goes first: releases are distributed as binaries too.
go-judge() {
  local at=$place/go-judge-1.12.2
  type -P go-judge && return
  if [ ! -x "$at/go-judge" ]; then
    GOBIN=$at go install github.com/criyle/go-judge/cmd/go-judge@v1.12.2 >&2 || absent "the Go module proxy did not supply go-judge, or it does not build"
  fi
  echo "$at/go-judge"
}

# mcp-run-python fetches the rest of itself from the JavaScript registries when it is started.
mcp-run-python() {
  local at
  type -P deno >&2 || absent "deno is not here, and mcp-run-python runs in it"
  at=$(venv mcp-run-python mcp-run-python==0.0.22) && echo "$at/bin/mcp-run-python"
}

case ${1-} in
  uv | monty | data | bwrap | go-judge | mcp-run-python) "$1" ;;
  *) absent "usage: test/bench/setup.sh uv|monty|data|bwrap|go-judge|mcp-run-python" ;;
esac
