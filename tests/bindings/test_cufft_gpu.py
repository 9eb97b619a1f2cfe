"""`gpumath.bindings.cufft` on a GPU: every way to a plan and every transform, against NumPy."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import core, cufft, driver, errors
from gpumath.bindings.cufft import Type, XtCopyType, XtQueryType, XtSubFormat
from tests.helpers.device_arrays import DeviceArray, workspace

pytestmark = pytest.mark.gpu

FORWARD, INVERSE = -1, 1
LENGTHS = {1: (120,), 2: (24, 30), 3: (8, 12, 10)}
COMPLEX = {Type.C2C: np.complex64, Type.Z2Z: np.complex128}
# Forward and inverse transform of real numbers, and the types of both sides.
REAL = {
    "single": (Type.R2C, Type.C2R, np.float32, np.complex64),
    "double": (Type.D2Z, Type.Z2D, np.float64, np.complex128),
}


@pytest.fixture(autouse=True)
def _context() -> Iterator[None]:
    driver.init(0)
    device = driver.device_get(0)
    driver.ctx_push_current(driver.device_primary_ctx_retain(device))
    yield
    driver.ctx_pop_current()
    driver.device_primary_ctx_release(device)


@contextmanager
def new_plan() -> Iterator[int]:
    plan = cufft.create()
    try:
        yield plan
    finally:
        cufft.destroy(plan)


def random(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    rng = np.random.default_rng()
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    return values.astype(dtype)


def assert_close(found: np.ndarray, expected: np.ndarray) -> None:
    tolerance = 10 * np.finfo(found.dtype).eps * np.log2(expected.size + 1)
    assert np.linalg.norm(found - expected) <= tolerance * np.linalg.norm(expected)


def run(plan: int, kind: Type, source: Any, target: Any, direction: int = FORWARD) -> None:
    function = getattr(cufft, f"exec_{kind.name.lower()}")
    function(plan, source, target, *([direction] if kind in COMPLEX else []))


def check(plan: int, kind: Type, shape: tuple[int, ...], batch: int = 1) -> None:
    """Transform there and back with a plan of complex numbers, twice."""
    a = random((batch, *shape), COMPLEX[kind])
    axes = tuple(range(1, a.ndim))
    data = DeviceArray(a)
    for _ in range(2):
        data.set(a)
        run(plan, kind, data, data)
        assert_close(data.get(), np.fft.fftn(a.astype(complex), axes=axes))
        run(plan, kind, data, data, INVERSE)
        assert_close(data.get(), a * np.prod(shape))


@pytest.mark.parametrize("kind", COMPLEX, ids=lambda kind: kind.name)
@pytest.mark.parametrize("rank", LENGTHS)
def test_plans_of_each_rank(kind: Type, rank: int) -> None:
    shape = LENGTHS[rank]
    batch = (3,) if rank == 1 else ()
    estimate = getattr(cufft, f"estimate{rank}d")(*shape, kind, *batch)
    with new_plan() as plan:
        before = getattr(cufft, f"get_size{rank}d")(plan, *shape, kind, *batch)
        size = getattr(cufft, f"make_plan{rank}d")(plan, *shape, kind, *batch)
        assert size == cufft.get_size(plan)
        assert min(estimate, before) >= 0
        check(plan, kind, shape, *batch)
    handle = ctypes.c_int()
    getattr(cufft, f"plan{rank}d")(ctypes.addressof(handle), *shape, kind, *batch)
    check(handle.value, kind, shape, *batch)
    cufft.destroy(handle.value)


@pytest.mark.parametrize("precision", REAL)
def test_real_transforms(precision: str) -> None:
    forward, inverse, real, complex_ = REAL[precision]
    shape = LENGTHS[2]
    a = random(shape, real)
    source, middle = DeviceArray(a), DeviceArray(np.zeros((24, 16), complex_))
    with new_plan() as there, new_plan() as back:
        cufft.make_plan2d(there, *shape, forward)
        cufft.make_plan2d(back, *shape, inverse)
        run(there, forward, source, middle)
        assert_close(middle.get(), np.fft.rfft2(a.astype(float)).astype(complex_))
        run(back, inverse, middle, source)
        assert_close(source.get(), a * a.size)


@pytest.mark.parametrize("way", ["make_plan_many", "make_plan_many64", "xt", "plan_many"])
def test_strided_batches(way: str) -> None:
    # Columns of a matrix of 40 rows and 6 columns: neighbours are 6 elements apart.
    n, batch, kind = 40, 6, Type.Z2Z
    layout = ([n], batch, 1)
    a = random((n, batch), np.complex128)
    data = DeviceArray(a)
    arguments = (1, [n], *layout, *layout, kind, batch)
    if way == "plan_many":
        handle = ctypes.c_int()
        cufft.plan_many(ctypes.addressof(handle), *arguments)
        plan = handle.value
    else:
        plan = cufft.create()
        if way == "xt":
            c64 = 5  # CUDA_C_64F
            full = (plan, 1, [n], *layout, c64, *layout, c64, batch)
            size = cufft.xt_make_plan_many(*full, c64)
            assert cufft.xt_get_size_many(cufft.create(), *full[1:], c64) >= 0
        else:
            size = getattr(cufft, way)(plan, *arguments)
            with new_plan() as other:
                assert cufft.get_size_many64(other, *arguments) >= 0
        assert size == cufft.get_size(plan)
    assert cufft.estimate_many(*arguments) >= 0
    if way == "xt":
        cufft.xt_exec(plan, data, data, FORWARD)
    else:
        run(plan, kind, data, data)
    assert_close(data.get(), np.fft.fft(a, axis=0))
    cufft.destroy(plan)


def test_a_work_area_and_a_stream_of_ones_own() -> None:
    shape, kind = (1_000_003,), Type.C2C  # a long prime needs a work area
    stream = core.Stream()
    a = random(shape, np.complex64)
    data = DeviceArray(a)
    with new_plan() as plan:
        cufft.set_auto_allocation(plan, 0)
        size = cufft.make_plan1d(plan, *shape, kind, 1)
        assert size > 0
        area = workspace(size)
        cufft.set_work_area(plan, area)
        cufft.set_stream(plan, stream.handle)
        run(plan, kind, data, data)
        stream.synchronize()
        assert_close(data.get(), np.fft.fft(a.astype(complex)))


def test_half_precision() -> None:
    n, batch, half_complex = 256, 4, 6  # CUDA_C_16F
    a = random((batch, n), np.complex64)
    pairs = a.view(np.float32).astype(np.float16)
    data = DeviceArray(pairs)
    with new_plan() as plan:
        layout = ([n], 1, n)
        ends = (*layout, half_complex)
        cufft.xt_make_plan_many(plan, 1, [n], *ends, *ends, batch, half_complex)
        cufft.xt_exec(plan, data, data, FORWARD)
    found = data.get().astype(np.float32).view(np.complex64)
    expected = np.fft.fft(pairs.astype(np.float64).view(np.complex128))
    assert np.linalg.norm(found - expected) < 5e-3 * np.linalg.norm(expected)


def test_properties_of_a_plan() -> None:
    jit = cufft.Property.PATIENT_JIT
    with new_plan() as plan:
        before = cufft.get_plan_property_int64(plan, jit)
        cufft.set_plan_property_int64(plan, jit, 1)
        assert cufft.get_plan_property_int64(plan, jit) == 1
        cufft.reset_plan_property(plan, jit)
        assert cufft.get_plan_property_int64(plan, jit) == before
        cufft.make_plan1d(plan, 64, Type.C2C, 1)
        check(plan, Type.C2C, (64,))


def test_what_a_plan_refuses() -> None:
    with new_plan() as plan:
        with pytest.raises(errors.cuFFTError) as caught:
            cufft.make_plan1d(plan, 0, Type.C2C, 1)
        assert caught.value.status is cufft.Result.INVALID_SIZE
    with pytest.raises(errors.cuFFTError) as caught:
        cufft.exec_c2c(123456, 0, 0, FORWARD)
    assert caught.value.status is cufft.Result.INVALID_PLAN


needs_two_devices = pytest.mark.skipif("core.Device.count() < 2", reason="there is one GPU")


@contextmanager
def spread(plan: int, values: np.ndarray) -> Iterator[int]:
    """Lend a copy of an array that is spread over the plan's GPUs."""
    descriptor = cufft.xt_malloc(plan, XtSubFormat.FORMAT_INPLACE)
    try:
        cufft.xt_memcpy(plan, descriptor, values.ctypes.data, XtCopyType.HOST_TO_DEVICE)
        yield descriptor
    finally:
        cufft.xt_free(descriptor)


