# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module that says what a step is, and a Trainer that does it."""

import torch
from torch import nn


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.body(x)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-2)


class Trainer:
    def __init__(self, max_epochs=1, accelerator="lazy", callbacks=()):
        self.max_epochs = max_epochs
        self.device = torch.device(accelerator)
        self.callbacks = callbacks
        self.losses = []

    def fit(self, module, batches):
        """Train the module."""
        self.model = module.to(self.device)
        self.optimizer = self.model.configure_optimizers()
        self.model.train()
        for epoch in range(self.max_epochs):
            for batch in batches:
                self.training_step(*(part.to(self.device) for part in batch))
            for callback in self.callbacks:
                callback(self, epoch)

    def training_step(self, x, y):
        """Take one step."""
        loss = nn.functional.huber_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        torch.lazy.mark_step()
        self.losses.append(loss.detach())


def log(trainer, epoch):
    """Print what the epoch came to."""
    print(f"epoch {epoch}: {torch.stack(trainer.losses).mean().item():.4f}")


torch.manual_seed(8)
batches = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(4)]
Trainer(max_epochs=2, callbacks=[log]).fit(Regression(), batches)
