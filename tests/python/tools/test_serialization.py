# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lazy tensors in files, pickles and copies."""

import copy
import io
import pickle

import pytest
import torch
import torch_ltc
from torch import nn
from torch.testing._internal.two_tensor import TwoTensor

VALUES = torch.arange(6.0).view(2, 3)
DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float8_e4m3fn,
    torch.int64,
    torch.uint16,
    torch.bool,
    torch.complex64,
]


def through_file(value, save=None, **options):
    file = io.BytesIO()
    torch.save(value, file, **(save or {}))
    file.seek(0)
    return torch.load(file, **options)


def assert_same(tensor, expected, device):
    assert tensor.device.type == device
    assert tensor.dtype == expected.dtype
    assert torch.equal(tensor.cpu(), expected)


def test_a_lazy_tensor_comes_back_lazy():
    loaded = through_file(VALUES.to("lazy") + 1)
    assert_same(loaded, VALUES + 1, "lazy")
    assert_same(loaded * 2, (VALUES + 1) * 2, "lazy")


def test_where_lazy_is_the_default():
    rows, storage = VALUES[1:], VALUES.clone().to("lazy")
    with torch.device("lazy"):
        assert_same(through_file(VALUES.to("lazy") + 1), VALUES + 1, "lazy")
        _, view = through_file([storage, storage[1:]], map_location="cpu")
        assert_same(view, rows, "cpu")
        _, view = through_file([VALUES, rows], map_location="lazy")
        assert_same(view, rows, "lazy")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_both_ways(dtype):
    values = torch.tensor([1, 0, 1]).to(dtype)
    assert_same(through_file(values.to("lazy")), values, "lazy")
    assert_same(through_file(values.to("lazy"), map_location="cpu"), values, "cpu")
    assert_same(through_file(values, map_location="lazy"), values, "lazy")


@pytest.mark.parametrize(
    "location", ["lazy", "lazy:0", torch.device("lazy"), {"cpu": "lazy:0"}], ids=str
)
def test_map_location(location):
    assert_same(through_file(VALUES, map_location=location), VALUES, "lazy")


def test_map_location_function_sees_plain_storages():
    def keep(storage, location):
        assert location == "lazy:0"
        return storage

    saved = VALUES.to("lazy")
    assert torch.equal(through_file(saved, map_location=keep).cpu(), VALUES)


def test_a_device_that_is_not_there():
    with pytest.raises(RuntimeError, match="lazy:9"):
        through_file(VALUES, map_location="lazy:9")


def test_views_and_requires_grad():
    base = VALUES.to("lazy")
    assert_same(through_file(base[:, 1]), VALUES[:, 1], "lazy")
    assert_same(through_file(base.t()), VALUES.t(), "lazy")
    leaf = VALUES.to("lazy").requires_grad_()
    assert through_file(leaf).requires_grad
    assert through_file(VALUES.clone().requires_grad_(), map_location="lazy").is_leaf


def test_files_are_readable_without_this_package(run_python, tmp_path):
    path = tmp_path / "tensors.pt"
    torch.save({"x": VALUES.to("lazy")}, path)
    done = run_python(
        f"""
import torch
x = torch.load({str(path)!r}, map_location="cpu")["x"]
print(x.tolist(), hasattr(torch, "lazy"))
""",
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == f"{VALUES.tolist()} False\n"


def test_memory_mapped_file(tmp_path):
    path = tmp_path / "tensor.pt"
    torch.save(VALUES, path)
    assert_same(torch.load(path, mmap=True, map_location="lazy"), VALUES, "lazy")


def test_the_format_of_old_files():
    old = {"_use_new_zipfile_serialization": False}
    with pytest.raises(RuntimeError, match="map_location='cpu'"):
        through_file(VALUES, save=old, map_location="lazy")
    saved = through_file(VALUES.to("lazy"), save=old, map_location="cpu")
    assert_same(saved, VALUES, "cpu")


def model_and_optimizer():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).to("lazy")
    optimizer = torch.optim.AdamW(model.parameters())
    model(VALUES.to("lazy")).square().sum().backward()
    optimizer.step()
    return model, optimizer


