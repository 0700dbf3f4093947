# make demo, make test and make test-all are all that a fresh machine with Python and Java needs.
SHELL := /bin/sh
.DEFAULT_GOAL := help
.PHONY: help demo test test-rest test-all redundant check check-tests dbt-versions smoke conformance verify lowest nightly chaos s3 cluster interop orchestrators pictures lint docs bench bench-branches bench-dbt bench-peers java clean

# Else each of the hundreds of processes that tests start compiles the package, and pytest all tests.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
WORKERS ?= 2
DATA   := integration_tests/data/.complete

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 20

# Spark's classes, as `dbt-vcs prepare` archives them; where it can't, tests only take longer.
PREPARED := XDG_CACHE_HOME=$(CURDIR)/$(VENV)/cache

demo: java $(VENV)/.demo $(DATA) ## build, branch, break, fix and merge a dbt project on real data
	cd integration_tests && ../$(BIN)/python -m demo

TESTS ?= tests
PYTEST := $(PREPARED) $(BIN)/python -m pytest $(TESTS) --durations=25 \
    --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

MARKED ?= not conformance and not slow

test: java $(VENV)/.test ## run the first tier of tests, in two processes; WORKERS=1 for one
	-$(PREPARED) $(BIN)/dbt-vcs prepare
	$(PYTEST) -m "$(MARKED)"

# Other random cases each time. The seed is printed, and SEED=... gives the same cases again.
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')

# One file in so many, chosen by the seed.
SHARE ?= 1

test-rest: java $(VENV)/.test,demo $(DATA) ## run what test-all has beyond test: the second tier, and each law on 50 new random cases; SHARE=3 for a random third of its files
	-$(PREPARED) $(BIN)/dbt-vcs prepare
	HYPOTHESIS_PROFILE=ci $(PYTEST) -m "not conformance and (slow or hypothesis)" --hypothesis-seed=$(SEED) --share=$(SHARE)

test-all: test test-rest ## run all tests

redundant: java $(VENV)/.dev ## print what could be moved to the second tier: tests of a second or more whose lines quicker ones run
	COVERAGE_FILE=target/coverage $(PYTEST) -m "$(MARKED)" --junitxml=target/first.xml \
	    --cov=dbt.adapters.vcs --cov-context=test --cov-report=
	$(BIN)/python tests/redundant.py target/coverage target/first.xml

check: $(VENV)/.dev ## check style and types beside the tests that need no Java and start nothing, with few random cases
	$(MAKE) --jobs 2 lint check-tests

# Tests of commands and servers: most start a process, and take as long as all others together.
LEFT_OUT ?= --ignore=tests/unit/cli --ignore=tests/unit/serve --ignore=tests/unit/ui

check-tests: $(VENV)/.dev
	JAVA_HOME=$(CURDIR)/none HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest tests/unit tests/contract tests/model tests/property \
	    $(LEFT_OUT) -q -m "not spark and not conformance and not slow" --numprocesses $(WORKERS) --dist loadfile

LOWEST := .lowest

# uv chooses the lowest versions; pip can't.
lowest: ## run `make check` with the lowest versions of all dependencies that pyproject.toml allows, and the oldest Python
	rm -rf $(LOWEST)
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=$(LOWEST) $(LOWEST)/bin/uv pip install --quiet --resolution lowest-direct --editable '.[dev]'
	touch $(LOWEST)/.dev
	$(MAKE) check VENV=$(LOWEST) LEFT_OUT=

# The first release of each series; the newest one is taken, and pre-releases where the first is one.
VERSIONS ?= 1.12.0 1.13.0b1
NEWER := .dbt-versions
# What depends on dbt, of both tiers: its events and internals, the life of a run, what models, hooks and
# packages ask of an adapter, reuse, its own basic suite. The rest works on a repository and on Spark.
OF_DBT := tests/unit/project tests/functional/life tests/functional/daily tests/functional/reuse \
    tests/functional/adapter/basic

