#!/usr/bin/env bash
# Compiles and vets for the platforms that this machine is not. cgo is off: the
# product does not use it, and a foreign C compiler is not to be expected.
set -uo pipefail
source "$(dirname "$0")/lib.sh"
export CGO_ENABLED=0
status=0
for platform in linux/arm64 darwin/amd64 darwin/arm64 windows/amd64; do
  echo "build and vet $platform"
  GOOS=${platform%/*} GOARCH=${platform#*/} go build -o /dev/null ./cmd/gearbox || status=1
  GOOS=${platform%/*} GOARCH=${platform#*/} go vet ./... || status=1
done
exit $status
