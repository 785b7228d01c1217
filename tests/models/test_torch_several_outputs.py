"""Networks that return more than one tensor: the logits are told, or the choice is left to whoever knows."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from torch import nn  # noqa: E402
from torch_networks import IMAGES, save_program, save_script, seeded  # noqa: E402

from infimum import InputError  # noqa: E402
from infimum.models import NetworkAdapter, load  # noqa: E402


class Two(nn.Module):
    """A body of 6 features, layers `a` and `fc`; `wrap(network, features)` is what it returns."""

    def __init__(self, wrap, width=3):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.ReLU())
        self.a = nn.Linear(6, width)
        self.fc = nn.Linear(width if width == 5 else 6, 3)
        self.wrap = wrap

    def forward(self, x):
        return self.wrap(self, self.body(x))


def before_relu(m, h):
    z = m.a(h)
    return z, m.fc(z.relu())


AMBIGUOUS = [
    (lambda m, h: {"projection": m.a(h), "class": m.fc(h)}, 4, "class"),
    (lambda m, h: {"aux": m.a(h), "out": m.fc(h)}, 3, "out"),
    (before_relu, 5, 1),
]


def made_as(kind, module, tmp_path):
    """The module itself, or a file of it."""
    if kind == "module":
        return load(module, example=IMAGES)
    if kind == "script":
        return load(save_script(module.eval(), tmp_path / "net.pt"), example=IMAGES)
    return load(save_program(module.eval(), tmp_path / "net.pt2"))


def named(kind, module, tmp_path, layer):
    if kind == "module":
        return load(module, example=IMAGES, head_layer=layer)
    path = tmp_path / ("net.pt" if kind == "script" else "net.pt2")
    return load(path, example=IMAGES, head_layer=layer)


@pytest.mark.parametrize("kind", ["module", "script", "program"])
@pytest.mark.parametrize("case", range(len(AMBIGUOUS)))
def test_several_outputs_are_refused_until_a_layer_is_named(kind, case, tmp_path):
    wrap, width, key = AMBIGUOUS[case]
    module = seeded(lambda: Two(wrap, width)).eval()
    with pytest.raises(InputError, match=r"several outputs that may hold the classes: \[.*head_layer.*fc \("):
        made_as(kind, module, tmp_path)
    with torch.no_grad():
        expected = module(torch.as_tensor(IMAGES))[key].numpy()
    logits, features = NetworkAdapter(named(kind, module, tmp_path, "fc").cut).batch(IMAGES[:4])
    np.testing.assert_allclose(logits, expected[:4], rtol=1e-5, atol=1e-6)
    assert features.shape == (4, module.fc.in_features)


def test_an_output_that_no_layer_gives_is_not_passed_over():
    module = seeded(lambda: Two(lambda m, h: (m.fc(h).clamp(-0.1, 0.1), m.a(h))))
    with pytest.raises(InputError, match=r"several outputs .*\[0\] \(9, 3\), \[1\] \(9, 3\)"):
        load(module, example=IMAGES)


def test_a_layer_that_runs_twice_does_not_tell_which_output_is_meant():
    module = seeded(lambda: Two(lambda m, h: (m.fc(h), m.fc(-h))))
    for layer in (None, "fc"):
        with pytest.raises(InputError, match="several outputs"):
            load(module, example=IMAGES, head_layer=layer)


def test_logits_beside_their_softmax_are_one_answer():
    module = seeded(lambda: Two(lambda m, h: (lambda z: {"p": z.softmax(1), "z": z})(m.fc(h))))
    logits, _ = load(module, example=IMAGES).batch(IMAGES)
    with torch.no_grad():
        expected = module.fc(module.body(torch.as_tensor(IMAGES))).numpy()
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
    # At two temperatures they are two answers.
    module.wrap = lambda m, h: (lambda z: (z, (z / 2).softmax(1)))(m.fc(h))
    with pytest.raises(InputError, match="several outputs"):
        load(module, example=IMAGES)


def test_what_is_named_logits_is_the_one():
    module = seeded(lambda: Two(lambda m, h: {"aux": m.a(h), "logits": m.fc(h)}))
    assert load(module, example=IMAGES).cut.layer == "fc"


def test_a_head_function_of_one_output_among_several():
    module = seeded(lambda: Two(lambda m, h: {"aux": m.a(h), "out": m.head(h)}))
    module.head = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    logits, features = load(module, example=IMAGES, head_layer="head").batch(IMAGES)
    with torch.no_grad():
        expected = module(torch.as_tensor(IMAGES))["out"].numpy()
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
    assert features.shape == (9, 6)


def test_tensors_that_are_no_rows_of_classes_do_not_count():
    module = seeded(lambda: Two(lambda m, h: (m.fc(h), h.mean(), m.a.weight, h[:, None].expand(-1, 4, 6))))
    assert load(module, example=IMAGES[:5]).cut.layer == "fc"
