"""Records: frozen dataclasses, checked by their annotations when they are made, to JSON and back.

One strictness for every record and file: a value of another type or out of its range, a missing or an unknown key
raise InputError, whether it comes from Python or from JSON. A `Document` is a record that is a file of its own, with a
schema and the checksum of its content.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from infimum.errors import InputError
from infimum.io.content import CHECKSUM, check_seal, sealed
from infimum.io.documents import RECORD, json_text, read_json
from infimum.io.ranges import check_fields, checked, hints_of, must, shown

R = TypeVar("R", bound="Record")
"""`Self`, in the form that run-time checks of types know; likewise `D`."""

D = TypeVar("D", bound="Document")


class Record:
    """Base of frozen dataclasses that are checked by their annotations and go to JSON and back.

    >>> from infimum.assessment._results import Success
    >>> Success.from_dict(Success(0.5, 10, 5).to_dict())
    Success(value=0.5, n=10, correct=5)
    >>> Success(7.5, 10, 5)
    Traceback (most recent call last):
    infimum.errors.InputError: Success.value must be from 0 to 1, not 7.5
    """

    KEYS: ClassVar[dict[str, str]] = {}
    """Fields whose key in JSON is another than their name."""

    COMPUTED: ClassVar[tuple[str, ...]] = ()
    """Properties that are written too; what a file says of them is not read."""

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        names = [field.name for field in fields(self)]  # type: ignore[arg-type]
        plain = {self.KEYS.get(name, name): _plain(getattr(self, name)) for name in names}
        return {**plain, **{name: getattr(self, name) for name in self.COMPUTED}}

    @classmethod
    def from_dict(cls: type[R], d: Any) -> R:
        """Inverse of `to_dict`; raises InputError naming the key that is missing, unknown, or holds what it cannot."""
        return cls.built(d, "")

    @classmethod
    def built(cls: type[R], d: Any, where: str) -> R:
        """The record of these plain values, which stand at `where` in a file."""
        must(isinstance(d, dict), "an object", d, where or cls.__name__)
        kind: Any = cls
        hints, what = hints_of(kind), where or "it"
        keys = {cls.KEYS.get(name, name): name for name in hints}
        if missing := [key for key in keys if key not in d]:
            raise InputError(f"{what} lacks {missing[0]!r}: not a whole {cls.__name__}")
        if unknown := [key for key in d if key not in keys and key not in cls.COMPUTED]:
            raise InputError(f"{what} has {shown(unknown[0])}, which no {cls.__name__} has")
        inside = f"{where}." if where else ""
        return cls(**{name: checked(d[key], hints[name], inside + key) for key, name in keys.items()})


class Document(Record):
    """A record that is a JSON file: it says its `SCHEMA`, and the checksum of its content."""

    SCHEMA: ClassVar[str]

    FILE: ClassVar[str] = ""
    """Its name in a directory that holds one."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON, with the schema."""
        return {"schema": self.SCHEMA, **super().to_dict()}

    def to_json(self) -> str:
        """The JSON document with the checksum of its content; finite numbers only."""
        return json_text(sealed(self.to_dict()))

    @classmethod
    def from_dict(cls: type[D], d: Any) -> D:
        """Inverse of `to_dict`, and of `to_json` once it is parsed: a checksum that is there must match.

        Raises InputError for another schema, and as every record does.
        """
        check_schema(d, cls.SCHEMA)
        if CHECKSUM in d:
            check_seal(d)
        return cls.built({key: value for key, value in d.items() if key not in ("schema", CHECKSUM)}, "")

    @classmethod
    def load(cls: type[D], path: str | Path) -> D:
        """Read the file, or the directory that holds it; raises InputError naming it, also where it was changed."""
        path = Path(path)
        path = path / cls.FILE if cls.FILE and path.is_dir() else path
        document = read_sealed(path, cls.SCHEMA)
        try:
            return cls.from_dict(document)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error


def read_sealed(path: Path, schema: str, at_most: int = RECORD) -> dict[str, Any]:
    """The JSON object of that schema in a file of at most so many bytes, as it was sealed; else InputError names it."""
    document = read_json(path, at_most)
    try:
        check_schema(document, schema)
        check_seal(document)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return document


def check_schema(document: Any, schema: str) -> None:
    """Raise InputError unless the document is an object of that schema."""
    if not isinstance(document, dict):
        raise InputError(f"it is no JSON object of the schema {schema!r}")
    if document.get("schema") != schema:
        raise InputError(f"schema is {shown(document.get('schema'))}, this version reads {schema!r}")


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value
