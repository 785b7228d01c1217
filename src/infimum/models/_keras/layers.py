"""Finding the prediction layer of a Keras model: from its last operation back through softmax and the like to Dense."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError

PASSES = (
    "Dropout",
    "AlphaDropout",
    "GaussianDropout",
    "GaussianNoise",
    "ActivityRegularization",
    "Flatten",
    "Reshape",
    "Identity",
    "Squeeze",
)
"""Operations that leave values as they are, when the network is used."""

ENDS = {"softmax": "softmax", "logsoftmax": "log_softmax", "log_softmax": "log_softmax", "sigmoid": "sigmoid"}


@dataclass(eq=False)
class Tail:
    """How a model ends: `dense` (None with the reason `why`), then `end`, done by the operation `end_op`.

    `scale` and `offset` are what rescaling layers between the two do. `operations` are all of the model's.
    """

    operations: list[Any]
    dense: Any = None
    end: str = ""
    end_op: Any = None
    scale: float = 1.0
    offset: float = 0.0
    why: str = ""

    def layer(self) -> tuple[Array, Array]:
        """Weight (K, d) and bias (K,) from the features to the logits."""
        weight = to_numpy(self.dense.kernel).astype(np.float64).T
        bias = to_numpy(self.dense.bias).astype(np.float64) if self.dense.use_bias else np.zeros(len(weight))
        return self.scale * weight, self.scale * bias + self.offset

    @property
    def coarse(self) -> bool:
        """Whether the end of the model computes in half precision."""
        op = self.dense or self.end_op
        return getattr(op, "compute_dtype", "float32") in ("float16", "bfloat16")

    def find(self, name: str) -> Any:
        """A Dense layer by name; InputError if there is none."""
        dense = [op for op in self.operations if is_dense(op)]
        for op in dense:
            if op.name == name:
                return op
        known = ", ".join(op.name for op in dense) or "none"
        raise InputError(
            f"head_layer {name!r} is not a Dense layer of the model; its Dense layers are: {known}"
        )


def find_tail(model: Any) -> Tail:
    """How a model ends, read backwards from its last operation, nested models opened."""
    tail = Tail(_operations(model))
    for op in reversed(tail.operations):
        kind = type(op).__name__
        if is_dense(op):
            return _at_dense(tail, op)
        if kind in PASSES or _activation(op) == "linear":
            continue
        if kind == "Rescaling" and np.ndim(op.scale) == 0 and np.ndim(op.offset) == 0:
            tail.offset += tail.scale * float(op.offset)
            tail.scale *= float(op.scale)
            continue
        end = ENDS.get(_activation(op) or kind.lower())
        if end is None or tail.end or (tail.scale, tail.offset) != (1.0, 0.0):
            tail.why = f"the model ends in {kind} {op.name!r}, not in a Dense layer"
            return tail
        tail.end, tail.end_op = end, op
    tail.why = "the model has no Dense layer"
    return tail


def _at_dense(tail: Tail, dense: Any) -> Tail:
    name = dense.activation.__name__
    if getattr(dense, "quantization_mode", None):
        tail.why = f"Dense {dense.name!r} is quantised"
    elif not dense.built:
        raise InputError(f"Dense {dense.name!r} has no weights yet; call the model on data, or build it")
    elif name == "linear":
        tail.dense = dense
    elif name in ENDS and not tail.end and (tail.scale, tail.offset) == (1.0, 0.0):
        tail.dense, tail.end, tail.end_op = dense, ENDS[name], dense
    else:
        tail.why = f"Dense {dense.name!r} has the activation {name}, not softmax, sigmoid or none"
    return tail


def _operations(model: Any) -> list[Any]:
    """The operations of a model in order, those of nested models in their place."""
    found: list[Any] = []
    for op in getattr(model, "operations", None) or model.layers:
        found.extend(_operations(op) if hasattr(op, "layers") else [op])
    return [op for op in found if type(op).__name__ != "InputLayer"]


def _activation(op: Any) -> str:
    return str(getattr(op.activation, "__name__", "")) if type(op).__name__ == "Activation" else ""


def is_dense(op: Any) -> bool:
    """Whether an operation is a Dense layer."""
    import keras

    return isinstance(op, keras.layers.Dense)


def to_numpy(tensor: Any) -> Array:
    """A tensor of any backend as a numpy array; bfloat16, which numpy does not have, as float32."""
    import keras

    tensor = keras.ops.convert_to_tensor(tensor)  # of a variable, its value
    if keras.backend.standardize_dtype(tensor.dtype) == "bfloat16":
        tensor = keras.ops.cast(tensor, "float32")
    if hasattr(tensor, "detach"):  # torch: without the copy that Keras makes, of which numpy 2 warns
        return np.asarray(tensor.detach().cpu().numpy())
    return np.asarray(keras.ops.convert_to_numpy(tensor))
