# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Linear algebra raises what eager raises, at once or when its graph runs."""

import pytest
import torch
import torch.autograd.forward_ad as fwAD
import torch_ltc
from torch_ltc import settings


@pytest.fixture
def later():
    settings.linalg_errors = "later"
    yield
    settings.linalg_errors = "now"


def singular(device):
    return torch.ones(3, 3, device=device)


def indefinite(device):
    return torch.diag(torch.tensor([1.0, -1, 1], device=device))


def without_end(device):
    return torch.full((3, 3), float("nan"), device=device)


REFUSED = {
    "cholesky": lambda d: torch.linalg.cholesky(indefinite(d)),
    "old cholesky": lambda d: torch.cholesky(indefinite(d)),
    "second of a batch": lambda d: torch.linalg.cholesky(
        torch.stack([torch.eye(3, device=d), indefinite(d)])
    ),
    "inv": lambda d: torch.linalg.inv(singular(d)),
    "inverse": lambda d: torch.inverse(singular(d)),
    "solve": lambda d: torch.linalg.solve(singular(d), torch.ones(3, device=d)),
    "lu_factor": lambda d: torch.linalg.lu_factor(torch.zeros(2, 2, device=d)).LU,
    "lstsq": lambda d: torch.linalg.lstsq(
        singular(d), torch.ones(3, 1, device=d), driver="gels"
    )[0],
    "svd": lambda d: torch.linalg.svd(without_end(d))[1],
    "svdvals": lambda d: torch.linalg.svdvals(without_end(d)),
    "pinv": lambda d: torch.linalg.pinv(without_end(d)),
    "eig": lambda d: torch.linalg.eig(without_end(d))[0],
    "eigh": lambda d: torch.linalg.eigh(without_end(d))[0],
    "cholesky_inverse": lambda d: torch.cholesky_inverse(torch.zeros(2, 2, device=d)),
}


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.parametrize("program", REFUSED.values(), ids=REFUSED)
def test_a_matrix_without_factors_is_eagers_error_later(program, counts, later):
    with pytest.raises(RuntimeError) as eager:
        program("cpu")
    with pytest.raises(type(eager.value)) as lazy:
        program("lazy").cpu()
    assert str(eager.value) in str(lazy.value)
    assert "test_linalg.py" in str(lazy.value)
    if isinstance(eager.value, torch.linalg.LinAlgError):
        assert isinstance(lazy.value, torch_ltc.errors.LinAlgError)
    assert counts.fallbacks() == []
    assert (torch.ones(2, device="lazy") + 1).tolist() == [2, 2]


# An op checks what these return. The kernels of the others fail themselves.
CHECKED = ["cholesky", "second of a batch", "inv", "inverse", "solve", "lu_factor"]


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
@pytest.mark.parametrize("name", REFUSED)
def test_a_matrix_without_factors_is_eagers_error_at_the_call(name, counts):
    with pytest.raises(RuntimeError) as eager:
        REFUSED[name]("cpu")
    before = torch.ones(2, device="lazy") + 1
    with pytest.raises(type(eager.value)) as lazy:
        REFUSED[name]("lazy")
    assert str(eager.value) in str(lazy.value)
    assert name not in CHECKED or str(lazy.value) == str(eager.value)
    assert counts.fallbacks() == []
    # It is none of the error of what was recorded before.
    assert before.tolist() == [2, 2]


@pytest.mark.parametrize("jitter", [1e-3, 3.0])
def test_a_program_that_tries_until_there_is_a_factor(jitter, counts):
    """What was recorded before the call is not lost with the factor."""

    def program(device):
        x = torch.tensor([[1.0, 2], [2, 1]]).to(device).requires_grad_()
        matrix = x * 1.0 + 0
        eye = torch.eye(2, device=device)
        for tries in range(12):
            try:
                factor = torch.linalg.cholesky(matrix + eye * jitter * 2**tries)
                break
            except torch.linalg.LinAlgError:
                continue
        (factor.sum() + matrix.sum()).backward()
        return tries, factor.detach().cpu(), x.grad.cpu()

    found, wanted = program("lazy"), program("cpu")
    assert found[0] == wanted[0] and (wanted[0] > 0) == (jitter < 1)
    torch.testing.assert_close(found[1:], wanted[1:])
    assert counts.fallbacks() == []


