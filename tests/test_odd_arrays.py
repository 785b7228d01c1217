"""No public function meets an odd array with another exception than InputError, nor with silence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from infimum import InputError, Outputs
from infimum._arrays import as_array
from infimum.certification._certify import certify
from infimum.certification._labelled import Labelled
from infimum.io.files import read_arrays


def test_every_function_takes_odd_arrays_or_refuses_them() -> None:
    """In a process of its own: the type checks of the tests would answer in the place of infimum."""
    script = Path(__file__).parent / "support" / "odd_arrays.py"
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", script],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    *wrong, number = done.stdout.splitlines()
    assert wrong == []
    assert number == "57 25 functions"


def test_masks_are_not_forgotten() -> None:
    values = np.ma.masked_array(np.arange(6.0).reshape(3, 2), mask=[[0, 0], [0, 1], [0, 0]])
    for given in (values, list(values)):
        with pytest.raises(InputError, match="logits has 1 masked entries, the first in row 1, column 1"):
            as_array(given, "logits")
    assert type(as_array(values[:1], "logits")) is np.ndarray


def test_what_float64_holds_is_kept() -> None:
    assert as_array(np.longdouble([0.5]), "x").dtype == np.float64
    with pytest.raises(InputError, match="more digits than float64"):
        as_array(np.longdouble([1]) + np.longdouble(2) ** -60, "x")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        assert as_array(np.array([0.5, -3.0]).astype(kind), "x").tolist() == [0.5, -3.0]


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_numbers_in_files_that_numpy_does_not_have(kind: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    save_file({"logits": torch.eye(2).to(getattr(torch, kind))}, tmp_path / "o.safetensors")
    with pytest.raises(InputError, match=r"logits is of type \w+, which is not read; write it as float32"):
        Outputs.load(tmp_path / "o.safetensors")


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".parquet"])
def test_foreign_byte_order_is_written_as_it_reads(suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    logits, labels = np.array([[1.5, -2.0], [0.25, 3.0]]), np.array([1, 0])
    Outputs(logits.astype(">f4"), labels.astype(">i2"), logits.astype(">f8")).save(tmp_path / f"o{suffix}")
    again = read_arrays(tmp_path / f"o{suffix}")
    np.testing.assert_array_equal(again["logits"], logits)
    np.testing.assert_array_equal(again["labels"], labels)
    np.testing.assert_array_equal(again["features"], logits)


def test_ids_are_read_as_text_and_none_is_missing() -> None:
    logits = np.eye(2)
    assert Outputs(logits, ids=np.array([b"a", "b"], dtype=object)).ids.tolist() == ["a", "b"]
    assert Outputs(logits, ids=np.array([b"a", b"b"])).ids.tolist() == ["a", "b"]
    missing = (np.array(values, dtype=object) for values in (["a", None], [float("nan"), "b"]))
    for ids in (*missing, np.array([1.0, np.nan])):
        with pytest.raises(InputError, match=r"ids.*row [01] is (missing|nan)"):
            Outputs(logits, ids=ids)
    for ids in (np.array([True, False]), np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")):
        with pytest.raises(InputError, match="ids must be text or whole numbers"):
            Outputs(logits, ids=ids)


def test_two_classes_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="class_names: 2 classes are named 'cat'"):
        Outputs(np.eye(3), class_names=["cat", "dog", "cat"])


def test_what_is_right_is_no_label() -> None:
    right = np.array([True, False, True])
    with pytest.raises(InputError, match="true or false, but there are 3 classes; is this what is right"):
        Outputs(np.eye(3), right)
    assert Outputs(np.eye(3)[:, :2], right).labels.tolist() == [1, 0, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_within_a_thousandth_of_one(dtype: type) -> None:
    good = np.array([[0.333, 0.333, 0.333], [0.334, 0.333, 0.334]], dtype=dtype)  # sums of .999 and 1.001
    logits = Outputs.from_probabilities(good).logits
    assert np.exp(logits).sum(axis=1) == pytest.approx(1)
    with pytest.raises(InputError, match=r"row 0 sums to 0\.998[89]\d* .*sum to 1 within 0\.001"):
        Outputs.from_probabilities(np.array([[0.3329, 0.333, 0.333]], dtype=dtype))


def table(folder: Path, **columns: object) -> Path:
    np.savez(folder / "table.npz", **{name: np.asarray(values) for name, values in columns.items()})
    return folder / "table.npz"


def test_predicted_and_label_say_which_class_is_right(tmp_path: Path) -> None:
    """Bounds per class, and for other class shares, are those of the same labels given with logits."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    outputs = Outputs(3 * np.eye(3)[labels] + rng.normal(size=(300, 3)), labels)
    rows = Labelled.load(table(tmp_path, predicted=outputs.predicted, label=labels))
    profile = [0.5, 0.25, 0.25]
    for options in ({"per_class": True}, {"profile": profile}):
        ours, theirs = certify(rows, target=0.5, **options), certify(outputs, target=0.5, **options)
        assert ours.bounds == theirs.bounds
        assert ours.per_class == theirs.per_class
    assert certify(rows, target=0.5, profile=profile).judge.method == "class_profile"
    assert (
        certify(rows, target=0.5, profile=[*profile, 0.0]).judge.method == "class_profile"
    )  # a class not seen
    with pytest.raises(InputError, match=r"profile has 2 probabilities, but .* has 3 classes or more"):
        certify(rows, target=0.5, profile=[0.5, 0.5])


def test_classes_by_name_have_bounds_but_no_profile(tmp_path: Path) -> None:
    rows = Labelled.load(
        table(tmp_path, predicted=["dog", "cat", "dog", "dog"], label=["dog", "cat", "cat", "dog"])
    )
    made = certify(rows, target=0.5, per_class=True)
    assert [(b.details["name"], b.n) for b in made.per_class] == [("cat", 2), ("dog", 2)]
    assert "class cat" in made.summary()
    with pytest.raises(InputError, match=r"labels of .* are names, whose order is not known"):
        certify(rows, target=0.5, profile=[0.5, 0.5])


def test_no_labels_no_bounds_per_class(tmp_path: Path) -> None:
    rows = Labelled.load(table(tmp_path, correct=[1, 0, 1]))
    with pytest.raises(InputError, match="need labels, not only what is right"):
        certify(rows, target=0.5, per_class=True)
    with pytest.raises(InputError, match="are not known, only what is right"):
        certify(rows, target=0.5, profile=[0.5, 0.5])
    many = Labelled.load(table(tmp_path, predicted=[0, 10**12], label=[0, 1]))
    with pytest.raises(InputError, match="are they class numbers"):
        certify(many, target=0.5, per_class=True)
