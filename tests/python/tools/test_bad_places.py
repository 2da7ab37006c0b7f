# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debugging tools that cannot write, or are left by an exception, harm no training."""

import pytest
import torch
import torch_ltc

STEP = """
import torch
x = torch.ones(3).to("lazy")
x.add_(1)
torch.lazy.mark_step()
print(x.tolist())
"""


@pytest.mark.parametrize("name", ["LTC_SAVE_TENSORS_FILE", "LTC_DUMP"])
@pytest.mark.parametrize("place", ["/dev/full", "/proc/none"])
def test_what_cannot_be_written_is_said(run_python, name, place):
    done = run_python(STEP, **{name: place})
    assert done.stdout == "[2.0, 2.0, 2.0]\n"
    assert place in done.stderr


@pytest.mark.parametrize("tool", [torch_ltc.verify, torch_ltc.detect_nan])
@pytest.mark.parametrize("exception", [ValueError, KeyboardInterrupt])
def test_an_exception_passes_and_the_settings_go_back(tool, exception):
    x = torch.ones(3).to("lazy")
    with pytest.raises(exception), tool():
        x.add_(1)
        raise exception
    assert not torch_ltc.settings.verify
    assert torch_ltc.settings.detect_nan == "off"
    assert x.tolist() == [2.0] * 3
