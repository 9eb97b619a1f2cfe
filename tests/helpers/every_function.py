"""Calls of every function of a module, in a process that finds no NVIDIA library.

`specification` describes the functions for it; `check` calls each with one wrong argument at a
time; `hurl` calls them with random hostile arguments. All return what was wrong, as lines of text.
"""

from __future__ import annotations

import array
import ctypes
import random
from collections.abc import Callable
from typing import Any, TypeAlias

LIBRARIES = (
    "cublas", "cublasLt", "cufft", "curand", "cusolver", "cusolverMg", "cusparse", "driver",
    "mathdx", "nvjitlink", "nvrtc", "runtime",
)  # fmt: skip
# Every library is said to be in a file that does not exist.
NO_LIBRARIES = {f"GPUMATH_{name.upper()}_PATH": f"/nonexistent/{name}.so" for name in LIBRARIES}

BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}
Errors: TypeAlias = type[Exception] | tuple[type[Exception], ...]


class NoNumber:
    """Has no `__int__` and no `__index__`."""


class Raises:
    """Whose conversion fails."""

    def __index__(self) -> int:
        raise ZeroDivisionError("from __index__")

    def __int__(self) -> int:
        raise ZeroDivisionError("from __int__")

    def __float__(self) -> float:
        raise ZeroDivisionError("from __float__")

    def __complex__(self) -> complex:
        raise ZeroDivisionError("from __complex__")

    def __len__(self) -> int:
        raise ZeroDivisionError("from __len__")

    def __getitem__(self, index: object) -> object:
        raise ZeroDivisionError("from __getitem__")


class Odd:
    """Converts to what is no number."""

    def __index__(self) -> Any:
        return "1"

    def __int__(self) -> Any:
        return 1.5

    def __float__(self) -> Any:
        return None


class Liar(list[int]):
    """Says that it is longer than it is."""

    def __len__(self) -> int:
        return 5


class Shrinking(list[int]):
    """Loses an item whenever one is taken."""

    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        self.clear()
        return item


def specification(functions: list[Any]) -> list[dict[str, Any]]:
    """Describe the model's functions with plain values."""
    return [
        {
            "name": f.name,
            "status": f.returns == "status",
            "inputs": [
                {
                    "name": p.name,
                    "role": p.role,
                    "kind": p.kind,
                    "length": p.length,
                    "not_null": p.not_null,
                    "default": bool(getattr(p, "default", "")),
                }
                for p in f.inputs
            ],
        }
        for f in functions
    ]


def harmless(p: dict[str, Any]) -> Any:
    """Return a value that the conversion takes."""
    if p["kind"].startswith("struct "):
        return bytes(int(p["kind"].split()[1].split(".")[0]))
    if p["role"] == "str":
        return "x"
    return 1 if p["not_null"] else 0


def wrong(p: dict[str, Any]) -> list[tuple[Any, type[Exception]]]:
    """Return values that are refused, and how."""
    role, kind = p["role"], p["kind"]
    if role == "str":
        text = [(value, TypeError) for value in (None, 1, b"x", 1.5, ["x"])]
        return [*text, ("a\0b", ValueError), ("\ud800", UnicodeEncodeError)]
    if role == "str_or_ptr":
        wrong_numbers = [(-1, OverflowError), (2**64, OverflowError)]
        return [(None, TypeError), (b"x", TypeError), ("a\0b", ValueError), *wrong_numbers]
    if role in ("kernel_params", "kernel_extra"):
        return [("text", TypeError)]
    if kind.startswith("struct "):
        return [(None, TypeError), ("x", TypeError), (b"", ValueError), (0, ValueError)]
    values: list[tuple[Any, type[Exception]]] = [
        ("text", TypeError),
        (NoNumber(), TypeError),
        (Raises(), ZeroDivisionError),
    ]
    if role != "logger":
        values.append((None, TypeError))
    if p["not_null"]:
        values += [(0, ValueError), (False, ValueError)]
    if role == "in" and kind in ("f32", "f64"):
        values += [(10**400, OverflowError), (1j, TypeError), (b"1", TypeError)]
        return values + ([(1e39, OverflowError)] if kind == "f32" else [])
    if role == "in" and kind in ("c64", "c128"):
        return [*values, (10**400, OverflowError)]
    if role != "in":
        values += [(-1, OverflowError), (2**64, OverflowError), (-(2**70), OverflowError)]
    if role in ("seq", "nested", "texts"):
        values += [([None], TypeError), ([NoNumber()], TypeError), ([[[[]]]], TypeError)]
    if role == "seq" and kind in BITS:
        values.append(([2 ** BITS[kind]], OverflowError))
    if role == "buffer":
        values.append((b"read-only", TypeError))
    if role == "in":
        bits = BITS.get(kind, 64)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if kind[0] == "i" else (0, 2**bits)
        values += [(low - 1, OverflowError), (high, OverflowError), (2**200, OverflowError)]
        values += [(1.5, TypeError), ("1", TypeError), (b"1", TypeError), ([1], TypeError)]
        values += [(float("nan"), TypeError), (float("inf"), TypeError), (1j, TypeError)]
    return values


