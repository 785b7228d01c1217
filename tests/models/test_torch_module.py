"""Modules in memory: the prediction layer found by values, in the styles that people write networks in."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from torch import nn  # noqa: E402
from torch_networks import (  # noqa: E402
    IMAGES,
    AllConvolutional,
    LastToken,
    MlpHead,
    ResNetLike,
    Returning,
    VGGLike,
    ViTLike,
    plain,
    seeded,
)

from infimum import Head, InputError  # noqa: E402
from infimum.head import HeadFunction  # noqa: E402
from infimum.models import NetworkAdapter  # noqa: E402
from infimum.models._torch.module import cut_module  # noqa: E402


def check_cut(module, expected, inputs=IMAGES, layer=None, **options):
    """Cut on the first rows; on all rows the logits are the expected ones and the head of the features."""
    cut = cut_module(module, inputs[:5], **options)
    logits, features = NetworkAdapter(cut).batch(inputs)
    np.testing.assert_allclose(logits, np.asarray(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(cut.head.logits(features), logits, rtol=1e-5, atol=1e-5)
    assert features.shape == (len(inputs), cut.head.n_features)
    if layer is not None:
        assert cut.layer == layer
    return cut


@pytest.mark.parametrize(
    ("make", "layer"),
    [
        (ResNetLike, "fc"),
        (VGGLike, "classifier.3"),
        (ViTLike, "heads.head"),
        (lambda: VGGLike(nn.Dropout(0.9), nn.Identity()), "classifier.3"),
        (lambda: nn.DataParallel(ResNetLike()), "fc"),
        (lambda: nn.Sequential(nn.Sequential(nn.Flatten()), nn.Sequential(nn.Linear(64, 3))), "1.0"),
        (lambda: AllConvolutional(True), "last.1"),
        (lambda: AllConvolutional(False), "last.0"),
        (lambda: nn.Sequential(nn.Flatten(), nn.utils.parametrizations.weight_norm(nn.Linear(64, 3))), "1"),
    ],
)
def test_prediction_layer_is_found(make, layer):
    module = seeded(make)
    cut = check_cut(module, plain(module), layer=layer)
    assert isinstance(cut.head, Head)


def test_logits_before_softmax_are_used():
    for after in (lambda z: z.softmax(1), lambda z: z.log_softmax(1)):
        module = seeded(lambda after=after: ResNetLike(after))
        with torch.no_grad():
            logits = plain(ResNetLikeCopy(module))
        check_cut(module, logits, layer="fc")


def ResNetLikeCopy(module):
    copy = ResNetLike()
    copy.load_state_dict(module.state_dict())
    return copy


def test_temperature_is_part_of_the_head():
    for after in (lambda z: z / 2.5, lambda z: (z / 2.5).softmax(1), lambda z: (z / 2.5).log_softmax(1)):
        module = seeded(lambda after=after: ResNetLike(after))
        check_cut(module, plain(ResNetLikeCopy(module)) / 2.5, layer="fc")


@pytest.mark.parametrize(
    "after", [lambda z: z, torch.sigmoid, lambda z: torch.sigmoid(z)[:, 0], lambda z: z[:, 0]]
)
def test_single_output_is_two_logits(after):
    module = seeded(lambda: ResNetLike(after, classes=1))
    raw = seeded(lambda: ResNetLike(classes=1))
    z = plain(raw).numpy()
    cut = check_cut(module, np.hstack([np.zeros_like(z), z]), layer="fc")
    assert cut.head.weight.shape == (2, 8)
    assert not cut.head.weight[0].any()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda z, f: {"logits": z, "hidden": f},
        lambda z, f: {"features": f, "scores": z},
        lambda z, f: (z, f),
        lambda z, f: (f, z),
        lambda z, f: SimpleNamespace(logits=z),
        lambda z, f: (torch.tensor(1.0), [z]),
    ],
)
def test_logits_inside_what_the_network_returns(wrap):
    module = seeded(lambda: Returning(wrap))
    expected = module.fc(module.body(torch.as_tensor(IMAGES))).detach()
    check_cut(module, expected, layer="fc")


def test_layer_that_scores_every_position():
    module = seeded(LastToken)
    ids = np.random.default_rng(1).integers(1, 11, size=(9, 6))
    ids[::2, 4:] = 0
    check_cut(module, plain(module, ids), ids, layer="score")


def test_attention_averaged_over_positions():
    class Averaged(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 3)

        def forward(self, x):
            return self.fc(x[:, 0].sin()).mean(1).softmax(-1)

    module = seeded(Averaged)
    expected = module.fc(torch.as_tensor(IMAGES)[:, 0].sin()).mean(1).detach()
    check_cut(module, expected, layer="fc")


def test_mode_batch_norm_and_hooks_are_left_as_they_were():
    module = seeded(ResNetLike)
    module.train()
    module.conv2.eval()
    modes = [part.training for part in module.modules()]
    state = {key: value.clone() for key, value in module.state_dict().items()}
    adapter = NetworkAdapter(cut_module(module, IMAGES))
    first = adapter.batch(IMAGES)[0]
    assert np.array_equal(first, adapter.batch(IMAGES)[0])
    assert [part.training for part in module.modules()] == modes
    assert all(torch.equal(value, state[key]) for key, value in module.state_dict().items())
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in module.parameters())


def test_mode_and_hooks_are_restored_after_a_failure():
    module = seeded(ResNetLike)
    cut = cut_module(module, IMAGES)
    with pytest.raises(InputError, match="cannot run this batch"):
        cut.forward(np.zeros((2, 3, 8, 8), np.float32))
    assert module.training
    assert not module.fc._forward_hooks


@pytest.mark.parametrize("name", ["head", "head.0"])
@pytest.mark.parametrize("last", [(), (nn.Softmax(1),), (nn.LogSoftmax(1),)])
def test_head_of_several_layers_becomes_a_function(name, last):
    module = seeded(lambda: MlpHead(*last))
    module.train()
    expected = plain(module.head, plain(module.body))
    cut = check_cut(module, expected, head_layer=name, layer=name)
    assert isinstance(cut.head, HeadFunction)
    assert module.head.training
    drawn = np.random.default_rng(2).normal(size=(5000, 6))
    assert cut.head.logits(drawn).shape == (5000, 3)


def test_head_that_begins_inside_a_sequential():
    module = seeded(lambda: VGGLike(nn.Softmax(1)))
    logits = plain(module.classifier[:4], plain(module.features).flatten(1))
    cut = check_cut(module, logits, head_layer="classifier.0")
    assert cut.head.n_features == 36
    inplace = check_cut(module, logits, head_layer="classifier.1")  # begins with a ReLU that works in place
    assert inplace.head.n_features == 16


def test_squeezenet_head_is_no_linear_layer_but_can_be_named():
    module = seeded(lambda: AllConvolutional(False, relu=True))
    with pytest.raises(InputError, match=r"no linear prediction layer.*last\.0 \(6 -> 3\).*head_layer"):
        cut_module(module, IMAGES)
    cut = check_cut(module, plain(module), head_layer="last")
    assert cut.head.n_features == 6 * 36


def test_linear_layer_inside_a_named_module_stays_linear():
    module = seeded(ViTLike)
    cut = check_cut(module, plain(module), head_layer="heads")
    assert isinstance(cut.head, Head)


def test_names_that_do_not_work_are_answered_with_candidates():
    module = seeded(VGGLike)
    with pytest.raises(
        InputError, match=r"no layer 'fc'.*classifier\.0 \(36 -> 16\), classifier\.3 \(16 -> 3\)"
    ):
        cut_module(module, IMAGES, head_layer="fc")
    with pytest.raises(InputError, match="does not give the network's output by itself"):
        cut_module(module, IMAGES, head_layer="features.0")
    with pytest.raises(InputError, match="It has no linear layers"):
        cut_module(nn.Flatten(), IMAGES)


def test_output_that_stops_following_the_layer_is_an_error():
    module = seeded(lambda: ResNetLike(lambda z: z.clamp(-50, 50)))
    cut = cut_module(module, IMAGES)
    with pytest.raises(InputError, match="is not the same output of fc on this batch"):
        cut.forward(IMAGES * 1e4)


def test_missing_example_and_foreign_objects():
    with pytest.raises(InputError, match="example is missing"):
        cut_module(ResNetLike())
    with pytest.raises(InputError, match=r"torch\.nn\.Module was expected, not dict"):
        cut_module({}, IMAGES)
    with pytest.raises(InputError, match=r"returned \(5, 3, 4\)"):
        cut_module(nn.Linear(2, 4), np.zeros((5, 3, 2)))


def test_wrong_inputs_say_expected_and_got():
    module = seeded(ResNetLike)
    with pytest.raises(InputError, match=r"float32 \(2, 3, 8, 8\).*Conv2d\(1, 8"):
        cut_module(module, np.zeros((2, 3, 8, 8)))
    with pytest.raises(InputError, match=r"uint8 \(2, 1, 8, 8\)"):
        cut_module(module, np.zeros((2, 1, 8, 8), np.uint8))
    with pytest.raises(InputError, match="must be numbers, not <U1"):
        cut_module(module, np.array(["a", "b"]))


@pytest.mark.parametrize("row", [0, 3])
def test_non_finite_outputs_name_the_row(row):
    images = IMAGES.copy()
    images[row] = np.nan
    with pytest.raises(InputError, match=f"row {row}"):
        cut_module(seeded(ResNetLike), images)
    with pytest.raises(InputError, match=f"row {row}"):
        NetworkAdapter(cut_module(seeded(ResNetLike), IMAGES)).batch(images)
    with pytest.raises(InputError, match=f"row {100 + row}"):  # of all the data, not of the batch
        NetworkAdapter(cut_module(seeded(ResNetLike), IMAGES)).batch(images, 100)


def test_inputs_of_other_types_and_layouts():
    module = seeded(ResNetLike)
    adapter = NetworkAdapter(cut_module(module, IMAGES))
    expected = adapter.batch(IMAGES)[0]
    frozen = IMAGES.copy()
    frozen.setflags(write=False)  # as memory-mapped files are
    for inputs in (
        frozen,
        torch.as_tensor(IMAGES),
        IMAGES.astype(np.float64),
        IMAGES.astype(">f4"),
        np.asfortranarray(IMAGES),
        IMAGES[::-1][::-1],
        list(IMAGES),
    ):
        np.testing.assert_array_equal(adapter.batch(inputs)[0], expected)


def test_several_inputs_in_order_and_by_name():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(8, 3)

        def forward(self, a, b):
            return self.fc(torch.tanh(a - 2 * b))

    module = seeded(Two)
    a, b = IMAGES[:, 0, 0], IMAGES[:, 0, 1]
    expected = plain(lambda_module(lambda _: module(torch.as_tensor(a), torch.as_tensor(b))))
    for inputs in ((a, b), {"b": b, "a": a}):
        logits, features = NetworkAdapter(cut_module(module, inputs)).batch(inputs)
        np.testing.assert_allclose(logits, expected, rtol=1e-6)
        assert features.shape == (9, 8)


def lambda_module(function):
    class Wrapper(nn.Module):
        def forward(self, x):
            return function(x)

    return Wrapper()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_other_number_formats(dtype):
    module = seeded(ResNetLike).to(dtype)
    expected = plain(module, torch.as_tensor(IMAGES).to(dtype)).double()
    logits, _ = NetworkAdapter(cut_module(module, IMAGES)).batch(IMAGES)
    assert logits.dtype == (np.float64 if dtype == torch.float64 else np.float32)
    np.testing.assert_array_equal(logits, expected)


def test_compiled_module_is_unwrapped():
    module = seeded(ResNetLike)
    check_cut(torch.compile(module, backend="eager"), plain(module), layer="fc")


def test_devices_that_are_not_there():
    module = seeded(ResNetLike)
    with pytest.raises(InputError, match="must be cpu, cuda"):
        cut_module(module, IMAGES, device="gpu0")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="sees 0 CUDA devices"):
            cut_module(module, IMAGES, device="cuda")
    if not torch.backends.mps.is_available():
        with pytest.raises(InputError, match="no Apple GPU"):
            cut_module(module, IMAGES, device="mps")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu():
    module = seeded(ResNetLike)
    expected = plain(module)
    logits, features = NetworkAdapter(cut := cut_module(module, IMAGES, device="cuda")).batch(IMAGES)
    np.testing.assert_allclose(logits, expected, rtol=1e-2, atol=1e-3)
    np.testing.assert_allclose(cut.head.logits(features), logits, rtol=1e-3, atol=1e-3)


def test_out_of_memory_suggests_a_batch_size():
    module = seeded(ResNetLike)
    cut = cut_module(module, IMAGES)
    module.after = lambda z: torch.empty(2**60)  # more than any machine has
    with pytest.raises(InputError, match=r"out of memory with a batch of 9 inputs.*batch_size=4"):
        cut.forward(IMAGES)
