# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long sums keep the digits that eager's keep, and are of the dtype of eager's."""

import itertools

import pytest
import torch
import torch.nn.functional as F
import torch_ltc

SEEDS = 4


def errors(program, shape, make=torch.randn):
    """Root mean square errors of lazy and of eager, against float64."""
    squares = {"lazy": [], "cpu": []}
    for seed in range(SEEDS):
        torch.manual_seed(seed)
        x = make(shape)
        exact = program(x.double())
        for device, found in squares.items():
            error = program(x.to(device)).cpu().double() - exact
            found.append(error.square().mean())
    return [torch.stack(squares[d]).mean().sqrt().item() for d in ("lazy", "cpu")]


def check(program, shape, **options):
    lazy, eager = errors(program, shape, **options)
    # Both add up some tens of terms, then some tens of such sums, and so on; in
    # which order decides about the rest.
    assert lazy <= 2 * eager, (lazy, eager)


@pytest.mark.parametrize("make", [torch.randn, torch.rand])
@pytest.mark.parametrize(
    ("shape", "dims"),
    [
        ((5000, 1024), 0),  # sums of columns in memory
        ((5000, 300), 0),  # the last columns are no whole tile
        ((20000, 40), 0),  # sums of columns in registers
        ((30001, 3), 0),
        ((64, 64, 300), (0, 1)),
        ((4, 2048, 72), 1),
        ((64, 16384), 1),  # sums of rows
        ((3, 100003), 1),
        ((16, 12, 28, 28), (0, 2, 3)),
        ((300, 3, 50, 2), (0, 2)),
        ((1 << 20,), 0),
        ((2000003,), 0),  # parts, and a rest
        ((1031, 1033), (0, 1)),
    ],
)
def test_a_sum_of_many(shape, dims, make):
    check(lambda x: x.sum(dims), shape, make=make)


@pytest.mark.parametrize("dims", [0, 1, (0, 1)])
def test_a_sum_of_float64(dims):
    # Sums of these do not fit into a float64, but into an integer.
    generator = torch.manual_seed(0)
    x = torch.randint(-(1 << 52), 1 << 52, (200, 300), generator=generator)
    x = x.repeat(1, 9)

    def error(device):
        found = x.double().to(device).sum(dims).cpu().long()
        return (found - x.sum(dims)).double().square().mean().sqrt().item()

    assert error("lazy") <= 2 * error("cpu"), (error("lazy"), error("cpu"))


@pytest.mark.parametrize("dims", [0, 1, (0, 1)])
def test_a_sum_of_a_transposed_tensor(dims):
    check(lambda x: x.t().sum(dims), (3000, 1500))


@pytest.mark.parametrize("dims", [0, 1, (0, 1)])
def test_a_sum_of_every_other_element(dims):
    check(lambda x: x[::2, 1::2].sum(dims), (6000, 800))


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.mean((0, 2, 3)),
        lambda x: x.flatten(2).mean(0),
        lambda x: x.var((0, 2, 3)),
        lambda x: x.flatten(1).std(1),
        lambda x: x.flatten(1).norm(dim=1),
        lambda x: torch.linalg.vector_norm(x, 3, dim=(1, 2, 3)),
        lambda x: x.flatten(1).logsumexp(1),
        lambda x: x.flatten(1).softmax(1),
        lambda x: x.flatten(1).log_softmax(1),
        lambda x: F.layer_norm(x, x.shape[1:]),
        lambda x: F.group_norm(x, 4),
        lambda x: F.batch_norm(x, None, None, training=True),
        lambda x: F.mse_loss(x, x.flip(0)),
    ],
)
def test_what_is_made_of_sums(program):
    check(program, (64, 16, 32, 32), make=torch.rand)


@pytest.mark.parametrize("inputs", [8, 1024])
def test_the_gradient_of_a_bias(inputs):
    def gradient(x):
        bias = torch.zeros(x.shape[1], dtype=x.dtype, device=x.device)
        bias.requires_grad_()
        torch.tanh(x + bias).square().sum().backward()
        return bias.grad

    check(gradient, (3000, inputs))


