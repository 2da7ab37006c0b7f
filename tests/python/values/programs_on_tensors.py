# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs about views, writes, scalars, promotion and odd sizes."""

import torch
from programs import program, values

# Views and writes


@program
def write_through_a_view(device):
    x = values(4, 6, device=device)
    x[1].add_(1)
    x.t()[2].mul_(3)
    x.view(-1)[::5].zero_()
    x.reshape(2, 2, 6)[:, 1] += 2
    return x


@program
def write_to_the_base_of_a_view(device):
    x = values(4, 6, device=device)
    row, column = x[1], x[:, 2]
    x.mul_(2)
    row.sub_(1)
    return x, row, column


@program
def views_of_views(device):
    x = values(4096, device=device)
    view = x
    for _ in range(200):
        view = view[1:]
    view.add_(1)
    x.mul_(2)
    return x, view


@program
def as_strided(device):
    x = values(24, device=device)
    window = x.as_strided((4, 3), (5, 1), 1)
    window[2].fill_(9)
    return x, window, torch.as_strided_copy(x, (2, 2), (3, 5))


@program
def diagonal_and_flip(device):
    x = values(5, 5, device=device)
    x.diagonal().zero_()
    x.diagonal(1).add_(4)
    return x, x.flip(0), x.rot90()


@program
def split_chunk_unbind(device):
    x = values(7, 6, device=device)
    a, b, c = x.split([2, 4, 1])
    b.mul_(2)
    for part in x.chunk(3, dim=1):
        part[0] += 1
    rows = x.unbind(0)
    rows[3].zero_()
    return x, a, c, rows, torch.unsafe_split(x, 3), torch.unsafe_chunk(x, 2)


@program
def expand_and_repeat(device):
    x = values(3, 1, device=device)
    return x.expand(3, 4) + 1, x.repeat(2, 3), x.expand(2, 3, 5).sum((0, 2))


@program
def squeeze_in_place(device):
    x = values(1, 3, 1, device=device)
    y = x.clone()
    y.squeeze_().unsqueeze_(1).t_()
    return x, y, list(y.shape)


@program
def index_and_mask_writes(device):
    x = values(5, 4, device=device)
    x[x > 0] = -1
    x[torch.tensor([0, 2], device=device)] += 10
    x[1, ::2] = torch.tensor([7.0, 8.0], device=device)
    x[[3, 4], [0, 1]] = 0.5
    x.index_add_(0, torch.tensor([1, 1], device=device), values(2, 4, device=device))
    x.masked_fill_(x == 0.5, 3)
    return x, x[x > 1], x[..., None, 2]


@program
def indices_on_the_cpu(device):
    x = values(5, 4, device=device).requires_grad_()
    rows, columns = torch.tensor([3, 0, 3]), torch.tensor([[1], [-1]])
    y = x[rows, columns] + x[[0, 1, 2]][:, torch.tensor([1])].t()
    y.sum().backward()
    z = x.detach().clone()
    z[rows, torch.tensor([0, 1, 0]).to(device)] = 5
    z.index_put_((rows,), z[:1] * 2, accumulate=True)
    mask = torch.tensor([1, 0, 1, 1, 0])
    return y, x.grad, z, z[mask.bool()], z[mask.bool().to(device)]


@program
def histograms_of_integers(device):
    # Eager CPU counts floats alone; GPUs count integers, and so do we.
    kind = torch.float64 if device == "cpu" else torch.int32
    x = torch.tensor([-3, 0, 1, 1, 4, 5, 7, 9, 9, 12]).to(device, kind)
    bounds = [(5, 0, 9), (8, 0, 7), (3, 0, 0), (3, 1, 1)]
    counts = [torch.histc(x, *bound) for bound in bounds]
    counts.append(torch.histc(x[:1], 3))
    return [count.double() for count in counts]


@program
def grouped_products(device):
    x = values(12, 8, device=device).requires_grad_()
    experts = values(3, 16, 8, seed=1, device=device).requires_grad_()
    ends = torch.tensor([4, 4, 12], dtype=torch.int32, device=device)
    y = torch.nn.functional.grouped_mm(x, experts.mT, offs=ends)
    y.square().sum().backward()
    return y, x.grad, experts.grad


@program
def copies_between_types(device):
    x = values(3, 4, device=device)
    x.copy_(torch.arange(4, device=device))
    y = torch.zeros(3, 4, dtype=torch.int64, device=device)
    y.copy_(x * 1.7)
    y[0] = torch.tensor([1.9, -1.9, 2.5, 0.0], device=device)
    return x, y, x.to(torch.bool), (x > 1).to(torch.float64), y.half()


@program
def copies_across_devices(device):
    host = torch.zeros(2, 3)
    x = values(2, 3, device=device)
    host.copy_(x)
    host[0].copy_(x[1] * 2)
    x[0] = torch.ones(3)
    x[1].copy_(torch.full((3,), 2))
    return host, x


