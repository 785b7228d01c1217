"""A comparison as one HTML page that needs nothing else: no request leaves it, no script but its own runs."""

from __future__ import annotations

from infimum.comparison._results import Comparison
from infimum.report.comparison import words
from infimum.report.comparison.ladder import network_ladder
from infimum.report.figures import NO_GUARANTEE
from infimum.report.findings import ignored
from infimum.report.html import asset, content_hash, environment


def to_html(c: Comparison) -> str:
    """The page, as text."""
    style, script = asset("report.css"), asset("report.js")
    return (
        environment()
        .get_template("comparison.html.jinja")
        .render(
            c=c,
            style=style,
            script=script,
            style_hash=content_hash(style),
            script_hash=content_hash(script),
            headline=words.headline(c),
            unsettled=words.unsettled(c),
            how=words.how(c),
            ignored=ignored(c.ignored),
            preservation=words.preservation(c),
            multiplicity=words.multiplicity(c),
            no_guarantee=NO_GUARANTEE,
            ladder=network_ladder(c),
            network_head=words.NETWORK_HEAD,
            network_rows=words.network_rows(c),
            difference_head=words.DIFFERENCE_HEAD,
            difference_rows=words.difference_rows(c.differences),
        )
    )
