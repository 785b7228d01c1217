"""Exported programs of others: what PyTorch would evaluate, import, unpickle or execute is looked through before."""

from __future__ import annotations

import copy
import json
import pickle
import struct
import time

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from torch_networks import IMAGES, network, save_program  # noqa: E402
from torch_zips import changed, records, write  # noqa: E402

from infimum import InputError  # noqa: E402
from infimum.models._torch.archive import Untrusted  # noqa: E402
from infimum.models._torch.files import cut_torch_file  # noqa: E402
from infimum.models._torch.operators import program_may_call  # noqa: E402
from infimum.models._torch.program_file import load_program  # noqa: E402
from infimum.models._torch.sizes import check_size  # noqa: E402

REFUSED = r"could run code with your rights; not read\. If you trust its author, pass trust=True \(--trust\)"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The records of a plain program."""
    return records(save_program(network(), tmp_path_factory.mktemp("program") / "net.pt2"))


@pytest.fixture
def program(plain, tmp_path):
    """Writes a program of changed records: `change(model)` changes the JSON of the graph, `more` adds records."""

    def make(change=lambda model: None, **more):
        content = copy.deepcopy(plain[0])
        model = json.loads(content["models/model.json"])
        change(model)
        return write(
            tmp_path / "net.pt2",
            {**content, "models/model.json": json.dumps(model).encode(), **more},
            plain[1],
        )

    return make


def refused(path, reason):
    start = time.monotonic()
    with pytest.raises(InputError, match=reason) as caught:
        cut_torch_file(path, example=IMAGES)
    assert time.monotonic() - start < 10  # nothing was evaluated
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)


def everywhere(content, change):
    """Every dict in JSON, given to `change`."""
    if isinstance(content, dict):
        change(content)
    for inner in (
        content.values() if isinstance(content, dict) else content if isinstance(content, list) else ()
    ):
        everywhere(inner, change)


def test_the_plain_program_is_read(program):
    cut_torch_file(program(), example=IMAGES)


SIZES = [
    "9**9**9**9",
    "Pow(Integer(9), Pow(Integer(9), Integer(99)))",
    "(9**99)**99",
    "*".join(["9**64"] * 40),
    "PowByNatural(Symbol('s0'), Symbol('s1'))",
    "1 << 10**9",
    "factorial(10**9)",
    "__import__('os').mkdir('ran')",
    "Symbol('__import__')",
    "Symbol('s0', positive=print(1))",
    "Symbol.__class__",
    "(lambda: 1)()",
    "s0.bit_length()",
    "[1, 2]",
    "'a' * 9",
    "s0!",
    "1e999",
    "Float('1e999999999')",
    "Add(*[s0])",
    "s0 if s0 else s1",
    "Function('f')(s0)",
    "9" * 3000,
    "+".join(["s0"] * 400),
    "-" * 1500 + "1",
    "s0\n+ 1",
    "s０",
    "",
]


@pytest.mark.parametrize("text", SIZES)
def test_sizes_that_are_more_than_small_arithmetic(text):
    with pytest.raises(Untrusted):
        check_size(text)


@pytest.mark.parametrize(
    "text",
    [
        "s0",
        "2*s0 + 1",
        "Symbol('s77', positive=True, integer=True)",
        "Add(Mul(Integer(48), Symbol('s23', positive=True, integer=True)), Integer(-16))",
        "Mul(Integer(4), Min(Integer(4), Mul(Integer(16), Symbol('s77', positive=True, integer=True))))",
        "FloorDiv(Symbol('u0', integer=True), Integer(2))",
        "Pow(Symbol('s0'), Integer(-1))",
        "s0**2 // 3",
        "Eq(Mod(s0, 8), 0)",
        "Float('0.5', precision=53)",
        "ToFloat(s0) / 2",
    ],
)
def test_sizes_that_networks_have(text):
    assert check_size(text) > 0


@pytest.mark.parametrize("text", ["9**9**9**9", "__import__('os').mkdir('ran')"])
def test_sizes_are_checked_before_they_are_evaluated(program, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch.export, "load", lambda *_: pytest.fail("loaded"))
    found = []

    def change(model):
        everywhere(model, lambda part: "expr_str" in part and (found.append(1), part.update(expr_str=text)))

    refused(program(change), rf"holds the expression .*{REFUSED}")
    assert found
    assert not (tmp_path / "ran").exists()


def renamed(model, old, new):
    """The same graph with one name changed wherever it stands."""
    text = json.dumps(model)
    assert f'"{old}"' in text
    fresh = json.loads(text.replace(f'"{old}"', json.dumps(new)))
    model.clear()
    model.update(fresh)


def test_names_that_would_become_source(program, tmp_path, monkeypatch):
    """PyTorch writes the names of a graph's values into Python, which it executes."""
    monkeypatch.chdir(tmp_path)
    evil = "x = __import__('os').makedirs('ran', exist_ok=True)"
    path = program(lambda model: renamed(model, "x", evil))
    refused(path, f"names something .*{REFUSED}")
    assert not (tmp_path / "ran").exists()
    torch.export.load(str(path))
    assert (tmp_path / "ran").exists()  # what was refused was real


