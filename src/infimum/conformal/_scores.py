"""The six nonconformity scores S(x, y) (docs/method.md §2), as keys whose order is exactly that of the scores.

Only the order of scores matters to conformal prediction, and probabilities lose it where a network is
confident. Each score is therefore written as a sum `fixed + computed` of two float64 numbers that rises with
S; the sum is kept exactly, as a pair (rounded sum, rounding error), and pairs compare lexicographically.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Complex

from infimum._checks import Array, Real
from infimum._grammar import Kind, Registry
from infimum.conformal._draws import Draws
from infimum.conformal._ranking import Ranked
from infimum.errors import InputError
from infimum.io.ranges import Count, Nonnegative, checked

Parts = tuple[Array | Real, Array]
"""(fixed, computed): `fixed` has the same bits on every path, `computed` a small relative error."""


@runtime_checkable
class Score(Protocol):
    """What a nonconformity score is: a name, its parameters, and its key."""

    name: ClassVar[str]
    has_random_form: ClassVar[bool]
    computed_exactly: ClassVar[bool]

    def parts(self, r: Ranked, u: Draws) -> Parts:
        """The two summands of the key of labels that stand as `r`, with the draw u of their input."""

    def value(self, key: Array) -> Array:
        """The score S itself, in the definition's units, of a (rounded) key."""


def _fraction_at_or_below(r: Ranked, u: Draws) -> Array:
    """T = r(x,y) + (1−u) p_y = 1 − (ρ + u p_y), as a ratio of sums of positive terms."""
    ratio: Array = (r.below + (1.0 - u) * np.exp(-r.gap)) / (1.0 + r.rest)
    return ratio


def _not_the_top(r: Ranked) -> Array:
    """1 − p_max, summed from the other labels."""
    return r.rest / (1.0 + r.rest)


@dataclass(frozen=True)
class LAC:
    """Least ambiguous classifier ("THR"): S = 1 − p_y. No random form.

    Source: Sadinle, Lei and Wasserman (2019). Key: −log p_y = gap + log(1 + rest), in [0, ∞).

    >>> LAC().name
    'lac'
    """

    name: ClassVar[str] = "lac"
    has_random_form: ClassVar[bool] = False
    computed_exactly: ClassVar[bool] = False

    def parts(self, r: Ranked, u: Draws) -> Parts:
        """See `Score.parts`."""
        return r.gap, np.log1p(r.rest)

    def value(self, key: Array) -> Array:
        """See `Score.value`."""
        return -np.expm1(-key)


@dataclass(frozen=True)
class APS:
    """Adaptive prediction sets: S = ρ + u p_y, in [0, 1].

    Source: Romano, Sesia and Candès (2020). Key: −r − (1−u) p_y = S − 1.

    >>> APS().has_random_form
    True
    """

    name: ClassVar[str] = "aps"
    has_random_form: ClassVar[bool] = True
    computed_exactly: ClassVar[bool] = False

    def parts(self, r: Ranked, u: Draws) -> Parts:
        """See `Score.parts`."""
        return 0.0, -_fraction_at_or_below(r, u)

    def value(self, key: Array) -> Array:
        """See `Score.value`."""
        return 1.0 + key


@dataclass(frozen=True)
class RAPS:
    """Regularised adaptive prediction sets: S = ρ + u p_y + penalty · max(0, o − k_reg).

    Source: Angelopoulos, Bates, Malik and Jordan (2021); the paper's score. `k_reg="auto"` is replaced by a
    number when calibrating. Key: S − 1.

    >>> RAPS(penalty=0.01, k_reg="auto")
    RAPS(penalty=0.01, k_reg='auto')
    """

    penalty: Real = 0.01
    k_reg: int | Literal["auto"] = 1
    name: ClassVar[str] = "raps"
    has_random_form: ClassVar[bool] = True
    computed_exactly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _nonnegative("RAPS penalty", self.penalty)
        if self.k_reg != "auto":
            checked(self.k_reg, Count, "RAPS k_reg (unless 'auto')")

    def parts(self, r: Ranked, u: Draws) -> Parts:
        """See `Score.parts`."""
        if self.k_reg == "auto":
            raise InputError("RAPS k_reg is still 'auto': calibrate() chooses it")
        steps = np.maximum(0, np.asarray(r.rank) - min(self.k_reg, 2**62))  # which int64 holds
        return float(self.penalty) * steps, -_fraction_at_or_below(r, u)

    def value(self, key: Array) -> Array:
        """See `Score.value`."""
        return 1.0 + key


