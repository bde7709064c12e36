# make demo and make test work on a machine with only Python 3.11, make and git.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SPARK_STAMP := $(VENV)/.installed-spark
EXAMPLES_STAMP := $(VENV)/.installed-examples
AIRFLOW := .venv-airflow
AIRFLOW_STAMP := $(AIRFLOW)/.installed
PYODIDE := build/pyodide
PYODIDE_STAMP := $(PYODIDE)/.installed
DUCKDB := .venv-duckdb
DUCKDB_STAMP := $(DUCKDB)/.installed
# Into .venv, by uv if it is installed.
INSTALL := $(if $(shell command -v uv 2>/dev/null),uv pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet)
# One more than the two cores of a small machine: tests that wait for a process leave a core idle.
WORKERS ?= 3
# An extra of pyproject.toml belongs here, or its packages in the group test or examples.
LOWEST_EXTRAS := server,keyring,excel,png,pandas,polars,sql
EXTRAS := $(LOWEST_EXTRAS),mcp
SPARK_EXTRAS := spark,delta,iceberg
# Subjects with targets of their own, which make test and make test-all leave to them.
PAGES := tests/test_examples.py tests/test_docs.py
BROWSER := tests/browser
FUZZ := tests/server/fuzz
KILLS := tests/cli/sync/test_kill.py tests/client/dataset/test_task_kills.py tests/client/test_quota_kills.py \
  tests/server/test_kill.py
MEMORY := tests/client/dataset/test_memory.py tests/client/test_large_answers.py
ASSISTANTS := tests/cli/test_mcp.py
STORES := tests/cli/sync/test_faulty_store.py tests/cli/sync/test_object_store.py
DIALECTS := tests/client/test_dialects.py tests/client/dataset/test_sync_dialects.py tests/system/test_service_circle.py
APART := $(PAGES) $(BROWSER) $(FUZZ) $(KILLS) $(MEMORY) $(ASSISTANTS) $(STORES) $(DIALECTS)
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not spark' $(APART:%=--ignore %)
# The tests start hundreds of processes, and without its cache each of them compiles every module
# anew: images of Python often switch the cache off, and uv leaves compiling to the first import.
export PYTHONDONTWRITEBYTECODE :=
export UV_COMPILE_BYTECODE := 1

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all test-spark java-17 test-examples test-browser test-pyodide test-fuzz test-assistants test-memory test-kill test-dialects test-stores check proof proof-page proof-quick mutation simulate simulate-broken load bench-large bench-spark bench-tables soak lint form format types docs docs-recording test-lowest release clean

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

install: $(STAMP)  ## create .venv with everything that demo and tests need

