"""Small PyTorch networks in the styles that people write them in, what they say, and files of them."""

from __future__ import annotations

import warnings
from collections import OrderedDict

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an optional extra")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

torch.set_num_threads(1)

IMAGES = np.random.default_rng(0).normal(size=(9, 1, 8, 8)).astype(np.float32)


class ResNetLike(nn.Module):
    """Batch norm, global pooling, `fc`; `after` is what is done to the logits."""

    def __init__(self, after=lambda z: z, classes=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8, classes)
        self.after = after

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.conv2(x) + x).mean((2, 3))
        return self.after(self.fc(x))


class VGGLike(nn.Module):
    """`classifier` is a Sequential of three layers with dropout, the last one linear."""

    def __init__(self, *last):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(
            nn.Linear(36, 16), nn.ReLU(inplace=True), nn.Dropout(), nn.Linear(16, 3), *last
        )

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class ViTLike(nn.Module):
    """Attention over patches, a class token, `heads.head`."""

    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(1, 8, 4, 4)
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.encoder = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.heads = nn.Sequential(OrderedDict(head=nn.Linear(8, 3)))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = self.encoder(torch.cat([self.token.expand(len(x), -1, -1), x], 1))
        return self.heads(x[:, 0])


class AllConvolutional(nn.Module):
    """A 1x1 convolution as the last layer, pooled before or after it."""

    def __init__(self, pool_first, relu=False):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU())
        self.last = nn.Sequential(
            *([nn.AdaptiveAvgPool2d(1)] if pool_first else []),
            nn.Conv2d(6, 3, 1),
            *([nn.ReLU(inplace=True)] if relu else []),
            *([] if pool_first else [nn.AdaptiveAvgPool2d(1)]),
        )

    def forward(self, x):
        return self.last(self.body(x)).flatten(1)


class LastToken(nn.Module):
    """Scores every position, answers with that of the last token, as causal language models do."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8, padding_idx=0)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.score = nn.Linear(8, 3, bias=False)

    def forward(self, ids):
        scores = self.score(self.rnn(self.embed(ids))[0])
        return scores[torch.arange(len(ids)), (ids != 0).sum(1) - 1]


class Returning(nn.Module):
    """A body and an `fc`, returned in a container made by `wrap(logits, features)`."""

    def __init__(self, wrap):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.Tanh())
        self.fc = nn.Linear(3, 3)  # as many features as classes, so that widths do not tell them apart
        self.wrap = wrap

    def forward(self, x):
        features = self.body(x)
        return self.wrap(self.fc(features), features)


class MlpHead(nn.Module):
    """A head of two layers; `last` follows it."""

    def __init__(self, *last):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(6, 5), nn.GELU(), nn.Dropout(), nn.Linear(5, 3))
        self.last = nn.Sequential(*last)

    def forward(self, x):
        return self.last(self.head(self.body(x)))


class Network(nn.Module):
    """A small CNN; `outer` is what it gives: logits, log-softmax, softmax, temperature, dict, tuple."""

    def __init__(self, outer: str = "logits", classes: int = 3):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.bn = nn.BatchNorm2d(6)
        self.hidden = nn.Linear(6, 5)
        self.drop = nn.Dropout(0.5)
        self.fc = nn.Linear(5, classes)
        self.outer = outer

    def features(self, x):
        x = torch.relu(self.bn(self.conv(x))).mean((2, 3))
        return self.drop(torch.relu(self.hidden(x)))

    def forward(self, x):
        features = self.features(x)
        z = self.fc(features)
        if self.outer == "softmax":
            return z.softmax(1)
        if self.outer == "log-softmax":
            return z.log_softmax(1)
        if self.outer == "temperature":
            return z / 2
        if self.outer == "sigmoid":
            return torch.sigmoid(z)
        if self.outer == "dict":
            return {"logits": z}
        if self.outer == "tuple":
            return features, z
        return z


class Scripted(nn.Module):
    """What torch.jit.script takes: a Sequential with an MLP head, probabilities out, control flow inside."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 7), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(7, 5), nn.ReLU(), nn.Dropout(), nn.Linear(5, 3))

    def forward(self, x):
        x = self.body(x)
        if x.shape[0] > 1000:
            x = x + 0
        return torch.softmax(self.head(x), 1)


def network(outer="logits", classes=3):
    torch.manual_seed(0)
    return Network(outer, classes).eval()


def expected(outer="logits", classes=3):
    module = network(outer, classes)
    with torch.no_grad():
        z = module.fc(module.features(torch.as_tensor(IMAGES))).numpy()
    z = z / 2 if outer == "temperature" else z
    return np.hstack([np.zeros_like(z), z]) if classes == 1 else z


def save_script(module, path, trace=True):
    with warnings.catch_warnings():  # TorchScript is deprecated in PyTorch, its files are not
        warnings.simplefilter("ignore", DeprecationWarning)
        made = (
            torch.jit.trace(module, torch.as_tensor(IMAGES), strict=False)
            if trace
            else torch.jit.script(module)
        )
        made.save(str(path))
    return path


def save_program(module, path, rows=4, dynamic=True):
    shapes = ({0: torch.export.Dim("batch", min=1, max=64)},) if dynamic else None
    program = torch.export.export(module, (torch.as_tensor(IMAGES[:rows]),), dynamic_shapes=shapes)
    with path.open("wb") as file:
        torch.export.save(program, file)
    return path


def seeded(make):
    torch.manual_seed(0)
    return make()


def plain(module, inputs=IMAGES):
    """What the module itself says, in eval mode."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    with torch.no_grad():
        output = module(torch.as_tensor(inputs))
    for part in training:
        part.training = True
    return output
