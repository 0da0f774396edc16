#!/usr/bin/env bash
# Work in the background, collected by wait.
set -uo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

square() {
  sleep 0.0"$1"
  echo $(( $1 * $1 )) > "$dir/$1"
}

pids=()
for n in 1 2 3 4 5; do
  square "$n" &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do
  wait "$pid" || failed=$((failed + 1))
done
echo "jobs: ${#pids[@]}, failed: $failed"
for n in 1 2 3 4 5; do echo "$n squared is $(cat "$dir/$n")"; done

(exit 3) &
wait $! || echo "exit status $?"

{ echo out; echo err >&2; } > "$dir/out" 2> "$dir/err"
echo "stdout: $(<"$dir/out"), stderr: $(<"$dir/err")"
timeout 0.05 sleep 5 || echo "timed out with $?"
