"""Findings: every code has a sentence and a line in the documentation; ignoring one hides it and nothing else."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infimum import InputError, Outputs, assess
from infimum.io.findings import Finding, ignoring, note, warning
from infimum.report.findings import CODES, check_codes, said

ROOT = Path(__file__).parents[2]


def codes_made() -> set[str]:
    """Codes that stand in the source where findings are made."""
    made = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") in ("note", "warning")
                and node.args
            ):
                first = node.args[0]
                if isinstance(first, ast.Constant) and re.fullmatch(
                    r"[a-z]+(-[a-z]+)+|[a-z]{6,}", str(first.value)
                ):
                    made.add(str(first.value))
    return made


def test_every_code_that_is_made_has_words_and_every_word_is_used() -> None:
    made = codes_made()
    assert len(made) > 40
    # The command line's own note() takes a head, as note("written", …): no code.
    assert made - set(CODES) <= {
        "written",
        "skipped",
        "warning",
        "finished already",
        "interrupted",
        "note",
        "ignored",
    }
    assert set(CODES) - made == set()


def test_the_documentation_lists_the_codes_of_today() -> None:
    page = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([\w-]+)` \| (.+) \|$", page, re.MULTILINE)
    assert listed == [(code, CODES[code].meaning) for code in sorted(CODES)]


def test_codes_are_words_with_hyphens() -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in CODES)


def test_an_unknown_code_of_a_file_is_shown_as_it_is() -> None:
    assert said(Finding("of-another-version", "note", {"n": 3})) == "of-another-version: {'n': 3}"
    assert said(Finding("capped", "warning", {"many": 3})) == "capped: {'many': 3}"
    assert "\x1b" not in said(Finding("x\x1b[31m", "note"))


def test_a_code_that_is_none_is_refused() -> None:
    assert check_codes(["not-alike"]) == {"not-alike"}
    with pytest.raises(InputError, match="did you mean not-alike"):
        check_codes(["not-alik"])


def outputs() -> tuple[Outputs, Outputs]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 460)
    z = 4 * np.eye(3)[y] + rng.normal(size=(460, 3))
    return Outputs(z[:400], y[:400]), Outputs(z[400:])


def test_what_is_ignored_is_said_to_be_and_changes_nothing_else() -> None:
    found = assess(*outputs(), target=0.9)
    assert any(f.code == "few-operation-inputs" for f in found.findings)
    quieter = replace(found, findings=ignoring(found.findings, {"few-operation-inputs"}))
    assert quieter.ignored == ("few-operation-inputs",)
    assert "only 60 operation inputs" in found.summary()
    assert "only 60 operation inputs" not in quieter.summary()
    assert "ignored as asked: few-operation-inputs" in quieter.summary()
    ours, theirs = (json.loads(a.to_json()) for a in (quieter, found))
    assert {key for key in ours if ours[key] != theirs[key]} == {"findings", "checksum"}
    assert quieter == type(quieter).from_dict(json.loads(quieter.to_json()))


def test_levels_and_order() -> None:
    assert (warning("capped", n=3).level, note("tuning-unused").level) == ("warning", "note")
    with pytest.raises(InputError, match="level"):
        Finding.from_dict({**warning("capped").to_dict(), "level": "error"})
