# Two commands do all the set-up on a machine with Python >= 3.11 and make: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
WORKERS ?= 2
FUZZ_SECONDS ?= 600

.PHONY: help demo test test-all fuzz lint format bench experiments clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev,report,experiments]'
	touch $@

demo: $(VENV)/.installed ## train on embedded real data, print the certificate, leave a page to look at
	$(BIN)/python examples/demo.py

test: lint ## lint, type check and run the whole suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m 'not slow'

test-all: lint ## the suite with the heavier checks
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

fuzz: $(VENV)/.installed ## mutated files for every reader, FUZZ_SECONDS (600) each
	$(BIN)/python tests/fuzz.py --seconds $(FUZZ_SECONDS)

lint: $(VENV)/.installed ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.installed ## let ruff put the files in order
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.installed ## peers and Fenchel side by side (installs the peers)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

experiments: $(VENV)/.installed ## rerun the papers' experiments (two hours or so); tables and plots in experiments/out
	for name in table1_winnow table2_reuters figures_reuters pragam_comparison bmrm_comparison \
		usunier_frank_wolfe measures_gain hierarchies ocr_letters saddle_frank_wolfe conll_chunking label_sets \
		word_alignment; do \
		$(BIN)/python -m experiments.$$name || exit 1; done

clean: ## remove the environment and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
