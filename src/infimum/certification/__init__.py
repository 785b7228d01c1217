"""Certificates from labelled rows: what they show, what they cost, and which rows to label."""

from infimum.certification._certificate import Certificate
from infimum.certification._certify import certify
from infimum.certification._labelled import Labelled
from infimum.certification._planning import Plan, plan
from infimum.certification._selection import Selection, select
from infimum.certification._sequence import Sequence

__all__ = ["Certificate", "Labelled", "Plan", "Selection", "Sequence", "certify", "plan", "select"]
