"""Which features a manifold is fitted to, and why there are none: what was asked for, what is there, what is of use."""

from __future__ import annotations

import numpy as np

from infimum._arrays import effective_number
from infimum._checks import Array, check_matrix
from infimum.errors import InputError
from infimum.head import AnyHead
from infimum.io.findings import Finding, note
from infimum.manifold._options import AnyManifold, NoManifold
from infimum.outputs._outputs import Outputs
from infimum.outputs._stream import OutputsStream

ENOUGH = 2000
"""From so many operation inputs on, λ of the inputs themselves is nearer to λ of the operation, on average over the
study's networks, than λ on samples of any manifold (docs/manifolds.md)."""


def features_and_head(
    manifold: AnyManifold | None,
    head: AnyHead | None,
    manifold_data: Array | None,
    operation: Outputs | OutputsStream,
    n_classes: int,
) -> tuple[Array, AnyHead] | None:
    """Features (n, d) the manifold is fitted to and their head; None where no manifold is wanted, of use or possible.

    Raises InputError where one is asked for and cannot be, and where features, head and classes do not fit together.

    >>> features_and_head(None, None, None, Outputs(np.eye(2)), n_classes=2) is None
    True
    """
    if head is not None and head.n_classes != n_classes:
        raise InputError(f"{head.name} has {head.n_classes} classes, the calibration has {n_classes}")
    own = (operation.first if isinstance(operation, OutputsStream) else operation).features
    features = own if manifold_data is None else manifold_data
    if isinstance(manifold, NoManifold):
        return None
    if features is not None and head is not None:
        source = check_matrix(features, "manifold features", head.n_features), head
        return None if manifold is None and manifold_data is None and _enough(operation) else source
    if manifold is not None:
        missing = (
            "the prediction layer (head)"
            if head is None
            else "features: manifold data, or those of the operation"
        )
        raise InputError(f"the {manifold.name} manifold needs {missing}")
    if manifold_data is not None:
        raise InputError("manifold data needs the prediction layer (head) that reads the features")
    return None


def why_no_manifold(
    manifold: AnyManifold | None, head: AnyHead | None, operation: Outputs | OutputsStream
) -> Finding:
    """What a report says where `features_and_head` found nothing to sample from.

    >>> why_no_manifold(None, None, Outputs(np.eye(2))).data
    {'missing': ['head', 'features']}
    """
    if isinstance(manifold, NoManifold):
        return note("no-manifold-asked")
    features = (operation.first if isinstance(operation, OutputsStream) else operation).features
    missing = [what for what, have in (("head", head), ("features", features)) if have is None]
    return (
        note("no-manifold-possible", missing=missing)
        if missing
        else note("no-manifold-needed", enough=ENOUGH)
    )


def _enough(operation: Outputs | OutputsStream) -> bool:
    """Whether the operation, weighted or not, counts as ENOUGH inputs: by Kish's effective number."""
    if operation.weights is None:
        return len(operation) >= ENOUGH
    weights = np.asarray(operation.weights, dtype=np.float64)
    return bool(effective_number(weights.sum(), (weights**2).sum()) >= ENOUGH)