def test_sixteen_bits_are_added_up_in_thirty_two():
    x = torch.ones(1 << 16, 20, dtype=torch.bfloat16)
    assert x.to("lazy").sum(0).cpu().eq(1 << 16).all()
    assert x.to("lazy").sum().item() == x.sum().item()


def test_a_product_and_a_maximum_of_many():
    x = torch.rand(4000, 50, generator=torch.manual_seed(0)) + 0.5
    product = x.to("lazy").prod(0).cpu()
    torch.testing.assert_close(product, x.prod(0), rtol=1e-3, atol=0)
    assert torch.equal(x.to("lazy").amax((0, 1)).cpu(), x.amax((0, 1)))


def test_a_sum_of_negative_zeros():
    x = torch.full((2000, 300), -0.0)
    for dims in (0, 1, (0, 1)):
        assert not x.to("lazy").sum(dims).cpu().signbit().any()
        assert not x.sum(dims).signbit().any()


ON_THREADS = """
import torch
torch.manual_seed(0)
x = torch.randn(1031, 2053).to("lazy")
for found in (x.sum(), x.sum(0), x[:, :64].sum(0), x[:4].sum(1), x.std(), x.amax()):
    print(found.cpu().double().reshape(-1)[:50].tolist())
"""


def test_the_number_of_threads_does_not_show(run_python):
    one, three = (run_python(ON_THREADS, OMP_NUM_THREADS=n).stdout for n in "13")
    assert one == three


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.sum(),  # 2045 * 1031 points
        lambda x: x.t().sum(),
        lambda x: (x - x[:1]).square().mean(),
        lambda x: x.reshape(5, -1).sum(1),
        lambda x: x.reshape(5, 409, 1031).sum((0, 2)),
        lambda x: x.reshape(-1, 5).sum(0),
        lambda x: x[:, 1:].reshape(409, 5, 1030).sum((0, 2)),
        lambda x: x[::2].sum(),
        lambda x: torch.stack(torch.var_mean(x)),
        lambda x: x.norm(),
        lambda x: x.logsumexp((0, 1)),
        lambda x: torch.stack([x.amax(), x.amin(), x.argmax() + 0.0]),
        lambda x: (x > 0).sum(),
        lambda x: torch.stack([(x > -1).all(), (x > 3).any()]),
        lambda x: (x * 8).to(torch.int32).sum(),
        lambda x: x.to(torch.bfloat16).float().sum(),
        lambda x: F.batch_norm(x.reshape(-1, 5), None, None, training=True),
        lambda x: F.cross_entropy(x.reshape(-1, 5), x[:409].long().flatten() % 5),
        lambda x: x[:0].sum(),
    ],
)
def test_what_is_cut_into_parts(program):
    x = torch.rand(2045, 1031, generator=torch.manual_seed(0)) * 2 - 0.5
    lazy, exact = program(x.to("lazy")).cpu().double(), program(x.double()).double()
    torch.testing.assert_close(lazy, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: x.sum(),
        lambda x: x.t().sum(),
        lambda x: x.view(-1, 2056).tanh().square().mean(),  # a part is half a row
        lambda x: x[:, 1:].exp().mean(),
        lambda x: x.sum(0),
        lambda x: x.view(-1, 8).sum(0, keepdim=True),
        lambda x: x.view(-1, 8, 257).sum((0, 2)),
        lambda x: x.view(8, -1).sum(1, keepdim=True),
        lambda x: torch.cat([x, x]).sum(),
        lambda x: torch.stack(torch.var_mean(x)),
        lambda x: x.norm(),
        lambda x: torch.stack([x.amax(), x.amin(), x.argmax() + 0.0]),
        lambda x: torch.stack([(x > -1).all(), (x > 3).any(), (x > 0).sum()]),
        lambda x: F.batch_norm(x.view(-1, 8, 257), None, None, training=True),
        lambda x: F.mse_loss(x, x.flip(0)),
    ],
)
def test_what_is_cut_into_parts_of_open_sizes(program):
    with torch_ltc.metrics.measure() as counts:
        for rows in (512, 1024, 24, 2048, 8, 1000):
            torch.manual_seed(rows)
            x = torch.rand(rows, 2056) * 2 - 0.5
            lazy, exact = program(x.to("lazy")).cpu(), program(x.double())
            torch.testing.assert_close(
                lazy.double(), exact.double(), rtol=1e-6, atol=1e-6
            )
    assert counts["cache.dynamic_hits"] >= 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize(
    "shape", [(), (0, 20), (20, 0), (7, 16), (300, 257), (3, 5, 33), (2, 3, 600)]
)
def test_running_sums_are_eagers_bit_for_bit(shape, dtype):
    x = (torch.randn(shape, generator=torch.manual_seed(0)) * 100).to(dtype)
    if x.numel() > 8 and dtype != torch.int64:
        x.view(-1)[:4] = torch.tensor([-0.0, torch.inf, torch.nan, -torch.inf])
    for dim in range(-x.dim(), max(x.dim(), 1)):
        for y in (x, x.t() if x.dim() == 2 else x[1:] if x.dim() else x):
            found, wanted = y.to("lazy").cumsum(dim).cpu(), y.cumsum(dim)
            assert torch.equal(found.isnan(), wanted.isnan())
            found, wanted = found.nan_to_num(), wanted.nan_to_num()
            assert torch.equal(found, wanted)
            assert torch.equal(found.double().signbit(), wanted.double().signbit())


