"""A program of torch.export: what goes into linear layers and comes out is made an output of its FX graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from infimum.data._data import count_rows
from infimum.errors import InputError
from infimum.models._cut import Cut, pad_batch
from infimum.models._torch import run as tr
from infimum.models._torch.cut import candidates, cut_network
from infimum.models._torch.reading import Calls, Layer
from infimum.models._torch.run import Tensor

Node = Any
"""A torch.fx.Node."""

TRAINED = tuple(
    f"aten::{name}"
    for name in (
        "batch_norm",
        "_native_batch_norm_legit",
        "native_batch_norm",
        "_batch_norm_with_upd",
        "dropout",
        "native_dropout",
        "feature_dropout",
        "alpha_dropout",
        "feature_alpha_dropout",
        "rrelu",
    )
)
"""Operations that do something else in training."""


def cut_program(
    program: Any, example: Any = None, head_layer: str | None = None, device: str | None = None
) -> Cut:
    """An exported program cut before its prediction layer; the rest as for `cut_module`.

    Without an example the inputs that the program was exported with are used. A program exported with a fixed
    batch gives a Cut with that `fixed_batch`.
    """
    torch = tr.import_torch()
    if device is not None and tr.check_device(device).type != "cpu":
        program = torch.export.passes.move_to_device_pass(program, tr.check_device(device))
    network = ProgramNetwork(program)
    if example is None and program.example_inputs is not None:
        positional, named = program.example_inputs
        example = dict(named) if named and not positional else tuple(positional)
    if example is not None and network.fixed_batch is not None:
        more = network.fixed_batch - count_rows(example)
        example = pad_batch(example, more) if more > 0 else _first_rows(example, network.fixed_batch)
    return cut_network(network, example, head_layer)


class ProgramNetwork:
    """An exported program's graph as a TorchNetwork."""

    framework = "torch.export"
    repeated = ()  # a graph names each run of a layer apart

    def __init__(self, program: Any) -> None:
        torch = tr.import_torch()
        # The guards are code in the file; the shapes are checked here instead.
        self.module = program.module(check_guards=False)
        own = [*self.module.parameters(), *self.module.buffers()]
        self.device = own[0].device if own else torch.device("cpu")
        nodes = list(self.module.graph.nodes)
        _check_evaluates(nodes)
        self.inputs = [node for node in nodes if node.op == "placeholder"]
        if not all(isinstance(node.meta.get("val"), torch.Tensor) for node in self.inputs):
            raise InputError(
                "this exported program takes inputs that are not tensors; export it with tensors only"
            )
        floats = (node.meta["val"].dtype for node in self.inputs)
        self.dtype = next((dtype for dtype in floats if dtype.is_floating_point), torch.float32)
        sizes = [node.meta["val"].shape[0] for node in self.inputs if node.meta["val"].ndim]
        # A size that may vary is a SymInt, not an int.
        self.fixed_batch = sizes[0] if sizes and all(type(size) is int for size in sizes) else None
        self.found = {layer.name: (layer, x, out) for layer, x, out in _linear_layers(self.module)}
        self.layers = [layer for layer, _, _ in self.found.values()]
        self._compiled = cache(self._compile)
        self.limits = {str(symbol): limit for symbol, limit in program.range_constraints.items()}

    def run(self, inputs: Any, names: Sequence[str]) -> tuple[Any, Calls]:
        """What the program returns, and what went through the named layers."""
        tensors = self._tensors(inputs)
        names = [name for name in names if name in self.found]
        function = self._compiled(tuple(names))
        output, *kept = tr.run_network(lambda: function(*tensors), tensors, len(tensors[0]), "")
        # The graph's own output is flat; this makes the dict or tuple of it that the network returned.
        output = self.module.graph.process_outputs(output)
        return output, dict(zip(names, zip(kept[::2], kept[1::2], strict=True), strict=True))

    def parts(self, name: str, end: str | None) -> Iterator[Callable[[Tensor], Tensor]]:
        """The graph from what goes into layer `name` to what comes out of layer `end`, or to its output."""
        torch = tr.import_torch()
        if name not in self.found:
            raise InputError(
                f"there is no linear layer {name!r} (head_layer) in this network. {candidates(self)}"
            )
        nodes = list(self.module.graph.nodes)
        start = self.found[name][1]
        last = self.found[end][2] if end else next(iter(nodes[-1].all_input_nodes), start)
        needed, stack = set(), [last]
        while stack:
            node = stack.pop()
            if node is not start and node not in needed:
                needed.add(node)
                stack += node.all_input_nodes
        if any(node.op == "placeholder" for node in needed):  # what follows reads the network's inputs, too
            return iter(())
        graph = torch.fx.Graph()
        copies = {start: graph.placeholder("features")}
        for node in nodes:
            if node in needed:
                copies[node] = graph.node_copy(node, copies.__getitem__)
        graph.output(copies[last])
        module = torch.fx.GraphModule(self.module, graph)

        def part(x: Tensor) -> Tensor:
            with torch.no_grad():
                return module(x)

        return iter((part,))

    def _compile(self, names: tuple[str, ...]) -> Callable[..., Any]:
        """The graph as a function that returns its output and, of each named layer, what went in and came out."""
        torch = tr.import_torch()
        graph, copies = torch.fx.Graph(), dict[Node, Node]()
        output = graph.graph_copy(self.module.graph, copies)
        graph.output((output, *(copies[node] for name in names for node in self.found[name][1:])))
        function: Callable[..., Any] = torch.fx.GraphModule(self.module, graph)
        return function

    def _tensors(self, inputs: Any) -> list[Tensor]:
        """The batch as the program's inputs in order, each checked against the shape and type it was exported with."""
        positional, named = tr.to_tensors(inputs, self.device, self.dtype)
        tensors = tr.by_name(named, [node.name for node in self.inputs]) if named else list(positional)
        if len(tensors) != len(self.inputs):
            raise InputError(
                f"the program takes {len(self.inputs)} inputs, but the batch holds {len(tensors)}"
            )
        for i, (node, tensor) in enumerate(zip(self.inputs, tensors, strict=True)):
            val = node.meta["val"]
            fits = tensor.ndim == val.ndim and all(
                not isinstance(want, int) or want == got
                for want, got in zip(val.shape, tensor.shape, strict=True)
            )
            if not fits or tensor.is_floating_point() != val.is_floating_point():
                shape = ", ".join(str(want) if isinstance(want, int) else "any" for want in val.shape)
                raise InputError(
                    f"input {node.name!r}: expected {str(val.dtype).removeprefix('torch.')} ({shape}), "
                    f"got {tr.describe(tensor)}"
                )
            limit = self.limits.get(str(val.shape[0])) if val.ndim else None
            if limit is not None and len(tensor) > limit.upper:
                raise InputError(
                    f"the program takes at most {limit.upper} inputs at a time, got {len(tensor)}; "
                    f"pass batch_size={limit.upper} (--network batch_size={limit.upper})"
                )
            tensors[i] = tensor.to(val.dtype)
        return tensors


