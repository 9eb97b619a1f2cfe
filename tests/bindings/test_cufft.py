"""`gpumath.bindings.cufft` with the real cuFFT of both CUDA majors, without a GPU."""

from __future__ import annotations

import csv
import inspect
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cufft, driver, errors
from tests.helpers.cuda_wheels import cufft_file, in_fresh_process

MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])
TABLE = Path(__file__).parents[1] / "codegen" / "frozen" / "functions.tsv"
C_TYPES = {"i32": "c_int", "i64": "c_longlong", "u64": "c_size_t", "ptr": "c_void_p"}
RELEASES = {12: "12.9", 13: "13.5"}


def table() -> list[dict[str, str]]:
    """Return the functions of cuFFT."""
    with TABLE.open(newline="") as file:
        return [r for r in csv.DictReader(file, delimiter="\t") if r["module"] == "cufft"]


def declared(cuda_major: int) -> list[dict[str, str]]:
    """Return the public functions that the newest cuFFT of a CUDA major has."""
    release = float(RELEASES[cuda_major])
    return [
        row
        for row in table()
        if float(row["since"]) <= release <= float(row["until"])
        and hasattr(cufft, row["name"])
        and not row["name"].startswith("_")
    ]


def parameter(text: str) -> tuple[str, str]:
    """Return whether C reads or writes a parameter, and its type in ctypes."""
    kind = text.partition(":")[2].split(".")
    return (
        ("out", C_TYPES[kind[1]]) if kind[0] == "out" else ("in", C_TYPES.get(kind[0], "c_void_p"))
    )


def without_gpu(cuda_major: int, target: str, *arguments: Any) -> Any:
    """Return what a function of tests/programs returns in a process that sees no device."""
    settings = {"GPUMATH_CUFFT_PATH": cufft_file(cuda_major), "CUDA_VISIBLE_DEVICES": "-1"}
    return in_fresh_process(target, *arguments, settings=settings)


@MAJORS
def test_version_is_that_of_the_library(cuda_major: int) -> None:
    file = cufft_file(cuda_major)
    found, expected = without_gpu(cuda_major, "cufft.version_is_that_of_the_library", str(file))
    assert found == expected
    assert found[0] == found[1] * 1000 + found[2] * 100 + found[3]


@MAJORS
def test_every_function_gives_the_status_of_the_raw_call(cuda_major: int) -> None:
    rows = declared(cuda_major)
    assert len(rows) > 50
    functions = []
    for row in rows:
        parameters = row["parameters"].split()
        inputs = [p for p in parameters if ":out." not in p]
        names = (row["name"], row["symbol"], row["c_name"])
        functions.append((*names, len(inputs), [parameter(p) for p in parameters]))
    target = "cufft.every_function_gives_the_status_of_the_raw_call"
    result = without_gpu(cuda_major, target, str(cufft_file(cuda_major)), functions)
    assert {name: raw for name, (raw, _) in result.items()} == {
        name: status for name, (_, status) in result.items()
    }
    assert result["create"] == [5, 5]
    assert result["exec_c2c"] == [1, 1]
    assert result["get_version"] == [0, 0]


@MAJORS
def test_a_plan_without_a_gpu_is_a_clear_error(cuda_major: int) -> None:
    name, function, text, again, name_again = without_gpu(
        cuda_major, "cufft.a_plan_without_a_gpu_is_a_clear_error"
    )
    assert (name, function, name_again) == ("INTERNAL_ERROR", "cufftCreate", name)
    assert text.startswith("cufftCreate: CUFFT_INTERNAL_ERROR (5): ")
    assert "driver" in text
    assert again == text


def test_a_function_that_this_cuda_lacks() -> None:
    *fields, text = without_gpu(13, "cufft.a_function_that_this_cuda_lacks")
    assert fields == ["cufft.xt_set_distribution", "cufftXtSetDistribution", "12.0", "12.0"]
    assert "cufftXtSetDistribution" in text


def test_signatures_can_be_inspected() -> None:
    for row in table():
        if hasattr(cufft, row["name"]):
            expected = [p.partition(":")[0] for p in row["parameters"].split() if ":out." not in p]
            assert list(inspect.signature(getattr(cufft, row["name"])).parameters) == expected


@pytest.mark.parametrize("status", [*cufft.Result, 12345])
def test_check_status(status: int) -> None:
    if status == 0:
        assert cufft.check_status(status) is None
        return
    with pytest.raises(errors.cuFFTError, match=rf"\({int(status)}\)") as caught:
        cufft.check_status(status)
    assert caught.value.status == status
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.status) == (str(caught.value), status)
    assert not isinstance(caught.value, RuntimeError)


@pytest.mark.gpu
@pytest.mark.parametrize("many", [False, True])
def test_a_batched_transform_agrees_with_numpy(many: bool) -> None:
    rng = np.random.default_rng()
    a = rng.standard_normal((3, 48)) + 1j * rng.standard_normal((3, 48))
    driver.init(0)
    device = driver.device_get(0)
    context = driver.device_primary_ctx_retain(device)
    driver.ctx_push_current(context)
    plan = cufft.create()
    try:
        if many:
            shape = np.array([48])
            size = cufft.make_plan_many(plan, 1, shape, 0, 1, 48, 0, 1, 48, cufft.Type.Z2Z, 3)
        else:
            size = cufft.make_plan1d(plan, 48, cufft.Type.Z2Z, 3)
        assert size == cufft.get_size(plan)
        stream = driver.stream_create(driver.StreamFlags.NON_BLOCKING)
        cufft.set_stream(plan, stream)
        address = driver.mem_alloc(a.nbytes)
        result = np.empty_like(a)
        driver.memcpy_htod_async(address, a.ctypes.data, a.nbytes, stream)
        for _ in range(2):  # forward and back, twice
            cufft.exec_z2z(plan, address, address, -1)
            cufft.exec_z2z(plan, address, address, 1)
        cufft.exec_z2z(plan, address, address, -1)
        driver.memcpy_dtoh_async(result.ctypes.data, address, a.nbytes, stream)
        driver.stream_synchronize(stream)
        driver.mem_free(address)
        driver.stream_destroy(stream)
        expected = np.fft.fft(a) * 48**2
        assert np.linalg.norm(result - expected) < 1e-13 * np.linalg.norm(expected)
    finally:
        cufft.destroy(plan)
        assert driver.ctx_pop_current() == context
        driver.device_primary_ctx_release(device)
    with pytest.raises(errors.cuFFTError) as caught:
        cufft.exec_z2z(plan, 0, 0, -1)
    assert caught.value.status is cufft.Result.INVALID_PLAN