COUNTED = itertools.product(
    ["sum", "prod", "nansum"], [torch.float32, torch.int8, torch.int64]
)


@pytest.mark.parametrize(
    ("name", "of"),
    # Eager's nansum of floats has no kernel for it.
    [pair for pair in COUNTED if pair != ("nansum", torch.float32)],
)
def test_bools_are_made_before_they_are_counted(name, of):
    x = torch.tensor([[-1.0, 1.0, 0.0], [0.5, -2.5, 0.3]]).to(of)
    counted = getattr(torch, name)
    for arguments in ((x[:, :2],), (x[:, :2], 1), (x, 1)):
        found = counted(arguments[0].to("lazy"), *arguments[1:], dtype=torch.bool)
        assert torch.equal(found.cpu(), counted(*arguments, dtype=torch.bool))


REDUCTIONS = ["sum", "prod", "nansum", "mean", "std", "var", "logsumexp", "all", "any"]
DTYPES = [torch.float64, torch.float16, torch.int64, torch.uint8]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("into", DTYPES)
@pytest.mark.parametrize("of", [torch.float32, torch.complex64])
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_a_sum_is_of_the_dtype_of_its_out(name, into, of):
    def computed(device):
        x = torch.tensor([[1.7, -2.6, 0.3], [0.6, 0.7, 100.1]], device=device)
        x = (x + 1j * x if of.is_complex else x).to(of)
        out = torch.empty(0, dtype=into, device=device)
        try:
            return getattr(torch, name)(x, 1, out=out).tolist()
        except (RuntimeError, TypeError) as error:
            return type(error).__name__

    wanted = computed("cpu")
    if isinstance(wanted, str):
        assert computed("lazy") == wanted
        return
    # Eager rounds products and parts of variances on their way.
    halves = into == torch.float16 and (of.is_complex or name == "prod")
    bound = 1e-3 if halves else 1e-7 if name == "logsumexp" else 1e-15
    assert computed("lazy") == pytest.approx(wanted, rel=bound)


@pytest.mark.parametrize("name", ["sum", "nansum", "mean"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_sum_of_halves_adds_halves(name, dtype):
    x = torch.tensor([[1.7, -2.6, 0.3], [0.6, 0.7, 100.1]])
    found, wanted = (getattr(torch, name)(y, 1, dtype=dtype) for y in (x.to("lazy"), x))
    assert torch.equal(found.cpu(), wanted)


@pytest.mark.parametrize("name", ["any", "all"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.uint8, torch.bool])
def test_truth_along_no_dimension(name, dtype):
    x = torch.tensor([[1.7, 0.0, 0.3], [0.6, 2.7, 0.0]]).to(dtype)
    found, wanted = (getattr(torch, name)(y, ()) for y in (x.to("lazy"), x))
    assert found.dtype == wanted.dtype and torch.equal(found.cpu(), wanted)
