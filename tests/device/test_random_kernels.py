"""Kernels with `gpumath.device.random` are compiled and linked without a GPU."""

from __future__ import annotations

import importlib
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import errors, nvrtc
from gpumath.device import _random_code, random
from gpumath.device._random_states import STATES
from tests.helpers.callbacks import require_numba
from tests.helpers.numba_kernels import cubin_of


@pytest.fixture(autouse=True)
def compilers() -> None:
    """Skip without compilers."""
    require_numba()
    try:
        nvrtc.version()
    except errors.LibraryNotFoundError:
        pytest.skip("NVRTC is not installed")


def kernel_with(body: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A kernel with the parameters states, vectors and out."""
    source = f"""
    from numba import cuda
    from gpumath.device import random

    def kernel(states, vectors, out):
        i = cuda.grid(1)
        {body}
    """
    (folder / "kernel_source.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "kernel_source", raising=False)
    return importlib.import_module("kernel_source").kernel


def signature(generator: str) -> tuple[Any, ...]:
    from numba.cuda import types
    from numba.cuda.np.numpy_support import from_dtype

    state = from_dtype(STATES[generator].dtype)
    vector = types.uint64 if generator.endswith("64") else types.uint32
    return state[::1], vector[:, ::1], types.float64[::1]


@pytest.mark.parametrize("generator", STATES)
def test_every_function(generator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = []
    for name, function in _random_code.FUNCTIONS.items():
        if generator not in function.generators:
            continue
        given = ["vectors[i]" if "*" in kind else "2" for kind in function.parameters]
        if name.startswith("init"):
            lines.append(f"random.init({', '.join(given)}, states[i])")
        elif name.startswith("skipahead"):
            lines.append(f"random.{name}({', '.join(given)}, states[i])")
        else:
            part = ".y" if function.width > 1 else ""
            lines.append(f"out[i] += random.{name}({', '.join(['states[i]', *given])}){part}")
    kernel = kernel_with("\n        ".join(lines), tmp_path, monkeypatch)
    assert cubin_of(kernel, signature(generator))[:4] == b"\x7fELF"


@pytest.mark.parametrize(
    ("body", "generator", "message"),
    [
        ("random.uniform(out[i])", "XORWOW", "the state of random.uniform is float64"),
        ("random.uniform(states)", "XORWOW", "such as states"),
        ("random.rand4(states[i])", "XORWOW", "random.rand4 is for Philox4_32_10"),
        ("random.normal2(states[i])", "Sobol32", "and not for Sobol32"),
        ("random.init(1, 2, states[i])", "XORWOW", "gets 3 arguments, and for XORWOW it takes 4"),
        ("random.init(1, 2, 3.5, states[i])", "XORWOW", "argument 3 of random.init is float64"),
        ("random.init(out, 2, states[i])", "Sobol32", "an array of uint32"),
        ("random.poisson(states[i], out)", "XORWOW", "a number is needed"),
    ],
)
def test_refusals(
    body: str, generator: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core.errors import NumbaError

    kernel = kernel_with(body, tmp_path, monkeypatch)
    with pytest.raises(NumbaError, match=message):
        cubin_of(kernel, signature(generator))


def test_outside_of_kernels() -> None:
    with pytest.raises(RuntimeError, match=r"random\.normal is called inside kernels"):
        random.normal(np.zeros(1))
    with pytest.raises(ValueError, match="n is 0; a positive integer is needed"):
        random.StatesXORWOW(0)
    with pytest.raises(ValueError, match="cc is 'new'"):
        random.Compile("new")  # type: ignore[arg-type]


def test_the_code_is_compiled_once() -> None:
    _random_code.compiled.cache_clear()
    first = _random_code.compiled("XORWOW")
    _random_code.compiled.cache_clear()
    assert _random_code.compiled("XORWOW") == first
