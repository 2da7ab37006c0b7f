# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is run, by name.

A workload is a class made with (device); a Training has step(), which returns
the loss; a Chain has reset() and run(), and how many ops that is.
"""

from workloads.chains import AddMulChain, InPlaceChain
from workloads.training import DigitsCnn, DigitsMlp, GptText

TRAINING = {work.name: work for work in (DigitsMlp, DigitsCnn, GptText)}
CHAINS = {work.name: work for work in (AddMulChain, InPlaceChain)}
WORKLOADS = TRAINING | CHAINS
