# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers: eager's own with rng=eager, and good ones of the seed without."""

import copy
import pickle

import pytest
import torch
import torch.nn.functional as F
from scipy import stats
from torch import distributions, nn
from torch_ltc import settings

# On a device d, with a generator g or None.
DRAWS = {
    "rand": lambda d, g: torch.rand(5, 7, device=d, generator=g),
    "randn": lambda d, g: torch.randn(5, 7, device=d, generator=g),
    "randint": lambda d, g: torch.randint(3, 90, (40,), device=d, generator=g),
    "randperm": lambda d, g: torch.randperm(33, device=d, generator=g),
    "bernoulli": lambda d, g: torch.bernoulli(
        torch.linspace(0, 1, 50).to(d), generator=g
    ),
    "bernoulli_p": lambda d, g: torch.empty(50, device=d).bernoulli_(0.3, generator=g),
    "multinomial": lambda d, g: torch.multinomial(
        torch.linspace(0.1, 1, 12).to(d), 5, generator=g
    ),
    "multinomial_r": lambda d, g: torch.multinomial(
        torch.linspace(0.1, 1, 12).to(d), 5, replacement=True, generator=g
    ),
    "normal": lambda d, g: torch.normal(
        torch.arange(6.0).to(d), torch.arange(1, 7.0).to(d), generator=g
    ),
    "normal2": lambda d, g: torch.normal(2.0, 3.0, (6,), device=d, generator=g),
    "normal_": lambda d, g: torch.empty(33, device=d).normal_(1, 2, generator=g),
    "uniform_": lambda d, g: torch.empty(33, device=d).uniform_(-1, 2, generator=g),
    "exponential_": lambda d, g: torch.empty(33, device=d).exponential_(2, generator=g),
    "geometric_": lambda d, g: torch.empty(33, device=d).geometric_(0.2, generator=g),
    "cauchy_": lambda d, g: torch.empty(33, device=d).cauchy_(generator=g),
    "log_normal_": lambda d, g: torch.empty(33, device=d).log_normal_(generator=g),
    "random_": lambda d, g: torch.empty(33, device=d).random_(generator=g),
    "random_to": lambda d, g: torch.empty(33, device=d, dtype=torch.int64).random_(
        5, 100, generator=g
    ),
    "poisson": lambda d, g: torch.poisson(torch.arange(1.0, 20).to(d), generator=g),
    "binomial": lambda d, g: torch.binomial(
        torch.full((9,), 10.0).to(d), torch.full((9,), 0.4).to(d), generator=g
    ),
    "rrelu": lambda d, g: F.rrelu(torch.linspace(-1, 1, 30).to(d), training=True),
    "dropout": lambda d, g: F.dropout(torch.ones(60, device=d), 0.4),
    "feature_dropout": lambda d, g: F.dropout2d(torch.ones(2, 9, 3, 3, device=d), 0.4),
    "alpha_dropout": lambda d, g: F.alpha_dropout(
        torch.ones(60, device=d), 0.4, training=True
    ),
    "rand_like": lambda d, g: torch.rand_like(torch.ones(7, 5, device=d).t()),
    "randint_like": lambda d, g: torch.randint_like(torch.ones(7, 5, device=d).t(), 9),
    "randint_like, tensor": lambda d, g: torch.randint_like(
        torch.ones(7, 5, device=d), torch.tensor(9, device=d)
    ),
    "gumbel": lambda d, g: F.gumbel_softmax(torch.zeros(4, 5, device=d)),
    "kaiming": lambda d, g: nn.init.kaiming_uniform_(torch.empty(4, 5, device=d)),
    "trunc": lambda d, g: nn.init.trunc_normal_(torch.empty(4, 5, device=d)),
    "orthogonal": lambda d, g: nn.init.orthogonal_(torch.empty(4, 5, device=d)),
    "sparse": lambda d, g: nn.init.sparse_(torch.empty(4, 5, device=d), 0.3),
    "dist.Beta": lambda d, g: distributions.Beta(
        torch.tensor(2.0, device=d), torch.tensor(3.0, device=d)
    ).sample((7,)),
    "dist.Gamma": lambda d, g: distributions.Gamma(
        torch.tensor(2.0, device=d), torch.tensor(3.0, device=d)
    ).rsample((7,)),
    "dist.Dirichlet": lambda d, g: distributions.Dirichlet(
        torch.ones(3, device=d)
    ).sample((7,)),
    "dist.Categorical": lambda d, g: distributions.Categorical(
        torch.ones(3, device=d)
    ).sample((7,)),
    "dist.MVN": lambda d, g: distributions.MultivariateNormal(
        torch.zeros(3, device=d), torch.eye(3, device=d)
    ).sample((7,)),
    "dist.StudentT": lambda d, g: distributions.StudentT(
        torch.tensor(3.0, device=d)
    ).sample((7,)),
}


