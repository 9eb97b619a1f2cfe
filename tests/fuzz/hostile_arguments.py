"""Random hostile arguments for every public callable.

A call may do its work or raise an exception. It must not end the process, hang, or raise what a
user cannot understand: an internal error of the interpreter, a panic of Rust, the name of a private
function, or Rust's way to write a value.

What documentation calls an address is used as it is, so it gets no random integer. Of the C
functions, one argument at least is an object that cannot be converted, so that no library is
called with handles that are none.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import random
import re
import resource
import warnings
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

C_MODULES = (
    *("cublas", "cublasLt", "cublasXt", "cufft", "curand", "cusolver", "cusolverDn"),
    *("cusolverMg", "cusolverRf", "cusolverSp", "cusparse", "driver", "runtime", "nvrtc"),
    *("nvjitlink", "mathdx"),
)
PYTHON_MODULES = ("gpumath.fft", "gpumath.linalg", "gpumath.memory", "gpumath.bindings.core")
# They take addresses and nothing that could be checked.
TRUSTING = {"copy", "BorrowedStream"}
# They change the process for the attempts that follow.
LASTING = {"set_plan_cache_limit"}
ADDRESSES = re.compile("stream|ptr|address|handle|ltoir|data|deallocator|allocator|ptr_owner")
# Texts that tell of what is inside.
INTERNAL = re.compile(r"\b_(?!_)\w+\(\)|\bSome\(|\bunwrap|panicked|Result::|\bpyo3\b|\bRust\b")
# Bytes of address space.
MOST_MEMORY = 8 << 30
KEYWORDS = {
    "kind": ("C2C", "R2C", "C2R", "host", "device", "managed"),
    "execution": ("cpu", "cuda", {"name": "cpu"}, {"name": "cuda", "device_id": 0}),
    "norm": ("backward", "forward", "ortho", None),
    "dtype": ("float32", "complex128", "bfloat16"),
    "direction": ("forward", "inverse", -1, 1),
    "memory_space": ("cpu", "cuda"),
    "options": ({}, {"inplace": True}, {"result_layout": "natural"}, {"fft_type": "R2C"}, None),
}


class Raising:
    """Raises whatever it is asked for."""

    def __init__(self, error: type[Exception]) -> None:
        object.__setattr__(self, "error", error)

    def _raise(self, *_: Any, **__: Any) -> Any:
        raise object.__getattribute__(self, "error")("no")

    __index__ = __int__ = __float__ = __complex__ = __len__ = __getitem__ = __iter__ = _raise
    __eq__ = __bool__ = __str__ = __repr__ = __call__ = __array__ = __dlpack__ = _raise
    __dlpack_device__ = __fspath__ = __contains__ = __lt__ = _raise
    __hash__ = None  # type: ignore[assignment]


class Unconvertible:
    """Is no number, no text, no sequence and no buffer."""

    __slots__ = ()


class Lying:
    """Claims a length that it does not have, and another number each time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def __len__(self) -> int:
        return self.rng.choice([0, 1, 3, 2**31, 2**62])

    def __getitem__(self, index: Any) -> int:
        if index > 5:
            raise IndexError
        return self.rng.choice([0, 1, -1])

    def __index__(self) -> int:
        return self.rng.choice([0, 1, 3, -1, 2**31, 2**62, 2**65])


