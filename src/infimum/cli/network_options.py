"""Options of the commands that run a network: `extract` and `assess`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

NETWORK = "Network"
IMAGES = "Images"


class DeviceName(StrEnum):
    """Where the network runs."""

    cpu = "cpu"
    cuda = "cuda"
    mps = "mps"


class ModeName(StrEnum):
    """Channels of images."""

    rgb = "rgb"
    gray = "gray"


class LayoutName(StrEnum):
    """Order of an image's axes."""

    nchw = "nchw"
    nhwc = "nhwc"


CalibrationData = Annotated[
    Path | None,
    typer.Option(
        "--calibration-data",
        metavar="DATA",
        help="In place of --calibration: labelled inputs that training has not seen (npy, npz, Parquet, images).",
        rich_help_panel=NETWORK,
    ),
]
OperationData = Annotated[
    Path | None,
    typer.Option(
        "--operation-data",
        metavar="DATA",
        help="In place of --operation: operational inputs.",
        rich_help_panel=NETWORK,
    ),
]
TuningData = Annotated[
    Path | None,
    typer.Option(
        "--tuning-data",
        metavar="DATA",
        help="In place of --tuning: labelled inputs.",
        rich_help_panel=NETWORK,
    ),
]
_LABELS = "Of these inputs: a CSV with file,label or id,label, an .npy file, or none. (default: in the data)"
CalibrationLabels = Annotated[
    str | None,
    typer.Option("--calibration-labels", metavar="FILE", help=_LABELS, rich_help_panel=NETWORK),
]
OperationLabels = Annotated[
    str | None,
    typer.Option("--operation-labels", metavar="FILE|none", help=_LABELS, rich_help_panel=NETWORK),
]
TuningLabels = Annotated[
    str | None,
    typer.Option("--tuning-labels", metavar="FILE", help=_LABELS, rich_help_panel=NETWORK),
]
Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A TorchScript, .pt2, ONNX, .keras or skops file, or a Hugging Face folder; told by content.",
        rich_help_panel=NETWORK,
    ),
]
Factory = Annotated[
    str | None,
    typer.Option(
        "--factory",
        metavar="MODULE:FUNCTION",
        help="PyTorch: makes the module whose weights are read. Its code is run.",
        rich_help_panel=NETWORK,
    ),
]
Weights = Annotated[
    Path | None,
    typer.Option(
        "--weights", metavar="FILE", help="PyTorch: state dict, .pt or .safetensors.", rich_help_panel=NETWORK
    ),
]
HeadLayer = Annotated[
    str | None,
    typer.Option(
        "--head-layer",
        metavar="NAME",
        help="The prediction layer. (default: found by itself)",
        rich_help_panel=NETWORK,
    ),
]
Device = Annotated[
    DeviceName, typer.Option("--device", help="Where the network runs.", rich_help_panel=NETWORK)
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run code that the network's file holds: only for files that you or people you trust made.",
        rich_help_panel=NETWORK,
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option(
        "--batch-size",
        min=1,
        help="Inputs at a time. (default: 64, or what the network takes)",
        rich_help_panel=NETWORK,
    ),
]
Preprocess = Annotated[
    str | None,
    typer.Option(
        "--preprocess",
        metavar="MODULE:FUNCTION",
        help="Turns a batch as read into the array the network takes. Its code is run.",
        rich_help_panel=NETWORK,
    ),
]
SkipBad = Annotated[
    bool,
    typer.Option(
        "--skip-bad", help="Leave out images that cannot be read, naming them.", rich_help_panel=IMAGES
    ),
]
Resize = Annotated[
    str | None,
    typer.Option(
        "--resize",
        metavar="N|none",
        help="Pixels of the shorter side, bilinear. (default: 256)",
        rich_help_panel=IMAGES,
    ),
]
Crop = Annotated[
    str | None,
    typer.Option(
        "--crop",
        metavar="N|none",
        help="Pixels of the square cut out of the middle. (default: 224)",
        rich_help_panel=IMAGES,
    ),
]
Mean = Annotated[
    str | None,
    typer.Option(
        "--mean",
        metavar="R,G,B",
        help="Subtracted from values of 0 to 1. (default: 0.485,0.456,0.406)",
        rich_help_panel=IMAGES,
    ),
]
Std = Annotated[
    str | None,
    typer.Option(
        "--std",
        metavar="R,G,B",
        help="What the difference is divided by. (default: 0.229,0.224,0.225)",
        rich_help_panel=IMAGES,
    ),
]
Mode = Annotated[
    ModeName | None,
    typer.Option("--image-mode", help="Colour or grey. (default: rgb)", rich_help_panel=IMAGES),
]
Layout = Annotated[
    LayoutName | None,
    typer.Option("--layout", help="Channels first or last. (default: nchw)", rich_help_panel=IMAGES),
]
