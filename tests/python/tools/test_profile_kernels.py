# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a profile says of kernels, and of the machine that they are set against."""

import torch
import torch_ltc
from torch_ltc.profiling import profile_advice, profile_machine

LAZY = torch.device("lazy")


def test_limits_that_a_product_exceeds_are_measured_again(tmp_path, monkeypatch):
    limits = profile_machine.Limits
    busy, idle = limits(1e10, 5e9, 9e9, 2), limits(3e10, 4e9, 8e9, 2)
    measured = iter([busy, idle])
    monkeypatch.setattr(profile_machine, "_path", lambda: tmp_path / "machine.json")
    monkeypatch.setattr(profile_machine, "_measure", lambda: next(measured))
    assert profile_machine.limits(5e9) == busy
    assert profile_machine.limits(9e9) == busy  # and no more is measured
    assert profile_machine.limits(2e10) == limits(3e10, 5e9, 9e9, 2)
    assert profile_machine.known() == profile_machine.limits(2.5e10)


def test_a_kernel_that_copies_a_view_has_its_line_and_bytes():
    x = torch.arange(64.0 * 128, device=LAZY).view(64, 128).sin()
    torch.lazy.mark_step(wait=True)
    with torch_ltc.profile() as found:
        x[:, 3:19].tolist()
    (kernel,) = found.kernels
    assert kernel.ops == ["aten::slice_copy.Tensor"]
    assert kernel.place.function.endswith("has_its_line_and_bytes")
    assert (kernel.bytes, kernel.flops) == (2 * 64 * 16 * 4, 0)


def test_a_shape_is_named_that_one_program_serves():
    with torch_ltc.profile() as found:
        for size in range(40, 46):
            x = torch.ones(size).to(LAZY)
            torch_ltc.mark_dynamic(x, 0)
            x.erfc().mul(1.75).sum().item()
    told = [row for row in profile_advice.advice(found.data) if row.kind == "compile"]
    assert any(
        "in test_a_shape_is_named_that_one_program_serves" in row.text
        and "6 sizes so far, which one compiled program serves" in row.text
        for row in told
    ), told
