#!/usr/bin/env bash
# Lints Go and the guest's Python. Names what it cannot run; fails on findings.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
guest=internal/guest/gearbox_guest
status=0

if linter=$(golangci); then
  "$linter" run ./... || status=1
  "$linter" fmt --diff || status=1
else
  echo "SKIP golangci-lint: could not be built"
fi

bin=$(python_tools)
if [ -e "$bin/complete" ]; then
  "$bin/ruff" format --check "$guest" || status=1
  "$bin/ruff" check "$guest" || status=1
  "$bin/mypy" --strict --python-version 3.14 --cache-dir "$cache/mypy" "$guest" || status=1
else
  echo "SKIP ruff and mypy: not installed, see scripts/setup.sh"
fi

if command -v shellcheck >/dev/null; then
  shellcheck -x test.sh .ci/run scripts/*.sh || status=1
else
  echo "SKIP shellcheck: not installed"
fi
exit $status
