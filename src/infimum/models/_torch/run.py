"""PyTorch's side of a batch: numpy in, tensors on a device, the network run, numpy out, errors that say what to do."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from infimum._checks import Array
from infimum.errors import InputError, MissingExtraError

Tensor = Any
"""A torch.Tensor; torch is imported only when used, so the type cannot be named here."""

TOLERANCES = {"torch.float64": 1e-9, "torch.float32": 1e-5, "torch.float16": 4e-3, "torch.bfloat16": 2e-2}
"""Relative rounding that a network's number format may show between two ways of computing the same."""


OLDEST = (2, 6)
"""Before this version of PyTorch, files read with `weights_only=True` could be made to run code."""


def import_torch() -> Any:
    """The torch module; MissingExtraError with the command that installs it, InputError if it is too old to be safe."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("A PyTorch network", "torch") from error
    if tuple(map(int, re.findall(r"\d+", torch.__version__)[:2])) < OLDEST:
        raise InputError(
            f"PyTorch {torch.__version__} is installed, which files of weights can make run code; install "
            f"{'.'.join(map(str, OLDEST))} or newer: pip install 'infimum[torch]'"
        )
    return torch


def check_device(device: str) -> Any:
    """The torch.device of "cpu", "cuda", "cuda:1" or "mps"; InputError if this machine has none."""
    torch = import_torch()
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InputError(f"device must be cpu, cuda, cuda:N or mps, not {device!r}") from error
    if found.type not in ("cpu", "cuda", "mps"):
        raise InputError(f"device must be cpu, cuda, cuda:N or mps, not {device!r}")
    if found.type == "cuda":
        with (
            warnings.catch_warnings()
        ):  # torch warns about drivers that are too old; the error below says enough
            warnings.simplefilter("ignore")
            count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if (found.index or 0) >= count:
            raise InputError(
                f"device {device!r} was asked for, but PyTorch {torch.__version__} sees {count} CUDA devices; "
                "install a build of PyTorch for your CUDA driver, or use device 'cpu'"
            )
    if found.type == "mps" and not torch.backends.mps.is_available():
        raise InputError("device 'mps' was asked for, but PyTorch sees no Apple GPU; use device 'cpu'")
    return found


def to_tensors(inputs: Any, device: Any, dtype: Any) -> tuple[tuple[Tensor, ...], dict[str, Tensor]]:
    """A batch as positional and keyword tensors on `device`; floats become `dtype`, integers stay what they are.

    An array or tensor is the one input, a tuple several inputs in order, a mapping inputs by name.
    """
    if isinstance(inputs, Mapping):
        return (), {str(key): to_tensor(value, device, dtype, str(key)) for key, value in inputs.items()}
    if isinstance(inputs, tuple):
        return tuple(to_tensor(value, device, dtype, f"input {i}") for i, value in enumerate(inputs)), {}
    return (to_tensor(inputs, device, dtype, "the inputs"),), {}


def to_tensor(values: Any, device: Any, dtype: Any, what: str) -> Tensor:
    """One input as a tensor of its own on `device`: a network that works in place must not change the user's data."""
    torch = import_torch()
    foreign = isinstance(values, torch.Tensor)
    if not foreign:
        array = np.asarray(values)
        if array.dtype.kind not in "fiub":
            raise InputError(f"{what} must be numbers, not {array.dtype}")
        if array.dtype.kind == "u" and array.dtype.itemsize > 1:
            array = array.astype(np.int64)  # torch computes with few unsigned types
        values = torch.from_numpy(array.astype(array.dtype.newbyteorder("="), order="C"))
    if values.ndim == 0:
        raise InputError(f"{what} is a single number; a batch has one row per input")
    return values.detach().to(device, dtype if values.is_floating_point() else None, copy=foreign)


def to_numpy(tensor: Tensor) -> Array:
    """A tensor as numpy; half precision becomes float32, which holds it exactly."""
    torch = import_torch()
    tensor = tensor.detach()
    if tensor.dtype in (torch.float16, torch.bfloat16):
        tensor = tensor.float()
    array: Array = tensor.cpu().numpy()
    return array


def describe(inputs: Any) -> str:
    """Types and shapes of a batch, for messages."""
    if isinstance(inputs, Mapping):
        return ", ".join(f"{key}: {describe(value)}" for key, value in inputs.items())
    if isinstance(inputs, tuple):
        return ", ".join(describe(value) for value in inputs)
    values = inputs if hasattr(inputs, "shape") else np.asarray(inputs)
    return f"{str(values.dtype).removeprefix('torch.')} {tuple(values.shape)}"


def run_network(run: Callable[[], Any], tensors: Any, rows: int, expects: str) -> Any:
    """Call the network without gradients; what it raises becomes an InputError that says what it was given."""
    torch = import_torch()
    try:
        with torch.no_grad():
            return run()
    except InputError:
        raise
    except Exception as error:  # a network's forward is anybody's code and raises anything
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = next((line for line in lines if line.startswith("RuntimeError: ")), (lines or [""])[0])
        if isinstance(error, MemoryError | torch.OutOfMemoryError) or re.search("alloc.*memory", reason):
            raise InputError(
                f"out of memory with a batch of {rows} inputs; pass a smaller one: batch_size={max(1, rows // 2)} "
                f"(--network batch_size={max(1, rows // 2)})"
            ) from error
        raise InputError(
            f"the network cannot run this batch: {type(error).__name__}: {reason.removeprefix('RuntimeError: ')} "
            f"[got {describe(tensors)}{expects and f'; {expects}'}]"
        ) from error


def tolerance_of(*tensors: Tensor) -> float:
    """The rounding of the coarsest number format among tensors."""
    return max(TOLERANCES.get(str(tensor.dtype), 1e-5) for tensor in tensors)


def by_name(named: Mapping[str, Tensor], names: list[str]) -> list[Tensor]:
    """Tensors given by name, in the order of a graph's inputs; InputError names what is missing."""
    missing, foreign = [name for name in names if name not in named], sorted(set(named) - set(names))
    if missing or foreign:
        raise InputError(f"the network takes inputs named {', '.join(names)}, got {', '.join(named)}")
    return [named[name] for name in names]
