# make help lists the targets. Every target that needs Chromium installs it
# with apt where it may, and says what to install where it may not.

export CGO_ENABLED ?= 0
GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
BIN     := bin/watcher
ROUNDS  ?= 5
SEED    ?= 1

# Browsers want the machine: one package at a time, in which some tests work
# while others wait.
BUSY := -p 1 -parallel 5

.DEFAULT_GOAL := build
.PHONY: help build package test race live demo lint fuzz crash bench clean need

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/watcher, a static binary
	$(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./cmd/watcher

package: ## dist/: static binaries and Debian packages for amd64 and arm64
	@packaging/build "$(VERSION)"

need:
	@.ci/need

demo: build ## the main job, offline, in a real browser: five prompts, five answers
	@.ci/need --demo
	$(GO) build -o bin/rehearsal ./qwen/qwentest/rehearsal
	@examples/demo.sh

test: need ## all tests, the browser's too; no root, at most 5 minutes
	@$(GO) vet ./... # compiles on all cores, which the next line does not
	$(GO) test $(BUSY) -timeout 20m ./...

race: need ## all tests with the race detector
	CGO_ENABLED=1 $(GO) test $(BUSY) -race -timeout 40m ./...

live: need ## up to three prompts to the real site from your own account (docs/live.md)
	$(GO) test -tags live -run '^TestLive$$' -count 1 -v -timeout 60m ./cmd/watcher

lint: ## formatting, vet, staticcheck, tidy modules
	@.ci/lint

fuzz: ## fuzz names, markers and front matter for a while (FUZZTIME=1m)
	@.ci/fuzz $(or $(FUZZTIME),1m)

crash: ## the crash laboratory: every fault, at every step; root, hours (SHORT=1: a choice, at most 8 minutes)
	@SHORT=$(SHORT) SEED=$(SEED) ROUNDS=$(ROUNDS) .ci/crash

bench: ## what it costs, beside the bare system calls and other tools (PART="drop idle"; docs/performance.md)
	@GO=$(GO) .ci/bench $(PART)

clean: ## remove what was built
	rm -rf bin dist
