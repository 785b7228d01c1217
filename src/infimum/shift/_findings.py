"""What the tests of likeness found, for a reader."""

from __future__ import annotations

from infimum.io.findings import Finding, warning
from infimum.shift._exchangeability import Exchangeability
from infimum.shift._measured import Measured


def not_alike(alike: Exchangeability | None) -> Finding | None:
    """A warning where calibration and operation differ."""
    if alike is None or not alike.rejected:
        return None
    return warning(
        "not-alike",
        p_value=alike.p_value,
        auc=alike.auc,
        distance=alike.distance,
        permutations=alike.permutations,
    )


def labels_contradict(measured: Measured | None) -> Finding | None:
    """A warning where labels of the operation show that it is less accurate than the labelled inputs."""
    if measured is None or not measured.rejected:
        return None
    return warning(
        "labels-contradict",
        operation=measured.operation,
        labelled=measured.labelled,
        p_value=measured.p_value,
    )
