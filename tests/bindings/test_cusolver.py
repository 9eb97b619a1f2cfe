"""The cuSOLVER modules with the real libraries of both CUDA majors, without a GPU."""

from __future__ import annotations

import pickle
from types import ModuleType

import pytest

from gpumath.bindings import cusolver, cusolverDn, cusolverMg, cusolverRf, cusolverSp, errors
from tests.helpers.cuda_wheels import library_file
from tests.helpers.cusolver import without_gpu

MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])
MODULES = [cusolver, cusolverDn, cusolverSp, cusolverRf, cusolverMg]


@MAJORS
def test_version_is_that_of_the_library(cuda_major: int) -> None:
    version, parts, expected = without_gpu(
        cuda_major,
        "cusolver.version_is_that_of_the_library",
        str(library_file("cusolver", cuda_major)),
    )
    assert parts == expected
    assert version == parts[0] * 1000 + parts[1] * 100 + parts[2]


@MAJORS
def test_parameter_objects_hold_what_is_set(cuda_major: int) -> None:
    max_iters, iterations = without_gpu(cuda_major, "cusolver.parameter_objects_hold_what_is_set")
    assert max_iters == 37
    assert iterations <= 0  # nothing was solved


@MAJORS
def test_statuses_become_exceptions(cuda_major: int) -> None:
    found = without_gpu(cuda_major, "cusolver.statuses_become_exceptions")
    assert [outcome[:2] for outcome in found] == [
        ["cusolverDnCreate", "NOT_INITIALIZED"],
        ["cusolverDnDgetrs", "NOT_INITIALIZED"],
        ["cusolverSpDcsrlsvqr", "NOT_INITIALIZED"],
        ["cusolverRfCreate", "NOT_INITIALIZED"],
        ["cusolverMgCreateDeviceGrid", "INVALID_VALUE"],
        ["cusolverDnIRSParamsSetMaxIters", "IRS_PARAMS_NOT_INITIALIZED"],
        ["cusolverDnSetAdvOptions", "INVALID_VALUE"],
    ]
    assert found[0][2].startswith("cusolverDnCreate: CUSOLVER_STATUS_NOT_INITIALIZED (1): ")
    assert "driver" in found[0][2]


@MAJORS
def test_null_that_would_crash_is_refused(cuda_major: int) -> None:
    *found, too_short = without_gpu(cuda_major, "cusolver.null_that_would_crash_is_refused")
    assert [text.partition(" is 0 (NULL)")[0].split()[-1] for text in found] == [
        "'handle'", "'info'", "'handle'", "'handle'", "'handle'", "'params'", "'handle'",
        "'handle'", "'info'", "'handle'", "'descr_a'",
    ]  # fmt: skip
    assert "device_id" in too_short
    assert "1 elements" in too_short


@MAJORS
def test_descriptors_of_distributed_matrices(cuda_major: int) -> None:
    status, made, refused = without_gpu(cuda_major, "cusolver.descriptors_of_distributed_matrices")
    assert status != 0  # there is no device to select
    assert made
    assert refused == "INVALID_VALUE"


def test_functions_that_only_cuda_12_has() -> None:
    found = without_gpu(13, "cusolver.functions_that_only_cuda_12_has")
    assert len(found) == 14
    assert found["getrf"] == ["cusolverDnGetrf", "12.0", "12.9"]
    assert {(since, until) for _, since, until in found.values()} == {("12.0", "12.9")}


@MAJORS
def test_a_pattern_is_permuted_on_the_cpu(cuda_major: int) -> None:
    symmetric, rows, columns, places = without_gpu(
        cuda_major, "cusolver.a_pattern_is_permuted_on_the_cpu"
    )
    assert symmetric == 1
    # A of the code, B[i, j] = A[order[i], order[j]]; the values are their own old places.
    a = {(0, 0): 0, (0, 1): 1, (1, 0): 2, (1, 1): 3, (1, 2): 4, (2, 1): 5, (2, 2): 6}
    order = [2, 0, 1]
    expected = {(i, j): a.get((order[i], order[j])) for i in range(3) for j in range(3)}
    found = {(i, columns[k]): places[k] for i in range(3) for k in range(rows[i], rows[i + 1])}
    assert found == {place: value for place, value in expected.items() if value is not None}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@pytest.mark.parametrize("status", [0, 3, 12345])
def test_check_status(module: ModuleType, status: int) -> None:
    if status == 0:
        assert module.check_status(status) is None
        return
    with pytest.raises(errors.cuSOLVERError, match=rf"\({status}\)") as caught:
        module.check_status(status)
    assert module.cuSOLVERError is errors.cuSOLVERError
    assert caught.value.status == status
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert isinstance(caught.value.status, cusolver.Status) == (status == 3)
