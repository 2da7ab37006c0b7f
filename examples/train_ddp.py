# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Train the digits' networks on several processes, by DistributedDataParallel.

    torchrun --nproc-per-node=2 examples/train_ddp.py --model cnn --device lazy

An ordinary PyTorch script: it says which device it wants and knows nothing else
about it. With --checkpoint it goes on where an earlier run ended, on as many
processes as there are.
"""

import argparse
import contextlib
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
from train_digits import MODELS, load_images, make_optimizer


def load(path, model, optimizer):
    """Return the number of epochs in a checkpoint, whose state is loaded."""
    if path is None or not os.path.exists(path):
        return 0
    saved = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return saved["epochs"]


def save(path, model, optimizer, epochs):
    """Write a checkpoint, on one rank; all have the same state."""
    if path is None or dist.get_rank() != 0:
        return
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "epochs": epochs,
    }
    torch.save(state, path + ".new")
    os.replace(path + ".new", path)


def accuracy(model, images, labels):
    """Return the share of a rank's images that are told right, over all ranks."""
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(dim=1) == labels).sum()
    model.train()
    counts = torch.stack([right, torch.full_like(right, len(labels))])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def train(options):
    """Yield (epoch, mean loss, accuracy), the same on each rank."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(options.seed)
    (images, labels), test = load_images(options.seed)
    test = [part[rank::ranks].to(options.device) for part in test]
    data = TensorDataset(images, labels)
    sampler = DistributedSampler(data, seed=options.seed)
    batches = DataLoader(data, options.batch_size // ranks, sampler=sampler)
    model = MODELS[options.model]()
    if ranks > 1 and options.device != "cpu":  # which PyTorch has none for
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    model = model.to(options.device)
    optimizer = make_optimizer(options.optimizer, model.parameters())
    first = load(options.checkpoint, model, optimizer)
    parallel = DistributedDataParallel(model)
    for epoch in range(first, options.epochs):
        sampler.set_epoch(epoch)
        losses = []
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.cross_entropy(parallel(x.to(options.device)), y.to(options.device))
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        mean = torch.stack(losses).mean()
        dist.all_reduce(mean)
        save(options.checkpoint, model, optimizer, epoch + 1)
        yield epoch + 1, (mean / ranks).item(), accuracy(model, *test)


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=MODELS, default="mlp")
    parser.add_argument("--optimizer", choices=("sgd", "adamw"), default="adamw")
    parser.add_argument("--device", default="lazy")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=64, help="of all ranks")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--checkpoint", help="a file, read if there and written")
    return parser.parse_args(arguments)


def main():
    dist.init_process_group()
    with contextlib.closing(train(parse())) as epochs:
        for epoch, loss, share in epochs:
            if dist.get_rank() == 0:
                print(f"epoch {epoch}  loss {loss:.6f}  accuracy {share:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
