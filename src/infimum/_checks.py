"""Checks of arrays and numbers that come from outside; each raises InputError naming what, where and what to do."""

from __future__ import annotations

import math
import sys
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from infimum._arrays import as_array
from infimum.errors import InputError

Array = npt.NDArray[Any]
"""Any numpy array; shapes are said by jaxtyping where they are known."""

Real = float | int

LARGEST = 1e300
"""Logits beyond this overflow when two of them are subtracted; no network means them."""

MOST_CLASSES = 2**31
"""Class numbers are below this."""

WHOLE = 2**53
"""Whole numbers up to this are floats too; beyond, different ones become equal."""

SMALLEST = 30
"""Decimals below 1e-30 are refused: as exact fractions, tiny ones fill the memory."""

SINGLE_COLUMN = (
    "has one column, but a classifier needs at least two classes. For a network with a single sigmoid "
    "output z, pass the two logits [0, z]: np.column_stack([np.zeros_like(z), z]) "
    "(or probabilities [1 - p, p])"
)


def check_matrix(
    values: Any, what: str, columns: int | None = None, finite: bool = True, first_row: int = 0
) -> Array:
    """A non-empty two-dimensional array of finite real numbers, as it came; `columns` fixes its width.

    `finite=False` leaves the numbers themselves to a later `check_finite`, chunk by chunk. Errors number rows from
    `first_row`.

    >>> check_matrix([[1.0, 2.0]], "logits").shape
    (1, 2)
    """
    array = check_numbers(values, what)
    if array.ndim != 2:
        raise InputError(f"{what} must be two-dimensional (inputs x columns), not of shape {array.shape}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise InputError(f"{what} is empty (shape {array.shape})")
    if columns is not None and array.shape[1] != columns:
        raise InputError(f"{what} has {array.shape[1]} columns, expected {columns}")
    if finite:
        check_finite(array, what, first_row)
    return array


def check_numbers(values: Any, what: str) -> Array:
    """An array of real numbers, of any shape: floats or whole numbers, not truth values, text or dates.

    >>> check_numbers([1, 2], "weights").tolist()
    [1, 2]
    """
    array = as_array(values, what)
    if array.dtype.kind not in "fiu":
        raise InputError(f"{what} must hold numbers, not {array.dtype}")
    return array


def check_finite(array: Array, what: str, first_row: int = 0) -> None:
    """Raise if a row holds NaN, infinity or a number beyond ±1e300; the message names the first such row.

    Whole numbers beyond ±2^53 are refused too: as floats, different ones would be equal.

    >>> check_finite(np.array([[0.0, 1.0]]), "logits")
    """
    if array.dtype.kind != "f":
        if array.itemsize == 8 and array.size and max(int(array.max()), -int(array.min())) > WHOLE:
            raise InputError(
                f"{what} holds whole numbers beyond ±2^53; pass them as floats, if that is enough"
            )
        return
    step = max(1, 2**20 // max(1, array[:1].size))
    for start in range(0, len(array), step):
        block = array[start : start + step]
        # Extremes are cheaper than a mask of the whole block; NaN makes both comparisons false.
        if float(block.min()) >= -LARGEST and float(block.max()) <= LARGEST:
            continue
        with np.errstate(invalid="ignore"):
            bad = ~(np.abs(block.astype(np.float64)) <= LARGEST)
        row, *rest = (int(i) for i in np.argwhere(bad)[0])
        where = f"row {first_row + start + row}" + (f", column {rest[0]}" if rest else "")
        value = block[(row, *rest)]
        kind = "beyond ±1e300" if np.isfinite(value) else "not a finite number"
        # Rows with masked classes are inputs like the others: without them the rest is no random sample.
        advice = (
            "a masked class, if it is one, is not read; give a number far below the others, as -1e6, and keep the row"
            if value == -np.inf
            else "mend what made it; leaving out such rows selects, and no bound holds for what is left"
        )
        raise InputError(f"{what}: {where} is {value}, {kind}; {advice}")


def check_logits(
    values: Any, what: str = "logits", n_classes: int | None = None, finite: bool = True, first_row: int = 0
) -> Array:
    """Logits (n, K) with n ≥ 1 and K ≥ 2, finite, as they came.

    >>> check_logits([[0.0, 1.0], [2.0, 3.0]]).shape
    (2, 2)
    """
    array = check_matrix(values, what, finite=finite, first_row=first_row)
    if array.shape[1] == 1:
        raise InputError(f"{what} {SINGLE_COLUMN}")
    if n_classes is not None and array.shape[1] != n_classes:
        raise InputError(f"{what} has {array.shape[1]} classes, but the calibration has {n_classes}")
    return array


def check_vector(values: Any, what: str, n: int) -> Array:
    """A one-dimensional array with one entry per input."""
    array = as_array(values, what)
    if array.ndim != 1:
        raise InputError(f"{what} must be one-dimensional (one per input), not of shape {array.shape}")
    if len(array) != n:
        raise InputError(f"{what} has {len(array)} entries, but there are {n} inputs")
    return array


def check_text(array: Array, what: str) -> Array:
    """Text of letters that there are, where numpy keeps any 32 bits, or of ASCII bytes; other arrays pass as they are.

    >>> check_text(np.array(["a", "ü"]), "ids").tolist()
    ['a', 'ü']
    """
    if array.dtype.kind == "U" and array.size:
        codes = np.ascontiguousarray(array).view(np.dtype(np.uint32).newbyteorder(array.dtype.byteorder))
        if int(codes.max()) > 0x10FFFF:
            raise InputError(f"{what} is damaged: it holds signs that are no letters")
    if array.dtype.kind == "S" and array.size and np.ascontiguousarray(array).view(np.uint8).max() > 127:
        raise InputError(f"{what} holds bytes that are not ASCII; save text: np.char.decode(array, 'utf-8')")
    return array


def check_ids(values: Any, what: str, n: int) -> Array:
    """Ids (n,): text or numbers, none missing; bytes and Python objects become text.

    >>> check_ids(["a", "b"], "ids", 2).tolist()
    ['a', 'b']
    """
    array = check_text(check_vector(values, what, n), what)
    if array.dtype.kind == "O":
        missing = [i for i, v in enumerate(array) if v is None or type(v).__name__ in ("NAType", "NaTType")]
        missing += [i for i, v in enumerate(array) if isinstance(v, float) and math.isnan(v)]
        if missing:
            raise InputError(
                f"{what}: row {min(missing)} is missing; leave ids out, or give one to every row"
            )
        array = np.array([v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in array])
    elif array.dtype.kind == "S":
        array = array.astype(str)
    elif array.dtype.kind == "f":
        check_finite(array, what)
    elif array.dtype.kind not in "iuU":
        raise InputError(f"{what} must be text or whole numbers, not {array.dtype}")
    return array


def check_labels(values: Any, n: int, n_classes: int, what: str = "labels", first_row: int = 0) -> Array:
    """Labels (n,) as int64 in 0..K−1; whole numbers stored as floats are taken as the integers they are.

    >>> check_labels([0.0, 2.0], 2, 3).tolist()
    [0, 2]
    """
    array = as_array(values, what)
    if array.ndim == 2 and array.shape[1] == n_classes > 1:
        raise InputError(f"{what} has shape {array.shape}; one-hot labels? pass labels.argmax(axis=1)")
    array = check_vector(array, what, n)
    if array.dtype.kind not in "iufb":
        raise InputError(
            f"{what} must be whole numbers 0..{n_classes - 1} (class indices), not {array.dtype}"
        )
    if array.dtype.kind == "b" and n_classes > 2:
        raise InputError(
            f"{what} are true or false, but there are {n_classes} classes; is this what is right? Pass the class "
            f"indices 0..{n_classes - 1}"
        )
    if array.dtype.kind == "f":
        fractional = np.flatnonzero(~(np.isfinite(array) & (array == np.floor(array))))
        if len(fractional):
            row = int(fractional[0])
            raise InputError(
                f"{what}: row {first_row + row} is {array[row]}, not a whole number 0..{n_classes - 1}"
            )
    outside = np.flatnonzero((array < 0) | (array >= n_classes))
    if len(outside):
        row = int(outside[0])
        raise InputError(
            f"{what}: row {first_row + row} is {array[row]}, outside 0..{n_classes - 1} ({n_classes} classes)"
        )
    return array.astype(np.int64)


def check_predicted(values: Any, n: int, what: str = "predicted") -> Array:
    """Predicted classes (n,) as int64: whole numbers, 0 or more.

    >>> check_predicted([0, 2], 2).tolist()
    [0, 2]
    """
    return check_labels(check_vector(values, what, n), n, MOST_CLASSES, what)


def check_weights(values: Any, n: int | None, what: str = "weights") -> Array:
    """Weights (n,), n ≥ 1, of an operational profile: finite, none negative, not all zero; as float64.

    `n` None: of any number.

    >>> check_weights([1, 3], 2).tolist()
    [1.0, 3.0]
    """
    array = check_numbers(values, what)
    if array.ndim != 1 or not len(array):
        raise InputError(f"{what} must be one-dimensional and not empty, not of shape {array.shape}")
    if n is not None:
        check_vector(array, what, n)
    check_finite(array, what)
    if (array < 0).any():
        row = int(np.flatnonzero(array < 0)[0])
        raise InputError(f"{what}: row {row} is {array[row]}; weights cannot be negative")
    if not array.any():
        raise InputError(f"{what} are all zero")
    if not 1e-100 < float(array.max()) < 1e100:
        raise InputError(
            f"{what} are up to {array.max()}: only their ratios matter, so scale them to about 1"
        )
    return array.astype(np.float64)


def exact_fraction(value: Any, what: str, *, low: int = 0, high: int = 1, inside: bool = True) -> Fraction:
    """The decimal that was written, exactly: 0.7 is 7/10, not the float next to it (docs/method.md §2).

    >>> exact_fraction(0.7, "error")
    Fraction(7, 10)
    """
    try:
        if (
            not isinstance(value, Fraction)
            and "/" not in str(value)
            and Decimal(str(value)).adjusted() < -SMALLEST
        ):
            raise InputError(f"{what} must not be below 1e-{SMALLEST}, not {value}")
        fraction = value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError, InvalidOperation) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} must be a number, not {value!r}") from error
    if not (low < fraction < high if inside else low <= fraction <= high):
        raise InputError(
            f"{what} must be {'strictly ' if inside else ''}between {low} and {high}, not {value}"
        )
    return fraction