@needs_two_devices
@pytest.mark.parametrize("kind", COMPLEX, ids=lambda kind: kind.name)
def test_two_gpus(kind: Type) -> None:
    a = random((64, 128, 32), COMPLEX[kind])
    result = np.empty_like(a)
    with new_plan() as plan:
        cufft.xt_set_gpus(plan, 2, [0, 1])
        # C writes a size for each GPU; the first is returned.
        assert cufft.make_plan3d(plan, *a.shape, kind) == cufft.get_size(plan) > 0
        with spread(plan, a) as descriptor:
            whole = cufft.LibXtDesc.from_ptr(descriptor)
            parts = cufft.XtDesc.from_ptr(whole.descriptor)
            assert (parts.n_gpus, sorted(parts.gpus[:2])) == (2, [0, 1])
            assert sum(parts.size[:2]) >= a.nbytes
            execute = getattr(cufft, f"xt_exec_descriptor_{kind.name.lower()}")
            execute(plan, descriptor, descriptor, FORWARD)
            cufft.xt_memcpy(plan, result.ctypes.data, descriptor, XtCopyType.DEVICE_TO_HOST)
            assert_close(result, np.fft.fftn(a.astype(complex)))
            cufft.xt_exec_descriptor(plan, descriptor, descriptor, INVERSE)
            cufft.xt_memcpy(plan, result.ctypes.data, descriptor, XtCopyType.DEVICE_TO_HOST)
            assert_close(result, a * a.size)


@needs_two_devices
def test_factors_of_a_transform_on_two_gpus() -> None:
    with new_plan() as plan:
        cufft.xt_set_gpus(plan, 2, [0, 1])
        cufft.make_plan1d(plan, 1 << 16, Type.C2C, 1)
        factors = cufft.Xt1dFactors()
        cufft.xt_query_plan(plan, factors, XtQueryType.QUERY_1D_FACTORS)
        assert factors.factor1 * factors.factor2 == factors.size == 1 << 16
