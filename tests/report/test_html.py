"""The HTML page as text: well-formed, bounded, quick, and safe with text from outside."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from reports import HOSTILE, hostile_assessment, toy_assessment

from infimum import Assessment, InputError, Outputs, assess
from infimum._rounding import floor4
from infimum.bounds import Bound
from infimum.report.charts.reliability import reliability_chart
from infimum.report.charts.risk import risk_chart
from infimum.report.charts.strips import class_strips
from infimum.report.html import to_html
from infimum.report.markdown import to_markdown

VOID = {"meta", "link", "img", "input", "br", "hr"}


class Page(HTMLParser):
    """Elements, attributes and text; fails on tags that do not nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.text = ""
        self.feed(html)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] not in ("style", "script"):
            self.text += data

    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.tags if "id" in a]


@pytest.fixture(scope="module")
def hostile() -> Assessment:
    return hostile_assessment()


def test_sections_and_figures() -> None:
    a = toy_assessment(target=0.5, manifold=True)
    page = Page(to_html(a))
    assert {"ladder", "convergence", "levels", "reliability", "risk", "fidelity"} <= set(page.ids())
    assert len(page.ids()) == len(set(page.ids()))
    for text in ("At least", "λ is an estimate, not a guarantee", "Target 0.5 met", floor4(a.lambda_.value)):
        assert text in page.text
    for assumption in a.certified[0].assumptions:
        assert assumption in page.text
    for value in a.provenance["inputs"]["operation"].values():
        assert value in page.text
    for warning in a.warnings:
        assert warning in page.text
    for name, attributes in page.tags:
        assert "style" not in attributes
        assert not any(key.startswith("on") for key in attributes)
        assert not str(attributes.get("src", "data:")).startswith("http"), name
    described = [a for n, a in page.tags if n == "svg" and a.get("class") == "chart"]
    assert len(described) == 7  # five charts, two of them on a second scale
    for svg in described:
        assert {svg["aria-labelledby"], svg["aria-describedby"]} <= set(page.ids())
        assert svg["tabindex"] == "0"


def test_a_bound_that_holds_only_in_the_limit_says_so() -> None:
    a = toy_assessment(n=50)
    limit = Bound(0.91, 0.95, "prediction_powered", 40, ("the rows are alike",), validity="asymptotic")
    page = Page(to_html(replace(a, certified=(*a.certified, limit))))
    assert "Holds in the limit of many labels, with 95 % confidence" in page.text
    assert "lower bound, asymptotic" in page.text
    assert f"At least {int(a.certified[0].value * 1e4) / 1e4:.4f}" in page.text


