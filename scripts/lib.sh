# shellcheck shell=bash
# Shared by the scripts of this folder; sourced, never run.
#
# Correctness never depends on .cache: each thing in it is named after a hash of
# what it was made from, is made under another name and renamed when complete,
# and may be deleted at any time.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
cache=$PWD/.cache
report=$cache/setup-report.txt
mkdir -p "$cache"

# A checkout owned by another user makes git, and with it version stamping,
# refuse; tests do not need the stamp.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"
# A job runner may start without a home, which Go's and npm's caches need.
HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
export HOME="${HOME:-$cache/home}"
export CI="${CI:-true}" NO_COLOR=1

installed() { echo "installed  $*" >>"$report"; }
found() { echo "found      $*" >>"$report"; }
skipped() { echo "skipped    $*" >>"$report"; }

# key names the content of files: the same files give the same name.
key() { cat "$@" | sha256sum | cut -c1-16; }

# apt_install installs Debian packages where that is possible without asking anyone.
apt_install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  if [ ! -e "$cache/apt-updated" ]; then
    DEBIAN_FRONTEND=noninteractive apt-get update -qq >/dev/null 2>&1 && touch "$cache/apt-updated"
  fi
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
}

# tool prints the path of a Go tool pinned in tools/go.mod, or in the module file that
# is named third, building it if need be.
tool() {
  local name=$1 package=$2 modules=tools/${3:-go.mod} path
  path=$cache/tools/$name-$(key "${modules%.mod}.sum")
  if [ ! -x "$path" ]; then
    mkdir -p "$cache/tools"
    go build -modfile="$modules" -o "$path.new" "$package" >&2 && mv "$path.new" "$path" || return 1
  fi
  echo "$path"
}
gotestsum() { tool gotestsum gotest.tools/gotestsum; }
golangci() { tool golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint; }

# promtool has a module file of its own: Prometheus and what it needs would decide on the
# versions of everything else in tools/go.mod. The tag leaves out its discovery of cloud
# services, a third of the program.
promtool() { GOFLAGS="$GOFLAGS -tags=remove_all_sd" tool promtool github.com/prometheus/prometheus/cmd/promtool promtool.mod; }

# python_tools is the folder of ruff and mypy.
python_tools() { echo "$cache/python-$(key tools/python/requirements.txt)/bin"; }

# node_bin is the folder of Node when setup had to fetch it.
node_bin() { echo "$cache/node/node_modules/node/bin"; }
PATH=$(node_bin):$PATH
export PATH
