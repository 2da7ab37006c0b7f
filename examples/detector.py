# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A detector in the manner of Mask R-CNN (He et al., 2017), on plain torch.

Boxes are (N, 4): left, top, right, bottom, in pixels. Those of a batch are in
one tensor, beside a tensor (N) of which picture each belongs to.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

STRIDE = 8  # pixels to a place of the features
SIZES, RATIOS = (14, 26, 44), (0.6, 1.0, 1.6)
LARGEST_STEP = math.log(4)  # of a box's size, in one correction


def area(boxes):
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def overlaps(a, b):
    """Return intersection over union of each of `a` (N) with each of `b` (M)."""
    corner = torch.maximum(a[:, None, :2], b[:, :2])
    sides = (torch.minimum(a[:, None, 2:], b[:, 2:]) - corner).clamp(min=0)
    shared = sides.prod(2)
    return shared / (area(a)[:, None] + area(b) - shared)


def center_and_size(boxes):
    size = boxes[:, 2:] - boxes[:, :2]
    return boxes[:, :2] + size / 2, size


def corrections(boxes, wanted):
    """Return (N, 4): what moves `boxes` to `wanted`, in shares of their size."""
    center, size = center_and_size(boxes)
    to_center, to_size = center_and_size(wanted)
    return torch.cat([(to_center - center) / size, (to_size / size).log()], 1)


def corrected(boxes, deltas):
    center, size = center_and_size(boxes)
    center = center + deltas[:, :2] * size
    size = size * deltas[:, 2:].clamp(max=LARGEST_STEP).exp()
    return torch.cat([center - size / 2, center + size / 2], 1)


def suppress(boxes, scores, groups, threshold):
    """Return the places of boxes that no better one of their group overlaps.

    Non-maximum suppression, best first. Groups lie apart, so they do not overlap.
    """
    order = scores.argsort(descending=True)
    apart = boxes[order] + (groups[order] * 4096)[:, None]
    covers = (overlaps(apart, apart) > threshold).cpu().numpy()
    kept, hidden = [], covers[:0].any(0)
    for i in range(len(covers)):
        if not hidden[i]:
            kept.append(i)
            hidden |= covers[i]
    return order[torch.tensor(kept, dtype=torch.long).to(order.device)]


def roi_align(features, boxes, pictures, bins):
    """Return (N, C, bins, bins): the features (B, C, H, W) in the middle of bins."""
    _, channels, height, width = features.shape
    steps = (torch.arange(bins, device=boxes.device) + 0.5) / bins
    size = boxes[:, 2:] - boxes[:, :2]
    points = (boxes[:, :2, None] + size[:, :, None] * steps) / STRIDE - 0.5
    x = points[:, 0].clamp(0, width - 1)
    y = points[:, 1].clamp(0, height - 1)
    left = x.floor().clamp(max=width - 2)
    top = y.floor().clamp(max=height - 2)
    right_share, below_share = x - left, y - top
    rows = features.permute(0, 2, 3, 1).reshape(-1, channels)
    first = (pictures * height)[:, None, None] + top.long()[:, :, None]
    first = first * width + left.long()[:, None, :]
    across, down = right_share[:, None, :, None], below_share[:, :, None, None]
    above = rows[first] * (1 - across) + rows[first + 1] * across
    below = rows[first + width] * (1 - across) + rows[first + width + 1] * across
    return (above * (1 - down) + below * down).permute(0, 3, 1, 2)


def convolution(channels_in, channels, stride=1):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels, 3, stride, 1),
        nn.GroupNorm(8, channels),
        nn.ReLU(),
    )


def pick(candidates, count, generator):
    """Return up to `count` of the candidates, drawn by chance."""
    order = torch.randperm(len(candidates), generator=generator)[:count]
    return candidates[order.to(candidates.device)]


