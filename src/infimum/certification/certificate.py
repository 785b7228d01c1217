"""What a certificate says, as frozen data that goes to JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from infimum.bounds import Bound, Exchangeability
from infimum.errors import InputError
from infimum.files import json_text
from infimum.results import Target

SCHEMA = "infimum/certificate/1"


@dataclass(frozen=True)
class Certificate:
    """Bounds on Success(f) from labelled rows, and whether the one named beforehand reaches the target.

    The first of `bounds` judges; each holds with its own confidence, and the largest, picked afterwards, does not.
    `per_class` hold all together. `withheld` says of the other methods why they are not given.
    """

    network: str
    target: Target
    n: int
    wrong: int
    bounds: tuple[Bound, ...]
    per_class: tuple[Bound, ...] = ()
    withheld: dict[str, str] = field(default_factory=dict, hash=False)
    exchangeability: Exchangeability | None = None
    warnings: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def judge(self) -> Bound:
        """The bound that decides."""
        return self.bounds[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; the schema is `infimum/certificate/1`."""
        return {
            "schema": SCHEMA,
            "network": self.network,
            "target": vars(self.target).copy(),
            "n": self.n,
            "wrong": self.wrong,
            "bounds": [bound.to_dict() for bound in self.bounds],
            "per_class": [bound.to_dict() for bound in self.per_class],
            "withheld": self.withheld,
            "exchangeability": None if self.exchangeability is None else self.exchangeability.to_dict(),
            "warnings": list(self.warnings),
            "provenance": self.provenance,
        }

    def to_json(self) -> str:
        """The JSON document; finite numbers only."""
        return json_text(self.to_dict())

    @staticmethod
    def from_dict(d: dict[str, Any]) -> Certificate:
        """Inverse of `to_dict`; raises InputError for another schema or a missing key."""
        if not isinstance(d, dict) or d.get("schema") != SCHEMA:
            raise InputError(f"not a certificate: this version reads the schema {SCHEMA!r}")
        try:
            alike = d["exchangeability"]
            return Certificate(
                target=Target(**d["target"]),
                bounds=tuple(Bound.from_dict(b) for b in d["bounds"]),
                per_class=tuple(Bound.from_dict(b) for b in d["per_class"]),
                exchangeability=None if alike is None else Exchangeability.from_dict(alike),
                warnings=tuple(d["warnings"]),
                **{key: d[key] for key in ("network", "n", "wrong", "withheld", "provenance")},
            )
        except (KeyError, TypeError) as error:
            raise InputError(f"not a whole certificate ({error!r})") from error

    def summary(self) -> str:
        """What a person should read: the verdict, every bound, what they assume, and every warning."""
        from infimum.report.certificate import to_text

        return to_text(self)
