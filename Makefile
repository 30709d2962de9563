# Two commands do all the set-up on a machine with Python >= 3.11 and make: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
WORKERS ?= 2
FUZZ_SECONDS ?= 600

.PHONY: help demo test test-all fuzz lint format bench experiments clean

help:
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,docs,report,experiments]'
	touch $@

demo: $(VENV)/.core ## train on embedded real data, print the certificate, leave a page to look at
	$(BIN)/python examples/demo.py

test: lint ## lint, type check and run the whole suite
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m 'not slow'

test-all: lint ## the suite with the heavier checks, and with the programs that call Fenchel (installs them)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[clients]'
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

.PHONY: wheel
wheel: $(VENV)/.installed ## a wheel for this platform and Python with the compiled kernels of common fits inside
	$(BIN)/python tools/build_wheel.py

.PHONY: docs check-package check-lowest pin audit
docs: $(VENV)/.installed ## build the documentation into docs/_build/html, with the gallery's pictures; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going --quiet -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

check-package: $(VENV)/.installed ## build wheel and sdist, install them into an empty environment, run what needs no extra there
	$(BIN)/python tools/check_package.py

check-lowest: $(VENV)/.installed ## the same with the lowest versions of the dependencies that are allowed
	$(BIN)/python tools/check_package.py --lowest

pin: $(VENV)/.installed ## write constraints.txt from what is installed now
	$(BIN)/python tools/pin.py

audit: $(VENV)/.installed ## look the pinned versions up in the public lists of known weaknesses (needs the network)
	$(BIN)/python -m pip install --quiet pip-audit
	$(BIN)/pip-audit --strict --no-deps --disable-pip --requirement constraints.txt

bench: $(VENV)/.installed ## peers and Fenchel side by side (installs the peers)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

experiments: $(VENV)/.installed ## rerun the papers' experiments (two hours or so; FENCHEL_DATA has the data); see experiments/out
	$(BIN)/python -m experiments

clean: ## remove the environment and caches
	rm -rf $(VENV) build dist docs/_build docs/gallery docs/api/names .pytest_cache .mypy_cache .ruff_cache .hypothesis
