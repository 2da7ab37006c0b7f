# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bundles are made and loaded: make(module, args, ...)."""

import pytest
from torch.export import export
from torch_ltc import aot


@pytest.fixture
def make(tmp_path):
    """Compile for the oldest target and load: make(module, args, ...)."""

    def bundle(module, args, *, targets=("baseline",), **options):
        path = tmp_path / "model.ltcpkg"
        aot.compile(export(module, args, **options), path, targets=targets)
        return aot.load(path)

    return bundle
