"""The prediction layer: features (n, d) -> logits (n, K), and what it does to a Gaussian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from infimum._checks import Array, check_finite, check_matrix, check_numbers, check_vector
from infimum._text import listed
from infimum.errors import InputError
from infimum.io.files import array_names, read_arrays, write_npz, write_safetensors


@dataclass(frozen=True, eq=False)
class Head:
    """A linear prediction layer z = W φ + b: `weight` (K, d), `bias` (K,), kept in float64.

    Raises InputError for other shapes or numbers that are not finite.

    >>> import numpy as np
    >>> Head(np.eye(2), np.zeros(2)).logits(np.array([[3.0, 4.0]])).tolist()
    [[3.0, 4.0]]
    """

    weight: Array
    bias: Array | None = None
    name: str = "head"

    def __post_init__(self) -> None:
        weight = check_matrix(self.weight, f"{self.name}: weight").astype(np.float64)
        if len(weight) == 1:
            raise InputError(
                f"{self.name}: weight has one row. For a network with a single sigmoid output, stack a row of "
                "zeros before it: weight [0, w], bias [0, b]"
            )
        bias = np.zeros(len(weight)) if self.bias is None else self.bias
        bias = check_vector(check_numbers(bias, f"{self.name}: bias"), f"{self.name}: bias", len(weight))
        check_finite(bias, f"{self.name}: bias")
        bias = bias.astype(np.float64)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "bias", bias)

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.weight.shape[0])

    @property
    def n_features(self) -> int:
        """D."""
        return int(self.weight.shape[1])

    def logits(self, features: Array) -> Float[np.ndarray, "n K"]:
        """Logits (n, K) of features (n, d), in float64."""
        features = check_numbers(features, "features")
        if features.ndim != 2 or features.shape[1] != self.n_features:
            raise InputError(
                f"features of shape {features.shape} do not fit the head, which reads (n, {self.n_features})"
            )
        with np.errstate(invalid="ignore"):
            logits: Array = features.astype(np.float64, copy=False) @ self.weight.T + np.asarray(self.bias)
        if not np.isfinite(logits.sum()):  # cheaper than a look at all features each time
            check_finite(features, "features")
        return logits

    @staticmethod
    def load(path: str | Path) -> Head:
        """Read `weight` (K, d) and `bias` (K,) from npz, safetensors or Parquet; no bias means zero."""
        arrays = read_arrays(path, ("weight", "bias"))
        if "weight" not in arrays:
            raise InputError(f"{path} has no 'weight'; it holds: {listed(array_names(path))}")
        return Head(arrays["weight"], arrays.get("bias"), name=str(path))

    def save(self, path: str | Path) -> None:
        """Write to npz or safetensors (by the name's ending), replaced in one move."""
        arrays = {"weight": self.weight, "bias": np.asarray(self.bias)}
        if Path(path).suffix == ".safetensors":
            write_safetensors(path, arrays, {})
        elif Path(path).suffix == ".npz":
            write_npz(path, arrays)
        else:
            raise InputError(f"{path}: the name must end in .npz or .safetensors")


@dataclass(frozen=True, eq=False)
class HeadFunction:
    """A prediction part that is more than one linear layer: `function` maps features (n, d) to logits (n, K).

    Nothing can be pushed through it exactly, so sampling happens in feature space.

    >>> import numpy as np
    >>> HeadFunction(lambda x: x**2, n_features=2, n_classes=2).logits(np.array([[3.0, 4.0]])).tolist()
    [[9.0, 16.0]]
    """

    function: Callable[[Array], Array]
    n_features: int
    n_classes: int
    name: str = "head"

    def logits(self, features: Array) -> Float[np.ndarray, "n K"]:
        """Logits (n, K) of features (n, d), in float64."""
        logits = np.asarray(self.function(features), dtype=np.float64)
        if logits.shape != (len(features), self.n_classes):
            raise InputError(f"{self.name} gave shape {logits.shape} for features of shape {features.shape}")
        return logits


AnyHead = Head | HeadFunction
