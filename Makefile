# Every target is one line and says in its comment what it is for.
.DEFAULT_GOAL := help
.PHONY: help build run test race lint fuzz bench bench-codemode microbench full cross docs coverage escape crash soak conformance clean

help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 18
build: ## build bin/gearbox
	go build -trimpath -o bin/gearbox ./cmd/gearbox
run: ## serve MCP over stdio from the source tree
	go run ./cmd/gearbox serve
test: ## install what the tests need and check everything, as CI does
	./test.sh
race: ## only the Go tests, under the race detector
	go test -race ./...
lint: ## only the linters, Go and Python
	./scripts/lint.sh
fuzz: ## every fuzz target for a minute
	./scripts/fuzz.sh 60s
bench: ## measure beside everything comparable; writes docs/benchmarks.md
	go run ./test/bench
bench-codemode: ## count what a model reads and writes with and without programs; writes docs/benchmarks-code-mode.md
	test/clients/setup.sh && go run ./test/bench/codemode
microbench: ## every Go benchmark once, one line each
	go test -run '^$$' -bench . -benchmem ./...
full: ## the long forms of the tests; writes docs/results.md
	./test.sh full
cross: ## build and vet for the platforms that this machine is not
	./scripts/cross.sh
docs: ## write the generated documents anew
	go test ./internal/archtest ./internal/cli ./internal/gear ./internal/telemetry ./internal/web -update && go run -C tools ./notices
coverage: ## how much of the trusted base its tests reach
	./scripts/coverage.sh
escape: ## only the attacks on the sandbox, each by name
	go test -count=1 -v ./test/escape/...
crash: ## kill and stop servers and fill their disks: nothing may be lost (GEARBOX_TEST_LONG=1: 200 kills)
	go test -count=1 -v -timeout 60m -skip TestALongLoad ./test/crash
soak: ## load a server and see that nothing grows (GEARBOX_TEST_LONG=1: 20 minutes)
	go test -count=1 -v -timeout 60m -run TestALongLoad ./test/crash
conformance: ## the official suites of the protocol on the real HTTP stack; installs them if need be
	test/clients/setup.sh && go test -count=1 -v ./test/conformance
clean: ## remove what was built, keep what was downloaded
	rm -rf bin .cache/tools .cache/bin
