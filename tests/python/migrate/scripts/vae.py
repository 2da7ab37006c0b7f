# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A variational autoencoder, in two files' worth of one: dropout and noise."""

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "lazy"


class Autoencoder(nn.Module):
    def __init__(self, pixels=36, hidden=16, code=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.Tanh())
        self.mean = nn.Linear(hidden, code)
        self.spread = nn.Linear(hidden, code)
        self.decoder = nn.Sequential(
            nn.Linear(code, hidden),
            nn.Tanh(),
            nn.Dropout(0.1),
            nn.Linear(hidden, pixels),
        )

    def forward(self, x):
        hidden = self.encoder(x)
        mean, spread = self.mean(hidden), self.spread(hidden)
        code = mean + torch.exp(spread / 2) * torch.randn_like(mean)
        return self.decoder(code), mean, spread


def build():
    """Return the model on the device, and what trains it."""
    model = Autoencoder()
    model = model.to(DEVICE)
    return model, torch.optim.AdamW(model.parameters(), lr=2e-3)


def train(model, optimizer, images, epochs=3):
    """Return the loss of the last batch."""
    for _ in range(epochs):
        for batch in images.split(16):
            batch = batch.to(DEVICE)
            optimizer.zero_grad(set_to_none=True)
            made, mean, spread = model(batch)
            divergence = -0.5 * (1 + spread - mean**2 - spread.exp()).sum(1).mean()
            loss = F.binary_cross_entropy_with_logits(made, batch) + 0.01 * divergence
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            torch.lazy.mark_step()
    return loss


if __name__ == "__main__":
    torch.manual_seed(3)
    loss = train(*build(), (torch.rand(32, 36) > 0.5).float())
    print(f"loss {loss.item():.4f}")
