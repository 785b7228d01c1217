"""`infimum assess`: outputs of a network, or the network and data, in; how reliable it is out."""

from __future__ import annotations

import shlex
import sys
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infimum._text import listed
from infimum.cli import network_options as n
from infimum.cli import options as o
from infimum.cli.console import json_file, note, say, say_json
from infimum.cli.network import NetworkOptions, image_options, outputs_of, unless_none
from infimum.cli.pictures import Images, add_pictures, check_images
from infimum.cli.progress import assessing_progress
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.assessment._results import Assessment

MANIFOLD = "Manifold and sampling"
ALIKE = "Are the inputs alike"


class ManifoldName(StrEnum):
    """Density models of the feature space."""

    gmm = "gmm"
    gaussians = "class-gaussians"
    kernel = "kernel"
    neighbors = "neighbors"
    tree = "tree"
    flow = "flow"
    auto = "auto"
    none = "none"


class DrawName(StrEnum):
    """How samples are drawn."""

    independent = "independent"
    sobol = "sobol"


class JudgeName(StrEnum):
    """Methods that may judge the target."""

    clopper_pearson = "clopper_pearson"
    prediction_powered = "prediction_powered"
    prediction_powered_betting = "prediction_powered_betting"


class RuleName(StrEnum):
    """Stopping rules."""

    se = "se"
    difference = "difference"
    samples = "samples"
    time = "time"


