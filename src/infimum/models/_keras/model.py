"""A Keras 3 model, of any backend, cut before its last Dense layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, log_softmax, softmax

from infimum._checks import Array
from infimum.errors import InputError, MissingExtraError
from infimum.head import AnyHead, Head, HeadFunction
from infimum.models._at_fault import at_fault
from infimum.models._cut import Cut, Forward
from infimum.models._endings import HALF, as_rows, classifier_logits, two_classes
from infimum.models._keras.layers import Tail, find_tail, is_dense, to_numpy
from infimum.models._keras.load import load_keras

FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "softmax": lambda z: softmax(z, axis=-1),
    "log_softmax": lambda z: log_softmax(z, axis=-1),
    "sigmoid": expit,
}

TOLERANCE = 1e-3
"""Largest difference between the end of the logits (a softmax, a sigmoid) and what the model gives; ten times
that in half precision."""


def cut_keras(model_or_path: Any, head_layer: str | None = None) -> Cut:
    """A Keras model, or a .keras file (read in safe mode), cut before its last Dense layer.

    Logits are those before a softmax or sigmoid, be it a layer or the Dense layer's activation; the first batch
    proves that they lead to the model's own output. A single output z is read as logits [0, z]. `head_layer`
    names a Dense layer further up; where more follows it, the head is a function. Batches are arrays (n, ...),
    or mappings of arrays by input name. While a batch runs, the layers' `call` is watched, and then restored.

    Raises InputError for a damaged file, one with layers that are not Keras's own, a layer that is not there,
    several outputs, and, when run, inputs that do not fit; MissingExtraError without Keras.
    """
    try:
        import keras  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name == "keras":
            raise MissingExtraError("reading Keras models", "keras") from error
        raise InputError(
            f"Keras runs on a backend, and {error.name} is not installed; install it, or set KERAS_BACKEND to the one "
            "that is (torch, jax, tensorflow)"
        ) from error
    if isinstance(model_or_path, str | Path):
        path = Path(model_or_path)
        with at_fault(path, "holds no model that can be cut"):
            return _cut(load_keras(path), head_layer)
    return _cut(model_or_path, head_layer)


def _cut(model: Any, head_layer: str | None) -> Cut:
    import keras

    if not isinstance(model, keras.Model):
        raise InputError(f"a keras.Model or the path of a .keras file is needed, not {type(model).__name__}")
    if len(getattr(model, "outputs", None) or [None]) > 1:
        raise InputError(
            f"the model has {len(model.outputs)} outputs; hand over one with the classes only: "
            "keras.Model(model.inputs, model.outputs[i])"
        )
    tail = find_tail(model)
    start = tail.dense if head_layer is None else tail.find(head_layer)
    head: AnyHead | None = None
    if start is not None and start is tail.dense:
        head = Head(*two_classes(*tail.layer()), name=f"Dense {start.name!r}")
    elif start is not None:
        head = _head_function(tail, start)
    candidates = ", ".join(op.name for op in tail.operations if is_dense(op)) or "none"
    shape = getattr(model, "input_shape", None)
    return Cut(
        forward=_forward(model, tail, start),
        head=head,
        framework="Keras",
        layer="" if start is None else f"Dense {start.name!r}",
        why_no_head="" if head is not None else f"{tail.why} (Dense layers: {candidates})",
        fixed_batch=shape[0] if isinstance(shape, tuple) and shape and isinstance(shape[0], int) else None,
        probabilities=None if head is None and not tail.end else False,
        may_draw=True,
        tolerance=HALF if tail.coarse else 0.0,
    )


def _forward(model: Any, tail: Tail, start: Any) -> Forward:
    watched = [op for op in (start, tail.dense, tail.end_op) if op is not None]
    proved = False

    def forward(inputs: Any) -> tuple[Array, Array | None]:
        nonlocal proved
        with _watching(watched) as seen, _no_gradients():
            output = _run(model, inputs)
            read = {key: to_numpy(tensor) for key, tensor in seen.items()}
        missing = [op.name for op in watched if id(op) not in read]
        if missing:
            raise InputError(
                f"the model did not use its layer {missing[0]!r}; name its prediction layer (head_layer)"
            )
        logits = _logits(tail, output, read)
        if not proved:
            _prove(tail, logits, output)
            proved = True
        known = bool(tail.end) or tail.dense is not None or start is not None
        logits = classifier_logits(logits, "the model", tail.end == "sigmoid", known)
        return logits, None if start is None else as_rows(read[id(start)])

    return forward


def _logits(tail: Tail, output: Array, read: Mapping[int, Array]) -> Array:
    """The logits of a batch: the model's output, or the end's input, or recomputed where Dense holds the end."""
    if not tail.end:
        return output
    if tail.end_op is not tail.dense:
        return read[id(tail.end_op)]
    weight, bias = tail.layer()
    logits: Array = as_rows(read[id(tail.dense)]).astype(np.float64) @ weight.T + bias
    return logits


def _prove(tail: Tail, logits: Array, output: Array) -> None:
    """The end of the logits is what the model gives."""
    if not tail.end:
        return
    ours, given = FUNCTIONS[tail.end](logits.astype(np.float64)).reshape(-1), output.reshape(-1)
    size = max(1.0, float(np.abs(given).max()))
    limit = TOLERANCE * size * (10 if tail.coarse else 1)
    gap = float(np.abs(ours - given).max()) if ours.shape == given.shape else np.inf
    if not gap <= limit:
        raise InputError(
            f"the cut is wrong: the {tail.end} of what {tail.end_op.name!r} reads differs from the model's output by "
            f"up to {gap:.3g}; other layers follow it. Hand over a function of your own (any callable)"
        )


def _run(model: Any, inputs: Any) -> Array:
    try:
        output = model(dict(inputs) if isinstance(inputs, Mapping) else np.asarray(inputs), training=False)
    except Exception as error:  # each backend has errors of its own, and so have layers of others
        shape = getattr(model, "input_shape", None)
        expected = "" if shape is None else f" (it expects {shape})"
        hint = (
            "; take a smaller batch (batch_size, --network batch_size=N)"
            if "out of memory" in str(error)
            else ""
        )
        raise InputError(f"the model cannot read the inputs{expected}{hint}: {error}") from error
    if isinstance(output, Mapping | tuple | list):
        raise InputError(
            f"the model gives a {type(output).__name__}; hand over one that gives the classes only"
        )
    return to_numpy(output)


@contextmanager
def _watching(operations: list[Any]) -> Iterator[dict[int, Any]]:
    """The first argument of each operation's last call, by its id. Works in nested and subclassed models alike."""
    seen: dict[int, Any] = {}
    unique = {id(op): op for op in operations}
    for key, op in unique.items():
        op.call = _watched(op.call, key, seen)
    try:
        yield seen
    finally:
        for op in unique.values():
            del op.call


