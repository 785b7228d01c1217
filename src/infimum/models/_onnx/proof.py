"""What an ONNX network's own outputs prove or tell: its written-out softmax, its class labels, its precision."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax

from infimum._checks import Array
from infimum.errors import InputError
from infimum.models._endings import HALF, as_rows
from infimum.models._onnx.graph import Graph
from infimum.models._onnx.labels import Labels, check_labels
from infimum.models._onnx.layer import End
from infimum.models._onnx.session import session

TOLERANCE = 1e-3
"""Largest difference between the softmax of the logits and what the network made of them."""

ROUNDED = 1e-3
"""Differences of logits, relative to their size, from which on onnxruntime's own way with quantised weights is told."""


class Proof:
    """Checks of what a network gives, most of them on its first batch.

    `inputs` and `wanted` are the tensors that it is fed with, and those it must give beside its logits and features.
    """

    def __init__(self, graph: Graph, end: End, labels: Labels, label: str, device: str, path: Path) -> None:
        self.inputs = [value.name for value in graph.inputs()]
        self.wanted = [name for name in (end.written, label) if name]
        self._graph, self._end, self._labels, self._label = graph, end, labels, label
        self._device, self._path = device, path
        self._done = False

    def prove(self, inputs: Any, values: Array, logits: Array, wanted: list[Array]) -> None:
        """Hold the logits (n, K), and the `values` they were read from, against the tensors `wanted`.

        Raises InputError where the softmax of the values, on the first batch, or the class of the largest logit, on
        any, is another than the network's own.
        """
        given = dict(zip(self.wanted, wanted, strict=True))
        if self._labels:
            check_labels(self._labels, logits, given.get(self._label), self._path)
        if self._done:
            return
        if self._end.written:
            self._prove_softmax(values, given[self._end.written])
        if any(_has_quantised_weights(self._graph, node) for node in self._graph.graph.node):
            self._tell_rounding(inputs, values)
        self._done = True

    def _prove_softmax(self, values: Array, made: Array) -> None:
        function = softmax if self._end.kind == "Softmax" else log_softmax
        ours = function(as_rows(values).astype(np.float64), axis=-1)
        limit = HALF if made.dtype == np.float16 else TOLERANCE
        size = max(1.0, float(np.abs(made).max()))
        gap = np.inf if ours.size != made.size else float(np.abs(ours.reshape(made.shape) - made).max())
        if not gap <= limit * size:
            raise InputError(
                f"the cut is wrong: the softmax of {self._end.logits!r} differs from {self._end.written!r} by up to "
                f"{gap:.3g}; run {self._path} in a function of your own and pass that (any callable)"
            )

    def _tell_rounding(self, inputs: Any, values: Array) -> None:
        """Warn where onnxruntime, left to itself, gives other logits for quantised weights."""
        run = session(self._graph, self.inputs, [self._end.logits], self._device, self._path, as_default=True)
        gap = float(np.abs(run(inputs)[0].astype(np.float64) - values).max())
        if gap > ROUNDED * max(1.0, float(np.abs(values).max())):
            warnings.warn(
                f"{self._path} has quantised weights, which are computed with in float32 here, as the file says; "
                "onnxruntime, where it is not told, rounds the layers' inputs too, and its logits differ by up to "
                f"{gap:.2g} on the first batch. What is said here holds for a network run with the session option "
                "session.qdq_matmulnbits_accuracy_level = 1",
                UserWarning,
                stacklevel=2,
            )


def _has_quantised_weights(graph: Graph, node: Any) -> bool:
    """Whether a node multiplies with constants that are stored as small whole numbers."""
    if node.op_type not in ("MatMul", "Gemm"):
        return False
    weight = graph.producer.get(node.input[1])
    while weight is not None and weight.op_type in ("Transpose", "Cast", "Identity", "Reshape"):
        weight = graph.producer.get(weight.input[0])
    return (
        weight is not None and weight.op_type == "DequantizeLinear" and weight.input[0] in graph.initializer
    )
