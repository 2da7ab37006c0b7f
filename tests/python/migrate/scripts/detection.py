# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One box in an image: a small backbone, a head for classes and one for boxes."""

import torch
import torch.nn.functional as F
from torch import nn


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        self.classes = nn.Conv2d(16, classes + 1, 1)
        self.boxes = nn.Conv2d(16, 4, 1)

    def forward(self, images):
        found = self.backbone(images)
        return self.classes(found).flatten(2), self.boxes(found).flatten(2)


def targets_of(boxes, labels, cells=4):
    """Return the class of each cell, 0 for none, and the cell of each box."""
    cell = (boxes[:, 1] * cells).long() * cells + (boxes[:, 0] * cells).long()
    classes = torch.zeros(len(boxes), cells * cells, dtype=torch.long)
    classes[torch.arange(len(boxes)), cell] = labels
    return classes, cell


def main(device="lazy"):
    """Train for some steps."""
    torch.manual_seed(6)
    net = Detector().to(device)
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    for step in range(5):
        boxes, labels = torch.rand(8, 4) * 0.99, torch.randint(1, 4, (8,))
        classes, cell = targets_of(boxes, labels)
        images = torch.randn(8, 1, 16, 16)
        images, boxes = images.to(device), boxes.to(device)
        classes, cell = classes.to(device), cell.to(device)
        scores, places = net(images)
        there = places.gather(2, cell[:, None, None].expand(-1, 4, 1)).squeeze(2)
        loss = F.cross_entropy(scores, classes) + F.smooth_l1_loss(there, boxes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.lazy.mark_step()
        if step % 2 == 0:
            print(step, f"{loss.detach().cpu():.4f}")


if __name__ == "__main__":
    main()
