"""The pictures of the report in the documentation: the tutorial is run, its report opened in the machine's Chromium.

python docs/scripts/screenshots.py          (needs Chromium, found on PATH or named in CHROMIUM)
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))

from run_page import run  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PICTURES = {"verdict": (1000, 430), "report": (1000, 1800)}
"""Name of the picture, and the size of the window in pixels."""
LARGEST = 300_000


def browser() -> str:
    """The path of a Chromium."""
    found = os.environ.get("CHROMIUM") or next((p for p in map(shutil.which, BROWSERS) if p), None)
    if found is None:
        sys.exit("no Chromium on this machine (apt-get install chromium, or set CHROMIUM)")
    return found


def main() -> None:
    """Run the tutorial, and take each picture."""
    with tempfile.TemporaryDirectory() as folder:
        done, _ = run(DOCS / "tutorial.md", Path(folder))
        if done.returncode:
            sys.exit(done.stderr)
        page = (Path(folder) / "results" / "report.html").as_uri()
        for name, (width, height) in PICTURES.items():
            picture = DOCS / "images" / f"{name}.png"
            options = [
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                f"--window-size={width},{height}",
            ]
            subprocess.run(
                [browser(), *options, f"--screenshot={picture}", page],
                check=True,
                capture_output=True,
                timeout=120,
            )
            size = picture.stat().st_size
            if size > LARGEST:
                sys.exit(f"{picture.name} has {size} bytes; {LARGEST} at most")
            print(picture.name, size)


if __name__ == "__main__":
    main()
