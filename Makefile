# Two commands do all the set-up on a fresh machine with Python 3.11 or newer: `make demo` and `make test`.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.DEFAULT_GOAL := help
.PHONY: help demo test thorough fast check bench docs screenshots size sbom clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

$(VENV)/installed: $(BIN)/python pyproject.toml $(shell find counterbalance engine ingest udfs queries -name '*.py' -o -name '*.sql' -o -name '*.csv' -o -name '*.json' -o -name '*.j2' | sort)
	$(BIN)/pip install --quiet .
	touch $@

$(VENV)/installed-test: $(BIN)/python pyproject.toml $(shell find counterbalance engine ingest udfs queries -name '*.py' -o -name '*.sql' -o -name '*.csv' -o -name '*.json' -o -name '*.j2' | sort)
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

demo: $(VENV)/installed ## make a virtual environment, install, and run the demo into ./demo
	$(BIN)/counterbalance demo demo

test: $(VENV)/installed-test ## install everything the tests need, and run them
	$(BIN)/pytest -n 2 --dist loadfile

thorough: $(VENV)/installed-test ## what `make test` leaves out: more of what it tries, for hours
	COUNTERBALANCE_LAKES=12 COUNTERBALANCE_STATEMENTS=1000 COUNTERBALANCE_EXAMPLES=300 COUNTERBALANCE_KILLS=200 $(BIN)/pytest -n 2 --dist loadfile -m "thorough or not thorough"

fast: $(VENV)/installed-test ## the quick tests of SQL, the shell and disclosure, and one small journey
	$(BIN)/pytest -n 2 --dist loadfile -m fast tests/sql tests/shell tests/disclosure tests/suite

# Types and imports are checked on the installed tree, from a folder where the checkout's own does not hide it.
check: $(VENV)/installed-test ## lint, types and the import contract
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd / && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml -p counterbalance
	cd / && PYTHONPATH=$(CURDIR)/tools $(abspath $(BIN))/lint-imports --config $(CURDIR)/pyproject.toml

bench: $(VENV)/installed-test ## all benchmarks, each beside its peer
	$(BIN)/python bench/run.py

docs: $(VENV)/installed-test ## build/docs/index.html and the manual page build/man/cbal.1
	$(BIN)/python tools/docs_build.py

screenshots: $(VENV)/installed-test ## draw docs/images in headless Chromium
	$(BIN)/pip install --quiet nbconvert ipykernel
	$(BIN)/python tools/screenshots.py

size: ## how much the core takes on disk, in an environment of its own
	rm -rf build/size && $(PYTHON) -m venv build/size && build/size/bin/pip install --quiet .
	du -sm build/size/lib/python*/site-packages/* | sort -n | tail -12 && du -sm build/size/lib/python*/site-packages

sbom: size ## what the core brings, with licences, as CycloneDX: build/sbom.json
	$(PYTHON) -m venv build/sbom && build/sbom/bin/pip install --quiet cyclonedx-bom
	build/sbom/bin/cyclonedx-py environment build/size -o build/sbom.json
	$(PYTHON) tools/licences.py build/sbom.json

clean: ## remove what these commands made
	rm -rf $(VENV) demo build dist *.egg-info