def outcome(
    function: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> type[BaseException] | None:
    """Return the class of the exception that a call raises."""
    try:
        function(*args, **kwargs)
    except BaseException as error:
        return type(error)
    return None


def check(module: Any, functions: list[dict[str, Any]], absent: type[Exception]) -> list[str]:
    """Call every function rightly, which ends in `absent`, and wrongly in every single way."""
    failures = []

    def expect(wanted: Errors, function: str, /, *args: Any, **kwargs: Any) -> None:
        found = outcome(getattr(module, function), *args, **kwargs)
        if found is None or not issubclass(found, wanted):
            arguments = ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())])
            kind = "nothing" if found is None else found.__name__
            failures.append(f"{function}({arguments}): {kind}, not {wanted}")

    for f in functions:
        inputs, name = f["inputs"], f["name"]
        right = [harmless(p) for p in inputs]
        expect(absent, name, *right)
        expect(absent, name, **dict(zip([p["name"] for p in inputs], right, strict=True)))
        expect(TypeError, name, *right, 0)
        expect(TypeError, name, *right, nothing_of_this_name=0)
        if inputs:
            if not inputs[-1]["default"]:
                expect(TypeError, name, *right[:-1])
            expect(TypeError, name, *right, **{inputs[0]["name"]: 0})
        for index, p in enumerate(inputs):
            # A number of elements may be found negative while the elements are looked at.
            is_length = p["name"] in [other["length"] for other in inputs]
            # No elements may be nowhere.
            others = [
                1 if other["name"] == p["length"] else r
                for other, r in zip(inputs, right, strict=True)
            ]
            for value, error in wrong(p):
                expected = (error, ValueError) if is_length else error
                if isinstance(value, int) and value == 0 and p["not_null"]:
                    expect(expected, name, *others[:index], value, *others[index + 1 :])
                    continue
                expect(expected, name, *right[:index], value, *right[index + 1 :])
            # Integers that no enum knows pass.
            if p["role"] == "in" and p["kind"] == "i32":
                expect(absent, name, *right[:index], 1234567, *right[index + 1 :])
    return failures


def hostile_values() -> list[Any]:
    """Return what nobody should pass."""
    values: list[Any] = [
        None, True, False, -1, 0, 1, 2, 7, 2**31 - 1, 2**31, -(2**31) - 1, 2**32, 2**63 - 1, 2**63,
        2**64 - 1, 2**64, -(2**63), -(2**63) - 1, 2**1000, -(2**1000), 0.0, 0.5, -1.0, 1e300,
        float("nan"), float("inf"), 1j, complex("nan"), "", "text", "a\0b", "\ud800", "1" * 5000,
        b"", b"x", b"\0" * 7, bytes(4096), bytearray(3), bytearray(64), memoryview(b"abcdef")[::2],
        memoryview(bytearray(16)).cast("i"), array.array("d", [1.0, 2.0]), array.array("b"),
        (ctypes.c_int * 3)(), ctypes.c_void_p(), ctypes.c_int(3), [], [0], [1, 2, 3], [None],
        ["a"], [b"a\0"], [[1], [2, 3]], [[[]]], [2**70], [-1] * 3, [1.5], (), (0, 0), {}, {1: 2},
        {1}, range(3), range(2**62), range(2**40), range(-5), iter([1]), (i for i in "ab"), object,
        object(), NotImplemented, ..., len, lambda *_: 1, NoNumber(), Raises(), Odd(), Odd, Liar(),
        Liar([1]), [Raises()], [Odd()], slice(None), ValueError("x"), type, ctypes, array,
    ]  # fmt: skip
    endless: list[Any] = []
    endless.append(endless)
    return [*values, endless, Shrinking([1, 2, 3])]


def hurl(
    module: Any, functions: list[dict[str, Any]], seed: int, calls: int = 10_000
) -> dict[str, Any]:
    """Call random functions with random hostile arguments; count the exceptions."""
    random_ = random.Random(seed)
    values = hostile_values()
    # A struct by value may be given by its address, which is read before the library is sought.
    no_numbers = [value for value in values if not hasattr(value, "__int__")]
    counts: dict[str, int] = {}
    failures = []
    for call in range(calls):
        f = random_.choice(functions)
        share = random_.choice([0.1, 0.3, 1.0])
        args = []
        for p in f["inputs"]:
            if random_.random() >= share:
                args.append(harmless(p))
            elif p["kind"].startswith("struct ") or p["role"].startswith("kernel"):
                args.append(random_.choice(no_numbers))
            else:
                args.append(random_.choice(values))
        kwargs = {}
        if random_.random() < 0.1:
            args = args[: random_.randrange(len(args) + 1)]
        if random_.random() < 0.1:
            args += [random_.choice(values)] * random_.randrange(40)
        if random_.random() < 0.1:
            names = [p["name"] for p in f["inputs"]] + [
                "",
                "self",
                "x" * 1000,
                "\N{GREEK SMALL LETTER PI}",
            ]
            kwargs = {random_.choice(names): random_.choice(values) for _ in range(3)}
        kind = outcome(getattr(module, f["name"]), *args, **kwargs)
        label = "nothing" if kind is None else kind.__name__
        counts[label] = counts.get(label, 0) + 1
        if kind is None or not issubclass(kind, Exception) or kind is SystemError:
            failures.append(f"call {call}: {f['name']}: {label}: {args!r:.300} {kwargs!r:.300}")
    return {"counts": counts, "failures": failures[:20]}


def zero(p: dict[str, Any]) -> Any:
    """Return what C sees as zero."""
    return "" if p["role"] == "str" else 0 if p["not_null"] else harmless(p)
