# The commands of the README. Each prepares what it needs and then does its
# work; nothing is prepared twice.
#
# PYTHON=python3.12 picks another interpreter, with an environment and a build
# of its own, called cpython-312; TORCH="2.13.0 2.14.1" the versions of PyTorch
# that a wheel is for.

NAME := $(if $(PYTHON),-$(shell $(PYTHON) -c 'import sys; print(sys.implementation.cache_tag)'))
VENV := .venv$(NAME)
BUILD := build/release$(NAME)
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# How far a build is, for how long it has run, and how long it may still.
export NINJA_STATUS := [%f of %t, %w, %W left] $()

.PHONY: help setup configure package build demo test test-long test-sanitized test-versions bench wheel install lint format clean

help: ## list the commands
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' Makefile | expand -t 20

setup: ## install system packages and the environment (PYTHON=... picks the interpreter)
	@cmake/setup.sh $(VENV) $(BUILD) $(PYTHON) $(TOOLS)

configure: setup
	@test -f $(BUILD)/build.ninja || { cmake --preset release -B $(BUILD) \
	  -DPython_EXECUTABLE=$(CURDIR)/$(VENV)/bin/python && \
	  echo "compiling for the first time: 10 to 12 minutes of one core"; }

package: configure ## compile what a user imports, without tests and tools
	@cmake --build $(BUILD) --target python_package

build: configure ## compile everything into build/release
	@cmake --build $(BUILD)

demo: package ## train on cpu and on lazy, compare, show one graph at each stage
	@python examples/demo.py

test: build ## run every test; with CI=true the slow ones too
	@tests/run.sh $(BUILD)

test-long: build ## run the tests that take many minutes each, and the lint
	@python -m pytest -q tests/python -m long
	@cmake/lint.sh $(BUILD)

test-sanitized: configure ## build and run what runs under sanitizers, and what runs without torch
	@tests/sanitized_suites.sh $(PARTS)

test-versions: package ## build for the newest PyTorch, too, and run a few tests with it
	@tests/versions.sh $(BUILD) $(TORCH)

bench: package ## time lazy against eager; ARGS="--all" against other compilers too
	@python benchmarks/bench.py $(ARGS)

# For another Python headers and libraries do; nothing of PyTorch is run.
wheel: TOOLS := $(if $(PYTHON),scikit-build-core cmake ninja)
wheel: setup ## build dist/torch_ltc-*.whl for the installed PyTorch, or for TORCH="..."
	@LTC_TORCH_DIRS="$$(python cmake/fetch_torch.py $(TORCH))" && export LTC_TORCH_DIRS && \
	  CC=clang-22 CXX=clang++-22 python -m pip wheel -v --no-build-isolation --no-deps --wheel-dir dist .

install: package ## copy what C++ programs need to PREFIX=...
	@test -n "$(PREFIX)" || { echo "say where: make install PREFIX=\$$HOME/torch_ltc"; exit 2; }
	@cmake --install $(BUILD) --prefix "$(PREFIX)" --component cpp

lint: package ## check all C++ with clang-tidy, or FILES="..."; takes long
	@cmake/lint.sh $(BUILD) $(FILES)

format: setup ## format C++ and Python, fix what linters can
	@cmake/format.sh

clean: ## remove what was built; environments stay
	rm -rf build dist
