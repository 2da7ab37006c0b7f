# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an unmodified script computes, seen from PyTorch's own hooks.

A loss is what ``backward()`` is called of; a step ends at an optimizer's ``step()``.
"""

import hashlib
import itertools
import random
import sys
import time

import torch
from torch.optim import optimizer as torch_optimizer


class Watch:
    """Collects the steps of a script while it runs; `result` reads the values.

    Nothing is read before that, which would end graphs of the lazy device early.
    """

    def __init__(self):
        self.losses = []  # one list a step
        self.pending = []
        self.times = []  # of the ends of steps
        self.sums = {}  # step: the norm of each optimizer's parameters
        self.streams = []  # of random numbers, at the ends of steps
        self.optimizers = []

    def begin(self):
        """Watch from here to the end of the process."""
        stock = torch.autograd.backward

        def backward(tensors, *args, **kwargs):
            self._note_losses(tensors)
            return stock(tensors, *args, **kwargs)

        torch.autograd.backward = backward
        torch_optimizer.register_optimizer_step_post_hook(self._note_step)
        self.start = time.perf_counter()

    def _note_losses(self, tensors):
        tensors = [tensors] if isinstance(tensors, torch.Tensor) else tensors
        with torch.no_grad():
            for tensor in tensors:
                if isinstance(tensor, torch.Tensor):
                    loss = tensor.detach()
                    whole = loss.clone() if loss.numel() == 1 else loss.sum()
                    self.pending.append(whole)

    def _note_step(self, optimizer, args, kwargs):
        if all(optimizer is not known for known in self.optimizers):
            self.optimizers.append(optimizer)
        step = len(self.times)
        self.losses.append(self.pending)
        self.pending = []
        # Of a few steps, since it takes time: 0, 1, 2, 4, 8 and so on.
        if step & (step - 1) == 0:
            with torch.no_grad():
                norms = [p.detach().norm() for p in _parameters([optimizer])]
                self.sums[step] = norms
        self.streams.append(_streams())
        self.times.append(time.perf_counter())

    def result(self):
        """Return what was seen, with values on the CPU."""
        parameters = [p.detach().cpu() for p in _parameters(self.optimizers)]
        losses = [[_number(loss) for loss in step] for step in self.losses]
        kinds = {str(loss.dtype) for step in self.losses for loss in step}
        ends = [self.start, *self.times]
        return {
            "losses": losses,
            "loss_dtypes": sorted(kind.removeprefix("torch.") for kind in kinds),
            "sums": {n: [_number(x) for x in norms] for n, norms in self.sums.items()},
            "streams": self.streams,
            "step_seconds": [b - a for a, b in itertools.pairwise(ends)],
        }, parameters


def _parameters(optimizers):
    seen = {}
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                seen.setdefault(id(parameter), parameter)
    return seen.values()


def _number(tensor):
    value = tensor.cpu()
    return abs(value.item()) if value.is_complex() else float(value.item())


def _streams():
    """Return a digest of each generator's state, for comparing."""
    states = {"torch": torch.default_generator.get_state().numpy().tobytes()}
    states["random"] = repr(random.getstate()).encode()
    if "numpy" in sys.modules:
        state = sys.modules["numpy"].random.get_state()
        states["numpy"] = repr((state[1].tolist(), *state[2:])).encode()
    return {k: hashlib.blake2b(v, digest_size=8).hexdigest() for k, v in states.items()}
