# make reproduce   set up, run the main experiment (quick form), print its table and name its plots
# make test        set up, then check style and types and run the tests
# make fuzz        random damage to files that readers take, for ten minutes, or make fuzz SECONDS=30
# make benchmark   speed of synthesis, simulation, verification and bounds, warm
# make sweep       3,000 random problems for every synthesizer: none may be faster than the bound (some minutes)
# make results     all that is committed under results/, anew: every row, table and plot

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SECONDS ?= 600
STAMP := $(VENV)/.installed

.PHONY: setup reproduce results test lint fuzz benchmark sweep clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "collbench needs Python 3.11 or newer, $(PYTHON) is older; name another: make PYTHON=python3.12 …" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade --editable '.[dev]'
	touch $@

reproduce: $(STAMP)
	$(BIN)/python experiments/reproduce_tacos.py --quick

results: $(STAMP)
	for script in experiments/reproduce_*.py; do $(BIN)/python $$script || exit 1; done

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: $(STAMP) lint
	$(BIN)/python -m pytest --numprocesses=2 --dist worksteal

fuzz: $(STAMP)
	$(BIN)/python tests/fuzz.py $(SECONDS)

benchmark: $(STAMP)
	$(BIN)/python -m pytest benchmarks --benchmark-only --benchmark-sort=name --benchmark-columns=min,median,stddev,rounds

sweep: $(STAMP)
	COLLBENCH_SWEEP=3000 $(BIN)/python -m pytest tests/experiments/test_efficiency.py -rP --numprocesses=2

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
