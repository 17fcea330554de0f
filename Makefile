# Everything from a fresh clone, with nothing but python3 (3.11 or newer), make and the package index.
#
#   make demo     a network learns handwritten digits on 8 simulated TPU cores, then with another strategy
#   make test     the tests, those of what XLA's settings decide first (ARGS="-k name" is handed to pytest; WORKERS=1 for one process)
#   make programs the tests that run whole programs: of the documents, of the examples, and of clusters that train
#   make stress   what is done many times because it rarely goes wrong, and further cases of the same
#   make check    format, lint, types, import contract, doctests
#   make package  the source distribution and the wheel in dist/, checked, and the wheel tried in a fresh environment
#   make docs     the documentation as a site, in docs/_build; a link that leads nowhere is an error
#   make bench    the figures, as a table and as JSON
#   make api      rewrites tests/public_api.txt after an intended change of the public API
#   make names    rewrites the table of tf's names in docs/compatibility.md
#   make format   mends what `make check` finds in format and lint, where that can be done by itself
#   make lock     rewrites constraints.txt with the newest versions that pyproject.toml allows
#   make clean    removes .venv and what the tools left behind

PYTHON ?= python3
# Twice the processors of a small machine: many tests wait for the processes that they start.
WORKERS ?= 4
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.complete
CODE := $(wildcard stratax tests tools benchmarks examples)
# Containers often forbid Python to keep what it has compiled. The tests start some hundred processes, and each would
# compile the package again, which takes a third of a second; pytest would rewrite every test's assertions again.
export PYTHONDONTWRITEBYTECODE :=
PIP := -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help setup demo test programs stress check format-check lint types contract doctest package docs bench api names format lock clean

help:
	@sed -n 's/^#   //p' Makefile

setup: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Stratax needs Python 3.11 or newer. Received: $$($(PYTHON) --version). Run: make PYTHON=python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "Installing into $(VENV) (once; a minute or two) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP) -c constraints.txt setuptools
	@$(BIN)/python $(PIP) -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

demo: setup
	@$(BIN)/stratax demo --strategy tpu --simulate tpu:8
	@$(BIN)/stratax demo --strategy mirrored --simulate gpu:4

test: setup
	@tools/test.sh $(BIN)/python -n $(WORKERS) --dist worksteal $(ARGS)

# File by file: cases of a file often ask one cluster, which a second process of pytest would start again.
programs: setup
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile -m "programs and not stress" $(ARGS)

# An empty XLA_FLAGS leaves XLA as users have it: tests/conftest.py.
stress: setup
	@XLA_FLAGS= $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m stress $(ARGS)

check: format-check lint types contract doctest
	@echo "check: all passed"

format-check: setup
	@$(BIN)/ruff format --check --quiet --output-format concise $(CODE) || { echo "Run: make format" >&2; exit 1; }

lint: setup
	@$(BIN)/ruff check --quiet $(CODE)

types: setup
	@$(BIN)/mypy --no-error-summary

contract: setup
	@$(BIN)/lint-imports --no-logo > $(VENV)/contract.log 2>&1 || { cat $(VENV)/contract.log; exit 1; }

doctest: setup
	@STRATAX_SIMULATE=cpu:8 $(BIN)/python -m pytest -q -p tools.doctests --doctest-modules stratax

package: setup
	@$(BIN)/python -m tools.package dist

docs: setup
	@$(BIN)/python -m sphinx -q -W --keep-going -j 2 docs docs/_build/html
	@echo "docs: see docs/_build/html/index.html"

bench: setup
	@$(BIN)/python -m benchmarks $(ARGS)

api: setup
	@$(BIN)/python -m tests.public_api

names: setup
	@$(BIN)/python -m tools.compatibility

format: setup
	@$(BIN)/ruff check --quiet --fix $(CODE) || true
	@$(BIN)/ruff format --quiet $(CODE)

lock:
	@tools/lock.sh $(PYTHON) $(VENV)-lock

clean:
	@rm -rf $(VENV) build dist docs/_build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find $(CODE) -name __pycache__ -prune -exec rm -rf {} +
