"""A PyTorch network in files: TorchScript, a torch.export program, or a state dict and the function that builds it.

Which it is, is told by the content. Nothing is unpickled unless the caller says that the file is trusted.
"""

from __future__ import annotations

import importlib
import io
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from infimum.errors import InputError
from infimum.io.checksums import check_sums
from infimum.io.files import read_bytes
from infimum.models._cut import Cut
from infimum.models._torch import run as tr
from infimum.models._torch.archive import first_line, open_archive, recognise
from infimum.models._torch.module import cut_module
from infimum.models._torch.pickles import check_old_pickle, check_storages

WRAPPERS = ("module.", "_orig_mod.", "model._orig_mod.")
"""What DataParallel and torch.compile put before every name of a state dict."""

CHECKPOINT_KEYS = ("state_dict", "model_state_dict", "model")
"""Where training scripts keep the state dict inside a checkpoint."""


def cut_torch_file(
    path: str | Path | None = None,
    factory: str | Callable[[], Any] | None = None,
    weights: str | Path | None = None,
    head_layer: str | None = None,
    device: str = "cpu",
    trust: bool = False,
    example: Any = None,
) -> Cut:
    """A PyTorch network in a file, cut before its prediction layer.

    `path` is a TorchScript file or a torch.export program; or `factory` ("package.module:function", called without
    arguments) builds the module and `weights` (or `path`) holds its state dict, from torch.save or safetensors.
    A whole pickled module is read only with `trust`, since a pickle can run any code. `example` is one batch of
    inputs. Raises InputError for a missing, damaged, foreign or untrusted file, and where no head is found.
    """
    torch = tr.import_torch()
    target = tr.check_device(device)
    file = path if weights is None else weights
    if file is None:
        raise InputError(
            "weights are missing: give the file of the state dict (weights, --network weights=FILE)"
        )
    file = Path(file)
    if weights is not None and factory is None:
        raise InputError(
            f"{file} holds weights: give the function that builds the network (factory, "
            "--network factory=MODULE:FUNCTION)"
        )
    kind = recognise(file)
    if read_bytes(file, 2) == b"PK":
        check_sums(
            file, ", if it was written with torch.serialization.set_crc32_options(False), without that"
        )
    if factory is not None and kind not in ("pickle", "safetensors"):
        raise InputError(f"{file} is a whole network ({kind}), not weights; leave the factory out")
    if trust and kind != "safetensors":
        warnings.warn(
            f"trust: {file} may hold code; reading it runs that code with your rights. Go on only if you trust "
            "whoever made the file and the way it reached you",
            UserWarning,
            stacklevel=2,
        )
    if kind == "script":
        from infimum.models._torch.script import cut_script
        from infimum.models._torch.script_file import load_script

        return cut_script(load_script(file, target, trust), example, head_layer)
    if kind == "program":
        from infimum.models._torch.export import cut_program
        from infimum.models._torch.program_file import load_program

        return cut_program(load_program(file, trust), example, head_layer, device)
    content = _read_weights(file, kind, trust)
    if isinstance(content, torch.nn.Module):
        return cut_module(content, example, head_layer, device)
    if factory is None:
        raise InputError(
            f"{file} holds weights only: give the function that builds the network (factory, "
            "--network factory=MODULE:FUNCTION)"
        )
    module = build(factory)
    _fill(module, content, file)
    return cut_module(module, example, head_layer, device)


