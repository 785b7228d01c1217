"""Raw inputs of a network, in batches and bounded memory: arrays, Parquet, images, saved datasets, iterables."""

from infimum.data._data import Batch, Data
from infimum.data._images import ImageOptions
from infimum.data._opening import open_data

__all__ = ["Batch", "Data", "ImageOptions", "open_data"]
