"""What `gpumath.device.compile_fft_callback` refuses."""

from __future__ import annotations

from typing import Any

import pytest

from gpumath import device


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
