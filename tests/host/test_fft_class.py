"""The steps of FFT: plan, execute, reset_operand, release_operand, free."""

from __future__ import annotations

import gc
import logging
import re
import weakref
from typing import TYPE_CHECKING

import numpy as np
import pytest

from gpumath import fft
from tests.helpers.references import assert_close, hermitian_values, random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space


def test_each_kind(space: Space) -> None:
    cases = {
        "C2C": random_values((4, 10), np.complex64),
        "R2C": random_values((4, 10), np.float32),
        "C2R": hermitian_values((4, 10), (1,), np.complex64),
    }
    for kind, values in cases.items():
        with fft.FFT(
            space.array(values), axes=[1], execution=space.execution, options={"fft_type": kind}
        ) as transform:
            transform.plan()
            result = transform.execute()
        space.assert_is_alike(result)
        assert_close(space.numpy(result), values, kind, (1,))


def test_the_kind_follows_from_the_element_type(space: Space) -> None:
    values = random_values((10,), np.float64)
    with fft.FFT(space.array(values), execution=space.execution) as transform:
        transform.plan()
        assert_close(space.numpy(transform.execute()), values, "R2C", (0,))


def test_every_execution_gives_a_new_and_full_result(space: Space) -> None:
    values = random_values((7, 30), np.complex128)
    with fft.FFT(space.array(values), axes=[1], execution=space.execution) as transform:
        transform.plan()
        first = transform.execute()
        kept = space.numpy(first)
        # New results may lie where this one was: what the transform leaves out would be NaN.
        first[...] = np.nan
        del first
        second = transform.execute()
        third = transform.execute()
        assert third is not second
        for result in (second, third):
            np.testing.assert_array_equal(space.numpy(result), kept)
    assert_close(kept, values, "C2C", (1,))


@pytest.mark.parametrize("shape", [(8, 16), (16, 2, 4), (128,)])
def test_an_operand_that_changes_its_shape(space: Space, shape: tuple[int, ...]) -> None:
    values = random_values((16, 8), np.complex64)
    operand = space.array(values)

    def change(shape: tuple[int, ...]) -> None:
        if space.library == "torch":
            operand.resize_(shape)
        elif space.library == "numpy":
            operand.resize(shape, refcheck=False)
        else:
            operand.shape = shape

    with fft.FFT(operand, axes=[1], execution=space.execution) as transform:
        transform.plan()
        transform.execute()
        change(shape)
        for _ in range(2):
            with pytest.raises(ValueError, match=f"of shape {re.escape(str(shape))}.* made for"):
                transform.execute()
        change((16, 8))
        assert_close(space.numpy(transform.execute()), values, "C2C", (1,))


def test_a_transform_to_real_runs_again_without_reset(space: Space) -> None:
    values = hermitian_values((5, 9), (0, 1), np.complex128)
    operand = space.array(values)
    with fft.FFT(operand, options={"fft_type": "C2R"}, execution=space.execution) as transform:
        transform.plan()
        for _ in range(2):
            assert_close(space.numpy(transform.execute()), values, "C2R", (0, 1))
    np.testing.assert_array_equal(space.numpy(operand), values, "the operand has changed")


def test_plan_twice(space: Space) -> None:
    values = random_values((16,), np.complex128)
    with fft.FFT(space.array(values), execution=space.execution) as transform:
        transform.plan(direction="forward")
        transform.plan(direction="inverse")
        assert_close(space.numpy(transform.execute()), values, "C2C", (0,), inverse=True)


FORWARD = ["forward", -1, fft.FFTDirection.FORWARD, "FORWARD"]
INVERSE = ["inverse", 1, fft.FFTDirection.INVERSE, "INVERSE"]


@pytest.mark.parametrize("direction", FORWARD + INVERSE)
def test_directions(cpu_space: Space, direction: object) -> None:
    values = random_values((16,), np.complex128)
    inverse = direction in INVERSE
    with fft.FFT(cpu_space.array(values)) as transform:
        transform.plan()
        result = transform.execute(direction)
        assert_close(cpu_space.numpy(result), values, "C2C", (0,), inverse=inverse)
        transform.plan(direction=direction)
        assert_close(cpu_space.numpy(transform.execute()), values, "C2C", (0,), inverse=inverse)


