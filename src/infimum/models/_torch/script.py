"""A TorchScript network: hooks are refused there, so its graph is cut.

Freezing inlines every submodule and turns the weights into constants; what goes into a linear layer and what
comes out are then made outputs of the graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from infimum.data._data import count_rows
from infimum.errors import InputError
from infimum.models._cut import Cut
from infimum.models._torch import run as tr
from infimum.models._torch.cut import candidates, cut_network
from infimum.models._torch.reading import Calls, Layer
from infimum.models._torch.run import Tensor

Graph = Any
"""A torch._C.Graph."""

Value = Any
"""A torch._C.Value: an edge of a graph."""


def cut_script(
    module: Any, example: Any = None, head_layer: str | None = None, device: str | None = None
) -> Cut:
    """A TorchScript network (a ScriptModule) cut before its prediction layer; the rest as for `cut_module`."""
    if device is not None:
        module.to(tr.check_device(device))
    return cut_network(ScriptNetwork(module), example, head_layer)


class ScriptNetwork:
    """A frozen TorchScript graph as a TorchNetwork."""

    framework = "TorchScript"
    fixed_batch = None
    repeated = ()  # a graph names each run of a layer apart

    def __init__(self, module: Any) -> None:
        own = [*module.parameters(), *module.buffers()]
        torch = tr.import_torch()
        self.device = own[0].device if own else torch.device("cpu")
        self.dtype = next((p.dtype for p in own if p.is_floating_point()), torch.float32)
        self.graph = _frozen_graph(module)
        self.layers = [layer for layer, _, _ in _linear_layers(self.graph)]
        self._compiled = cache(self._compile)

    def run(self, inputs: Any, names: Sequence[str]) -> tuple[Any, Calls]:
        """What the network returns, and what went through the named layers."""
        positional, named = tr.to_tensors(inputs, self.device, self.dtype)
        if named:
            positional = tuple(
                tr.by_name(named, [_bare(value.debugName()) for value in self._inputs(self.graph)])
            )
        function = self._compiled(tuple(names))
        output, *kept = tr.run_network(lambda: function(*positional), positional, count_rows(positional), "")
        return output, {name: (x, out) for name, x, out in zip(names, kept[::2], kept[1::2], strict=True)}

    def parts(self, name: str, end: str | None) -> Iterator[Callable[[Tensor], Tensor]]:
        """The graph from what goes into layer `name` to what comes out of layer `end`, or to its output."""
        torch = tr.import_torch()
        graph = self.graph.copy()
        found = {layer.name: (x, out) for layer, x, out in _linear_layers(graph)}
        if name not in found:
            raise InputError(
                f"there is no linear layer {name!r} (head_layer) in this network. {candidates(self)}"
            )
        last = found[end][1] if end else next(graph.outputs())
        if last.type().kind() != "TensorType":
            return iter(())
        features = graph.addInput("features")
        features.setType(torch._C.TensorType.get())
        found[name][0].replaceAllUsesWith(features)
        graph.eraseOutput(0)
        graph.registerOutput(last)
        torch._C._jit_pass_dce(graph)
        others = list(graph.inputs())[:-1]
        if any(value.uses() for value in others):  # what follows reads the network's inputs, too
            return iter(())
        for _ in others:
            graph.eraseInput(0)
        function = torch._C._create_function_from_graph("head", graph)

        def part(x: Tensor) -> Tensor:
            with torch.no_grad():
                return function(x)

        return iter((part,))

    def _inputs(self, graph: Graph) -> list[Value]:
        return list(graph.inputs())[1:]

    def _compile(self, names: tuple[str, ...]) -> Callable[..., Any]:
        """The graph as a function that returns its output and, of each named layer, what went in and came out."""
        torch = tr.import_torch()
        graph = self.graph.copy()
        found = {layer.name: (x, out) for layer, x, out in _linear_layers(graph)}
        values = [next(graph.outputs()), *(value for name in names if name in found for value in found[name])]
        together = graph.create("prim::TupleConstruct", values, 1)
        together.output().setType(torch._C.TupleType([value.type() for value in values]))
        graph.appendNode(together)
        graph.eraseOutput(0)
        graph.registerOutput(together.output())
        graph.eraseInput(0)
        function: Callable[..., Any] = torch._C._create_function_from_graph("network", graph)
        return function


def _frozen_graph(module: Any) -> Graph:
    torch = tr.import_torch()
    training = [part for part in module.modules() if getattr(part, "training", False)]
    try:
        module.eval()
        with (
            warnings.catch_warnings()
        ):  # freezing is deprecated, but there is no other way to cut TorchScript
            warnings.simplefilter("ignore", DeprecationWarning)
            # Without numeric optimisation the outputs stay those of the module, to the last bit.
            graph = torch.jit.freeze(module, optimize_numerics=False).graph
    except RuntimeError as error:
        raise InputError(
            f"this TorchScript network cannot be frozen: {str(error).splitlines()[0]}"
        ) from error
    finally:
        for part in training:
            part.training = True
    _check_evaluates(graph)
    if next(graph.inputs()).uses():
        raise InputError(
            "this TorchScript network changes or keeps state while it runs, so its graph cannot be cut; "
            "export the network with torch.export instead, or pass the module"
        )
    return graph


def _check_evaluates(graph: Graph) -> None:
    """Refuse a network that was traced in training mode, which is fixed in its graph."""
    for node in graph.nodes():
        # dropout(x, p, train), batch_norm(x, weight, bias, mean, var, training, ...)
        place = 2 if "dropout" in node.kind() else 5 if node.kind() == "aten::batch_norm" else None
        if place is not None and list(node.inputs())[place].toIValue() is True:
            raise InputError(
                f"this TorchScript network was traced in training mode ({node.kind()} is active in it), so it gives "
                "other outputs than the network in use; call model.eval() and trace it again"
            )


def _linear_layers(graph: Graph) -> list[tuple[Layer, Value, Value]]:
    """Each linear layer with the values that go in and come out, in the graph's order (the same in its copies)."""
    found: list[tuple[Layer, Value, Value]] = []
    taken: set[str] = set()
    for node in graph.nodes():
        kind, inputs = node.kind(), list(node.inputs())
        first, transposed = False, False
        if kind == "aten::linear":
            x, weight, bias = inputs[:3]
        elif kind == "aten::addmm":
            (bias, x, weight), transposed = inputs[:3], True
        elif kind in ("aten::matmul", "aten::mm"):
            (x, weight), bias, transposed = inputs[:2], None, True
        elif kind in ("aten::_convolution", "aten::conv1d", "aten::conv2d", "aten::conv3d"):
            (x, weight, bias), first = inputs[:3], True
        else:
            continue
        matrix, output = _constant(weight), node.output()
        if matrix is None or (first and (matrix.ndim < 3 or matrix[0, 0].numel() != 1)):
            continue
        matrix = (
            matrix.t() if transposed and matrix.ndim == 2 else matrix.flatten(1) if matrix.ndim > 1 else None
        )
        if matrix is None:
            continue
        if bias is None and len(uses := output.uses()) == 1 and uses[0].user.kind() == "aten::add":
            other = [v for v in uses[0].user.inputs() if v.debugName() != output.debugName()]
            if _constant(other[0]) is not None:
                bias, output = other[0], uses[0].user.output()
        name = _layer_name(weight)
        if name.isdigit():  # a frozen file's weights have no names, and copies of a graph count in other ways
            name = f"linear{len(found)}"
        while name in taken:
            name += "'"
        taken.add(name)
        found.append((Layer(name, matrix, None if bias is None else _constant(bias), first), x, output))
    return found


def _constant(value: Value) -> Tensor | None:
    """The tensor that a value always is, through a transposition; None if it depends on the input."""
    torch = tr.import_torch()
    node = value.node()
    if node.kind() == "aten::t":
        inner = _constant(next(node.inputs()))
        return None if inner is None else inner.t()
    content = value.toIValue() if node.kind() == "prim::Constant" else None
    return content.detach() if isinstance(content, torch.Tensor) else None


def _layer_name(weight: Value) -> str:
    node = weight.node()
    if node.kind() == "aten::t":
        return _layer_name(next(node.inputs()))
    name: str = weight.debugName()
    return name.removeprefix("self.").removesuffix(".weight")


def _bare(name: str) -> str:
    """An argument's name without the number that the graph adds."""
    stem, _, number = name.rpartition(".")
    return stem if number.isdigit() else name
