"""Programs that call `scipy.fft`, with gpumath as its backend."""

from __future__ import annotations

import pickle
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.fft

from gpumath import fft
from tests.helpers.processes import result_of, start
from tests.helpers.references import random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

FUNCTIONS = [f"{name}{n}" for name, n in product(("fft", "rfft", "hfft"), ("", "2", "n"))]
FUNCTIONS += [f"i{name}" for name in FUNCTIONS]


def both(
    name: str, x: Any, values: np.ndarray, *rest: Any, **keywords: Any
) -> tuple[Any, np.ndarray]:
    """Call a function of SciPy's with gpumath on ``x``, and SciPy's own on the same numbers."""
    with scipy.fft.set_backend(fft.scipy_backend, only=True):
        result = getattr(scipy.fft, name)(x, *rest, **keywords)
    return result, getattr(scipy.fft, name)(values, *rest, **keywords)


def takes(name: str, dtype: Any) -> bool:
    is_real_only = name.startswith(("rfft", "ihfft"))
    return not (is_real_only and np.issubdtype(dtype, np.complexfloating))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_scipys(direct_space: Space, name: str) -> None:
    dtypes = (np.float32, np.complex64, np.float64, np.complex128, np.int16, np.float16)
    lengths: tuple[Any, ...] = (None, 6, 9) if name.endswith("t") else (None, (6, 3), (5, 8))
    for dtype, norm, length in product(dtypes, (None, "ortho", "forward"), lengths):
        if not takes(name, dtype):
            continue
        values = random_values((4, 7, 5), np.float64) * 100
        values = values.astype(dtype)
        where: dict[str, Any] = {"n": length} if name.endswith("t") else {"s": length}
        if length is not None:
            where |= {"axis": 1} if name.endswith("t") else {"axes": (2, 0)}
        operand = direct_space.array(values)
        result, expected = both(name, operand, values, norm=norm, **where)
        direct_space.assert_is_alike(result)
        result = direct_space.numpy(result)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        # Neighbours of float32's rounding, for the largest of the numbers.
        close = 1e-14 if expected.dtype in (np.float64, np.complex128) else 5e-6
        assert np.abs(result - expected).max() <= close * np.abs(expected).max(), (dtype, where)
        np.testing.assert_array_equal(direct_space.numpy(operand), values)


@pytest.mark.parametrize("name", ["irfftn", "irfft2", "hfftn", "hfft2"])
def test_one_element_along_the_last_axis(direct_space: Space, name: str) -> None:
    """It becomes one point along several axes, as in SciPy."""
    for shape, where in (
        ((2, 1), {}),
        ((5, 6, 1), {"axes": (0, 2)}),
        ((1, 4, 3), {"axes": (1, 0)}),
        ((4, 1), {"axes": (-1,)}),
    ):
        values = random_values(shape, np.complex128)
        result, expected = both(name, direct_space.array(values), values, **where)
        assert result.shape == expected.shape
        np.testing.assert_allclose(direct_space.numpy(result), expected, atol=1e-13)


def test_numpy_results_are_c_contiguous() -> None:
    for name in FUNCTIONS:
        values = random_values((4, 7, 5), np.float64)
        where: dict[str, Any] = {"axis": 0} if name.endswith("t") else {"axes": (0, 1)}
        result, expected = both(name, values, values, **where)
        assert result.flags.c_contiguous
        np.testing.assert_allclose(result, expected, atol=1e-12)


