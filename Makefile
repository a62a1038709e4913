# SPDX-License-Identifier: MIT OR Apache-2.0

# Every target works on a fresh machine with a Rust toolchain and a C compiler
# (zstd is built from source). `make help` lists them.

PREFIX ?= /usr/local
CORPUS ?= ../shared/corpus
DEMO_OUT ?= demo-out
CARGO ?= cargo
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)
IORACLE = $(TARGET_DIR)/release/ioracle
LIBRARY = $(TARGET_DIR)/release/libioracle-capture.so

.PHONY: help demo test test-portable test-stack test-strangers test-apps eval eval-pattern eval-prefetch eval-forecast bench sizes overhead busy models variables docs report-page report-size fuzz soak soak-pattern lint release install uninstall tools

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

demo: release ## watch a real application (NCO) live; predicted against observed
	@scripts/demo $(IORACLE) $(DEMO_OUT)

test: lint ## lint, then all tests
	scripts/run-tests $(CARGO) test --workspace --quiet

test-portable: tools ## the capture library as other processors have it, on this one
	scripts/run-tests scripts/test-portable

.PHONY: test-libraries
test-libraries: tools ## 'ioracle bench' through MPI-IO, HDF5 and netCDF, with MPICH and Open MPI
	scripts/run-tests scripts/test-libraries

test-stack: tools ## the stack that calls take in each way of building the capture library
	scripts/run-tests scripts/test-stack

test-strangers: release ## other projects' own tests with and without capture: docs/strangers.md
	scripts/test-strangers

test-apps: release ## real applications and CPython's tests with and without capture; 1000 kills
	scripts/test-apps
	scripts/test-cpython
	KILL_ROUNDS=1000 $(CARGO) test --package ioracle-cli --test capture kill:: -- --nocapture

eval: release ## run the corpus, write docs/evaluation.md and docs/figures
	@mkdir -p docs/figures
	@if [ -d "$(CORPUS)" ]; then traces="$(CORPUS)/*/"; else \
	    echo "eval: there is no corpus at $(CORPUS) (set CORPUS=DIR); using the traces in tests/traces"; \
	    traces="tests/traces/*/"; fi; \
	$(IORACLE) eval $$traces --rank 0 --baselines --jobs 1 --document docs

.PHONY: eval-applications bursts
APPLICATIONS ?= $(TARGET_DIR)/applications
eval-applications: release ## record applications live, write docs/evaluation-applications.md
	INSTALL=1 IORACLE=$(IORACLE) scripts/record-applications $(APPLICATIONS)
	IORACLE=$(IORACLE) scripts/eval-applications $(APPLICATIONS) docs/evaluation-applications.md

bursts: release ## what the summary says about the bursts of three known loads: docs/run.md
	IORACLE=$(IORACLE) scripts/bursts

# RECORDED names directories that scripts/record-server-traces wrote, WATCHED the
# output of scripts/pattern-watch, COST that of make soak-pattern; without them the
# page says nothing about real servers, and has a short soak.
eval-pattern: release ## simulate a storage cluster, write docs/evaluation-pattern.md and its figures
	@rm -rf $(TARGET_DIR)/eval-pattern && mkdir -p $(TARGET_DIR)/eval-pattern
	$(IORACLE) pattern simulate --set server --scale 0.25 -o $(TARGET_DIR)/eval-pattern/server
	$(IORACLE) pattern simulate --set io-node --scale 0.1 -o $(TARGET_DIR)/eval-pattern/io-node
	$(if $(COST),cp $(COST),$(CARGO) bench --package ioracle-pattern --bench cost >) $(TARGET_DIR)/eval-pattern/cost
	$(IORACLE) pattern document --server $(TARGET_DIR)/eval-pattern/server \
	    --io-node $(TARGET_DIR)/eval-pattern/io-node $(RECORDED:%=--recorded %) -o docs \
	    --cost $(TARGET_DIR)/eval-pattern/cost $(WATCHED:%=--watch %) \
	    --how "these are simulated runs with a quarter (data servers) and a tenth (I/O nodes) of its data"

