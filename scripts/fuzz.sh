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

# fuzz runs one target. A race inside Go's fuzzing engine now and then reports the end
# of the time as a failure (golang.org/issue/75804): no input failed then and none is
# written, so the target gets another turn, three in all. A hang or a failing input
# reads otherwise and fails at once.
fuzz() {
  local output turn
  for turn in 1 2 3; do
    output=$(go test "./$1" -run '^$' -fuzz "^$2\$" -fuzztime "$3" 2>&1) && turn=0
    echo "$output"
    [ $turn -eq 0 ] && return
    grep -q '^    context deadline exceeded$' <<<"$output" && ! grep -qi 'failing input' <<<"$output" || return 1
    echo "fuzz: no input of $2 failed; its time ran out inside the engine"
  done
  return 1
}

share=$((80 / ${#targets[@]}))
length=${1:-$((share > 10 ? 10 : share < 2 ? 2 : share))s}
status=0
for target in "${targets[@]}"; do
  read -r folder name <<<"$target"
  echo "fuzz $name in $folder for $length"
  fuzz "$folder" "$name" "$length" || status=1
done
exit $status
