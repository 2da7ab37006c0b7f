# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files that tune kernels change the code, the name on disk, and no value."""

import pytest
import torch
import torch_ltc

SMALL = """
[target]
enough_parts = 2
vector_bits = 128
part_work = 1024
little_work = 2048
[pointwise]
tile = 64
cross_tile = 16
[row_reduce]
tile = 3
unroll = 1
[column_reduce f32]
tile = 16
wide_tile = 48
whole_rows = 3
many_columns = 8
"""
LARGE = """
[target]
enough_parts = 512
replay_cost = 100
sums_at_once = 8
[pointwise]
tile = 65536
[row_reduce]
unroll = 8
[column_reduce]
tile = 4096
whole_rows = 32
"""


@pytest.fixture
def write(tmp_path):
    """Write a recipe: write(text) returns its directory."""

    def write(text, name="cpu.recipe"):
        folder = tmp_path / f"recipes{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / name).write_text(text)
        return str(folder)

    return write


def computed(device, width):
    """Compute something of every kind of kernel; the width makes graphs differ."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(600, width, generator=generator).to(device)
    y = torch.randn(width, 600, generator=generator).to(device)
    results = [
        torch.nn.functional.gelu(x) * 2 + y.t(),
        torch.nn.functional.layer_norm(x, (width,)),
        (x * x).sum(0),
        x.double().logsumexp(1),
        x.amax(0),
        x.square().mean(),
    ]
    return [result.cpu() for result in results]


@pytest.mark.parametrize("place, text", list(enumerate([SMALL, LARGE])))
def test_values_do_not_depend_on_it(write, place, text):
    with torch_ltc.settings.scope(recipes=write(text)):
        found = computed("lazy", 201 + place)
    torch.testing.assert_close(found, computed("cpu", 201 + place))


def products(device, dtype):
    generator = torch.Generator().manual_seed(0)

    def numbers(*shape):
        return torch.randn(shape, generator=generator).to(dtype).to(device)

    x, weight, bias = numbers(5, 7), numbers(11, 7), numbers(11)
    batches = numbers(3, 4, 6), numbers(3, 6, 2), numbers(3, 1, 2)
    results = [
        torch.nn.functional.linear(x, weight, bias).relu(),
        x @ x.t(),
        torch.bmm(*batches[:2]),
        torch.baddbmm(batches[2], *batches[:2], beta=2, alpha=0.5),
        torch.addmm(bias * torch.inf, x, weight.t(), beta=0),
        weight @ x[1],
        x[0].dot(x[2]),
        numbers(3, 0) @ numbers(0, 4),
    ]
    return [result.cpu() for result in results]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_products_are_loops_where_a_recipe_says_so(write, tmp_path, dtype):
    recipes, dump = write("[target]\nproduct_work = 1000\n"), tmp_path / "dump"
    dump.mkdir()
    with torch_ltc.settings.scope(recipes=recipes, dump=str(dump)):
        found = products("lazy", dtype)
    (lowered,) = dump.glob("*.lower.mlir")
    assert "ltc.call" not in lowered.read_text()
    torch.testing.assert_close(found, products("cpu", dtype))


def test_products_of_sizes_that_vary_stay_calls(write, counts):
    weight = torch.linspace(-1, 1, 42).view(6, 7)
    with torch_ltc.settings.scope(recipes=write("[target]\nproduct_work = 9999\n")):
        for rows in (5, 6, 8, 11):
            x = torch.linspace(0, 1, rows * 6).view(rows, 6)
            found = (x.to("lazy") @ weight.to("lazy")).relu().cpu()
            torch.testing.assert_close(found, (x @ weight).relu())
    assert counts["codegen.graphs"] == 2
    assert counts["cache.dynamic_refusals"] == 0


def test_a_program_on_disk_is_that_of_the_recipe(write, tmp_path, counts):
    compiled = []
    small, large = write(SMALL), write(LARGE)
    cache = {"cache": "rw", "cache_dir": str(tmp_path / "cache")}
    cache["cache_memory_bytes"] = 0  # keeps the last program alone
    for place, recipes in enumerate(["", small, large, small, ""]):
        with torch_ltc.settings.scope(cache_memory_bytes=0):
            (torch.arange(place + 20.0).to("lazy") * 3).cpu()
        counts.restart()
        with torch_ltc.settings.scope(recipes=recipes, **cache):
            (torch.arange(7.0).to("lazy") + 203).cpu()
        compiled.append(counts["codegen.graphs"])
    assert compiled == [1, 1, 1, 0, 0]


def test_a_wrong_file_is_an_error_with_its_line(write, counts):
    recipes = write("[pointwise]\n\ntiel = 3\n")
    x = torch.arange(7.0).to("lazy")
    scope = torch_ltc.settings.scope(recipes=recipes)
    with scope, pytest.raises(torch_ltc.Error) as error:
        (x + 204).cpu()
    words = f"{recipes}/cpu.recipe:3: there is no number 'tiel' of [pointwise]"
    assert words in str(error.value)
    assert "its numbers are tile, wide_tile" in str(error.value)
    assert counts["codegen.fallback"] == 0


def test_a_directory_that_is_not_there_is_an_error(tmp_path):
    x = torch.arange(7.0).to("lazy")
    scope = torch_ltc.settings.scope(recipes=str(tmp_path / "nowhere"))
    words = f"cannot read recipes from {tmp_path}/nowhere: No such file"
    with scope, pytest.raises(torch_ltc.Error, match=words):
        (x + 205).cpu()
    torch.testing.assert_close((x + 205).cpu(), torch.arange(7.0) + 205)