eval-prefetch: release ## how much prefetching wins on slow storage: docs/evaluation-prefetch.md
	@$(CARGO) build --release --quiet --package ioracle-storage-kit
	scripts/eval-prefetch

eval-forecast: release ## how well I/O times on other storage are forecast: docs/evaluation-forecast.md (needs root)
	@$(CARGO) build --release --quiet --package ioracle-storage-kit
	scripts/eval-forecast

bench: tools ## cost per symbol, growth, worst update, memory: docs/benchmarks.md
	CORPUS="$(CORPUS)" scripts/bench

sizes: release ## how large traces are, how fast written and read: docs/trace-size.md
	CORPUS="$(CORPUS)" scripts/sizes $(IORACLE)

overhead: tools ## what capture costs per call, process, application: docs/overhead.md
	scripts/overhead

busy: tools ## what is kept on a busy node, how much slower the program is there, what the reader costs
	@$(CARGO) build --quiet --release --package ioracle-cli --package ioracle-capture
	$(CARGO) bench --quiet --package ioracle-cli --bench overhead -- busy
	$(CARGO) bench --quiet --package ioracle-cli --bench overhead -- reader

models: release ## how well second runs of real applications predict their beginning
	scripts/models

variables: release ## how well accesses to variables are predicted: docs/predict.md
	scripts/variables

fuzz: ## the fuzz targets, a minute each
	scripts/fuzz

soak: tools ## the tests of capture again and again beside stress-ng (SOAK_MINUTES=10, SOAK_ROUNDS=N)
	scripts/soak

soak-pattern: ## patterns: cost per comparison, request and tick; 10^9 requests, 10^4 known patterns
	$(CARGO) bench --package ioracle-pattern --bench cost -- 1000000000

lint: tools ## format, clippy, documentation, direction of dependencies
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --quiet -- -D warnings
	@if command -v c++ >/dev/null; then \
	    $(CARGO) check --manifest-path fuzz/Cargo.toml --target-dir $(TARGET_DIR)/fuzz --quiet; \
	else echo "lint: the fuzz targets are not checked, because libFuzzer needs a C++ compiler ('apt-get install g++')"; fi
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --quiet
	scripts/check-dependencies
	scripts/check-names
	@$(CARGO) build --release --quiet --package ioracle-capture
	scripts/check-capture

report-size: release ## size and time of reports of one and ten million operations and a thousand ranks
	@scripts/report-size $(IORACLE)

report-page: ## build the page of 'ioracle report' (report/dist) from its sources; needs Node.js
	npm ci --prefix report --ignore-scripts --no-audit --no-fund
	cd report && npx tsc --noEmit && node build.mjs

docs: ## rewrite the pages that are made of tables in the source
	IORACLE_WRITE_DOCS=1 $(CARGO) test --quiet --package ioracle-cli --bin ioracle fresh
	IORACLE_WRITE_DOCS=1 $(CARGO) test --quiet --package ioracle-insight fresh
	IORACLE_WRITE_DOCS=1 $(CARGO) test --quiet --package ioracle-capi --test header fresh

release: tools
	@$(CARGO) build --release --package ioracle-cli --package ioracle-capture --package ioracle-capi
	@install -m 755 $(TARGET_DIR)/release/libioracle_capture.so $(LIBRARY)

install: release ## install command, libraries, headers, examples below PREFIX (default /usr/local)
	scripts/install "$(TARGET_DIR)/release" "$(PREFIX)"

uninstall: ## remove what install put below PREFIX
	scripts/install --remove "$(PREFIX)"

tools:
	@command -v $(CARGO) >/dev/null || { \
	    echo "make: cargo was not found; install a Rust toolchain (https://rustup.rs) or set CARGO"; exit 1; }
	@command -v cc >/dev/null || command -v gcc >/dev/null || { \
	    echo "make: no C compiler was found; install one ('apt-get install gcc')"; exit 1; }
