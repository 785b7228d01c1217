"""What an assessment says of its making, as rows of tables: versions, seed, hashes, command; the manifold's fit."""

from __future__ import annotations

from typing import Any

from infimum.assessment._results import Assessment


def provenance_rows(a: Assessment) -> list[tuple[str, str]]:
    """Names and values, nested ones spelled out; whatever an assessment's file holds becomes text.

    >>> from infimum.report.provenance import _spelled
    >>> _spelled("inputs", {"operation": {"logits": "ab12"}})
    [('inputs, operation, logits', 'ab12')]
    """
    return [row for key, value in a.provenance.items() for row in _spelled(str(key), value)]


def fit_rows(a: Assessment) -> list[tuple[str, str]]:
    """What the manifold tells of its fit; nothing where it says nothing."""
    rows = (
        [] if a.manifold is None else [row for key, v in a.manifold.items() for row in _spelled(str(key), v)]
    )
    return [(name.replace("_", " "), value) for name, value in rows if value != "None"]


def _spelled(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [row for key, inner in value.items() for row in _spelled(f"{name}, {key}", inner)]
    if isinstance(value, bool):
        return [(name, "yes" if value else "no")]
    return [(name, f"{value:.6g}" if isinstance(value, float) else str(value))]
