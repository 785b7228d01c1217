"""Streams: the same assessment, bit by bit, as in memory, however the blocks are cut; damaged parts; memory."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from conftest_types import Toy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import infimum.assessment._stream_features as stream_features
from infimum import InputError, Outputs, Sampling, Stopping, assess
from infimum.conformal import LAC, calibrate
from infimum.outputs._stream import OutputsStream, open_stream

N = 2500


def whole(toy: Toy, seed: int = 3, **others: object) -> Outputs:
    made = toy.outputs(N, np.random.default_rng(seed))
    return Outputs(made.logits, **{"labels": made.labels, **others})


def streamed(outputs: Outputs, sizes: list[int]) -> OutputsStream:
    """Blocks of the given sizes, again and again."""

    def read(start: int):
        turn = 0
        while start < len(outputs):
            stop = min(len(outputs), start + sizes[turn % len(sizes)])
            yield outputs.taken(slice(start, stop))
            start, turn = stop, turn + 1

    return OutputsStream(len(outputs), outputs.taken(slice(0, 1000)), outputs.weights, read)


def plain(assessment: object) -> dict:
    return json.loads(assessment.to_json())


@pytest.fixture(scope="module")
def calibration(toy: Toy) -> Outputs:
    return toy.outputs(200, np.random.default_rng(1))


WAYS = {
    "labelled": ({}, {}),
    "unlabelled": ({"labels": None}, {"target": 0.9}),
    "weighted": ({"weights": np.random.default_rng(0).exponential(size=N) * (np.arange(N) > 400)}, {}),
    "ids": ({"ids": np.arange(N).astype(str), "class_names": ["a", "b", "c", "d"]}, {}),
    "nan": ({}, {"levels": "step=0.05,empty=nan"}),
    "lac": ({}, {"score": LAC(), "levels": "empty=zero"}),
}


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(1, 1500), min_size=1, max_size=3).filter(lambda sizes: sum(sizes) > 40))
@pytest.mark.usefixtures("without_type_checks")
def test_any_blocks_give_the_same_bits(toy: Toy, calibration: Outputs, way: str, sizes: list[int]) -> None:
    others, options = WAYS[way]
    ops = whole(toy, **others)
    assert plain(assess(calibration, streamed(ops, sizes), **options)) == plain(
        assess(calibration, ops, **options)
    )


def write(outputs: Outputs, kind: str, folder: Path) -> Path:
    """The outputs as one file, or as a folder of parts of unequal length."""
    if kind in ("npz", "parquet", "safetensors"):
        outputs.save(folder / f"ops.{kind}")
        return folder / f"ops.{kind}"
    if kind == "compressed":
        names = ("logits", "labels", "features")
        np.savez_compressed(folder / "ops.npz", **{name: getattr(outputs, name) for name in names})
        return folder / "ops.npz"
    if kind == "fortran":
        np.savez(folder / "ops.npz", logits=np.asfortranarray(outputs.logits), labels=outputs.labels)
        return folder / "ops.npz"
    if kind == "row groups":
        import pyarrow.parquet as pq

        outputs.save(folder / "one.parquet")
        pq.write_table(pq.read_table(folder / "one.parquet"), folder / "ops.parquet", row_group_size=777)
        return folder / "ops.parquet"
    parts = folder / "parts"
    parts.mkdir()
    for number, (a, b) in enumerate([(0, 1), (1, 1201), (1201, 1203), (1203, N)]):
        outputs.taken(slice(a, b)).save(parts / f"part-{number}.{kind.removesuffix(' parts')}")
    return parts


@pytest.mark.parametrize(
    "kind",
    ["npz", "compressed", "fortran", "safetensors", "npz parts", "parquet", "row groups", "parquet parts"],
)
def test_files_give_the_same_bits(toy: Toy, calibration: Outputs, kind: str, tmp_path: Path) -> None:
    if "parquet" in kind or kind == "row groups":
        pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    ops = toy.outputs(N, np.random.default_rng(3))
    if kind == "fortran":
        ops = Outputs(ops.logits, ops.labels)
    path = write(ops, kind, tmp_path)
    stream = open_stream(path)
    assert (stream.n, stream.n_classes) == (N, 4)
    assert plain(assess(calibration, stream)) == plain(assess(calibration, ops))


def test_probabilities_are_streamed_with_the_rows_that_are_saturated(
    toy: Toy, calibration: Outputs, tmp_path: Path
) -> None:
    p = np.exp(whole(toy).logits)
    p /= p.sum(axis=1, keepdims=True)
    p[[5, 2000]] = [1, 0, 0, 0]
    weights = np.ones(N)
    np.savez(tmp_path / "p.npz", probabilities=p, weights=weights)
    ours = assess(calibration, open_stream(tmp_path / "p.npz"))
    assert plain(ours) == plain(assess(calibration, Outputs.load(tmp_path / "p.npz")))
    n = int((p == 1).any(axis=1).sum())
    assert any(f"{n} of the {N} operation rows hold a probability of exactly 1" in w for w in ours.warnings)


def test_calibration_rows_are_found_in_a_stream(toy: Toy, calibration: Outputs) -> None:
    logits = whole(toy).logits.copy()
    logits[[3, 1700]] = calibration.logits[:2]
    warnings = assess(calibration, streamed(Outputs(logits), [600])).warnings
    assert any("2 of the 2500 operation inputs have the outputs of calibration rows" in w for w in warnings)


STOP = Stopping("samples", max_samples=2000, batch=1000)


def test_samples_of_manifold_data_are_the_same(toy: Toy, calibration: Outputs) -> None:
    ops = toy.outputs(N, np.random.default_rng(3))
    options = {"head": toy.head, "manifold_data": ops.features[:300], "sampling": Sampling(STOP)}
    assert plain(assess(calibration, streamed(ops, [700]), **options)) == plain(
        assess(calibration, ops, **options)
    )
    with pytest.raises(InputError, match="kernel manifold needs features"):
        assess(calibration, streamed(whole(toy), [700]), head=toy.head, manifold="kernel")


@pytest.mark.parametrize("manifold", ["kernel", "class-gaussians", "gmm", "auto"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_manifold_of_a_stream_is_that_in_memory(
    toy: Toy, calibration: Outputs, manifold: str, weighted: bool
) -> None:
    ops = toy.outputs(N, np.random.default_rng(3))
    if weighted:
        ops = Outputs(ops.logits, ops.labels, ops.features, weights=WAYS["weighted"][0]["weights"])
    options = {"head": toy.head, "manifold": manifold, "sampling": Sampling(STOP)}
    ours = assess(calibration, streamed(ops, [700, 1]), **options)
    assert ours.lambda_.source == "manifold"
    assert plain(ours) == plain(assess(calibration, ops, **options))


@pytest.mark.parametrize(
    ("manifold", "weighted", "n", "note"),
    [
        ("kernel", False, 600, "fitted to the features of 600 of the 2500 operation inputs"),
        ("kernel", True, 600, "fitted to the features of 600 of the 2500"),
        ("class-gaussians", True, 600, "fitted to the features of 600 of the 2500"),
        ("class-gaussians", False, N, "moments of all 2500 operation features"),
    ],
)
def test_of_many_rows_some_or_their_moments_are_kept(
    toy: Toy,
    calibration: Outputs,
    monkeypatch: pytest.MonkeyPatch,
    manifold: str,
    weighted: bool,
    n: int,
    note: str,
) -> None:
    """The same however the blocks are cut; λ is near that of a manifold of all features, which is in memory."""
    monkeypatch.setattr(stream_features, "ROWS", 600)
    ops = toy.outputs(N, np.random.default_rng(3))
    if weighted:
        ops = Outputs(ops.logits, ops.labels, ops.features, weights=WAYS["weighted"][0]["weights"])
    options = {
        "head": toy.head,
        "manifold": manifold,
        "sampling": Sampling(Stopping("samples", max_samples=40_000)),
        "exchangeability": False,
    }
    found = [assess(calibration, streamed(ops, sizes), **options) for sizes in ([700, 1], [N], [3, 991])]
    assert len({result.to_json() for result in found}) == 1
    assert found[0].manifold["n"] == n
    assert any(note in text for text in found[0].notes)
    error = found[0].lambda_.standard_error
    # The toy's features are Gaussians by class; 4 errors, of which the calibration's is common to both.
    assert abs(found[0].lambda_.value - assess(calibration, ops, **options).lambda_.value) < 4 * np.hypot(
        error.sampling, error.manifold
    )


def test_rows_kept_are_of_weight_and_drawn_evenly() -> None:
    weights = (np.arange(1000) % 3 == 0).astype(float)
    some = stream_features.rows_kept(1000, stream_features.NUMBERS // 200, weights, seed=1)
    assert len(set(some.tolist())) == 200
    assert weights[some].all()
    assert stream_features.rows_kept(1000, stream_features.NUMBERS // 400, weights, seed=1).tolist() == list(
        range(0, 1000, 3)
    )
    drawn = np.concatenate(
        [stream_features.rows_kept(40, stream_features.NUMBERS // 10, None, s) for s in range(2000)]
    )
    # Each of 40 rows in 2,000 draws of 10: 500 on average, deviation √(2000·¼·¾) = 19.4; 5 of them refute evenness.
    assert np.abs(np.bincount(drawn, minlength=40) - 500).max() < 97


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"logits": np.zeros((5, 3))}, "logits from row 10 on differ"),
        ({"logits": np.zeros((5, 4), dtype=np.float32)}, "logits from row 10 on differ"),
        ({"logits": np.full((5, 4), np.nan)}, "row 10, column 0 is nan, not a finite number"),
        (
            {"logits": np.zeros((5, 4)), "labels": np.array([0, 0, 4, 0, 0])},
            "labels: row 12 is 4, outside 0..3",
        ),
        ({"logits": np.zeros((5, 4)), "labels": np.zeros(4, dtype=int)}, "differ in length"),
        ({"labels": np.zeros(5, dtype=int)}, "lacks logits"),
    ],
)
def test_bad_parts_are_named(
    calibration: Outputs, tmp_path: Path, second: dict[str, np.ndarray], message: str
) -> None:
    np.savez(tmp_path / "a.npz", logits=np.eye(10, 4), labels=np.zeros(10, dtype=int))
    second = {"labels": np.zeros(5, dtype=int), **second}
    np.savez(tmp_path / "b.npz", **second)
    with pytest.raises(InputError, match=message):
        assess(calibration, open_stream(tmp_path))


def test_rows_are_numbered_from_the_first_of_the_file(calibration: Outputs, tmp_path: Path) -> None:
    probabilities = np.full((300_000, 4), 0.25)
    features = np.zeros((300_000, 2))
    np.savez(tmp_path / "ops.npz", probabilities=probabilities, features=features)
    rows = [row for row, _ in open_stream(tmp_path / "ops.npz").blocks()]
    bad = rows[-1] + 7  # in the last of several blocks
    assert len(rows) > 1
    features[bad] = np.inf
    np.savez(tmp_path / "features.npz", probabilities=probabilities, features=features)
    probabilities[bad, 0] = 0.5
    np.savez(tmp_path / "sums.npz", probabilities=probabilities)
    for name, message in (("features", f"row {bad}, column 0 is inf"), ("sums", f"row {bad} sums to 1.25")):
        with pytest.raises(InputError, match=message):
            assess(calibration, open_stream(tmp_path / f"{name}.npz"))


def test_foreign_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="without Parquet files"):
        open_stream(tmp_path)
    np.savez(tmp_path / "real.npz", logits=np.eye(2))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.npz").symlink_to(tmp_path / "real.npz")
    with pytest.raises(InputError, match="link"):
        open_stream(tmp_path / "in")


def test_an_error_of_the_reader_ends_the_thread(calibration: Outputs, toy: Toy) -> None:
    def read(start: int):
        yield Outputs(np.eye(4))
        raise InputError("the disk is gone")

    with pytest.raises(InputError, match="disk is gone"):
        assess(calibration, OutputsStream(100, Outputs(np.eye(4)), None, read))
    with pytest.raises(InputError, match="4 rows, 100 were announced"):
        assess(
            calibration,
            OutputsStream(100, Outputs(np.eye(4)), None, lambda start: iter([Outputs(np.eye(4))])),
        )


def peak(toy: Toy, calibration: Outputs, n: int) -> int:
    """Most memory that Python objects and arrays took while n rows were assessed."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 4))

    def read(start: int):
        for first in range(start, n, 1000):
            yield Outputs(rows + 1e-3 * first)

    stream = OutputsStream(n, Outputs(rows), None, read)
    tracemalloc.start()
    assess(calibration, stream, exchangeability=False)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


