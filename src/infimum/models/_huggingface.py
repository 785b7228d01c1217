"""A Hugging Face sequence or image classifier in a local folder. Nothing is downloaded, no code of the folder runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from infimum.errors import InputError, MissingExtraError
from infimum.io.documents import RECORD, read_json
from infimum.io.regular import check_regular
from infimum.models._at_fault import at_fault
from infimum.models._class_names import fold
from infimum.models._cut import Cut
from infimum.models._torch import run as tr
from infimum.models._torch.cut import cut_network
from infimum.models._torch.module import ModuleNetwork

KINDS = {
    "ForSequenceClassification": "AutoModelForSequenceClassification",
    "ForImageClassification": "AutoModelForImageClassification",
}


def cut_huggingface(
    folder: str | Path, example: Any = None, head_layer: str | None = None, device: str = "cpu"
) -> Cut:
    """A classifier in a local folder (config.json and safetensors) cut before its prediction layer.

    A batch is pixel_values (n, channels, height, width), or token ids (n, length), whose attention mask is then
    everything but the padding token, or a dict of the model's own arguments. The weights are read as float32. Raises
    InputError for a folder that is incomplete, damaged, or needs code of its own.
    """
    torch = tr.import_torch()
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("A Hugging Face model", "huggingface") from error
    target = tr.check_device(device)
    folder = Path(folder)
    with at_fault(folder, "is not in order"):
        loader = _check_folder(folder)
    try:
        with _no_progress_bar(transformers.utils.logging):
            model, notes = getattr(transformers, loader).from_pretrained(
                folder,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=torch.float32,
                output_loading_info=True,
            )
    except Exception as error:  # the library raises anything for a folder that is not in order
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)[:300]
        raise InputError(f"{folder} cannot be read as a Hugging Face classifier: {first}") from error
    missing = sorted(map(str, notes.get("missing_keys") or ()))
    if missing:  # the library fills these with random numbers
        raise InputError(
            f"{folder} lacks weights of the classifier ({', '.join(missing[:4])}); save the fine-tuned model, not "
            "the one that it was made from"
        )
    with at_fault(folder / "config.json", "is not in order"):
        _check_one_label(model.config, folder)
        names = _names(model.config)
    name = model.main_input_name
    padding = getattr(model.config, "pad_token_id", None)

    def prepare(inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            return {str(key): value for key, value in inputs.items() if key != "labels"}
        if name != "input_ids":
            return {name: inputs}
        ids = tr.to_numpy(inputs) if isinstance(inputs, torch.Tensor) else np.asarray(inputs)
        if ids.dtype.kind not in "iu" or ids.ndim != 2:
            raise InputError(
                f"the network reads token ids, whole numbers (n, length), got {tr.describe(ids)}; run its tokenizer "
                "first"
            )
        mask = np.ones_like(ids) if padding is None else ids != padding
        return {"input_ids": ids.astype(np.int64), "attention_mask": mask.astype(np.int64)}

    model.to(target)
    cut = cut_network(ModuleNetwork(model, framework="Hugging Face", prepare=prepare), example, head_layer)
    return dataclasses.replace(cut, class_names=names)


def _check_one_label(config: Any, folder: Path) -> None:
    """Refuse a model whose outputs are not one softmax over classes."""
    problem = getattr(config, "problem_type", None)
    if problem == "multi_label_classification":
        raise InputError(
            f"{folder} is a multi_label_classification model: several labels may hold at once, but a classifier with "
            "exactly one right class per input is needed"
        )
    if problem == "regression" or config.num_labels == 1:
        raise InputError(
            f"{folder} is a regression model (problem_type {problem!r}, {config.num_labels} label), not a classifier; "
            "if its single output is the logit of two classes, pass a function that returns [0, logit]"
        )


def _names(config: Any) -> tuple[str, ...]:
    """Names of the classes in the order of the outputs; none where they are the library's LABEL_0, LABEL_1, …."""
    given = {int(key): str(name) for key, name in (getattr(config, "id2label", None) or {}).items()}
    names = tuple(given.get(index, f"LABEL_{index}") for index in range(config.num_labels))
    plain = all(name.startswith("LABEL_") for name in names)
    return () if plain or len({fold(name) for name in names}) < len(names) else names


@contextmanager
def _no_progress_bar(logging: Any) -> Iterator[None]:
    """Let the library draw nothing inside; what to show is the caller's to say."""
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _check_folder(folder: Path) -> str:
    """The name of the transformers class that loads the folder; InputError if it is not a plain classifier."""
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder; a local Hugging Face folder was expected (nothing is downloaded)"
        )
    config = read_json(folder / "config.json", RECORD)
    if (kernel := next(_kernels(config), None)) is not None:
        raise InputError(
            f"{folder}/config.json asks for {kernel[:80]!r}, code that transformers would download and run; take the "
            "entry out"
        )
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise InputError(f"{folder} has no .safetensors file; save with model.save_pretrained(folder)")
    for path in folder.iterdir():  # the library opens what it finds
        if not path.is_dir():
            check_regular(path)
    index = folder / "model.safetensors.index.json"
    if index.exists():
        files = read_json(index, RECORD).get("weight_map")
        names = {path.name for path in weights}
        foreign = [file for file in files.values() if file not in names] if isinstance(files, dict) else ["?"]
        if foreign:
            raise InputError(f"{index} names {foreign[0]!r}, which is not a .safetensors file of this folder")
    if (folder / "adapter_config.json").exists():
        raise InputError(f"{folder} holds an adapter; merge it into its model and save that")
    architecture = str((config.get("architectures") or ["none"])[0])
    for ending, loader in KINDS.items():
        if architecture.endswith(ending):
            return loader
    raise InputError(f"{folder} holds a {architecture}; a model ending in {' or '.join(KINDS)} was expected")


def _kernels(config: Any) -> Iterator[str]:
    """Implementations of attention and the like that a configuration names in a repository instead of the library."""
    for part in config if isinstance(config, list) else config.values() if isinstance(config, dict) else ():
        yield from _kernels(part)
    if isinstance(config, dict):
        named = (value for key, value in config.items() if "implementation" in str(key))
        yield from (text for value in named for text in _texts(value) if "/" in text)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in value if isinstance(value, list) else value.values() if isinstance(value, dict) else ():
        yield from _texts(part)