def build(factory: str | Callable[[], Any]) -> Any:
    """The module that a factory makes: a function without arguments, or its name as "package.module:function"."""
    torch = tr.import_torch()
    name = getattr(factory, "__name__", str(factory))
    function: Any = factory
    if isinstance(factory, str):
        package, _, attribute = factory.partition(":")
        if not package or not attribute:
            raise InputError(f"factory must be 'package.module:function', not {factory!r}")
        # As `python -m` does: a user's own module lies where the command is run.
        sys.path.insert(0, "")
        try:
            function = importlib.import_module(package)
            for part in attribute.split("."):
                function = getattr(function, part)
        except (ImportError, AttributeError) as error:
            raise InputError(f"factory {factory!r} cannot be imported: {error}") from error
        finally:
            sys.path.remove("")
    if not callable(function):
        raise InputError(f"factory {name!r} is not a function")
    try:
        module = function()
    except TypeError as error:
        raise InputError(f"factory {name!r} must take no arguments and return a module: {error}") from error
    except Exception as error:  # a factory is anybody's code and raises anything
        raise InputError(f"factory {name!r} failed: {type(error).__name__}: {first_line(error)}") from error
    if not isinstance(module, torch.nn.Module):
        raise InputError(f"factory {name!r} returned a {type(module).__name__}, not a torch.nn.Module")
    return module


def _read_weights(file: Path, kind: str, trust: bool) -> Any:
    """A state dict, or with trust whatever the pickle holds."""
    torch = tr.import_torch()
    if kind == "safetensors":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        try:
            return load_file(file)
        except (SafetensorError, OSError, ValueError) as error:
            raise InputError(f"{file} is damaged or cut short ({error})") from error
    import pickle

    source: Any = file if trust else _checked_pickle(file)
    try:
        return torch.load(source, map_location="cpu", weights_only=not trust)
    except pickle.UnpicklingError as error:
        if "weights_only" not in str(error) and "Weights only" not in str(error):
            raise InputError(f"{file} is damaged or cut short ({first_line(error)})") from error
        raise InputError(
            f"{file} is a pickle that holds more than tensors, and reading it could run code with your rights; not "
            "read. Save model.state_dict() and give a factory, or, if you trust its author, pass trust=True (--trust)"
        ) from error
    except Exception as error:  # a pickle, even an honest one, raises anything
        raise InputError(f"{file} cannot be read ({type(error).__name__}: {first_line(error)})") from error


def _checked_pickle(file: Path) -> io.BytesIO:
    """A file of torch.save in memory, whose pickle sets no items of tensors and promises no more than the file holds.

    PyTorch before 2.10 believes both, and can be made to run code by it.
    """
    try:
        if read_bytes(file, 2) != b"PK":
            data = read_bytes(file)
            check_old_pickle(data)
            return io.BytesIO(data)
        archive = open_archive(file)
        check_storages(archive.read("data.pkl"), archive.sizes, "data")
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{file} is damaged: its pickle {error}") from error
    return archive.opened()


def _fill(module: Any, content: Any, file: Path) -> None:
    """Load a state dict into a module; every name and shape must fit."""
    torch = tr.import_torch()
    if isinstance(content, Mapping):
        several = [str(key) for key, value in content.items() if _holds_weights(value)]
        if len(several) > 1:
            raise InputError(
                f"{file} holds the weights of several networks ({', '.join(several[:8])}); save the one that is meant, "
                "as torch.save(checkpoint['model'], file)"
            )
        for key in CHECKPOINT_KEYS:
            if isinstance(content.get(key), Mapping):
                content = content[key]
                break
    if not isinstance(content, Mapping) or not content or not all(isinstance(key, str) for key in content):
        raise InputError(f"{file} holds no state dict (tensors by name), but a {type(content).__name__}")
    for prefix in WRAPPERS:
        if all(key.startswith(prefix) for key in content):
            content = {key.removeprefix(prefix): value for key, value in content.items()}
    if not any(isinstance(value, torch.Tensor) for value in content.values()):
        raise InputError(
            f"{file} holds no state dict (tensors by name); its entries: {', '.join(list(content)[:8])}"
        )
    try:
        module.load_state_dict(content)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).splitlines()[1:4]]
        raise InputError(
            f"{file} does not fit the network of the factory: {' '.join(lines)[:600]}"
        ) from error


def _holds_weights(value: Any) -> bool:
    torch = tr.import_torch()
    return isinstance(value, Mapping) and any(isinstance(item, torch.Tensor) for item in value.values())
