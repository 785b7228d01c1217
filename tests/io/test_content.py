"""The checksum in every file that infimum reads back: any changed digit is refused, another layout is not."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import infimum_inside
from hypothesis import given
from hypothesis import strategies as st
from reports import toy_assessment

from infimum import Assessment, InputError, Outputs
from infimum.certification._certificate import Certificate
from infimum.certification._certify import certify
from infimum.certification._draw import likeness_in_strata
from infimum.certification._labelled import Labelled
from infimum.certification._selection import select
from infimum.certification._sequence_file import add_to_state, load_sequence
from infimum.comparison import Comparison, compare
from infimum.conformal import Calibration, LambdaSummary, calibrate
from infimum.io.content import check_seal, checksum, sealed
from infimum.io.csv_files import read_csv, write_csv
from infimum.io.documents import parse_json
from infimum.io.files import read_arrays
from infimum.io.records import read_sealed

JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=10,
).filter(lambda value: "Infinity" not in json.dumps(value))


def shortest(text: str) -> int | float:
    """1.0 as 1, as JavaScript writes it."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


@given(st.dictionaries(st.text(), JSON, max_size=3))
def test_the_layout_is_not_part_of_the_content(content: dict[str, Any]) -> None:
    """Indentation, order, escapes, 1 for 1.0: the same numbers and texts have the same checksum."""
    content.pop("checksum", None)
    whole = sealed(content)
    check_seal(whole)
    turned = dict(reversed(json.loads(json.dumps(whole, indent=3, ensure_ascii=False)).items()))
    check_seal(turned)
    as_javascript = json.loads(json.dumps(whole), parse_float=shortest)
    check_seal(as_javascript)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5), st.data())
def test_every_bit_of_an_array_counts(numbers: list[float], data: st.DataObject) -> None:
    array = np.array(numbers)
    bits = array.view(np.uint64).copy()
    bits[data.draw(st.integers(0, len(bits) - 1))] ^= np.uint64(1 << data.draw(st.integers(0, 63)))
    assert checksum({"a": array}) == checksum({"a": array.astype(">f8")})
    assert checksum({"a": array}) != checksum({"a": bits.view(np.float64)})


