# Every target does the set-up that it needs; a second call repeats nothing.
#   make run      build, then run the example job        make test         everything that CI checks
#   make build    command line and Python package        make conformance  vectors of the original systems
#   make bench    compare with other pipelines           make fuzz         each target for SECONDS=3
#   make wheels   wheels for other machines, into dist/  make test-all    make test, and the long tests: many runs
#   make docs     the site, into build/site                               over torn files and killed workers, two
#                                                                         minutes of each fuzz target, all
#                                                                         recordings, examples that train in full, and
#                                                                         trainings by frameworks (make test-frameworks)
# With FOREBAY_LONG_TESTS=1, which is how test-all runs them, the phases of `make test` take every case, and not a sample of thousands.
SHELL := /bin/bash
PYTHON ?= python3
JOBS ?= $(shell nproc)
SECONDS := 3
RIVALS ?=
SCALE ?=
ROUNDS ?=
THREADS ?=
WORKLOADS ?=
VENV := $(CURDIR)/.venv
CLANG_FORMAT ?= clang-format-14
# ccache finds what another clone has compiled: paths count from the clone's own folder.
CCACHE = $(if $(shell command -v ccache),-DCMAKE_CXX_COMPILER_LAUNCHER="cmake;-E;env;CCACHE_BASEDIR=$(CURDIR);CCACHE_NOHASHDIR=1;ccache")
CONFIGURE = cmake --preset $(1) $(2) $(CCACHE) > build/$(1).log || { cat build/$(1).log; exit 1; }
LONG := $(if $(filter 1,$(FOREBAY_LONG_TESTS)),ON,OFF)
# Configures again where the build folder has the other choice of tests.
CHOOSE = grep -qs '^FOREBAY_LONG_TESTS:BOOL=$(LONG)$$' build/$(1)/CMakeCache.txt || cmake -DFOREBAY_LONG_TESTS=$(LONG) build/$(1) > build/$(1).log || { cat build/$(1).log; exit 1; }
SOURCES = $(shell find include src cli python tests examples fuzz -name '*.h' -o -name '*.cc' | sort)
# One after another, and then lists that run side by side (tools/run_phases.sh).
PHASES := format layout words promises release python compositions conformance instructions
BUILT := examples install wheels
SANITIZED := asan pipelines tsan fuzz

.PHONY: setup setup-build build build-all wheel wheels sdist docs run test test-all conformance bench format clean fuzz $(PHASES:%=test-%) $(BUILT:%=test-%) $(SANITIZED:%=test-%) test-frameworks

build: setup-build
	@mkdir -p build
	@test -f build/release/build.ninja || { $(call CONFIGURE,release,-DPython_EXECUTABLE=$(VENV)/bin/python); }
	@ninja -C build/release -j$(JOBS) forebay_cli _core
	@$(VENV)/bin/python python/tools/link_into.py .venv build/release/python

# The C++ tests and examples, too, which take longer than all the rest.
build-all: build
	@$(call CHOOSE,release)
	@ninja -C build/release -j$(JOBS)

run: build
	build/release/forebay run examples/taxi/loader.json

test: setup
	@MAKE="$(MAKE)" tools/run_phases.sh $(PHASES) -- $(SANITIZED) -- $(BUILT)

test-all: setup
	@FOREBAY_LONG_TESTS=1 MAKE="$(MAKE)" tools/run_phases.sh $(PHASES) -- $(SANITIZED) -- $(BUILT)
	@$(VENV)/bin/python tests/torn_rows.py --runs 20000
	@$(VENV)/bin/python tests/web_faults.py --runs 15000
	@$(VENV)/bin/python tests/cache_faults.py --runs 20000
	@$(VENV)/bin/python tests/killed_workers.py --kills 1000
	@$(VENV)/bin/python tests/long_memory.py
	@$(MAKE) --no-print-directory test-pipelines RUNS=3000
	@$(VENV)/bin/python tests/pipelines/run.py --runs 50000 --jobs $(JOBS)
	@$(MAKE) --no-print-directory test-fuzz SECONDS=120
	@$(VENV)/bin/python tools/wheels/make.py build/release 3.9 3.10
	@$(VENV)/bin/python tools/wheels/check.py 3.9 3.10 3.13
	@$(VENV)/bin/python tools/wheels/check.py --old-processor 3.11
	@$(VENV)/bin/python tools/wheels/check_sdist.py build/release --whole
	@$(MAKE) --no-print-directory test-frameworks

conformance: build
	@ninja -C build/release -j$(JOBS) forebay_probe
	$(VENV)/bin/python tests/conformance/run.py

# Wheels for other machines, into dist/: of the Python of .venv, or of every version that this machine has.
wheel: build
	@$(VENV)/bin/python tools/wheels/make.py build/release $$($(VENV)/bin/python -c 'import sys; print("%d.%d" % min(sys.version_info[:2], (3, 12)))')

wheels: build
	@$(VENV)/bin/python tools/wheels/make.py build/release

sdist: $(VENV)/installed
	@$(VENV)/bin/python -m build --sdist --no-isolation --outdir dist . > build/sdist.log || { cat build/sdist.log; exit 1; }

docs: build $(VENV)/docs-installed
	@$(VENV)/bin/python tools/site/make_site.py build/release build/site

bench: build
	$(VENV)/bin/python bench/run.py $(if $(RIVALS),--rivals $(RIVALS)) $(if $(SCALE),--scale $(SCALE)) \
	  $(if $(ROUNDS),--rounds $(ROUNDS)) $(if $(THREADS),--threads $(THREADS)) $(if $(WORKLOADS),--workloads $(WORKLOADS))

fuzz: setup
	@$(MAKE) --no-print-directory test-fuzz SECONDS=$(SECONDS)

