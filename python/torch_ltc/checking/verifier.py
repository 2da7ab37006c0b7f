# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether compiled graphs compute what ATen's kernels do.

    with torch_ltc.verify():
        train_one_step()

With setting `verify` the first launch of each graph also runs on ATen's CPU kernels,
with the same inputs and seeds. Where a value differs by more than rounding explains,
the graph is tried in parts until the op at fault, or the ops that go wrong only
together, stand alone; a reproducer is written, and the graph has failed.
"""

import warnings

from torch_ltc import settings
from torch_ltc.autopsy import Place, explain
from torch_ltc.checking import reproducer
from torch_ltc.checking.checked_block import CheckedBlock
from torch_ltc.checking.mismatch import mismatch
from torch_ltc.startup import start

_SHRINKABLE = 32  # nodes, of which each is tried to be left out


class verify(CheckedBlock):
    """Compare each graph that first runs in a block or a function, in all threads.

    A mismatch raises `torch_ltc.MiscompiledError` where the value is read, or at the
    end of the step. ``LTC_VERIFY=1`` verifies a whole program. A graph is compiled at
    once then, and its first run takes some times as long as eager's.
    """

    def __init__(self):
        super().__init__(verify=True)


def check(graph, key, inputs, results):
    """Return ``(message, op, place, hint)`` of what is wrong with a run, or None.

    Called by the backend, which has run the graph and waits.
    """
    try:
        values = graph.reference(inputs, None)
    except RuntimeError as error:
        warnings.warn(
            f"a graph cannot be verified, since ATen's kernels fail at it: {error}",
            stacklevel=2,
        )
        return None
    numbers = [value for value, _ in graph.outputs()]
    found = mismatch(graph, inputs, numbers, results, values)
    if not found:
        return None
    if key not in _told:
        _told[key] = _explain(_Trials(graph, inputs, values), key, found)
    return _told[key]


_told = {}  # by key: a graph that is wrong fails each time that it comes


class _Trials:
    """Compiles parts of a graph, and compares them with what they should give."""

    def __init__(self, graph, inputs, values):
        self.graph, self.inputs, self.values = graph, inputs, values
        self.nodes = graph.nodes()
        self.all = list(range(len(self.nodes)))
        self.device = start().current_device()

    def part(self, nodes, donates):
        """Return the part as a graph, and its inputs."""
        part, inputs, outputs = self.graph.part(nodes, donates)
        return part, [self.values[number] for number in inputs], outputs

    def fails(self, nodes, donates):
        """Return whether these nodes alone have wrong values."""
        part, inputs, outputs = self.part(nodes, donates)
        try:
            results = part.compiled(inputs, self.device)
        except RuntimeError:
            return False  # it fails in another way
        wanted = [self.values[number] for number in outputs]
        numbers = [value for value, _ in part.outputs()]
        values = dict(zip(numbers, wanted, strict=True))
        return mismatch(part, inputs, numbers, results, values) is not None

    def repeats(self):
        """Return whether the whole graph is wrong again."""
        results = self.graph.compiled(self.inputs, self.device)
        numbers = [value for value, _ in self.graph.outputs()]
        return bool(mismatch(self.graph, self.inputs, numbers, results, self.values))

    def bisect(self, donates):
        """Return few nodes that fail alone; all of them do."""
        nodes = self.all
        # The shortest beginning that fails, then the shortest end of that.
        for keep in (
            lambda nodes, count: nodes[:count],
            lambda nodes, count: nodes[len(nodes) - count :],
        ):
            passes, fails = 0, len(nodes)
            while fails - passes > 1:
                middle = (passes + fails) // 2
                if self.fails(keep(nodes, middle), donates):
                    fails = middle
                else:
                    passes = middle
            nodes = keep(nodes, fails)
        if len(nodes) <= _SHRINKABLE:
            for node in list(nodes):
                fewer = [other for other in nodes if other != node]
                if fewer and self.fails(fewer, donates):
                    nodes = fewer
        return nodes


def _explain(trials, key, found):
    """Find what is at fault, write a reproducer, and say so."""
    c = start()
    record = next((each for each in reversed(explain()) if each.key == key), None)
    part, inputs, nodes = trials.graph, trials.inputs, trials.all
    extra = {}
    if not trials.repeats():
        what = "the same program gave right values when it ran again: it races, or "
        what += "reads memory that is not its own"
    else:
        with settings.scope(cache="off", dynamic="off", verify=False):
            c.forget_programs()
            try:
                if trials.fails(trials.all, donates=False):
                    nodes = trials.bisect(donates=False)
                    part, inputs, _ = trials.part(nodes, donates=False)
                    what = _name(trials, nodes)
                elif trials.fails(trials.all, donates=True):
                    nodes = trials.bisect(donates=True)
                    part, inputs, _ = trials.part(nodes, donates=True)
                    what = "memory that is written over while it is still read, in "
                    what += _name(trials, nodes)
                elif record is not None and record.from_disk:
                    what = "the entry of the cache on disk: compiled anew, the graph "
                    what += "gives right values"
                    extra["cache"] = True
                else:
                    what = "the program for sizes left open: compiled for its own "
                    what += "sizes, the graph gives right values"
            finally:
                c.forget_programs()
    op, _, _, place = trials.nodes[nodes[-1]]
    head = (
        f"a compiled graph of {len(trials.nodes)} ops, {key[:8]}, gives other values "
    )
    head += f"than ATen's kernels: in {found.type} {found.difference}. At fault: {what}"
    directory = reproducer.write(part, head, inputs=inputs, whole=trials.graph, **extra)
    remedy = "report it with the directory; LTC_FALLBACK=cpu LTC_WITHOUT=loops runs "
    remedy += "each op by PyTorch's own kernels meanwhile"
    if "cache" in extra:
        remedy = "ltc-cache clear removes the entry; report it if it comes again"
    where = f"{directory}/repro.py fails alone" if directory else "no reproducer"
    alone = len(nodes) < 2 or len(nodes) < len(trials.nodes)
    return head, op if alone else "", place, f"{where}; {remedy}"


def _name(trials, nodes):
    """Return what is at fault in words."""
    rows = [trials.nodes[node] for node in nodes]
    if len(rows) == 1:
        return f"{rows[0][0]} at {Place(*rows[0][3])}"
    names = ", ".join(f"{row[0]} at {Place(*row[3])}" for row in rows[:8])
    more = f" and {len(rows) - 8} more" if len(rows) > 8 else ""
    return f"{len(rows)} ops that are right alone: {names}{more}"


def compile_failed(graph, error):
    """Write a reproducer of a graph that the compiler fails at; say where."""
    directory = reproducer.write(graph, f"the compiler fails at a graph: {error}")
    return f"{directory}/repro.py fails alone" if directory else ""
