"""The class labels that an ONNX file holds for the columns of its scores, as exports of scikit-learn and trees do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError
from infimum.models._onnx.graph import FLOATS, Graph, attributes
from infimum.models._onnx.softmax import SHAPES

CLASSIFIERS = ("TreeEnsembleClassifier", "LinearClassifier", "SVMClassifier")
"""Operators of ai.onnx.ml with two outputs: the label of each input, and the scores of its classes."""

KEYS = ("classlabels_ints", "classlabels_int64s", "classlabels_strings")

AFTER = (*SHAPES, "Normalizer", "Softmax", "LogSoftmax", "Log", "Clip")
"""What may follow the scores of a classifier without changing their order."""

Labels = tuple[Any, ...]


def class_labels(graph: Graph, output: str, path: Path) -> tuple[Labels, str]:
    """The labels (K,) of the columns of an output, and the output with the label that the network itself chooses.

    They come from that output, from a ZipMap, or from the classifier that makes the scores; none and "" where
    there are none. Raises InputError where two of these say different things, and for a label that is there twice.
    """
    found: dict[str, Labels] = {}
    chosen = ""
    for value in graph.graph.output:
        labels, scores = _chosen_from(graph, value.name)
        if labels and value.type.tensor_type.elem_type not in FLOATS and _related(graph, scores, output):
            found[value.name], chosen = labels, value.name
    for node in graph.graph.node:
        if node.op_type == "ZipMap" and node.input[0] == output:
            found[node.name or "ZipMap"] = _listed(node)
    if not found and (labels := _of_scores(graph, output)):
        found[output] = labels
    if len(set(found.values())) > 1:
        (one, its), (other, others) = list(found.items())[:2]
        raise InputError(
            f"{path} names its classes twice, and not alike: {one} has {_shown(its)}, {other} {_shown(others)}"
        )
    labels = next(iter(found.values()), ())
    if len(set(labels)) < len(labels):
        raise InputError(f"{path} has a class label twice: {_shown(labels)}")
    return labels, chosen


def check_labels(labels: Labels, scores: Array, given: Array | None, path: Path) -> None:
    """Hold scores (n, K) against the labels: as many as columns, and the likeliest is the one that was `given` (n,).

    Raises InputError where not. Of equal scores either may be given.
    """
    if len(labels) != scores.shape[1]:
        raise InputError(
            f"{path} has {len(labels)} class labels ({_shown(labels)}) for {scores.shape[1]} scores"
        )
    if given is None:
        return
    known = np.array(labels, dtype=object)
    two = np.sort(scores.astype(np.float64), axis=1)[:, -2:]
    near = two[:, 1] - two[:, 0] <= 1e-6 * np.maximum(1, np.abs(two[:, 1]))
    other = np.flatnonzero(~near & (known[scores.argmax(axis=1)] != given.reshape(len(scores))))
    if len(other):
        raise InputError(
            f"{path} does not decide by its scores: the label that it gives is not that of its largest score for "
            f"{len(other)} of {len(scores)} inputs, the first in row {int(other[0])} of a batch (an SVM?); "
            "export a network whose scores decide"
        )


def _chosen_from(graph: Graph, name: str) -> tuple[Labels, str]:
    """The labels that an output of labels chooses from, and the scores by which it does; none where it is not one."""
    while (node := graph.producer.get(name)) is not None and node.op_type in SHAPES:
        name = node.input[0]
    if node is not None and node.op_type in CLASSIFIERS and node.output[0] == name:
        return _listed(node), str(node.output[1])
    if node is not None and node.op_type in ("ArrayFeatureExtractor", "Gather"):
        table, index = graph.constant(node.input[0]), node.input[1]
        while (maker := graph.producer.get(index)) is not None and maker.op_type in SHAPES:
            index = maker.input[0]
        if table is not None and maker is not None and maker.op_type == "ArgMax":
            labels = tuple(_text(label) for label in table.reshape(-1).tolist())
            # A table that holds a label twice is of groups of classes, not of classes.
            return labels if len(set(labels)) == len(labels) else (), str(maker.input[0])
    return (), ""


def _related(graph: Graph, scores: str, output: str) -> bool:
    """Whether an output is made of these scores, or they of it: a network of several tasks has several of each."""

    def above(name: str) -> set[str]:
        return {made for node in graph.between([], [name])[0] for made in node.output}

    return scores in above(output) or output in above(scores)


def _of_scores(graph: Graph, name: str) -> Labels:
    """The labels of the classifier whose scores an output is."""
    while (node := graph.producer.get(name)) is not None and node.op_type in AFTER:
        name = node.input[0]
    scores = node is not None and node.op_type in CLASSIFIERS and name in node.output[1:]
    return _listed(node) if scores else ()


def _listed(node: Any) -> Labels:
    options = attributes(node)
    return tuple(_text(label) for key in KEYS for label in options.get(key, ()))


def _text(label: Any) -> Any:
    return label.decode(errors="replace") if isinstance(label, bytes) else label


def _shown(labels: Labels) -> str:
    return ", ".join(map(repr, labels[:10])) + (", …" if len(labels) > 10 else "")
