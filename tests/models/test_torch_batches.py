"""What can go wrong with a batch: data changed in place, a single row, no rows, NaN, networks that round."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from torch import nn  # noqa: E402
from torch_networks import IMAGES, ResNetLike, plain, seeded  # noqa: E402

from infimum import InputError  # noqa: E402
from infimum.models import load  # noqa: E402

FLAT = IMAGES.reshape(9, 64)


class Flat(nn.Module):
    """Two linear layers on vectors; `before` and `after` are what the forward does around them."""

    def __init__(self, after=lambda z: z, classes=3, before=lambda x: x, scale=1.0):
        super().__init__()
        self.body = nn.Linear(64, 6)
        self.fc = nn.Linear(6, classes)
        self.fc.weight.data *= scale
        self.before, self.after = before, after

    def forward(self, x):
        return self.after(self.fc(self.body(self.before(x)).relu()))


@pytest.mark.parametrize("given", [np.copy, torch.tensor])
def test_a_network_that_works_in_place_leaves_the_data_alone(given):
    module = seeded(lambda: Flat(before=lambda x: x.sub_(0.5)))
    data = given(FLAT)
    adapter = load(module, example=data)
    logits, _ = adapter.batch(data)
    assert np.array_equal(data, FLAT)
    np.testing.assert_array_equal(logits, plain(module, np.copy(FLAT)))


@pytest.mark.parametrize("classes", [1, 3])
def test_squeeze_of_a_last_batch_of_one_row(classes):
    module = seeded(lambda: Flat(torch.squeeze, classes))
    whole = load(module, example=FLAT).outputs(FLAT).logits
    pieces = load(module, example=FLAT).outputs(FLAT, batch_size=4).logits  # 4, 4 and 1 rows
    np.testing.assert_allclose(pieces, whole, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        load(module, example=FLAT[:1]).outputs(FLAT).logits, whole, rtol=1e-5, atol=1e-6
    )


def test_batches_without_rows_or_without_an_axis_of_rows():
    module = seeded(Flat)
    with pytest.raises(InputError, match="example is empty"):
        load(module, example=FLAT[:0])
    adapter = load(module, example=FLAT)
    with pytest.raises(InputError, match=r"no axis of inputs.*\(n, \.\.\.\)"):
        adapter.outputs([FLAT[0], FLAT[1]])


def test_a_row_that_is_not_finite_is_numbered_in_the_data():
    data = FLAT.copy()
    data[7] = np.nan
    for after in (lambda z: z, lambda z: z.softmax(1)):
        adapter = load(seeded(lambda after=after: Flat(after)), example=FLAT)
        with pytest.raises(InputError, match="row 7"):
            adapter.outputs(data, batch_size=3)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_small_step_after_the_layer_in_half_precision_is_kept(dtype):
    step = torch.linspace(-0.03, 0.03, 3, dtype=dtype)
    module = seeded(lambda: Flat(lambda z: z + step, scale=40)).to(dtype)
    logits, _ = load(module, example=FLAT).batch(FLAT)
    np.testing.assert_array_equal(logits, plain(module, torch.tensor(FLAT).to(dtype)).float())


def test_spectral_norm_in_training_mode_keeps_its_state():
    module = seeded(Flat)
    nn.utils.parametrizations.spectral_norm(module.fc)
    module.train()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    load(module, example=FLAT).batch(FLAT)
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())


def test_several_sigmoids_are_refused_as_what_they_are():
    with pytest.raises(InputError, match="ends in 3 sigmoids"):
        load(seeded(lambda: ResNetLike(torch.sigmoid)), example=IMAGES)


def test_a_temperature_that_no_example_shows_is_advised_on():
    module = seeded(lambda: Flat(lambda z: (z / 2).softmax(1), scale=1e4))
    nn.init.zeros_(module.body.bias)
    nn.init.zeros_(module.fc.bias)
    adapter = load(module, example=FLAT * 20)
    with pytest.raises(InputError, match=r"temperature could not be measured.*another example"):
        adapter.batch(FLAT * 1e-4)