class Detector(nn.Module):
    """Proposes boxes, then names, corrects and fills them.

    `chance` is a generator on the CPU. It draws which boxes a loss is taken of.
    """

    def __init__(self, kinds, width=64, chance=None):
        super().__init__()
        self.kinds, self.chance = kinds, chance
        self.backbone = nn.Sequential(
            convolution(3, width // 2, 2),
            convolution(width // 2, width, 2),
            convolution(width, width, 2),
            convolution(width, width),
            convolution(width, width),
        )
        anchors = len(SIZES) * len(RATIOS)
        self.propose = convolution(width, width)
        self.objectness = nn.Conv2d(width, anchors, 1)
        self.shift = nn.Conv2d(width, 4 * anchors, 1)
        self.describe = nn.Sequential(
            nn.Flatten(), nn.Linear(width * 7 * 7, 256), nn.ReLU()
        )
        self.name = nn.Linear(256, kinds + 1)  # the last is: nothing
        self.correct = nn.Linear(256, 4)
        self.fill = nn.Sequential(
            convolution(width, width),
            convolution(width, width),
            nn.ConvTranspose2d(width, width, 2, 2),
            nn.ReLU(),
            nn.Conv2d(width, kinds, 1),
        )

    def anchors(self, features):
        """Return (H * W * A, 4): boxes of several sizes and forms at each place."""
        height, width = features.shape[2:]
        forms = [
            (size * ratio**-0.5, size * ratio**0.5)
            for size in SIZES
            for ratio in RATIOS
        ]
        half = features.new_tensor(forms) / 2
        x = (torch.arange(width, device=features.device) + 0.5) * STRIDE
        y = (torch.arange(height, device=features.device) + 0.5) * STRIDE
        down, across = torch.meshgrid(y, x, indexing="ij")
        center = torch.stack([across, down], 2).reshape(-1, 1, 2).to(half.dtype)
        return torch.cat([center - half, center + half], 2).reshape(-1, 4)

    def proposals(self, scores, deltas, anchors, size, before=150, after=40):
        """Return (boxes, pictures): of each picture the best that lie apart."""
        best = scores.topk(before, dim=1).indices
        pictures = torch.arange(len(scores), device=scores.device)
        pictures = pictures[:, None].expand_as(best).flatten()
        chosen = deltas.gather(1, best[:, :, None].expand(-1, -1, 4)).flatten(0, 1)
        boxes = corrected(anchors[best.flatten()], chosen).clamp(0, size)
        large = ((boxes[:, 2:] - boxes[:, :2]) >= 2).all(1).nonzero().flatten()
        boxes, pictures = boxes[large], pictures[large]
        ranked = scores.gather(1, best).flatten()[large]
        kept = suppress(boxes, ranked, pictures, 0.7)[: after * len(scores)]
        return boxes[kept], pictures[kept]

    def proposal_losses(self, scores, deltas, anchors, truth):
        """Return what is wrong with objectness and with shifts of anchors."""
        wrong, moved, counted = 0, 0, 0
        for score, delta, boxes in zip(scores, deltas, truth, strict=True):
            covered = overlaps(boxes, anchors)
            best, of = covered.max(0)
            closest = (covered == covered.max(1, keepdim=True).values).any(0)
            good = ((best >= 0.6) | closest).nonzero().flatten()
            bad = ((best < 0.3) & ~closest).nonzero().flatten()
            good = pick(good, 32, self.chance)
            bad = pick(bad, 64 - len(good), self.chance)
            drawn = torch.cat([good, bad])
            labels = (torch.arange(len(drawn), device=score.device) < len(good)).to(
                score.dtype
            )
            wrong = wrong + F.binary_cross_entropy_with_logits(
                score[drawn], labels, reduction="sum"
            )
            wanted = corrections(anchors[good], boxes[of[good]])
            moved = moved + F.smooth_l1_loss(
                delta[good], wanted, reduction="sum", beta=0.1
            )
            counted += len(drawn)
        return wrong / counted, moved / counted

    def matches(self, boxes, pictures, truth, kinds):
        """Draw boxes to learn from: (boxes, pictures, kinds, truth's places, good).

        The first `good` of them cover a shape; the others are to be named nothing.
        """
        of_picture = torch.cat(
            [torch.full((len(some),), i) for i, some in enumerate(truth)]
        ).to(boxes.device)
        everything = torch.cat(truth)
        boxes = torch.cat([boxes, everything])
        pictures = torch.cat([pictures, of_picture])
        covered = overlaps(boxes, everything)
        covered = covered.where(pictures[:, None] == of_picture, 0.0)
        best, of = covered.max(1)
        good = pick((best >= 0.5).nonzero().flatten(), 8 * len(truth), self.chance)
        bad = pick((best < 0.5).nonzero().flatten(), 24 * len(truth), self.chance)
        drawn = torch.cat([good, bad])
        names = torch.full((len(drawn),), self.kinds, device=boxes.device)
        names[: len(good)] = torch.cat(kinds)[of[good]]
        return boxes[drawn], pictures[drawn], names, of[drawn], len(good)

    def rows(self, features):
        """Return scores (B, H * W * A) and deltas (B, H * W * A, 4) of anchors."""
        x = self.propose(features)
        scores = self.objectness(x).permute(0, 2, 3, 1).flatten(1)
        deltas = self.shift(x).permute(0, 2, 3, 1).reshape(len(x), -1, 4)
        return scores, deltas

    def losses(self, images, truth, kinds, masks):
        """Return five losses of pictures (B, 3, S, S) whose shapes are known.

        `truth`, `kinds` and `masks` have for each picture boxes (N, 4), numbers
        (N) and masks (N, S, S).
        """
        features = self.backbone(images)
        anchors = self.anchors(features)
        scores, deltas = self.rows(features)
        found = self.proposal_losses(scores, deltas, anchors, truth)
        boxes, pictures = self.proposals(
            scores.detach(), deltas.detach(), anchors, images.shape[-1]
        )
        boxes, pictures, names, of, good = self.matches(boxes, pictures, truth, kinds)
        x = self.describe(roi_align(features, boxes, pictures, 7))
        named = F.cross_entropy(self.name(x), names)
        wanted = corrections(boxes[:good], torch.cat(truth)[of[:good]])
        moved = F.smooth_l1_loss(
            self.correct(x[:good]), wanted, reduction="sum", beta=0.1
        )
        filled = self.fill(roi_align(features, boxes[:good], pictures[:good], 7))
        filled = filled[torch.arange(good, device=x.device), names[:good]]
        seen = torch.cat(masks)[of[:good], None].to(images.dtype)
        whole = torch.arange(good, device=x.device)
        seen = roi_align(
            seen, boxes[:good] * STRIDE, whole, filled.shape[-1]
        )  # a mask has a place a pixel
        masked = F.binary_cross_entropy_with_logits(filled, (seen[:, 0] > 0.5).to(x))
        return (*found, named, moved / len(names), masked)

    @torch.no_grad()
    def forward(self, images, least=0.6):
        """Return for each picture (boxes, kinds, scores, masks (N, 14, 14))."""
        features = self.backbone(images)
        scores, deltas = self.rows(features)
        boxes, pictures = self.proposals(
            scores, deltas, self.anchors(features), images.shape[-1]
        )
        x = self.describe(roi_align(features, boxes, pictures, 7))
        chances, kinds = self.name(x).softmax(1)[:, : self.kinds].max(1)
        boxes = corrected(boxes, self.correct(x)).clamp(0, images.shape[-1])
        sure = (chances > least).nonzero().flatten()
        groups = pictures[sure] * self.kinds + kinds[sure]
        kept = sure[suppress(boxes[sure], chances[sure], groups, 0.4)]
        boxes, pictures, kinds = boxes[kept], pictures[kept], kinds[kept]
        filled = self.fill(roi_align(features, boxes, pictures, 7)).sigmoid()
        filled = filled[torch.arange(len(kept), device=kinds.device), kinds]
        parts = [boxes, kinds, chances[kept], filled, pictures]
        *parts, pictures = (part.cpu() for part in parts)
        return [
            [part[pictures == number] for part in parts]
            for number in range(len(images))
        ]