def _check_evaluates(nodes: Sequence[Node]) -> None:
    """Refuse a program that was exported in training mode, which is fixed in its graph."""
    for node in nodes:
        name = getattr(node.target, "_schema", None)
        if name is None:
            continue
        # The schema tells which argument says so, and what it is where it is left out.
        for position, argument in enumerate(name.arguments):
            if argument.name in ("train", "training") and name.name.startswith(TRAINED):
                given = node.args[position] if position < len(node.args) else argument.default_value
                if node.kwargs.get(argument.name, given) is True:
                    raise InputError(
                        f"this program was exported in training mode ({name.name} is active in it), so it gives other "
                        "outputs than the network in use; call model.eval() and export it again"
                    )


def _linear_layers(module: Any) -> list[tuple[Layer, Node, Node]]:
    """Each linear layer with the nodes that go in and come out, in the graph's order."""
    aten = tr.import_torch().ops.aten
    convolutions = (aten.conv1d.default, aten.conv2d.default, aten.conv3d.default, aten.convolution.default)
    found: dict[str, tuple[Layer, Node, Node]] = {}
    for node in module.graph.nodes:
        first, transposed, output = node.target in convolutions, False, node
        if node.target == aten.linear.default or first:
            x, weight, bias = (*tuple(node.args), None)[:3]
        elif node.target == aten.addmm.default:
            (bias, x, weight), transposed = node.args[:3], True
        elif node.target in (aten.matmul.default, aten.mm.default):
            (x, weight), bias, transposed = node.args[:2], None, True
        else:
            continue
        matrix = _constant(module, weight)
        if matrix is None or matrix.ndim < 2 or (first and matrix[0, 0].numel() != 1):
            continue
        following = list(node.users)
        if transposed and bias is None and len(following) == 1 and following[0].target == aten.add.Tensor:
            other = [arg for arg in following[0].args[:2] if arg is not node]
            if other and _constant(module, other[0]) is not None:
                bias, output = other[0], following[0]
        name = _layer_name(weight)
        while name in found:
            name += "'"
        layer = Layer(name, matrix.t() if transposed else matrix.flatten(1), _constant(module, bias), first)
        found[name] = layer, x, output
    return list(found.values())


def _constant(module: Any, node: Node | None) -> Tensor | None:
    """The parameter or buffer that a node always is, through a transposition; None if it depends on the input."""
    if node is None or not hasattr(node, "op"):
        return None
    if (inner := _transposed(node)) is not None:
        tensor = _constant(module, inner)
        return None if tensor is None or tensor.ndim != 2 else tensor.t()
    if node.op != "get_attr":
        return None
    owner: Any = module
    for part in node.target.split("."):
        owner = getattr(owner, part)
    return owner.detach() if isinstance(owner, tr.import_torch().Tensor) else None


def _transposed(node: Node) -> Node | None:
    """What `node` is the transposition of, if it is one."""
    aten = tr.import_torch().ops.aten
    if node.target in (aten.t.default, aten.numpy_T.default):
        return node.args[0]
    swaps = {aten.permute.default: ([1, 0],), aten.transpose.int: (0, 1)}
    return node.args[0] if swaps.get(node.target) == tuple(node.args[1:]) else None


def _layer_name(node: Node) -> str:
    inner = _transposed(node)
    return _layer_name(inner) if inner is not None else str(node.target).removesuffix(".weight")


def _first_rows(inputs: Any, n: int) -> Any:
    if isinstance(inputs, Mapping):
        return {key: value[:n] for key, value in inputs.items()}
    return tuple(value[:n] for value in inputs) if isinstance(inputs, tuple) else inputs[:n]
