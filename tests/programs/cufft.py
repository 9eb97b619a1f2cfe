"""cuFFT in a process that sees no device."""

from __future__ import annotations

import ctypes
import pickle
from typing import Any

from gpumath.bindings import cufft, errors
from gpumath.bindings._core.cufft import xt_set_distribution
from tests.programs.support.entry import main


def version_is_that_of_the_library(file: str) -> Any:
    raw = ctypes.CDLL(file)
    cell = ctypes.c_int(0)

    def ask(which: Any) -> Any:
        assert raw.cufftGetProperty(which, ctypes.byref(cell)) == 0
        return cell.value

    assert raw.cufftGetVersion(ctypes.byref(cell)) == 0
    version = cell.value
    return [
        [cufft.get_version(), *(cufft.get_property(which) for which in range(3))],
        [version, *map(ask, range(3))],
    ]


def every_function_gives_the_status_of_the_raw_call(file: str, functions: list[Any]) -> Any:
    """Call functions with every argument 0.

    A function is its name, the names of its symbol and of the C function, how many arguments it
    takes in Python, and the C types of all parameters: a pair of "in" or "out" and a type.
    """
    raw = ctypes.CDLL(file)

    def argument(kind: str, type_: str) -> Any:
        cell = getattr(ctypes, type_)(0)
        return ctypes.byref(cell) if kind == "out" else cell

    def status(function: Any, count: int, c_name: str) -> int:
        try:
            function(*[0] * count)
        except cufft.cuFFTError as error:
            assert error.function == c_name
            assert isinstance(error.status, cufft.Result)
            return int(error.status)
        return 0

    return {
        name: [
            getattr(raw, symbol)(*(argument(*parameter) for parameter in parameters)),
            status(getattr(cufft, name), count, c_name),
        ]
        for name, symbol, c_name, count, parameters in functions
    }


def a_plan_without_a_gpu_is_a_clear_error() -> Any:
    try:
        cufft.create()
    except cufft.cuFFTError as error:
        again = pickle.loads(pickle.dumps(error))
        result = [error.status.name, error.function, str(error), str(again), again.status.name]
    return result


def a_function_that_this_cuda_lacks() -> Any:
    try:
        xt_set_distribution(0, 0, 0)
    except errors.FunctionNotFoundError as error:
        result = [error.function, error.symbol, error.since, error.until, str(error)]
    return result


if __name__ == "__main__":
    main(globals())
