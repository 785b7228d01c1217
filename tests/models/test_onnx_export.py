"""Networks as PyTorch exports them, with both of its exporters, and external data as it writes it."""

import warnings

import numpy as np
import pytest

from infimum.head import Head
from infimum.models import NetworkAdapter
from infimum.models._onnx.file import cut_onnx

torch = pytest.importorskip("torch", reason="torch is an optional extra")
pytest.importorskip("onnxruntime", reason="onnxruntime is an optional extra")
pytest.importorskip("onnxscript", reason="torch exports to ONNX with onnxscript")
nn = torch.nn

from torch_networks import IMAGES, AllConvolutional, seeded  # noqa: E402


def conv():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(4, 3),
        nn.LogSoftmax(1),
    )


class Attention(nn.Module):
    """Like a vision transformer: the first of several tokens is read by a linear layer, scaled, softmax."""

    def __init__(self):
        super().__init__()
        self.mix = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.fc = nn.Linear(8, 3)

    def forward(self, x):
        return (self.fc(self.mix(x.flatten(1, 2))[:, 0]) / 2.5).softmax(-1)


@pytest.mark.parametrize("make", [conv, Attention])
@pytest.mark.parametrize("dynamo", [True, False], ids=["torch.export", "TorchScript"])
@pytest.mark.parametrize("dynamic", [True, False], ids=["any batch", "batch of 4"])
def test_exported_networks(make, dynamo, dynamic, tmp_path):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = make().eval()
    sizes = (
        {"dynamic_shapes": ({0: "n"},)} if dynamo else {"dynamic_axes": {"x": {0: "n"}}, "input_names": ["x"]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's exporters warn of themselves
        torch.onnx.export(
            net,
            (torch.zeros(4, 1, 8, 8),),
            tmp_path / "m.onnx",
            dynamo=dynamo,
            verbose=False,
            **(sizes if dynamic else {}),
        )
    x = torch.randn(3, 1, 8, 8)
    cut = cut_onnx(tmp_path / "m.onnx")
    logits, features = NetworkAdapter(cut).batch(x.numpy())
    layer = net[6] if make is conv else net.fc
    scale = 1 if make is conv else 2.5
    with torch.no_grad():
        own = net(x).numpy()
    assert isinstance(cut.head, Head)
    assert cut.fixed_batch == (None if dynamic else 4)
    assert np.allclose(cut.head.weight, layer.weight.detach().numpy() / scale)
    assert np.allclose(cut.head.bias, layer.bias.detach().numpy() / scale)
    assert np.allclose(cut.head.logits(features), logits, atol=1e-6)
    log = torch.log_softmax(torch.as_tensor(logits), 1).numpy()
    assert np.allclose(log, own if make is conv else np.log(own), atol=1e-5)


@pytest.mark.parametrize("pool_first", [True, False])
@pytest.mark.parametrize("dynamo", [True, False], ids=["torch.export", "TorchScript"])
def test_a_1x1_convolution_as_prediction_layer(pool_first, dynamo, tmp_path):
    torch.set_num_threads(1)
    net = seeded(lambda: AllConvolutional(pool_first)).eval()
    x = torch.as_tensor(IMAGES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's exporters warn of themselves
        torch.onnx.export(net, (x,), tmp_path / "m.onnx", dynamo=dynamo, verbose=False)
    cut = cut_onnx(tmp_path / "m.onnx")
    logits, features = NetworkAdapter(cut).batch(IMAGES)
    with torch.no_grad():
        body = net.body(x).mean((2, 3)).numpy()
        own = net(x).numpy()
    layer = net.last[1 if pool_first else 0]
    assert isinstance(cut.head, Head)
    assert np.allclose(cut.head.weight, layer.weight.detach().numpy()[:, :, 0, 0])
    assert np.allclose(features, body, atol=1e-5)
    assert np.allclose(logits, own, atol=1e-5)
