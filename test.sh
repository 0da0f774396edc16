#!/usr/bin/env bash
# Installs what the tests need, then checks everything that has to hold before a
# change is taken. CI runs exactly this. Every check runs even if one before it
# failed; the end lists each with its verdict, and what was skipped and why.
#
#   ./test.sh          the short forms
#   ./test.sh full     the long forms; writes docs/results.md
set -uo pipefail
source "$(dirname "$0")/scripts/lib.sh"

form=${1:-short}
case $form in
  short) fuzz=() ;;
  full)
    fuzz=(300s)
    # Tests with a long form read it; the long forms need longer than go test allows.
    export GEARBOX_TEST_LONG=1 GO_TEST_TIMEOUT=120m
    # Tests that measure something say there what.
    GEARBOX_TEST_FIGURES=$(mktemp -d) && export GEARBOX_TEST_FIGURES
    ;;
  *)
    echo "usage: ./test.sh [full]" >&2
    exit 2
    ;;
esac

names=() verdicts=() times=()

# check runs one command under a name and remembers how it went.
check() {
  local name=$1 start=$SECONDS verdict=ok
  shift
  printf '\n=== %s\n' "$name"
  "$@" || verdict=FAILED
  names+=("$name") verdicts+=("$verdict") times+=("$((SECONDS - start))")
}

# go_tests prints failures in full and, at the end, each skipped test with its
# reason. Without gotestsum the verbose form says the same at greater length.
go_tests() {
  local race=() runner
  command -v gcc >/dev/null && race=(-race)
  set -- -count=1 -timeout "${GO_TEST_TIMEOUT:-20m}" "${race[@]}" ./...
  if runner=$(gotestsum); then
    "$runner" --format pkgname --format-icons text -- "$@"
  else
    go test -v "$@"
  fi
}

summary() {
  local i
  for i in "${!names[@]}"; do
    printf '%-8s %5ds  %s\n' "${verdicts[$i]}" "${times[$i]}" "${names[$i]}"
  done
}

results() {
  local i
  echo "# Results of the long tests"
  echo
  echo "Written by \`./test.sh full\` on $(date -u +%F), commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), $(go env GOVERSION) on"
  echo "$(go env GOOS)/$(go env GOARCH), kernel $(uname -r), $(nproc) cores."
  echo
  echo "| check | verdict | seconds |"
  echo "|---|---|---|"
  for i in "${!names[@]}"; do
    echo "| ${names[$i]} | ${verdicts[$i]} | ${times[$i]} |"
  done
  cat "$GEARBOX_TEST_FIGURES"/*.md 2>/dev/null
}

check "install what the tests need" ./scripts/setup.sh
check "build" go build -trimpath -o bin/gearbox ./cmd/gearbox
check "Go tests" go_tests
check "fuzz targets" ./scripts/fuzz.sh "${fuzz[@]}"
check "third-party notices agree with the modules" go run -C tools ./notices -check
# What reads the whole document takes minutes to compile; the tests of internal/web hold it
# against every route, field and answer anyway.
[ "$form" = full ] && check "the description of the API is valid OpenAPI" go run -C tools/openapi .
check "lint" ./scripts/lint.sh
check "compile for other platforms" ./scripts/cross.sh

printf '\n=== what was installed, found and skipped\n'
cat "$report"
printf '\n=== checks\n'
summary
[ "$form" = full ] && results >docs/results.md
for verdict in "${verdicts[@]}"; do
  [ "$verdict" = ok ] || exit 1
done