@pytest.mark.usefixtures("without_type_checks")
def test_memory_does_not_grow_with_the_rows(toy: Toy, calibration: Outputs) -> None:
    """295,000 rows more: a single float64 kept of each would show as 2.4 MB.

    Blocks (32 kB) that wait for Python's collection of cycles, which the type checks of the tests make, take some
    hundred kB.
    """
    peak(toy, calibration, 5000)  # what is imported and cached once
    assert peak(toy, calibration, 300_000) < peak(toy, calibration, 5000) + 1_000_000


def test_draws_do_not_depend_on_where_reading_begins(toy: Toy, calibration: Outputs) -> None:
    cal = calibrate(calibration.logits, calibration.labels)
    ops = whole(toy)
    levels = cal.success_levels(ops.logits)
    for row, block in streamed(ops, [311]).blocks(start=1000):
        np.testing.assert_array_equal(
            cal.success_levels(block.logits, first_row=row), levels[row : row + len(block)]
        )


def damaged_parquet(path: Path) -> None:
    """50,000 rows in five row groups, of which the fourth cannot be unpacked."""
    import pyarrow.parquet as pq

    Outputs(np.random.default_rng(0).normal(size=(50_000, 4))).save(path)
    pq.write_table(pq.read_table(path), path, row_group_size=10_000)
    begin = pq.ParquetFile(path).metadata.row_group(3).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[begin : begin + 40] = bytes([255]) * 40
    path.write_bytes(data)


