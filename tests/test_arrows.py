"""Imports go down only: no circle between modules or rooms, the allowed arrows listed, arrays alone for bounds."""

from __future__ import annotations

from pathlib import Path

import pytest
from arrows import arrows_of, between_rooms, circles_of, modules_of

ROOT = Path(__file__).parents[1] / "src" / "infimum"

SMALL = {path.stem for path in ROOT.glob("_*.py")}

LOW = ("_", "io")
"""What every room may import: small private modules, files and records."""

ALLOWED: dict[str, tuple[str, ...]] = {
    "_": (),
    "io": ("_",),
    "head": LOW,
    "outputs": (*LOW, "head"),
    "identity": (*LOW, "outputs"),
    "conformal": LOW,
    "bounds": (*LOW, "conformal"),
    "shift": (*LOW, "outputs", "identity", "conformal"),
    "manifold": (*LOW, "head", "conformal"),
    "estimators": (*LOW, "outputs", "identity", "conformal", "bounds", "shift"),
    "data": LOW,
    "models": (*LOW, "head", "outputs", "identity", "data"),
    "scoring": (*LOW, "outputs", "conformal", "data", "models"),
    "assessment": (
        *LOW,
        *("head", "outputs", "identity", "conformal", "bounds", "shift", "manifold", "estimators"),
    ),
    "certification": (
        *LOW,
        *("outputs", "identity", "conformal", "bounds", "shift", "estimators", "assessment"),
    ),
    "comparison": (*LOW, "outputs", "identity", "conformal", "bounds", "assessment"),
    "gates": (
        *LOW,
        *("identity", "conformal", "bounds", "shift", "manifold", "assessment", "comparison"),
    ),
    "monitor": LOW,
    "report": (
        *LOW,
        *("conformal", "bounds", "shift", "manifold", "estimators", "identity"),
        *("assessment", "certification", "comparison", "gates"),
    ),
    "testing": (*LOW, "outputs", "identity", "bounds", "shift", "gates", "report"),
    "integrations": (*LOW, "outputs", "conformal", "bounds", "models", "assessment", "report"),
    "study": (
        *LOW,
        *("head", "outputs", "conformal", "bounds", "manifold", "estimators", "models", "monitor"),
    ),
    "cli": (
        *LOW,
        *("head", "outputs", "identity", "conformal", "bounds", "manifold", "estimators", "data", "models"),
        *("scoring", "assessment", "certification", "comparison", "gates", "report", "study", ""),
    ),
    "": (
        *LOW,
        *("head", "outputs", "conformal", "bounds", "manifold", "estimators", "models"),
        *("assessment", "certification", "comparison", "testing"),
    ),
}
"""What each room may import, "" being the package's own face; every arrow goes to a room above it in this list."""

ROOMS_FROM_BELOW = [room for room in ALLOWED if room]


def test_no_modules_import_one_another() -> None:
    assert circles_of(arrows_of(ROOT)) == []


def test_no_rooms_import_one_another() -> None:
    assert circles_of(between_rooms(arrows_of(ROOT))) == []


def test_rooms_import_what_is_allowed_and_nothing_else() -> None:
    found = between_rooms(arrows_of(ROOT))
    beside = {
        room: sorted(others - set(ALLOWED[room]))
        for room, others in found.items()
        if others - set(ALLOWED[room])
    }
    assert beside == {}


def test_what_is_allowed_goes_down() -> None:
    for room, others in ALLOWED.items():
        below = ROOMS_FROM_BELOW[: ROOMS_FROM_BELOW.index(room)] if room else ROOMS_FROM_BELOW
        assert set(others) - {""} <= set(below), room


@pytest.mark.parametrize("room", ["bounds", "manifold"])
def test_bounds_and_manifolds_know_arrays_only(room: str) -> None:
    arrows = arrows_of(ROOT)
    met = {
        other for name, others in arrows.items() if name.startswith(f"infimum.{room}.") for other in others
    }
    assert not [
        other for other in met if other.startswith(("infimum.outputs", "infimum.models", "infimum.data"))
    ]


def test_the_root_is_small() -> None:
    assert len(list(ROOT.glob("*.py"))) <= 14


@pytest.mark.parametrize(
    ("files", "circles"),
    [
        ({"a": "import p.b", "b": "x = 1"}, []),
        ({"a": "import p.b", "b": "def f():\n    from p.a import x"}, [["p.a", "p.b"]]),
        ({"a": "from p import b", "b": "if TYPE_CHECKING:\n    import p.a"}, [["p.a", "p.b"]]),
        (
            {"a": "from p.c.d import x", "c/__init__": "from p.c.d import x", "c/d": "from p.a import y"},
            [["p.a", "p.c.d"]],
        ),
        (
            {"a": "from p.c import x", "c/__init__": "from p.c.d import x", "c/d": "import p.a"},
            [["p.a", "p.c", "p.c.d"]],
        ),
    ],
)
def test_circles_are_found(files: dict[str, str], circles: list[list[str]], tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert set(modules_of(tmp_path / "p")) >= {f"p.{name}" for name in files if "/" not in name}
    assert circles_of(arrows_of(tmp_path / "p")) == circles
