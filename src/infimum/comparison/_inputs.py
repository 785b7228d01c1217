"""Whether networks were run on the same inputs: only then can they be compared input by input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from infimum.assessment._results import Assessment
from infimum.errors import InputError
from infimum.io.findings import Finding, warning
from infimum.outputs._outputs import Outputs

IDENTITY = ("labels", "ids", "weights")
"""Arrays that belong to the inputs and not to a network."""

ELSEWHERE = (
    "ids of networks 1 and {number} are positions or paths in different sources, where they name other inputs"
)
"""Why equal ids tell nothing (`id_source`)."""


def different_outputs(outputs: Sequence[Outputs], what: str) -> str | None:
    """Why these are not outputs of the same inputs in the same order, or None where nothing speaks against it.

    >>> import numpy as np
    >>> a, b = (Outputs(np.eye(2), labels=np.array(y)) for y in ([0, 1], [1, 1]))
    >>> different_outputs([a, b], "operation")
    'operation: the labels of network 2 are not those of network 1 (first in row 0)'
    """
    first = outputs[0]
    for number, other in enumerate(outputs[1:], 2):
        who = f"of network {number} are not those of network 1"
        if len(other) != len(first):
            return f"{what}: network {number} has {len(other)} inputs, network 1 has {len(first)}"
        if other.n_classes != first.n_classes:
            return f"{what}: network {number} has {other.n_classes} classes, network 1 has {first.n_classes}"
        if None not in (first.class_names, other.class_names) and first.class_names != other.class_names:
            return f"{what}: the class names {who}"
        for name in IDENTITY:
            ours, theirs = getattr(first, name), getattr(other, name)
            if (ours is None) != (theirs is None):
                having = 1 if theirs is None else number
                return f"{what}: only network {having} of networks 1 and {number} has {name}"
            if ours is not None:
                rows = np.flatnonzero(ours != theirs)
                if len(rows):
                    return f"{what}: the {name} {who} (first in row {rows[0]})"
        sources = (first.id_source, other.id_source)
        if sources[0] is not None and sources[1] is not None and (sources[0] != sources[1]).any():
            return f"{what}: {ELSEWHERE.format(number=number)}"
    return None


def unchecked_outputs(outputs: Sequence[Outputs]) -> bool:
    """Whether nothing but the number of inputs says that they are the same."""
    return all(o.labels is None and o.ids is None for o in outputs)


def different_assessments(assessments: Sequence[Assessment]) -> str | None:
    """Why these were not made on the same inputs: the fingerprints of labels, ids and weights that they carry."""
    first = assessments[0]
    for number, other in enumerate(assessments[1:], 2):
        for what in ("calibration", "operation"):
            ours, theirs = hashes(first, what), hashes(other, what)
            for name in IDENTITY:
                if (name in ours) != (name in theirs):
                    having = 1 if name in ours else number
                    return f"{what}: only network {having} of networks 1 and {number} has {name}"
                if ours.get(name) != theirs.get(name):
                    return f"{what}: the {name} of network {number} are not those of network 1"
            if "id_source" in ours and "id_source" in theirs and ours["id_source"] != theirs["id_source"]:
                return f"{what}: {ELSEWHERE.format(number=number)}"
        sizes = [(a.lambda_operation.n, a.n_classes) for a in (first, other)]
        if sizes[0] != sizes[1]:
            return (
                f"network {number} has {sizes[1][0]} operation inputs and {sizes[1][1]} classes, "
                f"network 1 has {sizes[0][0]} and {sizes[0][1]}"
            )
    return None


def unchecked_assessments(assessments: Sequence[Assessment]) -> bool:
    """Whether no fingerprint of the operation's labels or ids is there to tell."""
    return not any({"labels", "ids"} & set(hashes(a, "operation")) for a in assessments)


def hashes(assessment: Assessment, what: str) -> dict[str, Any]:
    """Fingerprints of one data set; none in files of before there were any, or of another shape."""
    inputs = assessment.provenance.get("inputs")
    hashes = inputs.get(what) if isinstance(inputs, dict) else None
    return hashes if isinstance(hashes, dict) else {}


def check_names(names: Sequence[str], n: int) -> list[str]:
    """One name for each of n ≥ 2 networks, all different."""
    if n < 2:
        raise InputError(f"{n} network to compare; give at least two")
    if len(names) != n:
        raise InputError(f"{len(names)} names for {n} networks; give one for each")
    again = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if again is not None:
        raise InputError(f"two networks are named {again!r}; give names that differ")
    return [str(name) for name in names]


def check_same(different: str | None, unchecked: bool, allowed: bool) -> list[Finding]:
    """Raise for different inputs unless they are allowed; what to warn of otherwise."""
    if different is not None and not allowed:
        raise InputError(
            f"these networks were not run on the same inputs: {different}; compare them on the same ones, or allow "
            "different inputs (allow_different_inputs=True, --allow-different-inputs) to compare their figures alone"
        )
    if different is not None:
        return [warning("inputs-differ", how=different)]
    return [warning("inputs-unchecked")] if unchecked else []
