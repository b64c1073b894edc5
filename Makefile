# make demo: set up and run the main job.  make test: set up and run the tests.  make help: the rest.
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
PYTHON ?= python3
BIN := .venv/bin
# Many tests wait longer than they compute.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
export DAGSTER_HOME ?= $(CURDIR)/dagster_home

.PHONY: help demo test chaos bench peers ui team lint format requirements clean
help: ## Show this list.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: .venv/runtime ## Benchmark two versions of the example agent, and show them side by side.
	@$(BIN)/python examples/demo.py

test: .venv/dev ## Run all tests, in parallel; JOBS=3 at a time, ARGS=tests/judging for a part of them.
	@$(BIN)/pytest --numprocesses $(JOBS) --dist worksteal $(ARGS)

chaos: .venv/dev ## Kill a run again and again and compare; SEED=7 KILLS=200 replays a longer one.
	@CHAOS_SEED=$(or $(SEED),1) CHAOS_KILLS=$(or $(KILLS),40) $(BIN)/pytest tests/chaos --numprocesses 2

bench: .venv/dev ## Measure how fast it is, beside what it is compared with; ITEM=judging, ROUNDS=5, QUICK=1, WRITE=1.
	@$(BIN)/python -m perf $(ITEM) $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(QUICK),--quick) $(if $(WRITE),--write)

peers: .venv/dev ## Install what `make bench ITEM=whole_run` compares with: Inspect AI, and promptfoo where there is npm.
	@place=.bench/perf/peers
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $$place/inspect
	$(BIN)/uv pip install --quiet --python $$place/inspect/bin/python --requirement perf/peers/inspect.txt
	if ! command -v npm > /dev/null; then echo "There is no npm here: promptfoo is left out."; exit 0; fi
	mkdir -p $$place/promptfoo
	npm install --prefix $$place/promptfoo --no-save --no-package-lock --no-audit --no-fund --loglevel=error \
	  $$(cat perf/peers/promptfoo.txt)

ui: .venv/runtime ## Open Dagster's UI on port 3000.
	@$(BIN)/python examples/abacus/make_repository.py .bench/demo/abacus
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/dagster dev

team: .venv/dev ## Run a team's deployment on this machine, with real Postgres and S3 servers; PORT=3000.
	@PYTHONPATH="$(CURDIR)" PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python deploy/local/team.py --port $(or $(PORT),3000)

picture: .venv/dev ## Take the README's picture of the UI anew; needs Chromium.
	@$(BIN)/python -m tests.ui.picture docs/pictures/graph.png

lint: .venv/dev ## Check style and types, and that the definitions load.
	@$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/dagster definitions validate

format: .venv/dev ## Format the code.
	@$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

requirements: .venv/dev ## Pin the dependencies anew, with hashes.
	@compile() { $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	  --custom-compile-command "make requirements" "$$@"; }
	compile pyproject.toml --group build --output-file requirements/runtime.txt
	compile pyproject.toml --group dev --output-file requirements/dev.txt --constraint requirements/runtime.txt
	grep -E '^uv==' requirements/runtime.txt | tr -d ' \\' | compile - --output-file requirements/bootstrap.txt

clean: ## Remove the environment and all results of the demo.
	@rm -rf .venv .bench
	find dagster_home -mindepth 1 -not -name dagster.yaml -delete

.venv/bootstrap: requirements/bootstrap.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes --requirement $<
	touch $@

.venv/runtime: .venv/bootstrap requirements/runtime.txt pyproject.toml
	@echo "Setting up .venv"
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements/runtime.txt
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	touch $@

.venv/dev: .venv/runtime requirements/dev.txt
	@echo "Setting up .venv for development"
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements/dev.txt
	touch $@
