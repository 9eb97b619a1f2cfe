"""The helper functions for block scales and FP4, against ml_dtypes and cuBLAS's documentation."""

from __future__ import annotations

import doctest
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpumath.linalg.advanced.helpers import matmul as helpers

ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")

MXFP8, NVFP4 = helpers.BlockScalingFormat.MXFP8, helpers.BlockScalingFormat.NVFP4
BLOCK = {MXFP8: 32, NVFP4: 16}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng()


@pytest.fixture(params=["numpy", "torch", pytest.param("cuda", marks=pytest.mark.gpu)])
def make(request: pytest.FixtureRequest) -> Callable[[np.ndarray], Any]:
    """Make an array of a library, in the memory order of a NumPy array."""
    if request.param == "numpy":
        return lambda values: values
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    device = "cpu" if request.param == "torch" else "cuda"
    types = {"float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}

    def tensor(values: np.ndarray) -> Any:
        if values.dtype.name in types:
            bits = torch.from_numpy(values.view(np.uint8))
            return bits.to(device).view(types[values.dtype.name])
        return torch.from_numpy(values).to(device)

    return tensor


def plain(array: Any) -> np.ndarray:
    """Copy as a NumPy array; narrow floats as their bits."""
    if isinstance(array, np.ndarray):
        return array.view(np.uint8) if array.dtype.name.startswith("float8") else array
    import torch

    narrow = (torch.float8_e4m3fn, torch.float8_e5m2)
    return (array.view(torch.uint8) if array.dtype in narrow else array).cpu().numpy()


def documented_offset(row: int, block: int, blocks: int) -> int:
    """Offset in a matrix with so many blocks a row, as the documentation of cuBLAS has it."""
    inside = (row % 32) * 16 + (row % 128) // 32 * 4 + block % 4
    return (row // 128 * (blocks // 4) + block // 4) * 512 + inside


def shapes(chosen: Any, axis: int) -> list[tuple[int, ...]]:
    """Shapes of operands of one and several tiles, and of a batch."""
    narrow = 4 * BLOCK[chosen]
    rows = [(128, narrow), (256, 3 * narrow), (2, 3, 128, 2 * narrow)]
    return rows if axis == -1 else [(*shape[:-2], shape[-1], shape[-2]) for shape in rows]


@pytest.mark.parametrize("axis", [-1, -2])
@pytest.mark.parametrize("chosen", [MXFP8, NVFP4])
def test_the_order_of_scales(
    make: Callable[[np.ndarray], Any], chosen: Any, axis: Any, rng: np.random.Generator
) -> None:
    """Each scale is where the documentation has it, and comes back to all elements of its block."""
    for shape in shapes(chosen, axis):
        scale_shape = list(shape)
        scale_shape[axis] //= BLOCK[chosen]
        scales = rng.integers(0, 127, scale_shape, np.uint8)
        vector = helpers.to_block_scale(make(scales), shape, chosen, axis=axis)
        rows = scales if axis == -1 else scales.swapaxes(-1, -2)
        matrices = rows.reshape(-1, *rows.shape[-2:])
        expected = np.empty(scales.size, np.uint8)
        for number, matrix in enumerate(matrices):
            for row, block in np.ndindex(*matrix.shape):
                offset = documented_offset(row, block, matrix.shape[1])
                expected[number * matrix.size + offset] = matrix[row, block]
        assert np.array_equal(plain(vector), expected)
        index = tuple(make(numbers) for numbers in np.indices(scale_shape))
        offsets = helpers.get_block_scale_offset(index, shape, chosen, axis=axis)
        assert np.array_equal(expected[plain(offsets)], scales)
        one = tuple(map(int, rng.integers(0, scale_shape)))
        offset = helpers.get_block_scale_offset(one, shape, chosen, axis=axis)
        assert (type(offset), expected[offset]) == (int, scales[one])
        expanded = helpers.expand_block_scale(vector, shape, chosen, axis=axis)
        assert np.array_equal(plain(expanded), np.repeat(scales, BLOCK[chosen], axis))


def test_the_documented_example() -> None:
    for index, offset in (((5, 2), 82), ((5, 5), 593)):
        assert helpers.get_block_scale_offset(index, (128, 128), NVFP4, axis=-1) == offset


def test_scales_into_an_array_of_one_s_own(
    make: Callable[[np.ndarray], Any], rng: np.random.Generator
) -> None:
    scales = make(rng.integers(0, 255, (128, 4), np.uint8))
    out = make(np.zeros(512, np.uint8))
    assert helpers.to_block_scale(scales, (128, 128), MXFP8, axis=-1, out=out) is out
    expected = helpers.to_block_scale(scales, (128, 128), MXFP8, axis=-1)
    assert np.array_equal(plain(out), plain(expected))


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_values_with_mxfp8_scales(
    make: Callable[[np.ndarray], Any], dtype: str, rng: np.random.Generator
) -> None:
    narrow = getattr(ml_dtypes, dtype)
    for axis in (-1, -2):
        signs = rng.choice([-1.0, 1.0], (256, 256))
        values = (signs * rng.uniform(1, 100, (256, 256))).astype(narrow)
        exponents = rng.integers(-8, 8, (256, 8))
        operand = make(values)
        scales = make((exponents + 127).astype(np.uint8))
        expected = values.astype("f8") * 2.0 ** np.repeat(exponents, 32, 1)
        if axis == -2:
            operand, scales = operand.swapaxes(-1, -2), scales.swapaxes(-1, -2)
            values, expected = values.T, expected.T
        vector = helpers.to_block_scale(scales, operand, MXFP8)
        for output, found in (("smallest", "float16"), ("float32", "float32")):
            result = helpers.apply_mxfp8_scale(operand, vector, output)
            assert str(result.dtype).removeprefix("torch.") == found
            # Three bits of a fraction times powers of two lose nothing in float16.
            assert np.array_equal(plain(result), expected)
        inverse = helpers.invert_mxfp8_scale(vector)
        again = helpers.apply_mxfp8_scale(result, inverse, "float64")
        assert np.array_equal(plain(again), values.astype("f8"))


def test_the_smallest_type_that_has_all_values(make: Callable[[np.ndarray], Any]) -> None:
    operand = make(np.ones((128, 128), ml_dtypes.float8_e4m3fn))
    for exponent, needed in (
        (15, "float16"),
        (-14, "float16"),
        (16, "float32"),
        (-15, "float32"),
        (127, "float32"),
        (-126, "float32"),
        (-127, "float64"),
    ):
        scales = helpers.create_mxfp8_scale(operand, exponent)
        assert np.array_equal(plain(scales), np.full(512, exponent + 127))
        result = helpers.apply_mxfp8_scale(operand, scales)
        assert str(result.dtype).removeprefix("torch.") == needed
        assert np.all(plain(result) == 2.0**exponent)
        expanded = helpers.expand_block_scale(scales, operand, MXFP8, output_dtype=result.dtype)
        assert np.all(plain(expanded) == 2.0**exponent)
        if needed == "float32":
            with pytest.raises(ValueError, match="overflows or underflows; float32 is needed"):
                helpers.apply_mxfp8_scale(operand, scales, "float16")
    nothing = make(np.full(512, 255, np.uint8))
    values = helpers.expand_block_scale(nothing, operand, MXFP8, output_dtype="float32")
    assert np.isnan(plain(values)).all()
    assert np.array_equal(plain(helpers.invert_mxfp8_scale(nothing)), plain(nothing))


def test_nvfp4_scales_have_no_sign(make: Callable[[np.ndarray], Any]) -> None:
    bits = np.arange(512, dtype=np.uint16).astype(np.uint8)
    values = bits.view(ml_dtypes.float8_e4m3fn).astype("f8")
    for scales in (make(bits), make(bits.view(ml_dtypes.float8_e4m3fn))):
        expanded = helpers.expand_block_scale(
            scales, (128, 64), NVFP4, axis=-1, output_dtype="float16"
        )
        first = plain(expanded)[0, ::16]
        assert np.array_equal(first, np.abs(values[:4]))
        found = np.sort(plain(expanded)[:, ::16].ravel())
        assert np.array_equal(found, np.sort(np.abs(values)), equal_nan=True)
        narrow = plain(helpers.expand_block_scale(scales, (128, 64), NVFP4, axis=-1))
        assert np.array_equal(narrow[0, ::16], bits[:4])


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_fp4_is_rounded_as_ml_dtypes_does(device: str, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    halves = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], np.float32)
    near = [np.nextafter(halves, np.float32(0)), halves, np.nextafter(halves, np.float32(9))]
    special = np.array([0.0, 6.0, 7.0, np.inf, 1e-45, 448.0, 6.5], np.float32)
    ties = np.concatenate([*near, special])
    values = np.concatenate([ties, -ties, rng.uniform(-7, 7, 1000 - 2 * ties.size)])
    values = rng.permutation(values).astype(np.float32).reshape(2, 10, 50)
    expected = values.astype(ml_dtypes.float4_e2m1fn)
    for axis in (-1, -2):
        packed = helpers.quantize_to_fp4(torch.from_numpy(values).to(device), axis)
        assert packed.dtype == torch.float4_e2m1fn_x2
        assert packed.shape == ((2, 10, 25) if axis == -1 else (2, 5, 50))
        assert packed.stride(axis) == 1
        codes = expected.view(np.uint8).swapaxes(-1, axis)
        found = packed.view(torch.uint8).cpu().numpy().swapaxes(-1, axis)
        assert np.array_equal(found, codes[..., ::2] | codes[..., 1::2] << 4)
        unpacked = helpers.unpack_fp4(packed, axis)
        assert np.array_equal(unpacked.cpu().numpy(), expected.astype("f4"))
        assert unpacked.stride(axis) == 1


def test_the_blocks_of_an_fp4_operand_are_those_of_its_elements() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    rows = helpers.quantize_to_fp4(torch.zeros(128, 192), -1)
    columns = helpers.quantize_to_fp4(torch.zeros(192, 128), -2)
    scales = torch.arange(128 * 12, dtype=torch.int16).to(torch.uint8).reshape(128, 12)
    vector = helpers.to_block_scale(scales, rows, NVFP4)
    assert torch.equal(vector, helpers.to_block_scale(scales.T, columns, NVFP4))
    expanded = helpers.expand_block_scale(vector, columns, NVFP4, output_dtype=torch.float32)
    assert expanded.shape == (192, 128)
    moved = helpers.expand_block_scale(vector, rows, NVFP4, device="cpu")
    assert (moved.shape, moved.device.type) == ((128, 192), "cpu")


OPERAND = np.ones((128, 128), ml_dtypes.float8_e4m3fn)
SCALES = np.ones(512, np.uint8)
SHAPE = (128, 128)
offset, expand, to_scale = (
    helpers.get_block_scale_offset,
    helpers.expand_block_scale,
    helpers.to_block_scale,
)
REFUSALS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: helpers.create_mxfp8_scale(OPERAND, 128), ValueError, "exponent is 128.*-127 to 127"),
    (lambda: helpers.create_mxfp8_scale(OPERAND, 1.5), TypeError, "float"),
    (lambda: helpers.create_mxfp8_scale(OPERAND[:1, :9], 0), ValueError, "multiple of 32 elem"),
    (lambda: helpers.create_mxfp8_scale([1.0], 0), ValueError, "operand is a builtins.list"),
    (lambda: helpers.create_mxfp8_scale(memoryview(b"1"), 0), ValueError, "PyTorch tensors and"),
    (lambda: helpers.invert_mxfp8_scale(SCALES.astype("i4")), ValueError, "int32, but uint8 is"),
    (lambda: helpers.apply_mxfp8_scale(OPERAND, SCALES[1:]), ValueError, r"\(511,\).*512 scales"),
    (lambda: helpers.apply_mxfp8_scale(OPERAND, SCALES, "int8"), TypeError, "output_dtype is int8"),
    (lambda: helpers.quantize_to_fp4(OPERAND, -1), ValueError, "numpy, but only PyTorch has"),
    (lambda: offset((1, 1), OPERAND, "FP6"), ValueError, "'FP6'; allowed are BlockScalingFormat.N"),
    (
        lambda: offset((1, 1), OPERAND, NVFP4),
        ValueError,
        "NVFP4 is for float4_e2m1fn_x2",
    ),
    (lambda: offset((1, 1), SHAPE, MXFP8), ValueError, "axis is None, but .* is a shape"),
    (lambda: offset((1, 1), SHAPE, MXFP8, axis=0), ValueError, "axis is 0; allowed are -1"),
    (lambda: offset((1, 1), OPERAND, MXFP8, axis=-2), ValueError, "stored by rows"),
    (lambda: offset((1, 1), OPERAND[:, ::2], MXFP8), ValueError, "one of the last two has to be 1"),
    (lambda: offset((1,), SHAPE, MXFP8, axis=-1), ValueError, "index has 1 numbers, .* 2 dim"),
    (lambda: offset((1, 4), SHAPE, MXFP8, axis=-1), IndexError, r"\(1, 4\).*\(128, 4\) blocks"),
    (lambda: offset((-1, 0), SHAPE, MXFP8, axis=-1), IndexError, r"\(-1, 0\)"),
    (lambda: offset((1,), (128,), MXFP8, axis=-1), ValueError, "at least 2 dimensions"),
    (lambda: expand(SCALES, (128, 96), MXFP8, axis=-1), ValueError, "-1 is 96.*multiple of 128"),
    (lambda: expand(SCALES, (64, 128), MXFP8, axis=-1), ValueError, "-2 is 64.*multiple of 128"),
    (lambda: expand(SCALES, (96, 128), NVFP4, axis=-2), ValueError, "-2 is 96.*multiple of 64"),
    (lambda: expand(SCALES, OPERAND, MXFP8, device="tpu"), ValueError, "device is 'tpu'"),
    (lambda: expand(SCALES, OPERAND, MXFP8, device="cuda"), ValueError, "NumPy array; pass a PyT"),
    (lambda: expand(SCALES.astype("f4"), OPERAND, MXFP8), TypeError, "float32, but uint8 is"),
    (lambda: expand(SCALES, OPERAND, MXFP8, output_dtype="int8"), TypeError, "int8; allowed are"),
    (lambda: to_scale(SCALES, OPERAND, MXFP8), ValueError, r"\(512,\), but .*\(128, 4\) scales"),
    (
        lambda: to_scale(SCALES.reshape(128, 4), OPERAND, MXFP8, out=OPERAND),
        ValueError,
        "out is",
    ),
]


@pytest.mark.parametrize(("use", "error", "message"), REFUSALS)
def test_refusals(use: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        use()


def test_examples() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    outcome = doctest.testmod(helpers)
    assert (outcome.attempted > 0, outcome.failed) == (True, 0)