@program
def out_arguments(device):
    x = values(3, 4, device=device)
    out = torch.empty(3, 4, device=device)
    torch.add(x, 1, out=out)
    grown = torch.empty(0, device=device)
    torch.mul(x, x, out=grown)
    part = torch.zeros(6, 4, device=device)
    torch.exp(x, out=part[1:4])
    top = (
        torch.empty(0, device=device),
        torch.empty(0, dtype=torch.long, device=device),
    )
    torch.topk(x, 2, out=top)
    return out, grown, list(grown.shape), part, top


@program
def resize_and_set(device):
    x = torch.arange(6.0, device=device)
    x.resize_(2, 2)
    y = torch.zeros(1, device=device)
    y.set_(x)
    z = torch.zeros(3, device=device)
    z.resize_as_(x).copy_(x)
    return x, y, z, list(z.shape)


@program
def writes_after_set(device):
    """To the tensor that was set, to views of what it was, and to its source."""
    same = torch.arange(4.0, device=device)
    same.set_(same).add_(1)
    x, source = torch.arange(4.0, device=device), torch.arange(3.0, device=device)
    view = x[1:]
    x.set_(source).mul_(3)
    view.add_(2)
    source[0] = 7
    part = torch.arange(4.0, device=device)
    rest = part[1:]
    part.set_(rest).sub_(1)
    rest.mul_(2)
    return same, x, view, source, part, rest


@program
def data_assignment(device):
    x = torch.nn.Parameter(values(3, device=device))
    before = x.data
    x.data = values(4, seed=1, device=device)
    x.data.add_(1)
    x.data[0] = 5
    return x, before, x.requires_grad


@program
def swap_and_detach(device):
    x = values(3, device=device).requires_grad_()
    y = x.detach()
    y.add_(1)
    return x, y, y.requires_grad, x._version > 0


# Scalars, promotion, small and empty tensors


@program
def scalars_and_promotion(device):
    i = values(3, dtype=torch.int32, device=device)
    f, b = values(3, device=device), values(3, device=device) > 0
    h = values(3, device=device).to(torch.bfloat16)
    zero_dim = torch.tensor(2.5, dtype=torch.float64)
    made = [
        i + 1,
        i + 1.5,
        i / 2,
        i // 2,
        i % 7,
        i + True,
        b + 1,
        b * 2.5,
        b + b,
        f + zero_dim,
        i * zero_dim,
        h + 1.25,
        h + f,
        zero_dim * h,
        f * 1j,
        2 - i,
        2**f,
        f.pow(2),
        torch.where(b, f, 1),
        torch.where(b, 1, i),
        torch.clamp(i, min=1.5),
        f.clamp(max=True),
        torch.add(i, b, alpha=2),
    ]
    return made, [str(m.dtype) for m in made]


@program
def zero_dim_tensors_of_the_host(device):
    x = values(3, 4, device=device)
    return x * torch.tensor(3), torch.tensor(2.0) / x, x.add_(torch.tensor(1.5))


@program
def complex_numbers(device):
    x = torch.complex(values(3, device=device), values(3, seed=1, device=device))
    y = x * (1 + 2j)
    y.real.add_(1)
    y += 1j
    return y, y.conj() @ x, y.abs(), y.angle(), torch.view_as_real(y), y[None].mH


@program
def empty_tensors(device):
    x = torch.zeros(0, 3, device=device)
    return (
        x + 1,
        x.sum(0),
        x.sum(),
        torch.cat([x, torch.ones(2, 3, device=device)]),
        x.mean(),
        x @ torch.ones(3, 2, device=device),
        list(x.t().shape),
        torch.zeros(2, 0, device=device).softmax(1),
        x.prod(1),
        x.any(),
    )


@program
def non_finite_values(device):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([inf, -inf, nan, 0.0, -0.0, 1e38], device=device)
    return (
        x.isnan(),
        x.isinf(),
        x * 10,
        x.max(),
        torch.maximum(x, -x),
        1 / x,
        x.nan_to_num(),
        x.sort().values,
        x.sign(),
        x.relu(),
        x.clamp(-1, 1),
    )


@program
def questions(device):
    x = values(3, device=device)
    return (
        torch.equal(x, x.clone()),
        torch.equal(x, x + 1),
        torch.allclose(x, x),
        torch.equal(x, x[:2]),
        bool((x > -100).all()),
        x.sum().item(),
        x.tolist(),
        len(x),
        float(x[0]),
        int(x[0] * 100),
        str(x.dtype),
        x[0].is_nonzero(),
        f"{x[0].item():.4f}",
        torch.is_tensor(x),
        x.nelement(),
        0.5 in x,
    )


@program
def shapes_from_values(device):
    x = values(4, 5, dtype=torch.int64, device=device) % 3
    return (
        x.nonzero(),
        x.unique(),
        x.masked_select(x > 0),
        torch.where(x == 1),
        x.flatten().bincount(),
        torch.argwhere(x),
    )
