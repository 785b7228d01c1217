"""What PyTorch's pickles hold, told without building any of it.

A pickle is a list of instructions for a small machine. Here every class and function that it names is replaced by a
stand-in that does nothing, so that going through it runs nothing; what it names, and how much it says that its tensors
hold, are then compared with lists and with the file. PyTorch itself believes the numbers.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from infimum.models._torch.archive import Untrusted

SCRIPT_NAMES = frozenset(
    {"collections.OrderedDict", "torch._utils._rebuild_tensor_v2", "torch.jit._pickle.restore_type_tag"}
    | {f"torch.jit._pickle.build_{kind}list" for kind in ("int", "tensor", "double", "bool")}
)
"""What the pickles of a TorchScript file name, beside the kinds of numbers and the file's own classes."""

_INSTRUCTIONS = """
    PROTO STOP MARK GLOBAL BINPUT LONG_BINPUT BINGET LONG_BINGET BINPERSID REDUCE NEWOBJ BUILD EMPTY_DICT
    EMPTY_LIST EMPTY_TUPLE SETITEM SETITEMS APPEND APPENDS TUPLE TUPLE1 TUPLE2 TUPLE3 BININT BININT1
    BININT2 LONG1 BINFLOAT BINUNICODE NONE NEWTRUE NEWFALSE
"""

_OPCODES = frozenset(_INSTRUCTIONS.split())
"""The instructions that TorchScript's pickles are made of."""

_BYTES = {
    "Bool": 1, "Byte": 1, "Char": 1, "QInt8": 1, "QUInt8": 1, "QUInt4x2": 1, "QUInt2x4": 1, "Untyped": 1,
    "Short": 2, "Half": 2, "BFloat16": 2, "Int": 4, "Float": 4, "QInt32": 4,
    "Long": 8, "Double": 8, "ComplexFloat": 8, "ComplexDouble": 16,
}  # fmt: skip
"""Bytes of a number, by the name of its storage class."""

DEEPEST = 100
"""Containers in containers."""


def check_script_pickle(data: bytes, classes: Collection[str]) -> None:
    """Raise Untrusted if a TorchScript file's pickle names more than tensors, containers and the file's `classes`."""
    depth = 0
    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name not in _OPCODES:
            raise Untrusted(f"uses {opcode.name}")
        if opcode.name == "GLOBAL":
            name = argument.replace(" ", ".")
            if name not in SCRIPT_NAMES and name not in classes and _storage_bytes(name) is None:
                raise Untrusted(f"names {name[:120]}")
        # Tuples are put around tuples without a list in between.
        depth = depth + 1 if opcode.name in ("TUPLE1", "TUPLE2", "TUPLE3", "TUPLE") else 0
        if depth > DEEPEST or (isinstance(argument, str) and argument.count("[") > DEEPEST):
            raise Untrusted(f"is nested more than {DEEPEST} levels deep")


def check_storages(data: bytes, sizes: Mapping[str, int], folder: str) -> None:
    """Raise ValueError if a pickle says that a tensor holds more than its record: PyTorch would read behind it.

    `sizes` are the bytes of the records by name, `folder` the place of the tensors among them.
    """
    for place in _follow(io.BytesIO(data)):
        match place:
            case ("storage", type() as kind, str() as key, _, int() as count, *_):
                width, held = _storage_bytes(getattr(kind, "named", "")), sizes.get(f"{folder}/{key}")
                if width is None or held is None or not 0 <= count * width <= held:
                    raise ValueError(f"says that tensor {key[:40]} holds more than the file has of it")
            case _:
                raise ValueError("places a tensor in a way that PyTorch does not write")


def check_old_pickle(data: bytes) -> None:
    """Raise ValueError if a file of torch.save from before 2020 (four pickles, then numbers) cannot be followed."""
    stream = io.BytesIO(data)
    for _ in range(4):  # a mark, a version, the machine, the content
        _follow(stream)


def _follow(stream: io.BytesIO) -> list[Any]:
    """Where the tensors of the next pickle lie; ValueError if it does what pickles of tensors do not."""
    start = stream.tell()
    size = len(stream.getbuffer())
    try:
        for opcode, place, _ in pickletools.genops(stream):
            if opcode.name == "LONG_BINPUT" and isinstance(place, int) and place > size:
                raise ValueError("numbers its values wrongly")  # memory would be taken for all numbers below
        stream.seek(start)
        look = _Look(stream)
        level = {id(content): content for content in (look.load(),)}
    except Exception as error:  # damaged pickles raise anything
        raise ValueError(f"cannot be followed ({type(error).__name__})") from error
    for _ in range(DEEPEST):  # each once: a pickle may hold the same list in many places
        level = {id(inner): inner for item in level.values() for inner in _inside(item)}
        if not level:
            return look.storages
    raise ValueError(f"is nested more than {DEEPEST} levels deep")


class _StandIn:
    """An object of a class that is not looked up."""

    held: Any = ()

    def __new__(cls, *arguments: Any) -> _StandIn:
        self = object.__new__(cls)
        self.held = arguments
        return self

    def __init__(self, *arguments: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        self.held = (*self.held, state)


class _Mapping(dict[Any, Any]):
    """A dict that starts empty, whatever it is made with."""

    def __init__(self, *arguments: Any) -> None:
        pass


class _Look(pickle._Unpickler):
    """Python's own unpickler in Python, which can be told what to do with TorchScript's enums."""

    stack: list[Any]

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.storages: list[Any] = []

    def load_reduce(self) -> None:
        """Call a stand-in; of an enum the one argument stands without a tuple."""
        argument = self.stack.pop()
        self.stack[-1] = self.stack[-1](*argument if isinstance(argument, tuple) else (argument,))

    dispatch: ClassVar[dict[int, Any]] = {**pickle._Unpickler.dispatch, pickle.REDUCE[0]: load_reduce}

    def find_class(self, module: str, name: str) -> Any:
        if module == "collections" and name in ("OrderedDict", "defaultdict", "Counter"):
            return _Mapping
        return type("StandIn", (_StandIn,), {"named": f"{module}.{name}"})

    def persistent_load(self, pid: Any) -> Any:
        self.storages.append(pid)
        return self.find_class("", "")


def _inside(item: Any) -> Collection[Any]:
    if isinstance(item, dict):
        return item.values()
    if isinstance(item, _StandIn):
        return item.held if isinstance(item.held, tuple) else (item.held,)
    return item if isinstance(item, list | tuple) else ()


def _storage_bytes(name: str) -> int | None:
    """Bytes of each number of a storage class, None for another name.

    >>> _storage_bytes("torch.HalfStorage"), _storage_bytes("torch.save")
    (2, None)
    """
    home, _, last = name.rpartition(".")
    kind = last.removesuffix("Storage")
    return _BYTES.get(kind) if home in ("torch", "torch.storage") and kind != last else None