def assess(
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            metavar="FILE",
            help="Labelled outputs that training has not seen: npz, safetensors or Parquet with logits (or "
            "probabilities) and labels.",
        ),
    ] = None,
    operation: Annotated[
        Path | None,
        typer.Option(
            "--operation",
            metavar="FILE|DIR",
            help="Outputs on operational inputs, or a folder of Parquet or npz parts, of any size; labels are not "
            "needed, with them λ* is shown.",
        ),
    ] = None,
    calibration_data: n.CalibrationData = None,
    operation_data: n.OperationData = None,
    tuning_data: n.TuningData = None,
    calibration_labels: n.CalibrationLabels = None,
    operation_labels: n.OperationLabels = None,
    tuning_labels: n.TuningLabels = None,
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
        JudgeName,
        typer.Option("--method", help="The bound that decides about the target; name it before you look."),
    ] = JudgeName.clopper_pearson,
    label_errors: o.LabelErrors = None,
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
    images: Images = None,
    identity: o.IdentityOption = o.IdentityName.ids,
    quiet: o.Quiet = False,
    seed: o.Seed = 0,
    exchangeability: Annotated[
        bool,
        typer.Option(
            "--exchangeability/--no-exchangeability",
            help="Test whether calibration and operation are alike, which every bound assumes.",
            rich_help_panel=ALIKE,
        ),
    ] = True,
    require_alike: Annotated[
        bool,
        typer.Option(
            "--require-alike",
            help="Exit 1 too where that test finds that they differ.",
            rich_help_panel=ALIKE,
        ),
    ] = False,
    score: o.ScoreOption = o.ScoreName.raps,
    penalty: o.Penalty = 0.01,
    k_reg: o.KReg = None,
    weight: o.Weight = 0.1,
    temperature: o.Temperature = "none",
    randomize: o.Randomize = True,
    tuning: o.TuningFile = None,
    step: o.StepOption = "exact",
    empty: o.EmptyOption = o.EmptyName.argmax,
    manifold: Annotated[
        ManifoldName | None,
        typer.Option(
            "--manifold",
            help="What to sample from; gmm is the paper's, auto chooses by held-out features. (default: kernel with "
            "--head and features of fewer than 2,000 inputs, or --manifold-data; else none)",
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
    components: Annotated[
        int | None,
        typer.Option(
            "--components",
            min=1,
            help="gmm: components. (default: one per predicted class)",
            rich_help_panel=MANIFOLD,
        ),
    ] = None,
    covariance: Annotated[
        str,
        typer.Option(
            "--covariance",
            help="gmm: full, diag, tied, spherical. class-gaussians: these, shrunk, lowrank:RANK.",
            rich_help_panel=MANIFOLD,
        ),
    ] = "full",
    bandwidth: Annotated[
        str,
        typer.Option(
            "--bandwidth",
            metavar="VALUE|auto",
            help="kernel: h. auto: by leave-one-out likelihood of the logits.",
            rich_help_panel=MANIFOLD,
        ),
    ] = "0.1",
    stopping: Annotated[
        RuleName,
        typer.Option(
            "--stopping",
            help="se: sampling error ≤ tolerance. difference: the paper's, λ moves ≤ tolerance. "
            "samples: --max-samples. time: --seconds.",
            rich_help_panel=MANIFOLD,
        ),
    ] = RuleName.se,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Of se and difference.", rich_help_panel=MANIFOLD)
    ] = 5e-4,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Of the rule time.", rich_help_panel=MANIFOLD)
    ] = 60.0,
    draw: Annotated[
        DrawName,
        typer.Option(
            "--draw",
            help="independent samples, or batches of sobol points: fewer for a small --tolerance.",
            rich_help_panel=MANIFOLD,
        ),
    ] = DrawName.independent,
    batch: Annotated[
        int, typer.Option("--batch", min=1, help="Samples at a time.", rich_help_panel=MANIFOLD)
    ] = 20_000,
    max_samples: Annotated[
        int, typer.Option("--max-samples", min=1, help="End of every rule.", rich_help_panel=MANIFOLD)
    ] = 10_000_000,
    model: n.Model = None,
    factory: n.Factory = None,
    weights: n.Weights = None,
    head_layer: n.HeadLayer = None,
    device: n.Device = n.DeviceName.cpu,
    trust: n.Trust = False,
    batch_size: n.BatchSize = None,
    preprocess: n.Preprocess = None,
    skip_bad: n.SkipBad = False,
    resize: n.Resize = None,
    crop: n.Crop = None,
    mean: n.Mean = None,
    std: n.Std = None,
    image_mode: n.Mode = None,
    layout: n.Layout = None,
) -> None:
    """Tell how reliable a trained classifier is, at least.

    Examples: infimum assess --calibration cal.npz --operation ops.npz --target 0.95 --out results
    infimum assess --model net.onnx --calibration-data labelled --operation-data images.npy --out results

    With --model the network's outputs lie in a temporary folder (TMPDIR) and are mapped, not held in memory.
    --operation is read block by block, in memory that does not grow with it; only where another --method than
    clopper_pearson decides is it read whole.
    """
    import infimum
    from infimum.assessment import Assessment
    from infimum.io.files import array_names, read_arrays
    from infimum.io.places import Folder, check_places
    from infimum.io.replacing import together, write_bytes
    from infimum.outputs._stream import OutputsStream

    if require_alike and not exchangeability:
        raise InputError("--require-alike needs the test that --no-exchangeability leaves out")
    how_read = image_options(resize, crop, mean, std, image_mode, layout)
    network = NetworkOptions(
        model, factory, weights, head_layer, device.value, trust, batch_size, preprocess, skip_bad, how_read
    )
    json_to = json_file(json)
    check_places(
        {
            "--out": None if out is None else Folder(out, Assessment.WRITTEN),
            "--json": json_to,
            "--junit": junit,
        },
        {
            "--calibration": calibration,
            "--operation": operation,
            "--tuning": tuning,
            "--calibration-data": calibration_data,
            "--operation-data": operation_data,
            "--tuning-data": tuning_data,
            "--calibration-labels": unless_none(calibration_labels),
            "--operation-labels": unless_none(operation_labels),
            "--tuning-labels": unless_none(tuning_labels),
            "--head": head,
            "--manifold-data": manifold_data,
            "--images": unless_none(images),
            **network.files,
        },
    )
    check_images(images, out)
    start = time.perf_counter()
    features = None
    if manifold_data is not None:
        arrays = read_arrays(manifold_data, ["features"])
        if "features" not in arrays:
            raise InputError(
                f"{manifold_data} has no 'features'; it holds: {listed(array_names(manifold_data))}"
            )
        features = arrays["features"]
    silent = quiet or json == "-"
    files = {"calibration": calibration, "operation": operation, "tuning": tuning}
    data = {
        "calibration": (calibration_data, calibration_labels),
        "operation": (operation_data, operation_labels),
        "tuning": (tuning_data, tuning_labels),
    }
    # A bound of another method reads the operation more than once.
    streamed = method is JudgeName.clopper_pearson
    with (
        outputs_of(network, files, data, silent, streamed) as (labelled, operated, own_head),
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
            score=o.score_from(score, penalty, k_reg, weight, "tuning" in labelled),
            randomize=randomize,
            temperature=o.temperature_from(temperature),
            step=None if step == "exact" else step,
            empty=empty.value,
            manifold=None if manifold is None else manifold.value,
            components=components,
            covariance=covariance,
            bandwidth=o.bandwidth_from(bandwidth),
            stopping=infimum.Stopping(stopping.value, tolerance, max_samples, seconds, batch),
            draw=draw.value,
            seed=seed,
            exchangeability=exchangeability,
            target=target,
            confidence=confidence,
            method=method.value,
            label_errors=label_errors,
            identity=identity.value,
            name=name or (out.resolve().name if out is not None else "network"),
            progress=progress,
        )
    command = shlex.join(["infimum", *sys.argv[1:]])
    result = replace(result, provenance={**result.provenance, "command": command})
    with together():
        if out is not None:
            result.save(out)
        if junit is not None:
            _write_junit(result, junit, require_alike, time.perf_counter() - start)
        if json_to is not None:
            write_bytes(json_to, result.to_json().encode())
    if out is not None:  # the assessment is safe on disk now
        add_pictures(result, out, images, operation_data, silent)
    if json == "-":
        say_json(result.to_json())
    elif not quiet:
        say(result.summary())
        if out is not None:
            note("written", ", ".join(str(out / name) for name in Assessment.WRITTEN))
    if result.interrupted:
        raise typer.Exit(130)
    if result.target is not None and not result.target.met:
        raise typer.Exit(1)
    if require_alike:
        from infimum.gates._gates import alike_gate

        if not alike_gate(result).passed:
            raise typer.Exit(1)


def _write_junit(result: Assessment, path: Path, require_alike: bool, seconds: float) -> None:
    from infimum.gates._gates import gates_of
    from infimum.io.replacing import write_bytes
    from infimum.report.junit import Suite, to_junit

    gates = gates_of(result, require_alike=require_alike)
    write_bytes(path, to_junit([Suite(result, gates, seconds)]).encode())
