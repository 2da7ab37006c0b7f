#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs every suite against a build, goes on after a failure, and ends with each
# runner's own summary. With CI=true the slow tests run too: long training runs,
# all OpInfo samples of every row, the wheel, another PyTorch.
#
#   tests/run.sh BUILD

set -uo pipefail
build=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[[ -n ${MAKELEVEL-} ]] || export PATH="$PWD/.venv/bin:$PATH" # make has its own
export PYTHONPATH="$build/python${PYTHONPATH:+:$PYTHONPATH}"
# A test that counts compiles must not find the last run's; those of the cache
# have directories of their own.
export LTC_CACHE=off
export LTC_TIERS="${LTC_TIERS-off}"
jobs=$(nproc)
workers=$((jobs < 4 ? jobs : 4)) # most of the time goes into compiling and Python
logs=$build/test-logs
mkdir -p "$logs"
summary=()
failed=0

# suite NAME PATTERN COMMAND...: PATTERN finds the runner's summary lines.
suite() {
  local name=$1 pattern=$2 start=$SECONDS status lines
  shift 2
  printf '\n=== %s: %s\n' "$name" "$*"
  "$@" 2>&1 </dev/null | tee "$logs/${name// /-}.log"
  status=${PIPESTATUS[0]}
  ((status == 0)) || failed=1
  lines=$(grep -E "$pattern" "$logs/${name// /-}.log" | tail -8)
  summary+=("$(printf -- '--- %s (exit %d, %d s)\n%s' "$name" "$status" "$((SECONDS - start))" "$lines")")
}

ctest_summary='tests passed|tests failed|^\s+[0-9]+ - |No tests were found'
pytest_summary='^=*.* in [0-9.]+s|^(FAILED|ERROR) '

suite 'unit' "$ctest_summary" \
  ctest --test-dir "$build/tests/unit" -j "$jobs" --output-on-failure --no-tests=error
suite 'lit' '^ +(Passed|Failed|Unsupported|Expectedly Failed|Unresolved|Timed Out|Excluded) *:|^Total' \
  lit -j "$jobs" "$build/tests/lit"
suite 'conformance' "$ctest_summary" \
  ctest --test-dir "$build/tests/conformance" -j "$jobs" --output-on-failure --no-tests=error
suite 'python' "$pytest_summary" python -m pytest -q -n "$workers" tests/python
suite 'repo' "$pytest_summary" python -m pytest -q -n "$workers" --dist loadfile tests/repo
if [[ ${CI-} == true ]]; then
  # On one thread each; the ordinary suite runs its kernels on all cores.
  suite 'python slow' "$pytest_summary" env OMP_NUM_THREADS=1 \
    python -m pytest -q -n "$workers" tests/python -m slow
  suite 'repo slow' "$pytest_summary" python -m pytest -q tests/repo -m slow
  suite 'versions' "$pytest_summary|^versions:|cannot be had" tests/versions.sh "$build"
fi

printf '\n=== summary\n'
printf '%s\n' "${summary[@]}"
exit "$failed"
