"""`gpumath.bindings.cublasLt` on a GPU: products as they are described, searched for and run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core, cublasLt, errors
from gpumath.bindings.cublas import ComputeType, DataType, Operation, Status
from gpumath.bindings.cublasLt import Epilogue, MatmulAlgoCapAttribute, MatmulAlgoConfigAttribute
from tests.bindings.blas_cases import op
from tests.helpers.cublaslt import STORAGE, WORKSPACE, Light, decode, encode, light

pytestmark = pytest.mark.gpu
M, N, K = 64, 48, 80
F32 = (ComputeType.COMPUTE_32F, DataType.R_32F)


@pytest.fixture
def lt() -> Iterator[Light]:
    with light() as lent:
        yield lent


def numbers(kind: DataType, *shape: int) -> np.ndarray:
    """Return random numbers of a type, in column-major order."""
    rng = np.random.default_rng()
    if kind in (DataType.R_8I, DataType.R_32I, DataType.R_8F_E4M3):
        return np.asfortranarray(encode(rng.integers(-8, 9, shape), kind))
    values: Any = rng.standard_normal(shape)
    if STORAGE[kind].kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return np.asfortranarray(encode(values, kind))


def assert_near(result: Any, expected: Any, error: float) -> None:
    """Compare in the norm."""
    assert np.shape(result) == np.shape(expected)
    assert np.linalg.norm(np.asarray(result) - expected) <= error * np.linalg.norm(expected)


TYPES = [
    # Type of A and B, of C and D, of alpha and beta, compute type, relative error.
    (DataType.R_32F, DataType.R_32F, DataType.R_32F, ComputeType.COMPUTE_32F, 1e-5),
    (DataType.R_32F, DataType.R_32F, DataType.R_32F, ComputeType.COMPUTE_32F_FAST_TF32, 2e-3),
    (DataType.R_64F, DataType.R_64F, DataType.R_64F, ComputeType.COMPUTE_64F, 1e-13),
    (DataType.C_32F, DataType.C_32F, DataType.C_32F, ComputeType.COMPUTE_32F, 1e-5),
    (DataType.C_64F, DataType.C_64F, DataType.C_64F, ComputeType.COMPUTE_64F, 1e-13),
    (DataType.R_16F, DataType.R_16F, DataType.R_32F, ComputeType.COMPUTE_32F, 2e-3),
    (DataType.R_16F, DataType.R_32F, DataType.R_32F, ComputeType.COMPUTE_32F, 1e-5),
    (DataType.R_16BF, DataType.R_16BF, DataType.R_32F, ComputeType.COMPUTE_32F, 1e-2),
]


@pytest.mark.parametrize("transposes", ["NN", "NT", "TN", "CC"])
@pytest.mark.parametrize("types", TYPES, ids=lambda types: f"{types[0].name}-{types[3].name}")
def test_products_agree_with_numpy(lt: Light, types: tuple[Any, ...], transposes: str) -> None:
    given, made, scale, compute, error = types
    first, second = (Operation[letter] for letter in transposes)
    a = numbers(given, *((M, K) if first == 0 else (K, M)))
    b = numbers(given, *((K, N) if second == 0 else (N, K)))
    c, alpha, beta = numbers(made, M, N), 1.25, -0.5
    product = lt.product(compute, scale, TRANSA=first, TRANSB=second)
    layouts = [lt.layout(given, *a.shape), lt.layout(given, *b.shape)]
    layouts += [lt.layout(made, M, N), lt.layout(made, M, N)]
    d = lt.zeros(M * N, STORAGE[made])
    scalars = lt.host(alpha, scale), lt.host(beta, scale)
    lt.multiply(product, scalars, [lt.put(a), lt.put(b), lt.put(c), d], layouts)
    result = decode(lt.get(d, (M, N), STORAGE[made]), made)
    expected = alpha * op(decode(a, given), first) @ op(decode(b, given), second)
    assert_near(result, expected + beta * decode(c, made), error)


def test_bytes_are_multiplied_exactly(lt: Light) -> None:
    a, b = numbers(DataType.R_8I, K, M), numbers(DataType.R_8I, K, N)
    kinds = ComputeType.COMPUTE_32I, DataType.R_32I
    product = lt.product(*kinds, TRANSA=Operation.T)
    layouts = [lt.layout(DataType.R_8I, K, M), lt.layout(DataType.R_8I, K, N)]
    layouts += [lt.layout(DataType.R_32I, M, N)] * 2
    d = lt.zeros(M * N, np.int32)
    scalars = lt.host(1, DataType.R_32I), lt.host(0, DataType.R_32I)
    lt.multiply(product, scalars, [lt.put(a), lt.put(b), d, d], layouts)
    assert np.array_equal(lt.get(d, (M, N), np.int32), a.T.astype(int) @ b.astype(int))


def test_numbers_of_eight_bits_with_scales(lt: Light) -> None:
    if core.Device(0).compute_capability < (8, 9):
        pytest.skip("this GPU has no FP8")
    kind = DataType.R_8F_E4M3
    a, b = numbers(kind, K, M), numbers(kind, K, N)
    scales = [lt.put(np.array([value], np.float32)) for value in (2.0, 0.25)]
    pointers = {"A_SCALE_POINTER": scales[0], "B_SCALE_POINTER": scales[1]}
    product = lt.product(*F32, TRANSA=Operation.T, FAST_ACCUM=0, **pointers)
    layouts = [lt.layout(kind, K, M), lt.layout(kind, K, N)]
    layouts += [lt.layout(DataType.R_32F, M, N)] * 2
    d = lt.zeros(M * N, np.float32)
    scalars = lt.host(1, DataType.R_32F), lt.host(0, DataType.R_32F)
    lt.multiply(product, scalars, [lt.put(a), lt.put(b), d, d], layouts)
    expected = 0.5 * decode(a, kind).T @ decode(b, kind)
    assert_near(lt.get(d, (M, N), np.float32), expected, 1e-3)


def gelu(x: np.ndarray) -> np.ndarray:
    """Return the Gaussian error linear unit by its hyperbolic tangent."""
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


@pytest.mark.parametrize(
    "epilogue",
    ["RELU", "BIAS", "RELU_BIAS", "GELU", "GELU_BIAS", "GELU_AUX", "GELU_AUX_BIAS"],
)
def test_epilogues(lt: Light, epilogue: str) -> None:
    kind = DataType.R_16F
    a, b, bias = numbers(kind, M, K), numbers(kind, K, N), numbers(kind, M)
    attributes: dict[str, Any] = {"EPILOGUE": Epilogue[epilogue]}
    aux = lt.zeros(M * N, np.float16)
    if "BIAS" in epilogue:
        attributes["BIAS_POINTER"] = lt.put(bias)
    if "AUX" in epilogue:
        attributes |= {"EPILOGUE_AUX_POINTER": aux, "EPILOGUE_AUX_LD": M}
    product = lt.product(*F32, **attributes)
    layouts = [lt.layout(kind, M, K), lt.layout(kind, K, N), *[lt.layout(kind, M, N)] * 2]
    d = lt.zeros(M * N, np.float16)
    scalars = lt.host(0.2, DataType.R_32F), lt.host(0, DataType.R_32F)
    lt.multiply(product, scalars, [lt.put(a), lt.put(b), d, d], layouts)
    before = np.float32(0.2) * decode(a, kind) @ decode(b, kind)
    if "BIAS" in epilogue:
        before = before + decode(bias, kind)[:, None]
    after = np.maximum(before, 0) if "RELU" in epilogue else before
    after = gelu(before) if "GELU" in epilogue else after
    assert_near(lt.get(d, (M, N), np.float16).astype(float), after, 4e-3)
    if "AUX" in epilogue:
        assert_near(lt.get(aux, (M, N), np.float16).astype(float), before, 4e-3)


def test_gradient_of_a_bias(lt: Light) -> None:
    kind = DataType.R_16F
    a, b = numbers(kind, M, K), numbers(kind, K, N)
    gradient = lt.zeros(M, np.float16)
    attributes = {"EPILOGUE": Epilogue.BGRADA, "BIAS_POINTER": gradient}
    product = lt.product(*F32, **attributes)
    layouts = [lt.layout(kind, M, K), lt.layout(kind, K, N), *[lt.layout(kind, M, N)] * 2]
    d = lt.zeros(M * N, np.float16)
    scalars = lt.host(1, DataType.R_32F), lt.host(0, DataType.R_32F)
    lt.multiply(product, scalars, [lt.put(a), lt.put(b), d, d], layouts)
    wide_a, wide_b = decode(a, kind), decode(b, kind)
    assert_near(lt.get(d, (M, N), np.float16).astype(float), wide_a @ wide_b, 2e-3)
    assert_near(lt.get(gradient, M, np.float16).astype(float), wide_a.sum(1), 4e-3)


def test_a_batch_by_strides_in_the_order_of_rows(lt: Light) -> None:
    batch = 6
    rng = np.random.default_rng()
    a, b = rng.standard_normal((batch, M, K)), rng.standard_normal((batch, K, N))
    row, kind = cublasLt.Order.ROW, DataType.R_64F

    def of(rows: int, columns: int) -> int:
        batched = {"BATCH_COUNT": batch, "STRIDED_BATCH_OFFSET": rows * columns}
        return lt.layout(kind, rows, columns, columns, ORDER=row, **batched)

    product = lt.product(ComputeType.COMPUTE_64F, kind)
    d = lt.zeros(batch * M * N, np.float64)
    scalars = lt.host(1, kind), lt.host(0, kind)
    # C order, one matrix after another.
    addresses = [lt.put(a.ravel()), lt.put(b.ravel()), d, d]
    layouts = [of(M, K), of(K, N), *[of(M, N)] * 2]
    lt.multiply(product, scalars, addresses, layouts)
    assert_near(lt.get(d, batch * M * N, np.float64).reshape(batch, M, N), a @ b, 1e-13)


def test_factors_in_device_memory(lt: Light) -> None:
    kind = DataType.R_32F
    a, b, c = (numbers(kind, *shape) for shape in ((M, K), (K, N), (M, N)))
    alpha, beta = numbers(kind, 1), np.array([0.75], np.float32)
    product = lt.product(*F32, POINTER_MODE=cublasLt.PointerMode.DEVICE)
    layouts = [lt.layout(kind, M, K), lt.layout(kind, K, N), *[lt.layout(kind, M, N)] * 2]
    d = lt.zeros(M * N, np.float32)
    scalars = lt.put(alpha), lt.put(beta)
    lt.multiply(product, scalars, [lt.put(a), lt.put(b), lt.put(c), d], layouts)
    wide = [decode(each, kind) for each in (a, b, c)]
    expected = float(alpha[0]) * (wide[0] @ wide[1]) + beta[0] * wide[2]
    assert_near(lt.get(d, (M, N), np.float32), expected, 1e-5)


def test_an_algorithm_from_its_id(lt: Light) -> None:
    kind = DataType.R_16F
    types = (*F32, kind, kind, kind, kind)
    ids = cublasLt.matmul_algo_get_ids(lt.handle, *types, 100)
    assert 0 < len(ids) <= 100
    assert cublasLt.matmul_algo_get_ids(lt.handle, *types, 1) == ids[:1]
    layouts = [lt.layout(kind, M, K), lt.layout(kind, K, N), *[lt.layout(kind, M, N)] * 2]
    product = lt.product(*F32)
    a, b = numbers(kind, M, K), numbers(kind, K, N)
    scalars = lt.host(1, DataType.R_32F), lt.host(0, DataType.R_32F)
    left, right, tried = lt.put(a), lt.put(b), 0
    for algo_id in ids:
        algo = cublasLt.MatmulAlgo()
        cublasLt.matmul_algo_init(lt.handle, *types, algo_id, algo)
        assert configured(algo, MatmulAlgoConfigAttribute.ID) == algo_id
        tiles = capability(algo, MatmulAlgoCapAttribute.TILE_IDS)
        stages = capability(algo, MatmulAlgoCapAttribute.STAGES_IDS)
        if not any(
            fits(lt, product, layouts, algo, int(tile), int(stage))
            for tile in (tiles if len(tiles) else [0])
            for stage in (stages if len(stages) else [0])
        ):
            continue
        d = lt.zeros(M * N, np.float16)
        lt.multiply(product, scalars, [left, right, d, d], layouts, algo)
        found = lt.get(d, (M, N), np.float16).astype(float)
        assert_near(found, decode(a, kind) @ decode(b, kind), 4e-3)
        tried += 1
    assert tried > 0


def fits(
    lt: Light, product: int, layouts: list[int], algo: cublasLt.MatmulAlgo, tile: int, stage: int
) -> bool:
    """Set an algorithm's tile and stages, and tell whether it can do a product."""
    configure(algo, MatmulAlgoConfigAttribute.TILE_ID, tile)
    configure(algo, MatmulAlgoConfigAttribute.STAGES_ID, stage)
    assert configured(algo, MatmulAlgoConfigAttribute.TILE_ID) == tile
    result = cublasLt.MatmulHeuristicResult()
    try:
        cublasLt.matmul_algo_check(lt.handle, product, *layouts, algo, result)
    except errors.cuBLASLtError as error:
        reasons = (Status.NOT_SUPPORTED, Status.INVALID_VALUE, Status.ARCH_MISMATCH)
        assert error.status in reasons
        return False
    return result.state == Status.SUCCESS and result.workspace_size <= WORKSPACE


