"""Which modules of a package import which: at the top, in functions, under TYPE_CHECKING, also through a face."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

Arrows = dict[str, set[str]]


def modules_of(root: Path) -> dict[str, Path]:
    """Every module below a package's folder by its dotted name."""
    found = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def arrows_of(root: Path) -> Arrows:
    """The modules of the package that each of its modules imports."""
    modules = modules_of(root)
    arrows: Arrows = {}
    for name, path in modules.items():
        met: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.level == 0, f"{path} imports relatively"
                met |= {
                    full if (full := f"{node.module}.{alias.name}") in modules else node.module
                    for alias in node.names
                }
            elif isinstance(node, ast.Import):
                met |= {alias.name for alias in node.names}
        arrows[name] = {other for other in met if other in modules and other != name}
    return arrows


def circles_of(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import one another, however far round (strongly connected components)."""
    reached = {name: _reached(name, arrows) for name in arrows}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in arrows
        if name in reached[name]
    }
    return sorted(map(list, groups))


def _reached(start: str, arrows: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(arrows[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += arrows[name]
    return reached


def room_of(module: str) -> str:
    """The room that a module is in: the package's folder, or itself where it lies in the package's root."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else ""


def between_rooms(arrows: Arrows) -> Arrows:
    """The rooms that each room imports; small private modules of the root count as one, `_`."""

    def room(module: str) -> str:
        found = room_of(module)
        return "_" if found.startswith("_") or found == "errors" else found

    rooms: Arrows = {}
    for module, others in arrows.items():
        rooms.setdefault(room(module), set()).update(room(o) for o in others if room(o) != room(module))
    return rooms
