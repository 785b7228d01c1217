"""Where an assessment comes from: versions, seed, and fingerprints of the outputs that went in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.head import AnyHead, Head
from infimum.io.provenance import fingerprint, made_with
from infimum.outputs._outputs import ABOUT_ROWS, Outputs

ARRAYS = ("logits", *ABOUT_ROWS, "weights")


def origin(
    seed: int,
    data: Mapping[str, Outputs | Mapping[str, str] | None],
    manifold_data: Array | None,
    head: AnyHead | None,
) -> dict[str, Any]:
    """Versions, seed and the SHA-256 of every array, by data set and name; plain values, for JSON.

    A data set is given itself, or its fingerprints.
    """
    inputs = {
        name: fingerprints(given) if isinstance(given, Outputs) else dict(given)
        for name, given in data.items()
        if given is not None
    }
    if manifold_data is not None:
        inputs["manifold data"] = {"features": fingerprint(manifold_data)}
    if isinstance(head, Head):
        inputs["head"] = {"weight": fingerprint(head.weight), "bias": fingerprint(np.asarray(head.bias))}
    return made_with(seed, inputs=inputs)


def fingerprints(outputs: Outputs) -> dict[str, str]:
    """SHA-256 of each array that is there; labels and ids tell whether two networks saw the same inputs.

    >>> sorted(fingerprints(Outputs(np.eye(2), labels=np.array([0, 1]))))
    ['labels', 'logits']
    """
    arrays = {name: getattr(outputs, name) for name in ARRAYS}
    return {name: fingerprint(array) for name, array in arrays.items() if array is not None}
