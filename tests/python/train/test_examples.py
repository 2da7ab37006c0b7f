# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example scripts learn on the device what they learn in eager."""

import importlib

import pytest
import torch
import torch_ltc

SMALL = {
    "train_resnet": "--epochs 2 --pictures 64 --size 16 --width 8 --batch-size 16",
    "train_bert": "--epochs 2 --steps-per-epoch 6 --width 32 --layers 2 --dropout 0",
    "train_detector": "--epochs 2 --steps-per-epoch 6 --width 16 --size 96",
}


def losses(script, device, arguments):
    options = script.parse_options(
        ["--device", device, "--dtype", "float64", *arguments]
    )
    return torch.tensor([loss for epoch in script.train(options) for loss in epoch])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "tiers"),
    [
        ("train_resnet", "off"),
        ("train_bert", "auto"),
        ("train_detector", "auto"),
        ("train_detector", "off"),
    ],
)
def test_losses_are_eagers(name, tiers, tmp_path, capsys):
    script, arguments = importlib.import_module(name), SMALL[name].split()
    picture = tmp_path / "found.png"
    shown = ["--sample", "3"] if name == "train_bert" else ["--picture", str(picture)]
    with torch_ltc.settings.scope(tiers=tiers):
        found = losses(script, "lazy", [*arguments, *shown])
    printed = capsys.readouterr().out
    wanted = losses(script, "cpu", arguments)
    torch.testing.assert_close(found, wanted, rtol=1e-8, atol=1e-10)
    assert found[-1].sum() < found[0].sum()
    if name == "train_bert":
        assert printed.count("[mask]") > 1
    else:
        assert picture.read_bytes().startswith(b"\x89PNG")
