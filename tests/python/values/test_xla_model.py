# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training script written for torch_xla runs after changing one import."""

import pytest
import torch
import torch.nn.functional as F
import torch_ltc.compat.xla_model as xm


def test_an_xla_training_loop(tmp_path, capsys):
    torch.manual_seed(0)
    device = xm.xla_device()
    model = torch.nn.Linear(4, 2).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    images, labels = xm.send_cpu_data_to_device(
        (torch.eye(4), torch.tensor([0, 1, 0, 1])), device
    )
    seen = []
    for step in range(20):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        xm.optimizer_step(optimizer, barrier=False)
        xm.add_step_closure(lambda n, x: seen.append((n, x.item())), (step, loss))
        assert len(seen) == step
        xm.mark_step()
    assert [n for n, _ in seen] == list(range(20))
    assert seen[-1][1] < 0.5 * seen[0][1]

    xm.master_print("loss", xm.mesh_reduce("loss", seen[-1][1], sum))
    assert capsys.readouterr().out == f"loss {seen[-1][1]}\n"
    xm.save(model.state_dict(), tmp_path / "model.pt")
    loaded = torch.load(tmp_path / "model.pt")
    assert loaded["weight"].device.type == "cpu"
    assert torch.equal(loaded["weight"], model.weight.cpu())


def test_one_process_is_the_whole_world():
    assert xm.get_xla_supported_devices() == ["lazy:0"]
    assert (xm.get_ordinal(), xm.xrt_world_size()) == (0, 1)
    assert xm.is_master_ordinal()
    assert xm.rendezvous("checkpoint", b"x") == [b"x"]
    x = torch.ones(3, device=xm.xla_device())
    assert xm.is_xla_tensor(x) and not xm.is_xla_tensor(x.cpu())
    assert xm.all_reduce("sum", x, scale=0.5).tolist() == [0.5] * 3
    xm.all_reduce("sum", [x], scale=2.0)
    xm.unlazy([x])
    assert x.tolist() == [2.0] * 3
    assert 0 < xm.get_memory_info()["bytes_used"] <= xm.get_memory_info()["bytes_limit"]
    xm.set_rng_state(7)
    assert xm.get_rng_state() == 7
    xm.wait_device_ops()


def test_what_processes_do_together_one_does_alone():
    x = torch.arange(4.0, device=xm.xla_device())
    assert xm.all_gather(x, dim=0) is x
    gathered = [torch.zeros_like(x)]
    assert xm.all_gather([x], output=gathered)[0].tolist() == [0, 1, 2, 3]
    halves = xm.reduce_scatter(xm.REDUCE_SUM, x, 0.5, 0, 1)
    assert halves.tolist() == [0, 0.5, 1, 1.5]
    with pytest.raises(ValueError, match="1 shard"):
        xm.reduce_scatter(xm.REDUCE_SUM, x, 1.0, 0, 2)
    xm.collective_broadcast([x])
    xm.set_replication(xm.xla_device(), [])
    assert xm.xla_real_devices(["lazy:0"]) == ["CPU:0"]

    def device_of(values, factor):
        return values["x"].device.type, (values["x"] * factor).tolist()

    data = {"x": x}, 2
    assert xm.do_on_ordinals(device_of, data) == ("cpu", [0, 2, 4, 6])
    assert xm.do_on_ordinals(device_of, data, ordinals=(1,)) is None
