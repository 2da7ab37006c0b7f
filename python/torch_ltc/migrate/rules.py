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

# Keywords that give one.
DEVICE_KEYWORDS = ("device", "map_location", "device_type")

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
GIVEN = "a function of your own in its place: it is handed on, not called here"
DEVICE = "the inputs' device, such as 'cpu', and model.compile(backend='ltc')"


NOTHING = "nothing: results are there when a call returns"
COUNTERS = "torch._dynamo.utils.counters"
SPAN = "torch.profiler.record_function"
PROFILE = "torch.profiler.profile()"
ALONE = "what it is in one process"
UNKNOWN = ("unknown-api", "nothing that is known: look it up by hand")

# By rule, the last part of a function's name, and what a call becomes.
_CALLS = {
    "step-boundary": {
        "mark_step": STEP,
        "sync": STEP,
        "step": STEP,
        "optimizer_step": "optimizer.step()",
        "step_closure": "a call after the step",
        "add_step_closure": "a call after the step",
    },
    "device": {
        "xla_device": DEVICE,
        "device": DEVICE,
        "get_xla_supported_devices": DEVICE,
        "MpDeviceLoader": "the loader, whose batches are on the inputs' device",
    },
    "lazy-api": {
        "init": INIT,
        "hpu_set_env": INIT,
        "hpu_initialize": INIT,
        "hpu_set_inference_env": INIT,
        "wrap_in_hpu_graph": "the model, with model.compile(backend='ltc')",
        "FusedAdamW": "torch.optim.AdamW",
        "synchronize": NOTHING,
        "wait_device_ops": NOTHING,
        "rendezvous": NOTHING,
        "metrics": COUNTERS,
        "metrics_report": COUNTERS,
        "counter_names": COUNTERS,
        "counter_value": COUNTERS,
        "metric_names": COUNTERS,
        "metric_data": COUNTERS,
        "short_metrics_report": COUNTERS,
        "clear_all": f"{COUNTERS}.clear()",
        "clear_counters": f"{COUNTERS}.clear()",
        "clear_metrics": f"{COUNTERS}.clear()",
        "Trace": SPAN,
        "StepTrace": SPAN,
        "start_server": PROFILE,
        "trace": PROFILE,
        "trace_detached": PROFILE,
        "reset": f"{COUNTERS}.clear()",
        "manual_seed": "torch.manual_seed",
        "set_rng_state": "torch.manual_seed",
        "save": "torch.save",
        "master_print": "print",
        "mark_dynamic": "torch._dynamo.mark_dynamic",
        "mark_static": "torch._dynamo.mark_static",
        "explain": "torch._dynamo.explain",
        "get_ordinal": ALONE,
        "get_local_ordinal": ALONE,
        "global_ordinal": ALONE,
        "xrt_world_size": ALONE,
        "world_size": ALONE,
        "is_master_ordinal": ALONE,
        "mesh_reduce": ALONE,
        "spawn": "a call of the function, if there is one process",
    },
}
FUNCTIONS = {
    name: (rule, becomes)
    for rule, calls in _CALLS.items()
    for name, becomes in calls.items()
}

# Methods that read a tensor's value.
READS = ("item", "cpu", "numpy", "tolist")
# Methods whose result is a tensor of one element more often than not.
REDUCTIONS = ("any", "all", "sum", "max", "min", "mean", "norm", "isnan", "isinf")
