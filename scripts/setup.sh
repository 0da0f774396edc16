#!/usr/bin/env bash
# Installs what the tests need beyond Go, asks nobody, and may be run again.
# What a machine cannot have is skipped by name and reason; the tests that need
# it then skip themselves. The report is printed by test.sh.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
: >"$report"

go_modules() {
  if go mod download && go mod download -modfile=tools/go.mod; then
    found "Go $(go env GOVERSION) with the modules of go.mod and tools/go.mod"
  else
    skipped "Go modules: the module proxy did not answer; builds use what the module cache has"
  fi
}

# The race detector needs cgo, and cgo a C compiler.
c_compiler() {
  if command -v gcc >/dev/null; then
    found "gcc $(gcc -dumpversion), for the race detector"
  elif apt_install gcc libc6-dev; then
    installed "gcc $(gcc -dumpversion) by apt-get, for the race detector"
  else
    skipped "gcc: not here and apt-get cannot install it; the Go tests run without the race detector"
  fi
}

node_major() { node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/'; }

# The MCP inspector and the TypeScript SDK need Node 22.
node_runtime() {
  if [ "$(node_major)" -ge 22 ] 2>/dev/null; then
    found "Node $(node --version)"
    return
  fi
  command -v npm >/dev/null || apt_install nodejs npm
  if ! command -v npm >/dev/null; then
    skipped "Node 22: neither node >= 22 nor npm is here; tests with JavaScript clients are skipped"
  elif npm install --loglevel=error --no-fund --no-audit --prefix "$cache/node" node@22 >/dev/null && [ "$(node_major)" -ge 22 ]; then
    installed "Node $(node --version) from npm, in .cache/node"
  else
    skipped "Node 22: npm could not fetch it; tests with JavaScript clients are skipped"
  fi
}

# any_python prints an interpreter that can make virtual environments.
any_python() {
  local candidate
  for candidate in /usr/bin/python3 python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    if "$candidate" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

# ruff and mypy check the Python that runs inside the sandbox.
python_linters() {
  local bin python
  bin=$(python_tools)
  if [ -e "$bin/complete" ]; then
    found "$("$bin/ruff" --version) and $("$bin/mypy" --version | cut -d' ' -f1-2)"
    return
  fi
  any_python >/dev/null || apt_install python3 python3-venv
  if ! python=$(any_python); then
    skipped "ruff and mypy: no Python >= 3.10 with venv; the guest's Python is not linted"
  elif "$python" -m venv --clear "${bin%/bin}" && "$bin/python" -m pip install --quiet -r tools/python/requirements.txt; then
    touch "$bin/complete"
    installed "$("$bin/ruff" --version) and $("$bin/mypy" --version | cut -d' ' -f1-2) from PyPI, in .cache"
  else
    skipped "ruff and mypy: PyPI could not supply them; the guest's Python is not linted"
  fi
}

go_linter() {
  if golangci >/dev/null; then
    found "golangci-lint, built from tools/go.mod"
  else
    skipped "golangci-lint: could not be built; Go is checked by go vet and internal/archtest alone"
  fi
}

# promtool reads the alert rules and the dashboard as Prometheus would.
rule_checker() {
  local path
  if [ -z "${GEARBOX_TEST_LONG:-}" ] && ! compgen -G "$cache/tools/promtool-*" >/dev/null; then
    skipped "promtool: it takes minutes to build, which make full spends; here only names, labels and form of the alert rules are checked"
    return
  fi
  if path=$(promtool); then
    found "promtool, built from tools/promtool.mod"
    ln -sfn "${path##*/}" "$cache/tools/promtool"
  else
    rm -f "$cache/tools/promtool"
    skipped "promtool: could not be built; of the alert rules only names, labels and form are checked"
  fi
}

# The client SDKs belong to the tests that drive real clients; the conformance suites and the
# reference servers come with them.
client_sdks() {
  [ -x test/clients/setup.sh ] || return 0
  if test/clients/setup.sh; then
    found "client SDKs, conformance suites and reference servers, as test/clients/setup.sh says"
  else
    skipped "client SDKs, conformance suites or reference servers: test/clients/setup.sh failed; tests with what is missing are skipped"
  fi
}

go_modules
c_compiler
node_runtime
python_linters
client_sdks
go_linter
rule_checker
cat "$report"
