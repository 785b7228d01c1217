"""What the options of a network mean: load it, run it over data, hand on its outputs."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infimum.cli.console import note
from infimum.cli.progress import extraction_progress
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.data import ImageOptions
    from infimum.head import AnyHead
    from infimum.models import Extraction, NetworkAdapter
    from infimum.outputs._outputs import Outputs
    from infimum.outputs._stream import OutputsStream

SHOWN = 20
"""Bad inputs that are named; the rest is counted."""


@dataclass(frozen=True)
class NetworkOptions:
    """A network and how it is run, as the command line says."""

    model: Path | None
    factory: str | None
    weights: Path | None
    head_layer: str | None
    device: str
    trust: bool
    batch_size: int | None
    preprocess: str | None
    skip_bad: bool
    images: ImageOptions | None
    warned: set[str] = field(default_factory=set, compare=False)

    @property
    def given(self) -> bool:
        """Whether there is a network; InputError for options of one without it."""
        if self.model is not None or self.factory is not None or self.weights is not None:
            return True
        options = (self.head_layer, self.batch_size, self.preprocess, self.images)
        if (
            any(option is not None for option in options)
            or self.trust
            or self.skip_bad
            or self.device != "cpu"
        ):
            raise InputError(
                "options of a network or its data were given, but no network: --model is missing"
            )
        return False

    @property
    def files(self) -> dict[str, Path | None]:
        """What is read to have the network, by option; code that is imported too."""
        return {
            "--model": self.model,
            "--weights": self.weights,
            "--factory": _module(self.factory),
            "--preprocess": _module(self.preprocess),
        }

    def load(self, data: Path, labels: str | None) -> tuple[NetworkAdapter, Callable[[Any], Any] | None]:
        """The network and the preprocessing function; the first inputs of `data` are the example."""
        from infimum.data import open_data
        from infimum.models import load
        from infimum.models._functions import find_function
        from infimum.models._running import BATCH_SIZE, prepared

        # Functions lie beside the user's work; appended, so that no file there hides an installed module.
        if "" not in sys.path and str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))
        preprocess = None if self.preprocess is None else find_function(self.preprocess, "--preprocess")
        with _warnings_on_one_line(self.warned):
            opened = open_data(data, labels, images=self.images, skip_bad=self.skip_bad)
            batches = prepared(opened, self.batch_size or BATCH_SIZE, preprocess)
            example = next((batch.inputs for batch in batches if len(batch)), None)
            adapter = load(
                self.model,
                factory=self.factory,
                weights=self.weights,
                head_layer=self.head_layer,
                device=self.device,
                trust=self.trust,
                example=example,
            )
        return adapter, preprocess

    def settings(self) -> dict[str, str]:
        """What decides the outputs beside the data: an extraction is only continued with the same."""
        from infimum.data._data import path_fingerprint

        named = {"factory": self.factory, "head_layer": self.head_layer, "preprocess": self.preprocess}
        files = {"model": self.model, "weights": self.weights}
        return {key: value for key, value in named.items() if value is not None} | {
            key: path_fingerprint(path) for key, path in files.items() if path is not None
        }

    def extract(
        self,
        adapter: NetworkAdapter,
        preprocess: Callable[[Any], Any] | None,
        data: Path,
        labels: str | None,
        out: Path,
        quiet: bool,
        what: str,
        resume: bool = False,
    ) -> Extraction:
        """Run the network over data, with a progress display, and name the inputs that were left out."""
        from infimum.models import extract

        with _warnings_on_one_line(self.warned), extraction_progress(quiet, what) as progress:
            made = extract(
                adapter,
                data,
                out,
                labels=labels,
                batch_size=self.batch_size,
                preprocess=preprocess,
                images=self.images,
                skip_bad=self.skip_bad,
                resume=resume,
                settings=self.settings(),
                progress=progress,
            )
        for name in made.bad[:SHOWN]:
            note("skipped", name, err=True)
        if made.skipped:
            note("skipped", f"{made.skipped} bad inputs of {made.rows + made.skipped} in {data}", err=True)
        return made


def _module(function: str | None) -> Path | None:
    """The file of a MODULE:FUNCTION that lies where the user works."""
    if function is None:
        return None
    place = Path(*function.partition(":")[0].split("."))
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


@contextmanager
def _warnings_on_one_line(warned: set[str]) -> Iterator[None]:
    """Show warnings at once (what --trust means, before the file is read), without the line of code they came from.

    What was `warned` of before, say when the data were opened for an example, is not said again.
    """

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in warned:
            warned.add(str(message))
            note("warning", str(message), err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield


def unless_none(given: str | None) -> str | None:
    """The file that an option names; None for the word none, and where it is not given."""
    return None if given == "none" else given


def image_options(
    resize: str | None,
    crop: str | None,
    mean: str | None,
    std: str | None,
    mode: str | None,
    layout: str | None,
) -> ImageOptions | None:
    """The image options that were given, or None where none was."""
    from infimum.data import ImageOptions

    given: dict[str, Any] = {}
    for name, size in (("resize", resize), ("crop", crop)):
        if size is not None:
            if size != "none" and not (size.isascii() and size.isdecimal()):
                raise InputError(f"--{name} must be a number of pixels or none, not {size!r}")
            given[name] = None if size == "none" else int(size)
    for name, values in (("mean", mean), ("std", std)):
        if values is not None:
            try:
                given[name] = tuple(float(value) for value in values.split(","))
            except ValueError as error:
                raise InputError(
                    f"--{name} must be numbers with commas, as 0.5,0.5,0.5, not {values!r}"
                ) from error
    given |= {name: value for name, value in (("mode", mode), ("layout", layout)) if value is not None}
    return ImageOptions(**given) if given else None


@contextmanager
def outputs_of(
    network: NetworkOptions,
    files: Mapping[str, Path | None],
    data: Mapping[str, tuple[Path | None, str | None]],
    quiet: bool,
    streamed: bool,
) -> Iterator[tuple[dict[str, Outputs], Outputs | OutputsStream, AnyHead | None]]:
    """Labelled outputs by role (calibration, tuning), those of the operation, and the network's head.

    They come from files or from the network; a file of the operation is `streamed`, or read whole.
    The network's outputs are written to a temporary folder (where TMPDIR says) and mapped, so that they lie on
    disk; the folder is removed in the end.
    """
    from infimum.outputs._outputs import Outputs

    has_network = network.given
    given = {role: path for role, path in files.items() if path is not None}
    raw = {role: (path, labels) for role, (path, labels) in data.items() if path is not None}
    for role, (path, labels) in data.items():
        if path is None and labels is not None:
            raise InputError(f"--{role}-labels needs --{role}-data")
    wanted, unwanted, suffix = (raw, given, "-data") if has_network else (given, raw, "")
    if unwanted:
        role = next(iter(unwanted))
        raise InputError(
            f"--{role} holds outputs; with --model give its inputs: --{role}-data"
            if has_network
            else f"--{role}-data needs the network: --model"
        )
    for role in ("calibration", "operation"):
        if role not in wanted:
            hint = "" if has_network else f" (or --model and --{role}-data)"
            raise InputError(f"--{role}{suffix} is missing{hint}")
    if not has_network:
        from infimum.outputs._stream import open_stream

        path = given.pop("operation")
        labelled = {role: Outputs.load(path) for role, path in given.items()}
        yield labelled, open_stream(path) if streamed else Outputs.load(path), None
        return
    from infimum.models._extraction import mapped_outputs

    with tempfile.TemporaryDirectory(prefix="infimum-") as folder:
        adapter, preprocess = network.load(*raw["calibration"])
        made = {}
        for role, (path, labels) in raw.items():
            out = Path(folder) / f"{role}.npz"
            network.extract(adapter, preprocess, path, labels, out, quiet, f"running on {role}")
            made[role] = mapped_outputs(out, str(path))
        if adapter.head is None and not quiet and adapter.cut.why_no_head:
            note("note", f"no prediction layer: {adapter.cut.why_no_head}", err=True)
        yield made, made.pop("operation"), adapter.head
