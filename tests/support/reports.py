"""Assessments that a report must show well, among them hostile ones."""

from __future__ import annotations

import numpy as np

from infimum import Assessment, Head, Outputs, Sampling, Stopping, assess
from infimum.io.findings import Finding

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</style></title><h1>no</h1>",
    "{{ 7 * 7 }} ${x} `y` |z|",
    "\u202eright to left\u202c שלום عالم",
    "\x00\x1b[2J\ud800 \n# heading",
    "long" * 200,
)


def hostile_findings(hostile: str) -> tuple[Finding, ...]:
    """Findings whose data, whose code or whose unknown data are text from outside."""
    return (
        Finding("classes-without-labels", "warning", {"classes": [hostile], "more": 0}),
        Finding(hostile, "warning", {hostile: hostile}),
        Finding("capped", "note", {hostile: hostile}),
        Finding(hostile, "note", {}, ignored=True),
    )


def toy_assessment(
    n_classes: int = 10,
    n: int = 2000,
    *,
    labelled: bool = True,
    sharpness: float = 3.0,
    names: list[str] | None = None,
    ids: list[str] | None = None,
    manifold: bool = False,
    **options: object,
) -> Assessment:
    """Of a toy network whose labels follow its own softmax."""
    rng = np.random.default_rng(n_classes)
    means = rng.normal(size=(n_classes, 8)) * 1.5
    head = Head(means * sharpness / 1.5, np.zeros(n_classes))

    def outputs(size: int, **others: object) -> Outputs:
        features = means[rng.integers(n_classes, size=size)] + rng.normal(size=(size, 8))
        logits = head.logits(features)
        labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        return Outputs(logits, labels, features, class_names=names, **others)

    calibration, operation = outputs(500), outputs(n, ids=None if ids is None else np.array(ids))
    if not labelled:
        operation = Outputs(
            operation.logits, features=operation.features, class_names=names, ids=operation.ids
        )
    if manifold:
        options |= {
            "head": head,
            "manifold": "kernel",
            "sampling": Sampling(Stopping("samples", max_samples=6000, batch=1000)),
        }
    return assess(calibration, operation, **options)


def hostile_assessment() -> Assessment:
    """Ten classes, ids and a name that try to be markup, break the line or turn the text."""
    names = [*HOSTILE[:6], HOSTILE[6], "cat", "dog", "日本語"]
    names[5] = names[5].replace("\ud800", "")  # numpy cannot hold half a letter; the name below can
    ids = [f"{HOSTILE[i % 5]}{i}" for i in range(2000)]
    return toy_assessment(names=names, ids=ids, name="".join(HOSTILE), manifold=True)
