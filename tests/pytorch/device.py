# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lazy device for PyTorch's device-generic tests; TORCH_TEST_DEVICES names it.

PyTorch runs this file with the globals of its common_device_type in place, which
therefore is not imported here.
"""

import sys

from torch.testing._internal import common_utils

GENERIC = sys.modules["torch.testing._internal.common_device_type"]


class LazyDevice(GENERIC.DeviceTypeTestBase):
    """Tests on 'lazy', with what PyTorch knows of its CPU kernels: they run there."""

    device_type = "lazy"

    @classmethod
    def get_primary_device(cls):
        return "lazy:0"

    def _should_stop_test_suite(self):
        return False

    @classmethod
    def _get_dtypes(cls, test):
        every = getattr(test, "dtypes", {})
        return every.get("lazy", every.get("cpu", every.get("all")))


# Native devices run more tests, and are held to the words of PyTorch's errors.
common_utils.NATIVE_DEVICES = (*common_utils.NATIVE_DEVICES, "lazy")
GENERIC.NATIVE_DEVICES = common_utils.NATIVE_DEVICES

# include_lazy=True asks for this one, which would start TorchScript's backend.
GENERIC.LazyTestBase = TEST_CLASS = LazyDevice
