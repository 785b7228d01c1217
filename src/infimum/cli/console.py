"""What the program says: one place for stdout and stderr, whatever they are and whatever the text holds.

Text is made printable here. What the encoding of a stream lacks is written in other letters (`transliterated`). A
reader that closes its pipe has read enough: what comes after goes nowhere, and the exit code remains that of the
verdict.
"""

from __future__ import annotations

import codecs
import io
import logging
import os
import re
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Any

from infimum._text import in_brief, printable
from infimum.errors import InputError

_TABLE = """
α alpha β beta γ gamma δ delta ε epsilon η eta θ theta κ kappa λ lambda μ mu µ mu ξ xi π pi ρ rho σ sigma τ tau
φ phi ψ psi Π product ∏ product Σ sum Φ Phi ∑ sum √ sqrt ∞ inf ∈ in ∝ ~ ∫ integral
≥ >= ≤ <= ≠ != ≈ ~ × x ± +- ÷ / · . • * → -> ← <- ⇔ <=> ‖ || ⌈ ceil( ⌉ ) ⌊ floor( ⌋ ) ⁄ /
– - — - − - ‑ - … ... “ " ” " „ " ‘ ' ’ ' « " » " ✓ ok ✗ no § section ° degrees
¹ ^1 ² ^2 ³ ^3 ⁸ ^8 ⁻ ^- ₊ + │ | ─ - ╭ + ╮ + ╰ + ╯ +
"""

LETTERS = dict(zip(_TABLE.split()[::2], _TABLE.split()[1::2], strict=True))
"""What stands for a letter or sign where it cannot be written."""


class _Pipe(io.FileIO):
    """A file descriptor whose reader may go: what is written then goes nowhere. So it does after a `forgiven` error."""

    gone = False
    forgiven: type[OSError] = BrokenPipeError

    def write(self, data: Any, /) -> int:
        """Bytes written, or dropped."""
        try:
            return len(data) if self.gone else super().write(data)
        except self.forgiven:
            self.gone = True
            return len(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, "stdout") from error


class Streams:
    """What stdout and stderr were when the program began."""

    stdout_closed = False


def prepare() -> None:
    """Have stdout and stderr take any text, at any time; call once, before anything is opened."""
    Streams.stdout_closed = sys.stdout is None
    # Else the first files that are opened would stand in their places, and get what libraries print.
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdout, sys.stderr = _any_text(sys.stdout), _any_text(sys.stderr)
    warnings.showwarning = lambda message, *_, **__: say(f"warning: {in_brief(str(message))}", err=True)


def _any_text(stream: Any) -> Any:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")
    if not isinstance(stream, io.TextIOWrapper):  # a test's, or a notebook's
        return stream
    if stream.isatty() or stream not in (sys.__stdout__, sys.__stderr__):
        stream.reconfigure(errors="transliterate")
        return stream
    stream.flush()
    pipe = _Pipe(stream.fileno(), "w", closefd=False)
    if stream is sys.__stderr__:  # there is nowhere to complain
        pipe.forgiven = OSError
    return io.TextIOWrapper(io.BufferedWriter(pipe), encoding=stream.encoding, errors="transliterate")


def say(text: str = "", *, err: bool = False, end: str = "\n") -> None:
    """Print text of one or more lines, each made printable. A name in it must not hold a line's end: see `note`."""
    stream = sys.stderr if err else sys.stdout
    stream.write("\n".join(map(printable, text.split("\n"))) + end)
    stream.flush()


def note(kind: str, text: str, *, err: bool = False) -> None:
    """Print a note or a warning: one line, not too long, whatever names are in it."""
    say(f"{kind}: {in_brief(text)}", err=err)


def complain(text: str) -> None:
    """Say in one line on stderr why the program ends."""
    say(f"infimum: {in_brief(' '.join(text.split()))}", err=True)


def say_json(text: str) -> None:
    """Print a JSON document and nothing else; letters that stdout lacks as their escapes, which mean the same."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = re.sub(r"[^\x00-\x7f]", _escaped, text)
    sys.stdout.write(text)
    sys.stdout.flush()


def _escaped(letter: re.Match[str]) -> str:
    units = letter[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2))


def json_file(json: str | None) -> Path | None:
    """The file that --json names; None where there is none, and for stdout (-), which must be open."""
    if json == "-" and Streams.stdout_closed:
        raise InputError("--json -: stdout is closed; name a file")
    return None if json is None or json == "-" else Path(json)


def forget() -> None:
    """Let what is still to be written to stdout go nowhere: it cannot be written."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _Pipe):
        raw.gone = True


class OneLine(logging.Formatter):
    """A log entry in one printable line."""

    def format(self, record: logging.LogRecord) -> str:
        """As it is written."""
        return printable(super().format(record))


def transliterated(text: str) -> str:
    """Text in ASCII that says the same, as far as that goes.

    >>> transliterated("λ* ≥ 0.9 – “café”")
    'lambda* >= 0.9 - "cafe"'
    """
    return "".join(map(_ascii, text))


def _ascii(letter: str) -> str:
    if letter.isascii() or letter in LETTERS:
        return LETTERS.get(letter, letter)
    parts = unicodedata.normalize("NFKD", letter)
    if parts != letter:
        return "".join(map(_ascii, parts))
    return "" if unicodedata.category(letter) in ("Mn", "Me", "Cf") else "?"  # accents and joiners


def _handle(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return transliterated(error.object[error.start : error.end]), error.end


codecs.register_error("transliterate", _handle)
