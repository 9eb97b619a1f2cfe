"""Plans with callbacks on a GPU, against the same functions applied by NumPy in higher precision.

Each element has a factor of its own, so that a wrong offset is a wrong result.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core
from gpumath.bindings.errors import UnsupportedLayoutError, cuFFTError
from tests.helpers.callbacks import C_TYPES, require_numba
from tests.helpers.references import (
    WIDER,
    hermitian_values,
    random_values,
    reference,
    relative_error,
    tolerance,
)

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

pytestmark = pytest.mark.gpu


def python_prolog(data: Any, offset: int, factors: Any, _: Any) -> Any:
    return data[offset] * factors[offset]


def python_epilog(data: Any, offset: int, value: Any, factors: Any, _: Any) -> None:
    data[offset] = value * factors[offset]


def sources(element: str) -> tuple[str, str]:
    """Return the prolog and the epilog in CUDA C++."""
    cpp = C_TYPES[element]
    real = {"2": cpp[:-1]}.get(cpp[-1], cpp)
    scaled = f"make_{cpp}(f * x.x, f * x.y)" if cpp != real else "f * x"
    return (
        f"__device__ {cpp} prolog(const {cpp} *in, unsigned long long i, const {real} *factors,"
        f" void *)\n{{ {cpp} x = in[i]; {real} f = factors[i]; return {scaled}; }}",
        f"__device__ void epilog({cpp} *out, unsigned long long i, {cpp} x, const {real} *factors,"
        f" void *)\n{{ {real} f = factors[i]; out[i] = {scaled}; }}",
    )


@pytest.fixture(params=["python", "source"])
def language(request: pytest.FixtureRequest) -> str:
    if request.param == "python":
        require_numba()
    return request.param


class Side:
    """A callback with a random factor for each place in an operand's memory."""

    def __init__(
        self, space: Space, phase: str, language: str, view: Any, mirrored: tuple[int, ...] = ()
    ) -> None:
        dtype, shape, strides = view
        real = np.dtype(dtype).type(0).real.dtype
        self.factors = np.random.default_rng().uniform(0.5, 2, shape).astype(real)
        if mirrored:
            # So that half of a Hermitian array stays that.
            self.factors += np.roll(np.flip(self.factors, mirrored), [1] * len(mirrored), mirrored)
        indices = np.indices(shape)
        places = sum(index * stride for index, stride in zip(indices, strides, strict=True))
        memory = np.zeros(np.max(places) + 1, real)
        memory[places] = self.factors
        self.memory = space.array(memory)
        loads = phase == "load"
        name = np.dtype(dtype).name
        function: Any = python_prolog if loads else python_epilog
        if language == "source":
            function = sources(name)[0 if loads else 1]
        compile_ = fft.compile_prolog if loads else fft.compile_epilog
        code = compile_(function, name, real.name)
        self.callable = fft.DeviceCallable(code, data=core.TensorView(self.memory).ptr)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return values * self.factors.astype(values.real.dtype)


def empty_result(space: Space, plan: core.FftPlan) -> Any:
    if space.library == "cupy":
        import cupy

        size = np.dtype(plan.output_dtype).itemsize
        memory = cupy.full(prod(plan.output_shape), np.nan, plan.output_dtype)
        strides = [stride * size for stride in plan.output_strides]
        return cupy.ndarray(plan.output_shape, plan.output_dtype, memory.data, strides)
    import torch

    dtype = getattr(torch, plan.output_dtype)
    result = torch.empty_strided(plan.output_shape, plan.output_strides, dtype=dtype, device="cuda")
    return result.fill_(float("nan"))


def execute(space: Space, plan: core.FftPlan, operand: Any, direction: int) -> np.ndarray:
    result = operand if plan.inplace else empty_result(space, plan)
    core.Device(0).synchronize()
    block = core.allocate(max(plan.workspace_size, 1))
    plan.execute(
        operand,
        result,
        direction=direction,
        workspace=block.device_ptr if plan.workspace_size else 0,
    )
    core.Device(0).synchronize()
    return space.numpy(result)


