"""A function that is named as text, `package.module:function`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from infimum.errors import InputError


def find_function(name: str, what: str) -> Callable[..., Any]:
    """Import the function that `package.module:function` names; its module's code is run.

    Raises InputError if it is not so written, not found, or cannot be called.

    >>> find_function("math:sqrt", "preprocess")(9)
    3.0
    """
    module_name, colon, function_name = name.partition(":")
    if not colon or not module_name or not function_name:
        raise InputError(f"{what} must be package.module:function, not {name!r}")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # the user's module may fail in any way
        raise InputError(
            f"{what}: {module_name} cannot be imported ({type(error).__name__}: {error})"
        ) from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(f"{what}: {module_name} has no function {function_name!r}")
    return function  # type: ignore[no-any-return]
