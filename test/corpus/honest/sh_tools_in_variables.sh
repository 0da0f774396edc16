#!/usr/bin/env bash
# Programs chosen by variables and arrays, checked before use.
set -euo pipefail
SORT=sort
GREP="grep -c"
filter=(awk -F: '{ print $2 }')
DATA_FILE="${DATA_FILE:-/workspace/data.txt}"

for tool in sort grep awk; do
  command -v "$tool" > /dev/null || { echo "$tool is missing"; exit 1; }
done

printf 'b:2\na:1\nc:3\n' > "$DATA_FILE"
$SORT "$DATA_FILE"
$GREP a "$DATA_FILE"
"${filter[@]}" "$DATA_FILE"
opts=(-t: -k2)
"$SORT" -r "${opts[@]}" "$DATA_FILE"
if type -t helper > /dev/null; then echo "helper exists"; else echo "no helper"; fi
dry_run=true
$dry_run && echo "dry run: would remove $DATA_FILE"
env LC_ALL=C LANG=C sort "$DATA_FILE" | tail -n1
rm -- "$DATA_FILE"
