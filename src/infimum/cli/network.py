"""What the options of a network mean: load it, run it over data, hand on its outputs."""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from infimum._grammar import Kind, Registry
from infimum.cli.console import note
from infimum.cli.holding import check_holds
from infimum.cli.progress import extraction_progress
from infimum.errors import InputError

if TYPE_CHECKING:
    from infimum.data import ImageOptions
    from infimum.head import AnyHead
    from infimum.models import Extraction, NetworkAdapter
    from infimum.outputs._outputs import Outputs
    from infimum.outputs._stream import OutputsStream

Device = Literal["cpu", "cuda", "mps"]

SHOWN = 20
"""Bad inputs that are named; the rest is counted."""


@dataclass(frozen=True)
class HowRun:
    """How a network is loaded and run, beside its file: what `--network` says."""

    factory: str | None = None
    weights: Path | None = None
    head_layer: str | None = None
    device: Device = "cpu"
    batch_size: int | None = None
    preprocess: str | None = None
    skip_bad: bool = False

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"batch_size must be 1 or more, not {self.batch_size}")


@dataclass(frozen=True)
class LabelsOf:
    """Where the labels of data lie, if not in them: a CSV with file,label or id,label, an .npy file, or none."""

    calibration: str | None = None
    operation: str | None = None
    tuning: str | None = None


NETWORKS: Registry[HowRun] = Registry(
    "network", {"network": Kind.of(HowRun)}, lambda given: isinstance(given, HowRun), default="network"
)
LABELS: Registry[LabelsOf] = Registry(
    "labels",
    {"labels": Kind(LabelsOf, dict.fromkeys(LabelsOf.__annotations__, str), {})},  # none: without labels
    lambda given: isinstance(given, LabelsOf),
    default="labels",
)


@dataclass(frozen=True)
class NetworkOptions:
    """A network and how it is run, as the command line says; `images` None: as of ImageNet."""

    model: Path | None
    how: HowRun
    trust: bool
    images: ImageOptions | None
    warned: set[str] = field(default_factory=set, compare=False)

    @staticmethod
    def of(
        model: Path | None, network: str, trust: bool, images: str, batch_size: int | None = None
    ) -> NetworkOptions:
        """What the texts of the options say."""
        from infimum.data._images import IMAGES

        how = NETWORKS.read(network)
        if batch_size is not None:
            if how.batch_size is not None:
                raise InputError("--batch-size is given twice: it stands in --network too")
            how = replace(how, batch_size=batch_size)
        return NetworkOptions(model, how, trust, IMAGES.read(images) if images else None)

    @property
    def given(self) -> bool:
        """Whether there is a network; InputError for options of one without it."""
        if self.model is not None or self.how.factory is not None or self.how.weights is not None:
            return True
        if self.how != HowRun() or self.images is not None or self.trust:
            raise InputError(
                "options of a network or its data were given, but no network: --model is missing"
            )
        return False

    @property
    def files(self) -> dict[str, Path | None]:
        """What is read to have the network, by option; code that is imported too."""
        return {
            "--model": self.model,
            "--network weights": self.how.weights,
            "--network factory": _module(self.how.factory),
            "--network preprocess": _module(self.how.preprocess),
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
        how = self.how
        preprocess = None if how.preprocess is None else find_function(how.preprocess, "preprocess")
        with _warnings_on_one_line(self.warned):
            opened = open_data(data, labels, images=self.images, skip_bad=how.skip_bad)
            batches = prepared(opened, how.batch_size or BATCH_SIZE, preprocess)
            example = next((batch.inputs for batch in batches if len(batch)), None)
            adapter = load(
                self.model,
                factory=how.factory,
                weights=how.weights,
                head_layer=how.head_layer,
                device=how.device,
                trust=self.trust,
                example=example,
            )
        return adapter, preprocess

    def settings(self) -> dict[str, str]:
        """What decides the outputs beside the data: an extraction is only continued with the same."""
        from infimum.data._data import path_fingerprint

        how = self.how
        named = {"factory": how.factory, "head_layer": how.head_layer, "preprocess": how.preprocess}
        files = {"model": self.model, "weights": how.weights}
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
                batch_size=self.how.batch_size,
                preprocess=preprocess,
                images=self.images,
                skip_bad=self.how.skip_bad,
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


@contextmanager
def outputs_of(
    network: NetworkOptions,
    given: Mapping[str, Path | None],
    labels: LabelsOf,
    quiet: bool,
    streamed: bool,
) -> Iterator[tuple[dict[str, Outputs], Outputs | OutputsStream, AnyHead | None]]:
    """Labelled outputs by role (calibration, tuning), those of the operation, and the network's head.

    What is given by role holds outputs, or, with a network, the inputs that it is run on; a file of the operation's
    outputs is `streamed`, or read whole. The network's outputs are written to a temporary folder (where TMPDIR says)
    and mapped, so that they lie on disk; the folder is removed in the end.
    """
    from infimum.outputs._outputs import Outputs

    has_network = network.given
    files = {role: path for role, path in given.items() if path is not None}
    for role in ("calibration", "operation"):
        if role not in files:
            raise InputError(f"--{role} is missing: {'inputs of the network' if has_network else 'outputs'}")
    named = {role: word for role, word in vars(labels).items() if word is not None}
    for role in named:
        if role not in files or not has_network:
            missing = "--model is missing" if role in files else f"--{role} is missing"
            raise InputError(
                f"--labels: {role} has labels of its own only where a network runs on it; {missing}"
            )
    for path in files.values():
        check_holds(path, has_network)
    if not has_network:
        from infimum.outputs._stream import open_stream

        path = files.pop("operation")
        labelled = {role: Outputs.load(path) for role, path in files.items()}
        yield labelled, open_stream(path) if streamed else Outputs.load(path), None
        return
    from infimum.models._extraction import mapped_outputs

    with tempfile.TemporaryDirectory(prefix="infimum-") as folder:
        adapter, preprocess = network.load(files["calibration"], named.get("calibration"))
        made = {}
        for role, path in files.items():
            out = Path(folder) / f"{role}.npz"
            network.extract(adapter, preprocess, path, named.get(role), out, quiet, f"running on {role}")
            made[role] = mapped_outputs(out, str(path))
        if adapter.head is None and not quiet and adapter.cut.why_no_head:
            note("note", f"no prediction layer: {adapter.cut.why_no_head}", err=True)
        yield made, made.pop("operation"), adapter.head
