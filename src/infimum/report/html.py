"""An assessment as one HTML page that needs nothing else: no request leaves it, no script but its own runs."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from infimum._rounding import floor4, interval, unrounded
from infimum._text import printable
from infimum.assessment._diagnostics.classes import badness
from infimum.assessment._diagnostics.collect import shortened
from infimum.assessment._results import Assessment
from infimum.report import charts
from infimum.report.figures import FIDELITY, NO_GUARANTEE, ON_CALIBRATION, facts, fidelity_rows, sentence
from infimum.report.provenance import fit_rows, provenance_rows
from infimum.report.selection import HEAD, selection_rows, selection_title
from infimum.report.thumbnails import data_uri

STRIPS = 20
"""Classes drawn; the table holds all of them."""


def to_html(a: Assessment, thumbnails: Mapping[int, Any] | None = None) -> str:
    """The page, as text.

    `thumbnails` are pictures of operation inputs by row, PNG or JPEG bytes or uint8 arrays (H, W), (H, W, 1) or
    (H, W, 3); only those of the inputs of lowest success level are used. Raises InputError for other pictures.
    """
    d, curves = a.diagnostics, a.curves
    style, script = asset("report.css"), asset("report.js")
    classes = [] if d is None else sorted(d.classes, key=badness)
    lowest = () if d is None else d.lowest
    pictures = {x.row: data_uri(thumbnails[x.row]) for x in lowest if thumbnails and x.row in thumbnails}
    page = environment().get_template("report.html.jinja")
    return page.render(
        a=a,
        d=d,
        name=shortened(a.network),
        bound_shown=floor4(a.judge.value),
        fit=fit_rows(a),
        style=style,
        script=script,
        style_hash=content_hash(style),
        script_hash=content_hash(script),
        sentence=sentence(a),
        contradicted=a.contradicted,
        no_guarantee=NO_GUARANTEE,
        facts=facts(a),
        ladder=charts.ladder_strips(a),
        convergence=charts.convergence_chart(a),
        levels=None if d is None else charts.levels_chart(d),
        curves=curves,
        on_calibration=None if curves is d or curves is None else ON_CALIBRATION,
        reliability=None if curves is None else charts.reliability_chart(curves),
        risk=None if curves is None else charts.risk_chart(curves),
        fidelity=charts.fidelity_chart(a),
        likeness=fidelity_rows(a),
        how_to_read=FIDELITY,
        selection_title=None if a.selection is None else selection_title(a.selection),
        selection_head=HEAD,
        selection_rows=[] if a.selection is None else selection_rows(a.selection),
        classes=classes,
        drawn=charts.class_strips(classes[:STRIPS]) if classes else None,
        pictures=pictures,
        provenance=provenance_rows(a),
    )


@cache
def environment() -> Environment:
    """The templates, which escape all text."""
    made = Environment(
        loader=PackageLoader("infimum.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
    )
    made.filters |= {"floor4": floor4, "unrounded": unrounded}
    made.filters["interval"] = lambda p: interval(p.low, p.high, 3)
    return made


@cache
def asset(name: str) -> Markup:
    """The style sheet or the script, as it goes into the page."""
    return Markup((files("infimum.report") / "templates" / name).read_text(encoding="utf-8"))  # noqa: S704


def content_hash(text: Markup) -> str:
    """By which the page's content security policy knows its own style and script."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
