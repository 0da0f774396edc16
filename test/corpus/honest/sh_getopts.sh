#!/usr/bin/env bash
# Options with getopts, called several times as a function.
set -euo pipefail

usage() {
  echo "usage: convert [-v] [-o FILE] [-n COUNT] NAME..." >&2
}

convert() {
  local OPTIND=1 opt verbose=0 output=- count=1
  while getopts ":vo:n:" opt; do
    case $opt in
      v) verbose=1 ;;
      o) output=$OPTARG ;;
      n) count=$OPTARG ;;
      :) echo "option -$OPTARG needs a value"; return 2 ;;
      \?) echo "unknown option -$OPTARG"; return 2 ;;
    esac
  done
  shift $((OPTIND - 1))
  if (( $# == 0 )); then
    usage 2>/dev/null
    echo "no names"
    return 1
  fi
  (( verbose )) && echo "output=$output count=$count names=$#"
  for name in "$@"; do
    for ((i = 0; i < count; i++)); do printf '%s ' "${name^^}"; done
    echo
  done
}

convert -v -n 2 -o result.txt alpha beta
convert gamma
convert || echo "status $?"
convert -x || echo "status $?"
convert -n || echo "status $?"