def test_policy_allows_the_own_style_and_script_only() -> None:
    html = to_html(toy_assessment(n=50))
    policy = next(
        a["content"] for n, a in Page(html).tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for name in ("style", "script"):
        (inside,) = re.findall(rf"<{name}>(.*?)</{name}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_text_from_outside_stays_text(hostile: Assessment) -> None:
    html, plain = (
        to_html(hostile),
        Page(to_html(toy_assessment(manifold=True, ids=[str(i) for i in range(2000)]))),
    )
    page = Page(html)
    assert {n for n, _ in page.tags} == {n for n, _ in plain.tags}
    assert [n for n, _ in page.tags].count("script") == 1
    assert HOSTILE[0] in page.text
    assert HOSTILE[3] in page.text  # not taken as a template
    for bad in ("\x00", "\x1b", "\u202e", "\ud800"):
        assert bad not in html
    html.encode()
    markdown = to_markdown(hostile)
    assert "<script" not in markdown
    assert "<img" not in markdown
    assert not any(line.startswith("# heading") for line in markdown.splitlines())
    assert all(
        line.count("|") - line.count("\\|") > 1 for line in markdown.splitlines() if line.startswith("| ")
    )


def test_a_method_that_infimum_does_not_know_stays_text() -> None:
    """An assessment.json edited by hand can name any."""
    d = toy_assessment(n=50).to_dict()
    d["certified"][0]["method"] = "<script>alert(1)</script>\x1b[2J"
    edited = Assessment.from_dict(json.loads(json.dumps(d)))
    assert "<script>alert" not in to_markdown(edited) + to_html(edited)
    assert "\x1b" not in edited.summary() + to_markdown(edited)


@pytest.mark.parametrize(
    "options",
    [
        {"n": 3},
        {"n": 3, "labelled": False},
        {"labelled": False, "n_classes": 100},
        {"n_classes": 1000, "n": 5000},
        {"sharpness": 60.0, "n": 200},
        {"target": 0.9999},
        {"levels": "empty=nan,step=0.25"},
        {"n_classes": 2, "manifold": True},
    ],
    ids=str,
)
def test_every_case_renders(options: dict[str, object]) -> None:
    a = toy_assessment(**options)
    html = to_html(a)
    page = Page(html)
    assert len(html.encode()) < 2_000_000
    unlabelled = not options.get("labelled", True)
    assert (
        ("on the calibration rows" in page.text)
        == ("the calibration rows, each scored" in page.text)
        == unlabelled
    )
    assert {"risk", "reliability"} <= set(page.ids())
    assert ("Nothing was sampled" in page.text) == ("manifold" not in options)
    assert ("not met" in page.text) == ("target" in options)
    if options.get("n_classes") == 1000:
        assert "980 more classes" in page.text
    for coordinate in re.findall(r'(?:[cxy]|x1|y1|x2|y2|cx|cy|width|height)="([^"]*)%"', html):
        assert -1e-9 <= float(coordinate) <= 100 + 1e-9  # nothing is drawn outside its axes
    to_markdown(a)


def test_intervals_of_few_inputs_are_not_cut_off() -> None:
    """Three inputs, all right: the interval of each class reaches down to 0.025, that of the one bin to 0.29."""
    logits, labels = 9 * np.eye(3), np.arange(3)
    a = assess(Outputs(logits, labels), Outputs(logits[::-1] + 0.1, labels[::-1]))
    assert [c.precision.low for c in a.diagnostics.classes] == pytest.approx([0.0253] * 3, abs=1e-3)
    strips = class_strips(list(a.diagnostics.classes)).strips
    starts = [float(x) for strip in strips for x in re.findall(r'x1="([\d.]+)%"[^>]*class="whisker"', strip)]
    assert len(starts) == 6
    assert min(starts) > 0
    svg = reliability_chart(a.diagnostics).svg
    (low,) = re.findall(r'y1="([\d.]+)%"[^>]*class="whisker"', svg)
    assert float(low) < 100
    # One λ(x) for all inputs: no line to be drawn, so a dot is.
    assert 'class="whisker"' in risk_chart(a.diagnostics).svg


def test_an_assessment_without_diagnostics() -> None:
    old = replace(toy_assessment(n=50), diagnostics=None)
    assert "run infimum assess again" in Page(to_html(old)).text
    to_markdown(old)


READ = """
import json, sys
from infimum import Assessment, InputError
from infimum.report.charts.reliability import reliability_chart
from infimum.report.charts.risk import risk_chart
from infimum.report.charts.strips import class_strips
from infimum.report.html import to_html
for number, document in enumerate(json.load(sys.stdin)):
    try:
        to_html(Assessment.from_dict(document))
        print(number)
    except InputError:
        pass
"""


def test_a_file_that_holds_nonsense_is_refused() -> None:
    """In a process of its own: here, jaxtyping's checks would refuse the values before infimum's do."""
    whole = json.dumps(
        toy_assessment(n=120, manifold=True).to_dict()
    )  # without a checksum: it would refuse all
    documents = [json.loads(whole)]
    for path, value in (
        (("network",), 7),
        (("lambda", "value"), "<b>"),
        (("certified", 0, "value"), float("nan")),
        (("certified", 0, "n"), 1.5),
        (("certified",), []),
        (("findings",), [3]),
        (("findings",), [{"code": "capped", "level": "error", "data": {}, "ignored": False}]),
        (("findings",), [{"code": "capped", "level": "note", "data": [], "ignored": False}]),
        (("diagnostics", "levels", 0, "share"), None),
        (("diagnostics", "levels", 0, "share"), float("inf")),
        (("diagnostics", "lowest", 0), []),
        (("diagnostics", "classes", 0, "name"), {}),
        (("diagnostics",), 3),
        (("on_calibration",), {"reliability": 3}),
        (("fidelity",), 3),
        (("fidelity", "auc"), "x"),
        (("fidelity", "levels_real", 0), float("nan")),
        (("fidelity", "levels_samples"), []),
        (("estimates", 0, "standard_error"), "x"),
        (("estimates", 0, "value"), 1.5),
        (("manifold", "log_likelihood"), "x"),
        (("manifold",), {}),
        (("calibration", "score"), []),
        (("provenance",), []),
        (("n_classes",), True),
        (("n_classes",), 10**400),
        (("lambda", "history", 0, "value"), -1e308),
        (("lambda", "history", 0, "standard_error"), 1e308),
        (("certified", 0, "n"), -1),
        (("certified", 0, "confidence"), 1.5),
        (("success", "value"), -0.5),
        (("diagnostics", "levels", 0, "incorrect"), None),
        (("diagnostics", "reliability", 0, "level"), 1e308),
        (("diagnostics", "classes", 0, "precision", "high"), 1e308),
        (("fidelity", "lambda_real"), 1e308),
    ):
        documents.append(json.loads(whole))
        inside = documents[-1]
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = value
    done = subprocess.run(
        [sys.executable, "-c", READ], input=json.dumps(documents), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0"]  # the one that was left whole


def test_thumbnails() -> None:
    pytest.importorskip("PIL", reason="pictures are made with Pillow")
    a = toy_assessment(n=50)
    row = a.diagnostics.lowest[0].row
    grey = np.zeros((300, 200), dtype=np.uint8)
    page = Page(to_html(a, {row: grey, 49_000: grey}))
    (source,) = [attributes["src"] for name, attributes in page.tags if name == "img"]
    assert source.startswith("data:image/png;base64,iVBOR")
    png = base64.b64decode(source.split(",")[1])
    assert to_html(a, {row: png}) == to_html(a, {row: grey})
    for bad in (
        b"GIF89a",
        b"\xff\xd8\xff" + bytes(70_000),
        np.zeros((2, 2)),
        np.zeros((2, 2, 7), dtype=np.uint8),
    ):
        with pytest.raises(InputError, match="thumbnail"):
            to_html(a, {row: bad})


def test_a_million_inputs() -> None:
    """Rendering does not depend on the number of inputs: under 3 s of processor time, under 2 MB."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    logits = rng.normal(size=(n, 3)).astype(np.float32) * 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    a = assess(Outputs(logits[:1000], labels[:1000]), Outputs(logits[1000:], labels[1000:]))
    began = time.process_time()
    html, document = to_html(a), a.to_json()
    assert time.process_time() - began < 3
    assert len(html.encode()) < 2_000_000
    assert len(document) < 500_000
