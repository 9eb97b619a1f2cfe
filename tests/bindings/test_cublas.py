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


@MAJORS
def test_versions_are_those_of_the_libraries(cuda_major: int) -> None:
    blas, light = files(cuda_major)
    found, expected, light_parts, runtime = without_gpu(
        cuda_major, "cublas.versions_are_those_of_the_libraries", str(blas), str(light)
    )
    assert found == expected
    assert found[1] == cuda_major
    assert light_parts == found[1:4]
    assert runtime // 1000 == cuda_major


@MAJORS
def test_statuses_have_names_and_texts(cuda_major: int) -> None:
    names, light_names, texts, light_texts = without_gpu(
        cuda_major, "cublas.statuses_have_names_and_texts"
    )
    expected = [f"CUBLAS_STATUS_{status.name}" for status in cublas.Status]
    assert names[:-1] == light_names[:-1] == expected
    assert names[-1] not in expected
    assert all(texts)
    assert all(light_texts)
    assert len({*texts}) == len(texts)


@MAJORS
def test_failures_become_exceptions(cuda_major: int) -> None:
    found = without_gpu(cuda_major, "cublas.failures_become_exceptions")
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
    assert found[0][2].startswith("cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED (1): ")
    assert "driver" in found[0][2]


@MAJORS
def test_what_would_crash_is_refused(cuda_major: int) -> None:
    *null, too_short, group, text = without_gpu(cuda_major, "cublas.what_would_crash_is_refused")
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
    before, off, after, on, boards, *refused = without_gpu(
        cuda_major, "cublas.settings_of_several_gpus", block
    )
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
    before, there, first, second, after, text, logged = without_gpu(
        cuda_major, "cublas.log_messages_reach_python"
    )
    assert (before, there, after) == (0, True, 0)
    assert first > 0
    assert "cublasGetVersion" in text
    assert "cublasGetVersion" in logged
    assert logged.count("function") == 1
    assert second >= first


@MAJORS
def test_xerbla_prints(cuda_major: int) -> None:
    text = without_gpu(cuda_major, "cublas.xerbla_prints")
    assert "SGEMM" in text
    assert "3" in text


def test_a_function_that_this_cuda_lacks() -> None:
    assert without_gpu(12, "cublas.a_function_that_this_cuda_lacks") == [
        "cublas.get_emulation_special_values_support",
        "cublasGetEmulationSpecialValuesSupport",
        "13.2",
        "13.5",
    ]


def test_symbols_are_those_of_the_current_interface() -> None:
    # Without a suffix these names are the interface without handles, and 151 of them are exported.
    assert inspect.getdoc(cublas.dgemm).count("cublasDgemm") >= 1
    found = without_gpu(13, "cublas.symbols_are_those_of_the_current_interface")
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
