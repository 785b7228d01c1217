"""The one grammar of options that are objects, as `raps:penalty=0.01,k_reg=auto`: in Python, commands and files alike.

A `Registry` knows the kinds of one option by name. It reads a text, takes an object as it is,
and lists its names and parameters for help. Values go by the annotations of the dataclass they are for.
"""

from __future__ import annotations

import difflib
import math
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from infimum._text import in_brief
from infimum.errors import InputError

T = TypeVar("T")

YES, NO = ("yes", "true"), ("no", "false")


@dataclass(frozen=True)
class Kind(Generic[T]):
    """One value an option can take: what makes it of its parameters, and their annotations and defaults, by name."""

    make: Callable[..., T]
    hints: Mapping[str, Any]
    defaults: Mapping[str, Any]

    @staticmethod
    def of(made: type[T]) -> Kind[T]:
        """The kind that a dataclass is."""
        every = get_type_hints(made, include_extras=True)
        hints = {field.name: every[field.name] for field in fields(made)}  # type: ignore[arg-type]
        kept = {field.name: field.default for field in fields(made) if field.default is not MISSING}  # type: ignore[arg-type]
        return Kind(made, hints, kept)


class Registry(Generic[T]):
    """The kinds of one option. `what` names it in messages; `takes` says which objects are passed on as they are.

    With a `default` there is one kind alone, and texts hold its parameters without its name.
    """

    def __init__(
        self, what: str, kinds: Mapping[str, Kind[T]], takes: Callable[[Any], bool], default: str = ""
    ) -> None:
        self.what, self.kinds, self._takes, self.default = what, kinds, takes, default

    def read(self, given: T | str) -> T:
        """The object that is given or that a text describes; InputError naming what is wrong, and what is known."""
        if not isinstance(given, str):
            if isinstance(given, type):
                raise InputError(f"{self.what} must be an object, not a class: {given.__name__}(…)")
            if not self._takes(given):
                expected = "KEY=VALUE,…" if self.default else f"one of {self.names}"
                raise InputError(f"{self.what} must be {expected}, or an object of these, not {given!r:.60}")
            return given
        name, _, rest = (self.default, "", given) if self.default else given.partition(":")
        if name not in self.kinds:
            hint = _near(name, self.kinds)
            key = name.partition("=")[0]
            if "=" in name and (
                whose := next((k for k, kind in self.kinds.items() if key in kind.hints), None)
            ):
                hint = f"; begin with a name, as {whose}:{key}=…"
            raise InputError(f"{self.what} must be one of {self.names}, not {_quoted(name)}{hint}")
        kind = self.kinds[name]
        parameters = dict(self._parameters(rest, kind, name))
        try:
            return kind.make(**parameters)
        except InputError as error:
            raise InputError(f"{self.what} {_quoted(given)}: {error}") from error

    @property
    def names(self) -> str:
        """The names of all kinds, for a message."""
        return ", ".join(self.kinds)

    def help(self) -> str:
        """The names of all kinds with their parameters, for the command line: default first, then other words."""
        several = list(self.kinds.values())[1:]
        first = next(iter(self.kinds.values()))
        shared = [key for key in first.hints if several and all(key in kind.hints for kind in several)]
        said = [self._described(name, kind, shared) for name, kind in self.kinds.items()]
        return "; ".join([*said, *([f"each: {_parameters_of(first, shared)}"] if shared else [])])

    def _described(self, name: str, kind: Kind[T], shared: list[str]) -> str:
        parameters = _parameters_of(kind, [key for key in kind.hints if key not in shared])
        return ":".join(filter(None, ["" if name == self.default else name, parameters]))

    def _parameters(self, text: str, kind: Kind[T], name: str) -> Iterator[tuple[str, Any]]:
        whose = self.what if name == self.default else f"{self.what} {name}"
        seen: set[str] = set()
        for part in filter(None, split(text)):
            key, equals, word = part.partition("=")
            if not equals and key in kind.hints:
                raise InputError(f"{whose}: {key} needs a value, as {key}=VALUE")
            if key not in kind.hints:
                known = ", ".join(kind.hints)
                raise InputError(
                    f"{whose} takes no {_quoted(part)}{_near(key, kind.hints)}; "
                    + (
                        f"its parameters, as KEY=VALUE with commas between: {known}"
                        if known
                        else "it has no parameters"
                    )
                )
            if key in seen:
                raise InputError(f"{whose}: {key} is given twice")
            seen.add(key)
            yield key, value_of(word, kind.hints[key], f"{whose}: {key}")


