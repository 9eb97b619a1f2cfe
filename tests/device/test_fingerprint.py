"""`gpumath.device.function_fingerprint`: equal for equal functions, and only for those."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import numpy as np
import pytest

from gpumath import device
from tests.helpers.callbacks import require_numba

SCALE = 2.0


def made(body: str, **names: Any) -> Any:
    """A function of its own globals; ``body`` is an expression."""
    space: dict[str, Any] = {"math": math, "np": np, **names}
    exec(f"def function(data, offset, user_info, reserved):\n    return {body}", space)
    return space["function"]


def fingerprint(body: str, **names: Any) -> str | None:
    return device.function_fingerprint(made(body, **names))


def module(name: str, **contents: Any) -> types.ModuleType:
    made_module = types.ModuleType(name)
    vars(made_module).update(contents)
    return made_module


@pytest.mark.parametrize(
    ("body", "names", "others"),
    [
        ("data[offset]", {}, []),
        ("k * data[offset]", {"k": 2}, [{"k": 3}, {"k": 2.0}, {"k": True}, {"k": np.float32(2)}]),
        ("k * data[offset]", {"k": 0.0}, [{"k": -0.0}, {"k": 0j}]),
        ("k[0]", {"k": (1, 2.0)}, [{"k": (1, 2)}, {"k": (1, 2.0, 3)}]),
        (
            "k[0]",
            {"k": np.ones(3)},
            [{"k": np.ones(4)}, {"k": np.zeros(3)}, {"k": np.ones(3, "f")}],
        ),
        ("m.k", {"m": module("m", k=1)}, [{"m": module("m", k=2)}]),
        ("m.n.k", {"m": module("m", n=module("n", k=1))}, [{"m": module("m", n=module("n", k=2))}]),
        ("f(1)", {"f": made("k", k=1)}, [{"f": made("k", k=2)}, {"f": made("k + 1", k=1)}]),
        ("(lambda x: x * k)(1)", {"k": 1}, [{"k": 2}]),
        ("math.sin(offset) + np.cos(offset)", {}, []),
    ],
)
def test_values_that_code_uses(body: str, names: Any, others: Any) -> None:
    first = fingerprint(body, **names)
    assert first is not None
    assert fingerprint(body, **names) == first
    assert fingerprint(body + " + 1", **names) != first
    for other in others:
        found = fingerprint(body, **other)
        assert found is not None
        assert found != first


def test_closures_and_defaults() -> None:
    def closure(factor: Any) -> Any:
        return lambda data, offset: data[offset] * factor

    def default(factor: Any) -> Any:
        def function(data: Any, offset: Any, factor: Any = factor) -> Any:
            return data[offset] * factor

        return function

    for make in (closure, default):
        texts = [device.function_fingerprint(make(factor)) for factor in (2, 2, 3)]
        assert texts[0] == texts[1] != texts[2]


def test_functions_that_call_themselves() -> None:
    def factorial(n: int) -> int:
        return n * factorial(n - 1) if n else 1

    assert device.function_fingerprint(factorial) == device.function_fingerprint(factorial)


def test_what_cannot_be_told() -> None:
    assert fingerprint("k.x", k=object()) is None
    assert fingerprint("k.x", k=np.array([object()])) is None
    assert fingerprint("k.x", k=type("Own", (), {"x": 1})) is None
    assert fingerprint("data[offset]", k=object()) is not None  # not used


def test_decorated_functions() -> None:
    require_numba()
    from numba import cuda
    from numba import types as numba_types

    plain, decorated = made("data[offset]"), cuda.jit(device=True)(made("data[offset]"))
    assert device.function_fingerprint(decorated) is not None
    calls = [fingerprint("f(1)", f=cuda.jit(device=True)(made("k", k=k))) for k in (1, 1, 2)]
    assert calls[0] == calls[1] != calls[2]
    assert device.function_fingerprint(plain) is not None
    kinds = [fingerprint("t(1)", t=t) for t in (numba_types.int8, numba_types.int16)]
    assert None not in kinds
    assert kinds[0] != kinds[1]
    assert "numba" in sys.modules
