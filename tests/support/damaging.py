"""Runs commands on damaged files in this process, and prints what came of it as JSON: python damaging.py COUNT.

COUNT mutants of all files together; or NAME:NUMBER, one of one. Type checks at run time are not on, as for a user. The
current folder is filled with files.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import io
import json
import os
import resource
import shutil
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import typer.main
from mutants import mutant
from sound_files import CASES, Case, make_files

from infimum.certification._labelled import Labelled
from infimum.cli.main import run

SECONDS = 10
"""Of processor time, which another program on the machine does not take away."""

LONGEST = 500
"""Characters of a message."""


def outcome(command: str) -> tuple[int, str, str, float]:
    """Exit code, stdout, stderr and seconds of a command; what takes too long ends as a defect (3)."""
    sys.argv = ["infimum", *command.split()]
    out, err, code = io.StringIO(), io.StringIO(), 0
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(30 * SECONDS, exit=True)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run()
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    return code, out.getvalue(), err.getvalue(), time.process_time() - start


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} seconds")


def _clean() -> None:
    for left in Path().glob("o.*"):
        shutil.rmtree(left) if left.is_dir() else left.unlink()


def _given(case: Case, printed: str, path: Path) -> str | None:
    """What must not change; of a table to fill in not the labels, which are the user's."""
    if case.gives == "draw":
        rows = Labelled.load(path)
        design = rows.design
        if design is None or rows.ids is None or len(rows) < case.compared:
            return None
        facts = (design.weights, design.levels, design.stratum[: case.compared], rows.ids[: case.compared])
        return "; ".join(repr(None if fact is None else fact.tolist()) for fact in facts)
    if case.gives is None:
        return None
    return printed if case.gives == "-" else Path(case.gives).read_text(encoding="utf-8")


def run_case(name: str, case: Case, numbers: range) -> dict[str, Any]:
    """Codes counted, the longest time, and what was wrong."""
    path = Path(case.place or f"m{Path(case.file).suffix}")
    shutil.rmtree("m", ignore_errors=True)
    shutil.copytree(Path(case.file).parent, "m") if case.place else None
    codes: dict[int, int] = {}
    slowest, wrong = 0.0, []
    shutil.copy(case.file, path)
    _clean()
    code, printed, said, _ = outcome(case.command.format(path))
    if code != case.code:
        wrong.append(f"the sound file: exit {code}: {said[-400:]}")
    right = _given(case, printed, path)
    allowed = {0, 2, 1 if "--target" in case.command or case.command.startswith("check") else 0}
    for number in numbers:
        path.write_bytes(mutant(Path(case.file), np.random.default_rng([number, *name.encode()])))
        _clean()
        code, printed, said, seconds = outcome(case.command.format(path))
        codes[code] = codes.get(code, 0) + 1
        slowest = max(slowest, seconds)
        if code not in allowed or (code == 2 and (said.count("\n") != 1 or len(said) > LONGEST)):
            wrong.append(
                f"{name}:{number}: exit {code}: {said[-700:] if code == 3 else said[: LONGEST + 50]}"
            )
        elif code < 2 and (given := _given(case, printed, path)) is not None and given != right:
            wrong.append(f"{name}:{number}: exit {code}, but other numbers than the sound file gives")
    return {"codes": codes, "slowest": round(slowest, 2), "wrong": wrong}


def main(asked: str) -> None:
    """All cases, or one mutant."""
    signal.signal(signal.SIGPROF, _too_long)
    warnings.simplefilter("default")
    # The commands are made once, not for each run: nine tenths of the time that bad input takes.
    typer.main.get_command = functools.cache(typer.main.get_command)
    one, _, number = asked.partition(":")
    make_files()
    shares = sum(case.share for case in CASES.values())
    found = {}
    start = time.process_time()
    for name, case in CASES.items():
        if number and name == one:
            numbers = range(int(number), int(number) + 1)
        elif number:
            continue
        else:
            numbers = range(round(int(asked) * case.share / shares))
        found[name] = run_case(name, case, numbers)
        sys.stderr.write(f"{name}: {found[name]['codes']}, {len(found[name]['wrong'])} wrong\n")
    document = {
        "cases": found,
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
        "seconds": round(time.process_time() - start),
    }
    json.dump(document, sys.stdout, indent=1)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main(sys.argv[1])
