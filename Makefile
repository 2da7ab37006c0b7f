# The commands of the README. Each prepares what it needs and then does its
# work; nothing is prepared twice.

BUILD := build/release
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help setup build demo test bench wheel format clean

help: ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /make \1\t/p' Makefile | expand -t 14

setup: ## install system packages and .venv (PYTHON=... picks the interpreter)
	@cmake/setup.sh $(PYTHON)

build: setup ## compile everything into build/release
	@test -f $(BUILD)/build.ninja || cmake --preset release
	@cmake --build $(BUILD)

demo: build ## train on cpu and on lazy, compare, show one graph at each stage
	@python examples/demo.py

test: build ## run every test; with CI=true the slow ones too
	@tests/run.sh $(BUILD)

bench: build ## time lazy against eager; ARGS="--all" against other compilers too
	@python benchmarks/bench.py $(ARGS)

wheel: setup ## build dist/torch_ltc-*.whl
	@CC=clang-22 CXX=clang++-22 python -m pip wheel --no-build-isolation --no-deps --wheel-dir dist .

format: setup ## format C++ and Python, fix what linters can
	@cmake/format.sh

clean: ## remove what was built; .venv stays
	rm -rf build dist
