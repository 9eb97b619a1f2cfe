"""Launches of kernels whose arguments the recorder writes down."""

from __future__ import annotations

import ctypes
from ctypes import addressof, c_byte, c_double, c_float, c_int, c_ubyte, c_uint
from typing import Any

import numpy

from gpumath.bindings import driver, runtime
from tests.programs.support.entry import main
from tests.programs.support.kernel_arguments import Pair, refused, sent, value_of
from tests.programs.support.recording import record, recorder


def values_of_types(values: list[int], types: list[str], sizes: list[int]) -> Any:
    return sent((values, [getattr(ctypes, name) for name in types]), *sizes)


def refused_values(cases: list[tuple[int, str]]) -> Any:
    return [refused(((5, number), (c_int, getattr(ctypes, name)))) for number, name in cases]


def floating_point_numbers(doubles: list[float], singles: list[float]) -> Any:
    nan = float("nan")
    return [
        sent((doubles, [c_double] * len(doubles)), *[8] * len(doubles)),
        sent((singles, [c_float] * len(singles)), *[4] * len(singles)),
        sent(((nan, nan, 3, True, 0.1), (c_double, c_float) * 2 + (c_float,)), 8, 4, 8, 4, 4),
    ]


def value_that_is_converted(value: str, type_: str, size: int) -> Any:
    return sent(((value_of(value), 11), (value_of(type_), c_ubyte)), size, 1)


def value_that_is_its_own_bytes(value: str, type_: str, size: int | None) -> Any:
    """Return what C read; without a size, of as many bytes as the value has, and those bytes."""
    made = value_of(value)
    arguments = ((1, made, 2), (c_byte, value_of(type_), c_byte))
    if size is None:
        return [sent(arguments, 1, len(bytes(made)), 1), bytes(made).hex()]
    return [sent(arguments, 1, size, 1)]


def arrays_of_addresses(array: str) -> Any:
    return sent(value_of(array), 4, 8, 16)


def no_arguments() -> Any:
    forms: list[Any] = [0, None, ((), ()), ([], []), numpy.int64(0), []]

    def text(kernel_params: Any) -> str:
        sent(kernel_params)
        return recorder.recorder_text().decode()

    return [text(kernel_params) for kernel_params in forms]


def many_arguments(values: list[int], types: list[str], sizes: list[int]) -> Any:
    return sent((tuple(values), tuple(getattr(ctypes, name) for name in types)), *sizes)


def keywords_and_extra() -> Any:
    recorder.recorder_kernel(1, (c_int * 1)(4))
    names = [
        *("f", "grid_dim_x", "grid_dim_y", "grid_dim_z"),
        *("block_dim_x", "block_dim_y", "block_dim_z", "shared_mem_bytes", "h_stream"),
    ]
    given: dict[str, Any] = dict(zip(names, range(1, 10), strict=True))
    pair = ((5,), (c_int,))
    pairs = numpy.array([78, 0], dtype=numpy.uint64)
    config = (c_uint * 20)(31)
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((), {**given, "kernel_params": pair}),
        (tuple(given.values()), {"kernel_params": pair, "extra": None}),
        ((*given.values(), pair), {}),
        ((*given.values(), None, pairs), {}),
        ((*given.values(), 0), {"extra": pairs.ctypes.data}),
        ((*given.values(), 0), {"extra": [78, 0]}),
    ]
    result = [record(driver.launch_kernel, *call, **more)[0] for call, more in calls]
    result.append(record(driver.launch_cooperative_kernel, **given, kernel_params=pair)[0])
    result.append(record(driver.launch_kernel_ex, addressof(config), 32, pair)[0])
    result.append(record(driver.launch_kernel_ex, addressof(config), 32, pair, pairs)[0])
    return result


def the_runtime_takes_the_same_forms() -> Any:
    recorder.recorder_kernel(2, (c_int * 2)(4, 16))
    grid, block, kept = (c_uint * 3)(2, 3, 4), (c_uint * 3)(5, 6, 7), [c_int(5), Pair(6, 7.5)]
    addresses = [addressof(kept[0]), addressof(kept[1])]
    forms = [((5, kept[1]), (c_int, None)), addresses, numpy.array(addresses, dtype=numpy.uint64)]
    return [record(runtime.launch_kernel, 1, grid, block, form, 8, 9)[0] for form in forms]


if __name__ == "__main__":
    main(globals())
