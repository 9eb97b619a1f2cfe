"""cublasLt in a process that sees no device."""

from __future__ import annotations

import io
import logging
import pickle
import sys
from typing import Any

import numpy as np

from gpumath.bindings import cublas, cublasLt, errors
from tests.programs.support.entry import main

# By the name of the functions: the enum, and what a descriptor is made with.
DESCRIPTORS: dict[str, tuple[str, tuple[int, ...]]] = {
    "matrix_layout": ("MatrixLayoutAttribute", (0, 4, 4, 4)),
    "matmul_desc": ("MatmulDescAttribute", (68, 0)),
    "matmul_preference": ("MatmulPreferenceAttribute", ()),
    "matrix_transform_desc": ("MatrixTransformDescAttribute", (0,)),
    "emulation_desc": ("EmulationDescAttribute", ()),
}


class Attributes:
    """The attributes of one kind of descriptor, and a descriptor of that kind."""

    def __init__(self, name: str) -> None:
        enum, arguments = DESCRIPTORS[name]
        self.enum = getattr(cublasLt, enum)
        self.dtype_of = getattr(cublasLt, f"get_{name}_attribute_dtype")
        self.set_attribute = getattr(cublasLt, f"{name}_set_attribute")
        self.get_attribute = getattr(cublasLt, f"{name}_get_attribute")
        self.destroy = getattr(cublasLt, f"{name}_destroy")
        self.written = np.zeros(1, np.uint64)
        self.descriptor = getattr(cublasLt, f"{name}_create")(*arguments)

    def put(self, descriptor: int, attribute: int, value: Any) -> None:
        cell = np.array(value, self.dtype_of(attribute))
        self.set_attribute(descriptor, attribute, cell.ctypes.data, cell.nbytes)

    def get(self, descriptor: int, attribute: int) -> Any:
        cell = np.zeros(1, self.dtype_of(attribute))
        written = self.written
        self.get_attribute(
            descriptor, attribute, cell.ctypes.data, cell.nbytes, written.ctypes.data
        )
        assert written[0] == cell.nbytes
        return cell[0].item()

    def size(self, descriptor: int, attribute: int) -> int | str:
        try:
            self.get_attribute(descriptor, attribute, 0, 0, self.written.ctypes.data)
        except cublasLt.cuBLASLtError as error:
            return str(error.status.name)
        return int(self.written[0])


def types_have_the_sizes_that_the_library_tells(name: str) -> Any:
    made = Attributes(name)
    result = {
        a.name: [made.size(made.descriptor, a), np.dtype(made.dtype_of(a)).itemsize]
        for a in made.enum
    }
    made.destroy(made.descriptor)
    return result


def settings_of_an_algorithm() -> Any:
    cublasLt.get_version()
    algo, written = cublasLt.MatmulAlgo(), np.zeros(1, np.uint64)
    result = {}
    for attribute in cublasLt.MatmulAlgoConfigAttribute:
        dtype = cublasLt.get_matmul_algo_config_attribute_dtype(attribute)
        cublasLt.matmul_algo_config_get_attribute(algo, attribute, 0, 0, written.ctypes.data)
        cell, again = np.array(3, dtype), np.zeros(1, dtype)
        try:
            cublasLt.matmul_algo_config_set_attribute(
                algo, attribute, cell.ctypes.data, cell.nbytes
            )
        except cublasLt.cuBLASLtError as error:
            assert (attribute.name, error.status.name) == ("ID", "INVALID_VALUE")
        cublasLt.matmul_algo_config_get_attribute(
            algo.ptr, attribute, again.ctypes.data, again.nbytes, 0
        )
        result[attribute.name] = [int(written[0]), cell.nbytes, int(again[0])]
    return result


def layouts_hold_what_is_set(rows: int, columns: int, ld: int, batch: int, offset: int) -> Any:
    made = Attributes("matrix_layout")
    layout = cublasLt.matrix_layout_create(cublas.DataType.R_16BF, rows, columns, ld)
    made.put(layout, made.enum.BATCH_COUNT, batch)
    made.put(layout, made.enum.STRIDED_BATCH_OFFSET, offset)
    made.put(layout, made.enum.ORDER, cublasLt.Order.ROW)
    result = [
        made.get(layout, a)
        for a in (
            made.enum.TYPE,
            made.enum.ROWS,
            made.enum.COLS,
            made.enum.LD,
            made.enum.BATCH_COUNT,
            made.enum.STRIDED_BATCH_OFFSET,
            made.enum.ORDER,
        )
    ]
    cublasLt.matrix_layout_destroy(layout)
    return result