# An empty package stands in for the one that pip can't build where PyPI is all that is reached; dbt
# uses it with --use-v2-parser alone.
dbt-versions: java ## run both tiers of the tests that depend on dbt, with newer series of dbt-core; VERSIONS="1.12.0 1.13.0b1"
	for version in $(VERSIONS); do \
	    wheel=$$($(PYTHON) tests/empty_wheel.py $(NEWER) dbt-core-experimental-parser 2.999) && \
	    $(MAKE) test VENV=$(NEWER)/$$version DBT_CORE="dbt-core~=$$version $$wheel" TESTS="$(OF_DBT)" \
	        MARKED="not conformance" || exit 1; \
	done

# Sessions as users have them: tests/spark has settings that make short ones faster.
USUAL := PYSPARK_SUBMIT_ARGS=pyspark-shell

# Not with pytest -m, because dbt would find -m on the command line and parse it itself.
conformance: java $(VENV)/.test,demo ## run all of dbt's own test suite for adapters, and write docs/conformance.md
	$(USUAL) $(BIN)/python -m pytest tests/functional/adapter -o addopts= --junitxml=target/conformance.xml; ran=$$?; \
	    $(BIN)/python tests/functional/adapter/report.py target/conformance.xml && exit $$ran

# Equal keys promise equal results: whatever a test builds again is compared with the first time.
verify: java $(VENV)/.test,demo ## run all of dbt's own test suite once more, and compare what is computed with what was remembered
	VCS_REUSE=verify $(USUAL) $(BIN)/python -m pytest tests/functional/adapter -o addopts=

nightly: java $(VENV)/.test $(VENV)/.bench ## run each law on 2,000 new random cases, and a long session; takes hours
	$(USUAL) HYPOTHESIS_PROFILE=nightly $(BIN)/python -m pytest tests -m hypothesis --hypothesis-seed=$(SEED)
	$(BIN)/python benchmarks/long_session.py

MINUTES ?= 5
STORE ?= local

chaos: $(VENV)/.test ## kill processes and break the store for MINUTES=5, and check that nothing is lost; goes on where it was; STORE=s3 for an S3 server, STORE=storms for purges beside writers
	$(BIN)/python -m chaos --minutes $(MINUTES) --store $(STORE) $(CHAOS)

s3: java $(VENV)/.test,demo $(DATA) ## build the demo project on a real S3 server of this machine; needs Go and Maven Central
	PYTHONPATH=. $(BIN)/python integration_tests/on_s3.py

# A test that hangs for a quarter of an hour ends the run, and the cluster with it.
cluster: java $(VENV)/.test,demo $(DATA) ## build the demo project, change rows, merge and kill on a Spark cluster of this machine, and build it on a Spark Connect server
	PYTHONPATH=. $(USUAL) $(BIN)/python -m pytest integration_tests/cluster -o addopts= --basetemp=.cluster \
	    --durations=0 -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true

interop: java $(VENV)/.test ## read and write a served repository with Spark and Iceberg and with Trino, and write docs/interop.md; needs Maven Central
	$(BIN)/python integration_tests/interop/fetch.py
	PYTHONPATH=. $(USUAL) $(BIN)/python -m pytest integration_tests/interop -o addopts= \
	    --junitxml=target/interop.xml; ran=$$?; \
	    PYTHONPATH=.:integration_tests $(BIN)/python -m interop.report target/interop.xml && exit $$ran

orchestrators: java $(VENV)/.test,demo $(DATA) ## build the demo project as 60 commands of one run, some killed, and small ones by Airflow with Cosmos, by Dagster and with dbt-duckdb
	for name in airflow dagster dbt-duckdb; do test -e .orchestrators/$$name/.installed || { \
	    $(PYTHON) -m venv .orchestrators/$$name && .orchestrators/$$name/bin/pip install --quiet \
	    -r integration_tests/orchestrators/$$name.txt && touch .orchestrators/$$name/.installed; } || exit 1; done
	PYTHONPATH=. $(USUAL) $(BIN)/python -m pytest integration_tests/orchestrators -o addopts= -rP

pictures: $(VENV)/.dev ## try the pages of reviews and of dbt-vcs ui in Chromium and with axe-core, and draw them in docs/pictures; needs chromium, npm, pdftoppm
	$(BIN)/python -m pytest tests/browser -o addopts= -rs
	PYTHONPATH=. $(BIN)/python -m tests.browser.pictures