def test_names_of_arguments_that_would_become_source(program):
    def arguments(model):
        for entry in model["graph_module"]["module_call_graph"]:
            if entry["signature"]:
                entry["signature"]["forward_arg_names"] = ["x=print(1)"]

    refused(program(arguments), f"names something 'x=print.*{REFUSED}")

    def keywords(model):
        for entry in model["graph_module"]["module_call_graph"]:
            if entry["signature"]:
                spec = json.loads(entry["signature"]["in_spec"])
                spec[1]["children_spec"][1]["context"] = json.dumps(["x=print(1)"])
                entry["signature"]["in_spec"] = json.dumps(spec)

    refused(program(keywords), f"makes a .*{REFUSED}")


@pytest.mark.parametrize(
    "target",
    [
        "torch.ops.aten.save.default",
        "torch.ops.aten.from_file.default",
        "torch.ops.aten.from_file.out",
        "torch.ops.aten.set_.source_Storage",
        "torch.ops.aten._print.default",
        "torch.ops.profiler._record_function_enter.default",
        "torch.ops.my.own.default",
        "torch.ops.higher_order.while_loop",
        "torch.ops.higher_order.map_impl",
        "torch.ops.load_library",
        "torch.save",
        "torch.load",
        "torch.hub.load",
        "torch.serialization.os.mkdir",
        "torch.ops.aten.relu.__class__",
        "torch.ops.aten.relu.default.__class__",
        "torch.sym_fresh_size",
        "_operator.attrgetter",
        "_operator.methodcaller",
        "_operator.pow",
        "_operator.lshift",
        "math.factorial",
        "math.os.system",
        "#mine:op",
        "print",
        "",
    ],
)
def test_operators_that_are_on_no_list(program, target):
    assert not program_may_call(target)

    def change(model):
        model["graph_module"]["graph"]["nodes"][0]["target"] = target

    refused(program(change), f"calls .*{REFUSED}")


class Malicious:
    """A pickle that makes a folder when it is read."""

    def __reduce__(self):
        import os

        return os.mkdir, ("ran",)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("data/aotinductor/model/a.so", "a record that a network does not need"),
        ("data/constants/custom_obj_0", "a record that a network does not need"),
        ("data/constants/opaque_obj_0", "a record that a network does not need"),
        ("data/weights/model.pt", "a pickle of more than tensors"),
        ("data/constants/model.pt", "a pickle of more than tensors"),
        ("data/sample_inputs/model.pt", "a pickle of more than tensors"),
        ("executorch/model.pte", "a record that a network does not need"),
        ("models/other.txt", "a record that a network does not need"),
        ("xl_model_weights/a", "a record that a network does not need"),
    ],
)
def test_records_that_are_more_than_a_network(program, tmp_path, monkeypatch, name, reason):
    monkeypatch.chdir(tmp_path)
    refused(program(**{name: pickle.dumps(Malicious())}), f"{name} is {reason}, .*{REFUSED}")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "record", ["custom_obj_0", "opaque_obj_0", "../x", "weight_0/../custom_obj_0", "tensor_0\n"]
)
def test_constants_that_are_pickled_objects(program, plain, record):
    name = "data/constants/model_constants_config.json"
    entry = {"path_name": record, "is_param": False, "use_pickle": True, "tensor_meta": None}
    config = json.dumps({"config": {"c": entry}}).encode()
    assert name in plain[0]
    refused(program(**{name: config}), f"a pickled object, .*{REFUSED}")


def test_sample_inputs_that_say_that_they_hold_more_than_the_file_has(program, plain, tmp_path):
    (tmp_path / "inner.pt").write_bytes(plain[0]["data/sample_inputs/model.pt"])

    def change(content):
        few, many = b"M" + struct.pack("<H", 256) + b"t", b"M" + struct.pack("<H", 60_000) + b"t"
        assert few in content["data.pkl"]
        content["data.pkl"] = content["data.pkl"].replace(few, many)

    inner = changed(tmp_path / "inner.pt", change).read_bytes()
    refused(program(**{"data/sample_inputs/model.pt": inner}), f"a pickle of more than tensors, .*{REFUSED}")


@pytest.mark.parametrize(
    "data", [b"{", b"[" * 100_000, b"\xff\xfe{\x00}\x00", b"null", b"{}", b'{"config": 3}']
)
@pytest.mark.parametrize("name", ["models/model.json", "data/weights/model_weights_config.json"])
def test_damaged_json(program, name, data):
    refused(program(**{name: data}), "damaged")


def test_pytorch_logs_nothing_of_a_damaged_program(program, caplog):
    def change(model):
        model["graph_module"]["graph"]["nodes"][0]["metadata"] = {"nn_module_stack": "\x1b[31mred"}

    refused(program(change), "damaged")
    assert not [entry for entry in caplog.records if entry.levelname != "DEBUG"]


def test_what_is_loaded_are_the_bytes_that_were_checked(program, plain, monkeypatch):
    load = torch.export.load
    path = program()

    def swapped(file):
        write(path, {"archive_format": b"pt2"}, plain[1])
        return load(file)

    monkeypatch.setattr(torch.export, "load", swapped)
    module = load_program(path, False).module(check_guards=False)
    with torch.no_grad():
        found = module(torch.as_tensor(IMAGES[:4]))
        np.testing.assert_allclose(found, network()(torch.as_tensor(IMAGES[:4])), rtol=1e-5)
