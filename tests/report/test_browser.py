"""The HTML page in a real browser: silent, offline, drawn, at three widths, in dark mode, in print, by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browsing import watched
from reports import HOSTILE, hostile_assessment, toy_assessment

from infimum import Assessment, Outputs, compare
from infimum.report.comparison.html import to_html as comparison_html
from infimum.report.html import to_html

A4 = 688
"""CSS pixels between the margins of an A4 page: 182 mm."""

CASES = {
    "ten classes, labels": lambda: toy_assessment(target=0.5, manifold=True),
    "hundred classes, no labels": lambda: toy_assessment(100, labelled=False),
    "failing target": lambda: toy_assessment(target=0.9999),
    "hostile text": hostile_assessment,
}


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Assessment, Path]:
    a = CASES[request.param]()
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(to_html(a), encoding="utf-8")
    return a, path


def background(page: Any) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_page(browser: Any, case: tuple[Assessment, Path]) -> None:
    a, path = case
    context = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme="light", offline=True)
    context.set_default_timeout(60_000)
    page = context.new_page()
    requests, complaints = watched(page)
    page.goto(path.as_uri())

    # Every chart that has data has marks of some size inside its drawing.
    expected = {"levels", "reliability", "risk"} | ({"convergence", "fidelity"} if a.manifold else set())
    for key in expected:
        boxes = page.evaluate(
            "key => [...document.querySelectorAll(`#${key} svg.chart .mark`)].map(m => m.getBoundingClientRect())"
            ".filter(b => b.width > 0 && b.height > 0).length",
            key,
        )
        assert boxes > 0, key
    assert page.locator("figure").count() == len(expected)
    assert page.locator("#ladder li .mark").count() == page.locator("#ladder li").count() > 2

    for width in (1440, 900, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    light = background(page)
    page.emulate_media(color_scheme="dark")
    assert background(page) != light
    page.emulate_media(color_scheme="dark", media="print")
    assert background(page) == light  # paper is white
    assert not page.locator("details").first.is_visible()
    page.set_viewport_size({"width": A4, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= A4  # else all of it is printed smaller
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.emulate_media(color_scheme="light", media="screen")

    # The keyboard reads the values out; a series can be hidden; the values are there as a table.
    chart = page.locator("#levels .linear svg.chart")
    chart.focus()
    page.keyboard.press("ArrowRight")
    assert "with λ(x) from" in page.locator("#say").inner_text()
    assert page.locator("#tip").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#tip").is_visible()
    first = page.locator("#levels .keys input").first
    marks = page.locator(f"#levels .linear .mark.s-{first.get_attribute('value')}")
    assert marks.first.is_visible()
    first.press("Space")
    assert not marks.first.is_visible()
    page.locator("#levels input.log").press("Space")
    assert page.locator("#levels .logarithmic").is_visible()
    assert not page.locator("#levels .linear").is_visible()
    page.locator("#levels summary").press("Enter")
    assert page.locator("#levels table").is_visible()

    assert requests == [path.as_uri()]
    assert complaints == []
    context.close()


def test_comparison_page(browser: Any, tmp_path: Path) -> None:
    """Hostile and long names, at three widths, dark and on paper; every figure of every network has its mark."""
    rng, labels = np.random.default_rng(0), np.arange(400) % 3
    networks = [
        Outputs(np.eye(3)[labels] * 2 + rng.normal(size=(400, 3)) * (1 + i / 5), labels)
        for i in range(len(HOSTILE))
    ]
    c = compare(networks, networks, names=HOSTILE)
    path = tmp_path / "comparison.html"
    path.write_text(comparison_html(c), encoding="utf-8")
    page = browser.new_context(color_scheme="light", offline=True).new_page()
    page.set_default_timeout(60_000)
    requests, complaints = watched(page)
    page.goto(path.as_uri())
    assert page.locator("#ladder li .mark").count() == 3 * len(HOSTILE)
    assert page.locator("table").first.locator("tbody tr").count() == len(HOSTILE)
    for width in (1440, 900, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    light = background(page)
    page.emulate_media(color_scheme="dark")
    assert background(page) != light
    page.emulate_media(color_scheme="dark", media="print")
    assert background(page) == light
    page.set_viewport_size({"width": 688, "height": 1017})  # A4 within its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 688
    assert page.pdf(format="A4").startswith(b"%PDF")
    assert complaints == []
    assert requests == [path.as_uri()]
