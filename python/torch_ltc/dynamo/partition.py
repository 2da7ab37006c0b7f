# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cut of a training graph into forward and backward."""

import torch
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch.utils.checkpoint import CheckpointPolicy

from torch_ltc.dynamo import region_draws
from torch_ltc.dynamo.fx_calls import is_drawn, outputs_of, source_of, written_inputs

_aten = torch.ops.aten


def partition(joint, *args, **options):
    """Cut a training graph in two; what is drawn is saved, and not drawn again.

    Activation checkpointing would draw it again in backward, from a generator's
    state that no program here reads.
    """
    for node in joint.graph.nodes:
        if "recompute" in node.meta and is_drawn(node):
            node.meta["recompute"] = CheckpointPolicy.MUST_SAVE
    region_draws.save(joint)
    forward, backward = min_cut_rematerialization_partition(joint, *args, **options)
    save_before_writes(forward, backward, options["num_fwd_outputs"])
    return forward, backward


def save_before_writes(forward, backward, count):
    """Save the values that forward began with, where it writes to an input.

    The first ``count`` outputs of forward are not for backward. What backward writes
    to is saved as well: the input itself.
    """
    written = written_inputs(forward)
    readers = {node.name: node for node in backward.graph.find_nodes(op="placeholder")}
    outputs = [*outputs_of(forward)]
    saved = []
    for node in outputs[count:]:
        reader = readers.get(getattr(node, "name", None))
        if reader is None or source_of(node) not in written:
            saved.append(node)
            continue
        writes = [user for user in reader.users if _writes(user, reader)]
        if writes:
            saved.append(node)
        if len(writes) < len(reader.users) or not writes:
            before = _clone_of(forward.graph, node)
            saved.append(before)
            _read(backward.graph, reader, before, writes)
    if saved != outputs[count:]:
        (output,) = forward.graph.find_nodes(op="output")
        output.update_arg(0, (*outputs[:count], *saved))
        forward.recompile()
        backward.recompile()


def _writes(user, reader):
    return user.target is _aten.copy_.default and user.args[0] is reader


def _clone_of(graph, node):
    """Return the node's value before the graph writes to what it is in."""
    last = graph.find_nodes(op="placeholder")[-1]
    with graph.inserting_after(last if node.op == "placeholder" else node):
        clone = graph.call_function(_aten.clone.default, (node,))
    value = node.meta["val"]
    with value.fake_mode:
        clone.meta["val"] = value.clone()
    return clone


def _read(graph, reader, before, writes):
    """Let backward read an input of its own for the value before."""
    with graph.inserting_after(reader):
        value = graph.placeholder(before.name)
    value.meta = dict(reader.meta)
    value.meta["val"] = before.meta["val"]
    reader.replace_all_uses_with(value, lambda user: user not in writes)
    if not writes:
        graph.erase_node(reader)