@pytest.mark.parametrize(
    "factor",
    [
        torch.linalg.cholesky_ex,
        torch.linalg.inv_ex,
        torch.linalg.lu_factor_ex,
        lambda x: torch.linalg.solve_ex(x, torch.ones_like(x)),
    ],
)
def test_forms_that_return_their_errors_run_nothing(factor, counts):
    result = factor(torch.eye(3, device="lazy") * 2)
    assert counts["execute.launches"] == 0
    assert result.info.item() == 0
    assert counts["execute.launches"] + counts["graph.host_reads"] == 1


def test_it_is_raised_if_only_something_else_is_read(later):
    x = indefinite("lazy")
    torch.linalg.cholesky(x)
    with pytest.raises(torch.linalg.LinAlgError):
        (x + 1).tolist()


def test_it_is_raised_where_a_program_decides_by_the_factor(later):
    factor = torch.linalg.cholesky(indefinite("lazy"))
    with pytest.raises(torch.linalg.LinAlgError):
        bool((factor[0, 0] > 0).item())


def test_a_checked_factor_is_one_graph_and_right(counts, later):
    def program(device):
        x = torch.tensor([[4.0, 1], [1, 3]], device=device, requires_grad=True)
        y = torch.linalg.solve(torch.linalg.cholesky(x), torch.eye(2, device=device))
        (y * y).sum().backward()
        return y.detach(), x.grad

    for _ in range(2):
        y, grad = program("lazy")
        torch.lazy.mark_step(wait=True)
    torch.testing.assert_close((y.cpu(), grad.cpu()), program("cpu"))
    assert counts["codegen.graphs"] == 1
    assert counts.fallbacks() == []


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss", None])
@pytest.mark.parametrize("shape", [(3, 3), (3, 5), (5, 3), (2, 5, 3), (0, 3)])
def test_least_squares(driver, shape, counts):
    torch.manual_seed(0)
    a, b = torch.randn(shape), torch.randn(*shape[:-1], 2)
    eager = torch.linalg.lstsq(a, b, driver=driver)
    lazy = torch.linalg.lstsq(a.to("lazy"), b.to("lazy"), driver=driver)
    for mine, theirs in zip(lazy, eager, strict=True):
        assert mine.dtype == theirs.dtype
        torch.testing.assert_close(mine.cpu(), theirs, rtol=1e-4, atol=1e-4)
    by_rank = driver in ("gelsd", "gelss") and shape[-2] > shape[-1]
    assert counts.fallbacks() == (
        ["record.fallback.aten::linalg_lstsq"] if by_rank else []
    )


@pytest.mark.parametrize("values", [torch.linalg.svdvals, torch.linalg.eigvalsh])
def test_values_without_vectors_have_eagers_bits_and_gradients(values):
    torch.manual_seed(0)
    x = torch.randn(40, 40)
    x = x @ x.mT
    assert torch.equal(values(x.to("lazy")).cpu(), values(x))
    mine, theirs = x.to("lazy").requires_grad_(), x.clone().requires_grad_()
    values(mine).square().sum().backward()
    values(theirs).square().sum().backward()
    torch.testing.assert_close(mine.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-2)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x.to("lazy"), torch.ones(40, 40, device="lazy"))
        tangent = fwAD.unpack_dual(values(dual)).tangent
        dual = fwAD.make_dual(x, torch.ones(40, 40))
        wanted = fwAD.unpack_dual(values(dual)).tangent
    torch.testing.assert_close(tangent.cpu(), wanted, rtol=1e-3, atol=1e-3)


NORMS = {
    "all": {},
    "in double": {"dtype": torch.float64},
    "rows in double": {"p": 1, "dim": 1, "dtype": torch.float64},
    "frobenius": {"p": "fro", "dim": (0, 1), "keepdim": True},
    "nuclear": {"p": "nuc"},
    "no number": {"p": None, "dim": 0},
    "largest": {"p": float("inf"), "dim": [1]},
}