def draw(name, device, seed=3, generator=None):
    torch.manual_seed(seed)
    g = None if generator is None else torch.Generator().manual_seed(generator)
    return [DRAWS[name](device, g).cpu() for _ in range(3)]


@pytest.mark.parametrize("generator", [None, 5])
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_of_eager(name, generator):
    with settings.scope(rng="eager"):
        lazy = draw(name, "lazy", generator=generator)
    for a, b in zip(lazy, draw(name, "cpu", generator=generator), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_of_a_seed(name):
    first = draw(name, "lazy")
    assert all(map(torch.equal, first, draw(name, "lazy")))
    assert not torch.equal(first[0], first[1])
    assert not all(map(torch.equal, first, draw(name, "lazy", seed=4)))


# Each takes uniform numbers' place in a program; the numbers must not change.
SURROUNDINGS = {
    "alone": lambda x: x,
    "fused": lambda x: (x * 2 + 1 - 1) / 2,
    "cut by a step": lambda x: torch.lazy.mark_step() or x,
    "cut by a read": lambda x: (x.sum().item(), x)[1],
    "beside other work": lambda x: (x.sort().values.sum(), x)[1],
}


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
def test_numbers_do_not_depend_on_what_is_around(surrounding):
    def run(around):
        torch.manual_seed(11)
        x = around(torch.rand(1000, device="lazy"))
        y = around(torch.randn(7, 33, device="lazy"))
        z = F.dropout(around(torch.ones(500, device="lazy")), 0.3)
        return [t.cpu() for t in (x, y, z)]

    for a, b in zip(run(SURROUNDINGS[surrounding]), run(lambda x: x), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-6)


def test_numbers_do_not_depend_on_threads(run_python):
    program = """
import torch
torch.manual_seed(5)
x = torch.randn(300, 1000, device="lazy")
kept = torch.nn.functional.dropout(x, 0.5)
print(x.double().sum().item(), (kept != 0).sum().item(), x[299, 995:].tolist())
"""
    one, two = (run_python(program, OMP_NUM_THREADS=n).stdout for n in "12")
    assert one == two


N = 100_000
LAWS = {
    "uniform": (lambda: torch.rand(N, device="lazy"), stats.uniform),
    "normal": (lambda: torch.randn(N, device="lazy"), stats.norm),
    "uniform_": (
        lambda: torch.empty(N, device="lazy").uniform_(-1, 3),
        stats.uniform(-1, 4),
    ),
    "normal_": (lambda: torch.empty(N, device="lazy").normal_(2, 5), stats.norm(2, 5)),
    "exponential_": (
        lambda: torch.empty(N, device="lazy").exponential_(2),
        stats.expon(scale=0.5),
    ),
    "cauchy_": (
        lambda: torch.empty(N, device="lazy").cauchy_(1, 2),
        stats.cauchy(1, 2),
    ),
    "log_normal_": (
        lambda: torch.empty(N, device="lazy").log_normal_(0, 0.5),
        stats.lognorm(0.5),
    ),
    "double": (
        lambda: torch.rand(N, device="lazy", dtype=torch.float64),
        stats.uniform,
    ),
}


@pytest.mark.parametrize("law", LAWS)
def test_law(law):
    torch.manual_seed(17)
    sample, expected = LAWS[law]
    x = sample().cpu().double().numpy()
    assert stats.kstest(x, expected.cdf).pvalue > 1e-3
    # Neighbours, and numbers one row of a matrix apart, know nothing of each other.
    ranks = expected.cdf(x)
    for lag in (1, 2, 16, 256):
        assert abs(stats.pearsonr(ranks[:-lag], ranks[lag:]).statistic) < 0.015


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
def test_law_of_dropout_and_bernoulli(p):
    torch.manual_seed(23)
    kept = (F.dropout(torch.ones(N, device="lazy"), p) != 0).sum().item()
    ones = int(torch.empty(N, device="lazy").bernoulli_(p).sum().item())
    assert stats.binomtest(kept, N, 1 - p).pvalue > 1e-3
    assert stats.binomtest(ones, N, p).pvalue > 1e-3


def test_law_of_integers():
    torch.manual_seed(29)
    drawn = torch.randint(0, 37, (N,), device="lazy").bincount(minlength=37)
    assert stats.chisquare(drawn.cpu().numpy()).pvalue > 1e-3
    orders = torch.stack([torch.randperm(4, device="lazy") for _ in range(2400)]).cpu()
    _, counts = orders.unique(dim=0, return_counts=True)
    assert len(counts) == 24
    assert stats.chisquare(counts.numpy()).pvalue > 1e-3


def test_two_devices_and_two_processes_draw_alike(run_python):
    program = """
import torch
torch.manual_seed(5)
print(torch.rand(4, device="lazy").tolist())
torch.manual_seed(5)
print(torch.rand(4, device="lazy:1").tolist())
"""
    done = [run_python(program, LTC_CPU_DEVICES="2").stdout for _ in range(2)]
    lines = "".join(done).splitlines()
    assert len(lines) == 4 and len(set(lines)) == 1


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (lambda z: z.geometric_(0.5), lambda z: z.geometric_(2.0)),
        (lambda z: z.normal_(0.5, 2), lambda z: z.normal_(0.5, -2)),
        (lambda z: z.uniform_(2, 3), lambda z: z.uniform_(3, 2)),
        (lambda z: z.bernoulli_(0.5), lambda z: z.bernoulli_(2.0)),
        (lambda z: z.random_(2, 9), lambda z: z.random_(9, 2)),
    ],
    ids=["geometric", "normal", "uniform", "bernoulli", "random"],
)
def test_numbers_are_checked_after_others_have_passed(right, wrong):
    z = torch.zeros(6, device="lazy")
    for _ in range(2):
        right(z)
        z.exponential_(2.0)  # may have the number that others may not
    with pytest.raises(RuntimeError) as eager:
        wrong(torch.zeros(6))
    for _ in range(2):
        with pytest.raises(RuntimeError) as lazy:
            wrong(z)
        assert str(lazy.value).splitlines()[0] == str(eager.value).splitlines()[0]


