"""`gpumath.bindings.cusparse` with real cuSPARSE, as far as it goes without a GPU."""

from __future__ import annotations

import inspect
import logging
import pickle
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import cusparse, errors
from gpumath.bindings.cusparse import SpMatAttribute, Status
from tests.helpers.cuda_wheels import in_fresh_process, library_file

# Descriptors only hold addresses; these are never read.
OFFSETS, INDICES, VALUES = 0x10000, 0x20000, 0x30000
CUDA_R_32F, CUDA_C_64F = 0, 5
TYPES = {
    "I32": cusparse.IndexType.INDEX_32I,
    "I64": cusparse.IndexType.INDEX_64I,
}


@pytest.fixture
def library() -> None:
    try:
        cusparse.get_property(0)
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"cuSPARSE is not in the test environment: {str(error).splitlines()[0]}")


def sizes() -> tuple[int, int, int]:
    rows, columns = (int(n) for n in np.random.default_rng().integers(100, 2**31 - 1, 2))
    return rows, columns, int(np.random.default_rng().integers(1, 100))


def descriptors() -> Iterator[Any]:
    """Yield the functions' name, arguments, and the name of what destroys the descriptor."""
    rows, columns, nonzeros = sizes()
    for name, index in TYPES.items():
        compressed = (OFFSETS, INDICES, VALUES, index, index, 1, CUDA_C_64F)
        cases = [
            ("csr", (rows, columns, nonzeros, *compressed), "sp_mat"),
            ("csc", (rows, columns, nonzeros, *compressed), "sp_mat"),
            ("coo", (rows, columns, nonzeros, OFFSETS, INDICES, VALUES, index, 1, 0), "sp_mat"),
            ("sp_vec", (rows, nonzeros, INDICES, VALUES, index, 1, CUDA_C_64F), "sp_vec"),
            ("blocked_ell", (64, 96, 16, 32, INDICES, VALUES, index, 0, CUDA_R_32F), "sp_mat"),
        ]
        for kind, arguments, destroyed in cases:
            yield pytest.param(kind, arguments, destroyed, id=f"{kind}-{name}")
    yield pytest.param("dn_vec", (rows, VALUES, CUDA_R_32F), "dn_vec", id="dn_vec")
    yield pytest.param("dn_mat", (9, 7, 11, VALUES, CUDA_R_32F, 1), "dn_mat", id="dn_mat")


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("const", ["", "const_"])
@pytest.mark.parametrize(("kind", "arguments", "destroyed"), [*descriptors()])
def test_descriptors_hold_what_they_are_given(
    kind: str, arguments: tuple[int, ...], destroyed: str, const: str
) -> None:
    descriptor = getattr(cusparse, f"create_{const}{kind}")(*arguments)
    try:
        assert getattr(cusparse, f"{const}{kind}_get")(descriptor) == arguments
        values = getattr(cusparse, f"{const}{destroyed}_get_values")
        assert values(descriptor) == VALUES
        if not const:
            getattr(cusparse, f"{destroyed}_set_values")(descriptor, VALUES + 256)
            assert values(descriptor) == VALUES + 256
    finally:
        getattr(cusparse, f"destroy_{destroyed}")(descriptor)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_sparse_matrices(kind: str) -> None:
    rows, columns, nonzeros = sizes()
    index = cusparse.IndexType.INDEX_32I
    types = (index, 0, CUDA_R_32F) if kind == "coo" else (index, index, 0, CUDA_R_32F)
    create = getattr(cusparse, f"create_{kind}")
    matrix = create(rows, columns, nonzeros, OFFSETS, INDICES, VALUES, *types)
    assert cusparse.sp_mat_get_size(matrix) == (rows, columns, nonzeros)
    assert cusparse.sp_mat_get_format(matrix) == cusparse.Format[kind.upper()]
    assert cusparse.sp_mat_get_index_base(matrix) == cusparse.IndexBase.ZERO
    getattr(cusparse, f"{kind}_set_pointers")(matrix, 0x50000, 0x60000, 0x70000)
    assert getattr(cusparse, f"{kind}_get")(matrix)[3:6] == (0x50000, 0x60000, 0x70000)
    if kind == "csr":
        cusparse.csr_set_strided_batch(matrix, 3, rows + 1, nonzeros)
    elif kind == "coo":
        cusparse.coo_set_strided_batch(matrix, 3, nonzeros)
    assert cusparse.sp_mat_get_strided_batch(matrix) == (1 if kind == "csc" else 3)
    for attribute in SpMatAttribute:
        dtype = cusparse.get_sp_mat_attribute_dtype(attribute)
        value, back = np.ones(1, dtype), np.zeros(1, dtype)
        try:
            cusparse.sp_mat_set_attribute(matrix, attribute, value, value.nbytes)
        except errors.cuSPARSEError as error:
            # Those that this cuSPARSE does not know yet.
            assert error.status is Status.INVALID_VALUE
            assert attribute > SpMatAttribute.DIAG_TYPE
            continue
        cusparse.sp_mat_get_attribute(matrix, attribute, back, back.nbytes)
        assert back == value
        with pytest.raises(ValueError, match="data"):
            cusparse.sp_mat_get_attribute(matrix, attribute, back, 8)
        with pytest.raises(errors.cuSPARSEError, match="INVALID_VALUE"):
            cusparse.sp_mat_set_attribute(matrix, attribute, bytes(8), 8)
    cusparse.destroy_sp_mat(matrix)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("const", ["", "const_"])
