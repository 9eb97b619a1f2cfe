"""`gpumath.bindings.cublas` and `cublasXt` with the real libraries, without a GPU."""

from __future__ import annotations

import inspect
import pickle
from types import ModuleType

import numpy as np
import pytest

from gpumath.bindings import cublas, cublasLt, cublasXt, errors
from tests.helpers.cublas import files, without_gpu

MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])
MODULES = [cublas, cublasLt, cublasXt]
OUTCOME = """
def outcome(function, *arguments):
    try:
        return function(*arguments)
    except cublas.cuBLASError as error:
        return [error.function, error.status.name, str(error)]
    except (ValueError, TypeError, errors.FunctionNotFoundError) as error:
        return [type(error).__name__, str(error)]
"""


@MAJORS
def test_versions_are_those_of_the_libraries(cuda_major: int) -> None:
    blas, light = files(cuda_major)
    code = f"""
import ctypes
raw, light = ctypes.CDLL({str(blas)!r}), ctypes.CDLL({str(light)!r})
light.cublasLtGetVersion.restype = light.cublasLtGetCudartVersion.restype = ctypes.c_size_t
cells = [ctypes.c_int(0) for _ in range(4)]
assert raw.cublasGetVersion_v2(None, ctypes.byref(cells[0])) == 0
for part in range(3):
    assert raw.cublasGetProperty(part, ctypes.byref(cells[1 + part])) == 0
expected = [cell.value for cell in cells]
expected += [light.cublasLtGetVersion(), light.cublasLtGetCudartVersion()]
result = [[
    cublas.get_version(0),
    *(cublas.get_property(part) for part in range(3)),
    cublasLt.get_version(),
    cublasLt.get_cudart_version(),
], expected, [cublasLt.get_property(part) for part in range(3)], cublas.get_cudart_version()]
"""
    found, expected, light_parts, runtime = without_gpu(cuda_major, code)
    assert found == expected
    assert found[1] == cuda_major
    assert light_parts == found[1:4]
    assert runtime // 1000 == cuda_major


@MAJORS
def test_statuses_have_names_and_texts(cuda_major: int) -> None:
    code = """
result = [
    [m.get_status_name(s) for s in (*cublas.Status, 12345)] for m in (cublas, cublasLt)
] + [[m.get_status_string(s) for s in cublas.Status] for m in (cublas, cublasLt)]
"""
    names, light_names, texts, light_texts = without_gpu(cuda_major, code)
    expected = [f"CUBLAS_STATUS_{status.name}" for status in cublas.Status]
    assert names[:-1] == light_names[:-1] == expected
    assert names[-1] not in expected
    assert all(texts)
    assert all(light_texts)
    assert len({*texts}) == len(texts)


@MAJORS
def test_failures_become_exceptions(cuda_major: int) -> None:
    code = f"""{OUTCOME}
zeros = [0] * 14
group = [[0, 1], [1, 0], [4, 4], [4, 4], [4, 4], [1.0, 2.0], 0, [4, 4], 0, [4, 4], [0.0, 0.5], 0]
result = [
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
"""
    found = without_gpu(cuda_major, f"import numpy as np\n{code}")
    assert [outcome[:2] for outcome in found] == [
        ["cublasCreate", "NOT_INITIALIZED"],
        ["cublasDgemm", "NOT_INITIALIZED"],
        ["cublasDgemm_64", "NOT_INITIALIZED"],
        ["cublasHgemm", "NOT_INITIALIZED"],
        ["cublasZher2k", "NOT_INITIALIZED"],
        ["cublasSetStream", "NOT_INITIALIZED"],
        ["cublasDgemmGroupedBatched", "NOT_INITIALIZED"],
        ["cublasSgemmGroupedBatched_64", "NOT_INITIALIZED"],
        ["cublasSetVector", "MAPPING_ERROR"],
        ["cublasSetVector", "INVALID_VALUE"],
    ]
    assert found[0][2].startswith("cublasCreate: NOT_INITIALIZED (1): ")
    assert "driver" in found[0][2]


