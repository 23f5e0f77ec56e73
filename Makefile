# Every command of the project; `make help` lists them. Each target does its own set-up, quickly when it is done already.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
# A run starts a hundred processes; without bytecode on the disk each compiles everything anew, at a second or two each.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
BENCHES = $(notdir $(patsubst %/__main__.py,%,$(wildcard bench/*/__main__.py)))

.PHONY: help setup demo up test chaos outages soak mutants check bench docs format lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.backing ## Virtual environment, locked dependencies, and Kafka's jars (or images, where Docker runs)

demo: setup ## A day of meetings with faults, on a real broker and database, beside what should come out
	$(BIN)/roomkeeper demo

up: setup ## Broker, database, simulator and all roles on this machine, until Ctrl-C
	$(BIN)/roomkeeper up

test: setup ## All tests, against a real broker and a real PostgreSQL
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder

chaos: setup ## Workers killed at every point, then blows at random to them and their broker (twenty minutes; less: CHAOS=--rounds=5)
	$(BIN)/python -m tests.streams.chaos $(CHAOS)

outages: setup ## Database and broker away for a minute each, under load: nothing may become a dead letter (about five minutes)
	OUTAGE_SECONDS=60 $(BIN)/pytest -q tests/acceptance/test_outages.py

soak: setup ## 2,000 meetings through three room workers that are killed and paused, with a faulty Zoom (about six minutes)
	$(BIN)/python -m tests.soak $(if $(SEED),--seed $(SEED))

mutants: setup ## Faults planted on purpose, one at a time: tests must catch each (half an hour; some: MUTANTS=work, or names)
	$(BIN)/python -m tests.mutants $(MUTANTS)

check: $(VENV)/.installed ## What a machine can check: style, types, layers, the lock file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -q tests/unit/test_lock_file.py

bench: $(BENCHES:%=bench-%) ## Every benchmark; one alone is make bench-NAME

bench-%: setup
	$(BIN)/python -m bench.$*

docs: $(VENV)/.installed ## Write the generated pages of docs/ anew
	$(BIN)/python docs/generate.py

format: $(VENV)/.installed ## Put the code into the project's form
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

lock: $(VENV)/.installed ## Bring the two lock files up to pyproject.toml, keeping pins that still hold
	$(BIN)/uv pip compile pyproject.toml --python-version 3.11 --all-extras --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet --output-file requirements.txt > /dev/null
	$(BIN)/uv pip compile pyproject.toml --python-version 3.11 --constraint requirements.txt --generate-hashes \
		--no-emit-index-url --no-annotate --no-header --quiet --output-file requirements-runtime.txt > /dev/null

clean: ## Remove what set-up and runs have made here
	rm -rf $(VENV) build dist data *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# The environment. Stamps make a second set-up a matter of milliseconds.

$(VENV)/.installed: requirements.txt pyproject.toml .ci/make-venv
	.ci/make-venv $(VENV)
	@touch $@

$(VENV)/.backing: $(VENV)/.installed roomkeeper/embedded/kafka/pom.xml
	$(BIN)/roomkeeper stack --fetch
	@touch $@
