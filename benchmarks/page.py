"""Run the speed benchmarks and put what they print into docs/benchmarks.md, section by section, or into another page.

    python benchmarks/page.py               # every section
    python benchmarks/page.py gmm_fit sobol # only these; the others stay as they are

`peers` is run only when it is named: it installs other packages.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
PAGE = DOCS / "benchmarks.md"

INTRO = """# Benchmarks

Every table below was printed by the command above it and put here by

    python benchmarks/page.py

Times depend on the machine and on what else runs on it; the line before each table says both. Works that are compared
take turns in one run, so that their ratio depends on neither. Medians of five runs unless the table says otherwise.
Rows that do not fit into memory: [how-to/large-data.md](how-to/large-data.md#time-and-memory).
"""


class Section(NamedTuple):
    """One benchmark of the page."""

    title: str
    arguments: tuple[str, ...]
    text: str


SECTIONS = {
    "success_levels": Section(
        "Success levels",
        (),
        "Target: at most 2 × (10 classes) and 1.5 × (1,000 classes) the time of one softmax, 64 MiB of extra memory; "
        "8 × faster than a loop over 99 error levels that scores once, 50 × than one that ranks and scores at each.",
    ),
    "sampling_loop": Section(
        "The paper's sampling loop",
        (),
        "Target: 60 × faster, and memory that does not grow with the iterations. The loop is run once, infimum five "
        "times.",
    ),
    "sampling_speed": Section(
        "A million samples of a mixture",
        (),
        "Target: 10 × faster. A Gaussian mixture behind a linear head is a Gaussian mixture of logits, so ten normals "
        "a sample do what 128 do in feature space.",
    ),
    "sobol": Section(
        "Fewer samples by Sobol points",
        (),
        "Target: 8 × fewer samples for a sampling error of 1e-4, and error bars that cover 95 %.",
    ),
    "gmm_fit": Section(
        "Fit of the mixture",
        (),
        "Target: 3 × faster than scikit-learn's EM at the same log-likelihood (within 0.01 nat).",
    ),
    "peers": Section(
        "Other packages",
        ("--peers", "torchcp", "mapie", "puncc"),
        "Target: 50 × faster, identical sets where they follow the definition. MAPIE's APS draws random numbers at "
        "calibration only; MAPIE's and puncc's APS sets also hold the label that passes the threshold (comparison.md).",
    ),
    "ray_scaling": Section(
        "A network on Ray's workers",
        (),
        "Two workers beside one, the network included; what one process does for all of them limits the rest.",
    ),
    "imports": Section("Start", (), "Target: import in 0.3 s, help in 0.6 s."),
    "profile_jobs": Section(
        "What remains",
        (),
        "Where the time of the three main jobs goes, by the functions' own time.",
    ),
}


ELSEWHERE = {"streaming": DOCS / "how-to" / "large-data.md", "imagenet_scale": DOCS / "manifolds.md"}
"""Benchmarks whose table stands between two marks in a page that is written by hand."""


def printed(name: str) -> str:
    """What the benchmark prints."""
    arguments = SECTIONS[name].arguments if name in SECTIONS else ()
    command = [sys.executable, str(HERE / f"{name}.py"), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def section(name: str, found: str) -> str:
    """Title, target, command and what it printed, between two marks."""
    title, arguments, text = SECTIONS[name]
    command = " ".join(["python", f"benchmarks/{name}.py", *arguments])
    return f"<!-- {name} -->\n## {title}\n\n{text}\n\n    {command}\n\n{found}\n<!-- end {name} -->\n"


def put_between(page: Path, name: str, found: str) -> None:
    """Replace what stands between the marks of `name`."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end {name} -->\n"
    text = page.read_text(encoding="utf-8")
    before, after = text.index(begin) + len(begin), text.index(end)
    page.write_text(f"{text[:before]}\n{found}\n\n{text[after:]}", encoding="utf-8")


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", choices=[*SECTIONS, *ELSEWHERE, []])
    names = parser.parse_args().names or [name for name in [*SECTIONS, *ELSEWHERE] if name != "peers"]
    for name in names:
        print(f"{name} …", flush=True)
        found = printed(name)
        if name in ELSEWHERE:
            put_between(ELSEWHERE[name], name, found)
            continue
        new = section(name, found)
        old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        kept = dict(re.findall(r"(?s)<!-- (\w+) -->\n(.*?<!-- end \1 -->\n)", old))
        kept = {key: f"<!-- {key} -->\n{body}" for key, body in kept.items()} | {name: new}
        page = "\n".join([INTRO, *(kept[key] for key in SECTIONS if key in kept)])
        PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
