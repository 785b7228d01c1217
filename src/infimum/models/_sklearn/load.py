"""Estimators from files: skops, whose types are checked first; pickle and joblib only when trusted."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from infimum.errors import InputError, MissingExtraError
from infimum.io.files import read_bytes
from infimum.io.memory import check_fits
from infimum.models._at_fault import at_fault

SAFE = frozenset(
    {
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.utils._bunch.Bunch",
    }
)
"""Types of scikit-learn's own that skops leaves to the user: plain Python that holds numbers and other objects of the
file. Trees are not among them: they are compiled, and do not check the node numbers that a file gives them."""


def load_estimator(path: Path, trust: bool = False) -> Any:
    """The estimator in a skops, joblib or pickle file, told apart by content.

    Raises InputError for a missing or damaged file, for types in a skops file that skops does not know, and for
    any pickle, unless `trust`; MissingExtraError without skops.
    """
    if path.is_dir():
        raise InputError(f"{path} is a directory; a skops, joblib or pickle file was expected")
    if read_bytes(path, 4) == b"PK\x03\x04":
        return _skops(path, trust)
    if not trust:
        raise InputError(
            f"{path} is no skops file; a pickle or joblib file runs code of whoever made it when it is read, so it "
            "is refused. If you trust it, pass trust=True (--trust); better, save with skops.io.dump"
        )
    import joblib

    warnings.warn(
        f"{path} is a pickle: reading it runs the code in it, because trust was given", stacklevel=2
    )
    with at_fault(path, "is not a joblib or pickle file, or is damaged"), _code_installed(path):
        return joblib.load(path)


def _skops(path: Path, trust: bool) -> Any:
    try:
        import skops.io
        from skops.io.exceptions import UnsupportedTypeException, UntrustedTypesFoundException
    except ModuleNotFoundError as error:
        raise MissingExtraError("reading skops files", "sklearn-files") from error
    with at_fault(path, "is damaged or cut short"), _code_installed(path):
        with zipfile.ZipFile(path) as archive:
            if "schema.json" not in archive.namelist():
                raise InputError(f"{path} is a zip file, but no skops file: it has no schema.json")
            check_fits(sum(info.file_size for info in archive.infolist()), path)
        unknown = skops.io.get_untrusted_types(file=path)
        untrusted = [name for name in unknown if name not in SAFE]
        if untrusted and not trust:
            raise InputError(
                f"{path} holds types that skops does not know to be safe: {', '.join(untrusted)}. If you trust the "
                "file, pass trust=True (--trust): it may then run their code"
            )
        try:
            return skops.io.load(path, trusted=unknown)
        except (UnsupportedTypeException, UntrustedTypesFoundException) as error:
            raise InputError(f"{path} holds a type that skops cannot read: {error}") from error


@contextmanager
def _code_installed(path: Path) -> Iterator[None]:
    """Say of names that are not found that their code is missing: of a file of another version, the likeliest cause."""
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise InputError(f"{path} needs code that is not installed here: {error}") from error