def capability(algo: cublasLt.MatmulAlgo, attribute: int) -> np.ndarray:
    """Return what an algorithm can do; the length is what the library tells."""
    written = np.zeros(1, np.uint64)
    cublasLt.matmul_algo_cap_get_attribute(algo, attribute, 0, 0, written.ctypes.data)
    dtype = np.dtype(cublasLt.get_matmul_algo_cap_attribute_dtype(attribute))
    assert written[0] % dtype.itemsize == 0
    values = np.zeros(int(written[0]) // dtype.itemsize, dtype)
    if values.size:
        cublasLt.matmul_algo_cap_get_attribute(
            algo, attribute, values.ctypes.data, values.nbytes, written.ctypes.data
        )
    return values


def configure(algo: cublasLt.MatmulAlgo, attribute: int, value: int) -> None:
    """Set a setting of an algorithm."""
    cell = np.array(value, cublasLt.get_matmul_algo_config_attribute_dtype(attribute))
    cublasLt.matmul_algo_config_set_attribute(algo, attribute, cell.ctypes.data, cell.nbytes)


def configured(algo: cublasLt.MatmulAlgo, attribute: int) -> int:
    """Return a setting of an algorithm."""
    cell = np.zeros(1, cublasLt.get_matmul_algo_config_attribute_dtype(attribute))
    cublasLt.matmul_algo_config_get_attribute(algo, attribute, cell.ctypes.data, cell.nbytes, 0)
    return int(cell[0])


def test_what_an_algorithm_can_do_has_the_size_that_is_told(lt: Light) -> None:
    kind = DataType.R_16F
    layouts = [lt.layout(kind, M, K), lt.layout(kind, K, N), *[lt.layout(kind, M, N)] * 2]
    algo = lt.search(lt.product(*F32), layouts, count=1)[0].algo
    arrays = {MatmulAlgoCapAttribute.TILE_IDS, MatmulAlgoCapAttribute.STAGES_IDS}
    answered = {}
    for attribute in MatmulAlgoCapAttribute:
        try:
            answered[attribute] = capability(algo, attribute)
        except errors.cuBLASLtError as error:  # of another release
            assert error.status is Status.INVALID_VALUE
    assert len(answered) >= 18
    assert {attribute for attribute, values in answered.items() if len(values) != 1} <= arrays
    assert answered[MatmulAlgoCapAttribute.EPILOGUE_MASK][0] & Epilogue.DEFAULT
    assert answered[MatmulAlgoCapAttribute.POINTER_MODE_MASK][0] & cublasLt.PointerModeMask.HOST
    assert answered[MatmulAlgoCapAttribute.MIN_ALIGNMENT_A_BYTES][0] >= 1


def test_a_search_keeps_to_its_preference(lt: Light) -> None:
    kind = DataType.R_32F
    layouts = [lt.layout(kind, 500, 3000), lt.layout(kind, 3000, 400)]
    layouts += [lt.layout(kind, 500, 400)] * 2
    product = lt.product(*F32)
    none = lt.search(product, layouts, lt.preference(MAX_WORKSPACE_BYTES=0))
    assert none
    assert {result.workspace_size for result in none} == {0}
    some = lt.search(product, layouts, count=3)
    assert 1 <= len(some) <= 3
    assert all(result.workspace_size <= WORKSPACE for result in some)
    assert all(result.waves_count > 0 for result in some)
    again = cublasLt.MatmulHeuristicResult()
    cublasLt.matmul_algo_check(lt.handle, product, *layouts, some[0].algo, again)
    assert again.workspace_size == some[0].workspace_size


def test_results_on_a_stream_of_ones_own(lt: Light) -> None:
    kind, stream = DataType.R_32F, core.Stream()
    a, b = numbers(kind, 300, 200), numbers(kind, 200, 100)
    layouts = [lt.layout(kind, 300, 200), lt.layout(kind, 200, 100)]
    layouts += [lt.layout(kind, 300, 100)] * 2
    d, scalars = lt.zeros(300 * 100, np.float32), (lt.host(1, kind), lt.host(0, kind))
    addresses = [lt.put(a), lt.put(b), d, d]
    lt.multiply(lt.product(*F32), scalars, addresses, layouts, stream=stream.handle)
    core.synchronize_stream(stream.handle)
    assert_near(lt.get(d, (300, 100), np.float32), decode(a, kind) @ decode(b, kind), 1e-5)


def test_a_transform_transposes_and_adds(lt: Light) -> None:
    kind, row = DataType.R_32F, cublasLt.Order.ROW
    a, b = numbers(kind, M, N), numbers(kind, N, M)
    transform = lt.transform(kind, TRANSA=Operation.T)
    c = lt.zeros(N * M, np.float32)
    scalars = lt.host(2.5, kind), lt.host(-1.5, kind)
    first, second = lt.layout(kind, M, N), lt.layout(kind, N, M)
    result = lt.layout(kind, N, M, M, ORDER=row)
    left, right = lt.put(a), lt.put(b)
    cublasLt.matrix_transform(
        lt.handle, transform, scalars[0], left, first, scalars[1], right, second, c, result, 0
    )
    found = lt.get(c, (M, N), np.float32).T
    assert_near(found, 2.5 * a.T.astype(float) - 1.5 * b, 1e-6)


def test_what_does_not_fit_is_an_error(lt: Light) -> None:
    kind = DataType.R_32F
    layouts = [lt.layout(kind, M, K), lt.layout(kind, K + 1, N), *[lt.layout(kind, M, N)] * 2]
    product = lt.product(*F32)
    with pytest.raises(errors.cuBLASLtError) as caught:
        lt.search(product, layouts)
    assert caught.value.status in (Status.INVALID_VALUE, Status.NOT_SUPPORTED)
    assert caught.value.function == "cublasLtMatmulAlgoGetHeuristic"
    with pytest.raises(errors.cuBLASLtError) as caught:
        cublasLt.matmul_algo_get_ids(lt.handle, *F32, kind, kind, kind, kind, 0)
    assert caught.value.status is Status.INVALID_VALUE
    with pytest.raises(errors.cuBLASLtError) as caught:
        cublasLt.matmul_algo_init(
            lt.handle, *F32, kind, kind, kind, kind, 10**6, cublasLt.MatmulAlgo()
        )
    assert caught.value.status in (Status.INVALID_VALUE, Status.NOT_SUPPORTED)


def test_a_search_for_a_stream(lt: Light) -> None:
    kind = DataType.R_32F
    layouts = [lt.layout(kind, M, K), lt.layout(kind, K, N), *[lt.layout(kind, M, N)] * 2]
    product, results = lt.product(*F32), cublasLt.MatmulHeuristicResult(2)
    preference = lt.preference(MAX_WORKSPACE_BYTES=WORKSPACE)
    found = np.zeros(1, np.int32)
    arguments = (preference, 2, results, found.ctypes.data, core.Stream().handle)
    try:
        cublasLt.matmul_algo_get_heuristic_for_stream(lt.handle, product, *layouts, *arguments)
    except errors.FunctionNotFoundError as error:
        pytest.skip(f"this cublasLt ({error.version}) has no {error.symbol}")
    assert found[0] >= 1
    again = cublasLt.MatmulHeuristicResult()
    stream = core.Stream()
    cublasLt.matmul_algo_check_for_stream(
        lt.handle, product, *layouts, results[0].algo, again, stream.handle
    )
    assert again.state == Status.SUCCESS