def test_what_has_no_checksum() -> None:
    for content, message in (({"a": float("nan")}, "not finite"), ({"a": 1}, "has no 'checksum'")):
        with pytest.raises(InputError, match=message):
            check_seal(content if "a" in content and content["a"] == 1 else {**content, "checksum": "x"})
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InputError, match="nested too deep"):
        checksum({"a": deep})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of every kind that infimum writes and reads."""
    here = tmp_path_factory.mktemp("written")
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(700, 3)) * 2
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    ids = np.array([f"n{i}" for i in range(700)])
    cal = Outputs(logits[:60], labels[:60], ids=ids[:60], name="cal")
    ops = Outputs(logits[100:], ids=ids[100:], name="ops")
    ops.save(here / "ops.npz")
    a = toy_assessment(n_classes=3, n=40, target=0.5)
    (here / "assessment.json").write_text(a.to_json())
    calibration = calibrate(cal.logits, cal.labels)
    calibration.save(here / "calibration.json")
    calibration.save(here / "calibration.safetensors")
    (here / "certificate.json").write_text(certify(Labelled.of(cal), target=0.5).to_json())
    both = [Outputs(logits[:200] + rng.normal(size=(200, 3)), labels[:200], name=name) for name in "ab"]
    (here / "comparison.json").write_text(compare(both).to_json())
    add_to_state(here / "state.json", Labelled.of(cal), target=0.5)
    summary = LambdaSummary(calibration.n)
    summary.add(calibration.top_two(ops.logits))
    (here / "summary.json").write_text(json.dumps(summary.to_dict()))
    for ending in ("csv", "npz"):
        select(ops, cal, 12, seed=1).save(here / f"select.{ending}")
    table = read_csv(here / "select.csv")
    table["label"] = np.arange(12) % 3
    write_csv(here / "filled.csv", {name: column.tolist() for name, column in table.items()})
    return here


def read_summary(path: Path) -> LambdaSummary:
    return LambdaSummary.from_dict(parse_json(path.read_text(), str(path)))


READERS: dict[str, Callable[[Path], object]] = {
    "assessment.json": Assessment.load,
    "calibration.json": Calibration.load,
    "certificate.json": Certificate.load,
    "comparison.json": Comparison.load,
    "state.json": load_sequence,
    "summary.json": read_summary,
}


def says_the_same(changed: str, text: str) -> bool:
    try:
        return bool(json.loads(changed) == json.loads(text))
    except ValueError:  # 01 is no number in JSON
        return False


@pytest.mark.parametrize("name", READERS)
def test_a_changed_digit_of_any_number_is_refused(written: Path, name: str, tmp_path: Path) -> None:
    """One digit of each number, also in texts and keys; of long files 200 of them."""
    text = (written / name).read_text()
    READERS[name](written / name)
    lots = random.Random(0)  # noqa: S311
    found = [match.span() for match in re.finditer(r"\d+", text)]
    for start, stop in found if len(found) < 200 else lots.sample(found, 200):
        at = lots.randrange(start, stop)
        digit = str((int(text[at]) + lots.randint(1, 9)) % 10)
        changed = text[:at] + digit + text[at + 1 :]
        (tmp_path / name).write_text(changed)
        if says_the_same(changed, text):  # the last of 17 digits may round to what was there
            continue
        with pytest.raises(InputError, match=None if name == "summary.json" else name) as caught:
            READERS[name](tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_changed_byte_of_a_safetensors_calibration_is_refused(written: Path, tmp_path: Path) -> None:
    data = (written / "calibration.safetensors").read_bytes()
    lots = random.Random(0)  # noqa: S311
    path = tmp_path / "calibration.safetensors"
    whole, same = Calibration.load(written / "calibration.safetensors"), 0
    for at in lots.sample(range(len(data)), 400):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << lots.randrange(8)]) + data[at + 1 :])
        refused = None
        try:
            read = Calibration.load(path)
        except InputError as error:
            refused = str(error)
        if refused is None:  # another way to write the same
            np.testing.assert_array_equal(read.keys, whole.keys)
            assert (read.temperature, read.seed, read.score) == (whole.temperature, whole.seed, whole.score)
            same += 1
        else:
            assert path.name in refused
    assert same < 20


SPREADSHEETS: dict[str, Callable[[str], str]] = {
    "comma, point": lambda entry: entry,
    "0.50": lambda entry: f"{float(entry):.11f}" if re.fullmatch(r"0\.\d+", entry) else entry,
    "1.0": lambda entry: f"{entry}.0" if re.fullmatch(r"[1-9]\d*", entry) else entry,
    "as Excel shows it": lambda entry: (
        (f"{float(entry):.9f}".rstrip("0") if float(entry) >= 1e-4 else f"{float(entry):.5E}")
        if re.fullmatch(r"[\d.]+(e-\d+)?", entry) and "." in entry
        else entry
    ),
}


@pytest.mark.parametrize("how", SPREADSHEETS)
def test_a_table_survives_a_spreadsheet(written: Path, how: str, tmp_path: Path) -> None:
    """Another way to write numbers, quotes, line ends, a mark of the encoding, columns added and moved."""
    table = read_csv(written / "filled.csv")
    names = ["remark", *reversed(table)]
    rows = [names]
    for i in range(12):
        texts = {
            n: SPREADSHEETS[how](e) if n not in ("id", "label") else e
            for n, e in ((n, str(column[i])) for n, column in table.items())
        }
        rows.append([texts.get(name, f"seen {i}") for name in names])
    lines = "".join(",".join(f'"{entry}"' for entry in row) + "\r\n" for row in rows)
    (tmp_path / "table.csv").write_bytes(b"\xef\xbb\xbf" + lines.encode())
    saved, first = Labelled.load(tmp_path / "table.csv"), Labelled.load(written / "filled.csv")
    assert saved.correct.tolist() == first.correct.tolist()
    np.testing.assert_array_equal(saved.design.weights, first.design.weights)


def test_shares_of_a_million_survive_too(tmp_path: Path) -> None:
    """Probabilities that a spreadsheet writes as powers of ten."""
    rng = np.random.default_rng(0)
    ops = Outputs(rng.normal(size=(400_000, 2)))
    select(ops, Outputs(rng.normal(size=(50, 2)), np.arange(50) % 2), 8).save(tmp_path / "t.csv")
    table = {name: list(column) for name, column in read_csv(tmp_path / "t.csv").items()}
    table["label"] = [0] * 8
    excel = SPREADSHEETS["as Excel shows it"]
    for name in ("level", "sampling_probability", "stratum_weight"):
        table[name] = [excel(str(entry)) for entry in table[name]]
    assert any("E-" in entry for entry in table["sampling_probability"])
    write_csv(tmp_path / "t.csv", table)
    assert len(Labelled.load(tmp_path / "t.csv")) == 8


@pytest.mark.parametrize("seed", range(4))
def test_strata_are_found_again_from_rounded_edges(seed: int, tmp_path: Path) -> None:
    """The levels at which strata begin are levels of inputs: rounded, they must not lie above those."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(3000, 4)) * 3
    labels = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    cal, ops = Outputs(logits[: 400 + seed], labels[: 400 + seed]), Outputs(logits[500:])
    select(ops, cal, 60, seed=seed).save(tmp_path / "t.csv")
    table = {name: column.tolist() for name, column in read_csv(tmp_path / "t.csv").items()}
    write_csv(tmp_path / "t.csv", {**table, "label": [0] * 60})
    found, why = likeness_in_strata(Labelled.load(tmp_path / "t.csv"), ops, cal)
    assert found is not None, why