def check(
    space: Space,
    language: str,
    values: np.ndarray,
    kind: str,
    axes: tuple[int, ...],
    which: str = "both",
    *,
    odd: bool = False,
    inplace: bool = False,
    result_layout: str = "optimized",
) -> None:
    """Compare a transform with a prolog, an epilog or both with NumPy's."""
    operand = space.array(values)
    keywords: dict[str, Any] = {"axes": axes, "kind": kind, "inplace": inplace}
    keywords["result_layout"] = result_layout
    keywords["last_axis_parity"] = "odd" if odd else "even"
    plain = core.FftPlan(operand, **keywords)
    sides: dict[str, Any] = {"prolog": lambda x: x, "epilog": lambda x: x}
    if which != "epilog":
        view = plain.input_dtype, plain.input_shape, plain.input_strides
        mirrored = axes[:-1] if kind == "C2R" else ()
        sides["prolog"] = Side(space, "load", language, view, mirrored)
        keywords["prolog"] = sides["prolog"].callable
    if which != "prolog":
        view = plain.output_dtype, plain.output_shape, plain.output_strides
        sides["epilog"] = Side(space, "store", language, view)
        keywords["epilog"] = sides["epilog"].callable
    plan = core.FftPlan(operand, **keywords)
    wide = values.astype(WIDER[values.dtype])
    # The reference goes one precision up from the operand that it gets.
    given = np.asarray(sides["prolog"](wide))
    for inverse in (False, True) if kind == "C2C" else (kind == "C2R",):
        expected = sides["epilog"](_reference(given, kind, axes, inverse=inverse, odd=odd))
        points = max(prod(values.shape), expected.size)
        for _ in range(2):
            fresh = space.array(values)
            result = execute(space, plan, fresh, 1 if inverse else -1)
            # The factors round too, and weigh the errors.
            eps = float(np.finfo(values.dtype).eps)
            allowed = 2 * tolerance(values.dtype, points) + 2 * eps
            assert relative_error(result, expected) <= allowed
            if not inplace:
                np.testing.assert_array_equal(space.numpy(fresh), values)


def _reference(
    given: np.ndarray, kind: str, axes: tuple[int, ...], *, inverse: bool, odd: bool
) -> np.ndarray:
    double = np.complex128 if given.dtype.kind == "c" else np.float64
    return reference(given.astype(double), kind, axes, inverse=inverse, odd=odd)


def operand_values(kind: str, double: bool, shape: tuple[int, ...], axes: Any) -> np.ndarray:
    if kind == "R2C":
        return random_values(shape, np.float64 if double else np.float32)
    dtype = np.complex128 if double else np.complex64
    if kind == "C2R":
        return hermitian_values(shape, axes, dtype)
    return random_values(shape, dtype)


@pytest.mark.parametrize("double", [False, True], ids=["single", "double"])
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
@pytest.mark.parametrize("which", ["prolog", "epilog", "both"])
def test_every_kind_batched(
    gpu_space: Space, language: str, kind: str, double: bool, which: str
) -> None:
    values = operand_values(kind, double, (6, 33), (1,))
    check(gpu_space, language, values, kind, (1,), which)


@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1,), (0,)),
        ((2**16,), (0,)),
        ((20, 9), (0, 1)),
        ((4, 20, 9), (1, 2)),
        ((6, 10, 17), (0, 1, 2)),
        ((3, 4, 5, 6), (0, 1, 2, 3)),  # two plans, one after the other
        ((17, 8), (0,)),  # columns
    ],
)
def test_axes(gpu_space: Space, language: str, kind: str, shape: Any, axes: Any) -> None:
    if kind == "C2R" and shape == (1,):
        pytest.skip("one point has no even result")
    if kind == "C2R" and shape == (2**16,):
        shape = (
            2**15 + 1,
        )  # else the result's length has the prime factor 257, which cuFFT refuses
    check(gpu_space, language, operand_values(kind, False, shape, axes), kind, axes)