def test_a_lazy_generator_is_a_generator():
    made = torch.Generator("lazy").manual_seed(3)
    assert isinstance(made, torch.Generator)
    assert made.device == torch.device("lazy", 0) and made.initial_seed() == 3
    other = torch.Generator(device=torch.device("lazy", 0))
    other.set_state(made.get_state())
    alike = [
        made,
        other,
        made.clone_state(),
        copy.deepcopy(made),
        pickle.loads(pickle.dumps(made)),
        torch.Generator().manual_seed(3),
    ]
    assert [g.device.type for g in alike] == ["lazy"] * 5 + ["cpu"]
    with settings.scope(rng="eager"):
        draws = [torch.randn(4, device="lazy", generator=g).cpu() for g in alike]
    expected = torch.randn(4, generator=torch.Generator().manual_seed(3))
    assert all(torch.equal(draw, expected) for draw in draws)


def test_generators_of_other_devices_are_left_alone():
    assert type(torch.Generator("cpu")) is type(torch.Generator()) is torch.Generator
    with pytest.raises(RuntimeError, match="there is no device lazy:9"):
        torch.Generator("lazy:9")
    with pytest.raises(RuntimeError, match="at start of device string: foo"):
        torch.Generator("foo")
    with pytest.raises(RuntimeError, match="META device type not an accelerator"):
        torch.Generator("meta")
