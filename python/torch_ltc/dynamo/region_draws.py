# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of branches and bodies in training.

PyTorch's gradient of `cond` and of `map` computes the branch or the body again, and
would draw again what it dropped. Here forward's call gives what it has drawn as more
results, and backward's takes them as more operands.
"""

import operator

import torch
from torch import fx

from torch_ltc.dynamo.control_flow import bodies_of
from torch_ltc.dynamo.fx_calls import draws, error_at, is_drawn

_aten = torch.ops.aten
_cond = torch.ops.higher_order.cond
_map = torch.ops.higher_order.map_impl


def save(joint):
    """Let no region of backward draw what one of forward has drawn.

    Raises a ``CompileError`` where a region of backward would.
    """
    forward, backward = _drawing_calls(joint)
    for call in backward:
        # Backward begins with the last call of forward.
        twins = (other for other in reversed(forward) if _repeats(joint, call, other))
        twin = next(twins, None)
        if twin is None or not _exchange(joint, twin, call):
            raise error_at(
                call,
                f"the gradient of {call.target} would draw its random numbers anew",
                "draw them outside of its functions, and pass them as operands",
                "compile failed",  # Dynamo takes "unsupported" for a graph break
            )
        forward.remove(twin)
    if backward:
        joint.graph.lint()
        joint.recompile()


def _drawing_calls(joint):
    """Return the calls of forward and of backward whose regions draw."""
    of_backward, forward, backward = set(), [], []
    for node in joint.graph.nodes:
        is_tangent = node.op == "placeholder" and "tangents" in node.target
        if is_tangent or not of_backward.isdisjoint(node.all_input_nodes):
            of_backward.add(node)
        is_region_call = isinstance(node.target, torch._ops.HigherOrderOperator)
        if is_region_call and any(map(draws, bodies_of(node))):
            (backward if node in of_backward else forward).append(node)
    return forward, backward


def _regions(call):
    """Return the places of the call's functions, and of what they take."""
    return ((1, 2), 3) if call.target is _cond else ((0,), 1)


def _body(joint, call, place):
    return operator.attrgetter(call.args[place].target)(joint)


def _draws_of(gm):
    return [
        node
        for node in gm.graph.nodes
        if node.op == "call_function"
        and node.target is not operator.getitem
        and is_drawn(node)
    ]


def _repeats(joint, call, twin):
    """Return whether a call of backward begins with what the twin does."""
    if call.target is not twin.target or call.target not in (_cond, _map):
        return False
    places, taken = _regions(call)
    count = len(twin.args[taken])
    rest = [i for i in range(len(call.args)) if i not in (*places, taken)]
    return (
        not any(_draws_in_a_region(_body(joint, call, place)) for place in places)
        and list(call.args[taken][:count]) == list(twin.args[taken])
        and all(call.args[i] == twin.args[i] for i in rest)
        and all(
            [node.target for node in _draws_of(_body(joint, call, place))]
            == [node.target for node in _draws_of(_body(joint, twin, place))]
            for place in places
        )
    )


def _draws_in_a_region(gm):
    return any(
        isinstance(node.target, torch._ops.HigherOrderOperator)
        for node in _draws_of(gm)
    )


class _Saved:
    """A value that forward's region number ``region`` draws, and backward's reads."""

    def __init__(self, region, draw, part, readers):
        self.region = region
        self.draw = draw  # how many are before it
        self.part = part  # of its results, or None
        self.readers = readers
        self.like = None


def _exchange(joint, twin, call):
    """Take the draws of the call from the twin; return whether that can be done."""
    places, taken = _regions(call)
    before = [_copied(_body(joint, twin, place)) for place in places]
    after = [_copied(_body(joint, call, place)) for place in places]
    saved = [s for i, gm in enumerate(after) for s in _readings(i, gm)]
    if not all(_give(gm, i, saved) for i, gm in enumerate(before)):
        return False
    for i, gm in enumerate(after):
        _take(gm, i, saved, len(call.args[taken]))
    if any(map(draws, after)):
        return False
    for node, bodies in ((twin, before), (call, after)):
        for place, gm in zip(places, bodies, strict=True):
            _use(joint, node, place, gm)
    call.update_arg(taken, [*call.args[taken], *_results(joint, twin, saved)])
    return True


