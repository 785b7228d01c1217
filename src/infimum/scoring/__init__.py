"""Outputs of any size to levels, sets and p-values: part by part, here or on a Ray cluster, resumable."""
