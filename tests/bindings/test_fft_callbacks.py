"""Callbacks of FftPlan where there is no GPU: what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core
from gpumath.bindings.errors import NoDeviceError, UnsupportedLayoutError

OPERAND = np.ones(8, np.complex64)


def callback(ltoir: Any = b"code", size: Any = None, data: Any = None) -> Any:
    return SimpleNamespace(ltoir=ltoir, size=size, data=data)


@pytest.mark.parametrize("name", ["prolog", "epilog"])
def test_the_cpu_has_no_callbacks(name: str) -> None:
    code = np.frombuffer(b"code", np.uint8)
    for given in (callback(), callback(b"code", 2, 0x1000), callback(code.ctypes.data, 4)):
        with pytest.raises(ValueError, match='runs on the CPU; use execution="cuda"'):
            core.FftPlan(OPERAND, execution="cpu", **{name: given})
    assert core.FftPlan(OPERAND, execution="cpu", **{name: None})


@pytest.mark.parametrize("name", ["prolog", "epilog"])
@pytest.mark.parametrize(
    ("given", "exception", "message"),
    [
        (b"code", TypeError, "is a <class 'bytes'>; an object with the attributes ltoir, size"),
        (callback(b""), ValueError, "size is 0, and ltoir has 0 bytes"),
        (callback(b"code", 5), ValueError, "size is 5, and ltoir has 4 bytes"),
        (callback(None), ValueError, "ltoir is None"),
        (callback("code"), ValueError, "ltoir is 'code'"),
        (callback(0x1000), ValueError, "its address and a positive size"),
        (callback(0x1000, 0), ValueError, "its address and a positive size"),
        (callback(0, 10), ValueError, "NULL"),
        (callback(data=-1), OverflowError, "negative"),
        (callback(data="0"), TypeError, "int"),
    ],
)
def test_what_is_no_callback(
    name: str, given: Any, exception: type[Exception], message: str
) -> None:
    with pytest.raises(exception, match=message):
        core.FftPlan(OPERAND, execution="cpu", **{name: given})


@pytest.mark.parametrize("name", ["prolog", "epilog"])
def test_layouts_whose_offsets_would_restart(name: str) -> None:
    # Refused before a device is looked for.
    operand = np.ones((4, 6, 5), np.complex64)
    choices = {"axes": [1], "execution": "cuda", "result_layout": "natural", name: callback()}
    with pytest.raises(UnsupportedLayoutError, match=f"{name} gets each element's offset") as e:
        core.FftPlan(operand, **choices)
    assert (e.value.permutation, e.value.axes) == ((0, 2, 1), (2,))
    half = np.ones(8, np.float16)
    with pytest.raises(ValueError, match="half precision"):
        core.FftPlan(half, execution="cuda", **{name: callback()})


def test_only_the_side_of_the_callback_counts() -> None:
    if core.Device.count():
        pytest.skip("there is a CUDA device")
    repeated = np.broadcast_to(np.ones(6, np.complex64), (4, 6))
    # The operand is copied to where the result goes, and transformed there.
    with pytest.raises(NoDeviceError):
        core.FftPlan(repeated, axes=[1], execution="cuda", epilog=callback())
    with pytest.raises(UnsupportedLayoutError):
        core.FftPlan(repeated, axes=[1], execution="cuda", prolog=callback())
