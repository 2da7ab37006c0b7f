#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Formats the named files, or all that git tracks: clang-format for C and C++,
# ruff for Python (import order and what its linter can repair, too).
#
#   cmake/format.sh [--check] [FILE ...]
#
# With --check changes nothing and fails if something would change.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

check=
if [[ ${1-} == --check ]]; then
  check=1
  shift
fi
(($#)) || mapfile -t everything < <(git ls-files)
files=("$@" "${everything[@]}")

cxx=() python=()
for file in "${files[@]}"; do
  case $file in
    *.h | *.c | *.cpp) cxx+=("$file") ;;
    *.py) python+=("$file") ;;
  esac
done

ruff=.venv/bin/ruff
formatter=$(command -v clang-format-22 || command -v clang-format || true)
if [[ -z $formatter ]]; then
  echo "format: clang-format 22 is missing. On Debian: apt-get install clang-format-22" >&2
  exit 1
fi
if ((${#cxx[@]})); then
  "$formatter" ${check:+--dry-run --Werror} -i "${cxx[@]}"
fi
if ((${#python[@]})); then
  fix=--fix
  [[ -z $check ]] || fix=--no-fix
  "$ruff" check --quiet $fix "${python[@]}"
  "$ruff" format --quiet ${check:+--check} "${python[@]}"
fi