@pytest.mark.parametrize("options", NORMS.values(), ids=NORMS)
def test_norms_of_all_arguments(options):
    torch.manual_seed(0)
    x = torch.randn(4, 5)
    wanted, found = torch.norm(x, **options), torch.norm(x.to("lazy"), **options)
    torch.testing.assert_close(found.cpu(), wanted)
    out = torch.zeros(0, dtype=wanted.dtype, device="lazy")
    torch.norm(x.to("lazy"), **options, out=out)
    torch.testing.assert_close(out.cpu(), wanted)


def test_a_norm_is_scripted():
    def norms(x):
        return torch.norm(x) + torch.norm(x, 1, 0).sum() + x.norm()

    x = torch.ones(3)
    assert torch.jit.script(norms)(x) == norms(x)


def test_of_equal_calls_the_one_that_failed_is_named():
    good, bad = torch.eye(3).to("lazy"), -torch.eye(3).to("lazy")
    with torch_ltc.settings.scope(linalg_errors="later"):
        first = torch.linalg.cholesky(good)
        second = torch.linalg.cholesky(bad)
    with pytest.raises(torch_ltc.Error) as caught:
        second.cpu()
    wanted = test_of_equal_calls_the_one_that_failed_is_named.__code__.co_firstlineno
    assert caught.value.line == wanted + 4
    del first


def test_a_check_for_errors_is_of_the_matrix():
    """Not of the zeros that the CPU's kernel is asked about shapes with."""
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for found, wanted in zip(
        torch.linalg.lu_factor_ex(x.to("lazy"), check_errors=True),
        torch.linalg.lu_factor_ex(x, check_errors=True),
        strict=True,
    ):
        torch.testing.assert_close(found.cpu(), wanted)


REFUSED_IF_ASKED = {
    "cholesky_ex": lambda x: torch.linalg.cholesky_ex(-x, check_errors=True),
    "inv_ex": lambda x: torch.linalg.inv_ex(x, check_errors=True),
    "ldl_factor_ex": lambda x: torch.linalg.ldl_factor_ex(0 * x, check_errors=True),
    "lu_factor_ex": lambda x: torch.linalg.lu_factor_ex(x, check_errors=True),
    "solve_ex": lambda x: torch.linalg.solve_ex(x, x, check_errors=True),
    "inv_ex, out": lambda x: torch.linalg.inv_ex(
        x, check_errors=True, out=(x.clone(), torch.zeros_like(x[..., 0, 0]).int())
    ),
}


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("batch", [(), (2,)], ids=["matrix", "batch"])
@pytest.mark.parametrize("name", REFUSED_IF_ASKED)
def test_errors_that_are_asked_for_are_eagers_at_the_call(name, batch, runs, counts):
    with pytest.raises(RuntimeError) as eager:
        REFUSED_IF_ASKED[name](torch.ones(*batch, 3, 3))
    for _ in range(runs):
        x = torch.ones(*batch, 3, 3, device="lazy")
        before = x + 1
        with pytest.raises(type(eager.value)) as lazy:
            REFUSED_IF_ASKED[name](x)
        assert str(lazy.value) == str(eager.value)
        assert before.sum().item() == 2 * x.numel()
    assert counts.fallbacks() == []


@pytest.mark.parametrize("name", REFUSED_IF_ASKED)
def test_errors_that_are_asked_for_come_later(name, later):
    result = REFUSED_IF_ASKED[name](torch.ones(3, 3, device="lazy"))
    with pytest.raises(RuntimeError, match=r"_ex: |Unknown error code"):
        result[0].cpu()


def test_good_factors_whose_errors_are_asked_for():
    x = torch.tensor([[2.0, 1.0], [1.0, 3.0]]).requires_grad_()
    y = x.detach().to("lazy").requires_grad_()
    for _ in range(3):
        for a in (x, y):
            torch.linalg.inv_ex(a, check_errors=True).inverse.sum().backward()
        torch.testing.assert_close(y.grad.cpu(), x.grad)