def test_blocks_and_slices(const: str) -> None:
    index = cusparse.IndexType.INDEX_32I
    types = (index, index, 0, CUDA_R_32F)
    slices = getattr(cusparse, f"create_{const}sliced_ell")
    matrix = slices(100, 50, 70, 96, 8, OFFSETS, INDICES, VALUES, *types)
    assert cusparse.sp_mat_get_size(matrix) == (100, 50, 70)
    assert cusparse.sp_mat_get_format(matrix) == cusparse.Format.SLICED_ELLPACK
    cusparse.destroy_sp_mat(matrix)
    blocks = getattr(cusparse, f"create_{const}bsr")
    matrix = blocks(10, 20, 30, 4, 4, OFFSETS, INDICES, VALUES, *types, cusparse.Order.ROW)
    assert cusparse.sp_mat_get_format(matrix) == cusparse.Format.BSR
    if not const:
        cusparse.bsr_set_strided_batch(matrix, 2, 11, 30, 30 * 16)
        assert cusparse.sp_mat_get_strided_batch(matrix) == 2
    cusparse.destroy_sp_mat(matrix)


@pytest.mark.usefixtures("library")
def test_a_dense_batch() -> None:
    matrix = cusparse.create_dn_mat(9, 7, 11, VALUES, CUDA_R_32F, cusparse.Order.COL)
    cusparse.dn_mat_set_strided_batch(matrix, 5, 77)
    assert cusparse.dn_mat_get_strided_batch(matrix) == (5, 77)
    cusparse.destroy_dn_mat(matrix)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("name", "members"),
    [
        ("type", cusparse.MatrixType),
        ("fill_mode", cusparse.FillMode),
        ("diag_type", cusparse.DiagType),
        ("index_base", cusparse.IndexBase),
    ],
)
def test_legacy_descriptor(name: str, members: Any) -> None:
    descriptor = cusparse.create_mat_descr()
    try:
        assert cusparse.get_mat_type(descriptor) == cusparse.MatrixType.GENERAL
        for member in members:
            getattr(cusparse, f"set_mat_{name}")(descriptor, member)
            assert getattr(cusparse, f"get_mat_{name}")(descriptor) == member
    finally:
        cusparse.destroy_mat_descr(descriptor)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("kind", ["sp_sv", "sp_sm", "sp_gemm"])
def test_states_of_steps(kind: str) -> None:
    descriptor = getattr(cusparse, f"{kind}_create_descr")()
    assert descriptor
    getattr(cusparse, f"{kind}_destroy_descr")(descriptor)


