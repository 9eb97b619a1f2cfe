"""Whether the errors of the host functions say what is wrong, and what is asked for once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings.code_cache import cached_code
from tests.helpers.callbacks import require_compilers
from tests.helpers.cuda_wheels import in_fresh_process
from tests.helpers.dlpack import Producer

REAL, COMPLEX = np.zeros((4, 4)), np.zeros((4, 4), np.complex128)
OPERANDS = {"rfft": REAL, "rfft2": REAL, "rfftn": REAL}
FUNCTIONS = [
    *("fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "rfft2", "irfft2"),
    *("fftn", "ifftn", "rfftn", "irfftn"),
]


def call(name: str, *arguments: Any, **keywords: Any) -> Any:
    return getattr(fft, name)(OPERANDS.get(name, COMPLEX), *arguments, **keywords)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("norm", ["", 0, False, [], (), {}, b"", "none"])
def test_norm_is_a_name_or_none(name: str, norm: Any) -> None:
    with pytest.raises(ValueError, match=r"^norm is .* are allowed"):
        call(name, norm=norm)
    call(name, norm=None)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_axes_are_an_error_that_says_so(name: str) -> None:
    for keywords in ({"axes": []}, {"axes": [], "s": []}, {"axes": (), "s": ()}):
        with pytest.raises(ValueError, match="axes is empty; name at least one axis"):
            call(name, **keywords)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
def test_more_lengths_than_dimensions(name: str) -> None:
    with pytest.raises(ValueError, match="s has 3 lengths, but the operand has only 2 dimensions"):
        call(name, s=(4, 4, 4))


@pytest.mark.parametrize("number", [2**63, 2**64, 2**200])
def test_lengths_behind_the_address_space(number: int) -> None:
    with pytest.raises(ValueError, match=f"s is .*{number}.* address space"):
        fft.fftn(COMPLEX, s=(number, 4))
    with pytest.raises(ValueError, match=f"n is {number}; .* address space"):
        fft.fft(COMPLEX[0], n=number)


@pytest.mark.parametrize("count", [np.int64(2), np.uint8(2), np.int32(2)])
def test_numpy_integers_are_integers(count: Any) -> None:
    chosen = fft.ExecutionCPU(num_threads=count)
    assert (chosen, type(chosen.num_threads)) == (fft.ExecutionCPU(num_threads=2), int)
    fft.fft(COMPLEX, execution=chosen)
    fft.fft(COMPLEX, execution={"name": "cpu", "num_threads": count})
    assert fft.ExecutionCUDA(device_id=count).device_id == 2
    assert fft.ExecutionCUDA(device_ids=[0, count]).device_ids == (0, 2)


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "2", 2**31, 2**70])
def test_other_numbers_of_threads_are_refused(count: Any) -> None:
    with pytest.raises(ValueError, match=r"ExecutionCPU: num_threads is .*; an integer "):
        fft.ExecutionCPU(num_threads=count)


def test_an_element_type_in_the_other_byte_order_is_refused() -> None:
    with pytest.raises(ValueError, match=r"dtype is dtype\('>f8'\), .*newbyteorder"):
        memory.empty(3, np.dtype(">f8"), kind="host")
    with pytest.raises(ValueError, match=r"dtype is dtype\('>c16'\), .*newbyteorder"):
        fft.FFT.create_key_from_metadata((4,), np.dtype(">c16"), "cpu")
    fft.FFT.create_key_from_metadata((4,), np.dtype("<c16"), "cpu")


def test_an_array_is_borrowed_by_one_request() -> None:
    source = Producer(np.arange(3.0))
    borrowed = memory.from_dlpack(source)
    assert len(source.requests) == 1
    np.testing.assert_array_equal(np.asarray(borrowed), [0, 1, 2])


def test_without_gpumath_device_a_command_helps() -> None:
    kind, text = in_fresh_process("callback_compile.without_device")
    assert kind == "RuntimeError"
    assert "there is no module gpumath.device; pip install 'gpumath-device[cu13]'" in text


def test_an_edit_of_a_header_takes_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_compilers()
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path / "cache"))
    header, inner = tmp_path / "factor.h", tmp_path / "inner.h"
    header.write_text(f'#include "{inner}"\n')
    split = f'#inc\\\nlude "{header}"'
    for text in (f'#include "{header}"', f'# /* */ include "{header}"', split):
        source = (
            f"{text}\n__device__ float prolog(const float *x, unsigned long long i, const float *,"
            " void *)\n{ return FACTOR * x[i]; }"
        )
        codes = []
        for factor in ("3.0f", "5.0f", "3.0f"):
            inner.write_text(f"#define FACTOR {factor}\n")
            code = fft.compile_prolog(
                source, "float32", "float32", compute_capability="90", representation="ptx"
            )
            codes.append(code)
        assert codes[0] != codes[1]
        assert codes[0] == codes[2]


def test_a_fifo_in_the_cache_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path))
    assert cached_code("key", lambda: b"code") == b"code"
    (file,) = tmp_path.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert cached_code("key", lambda: b"again") == b"again"
    assert file.is_file()
    assert cached_code("key", lambda: b"never") == b"again"
    file.unlink()
    file.mkdir()
    assert cached_code("key", lambda: b"third") == b"third"


def test_a_cache_that_is_no_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.setenv("GPUMATH_CACHE_DIR", str(tmp_path / "fifo"))
    assert cached_code("key", lambda: b"code") == b"code"
