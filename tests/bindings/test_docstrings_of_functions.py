"""Docstrings of functions, which are composed when a module is first used, word by word."""

from __future__ import annotations

import inspect

from gpumath.bindings import _core, cufft, mathdx, nvrtc
from tests.helpers.cuda_wheels import in_fresh_process

ESTIMATE = """\
Estimate the work area in bytes of a batched, strided transform, without a plan.

Parameters
----------
rank : int
    ``int``: 32-bit integer.
n : int or sequence of int
    A sequence of 32-bit integers, at least ``rank`` of them, or its address.
inembed : int or sequence of int
    A sequence of 32-bit integers, at least ``rank`` of them, or its address.
istride : int
    ``int``: 32-bit integer.
idist : int
    ``int``: 32-bit integer.
onembed : int or sequence of int
    A sequence of 32-bit integers, at least ``rank`` of them, or its address.
ostride : int
    ``int``: 32-bit integer.
odist : int
    ``int``: 32-bit integer.
type : Type
    ``cufftType``: 32-bit integer.
batch : int
    ``int``: 32-bit integer.

Returns
-------
work_size : int
    What C writes to ``size_t *``.

Raises
------
cuFFTError
    The call returned another status than SUCCESS.

Notes
-----
C function ``cufftEstimateMany``, in CUDA 12.0 to 13.5. See
https://docs.nvidia.com/cuda/cufft/"""


def test_a_whole_docstring() -> None:
    assert inspect.getdoc(cufft.estimate_many) == ESTIMATE


def test_texts_data_and_buffers() -> None:
    text = str(nvrtc.create_program.__doc__)
    assert "src : str\n    Text without NUL characters.\n" in text
    text = str(_core.cufft._xt_set_jit_callback.__doc__)
    assert "name : str or int\n    Text without NUL characters, or its address; 0 is none." in text
    size = "``lto_callback_fatbin_size``"
    assert f"int or bytes-like\n    Data of at least {size} bytes, or their address." in text
    text = str(mathdx.commondx_get_code_ltoir.__doc__)
    assert "int or writable bytes-like\n    What C writes to: a buffer of at least ``" in text
    # A release of three numbers, of a library that is no part of CUDA.
    assert "in libmathdx 0.3.1 to 0.4.2. See" in text


def test_signatures_of_many_parameters_are_read_from_several_lines() -> None:
    assert len(inspect.signature(_core.cublas.gemm_ex).parameters) == 19
    functions = [
        function for function in vars(_core.cublas).values() if inspect.isbuiltin(function)
    ]
    assert len(functions) > 500
    for function in functions:
        lines = f"{function.__name__}{function.__text_signature__}".split("\n")
        assert all(len(line) <= 80 for line in lines), function.__name__


def test_a_module_is_filled_when_it_is_first_asked_for_a_name() -> None:
    before, missing, after = in_fresh_process("imports.a_module_that_is_filled_late")
    assert before == ["__getattr__"]
    assert missing == "module 'gpumath.bindings._core.cusparse' has no attribute 'no_such_function'"
    assert {"create", "destroy", "get_version"} <= {*after}
