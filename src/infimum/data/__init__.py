"""Raw inputs of a network, in batches and bounded memory: arrays, Parquet, images, saved datasets, iterables."""

from infimum.data.base import Batch, Data
from infimum.data.images import ImageOptions
from infimum.data.opening import open_data

__all__ = ["Batch", "Data", "ImageOptions", "open_data"]
