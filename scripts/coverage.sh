#!/usr/bin/env bash
# Says how much of the trusted base its tests reach: the Python that runs inside
# the sandbox, and the generator of the system call filters. What seals a child
# runs inside one, out of reach of a tracer: its tests are those of sandbox/linux.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
status=0

go test -count=1 -cover ./internal/sandbox/linux/seccomp ./internal/bridge ./internal/policy || status=1

bin=$(python_tools)
if [ -e "$bin/complete" ]; then
  cd internal/guest || exit 1
  export COVERAGE_FILE=$cache/coverage PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=.
  "$bin/coverage" run --source gearbox_guest --omit '*/forkserver.py,*/seal.py,*/kernel.py,*/keeper.py' \
    -m unittest discover -s tests -p 'test_*.py' >/dev/null || status=1
  "$bin/coverage" report || status=1
  echo "Modules at 0% are tested only in processes that end as guests do, by SIGKILL, which leaves no trace data."
else
  echo "SKIP coverage of the guest: coverage.py is not installed, see scripts/setup.sh"
fi
exit $status