@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_a_changed_cell_of_a_table_is_refused(written: Path, ending: str, tmp_path: Path) -> None:
    """Each digit of each cell that infimum wrote, one at a time; labels are the user's."""
    read = read_csv if ending == "csv" else read_arrays
    table = {name: column.astype(str) for name, column in read(written / f"select.{ending}").items()}
    table["label"] = np.array(["0"] * 12)
    path = tmp_path / f"table.{ending}"

    def write(columns: dict[str, np.ndarray]) -> None:
        write_csv(path, {name: column.tolist() for name, column in columns.items()})
        if ending == "npz":
            np.savez(path, **columns)

    write(table)
    Labelled.load(path)
    lots = random.Random(0)  # noqa: S311
    for name in table:
        for row in range(12):
            entry = str(table[name][row])
            if not (digits := [i for i, c in enumerate(entry) if c.isdigit()]) or name == "label":
                continue
            at = lots.choice(digits)
            column = table[name].astype("<U80")
            column[row] = entry[:at] + str((int(entry[at]) + lots.randint(1, 9)) % 10) + entry[at + 1 :]
            write({**table, name: column})
            with pytest.raises(InputError, match=path.name):
                Labelled.load(path)
    write({**table, "label": np.array(["1"] * 12)})
    assert Labelled.load(path).correct.tolist() == (table["predicted"] == "1").tolist()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"checksum": None}, "has no column 'checksum'.* with 'own' in every row"),
        ({"checksum": ["own"] * 11 + [""]}, "is not as `infimum plan --select` wrote it"),
        ({"level": None}, "is not as `infimum plan --select` wrote it"),
        ({"id": None}, "is not as `infimum plan --select` wrote it"),
        ({"row": None}, "is not as `infimum plan --select` wrote it"),
    ],
)
def test_tables_without_what_was_written(written: Path, changed: dict, message: str, tmp_path: Path) -> None:
    table = {name: list(column) for name, column in read_csv(written / "filled.csv").items()} | changed
    write_csv(tmp_path / "t.csv", {name: column for name, column in table.items() if column is not None})
    with pytest.raises(InputError, match=message) as caught:
        Labelled.load(tmp_path / "t.csv")
    assert len(str(caught.value)) < 500
    own = {name: column for name, column in {**table, "checksum": ["own"] * 12}.items() if column is not None}
    write_csv(tmp_path / "t.csv", own)
    assert len(Labelled.load(tmp_path / "t.csv")) == 12


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, (path, old)
    path.write_text(text.replace(old, new, 1))


def test_the_commands_refuse_in_one_line(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 and the file's name; the same file unchanged is taken."""
    for path in written.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "assessment.json").write_bytes((written / "assessment.json").read_bytes())
    logits = np.random.default_rng(5).normal(size=(20, 3))
    more = Outputs(logits, logits.argmax(axis=1), ids=np.array([f"m{i}" for i in range(20)]))
    more.save(tmp_path / "more.npz")
    labels = ("certify", "--target", "0.01", "--labels")
    beside = (*labels, "more.npz", "--operation", "ops.npz", "--calibration", "calibration.json")
    for command, path, old, new in (
        (("report", "a"), "a/assessment.json", '"n_classes": 3', '"n_classes": 4'),
        (
            ("compare", "a", "a", "--name", "x", "--name", "y"),
            "a/assessment.json",
            '"value": 0.',
            '"value": 0.0',
        ),
        (
            beside,
            "calibration.json",
            '"temperature": 1.0',
            '"temperature": 1.1',
        ),
        ((*labels, "filled.csv"), "filled.csv", "n1", "n2"),
        (
            ("certify", "--labels", "more.npz", "--target", "0.5", "--sequential", "state.json"),
            "state.json",
            '"confidence": 0.95',
            '"confidence": 0.65',
        ),
    ):
        before = (tmp_path / path).read_bytes()
        edited(tmp_path / path, old, new)
        done = infimum_inside(*command, cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
        assert path in done.stderr
        assert len(done.stderr) < 500
        (tmp_path / path).write_bytes(before)
        done = infimum_inside(*command, cwd=tmp_path, monkeypatch=monkeypatch, capsys=capsys)
        assert done.returncode == 0, done.stderr


def test_what_a_resumed_run_trusts(written: Path, tmp_path: Path) -> None:
    """The manifest beside the parts of an extraction or scoring."""
    path = tmp_path / "_infimum.json"
    path.write_text(json.dumps(sealed({"schema": "infimum/extraction/1", "rows_per_part": 1000})))
    assert read_sealed(path, "infimum/extraction/1")["rows_per_part"] == 1000
    edited(path, "1000", "1001")
    with pytest.raises(InputError, match=r"_infimum\.json: its checksum does not match"):
        read_sealed(path, "infimum/extraction/1")
