"""What wrong labels cost a bound: at most j of the labels at hand are wrong, or each with a probability of at most e.

Proofs: docs/bounds.md. Of the labels at hand, j wrong ones can have made j wrong answers look right: a bound that
falls with every success fewer is taken with j successes fewer. Where a label drawn is wrong with probability at most
e, Pr(f(X) = Y) ≥ Pr(f(X) = label) − e, whatever bound the latter has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool

from infimum._checks import exact_fraction
from infimum.bounds._bound import LABELS_RIGHT, Bound
from infimum.errors import InputError
from infimum.io.findings import note

BY_CLASS = note("bound-withheld", why="label-errors-by-class")
"""A wrong label puts its row into another class."""


@dataclass(frozen=True)
class LabelErrors:
    """At most `count` of the labels at hand are wrong, or each with a probability of at most `rate`; one of the two.

    With strata of weights w_s and rates e_s, `rate` is Σ w_s e_s at least. Both 0: the labels are right.
    """

    count: int = 0
    rate: float = 0.0

    @staticmethod
    def of(value: Any) -> LabelErrors:
        """From a whole number (a count), a number below 1 (a rate), or text: "5", "0.02", "2%". None: none.

        Raises InputError for anything else; 1.0 is neither a count nor a rate below 1.

        >>> LabelErrors.of(5), LabelErrors.of("2%")
        (LabelErrors(count=5, rate=0.0), LabelErrors(count=0, rate=0.02))
        """
        if value is None or isinstance(value, LabelErrors):
            return LabelErrors() if value is None else value
        wanted = (
            "label_errors must be how many labels are wrong at most, as 5, or which share, as 0.02 or 2%, not "
            f"{value!r:.60}"
        )
        if isinstance(value, bool) or not isinstance(value, int | float | str | np.integer | np.floating):
            raise InputError(wanted)
        text = str(value).strip()
        if re.fullmatch(r"[0-9]{1,15}", text):
            return LabelErrors(count=int(text))
        if not re.fullmatch(r"[0-9.]{1,20}%|[0-9.]{1,20}(e-[0-9]{1,2})?", text):
            raise InputError(wanted)
        try:
            share = exact_fraction(text.removesuffix("%"), "label_errors", high=100, inside=False)
        except InputError as error:
            raise InputError(wanted) from error
        share = share / 100 if text.endswith("%") else share
        if not 0 <= share < 1:
            raise InputError(f"{wanted}; a rate must be below 1, and a number of labels is whole: 1, not 1.0")
        return LabelErrors(rate=float(share))

    @staticmethod
    def behind(bound: Bound) -> LabelErrors:
        """Those that the bound was corrected for."""
        return LabelErrors(bound.details.get("label_errors", 0), bound.details.get("label_error_rate", 0.0))

    @property
    def any(self) -> bool:
        """Whether some labels may be wrong."""
        return self.count > 0 or self.rate > 0

    def fewer(self, right: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
        """The first `count` of the right answers taken for wrong: at every time that many fewer are right, or none.

        >>> LabelErrors(count=1).fewer(np.array([False, True, True])).tolist()
        [False, False, True]
        """
        if not self.count:
            return right
        return right & (np.cumsum(right) > self.count)

    def corrected(self, bound: Bound, uncorrected: float | None = None) -> Bound:
        """The bound less the rate, with what is assumed of the labels; a count is in its value already.

        `uncorrected`: what it would be if the labels were right.
        """
        if not self.any:
            return bound
        said = (
            f"at most {self.count} of the {bound.n} labels {'is' if self.count == 1 else 'are'} wrong"
            if self.count
            else f"a label is wrong with probability at most {self.rate:g}"
        )
        kept = tuple(text for text in bound.assumptions if text != LABELS_RIGHT)
        cost = {"label_errors": self.count} if self.count else {"label_error_rate": self.rate}
        return replace(
            bound,
            value=max(0.0, bound.value - self.rate),
            assumptions=(*kept, said),
            details={
                **bound.details,
                **cost,
                "uncorrected": bound.value if uncorrected is None else uncorrected,
            },
        )
