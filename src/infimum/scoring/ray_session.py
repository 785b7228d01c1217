"""Ray for the length of a run: started quietly unless it runs already, and stopped in the end. Extra [ray]."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from infimum.errors import InputError, MissingExtraError


@contextmanager
def ray_session(workers: int) -> Iterator[Any]:
    """The module `ray`: connected to RAY_ADDRESS, or running on this machine, on as many CPUs as asked.

    Raises MissingExtraError without Ray, and InputError where no cluster answers.
    """
    # Both are read when Ray is imported. Whoever has set them otherwise is not overruled.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        with interruptible(at_once=False):  # half an import is an error of its own
            import ray
    except ModuleNotFoundError as error:
        raise MissingExtraError("--engine ray", "ray") from error
    started = not ray.is_initialized()
    if started:
        cluster = os.environ.get("RAY_ADDRESS", "")
        _check_answers(cluster)
        # A cluster knows its own CPUs; here there shall be one for each worker, should the machine have fewer.
        here: dict[str, Any] = {"address": "local", "num_cpus": max(workers, os.cpu_count() or 1)}
        try:
            with interruptible(), _nothing_on_stderr():
                ray.init(
                    **({} if cluster else here),
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                )
        except KeyboardInterrupt:
            ray.shutdown()
            raise
        except ConnectionError as error:
            raise InputError(
                f"Ray does not let this process in at RAY_ADDRESS={cluster} ({error}); a cluster with a token needs "
                "RAY_AUTH_MODE=token and RAY_AUTH_TOKEN here too"
            ) from error
    try:
        yield ray
    finally:
        if started:
            ray.shutdown()


@contextmanager
def interruptible(at_once: bool = True) -> Iterator[None]:
    """Raise a Ctrl-C, `at_once` too, in the end: what Ray imports and starts passes over some of them."""
    if threading.current_thread() is not threading.main_thread():  # others get no signals
        yield
        return
    struck = False

    def strike(number: int, frame: object) -> None:
        nonlocal struck
        struck = True
        if at_once:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, strike)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if struck:
        raise KeyboardInterrupt


def _check_answers(cluster: str) -> None:
    """Raise InputError if nothing listens at a HOST:PORT: Ray itself would try for minutes."""
    host, _, port = cluster.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():  # auto, or none
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise InputError(
            f"no Ray cluster answers at RAY_ADDRESS={cluster} ({error}); start it, or unset RAY_ADDRESS to use this "
            "machine"
        ) from error


@contextmanager
def _nothing_on_stderr() -> Iterator[None]:
    """Ray's C++ side writes the level of its log to the descriptor itself, whatever that level is."""
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
