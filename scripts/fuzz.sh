#!/usr/bin/env bash
# Runs every fuzz target that the tree has, one after another.
#   scripts/fuzz.sh 60s     each for that long
#   scripts/fuzz.sh         a share of 80 seconds, at most 10 s each
set -uo pipefail
source "$(dirname "$0")/lib.sh"

# go test -list compiles what it lists, so only packages that name a target are asked.
mapfile -t folders < <(grep -rl --include='*_test.go' '^func Fuzz' internal test 2>/dev/null | xargs -rn1 dirname | sort -u)
targets=()
for folder in "${folders[@]}"; do
  while read -r name; do
    targets+=("$folder $name")
  done < <(go test -list '^Fuzz' "./$folder" | grep '^Fuzz')
done
[ ${#targets[@]} -gt 0 ] || { echo "no fuzz targets"; exit 0; }

share=$((80 / ${#targets[@]}))
length=${1:-$((share > 10 ? 10 : share < 2 ? 2 : share))s}
status=0
for target in "${targets[@]}"; do
  read -r folder name <<<"$target"
  echo "fuzz $name in $folder for $length"
  go test "./$folder" -run '^$' -fuzz "^$name\$" -fuzztime "$length" || status=1
done
exit $status
