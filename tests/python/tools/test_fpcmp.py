# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ltc-fpcmp compares the tensors of two files."""

import argparse
import json

import numpy
import pytest
import torch
from safetensors.torch import save_file
from torch_ltc.commands import fpcmp


@pytest.fixture
def compare(tmp_path, capsys):
    """Compare two values as files; return the exit status and what was printed."""

    def run(a, b, *options, suffix="pt", save=torch.save):
        for name, value in ("a", a), ("b", b):
            save(value, tmp_path / f"{name}.{suffix}")
        parser = argparse.ArgumentParser()
        fpcmp.define(parser)
        files = [str(tmp_path / f"{name}.{suffix}") for name in "ab"]
        status = fpcmp.run(parser.parse_args([*files, *options]))
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


X = torch.tensor([1.0, 2.0, 4.0])
NEXT = torch.nextafter(X, torch.tensor(torch.inf))


def test_equal_files_are_equal(compare):
    state = {"model": {"weight": X, "steps": torch.tensor(3)}, "list": [X, X]}
    status, said = compare(state, state)
    assert (status, said) == (0, "4 of 4 tensors are as wanted\n")


@pytest.mark.parametrize(
    ("options", "passes"),
    [
        ([], False),
        (["--ulp", "1"], True),
        (["--rtol", "1e-6"], True),
        (["--rtol", "1e-9"], False),
        (["--atol", "1e-6"], True),
        (["--atol", "1e-8", "--ulp", "1"], True),
    ],
)
def test_a_measure_that_is_given_allows(compare, options, passes):
    status, said = compare({"x": NEXT}, {"x": X}, *options)
    assert status == (0 if passes else 1)
    assert passes or ("x: 3 of 3 elements differ" in said and "1 ULP" in said)


def save_npy(tensor, path):
    numpy.save(path, tensor.numpy())


@pytest.mark.parametrize(
    ("suffix", "save", "wrap"),
    [("npy", save_npy, lambda x: x), ("safetensors", save_file, lambda x: {"x": x})],
)
def test_other_formats(compare, suffix, save, wrap):
    assert compare(wrap(X), wrap(X), suffix=suffix, save=save)[0] == 0
    status, said = compare(wrap(X), wrap(X + 1), suffix=suffix, save=save)
    assert status == 1 and "3 of 3 elements differ" in said


def test_tolerances_by_name_then_dtype_then_options(compare, tmp_path):
    table = tmp_path / "tolerances.json"
    table.write_text(json.dumps({"loose*": {"atol": 1}, "float32": {"ulp": 1}}))
    near, far = {"loose.x": X + 0.5, "y": NEXT}, {"loose.x": X, "y": X}
    options = ["--tolerances", str(table)]
    assert compare(near, far, *options)[0] == 0
    status, said = compare({"y": X + 0.5}, {"y": X}, *options, "--atol", "9")
    assert status == 1 and "y: " in said
    doubles = {"z": X.double() + 0.5}, {"z": X.double()}
    assert compare(*doubles, *options, "--atol", "9")[0] == 0
    table.write_text(json.dumps({"x": {"tolerance": 1}}))
    status, said = compare(near, far, *options)
    assert status == 2 and "x has tolerance, which is none of" in said


def test_names_types_and_shapes_must_agree(compare):
    status, said = compare(
        {"a": X, "b": X, "c": X}, {"b": X.double(), "c": X[:2], "d": X}
    )
    assert status == 1
    assert "b: float32[3] where float64[3] is wanted" in said
    assert "c: float32[3] where float32[2] is wanted" in said
    assert said.count("it is in one file only") == 2


def test_json(compare):
    status, said = compare({"x": NEXT}, {"x": X}, "--json")
    row = json.loads(said)["differ"]["x"]
    assert status == 1 and row["ulp"] == 1 and row["count"] == 3


def test_what_is_no_file_of_tensors_is_an_error(compare, tmp_path):
    assert compare({"x": 1}, {"x": 1})[0] == 2
    parser = argparse.ArgumentParser()
    fpcmp.define(parser)
    assert fpcmp.run(parser.parse_args([str(tmp_path / "no.pt"), "x.txt"])) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "has no names with tolerances"),
        ('{"float32": 1}', "float32 has 1, which is none of atol, rtol, ulp"),
        ('{"float32": {"rtol": "x"}}', "float32's rtol is 'x', which is no number"),
        ('{"float32": {"atol": true}}', "float32's atol is True, which is no number"),
        ('{"float32": {"ulp": -1}}', "float32's ulp is -1; wanted is a finite"),
        ('{"x": {"rtol": NaN}}', "x's rtol is nan; wanted is a finite number"),
    ],
)
def test_tolerances_that_are_none_are_an_error(compare, tmp_path, text, said):
    (tmp_path / "wrong.json").write_text(text)
    table = str(tmp_path / "wrong.json")
    status, found = compare({"x": X}, {"x": X}, "--tolerances", table)
    assert status == 2 and said in found


@pytest.mark.parametrize(
    ("measure", "value"),
    [("ulp", "-1"), ("rtol", "nan"), ("rtol", "-0.5"), ("atol", "inf")],
)
def test_a_tolerance_that_allows_all_or_nothing_is_refused(compare, measure, value):
    status, said = compare({"x": X}, {"x": X}, f"--{measure}", value)
    assert status == 2 and f"--{measure} is {value}"[:12] in said
    assert "wanted is a finite number from 0 on" in said


def test_a_file_that_cannot_be_read_is_no_difference(compare):
    def save(_, path):
        path.write_text("hello")

    for suffix in ("pt", "npy", "safetensors"):
        status, said = compare(X, X, suffix=suffix, save=save)
        assert status == 2 and f"a.{suffix} cannot be read: " in said
    assert compare(torch.nn.Linear(1, 1), X)[0] == 2
