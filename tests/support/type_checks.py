"""Off for a while: the type checks that the tests run infimum with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jaxtyping
import pytest


@contextmanager
def without_type_checks() -> Iterator[None]:
    """As for a user. A simulation calls the same functions thousands of times, and takes three times as long with."""
    decorate = jaxtyping.jaxtyped

    def only_lasting(*, typechecker: object) -> Callable[[Any], Any]:
        # A function within a function is decorated in each call of the outer one, which takes longer than most calls.
        # What is of a module stays decorated: it may be imported here, and is checked again later.
        return lambda made: (
            made
            if "<locals>" in getattr(made, "__qualname__", "")
            else decorate(made, typechecker=typechecker)
        )

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping, "jaxtyped", only_lasting)
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        yield
