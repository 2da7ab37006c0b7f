# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors on their way to other libraries, other processes and the screen."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

# Files.


def test_safetensors(tmp_path):
    from safetensors.torch import load_file, load_model, save_file, save_model

    path = tmp_path / "x.safetensors"
    x = torch.randn(3, 4, device="lazy")
    save_file({"x": x, "t": x.t().contiguous()}, path)
    for device in ("cpu", "lazy", "lazy:0"):
        for name, tensor in load_file(path, device=device).items():
            assert tensor.device.type == torch.device(device).type
            assert torch.equal(tensor.cpu(), (x if name == "x" else x.t()).cpu())

    model, other = (torch.nn.Linear(3, 3, device="lazy") for _ in range(2))
    save_model(model, path)
    load_model(other, path, device="lazy")
    assert torch.equal(model.weight, other.weight)


def test_tied_weights_are_one_in_a_safetensors_file(tmp_path):
    from safetensors.torch import load_file, load_model, save_file, save_model

    def tied():
        first, last = (torch.nn.Linear(3, 3, device="lazy") for _ in range(2))
        last.weight = first.weight
        return torch.nn.Sequential(first, last)

    path, model, other = tmp_path / "x", tied(), tied()
    save_model(model, path)
    assert len(load_file(path)) == 3
    load_model(other, path, device="lazy")
    assert torch.equal(other[1].weight.cpu(), model[0].weight.cpu())
    with pytest.raises(RuntimeError, match="share memory"):
        save_file({"x": model[0].weight.data, "y": model[1].weight.data}, path)


def test_places_tell_tensors_apart():
    x, y = torch.ones(4, 3, device="lazy"), torch.ones(4, 3, device="lazy")
    place = x.data_ptr()
    assert x[1:].data_ptr() - place == 3 * x.element_size()
    x += 1
    assert place == x.data_ptr() == x.detach().data_ptr() == x.t().data_ptr()
    assert place == x[2:].untyped_storage().data_ptr() != y.data_ptr()


def test_part_of_a_safetensors_file(tmp_path):
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save_file

    path = tmp_path / "x.safetensors"
    x = torch.randn(3, 4)
    save_file({"x": x}, path, metadata={"made": "here"})
    with safe_open(path, framework="pt", device="lazy") as file:
        part = file.get_slice("x")
        assert file.metadata() == {"made": "here"} and list(file.keys()) == ["x"]
        assert part.get_shape() == [3, 4] and part[1:].device.type == "lazy"
        assert torch.equal(part[1:].cpu(), x[1:])
        assert torch.equal(file.get_tensor("x").cpu(), x)
    with pytest.raises(SafetensorError, match="device foo is invalid"):
        safe_open(path, framework="pt", device="foo")
    with safe_open(path, framework="np") as file:
        assert np.array_equal(file.get_tensor("x"), x.numpy())


