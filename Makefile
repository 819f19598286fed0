# The project's commands; `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help

export EDGE_PORT ?= 8787
export ORIGIN_PORT ?= 8788

# Limit of the gzipped Worker in bytes; Cloudflare's is 3 MB. A starting isolate compiles the Worker: 1.3 ms of CPU per
# 100 KB (`node lab/cold-start.mjs`), about 10 ms in total. 10 % more would add 1 ms.
WASM_LIMIT := 716000

# Limits of the portal's gzipped readers in bytes: of lists, loaded when a list is chosen (6 s of a slow phone's line),
# and of workbooks, loaded besides when a workbook is: the letters' tables of legacy formats are most of it.
LISTS_LIMIT := 285000
WORKBOOKS_LIMIT := 430000

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## install what is missing for building and testing
	@tools/install rust-target npm apt python

.PHONY: setup-rust-target setup-npm setup-programs
setup-rust-target setup-npm: setup-%:
	@tools/install $*

setup-programs:
	@tools/install apt python

EDGE_SOURCES := $(shell find edge shared \( -path edge/build -o -path edge/portal -o -path edge/data -o -name 'openapi*.json' \) -prune -o -type f -print) \
	Cargo.toml Cargo.lock package-lock.json devtools/worker/src/main.rs
PORTAL_SOURCES := $(shell find edge/portal \( -path edge/portal/dist -o -name schema.ts \) -prune -o -type f -print) \
	edge/openapi.json edge/openapi-account.json edge/data/common-passwords.txt edge/data/sandbox.json origin/data/lists/disposable.toml package-lock.json wrangler.toml

# `shipped` is the deployed Worker; `quick` compiles in seconds. `make dev` accepts both kinds.
export RCPT_WORKER ?= shipped
PROFILE_OF_shipped := release
PROFILE_OF_quick := quick

# Cargo gets none of make's flags: otherwise it would warn about a job server whose pipes make hasn't passed on.
CARGO := MAKEFLAGS= cargo

# Everyday native builds are of all default members: a single package would compile its dependencies again, with other
# features.
CARGO_BUILD := $(CARGO) build --locked

# With this variable, macros use `js_sys::futures`, as `worker` requires.
CARGO_WASM := WASM_BINDGEN_USE_JS_SYS=1 $(CARGO) build --locked --package rcpt-edge --lib --target wasm32-unknown-unknown

# The portal is served with the Worker, and wrangler doesn't start without the portal's folder.
edge/build/.shipped edge/build/.quick: edge/build/.%: $(EDGE_SOURCES) | edge/portal/dist/index.html worker-builder
	$(CARGO_WASM) --quiet --profile $(PROFILE_OF_$*)
	target/debug/rcpt-worker $*

.PHONY: worker-builder
worker-builder:
	$(CARGO_BUILD) --quiet --bin rcpt-worker

edge/portal/dist/index.html: $(PORTAL_SOURCES) target/lists/.$(RCPT_WORKER) | setup-npm
	npm run --silent build:portal

# The portal's readers of lists and of workbooks.
LISTS_SOURCES := $(shell find clients/lists clients/workbooks shared -name tests -prune -o -type f -print) \
	Cargo.toml Cargo.lock devtools/worker/src/main.rs

