"""What `gpumath.device.compile_fft_callback` refuses, and what it says without its compiler."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest

from gpumath import device
from tests.helpers.cuda_wheels import in_fresh_process


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("phase", "read", "phase is 'read'; one of 'load', 'store'"),
        ("element_dtype", "float16", "element_dtype is 'float16'; one of 'float32'"),
        ("compute_capability", "90", "compute_capability is '90'; a positive integer"),
        ("representation", "cubin", "representation is 'cubin'; one of 'ltoir', 'ptx'"),
    ],
)
def test_a_callback_refuses(name: str, value: Any, message: str) -> None:
    options: dict[str, Any] = {
        "phase": "load",
        "element_dtype": "float32",
        "user_info_dtype": "float32",
        "symbol": "load",
        "compute_capability": 90,
    }
    with pytest.raises(ValueError, match=message):
        device.compile_fft_callback(
            lambda data, offset, info, reserved: 0, **options | {name: value}
        )


def test_a_numpy_that_is_too_new_for_numba() -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    if not version("numba-cuda").startswith("0.30."):
        pytest.skip("another numba-cuda than 0.30 may work with NumPy 2.5")
    messages = in_fresh_process("callback_compile.compiled_with_numpy_2_5")
    assert len(messages) == 2
    for message in messages:
        assert message.startswith("ImportError: Numba's CUDA target cannot be imported: ")
        assert message.endswith("To fix it: pip install 'numpy<2.5'")
