"""`infimum extract`: a network and data in, its outputs and prediction layer out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infimum.cli import network_options as n
from infimum.cli import options as o
from infimum.cli.console import note, say
from infimum.cli.emit import end
from infimum.cli.network import NetworkOptions, unless_none
from infimum.errors import ExitCode, InputError


def extract(
    data: Annotated[
        Path,
        typer.Option(
            "--data",
            metavar="DATA",
            help="Inputs: npy, npz or Parquet, a folder of images (one folder per class, or none), or a saved "
            "Hugging Face dataset.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", help="Outputs: a .npz or .safetensors file, or a .parquet folder."
        ),
    ],
    head_out: Annotated[
        Path | None,
        typer.Option("--head-out", metavar="FILE", help="The prediction layer: a .safetensors or .npz file."),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            metavar="FILE|none",
            help="A CSV with file,label or id,label, or an .npy file; none drops those of the data.",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on after the last whole chunk of an interrupted extraction; a finished one is left as it is.",
        ),
    ] = False,
    quiet: o.Quiet = False,
    model: n.Model = None,
    network: n.Network = "",
    batch_size: Annotated[
        int | None,
        typer.Option("--batch-size", min=1, help="Inputs at a time.", rich_help_panel=n.NETWORK),
    ] = None,
    trust: n.Trust = False,
    images: n.Images = "",
) -> None:
    """Run a network over data and write its logits, features, labels and ids.

    Example: infimum extract --model net.onnx --data images --out outputs.npz --head-out head.safetensors
    """
    from infimum.head import Head
    from infimum.io.places import check_places
    from infimum.models._extraction import places_of

    if head_out is not None and head_out.suffix not in (".safetensors", ".npz"):
        raise InputError(f"--head-out must end in .safetensors or .npz, not {head_out.name!r}")
    ran = NetworkOptions.of(model, network, trust, images, batch_size)
    check_places(
        {"--out": places_of(out), "--head-out": head_out},
        {"--data": data, "--labels": unless_none(labels), **ran.files},
    )
    if not ran.given:
        raise InputError(
            "--model is missing (or, for PyTorch, --network factory=MODULE:FUNCTION,weights=FILE)"
        )
    adapter, prepare = ran.load(data, labels)
    head = adapter.head
    if head_out is not None and not isinstance(head, Head):
        why = adapter.cut.why_no_head if head is None else "it is more than one linear layer"
        raise InputError(f"--head-out: the prediction layer cannot be written ({why}); leave --head-out out")
    try:
        made = ran.extract(adapter, prepare, data, labels, out, quiet, "extracting", resume)
    except KeyboardInterrupt:
        note("interrupted", "go on with --resume", err=True)
        end(ExitCode.INTERRUPTED)
    if head_out is not None and isinstance(head, Head):
        head.save(head_out)
    if not quiet:
        if head is None and adapter.cut.why_no_head:
            note("note", f"no prediction layer: {adapter.cut.why_no_head}")
        written = [] if made.finished else [f"{out} ({made.rows:,} inputs)"]
        written += [] if head_out is None else [str(head_out)]
        if made.finished:
            note("finished already", f"{out} ({made.rows:,} inputs); nothing was left to run")
        elif made.resumed_at:
            say(f"resumed at input {made.resumed_at:,}")
        if written:
            note("written", ", ".join(written))
