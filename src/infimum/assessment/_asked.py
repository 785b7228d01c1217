"""What an assessment is asked for: every option read and checked, before any data are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infimum._checks import Array, check_kind, check_matrix, check_seed, exact_fraction
from infimum.bounds._bound import check_confidence
from infimum.bounds._judges import JUDGES, Judge
from infimum.bounds._label_errors import LabelErrors
from infimum.conformal._options import LEVELS, SuccessLevels
from infimum.conformal._scores import RAPS, SCORES, Score
from infimum.head import AnyHead, Head, HeadFunction
from infimum.identity.rows import Identity, check_identity
from infimum.manifold._options import MANIFOLDS, AnyManifold
from infimum.manifold._stopping import SAMPLINGS, Sampling


@dataclass(frozen=True, eq=False)
class Asked:
    """The options of one assessment, as objects; `manifold` None: whichever is of use."""

    score: Score
    levels: SuccessLevels
    manifold: AnyManifold | None
    sampling: Sampling
    method: Judge
    target: float | None
    confidence: float
    errors: LabelErrors
    identity: Identity
    seed: int
    exchangeability: bool
    head: AnyHead | None
    manifold_data: Array | None

    @staticmethod
    def of(
        *,
        score: Score | str | None,
        levels: SuccessLevels | str | None,
        manifold: AnyManifold | str | None,
        sampling: Sampling | str | None,
        method: Judge | str,
        target: Any,
        confidence: Any,
        label_errors: Any,
        identity: Any,
        seed: Any,
        exchangeability: bool,
        head: AnyHead | None,
        manifold_data: Any,
    ) -> Asked:
        """Options as a user gives them: objects, or their texts. Raises InputError."""
        if head is not None:
            check_kind(head, (Head, HeadFunction), "head", "a Head, for example Head(weight, bias)")
        return Asked(
            score=RAPS() if score is None else SCORES.read(score),
            levels=SuccessLevels() if levels is None else LEVELS.read(levels),
            manifold=None if manifold is None else MANIFOLDS.read(manifold),
            sampling=Sampling() if sampling is None else SAMPLINGS.read(sampling),
            method=JUDGES.read(method),
            target=None if target is None else float(exact_fraction(target, "target")),
            confidence=check_confidence(confidence),
            errors=LabelErrors.of(label_errors),
            identity=check_identity(identity),
            seed=check_seed(seed),
            exchangeability=exchangeability,
            head=head,
            manifold_data=None if manifold_data is None else check_matrix(manifold_data, "manifold data"),
        )
