"""`--ignore CODE`: a finding is not told, the output says so, and nothing else changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from command_line import Run

from infimum import Outputs


def outputs() -> tuple[Outputs, Outputs]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 460)
    z = 4 * np.eye(3)[y] + rng.normal(size=(460, 3))
    return Outputs(z[:400], y[:400]), Outputs(z[400:])


def test_the_command_line_ignores_and_says_so(tmp_path: Path, infimum: Run) -> None:
    for name, o in zip(("cal", "ops"), outputs(), strict=True):
        o.save(tmp_path / f"{name}.npz")
    given = ("assess", "--calibration", "cal.npz", "--operation", "ops.npz", "--target", "0.9")
    plain = infimum(*given, cwd=tmp_path)
    done = infimum(*given, "--ignore", "few-operation-inputs", "--out", "r", "--junit", "j.xml", cwd=tmp_path)
    assert plain.returncode == done.returncode == 0
    assert "only 60" in plain.stdout
    assert "only 60" not in done.stdout
    for text in (
        done.stdout,
        (tmp_path / "r" / "report.html").read_text(),
        (tmp_path / "r" / "report.md").read_text(),
        (tmp_path / "j.xml").read_text(),
    ):
        assert "ignored as asked: few-operation-inputs" in text
    assert "warning: ignored" not in done.stdout
    wrong = infimum(*given, "--ignore", "few-inputs", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "did you mean few-" in wrong.stderr


def test_a_check_file_ignores(tmp_path: Path, infimum: Run) -> None:
    for name, o in zip(("cal", "ops"), outputs(), strict=True):
        o.save(tmp_path / f"{name}.npz")
    network = '[[network]]\nname = "n"\ncalibration = "cal.npz"\noperation = "ops.npz"\ntarget = 0.9\n'
    (tmp_path / "infimum.toml").write_text(f'ignore = ["few-operation-inputs"]\n{network}')
    done = infimum("check", cwd=tmp_path)
    assert done.returncode == 0
    assert "ignored as asked: few-operation-inputs" in done.stdout
    for wrong in ('"few-operation-inputs"', '["few-inputs"]', "[3]"):
        (tmp_path / "infimum.toml").write_text(f"ignore = {wrong}\n{network}")
        assert infimum("check", cwd=tmp_path).returncode == 2


def test_a_selection_of_rows_checks_the_codes_too(tmp_path: Path, infimum: Run) -> None:
    for name, o in zip(("cal", "ops"), outputs(), strict=True):
        o.save(tmp_path / f"{name}.npz")
    given = ("plan", "--select", "9", "--operation", "ops.npz", "--calibration", "cal.npz", "--out", "s.csv")
    assert infimum(*given, "--ignore", "few-inputs", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "s.csv").exists()
    assert infimum(*given, "--ignore", "ids-refuted", cwd=tmp_path).returncode == 0
