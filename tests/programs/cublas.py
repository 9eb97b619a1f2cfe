"""cuBLAS, cublasLt and cublasXt in a process that sees no device."""

from __future__ import annotations

import ctypes
import io
import logging
import os
from typing import Any

import numpy as np

from gpumath.bindings import cublas, cublasLt, cublasXt, errors
from tests.programs.support.entry import main


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except cublas.cuBLASError as error:
        return [error.function, error.status.name, str(error)]
    except (ValueError, TypeError, errors.FunctionNotFoundError) as error:
        return [type(error).__name__, str(error)]


def versions_are_those_of_the_libraries(blas: str, light_file: str) -> Any:
    raw, light = ctypes.CDLL(blas), ctypes.CDLL(light_file)
    light.cublasLtGetVersion.restype = light.cublasLtGetCudartVersion.restype = ctypes.c_size_t
    cells = [ctypes.c_int(0) for _ in range(4)]
    assert raw.cublasGetVersion_v2(None, ctypes.byref(cells[0])) == 0
    for part in range(3):
        assert raw.cublasGetProperty(part, ctypes.byref(cells[1 + part])) == 0
    expected = [cell.value for cell in cells]
    expected += [light.cublasLtGetVersion(), light.cublasLtGetCudartVersion()]
    return [
        [
            cublas.get_version(0),
            *(cublas.get_property(part) for part in range(3)),
            cublasLt.get_version(),
            cublasLt.get_cudart_version(),
        ],
        expected,
        [cublasLt.get_property(part) for part in range(3)],
        cublas.get_cudart_version(),
    ]


def statuses_have_names_and_texts() -> Any:
    return [[m.get_status_name(s) for s in (*cublas.Status, 12345)] for m in (cublas, cublasLt)] + [
        [m.get_status_string(s) for s in cublas.Status] for m in (cublas, cublasLt)
    ]


def failures_become_exceptions() -> Any:
    zeros = [0] * 14
    group = [
        [0, 1],
        [1, 0],
        [4, 4],
        [4, 4],
        [4, 4],
        [1.0, 2.0],
        0,
        [4, 4],
        0,
        [4, 4],
        [0.0, 0.5],
        0,
    ]
    return [
        outcome(cublas.create),
        outcome(cublas.dgemm, *zeros),
        outcome(cublas.dgemm_64, *zeros),
        outcome(cublas.hgemm, *zeros),
        outcome(cublas.zher2k, *zeros[:13]),
        outcome(cublas.set_stream, 0, 0),
        outcome(cublas.dgemm_grouped_batched, 0, *group, [4, 4], 2, [1, 3]),
        outcome(cublas.sgemm_grouped_batched_64, 0, *group, [4, 4], 2, np.array([1, 3])),
        outcome(cublas.set_vector, 1, 4, 0, 1, 0, 1),
        outcome(cublas.set_vector, 1, -4, 0, 1, 0, 1),
    ]


def what_would_crash_is_refused() -> Any:
    ones = [[1, 1]] * 5
    return [
        *(
            outcome(getattr(cublas, f"{t}getrs_batched"), 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1)
            for t in "sdcz"
        ),
        outcome(cublasXt.get_num_boards, 1, 0),
        outcome(cublas.sgemv_batched, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1),
        outcome(cublas.tstgemv_strided_batched_64, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1),
        outcome(cublasLt.matmul_algo_check, *[0] * 8),
        outcome(cublasLt.matmul_algo_get_heuristic, *[0] * 10),
        outcome(cublasXt.get_num_boards, 2, [0]),
        outcome(
            cublas.dgemm_grouped_batched,
            0,
            *ones,
            [1.0],
            0,
            [1, 1],
            0,
            [1, 1],
            [0.0, 0.0],
            0,
            [1, 1],
            2,
            [1, 1],
        ),
        outcome(cublas.logger_configure, 1, 0, 0, b"file"),
    ]


def settings_of_several_gpus(block: int) -> Any:
    handle = cublasXt.create()
    result = [cublasXt.get_block_dim(handle), cublasXt.get_pinning_mem_mode(handle)]
    cublasXt.set_block_dim(handle, block)
    cublasXt.set_pinning_mem_mode(handle, cublasXt.PinnedMemMode.ENABLED)
    cublasXt.set_cpu_ratio(handle, cublasXt.BlasOp.GEMM, cublasXt.OpType.FLOAT, 0.25)
    cublasXt.set_cpu_routine(handle, cublasXt.BlasOp.GEMM, cublasXt.OpType.FLOAT, 0)
    result += [
        cublasXt.get_block_dim(handle),
        cublasXt.get_pinning_mem_mode(handle),
        cublasXt.max_boards(),
        outcome(cublasXt.set_block_dim, handle, -1),
        outcome(cublasXt.set_cpu_ratio, handle, 99, 0, 0.5),
        outcome(cublasXt.device_select, handle, 1, 0),
        outcome(cublasXt.dgemm, handle, *[0] * 13),
        outcome(cublasXt.destroy, 0),
    ]
    cublasXt.destroy(handle)
    return result


def log_messages_reach_python() -> Any:
    seen, stream = [], io.StringIO()
    result = [cublas.get_logger_callback()]
    cublas.set_logger_callback(seen.append)
    cublas.logger_configure(1, 0, 0, "")
    result.append(cublas.get_logger_callback() != 0)
    cublas.get_version(0)
    result.append(len(seen))
    logger = logging.getLogger("cublas")
    logger.addHandler(logging.StreamHandler(stream))
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    cublas.set_logger_callback(logger)
    cublas.get_version(0)
    result.append(len(seen))
    cublas.set_logger_callback(None)
    cublas.get_version(0)
    result += [cublas.get_logger_callback(), " ".join(seen), stream.getvalue()]
    return result


def xerbla_prints() -> Any:
    saved, (reader, writer) = os.dup(1), os.pipe()
    os.dup2(writer, 1)
    cublas.xerbla("SGEMM ", 3)
    ctypes.CDLL(None).fflush(None)
    os.dup2(saved, 1)
    return os.read(reader, 1000).decode()


def a_function_that_this_cuda_lacks() -> Any:
    try:
        cublas.get_emulation_special_values_support(0)
    except errors.FunctionNotFoundError as error:
        result = [error.function, error.symbol, error.since, error.until]
    return result


def symbols_are_those_of_the_current_interface() -> Any:
    return [outcome(cublas.saxpy, *[0] * 7), outcome(cublas.snrm2_64, *[0] * 5)]


if __name__ == "__main__":
    main(globals())
