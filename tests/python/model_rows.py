# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a row of the tables of models is, and the batches that rows are fed."""

import functools
import importlib
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import _pytree as pytree

BATCH = 4
LENGTH = 12
VOCABULARY = 64
CLASSES = 5


class Model(NamedTuple):
    """A model class, made tiny with random weights, and what it learns from."""

    make: Callable[[], nn.Module]
    batch: Callable[[], dict[str, torch.Tensor]]
    loss: Callable[[nn.Module, dict[str, torch.Tensor]], torch.Tensor]
    generates: bool = False
    # Ops of the step whose result shapes depend on values.
    fallbacks: frozenset[str] = frozenset()
    # How often a step of the model's own code reads what the step computes.
    reads: int = 0


@functools.cache
def package(name):
    """Import late: these packages take seconds, and the fast tests need none."""
    import_torchvision()
    return importlib.import_module(name)


def import_torchvision():
    """Import what timm and transformers import, beside PyTorch for CPU too.

    The registry's wheel has its kernels in a library that needs CUDA's PyTorch.
    Without it the package still lacks only the names of two ops that no model calls.
    """
    try:
        importlib.import_module("torchvision")
    except RuntimeError:
        schema = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
        for op in ("nms", "qnms"):
            torch.library.define(f"torchvision::{op}", schema)
        importlib.import_module("torchvision")


def move(batch, device):
    return pytree.tree_map_only(torch.Tensor, lambda value: value.to(device), batch)


def tokens(length=LENGTH):
    return torch.randint(3, VOCABULARY, (BATCH, length))


def classes():
    return torch.randint(0, CLASSES, (BATCH,))


def padding_mask():
    """Rows of 12, 10, 8 and 6 tokens, padded to 12."""
    return (torch.arange(LENGTH) < LENGTH - 2 * torch.arange(BATCH)[:, None]).long()


def images(size=32):
    return torch.randn(BATCH, 3, size, size)


def class_loss(model, batch):
    given = {name: value for name, value in batch.items() if name != "labels"}
    return F.cross_entropy(model(**given), batch["labels"])
