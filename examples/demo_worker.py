# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One training run of the demo, in a process of its own.

    python demo_worker.py train_digits --device lazy --model cnn

Runs the script's train() and writes one JSON object a line on standard output:
one for each epoch, then one more at the end. Before each epoch it waits for a
line on standard input, so that the demo lets its runs take turns and none is
timed while another works.
"""

import dataclasses
import importlib
import json
import sys


def metrics(device):
    """Return the counters of the backend; nothing on a device without them."""
    if device == "cpu":
        return {}
    import torch

    return torch.get_device_module(device).metrics()


def main():
    script = importlib.import_module(sys.argv[1])
    options = script.parse_options(sys.argv[2:])
    epochs = script.train(options)
    while sys.stdin.readline():
        epoch = next(epochs, None)
        if epoch is None:
            break
        record = dataclasses.asdict(epoch) | {
            "loss": epoch.loss,
            "step_ms": epoch.step_ms,
            "metrics": metrics(options.device),
        }
        print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
