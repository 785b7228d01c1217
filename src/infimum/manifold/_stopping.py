"""When sampling ends and how it draws: the options of a sampling run, as objects or in a text like `se:tol=5e-4`."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from infimum._checks import Real, check_positive, check_seed
from infimum._grammar import Kind, Registry
from infimum.errors import InputError
from infimum.io.ranges import shown

Rule = Literal["se", "difference", "samples", "time"]
Draw = Literal["independent", "sobol"]


@dataclass(frozen=True)
class Stopping:
    """When sampling ends (docs/method.md §4).

    `rule`: "se", the sampling part of λ's standard error is at most `tolerance`, after two batches or more;
    "difference", the paper's |λ_i − λ_{i−1}| ≤ `tolerance` (a running mean satisfies it sooner or later whatever
    its error); "samples", exactly `max_samples` are drawn; "time", `seconds` have passed. `max_samples` ends
    every rule, then not converged. `batch` samples are drawn at a time.
    """

    rule: Rule = "se"
    tolerance: Real = 5e-4
    max_samples: int = 10_000_000
    seconds: Real = 60.0
    batch: int = 20_000

    def __post_init__(self) -> None:
        if self.rule not in get_args(Rule):
            raise InputError(f"stopping rule must be one of {', '.join(get_args(Rule))}, not {self.rule!r}")
        check_positive(self.tolerance, "tolerance")
        check_positive(self.seconds, "seconds")
        for what, value in (("batch", self.batch), ("max_samples", self.max_samples)):
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**63:
                raise InputError(
                    f"{what} must be a whole number, 1 or more and below 2^63, not {shown(value)}"
                )

    def to_dict(self) -> dict[str, Any]:
        """The rule and the figures it uses."""
        used = {
            "se": ("tolerance",),
            "difference": ("tolerance",),
            "samples": (),
            "time": ("seconds",),
        }[self.rule]
        everything = asdict(self)
        return {key: everything[key] for key in ("rule", *used, "max_samples", "batch")}


@dataclass(frozen=True)
class Sampling:
    """How λ is sampled: when it ends, how points are drawn, by which seed (None: that of the assessment).

    `draw="sobol"` takes batches of scrambled Sobol points: fewer are needed for a small error.

    >>> SAMPLINGS.read("se:tol=1e-3,draw=sobol").stopping.tolerance
    0.001
    """

    stopping: Stopping = field(default_factory=Stopping)
    draw: Draw = "independent"
    seed: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.stopping, Stopping):
            raise InputError(f"stopping must be a Stopping, not {self.stopping!r}")
        if self.draw not in get_args(Draw):
            raise InputError(f"draw must be one of {', '.join(get_args(Draw))}, not {self.draw!r}")
        if self.seed is not None:
            check_seed(self.seed)


_OWN: dict[Rule, dict[str, type]] = {
    "se": {"tol": float},
    "difference": {"tol": float},
    "samples": {},
    "time": {"seconds": float},
}
_EVERY: dict[str, Any] = {"max_samples": int, "batch": int, "draw": Draw, "seed": int}
_DEFAULTS = {"tol": Stopping.tolerance, "draw": "independent"} | {
    name: getattr(Stopping, name) for name in ("seconds", "max_samples", "batch")
}


def _kind(rule: Rule) -> Kind[Sampling]:
    def make(
        *,
        tol: float = Stopping.tolerance,
        draw: Draw = "independent",
        seed: int | None = None,
        **stopping: Any,
    ) -> Sampling:
        return Sampling(Stopping(rule, tol, **stopping), draw, seed)

    return Kind(make, _OWN[rule] | _EVERY, _DEFAULTS)


SAMPLINGS: Registry[Sampling] = Registry(
    "sampling",
    {rule: _kind(rule) for rule in get_args(Rule)},
    takes=lambda given: isinstance(given, Sampling),
)
