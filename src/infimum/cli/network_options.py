"""Options of the commands that run a network: `extract`, `score` and `assess`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infimum.cli.objects import PAIRS

NETWORK = "Network"

Model = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="A TorchScript, .pt2, ONNX, .keras or skops file, or a Hugging Face folder; told by content.",
        rich_help_panel=NETWORK,
    ),
]
Network = Annotated[
    str,
    typer.Option(
        "--network",
        metavar=PAIRS,
        help="How it is loaded and run: {NETWORKS}. factory, MODULE:FUNCTION, makes the PyTorch module whose weights "
        "(a state dict, .pt or .safetensors) are read, and preprocess turns a batch as read into the array that the "
        "network takes: their code is run. head_layer is found by itself, batch_size is 64 or what the network takes; "
        "skip_bad leaves out images that cannot be read, naming them.",
        rich_help_panel=NETWORK,
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run code that the network's file holds: only for files that you or people you trust made.",
        rich_help_panel=NETWORK,
    ),
]
Images = Annotated[
    str,
    typer.Option(
        "--images",
        metavar=PAIRS,
        help="How an image becomes an array: {IMAGES}. The shorter side is resized, the middle cropped (none: "
        "neither), values are divided by 255, mean and std are per channel.",
        rich_help_panel=NETWORK,
    ),
]
