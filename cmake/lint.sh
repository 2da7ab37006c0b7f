#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs clang-tidy over the named sources, or all that git tracks, with the
# commands of a build. Any finding fails, and so does any warning of the
# compiler's.
#
#   cmake/lint.sh BUILD [FILE ...]

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift
tidy=$(command -v clang-tidy-22 || true)
if [[ -z $tidy ]]; then
  echo "lint: clang-tidy 22 is missing. On Debian: apt-get install clang-tidy-22" >&2
  exit 1
fi
(($#)) || mapfile -t everything < <(git ls-files 'ltc_backend/*.cpp' 'runtime/*.cpp' \
  'kernels/*.cpp' 'mlir_lowering/*.cpp' 'python/*.cpp')
printf '%s\0' "$@" "${everything[@]}" | sed -z '/^$/d' |
  xargs -0 -n 1 -P "$(nproc)" "$tidy" --quiet --warnings-as-errors='*' -p "$build"
