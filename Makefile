# Every target sets up .venv itself; stamp files make a second run quick.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
NATIVE := $(shell find native -name '*.[ch]pp')
PYTEST_ARGS ?= -q -n auto --dist loadfile
SANITIZE_TESTS ?= $(wildcard $(addprefix tests/,data forests formats metrics rankers trees test_arrays.py))
# Left out: comparisons with other tools, whose own native code has findings (pytrec_eval).
SANITIZE_ARGS ?= -n 2 --ignore tests/metrics/test_tools.py
BENCHMARKS ?= $(sort $(wildcard benchmarks/bench_*.py))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

# The environment and what building needs.
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 10) or sys.exit(f"rankgrove needs Python 3.10 or newer, but $(PYTHON) is {v[0]}.{v[1]}: set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade 'pip>=25.1'
	$(PY) -m pip install -q 'scikit-build-core>=0.10' 'nanobind>=2.4' 'cmake>=3.18' ninja
	@touch $@

# The package itself, editable: Python files are used in place, the native core is compiled anew
# (incrementally, in build/) whenever a native source changes.
$(VENV)/.package: $(VENV)/.created $(NATIVE) CMakeLists.txt pyproject.toml
	$(PY) -m pip install -q --no-build-isolation -e '.[plots]'
	@touch $@

$(VENV)/.test: $(VENV)/.package pyproject.toml
	$(PY) -m pip install -q --group test -e '.[plots,frames,numba,dask]' --no-build-isolation
	@touch $@ $(VENV)/.package

$(VENV)/.lint: $(VENV)/.package pyproject.toml
	$(PY) -m pip install -q --group lint
	@touch $@

$(VENV)/.bench: $(VENV)/.test pyproject.toml
	$(PY) -m pip install -q --group bench
	@touch $@

.PHONY: demo
demo: $(VENV)/.package ## show what rankgrove does, on built-in data (demo/index.html)
	$(VENV)/bin/rankgrove demo

.PHONY: test
test: $(VENV)/.test ## run all tests (PYTEST_ARGS= to choose)
	$(PY) -m pytest $(PYTEST_ARGS)

.PHONY: lint
lint: $(VENV)/.lint ## check style and types: ruff, mypy --strict, clang-format
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror $(NATIVE)

.PHONY: format
format: $(VENV)/.lint ## bring all sources into style
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i $(NATIVE)

.PHONY: bench
bench: $(VENV)/.bench ## run all benchmarks (BENCH_ARGS=--quick for a trial)
	@for script in $(BENCHMARKS); do echo "== $$script"; $(PY) $$script $(BENCH_ARGS) || exit 1; done

# A second environment sees the libraries of the first, but its own, instrumented rankgrove.
# (pytrec_eval, with which metrics are compared, frees what it has allocated by new.)
SANITIZE := build/sanitize
.PHONY: sanitize
sanitize: $(VENV)/.test ## run the native tests with address and undefined-behaviour sanitizers
	PATH="$(abspath $(VENV))/bin:$$PATH" cmake -S . -B $(SANITIZE) -G Ninja -DRANKGROVE_SANITIZE=ON \
	  -DPython_EXECUTABLE=$(abspath $(PY)) -DCMAKE_BUILD_TYPE=RelWithDebInfo > $(VENV)/sanitize.log
	PATH="$(abspath $(VENV))/bin:$$PATH" cmake --build $(SANITIZE)
	rm -rf $(SANITIZE)/site && mkdir -p $(SANITIZE)/site && cp -r src/rankgrove $(SANITIZE)/site/
	rm -f $(SANITIZE)/site/rankgrove/_native*
	PATH="$(abspath $(VENV))/bin:$$PATH" cmake --install $(SANITIZE) --prefix $(SANITIZE)/site > /dev/null
	[ -x .venv-sanitize/bin/python ] || $(PY) -m venv --without-pip .venv-sanitize
	printf '%s\n' $(abspath $(SANITIZE)/site) $$($(PY) -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
	  > $$(.venv-sanitize/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/sanitize.pth
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	  .venv-sanitize/bin/python -m pytest -q --capture=sys -p no:cacheprovider $(SANITIZE_TESTS) $(SANITIZE_ARGS)

.PHONY: clean
clean: ## remove the environments and everything that was built
	rm -rf .venv .venv-sanitize build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f src/rankgrove/_native*.so src/rankgrove/_native.pyi
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
