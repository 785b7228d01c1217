"""Any function from a batch to logits: JAX, Flax, TensorFlow, a remote endpoint, anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array, check_finite
from infimum.data._data import count_rows, to_numpy
from infimum.errors import InputError
from infimum.head import AnyHead, Head, HeadFunction
from infimum.models._cut import Cut
from infimum.models._endings import ROWS_NEEDED, look_like_probabilities, two_logits, warn_of_posteriors
from infimum.outputs._outputs import log_probabilities

TOLERANCE = 1e-3
"""Largest difference between a fitted head and the logits, of the logits' size."""


def cut_callable(
    function: Callable[[Any], Any],
    head: AnyHead | None = None,
    example: Any = None,
    probabilities: bool = False,
) -> Cut:
    """A function that maps a batch to logits (n, K), or to a pair (features (n, d), logits (n, K)).

    What it returns is made numpy arrays by np.asarray. With pairs, `head` is the prediction layer; if it is not
    given, it is fitted by least squares on `example`, a batch of more than d + 1 inputs, each of which is predicted
    from the others to check it; every batch that is run later proves it anew. With `probabilities` the function
    returns probabilities in the place of logits; beside features their logarithms, less their mean, are the logits,
    which a softmax does not notice. One column is a single sigmoid output: logits [0, z].

    Raises InputError for other shapes, for features and logits that no linear head connects, saying by how much
    they differ, and for probabilities where logits were promised.

    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> cut = cut_callable(lambda batch: (batch, batch @ np.eye(3)[:, :2] + 1), example=x)
    >>> np.allclose(cut.head.weight, np.eye(3)[:2]), np.allclose(cut.head.bias, 1)
    (True, True)
    """
    forward = _Function(function, probabilities)
    why = "the function returns no features, or neither a head nor an example to fit it on was passed"
    fitted = head is None
    if head is not None:
        if probabilities:
            head = _centred(head)
    elif example is not None:
        logits, features = forward(example)
        if features is None:
            why = "the function returns logits only; return a pair (features, logits) to sample features"
        else:
            head, why = fit_head(features, logits), ""
    forward.needs_features = head is not None
    return Cut(
        forward=forward,
        head=head,
        framework="callable",
        layer="" if head is None else head.name,
        why_no_head="" if head is not None else why,
        probabilities=probabilities and head is None,
        may_draw=True,
        fitted=fitted and head is not None,
    )


@dataclass(eq=False)
class _Function:
    """The user's function, with numpy arrays out and shapes checked."""

    function: Callable[[Any], Any]
    probabilities: bool
    needs_features: bool = False
    told: bool = False
    alike: int = 0

    def __call__(self, inputs: Any) -> tuple[Array, Array | None]:
        result = self._call(inputs)
        pair = isinstance(result, tuple | list) and len(result) == 2 and np.ndim(result[0]) >= 2
        features = _array(result[0], "features") if pair else None
        outputs = _array(result[1] if pair else result, "logits")
        if features is None and self.needs_features:
            raise InputError(
                "the function returned logits only, but a head was passed: return (features, logits)"
            )
        if features is not None and (features.ndim != 2 or len(features) != len(outputs)):
            raise InputError(
                f"the function returned features of shape {features.shape} beside outputs of shape {outputs.shape}; "
                "features must be (n, d), one row per input"
            )
        if outputs.ndim <= 1 and count_rows(inputs) == 1:  # a squeeze takes the axis of a single row as well
            outputs = outputs.reshape(1, -1)
        single = outputs.ndim == 1 or (outputs.ndim == 2 and outputs.shape[1] == 1)
        if self.probabilities:
            if single:
                p = outputs.reshape(-1)
                outputs = np.stack([1 - p, p], axis=1)
            if features is None:
                return outputs, None
            logs, _ = log_probabilities(outputs, "the function's probabilities")
            return logs - logs.mean(axis=1, keepdims=True), features
        if single:
            if bool((outputs <= 1).all()):  # a probability of the second class, rather than its logit
                warn_of_posteriors(outputs.reshape(-1, 1), "the function")
            return two_logits(outputs), features
        if not self.told:
            self._tell(outputs)
        return outputs, features

    def _call(self, inputs: Any) -> Any:
        try:
            return self.function(inputs)
        except (InputError, MemoryError):
            raise
        except Exception as error:  # anybody's code raises anything
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise InputError(
                f"the function {name!r} failed on a batch of {count_rows(inputs)} inputs: {type(error).__name__}: "
                f"{error}"
            ) from error

    def _tell(self, outputs: Array) -> None:
        """Raise once enough rows, of however many batches, all look like probabilities; warn of what may be some."""
        if not look_like_probabilities(outputs):
            self.told = True
            warn_of_posteriors(outputs, "the function")
            return
        self.alike += len(outputs)
        if self.alike >= ROWS_NEEDED:
            raise InputError(
                "the function returned probabilities (rows from 0 to 1 that sum to 1), not logits; return the logits, "
                "or the probabilities' logarithms, which are logits too"
            )