def check_kind(value: Any, kind: type | tuple[type, ...], what: str, wanted: str) -> None:
    """Raise InputError unless `value` is of this class; `wanted` says which is, as "Outputs, for example …".

    >>> check_kind(1, int, "n", "a whole number")
    """
    if not isinstance(value, kind):
        is_path = isinstance(value, str) or hasattr(value, "__fspath__")
        hint = "; a file is read by Outputs.load(path)" if is_path and "Outputs" in wanted else ""
        raise InputError(f"{what} must be {wanted}, not {type(value).__name__}{hint}")


def check_share(value: Any, what: str) -> float:
    """A number from 0 to 1, both included.

    >>> check_share(0.5, "floor")
    0.5
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InputError(f"{what} must be a number from 0 to 1, not {value!r}")
    if not 0 <= value <= 1:
        raise InputError(f"{what} must be between 0 and 1, not {value}")
    return float(value)


def check_positive(value: Any, what: str) -> float:
    """A finite number above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating | np.integer):
        raise InputError(f"{what} must be a number above 0, not {value!r}")
    if not 0 < value <= sys.float_info.max:  # whole numbers can be larger than any float
        raise InputError(f"{what} must be a finite number above 0, not {value!r}")
    return float(value)


def check_seed(seed: Any) -> int:
    """A seed: a whole number, 0 or more, of 63 bits at most."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63:
        raise InputError(f"seed must be a whole number from 0 to 2^63 - 1, not {seed!s:.60}")
    return int(seed)
