"""The code in a TorchScript file, looked through before anything loads it.

TorchScript is printed as a small part of Python: classes and functions of assignments, ifs, for loops and calls. The
code is parsed, and each of its parts must be on a list: of syntax, of operators, of names that the file itself
defines. What does not parse as Python is refused too, so that nothing is read here in another way than PyTorch does.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping

from infimum.models._torch.archive import Untrusted
from infimum.models._torch.loops import is_counted
from infimum.models._torch.operators import ATEN, PRIM

MOST_CODE = 16 * 2**20
"""Bytes of code that are parsed; a large network's is below 2 MiB."""

DEEPEST = 200
"""Levels of nesting: PyTorch's parser calls itself for each."""

_SYNTAX = (
    ast.Module, ast.ClassDef, ast.FunctionDef, ast.arguments, ast.arg, ast.Assign, ast.AnnAssign,
    ast.Expr, ast.Return, ast.If, ast.For, ast.While, ast.Pass, ast.Call, ast.keyword, ast.Attribute,
    ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Subscript, ast.UnaryOp, ast.USub,
    ast.Load, ast.Store,
)  # fmt: skip
"""All that PyTorch prints of a network of layers."""

_CALLED = "annotate bool complex float getattr int isinstance range str unchecked_cast uninitialized"

_FUNCTIONS = frozenset(_CALLED.split())
"""What code calls by a bare name; everything else with one must be a function of the file."""

_TYPES = "Any Device Dict List NoneType Optional Tensor Tuple bool complex float int number str"

_PLAIN_TYPES = frozenset(_TYPES.split())
"""What `unchecked_cast` may cast to: types that PyTorch marks values with, so that a wrong one is noticed."""

_BASES = ("Module", "NamedTuple", "Enum", "Interface", "ModuleInterface")

_ROOTS = ("torch", "ops", "CONSTANTS", "__torch__")

_NOT_PRINTED = re.compile(rb"[^\n\x20-\x7e]|\\\n|'''|\"\"\"")
"""What PyTorch never prints, and what two parsers may read in two ways."""


def definitions(sources: Mapping[str, bytes]) -> Iterator[tuple[str, ast.stmt]]:
    """Classes and functions of a file by full name: `__torch__.package.Name`.

    `sources` holds the code by record name, as `code/__torch__/package.py`. Raises Untrusted, saying what is wrong
    and where, for code that PyTorch does not print.
    """
    for record, code in sources.items():
        home = record.removeprefix("code/").removesuffix(".py").replace("/", ".")
        for statement in _parsed(code, record).body:
            if not isinstance(statement, ast.ClassDef | ast.FunctionDef):
                raise Untrusted(f"{record} holds more than classes and functions (line {statement.lineno})")
            yield f"{home}.{statement.name}", statement


def check_source(sources: Mapping[str, bytes]) -> frozenset[str]:
    r"""The full names of the classes that a file's code defines; Untrusted if the code may do more than compute.

    >>> check_source({"code/__torch__.py": b"def f(x: Tensor) -> Tensor:\n  return torch.relu(x)\n"})
    frozenset()
    >>> check_source({"code/__torch__.py": b"def f(x: Tensor) -> Tensor:\n  torch. save(x, 'a')\n  return x\n"})
    Traceback (most recent call last):
    infimum.models._torch.archive.Untrusted: code/__torch__.py calls torch.save (line 2)
    """
    if sum(map(len, sources.values())) > MOST_CODE:
        raise Untrusted(f"its code is larger than {MOST_CODE // 2**20} MiB")
    found = list(definitions(sources))
    methods = {
        inner.name
        for _, outer in found
        for inner in (outer.body if isinstance(outer, ast.ClassDef) else ())
        if isinstance(inner, ast.FunctionDef)
    }
    names = {name for name, _ in found}
    if len(names) < len(found):
        raise Untrusted("a name is defined twice in its code")
    for name, statement in found:
        _Check(name, names, methods).visit(statement)
    return frozenset(name for name, statement in found if isinstance(statement, ast.ClassDef))


def _parsed(code: bytes, record: str) -> ast.Module:
    if (odd := _NOT_PRINTED.search(code)) is not None:
        line = code.count(b"\n", 0, odd.start()) + 1
        raise Untrusted(f"{record} holds {odd[0]!r}, which PyTorch does not write (line {line})")
    try:
        with warnings.catch_warnings():  # of escapes and comparisons that Python finds odd
            warnings.simplefilter("ignore")
            tree = ast.parse(code, type_comments=True)  # PyTorch reads types in comments
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Untrusted(f"{record} cannot be parsed as code ({error})") from error
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return tree
    raise Untrusted(f"{record} is nested more than {DEEPEST} levels deep")