def _watched(call: Callable[..., Any], key: int, seen: dict[int, Any]) -> Callable[..., Any]:
    def watched(x: Any, *args: Any, **options: Any) -> Any:
        seen[key] = x
        return call(x, *args, **options)

    return watched


def _no_gradients() -> AbstractContextManager[Any]:
    """Torch, unlike the other backends, keeps every activation for gradients unless told otherwise."""
    import keras

    if keras.backend.backend() != "torch":
        return nullcontext()
    import torch

    without: AbstractContextManager[Any] = torch.no_grad()
    return without


def _head_function(tail: Tail, start: Any) -> HeadFunction:
    """All that follows the input of `start`, one operation after the other, up to the logits."""
    import keras

    operations = tail.operations[next(i for i, op in enumerate(tail.operations) if op is start) :]
    if tail.end:
        operations = operations[: next(i for i, op in enumerate(operations) if op is tail.end_op)]
    name = f"the layers from Dense {start.name!r} on"

    def function(features: Array) -> Array:
        with _no_gradients():
            x = keras.ops.convert_to_tensor(features.astype(start.compute_dtype))
            for op in operations:
                x = op(x)
            values = to_numpy(x)
        if tail.end and tail.end_op is tail.dense:
            weight, bias = tail.layer()
            values = values.astype(np.float64) @ weight.T + bias
        return classifier_logits(values, name, tail.end == "sigmoid", known=True)

    width = int(start.kernel.shape[0])
    return HeadFunction(function, width, function(np.zeros((1, width))).shape[1], name=name)
