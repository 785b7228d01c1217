"""A trained network of any framework in, Outputs and the prediction layer out. Frameworks load when used."""

from infimum.models.adapter import Cut, NetworkAdapter

__all__ = ["Cut", "NetworkAdapter"]
