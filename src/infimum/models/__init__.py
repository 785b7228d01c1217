"""A trained network of any framework in, Outputs and the prediction layer out. Frameworks load when used."""

from infimum.models.adapter import Cut, NetworkAdapter
from infimum.models.extraction import Extraction, extract
from infimum.models.loading import load

__all__ = ["Cut", "Extraction", "NetworkAdapter", "extract", "load"]
