#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs a small selection of tests with a PyTorch that is not installed, by the python
# on PATH: what is imported, trained, computed, saved and reported as an error.
#
#   tests/smoke.sh TORCH [PACKAGE]
#
# TORCH is a folder that cmake/fetch_torch.py prints, PACKAGE a build's python/,
# where torch_ltc is not installed either.

set -uo pipefail
site=$(dirname "$1")
package=${2:+$2:}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
limit=900 # 40 s; more than this is a hang

python tests/cuda_stubs.py "$site" || exit 1
version=$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$site/torch/version.py")
LD_LIBRARY_PATH="$site/cuda_stubs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
PYTHONPATH="$package$site" LTC_CACHE=off TEST_TORCH=$version \
  timeout "$limit" python -m pytest -q -p no:cacheprovider \
    tests/python/tools/test_versions.py tests/python/record/test_errors.py tests/python/values/test_op_facts.py \
    tests/python/train/test_optimizers.py tests/python/tools/test_serialization.py
status=$?
((status == 124)) && echo "smoke: PyTorch $version: not done after $limit s"
exit "$status"
