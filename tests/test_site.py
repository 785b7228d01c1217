"""The documentation site: it builds without a warning, asks no other server, and works when opened from the disk."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browsing import watched

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (ROOT / "docs").exists(), reason="the documentation is not part of a source distribution"
    ),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for module in ("mkdocs", "material", "mkdocstrings"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed (pip install -r requirements-docs.txt, or make docs)")
    folder = tmp_path_factory.mktemp("built") / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|iframe)[^>]+src="?https?:', text), page
        assert not re.search(r'<link[^>]+rel="?(?:stylesheet|preconnect)[^>]+https?:', text), page


def test_opened_from_the_disk(site: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.set_default_timeout(60_000)
    requests, complaints = watched(page)
    page.goto((site / "how-to" / "ci.html").as_uri())
    # No web worker on file:, so an iframe searches.
    page.wait_for_selector(".md-search__input")
    page.click(".md-search__input")
    page.wait_for_selector("text=Type to start searching")
    page.keyboard.type("McNemar")
    page.wait_for_selector(".md-search-result__item a")
    links = page.eval_on_selector_all(".md-search-result__link", "found => found.map(a => a.href)")
    assert any("which-of-several-networks" in link for link in links)
    elsewhere = [url for url in requests if not url.startswith("file:")]
    assert (elsewhere, complaints) == ([], [])


@pytest.mark.parametrize("width", [1400, 400])
def test_no_page_is_wider_than_the_window(site: Path, browser: Any, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(60_000)
    wide = []
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            wide.append(path.relative_to(site).as_posix())
    assert wide == []
