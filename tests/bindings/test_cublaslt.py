"""`gpumath.bindings.cublasLt` with the real library, without a GPU: descriptors, errors, logs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gpumath.bindings import cublas, cublasLt
from tests.helpers.cublas import without_gpu
from tests.helpers.cuda_wheels import in_fresh_process

MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])
# What tests/programs/cublaslt.py can make, by the name of the functions.
DESCRIPTORS = [
    *("matrix_layout", "matmul_desc", "matmul_preference"),
    *("matrix_transform_desc", "emulation_desc"),
]
# What a library refuses, for only others know it.
ONLY_12 = {
    "ATOMIC_SYNC_NUM_CHUNKS_D_ROWS",
    "ATOMIC_SYNC_NUM_CHUNKS_D_COLS",
    "ATOMIC_SYNC_IN_COUNTERS_POINTER",
    "ATOMIC_SYNC_OUT_COUNTERS_POINTER",
}
ONLY_13 = {
    "ALPHA_BATCH_STRIDE",
    "BATCH_INVARIANCE_FLAGS",
    "BETA_BATCH_STRIDE",
    "EMULATION_DESCRIPTOR",
    "GROUPED_AVERAGE_REDUCTION_DIM",
    "GROUPED_COLS_ARRAY",
    "GROUPED_DESC_D_AVERAGE_COLS",
    "GROUPED_DESC_D_AVERAGE_ROWS",
    "GROUPED_LD_ARRAY",
    "GROUPED_LD_ARRAY_INTEGER_WIDTH",
    "GROUPED_ROWS_ARRAY",
    "GROUPED_ROWS_COLS_ARRAY_INTEGER_WIDTH",
}


@pytest.mark.parametrize("name", DESCRIPTORS)
@MAJORS
def test_types_have_the_sizes_that_the_library_tells(cuda_major: int, name: str) -> None:
    if (cuda_major, name) == (12, "emulation_desc"):
        pytest.skip("cublasLt of CUDA 12 has no emulation descriptors")
    found = without_gpu(cuda_major, "cublaslt.types_have_the_sizes_that_the_library_tells", name)
    refused = {attribute for attribute, (size, _) in found.items() if size == "INVALID_VALUE"}
    assert refused <= (ONLY_13 if cuda_major == 12 else ONLY_12)
    wrong = {a: sizes for a, sizes in found.items() if a not in refused and len({*sizes}) > 1}
    if cuda_major == 12:  # it knows the number as something that its header does not name
        wrong.pop("EMULATION_DESCRIPTOR", None)
    assert not wrong


@MAJORS
def test_settings_of_an_algorithm(cuda_major: int) -> None:
    found = without_gpu(cuda_major, "cublaslt.settings_of_an_algorithm")
    assert len(found) == 9
    for name, (told, size, value) in found.items():
        assert told == size
        assert value == (0 if name == "ID" else 3)  # matmul_algo_init alone sets the id


@MAJORS
def test_layouts_hold_what_is_set(cuda_major: int) -> None:
    rng = np.random.default_rng()
    rows, columns, batch = (int(n) for n in rng.integers(1, 2**20, 3))
    offset, ld = int(rng.integers(2**33, 2**40)), rows + int(rng.integers(0, 100))
    found = without_gpu(
        cuda_major, "cublaslt.layouts_hold_what_is_set", rows, columns, ld, batch, offset
    )
    expected = [cublas.DataType.R_16BF, rows, columns, ld, batch, offset, cublasLt.Order.ROW]
    assert found == expected


@pytest.mark.parametrize(
    ("name", "values"),
    [
        (
            "matmul_desc",
            {
                "TRANSA": cublas.Operation.T,
                "TRANSB": cublas.Operation.C,
                "EPILOGUE": cublasLt.Epilogue.GELU_AUX_BIAS,
                "BIAS_POINTER": 0x7F0000001230,
                "FAST_ACCUM": 1,
                "EPILOGUE_AUX_LD": 2**35,
                "POINTER_MODE": cublasLt.PointerMode.ALPHA_DEVICE_VECTOR_BETA_HOST,
                "SM_COUNT_TARGET": 17,
            },
        ),
        (
            "matmul_preference",
            {
                "SEARCH_MODE": cublasLt.MatmulSearch.LIMITED_BY_ALGO_ID,
                "MAX_WORKSPACE_BYTES": 2**33 + 5,
                "MAX_WAVES_COUNT": 2.5,
                "REDUCTION_SCHEME_MASK": cublasLt.ReductionScheme.MASK,
                "MIN_ALIGNMENT_D_BYTES": 64,
            },
        ),
        ("matrix_transform_desc", {"TRANSA": cublas.Operation.T, "POINTER_MODE": 1}),
    ],
)
@MAJORS
def test_descriptors_hold_what_is_set(cuda_major: int, name: str, values: dict[str, float]) -> None:
    plain = {
        key: value if isinstance(value, float) else int(value) for key, value in values.items()
    }
    assert without_gpu(cuda_major, "cublaslt.descriptors_hold_what_is_set", name, plain) == plain


@MAJORS
def test_descriptors_in_memory_of_the_caller(cuda_major: int) -> None:
    assert without_gpu(cuda_major, "cublaslt.descriptors_in_memory_of_the_caller") == [
        70,
        1,
        "ALLOC_FAILED",
    ]


def test_descriptors_that_cuda_13_has() -> None:
    assert without_gpu(13, "cublaslt.descriptors_that_cuda_13_has") == [
        cublas.EmulationStrategy.EAGER,
        40,
    ]
    assert without_gpu(12, "cublaslt.functions_that_cuda_12_lacks") == [
        ["13.2", "13.5"],
        ["13.5", "13.5"],
    ]


@MAJORS
def test_failures_become_exceptions(cuda_major: int) -> None:
    assert without_gpu(cuda_major, "cublaslt.failures_become_exceptions") == [
        ["cublasLtCreate", "NOT_INITIALIZED"],
        ["cublasLtMatrixLayoutSetAttribute", "INVALID_VALUE"],
        ["cublasLtMatrixLayoutGetAttribute", "INVALID_VALUE"],
        ["cublasLtMatmul", "NOT_INITIALIZED"],
        ["cublasLtMatmulAlgoGetIds", "NOT_INITIALIZED"],
        ["cublasLtMatmulAlgoGetIds", "NOT_INITIALIZED"],
        ["cublasLtLoggerOpenFile", "INVALID_VALUE"],
    ]


@MAJORS
def test_the_cache_of_searches_has_a_capacity(cuda_major: int) -> None:
    capacity = int(np.random.default_rng().integers(1, 10000))
    before, after = without_gpu(
        cuda_major, "cublaslt.the_cache_of_searches_has_a_capacity", capacity
    )
    assert before > 0
    assert capacity <= after < 2 * capacity + 100  # it rounds up


@MAJORS
def test_log_messages_reach_python(cuda_major: int, tmp_path: object) -> None:
    (level, function, text), logged, raised, count = without_gpu(
        cuda_major, "cublaslt.log_messages_reach_python", str(tmp_path)
    )
    assert (level, function) == (5, "cublasLtMatrixLayoutCreate")
    assert "rows=12 cols=34" in text
    assert "DEBUG cublasLtMatrixLayoutDestroy: " in logged
    assert {*raised} == {"KeyError"}
    assert count < 10


@MAJORS
def test_log_messages_of_a_call_inside_a_conversion(cuda_major: int, tmp_path: object) -> None:
    # The extension calls __index__, which calls a function that releases the GIL and then logs.
    code = f"""
