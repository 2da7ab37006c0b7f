# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program whose graph docs/life_of_a_graph follows."""

import torch

x, weight, bias = torch.randn(64, 32), torch.randn(32, 24), torch.randn(24)
x, weight, bias = x.to("lazy"), weight.to("lazy"), bias.to("lazy")

scores = torch.relu(x @ weight + bias).sum(dim=1)
print(scores.cpu())  # a value is read: all of the above becomes one graph
