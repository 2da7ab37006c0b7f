# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A file of PyTorch's tests of DTensor or FSDP2, with the device in its place."""

import importlib
import os
import sys
import unittest
from pathlib import Path


def anywhere(*_, **__):
    """Stand for PyTorch's decorators that ask for a number of GPUs."""
    return lambda test: test


def of_no_device(stock):
    """Wrap barrier(), which tests tell their rank for the number of a device."""
    return lambda *args, device_ids=None, **options: stock(*args, **options)


def put_device(device, ranks):
    """Give PyTorch's common test files the device, which all ranks share."""
    import torch
    from torch.testing._internal import common_distributed, common_fsdp
    from torch.testing._internal.distributed._tensor import common_dtensor

    for module in (common_distributed, common_fsdp, common_dtensor):
        module.skip_if_lt_x_gpu = anywhere
    common_distributed.skip_if_no_gpu = lambda test: test
    for module in (common_fsdp, common_dtensor):
        module.DEVICE_TYPE, module.DEVICE_COUNT = device, ranks
    common_dtensor.TEST_PRIVATEUSE1 = True  # which is: use DEVICE_TYPE
    common_dtensor.PG_BACKEND = common_fsdp.DISTRIBUTED_BACKEND = "gloo"
    common_dtensor.DTensorTestBase.backend = property(lambda self: "gloo")
    torch.accelerator.device_count = lambda: ranks
    torch._C._get_accelerator = lambda *_: torch.device(device)
    torch.distributed.barrier = of_no_device(torch.distributed.barrier)


def tests_of(file, device, ranks):
    """Return {name: class} of a file in the folder that LTC_PYTORCH_TESTS names."""
    put_device(device, ranks)
    path = Path(os.environ["LTC_PYTORCH_TESTS"], file)
    sys.path.insert(0, str(path.parent))
    module = importlib.import_module(path.name)
    return {
        f"{case.__name__}.{name}": case
        for case in vars(module).values()
        if isinstance(case, type)
        and issubclass(case, unittest.TestCase)
        and case.__module__ == module.__name__
        for name in unittest.TestLoader().getTestCaseNames(case)
    }


def has_ranks(case):
    """Return whether a rank is a process in these tests, and not a thread or none."""
    from torch.testing._internal import common_distributed

    return issubclass(
        case,
        (
            common_distributed.MultiProcessTestCase,
            common_distributed.MultiProcContinuousTest,
        ),
    )


def prepare(case, ranks):
    """Tell a class how many ranks there are, where it leaves that open.

    What shares the ranks' random numbers is made anew, as in a process of its own.
    """
    random = sys.modules.get("torch.distributed.tensor._random")
    if random is not None:
        random._rng_tracker = None
    if isinstance(case.world_size, int) and case.world_size < 0:
        case.world_size = ranks


def outcome_in_one(test):
    """Run a test that starts its own threads; return what came of it, and why."""
    result = unittest.TestResult()
    unittest.TestSuite([test]).run(result)  # with the fixtures of its class
    if wrong := result.errors + result.failures:
        return "failed", wrong[0][1][-1500:]
    if result.unexpectedSuccesses:
        return "failed", "unexpected success"
    if result.skipped:
        return "skipped", result.skipped[0][1]
    return "passed", ""
