# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the linter looks for, a row each."""

from typing import NamedTuple


class Rule(NamedTuple):
    """A kind of finding."""

    code: str
    name: str
    doc: str
    needs_person: bool  # a tool cannot decide what it becomes


RULES = {
    rule.name: rule
    for rule in (
        Rule("LTC001", "device", "a lazy device is named", False),
        Rule("LTC002", "step-boundary", "a step is ended by hand", False),
        Rule("LTC003", "lazy-api", "a function of a lazy backend is called", False),
        Rule("LTC004", "lazy-import", "a lazy backend is imported", False),
        Rule("LTC101", "sync-in-step", "a value is read in the midst of a step", True),
        Rule("LTC102", "branch-on-value", "control flow depends on a value", True),
        Rule("LTC103", "side-effect", "a module keeps a value between calls", True),
        Rule("LTC104", "unknown-api", "no replacement is known", True),
    )
}

# Devices of lazy backends, as strings.
DEVICES = ("lazy", "xla", "hpu")

# Functions that take one without a keyword.
TAKE_DEVICES = ("to", "device", "set_default_device", "autocast", "empty_cache")

# Modules of lazy backends, and what stands in their place.
MODULES = {
    "torch._lazy": "import torch",
    "torch.lazy": "import torch",
    "torch_ltc": "nothing, or torch_ltc.dynamo's options",
    "torch_xla": "import torch",
    "habana_frameworks": "import torch",
}

STEP = "nothing: a compiled step ends itself"
INIT = "nothing: torch.compile(backend='ltc') starts the backend"
DEVICE = "the inputs' device, such as 'cpu', and torch.compile(model, backend='ltc')"


# The last part of a function's name: the rule, and what a call becomes.
FUNCTIONS = {
    "mark_step": ("step-boundary", STEP),
    "optimizer_step": ("step-boundary", "optimizer.step()"),
    "step_closure": ("step-boundary", "a call after the step"),
    "add_step_closure": ("step-boundary", "a call after the step"),
    "init": ("lazy-api", INIT),
    "xla_device": ("device", DEVICE),
    "get_xla_supported_devices": ("device", DEVICE),
    "synchronize": ("lazy-api", "nothing: results are there when a call returns"),
    "wait_device_ops": ("lazy-api", "nothing: results are there when a call returns"),
    "metrics": ("lazy-api", "torch._dynamo.utils.counters"),
    "counter_names": ("lazy-api", "torch._dynamo.utils.counters"),
    "counter_value": ("lazy-api", "torch._dynamo.utils.counters"),
    "metric_names": ("lazy-api", "torch._dynamo.utils.counters"),
    "metrics_report": ("lazy-api", "torch._dynamo.utils.counters"),
    "reset": ("lazy-api", "torch._dynamo.utils.counters.clear()"),
    "manual_seed": ("lazy-api", "torch.manual_seed"),
    "save": ("lazy-api", "torch.save"),
    "master_print": ("lazy-api", "print"),
    "mark_dynamic": ("lazy-api", "torch._dynamo.mark_dynamic"),
    "mark_static": ("lazy-api", "torch._dynamo.mark_static"),
    "explain": ("lazy-api", "torch._dynamo.explain"),
}

# Methods that read a tensor's value.
READS = ("item", "cpu", "numpy", "tolist")
# Methods whose result is a tensor of one element more often than not.
REDUCTIONS = ("any", "all", "sum", "max", "min", "mean", "norm", "isnan", "isinf")
