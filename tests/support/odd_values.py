"""Values that damaged or hostile files hold in place of others, by format; a line each where they are text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator


def one_of(choices: Any, rng: Rng) -> Any:
    """One of a few, each as likely."""
    return choices[int(rng.integers(len(choices)))]


def _lines(text: str) -> list[str]:
    return text.strip("\n").split("\n")


JSON = [
    *_lines(r"""
-1
0
1
2
1e400
-1e308
1e-320
9223372036854775808
NaN
Infinity
null
true
[]
{}
[[]]
[0.5, NaN]
""
"x"
"\u0000"
"\ud800"
"\u001b[2J\n"
"""),
    "1" + "0" * 400,
    "1" * 5000,
    '"' + "y" * 3000 + '"',
    "[" * 2000,
    "[" * 90 + "]" * 90,
    '{"a":' * 90 + "1" + "}" * 90,
]

TOML = [
    *_lines(r"""
-1
0
1e400
inf
nan
true
[]
{}
""
"\u0000"
"a\u001b[2J\nb"
"/"
".."
"/dev/zero"
1979-05-27
[1, [2, [3]]]
"""),
    "1" + "0" * 400,
    "0x" + "f" * 5000,
    "1" * 5000,
    '"' + "y" * 3000 + '"',
    "[" * 2000,
    "{a=" * 90 + "1" + "}" * 90,
]

TOML_LINES = (
    "a" + ".a" * 100_000 + " = 1",
    "[a" + ".a" * 40 + "]",
    "zzz = 1",
    "a = " + "[" * 5000,
    "x" * 9999,
)

TEXT = (
    *(
        "",
        " ",
        "-1",
        "0",
        "1.5",
        "1e400",
        "nan",
        "inf",
        "true",
        "1_0",
        "٣",
        "\0",
        "\x1b[2J",
        '"',
        '"\n"',
        "=1+1",
    ),
    *("\u202e", "1" * 400, "9" * 5000, "é" * 2000),
)

SHAPES = [
    *_lines("""
()
(0,)
(1,)
(2, 2)
(3, 0, 9)
(-1, 4)
(True, True)
(4611686018427387904, 4)
(0, 100000000000000000)
(2**9,)
(1.5,)
('a',)
[4]
None
"""),
    "(" + "1, " * 100 + ")",
    "(" + "9" * 400 + ",)",
    "(" * 2000,
]

DESCRS = [
    *("|O", "<f3", "<U999999999", "<U0", "|V8", ">f8", "<f16", "<M8[ns]", "<c16", "|b1", "<i8", "<f8'"),
    "x" * 500,
]

HEADERS = [
    *("{}", "", "'\\d'", "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,), }"),
    *("{" * 3000, "[" * 3000),
]

NAMES = [
    *("", "x", "logits", "labels", "ids", "features", "weights", "class_names", "logits_03", "features_0"),
    *("a/../b", "l.m", "\x1b[2J", "y" * 3000, "a_" + "1" * 5000),
]

CLASS_NAMES = (None, "[", "3", '["a", 1]', "[" * 3000, '{"a": 1, "a": 2}')

_IDS = ("\ud800", "\udcff", "a\x1b[2J\n", "", "1", "é" * 900, "=1+1")

_ENTRIES = ("a", "b", "\ud800", "\0x", "1", "nan", "1.0")


def array(shape: tuple[int, ...], rng: Rng) -> Any:
    """An array of about this shape that somebody may save in earnest, or in anger."""
    n = shape[0] if shape else 3
    numbers = rng.integers(-1, 4, shape)
    far = (np.nan, np.inf, -np.inf, 1e301, -1e308, 5e-324)
    kinds = (">f4", "<f2", "<f8", ">i8", "<u8", "i1", "c16", "g", "?")
    made: tuple[Callable[[], Any], ...] = (
        lambda: numbers,
        lambda: numbers.astype(one_of(kinds, rng)),
        lambda: np.where(numbers == 3, one_of(far, rng), 1.0),
        lambda: np.abs(numbers) * one_of((2.0**62, 1e-320, 2.0**63, 1e17), rng),
        lambda: np.array([one_of(_IDS, rng) + str(i) for i in range(n)]),
        lambda: np.array([one_of(_ENTRIES, rng) for _ in range(n)]),
        lambda: np.array([b"a", b"\xff"] * n)[:n],
        lambda: np.arange(n).astype("M8[s]"),
        lambda: np.asfortranarray(rng.normal(size=(n, 3))),
        lambda: rng.normal(size=(n, int(rng.integers(5)))),
        lambda: rng.normal(size=(int(rng.integers(3)), 3)),
        lambda: np.full((n, 3), 1 / 3, np.float16),
        lambda: np.eye(3)[rng.integers(3, size=n)],
        lambda: np.zeros(shape),
        lambda: np.array(3.0),
        lambda: np.zeros((n, 3, 2)),
        lambda: np.zeros(n, [("a", "f8")]),
    )
    return one_of(made, rng)()


def column(n: int, rng: Rng) -> Any:
    """A Parquet column of n rows, of a kind or with gaps that are not expected."""
    import pyarrow as pa

    made: tuple[Callable[[], Any], ...] = (
        lambda: pa.nulls(n),
        lambda: pa.array([None] + [1] * (n - 1)),
        lambda: pa.array([float("nan")] * n),
        lambda: pa.array([10**18] * n),
        lambda: pa.array([-1] * n),
        lambda: pa.array([True] * n),
        lambda: pa.array(["x"] * n),
        lambda: pa.array(["x"] * n).dictionary_encode(),
        lambda: pa.array([b"\xff"] * n),
        lambda: pa.array([{"a": 1}] * n),
        lambda: pa.array([[1.0]] * n),
        lambda: pa.array([[[1.0]]] * n),
        lambda: pa.array([[]] * n, pa.list_(pa.float64())),
        lambda: pa.array([[1.0], None] + [[1.0]] * (n - 2)),
        lambda: pa.array([[None, 1.0]] * n),
    )
    return one_of(made, rng)()