@MAJORS
def test_what_would_crash_is_refused(cuda_major: int) -> None:
    code = f"""{OUTCOME}
ones = [[1, 1]] * 5
result = [
    *(outcome(getattr(cublas, f"{{t}}getrs_batched"), 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1)
      for t in "sdcz"),
    outcome(cublasXt.get_num_boards, 1, 0),
    outcome(cublas.sgemv_batched, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 1),
    outcome(cublas.tstgemv_strided_batched_64, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1),
    outcome(cublasLt.matmul_algo_check, *[0] * 8),
    outcome(cublasLt.matmul_algo_get_heuristic, *[0] * 10),
    outcome(cublasXt.get_num_boards, 2, [0]),
    outcome(cublas.dgemm_grouped_batched, 0, *ones, [1.0], 0, [1, 1], 0, [1, 1], [0.0, 0.0], 0,
            [1, 1], 2, [1, 1]),
    outcome(cublas.logger_configure, 1, 0, 0, b"file"),
]
"""
    *null, too_short, group, text = without_gpu(cuda_major, code)
    assert {name for name, _ in null} == {"ValueError"}
    parameters = ["info"] * 4 + ["device_id", "handle", "handle", *["operation_desc"] * 2]
    assert [message.split("'")[1] for _, message in null] == parameters
    assert too_short[0] == "ValueError"
    assert "1 elements, but the call reads 2" in too_short[1]
    assert "'alpha_array' has 1 elements, but the call reads 2" in group[1]
    assert text[0] == "TypeError"


@MAJORS
def test_settings_of_several_gpus(cuda_major: int) -> None:
    block = int(np.random.default_rng().integers(1, 64)) * 32
    code = f"""{OUTCOME}
handle = cublasXt.create()
result = [cublasXt.get_block_dim(handle), cublasXt.get_pinning_mem_mode(handle)]
cublasXt.set_block_dim(handle, {block})
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
"""
    before, off, after, on, boards, *refused = without_gpu(cuda_major, code)
    assert before > 0
    assert (off, after, on) == (0, block, 1)
    assert boards >= 0
    assert [outcome[0] for outcome in refused] == [
        "cublasXtSetBlockDim",
        "cublasXtSetCpuRatio",
        "cublasXtDeviceSelect",
        "cublasXtDgemm",
        "cublasXtDestroy",
    ]
    assert {outcome[1] for outcome in refused[:3]} == {"INVALID_VALUE"}


@MAJORS
def test_log_messages_reach_python(cuda_major: int) -> None:
    code = """
import io, logging
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
"""
    before, there, first, second, after, text, logged = without_gpu(cuda_major, code)
    assert (before, there, after) == (0, True, 0)
    assert first > 0
    assert "cublasGetVersion" in text
    assert "cublasGetVersion" in logged
    assert logged.count("function") == 1
    assert second >= first


@MAJORS
def test_xerbla_prints(cuda_major: int) -> None:
    code = """
import os
saved, (reader, writer) = os.dup(1), os.pipe()
os.dup2(writer, 1)
cublas.xerbla("SGEMM ", 3)
import ctypes
ctypes.CDLL(None).fflush(None)
os.dup2(saved, 1)
result = os.read(reader, 1000).decode()
"""
    text = without_gpu(cuda_major, code)
    assert "SGEMM" in text
    assert "3" in text


def test_a_function_that_this_cuda_lacks() -> None:
    code = """
try:
    cublas.get_emulation_special_values_support(0)
except errors.FunctionNotFoundError as error:
    result = [error.function, error.symbol, error.since, error.until]
"""
    assert without_gpu(12, code) == [
        "cublas.get_emulation_special_values_support",
        "cublasGetEmulationSpecialValuesSupport",
        "13.2",
        "13.5",
    ]


def test_symbols_are_those_of_the_current_interface() -> None:
    # Without a suffix these names are the interface without handles, and 151 of them are exported.
    assert inspect.getdoc(cublas.dgemm).count("cublasDgemm") >= 1
    code = f"""{OUTCOME}
result = [outcome(cublas.saxpy, *[0] * 7), outcome(cublas.snrm2_64, *[0] * 5)]
"""
    found = without_gpu(13, code)
    assert [outcome[1] for outcome in found] == ["NOT_INITIALIZED", "NOT_INITIALIZED"]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_documented(module: ModuleType) -> None:
    names = [name for name in dir(module) if not name.startswith("_")]
    assert len(names) > 50
    for name in names:
        assert inspect.getdoc(getattr(module, name)), name
        if inspect.isbuiltin(getattr(module, name)):
            assert inspect.signature(getattr(module, name)) is not None


@pytest.mark.parametrize(
    ("module", "error"),
    [
        (cublas, errors.cuBLASError),
        (cublasXt, errors.cuBLASError),
        (cublasLt, errors.cuBLASLtError),
    ],
)
def test_check_status(module: ModuleType, error: type[errors.LibraryError]) -> None:
    assert module.check_status(0) is None
    for status in [*list(cublas.Status)[1:], 12345]:
        with pytest.raises(error, match=rf"\({int(status)}\)") as caught:
            module.check_status(status)
        assert caught.value.status == status
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again), again.status) == (error, str(caught.value), status)
