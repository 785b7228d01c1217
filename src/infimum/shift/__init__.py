"""Are calibration and operation alike, and do the labels of the one contradict those of the other?"""

from infimum.shift._exchangeability import Exchangeability, exchangeability

__all__ = ["Exchangeability", "exchangeability"]
