"""Sizes in an exported program, as `Mul(Integer(2), Symbol('s0', positive=True, integer=True))` or `2*s0 + 1`.

PyTorch hands this text to sympy, which evaluates it as Python: whatever is written there would run, and a tower of
powers would never end. So it is parsed here first; each part must be arithmetic, and the number small.
"""

from __future__ import annotations

import ast
import re

from infimum.models._torch.archive import Untrusted

LONGEST = 2000
"""Characters of one expression."""

MOST_PARTS = 200
"""Parts of one expression; a real network's have a dozen."""

MOST_BITS = 4096
"""Digits of the number that an expression can come to, in base 2."""

_CALLED = """
    Add Mul Pow Integer Rational Float Min Max Abs Mod PythonMod FloorDiv CleanDiv CeilDiv ModularIndexing
    Where CeilToInt FloorToInt TruncToInt TruncToFloat RoundToInt ToFloat IntTrueDiv FloatTrueDiv
    PowByNatural FloatPow Identity floor ceiling Eq Ne Lt Le Gt Ge Equality Unequality StrictLessThan
    LessThan StrictGreaterThan GreaterThan And Or Not
"""

_FUNCTIONS = frozenset(_CALLED.split())

_NAME = re.compile(r"z?[suf]+\d{1,9}|true|false|oo|int_oo")

_OPERATIONS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub, ast.UAdd,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE,
)  # fmt: skip


def check_size(text: str) -> int:
    """The number of parts of a size expression; Untrusted if it is more than arithmetic on sizes, or too large.

    >>> check_size("2*s0 + 1"), check_size("Mul(Integer(16), Symbol('s7', positive=True, integer=True))")
    (9, 16)
    >>> check_size("9**9**9**9")
    Traceback (most recent call last):
    infimum.models._torch.archive.Untrusted: comes to a number that is too large
    """
    if len(text) > LONGEST or not re.fullmatch(r"[\x20-\x7e]*", text):
        raise Untrusted(f"is longer than {LONGEST} characters, or not plain text")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Untrusted("is no expression") from error
    parts = sum(1 for _ in ast.walk(tree))
    if parts > MOST_PARTS:
        raise Untrusted(f"has more than {MOST_PARTS} parts")
    if _bits(tree.body) > MOST_BITS:
        raise Untrusted("comes to a number that is too large")
    return parts


def _bits(node: ast.expr) -> int:
    """The most bits that a part can come to."""
    match node:
        case ast.Constant(value=bool()):
            return 1
        case ast.Constant(value=int() as number):
            return number.bit_length()
        case ast.Constant(value=float() as number) if abs(number) < 2.0**1000:
            return 1000
        case ast.Name(id=name) if _NAME.fullmatch(name):
            return 63
        case ast.UnaryOp(op=op, operand=inner) if isinstance(op, _OPERATIONS):
            return _bits(inner)
        case ast.BinOp(op=ast.Pow(), left=base, right=exponent):
            return _power(base, exponent)
        case ast.BinOp(op=op, left=left, right=right) if isinstance(op, _OPERATIONS):
            return _bits(left) + _bits(right) + 1
        case ast.Compare(left=left, ops=ops, comparators=others) if all(
            isinstance(op, _OPERATIONS) for op in ops
        ):
            return max(map(_bits, [left, *others]))
        case ast.Call(func=ast.Name(id="Symbol"), args=[ast.Constant(value=str() as name)], keywords=about):
            if re.fullmatch(r"z?[suf]+\d{1,9}", name) and all(_is_flag(each) for each in about):
                return 63
        case ast.Call(func=ast.Name(id="Float"), args=[ast.Constant(value=str() as number)], keywords=about):
            if re.fullmatch(r"-?\d{1,40}(\.\d{0,40})?(e[-+]?\d{1,2})?", number) and all(
                _is_flag(each) for each in about
            ):
                return 1000
        case ast.Call(
            func=ast.Name(id="Pow" | "PowByNatural" | "FloatPow"), args=[base, exponent], keywords=[]
        ):
            return _power(base, exponent)
        case ast.Call(func=ast.Name(id=name), args=inner, keywords=[]) if name in _FUNCTIONS:
            return sum(map(_bits, inner)) + len(inner)
    raise Untrusted("is more than arithmetic on sizes")


def _power(base: ast.expr, exponent: ast.expr) -> int:
    match exponent:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _power(base, inner)
        case ast.Call(func=ast.Name(id="Integer"), args=[inner], keywords=[]):
            return _power(base, inner)
        case ast.Constant(value=int() as number):
            return _bits(base) * abs(number)
        case ast.Constant(value=float()) | ast.Call(func=ast.Name(id="Rational" | "Float")):
            return 1000 + _bits(base) + _bits(exponent)
    raise Untrusted("comes to a number that is too large")


def _is_flag(keyword: ast.keyword) -> bool:
    return (
        keyword.arg is not None
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, bool | int)
    )
