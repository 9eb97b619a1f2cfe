"""`gpumath.bindings.cublasLt` with the real library, without a GPU: descriptors, errors, logs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gpumath.bindings import cublas, cublasLt
from tests.helpers.cublas import without_gpu
from tests.helpers.cuda_wheels import in_fresh_process

MAJORS = pytest.mark.parametrize("cuda_major", [12, 13])
# By the name of the functions: the enum, and what a descriptor is made with.
DESCRIPTORS = {
    "matrix_layout": ("MatrixLayoutAttribute", "0, 4, 4, 4"),
    "matmul_desc": ("MatmulDescAttribute", "68, 0"),
    "matmul_preference": ("MatmulPreferenceAttribute", ""),
    "matrix_transform_desc": ("MatrixTransformDescAttribute", "0"),
    "emulation_desc": ("EmulationDescAttribute", ""),
}
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
ATTRIBUTES = """
import numpy as np
Attribute = getattr(cublasLt, {enum!r})
dtype_of = getattr(cublasLt, "get_{name}_attribute_dtype")
written = np.zeros(1, np.uint64)
def put(descriptor, attribute, value):
    cell = np.array(value, dtype_of(attribute))
    cublasLt.{name}_set_attribute(descriptor, attribute, cell.ctypes.data, cell.nbytes)
def get(descriptor, attribute):
    cell = np.zeros(1, dtype_of(attribute))
    cublasLt.{name}_get_attribute(
        descriptor, attribute, cell.ctypes.data, cell.nbytes, written.ctypes.data
    )
    assert written[0] == cell.nbytes
    return cell[0].item()
def size(descriptor, attribute):
    try:
        cublasLt.{name}_get_attribute(descriptor, attribute, 0, 0, written.ctypes.data)
    except cublasLt.cuBLASLtError as error:
        return error.status.name
    return int(written[0])
descriptor = cublasLt.{name}_create({arguments})
"""


def prepared(name: str) -> str:
    """Return code that makes a descriptor and functions for its attributes."""
    enum, arguments = DESCRIPTORS[name]
    return ATTRIBUTES.format(name=name, enum=enum, arguments=arguments)


@pytest.mark.parametrize("name", DESCRIPTORS)
@MAJORS
def test_types_have_the_sizes_that_the_library_tells(cuda_major: int, name: str) -> None:
    if (cuda_major, name) == (12, "emulation_desc"):
        pytest.skip("cublasLt of CUDA 12 has no emulation descriptors")
    code = f"""{prepared(name)}
result = {{a.name: [size(descriptor, a), np.dtype(dtype_of(a)).itemsize] for a in Attribute}}
cublasLt.{name}_destroy(descriptor)
"""
    found = without_gpu(cuda_major, code)
    refused = {attribute for attribute, (size, _) in found.items() if size == "INVALID_VALUE"}
    assert refused <= (ONLY_13 if cuda_major == 12 else ONLY_12)
    wrong = {a: sizes for a, sizes in found.items() if a not in refused and len({*sizes}) > 1}
    if cuda_major == 12:  # it knows the number as something that its header does not name
        wrong.pop("EMULATION_DESCRIPTOR", None)
    assert not wrong


@MAJORS
def test_settings_of_an_algorithm(cuda_major: int) -> None:
    code = """
import numpy as np
cublasLt.get_version()
algo, written = cublasLt.MatmulAlgo(), np.zeros(1, np.uint64)
result = {}
for attribute in cublasLt.MatmulAlgoConfigAttribute:
    dtype = cublasLt.get_matmul_algo_config_attribute_dtype(attribute)
    cublasLt.matmul_algo_config_get_attribute(algo, attribute, 0, 0, written.ctypes.data)
    cell, again = np.array(3, dtype), np.zeros(1, dtype)
    try:
        cublasLt.matmul_algo_config_set_attribute(algo, attribute, cell.ctypes.data, cell.nbytes)
    except cublasLt.cuBLASLtError as error:
        assert (attribute.name, error.status.name) == ("ID", "INVALID_VALUE")
    cublasLt.matmul_algo_config_get_attribute(
        algo.ptr, attribute, again.ctypes.data, again.nbytes, 0
    )
    result[attribute.name] = [int(written[0]), cell.nbytes, int(again[0])]
"""
    found = without_gpu(cuda_major, code)
    assert len(found) == 9
    for name, (told, size, value) in found.items():
        assert told == size
        assert value == (0 if name == "ID" else 3)  # matmul_algo_init alone sets the id


@MAJORS
def test_layouts_hold_what_is_set(cuda_major: int) -> None:
    rng = np.random.default_rng()
    rows, columns, batch = (int(n) for n in rng.integers(1, 2**20, 3))
    offset, ld = int(rng.integers(2**33, 2**40)), rows + int(rng.integers(0, 100))
    code = f"""{prepared("matrix_layout")}
layout = cublasLt.matrix_layout_create(cublas.DataType.R_16BF, {rows}, {columns}, {ld})
put(layout, Attribute.BATCH_COUNT, {batch})
put(layout, Attribute.STRIDED_BATCH_OFFSET, {offset})
put(layout, Attribute.ORDER, cublasLt.Order.ROW)
result = [get(layout, a) for a in (
    Attribute.TYPE, Attribute.ROWS, Attribute.COLS, Attribute.LD, Attribute.BATCH_COUNT,
    Attribute.STRIDED_BATCH_OFFSET, Attribute.ORDER,
)]
cublasLt.matrix_layout_destroy(layout)
"""
    found = without_gpu(cuda_major, code)
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
    code = f"""{prepared(name)}
