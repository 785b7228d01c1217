"""Running a part of an ONNX graph with onnxruntime: a batch in by name, type and shape, arrays out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.models._at_fault import at_fault
from infimum.models._onnx.external import is_external, read_external
from infimum.models._onnx.graph import Graph
from infimum.models._onnx.layer import layers_of

SMALL = 1024
"""Bytes of a tensor that is put into the model, whether its data are external or not."""

KINDS = {"tensor(float)": "float32", "tensor(double)": "float64"}
"""Types whose names in onnxruntime are not numpy's."""


@dataclass(frozen=True)
class Expected:
    """An input of the network: None in `shape` stands for any size, and no shape for any shape."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a network, ready to run: a batch in, its `outputs` out.

    `held` are arrays of weights, which onnxruntime reads where they lie.
    """

    session: Any
    outputs: list[str]
    expected: list[Expected]
    path: Path
    held: dict[str, Any]

    def __call__(self, inputs: Any) -> list[Array]:
        """The outputs for a batch; InputError where it does not fit."""
        feed = _feed(inputs, self.expected, self.path)
        hint = "; if it is out of memory, take a smaller one (batch_size, --network batch_size=N)"
        with at_fault(self.path, f"failed on a batch{hint}"):  # onnxruntime's errors share no class
            return [np.asarray(array) for array in self.session.run(self.outputs, feed)]


def session(
    graph: Graph, given: list[str], wanted: list[str], device: str, path: Path, *, as_default: bool = False
) -> Part:
    """The part of the graph from the tensors `given` to those `wanted`.

    Weights that are quantised are computed with in float32, as the graph says; `as_default`: as onnxruntime does it
    where it is not told, which rounds what they are multiplied with to whole numbers as well.
    """
    import onnxruntime

    outputs = [f"infimum_{number}" for number in range(len(wanted))]
    model, held = _model(graph, given, wanted, outputs, path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what is fatal; errors are raised as well
    if held:
        options.add_external_initializers(list(held), list(held.values()))
    # Not read by onnxruntime itself, which takes every core: several workers on one machine would quarrel for them.
    if (threads := os.environ.get("OMP_NUM_THREADS", "")).isdecimal():
        options.intra_op_num_threads = int(threads)
    if not as_default:
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    providers = _providers(device)
    with at_fault(path, "cannot be run by onnxruntime"):
        # Without fallback: it would print what failed, and try the same again.
        made = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=providers, enable_fallback=0
        )
    return Part(made, outputs, [_expected(value, path) for value in made.get_inputs()], path, held)


def _model(
    graph: Graph, given: list[str], wanted: list[str], outputs: list[str], path: Path
) -> tuple[Any, dict[str, Any]]:
    """The part as a model, whose outputs are named so, and its large external weights, by name."""
    import onnx
    from onnx import helper

    nodes, others = graph.between(given, wanted)
    missing = sorted(
        others - set(graph.initializer) - {t.values.name for t in graph.graph.sparse_initializer}
    )
    if missing:
        raise InputError(
            f"{path}: what follows {given[0]!r} also reads {', '.join(missing)}, so the network cannot be cut there; "
            "name a layer behind which everything passes (head_layer, --network head_layer=NAME)"
        )
    # Identity: ONNX does not let an input of the graph be an output too.
    ends = [helper.make_node("Identity", [name], [new]) for name, new in zip(wanted, outputs, strict=True)]
    values = {value.name: value for value in graph.graph.input}
    held: dict[str, Any] = {}
    part = helper.make_graph(
        [*nodes, *ends],
        "cut",
        [values.get(name) or _tensor(graph, name) for name in given],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [_handed_over(tensor, graph, held) for name, tensor in graph.initializer.items() if name in others],
        sparse_initializer=[t for t in graph.graph.sparse_initializer if t.values.name in others],
    )
    versions = {"opset_imports": graph.model.opset_import, "ir_version": max(4, graph.model.ir_version)}
    return helper.make_model(part, **versions), held


def _handed_over(tensor: Any, graph: Graph, held: dict[str, Any]) -> Any:
    """An initialiser for the part; the values of one with external data are read here and `held` for onnxruntime.

    onnxruntime would map the file, and whoever cuts it short while the network runs would end this process.
    """
    if not is_external(tensor):
        return tensor
    filled = read_external(tensor, graph.folder)
    values = graph.values(filled)
    # What is small may be a shape, which onnxruntime must see; types that numpy lacks cannot be handed over as arrays.
    if values.nbytes < SMALL or not values.dtype.isbuiltin:
        return filled
    from onnxruntime import OrtValue

    held[tensor.name] = OrtValue.ortvalue_from_numpy(values)
    return tensor


def _tensor(graph: Graph, name: str) -> Any:
    """The features as an input: they have the type of the weights that read them, and any shape."""
    from onnx import helper

    weight = next(graph.constant(node.input[1]) for node in layers_of(graph) if node.input[0] == name)
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.asarray(weight).dtype), None
    )


def _providers(device: str) -> list[str]:
    import onnxruntime

    kind = device.split(":")[0]
    wanted = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}.get(kind)
    if wanted is None:
        raise InputError(f"device for ONNX must be cpu or cuda, not {device!r}")
    if wanted not in onnxruntime.get_available_providers():
        raise InputError(
            f"device {device!r} is not available: this onnxruntime offers "
            f"{', '.join(onnxruntime.get_available_providers())}; for CUDA, pip install onnxruntime-gpu"
        )
    return [wanted] if kind == "cpu" else [wanted, "CPUExecutionProvider"]


def _expected(value: Any, path: Path) -> Expected:
    try:
        dtype = np.dtype(KINDS.get(value.type, value.type.removeprefix("tensor(").removesuffix(")")))
    except TypeError as error:
        raise InputError(f"{path}: input {value.name!r} takes {value.type}; numbers only are read") from error
    shape = tuple(size if isinstance(size, int) else None for size in value.shape)
    return Expected(value.name, dtype, shape)


def _feed(inputs: Any, expected: list[Expected], path: Path) -> dict[str, Array]:
    """The batch by input name, in the types that the network takes; shapes are checked."""
    names = [value.name for value in expected]
    if not isinstance(inputs, Mapping):
        if len(names) != 1:
            raise InputError(f"{path} has {len(names)} inputs; pass a mapping of arrays: {', '.join(names)}")
        inputs = {names[0]: inputs}
    if set(inputs) != set(names):
        raise InputError(
            f"{path} has the inputs {', '.join(names)}, but the batch has {', '.join(map(str, inputs))}"
        )
    return {value.name: _fitted(np.asarray(inputs[value.name]), value, path) for value in expected}


def _fitted(array: Array, value: Expected, path: Path) -> Array:
    shape, wanted = value.shape, value.dtype
    if shape and (
        array.ndim != len(shape)
        or any(size not in (None, got) for size, got in zip(shape, array.shape, strict=True))
    ):
        sizes = ", ".join("any" if size is None else str(size) for size in shape)
        raise InputError(f"{path}: input {value.name!r} must be of shape ({sizes}), not {array.shape}")
    if array.dtype == wanted:
        return array
    if array.dtype.kind == wanted.kind == "f":
        return array.astype(wanted)
    if array.dtype.kind in "iu" and wanted.kind in "iu" and (array.astype(wanted) == array).all():
        return array.astype(wanted)
    hint = " (scale the inputs as for training)" if array.dtype.kind in "iu" and wanted.kind == "f" else ""
    raise InputError(f"{path}: input {value.name!r} must hold {wanted}, not {array.dtype}{hint}")
