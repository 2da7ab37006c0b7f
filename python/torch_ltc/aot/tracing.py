# Part of torch_ltc, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An ``ExportedProgram`` as graphs of ours: one for each set of sizes to try."""

import copy
import hashlib

import torch
from torch import fx
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind

from torch_ltc import errors, startup
from torch_ltc.aot.library import error
from torch_ltc.dynamo import traced_numbers
from torch_ltc.dynamo.fx_calls import error_at, outputs_of, run

_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_MUTATIONS = {
    getattr(OutputKind, name)
    for name in ("BUFFER_MUTATION", "PARAMETER_MUTATION", "USER_INPUT_MUTATION")
    if hasattr(OutputKind, name)
}


class Argument:
    """A placeholder of the program: a weight, an input, or a constant."""

    def __init__(self, node, spec, program):
        self.name = node.name
        self.weight = self.value = self.constant = None
        self.is_constant = False
        if spec.kind in _WEIGHTS:
            self.weight = _tensor_of(spec, program)
            self.name = spec.target
        elif spec.kind is not InputKind.USER_INPUT:
            raise error("unsupported", f"a bundle holds no {spec.kind.name} ({node})")
        elif isinstance(spec.arg, ConstantArgument):
            self.constant = spec.arg.value
            self.is_constant = True
        else:
            self.value = node.meta["val"]
            if not isinstance(self.value, torch.Tensor | torch.SymInt):
                raise error(
                    "unsupported",
                    f"input {node.name} is a {type(self.value).__name__} that varies; "
                    "pass a tensor",
                )

    @property
    def is_integer(self):
        """Return whether it is an input that is no tensor."""
        return isinstance(self.value, torch.SymInt)


def shape_of(value):
    """Return the sizes of an input. An integer counts as a size."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)


class Program:
    """What an entry is made from: its arguments, results and calls."""

    def __init__(self, program):
        if any(map(traced_numbers.writes_by_number, _graphs_of(program))):
            program = program.run_decompositions({})
        signature = program.graph_signature
        self.gm = _as_traced(program.graph_module)
        self.exported = program
        nodes = self.gm.graph.find_nodes(op="placeholder")
        self.arguments = [
            Argument(node, spec, program)
            for node, spec in zip(nodes, signature.input_specs, strict=True)
        ]
        self.inputs = [a for a in self.arguments if a.value is not None]
        self.specs = signature.output_specs
        self.output_names = [
            node.name if isinstance(node, fx.Node) else f"output_{i}"
            for i, node in enumerate(outputs_of(self.gm))
        ]

    def examples(self):
        """Return copies of the example inputs that are no constants, in order."""
        leaves = torch.utils._pytree.tree_leaves(examples_of(self.exported))
        user = [a for a in self.arguments if a.weight is None]
        return [
            copied(leaf)
            for leaf, argument in zip(leaves, user, strict=True)
            if argument.value is not None
        ]


def _graphs_of(program):
    modules = program.graph_module.modules()
    return [module.graph for module in modules if isinstance(module, fx.GraphModule)]


def copied(value):
    """Return a tensor as inputs have to be; and all else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    return value.detach().clone(memory_format=torch.contiguous_format)


def examples_of(exported):
    """Return the example inputs, which compiling goes by: (args, kwargs)."""
    if exported.example_inputs is None:
        raise error(
            "invalid argument",
            "the ExportedProgram has no example_inputs, as one that was saved without "
            "them; set them to (args, kwargs) that it takes",
        )
    return exported.example_inputs