values = {plain!r}
for attribute, value in values.items():
    put(descriptor, Attribute[attribute], value)
result = {{attribute: get(descriptor, Attribute[attribute]) for attribute in values}}
cublasLt.{name}_destroy(descriptor)
"""
    assert without_gpu(cuda_major, code) == plain


@MAJORS
def test_descriptors_in_memory_of_the_caller(cuda_major: int) -> None:
    code = f"""{prepared("matmul_desc")}
memory = np.zeros(64, np.uint64)
cublasLt.matmul_desc_init_internal(memory.ctypes.data, memory.nbytes, 70, 1)
result = [get(memory.ctypes.data, Attribute.COMPUTE_TYPE), get(memory.ctypes.data, 1)]
try:
    cublasLt.matmul_desc_init_internal(memory.ctypes.data, 8, 70, 1)
except cublasLt.cuBLASLtError as error:
    result.append(error.status.name)
"""
    assert without_gpu(cuda_major, code) == [70, 1, "ALLOC_FAILED"]


def test_descriptors_that_cuda_13_has() -> None:
    code = f"""{prepared("emulation_desc")}
put(descriptor, Attribute.STRATEGY, cublas.EmulationStrategy.EAGER)
put(descriptor, Attribute.FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, 40)
result = [get(descriptor, Attribute.STRATEGY), get(descriptor, 3)]
cublasLt.emulation_desc_destroy(descriptor)
groups = cublasLt.grouped_matrix_layout_create(0, 3, 0, 0, 0)
count = np.zeros(1, np.int32)
cublasLt.matrix_layout_get_attribute(groups, 5, count.ctypes.data, 4, 0)
cublasLt.matrix_layout_destroy(groups)
"""
    assert without_gpu(13, code) == [cublas.EmulationStrategy.EAGER, 40]
    absent = """
result = []
for call in ("emulation_desc_create()", "matmul_algo_check_for_stream(*[1] * 9)"):
    try:
        eval(f"cublasLt.{call}")
    except errors.FunctionNotFoundError as error:
        result.append([error.since, error.until])
"""
    assert without_gpu(12, absent) == [["13.2", "13.5"], ["13.5", "13.5"]]


@MAJORS
def test_failures_become_exceptions(cuda_major: int) -> None:
    code = f"""{prepared("matrix_layout")}
import pickle
def outcome(function, *arguments):
    try:
        function(*arguments)
    except cublasLt.cuBLASLtError as error:
        assert str(pickle.loads(pickle.dumps(error))) == str(error)
        return [error.function, error.status.name]
result = [
    outcome(cublasLt.create),
    outcome(cublasLt.matrix_layout_set_attribute, descriptor, 1, written.ctypes.data, 8),
    outcome(cublasLt.matrix_layout_get_attribute, descriptor, 999, written.ctypes.data, 8, 0),
    outcome(cublasLt.matmul, *[0] * 16),
    outcome(cublasLt.matmul_algo_get_ids, 0, 68, 0, 0, 0, 0, 0, 2**62),
    outcome(cublasLt.matmul_algo_get_ids, 0, 68, 0, 0, 0, 0, 0, -1),
    outcome(cublasLt.logger_open_file, "/there/is/no/such/folder/file"),
]
"""
    assert without_gpu(cuda_major, code) == [
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
    code = f"""
result = [cublasLt.heuristics_cache_get_capacity()]
cublasLt.heuristics_cache_set_capacity({capacity})
result.append(cublasLt.heuristics_cache_get_capacity())
"""
    before, after = without_gpu(cuda_major, code)
    assert before > 0
    assert capacity <= after < 2 * capacity + 100  # it rounds up


@MAJORS
def test_log_messages_reach_python(cuda_major: int, tmp_path: object) -> None:
    code = f"""
import io, logging
# Otherwise the messages also go to stdout.
cublasLt.logger_open_file({str(tmp_path)!r} + "/log")
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
def fail(*message):
    raise KeyError(message)
cublasLt.logger_set_callback(fail)
layout = cublasLt.matrix_layout_create(0, 12, 34, 12)
cublasLt.logger_set_callback(None)
cublasLt.matrix_layout_destroy(layout)
cublasLt.logger_set_level(0)
cublasLt.logger_set_mask(0)
cublasLt.logger_force_disable()
result += [raised, len(seen)]
"""
    (level, function, text), logged, raised, count = without_gpu(cuda_major, code)
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
    view["algo"]["data"] = data
    assert [int(result.workspace_size) for result in results] == sizes.tolist()
    assert results[2].state == 15
    assert results[4].waves_count == 0.5
    algo = results[3].algo
    assert isinstance(algo, cublasLt.MatmulAlgo)
    assert int(algo) == algo.ptr == results.ptr + 3 * 96
    assert algo.data == tuple(data[3])
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
    code = """
from gpumath.bindings import cublasLt
before = ["MatmulTile" in vars(cublasLt), "numpy" in sys.modules]
tile = cublasLt.MatmulTile.TILE_128x256
result = [before, tile.value, cublasLt.MatmulTile is vars(cublasLt)["MatmulTile"],
          "MatmulTile" in dir(cublasLt)]
"""
    before, value, *there = in_fresh_process(code)
    assert before == [False, False]
    assert value == 23
    assert there == [True, True]