class _Check(ast.NodeVisitor):
    """Goes through one class or function; raises Untrusted at the first part that is on no list."""

    def __init__(self, name: str, defined: set[str], methods: set[str]) -> None:
        self.record = "code/" + name.rpartition(".")[0].replace(".", "/") + ".py"
        self.defined, self.methods = defined, methods
        self.functions: set[str] = set()

    def refuse(self, what: str, node: ast.AST) -> Untrusted:
        return Untrusted(f"{self.record} {what} (line {getattr(node, 'lineno', '?')})")

    def visit(self, node: ast.AST) -> None:
        if getattr(node, "type_comment", None) is not None:
            raise self.refuse("holds a type in a comment", node)
        if not isinstance(node, _SYNTAX):
            raise self.refuse(
                f"holds a part ({type(node).__name__}) that PyTorch does not write of layers", node
            )
        super().visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if node.decorator_list or node.keywords or len(node.bases) > 1:
            raise self.refuse(f"defines {node.name} in a way that PyTorch does not write", node)
        for base in node.bases:
            if not (isinstance(base, ast.Name) and base.id in _BASES):
                raise self.refuse(f"derives {node.name} from {ast.unparse(base)[:60]}", node)
        self._named(node.name, node)
        for statement in node.body:
            if isinstance(statement, ast.ClassDef):
                raise self.refuse("defines a class in a class", statement)
            self.visit(statement)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in ("__setstate__", "__getstate__"):
            raise self.refuse(f"has a {node.name} that runs when the file is loaded", node)
        if node.decorator_list:
            raise self.refuse(f"decorates {node.name}", node)
        self._named(node.name, node)
        self.functions = _functions_in(node)
        for child in (node.args, node.returns, *node.body):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                raise self.refuse("defines a function in a function", child)
            if child is not None:
                self.visit(child)

    def visit_arg(self, node: ast.arg) -> None:
        self._named(node.arg, node)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg is None:
            raise self.refuse("unpacks a mapping into arguments", node)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._named(node.id, node)
        elif node.id in _ROOTS:
            raise self.refuse(f"passes {node.id} on as a value", node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str | int | float | complex | None):
            raise self.refuse(f"holds a {type(node.value).__name__}", node)

    def visit_For(self, node: ast.For) -> None:
        counted = isinstance(node.iter, ast.Call) and isinstance(node.iter.func, ast.Name)
        if not counted or node.orelse or not isinstance(node.target, ast.Name):
            raise self.refuse("holds a loop over something else than range(...)", node)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        if not is_counted(node):
            raise self.refuse("holds a while loop, of which nothing says that it ends", node)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        match _dotted(node):
            case [("torch" | "ops") as root, *rest]:
                known = (len(rest) == 1 and rest[0] in ATEN) if root == "torch" else _is_known(rest)
                if not known or isinstance(node.ctx, ast.Store):
                    raise self.refuse(f"calls {'.'.join((root, *rest))[:80]}", node)
            case ["CONSTANTS", *rest]:
                if len(rest) != 1 or not re.fullmatch(r"c\d+", rest[0]):
                    raise self.refuse(f"uses CONSTANTS.{'.'.join(rest)[:80]}", node)
            case ["__torch__", *rest]:
                full = ".".join(("__torch__", *rest))
                # The last part may be a member of an enum.
                if not {full, full.rpartition(".")[0]} & self.defined:
                    raise self.refuse(f"uses {full[:120]}, which the file does not define", node)
            case _:
                self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if isinstance(function, ast.Name):
            if function.id not in _FUNCTIONS | self.functions:
                raise self.refuse(f"calls {function.id[:80]}", node)
            if function.id == "getattr" and not (
                len(node.args) == 2
                and isinstance(node.args[1], ast.Constant)
                and isinstance(node.args[1].value, str)
            ):
                raise self.refuse("calls getattr with a name that is computed", node)
            if function.id == "unchecked_cast" and not _PLAIN_TYPES.issuperset(
                inner.id
                for inner in ast.walk(node.args[0] if node.args else node)
                if isinstance(inner, ast.Name)
            ):
                # PyTorch reads attributes by place, without looking whether the object has so many.
                raise self.refuse("casts to a class without a check", node)
        elif isinstance(function, ast.Attribute):
            self.visit(function)
            if _dotted(function)[:1] not in (["torch"], ["ops"], ["__torch__"]):
                self._method(function)
        else:
            raise self.refuse(f"calls {ast.unparse(function)[:60]}", node)
        for child in (*node.args, *node.keywords):
            self.visit(child)

    def _method(self, function: ast.Attribute) -> None:
        """A call of a method: of a class in the file, or an operator on the list, which TorchScript allows too."""
        name = function.attr
        if name in ATEN:
            return
        if name not in self.methods or _is_operator(name):
            raise self.refuse(f"calls {name[:80]}", function)

    def _named(self, name: str, node: ast.AST) -> None:
        if name in _ROOTS or name in _FUNCTIONS:
            raise self.refuse(f"gives {name} another meaning", node)


def _functions_in(node: ast.FunctionDef) -> set[str]:
    """Names that stand for functions and classes of the file, and for nothing else, in a function."""
    stands: dict[str, bool] = {arg.arg: False for arg in ast.walk(node) if isinstance(arg, ast.arg)}
    for inner in ast.walk(node):
        if (
            isinstance(inner, ast.Assign)
            and len(inner.targets) == 1
            and isinstance(inner.targets[0], ast.Name)
        ):
            name = inner.targets[0].id
            stands[name] = stands.get(name, True) and _dotted(inner.value)[:1] == ["__torch__"]
        else:
            for target in _targets(inner):
                stands[target] = False
    return {name for name, is_function in stands.items() if is_function}


def _targets(node: ast.AST) -> Iterable[str]:
    places = (
        node.targets
        if isinstance(node, ast.Assign)
        else [node.target]
        if isinstance(node, ast.For | ast.AnnAssign)
        else []
    )
    return (inner.id for place in places for inner in ast.walk(place) if isinstance(inner, ast.Name))


def _dotted(node: ast.AST) -> list[str]:
    """The parts of `a.b.c`; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) and parts else []


def _is_known(rest: list[str]) -> bool:
    match rest:
        case ["aten", name]:
            return name in ATEN
        case ["prim", name]:
            return name in PRIM
    return False


def _is_operator(name: str) -> bool:
    from infimum.models._torch import run as tr

    return bool(tr.import_torch()._C._jit_get_schemas_for_operator(f"aten::{name}"))