class Text(str):
    """A str that equals everything."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return True


class HostileDict(dict):  # type: ignore[type-arg]
    """A dictionary that changes while it is read."""

    def __iter__(self) -> Any:
        for key in list(super().__iter__()):
            self[f"{key} again"] = key
            yield key


def numbers(rng: random.Random) -> Any:
    """Return a number at or beyond an edge."""
    return rng.choice(
        [
            *(0, 1, -1, 2, 3, 7, 255, True, 2**31 - 1, 2**31, -(2**31), 2**32, 2**63 - 1, 2**63),
            *(-(2**63), 2**64, 2**200, 10**5000, 1.5, -0.0, float("nan"), float("inf"), 1j),
            *(np.int8(-1), np.uint64(2**64 - 1), np.float32(1), np.bool_(True), np.int64(2**62)),
        ]
    )


def arrays(rng: random.Random) -> Any:
    """Return an array that is not what an operand should be, or nearly."""
    shape = tuple(rng.choices([0, 1, 2, 3, 8], k=rng.randrange(5)))
    dtype = rng.choice(["f4", "f8", "c8", "c16", "f2", "i4", "?", ">c16", "O", "S3", "V5", "M8[s]"])
    base = np.zeros(shape, dtype)
    recursive: list[Any] = []
    recursive.append(recursive)
    return rng.choice(
        [
            lambda: base,
            lambda: base.T,
            lambda: base[..., ::-1] if base.ndim else base,
            lambda: np.broadcast_to(np.zeros(1, "c16"), (2, 50)),
            lambda: np.ma.masked_array(np.zeros(3, "c16"), [True, False, True]),
            lambda: np.zeros(4, [("a", "f4"), ("b", "c8")]),
            lambda: np.frombuffer(bytes(33), "u1")[1:].view("c16"),
            lambda: memoryview(bytearray(32)),
            lambda: memoryview(bytes(32)).cast("d"),
            lambda: (ctypes.c_double * 4)(),
            lambda: bytearray(16),
            lambda: [[1, 2], [3]],
            lambda: recursive,
            lambda: np.zeros((1,) * 40),
        ]
    )()


def objects(rng: random.Random) -> Any:
    """Return an object of any other kind."""
    error = rng.choice([ValueError, KeyError, ZeroDivisionError, RecursionError, StopIteration])
    return rng.choice(
        [
            lambda: None,
            lambda: "",
            lambda: "x" * rng.choice([1, 5000]),
            lambda: rng.choice(["cpu", "cuda", "\0", "\ud800", "é", "float64", "{}", "%s"]),
            lambda: rng.choice([b"", b"\0", b"bytes", bytearray(b"x")]),
            lambda: rng.choice([(), [], {}, set(), frozenset(), range(3), slice(1)]),
            lambda: [numbers(rng) for _ in range(rng.randrange(4))],
            lambda: {"name": rng.choice(["cpu", "cuda", 3, None]), "extra": 1},
            lambda: HostileDict(name="cpu", num_threads=2),
            lambda: Raising(error),
            lambda: Unconvertible(),
            lambda: Lying(rng),
            lambda: Text("anything"),
            lambda: rng.choice([int, object, type, len, np.dtype("f4"), np.float32, Ellipsis]),
            lambda: (number for number in (1, 2)),
            lambda: NotImplemented,
            lambda: ValueError("x"),
        ]
    )()


def any_value(rng: random.Random, name: str) -> Any:
    """Return a hostile argument for a parameter of this name."""
    kind = rng.choice([numbers, arrays, objects, objects])
    value = kind(rng)
    while ADDRESSES.search(name) and hasattr(value, "__index__"):
        value = objects(rng)
    return value


def fair_value(rng: random.Random, name: str) -> Any:
    """Return an argument that makes sense for a parameter of this name."""
    if name in KEYWORDS:
        return rng.choice(KEYWORDS[name])
    if name in ("operand", "a", "b", "x", "array", "out"):
        return np.ones(rng.choice([(4,), (4, 4), (2, 3, 4)]), rng.choice(["c8", "c16", "f4", "f8"]))
    if name in ("axes", "s", "shape", "strides"):
        return rng.choice([[0], (0, 1), (4, 4), [-1], None])
    return rng.choice([None, 1, 2, 4])


@cache
def targets() -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
    """Return the public callables of the Python API, and the C functions."""
    own, raw = [], []
    for name in PYTHON_MODULES:
        module = import_module(name)
        public = [
            getattr(module, item) for item in module.__all__ if item not in TRUSTING | LASTING
        ]
        own += [item for item in public if callable(item)]
    for name in C_MODULES:
        module = import_module(f"gpumath.bindings.{name}")
        public = [item for item in vars(module) if not item.startswith("_")]
        for item in public:
            value = getattr(module, item)
            if callable(value) and not isinstance(value, type) and parameters_of(value):
                raw.append(value)
    return own, raw


def parameters_of(target: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a callable; none if it does not tell."""
    try:
        return list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return []


def arguments_for(
    rng: random.Random, target: Callable[..., Any], hostile: float
) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments, of which a part is hostile, and sometimes too many or too few."""
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in parameters_of(target):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        is_optional = parameter.default is not parameter.empty
        if is_optional and rng.random() < 0.6:
            continue
        make = any_value if rng.random() < hostile else fair_value
        value = make(rng, parameter.name)
        if ADDRESSES.search(parameter.name) and hasattr(value, "__index__"):
            value = None
        if (
            parameter.kind is parameter.KEYWORD_ONLY
            or keywords
            or (is_optional and parameter.kind is not parameter.POSITIONAL_ONLY)
        ):
            keywords[parameter.name] = value
        else:
            positional.append(value)
    if rng.random() < 0.05:
        keywords[rng.choice(["", "no_such_argument", "\ud800"])] = 1
    if rng.random() < 0.05 and positional:
        positional.pop()
    return positional, keywords


def check_call(target: Callable[..., Any], positional: list[Any], keywords: dict[str, Any]) -> Any:
    """Call; return the result, or None after an exception that is one for users."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(None):
            warnings.simplefilter("ignore")
            return target(*positional, **keywords)
    except SystemError:
        raise
    except Exception as error:
        name = getattr(target, "__qualname__", target)
        text = ""
        with contextlib.suppress(Exception):  # the text of a hostile object
            text = str(error)
        if found := INTERNAL.search(text):
            raise AssertionError(f"{name}: {found[0]!r} in: {text}") from error
        return None


def use(rng: random.Random, made: Any) -> None:
    """Call methods and read attributes of what a call returned, with hostile arguments."""
    if isinstance(made, int | float | str | bytes | tuple | np.ndarray | np.generic | type(None)):
        return
    names = [name for name in dir(made) if not name.startswith("_") or name in ("__repr__",)]
    for name in rng.sample(names, min(len(names), 4)):
        member = check_call(getattr, [made, name], {})
        if isinstance(member, Raising | type) or name in TRUSTING:
            continue
        if callable(member):
            check_call(member, *arguments_for(rng, member, 0.6))


@cache
def limit_memory() -> None:
    """Let what is too large fail at once."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, hard))


def attempt(seed: int) -> None:
    """Make one call with random arguments, and use its result."""
    rng = random.Random(seed)
    limit_memory()
    own, raw = targets()
    if rng.random() < 0.4:
        target = rng.choice(raw)
        positional = [any_value(rng, "address") for _ in parameters_of(target)]
        impossible: Any = Raising(ValueError) if rng.random() < 0.5 else Unconvertible()
        positional[rng.randrange(len(positional))] = impossible
        check_call(target, positional, {})
        return
    target = rng.choice(own)
    use(rng, check_call(target, *arguments_for(rng, target, rng.choice([0.1, 0.3, 0.9]))))
