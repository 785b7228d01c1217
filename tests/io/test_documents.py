"""JSON and TOML of others: one meaning or none, and never more work than their size."""

from __future__ import annotations

import time

import pytest

from infimum import InputError
from infimum.io.documents import parse_json, read_json, read_toml


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": 1, "b": 2, "a": 1}', "the key 'a' occurs twice"),
        (b'{"x": {"a": 1, "a": 2}}', "occurs twice"),
        (b"[" * 100_000, "nested more than 100"),
        (b"[" * 102 + b"]" * 102, "nested more than 100"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "nested more than 100"),
        (b"1" + b"0" * 400, "401 digits"),
        (b"[" + b"1" * 100_000 + b"]", "100000 digits"),
        (b"NaN", "NaN is not a number"),
        (b'{"a": -Infinity}', "-Infinity is not a number"),
        (b'"\xff"', "utf-8"),
        (b'"\xed\xa0\x80"', "utf-8"),  # half a letter
        (b"{", "Expecting"),
        (b"", "Expecting"),
        (b"\0" * 100, "Expecting"),
    ],
)
def test_json_that_is_refused(text, message):
    with pytest.raises(InputError, match=message) as caught:
        parse_json(text, "it")
    assert len(str(caught.value)) < 300


def test_json_that_is_read():
    assert parse_json(b"\xef\xbb\xbf" + b"[" * 100 + b"]" * 100, "it")
    assert parse_json(b"9" * 308, "it") == 10**308 - 1
    assert parse_json('{"a": {"a": 1}, "b": [1.5, null, "\\u00e9"]}', "it") == {
        "a": {"a": 1},
        "b": [1.5, None, "é"],
    }


@pytest.mark.parametrize("text", ["[]", "3", '"x"', "null"])
def test_a_value_that_is_no_object(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(InputError, match="a JSON object was expected"):
        read_json(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" + ".a" * 100_000 + " = 1", "line 1 has more than 50 dots"),
        ("x = 1\n[a" + ".a" * 100_000 + "]", "line 2 has more than 50 dots"),
        ("x = " + "[" * 100_000, "nested more than 100"),
        ("x = " + "{a = " * 100_000, "nested more than 100"),
        ("x = " + "[" * 101 + "]" * 101, "nested more than 100"),
        ("x = " + "1" * 10_000, "digits"),
        ("x = 1\nx = 2", "overwrite"),
        ("x = '''" + "y" * 2**20, "1,048,576"),
        ("x = 1\0", "not TOML"),
    ],
)
def test_toml_that_is_refused(tmp_path, text, message):
    (tmp_path / "x.toml").write_text(text)
    start = time.process_time()
    with pytest.raises(InputError, match=message) as caught:
        read_toml(tmp_path / "x.toml")
    assert time.process_time() - start < 5  # the dotted key alone took minutes
    assert len(str(caught.value)) < 300


def test_the_most_that_toml_may_cost(tmp_path):
    key = ".".join(["a"] * 50)
    (tmp_path / "x.toml").write_text("".join(f"{key}.k{i} = 1\n" for i in range(9000)))
    start = time.process_time()
    read_toml(tmp_path / "x.toml")
    assert time.process_time() - start < 10
