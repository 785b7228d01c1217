"""Which of the tensors that a PyTorch network returns may be its logits, and under what name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infimum.errors import InputError
from infimum.models._torch.run import Tensor, import_torch

Path = tuple[Any, ...]
"""Keys, positions and attributes that lead to a tensor in what a network returned."""


def matrices(output: Any, rows: int) -> dict[Path, Tensor]:
    """Every output that may hold the classes of `rows` inputs, as (rows, K), by its path.

    Anything named `logits` is the only one; else all floating-point tensors in a tuple, list or mapping count.
    Raises InputError where there is none.
    """
    tensors = _tensors(output)
    found = {path: y for path, tensor in tensors if (y := as_matrix(tensor, rows)) is not None}
    if not found:
        shapes = ", ".join(str(tuple(tensor.shape)) for _, tensor in tensors) or "no numbers"
        raise InputError(
            f"the network returned {shapes} for a batch of {rows}; a classifier gives (n, K), one row per input"
        )
    return found


def take(output: Any, path: Path) -> Tensor:
    """The tensor at a path."""
    for key in path:
        output = output[key] if isinstance(output, Mapping | tuple | list) else getattr(output, key)
    return output


def matrix_at(output: Any, path: Path, rows: int) -> Tensor:
    """The output at a path as (rows, K); InputError for another shape."""
    tensor = take(output, path)
    matrix = as_matrix(tensor, rows)
    if matrix is None:
        raise InputError(
            f"the network returned shape {tuple(tensor.shape)} for a batch of {rows}; a classifier gives (n, K), one "
            "row per input (of a single input, pass a batch of one)"
        )
    return matrix


def as_matrix(tensor: Tensor, rows: int) -> Tensor | None:
    """An output as (rows, K): (n,) is one column, trailing axes of length one go; None for other shapes."""
    if rows == 1 and tensor.ndim <= 1:  # a squeeze() takes the axis of a single row as well
        return tensor.reshape(1, -1)
    if tensor.ndim == 0 or len(tensor) != rows:
        return None
    if tensor.ndim == 1:
        return tensor[:, None]
    if tensor.numel() == rows * tensor.shape[1]:
        return tensor.reshape(tensor.shape[:2])
    return None


def path_name(path: Path) -> str:
    """An output's name in messages: `[1]`, `['aux']`, `.logits`.

    >>> path_name((0, "aux"))
    "[0]['aux']"
    """
    return "".join(f"[{key!r}]" for key in path) or "the output"


def _tensors(output: Any) -> list[tuple[Path, Tensor]]:
    torch = import_torch()
    if isinstance(output, torch.Tensor):
        return [((), output)] if output.is_floating_point() else []
    if isinstance(output, Mapping):
        items = [("logits", output["logits"])] if "logits" in output else list(output.items())
    elif isinstance(getattr(output, "logits", None), torch.Tensor):
        items = [("logits", output.logits)]
    elif isinstance(output, tuple | list):
        items = list(enumerate(output))
    else:
        raise InputError(
            f"the network returned a {type(output).__name__}; a tensor of logits, a tuple, a dict or an object with "
            ".logits was expected"
        )
    return [
        ((key, *path), tensor)
        for key, value in items
        if isinstance(value, torch.Tensor | Mapping | tuple | list)
        for path, tensor in _tensors(value)
    ]
