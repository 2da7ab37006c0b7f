# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""``LTC_LAZY_USE``: lines that use the lazy device, told stage by stage."""

import os
import sys
import warnings

import pytest
import torch
import torch_ltc
import torch_ltc.compat.xla_model as xm
from torch import nn
from torch_ltc import deprecation, settings

CPU = torch.ones(2, 4)
MODEL = nn.Linear(4, 2)


@pytest.fixture(autouse=True)
def silent_again():
    yield
    settings.lazy_use = "silent"


# What makes a lazy tensor, each from what is not lazy.
MAKES = {
    "ones": lambda: torch.ones(2, device="lazy"),
    "empty": lambda: torch.empty(2, device="lazy"),
    "empty_strided": lambda: torch.empty_strided((2,), (1,), device="lazy"),
    "randn": lambda: torch.randn(2, device="lazy"),
    "randint": lambda: torch.randint(0, 3, (2,), device="lazy"),
    "arange": lambda: torch.arange(3, device="lazy"),
    "full": lambda: torch.full((2,), 1.5, device="lazy"),
    "eye": lambda: torch.eye(2, device="lazy"),
    "tensor": lambda: torch.tensor([1.0], device="lazy"),
    "as_tensor": lambda: torch.as_tensor([1.0], device="lazy"),
    "to": lambda: CPU.to("lazy"),
    "to like": lambda: CPU.to(torch.device("lazy", 0), torch.float64),
    "module": lambda: nn.Linear(2, 2).to("lazy"),
    "module made": lambda: nn.Linear(2, 2, device="lazy"),
}


@pytest.mark.parametrize("name", MAKES)
def test_each_way_to_make_one_is_told_once_with_its_line(name):
    with (
        settings.scope(lazy_use="warning"),
        warnings.catch_warnings(record=True) as got,
    ):
        warnings.simplefilter("always")
        for _ in range(2):
            MAKES[name]()
    (told,) = got
    assert told.category is torch_ltc.errors.LazyUseWarning
    assert told.filename == __file__
    assert told.lineno == MAKES[name].__code__.co_firstlineno
    assert "a lazy tensor is made" in str(told.message)


def test_what_computes_with_lazy_tensors_is_not_told():
    x = torch.ones(2, 4, device="lazy", requires_grad=True)
    model = nn.Linear(4, 2).to("lazy")
    optimizer = torch.optim.AdamW(model.parameters())
    settings.lazy_use = "error"
    for _ in range(2):
        (model(x + 1) * 2).relu().sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.zeros_like(x), x.new_ones(2), x.clone(), x.cpu().tolist()


def test_compiled_models_are_not_told():
    settings.lazy_use = "error"
    model = torch.compile(nn.Linear(4, 2), backend="ltc")
    model(CPU).sum().backward()
    torch.testing.assert_close(torch.compile(torch.exp, backend="ltc")(CPU), CPU.exp())


@pytest.mark.parametrize(
    "end", [torch.lazy.mark_step, xm.mark_step, lambda: torch._lazy.mark_step()]
)
def test_steps_ended_by_hand_are_told(end):
    settings.lazy_use = "error"
    with pytest.raises(torch_ltc.LazyUseError, match="a step is ended by hand"):
        end()
    settings.lazy_use = "silent"
    end()


def test_an_error_names_line_and_remedy():
    settings.lazy_use = "error"
    for _ in range(2):
        line = sys._getframe().f_lineno + 2
        with pytest.raises(torch_ltc.LazyUseError) as caught:
            CPU.to("lazy")
        error = caught.value
        assert (error.file, error.line) == (__file__, line)
        assert error.function == "test_an_error_names_line_and_remedy"
        assert "model.compile(backend='ltc')" in error.hint
        assert f"migrate rewrite {os.path.relpath(__file__)}`" in str(error)


def test_a_notice_is_a_line_on_stderr(capsys):
    settings.lazy_use = "notice"
    line = sys._getframe().f_lineno + 2
    for _ in range(2):
        CPU.to("lazy")
        torch.lazy.mark_step()
    made, ended = capsys.readouterr().err.splitlines()
    file = os.path.relpath(__file__)
    assert made.startswith(f"{file}:{line}: a lazy tensor is made: ")
    assert ended.startswith(f"{file}:{line + 1}: a step is ended by hand: ")


def test_the_variable_counts_from_the_first_tensor_on(run_python, tmp_path):
    code = "import torch\nx = torch.ones(2, device='lazy')\n"
    told = run_python(code, LTC_LAZY_USE="error", returncode=1).stderr
    first = "LazyUseError: a lazy tensor is made, and LTC_LAZY_USE is error\n"
    assert f"{first}  at {tmp_path}/program.py:2 in <module>\n" in told


def test_silent_calls_nothing(monkeypatch):
    settings.lazy_use = "notice"
    settings.lazy_use = "silent"
    monkeypatch.setattr(deprecation, "_tell", lambda *_: pytest.fail("it was called"))
    torch.ones(2, device="lazy")
    torch.lazy.mark_step()


def test_another_stage_is_refused():
    with pytest.raises(torch_ltc.Error, match="silent, notice, warning or error"):
        settings.lazy_use = "loud"
    assert settings.lazy_use == "silent"