def test_a_changed_operand_counts(space: Space) -> None:
    values = random_values((16,), np.complex128)
    operand = space.array(values)
    with fft.FFT(operand, execution=space.execution) as transform:
        transform.plan()
        transform.execute()
        operand *= 2
        assert_close(space.numpy(transform.execute()), 2 * values, "C2C", (0,))


@pytest.mark.parametrize("method", ["reset_operand", "reset_operand_unchecked"])
def test_reset_operand(space: Space, method: str) -> None:
    first, second = (random_values((3, 16), np.complex64) for _ in range(2))
    with fft.FFT(space.array(first), axes=[1], execution=space.execution) as transform:
        transform.plan()
        transform.execute()
        getattr(transform, method)(operand=space.array(second))
        assert_close(space.numpy(transform.execute()), second, "C2C", (1,))


MISFITS = {
    "shape": lambda a: a[:, :8],
    "strides": lambda a: np.asfortranarray(a),
    "dtype": lambda a: a.astype(np.complex128),
}


@pytest.mark.parametrize("difference", MISFITS)
def test_reset_operand_names_both_sides_of_a_misfit(space: Space, difference: str) -> None:
    values = random_values((3, 16), np.complex64)
    other = MISFITS[difference](values)
    with fft.FFT(space.array(values), axes=[1], execution=space.execution) as transform:
        transform.plan()
        with pytest.raises(ValueError, match=r"the operand is complex\d+ of shape") as caught:
            transform.reset_operand(space.array(other))
        for side in (values, other):
            strides = tuple(stride // side.itemsize for stride in side.strides)
            assert f"{side.dtype} of shape {side.shape} and strides {strides}" in str(caught.value)
        # The first operand is still there, and the object still works.
        assert_close(space.numpy(transform.execute()), values, "C2C", (1,))


def test_reset_operand_unchecked_leaves_the_check_to_execute(direct_space: Space) -> None:
    values = random_values((3, 16), np.complex64)
    with fft.FFT(direct_space.array(values), axes=[1]) as transform:
        transform.plan()
        transform.reset_operand_unchecked(direct_space.array(values[:2]))
        with pytest.raises(ValueError, match="this FFT object was made for"):
            transform.execute()


def test_reset_operand_of_another_library() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    values = random_values((8,), np.complex64)
    with fft.FFT(values) as transform:
        with pytest.raises(ValueError, match=r"of the library torch, and this FFT .* for numpy"):
            transform.reset_operand(torch.from_numpy(values))
        with pytest.raises(ValueError, match=r"the operand is a builtins\.list"):
            transform.reset_operand([1, 2])


@pytest.mark.gpu
def test_reset_operand_on_another_device() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    values = torch.ones(8, dtype=torch.complex64)
    with (
        fft.FFT(values, execution="cuda") as transform,
        pytest.raises(ValueError, match=r"on CUDA device 0, but .* in host memory"),
    ):
        transform.reset_operand(values.cuda())


def test_release_operand_drops_the_last_reference(space: Space) -> None:
    values = random_values((16,), np.complex128)
    operand = space.array(values)
    reference = weakref.ref(operand)
    with fft.FFT(operand, execution=space.execution) as transform:
        transform.plan()
        transform.execute()
        transform.release_operand()
        del operand
        gc.collect()
        assert reference() is None
        with pytest.raises(RuntimeError, match=r"no operand; call its reset_operand\(\)"):
            transform.execute()
        transform.reset_operand(space.array(values))
        assert_close(space.numpy(transform.execute()), values, "C2C", (0,))


def test_an_object_that_its_operand_refers_to_is_collected() -> None:
    class Operand(np.ndarray[tuple[int, ...], np.dtype[np.complex64]]):
        owner: fft.FFT

    operand = np.ones(8, np.complex64).view(Operand)
    transform = operand.owner = fft.FFT(operand)
    transform.plan()
    transform.execute()
    gone = weakref.ref(transform)
    del operand, transform
    gc.collect()
    assert gone() is None


def test_an_object_that_its_logger_refers_to_is_collected() -> None:
    logger = logging.Logger("of an FFT")
    transform = fft.FFT(np.ones(8, np.complex64), options={"logger": logger})
    transform.plan()
    logger.owner = transform  # type: ignore[attr-defined]  # to make a cycle
    gone = weakref.ref(transform)
    del logger, transform
    gc.collect()
    assert gone() is None


def test_another_plan_and_operand_during_an_execution() -> None:
    """A memory manager, a log handler or a finalizer may do this; none of it may lock up."""
    first, second = random_values((8,), np.complex64), random_values((8,), np.complex64)
    inner: list[object] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            self.setLevel(logging.CRITICAL)
            transform.reset_operand(second)
            inner.append(transform.execute(direction="inverse"))
            transform.plan()

    logger = logging.Logger("reentrant", logging.INFO)
    with fft.FFT(first, options={"logger": logger}) as transform:
        transform.plan()
        logger.addHandler(Handler())
        assert_close(transform.execute(), first, "C2C", (0,))
        assert_close(transform.execute(), second, "C2C", (0,))
    assert len(inner) == 1


def test_layouts(space: Space) -> None:
    values = random_values((6, 4), np.float64).T
    with fft.FFT(space.array(values), execution=space.execution, axes=[1, 0]) as transform:
        assert transform.get_input_layout() == ((4, 6), (1, 4))
        assert transform.get_output_layout() == ((3, 6), (1, 3))
        transform.plan()
        assert tuple(transform.execute().shape) == (3, 6)


def test_execute_before_plan(space: Space) -> None:
    with fft.FFT(space.array(np.ones(4, np.complex64)), execution=space.execution) as transform:
        with pytest.raises(fft.InvalidFFTState, match=r"not planned; call its plan\(\)"):
            transform.execute()
        transform.plan()
        transform.execute()


def test_a_freed_object_can_only_be_freed(space: Space) -> None:
    operand = space.array(np.ones(4, np.complex64))
    transform = fft.FFT(operand, execution=space.execution)
    transform.plan()
    transform.free()
    transform.free()
    transform.reset_operand_unchecked(operand)
    uses = [
        transform.plan,
        transform.execute,
        transform.release_operand,
        transform.get_input_layout,
        transform.get_output_layout,
        transform.__enter__,
        lambda: transform.reset_operand(operand),
    ]
    for use in uses:
        with pytest.raises(fft.InvalidFFTState, match="freed; make a new one"):
            use()


def test_leaving_the_with_block_by_an_exception_frees(space: Space) -> None:
    transform = fft.FFT(space.array(np.ones(4, np.complex64)), execution=space.execution)
    with pytest.raises(ZeroDivisionError), transform:
        raise ZeroDivisionError
    with pytest.raises(fft.InvalidFFTState):
        transform.plan()


def test_a_failed_execution_leaves_the_object_usable(space: Space) -> None:
    values = random_values((12,), np.complex128)
    with fft.FFT(space.array(values), execution=space.execution) as transform:
        transform.plan()
        with pytest.raises(ValueError, match="direction is 'sideways'"):
            transform.execute(direction="sideways")
        with pytest.raises(TypeError, match="stream is a str"):
            transform.execute(stream="fast")
        assert_close(space.numpy(transform.execute()), values, "C2C", (0,))


def test_the_log_tells_what_runs_where(cpu_space: Space, caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("test_fft_class")
    operand = cpu_space.array(np.ones((2, 8), np.float32))
    with caplog.at_level(logging.INFO, logger="test_fft_class"):
        with fft.FFT(operand, axes=[1], options={"logger": logger}) as transform:
            transform.plan()
            transform.execute()
        fft.rfft(operand, options={"logger": logger})
    text = caplog.text
    assert "R2C transform of float32 operands of shape (2, 8)" in text
    assert "on the CPU" in text
    assert "ms" in text


def test_by_default_nothing_is_logged(cpu_space: Space, caplog: pytest.LogCaptureFixture) -> None:
    fft.rfft(cpu_space.array(np.ones(8, np.float32)))
    assert caplog.text == ""