# With uv this takes seconds; without it, venv and pip. pip is upgraded first, because the one
# that comes with Python 3.11 cannot read dependency groups.
$(STAMP): pyproject.toml Makefile
	@echo 'Setting up $(VENV) with all packages; the first time takes about a minute.' >&2
	@if command -v uv >/dev/null 2>&1; then \
	  { test -x $(BIN)/python || uv venv --quiet --python $(PYTHON) $(VENV); } && \
	  uv pip install --quiet --python $(BIN)/python --editable '.[$(EXTRAS)]' --group dev; \
	else \
	  { test -x $(BIN)/python || $(PYTHON) -m venv $(VENV); } && \
	  $(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  echo 'The environment is there. Installing the packages with pip.' >&2 && \
	  $(BIN)/python -m pip install --quiet --editable '.[$(EXTRAS)]' --group dev; \
	fi
	@echo 'Set up.' >&2
	@touch $@

demo: $(STAMP)  ## run the whole system once on generated data
	@$(BIN)/adanalytics demo
	@echo 'First, in each terminal, run: . $(BIN)/activate'

test: $(STAMP)  ## run up to three cases of each test; subjects with a target below are left to it
	@ADANALYTICS_CASES=3 $(PYTEST)

test-all: $(STAMP)  ## run all cases of these tests, in twenty minutes
	@$(PYTEST)

test-spark: java-17 $(SPARK_STAMP) $(DUCKDB_STAMP)  ## run the tests on Spark, which need Java 17, and of tables
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m spark tests/spark tests/client/dataset

java-17:
	@$${JAVA_HOME:+$$JAVA_HOME/bin/}java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || \
	  { echo 'Spark needs Java 17 or later: apt-get install openjdk-17-jre-headless' >&2; exit 1; }

# Not part of install, because PySpark takes 490 MB, deltalake 140 and pyiceberg 25.
$(SPARK_STAMP): $(STAMP)
	@$(INSTALL) --editable '.[$(SPARK_EXTRAS)]'
	@touch $@

# An environment of its own, because the packages with the extensions are for one version of DuckDB.
DUCKDB_PACKAGES := $(foreach name,duckdb duckdb-extensions duckdb-extension-avro duckdb-extension-delta duckdb-extension-iceberg,$(name)==1.5.5)
$(DUCKDB_STAMP): Makefile
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --clear --python $(PYTHON) $(DUCKDB) && \
	  uv pip install --quiet --python $(DUCKDB)/bin/python $(DUCKDB_PACKAGES); \
	else \
	  $(PYTHON) -m venv --clear $(DUCKDB) && \
	  $(DUCKDB)/bin/python -m pip install --quiet $(DUCKDB_PACKAGES); \
	fi
	@touch $@

test-examples: $(EXAMPLES_STAMP) $(AIRFLOW_STAMP)  ## run all examples, also with dlt, Dagster and Airflow, and the code on the pages
	@$(BIN)/python -m pytest -n 2 $(PAGES)

$(EXAMPLES_STAMP): $(STAMP)
	@$(INSTALL) --group examples
	@touch $@

# An environment of its own, because Airflow 3.3 allows no fastapi from 0.137 on.
$(AIRFLOW_STAMP): pyproject.toml Makefile
	@if command -v uv >/dev/null 2>&1; then \
	  uv venv --quiet --clear --python $(PYTHON) $(AIRFLOW) && \
	  uv pip install --quiet --python $(AIRFLOW)/bin/python --editable '.[arrow]' 'apache-airflow>=3.3'; \
	else \
	  $(PYTHON) -m venv --clear $(AIRFLOW) && \
	  $(AIRFLOW)/bin/python -m pip install --quiet --upgrade 'pip>=25.1' && \
	  $(AIRFLOW)/bin/python -m pip install --quiet --editable '.[arrow]' 'apache-airflow>=3.3'; \
	fi
	@touch $@

test-browser: $(STAMP)  ## use the web area in Chromium, if it is installed
	@$(BIN)/python -m pytest $(BROWSER)

test-pyodide: $(STAMP) $(PYODIDE_STAMP)  ## run the client in WebAssembly, which needs node
	@$(BIN)/python -m pytest tests/system/test_pyodide.py

# By pip, because uv does not know the wheels of Pyodide 314, which is Python 3.14.
$(PYODIDE_STAMP): pyproject.toml Makefile
	@npm install --silent --no-save --prefix $(PYODIDE) pyodide@314
	@$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' \
	  >$(PYODIDE)/requirements.txt
	@$(PYTHON) -m pip install --quiet --upgrade --target $(PYODIDE)/site --only-binary :all: --python-version 3.14 \
	  --implementation cp --abi cp314 --abi none --platform pyemscripten_2026_0_wasm32 --requirement $(PYODIDE)/requirements.txt
	@touch $@

test-fuzz: $(STAMP)  ## let schemathesis make up requests from the OpenAPI document
	@$(BIN)/python -m pytest $(FUZZ)

test-assistants: $(STAMP)  ## let a client of the MCP SDK talk to adanalytics mcp
	@$(BIN)/python -m pytest -n 2 $(ASSISTANTS)

test-memory: $(STAMP)  ## compare the memory that few and many events take
	@$(BIN)/python -m pytest $(MEMORY)

test-kill: $(STAMP)  ## kill a sync at 50 random moments, tasks in 20 rounds, counting processes and servers
	@ADANALYTICS_KILLS=50 $(BIN)/python -m pytest $(firstword $(KILLS))
	@ADANALYTICS_KILLS=20 $(BIN)/python -m pytest -n 2 $(wordlist 2,4,$(KILLS))

test-dialects: $(STAMP)  ## pull, sync and probe every dialect of the server, in ten minutes
	@ADANALYTICS_DIALECTS=all $(BIN)/python -m pytest -n 2 $(DIALECTS)

test-stores: $(STAMP)  ## sync to object stores, and 20 times each with faults, killed, and two at once
	@ADANALYTICS_TRIALS=20 $(BIN)/python -m pytest -n 2 $(STORES)

check: lint types test  ## lint, format check, types and tests

COMPARE ?= proof/results.json
proof: $(STAMP)  ## measure everything, and compare with the run in COMPARE, in 15 minutes
	@$(BIN)/python -m proof --compare $(COMPARE)

proof-page: $(STAMP)  ## put the figures of the last make proof on docs/explanation/proof.md
	@$(BIN)/python -m proof.page build/proof/RESULTS.json

mutation: $(STAMP)  ## change 40 central lines one at a time, and see whether tests notice, in 15 minutes
	@$(BIN)/python -m proof.mutation

simulate: $(STAMP)  ## simulate years of pulls, syncs, kills and faults in ten minutes, and count violations
	@$(BIN)/python -m proof.simulate --minutes 10 --syncs 200 --record proof/simulated.md \
	  --first $$(date -u +%y%m%d)000000

simulate-broken: $(STAMP)  ## put 39 defects back, one at a time, and see that a simulation finds each
	@$(BIN)/python -m proof.simulate.broken

load: $(STAMP)  ## pull in all ways for ten minutes while the data change, and count violations
	@$(BIN)/python -m proof.load

proof-quick: $(STAMP)  ## try the same on small data, in two minutes
	@$(BIN)/python -m proof --quick

soak: $(STAMP)  ## pull five million events, twice, and measure the memory
	@$(BIN)/python -m benchmarks.client_soak

bench-large: $(STAMP)  ## measure a dataset of 100 million events on this machine, in 12 GB
	@$(BIN)/python -m benchmarks.large_dataset

bench-tables: $(SPARK_STAMP)  ## measure what 200 hourly syncs leave behind, plain and in tables
	@$(BIN)/python -m benchmarks.hourly_tables

bench-spark: java-17 $(SPARK_STAMP)  ## measure the ways to bring events to Spark
	@$(BIN)/python -m benchmarks.spark_read

lint: $(STAMP)  ## lint and check the format
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

format: $(STAMP)  ## fix formatting and lint automatically
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# What is listed by hand: names, pages, layers and generated files; nothing that pulls.
FORM := tests/test_parity.py tests/test_packaging.py tests/test_architecture.py tests/cli/test_help.py \
  tests/cli/test_generated_pages.py tests/server/test_openapi.py tests/client/test_surface.py

form: $(STAMP)  ## run the tests of what is listed in several places, in half a minute
	@$(BIN)/python -m pytest -q -n $(WORKERS) $(FORM)

types: $(STAMP)  ## check the types strictly, and of the code on the pages as users check theirs
	@$(BIN)/mypy
	@$(BIN)/python -m tests.page_modules build/pages
	@$(BIN)/mypy --config-file= --cache-dir=.mypy_cache/pages --ignore-missing-imports build/pages

docs: $(STAMP)  ## build the documentation and try it in a browser; a warning is an error
	@$(INSTALL) --group docs
	@$(BIN)/python .ci/build_docs.py
	@$(BIN)/python -m pytest -q tests/built_site.py

docs-recording: $(STAMP)  ## run the tutorial and renew its outputs and picture
	@$(BIN)/python tests/record_tutorial.py

# A second environment with exactly the lower bounds of pyproject.toml.
test-lowest:  ## run all tests with the oldest allowed dependencies
	@$(PYTHON) -m venv --clear .venv-lowest
	@.venv-lowest/bin/python -m pip install --quiet --upgrade 'pip>=25.1'
	@.venv-lowest/bin/python -m pip install --quiet --editable '.[$(LOWEST_EXTRAS)]' --group test \
	  --constraint constraints-lowest.txt
	@.venv-lowest/bin/python -m pytest -n $(WORKERS)

release:  ## build the release files and test them in clean environments
	@.ci/release

clean:  ## remove everything that the targets created
	rm -rf $(VENV) .venv-lowest $(AIRFLOW) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist site
