#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds and tests what `make test` does not: the runtime and the drivers under
# AddressSanitizer and ThreadSanitizer (without torch and LLVM: minutes), the
# interface for C++ under AddressSanitizer, over build/release, and the whole
# tree without torch. All parts, or the named ones:
#
#   tests/sanitized_suites.sh [asan] [tsan] [cpp] [no-torch]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($#)) || set -- asan tsan cpp no-torch
failed=()

part() {
  local build=build/$1-runtime options=(-DLTC_ENABLE_TORCH=OFF -DLTC_ENABLE_COMPILER=OFF)
  local tests=(ctest --output-on-failure --test-dir "$build")
  if [[ $1 == no-torch ]]; then
    build=build/no-torch options=() tests=(ctest --output-on-failure --test-dir build/no-torch)
  else
    tests=(tests/sanitized.sh "$1" "${tests[@]}")
  fi
  cmake --preset "$1" -B "$build" "${options[@]}" && cmake --build "$build" && "${tests[@]}"
}

cpp_part() {
  local build=build/asan-cpp
  cmake --build build/release --target python_package &&
    CC=gcc CXX=g++ cmake -G Ninja -S tests/unit/cpp/sanitized -B "$build" -DLTC_BUILD=build/release \
      -DCMAKE_CXX_COMPILER_LAUNCHER="$(command -v ccache)" &&
    cmake --build "$build" &&
    tests/sanitized.sh asan ctest --output-on-failure --test-dir "$build"
}

for name; do
  printf '\n=== %s\n' "$name"
  if [[ $name == cpp ]]; then cpp_part; else part "$name"; fi || failed+=("$name")
done
((${#failed[@]} == 0)) || { printf 'failed: %s\n' "${failed[*]}" >&2 && exit 1; }
