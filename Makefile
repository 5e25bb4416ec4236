# Every target sets up what it needs by itself; see .ci/bootstrap.py for what that means.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# Any Python from 3.8 on can run the set-up; it looks for the 3.12 or newer that the project needs.
ANY_PYTHON := $(shell for p in "$$SIGNOFF_PYTHON" python3 python python3.12 python3.13 python3.14 \
	"$$HOME"/.pyenv/versions/3.*/bin/python; do \
	[ -n "$$p" ] && "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 8))' >/dev/null 2>&1 && echo "$$p" && break; done)

PY := .venv/bin/python
PEER_PY := .venv-bench/bin/python
BENCH_ENV := SIGNOFF_BENCH_PEER_PY="$(CURDIR)/$(PEER_PY)"
ARGS ?=
MINUTES ?= 30

.PHONY: help setup setup-browser setup-bench setup-audit python demo test test-all bench bench-large bench-outage bench-scheduler campaign check format docs lock sbom audit clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

python:
	@[ -n "$(ANY_PYTHON)" ] || { printf '%s\n' "setup: no Python 3.8 or newer was found on this machine to begin with." \
	  "Signoff needs Python 3.12 or newer: install it from your system's packages or python.org," \
	  "or say where it is: SIGNOFF_PYTHON=/path/to/python3.12 make ..." >&2; exit 1; }

setup: python ## .venv with the pinned packages (quick when there is nothing to do)
	@"$(ANY_PYTHON)" .ci/bootstrap.py

setup-browser: python ## the same, and a Chromium for the browser tests
	@"$(ANY_PYTHON)" .ci/bootstrap.py --browser

setup-bench: setup
	@"$(ANY_PYTHON)" .ci/bootstrap.py --bench

setup-audit: setup
	@"$(ANY_PYTHON)" .ci/bootstrap.py --audit

demo: setup ## the product with demo people and running work, in your browser
	@.venv/bin/signoff demo $(ARGS)

test: setup-browser ## the whole default suite, real browser included
	@$(PY) -m tests $(ARGS)

test-all: setup-browser ## the slow tests too
	@$(PY) -m pytest -m "" $(ARGS)

bench: setup-bench ## measurements against peers (prints ratios)
	@$(BENCH_ENV) $(PY) -m tests.bench $(ARGS)

bench-large: setup ## what a thousand to a million waiting runs cost, and how soon the engine is back
	@$(PY) -m tests.bench.large $(ARGS)

bench-outage: setup ## an engine that comes back to 100,000 overdue timers, and who asks it meanwhile
	@$(PY) -m tests.bench.drain $(ARGS)

bench-scheduler: setup-bench ## the in-memory scheduler against graphlib
	@$(BENCH_ENV) $(PY) -m tests.bench.scheduler $(ARGS)

campaign: setup ## every layer that breaks Signoff on purpose, for MINUTES=30 each, with counts
	@$(PY) -m tests.campaign --minutes $(MINUTES) $(ARGS)

check: setup ## format, lint, types, import contracts
	@$(PY) -m ruff format --check .
	@$(PY) -m ruff check .
	@$(PY) -m mypy
	@.venv/bin/lint-imports >.build/imports.txt 2>&1 || { cat .build/imports.txt; exit 1; }

format: setup ## rewrite the files as `make check` wants them
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

docs: setup-browser ## run the commands and links that the documents show
	@$(PY) -m pytest tests/docs $(ARGS)

lock: setup ## make the lock files anew from pyproject.toml (needs uv)
	@sh .ci/relock.sh $(ARGS)

sbom: setup-audit ## a bill of materials of what is installed, in .build/sbom.json (CycloneDX)
	@$(PY) .ci/supply_chain.py sbom

audit: setup-audit ## known vulnerabilities of every pinned package (needs an advisory service; says so where there is none)
	@$(PY) .ci/supply_chain.py audit

clean: ## throw away everything that set-up made
	rm -rf .venv .venv-bench .venv-audit .build .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
