# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run, by name: one family a file, each a list of classes."""

from workloads import (
    chains,
    encoder,
    examples,
    gpt,
    irregular,
    lstm,
    mlp,
    mobilenet,
    optimizers,
    pointwise,
    resnet,
    rows,
    tiny,
)

FAMILIES = (
    examples,
    chains,
    pointwise,
    rows,
    mlp,
    mobilenet,
    resnet,
    gpt,
    encoder,
    lstm,
    optimizers,
    tiny,
    irregular,
)
WORKLOADS = {work.name: work for family in FAMILIES for work in family.WORKLOADS}
# The workloads of a file, by its name.
GROUPS = {
    family.__name__.rpartition(".")[2]: [work.name for work in family.WORKLOADS]
    for family in FAMILIES
}

# What `make bench` runs unless told otherwise.
LIMITS = [work.name for family in (examples, chains) for work in family.WORKLOADS]
