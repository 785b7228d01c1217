"""The sampling process: rules, history, Ctrl-C, memory, and standard errors that cover."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from conftest_types import Toy

from infimum import Head, InputError, Stopping
from infimum.conformal import Calibration, LambdaSummary, calibrate
from infimum.manifold import KernelLaw, fit_gmm, fit_kernel
from infimum.manifold._sampling import HISTORY, RunningLambda, sample_lambda


@pytest.fixture(scope="module")
def parts(toy: Toy) -> tuple[KernelLaw, Head, Calibration]:
    rng = np.random.default_rng(3)
    labelled = toy.outputs(300, rng)
    x = toy.features(500, rng)
    return (
        fit_kernel(x, toy.head.logits(x).argmax(axis=1)),
        toy.head,
        calibrate(labelled.logits, labelled.labels),
    )


def test_standard_error_rule(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    run = sample_lambda(*parts, Stopping("se", tolerance=1e-3, batch=5000))
    assert run.converged
    assert run.summary.sampling_error <= 1e-3
    assert len(run.history) >= 2
    assert run.history[-2].standard_error > 1e-3 or len(run.history) == 2
    loose = sample_lambda(*parts, Stopping("se", tolerance=0.4, batch=50))
    assert loose.summary.n == 100  # two batches at least


def test_difference_rule_is_the_papers(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    run = sample_lambda(*parts, Stopping("difference", tolerance=1e-4, batch=500))
    values = [batch.value for batch in run.history]
    moves = np.abs(np.diff(values))
    assert run.converged
    assert moves[-1] <= 1e-4
    assert (moves[:-1] > 1e-4).all()


def test_sample_budget(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    run = sample_lambda(*parts, Stopping("samples", max_samples=1234, batch=500))
    assert (run.summary.n, run.converged) == (1234, True)
    assert [batch.n for batch in run.history] == [500, 1000, 1234]


def test_cap_ends_every_rule_unconverged(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    run = sample_lambda(*parts, Stopping("se", tolerance=1e-9, max_samples=3000, batch=1000))
    assert (run.summary.n, run.converged) == (3000, False)


def test_time_budget(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    run = sample_lambda(*parts, Stopping("time", seconds=0.05, batch=200))
    assert run.converged
    assert run.summary.n >= 200


def test_same_seed_same_result(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    stop = Stopping("samples", max_samples=2000)
    one, two, three = (sample_lambda(*parts, stop, seed=s).summary.value for s in (1, 1, 2))
    assert one == two != three


def test_interrupt_keeps_whole_batches(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    def stop_after_three(batch: RunningLambda) -> None:
        if batch.n >= 3000:
            raise KeyboardInterrupt

    run = sample_lambda(*parts, Stopping("se", tolerance=1e-9, batch=1000), progress=stop_after_three)
    assert (run.summary.n, run.converged, run.interrupted) == (3000, False, True)
    assert run.history[-1].n == 3000


@pytest.mark.usefixtures("without_type_checks")
def test_history_stays_short(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    run = sample_lambda(*parts, Stopping("samples", max_samples=3 * HISTORY, batch=1))
    assert len(run.history) <= HISTORY
    assert run.history[-1].n == 3 * HISTORY
    assert run.history[-1].value == run.summary.value


def test_memory_is_that_of_a_batch(
    parts: tuple[KernelLaw, Head, Calibration], monkeypatch: pytest.MonkeyPatch
) -> None:
    # How many batches are in flight is a matter of luck (at most two: test_threads); one after the other is not.
    monkeypatch.setattr("infimum.manifold._sampling.read_ahead", lambda batches, most: batches)

    def peak(samples: int) -> int:
        tracemalloc.start()
        sample_lambda(*parts, Stopping("samples", max_samples=samples, batch=10_000))
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(20_000)  # what is imported on the way counts in the first
    assert peak(400_000) < 1.2 * peak(60_000)


def test_misfits_are_refused(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    law, _, cal = parts
    with pytest.raises(InputError, match="features"):
        sample_lambda(law, Head(np.ones((4, 5))), cal)
    with pytest.raises(InputError, match="classes"):
        sample_lambda(law, Head(np.ones((3, 6))), cal)
    for bad in ({"rule": "never"}, {"tolerance": 0}, {"batch": 0}, {"max_samples": 0}, {"seconds": -1}):
        with pytest.raises(Exception, match=r"must be|Type-check"):
            Stopping(**bad)  # type: ignore[arg-type]


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["kernel", "gmm"])
def test_standard_error_covers_on_samples(toy: Toy, kind: str) -> None:
    """300 draws of calibration (200) and manifold data (150), 4,000 samples each: ± 1.96 total covers 95 %.

    The truth is λ's expectation on the toy's own law of features, from one run over 400,000 real inputs per
    calibration on average: the grand mean over 300 calibrations. Hits are Binomial(300, .95): .9 lies below its
    1e-4 quantile of .897 rounded up; above .99 the error would be far too wide. The manifold part is what makes
    it: without it coverage is far lower, which the last line asserts.
    """
    found, truth = [], []
    big = toy.features(20_000, np.random.default_rng(99))
    big_logits = toy.head.logits(big)
    for seed in range(300):
        rng = np.random.default_rng([seed, 31])
        labelled, x = toy.outputs(200, rng), toy.features(150, rng)
        cal = calibrate(labelled.logits, labelled.labels, seed=seed)
        logits = toy.head.logits(x)
        predicted = logits.argmax(axis=1)
        law = fit_kernel(x, predicted) if kind == "kernel" else fit_gmm(x, predicted, covariance="tied")
        run = sample_lambda(law, toy.head, cal, Stopping("samples", max_samples=4000), seed=seed)
        behind = LambdaSummary(cal.n)
        behind.add(cal.top_two(logits))
        error = run.summary.standard_error(manifold=behind.sampling_error)
        found.append((run.summary.value, error.total, np.hypot(error.calibration, error.sampling)))
        everything = LambdaSummary(cal.n)
        everything.add(cal.top_two(big_logits))
        truth.append(everything.value)
    value, total, without = np.array(found).T
    off = np.abs(value - np.mean(truth))
    assert 0.9 <= (off <= 1.96 * total).mean() <= 0.99
    assert (off <= 1.96 * without).mean() < (off <= 1.96 * total).mean() - 0.05


def test_sobol_points_follow_the_law(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    """Same mean and covariance as independent samples, for the kernel and the mixture, pushed forward or not."""
    kernel, head, _ = parts
    x = kernel.points
    for law in (kernel, fit_gmm(x, head.logits(x).argmax(axis=1)), kernel.push_forward(head)):
        rng = np.random.default_rng(0)
        even, u = law.sample_evenly(2**14, rng)
        plain = law.sample(100_000, rng)
        assert ((u >= 0) & (u < 1)).all()
        assert abs(u.mean() - 0.5) < 1e-3
        # Five standard errors of the independent samples' mean; Sobol's own is smaller.
        error = plain.std(axis=0) / np.sqrt(len(plain))
        assert (np.abs(even.mean(axis=0) - plain.mean(axis=0)) < 5 * error + 1e-9).all()
        scale = np.sqrt(np.outer(plain.var(axis=0), plain.var(axis=0)))
        assert (np.abs(np.cov(even.T) - np.cov(plain.T)) < 0.05 * scale).all()


@pytest.mark.usefixtures("without_type_checks")
@pytest.mark.slow
def test_sobol_needs_fewer_samples_and_its_error_is_honest(
    parts: tuple[KernelLaw, Head, Calibration],
) -> None:
    """Over 200 seeds ± 1.96 errors hold λ, and the spread is that of eight times as many independent samples."""
    rule = Stopping("samples", max_samples=8 * 512, batch=512)
    even = [sample_lambda(*parts, rule, seed=seed, draw="sobol") for seed in range(200)]
    plain = [sample_lambda(*parts, rule, seed=seed) for seed in range(200)]
    values = np.array([run.summary.value for run in even])
    truth = sample_lambda(
        *parts, Stopping("samples", max_samples=2**21, batch=2**16), draw="sobol"
    ).summary.value
    errors = np.array([run.sampling_error for run in even])
    covered = int((np.abs(values - truth) <= 1.96 * errors).sum())
    # At a true 95 % fewer than 180 of 200 have a probability of 0.2 %.
    assert covered >= 180
    ratio = np.var([run.summary.value for run in plain]) / np.mean((values - truth) ** 2)
    assert ratio > 3  # a ratio of two variances of 200 draws: a true 4 shows less than 3 in 2 % of the runs


def test_sobol_error_shows_between_batches_only(parts: tuple[KernelLaw, Head, Calibration]) -> None:
    one = sample_lambda(*parts, Stopping("samples", max_samples=256, batch=256), draw="sobol")
    assert one.sampling_error == 0.5
    run = sample_lambda(*parts, Stopping("se", tolerance=0.4, batch=100), draw="sobol")
    assert (run.summary.n, run.converged) == (8 * 64, True)  # a power of two, eight replicates
    again = sample_lambda(*parts, Stopping("se", tolerance=0.4, batch=100), draw="sobol")
    assert again.summary.value == run.summary.value
