# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Profile a training loop that has two troubles, and then one that has not.

    python examples/profile_step.py --dir run

The first loop moves the same mask to the device in each step, and reads the loss. The
second moves it once, and reads the loss at the end. ``run/profile.html`` shows the
first; the script prints what a step of both takes, and what the profile says to do.
"""

import argparse
import statistics

import torch
import torch.nn.functional as F
import torch_ltc
from torch import nn


def make_model():
    """Return a little network and its optimizer."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)
    ).to("lazy")
    return model, torch.optim.AdamW(model.parameters(), 1e-3)


def batches(steps):
    """Yield inputs and labels that lie on the device."""
    for _ in range(steps):
        x = torch.randn(128, 256, device="lazy")
        yield x, torch.randint(0, 10, (128,), device="lazy")


def train_with_troubles(steps):
    """Move a mask and read the loss in each step."""
    model, optimizer = make_model()
    mask, total = (torch.arange(256) % 7 > 0).float(), 0.0
    for x, y in batches(steps):
        loss = F.cross_entropy(model(x * mask.to("lazy")), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / steps


def train(steps):
    """Do the same, without waiting inside of the loop."""
    model, optimizer = make_model()
    mask, total = (torch.arange(256) % 7 > 0).float().to("lazy"), 0.0
    for x, y in batches(steps):
        loss = F.cross_entropy(model(x * mask), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.detach()
    return (total / steps).item()


def profiled(loop, steps, directory=None, **options):
    """Run a loop; return its loss, the profile and the ms of a usual step."""
    with torch_ltc.profile(directory, **options) as found:
        loss = loop(steps)
    times = [step.time / 1e6 for step in found.data.settled]
    return loss, found, statistics.median(times)


def main():
    """Run both loops."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", default="run", help="where the files go")
    parser.add_argument("--steps", type=int, default=50)
    arguments = parser.parse_args()
    loss, found, before = profiled(
        train_with_troubles, arguments.steps, arguments.dir, stages=True
    )
    print(found)
    same, _, after = profiled(train, arguments.steps)
    assert abs(loss - same) < 1e-4 * abs(loss), (loss, same)
    print(f"\nwith troubles {before:.3g} ms a step, without {after:.3g} ms")
    print(f"in {arguments.dir}/profile.html")


if __name__ == "__main__":
    main()