@pytest.mark.usefixtures("library")
def test_texts_of_statuses() -> None:
    for status in Status:
        assert cusparse.get_error_name(status) == f"CUSPARSE_STATUS_{status.name}"
        assert cusparse.get_error_string(status)
        if status:
            start = f"CUSPARSE_STATUS_{status.name} ({int(status)}): "
            assert str(errors.cuSPARSEError(status)).startswith(start)
    assert "unrecognized" in cusparse.get_error_name(12345)


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: cusparse.create_dn_vec(-1, VALUES, 0), errors.cuSPARSEError, "INVALID_VALUE"),
        (lambda: cusparse.create_dn_vec(1, VALUES, 0.5j), TypeError, "value_type"),
        (lambda: cusparse.create_dn_vec(2**63, VALUES, 0), OverflowError, "size"),
        (lambda: cusparse.sp_mv(*[0] * 10), errors.cuSPARSEError, ""),
        (lambda: cusparse.get_sp_mat_attribute_dtype(99), ValueError, "99"),
        (lambda: cusparse.ccsrilu02_buffer_size_ext(*[1] * 8), errors.FunctionNotFoundError, ""),
        (lambda: cusparse.set_color_algs(1, 0), errors.FunctionNotFoundError, "12.0"),
        (
            lambda: cusparse.sp_gemm_estimate_memory_buffersize3(*[0] * 11, 0.5),
            *(errors.cuSPARSEError, "SpGEMM_estimateMemory: CUSPARSE_STATUS_(INVALID|NOT_INIT)"),
        ),
        (
            lambda: cusparse.sp_gemm_estimate_memory_buffersize2(*[0] * 11, 0.5, 16, 0),
            *(errors.cuSPARSEError, "SpGEMM_estimateMemory: CUSPARSE_STATUS_(INVALID|NOT_INIT)"),
        ),
        (
            lambda: cusparse.ccsr2csr_compress(*[0] * 3, 1, *[0] * 8, 1 + 2j),
            *(errors.cuSPARSEError, "NOT_INITIALIZED"),
        ),
        (lambda: cusparse.znnz_compress(*[0] * 2, 1, *[0] * 4, "1"), TypeError, "tol"),
    ],
)
def test_bad_arguments(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text or ".") as caught:
        call()
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)


# What crashes in the library if it is NULL, by function without the type's letter.
CRASHING = {
    "{sdcz}gemvi_buffer_size": {"handle"},
    "{sdcz}gtsv2_buffer_size_ext": {"handle"},
    "{sdcz}gtsv2_nopivot": {"handle"},
    "{sdcz}csric02": {"descr_a", "info"},
    "{sdcz}bsrilu02_analysis": {"descr_a", "info"},
    "{sdcz}bsrsm2_solve": {"descr_a", "info"},
    "{sdcz}bsrxmv": {"descr_a"},
    "{sdcz}csrcolor": {"descr_a", "fraction_to_color"},
    "{sdcz}nnz": {"descr_a"},
    "{sdcz}nnz_compress": {"descr"},
    "{sdcz}csru2csr_buffer_size_ext": {"info"},
    "{sd}prune_csr2csr": {"descr_a", "descr_c"},
    "{sd}prune_csr2csr_nnz_by_percentage": {"descr_a", "descr_c", "info"},
    "{sd}prune_dense2csr_nnz": {"descr_c"},
    "{sd}prune_dense2csr_by_percentage_buffer_size_ext": {"info"},
    "{x}csrsort": {"descr_a"},
    "dn_vec_get_values": {"dn_vec_descr"},
    "const_dn_vec_get_values": {"dn_vec_descr"},
    "sp_mm_op_destroy_plan": {"plan"},
    "sp_mv_op_destroy_descr": {"desc"},
}


@pytest.mark.parametrize("pattern", CRASHING)
def test_null_is_refused_where_the_library_would_crash(pattern: str) -> None:
    letters, _, rest = pattern.removeprefix("{").rpartition("}")
    for name in [letter + rest for letter in letters] or [rest]:
        function = getattr(cusparse, name)
        parameters = inspect.signature(function).parameters
        for null in CRASHING[pattern]:
            arguments = [0 if parameter == null else 1 for parameter in parameters]
            with pytest.raises(ValueError, match=rf"{null}.*NULL"):
                function(*arguments)