class UnpicklerTo(pickle.Unpickler):
    """Reads a pickle onto a device, as skorch and many scripts do."""

    def __init__(self, file, location):
        super().__init__(file)
        self.location = location

    def find_class(self, module, name):
        if (module, name) != ("torch.storage", "_load_from_bytes"):
            return super().find_class(module, name)
        return lambda b: torch.load(
            io.BytesIO(b), map_location=self.location, weights_only=False
        )


@pytest.mark.parametrize("source", ["cpu", "lazy"])
@pytest.mark.parametrize("location", ["cpu", "lazy"])
def test_a_pickle_is_read_onto_a_device(source, location):
    pickled = pickle.dumps({"values": VALUES.to(source), "row": VALUES[0].to(source)})
    loaded = UnpicklerTo(io.BytesIO(pickled), location).load()
    assert_same(loaded["values"], VALUES, location)
    assert_same(loaded["row"], VALUES[0], location)


def test_checkpoint_of_a_training_run():
    model, optimizer = model_and_optimizer()
    saved = through_file(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    )
    assert saved["model"]["0.weight"].device.type == "lazy"
    again, its_optimizer = model_and_optimizer()
    with torch.no_grad():
        for parameter in again.parameters():
            parameter.zero_()
    again.load_state_dict(saved["model"])
    its_optimizer.load_state_dict(saved["optimizer"])
    for a, b in zip(
        again.state_dict().values(), model.state_dict().values(), strict=True
    ):
        assert_same(a, b.cpu(), "lazy")
    for a, b in zip(
        its_optimizer.state.values(), optimizer.state.values(), strict=True
    ):
        assert_same(a["exp_avg_sq"], b["exp_avg_sq"].cpu(), "lazy")


def test_a_whole_model():
    model, _ = model_and_optimizer()
    for copied in (
        through_file(model, weights_only=False),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ):
        weight = copied[0].weight
        assert isinstance(weight, nn.Parameter) and weight.requires_grad
        assert_same(weight.detach(), model[0].weight.detach().cpu(), "lazy")
        assert_same(copied[1].running_var, model[1].running_var.cpu(), "lazy")


def test_pickle_and_deepcopy_of_a_tensor():
    tensor = VALUES.to("lazy")
    tensor.note = "kept"
    for copied in (pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor)):
        assert_same(copied, VALUES, "lazy")
        copied.add_(1)
        assert_same(tensor, VALUES, "lazy")
    assert pickle.loads(pickle.dumps(tensor)).note == "kept"


def file_size(value):
    file = io.BytesIO()
    torch.save(value, file)
    return file.tell()


def shared(device):
    base = torch.arange(3000.0, device=device).view(50, 60)
    return {
        "view first": base[2:4],
        "base": base,
        "columns": base.t()[5],
        "alias": base.detach(),
        "every second": base.flatten()[1::2],
        "own": base[:2].clone(),
        "expanded": torch.ones(3, 1, device=device).expand(3, 40),
    }


COPIES = {
    "file": through_file,
    "old file": lambda value: through_file(
        value,
        {"_use_new_zipfile_serialization": False},
        map_location="cpu",
    ),
    "deepcopy": copy.deepcopy,
}


