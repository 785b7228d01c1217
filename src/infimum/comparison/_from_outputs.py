"""compare(): networks on the same inputs, input by input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infimum._checks import Real, check_kind, check_seed
from infimum.bounds._bound import check_confidence
from infimum.comparison._inputs import check_names, check_same, different_outputs, unchecked_outputs
from infimum.comparison._levels import ScoredOperation, levels_by
from infimum.comparison._ranking import PairTest, Test, assembled, certified
from infimum.comparison._results import Comparison, FigureName, Network
from infimum.comparison._statistics import (
    paired_accuracies,
    paired_means,
    paired_weighted,
    unpaired_accuracies,
    unpaired_means,
)
from infimum.conformal import RAPS, Score
from infimum.errors import InputError
from infimum.identity.rows import Rows
from infimum.identity.shared import copies_within
from infimum.io.findings import note
from infimum.io.provenance import made_with
from infimum.outputs._outputs import Outputs, check_one_network, check_outputs
from infimum.outputs._provenance import fingerprints


def compare(
    outputs: Sequence[Outputs],
    calibrations: Sequence[Outputs] | None = None,
    *,
    names: Sequence[str] | None = None,
    score: Score | None = None,
    randomize: bool = True,
    seed: int = 0,
    confidence: Real = 0.95,
    allow_different_inputs: bool = False,
) -> Comparison:
    """Compare networks on the same inputs: accuracies, bounds that hold together, and λ.

    Parameters
    ----------
    outputs, calibrations
        One of each for every network, rows in the same order. Accuracies are measured on the outputs if they
        have labels, else on the calibrations. λ needs calibrations, labelled and unseen by training.
    names
        Of the networks, all different (default: those of the outputs).
    score, randomize, seed
        As in `calibrate`; k_reg must be a number.
    confidence
        Of all bounds together, and for each figure of all differences together.
    allow_different_inputs
        Where the inputs differ, compare the figures alone, with wider intervals, instead of raising.

    Raises
    ------
    InputError
        For fewer than two networks, names or inputs that do not fit, or nothing to compare by.

    >>> import numpy as np
    >>> y = np.arange(200) % 4
    >>> wrong_thirds = np.where(np.arange(200) % 3, y, 0)
    >>> good, bad = Outputs(np.eye(4)[y], y, name="good"), Outputs(np.eye(4)[wrong_thirds], y, name="bad")
    >>> [(d.first, d.second, d.settled) for d in compare([bad, good]).differences]
    [('good', 'bad', True)]
    """
    for what, given in (("outputs", outputs), ("calibrations", calibrations or ())):
        check_kind(given, (list, tuple), what, "a list of Outputs, one for each network")
        for number, one in enumerate(given, 1):
            check_outputs(one, f"{what}: network {number}")
    confidence, seed = check_confidence(confidence), check_seed(seed)
    score = RAPS() if score is None else score
    names = check_names([o.name for o in outputs] if names is None else names, len(outputs))
    if calibrations is not None and len(calibrations) != len(outputs):
        raise InputError(f"{len(calibrations)} calibrations for {len(outputs)} networks; give one for each")
    outputs, again = _counted_once(outputs)
    sets = {"operation": outputs, **({} if calibrations is None else {"calibration": calibrations})}
    reason = next((why for what, s in sets.items() if (why := different_outputs(s, what)) is not None), None)
    warnings = check_same(reason, reason is None and unchecked_outputs(outputs), allow_different_inputs)
    labelled = outputs if any(o.labels is not None for o in outputs) else calibrations
    if labelled is None:
        raise InputError("the outputs have no 'labels' and there are no calibrations: nothing to compare by")
    scored: list[ScoredOperation] = []
    for own, calibration in zip(outputs, calibrations or (), strict=False):
        check_one_network(calibration, own)
        scored.append(levels_by(calibration, own, score, randomize, seed))
    weighted = labelled is outputs and any(o.weights is not None for o in outputs)
    networks = [
        _network(name, labelled[i], scored[i] if scored else None, weighted, confidence, len(names))
        for i, name in enumerate(names)
    ]
    weights = outputs[0].weights

    def accuracies(i: int, j: int, miss: float) -> Test:
        first, second = labelled[i].correct, labelled[j].correct
        if reason is not None:
            right, n = (int(first.sum()), int(second.sum())), (len(first), len(second))
            return Test(unpaired_accuracies(right, n, miss), "clopper_pearson_unpaired")
        if weighted and weights is not None:
            return Test(paired_weighted((first, second), weights, miss), "weighted_paired_t")
        only = (int((first & ~second).sum()), int((second & ~first).sum()))
        return Test(paired_accuracies(*only, len(first), miss), "mcnemar_exact", only)

    def lambdas(i: int, j: int, miss: float) -> Test:
        a, b = scored[i], scored[j]
        if reason is not None:
            return Test(unpaired_means(a.value - b.value, (a.error, b.error), miss), "normal_unpaired")
        interval = paired_means((a.levels, b.levels), weights, (a.exceeded, b.exceeded), miss)
        return Test(interval, "paired_t")

    tests: dict[FigureName, PairTest] = {"lambda": lambdas} if scored else {}
    told = [note("measured-on", what="operation" if labelled is outputs else "calibration")]
    if again:
        told.append(note("repeated-inputs-left-out", again=again, n=len(outputs[0])))
    if weighted:
        told.append(note("weighted-uncertified"))
    if weighted and reason is not None:
        told.append(note("weighted-untested"))
    else:
        tests = {"accuracy": accuracies, **tests}
    return assembled(
        networks,
        tests,
        confidence,
        paired=reason is None,
        findings=[*warnings, *told],
        provenance=made_with(
            seed,
            inputs={
                name: {what: fingerprints(s[i]) for what, s in sets.items()} for i, name in enumerate(names)
            },
        ),
    )


def _counted_once(outputs: Sequence[Outputs]) -> tuple[Sequence[Outputs], int]:
    """Outputs without inputs that all networks were given again, and how many those were; weights keep them all."""
    if any(o.weights is not None or len(o) != len(outputs[0]) for o in outputs):
        return outputs, 0
    repeated = [copies_within(Rows.of(o), o.name, labelled=o.labels is not None).mask for o in outputs]
    again = np.logical_and.reduce(repeated)
    return ([o.taken(~again) for o in outputs] if again.any() else outputs), int(again.sum())


def _network(
    name: str,
    labelled: Outputs,
    scored: ScoredOperation | None,
    weighted: bool,
    confidence: float,
    networks: int,
) -> Network:
    """One network's figures; those that need labels are None where it has none."""
    value, error = (None, None) if scored is None else (scored.value, scored.error)
    if labelled.labels is None:
        return Network(name, lambda_=value, lambda_error=error)
    right, n = int(labelled.correct.sum()), len(labelled)
    return Network(
        name=name,
        accuracy=labelled.accuracy if weighted else right / n,
        n_labelled=n,
        certified=None if weighted else certified(right, n, confidence, networks),
        lambda_=value,
        lambda_error=error,
    )
