"""Whatever holds numbers, as a plain numpy array; refused where something would be lost on the way.

Lists, numpy arrays, tensors of torch (also those that require a gradient), frames and series of pandas and polars, and
what else has `__array__`. Bytes in foreign order, bfloat16 and float8 become numpy's own, which hold them exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from infimum.errors import InputError

NO_ARRAYS = (str, bytes, bytearray, dict, set, frozenset)
"""What numpy would make an array of one object of."""


def effective_number(total: Any, squared: Any) -> Any:
    """Kish's effective number of inputs (Σw)²/Σw², elementwise, of these sums; 0 where no input has weight.

    >>> float(effective_number(3.0, 3.0)), float(effective_number(3.0, 5.0))
    (3.0, 1.8)
    """
    total, squared = np.asarray(total, dtype=np.float64), np.asarray(squared, dtype=np.float64)
    return np.divide(total**2, squared, out=np.zeros_like(squared), where=squared > 0)


def as_array(values: Any, what: str) -> npt.NDArray[Any]:
    """The same values as a numpy array, without a copy where they are one already.

    Raises InputError for what is no array, for masked entries, which would come back, and for numbers of more
    digits than float64 has.

    >>> as_array([[1.0, 2.0]], "logits").shape
    (1, 2)
    >>> as_array(np.arange(2, dtype=">i4"), "labels").dtype.isnative
    True
    """
    if values is None or isinstance(values, NO_ARRAYS) or hasattr(values, "__fspath__"):
        raise InputError(f"{what} must be an array, not {_kind(values)}{_reading(values)}")
    if isinstance(values, np.ma.MaskedArray):
        _check_unmasked(values, what)
        values = values.data
    elif isinstance(values, list | tuple) and any(isinstance(row, np.ma.MaskedArray) for row in values):
        return as_array(_stacked(values, what), what)  # numpy would forget the masks of the rows
    array = values if type(values) is np.ndarray else _converted(values, what)
    if array.dtype.type.__module__.partition(".")[0] == "ml_dtypes":
        array = array.astype(np.float32)  # bfloat16, float8 and smaller: exactly
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype == np.longdouble and array.dtype.itemsize > 8:
        array = _doubles(array, what)
    return array


def _converted(values: Any, what: str) -> npt.NDArray[Any]:
    of_torch = type(values).__module__.partition(".")[0] == "torch" and hasattr(values, "detach")
    try:
        return np.asarray(_numpy_of_torch(values) if of_torch else values)
    except MemoryError:
        raise
    except Exception as error:  # what `__array__` of others raises has no common class
        raise InputError(f"{what}: {_kind(values)} cannot be read as an array ({error})") from error


def _numpy_of_torch(tensor: Any) -> Any:
    """A tensor's values, off its graph and its device; bfloat16 and float8, which numpy lacks, as float32."""
    import torch

    tensor = tensor.detach().cpu()
    known = (torch.float16, torch.float32, torch.float64)
    return (
        tensor.float() if tensor.dtype.is_floating_point and tensor.dtype not in known else tensor
    ).numpy()


def _stacked(rows: Any, what: str) -> np.ma.MaskedArray[Any, Any]:
    try:
        return np.ma.stack(rows)
    except (ValueError, TypeError) as error:
        raise InputError(f"{what}: masked rows cannot be read as an array ({error})") from error


def _check_unmasked(values: np.ma.MaskedArray[Any, Any], what: str) -> None:
    masked = np.argwhere(np.ma.getmaskarray(values))
    if len(masked):
        at = ", column ".join(str(i) for i in masked[0])
        raise InputError(
            f"{what} has {len(masked)} masked entries, the first in row {at}; fill them with what is meant: a mask "
            "does not go through a calculation"
        )


def _doubles(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    with np.errstate(over="ignore"):
        found = array.astype(np.float64)
    if not ((found == array) | np.isnan(array)).all():
        raise InputError(
            f"{what} holds {array.dtype} numbers with more digits than float64, and they would be rounded; if that is "
            "meant, pass .astype(np.float64)"
        )
    return found


def _kind(values: Any) -> str:
    kind = type(values)
    return "None" if values is None else kind.__name__ if kind.__module__ == "builtins" else _name(kind)


def _name(kind: type) -> str:
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def _reading(values: Any) -> str:
    is_path = isinstance(values, str) or hasattr(values, "__fspath__")
    return "; a file is read by Outputs.load(path)" if is_path else ""
