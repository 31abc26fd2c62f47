# Everything runs from a virtual environment in .venv, which is made on first use and again when the lock changes.
#   PYTHON=python3.12        another interpreter (3.11 or newer)
#   TORCH_INDEX=<url>        an extra package index that has the CPU build of torch (see README)
#   ARGS="..."               arguments for the command behind demo, run, test, bench, quality, faults and load

PYTHON ?= python3
TORCH_INDEX ?=
ARGS ?=
READY := .venv/.ready
RUN := .venv/bin/python

.DEFAULT_GOAL := help
.PHONY: help demo run test lint bench bench-full quality faults load screenshots reference lock

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 18

demo: $(READY) ## set everything up and run the main job on the sample chats and documents
	@$(RUN) manage.py demo $(ARGS)

run: $(READY) ## serve the dashboard on 127.0.0.1:8000, with workers; Ctrl-C stops it
	@$(RUN) manage.py up $(ARGS)

test: $(READY) ## run the tests
	@$(RUN) -m pytest -n auto $(ARGS)

lint: $(READY) ## check style, formatting, types, templates, import direction, migrations, and the packages' licences and advisories
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@find templates -name '*.html' -print0 | xargs -0 .venv/bin/djade --target-version 5.2 --check
	@$(RUN) -m mypy
	@$(RUN) -c 'from importlinter.cli import lint_imports_command as lint; lint()'
	@$(RUN) -W 'ignore:Got an error checking' manage.py makemigrations --check --dry-run
	@$(RUN) -m pip check
	@$(RUN) -m tests.packages

bench: $(READY) ## measure speed side by side in ten minutes, print a table, write benchmarks/results.json
	@$(RUN) manage.py bench --save $(ARGS)

bench-full: $(READY) ## the same at full size: 100,000 documents and chats, 1,000,000 vectors, 500 MB; an hour and a half
	@$(RUN) manage.py bench --full --save $(ARGS)

quality: $(READY) ## measure precision and recall of the extract workers on the labelled set
	@$(RUN) -m tests.quality $(ARGS)

faults: $(READY) ## kill, freeze and starve every part under load, 100 rounds, and prove that nothing is lost
	@$(RUN) -m tests.faults $(ARGS)

load: $(READY) ## 50 clients, 20 runs and 2,000 documents at once: errors, lost updates, times, memory
	@$(RUN) -m tests.faults.heavy $(ARGS)

screenshots: $(READY) ## take a picture of every page, of the demo's data (needs chromium)
	@$(RUN) -m tests.browser.screenshots

reference: $(READY) ## write the reference of commands, settings and routes in docs/ anew
	@$(RUN) manage.py reference

lock: ## write requirements.lock anew from pyproject.toml, in an environment of its own
	@$(PYTHON) -m venv --clear var/lock
	@$(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb")); print("\n".join(p["project"]["dependencies"] + p["dependency-groups"]["dev"]))' > var/lock/direct.txt
	@var/lock/bin/python -m pip install -r var/lock/direct.txt $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")
	@{ sed -n '/^#/p' requirements.lock; \
	   var/lock/bin/python -m pip freeze --all | sed 's/+cpu$$//' | grep -v -E '^(pip|wheel)==|^(nvidia|cuda|triton)'; } > var/lock/new.txt
	@mv var/lock/new.txt requirements.lock
	@rm -rf var/lock

$(READY): requirements.lock
	@command -v "$(PYTHON)" > /dev/null || { echo "error: $(PYTHON) was not found: install Python 3.11 or newer, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is $$("$(PYTHON)" --version 2>&1), but Python 3.11 or newer is needed: make PYTHON=/path/to/python3" >&2; exit 1; }
	@test -x .venv/bin/python && .venv/bin/python -m pip --version > /dev/null 2>&1 || "$(PYTHON)" -m venv --clear .venv || { rm -rf .venv; echo "error: $(PYTHON) could not make a virtual environment (on Debian and Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@echo "Installing the pinned packages into .venv (once; a few minutes)"
	@$(RUN) -m pip install --disable-pip-version-check --no-input -r requirements.lock $(if $(TORCH_INDEX),--extra-index-url "$(TORCH_INDEX)")
	@touch $(READY)
