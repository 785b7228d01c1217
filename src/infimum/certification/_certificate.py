"""What a certificate says, as frozen data that goes to JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from infimum.assessment._results import Target
from infimum.bounds import Bound
from infimum.bounds._bound import check_judge
from infimum.errors import InputError
from infimum.io.faces import Shown
from infimum.io.findings import Finding
from infimum.io.ranges import Count, Size
from infimum.io.records import Document
from infimum.shift import Exchangeability


@dataclass(frozen=True)
class Certificate(Document, Shown):
    """Bounds on Success(f) from labelled rows, and whether the one named beforehand reaches the target.

    The first of `bounds` judges; each holds with its own confidence, and the largest, picked afterwards, does not.
    `per_class` hold all together. `withheld` says of the other methods why they are not given.
    """

    SCHEMA = "infimum/certificate/2"

    network: str
    target: Target
    n: Size
    wrong: Count
    bounds: tuple[Bound, ...]
    per_class: tuple[Bound, ...] = ()
    withheld: dict[str, Finding] = field(default_factory=dict, hash=False)
    exchangeability: Exchangeability | None = None
    findings: tuple[Finding, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_judge(self.bounds, "bounds")
        if self.wrong > self.n:
            raise InputError(f"wrong is {self.wrong}, but there are {self.n} labelled rows")

    @property
    def judge(self) -> Bound:
        """The bound that decides."""
        return self.bounds[0]
