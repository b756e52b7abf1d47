# vocab_lit: every target makes .venv first where it is missing.   make PYTHON=python3.12 ... chooses the Python.
PYTHON   ?= python3
NAME     ?= focus
LANGUAGE ?= sw
SCALE    ?= mini
ARGS     ?=
PY       := .venv/bin/python
TOOLS    := $(PY) -m tools

.PHONY: help install book page records test real test-gpu types test-wheel test-lowest test-colab test-newest test-xla axe chapter lib bench mini-model clean
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-12s %s\n", $$1, $$2}'

install: .venv/installed ## only install the pinned packages into .venv; the other targets do it where it is missing

book: .venv/installed ## run every chapter at scale mini and build the book (ARGS=anew: measure all numbers anew)
	@$(TOOLS) book $(ARGS)

page: .venv/installed ## run one page of the book and build it: make page NAME=focus LANGUAGE=am, or NAME=02_tokens/01_vocab
	@$(TOOLS) page $(NAME) $(if $(filter command line,$(origin LANGUAGE)),$(LANGUAGE))

records: .venv/installed ## compute the recorded study, data/records (ARGS=wechsel: of one chapter, ARGS=pages: what the book's pages show; hours in all, resumable)
	$(PY) -m studies records $(ARGS)

test: .venv/installed ## check generated files, notebooks, lines and imports, then run the tests (ARGS=--slow: all of them)
	@$(TOOLS) check
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/lint-imports --no-cache
	$(PY) -m pytest $(ARGS)

real: .venv/installed ## download pretrained models and texts (1 GB), hold what the library promises on them, and repeat the chapter on them (an hour)
	$(PY) -m studies.models.real
	$(PY) -m pytest --real -rs studies/tests/test_real.py $(ARGS)
	$(PY) -m studies trial real-chapter _build/real --check

test-gpu: .venv/installed ## run what needs a GPU, in at most ten minutes: tests, training speed, FSDP, adapt (ARGS="--model DIR --text FILE")
	$(PY) -m benchmarks.gpu_checks --out data/records/gpu.json $(ARGS)

types: .venv/installed ## check the annotations (ARGS=FILE...: of these files)
	.venv/bin/basedpyright $(ARGS)

test-wheel: .venv/installed ## build the sdist and a wheel from it, make that read-only and use it from an empty directory
	@.ci/wheel

test-lowest: ## run the tests with the lowest versions that settings.ini allows (its own environment)
	@.ci/lowest $(PYTHON) lowest $(ARGS)

test-colab: ## run Colab editions and the tests with the versions that Colab has (its own environment)
	@.ci/lowest $(PYTHON) colab $(ARGS)

test-newest: ## run the tests with the newest versions of all packages but torch (its own environment)
	@.ci/lowest $(PYTHON) newest $(ARGS)

test-xla: ## train on torch_xla's CPU device and compare with the processor (its own environment; 1 GB, Linux on x86-64, Python 3.11)
	@.ci/xla $(PYTHON)

axe: ## look at pages of the built book for faults of accessibility (needs Chromium and npm; ARGS=FILE...: these pages)
	@.ci/axe $(ARGS)

chapter: .venv/installed ## run one chapter: make chapter NAME=focus LANGUAGE=am SCALE=mini
	@$(PY) -m studies chapter $(NAME) --language $(LANGUAGE) --scale $(SCALE)

lib: .venv/installed ## after editing notebooks: export the library, generate the tests, clean and stamp
	@$(TOOLS) lib
	@$(TOOLS) facts

bench: .venv/installed ## measure speed and memory beside the packages that people use today (ARGS="focus wechsel --rounds 1"; about 40 minutes for all)
	$(PY) -m benchmarks $(or $(ARGS),all --install)

mini-model: .venv/installed ## train a bundled model again: make mini-model ARGS="--model mini-mbert --out DIR"
	$(PY) -m studies model $(ARGS)

clean: ## remove what the book's build made
	rm -rf _build build book/runs book/library

.venv/installed: constraints.txt settings.ini setup.py
	@.ci/install $(PYTHON)