class Column:
    """Numbers of another library, which only `numpy.asarray` reads."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values.astype(dtype or self.values.dtype)


def test_what_scipy_converts_is_converted() -> None:
    rng = np.random.default_rng()
    values = rng.standard_normal(12)
    record = np.zeros(12, [("pad", "u1"), ("x", "f8")])
    record["x"] = values
    subclass = values.view(np.recarray)
    for x in (values.tolist(), tuple(values), values.astype(">f8"), record["x"], subclass):
        result, expected = both("fft", x, x)
        assert type(result) is np.ndarray
        np.testing.assert_allclose(result, expected, atol=1e-13)
    for x in (range(12), Column(values)):
        for name in ("rfft", "dct"):
            result, expected = both(name, x, x)
            assert type(result) is np.ndarray
            np.testing.assert_allclose(result, expected, atol=1e-13)
    wide = values.astype(np.longdouble), values.astype(np.clongdouble)
    for x in (*wide, *(one.astype(one.dtype.newbyteorder()) for one in wide)):
        result, expected = both("fft", x, x)
        assert result.dtype == expected.dtype == np.clongdouble
        np.testing.assert_array_equal(result, expected)


def test_cosine_and_sine_transforms(direct_space: Space) -> None:
    values = random_values((6, 7, 5), np.float64)
    operand = direct_space.array(values)
    for name in ("dct", "idct", "dst", "idst"):
        for where in ({}, {"type": 3, "n": 4, "axis": 1, "norm": "ortho", "workers": 2}):
            result, expected = both(name, operand, values, **where)
            np.testing.assert_allclose(direct_space.numpy(result), expected, atol=1e-12)
        result, expected = both(f"{name}n", operand, values, 4, s=(3, 8), axes=(0, 2))
        direct_space.assert_is_alike(result)
        np.testing.assert_allclose(direct_space.numpy(result), expected, atol=1e-11)


def test_what_is_not_built_is_scipys() -> None:
    values = np.random.default_rng().standard_normal(16)
    result, expected = both("fht", values, values, dln=0.1, mu=0.5)
    np.testing.assert_allclose(result, expected, atol=1e-13)
    wide = values.astype(np.longdouble)
    result, expected = both("dct", wide, wide)
    assert result.dtype == np.longdouble
    np.testing.assert_array_equal(result, expected)


def test_overwrite_x_works_in_the_operand() -> None:
    values = random_values((3, 8), np.complex128)
    kept, lost = values.copy(), values.copy()
    result, expected = both("fft", kept, values)
    np.testing.assert_allclose(result, expected, atol=1e-13)
    np.testing.assert_array_equal(kept, values)
    with scipy.fft.set_backend(fft.scipy_backend):
        result = scipy.fft.fft(lost, overwrite_x=True)
    assert result is lost
    np.testing.assert_allclose(result, expected, atol=1e-13)
    lost.flags.writeable = False
    with scipy.fft.set_backend(fft.scipy_backend):
        assert scipy.fft.fft(lost, overwrite_x=True) is not lost


def test_workers() -> None:
    values = random_values((16, 64), np.complex64)
    for workers in (1, 2, -1):
        result, expected = both("fft2", values, values, workers=workers)
        np.testing.assert_allclose(result, expected, atol=1e-4)
    with scipy.fft.set_workers(2):
        result, expected = both("fft2", values, values)
    np.testing.assert_allclose(result, expected, atol=1e-4)
    with scipy.fft.set_backend(fft.scipy_backend), pytest.raises(ValueError, match="workers"):
        scipy.fft.fft(values, workers=0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: scipy.fft.fft(x, axis=3), IndexError, "axis 3 is out of range"),
        (lambda x: scipy.fft.dct(x, axis=-3), IndexError, "axis -3 is out of range"),
        (lambda x: scipy.fft.fftn(x, axes=3), ValueError, "axis 3 is out of range"),
        (lambda x: scipy.fft.dctn(x, axes=(0, 2)), ValueError, "axis 2 is out of range"),
        (lambda x: scipy.fft.irfft(x[:, :1]), ValueError, "at least one point"),
        (lambda x: scipy.fft.irfftn(x, s=(3, 0)), ValueError, "at least one point"),
        (lambda x: scipy.fft.dct(x, n=2**70), ValueError, "address space"),
        (lambda x: scipy.fft.dctn(x, s=2**70), ValueError, "address space"),
        (lambda x: scipy.fft.dstn("abc"), ValueError, "could not convert"),
        (lambda x: scipy.fft.fft(x, n=4.0), TypeError, "n is 4.0; an integer"),
        (lambda x: scipy.fft.fft(x, axis="0"), TypeError, "axis is '0'; an integer"),
        (lambda x: scipy.fft.fft(x, workers="2"), TypeError, "workers is '2'; an integer"),
        (lambda x: scipy.fft.dct(x, type=2.0), TypeError, "type is 2.0; an integer"),
        (lambda x: scipy.fft.dct(x, type=x), TypeError, r"type is array\("),
        (lambda x: scipy.fft.fft(x, norm=x), ValueError, r"norm is array\("),
        (lambda x: scipy.fft.dst(x, norm=x), ValueError, r"norm is array\("),
        (lambda x: scipy.fft.fft(x, n=0), ValueError, "at least one point"),
        (lambda x: scipy.fft.rfft(x, n=-1), ValueError, "n is -1; at least one point"),
        (lambda x: scipy.fft.dct(x, n=-1), ValueError, "n is -1; at least one point"),
        (lambda x: scipy.fft.fftn(x, axes=(0, 0)), ValueError, "each may be given once"),
        (lambda x: scipy.fft.fftn(x, s=(2,), axes=(0, 1)), ValueError, "1 lengths .* 2 axes"),
        (lambda x: scipy.fft.fftn(x, s=1.5), ValueError, "s is 1.5"),
        (lambda x: scipy.fft.rfftn(x, axes=()), ValueError, "at least one axis"),
        (lambda x: scipy.fft.rfft(x + 1j), TypeError, "takes real arrays"),
        (lambda x: scipy.fft.fft(x, norm="orto"), ValueError, "norm is 'orto'"),
        (lambda x: scipy.fft.fft(x, plan=1), NotImplementedError, "plan"),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception], words: str) -> None:
    with scipy.fft.set_backend(fft.scipy_backend), pytest.raises(error, match=words):
        call(np.ones((3, 4)))


def test_a_backend_can_be_pickled_and_checks_its_execution() -> None:
    backend = fft.ScipyBackend(execution={"num_threads": 1})
    for _ in range(2):  # it has been set the second time
        backend = pickle.loads(pickle.dumps(backend))
        with scipy.fft.set_backend(backend, only=True):
            np.testing.assert_allclose(scipy.fft.fft([1.0, 2.0]), [3, -1])
    again = pickle.loads(pickle.dumps(backend))
    assert vars(again) == {"_execution": {"num_threads": 1}}
    with pytest.raises(ValueError, match="'gpu'"):
        fft.ScipyBackend(execution="gpu")  # type: ignore[arg-type]


@pytest.mark.gpu
def test_numpy_arrays_on_the_gpu() -> None:
    values = random_values((5, 60), np.float64)
    with scipy.fft.set_backend(fft.ScipyBackend(execution="cuda"), only=True):
        results = [getattr(scipy.fft, name)(values) for name in ("fft", "ifftn", "hfft", "ihfft")]
    for name, result in zip(("fft", "ifftn", "hfft", "ihfft"), results, strict=True):
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, getattr(scipy.fft, name)(values), atol=1e-12)


def test_scipys_own_tests_pass() -> None:
    passed, failed = result_of(start("scipy_suite.run", timeout=280))
    assert failed == []
    assert passed > 1000, "SciPy's tests were not found"
