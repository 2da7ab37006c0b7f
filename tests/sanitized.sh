#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a command over a build of the preset asan or tsan, whose findings make it
# fail. A C++ test, ctest, or python:
#
#   tests/sanitized.sh PRESET COMMAND...

set -euo pipefail
preset=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LTC_CACHE=off LTC_TIERS=off
export PYTHONPATH="$root/build/$preset/python"
# Tests ask for more memory than there is, and want to be told no.
export ASAN_OPTIONS=allocator_may_return_null=1
export LSAN_OPTIONS="suppressions=$root/tests/lsan.supp:print_suppressions=0"
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS="allocator_may_return_null=1:suppressions=$root/tests/tsan.supp"
if [[ ${1##*/} == python* || ${1##*/} == pytest ]]; then
  # Of a process that was built without it, the sanitizer is to be the first
  # library, and finds what throws behind it. Python itself leaks at its end.
  export LD_PRELOAD
  LD_PRELOAD="$(g++ -print-file-name="lib$preset.so") $(g++ -print-file-name=libstdc++.so)"
  ASAN_OPTIONS+=:detect_leaks=0
fi
exec "$@"
