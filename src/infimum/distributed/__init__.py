"""The same success levels through a cluster engine."""
