#!/bin/bash
# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Makes the wheel of each interpreter by the user's command, installs it in a new
# environment, and runs a small selection of tests there with each PyTorch it serves.
#
#   TORCH="2.13.0 2.14.1" tests/wheels.sh PYTHON ...
#
# PyTorch is fetched without CUDA's libraries. The environments go, wheels stay in dist.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
torch=${TORCH:-2.13.0}
needed='import importlib.metadata as m, re
print(*[r.split(";")[0] for r in m.requires("torch")
        if not re.match("nvidia|cuda|triton", r) and "extra ==" not in r])'
failed=0

for python in "$@"; do
  make wheel PYTHON="$python" TORCH="$torch"
  tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  wheel=$(ls -t dist/torch_ltc-*"-$tag-$tag-"*.whl | head -1)
  environment=$(mktemp -d)
  trap 'rm -rf "$environment"' EXIT
  "$python" -m venv "$environment"
  (
    export PATH="$environment/bin:$PATH"
    fetched=$(python cmake/fetch_torch.py $torch) || exit 1
    IFS=';' read -r -a folders <<<"$fetched"
    pip install -q --no-deps "$wheel" &&
      pip install -q -c cmake/requirements.txt numpy pytest expecttest hypothesis \
        $(PYTHONPATH=$(dirname "${folders[0]}") python -c "$needed") || exit 1
    echo "wheels: $wheel: $(du -h "$wheel" | cut -f1)"
    for folder in "${folders[@]}"; do
      tests/smoke.sh "$folder" || exit 1
    done
  ) || failed=1
  rm -rf "$environment"
done
exit "$failed"
