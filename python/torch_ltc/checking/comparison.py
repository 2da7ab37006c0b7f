# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far two tensors are apart: absolute, relative, and in units of the last place."""

from dataclasses import dataclass

import torch

_BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
}


@dataclass
class Difference:
    """Elements that differ by more than they may; the figures are the worst one's."""

    count: int
    elements: int
    index: tuple[int, ...]
    found: object
    wanted: object
    absolute: float
    relative: float
    ulp: int | None  # None: of what is no fraction, or not finite

    def __str__(self):
        at = "".join(f"[{i}]" for i in self.index)
        text = f"{self.count} of {self.elements} elements differ; the worst{at and ' '}"
        text += f"{at} is {self.found} where {self.wanted} is right"
        if self.ulp is not None:
            text += f" ({self.absolute:.3g} absolute, {self.relative:.3g} relative, "
            text += f"{self.ulp} ULP)"
        return text


def compare(found, wanted, tolerance=None):
    """Return the `Difference` of two tensors of one type and shape, or None.

    `tolerance` is the greatest absolute difference of each element, or None for none.
    Equal infinities, and NaN where NaN is wanted, are no difference.
    """
    if wanted.is_complex():
        found, wanted = torch.view_as_real(found), torch.view_as_real(wanted)
        if tolerance is not None:
            tolerance = tolerance.unsqueeze(-1)
    wide = torch.float64 if wanted.is_floating_point() else torch.int64
    a, b = found.to(wide), wanted.to(wide)
    distance = (a - b).abs()
    same = (a == b) | (a.isnan() & b.isnan())
    allowed = torch.zeros_like(distance) if tolerance is None else tolerance
    wrong = ~same & ~(distance <= allowed)
    if not wrong.any():
        return None
    # What is not finite on one side only is worse than any distance.
    rank = distance.to(torch.float64).masked_fill(~distance.isfinite(), torch.inf)
    worst = int(rank.masked_fill(~wrong, -1.0).argmax())
    place = torch.tensor(worst, device="cpu")
    index = tuple(int(i) for i in torch.unravel_index(place, a.shape))
    x, y = found[index], wanted[index]
    absolute = float(distance[index])
    return Difference(
        count=int(wrong.sum()),
        elements=wrong.numel(),
        index=index,
        found=x.item(),
        wanted=y.item(),
        absolute=absolute,
        relative=absolute / abs(float(y)) if float(y) else torch.inf,
        ulp=_ulp(x, y),
    )


def _ulp(x, y):
    if x.dtype not in _BITS or not (x.isfinite() and y.isfinite()):
        return None
    return abs(_place(x) - _place(y))


def _place(x):
    """Return the number of a float in the order of all floats of its type."""
    bits = _BITS[x.dtype]
    number = x.reshape(()).view(bits).item()
    return number if number >= 0 else torch.iinfo(bits).min - number
