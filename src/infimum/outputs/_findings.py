"""What a reader must be told of outputs: rows whose order is lost, and few of them."""

from __future__ import annotations

from infimum.io.findings import Finding, warning

FEW = 100
"""Fewer rows than this are called few: the cap n/(n+1) on λ then costs a hundredth or more."""


def saturation(what: str, saturated: int, n: int) -> Finding | None:
    """A warning where probabilities of exactly 1 have lost the order of scores: in `saturated` of n rows."""
    return warning("saturated", what=what, saturated=saturated, n=n) if saturated else None


def few_operation(n: int) -> Finding | None:
    """A warning of fewer than 100 operation inputs."""
    return warning("few-operation-inputs", n=n) if n < FEW else None
