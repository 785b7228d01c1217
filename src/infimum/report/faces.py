"""What is shown of each kind of result: its text in the terminal, and the pages that are saved with it."""

from __future__ import annotations

from infimum.assessment import Assessment
from infimum.certification._certificate import Certificate
from infimum.certification._planning import Plan
from infimum.comparison import Comparison
from infimum.estimators import Estimates
from infimum.io.faces import Face, Words, register, register_words
from infimum.report import certificate, estimates, pages, plan, text
from infimum.report.comparison import html as comparison_html
from infimum.report.comparison import markdown as comparison_markdown
from infimum.report.comparison import text as comparison_text
from infimum.report.findings import ignored, said


def _comparison(c: Comparison) -> dict[str, str]:
    return {
        "comparison.html": comparison_html.to_html(c),
        "comparison.md": comparison_markdown.to_markdown(c),
    }


register_words(Words(said, ignored))
register(Assessment, Face(text.to_text, pages.of_assessment))
register(Certificate, Face(certificate.to_text))
register(Comparison, Face(comparison_text.to_text, _comparison))
register(Estimates, Face(estimates.to_text))
register(Plan, Face(plan.to_text))