@pytest.mark.parametrize("through", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("order", [1, -1])
def test_views_of_one_storage_stay_so(through, order):
    def program(device):
        made = through(dict(list(shared(device).items())[::order]))
        before = {name: (x.clone(), x.stride()) for name, x in made.items()}
        made["base"][2:] += 1000
        made["view first"].zero_()
        made["expanded"][0, 0] = 7
        return before, made

    for found, wanted in zip(program("lazy"), program("cpu"), strict=True):
        for name in wanted:
            if isinstance(wanted[name], tuple):
                assert found[name][1] == wanted[name][1], name
                assert torch.equal(found[name][0].cpu(), wanted[name][0]), name
            else:
                assert torch.equal(found[name].cpu(), wanted[name]), name


@pytest.mark.parametrize("name", [None, *shared("cpu")])
def test_a_file_is_as_long_as_eagers(name):
    def saved(device):
        made = shared(device)
        return made if name is None else made[name]

    # What a file says of a device is longer by the name's length.
    assert abs(file_size(saved("lazy")) - file_size(saved("cpu"))) < 200


def test_a_copy_does_not_share_with_its_original():
    original = shared("lazy")
    for through in (through_file, copy.deepcopy):
        made = through(original)
        made["base"].zero_()
        assert original["base"][-1, -1].item() == 2999


def test_what_changed_between_two_files_is_in_the_second():
    values = shared("lazy")
    through_file(values)
    values["base"].add_(1)
    assert through_file(values)["view first"][0, 0].item() == 121


def test_strides_come_back():
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for values in (x, VALUES.t()):
        for through in (through_file, copy.deepcopy):
            made = through(values.to("lazy"))
            assert made.stride() == values.stride()
            assert torch.equal(made.cpu(), values)


def test_loaded_parameters_have_a_storage_of_their_own():
    """An update in place of a view would take the long way."""
    model, _ = model_and_optimizer()
    for loaded in through_file(model.state_dict()).values():
        assert loaded._base is None and not loaded._is_view()


REINTERPRETED = {
    "integers": lambda x: x.view(torch.int32),
    "bytes of a slice": lambda x: x[2:].view(torch.uint8),
    "pairs": lambda x: x[:6].view(torch.float64),
    "complex": lambda x: torch.view_as_complex(x[2:].view(3, 2)),
}


@pytest.mark.parametrize("first", ["base", "view"])
@pytest.mark.parametrize("view", REINTERPRETED)
def test_a_deep_copy_keeps_what_is_shown_as_another_dtype(view, first):
    def run(device):
        x = torch.arange(8.0, device=device)
        pair = [x, REINTERPRETED[view](x)]
        if first == "view":
            copied, base = copy.deepcopy(pair[::-1])
        else:
            base, copied = copy.deepcopy(pair)
        base.mul_(2)
        return copied.cpu(), copied.stride(), copied.storage_offset(), x.tolist()

    lazy, eager = run("lazy"), run("cpu")
    assert torch.equal(lazy[0], eager[0])
    assert lazy[1:] == eager[1:]


@pytest.mark.parametrize("view", REINTERPRETED)
def test_saved_alone_but_not_beside_its_base(view):
    def run(device):
        x = torch.arange(8.0, device=device)
        shown = REINTERPRETED[view](x)
        with pytest.raises(RuntimeError, match="view the same data as different types"):
            through_file([x, shown])
        return through_file(shown).cpu()

    assert torch.equal(run("lazy"), run("cpu"))


def test_a_conjugate_is_copied_as_it_is():
    z = torch.tensor([1 + 2j, 3 + 4j], device="lazy")
    for pair in ([z, z.conj()], [z.conj(), z]):
        found = [t.tolist() for t in copy.deepcopy(pair)]
        assert found == [t.tolist() for t in pair]


@pytest.mark.parametrize("module", [torch, torch.serialization])
def test_what_fails_leaves_the_file_as_it_was(module, tmp_path):
    """An error that a graph meets is raised before the file is opened."""
    path = tmp_path / "last.pt"
    torch.save({"x": torch.ones(2, device="lazy")}, path)
    table = torch.arange(4.0, device="lazy")
    failed = table[torch.tensor([9], device="lazy")] * 2
    parts = torch.nn.Linear(2, 2)
    parts.register_buffer("taken", table[torch.tensor([7], device="lazy")] + 1)
    both = TwoTensor(table, table[torch.tensor([8] * 4, device="lazy")])
    for state in {"epochs": 1, "x": [{"y": failed}]}, parts, (both,):
        with pytest.raises(torch_ltc.IndexOutOfRangeError):
            module.save(state, path)
    assert torch.load(path)["x"].tolist() == [1, 1]
