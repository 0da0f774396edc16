#!/usr/bin/env bash
# Functions with local variables, return codes, recursion and defaults.
set -u

main() {
  greet
  greet "Ada" "Good morning"
  echo "5! = $(factorial 5)"
  if is_even 10; then echo "10 is even"; fi
  is_even 7 || echo "7 is odd"
  log INFO "gcd(84, 36) = $(gcd 84 36)"
  run echo "through a helper"
}

greet() {
  local name="${1:-world}" word="${2:-Hello}"
  printf '%s, %s!\n' "$word" "$name"
}

factorial() {
  local n=$1
  if (( n <= 1 )); then
    echo 1
  else
    echo $(( n * $(factorial $(( n - 1 ))) ))
  fi
}

is_even() { (( $1 % 2 == 0 )); }

gcd() {
  local a=$1 b=$2 t
  while (( b )); do
    t=$(( a % b )); a=$b; b=$t
  done
  echo "$a"
}

log() { local level=$1; shift; echo "[$level] $*"; }

run() {
  echo "+ $*"
  "$@"
}

main "$@"