@pytest.mark.parametrize("first", ["torch", "safetensors"])
def test_safetensors_before_and_after_torch(first, run_python, tmp_path):
    run_python(f"""
import {first}
import torch
from safetensors.torch import load_file, save_file
save_file({{"x": torch.ones(2)}}, "{tmp_path}/x")
assert load_file("{tmp_path}/x", device="lazy")["x"].sum().item() == 2
""")


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
@pytest.mark.parametrize("device", ["lazy", "cpu"])
def test_distributed_checkpoint_of_one_process(device, tmp_path):
    from torch.distributed import checkpoint
    from torch.distributed.checkpoint import state_dict

    def make(device):
        model = torch.nn.Linear(3, 2, device=device)
        optimizer = torch.optim.Adam(model.parameters())
        model(torch.ones(2, 3, device=device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        return model, optimizer

    model, optimizer = make("lazy")
    states = state_dict.get_state_dict(model, optimizer)
    checkpoint.save(dict(zip("mo", states, strict=True)), checkpoint_id=tmp_path)
    other, its = make(device)
    loaded = dict(zip("mo", state_dict.get_state_dict(other, its), strict=True))
    checkpoint.load(loaded, checkpoint_id=tmp_path)
    state_dict.set_state_dict(
        other, its, model_state_dict=loaded["m"], optim_state_dict=loaded["o"]
    )
    assert torch.equal(other.weight.cpu(), model.weight.cpu())
    moments = [
        o.state[m.weight]["exp_avg"].cpu() for m, o in [make("cpu"), (other, its)]
    ]
    torch.testing.assert_close(*moments)


# Data.


def test_numpy():
    x = torch.arange(6.0, device="lazy").view(2, 3)
    array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    for convert in (torch.Tensor.numpy, np.asarray):
        with pytest.raises(TypeError, match=r"Use Tensor.cpu\(\)"):
            convert(x)
    assert np.array_equal(x.numpy(force=True), array)
    assert np.array_equal(np.asarray(x.t().cpu()), array.T)
    for made in (
        torch.tensor(array, device="lazy"),
        torch.as_tensor(array, device="lazy"),
        torch.from_numpy(array).to("lazy"),
    ):
        assert made.device.type == "lazy" and torch.equal(made, x)
    array += 1  # what was made is a copy
    assert x.sum().item() == 15


@pytest.mark.filterwarnings("ignore:'pin_memory' argument")
@pytest.mark.parametrize("pin_memory", [False, True])
@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader(workers, pin_memory):
    x = torch.arange(60.0).view(20, 3)
    loader = DataLoader(
        TensorDataset(x), batch_size=6, num_workers=workers, pin_memory=pin_memory
    )
    batches = [b.to("lazy", non_blocking=True) * 2 for (b,) in loader]
    assert torch.equal(torch.cat(batches).cpu(), x * 2)


def test_data_loader_over_lazy_tensors():
    x = torch.arange(20.0, device="lazy")
    seen = torch.cat([b for (b,) in DataLoader(TensorDataset(x), 6, shuffle=True)])
    assert sorted(seen.tolist()) == x.tolist()


def test_workers_over_lazy_tensors_say_what_to_do():
    loader = DataLoader(
        TensorDataset(torch.ones(8, 2, device="lazy")), 4, num_workers=1
    )
    with pytest.raises(RuntimeError, match="keep the data set on the CPU"):
        list(loader)


@pytest.mark.parametrize("workers", [0, 2])
def test_data_loader_under_a_lazy_default_device(workers):
    x = torch.arange(20.0)
    torch.set_default_device("lazy")
    try:
        loader = DataLoader(TensorDataset(x), 6, shuffle=True, num_workers=workers)
        seen = torch.cat([b for (b,) in loader])
    finally:
        torch.set_default_device(None)
    assert sorted(seen.tolist()) == x.tolist()


def test_slices_of_either_side():
    cpu, lazy = torch.zeros(4, 4), torch.zeros(4, 4, device="lazy")
    cpu[1:3].copy_(torch.ones(2, 4, device="lazy"))
    lazy[1:3].copy_(torch.ones(2, 4), non_blocking=True)
    cpu.t()[0].copy_(torch.arange(4.0, device="lazy"))
    lazy.t()[0].copy_(torch.arange(4.0))
    cpu[3, 1:], lazy[3, 1:] = lazy[1, 1:].cpu() * 5, cpu[1, 1:].to("lazy") * 5
    assert torch.equal(lazy.cpu(), cpu)
    assert cpu.tolist()[3] == [3, 5, 5, 5]


def test_python_reads_a_tensor_as_it_reads_any():
    x = torch.arange(3, device="lazy")
    assert [int(v) for v in x] == x.tolist() == list(range(3))
    assert 2 in x and 5 not in x and len(x) == 3 and [7, 8, 9][x[1]] == 8
    assert f"{x[1]:d} {x.float().mean():.2f}" == "1 1.00"
    assert complex(x[2]) == 2 and round(x[2].item()) == 2 and x.is_shared()


# The screen.


def look(x):
    return [repr(x), str(x), f"{x}", repr(x.shape), repr(x[0]), repr([x, x])]


def test_looking_compiles_nothing_twice_and_changes_nothing_after(counts):
    def program(looks):
        torch.manual_seed(0)
        x = torch.randn(5, 7, device="lazy")
        torch.lazy.mark_step()
        for _ in range(3):
            x = torch.nn.functional.dropout(x * 1.5 + 1, 0.2)
            if looks:
                look(x)
            x = x.tanh()
            torch.lazy.mark_step()
        return x.cpu()

    seen = program(looks=True)
    compiled = counts["codegen.graphs"]
    assert torch.equal(program(looks=True), seen)
    assert counts["codegen.graphs"] == compiled
    torch.testing.assert_close(program(looks=False), seen)


def test_looking_again_at_what_was_computed_runs_nothing(counts):
    x = torch.ones(3, 4, device="lazy") + 1
    first = repr(x)
    counts.restart()
    assert repr(x) == first
    assert counts["execute.launches"] <= 1  # it picks what to show on the device
    assert repr(x) == first and counts["codegen.graphs"] == 0


def test_what_a_debugger_shows():
    x = torch.randn(2, 3, device="lazy", requires_grad=True)
    y = (x * 2).t()
    shown = {
        name: repr(getattr(y, name))
        for name in dir(y)
        if name in {"shape", "dtype", "device", "grad_fn", "is_leaf", "layout"}
    }
    assert shown["shape"] == "torch.Size([3, 2])" and "TBackward" in shown["grad_fn"]
    assert "device='lazy:0'" in repr(y) and "grad_fn=<TBackward0>" in repr(y)
    assert torch.nn.Linear(2, 1, device="lazy").__repr__() == repr(
        torch.nn.Linear(2, 1)
    )
