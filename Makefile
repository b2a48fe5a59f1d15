# `make refresh` and `make test` are all that a fresh machine with Python 3.11 or later needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PACKAGES := scrapers transforms warehouse page flows

.PHONY: refresh test lint bench page venv clean format

refresh: $(VENV)/.installed
	@# 1 means finished with findings, which the table of sources names: the night is published all the same.
	$(BIN)/gpu-almanac refresh || [ $$? -eq 1 ]

test: $(VENV)/.installed-dev
	$(BIN)/pytest --numprocesses 2 --dist loadfile

lint: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/pytest tests/bench_*.py --benchmark-enable --benchmark-only --benchmark-json bench.json

page: $(VENV)/.installed
	$(BIN)/gpu-almanac page

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

venv: $(VENV)/.installed-dev

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache bench.json

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("GPU Almanac needs Python 3.11 or later; set PYTHON=") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: pyproject.toml constraints.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@