@pytest.mark.usefixtures("library")
def test_log_messages(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    messages: list[tuple[int, str, str]] = []
    cusparse.logger_set_level(5)
    try:
        cusparse.logger_open_file(str(tmp_path / "log"))
        cusparse.logger_set_callback(lambda *message: messages.append(message))
        cusparse.destroy_dn_vec(cusparse.create_dn_vec(5, VALUES, CUDA_R_32F))
        assert messages[0][:2] == (5, "cusparseCreateDnVec")
        assert "size[in]=5" in messages[0][2]
        with caplog.at_level(logging.DEBUG):
            cusparse.logger_set_callback(logging.getLogger("sparse"))
            cusparse.destroy_dn_vec(cusparse.create_dn_vec(6, VALUES, CUDA_R_32F))
        assert "size[in]=6" in caplog.text
        cusparse.logger_set_callback(None)
        cusparse.destroy_dn_vec(cusparse.create_dn_vec(7, VALUES, CUDA_R_32F))
        for size in (6, 7):
            assert not any(f"size[in]={size}" in message for _, _, message in messages)
        assert "size[in]=7" not in caplog.text
    finally:
        cusparse.logger_set_level(0)
    assert "size[in]=7" in (tmp_path / "log").read_text()


@pytest.mark.parametrize("cuda_major", [12, 13])
def test_version_and_what_needs_a_gpu(cuda_major: int) -> None:
    file = library_file("cusparse", cuda_major)
    settings = {"GPUMATH_CUSPARSE_PATH": file, "CUDA_VISIBLE_DEVICES": "-1"}
    found, expected, status = in_fresh_process(
        "cusparse.version_and_what_needs_a_gpu", str(file), settings=settings
    )
    assert found == expected
    assert found[0] == 12
    assert status == "NOT_INITIALIZED"


# cuSPARSE 12.`MINOR`: one symbol, whose list of arguments changed in 12.8.
SOURCE = """
#include <stddef.h>
#include <stdint.h>
#include <string.h>
int cusparseGetProperty(int which, int *value) {
    *value = which == 0 ? 12 : which == 1 ? MINOR : 0;
    return 0;
}
#if MINOR >= 8
int cusparseSpMVOp_bufferSize(void *h, int op, void *a, void *x, void *y, void *z,
                              int type, int alg, size_t *size) {
    *size = 1000 * (size_t)type + alg; return 0; }
int cusparseSpMVOp_createDescr(void *h, intptr_t *d, int op, void *a, void *x, void *y, void *z,
                               int type, int alg, void *buffer) {
    *d = (intptr_t)buffer + 1000 * type + alg; return 0; }
#else
int cusparseSpMVOp_bufferSize(void *h, int op, void *a, void *x, void *y, void *z, int type,
                              size_t *size) { *size = 2000 * (size_t)type; return 0; }
int cusparseSpMVOp_createDescr(void *h, intptr_t *d, int op, void *a, void *x, void *y, void *z,
                               int type, void *buffer) {
    *d = (intptr_t)buffer + 2000 * type; return 0; }
#endif
int cusparseSpMVOp_setGlobalUserData(void *h, void *plan, const char *name, void *data, size_t n) {
    return name == NULL ? 3 : strcmp(name, "scale") ? 10 : 0; }
"""


def built(folder: Path, minor: int) -> Path:
    """Compile the stand-in for cuSPARSE 12.`minor`, or skip."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler named cc")
    (folder / "sparse.c").write_text(SOURCE)
    library = folder / "libcusparse.so.12"
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-DMINOR={minor}", "-o", library, folder / "sparse.c"],
        check=True,
    )
    return library


def test_the_name_of_a_global_variable_is_text_or_where_that_is(tmp_path: Path) -> None:
    statuses = in_fresh_process(
        "cusparse.the_name_of_a_global_variable",
        settings={"GPUMATH_CUSPARSE_PATH": built(tmp_path, 8)},
    )
    assert statuses == {"text": 0, "address": 0, "other": 10, "none": 3}


@pytest.mark.parametrize("minor", [7, 8])
def test_the_signature_that_changed_under_its_symbol(tmp_path: Path, minor: int) -> None:
    library = built(tmp_path, minor)
    sizes, descriptors = in_fresh_process(
        "cusparse.the_signature_that_changed_under_its_symbol",
        settings={"GPUMATH_CUSPARSE_PATH": library},
    )
    if minor == 8:
        assert (sizes, descriptors) == ([7000, 7002], [7000, 7002])
    else:
        assert (sizes[0], descriptors) == (14000, [14000])
        assert "cuSPARSE 12.7 has no choice" in sizes[1]


@pytest.mark.usefixtures("library")
def test_scalars_can_be_any_integers() -> None:
    descriptor = cusparse.create_dn_vec(np.int16(3), np.uint64(VALUES), np.int8(0))
    assert cusparse.dn_vec_get(dn_vec_descr=np.uint64(descriptor)) == (3, VALUES, 0)
    cusparse.destroy_dn_vec(descriptor)
