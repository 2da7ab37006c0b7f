#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Puts what a machine with a GPU needs into a folder that can be carried there:
#
#   tests/gpu/stage.sh FOLDER [WHEEL]
#
# FOLDER  made anew; 23 MB, and with the wheel twice that
# WHEEL   for the machine's Python and PyTorch, of
#         `make wheel TORCH=2.11.0 PYTHON=python3.12` (docs/versions.md)
#
# Needs `make build`. tests/gpu/run.sh FOLDER does the rest there.
set -euo pipefail
stage=$(realpath -m "${1:?usage: tests/gpu/stage.sh FOLDER [WHEEL]}")
wheel=${2:+$(realpath "$2")}
cd "$(dirname "$0")/../.."
build=${BUILD:-build/release}
rm -rf "$stage"
mkdir -p "$stage"
files=(bin/ltc-conformance)
for library in runtime compiler kernels_cpu driver_cpu driver_cuda; do
  files+=("lib/libltc_$library.so")
done
tar -C "$build" -c "${files[@]}" | xz -T2 -2 > "$stage/tools.tar.xz"
if [ -n "$wheel" ]; then
  cp "$wheel" "$stage"
  python -m pip download -q --only-binary=:all: -d "$stage/pytest" pytest expecttest
fi
du -sh "$stage"
