"""A trained network of any framework in, Outputs and the prediction layer out. Frameworks load when used."""

from infimum.models._adapter import NetworkAdapter
from infimum.models._cut import Cut
from infimum.models._extraction import Extraction, extract
from infimum.models._loading import load

__all__ = ["Cut", "Extraction", "NetworkAdapter", "extract", "load"]
