"""libmathdx in a process of its own."""

from __future__ import annotations

import ctypes
from array import array
from typing import Any

from gpumath.bindings import core, mathdx
from gpumath.bindings.mathdx import CusolverdxOperatorType as Operator
from tests.programs.support.entry import main


def versions_are_those_of_the_library(nvrtc_file: str, mathdx_file: str) -> Any:
    ctypes.CDLL(nvrtc_file, mode=ctypes.RTLD_GLOBAL)
    raw = ctypes.CDLL(mathdx_file)
    version, commit = ctypes.c_int(), ctypes.c_char_p()
    assert raw.mathdxGetVersion(ctypes.byref(version)) == 0
    assert raw.mathdxGetCommit(ctypes.byref(commit)) == 0

    def three(function: Any) -> Any:
        numbers = (ctypes.c_int * 3)()
        assert function(*(ctypes.byref(numbers, 4 * i) for i in range(3))) == 0
        return list(numbers)

    functions = (raw.mathdxGetVersionEx, raw.mathdxGetPackageVersion, raw.cufftdxGetVersion)
    return [version.value, commit.value.decode(), *map(three, functions)]


def other_libraries_do_not_disturb_it() -> Any:
    others = [library.name for library in core.libraries()]
    solver = mathdx.cusolverdx_create_descriptor()
    mathdx.cusolverdx_set_operator_int64(solver, Operator.FUNCTION, mathdx.CusolverdxFunction.POTRF)
    operators = {"API": 0, "PRECISION": 5, "EXECUTION": 1, "TYPE": 0, "SM": 900, "FILL_MODE": 1}
    for name, value in operators.items():
        mathdx.cusolverdx_set_operator_int64(solver, Operator[name], value)
    for name, values in {"SIZE": [16, 16, 1], "BLOCK_DIM": [32, 1, 1]}.items():
        mathdx.cusolverdx_set_operator_int64s(solver, Operator[name], 3, values)
    values = array("q", [0] * 3)
    mathdx.cusolverdx_get_trait_int64s(solver, mathdx.CusolverdxTraitType.BLOCK_DIM, 3, values)
    return [others, list(values)]


if __name__ == "__main__":
    main(globals())
