# Everything sets itself up: the first call makes .venv and installs into it, later calls do not.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: demo test test-slow test-fuzz test-kills test-browser test-load test-without-torch test-all golden snapshots check docs bench clean

demo: $(READY)
	$(BIN)/memoryless demo

# One torch thread for each process: more threads than free cores make small tensors slow.
test: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

test-slow: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow

# Every way to damage a run folder or a model, through everything that reads one.
test-fuzz: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m fuzz

# A hundred runs and savings of models killed at random moments; MEMORYLESS_KILLS sets another number.
test-kills: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m kills

# Needs chromium as /usr/bin/chromium (Debian: apt-get install chromium).
test-browser: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m browser

# Fifty clients ask a server for ten seconds while one teaches; `make test-slow` does it for a minute.
test-load: $(READY)
	OMP_NUM_THREADS=1 MEMORYLESS_LOAD=10 $(BIN)/python -m pytest -m slow tests/serve/test_load.py

# The commands for photos in an environment that has no torch.
test-without-torch:
	tests/without_torch.sh $(PYTHON)

test-all: check test test-slow test-fuzz test-kills test-browser test-without-torch

# Prints what differs from the stored digests of small runs; --write stores the new ones.
golden: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python tests/golden.py

# Writes the outputs of the commands for photos into files; read the difference before you commit it.
snapshots: $(READY)
	MEMORYLESS_SNAPSHOTS=write OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q tests/photos/test_outputs.py

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Builds the site into site/; any broken link is an error.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(READY)
	$(BIN)/python -m benchmarks

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'memoryless needs Python 3.11 or newer: make PYTHON=python3.11')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .hypothesis
