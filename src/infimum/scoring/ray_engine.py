"""Parts of a scoring on a Ray cluster, or on the processes of one machine. Extra [ray].

Workers are told names and write their parts themselves, into a folder that all machines share. What a part holds
depends on its rows only, so neither the number of workers nor a death changes a bit.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from infimum.errors import InputError
from infimum.scoring.ray_dealing import MOST, Dealer, Done
from infimum.scoring.ray_session import ray_session
from infimum.scoring.writing import PartMade, PartWriter

SEEN_WITHIN = 5.0
"""Seconds until a file that was just written is seen on the other machines of a network disk."""


class Sign(NamedTuple):
    """A file that the caller has written, for workers to see whether they share its folder."""

    path: Path
    text: str


@dataclass(frozen=True)
class RayEngine:
    """An engine of `score_to_file`: `workers` actors, each with a CPU, or with a GPU of its own if `gpu`; a
    worker is handed at most `most` parts at a time.

    The environment variable RAY_ADDRESS names a cluster; without it Ray is started on this machine, and stopped
    in the end, unless the process has started it already. All machines must see the inputs and the folder that is
    written under the same paths. Ray's usage statistics are off unless RAY_USAGE_STATS_ENABLED is 1.
    """

    workers: int = 2
    gpu: bool = False
    most: int = MOST

    def __call__(self, writer: PartWriter, starts: Sequence[int]) -> Generator[PartMade, None, None]:
        """Every part once, in the order in which they are ready.

        Raises InputError for bad input that a worker met, for a part that no worker survives, for a folder that
        workers do not share, and without a GPU.
        """
        if not starts:
            return
        with sign_in(writer.folder.folder) as sign, ray_session(self.workers) as ray:
            if self.gpu and ray.cluster_resources().get("GPU", 0) < 1:
                raise InputError(
                    "--network device=cuda with --engine ray takes a GPU for each worker, and Ray sees none on "
                    f"{os.environ.get('RAY_ADDRESS', 'this machine')}; use --network device=cpu, or name a cluster "
                    "that has GPUs by the environment variable RAY_ADDRESS"
                )
            kind = ray.remote(num_cpus=0 if self.gpu else 1, num_gpus=1 if self.gpu else 0)(Worker)
            shared = ray.put(writer)  # sent once to each machine, not once to each worker
            here = os.getcwd()
            dealer = Dealer(ray, lambda: kind.remote(shared, here, sign), starts, self.workers, self.most)
            try:
                yield from dealer.parts()
            finally:
                dealer.stop()


class Worker:
    """One actor: it opens the source, or loads the network, once for all its parts, in the folder of the caller.

    What is wrong with the input comes back as a line of text: Ray would hide it in a traceback of many pages.
    """

    def __init__(self, writer: PartWriter, folder: str, sign: Sign) -> None:
        self.writer, self.folder, self.sign = writer, folder, sign

    def begin(self) -> str:
        """Go to the folder of the caller; what is wrong with it, or nothing."""
        try:
            os.chdir(self.folder)
        except OSError as error:
            return f"a worker on {_host()} cannot work in {self.folder} ({error.strerror or error}); {SHARED}"
        return see(self.sign)

    def make(self, starts: Sequence[int]) -> Done:
        """Make and write the parts that begin at these rows."""
        began, made, error = time.monotonic(), [], ""
        try:
            for start in starts:
                made.append(self.writer.part(start))
        except (InputError, OSError) as bad:
            error = str(bad)
        return Done(made, error, time.monotonic() - began)


SHARED = (
    "with --engine ray every worker writes its own parts: run it in, and write to, a folder of a disk that all "
    "machines share under the same path"
)


@contextmanager
def sign_in(folder: Path) -> Iterator[Sign]:
    """A file of a moment in the folder; one that is left by a kill is swept away with unfinished parts."""
    sign = Sign(folder / f".part-sign-{secrets.token_hex(8)}.part", secrets.token_hex(8))
    try:
        sign.path.write_text(sign.text, encoding="ascii")
        yield sign
    except OSError as error:
        if error.filename != str(sign.path):
            raise
        raise InputError(f"{folder} cannot be written into: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            sign.path.unlink()


def see(sign: Sign, within: float = SEEN_WITHIN) -> str:
    """Nothing where this machine sees the caller's sign, else what is wrong."""
    until = time.monotonic() + within
    while True:
        with suppress(OSError):
            if sign.path.read_text(encoding="ascii") == sign.text:
                return ""
        if time.monotonic() > until:
            return f"a worker on {_host()} does not see what was written to {sign.path.parent}; {SHARED}"
        time.sleep(0.1)


def _host() -> str:
    import socket

    return socket.gethostname()
