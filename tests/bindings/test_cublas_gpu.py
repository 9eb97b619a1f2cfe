"""`gpumath.bindings.cublas` on a GPU: BLAS 1 to 3 in every type, and a handle's settings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gpumath.bindings import core, cublas, errors
from tests.bindings.blas_cases import CASES
from tests.bindings.blas_matrix_cases import ONLY_32
from tests.helpers.cublas import DTYPES, Blas, blas, random
from tests.helpers.cusolver import REALS, assert_close

pytestmark = pytest.mark.gpu
ROUTINES = [
    pytest.param(name, letter, suffix, id=f"{letter}-{name}{suffix}")
    for name, letter in CASES
    for suffix in ("", "_64")
    if not (suffix and name in ONLY_32)
]


@pytest.mark.parametrize(("name", "letter", "suffix"), ROUTINES)
def test_a_routine_agrees_with_numpy(name: str, letter: str, suffix: str) -> None:
    with blas(suffix) as b:
        result, expected = CASES[name, letter](b, letter)
    assert_close(result, expected, letter)


@pytest.fixture
def b() -> Iterator[Blas]:
    with blas() as lent:
        yield lent


@pytest.mark.parametrize("letter", "sdcz")
def test_a_givens_rotation_makes_a_number_zero(b: Blas, letter: str) -> None:
    numbers = random(letter, 2)
    c = b.host([0], DTYPES[REALS[letter]])
    x, y, s = (b.host([value], DTYPES[letter]) for value in (*numbers, 0))
    b.call(f"{letter}rotg", *(value.ctypes.data for value in (x, y, c, s)))
    wide = numbers.astype(complex)
    rotated = [
        c[0] * wide[0] + s[0] * wide[1],
        c[0] * wide[1] - np.conj(s[0]) * wide[0],
    ]
    assert_close(rotated, [x[0], 0], letter)
    assert_close([abs(c[0]) ** 2 + abs(s[0]) ** 2, abs(x[0])], [1, np.linalg.norm(wide)], letter)


@pytest.mark.parametrize("letter", "sd")
def test_a_modified_rotation_makes_a_number_zero(b: Blas, letter: str) -> None:
    d1, d2, x1, y1 = (b.host([value], DTYPES[letter]) for value in (0.7, 1.3, 2.0, 1.1))
    parameters = b.host(np.zeros(5), DTYPES[letter])
    b.call(f"{letter}rotmg", *(value.ctypes.data for value in (d1, d2, x1, y1, parameters)))
    flag, h11, h21, h12, h22 = parameters.astype(float)
    h = {
        -1: [[h11, h12], [h21, h22]],
        0: [[1, h12], [h21, 1]],
        1: [[h11, 1], [-1, h22]],
    }[int(flag)]
    rotated = np.array(h) @ [2.0, 1.1]
    assert_close(rotated, [x1[0], 0], letter)
    # The weighted length stays: d1 x1^2 is all of it.
    assert_close(d1[0] * rotated[0] ** 2, 0.7 * 2.0**2 + 1.3 * 1.1**2, letter)


def test_settings_are_kept(b: Blas) -> None:
    handle = b.handle
    assert cublas.get_version(handle) == cublas.get_version(0)
    assert cublas.get_stream(handle) == 0
    stream = core.Stream()
    cublas.set_stream(handle, stream.handle)
    assert cublas.get_stream(handle) == stream.handle
    cublas.set_pointer_mode(handle, cublas.PointerMode.DEVICE)
    assert cublas.get_pointer_mode(handle) == cublas.PointerMode.DEVICE
    cublas.set_atomics_mode(handle, cublas.AtomicsMode.ALLOWED)
    assert cublas.get_atomics_mode(handle) == cublas.AtomicsMode.ALLOWED
    cublas.set_math_mode(handle, cublas.Math.PEDANTIC_MATH)
    assert cublas.get_math_mode(handle) == cublas.Math.PEDANTIC_MATH
    cublas.set_sm_count_target(handle, 8)
    assert cublas.get_sm_count_target(handle) == 8
    with pytest.raises(errors.cuBLASError) as caught:
        cublas.set_pointer_mode(handle, 77)
    assert caught.value.status is cublas.Status.INVALID_VALUE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("emulation_strategy", cublas.EmulationStrategy.EAGER),
        ("emulation_special_values_support", 0),
        ("fixed_point_emulation_mantissa_control", 1),
        ("fixed_point_emulation_max_mantissa_bit_count", 40),
        ("fixed_point_emulation_mantissa_bit_offset", 3),
        ("fixed_point_emulation_mantissa_bit_count_pointer", 0),
    ],
)
def test_settings_of_emulation_are_kept(b: Blas, name: str, value: int) -> None:
    try:
        getattr(cublas, f"get_{name}")(b.handle)
    except errors.FunctionNotFoundError as error:
        pytest.skip(f"this cuBLAS ({error.version}) has no {error.symbol}")
    getattr(cublas, f"set_{name}")(b.handle, value)
    assert getattr(cublas, f"get_{name}")(b.handle) == value


def test_scalars_in_device_memory(b: Blas) -> None:
    x, y = random("d", 300), random("d", 300)
    cublas.set_pointer_mode(b.handle, cublas.PointerMode.DEVICE)
    result = b.zeros(1, np.float64)
    b.call("ddot", 300, b.put(x), 1, b.put(y), 1, result)
    assert_close(b.get(result, 1, np.float64), [x @ y], "d")
    b.call("dscal", 300, result, twice := b.put(x), 1)
    assert_close(b.get(twice, 300, np.float64), x * (x @ y), "d")


def test_a_workspace_of_ones_own_and_a_stream(b: Blas) -> None:
    stream = core.Stream()
    size = 32 * 2**20
    cublas.set_stream(b.handle, stream.handle)
    cublas.set_workspace(b.handle, b.empty(size), size)
    a, x = random("s", 400, 300), random("s", 300, 200)
    (_, one), (_, zero), c = b.number("s", 1), b.number("s", 0), b.zeros(400 * 200, np.float32)
    left, right = b.put(a), b.put(x)
    core.synchronize_stream(0)
    b.call("sgemm", 0, 0, 400, 200, 300, one, left, 400, right, 300, zero, c, 400)
    core.synchronize_stream(stream.handle)
    expected = a.astype(float) @ x.astype(float)
    assert_close(b.get(c, (400, 200), np.float32), expected, "s")


@pytest.mark.parametrize("suffix", ["", "_64"])
@pytest.mark.parametrize("ordered", [False, True])
def test_copies_between_host_and_device(suffix: str, ordered: bool) -> None:
    x, a = random("z", 3 * 40), random("c", 30, 20)
    more = [0] if ordered else []
    end = ("_async" if ordered else "") + suffix
    with blas() as b:
        vector, matrix = b.zeros(40, x.dtype), b.zeros(50 * 20, a.dtype)
        getattr(cublas, f"set_vector{end}")(40, 16, x.ctypes.data, 3, vector, 1, *more)
        getattr(cublas, f"set_matrix{end}")(30, 20, 8, a.ctypes.data, 30, matrix, 50, *more)
        again, back = np.zeros(2 * 40, x.dtype), np.zeros((30, 20), a.dtype, order="F")
        getattr(cublas, f"get_vector{end}")(40, 16, vector, 1, again.ctypes.data, 2, *more)
        getattr(cublas, f"get_matrix{end}")(30, 20, 8, matrix, 50, back.ctypes.data, 30, *more)
        core.synchronize_stream(0)
        assert np.array_equal(again[::2], x[::3])
        assert np.array_equal(back, a)


def test_a_destroyed_handle_and_wrong_sizes_are_errors(b: Blas) -> None:
    _, one = b.number("d", 1)
    with pytest.raises(errors.cuBLASError) as caught:
        b.call("dgemm", 0, 0, 4, 4, 4, one, 256, 2, 256, 4, one, 256, 4)  # lda < m
    assert caught.value.status is cublas.Status.INVALID_VALUE
    assert caught.value.function == "cublasDgemm"
