"""The source of `gpumath.device.random`, compiled for the CPU, against cuRAND's host generators."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from gpumath.bindings import curand
from gpumath.bindings.errors import LibraryNotFoundError
from gpumath.device import _random_code
from gpumath.device.random import STATE_DTYPES
from tests.helpers.repository import ROOT

Array = npt.NDArray[Any]
C_TYPES = {
    "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "void": None,
}
PSEUDO = {"XORWOW": "PSEUDO_XORWOW", "MRG32k3a": "PSEUDO_MRG32K3A"}
SOBOL = {
    "Sobol32": "QUASI_SOBOL32",
    "ScrambledSobol32": "QUASI_SCRAMBLED_SOBOL32",
    "Sobol64": "QUASI_SOBOL64",
    "ScrambledSobol64": "QUASI_SCRAMBLED_SOBOL64",
}
# The host's generators of XORWOW and MRG32k3a deal their numbers out to so many subsequences.
STREAMS = 4096


class Generator:
    """The functions of one generator, with a state."""

    def __init__(self, library: ctypes.CDLL, name: str) -> None:
        self.library, self.name = library, name
        self.state = np.zeros(1, STATE_DTYPES[name])

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = _random_code.FUNCTIONS[name]
        c_function = getattr(self.library, _random_code.symbol(name, self.name))
        result = C_TYPES[_random_code.c_type(function.result, self.name)]
        c_function.restype = result if function.count == 1 else None

        def call(*arguments: Any) -> Any:
            given: list[Any] = []
            for kind, argument in zip(function.parameters, arguments, strict=True):
                is_pointer = kind.endswith("*")
                kind = _random_code.c_type(kind, self.name)
                given.append(
                    ctypes.c_void_p(argument.ctypes.data) if is_pointer else C_TYPES[kind](argument)
                )
            out = (result * function.count)() if function.count > 1 and result else None
            c_function(*given, *([out] if out else []), ctypes.c_void_p(self.state.ctypes.data))
            return list(out) if out else self.result_of(c_function, given)

        return call

    def result_of(self, c_function: Any, given: list[Any]) -> Any:
        raise NotImplementedError


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The source, compiled for the CPU."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("random")
    header = ROOT / "tests" / "helpers" / "random_on_cpu.h"
    source = folder / "random.cpp"
    source.write_text(f'#include "{header}"\n{_random_code.source()}')
    built = folder / "random.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", built, source], check=True)
    return ctypes.CDLL(str(built))
