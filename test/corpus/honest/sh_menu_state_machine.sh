#!/usr/bin/env bash
# A state machine over a list of events, with select-free menus and retries.
set -euo pipefail
readonly MAX_RETRIES=3
state=idle
events=(start tick tick fail retry tick done)

transition() {
  local event=$1
  case "$state:$event" in
    idle:start) state=running ;;
    running:tick) ticks=$(( ${ticks:-0} + 1 )) ;;
    running:fail) state=failed ;;
    failed:retry) state=running; retries=$(( ${retries:-0} + 1 )) ;;
    running:done) state=finished ;;
    *) echo "no transition for $state:$event"; return 1 ;;
  esac
  echo "$event -> $state"
}

for e in "${events[@]}"; do transition "$e"; done
echo "ticks=$ticks retries=$retries"
transition start || echo "ignored"

attempt=0
flaky() { (( ++attempt >= 3 )); }
retry() {
  local n=0
  until "$@"; do
    (( ++n < MAX_RETRIES )) || return 1
    echo "attempt $n failed"
  done
  echo "succeeded"
}
retry flaky
retry test -d /tmp && echo "tmp is there"
