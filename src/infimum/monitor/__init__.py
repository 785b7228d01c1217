"""Watching a network in operation: where in its feature space it is reliable."""

from infimum.monitor._region_map import RegionMap

__all__ = ["RegionMap"]