cublasLt.logger_open_file({str(tmp_path)!r} + "/log")
cublasLt.logger_set_level(5)
seen = []
cublasLt.logger_set_callback(lambda *message: seen.append(message[1]))
class Number:
    def __index__(self):
        try:
            cublasLt.create()
        except errors.cuBLASLtError:
            return 7
algo = cublasLt.MatmulHeuristicResult()
algo.state = Number()
cublasLt.logger_set_callback(None)
cublasLt.logger_force_disable()
result = [algo.state, seen[0]]
"""
    assert without_gpu(cuda_major, code) == [7, "cublasLtCreate"]


def test_algorithms_are_arrays_of_structs() -> None:
    rng = np.random.default_rng()
    results = cublasLt.MatmulHeuristicResult(5)
    dtype = cublasLt.matmul_heuristic_result_dtype
    assert dtype.itemsize == results.itemsize == 96
    assert cublasLt.matmul_algo_dtype.itemsize == cublasLt.MatmulAlgo().nbytes == 64
    view = np.asarray(results)
    sizes = rng.integers(1, 2**40, 5)
    view["workspace_size"] = sizes
    view["state"][2] = 15
    view["waves_count"] = 0.5
    data = rng.integers(0, 2**62, (5, 8))
    view["algo"]["data_"] = data
    assert [int(result.workspace_size) for result in results] == sizes.tolist()
    assert results[2].state == 15
    assert results[4].waves_count == 0.5
    algo = results[3].algo
    assert isinstance(algo, cublasLt.MatmulAlgo)
    assert int(algo) == algo.ptr == results.ptr + 3 * 96
    assert algo.data_ == tuple(data[3])
    again = pickle.loads(pickle.dumps(results))
    assert again == results
    assert again.ptr != results.ptr
    assert cublasLt.MatmulHeuristicResult.from_data(view) == results


def test_an_attribute_that_is_none() -> None:
    with pytest.raises(ValueError, match="999 is no MatmulDescAttribute"):
        cublasLt.get_matmul_desc_attribute_dtype(999)
    with pytest.raises(TypeError):
        cublasLt.get_matmul_desc_attribute_dtype("EPILOGUE")  # type: ignore[arg-type]  # wrong
    with pytest.raises(AttributeError, match="no_such_name"):
        cublasLt.no_such_name  # noqa: B018 - the module makes some names when they are asked for


def test_what_takes_long_to_import_waits() -> None:
    before, value, *there = in_fresh_process("lazy_enums.what_takes_long_to_import_waits")
    assert before == [False, False]
    assert value == 23
    assert there == [True, True]