def descriptors_hold_what_is_set(name: str, values: dict[str, Any]) -> Any:
    made = Attributes(name)
    for attribute, value in values.items():
        made.put(made.descriptor, made.enum[attribute], value)
    result = {attribute: made.get(made.descriptor, made.enum[attribute]) for attribute in values}
    made.destroy(made.descriptor)
    return result


def descriptors_in_memory_of_the_caller() -> Any:
    made = Attributes("matmul_desc")
    memory = np.zeros(64, np.uint64)
    cublasLt.matmul_desc_init_internal(memory.ctypes.data, memory.nbytes, 70, 1)
    result = [made.get(memory.ctypes.data, made.enum.COMPUTE_TYPE), made.get(memory.ctypes.data, 1)]
    try:
        cublasLt.matmul_desc_init_internal(memory.ctypes.data, 8, 70, 1)
    except cublasLt.cuBLASLtError as error:
        result.append(error.status.name)
    return result


def descriptors_that_cuda_13_has() -> Any:
    made = Attributes("emulation_desc")
    made.put(made.descriptor, made.enum.STRATEGY, cublas.EmulationStrategy.EAGER)
    made.put(made.descriptor, made.enum.FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, 40)
    result = [made.get(made.descriptor, made.enum.STRATEGY), made.get(made.descriptor, 3)]
    cublasLt.emulation_desc_destroy(made.descriptor)
    groups = cublasLt.grouped_matrix_layout_create(0, 3, 0, 0, 0)
    count = np.zeros(1, np.int32)
    cublasLt.matrix_layout_get_attribute(groups, 5, count.ctypes.data, 4, 0)
    cublasLt.matrix_layout_destroy(groups)
    return result


def functions_that_cuda_12_lacks() -> Any:
    result = []
    for call in (
        cublasLt.emulation_desc_create,
        lambda: cublasLt.matmul_algo_check_for_stream(*[1] * 9),
    ):
        try:
            call()
        except errors.FunctionNotFoundError as error:
            result.append([error.since, error.until])
    return result


def failures_become_exceptions() -> Any:
    made = Attributes("matrix_layout")

    def outcome(function: Any, *arguments: Any) -> Any:
        try:
            function(*arguments)
        except cublasLt.cuBLASLtError as error:
            assert str(pickle.loads(pickle.dumps(error))) == str(error)
            return [error.function, error.status.name]

    return [
        outcome(cublasLt.create),
        outcome(
            cublasLt.matrix_layout_set_attribute, made.descriptor, 1, made.written.ctypes.data, 8
        ),
        outcome(
            cublasLt.matrix_layout_get_attribute,
            made.descriptor,
            999,
            made.written.ctypes.data,
            8,
            0,
        ),
        outcome(cublasLt.matmul, *[0] * 16),
        outcome(cublasLt.matmul_algo_get_ids, 0, 68, 0, 0, 0, 0, 0, 2**62),
        outcome(cublasLt.matmul_algo_get_ids, 0, 68, 0, 0, 0, 0, 0, -1),
        outcome(cublasLt.logger_open_file, "/there/is/no/such/folder/file"),
    ]


def the_cache_of_searches_has_a_capacity(capacity: int) -> Any:
    result = [cublasLt.heuristics_cache_get_capacity()]
    cublasLt.heuristics_cache_set_capacity(capacity)
    result.append(cublasLt.heuristics_cache_get_capacity())
    return result


def log_messages_reach_python(folder: str) -> Any:
    # Otherwise the messages also go to stdout.
    cublasLt.logger_open_file(folder + "/log")
    seen, stream = [], io.StringIO()
    cublasLt.logger_set_callback(lambda *message: seen.append(message))
    cublasLt.logger_set_level(5)
    layout = cublasLt.matrix_layout_create(0, 12, 34, 12)
    result = [seen[-1]]
    logger = logging.getLogger("cublasLt")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    cublasLt.logger_set_callback(logger)
    cublasLt.matrix_layout_destroy(layout)
    result.append(stream.getvalue())
    raised = []
    sys.unraisablehook = lambda event: raised.append(event.exc_type.__name__)

    def fail(*message: Any) -> None:
        raise KeyError(message)

    cublasLt.logger_set_callback(fail)
    layout = cublasLt.matrix_layout_create(0, 12, 34, 12)
    cublasLt.logger_set_callback(None)
    cublasLt.matrix_layout_destroy(layout)
    cublasLt.logger_set_level(0)
    cublasLt.logger_set_mask(0)
    cublasLt.logger_force_disable()
    result += [raised, len(seen)]
    return result


if __name__ == "__main__":
    main(globals())
