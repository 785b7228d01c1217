"""An ONNX file, run with onnxruntime and cut at the input of its last Gemm, MatMul or 1x1 Conv."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError, MissingExtraError
from infimum.head import AnyHead, Head, HeadFunction
from infimum.models._at_fault import at_fault
from infimum.models._cut import Cut
from infimum.models._endings import HALF, as_rows, classifier_logits, two_classes
from infimum.models._onnx.graph import Graph, describe
from infimum.models._onnx.labels import class_labels
from infimum.models._onnx.layer import Linear, find_layer, layer_at, layers_of, linear_of, logits_of
from infimum.models._onnx.load import read_model
from infimum.models._onnx.outputs import find_output, is_half
from infimum.models._onnx.proof import Proof
from infimum.models._onnx.session import session


def cut_onnx(path: str | Path, head_layer: str | None = None, device: str = "cpu") -> Cut:
    """The network of an ONNX file, cut before its prediction layer; logits are those before a softmax.

    `head_layer` names a Gemm or MatMul (its node, output or weight) if the last one before the output is not
    meant; where more follows it, the head is a function. Of a 1x1 convolution the features are its input averaged
    over positions. `device` is "cpu" or "cuda". Batches are arrays
    (n, ...), or mappings of arrays by input name. A single output z, with or without a sigmoid, is read as
    logits [0, z]. A softmax may be written out; class labels of the file (`Cut.classes`) and ZipMaps are read; both
    are proved when run. External data is read from the file's folder only.

    Raises InputError for a damaged file, external data elsewhere, a layer or device that is not there, outputs
    that are no classifier's, and, when run, inputs that do not fit; MissingExtraError without onnxruntime.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading ONNX", "onnx") from error
    path = Path(path)
    with at_fault(
        path, "is damaged, or not an ONNX network"
    ):  # a graph may lack anything: inputs, attributes, numbers
        return _cut(Graph(read_model(path), path.resolve().parent), head_layer, device, path)


def _cut(graph: Graph, head_layer: str | None, device: str, path: Path) -> Cut:
    named = None if head_layer is None else find_layer(graph, head_layer)
    output = find_output(graph, named, path)
    end = logits_of(graph, output)
    layer = linear_of(graph, end.logits)
    if named is not None and named.op_type == "Conv" and (isinstance(layer, str) or layer.node is not named):
        raise InputError(
            f"head_layer {head_layer!r} is a convolution within the network, which reads maps, not features; "
            f"name a Gemm or MatMul {_candidates(graph)}"
        )
    node = named if named is not None else None if isinstance(layer, str) else layer.node
    labels, label = class_labels(graph, output, path)
    proof = Proof(graph, end, labels, label, device, path)
    wanted = [end.logits, *([] if node is None else [node.input[0]])]
    run = session(graph, proof.inputs, [*wanted, *proof.wanted], device, path)

    def read(values: Array) -> Array:
        known = bool(end.kind) or node is not None
        return classifier_logits(values, str(path), end.kind == "Sigmoid", known)

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        found = run(inputs)
        logits = read(found[0])
        proof.prove(inputs, found[0], logits, found[len(wanted) :])
        if node is None or node.op_type != "Conv":
            return logits, None if node is None else as_rows(found[1])
        return logits, found[1].reshape(*found[1].shape[:2], -1).mean(axis=2)

    head: AnyHead | None = None
    if isinstance(layer, Linear) and layer.node is node:
        weight, bias = two_classes(layer.weight, layer.bias)
        head = Head(weight, bias, name=f"{path}: {describe(node)}")
    elif node is not None:
        head = _head_function(graph, node, end.logits, read, device, path)
    batch = graph.inputs()[0].type.tensor_type.shape.dim[:1] if graph.inputs() else []
    return Cut(
        forward=forward,
        head=head,
        framework="ONNX",
        layer="" if node is None else describe(node),
        why_no_head="" if head is not None else f"{layer} {_candidates(graph)}",
        fixed_batch=batch[0].dim_value if batch and batch[0].dim_value > 0 else None,
        tolerance=HALF if is_half(graph, output) else 0.0,
        probabilities=None if head is None and not end.kind else False,
        classes=labels,
        may_draw=True,
    )


def _candidates(graph: Graph) -> str:
    names = [node.name or node.output[0] for node in layers_of(graph)]
    return f"(linear layers elsewhere: {', '.join(names[-10:])})" if names else "(it has no linear layer)"


def _head_function(
    graph: Graph, node: Any, logits: str, read: Callable[[Array], Array], device: str, path: Path
) -> HeadFunction:
    """All that follows the input of `node`, as a function: for a head of several layers."""
    run = session(graph, [node.input[0]], [logits], device, path)
    found = layer_at(graph, node)
    width = found.weight.shape[1] if isinstance(found, Linear) else 0

    def function(features: Array) -> Array:
        return read(run(features)[0])

    return HeadFunction(
        function, width, function(np.zeros((1, width))).shape[1], name=f"{path}: from {describe(node)} on"
    )