def _copied(gm):
    graph = fx.Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    return fx.GraphModule(gm, graph)


def _readings(region, gm):
    """Return what a region of backward reads of what it draws."""
    for number, draw in enumerate(_draws_of(gm)):
        if isinstance(draw.meta.get("val"), torch.Tensor):
            if draw.users:
                yield _Saved(region, number, None, [draw])
            continue
        parts = {}
        for user in draw.users:
            if user.target is operator.getitem and user.users:
                parts.setdefault(user.args[1], []).append(user)
        for part, readers in parts.items():
            yield _Saved(region, number, part, readers)


def _give(gm, region, saved):
    """Add the saved values to a region's results: zeros for those of others."""
    graph, found = gm.graph, []
    drawn = _draws_of(gm)
    (output,) = graph.find_nodes(op="output")
    with graph.inserting_before(output):
        for value in saved:
            if value.region == region:
                node = drawn[value.draw]
                value.like = node.meta["val"]
                if value.part is not None:
                    value.like = value.like[value.part]
                    node = graph.call_function(operator.getitem, (node, value.part))
                    node.meta["val"] = value.like
                found.append(node)
                continue
            like = value.readers[0].meta["val"]
            shape = [_size(graph, n) for n in like.shape]
            if None in shape:
                return False
            options = {"dtype": like.dtype, "device": like.device}
            node = graph.call_function(_aten.zeros.default, (shape,), options)
            node.meta["val"] = like
            found.append(node)
    output.update_arg(0, (*output.args[0], *found))
    gm.recompile()
    return True


def _size(graph, size):
    """Return a size that the region's inputs tell, or None."""
    if isinstance(size, int):
        return size
    for node in graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt) and value.node.expr == size.node.expr:
            return node
        for dim, n in enumerate(value.shape if torch.is_tensor(value) else ()):
            if isinstance(n, torch.SymInt) and n.node.expr == size.node.expr:
                found = graph.call_function(_aten.sym_size.int, (node, dim))
                found.meta["val"] = n
                return found
    return None


def _take(gm, region, saved, place):
    """Read the saved values from more inputs, behind the first ``place`` ones."""
    graph = gm.graph
    last = graph.find_nodes(op="placeholder")[place - 1]
    for number, value in enumerate(saved):
        with graph.inserting_after(last):
            last = graph.placeholder(f"drawn_{number}")
        last.meta["val"] = value.like
        if value.region == region:
            for reader in value.readers:
                reader.replace_all_uses_with(last)
    for draw in _draws_of(gm):
        for user in list(draw.users):
            if not user.users:
                graph.erase_node(user)
        if not draw.users:
            graph.erase_node(draw)
    gm.recompile()


def _use(joint, call, place, gm):
    """Make a function of the call's a graph of its own."""
    name = f"{call.name}_{place}_with_draws"
    joint.add_submodule(name, gm)
    with joint.graph.inserting_before(call):
        call.update_arg(place, joint.graph.get_attr(name))


def _results(joint, twin, saved):
    """Return the nodes of the saved values among the twin's results."""
    values = list(twin.meta["val"])
    for value in saved:
        like = value.like
        if twin.target is _map:
            rows = twin.args[1][0].meta["val"].shape[0]
            with like.fake_mode:
                like = torch.empty(
                    (rows, *like.shape), dtype=like.dtype, device=like.device
                )
        values.append(like)
    count = len(values) - len(saved)
    twin.meta["val"] = tuple(values)
    nodes, last = [], twin
    for number in range(count, len(values)):
        with joint.graph.inserting_after(last):
            last = joint.graph.call_function(operator.getitem, (twin, number))
        last.meta["val"] = values[number]
        nodes.append(last)
    return nodes
