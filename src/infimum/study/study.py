"""reproduce(): the paper's whole evaluation, resumable, to a folder with tables, pictures and a results page."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from infimum._checks import check_seed
from infimum.errors import InputError
from infimum.io.provenance import made_with
from infimum.io.replacing import make_directory, together, write_bytes, write_files
from infimum.models._torch.run import import_torch
from infimum.study import tables
from infimum.study.datasets import DATASETS, LEVELS, Images, read_images
from infimum.study.explaining import manifolds, region_maps
from infimum.study.figures import Found, draw
from infimum.study.measuring import MODES
from infimum.study.page import page
from infimum.study.stages import Stage, repetitions, retrained

QUICK_SHARE = 10
"""--quick takes every tenth image."""


@dataclass(frozen=True)
class Study:
    """What a run wrote: the rows of table.json, and the folder."""

    rows: tuple[dict[str, Any], ...]
    folder: Path
    seconds: float


def reproduce(
    data: str | Path | None,
    out: str | Path,
    datasets: Sequence[str] = DATASETS,
    levels: Sequence[str] = LEVELS,
    n_repetitions: int = 5,
    seed: int = 0,
    quick: bool = False,
    retrain: bool = False,
    report: Callable[[str], None] = lambda text: None,
) -> Study:
    """Run the study on the data sets of folder `data` (None: official files, downloaded), and write it to `out`.

    `quick` takes MNIST alone and a tenth of its images. `retrain` trains every network anew for each repetition.
    What `out` already holds is not done again. `report` gets a line per step. Raises InputError for unknown
    names, missing or damaged data, and an `out` that holds a run with other settings.
    """
    datasets = ("mnist",) if quick else _known(datasets, DATASETS, "datasets")
    levels = _known(levels, LEVELS, "levels")
    if n_repetitions < 1:
        raise InputError(f"repetitions must be 1 or more, not {n_repetitions}")
    check_seed(seed)
    import_torch()
    out = Path(out)
    make_directory(out / "networks")
    _same_run(out / "networks" / "run.json", {"seed": seed, "quick": quick})
    began, before = time.perf_counter(), _training_seconds(out)
    found: Found = {}
    explained: dict[str, dict[tuple[str, str], list[dict[str, Any]]]] = {"manifolds": {}, "region_maps": {}}
    for dataset in datasets:
        train, test = (_images(data, dataset, part, quick, report) for part in ("train", "test"))
        for level in levels:
            folder = out / "networks" / f"{dataset}-{level}"
            stage = Stage(dataset, level, train, test, folder, seed, report)
            make_directory(folder)
            found[dataset, level] = (
                _retrained(stage, n_repetitions)
                if retrain
                else repetitions(stage, list(MODES), n_repetitions)
            )
            if not retrain:
                explained["region_maps"][dataset, level] = region_maps(stage)
                if dataset == "mnist":
                    explained["manifolds"][dataset, level] = manifolds(stage)
    rows = [
        tables.row(dataset, level, mode, found[dataset, level][mode])
        for mode in MODES
        for dataset, level in found
    ]
    seconds = time.perf_counter() - began
    cost = _cost(out, seconds - (_training_seconds(out) - before))
    provenance = _provenance(cost, seed, quick, retrain)
    _write(out, rows, found, explained, provenance)
    report(f"done in {seconds / 60:.1f} minutes, at most {_memory():.1f} GiB of memory: {out / 'README.md'}")
    return Study(tuple(rows), out, seconds)


def _known(given: Sequence[str], known: Sequence[str], what: str) -> tuple[str, ...]:
    unknown = [name for name in given if name not in known]
    if unknown or not given:
        raise InputError(f"{what} must be among {', '.join(known)}, not {', '.join(unknown) or 'empty'}")
    return tuple(name for name in known if name in given)


def _images(
    data: str | Path | None, dataset: str, part: str, quick: bool, report: Callable[[str], None]
) -> Images:
    if data is None:
        from infimum.study.downloads import download

        images = download(dataset, part, report)
    else:
        images = read_images(Path(data) / dataset / f"{part}.npz", dataset)
    return images[::QUICK_SHARE] if quick else images


def _same_run(path: Path, settings: dict[str, Any]) -> None:
    """A folder holds one run: another seed or size would mix networks that do not belong together."""
    if path.exists():
        kept = json.loads(path.read_text("utf-8"))
        if kept != settings:
            raise InputError(
                f"{path.parent.parent} holds a run with {kept}, not {settings}; take another folder"
            )
    write_bytes(path, (json.dumps(settings) + "\n").encode())


def _retrained(stage: Stage, n: int) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
    for r in range(n):
        again = retrained(stage, r)
        make_directory(again.folder)
        for mode, measured in repetitions(again, list(MODES), 1).items():
            found[mode] += measured
    return found


def _training_seconds(out: Path) -> float:
    """Of all networks the folder holds, whichever run trained them."""
    kept = (out / "networks").glob("*/training.json")
    return float(sum(json.loads(path.read_text("utf-8"))["seconds"] for path in kept))


def _cost(out: Path, seconds: float) -> dict[str, float]:
    """Time and memory over all runs that filled the folder: training, everything else, and the peak."""
    path = out / "networks" / "cost.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else {"other_seconds": 0.0, "peak_gib": 0.0}
    cost = {
        "other_seconds": round(kept["other_seconds"] + seconds, 1),
        "peak_gib": max(kept["peak_gib"], _memory()),
    }
    write_bytes(path, (json.dumps(cost) + "\n").encode())
    return {"training_seconds": round(_training_seconds(out), 1), **cost}


def _provenance(cost: dict[str, float], seed: int, quick: bool, retrain: bool) -> dict[str, Any]:
    return made_with(
        seed,
        torch=import_torch().__version__,
        date=datetime.now(UTC).date().isoformat(),
        quick=quick,
        retrain=retrain,
        **cost,
    )


def _write(
    out: Path,
    rows: list[dict[str, Any]],
    found: Found,
    explained: dict[str, dict[tuple[str, str], list[dict[str, Any]]]],
    provenance: dict[str, Any],
) -> None:
    table = {"schema": tables.SCHEMA, "networks": rows, "provenance": provenance}
    parts = [
        f"<!-- made by infimum reproduce -->\n\n## {mode}\n\n{tables.markdown(rows, mode)}" for mode in MODES
    ]
    texts = {
        "table.json": json.dumps(table, indent=1) + "\n",
        "table.md": "\n".join(parts),
        "table.tex": tables.latex(rows),
        "README.md": page(rows, found, explained, provenance),
    }
    with together():
        make_directory(out / "figures")
        for mode in MODES:
            draw(found, mode, out / "figures")
        write_files(out, {name: text.encode() for name, text in texts.items()})


def _memory() -> float:
    """Most memory this process has held, in GiB; NaN where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**30 if platform.system() == "Darwin" else 2**20), 2)
