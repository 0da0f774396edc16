#!/usr/bin/env bash
# Writing and reading simple JSON without jq.
set -euo pipefail

json_escape() {
  local s=$1
  s=${s//\\/\\\\}
  s=${s//\"/\\\"}
  s=${s//$'\n'/\\n}
  printf '%s' "$s"
}

to_json() {
  local sep=
  printf '{'
  while (( $# )); do
    printf '%s"%s": "%s"' "$sep" "$(json_escape "$1")" "$(json_escape "$2")"
    sep=', '
    shift 2
  done
  printf '}\n'
}

file=$(mktemp)
to_json name 'Ada "the first"' city London note $'two\nlines' > "$file"
cat "$file"

get() {
  grep -o "\"$1\": *\"[^\"]*\"" "$file" | head -n1 | sed -E 's/^"[^"]*": *"(.*)"$/\1/'
}
echo "city is $(get city)"

records='[{"id": 1, "score": 90}, {"id": 2, "score": 75}, {"id": 3, "score": 82}]'
echo "$records" | tr '{}' '\n\n' | awk -F'[:,]' '/id/ { gsub(/ /, ""); print "id", $2, "score", $4; sum += $4; n++ } END { print "mean", sum / n }'
rm -f -- "$file"
