"""Frozen data that came from a file checked against its annotations: JSON from others can hold anything."""

from __future__ import annotations

import sys
import types
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from infimum.errors import InputError

PROBABILITIES = {
    *("value", "low", "high", "level", "threshold", "coverage", "correct", "incorrect", "share", "samples"),
    *(
        "standard_error",
        "total",
        "calibration",
        "sampling",
        "manifold",
        "lambda_samples",
        "lambda_real",
        "aurc",
    ),
    *(
        "p_value",
        "p_classifier",
        "p_confidence",
        "auc",
        "distance",
        "confidence",
        "never_singleton",
        "wanted",
    ),
}
"""Names of fields that hold a probability, a share or a standard error of one."""


def check_types(value: Any, where: str) -> None:
    """Raise InputError unless every field of a dataclass, and of those inside it, has its type.

    Whole numbers pass as floats; floats must be finite.

    >>> from infimum.results import Success
    >>> check_types(Success(0.9, 10), "success")
    >>> check_types(Success(float("nan"), 10), "success")
    Traceback (most recent call last):
    infimum.errors.InputError: success.value must be a finite number, not nan
    """
    kind: Any = type(value)
    hints = _hints(kind)
    for field in fields(value):
        _check(getattr(value, field.name), hints[field.name], f"{where}.{field.name}")


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _check(value: Any, hint: Any, where: str) -> None:
    origin, inside = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in inside:
            return
        kinds = [kind for kind in inside if kind is not type(None)]
        if len(kinds) == 1:
            _check(value, kinds[0], where)
    elif origin is Literal:
        _must(value in inside, f"one of {', '.join(map(repr, inside))}", value, where)
    elif origin is tuple:
        _must(isinstance(value, tuple), "a list", value, where)
        for i, item in enumerate(value):
            _check(item, inside[0], f"{where}[{i}]")
    elif origin is dict:
        _must(isinstance(value, dict), "an object", value, where)
    elif is_dataclass(hint):
        _must(isinstance(value, hint), "an object", value, where)  # type: ignore[arg-type]
        check_types(value, where)
    elif hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        _must(number and abs(value) <= sys.float_info.max, "a finite number", value, where)
    elif hint is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        _must(whole and abs(value) < 2**63, "a whole number", value, where)
    elif hint in (str, bool):
        _must(isinstance(value, hint), "text" if hint is str else "true or false", value, where)


def check_ranges(value: Any, where: str) -> None:
    """Raise InputError unless the probabilities, told by name, in a checked dataclass and in those inside it are such,
    and its whole numbers are not negative.

    >>> from infimum.results import Success
    >>> check_ranges(Success(2.5, 10), "success")
    Traceback (most recent call last):
    infimum.errors.InputError: success.value must be from 0 to 1, not 2.5
    """
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            check_ranges(item, f"{where}[{i}]")
    if not is_dataclass(value):
        return
    for field in fields(value):
        inside, name = getattr(value, field.name), f"{where}.{field.name}"
        if field.name in PROBABILITIES and isinstance(inside, int | float):
            # A sum of weights, divided by itself, may round to a little more than 1.
            _must(-1e-9 <= inside <= 1 + 1e-9, "from 0 to 1", inside, name)
        elif isinstance(inside, int):
            _must(inside >= 0, "0 or more", inside, name)
        else:
            check_ranges(inside, name)


def _must(holds: bool, expected: str, value: Any, where: str) -> None:
    if not holds:
        shown = repr(value)
        raise InputError(f"{where} must be {expected}, not {shown if len(shown) < 60 else shown[:60] + '…'}")
