# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call of a lazy backend's function becomes, by the function's last name.

Each entry takes the call and the device, and returns another expression, `REMOVE`
for a call that nothing takes the place of, or a text: why it stays.
"""

import libcst as cst

REMOVE = object()


def _expression(text):
    return cst.parse_expression(text)


def _arguments(call, *names):
    """Return a call's arguments by name; those without one in this order."""
    found = {}
    for place, argument in enumerate(call.args):
        if argument.star:
            return {}
        name = argument.keyword.value if argument.keyword else names[place : place + 1]
        found[name if argument.keyword else (name[0] if name else place)] = argument
    return found


def _plain(*arguments):
    """Return arguments as they stand in a call of their own."""
    return [
        argument.with_changes(comma=cst.MaybeSentinel.DEFAULT) for argument in arguments
    ]


def _called(name, keep=None):
    """Return an entry that calls another function, with the arguments that it has."""

    def becomes(call, device):
        args = [
            argument
            for argument in call.args
            if keep is None or not argument.keyword or argument.keyword.value in keep
        ]
        if len(args) < len(call.args):
            args = _plain(*args)
        return call.with_changes(func=_expression(name), args=args)

    return becomes


def _is(text):
    return lambda call, device: _expression(text)


def _stays(why):
    return lambda call, device: why


def _remove(call, device):
    return REMOVE


def _device(call, device):
    return _expression(f'torch.device("{device}")')


def _optimizer_step(call, device):
    found = _arguments(call, "optimizer", "barrier", "optimizer_args")
    if "optimizer" not in found:
        return "its arguments are not written out"
    step = cst.Attribute(found["optimizer"].value, cst.Name("step"))
    options = found.get("optimizer_args")
    args = [] if options is None else [cst.Arg(options.value, star="**")]
    return cst.Call(step, args)


def _closure(call, device):
    found = _arguments(call, "closure", "args", "run_async")
    if "closure" not in found:
        return "its arguments are not written out"
    return _apply(found["closure"].value, found.get("args"))


def _apply(function, given, first=()):
    """Return a call of a function with a tuple of arguments."""
    if given is None:
        rest = []
    elif isinstance(given.value, cst.Tuple | cst.List):
        rest = [cst.Arg(element.value) for element in given.value.elements]
    else:
        rest = [cst.Arg(given.value, star="*")]
    return cst.Call(function, [*first, *rest])


def _spawn(call, device):
    found = _arguments(call, "fn", "args", "nprocs")
    count = found.get("nprocs")
    if (
        count is None
        or not isinstance(count.value, cst.Integer)
        or (count.value.value != "1")
    ):
        return "it starts several processes: torch.distributed, by hand"
    return _apply(found["fn"].value, found.get("args"), [cst.Arg(cst.Integer("0"))])


def _first_argument(call, device):
    if not call.args or call.args[0].star:
        return "its arguments are not written out"
    return call.args[0].value


def _loader(call, device):
    if device != "cpu":
        return f"its batches are to be moved to {device}, by hand"
    return _first_argument(call, device)


def _mesh_reduce(call, device):
    found = _arguments(call, "tag", "data", "reduce_fn")
    if not {"data", "reduce_fn"} <= found.keys():
        return "its arguments are not written out"
    data = cst.List([cst.Element(found["data"].value)])
    return cst.Call(found["reduce_fn"].value, [cst.Arg(data)])


def _span(call, device):
    found = _arguments(call, "name")
    if "name" not in found:
        return "its arguments are not written out"
    function = _expression("torch.profiler.record_function")
    return cst.Call(function, [cst.Arg(found["name"].value)])


_PROFILE = _stays("with torch.profiler.profile(): around some steps, by hand")
_COUNTERS = _stays("its counters have other names: torch._dynamo.utils.counters")

CALLS = {
    **dict.fromkeys(("mark_step", "sync", "step", "init", "synchronize"), _remove),
    **dict.fromkeys(("wait_device_ops", "rendezvous", "reset"), _remove),
    **dict.fromkeys(
        ("hpu_set_env", "hpu_initialize", "hpu_set_inference_env"), _remove
    ),
    **dict.fromkeys(("xla_device", "device"), _device),
    **dict.fromkeys(("get_ordinal", "get_local_ordinal", "global_ordinal"), _is("0")),
    **dict.fromkeys(("xrt_world_size", "world_size"), _is("1")),
    **dict.fromkeys(("metrics", "metrics_report", "counter_names"), _COUNTERS),
    **dict.fromkeys(("counter_value", "metric_names"), _COUNTERS),
    **dict.fromkeys(("metric_data", "short_metrics_report"), _COUNTERS),
    **dict.fromkeys(("clear_all", "clear_counters", "clear_metrics"), _remove),
    **dict.fromkeys(("Trace", "StepTrace"), _span),
    **dict.fromkeys(("start_server", "trace", "trace_detached"), _PROFILE),
    **dict.fromkeys(("manual_seed", "set_rng_state"), _called("torch.manual_seed")),
    "get_xla_supported_devices": lambda call, device: _expression(f'["{device}"]'),
    "MpDeviceLoader": _loader,
    "optimizer_step": _optimizer_step,
    "add_step_closure": _closure,
    "step_closure": _stays("call the function after the step, by hand"),
    "is_master_ordinal": _is("True"),
    "mesh_reduce": _mesh_reduce,
    "spawn": _spawn,
    "save": _called("torch.save", keep=("obj", "f")),
    "master_print": _called("print", keep=("sep", "end", "file", "flush")),
    "mark_dynamic": _called("torch._dynamo.mark_dynamic"),
    "mark_static": _called("torch._dynamo.mark_static"),
    "explain": _stays("torch._dynamo.explain(f)(x) tells of one function, by hand"),
    "FusedAdamW": _called("torch.optim.AdamW"),
    "wrap_in_hpu_graph": _first_argument,
}
