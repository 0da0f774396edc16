#!/usr/bin/env bash
# Lints Go and the Python that ships. Names what it cannot run; fails on findings.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
status=0

if linter=$(golangci); then
  "$linter" run ./... || status=1
  "$linter" fmt --diff || status=1
else
  echo "SKIP golangci-lint: could not be built"
fi

# Python of ours that ships, and its tests. Programs that tests run are data.
python=(internal/guest internal/cpython/helper)
bin=$(python_tools)
if [ -e "$bin/complete" ]; then
  "$bin/ruff" format --check "${python[@]}" || status=1
  "$bin/ruff" check "${python[@]}" || status=1
  MYPYPATH=internal/guest "$bin/mypy" --strict --python-version 3.14 --cache-dir "$cache/mypy" \
    internal/guest/gearbox_guest internal/guest/tests internal/cpython/helper || status=1
else
  echo "SKIP ruff and mypy: not installed, see scripts/setup.sh"
fi

if command -v shellcheck >/dev/null; then
  shellcheck -x test.sh .ci/run scripts/*.sh || status=1
else
  echo "SKIP shellcheck: not installed"
fi
exit $status
