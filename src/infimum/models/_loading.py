"""load(): any trained network to a NetworkAdapter; the framework is told by type or by a file's content."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.head import AnyHead
from infimum.models._adapter import NetworkAdapter
from infimum.models._cut import Cut
from infimum.models._recognition import FRAMEWORKS, framework_of_object, framework_of_path

_TAKES = {
    "torch": {"head_layer", "device"},
    "torch file": {"head_layer", "device", "factory", "weights"},
    "huggingface": {"head_layer", "device"},
    "onnx": {"head_layer", "device"},
    "keras": {"head_layer"},
    "sklearn": set[str](),
    "callable": {"head"},
}
"""Which options have a meaning where; the others, when given, are an error rather than passed over."""


def load(
    model_or_path: Any = None,
    *,
    factory: Any = None,
    weights: str | Path | None = None,
    head_layer: str | None = None,
    device: str | None = None,
    trust: bool = False,
    example: Any = None,
    head: AnyHead | None = None,
) -> NetworkAdapter:
    """A trained network of any framework, cut before its prediction layer.

    `model_or_path` is a model in memory, a function from inputs to logits or (features, logits), or a file or
    folder. `factory` and `weights` make a PyTorch module where the file holds only weights; `head_layer` names the
    prediction layer where it is not found; `device` is cpu, cuda or mps (default: cpu, or where a model
    in memory is); `trust` allows files that run code when
    they are read or run; `example` is a batch of inputs; `head` is the prediction layer of a function.

    Raises InputError for what is not a model, and for options that have no meaning for it.

    >>> load("missing.onnx")
    Traceback (most recent call last):
    infimum.errors.InputError: missing.onnx does not exist
    """
    if isinstance(model_or_path, NetworkAdapter):
        return model_or_path
    if isinstance(model_or_path, Cut):
        return NetworkAdapter(model_or_path)
    path = Path(model_or_path) if isinstance(model_or_path, str | Path) else None
    if factory is not None or weights is not None:
        if model_or_path is not None and path is None:
            raise InputError(
                "factory and weights make the model, so a model in memory cannot be given with them"
            )
        framework = "torch file"
    elif path is not None:
        framework = framework_of_path(path)
        framework = "torch file" if framework == "torch" else framework
    elif model_or_path is None:
        raise InputError(f"no model was given; expected {FRAMEWORKS}")
    else:
        framework = framework_of_object(model_or_path)
    options = {"head_layer": head_layer, "factory": factory, "weights": weights, "head": head}
    given = {key for key, value in options.items() if value is not None}
    if device not in (None, "cpu"):
        given.add("device")
    without = sorted(given - _TAKES[framework])
    if without:
        raise InputError(f"{', '.join(without)} cannot be set for a {framework} model; leave it out")
    return NetworkAdapter(_cut(framework, path or model_or_path, options, device, trust, example))


def _cut(
    framework: str, model: Any, options: dict[str, Any], device: str | None, trust: bool, example: Any
) -> Cut:
    def of(module: str, function: str) -> Any:
        return getattr(importlib.import_module(f"infimum.models.{module}"), function)

    layer, place = options["head_layer"], device or "cpu"
    cut: Cut
    match framework:
        case "torch":
            cut = of("_torch.module", "cut_module")(model, example=example, head_layer=layer, device=device)
        case "torch file":
            cut = of("_torch.files", "cut_torch_file")(
                model,
                factory=options["factory"],
                weights=options["weights"],
                head_layer=layer,
                device=place,
                trust=trust,
                example=example,
            )
        case "huggingface":
            cut = of("_huggingface", "cut_huggingface")(
                model, example=example, head_layer=layer, device=place
            )
        case "onnx":
            cut = of("_onnx.file", "cut_onnx")(model, head_layer=layer, device=place)
        case "keras":
            cut = of("_keras.model", "cut_keras")(model, head_layer=layer)
        case "sklearn":
            cut = of("_sklearn.model", "cut_sklearn")(model, trust=trust)
        case _:
            cut = of("_callable_model", "cut_callable")(model, head=options["head"], example=example)
    return cut
