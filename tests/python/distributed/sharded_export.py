# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes graphs of distributed tensors, on each rank: ... FOLDER."""

import os
import sys
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
import torch_ltc
from networks import mlp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import (
    DTensor,
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
)
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)


def product(x, weight, total):
    total.add_(1)
    y = x @ weight
    return y, y.sum()


def write_product(folder, mesh, dialect):
    def placed(tensor, *placements):
        return distribute_tensor(tensor.to("lazy"), mesh, placements)

    x = placed(torch.arange(32.0).reshape(8, 4), Shard(0))
    weight = placed(torch.ones(4, 6), Replicate())
    total = placed(torch.zeros(2), Shard(0))
    exported = torch_ltc.export_graph(
        product, folder / dialect, x, weight, total, dialect=dialect
    )
    tensors = [v for v in exported.inputs if isinstance(v, torch.Tensor)]
    assert {id(value) for value in tensors} == {id(x), id(weight), id(total)}
    assert [tensor is total for tensor, _ in exported.written] == [True]
    assert total.full_tensor().tolist() == [0, 0]  # nothing has run


def write_parallel_module(folder, mesh):
    network = mlp().to("lazy")
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    parallelize_module(network, mesh, plan)
    x = torch.ones(6, 8, device="lazy")
    wanted = network(x)
    exported = torch_ltc.export_graph(network, folder / "module", x)
    assert len(exported.inputs) == 7 and len(exported.results) == 1
    assert torch.equal(network(x), wanted)  # its hooks are still there


def refuse(folder, mesh):
    def wrong(tensor):
        return torch_ltc.export_graph(lambda x: x + 1, folder / "none", tensor)

    x = torch.ones(3, 2, device="lazy")
    uneven = distribute_tensor(x, mesh, [Shard(0)])
    with pytest.raises(torch_ltc.UnsupportedOpError, match="differ in size"):
        wrong(uneven)
    partial = DTensor.from_local(x, mesh, [Partial()])
    with pytest.raises(torch_ltc.UnsupportedOpError, match=r"P\(sum\) has no form"):
        wrong(partial)


def main():
    dist.init_process_group()
    folder = Path(sys.argv[1], str(dist.get_rank()))
    folder.mkdir()
    mesh = init_device_mesh("lazy", (dist.get_world_size(),))
    for dialect in "linalg", "graph":
        write_product(folder, mesh, dialect)
    write_parallel_module(folder, mesh)
    refuse(folder, mesh)
    dist.destroy_process_group()


if __name__ == "__main__":
    assert "RANK" in os.environ
    main()