def _array(values: Any, what: str) -> Array:
    """An array of real numbers; types that numpy does not have (bfloat16) become float32."""
    array: Array = to_numpy(values)
    if array.dtype.kind in "fiu":
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    try:
        if array.dtype.kind == "V":
            return array.astype(np.float32)
    except (TypeError, ValueError):
        pass
    raise InputError(
        f"the function must return {what} as numbers, not {array.dtype} (of {type(values).__name__})"
    )


def fit_head(features: Array, logits: Array) -> Head:
    """The linear head that maps features (n, d) to logits (n, K), by least squares.

    Each row's logits are predicted from all other rows, and must be what they are. Raises InputError if there are
    too few rows to tell, or if the two are not linear in each other.

    >>> x = np.random.default_rng(0).normal(size=(20, 2))
    >>> np.allclose(fit_head(x, x).weight, np.eye(2))
    True
    """
    check_finite(features, "example: features")
    check_finite(logits, "example: logits")
    x = np.column_stack([features, np.ones(len(features))]).astype(np.float64)
    z = logits.astype(np.float64)
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    # Dead or repeated features make x singular; what its rounding makes of that must not be inverted.
    kept = s > s[0] * max(x.shape) * np.finfo(features.dtype).eps
    u, s, vt = u[:, kept], s[kept], vt[kept]
    residual = z - u @ (u.T @ z)
    # Leaving row i out turns its residual e_i into e_i / (1 - h_i); h_i = 1 where the fit hangs on that row alone.
    alone = 1 - (u**2).sum(axis=1)
    tells = alone > 1e-6
    if tells.sum() <= len(x) / 2:
        raise InputError(
            f"example has {len(x)} inputs, too few to fit a head of {features.shape[1]} features and see whether it "
            f"is right; pass {2 * features.shape[1] + 10} or more, or pass head"
        )
    difference = float(np.abs(residual[tells] / alone[tells, None]).max())
    size = max(1.0, float(np.abs(z).max()))
    if difference > TOLERANCE * size:
        raise InputError(
            "features and logits are not linear in each other: predicted from the other inputs, they differ by up to "
            f"{difference:.3g} (the logits are up to {size:.3g}); return the input of the last linear layer and its "
            "output, or pass head (a HeadFunction for a head of several layers)"
        )
    fit = vt.T @ ((u.T @ z) / s[:, None])
    return Head(fit[:-1].T, fit[-1], name="the fitted head")


def _centred(head: AnyHead) -> AnyHead:
    """The head whose logits have mean 0 in each row: the same probabilities."""
    if isinstance(head, Head):
        bias = np.asarray(head.bias)
        return Head(head.weight - head.weight.mean(axis=0), bias - bias.mean(), name=head.name)

    def function(features: Array) -> Array:
        logits = head.logits(features)
        centred: Array = logits - logits.mean(axis=1, keepdims=True)
        return centred

    return HeadFunction(function, head.n_features, head.n_classes, name=head.name)