class Trace:
    """The graph for some sizes, and where its values come from.

    Attributes:
        built: the graph.
        sources, results, writes: as ``_C.origins`` gives them, with
            ``("weight", i)`` for constants and inputs that are weights.
        outputs: what the program returned: stand-ins, numbers, None.

    """

    def __init__(self, program, shapes, weights):
        c = startup.start()
        builder = c.GraphBuilder(0, in_place=True)
        self.weights = weights
        self.places = []  # of each of the builder's inputs
        stand_ins, by_place = [], {}
        for argument in program.arguments:
            if argument.weight is not None:
                place = ("weight", weights.number(argument.name, argument.weight))
                like = _like(argument.weight)
            elif argument.value is not None:
                place = ("input", program.inputs.index(argument))
                shape = shapes[place[1]]
                if argument.is_integer:
                    stand_ins.extend(shape)
                    continue
                like = torch.empty(shape, dtype=argument.value.dtype, device="meta")
            else:
                stand_ins.append(argument.constant)
                continue
            if place not in by_place:
                by_place[place] = builder.input(like)
                if argument.weight is not None and like.is_floating_point():
                    # PyTorch's matmul makes one product of a weight that has
                    # gradients, and of another perhaps one for each of a batch.
                    by_place[place].requires_grad_()
                self.places.append(place)
            stand_ins.append(by_place[place])
        with torch.no_grad():
            values = _values_of(program.gm, builder.device, stand_ins)
            self.outputs = self._mutated(program, stand_ins, values)
        tensors = [v for v in self.outputs if isinstance(v, torch.Tensor)]
        self.shapes = [tuple(tensor.shape) for tensor in tensors]
        self.dtypes = [tensor.dtype for tensor in tensors]
        self.built = builder.trace(tensors)
        sources, results, writes = c.origins(self.built)
        self.sources = [self._placed(source) for source in sources]
        self.results = [self._placed(result) for result in results]
        self.writes = [
            (self.places[number], self._placed(value)) for number, value in writes
        ]

    def _mutated(self, program, stand_ins, values):
        """Write what functional programs return as new values of their inputs."""
        # A buffer's name may be an argument's, too.
        states, inputs = {}, {}
        for argument, stand_in in zip(program.arguments, stand_ins, strict=True):
            of_kind = inputs if argument.weight is None else states
            of_kind[argument.name] = stand_in
        returned = []
        for spec, value in zip(program.specs, values, strict=True):
            if spec.kind in _MUTATIONS:
                is_input = spec.kind is OutputKind.USER_INPUT_MUTATION
                (inputs if is_input else states)[spec.target].copy_(value)
            elif spec.kind is OutputKind.USER_OUTPUT:
                returned.append(value)
            else:
                raise error("unsupported", f"a bundle gives no {spec.kind.name}")
        return returned

    def _placed(self, origin):
        kind, what = origin
        if kind == "input":
            return self.places[what]
        if kind == "constant":
            return ("weight", self.weights.number("constant", what))
        return origin


def _values_of(gm, device, stand_ins):
    """Make the graph's calls; an error has the op that reads a value."""
    try:
        return run(gm, device, stand_ins)[0]
    except (RuntimeError, IndexError, ValueError) as failed:
        node = getattr(failed, "ltc_node", None)
        if node is None or getattr(failed, "op", None):
            raise
        if not isinstance(failed, errors.UnsupportedOpError):
            raise _of_a_call(node, failed) from failed
        raise error_at(
            node,
            f"{node.target} reads values, or makes a quantized tensor, and a bundle "
            "is compiled without them",
            "keep values in tensors; of quantized models bundles take the ops of "
            "quantized_decomposed, as torchao's convert_pt2e() writes them",
        ) from failed


def _of_a_call(node, failed):
    """Return the exception for a call that cannot be made."""
    why = str(failed).splitlines()[0]
    if why.startswith(traced_numbers.REFUSED):
        return error_at(
            node,
            f"{why}, as a size or another argument that a bundle has to know when it "
            "is compiled",
            "keep the number in a tensor, with masks in the place of sizes; or pass it "
            "to the module, as an integer that torch.export leaves open",
        )
    return error_at(
        node,
        f"{node.target} cannot be called for other sizes than the example's: {why}",
        "export it with that dimension fixed, or with limits within which it works",
    )


def _as_traced(gm):
    """Return the module without checks that would look at tensors' devices.

    Its floats that follow from sizes are tensors.
    """
    graph = copy.deepcopy(gm.graph)
    checks = torch.ops.aten._assert_tensor_metadata.default
    for node in graph.find_nodes(op="call_function", target=checks):
        graph.erase_node(node)
    traced_numbers.compute_floats(graph)
    return fx.GraphModule(gm, graph)


class Weights:
    """Tensors that a bundle stores, each once."""

    def __init__(self):
        self.tensors = []
        self.names = []
        self.states = set()
        self._known = {}

    def number(self, name, tensor):
        """Return the number of a tensor, which may be known by another name."""
        memory = tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype
        key = memory if name != "constant" else _content(tensor)
        if tensor.numel() == 0:
            key = name, memory
        if key not in self._known:
            self._known[key] = len(self.tensors)
            self.tensors.append(tensor)
            self.names.append(name)
        return self._known[key]


def _content(tensor):
    dense = tensor.contiguous().reshape(-1).view(torch.uint8)
    return tensor.shape, tensor.dtype, hashlib.blake2b(dense.numpy()).digest()


def _tensor_of(spec, program):
    found = program.state_dict.get(spec.target)
    if found is None:
        found = program.constants[spec.target]
    found = found.detach()
    if found.device.type != "cpu":
        raise error(
            "invalid argument",
            f"{spec.target} is on {found.device}; export the model on the CPU",
        )
    return found


def _like(weight):
    order = sorted(range(weight.dim()), key=lambda d: -weight.stride(d))
    is_whole = weight.permute(order).is_contiguous()
    strides = weight.stride() if is_whole else weight.contiguous().stride()
    return torch.empty_strided(weight.shape, strides, dtype=weight.dtype, device="meta")
