"""Seconds to start: `import infimum` and `infimum --help`, each in a new process, beside an empty one.

python benchmarks/imports.py [--runs 5]
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from timing import machine, medians, print_table

WORK = {
    "python -c pass": ("-c", "pass"),
    "import infimum": ("-c", "import infimum"),
    "import numpy": ("-c", "import numpy"),
    "infimum --help": ("-c", "from infimum.cli.main import run; run()", "--help"),
}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    print(machine("typer") + "\n")
    works = [
        lambda arguments=arguments: subprocess.run(
            [sys.executable, *arguments], check=True, capture_output=True
        )
        for arguments in WORK.values()
    ]
    print_table(
        ("work", f"median of {runs}"),
        [(name, f"{seconds:.3f} s") for name, seconds in zip(WORK, medians(*works, runs=runs), strict=True)],
    )


if __name__ == "__main__":
    main()
