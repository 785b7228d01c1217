"""What the fields of records may hold: types and ranges that stand in the annotations, and one check of both."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from jaxtyping import Float

from infimum._checks import Array, Real
from infimum.errors import InputError

LARGEST = sys.float_info.max

LONGEST = 60
"""Characters of a wrong value that a message shows."""


@dataclass(frozen=True)
class Range:
    """The numbers from `low` (`above`: without it) to `high` that an annotation allows, and how a message says so."""

    low: Real
    high: Real
    said: str
    above: bool = False

    def holds(self, value: Real) -> bool:
        """Whether the number is one of them."""
        return self.low <= value <= self.high and not (self.above and value == self.low)


ROUNDING = 1e-9
"""A sum of weights, divided by itself, may round to a little more than 1."""

Probability = Annotated[float, Range(-ROUNDING, 1 + ROUNDING, "from 0 to 1")]
Confidence = Annotated[float, Range(0, 1, "above 0 and at most 1", above=True)]
Signed = Annotated[float, Range(-1 - ROUNDING, 1 + ROUNDING, "from -1 to 1")]
Positive = Annotated[float, Range(0, LARGEST, "above 0", above=True)]
Nonnegative = Annotated[float, Range(0, LARGEST, "0 or more")]
Count = Annotated[int, Range(0, 2**63 - 1, "0 or more")]
Size = Annotated[int, Range(1, 2**63 - 1, "1 or more")]
Classes = Annotated[int, Range(2, 2**63 - 1, "2 or more")]


def check_fields(made: Any) -> None:
    """Raise InputError unless each field of a dataclass is what its annotation says; arrays are passed over.

    Numbers of numpy become Python's, whole numbers become floats where floats are meant, and lists become tuples.
    """
    kind: Any = type(made)
    for name, hint in hints_of(kind).items():
        given = getattr(made, name)
        value = checked(given, hint, f"{kind.__name__}.{name}")
        if value is not given:
            object.__setattr__(made, name, value)


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """The annotation of each field of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def read_fields(kind: Any, d: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """These fields of a dataclass from plain values, checked; InputError for one that is missing."""
    hints = hints_of(kind)
    if missing := [name for name in names if name not in d]:
        raise InputError(f"it lacks {missing[0]!r}")
    return {name: checked(d[name], hints[name], name) for name in names}


def checked(value: Any, hint: Any, where: str) -> Any:
    """The value as what the annotation says; InputError, naming where it stands, if it is not that.

    >>> checked(1, Probability, "value")
    1.0
    >>> checked(7.5, Probability, "value")
    Traceback (most recent call last):
    infimum.errors.InputError: value must be from 0 to 1, not 7.5
    """
    if isinstance(value, np.generic):
        value = value.item()
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated:
        value, limit = checked(value, inside[0], where), inside[1]
        must(limit.holds(value), limit.said, value, where)
    elif origin in (Union, types.UnionType):
        kinds = [kind for kind in inside if kind is not type(None)]
        if value is not None and len(kinds) == 1:
            value = checked(value, kinds[0], where)
    elif origin is Literal:
        must(value in inside, f"one of {', '.join(map(repr, inside))}", value, where)
    elif origin is tuple:
        must(isinstance(value, tuple | list), "a list", value, where)
        if inside[0] is str and set(map(type, value)) <= {str}:  # many ids: nothing to say of each
            value = tuple(value)
        else:
            value = tuple([checked(item, inside[0], f"{where}[{i}]") for i, item in enumerate(value)])
    elif origin is dict:
        must(isinstance(value, dict), "an object", value, where)
        for key in value:
            must(isinstance(key, str), "an object with text as keys", key, where)
        read = {
            key: checked(
                item, inside[1], f"{where}.{key}" if key.isidentifier() else f"{where}[{shown(key)}]"
            )
            for key, item in value.items()
        }
        if any(read[key] is not item for key, item in value.items()):
            value = read
    elif hint is Any:
        _check_plain(value, where)
    elif is_dataclass(hint) and not isinstance(value, hint):  # type: ignore[arg-type]
        value = hint.built(value, where)  # type: ignore[union-attr]
    elif hint is float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        must(number and abs(value) <= LARGEST, "a finite number", value, where)
        value = float(value)
    elif hint is int:
        whole = isinstance(value, int) and not isinstance(value, bool)
        must(whole and abs(value) < 2**63, "a whole number below 2^63", value, where)
    elif hint in (str, bool):
        must(isinstance(value, hint), "text" if hint is str else "true or false", value, where)
    return value


def _check_plain(value: Any, where: str) -> None:
    """What JSON can hold, however deep: text, finite numbers, true, false, nothing, lists, objects."""
    if isinstance(value, dict):
        checked(value, dict[str, Any], where)
    elif isinstance(value, list | tuple):
        checked(value, tuple[Any, ...], where)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        checked(value, float if isinstance(value, float) else int, where)
    else:
        must(value is None or isinstance(value, str | bool), "what JSON can hold", value, where)


def numbers_of(values: Any, what: str) -> Float[np.ndarray, " n"]:
    """A list of finite numbers from JSON as float64 (n,); InputError for anything else, also text that reads as one.

    >>> numbers_of([1, 0.5], "key_high").tolist()
    [1.0, 0.5]
    """
    must(isinstance(values, list), "a list of numbers", values, what)
    if not set(map(type, values)) <= {float, int}:
        row = next(i for i, value in enumerate(values) if type(value) not in (float, int))
        must(False, "a number", values[row], f"{what}[{row}]")
    try:
        array: Array = np.asarray(values, dtype=np.float64)
    except OverflowError as error:
        raise InputError(f"{what} holds a number that is too large") from error
    if not np.isfinite(array).all():
        raise InputError(f"{what} holds a number that is not finite")
    return array


def must(holds: bool, expected: str, value: Any, where: str) -> None:
    """Raise InputError, saying what was expected of the value there, unless it holds."""
    if not holds:
        raise InputError(f"{where} must be {expected}, not {shown(value)}")


def shown(value: Any) -> str:
    """A value as a message shows it: in one line, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write whole numbers of more than 4,300 digits
        return "a number of thousands of digits"
    return text if len(text) < LONGEST else text[:LONGEST] + "…"
