"""`infimum check`: hold networks to what infimum.toml asks of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from infimum._text import in_brief
from infimum.cli import options as o
from infimum.cli.console import note, say
from infimum.cli.emit import end
from infimum.errors import ExitCode, InputError

if TYPE_CHECKING:
    from infimum.assessment._results import Assessment
    from infimum.gates._check_file import NetworkEntry


def check(
    check_file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="What is to hold; paths in it are relative to its folder."),
    ] = Path("infimum.toml"),
    quiet: o.Quiet = False,
) -> None:
    """Check every network of infimum.toml: exit 0 if all its gates pass, 1 if one does not.

    With `out` in the file, its folder gets the reports of each network and summary.md, the gates in Markdown.

    Example: infimum check
    """
    from infimum.assessment._results import Assessment
    from infimum.gates._check_file import SUMMARY, load_check_file
    from infimum.gates._gates import gates_of
    from infimum.io.places import Folder, check_places
    from infimum.io.replacing import make_directory, together, write_bytes, write_files
    from infimum.report.findings import ignored
    from infimum.report.gates import to_summary
    from infimum.report.junit import Suite, to_junit

    asked = load_check_file(check_file)
    try:
        o.codes_of(list(asked.ignore))
    except InputError as error:
        raise InputError(f"{check_file}: ignore: {error}") from error
    reports = [f"{entry.name}/{name}" for entry in asked.networks for name in Assessment.WRITTEN]
    check_places(
        {
            "out": None if asked.out is None else Folder(asked.out, (*reports, SUMMARY)),
            "junit": None if asked.junit is None else Folder(asked.junit.parent, (asked.junit.name,)),
        },
        {"the check file": check_file}
        | {f"{key} of {e.name!r}": file for e in asked.networks for key, file in e.files.items()},
    )
    # All released bounds are read before any work is spent.
    released = {e.name: Assessment.load(e.files["baseline"]) for e in asked.networks if "baseline" in e.files}
    suites = []
    for entry in asked.networks:
        start = time.perf_counter()
        result = o.without(_assessed(entry, asked.method), asked.ignore)
        gates = gates_of(result, released.get(entry.name), entry.tolerance, entry.alike == "require")
        gates = tuple(gate.ignoring(asked.ignore) for gate in gates)
        suites.append(Suite(result, gates, time.perf_counter() - start))
        if asked.out is not None:
            result.save(asked.out / entry.name)
        if not quiet:
            say(entry.name)
            for gate in gates:
                note(f"  {'passed' if gate.passed else 'FAILED'}  {gate.name}", gate.message)
                for text in gate.notes:
                    say(f"          {in_brief(text)}")
            for warning in result.warnings:
                note("  warning", warning)
            for line in ignored(suites[-1].ignored):
                say(f"  {line}")
        if result.interrupted:  # who stops one does not want the next
            break
    with together():
        if asked.out is not None:
            write_files(asked.out, {SUMMARY: to_summary(suites).encode()})
        if asked.junit is not None:
            make_directory(asked.junit.parent)
            write_bytes(asked.junit, to_junit(suites).encode())
    failed = sum(not gate.passed for suite in suites for gate in suite.gates)
    if not quiet:
        say(f"{failed} of {sum(len(s.gates) for s in suites)} gates failed" if failed else "all gates passed")
    if suites[-1].assessment.interrupted:
        say(f"interrupted: {len(suites)} of {len(asked.networks)} networks were assessed", err=True)
        end(ExitCode.INTERRUPTED)
    if failed:
        end(ExitCode.NOT_MET)


def _assessed(entry: NetworkEntry, method: Mapping[str, Any]) -> Assessment:
    import infimum
    from infimum.cli.assess import features_in

    files, given = entry.files, dict(method)
    return infimum.assess(
        infimum.Outputs.load(files["calibration"]),
        infimum.Outputs.load(files["operation"]),
        tuning=infimum.Outputs.load(files["tuning"]) if "tuning" in files else None,
        head=infimum.Head.load(files["head"]) if "head" in files else None,
        manifold_data=features_in(files["manifold_data"]) if "manifold_data" in files else None,
        score=o.score_of(given.pop("score", "raps"), tuned="tuning" in files),
        target=entry.target,
        confidence=entry.confidence,
        label_errors=entry.label_errors,
        name=entry.name,
        **given,
    )