target/lists/.shipped target/lists/.quick: target/lists/.%: $(LISTS_SOURCES) | setup-rust-target setup-npm worker-builder
	$(CARGO) build --locked --quiet --package rcpt-lists --package rcpt-workbooks --lib \
		--target wasm32-unknown-unknown --profile $(PROFILE_OF_$*)
	target/debug/rcpt-worker lists $*
	@[ $* = quick ] || for reader in lists:$(LISTS_LIMIT) workbooks:$(WORKBOOKS_LIMIT); do \
		size=$$(gzip --best --stdout target/lists/rcpt_$${reader%:*}_bg.wasm | wc --bytes); \
		echo "$${reader%:*}: $$size bytes gzipped (limit $${reader#*:})"; [ $$size -le $${reader#*:} ] || exit 1; done

.PHONY: build
build: worker ## build the Worker and print its size, and build the origin
	$(CARGO_BUILD) --bin origin

.PHONY: worker
worker: setup-rust-target
	@$(MAKE) --no-print-directory edge/build/.$(RCPT_WORKER)
	@[ $(RCPT_WORKER) = quick ] || { size=$$(cat edge/build/*.wasm | gzip --best --stdout | wc --bytes); \
		echo "wasm: $$size bytes gzipped (limit $(WASM_LIMIT))"; [ $$size -le $(WASM_LIMIT) ]; }

# Built in parallel: each build leaves a core idle while it waits for the network or compiles its last crate.
.PHONY: dev dev-wasm dev-programs
dev: ## the whole service on this machine (EDGE_PORT, ORIGIN_PORT); Ctrl-C stops it
	@RCPT_WORKER=quick $(MAKE) --no-print-directory --jobs=3 edge/portal/dist/index.html dev-wasm dev-programs
	@RCPT_WORKER=quick $(MAKE) --no-print-directory worker
	@target/debug/dev

dev-wasm: setup-rust-target
	$(CARGO_WASM) --profile quick

dev-programs:
	$(CARGO_BUILD) --bin rcpt-worker --bin origin --bin dev

# Most end-to-end tests spend most of their time waiting, so four run at the same time even on fewer cores. Tests that
# keep the cores busy take turns (`process::turn`).
export RUST_TEST_THREADS ?= 4
export RCPT_ORIGIN_BIN ?= $(CURDIR)/target/debug/origin
export RCPT_COMMAND_BIN ?= $(CURDIR)/target/debug/rcpt

# A failed test prints its cause; forty frames of tokio below it add nothing.
export RUST_BACKTRACE := $(or $(BACKTRACE),0)
ifneq ($(BACKTRACE),)
export CARGO_PROFILE_DEV_DEBUG := line-tables-only
endif

# Seed of random tests: SEED, or otherwise a fixed seed in `make test` and a new seed in every `make proof`.
export PROPTEST_RNG_SEED := $(or $(SEED),$(if $(filter proof,$(MAKECMDGOALS))$(PROOF),$(shell date +%s),1))

CARGO_TEST := $(CARGO) test --locked
# The programs of the end-to-end tests; ONLY may name any of them.
PARTS := account edge ledger scans origin clients harness programs
# Tests that need no Worker, mail server or browser: all other programs, as cargo names them.
UNIT = --lib --bins $(patsubst %,--test %,$(filter-out $(PARTS),$(shell tools/test-programs)))

# `make test` runs two parts at a time: the longest, and beside it those that wait most, so that both cores are busy to
# the end. Tests that measure a time allow for a busy machine.
ALL := account unit origin clients programs portal ledger edge scans harness
# Names of failed parts; the other parts still run. What failed is printed once more at the end.
FAILED := target/failed-tests
NOTED = 2>&1 | tee target/test-$*.log; [ $${PIPESTATUS[0]} = 0 ] || echo $* >> $(FAILED)

.PHONY: test
ifeq ($(ONLY),)
test: ## every test; ONLY=unit, account, edge, ledger, scans, origin, clients, harness, programs, portal, or a test's name
	@$(MAKE) --no-print-directory --jobs=3 worker setup-programs test-build
	@rm -f $(FAILED)
	@echo "Two at a time, with the output of each when it ends"
	@$(MAKE) --no-print-directory --output-sync=target --jobs=2 $(ALL:%=test-%)
	@[ ! -e $(FAILED) ] || { for part in $$(cat $(FAILED)); do \
		sed -n '/^failures:$$/,/^test result/p' target/test-$$part.log | grep . || tail -n 60 target/test-$$part.log; \
		done; echo "failed:" $$(cat $(FAILED)); exit 1; }
	@# Last, because it reads the logs of all of them.
	target/debug/scan

# Runs in parallel with the Worker's build and gives way to it, because the Worker's last steps use one core. The builder
# is compiled first, because cargo locks its target folder.
.PHONY: test-build
test-build: | worker-builder
	nice env $(CARGO_TEST) --no-run

.PHONY: $(ALL:%=test-%)
$(patsubst %,test-%,$(PARTS)): test-%:
	$(CARGO_TEST) --no-fail-fast --test $* $(NOTED)

test-unit: test-%:
	$(CARGO_TEST) --no-fail-fast $(UNIT) $(NOTED)

test-portal: test-%:
	npm run --silent test:portal $(NOTED)
else ifeq ($(ONLY),unit)
test: unit
else ifeq ($(ONLY),portal)
test: setup worker
	@# Compiles `serve`, origin and their dependencies with the same features as for the other parts.
	$(CARGO_TEST) --quiet --no-run
	npm run --silent test:portal
else ifneq ($(filter $(ONLY),$(PARTS)),)
test: setup worker
	@set -o pipefail; program=$$($(CARGO_TEST) --no-run 2>&1 | tee /dev/stderr | \
		sed -n 's|.*Executable tests/$(ONLY)/main.rs (\(.*\))|\1|p') && "$$program"
else
test: setup worker
	$(CARGO_TEST) --no-fail-fast -- $(ONLY)
endif

.PHONY: unit
unit: ## the tests that need no Worker, no mail server and no browser; nothing is installed for them
	$(CARGO_TEST) --no-fail-fast $(UNIT)

.PHONY: proof
proof: setup worker ## the long proofs, which `make test` runs in a short form
	@echo SEED=$(PROPTEST_RNG_SEED)
	SEED=$(PROPTEST_RNG_SEED) PROOF=1 $(CARGO_TEST) --no-fail-fast -- --nocapture \
		one_bit_changed junk_keys openapi_document_says random_steps exactly_a_hundred counted_just_as_exactly five_kills \
		every_sequence_is_answered_alike whatever_owner_and_operator that_is_killed beside_an_abuser leavers:: replaced_alone secret_is_replaced \
		read_every_domain_alike what_the_library_says no_input_panics every_text_has_an_explanation many_seeds_live

# The lab's programs are optimised: the TLS of their mail servers would otherwise be slower than origin's.
LAB_BUILD := $(CARGO) build --locked --profile quick --package rcpt-lab --package rcpt-world
LAB := RCPT_ORIGIN_BIN=$(CURDIR)/target/origin/origin target/quick/lab

.PHONY: lab-build
lab-build: worker
	@tools/install apt
	$(CARGO) build --locked --profile origin --package rcpt-origin
	$(LAB_BUILD)

.PHONY: bench
ifeq ($(ONLY),)
bench: lab-build ## measured figures as a table, and in target/bench; ONLY=probe, portal, or a part that `lab --help` lists
	$(LAB) bench
	$(LAB) conversations
	$(CARGO) bench --locked --package rcpt-lab
	RCPT_ORIGIN_BIN=$(CURDIR)/target/origin/origin npm run --silent bench:portal
else ifeq ($(ONLY),probe)
bench:
	$(CARGO) bench --locked --package rcpt-lab
else ifeq ($(ONLY),portal)
bench: lab-build
	RCPT_ORIGIN_BIN=$(CURDIR)/target/origin/origin npm run --silent bench:portal
else
bench: lab-build
	$(LAB) $(ONLY)
endif

.PHONY: lab lab-tests lab-world lab-load lab-drill lab-boot
ifeq ($(ONLY),)
lab: lab-tests lab-world lab-drill lab-load ## the lab (lab/README.md); ONLY=tests, world, drill, load, boot
else
lab: lab-$(ONLY)
endif

lab-tests: lab-build
	$(CARGO) test --locked --profile quick --package rcpt-lab --package rcpt-world

lab-world:
	$(LAB_BUILD)
	ONLY=$(EXPERIMENT) target/quick/world

lab-load lab-drill: lab-%: lab-build
	$(LAB) $*

lab-boot: deb
	@tools/install debian-root machine
	lab/boot

.PHONY: mutants
mutants: ## change lines one at a time, and print how many changes each crate's tests notice (SEED, MUTANTS, ONLY=verdict …)
	@tools/install mutants
	@lab/mutants

# Folder of the programs that `tools/install` builds, and the path of a program in its version
TOOLS := $(shell . tools/versions && echo "$$RCPT_TOOLS")
TOOL = $(TOOLS)/$(1)-$(shell . tools/versions && echo "$$$(2)")/bin/$(1)

.PHONY: deb
deb: ## the Debian package rcpt-origin, in target/dist
	@tools/install package
	@tools/package

.PHONY: try-deb
try-deb: deb ## lintian, the unit's exposure; install, upgrade, roll back, purge in a Debian root (needs root)
	@tools/install debian-root
	dist/tests/package

.PHONY: image
image: ## the OCI image of origin, in target/dist
	@tools/install image
	@tools/image

.PHONY: try-image
try-image: image ## the image compiled again in another folder is equal byte by byte; run as a container with every right taken (needs root)
	@tools/install try-image
	dist/tests/image

.PHONY: release
release: ## origin's package, command, clients, bills of materials, checksums, in target/dist
	@tools/install package npm python
	@tools/release

.PHONY: try-release
try-release: release ## the release built again in another folder is equal byte by byte
	dist/tests/release

.PHONY: alerts
alerts: ## test the alerts with promtool
	@tools/install promtool
	$(TOOLS)/prometheus/usr/bin/promtool check rules dist/prometheus/alerts.yml
	$(TOOLS)/prometheus/usr/bin/promtool test rules dist/prometheus/alerts.test.yml

FUZZ_SECONDS ?= 600

.PHONY: fuzz
fuzz: ## fuzz what reads from outside, and the pool (FUZZ_SECONDS, 600 in all); needs the nightly toolchain
	@tools/install fuzz
	cd origin/fuzz && for target in address operators pool redact reply session tls; do \
		RUSTUP_TOOLCHAIN=nightly $(call TOOL,cargo-fuzz,CARGO_FUZZ) run $$target -- -max_total_time=$$(( $(FUZZ_SECONDS) / 7 )) || exit 1; \
	done

.PHONY: lint
lint: ## documents, formatting, clippy natively and for wasm32, fuzz targets, licences and sources of dependencies, lines
	@tools/install rust-target npm deny cxx
	tools/check-docs
	npm run --silent check:portal
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	cargo clippy --locked --package rcpt-edge --package rcpt-shared --package rcpt-lists --package rcpt-workbooks --target wasm32-unknown-unknown -- -D warnings
	@# A separate workspace, which nothing else here compiles.
	cd origin/fuzz && CARGO_TARGET_DIR=$(CURDIR)/target cargo check --locked
	@# Advisories are left out: their database is on GitHub, which not every machine can reach.
	$(call TOOL,cargo-deny,CARGO_DENY) check --hide-inclusion-graph bans licenses sources
	@# A tag can be moved to another commit, so actions are pinned by hash.
	! grep -rnE 'uses: ' .github/workflows | grep -vE '@[0-9a-f]{40} # v'
	@tools/lines

.PHONY: openapi
openapi: export RCPT_WORKER := quick
openapi: ## write both descriptions, their recorded answers and the sandbox' addresses for the portal
	@# The answers are recorded from origin too, which a test program doesn't build.
	$(CARGO_BUILD) --bin origin
	WRITE_OPENAPI=1 $(CARGO_TEST) --quiet --test edge every_example_of
	WRITE_OPENAPI=1 $(CARGO_TEST) --quiet --lib -- openapi

# Made by `tools/clients packed`.
CLIENTS_SOURCES := $(shell find clients/typescript clients/python \( -path '*/dist' -o -path '*/generated' -o -name __pycache__ -o -name schema.ts \) -prune -o -type f -print) \
	LICENSE-APACHE LICENSE-MIT tools/clients edge/openapi.json package-lock.json
target/clients/.packed: $(CLIENTS_SOURCES)
	rm -f target/clients/*.tgz target/clients/*.whl
	tools/clients pack target/clients
	@touch $@

.PHONY: clients
clients: ## rcpt with its completions and manual pages, the npm package and the wheel, in target/clients
	@tools/install npm python
	cargo build --locked --profile origin --package rcpt-client
	tools/clients packed
	install -D target/origin/rcpt target/clients/rcpt
	target/clients/rcpt manual target/clients/man
	@mkdir -p target/clients/completions
	for shell in bash zsh fish; do target/clients/rcpt completions $$shell > target/clients/completions/rcpt.$$shell; done

.PHONY: deploy
ifdef DRY_RUN
deploy: worker ## the edge, into an empty account or up to date there (DRY_RUN=1: show what would be, without an account)
	npx wrangler deploy --dry-run --outdir target/dry-run
	@node devtools/operator/deploy.mjs --dry-run
else
deploy: worker
	@node devtools/operator/deploy.mjs
endif

.PHONY: clean
clean: ## remove what was built; the tools in the cache and the local data in .wrangler/ stay
	cargo clean
	rm -rf edge/build edge/portal/dist