def test_a_damaged_row_group_is_named(calibration: Outputs, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    damaged_parquet(tmp_path / "ops.parquet")
    with pytest.raises(InputError, match=r"ops\.parquet is damaged in row group 3, .* rows 30000 to 39999"):
        assess(calibration, open_stream(tmp_path / "ops.parquet"))


def test_a_bit_that_flipped_in_a_parquet_page_is_found(
    calibration: Outputs, toy: Toy, tmp_path: Path
) -> None:
    """The file can be read, and its numbers are possible ones: only the page's CRC-32 tells."""
    pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    path, ops = tmp_path / "ops.parquet", whole(toy)
    ops.save(path)
    data = bytearray(path.read_bytes())
    # Random numbers do not compress: the page holds them as they are.
    data[data.index(ops.logits[1000].tobytes())] ^= 1
    path.write_bytes(data)
    for read in (Outputs.load, lambda path: assess(calibration, open_stream(path))):
        with pytest.raises(InputError, match=r"ops\.parquet is damaged .*CRC"):
            read(path)


@pytest.mark.parametrize("array", ["logits", "labels"])
def test_bits_that_flipped_in_an_npz_are_found(
    calibration: Outputs, toy: Toy, tmp_path: Path, array: str
) -> None:
    """The file can be read, and its numbers are possible ones."""
    ops = whole(toy)
    for part in "ab":
        ops.save(tmp_path / f"{part}.npz")
    stored = getattr(ops, array)[2000:2001].tobytes()
    data = (tmp_path / "b.npz").read_bytes()
    at = data.index(ops.logits.tobytes() if array == "logits" else ops.labels.tobytes())
    at += len(getattr(ops, array)[:2000].tobytes())
    other = getattr(ops, array)[2000:2001] ^ 1 if array == "labels" else -ops.logits[2000:2001]
    (tmp_path / "b.npz").write_bytes(data[:at] + other.tobytes() + data[at + len(stored) :])
    with pytest.raises(InputError, match=rf"b\.npz is damaged: {array} are not"):
        assess(calibration, open_stream(tmp_path))


def test_a_missing_value_is_named(calibration: Outputs, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    import pyarrow.parquet as pq

    rows = np.eye(5000, 4).tolist()
    rows[4321] = None
    pq.write_table(pa.table({"logits": rows}), tmp_path / "ops.parquet", row_group_size=1000)
    with pytest.raises(InputError, match=r"missing .*, the first in row 4321"):
        assess(calibration, open_stream(tmp_path / "ops.parquet"))


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
@pytest.mark.parametrize("rows", [1500, 2600])
def test_a_file_that_changes_after_it_was_opened_is_refused(
    calibration: Outputs, toy: Toy, tmp_path: Path, suffix: str, rows: int
) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    path = tmp_path / f"ops.{suffix}"
    whole(toy).save(path)
    stream = open_stream(path)
    toy.outputs(rows, np.random.default_rng(3)).save(path)
    with pytest.raises(InputError, match="changed meanwhile"):
        assess(calibration, stream)


@pytest.mark.parametrize("suffix", ["npz", "parquet"])
def test_three_rows_are_a_stream(toy: Toy, calibration: Outputs, tmp_path: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet is an optional extra")
    few = toy.outputs(3, np.random.default_rng(3))
    few.save(tmp_path / f"ops.{suffix}")
    ours = assess(calibration, open_stream(tmp_path / f"ops.{suffix}"))
    assert plain(ours) == plain(assess(calibration, few))
