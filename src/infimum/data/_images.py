"""One image file to one array: what torchvision's usual evaluation transform does, written out."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass
from typing import IO, Any, Literal

import numpy as np
from jaxtyping import Float32

from infimum._checks import Array, Real
from infimum._grammar import Kind, Registry
from infimum.errors import InputError, MissingExtraError

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)

FORMATS = ("JPEG", "PNG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
"""Pillow reads more, among them formats that start other programs (EPS)."""

MAX_PIXELS = 100_000_000
MAX_BYTES = 2**28


class BadImageError(Exception):
    """An image that cannot be read; the message says why."""


@dataclass(frozen=True)
class ImageOptions:
    """How an image becomes the array a network takes, as float32.

    The shorter side is resized to `resize` pixels (bilinear, antialiased), the middle `crop` × `crop` pixels are
    cut out (with a black border where the image is smaller), values are divided by 255, `mean` is subtracted
    and the result divided by `std`, each per channel. `resize=None` and `crop=None` leave the size. `mode` is
    "rgb" or "gray"; `layout` is "nchw" (channels first) or "nhwc". The orientation in EXIF data is not applied.

    The defaults are those of torchvision's ImageNet networks: 256, 224, mean (0.485, 0.456, 0.406),
    std (0.229, 0.224, 0.225). Raises InputError for values that cannot be meant.

    >>> ImageOptions(resize=32, crop=None, mode="gray", mean=(0.5,), std=(0.5,)).resize
    32
    """

    resize: int | None = 256
    crop: int | None = 224
    mean: tuple[Real, ...] = IMAGENET_MEAN
    std: tuple[Real, ...] = IMAGENET_STD
    mode: Literal["rgb", "gray"] = "rgb"
    layout: Literal["nchw", "nhwc"] = "nchw"

    def __post_init__(self) -> None:
        for what, size in (("resize", self.resize), ("crop", self.crop)):
            if size is not None and not 1 <= size <= 10_000:
                raise InputError(f"{what} must be from 1 to 10000 pixels, not {size}")
        if self.mode not in ("rgb", "gray"):
            raise InputError(f"image mode must be rgb or gray, not {self.mode!r}")
        if self.layout not in ("nchw", "nhwc"):
            raise InputError(f"layout must be nchw or nhwc, not {self.layout!r}")
        channels = 3 if self.mode == "rgb" else 1
        for what, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, channels) or not np.isfinite(values).all():
                raise InputError(
                    f"{what} must be {' or '.join(sorted({'1', str(channels)}))} finite number(s) for "
                    f"{self.mode} images, not {values}"
                )
        if min(self.std) <= 0:
            raise InputError(f"std must be above 0, not {self.std}")

    def decode(self, source: IO[bytes] | bytes) -> Float32[np.ndarray, "_ _ _"]:
        """One image as an array; BadImageError says why it cannot be read."""
        Image = need_pillow()
        file = io.BytesIO(source) if isinstance(source, bytes) else source
        try:
            with warnings.catch_warnings():
                # Pillow warns of images somewhat too large and of broken metadata; sizes are checked below.
                warnings.simplefilter("ignore")
                with Image.open(file, formats=FORMATS) as image:
                    self._check_size(*image.size)
                    if image.mode.startswith(("I", "F")):
                        raise BadImageError(f"its pixels are of mode {image.mode}, not 8 bit; convert it")
                    image = image.convert("RGB" if self.mode == "rgb" else "L")
                    image = self._crop(self._resize(image, Image), Image)
                    pixels: Array = np.asarray(image, dtype=np.float32)
        except BadImageError:
            raise
        except Image.DecompressionBombError as error:
            raise BadImageError(f"it has more pixels than the limit of {MAX_PIXELS:,}") from error
        except Image.UnidentifiedImageError as error:
            raise BadImageError(f"it is not an image of a known kind ({', '.join(FORMATS)})") from error
        # Decoders meet damage in many ways: all of them mean the file, none of them this program.
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            raise BadImageError(f"it cannot be decoded ({error})") from error
        pixels = pixels[..., None] if pixels.ndim == 2 else pixels
        # Divided by a Python number, float32 stays float32.
        pixels = (pixels / 255 - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return pixels if self.layout == "nhwc" else np.ascontiguousarray(pixels.transpose(2, 0, 1))

    def _check_size(self, width: int, height: int) -> None:
        # Resizing the shorter side of a very long image up can make a small file enormous.
        scale = 1.0 if self.resize is None else max(1.0, self.resize / max(1, min(width, height)))
        if width * height * scale**2 > MAX_PIXELS:
            raise BadImageError(
                f"it has {width} x {height} pixels{' before it is resized' if scale > 1 else ''}, "
                f"more than the limit of {MAX_PIXELS:,}"
            )

    def _resize(self, image: Any, Image: Any) -> Any:
        if self.resize is None:
            return image
        width, height = image.size
        short, long = min(width, height), max(width, height)
        other = int(self.resize * long / short)
        size = (self.resize, other) if width <= height else (other, self.resize)
        return image if image.size == size else image.resize(size, Image.Resampling.BILINEAR)

    def _crop(self, image: Any, Image: Any) -> Any:
        if self.crop is None:
            return image
        width, height = image.size
        if width < self.crop or height < self.crop:
            wide = Image.new(image.mode, (max(width, self.crop), max(height, self.crop)))
            wide.paste(image, (max(0, self.crop - width) // 2, max(0, self.crop - height) // 2))
            image, (width, height) = wide, wide.size
        left, top = round((width - self.crop) / 2), round((height - self.crop) / 2)
        return image.crop((left, top, left + self.crop, top + self.crop))


IMAGES: Registry[ImageOptions] = Registry(
    "images",
    {"images": Kind.of(ImageOptions)},
    lambda given: isinstance(given, ImageOptions),
    default="images",
)


def need_pillow() -> Any:
    """Pillow's Image module; MissingExtraError without Pillow."""
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError("Reading images", "images") from error
    return Image


def stack_images(images: list[Any], names: list[str]) -> Any:
    """Images of a batch as one array; InputError naming the first that differs in size."""
    for image, name in zip(images, names, strict=True):
        if image.shape != images[0].shape:
            raise InputError(
                f"{name} has shape {image.shape} where {names[0]} has {images[0].shape}; "
                "images of one batch need one size: set resize and crop (--images resize=256,crop=224)"
            )
    return np.stack(images)