@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_memory_with_gaps_and_other_orders(gpu_space: Space, language: str, kind: str) -> None:
    values = operand_values(kind, True, (5, 24), (1,))
    padded = np.zeros((5, 30), values.dtype)
    padded[:, 2:26] = values
    check(gpu_space, language, padded[:, 2:26], kind, (1,))
    columns = np.asfortranarray(operand_values(kind, False, (12, 7), (0,)))
    check(gpu_space, language, columns, kind, (0,))


def test_real_operands_that_are_not_aligned_like_complex_ones(
    gpu_space: Space, language: str
) -> None:
    base = random_values((1 + 4 * 16,), np.float32)
    check(gpu_space, language, base[1:].reshape(4, 16), "R2C", (1,))


def test_in_place_and_odd(gpu_space: Space, language: str) -> None:
    values = random_values((8, 50), np.complex64)
    check(gpu_space, language, values, "C2C", (1,), inplace=True)
    half = hermitian_values((3, 18), (1,), np.complex128, odd=True)
    check(gpu_space, language, half, "C2R", (1,), odd=True)


@pytest.mark.parametrize("length", [127, 131, 5999, 131 * 64, 999_983])
@pytest.mark.parametrize("kind", ["C2C", "R2C", "C2R"])
def test_lengths_with_large_prime_factors_are_right_or_refused(
    gpu_space: Space, kind: str, length: int
) -> None:
    points = length // 2 + 1 if kind == "C2R" else length
    odd = bool(length % 2)
    if kind == "C2R":
        values = hermitian_values((2, points), (1,), np.complex64, odd=odd)
    else:
        values = operand_values(kind, False, (2, points), (1,))
    try:
        check(gpu_space, "source", values, kind, (1,), odd=odd)
    except cuFFTError as error:
        assert "NOT_SUPPORTED" in str(error)
    except ValueError as error:
        assert "cuFFT 12.3" in str(error)


@pytest.mark.parametrize("which", ["prolog", "epilog"])
def test_what_only_a_copy_reaches_is_refused(gpu_space: Space, which: str) -> None:
    values = random_values((4, 6, 5), np.complex64)
    with pytest.raises(UnsupportedLayoutError, match=f"{which} gets each element's offset") as e:
        check(gpu_space, "source", values, "C2C", (1,), which, result_layout="natural")
    copied = np.ascontiguousarray(values.transpose(e.value.permutation))
    check(gpu_space, "source", copied, "C2C", e.value.axes, which)


def test_plans_are_kept_by_the_code_and_by_the_data(gpu_space: Space) -> None:
    operand = gpu_space.array(random_values((4, 16), np.complex64))
    code = fft.compile_prolog(sources("complex64")[0], "complex64", "float32")
    core.plan_cache_clear()
    blocks = [core.allocate(256), core.allocate(256)]
    for _ in range(2):
        for block in blocks:
            core.FftPlan(operand, prolog=fft.DeviceCallable(code, data=block.device_ptr))
        core.FftPlan(operand)
    info = core.plan_cache_info()
    assert (info.misses, info.hits) == (3, 3)


def test_code_by_its_address(gpu_space: Space) -> None:
    values = random_values((32,), np.float32)
    operand = gpu_space.array(values)
    code = fft.compile_prolog(
        "__device__ float prolog(const float *x, unsigned long long i, void *, void *)"
        " { return 2 * x[i]; }",
        "float32",
        None,
    )
    held = np.frombuffer(code, np.uint8).copy()
    plan = core.FftPlan(operand, prolog=fft.DeviceCallable(held.ctypes.data, held.size))
    held[:] = 0  # it was copied
    result = execute(gpu_space, plan, operand, -1)
    assert relative_error(result, reference(2 * values, "R2C", (0,))) <= tolerance("f4", 32)


def test_code_that_is_none() -> None:
    operand = memory.empty(16, "complex64")
    with pytest.raises(cuFFTError):
        core.FftPlan(operand, prolog=fft.DeviceCallable(b"this is no code"))


def test_half_precision_has_none() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    operand = torch.ones(16, dtype=torch.float16, device="cuda")
    with pytest.raises(ValueError, match="half precision"):
        core.FftPlan(operand, prolog=fft.DeviceCallable(b"code"))