def split(text: str) -> list[str]:
    """The parts between commas, without spaces around them.

    In double quotes commas are kept, and two double quotes mean one.

    >>> split('weights="a,b.pt", device=cuda')
    ['weights=a,b.pt', 'device=cuda']
    """
    pieces = text.split('"')  # by turns outside and inside quotes
    last = len(pieces) - 1
    if last % 2:
        raise InputError(f"{_quoted(text)} has a double quote that is not closed")
    parts = [""]
    for place, piece in enumerate(pieces):
        if place % 2:
            parts[-1] += piece
        elif not piece and 0 < place < last:
            parts[-1] += '"'
        else:
            first, *others = piece.split(",")
            parts[-1] += first
            parts += others
    return [part.strip() for part in parts]


def value_of(word: str, hint: Any, where: str) -> Any:
    """The value that a word means where this annotation stands; InputError naming where it stands.

    Numbers are written as in Python, yes/no for true and false, none for None, and several numbers with / between.

    >>> value_of("5e-4", float, "tol"), value_of("auto", int | Literal["auto"], "k_reg")
    (0.0005, 'auto')
    >>> value_of("0.5/0.5", tuple[float, ...], "mean"), value_of("none", int | None, "crop")
    ((0.5, 0.5), None)
    """
    for kind in _kinds(hint):
        found = _try(word, kind)
        if found is not _NOTHING:
            return found
    expected = " or ".join(dict.fromkeys(_said(kind) for kind in _kinds(hint)))
    raise InputError(f"{where} must be {expected}, not {_quoted(word)}")


_NOTHING = object()

_WORDS: dict[Any, str] = {
    type(None): "none",
    bool: "yes or no",
    int: "a whole number",
    float: "a finite number",
    str: "text",
    Path: "a path",
}


def _kinds(hint: Any) -> list[Any]:
    """The plain types an annotation is made of, literals first."""
    origin: Any = get_origin(hint)
    if origin is Annotated:
        return _kinds(get_args(hint)[0])
    if origin in (Union, types.UnionType):
        kinds = [kind for inside in get_args(hint) for kind in _kinds(inside)]
        kinds = [kind for kind in kinds if kind is not int or float not in kinds]
        return sorted(
            kinds,
            key=lambda kind: (get_origin(kind) is not Literal, kind is not type(None), kind is str),  # type: ignore[comparison-overlap]
        )
    return [hint]


def _try(word: str, kind: Any) -> Any:
    if get_origin(kind) is Literal:
        return word if word in get_args(kind) else _NOTHING
    if kind is type(None):
        return None if word == "none" else _NOTHING
    if kind is bool:
        return True if word in YES else False if word in NO else _NOTHING
    if get_origin(kind) is tuple:
        numbers = [_try(part, float) for part in word.split("/")]
        return _NOTHING if _NOTHING in numbers else tuple(numbers)
    if kind in (int, float) and (word != word.strip() or "_" in word or not word.isascii()):
        return _NOTHING  # Python reads more as numbers than one writes
    if kind in (str, Path) and not word:
        return _NOTHING
    try:
        value = kind(word)
    except ValueError:
        return _NOTHING
    return _NOTHING if kind is float and not math.isfinite(value) else value


def _said(kind: Any) -> str:
    """What a message calls such a value."""
    if get_origin(kind) is Literal:
        return " or ".join(get_args(kind))
    return "numbers with / between" if get_origin(kind) is tuple else _WORDS[kind]


def _parameters_of(kind: Kind[Any], keys: list[str]) -> str:
    return ", ".join(f"{key}={written_values(kind, key)}" for key in keys)


def written_values(kind: Kind[Any], key: str) -> str:
    """The default of a parameter and the other words it takes, as they would be written; … for what is left open.

    >>> written_values(Kind(dict, {"draw": Literal["independent", "sobol"]}, {"draw": "independent"}), "draw")
    'independent|sobol'
    """
    words = [_written(kind.defaults.get(key))]
    for plain in _kinds(kind.hints[key]):
        words += get_args(plain) if get_origin(plain) is Literal else ["yes", "no"] if plain is bool else []
        words += ["none"] if plain is type(None) and words[0] != "…" else []
    return "|".join(dict.fromkeys(words))


def _written(value: Any) -> str:
    """A default as it would be written."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return "…" if value is None else str(value)


def _quoted(text: str) -> str:
    return repr(in_brief(text, 60))


def _near(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name[:60], known, n=1)
    return f" (did you mean {near[0]}?)" if near else ""
