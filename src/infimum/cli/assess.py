"""`infimum assess`: outputs of a network, or the network and data, in; how reliable it is out."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from infimum._text import listed
from infimum.cli import network_options as n
from infimum.cli import options as o
from infimum.cli.console import json_file, note, say, say_json
from infimum.cli.network import LABELS, NetworkOptions, outputs_of, unless_none
from infimum.cli.objects import METAVAR, PAIRS
from infimum.cli.pictures import Pictures, add_pictures, check_pictures_in
from infimum.cli.progress import assessing_progress
from infimum.errors import InputError

MANIFOLD = "Manifold and sampling"


class Alike(StrEnum):
    """What is done with the test of whether calibration and operation are alike."""

    test = "test"
    require = "require"
    skip = "skip"


def assess(
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="Labelled outputs that training has not seen: npz, safetensors or Parquet with logits (or "
            "probabilities) and labels. With --model: the inputs (npy, npz, Parquet, images).",
        ),
    ] = None,
    operation: Annotated[
        Path | None,
        typer.Option(
            "--operation",
            metavar="FILE|DIR",
            help="Outputs on operational inputs, or a folder of Parquet or npz parts, of any size; labels are not "
            "needed, with them λ* is shown. With --model: the inputs.",
        ),
    ] = None,
    tuning: o.TuningFile = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where to write assessment.json, report.html and report.md."
        ),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--target",
            help="Exit 0 if the bound that --method names reaches this reliability, 1 if not.",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option("--confidence", help="Of the certified bounds.")] = 0.95,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="The bound that decides about the target; name it before you look: {JUDGES}.",
        ),
    ] = "clopper_pearson",
    label_errors: o.LabelErrors = None,
    alike: Annotated[
        Alike,
        typer.Option(
            "--alike",
            help="Whether calibration and operation are alike, which every bound assumes: test it; require it (exit 1 "
            "too where the test finds that they differ); or skip the test.",
        ),
    ] = Alike.test,
    name: Annotated[str | None, typer.Option("--name", help="Of the network. (default: DIR's name)")] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE|-", help="Write the JSON here; - for stdout alone.")
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option(
            "--junit", metavar="FILE", help="Write JUnit XML: the target a test case, warnings in its output."
        ),
    ] = None,
    pictures: Pictures = None,
    identity: o.IdentityOption = o.IdentityName.ids,
    ignore: o.Ignore = None,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    score: o.Score = "raps",
    levels: o.Levels = "",
    manifold: Annotated[
        str | None,
        typer.Option(
            "--manifold",
            metavar=METAVAR,
            help="What to sample from: {MANIFOLDS}. gmm is the paper's; auto chooses by held-out features. (default: "
            "kernel with --head and features of fewer than 2,000 inputs, or --manifold-data; else none)",
            rich_help_panel=MANIFOLD,
        ),
    ] = None,
    head: Annotated[
        Path | None,
        typer.Option(
            "--head",
            metavar="FILE",
            help="The prediction layer: npz or safetensors with weight (K, d) and bias (K,).",
            rich_help_panel=MANIFOLD,
        ),
    ] = None,
    manifold_data: Annotated[
        Path | None,
        typer.Option(
            "--manifold-data",
            metavar="FILE",
            help="Features that training has not seen. (default: the operation's)",
            rich_help_panel=MANIFOLD,
        ),
    ] = None,
    sampling: Annotated[
        str,
        typer.Option(
            "--sampling",
            metavar=METAVAR,
            help="When it ends: {SAMPLINGS}. se: sampling error ≤ tol; difference: the paper's, λ moves ≤ tol; "
            "samples: max_samples, which end every rule; time: seconds. sobol points: a small tol needs fewer.",
            rich_help_panel=MANIFOLD,
        ),
    ] = "se",
    model: n.Model = None,
    network: n.Network = "",
    labels: Annotated[
        str,
        typer.Option(
            "--labels",
            metavar=PAIRS,
            help="Of inputs that a network runs on, where they do not lie in the data: {LABELS}. Each a CSV with "
            "file,label or id,label, an .npy file, or none.",
            rich_help_panel=n.NETWORK,
        ),
    ] = "",
    trust: n.Trust = False,
    images: n.Images = "",
) -> None:
    """Tell how reliable a trained classifier is, at least.

    Examples: infimum assess --calibration cal.npz --operation ops.npz --target 0.95 --out results
    infimum assess --model net.onnx --calibration labelled --operation images.npy --out results

    With --model the network's outputs lie in a temporary folder (TMPDIR) and are mapped, not held in memory.
    --operation is read block by block, in memory that does not grow with it; only where another --method than
    clopper_pearson decides is it read whole.
    """
    import infimum
    from infimum.assessment import Assessment
    from infimum.bounds._judges import JUDGES, ClopperPearson
    from infimum.gates import gates_of
    from infimum.io.places import Folder, check_places
    from infimum.io.replacing import together, write_bytes
    from infimum.outputs._stream import OutputsStream
    from infimum.report.junit import Suite, to_junit

    ran = NetworkOptions.of(model, network, trust, images)
    given = {"calibration": calibration, "operation": operation, "tuning": tuning}
    labels_of = LABELS.read(labels)
    judge, codes = JUDGES.read(method), o.codes_of(ignore)
    json_to = json_file(json)
    check_places(
        {
            "--out": None if out is None else Folder(out, Assessment.WRITTEN),
            "--json": json_to,
            "--junit": junit,
        },
        {
            **{f"--{role}": path for role, path in given.items()},
            **{f"--labels {role}": unless_none(word) for role, word in vars(labels_of).items()},
            "--head": head,
            "--manifold-data": manifold_data,
            "--pictures": unless_none(pictures),
            **ran.files,
        },
    )
    check_pictures_in(pictures, out)
    start = time.perf_counter()
    features = None if manifold_data is None else features_in(manifold_data)
    silent = quiet or json == "-"
    # A bound of another method reads the operation more than once.
    streamed = isinstance(judge, ClopperPearson)
    with (
        outputs_of(ran, given, labels_of, silent, streamed) as (labelled, operated, own_head),
        assessing_progress(silent) as (progress, rows_read),
    ):
        if isinstance(operated, OutputsStream):
            operated = replace(operated, progress=rows_read)
        result = infimum.assess(
            labelled["calibration"],
            operated,
            tuning=labelled.get("tuning"),
            head=own_head if head is None else infimum.Head.load(head),
            manifold_data=features,
            score=o.score_of(score, "tuning" in labelled),
            levels=levels,
            manifold=manifold,
            sampling=sampling,
            seed=seed,
            exchangeability=alike is not Alike.skip,
            target=target,
            confidence=confidence,
            method=judge,
            label_errors=label_errors,
            identity=identity.value,
            name=name or (out.resolve().name if out is not None else "network"),
            progress=progress,
        )
    command = shlex.join(["infimum", *sys.argv[1:]])
    result = o.without(replace(result, provenance={**result.provenance, "command": command}), codes)
    gates = gates_of(result, require_alike=alike is Alike.require)
    with together():
        if out is not None:
            result.save(out)
        if junit is not None:
            suite = Suite(result, gates, time.perf_counter() - start)
            write_bytes(junit, to_junit([suite]).encode())
        if json_to is not None:
            write_bytes(json_to, result.to_json().encode())
    if out is not None:  # the assessment is safe on disk now
        add_pictures(result, out, pictures, operation if ran.given else None, silent)
    if json == "-":
        say_json(result.to_json())
    elif not quiet:
        say(result.summary())
        if out is not None:
            note("written", ", ".join(str(out / name) for name in Assessment.WRITTEN))
    if result.interrupted:
        raise typer.Exit(130)
    if not all(gate.passed for gate in gates):
        raise typer.Exit(1)


def features_in(path: Path) -> Any:
    """The features (m, d) of a file."""
    from infimum.io.files import array_names, read_arrays

    arrays = read_arrays(path, ["features"])
    if "features" not in arrays:
        raise InputError(f"{path} has no 'features'; it holds: {listed(array_names(path))}")
    return arrays["features"]
