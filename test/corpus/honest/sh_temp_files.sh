#!/usr/bin/env bash
# Temporary files that are removed by a trap.
set -euo pipefail

workdir=$(mktemp -d)
cleanup() {
  rm -rf "$workdir"
  echo "cleaned"
}
trap cleanup EXIT

for n in 3 1 2; do
  printf 'file %d\n' "$n" > "$workdir/part$n.txt"
done
cat "$workdir"/part*.txt > "$workdir/all.txt"
wc -l < "$workdir/all.txt"
sort -r "$workdir/all.txt"
cp "$workdir/all.txt" "$workdir/copy.txt"
if cmp -s "$workdir/all.txt" "$workdir/copy.txt"; then echo "identical"; fi
echo "one more" >> "$workdir/copy.txt"
diff "$workdir/all.txt" "$workdir/copy.txt" || true
mkdir -p "$workdir/sub/deep"
touch "$workdir/sub/deep/x"
(cd "$workdir" && find . -type f | sort)
[ -d "$workdir/sub" ] && echo "sub exists"
