"""TorchScript of others: networks of layers are read, whatever reads, writes or runs more asks for trust."""

from __future__ import annotations

import os
import pickle
import struct
import warnings
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812
from torch_networks import IMAGES, AllConvolutional, MlpHead, Network, ResNetLike, VGGLike, ViTLike  # noqa: E402
from torch_zips import changed, records, write  # noqa: E402

from infimum import InputError  # noqa: E402
from infimum.models import NetworkAdapter  # noqa: E402
from infimum.models._torch.archive import Untrusted  # noqa: E402
from infimum.models._torch.files import cut_torch_file  # noqa: E402
from infimum.models._torch.operators import graph_may_hold  # noqa: E402
from infimum.models._torch.script_file import load_script  # noqa: E402
from infimum.models._torch.source import check_source  # noqa: E402

ROWS = np.random.default_rng(0).normal(size=(4, 5, 16)).astype(np.float32)
IDS = np.random.default_rng(0).integers(1, 11, (4, 5))
REFUSED = r"could run code with your rights; not read\. If you trust its author, pass trust=True \(--trust\)"


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.norm(x + self.attention(x, x, x)[0]).mean(1))


class ScaledDotProduct(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return self.fc(F.scaled_dot_product_attention(q, k, v).flatten(1).view(x.shape[0], 5, 16).mean(1))


class Encoder(nn.Module):
    def __init__(self, **options):
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, **options)
        self.token = nn.Parameter(torch.zeros(1, 1, 16))
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.encoder(torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1))[:, 0])


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed = nn.Embedding(11, 16, padding_idx=0)
        self.body = kind(16, 8, 2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(16, 3)

    def forward(self, ids):
        return self.fc(self.body(self.embed(ids))[0][:, -1])


class Many(nn.Module):
    """Layers of every family, in a list, a dict and a sequence."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.ZeroPad2d(1), nn.Conv2d(1, 4, 3, padding="same"), nn.BatchNorm2d(4))
        self.norms = nn.ModuleList(
            [nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True), nn.LocalResponseNorm(2)]
        )
        self.acts = nn.ModuleDict(
            {kind.__name__: kind() for kind in (nn.SiLU, nn.ELU, nn.Hardswish, nn.Mish, nn.PReLU)}
        )
        self.up = nn.ConvTranspose2d(4, 4, 2, 2)
        self.drop = nn.Dropout2d(0.3)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        x = self.stem(F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False))
        for norm in self.norms:
            x = norm(x)
        for act in self.acts.values():
            x = x + act(x)
        x = F.max_pool2d(self.drop(self.up(x)), 2)
        x = torch.cat([F.adaptive_avg_pool2d(x, 1), F.adaptive_max_pool2d(x, 1)], 1)
        return self.fc(torch.flatten(x, 1))


class Counting(nn.Module):
    """Loops that end: over a tensor's parts, a range, and with a return and a break inside, which print as `while`."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(16, 16)
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        h = torch.zeros(x.size(0), 16)
        for t in range(x.size(1)):
            h = self.cell(x[:, t], h)
        for part in x.unbind(1):
            h = h + part
        for k in range(10):
            if k > 4:
                break
            h = h * 0.5
        for k in range(3):
            if k > 1:
                return self.fc(h)
        return self.fc(-h)


PLAIN = {
    "resnet": (ResNetLike, IMAGES),
    "vgg": (VGGLike, IMAGES),
    "vit": (ViTLike, IMAGES),
    "convolutional": (lambda: AllConvolutional(True), IMAGES),
    "mlp head": (MlpHead, IMAGES),
    "many layers": (Many, IMAGES),
    "attention": (Attention, ROWS),
    "sdpa": (ScaledDotProduct, ROWS),
    "encoder": (Encoder, ROWS),
    "encoder, norm first, gelu": (lambda: Encoder(norm_first=True, activation="gelu"), ROWS),
    "lstm": (lambda: Recurrent(nn.LSTM), IDS),
    "gru": (lambda: Recurrent(nn.GRU), IDS),
    "rnn": (lambda: Recurrent(nn.RNN), IDS),
    "bag": (lambda: nn.Sequential(nn.EmbeddingBag(11, 16), nn.Linear(16, 3)), IDS),
    "loops": (Counting, ROWS),
}
NOT_SCRIPTED = {
    "resnet",
    "vit",
}  # a lambda in the one, len() of a tensor in the other, which scripting does not take


def saved(module, path, example=None):
    """The module as TorchScript in a file: traced on the example, or scripted."""
    with warnings.catch_warnings():  # TorchScript is deprecated in PyTorch, its files are not
        warnings.simplefilter("ignore")
        module = module.eval()
        made = (
            torch.jit.script(module)
            if example is None
            else torch.jit.trace(module, torch.as_tensor(example), check_trace=False)
        )
        made.save(str(path))
    return path


@pytest.mark.parametrize("how", ["trace", "script"])
@pytest.mark.parametrize("name", PLAIN)
def test_networks_of_layers_need_no_trust(tmp_path, name, how):
    if how == "script" and name in NOT_SCRIPTED:
        return
    make, example = PLAIN[name]
    torch.manual_seed(0)
    module = make().eval()
    path = saved(module, tmp_path / "net.pt", example if how == "trace" else None)
    inputs = torch.as_tensor(example)
    with torch.no_grad():
        found = load_script(path, torch.device("cpu"), False)(inputs)
        np.testing.assert_allclose(found, module(inputs), rtol=1e-4, atol=1e-5)


def test_frozen_and_mobile_files_need_no_trust(tmp_path):
    module = Network().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        script = torch.jit.trace(module, torch.as_tensor(IMAGES))
        torch.jit.freeze(script).save(str(tmp_path / "frozen.pt"))
        script._save_for_lite_interpreter(str(tmp_path / "mobile.ptl"))
    for name in ("frozen.pt", "mobile.ptl"):
        logits, _ = NetworkAdapter(cut_torch_file(tmp_path / name, example=IMAGES)).batch(IMAGES)
        np.testing.assert_allclose(logits, module(torch.as_tensor(IMAGES)).detach(), rtol=1e-4, atol=1e-5)


def test_while_loops_that_do_not_count_ask_for_trust(tmp_path):
    class Forever(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(16, 3)

        def forward(self, x):
            while bool(x.sum() < 10.0):
                x = x * 1.0
            return self.fc(x[:, 0])

    with pytest.raises(InputError, match="a while loop, of which nothing says that it ends"):
        cut_torch_file(saved(Forever(), tmp_path / "net.pt"), example=ROWS)


class Parts(nn.Module):
    """A network with a submodule and a free function, to put foreign code into."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.ReLU())
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return self.fc(F.softplus(self.body(x)))


HERE = "code/__torch__/tests/models/test_torch_script_trust.py"
"""Where TorchScript puts the code of `Parts`."""


def submodule(content):
    """The record with the code of a linear layer; its name has a number in a process that made such layers before."""
    return next(name for name in content if "modules/linear" in name and name.endswith(".py"))


WRITE = (  # each writes to, or reads from, the file whose name is put in; x is a tensor
    "torch.save(x, 'PATH')",
    "torch. save(x, 'PATH')",
    "torch .save(x, 'PATH')",
    "torch\t.save(x, 'PATH')",
    "torch.\\\n    save(x, 'PATH')",
    "ops.aten.save(x, 'PATH')",
    "ops.aten. save(x, 'PATH')",
    "ops .aten.save(x, 'PATH')",
    "(x).save('PATH')",
    "(x).save('PATH', )",
    "x = torch.add(x, torch.sum(torch.copy_(torch. from_file('PATH', True, 4), torch.ones([4]))))",
    "_9 = torch.copy_(ops.aten.from_file('PATH', True, 4, dtype=0), torch.ones([4], dtype=0))",
    "_9 = ('PATH').from_file(True, 4)",
    "f = torch.save\n    f(x, 'PATH')",
    "t = torch\n    t.save(x, 'PATH')",
    "getattr(torch, 'save')(x, 'PATH')",
    "_9 = fork(torch.save, x, 'PATH')",
    "print('PATH')",
)


def with_code(path, place, line):
    """The file with a line put into its forward, or into that of a submodule."""

    def change(content):
        record = HERE if place == "forward" else submodule(content)
        lines = content[record].decode().splitlines(keepends=True)
        at = next(i for i, text in enumerate(lines) if text.rstrip().endswith("-> Tensor:")) + 1
        lines.insert(at, f"    {line}\n")
        content[record] = "".join(lines).encode()

    return changed(path, change)


@pytest.mark.parametrize("line", WRITE)
@pytest.mark.parametrize(("place", "argument"), [("forward", "x"), ("submodule", "input")])
def test_code_that_reaches_files_is_refused_before_it_is_loaded(tmp_path, monkeypatch, line, place, argument):
    monkeypatch.setattr(torch.jit, "load", lambda *_, **__: pytest.fail("loaded"))
    target = tmp_path / "target"
    path = saved(Parts(), tmp_path / "net.pt")
    line = (
        line.replace("PATH", str(target))
        .replace("x,", f"{argument},")
        .replace("(x)", f"({argument})")
        .replace("x =", f"{argument} =")
    )
    with_code(path, place, line)
    with pytest.raises(InputError, match=REFUSED) as caught:
        cut_torch_file(path, example=IMAGES)
    assert len(str(caught.value)) < 500
    assert "\n" not in str(caught.value)
    assert not target.exists()


@pytest.mark.parametrize(
    "line",
    [
        "torch. save(x, 'PATH')",
        "x = torch.add(x, torch.sum(torch.copy_(torch. from_file('PATH', True, 4), torch.ones([4]))))",
    ],
)
def test_what_is_refused_is_real(tmp_path, line):
    target = tmp_path / "target"
    path = saved(Parts(), tmp_path / "net.pt")
    with_code(path, "forward", line.replace("PATH", str(target)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.load(str(path))(torch.as_tensor(IMAGES))
    assert target.exists()


def test_code_that_runs_when_it_is_loaded_is_refused(tmp_path):
    target = tmp_path / "target"
    path = saved(Parts(), tmp_path / "net.pt")

    def change(content):
        record = submodule(content)
        name = record.removeprefix("code/").removesuffix(".py").replace("/", ".") + ".Linear"
        content[record] = (
            content[record].rstrip(b"\n")
            + (
                f"\n  def __getstate__(self: {name}) -> Any:\n    return annotate(Any, 3)\n"
                f"  def __setstate__(self: {name},\n    state: Any) -> NoneType:\n"
                f"    _0 = torch. save(3, '{target}')\n    return None\n"
            ).encode()
        )

    changed(path, change)
    with pytest.raises(InputError, match=r"has a __getstate__ that runs when the file is loaded"):
        cut_torch_file(path, example=IMAGES)
    assert not target.exists()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="left uninitialized after '__setstate__'"):
            torch.jit.load(str(path))
    assert target.exists()  # what was refused was real


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("torch.ops.load_library('a.so')", "calls torch.ops.load_library"),
        ("y = unchecked_cast(__torch__.C, x)", "casts to a class without a check"),
        ("y = unchecked_cast(List[Optional[__torch__.C]], x)", "casts to a class without a check"),
        ("ops.profiler._call_end_callbacks_on_jit_fut(x, x)", "calls ops.profiler"),
        ("ops.quantized.linear(x, x, 1., 0)", "calls ops.quantized.linear"),
        ("__torch__.torch.classes.quantized.LinearPackedParamsBase.f()", "which the file does not define"),
        ("y = x.foo.save(x)", "calls save"),
        ("y = eval('1')", "calls eval"),
        ("y = [z for z in x]", "ListComp"),
        ("y = (lambda: 1)()", "calls "),
        ("y = x + 1", "BinOp"),
        ("import os", "Import"),
        ("torch = x", "gives torch another meaning"),
        ("y = 'λ'", "which PyTorch does not write"),
        ("y = '''a'''", "which PyTorch does not write"),
        ("y = \\\n  x", "which PyTorch does not write"),
        ("y = (", "cannot be parsed"),
        ("y = " + "-" * 3000 + "1", "nested|parsed"),
        ("y = " + "x." * 3000 + "a", "nested|parsed"),
        ("y = " + "9" * 5000, "cannot be parsed"),
        ("for y in x:\n    pass", "a loop over something else than range"),
        ("while True:\n    pass", "a while loop"),
        ("y = b'a'", "holds a bytes"),
        ("y = ...", "holds a ellipsis"),
        ("y = x  # type: Tensor", "a type in a comment"),
        ("y = getattr(x, x)", "a name that is computed"),
        ("y = CONSTANTS.c0.save", "uses CONSTANTS"),
        ("y = f(**x)", "calls f|unpacks"),
    ],
)
def test_code_that_is_on_no_list(code, reason):
    body = "".join(f"  {line}\n" for line in code.splitlines())
    with pytest.raises(Untrusted, match=reason):
        check_source({"code/__torch__.py": f"def g(x: Tensor) -> Tensor:\n{body}  return x\n".encode()})


def test_names_defined_in_the_file_do_not_shadow_operators():
    """TorchScript takes x.save(...) of a tensor for torch.save(x, ...), whatever the classes of the file define."""
    code = (
        "class A(Module):\n  def save(self: __torch__.A, y: Tensor) -> Tensor:\n    return y\n"
        "def f(x: Tensor) -> Tensor:\n  _0 = (x).save('a', )\n  return x\n"
    )
    with pytest.raises(Untrusted, match="calls save"):
        check_source({"code/__torch__.py": code.encode()})
    assert check_source({"code/__torch__.py": code.replace("save", "merge").encode()}) == {"__torch__.A"}
    alias = (
        "def f(x: Tensor) -> Tensor:\n  if x:\n    f0 = __torch__.f\n  else:\n    f0 = x\n  return f0(x, )\n"
    )
    with pytest.raises(Untrusted, match="calls f0"):
        check_source({"code/__torch__.py": alias.encode()})


def test_no_operator_on_the_list_takes_a_file_or_a_class():
    foreign = {"filename", "file", "source_code", "generator_state"}
    for schema in torch._C._jit_get_all_schemas():
        if graph_may_hold(schema.name):
            assert not foreign & {argument.name for argument in schema.arguments}, schema
            assert not any(
                "Storage" in str(argument.type) or "classes" in str(argument.type)
                for argument in schema.arguments
            )
    for name in (
        "save",
        "from_file",
        "set_",
        "resize_",
        "_reshape_alias",
        "_index_put_impl_",
        "segment_reduce",
        "manual_seed",
    ):
        assert not graph_may_hold(f"aten::{name}")
    for name in ("Print", "PythonOp", "IgnoredPythonOp", "rpc_async", "fork", "awaitable"):
        assert not graph_may_hold(f"prim::{name}")


def test_code_that_is_too_large():
    with pytest.raises(Untrusted, match="larger than 16 MiB"):
        check_source({"code/__torch__.py": b"#" * (16 * 2**20 + 1)})


def put(name, data):
    def change(content):
        content[name] = data(content) if callable(data) else data

    return change


class Runs:
    """A pickle that makes a folder when Python reads it."""

    def __reduce__(self):
        return os.mkdir, ("ran",)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (put("data.pkl", pickle.dumps(Runs(), 2)), "data.pkl names (posix|nt).mkdir"),
        (put("constants.pkl", pickle.dumps(Runs(), 2)), "constants.pkl names (posix|nt).mkdir"),
        (put("traced_inputs.pkl", pickle.dumps(Runs(), 2)), "traced_inputs.pkl names (posix|nt).mkdir"),
        (put(f"{HERE}.debug_pkl", pickle.dumps(Runs(), 2)), "debug_pkl names (posix|nt).mkdir"),
        (put("data.pkl", pickle.dumps([1, "a"], 4)), "data.pkl uses FRAME"),
        (
            put(
                "data.pkl",
                lambda content: content["data.pkl"].replace(b"c__torch__.", b"c__torch__.torch.classes."),
            ),
            r"data.pkl names __torch__\.torch\.classes",
        ),
        (put("model.json", b"{}"), "model.json is a record that a network does not need"),
        (put("attributes.pkl", b"\x80\x02N."), "attributes.pkl is a record"),
        (put("code/other.txt", b""), "code/other.txt is a record"),
        (put("code/__torch__/a.b.py", b"def f(): pass"), "a.b.py is a record"),
        (put("data.pkl", b"\x80\x02N" + b"\x85" * 5000 + b"."), "nested more than 100 levels"),
        (
            put("data.pkl", b"\x80\x02X\xff\x00\x00\x00" + b"List[" * 51 + b"."),
            "nested more than 100 levels|damaged",
        ),
    ],
)
def test_records_that_are_more_than_a_network(tmp_path, monkeypatch, change, reason):
    monkeypatch.chdir(tmp_path)
    path = changed(saved(Parts(), tmp_path / "net.pt"), change)
    with pytest.raises(InputError, match=reason):
        load_script(path, torch.device("cpu"), False)
    assert not (tmp_path / "ran").exists()


def test_tensors_that_say_that_they_hold_more_than_the_file_has(tmp_path):
    """PyTorch believes the number, and reads (and in place writes) memory behind the record."""
    path = saved(Parts(), tmp_path / "net.pt")
    # 512 numbers of the first layer: BININT2, as the pickle counts them.
    few, many = b"M" + struct.pack("<H", 512) + b"t", b"M" + struct.pack("<H", 60_000) + b"t"

    def change(content):
        assert few in content["data.pkl"]
        content["data.pkl"] = content["data.pkl"].replace(few, many)

    with pytest.raises(InputError, match=r"damaged.*holds more than the file has"):
        cut_torch_file(changed(path, change), example=IMAGES)
    torch.save(Network().state_dict(), tmp_path / "w.pt")

    def more(content):
        assert b"K6t" in content["data.pkl"]  # conv.weight: 54 numbers
        content["data.pkl"] = content["data.pkl"].replace(b"K6t", b"K\xfft")

    with pytest.raises(
        InputError, match="damaged: its pickle says that tensor 0 holds more than the file has"
    ):
        cut_torch_file(factory=Network, weights=changed(tmp_path / "w.pt", more), example=IMAGES)


def test_zips_that_readers_see_differently(tmp_path):
    content, root = records(saved(Parts(), tmp_path / "net.pt"))
    evil = content[HERE].replace(b"torch.softplus", b"torch. save")
    cases = {
        "the same name twice": [*content.items(), (HERE, evil)],
        "a name in capitals": [(HERE.upper(), evil), *content.items()],
        "out of the folder": [*content.items(), ("../x", b"")],
        "a backslash": [*content.items(), ("code\\x.py", b"")],
    }
    for items in cases.values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # zipfile names duplicates
            with zipfile.ZipFile(tmp_path / "bad.pt", "w") as archive:
                for record, data in items:
                    archive.writestr(f"{root}/{record}", data)
        with pytest.raises(InputError, match=r"damaged|not a PyTorch file"):
            cut_torch_file(tmp_path / "bad.pt", example=IMAGES)
    whole = write(tmp_path / "good.pt", content, root).read_bytes()
    (tmp_path / "shifted.pt").write_bytes(b"PK\x03\x05PTMF" + whole)
    with pytest.raises(InputError, match="not a PyTorch file"):
        cut_torch_file(tmp_path / "shifted.pt", example=IMAGES)


def test_what_is_loaded_are_the_bytes_that_were_checked(tmp_path, monkeypatch):
    """Somebody who changes the file after the check changes nothing."""
    path = saved(Parts(), tmp_path / "net.pt")
    content, root = records(path)
    content[HERE] = content[HERE].replace(b"    return", b"    torch.save(x, 'stolen')\n    return", 1)
    load = torch.jit.load

    def swapped(file, **options):
        write(path, content, root)
        return load(file, **options)

    monkeypatch.setattr(torch.jit, "load", swapped)
    module = load_script(path, torch.device("cpu"), False)
    assert "save" not in str(module.inlined_graph)
    with pytest.raises(InputError, match=r"calls torch\.save"):
        load_script(path, torch.device("cpu"), False)