smoke: java ## build the sdist and the wheel into dist/, install only the wheel and build a small project with it
	$(PYTHON) tests/smoke.py

lint: $(VENV)/.dev ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.docs ## build the user guide in build/site
	$(BIN)/python docs/generate.py
	$(BIN)/python -m mkdocs build --strict

SF ?= 1
SIZES ?= $(if $(filter 1,$(SF)),C1 C4,C1 C2 C3 C4)
MODELS ?= 100

bench: java $(VENV)/.bench ## reproduce the paper, and time branches, rows and reads; SF=10 for more rows, SIZES="C1 C2 C3 C4" for all change sets
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/growth_rows.py --scales 0.1 1 $(filter-out 0.1 1,$(SF))
	$(BIN)/python benchmarks/rows.py --scale $(SF)
	$(BIN)/python benchmarks/paper.py --scale $(SF) $(addprefix --size ,$(SIZES))
	$(BIN)/python benchmarks/reads.py --scale $(SF)
	$(BIN)/python benchmarks/listing.py
	$(BIN)/python benchmarks/review.py
	$(BIN)/python benchmarks/forecast.py
	$(BIN)/python benchmarks/start_up.py
	$(BIN)/python benchmarks/spark_start.py
	$(BIN)/python benchmarks/contention.py
	$(BIN)/python benchmarks/digests.py
	$(BIN)/python benchmarks/mounts.py
	$(BIN)/python benchmarks/large_merge.py --rows 6e6 --driver 3g
	$(BIN)/python benchmarks/inside_columns.py
	PYTHONPATH=integration_tests $(BIN)/python benchmarks/open_tables.py
	$(BIN)/python benchmarks/query_readers.py
	$(BIN)/python benchmarks/long_session.py

bench-branches: $(VENV)/.bench ## measure branches as OlapBranchBench and BranchBench do, on disk and on a real S3 server of this machine; needs Go
	PYTHONPATH=benchmarks:. $(BIN)/python -m olapbranch --on disk s3

bench-dbt: java $(VENV)/.bench $(DATA) ## time dbt build against plain dbt-spark; MODELS=500 for a larger generated project
	$(BIN)/python benchmarks/dbt_build.py
	$(BIN)/python benchmarks/models.py --models $(MODELS)
	$(BIN)/python benchmarks/own_cost.py
	$(BIN)/python benchmarks/reuse.py --models $(MODELS)

bench-peers: java $(VENV)/.bench ## compare with Delta Lake, Iceberg and, if installed, Dolt; downloads their packages
	$(BIN)/python benchmarks/peers.py --scale $(SF)
	$(BIN)/python benchmarks/change_queries.py --scale $(SF)

clean: ## delete what the demo, the benchmarks and campaigns left
	rm -rf .chaos .cluster .dbt-versions .demo .interop .orchestrators .s3 benchmarks/results/*.* benchmarks/data integration_tests/data

java:
	@version=$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 \
	    | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p'); \
	if [ "$${version:-0}" -lt 17 ]; then \
	    echo "Spark needs Java 17 or newer, found $${version:-none}:" \
	        "install one (Debian: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17;" \
	        "or https://adoptium.net) and add it to PATH or set JAVA_HOME." >&2; \
	    exit 1; \
	fi

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	    echo "dbt-vcs needs Python 3.10 or newer: install it, or pass its path, as in make demo PYTHON=python3.12." >&2; \
	    exit 1; \
	}
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# dbt-core 1.12 requires a package that downloads a binary when pip builds it, and pip doesn't go back
# to 1.11 where that fails: what is installed here comes from PyPI alone.
DBT_CORE ?= dbt-core<1.12

# Reinstalled only when pyproject.toml is newer than the last installation.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	@echo "Installing. Spark alone is 450 MB, so this takes a few minutes the first time."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]' $(patsubst %,'%',$(DBT_CORE))
	@touch $@

$(DATA): integration_tests/prepare_data.py
	@rm -rf $(@D)
	$(BIN)/python integration_tests/prepare_data.py
	@touch $@
