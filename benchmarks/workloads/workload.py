# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every workload is made of."""

import itertools
from typing import ClassVar

import torch


class Workload:
    """Something that runs in steps; a class attribute says what is to be known.

    step() returns a tensor, or several, which are compared with eager's. It
    calls contender.submit() itself only between parts that a script would
    separate; after a step the worker does.
    """

    name = ""
    sizes: ClassVar[dict] = {"full": {}, "small": {}}  # build()'s arguments
    checked_steps = 1  # whose outputs are compared
    bound = 1e-5  # on the largest difference, relative to the largest value
    random = False  # draws random numbers
    trains = False  # has an optimizer
    shaped_by_values = False  # has ops of which that holds: they split graphs
    ops = None  # how many, where the host's time for one op is what counts
    # Eager's op to a function of shapes, where PyTorch's counter knows none.
    flop_counts: ClassVar[dict] = {}
    traffic = None  # bytes that a step must at least read and write
    # Quantity to the highest ratio to eager's that the project promises; cold_s
    # is a ratio to Inductor's, static one of the step time to lazy-static's,
    # warm_cpu_s is seconds, graphs a number.
    targets: ClassVar[dict] = {}

    def __init__(self, contender, size="full"):
        torch.manual_seed(0)
        self.contender = contender
        self.device = contender.device
        self.build(**self.sizes[size])


class Inference(Workload):
    """The model's forward, without gradients; build() sets model and inputs."""

    def __init__(self, contender, size="full"):
        super().__init__(contender, size)
        self.model.eval().to(self.device)
        self.inputs = self.inputs.to(self.device)
        self.forward = contender.compile(self.model)

    def step(self):
        with torch.no_grad():
            return self.forward(self.inputs)


class Training(Workload):
    """Forward, loss, backward, optimizer; build() sets model and batches."""

    checked_steps = 10
    trains = True
    autocast = None  # a dtype

    def __init__(self, contender, size="full"):
        super().__init__(contender, size)
        self.model = self.model.to(self.device)
        self.optimizer = self.make_optimizer(
            self.model.parameters(), **contender.optimizer_options
        )
        moved = [[t.to(self.device) for t in batch] for batch in self.batches]
        self.batches = itertools.cycle(moved)
        self.compiled_loss = contender.compile(self.run_forward)
        self.update = contender.compile(self.optimizer.step)
        self.whole_step = contender.compile_step(self.train)

    def make_optimizer(self, parameters, **options):
        return torch.optim.AdamW(parameters, lr=1e-3, **options)

    def run_forward(self, *batch):
        if self.autocast is None:
            return self.loss(*batch)
        with torch.autocast(self.device, dtype=self.autocast):
            return self.loss(*batch)

    def step(self):
        return self.whole_step(*next(self.batches))

    def train(self, *batch):
        loss = self.compiled_loss(*batch)
        self.optimizer.zero_grad()
        loss.backward()
        loss = loss.detach()
        self.update()
        return loss


class TrainingOnSizes(Training):
    """Batches of several sizes; a step of the workload is one on each of them."""

    checked_steps = 2
    targets: ClassVar[dict] = {"static": 1.15, "graphs": 4}  # two step graphs

    def __init__(self, contender, size="full"):
        super().__init__(contender, size)
        self.steps = self.sizes[size]["steps"]

    def step(self):
        losses = []
        for _ in range(self.steps):
            losses.append(super().step())
            self.contender.submit()
        return losses