@dataclass(frozen=True)
class SAPS:
    """Sorted adaptive prediction sets: S = u p_max if o = 1, else p_max + (o − 2 + u) · weight.

    Source: Huang et al. (2024). Key: S − 1, in which 1 − p_max is summed from the other labels.

    >>> SAPS(weight=0.2).weight
    0.2
    """

    weight: Real = 0.1
    name: ClassVar[str] = "saps"
    has_random_form: ClassVar[bool] = True
    computed_exactly: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _nonnegative("SAPS weight", self.weight)

    def parts(self, r: Ranked, u: Draws) -> Parts:
        """See `Score.parts`."""
        first = np.asarray(r.rank) == 1
        fixed = np.where(first, -(1.0 - u), (r.rank - 2 + u) * float(self.weight))
        return fixed, -np.where(first, u, 1.0) * _not_the_top(r)

    def value(self, key: Array) -> Array:
        """See `Score.value`."""
        return 1.0 + key


@dataclass(frozen=True)
class TopK:
    """The rank itself: S = o − 1 + u. Source: Luo and Colombo (2024).

    >>> TopK().name
    'topk'
    """

    name: ClassVar[str] = "topk"
    has_random_form: ClassVar[bool] = True
    computed_exactly: ClassVar[bool] = True

    def parts(self, r: Ranked, u: Draws) -> Parts:
        """See `Score.parts`."""
        return np.asarray(r.rank) - 1.0, np.broadcast_to(np.asarray(u, dtype=np.float64), r.gap.shape)

    def value(self, key: Array) -> Array:
        """See `Score.value`."""
        return key


@dataclass(frozen=True)
class Margin:
    """Distance to the best other label: S = max_{j≠y} p_j − p_y, in [−1, 1]. No random form.

    Source: Johansson et al. (2017). Key: log(1+S) − log(1−S) = ±log1p(2 (1 − e^−lead) / (2 e^−lead + others)).

    >>> Margin().has_random_form
    False
    """

    name: ClassVar[str] = "margin"
    has_random_form: ClassVar[bool] = False
    computed_exactly: ClassVar[bool] = False

    def parts(self, r: Ranked, u: Draws) -> Parts:
        """See `Score.parts`."""
        with np.errstate(divide="ignore", over="ignore"):
            odds = -2.0 * np.expm1(-r.lead) / (2.0 * np.exp(-r.lead) + r.others)
        size = np.minimum(np.log1p(odds), 1e300)  # where everything below underflows: finite, and tied
        return 0.0, np.where(np.asarray(r.rank) == 1, -size, size)

    def value(self, key: Array) -> Array:
        """See `Score.value`."""
        return np.tanh(key / 2)


def _nonnegative(what: str, value: Any) -> None:
    checked(value, Nonnegative, what)


def keys(fixed: Array | Real, computed: Array) -> Complex[np.ndarray, "..."]:
    """Fixed + computed, exactly: the rounded sum as real part, its rounding error as imaginary part.

    numpy sorts and searches complex numbers lexicographically, which is the order of the exact sums
    (two-sum of Knuth, TAOCP 2, §4.2.2).

    >>> keys(0.01, np.array([-1e-30, -2e-30])).tolist()
    [(0.01-1e-30j), (0.01-2e-30j)]
    """
    pair = np.empty(np.broadcast_shapes(np.shape(fixed), computed.shape), dtype=np.complex128)
    total = fixed + computed
    back = total - fixed
    pair.real = total
    pair.imag = (fixed - (total - back)) + (computed - back)
    return pair


SCORES: Registry[Score] = Registry(
    "score",
    {kind.name: Kind.of(kind) for kind in (LAC, APS, RAPS, SAPS, TopK, Margin)},
    takes=lambda given: isinstance(given, Score),
)


def score_named(name: str, **parameters: Any) -> Score:
    """The score of that name; raises InputError for an unknown name or parameter.

    >>> score_named("raps", penalty=0.1)
    RAPS(penalty=0.1, k_reg=1)
    """
    if name not in SCORES.kinds:
        raise InputError(f"score {name!r} is unknown; known are {SCORES.names}")
    try:
        return SCORES.kinds[name].make(**parameters)
    except TypeError as error:
        raise InputError(f"score {name!r} does not take these parameters: {', '.join(parameters)}") from error


def score_to_dict(score: Score) -> dict[str, Any]:
    """Name and parameters of a score, for a file.

    >>> score_to_dict(RAPS())
    {'name': 'raps', 'penalty': 0.01, 'k_reg': 1}
    """
    return {"name": score.name, **asdict(score)}  # type: ignore[call-overload]
