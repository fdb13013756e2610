# Everything that is done to this project. Each target sets up what it needs in .venv; `make help` lists them.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# One process on each core; the tests of a file share what they set up.
PYTEST := $(BIN)/pytest -n auto --dist loadfile

# The engine is built again when any of these changed.
ENGINE := $(shell find crates presets -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock pyproject.toml

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo build c check test lint format docs pictures firmware bench fuzz fuzz-parsers guest-kernel wheel lock licenses clean tools

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

DEMO_DRIVE    ?= pcie4-tlc-2tb
DEMO_WORKLOAD ?= examples/mixed.fio
DEMO_POLICIES ?= baseline,ofwar,all_fast

demo: ## Build; find out why the slowest reads of a modern drive are slow; compare three policies.
	@echo "1 of 3: build the engine and install ssdlab in $(VENV). The first time: 2 to 5 minutes on two cores."
	@$(MAKE) --no-print-directory build
	@mkdir -p target/demo
	@echo
	@echo "2 of 3: why are the slowest reads slow? A small drive with the architecture of $(DEMO_DRIVE). About 20 s on two cores."
	$(BIN)/ssdlab shrink $(DEMO_DRIVE) --to 32GiB --out target/demo/drive.toml --force
	$(BIN)/ssdlab run target/demo/drive.toml $(DEMO_WORKLOAD) --precondition steady --out target/demo/tail --force
	$(BIN)/ssdlab why target/demo/tail --try
	@echo
	@echo "3 of 3: two hours of a message service on ofwar-64g, under $(DEMO_POLICIES). About 10 s on two cores."
	$(BIN)/ssdlab compare ofwar-64g examples/telegram-like.toml --policy $(DEMO_POLICIES) --precondition steady \
		--out target/demo/policies --force
	@echo
	@echo "The reports: $(CURDIR)/target/demo/tail/report.html"
	@echo "             $(CURDIR)/target/demo/policies/report.html"

build: $(VENV)/.stamp-engine $(VENV)/.stamp-papers ## Build the engine; install ssdlab and the experiments in .venv.

C_FLAGS     := -Wall -Wextra -Werror -O2 -I target/c/include -I examples/c
C_ARCHIVE   := target/c/lib/libssdlab.a
C_LIBRARIES := -lpthread -ldl -lm
# The summaries of the examples are equal, but for the wall time.
SAME := same() { cmp <(grep -v wall_s "target/c/$$1.json") <(grep -v wall_s "target/c/$$2.json"); }; same

c: tools ## Build the C library in target/c, and run the examples in C and, where they are installed, SystemC and SQLite.
	cargo build --release --locked -p ssdlab-c
	@mkdir -p target/c/include target/c/lib
	cp crates/capi/include/ssdlab.h target/c/include/
	ln -f target/release/libssdlab.so target/release/libssdlab.a target/c/lib/
	$(CC) -std=c99 $(C_FLAGS) examples/c/closed_loop.c -L target/c/lib -lssdlab -Wl,-rpath,'$$ORIGIN/lib' -o target/c/closed_loop
	$(CC) -std=c99 $(C_FLAGS) examples/c/closed_loop.c $(C_ARCHIVE) $(C_LIBRARIES) -o target/c/closed_loop_static
	target/c/closed_loop target/c/shared.json
	target/c/closed_loop_static target/c/static.json > target/c/static.txt
	@$(SAME) shared static
	@if $(CXX) -include systemc -fsyntax-only -x c++ /dev/null 2> target/c/systemc.log; then \
		set -x; \
		$(CXX) -std=c++17 $(C_FLAGS) examples/systemc/closed_loop.cpp $(C_ARCHIVE) -lsystemc $(C_LIBRARIES) -o target/c/closed_loop_systemc; \
		target/c/closed_loop_systemc target/c/systemc.json; \
		{ set +x; } 2> /dev/null; $(SAME) shared systemc; \
	else echo "make c: the example in SystemC is skipped, as the compiler finds no SystemC (Debian and Ubuntu: libsystemc-dev)"; fi
	@if $(CC) -include sqlite3.h -fsyntax-only -x c /dev/null 2> target/c/sqlite.log; then \
		set -x; \
		$(CC) -std=c99 $(C_FLAGS) examples/c/sqlite_on_drive.c $(C_ARCHIVE) -lsqlite3 $(C_LIBRARIES) -o target/c/sqlite_on_drive; \
		target/c/sqlite_on_drive 1000 5000; \
	else echo "make c: the example with SQLite is skipped, as the compiler finds no sqlite3.h (Debian and Ubuntu: libsqlite3-dev)"; fi
	@echo; ls -l target/c/include target/c/lib

# Modules of the drive's tests that take more than a few seconds.
SLOW := combined conservation deadlines derive fuzz guests lifetime operational origins

check: lint ## Lint and run the quick tests, those in Python only if the engine is built: the loop while writing.
	cargo test --workspace --locked --lib --tests -- $(SLOW:%=--skip %::)
	@if test -e $(VENV)/.stamp-engine -a -z "$$(find $(ENGINE) -newer $(VENV)/.stamp-engine)"; then $(PYTEST) -m "not slow"; \
		else echo "make check: the engine has changed since it was built: \`make test\` runs the tests in Python"; fi

test: $(VENV)/.stamp-dev build ## Run every test, in Rust and in Python.
	cargo test --workspace --locked
	$(PYTEST)

lint: $(VENV)/.stamp-dev $(VENV)/.stamp-papers ## Check format, style and types.
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/python tools/style.py
	$(BIN)/ruff check python tests/python bench papers examples tools docs/conf.py conftest.py
	$(BIN)/ruff format --check python tests/python bench papers examples tools docs/conf.py conftest.py
	$(BIN)/mypy

format: $(VENV)/.stamp-dev ## Bring the sources into format.
	cargo fmt --all
	$(BIN)/ruff check --fix python tests/python bench papers examples tools docs/conf.py conftest.py
	$(BIN)/ruff format python tests/python bench papers examples tools docs/conf.py conftest.py

docs: $(VENV)/.stamp-dev build ## Build the documentation in target/docs; a dead link or a warning ends it.
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto docs target/docs
	@echo "The documentation: $(CURDIR)/target/docs/index.html"

pictures: $(VENV)/.stamp-dev build ## Draw the pictures of README and documentation again, in headless Chromium.
	$(BIN)/python tools/pictures.py

bench: build ## Measure the speed of the fixed scenarios; a line is added to bench/history, with which bench/compare.py compares.
	$(PYTHON) bench/run.py $(FLOOR:%=--floor %)
	$(BIN)/python bench/start.py
	$(PYTHON) bench/door.py

# Seconds for all targets together; the build, some minutes the first time, is not counted.
SECONDS    ?= 120
fuzz: SECONDS := 600
# Seed from which `make fuzz` takes the next ones: those below belong to the tests.
FROM       ?= 1000000
CARGO_FUZZ := target/cargo-fuzz/bin/cargo-fuzz

fuzz: $(CARGO_FUZZ) build ## Search for defects for SECONDS (600): random drives from seed FROM on, mutated inputs, kills.
	SSDLAB_SECONDS=$$(( $(SECONDS) * 6 / 10 )) SSDLAB_FROM=$(FROM) \
		cargo test --locked -p drive --test it -- search::for_a_while --ignored --nocapture
	$(BIN)/python tools/fuzz_parsers.py $(CARGO_FUZZ) $$(( $(SECONDS) * 3 / 10 ))
	$(BIN)/python tools/kill_at_random.py --count $$(( $(SECONDS) / 120 ))

fuzz-parsers: $(CARGO_FUZZ) build ## Give mutated inputs to every parser for SECONDS (120), and count them; an input that fails is kept.
	$(BIN)/python tools/fuzz_parsers.py $(CARGO_FUZZ) $(SECONDS)

$(CARGO_FUZZ): | tools
	cargo install cargo-fuzz --version 0.13.2 --locked --quiet --root target/cargo-fuzz

# The images are kept: only a change of the firmware needs the cross compiler (gcc-riscv64-unknown-elf).
FIRMWARE_CC := riscv64-unknown-elf-gcc -march=rv32imc -mabi=ilp32 -misa-spec=2.2 -O2 -Wall -Wextra -Werror \
	-ffreestanding -nostdlib -nostartfiles
firmware: ## Build the firmware that the simulated cores execute, from its sources in C.
	$(FIRMWARE_CC) -T firmware/firmware.ld -o firmware/page_map.elf firmware/start.S firmware/page_map.c

guest-kernel: ## Fetch the kernel that the tests boot as a guest (Debian's, 27 MB) into target/guest.
	mkdir -p target/guest
	cd target/guest && name=$$(apt-cache depends linux-image-cloud-amd64 | awk '$$1 == "Depends:" { print $$2; exit }') \
		&& apt-get download -qq "$$name" && dpkg-deb -x "$$name"_*.deb .

# One wheel for every Python from 3.11 on. It is tried where nothing but its requirements is installed.
wheel: build ## Build a wheel in target/wheels, and try it in a fresh environment.
	rm -rf target/wheels target/wheel
	VIRTUAL_ENV='$(CURDIR)/$(VENV)' $(BIN)/maturin build --release --locked --quiet --out target/wheels
	$(PYTHON) -m venv target/wheel
	target/wheel/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	target/wheel/bin/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps target/wheels/*.whl
	cd target/wheel && PATH=/usr/bin:/bin bin/ssdlab run tiny ../../examples/randwrite.fio --stop-after 2000 --quiet --json > run.json
	cd target/wheel && PATH=/usr/bin:/bin bin/ssdlab doctor && test -f share/man/man1/ssdlab.1
	@echo; ls -l target/wheels/*.whl

lock: $(VENV)/.stamp-dev ## Take the newest Python packages into the lock files.
	rm -rf $(VENV)/lock && $(PYTHON) -m venv $(VENV)/lock
	$(VENV)/lock/bin/python -m pip install --quiet $$($(BIN)/python -c "$$LIST_RUNTIME") maturin flit_core
	$(VENV)/lock/bin/python -m pip freeze > $(VENV)/lock/runtime.in
	$(VENV)/lock/bin/python -m pip install --quiet $$($(BIN)/python -c "$$LIST_DEV")
	$(VENV)/lock/bin/python -m pip freeze > $(VENV)/lock/all.in
	$(PYTHON) -m venv $(VENV)/lock/tool && $(VENV)/lock/tool/bin/python -m pip install --quiet pip-tools
	for name in runtime all; do $(VENV)/lock/tool/bin/pip-compile $(HASHED) -o $(VENV)/lock/$$name.out $(VENV)/lock/$$name.in; done
	{ sed -n 1p requirements.lock; cat $(VENV)/lock/runtime.out; } > $(VENV)/lock/runtime
	{ sed -n 1,2p requirements-dev.lock; awk "$$REST" $(VENV)/lock/runtime.out $(VENV)/lock/all.out; } > $(VENV)/lock/dev
	mv $(VENV)/lock/runtime requirements.lock && mv $(VENV)/lock/dev requirements-dev.lock && rm -rf $(VENV)/lock

# Hashes of all files of a version, so that it can be installed on any platform; a local folder of wheels is not named.
HASHED := --quiet --generate-hashes --no-annotate --no-header --no-emit-index-url --no-emit-find-links \
	--no-emit-trusted-host --allow-unsafe --strip-extras
# The requirements of the second file that are not in the first.
export REST = NR == FNR { if (/^[^ \#]/) seen[$$1] = 1; next } /^[^ \#]/ { keep = !($$1 in seen) } keep
export LIST_RUNTIME = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"])
export LIST_DEV = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["dev"])

licenses: $(VENV)/.stamp-dev | tools ## List the dependencies with their licences in LICENSES.md.
	$(BIN)/python tools/licenses.py

clean: ## Remove all that was made: builds, the demo, .venv.
	rm -rf target $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python -name '*.so' -delete
	find python papers tests -name __pycache__ -type d -prune -exec rm -rf {} +

# -- what the targets stand on --------------------------------------------------------------------------------

tools:
	@command -v cargo >/dev/null || { echo "make: no cargo: install a Rust toolchain, 1.88 or later (https://rustup.rs)" >&2; exit 1; }
	@cargo --version | awk '{ split($$2, v, "."); exit !(v[1] > 1 || v[2] >= 88) }' \
		|| { echo "make: $$(cargo --version) is too old: Rust 1.88 or later is needed (rustup update)" >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "make: no $(PYTHON): install Python 3.11 or later, or set PYTHON=" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "make: $$($(PYTHON) --version) is too old: Python 3.11 or later is needed, or set PYTHON=" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo "make: $(PYTHON) lacks its venv module: install it (Debian and Ubuntu: python3-venv)" >&2; exit 1; }

$(VENV)/.stamp-run: requirements.lock | tools
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	touch $@

$(VENV)/.stamp-dev: requirements-dev.lock $(VENV)/.stamp-run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@

$(VENV)/.stamp-engine: $(ENGINE) $(VENV)/.stamp-run
	VIRTUAL_ENV='$(CURDIR)/$(VENV)' $(BIN)/maturin develop --release --locked
	touch $@

# Without a look at the registry: what it is built with and runs on is in requirements.lock, and ssdlab is built here.
$(VENV)/.stamp-papers: papers/pyproject.toml $(VENV)/.stamp-run
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation --editable papers
	touch $@
