#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Builds for other versions of PyTorch beside the build's own, and runs a small
# selection of tests with each: what is imported, trained, computed, saved and
# reported as an error. The build then serves all of them, as a wheel may.
#
#   tests/versions.sh BUILD [VERSION ...]    (the newest that is served)
#
# A version that cannot be downloaded is skipped, with the reason.

set -uo pipefail
build=$(cd "$1" && pwd)
shift
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($#)) || set -- 2.14.1
failed=0

folders=$(python cmake/fetch_torch.py "$(python -c 'import importlib.metadata as m
print(m.version("torch").split("+")[0])')")
versions=()
for version in "$@"; do
  if folder=$(python cmake/fetch_torch.py "$version"); then
    versions+=("$version=$folder")
    [[ $folders == *"$folder"* ]] || folders+=";$folder"
  elif (($? == 3)); then
    echo "versions: skipped $version"
  else
    exit 1
  fi
done
((${#versions[@]})) || exit 0

cmake "$build" "-DLTC_TORCH_DIRS=$folders" >/dev/null || exit 1
start=$SECONDS
ninja -C "$build" python_package || exit 1
printf 'versions: built for %s in %d s\n' "${versions[*]%%=*}" "$((SECONDS - start))"

for each in "${versions[@]}"; do
  version=${each%%=*} site=$(dirname "${each#*=}")
  python tests/cuda_stubs.py "$site" || exit 1
  printf 'versions: PyTorch %s\n' "$version"
  LD_LIBRARY_PATH="$site/cuda_stubs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
  PYTHONPATH="$build/python:$site" LTC_CACHE=off TEST_TORCH=$version \
    python -m pytest -q -p no:cacheprovider tests/python/test_versions.py \
      tests/python/test_errors.py tests/python/test_optimizers.py \
      tests/python/test_serialization.py || failed=1
done
exit "$failed"
