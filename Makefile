# The two commands of the README, and what .ci/run calls. Everything lives in .venv.
PYTHON ?= python3
BIN := .venv/bin
LOWEST_TESTS := tests/test_lowest.py tests/conformal/test_golden.py tests/conformal/test_temperature.py \
	tests/bounds/test_bounds.py

.PHONY: demo test lowest lint docs benchmark clean

demo: .venv/package
	$(BIN)/python examples/digits.py demo

# Each worker of the tests has a core to itself: libraries that start a thread per core in each of them would mostly
# wait for one another, which took more time than the tests. Files in their order: the many short ones of src come last,
# so that no worker ends on a long one while the others have nothing to do.
test: export OMP_NUM_THREADS = 1
test: export OPENBLAS_NUM_THREADS = 1
test: .venv/tests
	$(BIN)/python -m pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# Once, with the oldest releases of what infimum needs, which have wheels for Python 3.11 only. Without beartype
# (the plugin that checks types is of a later jaxtyping), and old releases may find others of their own deprecated.
lowest:
	python3.11 -m venv .venv/lowest
	.venv/lowest/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints-lowest.txt \
		--editable . pytest hypothesis
	.venv/lowest/bin/python -m pytest --quiet --override-ini addopts=--import-mode=importlib --override-ini filterwarnings= \
		$(LOWEST_TESTS)

lint: .venv/tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: .venv/tests
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

benchmark: .venv/tests
	$(BIN)/python benchmarks/standard_error.py
	$(BIN)/python benchmarks/bounds_coverage.py
	$(BIN)/python benchmarks/labels_needed.py
	$(BIN)/python benchmarks/extraction.py
	$(BIN)/python benchmarks/page.py

clean:
	rm -rf .venv demo site

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "infimum needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv .venv

.venv/package: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/tests: .venv/package requirements-dev.txt requirements-docs.txt constraints-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints-dev.txt \
		--editable '.[all]' --requirement requirements-dev.txt --requirement requirements-docs.txt
	touch $@