format: setup
	$(CLANG_FORMAT) -i $(SOURCES)

clean:
	rm -rf build

# ---- set-up
setup-build: $(VENV)/installed
	@tools/install_packages.sh build

setup: setup-build
	@tools/install_packages.sh
	@tools/install_packages.sh --upgrade-libraries

$(VENV)/installed: python/requirements-dev.txt
	@tools/install_packages.sh build
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements-dev.txt
	@touch $@

$(VENV)/ray-installed: python/requirements-ray.txt $(VENV)/installed
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements-ray.txt
	@touch $@

$(VENV)/docs-installed: python/requirements-docs.txt $(VENV)/installed
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r python/requirements-docs.txt
	@touch $@

# ---- phases of `make test`, cheap ones first
test-format:
	@$(CLANG_FORMAT) --dry-run -Werror $(SOURCES)

test-layout:
	@$(PYTHON) tools/make_plugins_header.py --check
	@$(PYTHON) tools/check_layout.py
	@$(PYTHON) tools/check_shape.py

test-words:
	@$(PYTHON) tools/check_words.py

test-promises:
	@$(PYTHON) tools/check_promises.py
	@$(PYTHON) tools/check_links.py

test-release: build-all
	@ctest --test-dir build/release -j$(JOBS) --output-on-failure --no-tests=error > build/ctest-release.log \
	  || { cat build/ctest-release.log; exit 1; }
	@tail -n 4 build/ctest-release.log

test-python: build $(VENV)/ray-installed
	@$(PYTHON) tools/loopback_only.py $(VENV)/bin/python -m pytest -q -n $(JOBS) python/tests

# Everything behind and beside everything: small pipelines, whose classes are stored.
test-compositions: build
	@$(VENV)/bin/python tests/compositions/run.py --jobs $(JOBS)

test-examples: build-all $(VENV)/docs-installed $(VENV)/ray-installed
	@$(VENV)/bin/python tools/run_examples.py build/release
	@$(VENV)/bin/python tools/run_pages.py build/release
	@$(VENV)/bin/python tools/site/make_site.py build/release build/site

test-install: build
	@ninja -C build/release -j$(JOBS) forebay
	@$(VENV)/bin/python tools/check_package.py build/release
	@$(PYTHON) tools/check_hardening.py build/release/forebay build/release/python/forebay/_core*.so

# 3.11, and with FOREBAY_LONG_TESTS=1 the stable ABI, too; `make test-all` takes every version.
WHEELS := 3.11 $(if $(filter ON,$(LONG)),3.12)
test-wheels: build
	@$(VENV)/bin/python tools/wheels/make.py build/release --stale | xargs --no-run-if-empty tools/install_packages.sh --upgrade
	@$(VENV)/bin/python tools/wheels/make.py build/release $(WHEELS)
	@$(VENV)/bin/python tools/wheels/check.py $(WHEELS)
	@$(PYTHON) tools/check_hardening.py dist/*.whl
	@$(VENV)/bin/python tools/wheels/check_sdist.py build/release $(if $(filter OFF,$(LONG)),--files)
	@FOREBAY_SCRIPT=build/wheels/empty-3.11/bin/forebay $(VENV)/bin/python -m pytest -q -n $(JOBS) python/tests/test_console_script.py

# The adaptors and trainings with the real packages. These take gigabytes, so they have an environment of their own, and only `make test-all` runs it.
FRAMEWORK_TESTS := adaptors dlpack jax_batches prefetch stateful_data_loader tf_dataset ray_data torch_dataset training_examples training_frameworks

build/frameworks/installed: python/requirements-dev.txt python/requirements-ray.txt python/requirements-frameworks.txt
	@mkdir -p build
	@test -x build/frameworks/bin/python || $(PYTHON) -m venv build/frameworks
	@build/frameworks/bin/python -m pip install --quiet --disable-pip-version-check $(^:%=-r %)
	@touch $@

test-frameworks: build build/frameworks/installed
	@build/frameworks/bin/python python/tools/link_into.py build/frameworks build/release/python
	@build/frameworks/bin/python -m pytest -q -rs $(FRAMEWORK_TESTS:%=python/tests/test_%.py)

test-conformance: conformance

test-instructions: build
	@$(VENV)/bin/python bench/instructions.py

build/asan/build.ninja build/tsan/build.ninja: build/%/build.ninja:
	@mkdir -p build
	@$(call CONFIGURE,$*,$(if $(filter asan,$*),-DFOREBAY_PYTHON=ON -DPython_EXECUTABLE=$(VENV)/bin/python,-DFOREBAY_PYTHON=OFF))

test-asan test-tsan: test-%: build/%/build.ninja
	@$(call CHOOSE,$*)
	@ninja -C build/$* -j$(JOBS)
	@UBSAN_OPTIONS=print_stacktrace=1 ctest --test-dir build/$* -j$(JOBS) --output-on-failure --no-tests=error \
	  > build/ctest-$*.log || { cat build/ctest-$*.log; exit 1; }
	@tail -n 4 build/ctest-$*.log

# Random pipelines, in the Python module of the sanitizer, whose buffers come with bytes of no meaning.
test-pipelines: build/asan/build.ninja
	@ninja -C build/asan -j$(JOBS) _core
	@ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(CURDIR)/build/asan/python $(VENV)/bin/python tests/pipelines/run.py --runs $(or $(RUNS),300) \
	  --jobs $(JOBS) --preload $$(clang++ -print-file-name=libclang_rt.asan-$$(uname -m).so) $$(clang++ -print-file-name=libstdc++.so.6)

test-fuzz: build/asan/build.ninja
	@ninja -C build/asan -j$(JOBS) fuzzers
	@$(PYTHON) fuzz/run.py build/asan --seconds $(SECONDS) --jobs $(JOBS)
