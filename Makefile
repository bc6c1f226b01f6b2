# make quick   the environment, then the quick design to its figures, ledger and report
# make test    the environment, then all tests
# make install the environment, and nothing else
# make bench   speed and memory of the training engines
# make growth  how training cost grows, and what the paper's full design would cost
# make redraw  every published figure, from published tables: nothing is trained
# make lint    formatting, lint and types
PYTHON ?= python3
VENV := .venv
STAMP := $(VENV)/.installed
BIN := $(CURDIR)/$(VENV)/bin
# Ours first: jobs call `fittest` by name.
export PATH := $(BIN):$(PATH)
# One thread a process: jobs in parallel use the cores.
export OMP_NUM_THREADS := 1
DESIGN ?= quick

.PHONY: install quick run test bench growth redraw lint format unlock clean help
.DEFAULT_GOAL := help

help:
	@sed -n '/^# make/s/^# //p' Makefile

install: $(STAMP)

quick: DESIGN = quick
quick: run

# `run` takes any design: make run DESIGN=laptop
run: $(STAMP)
	@if ! snakemake --profile profiles/local all report --config design=$(DESIGN); then \
	  if [ -n "$$(ls -A .snakemake/locks 2>/dev/null)" ]; then \
	    echo "A lock is left. If no other snakemake runs in this folder, a killed one left it:"; \
	    echo "    make unlock && make run DESIGN=$(DESIGN)"; \
	  fi; exit 1; fi
	@fittest headline results/$(DESIGN)

unlock: $(STAMP)
	@snakemake --unlock --config design=$(DESIGN)

test: $(STAMP)
	python -m pytest -n auto

bench: $(STAMP)
	python -m benchmarks.training

growth: $(STAMP)
	python -m benchmarks.growth
	python -m benchmarks.paper_cost

redraw: $(STAMP)
	@fittest redraw results/published

lint: $(STAMP)
	ruff check .
	ruff format --check .
	snakefmt --check Snakefile workflow
	mypy

format: $(STAMP)
	ruff format .
	ruff check --fix .
	snakefmt Snakefile workflow

$(STAMP): requirements.txt pyproject.toml setup.py $(wildcard src/fittest/native/*.?pp)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed, and $(PYTHON) is $$($(PYTHON) --version 2>&1): make PYTHON=/path/to/python"; exit 1; }
	@echo "Making the environment in $(VENV) (once; a few minutes)"
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "Python's venv module is needed (Debian: apt-get install python3-venv)"; exit 1; }
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@$(VENV)/bin/python -c 'from fittest.training.engines import native_levels as n; \
	  print("Native engine:", n()[0] if n() else "not built, since there is no C++ compiler; the torch engine serves, slower")'
	@touch $(STAMP)

clean:
	rm -rf $(VENV) .snakemake build src/*.egg-info
