"""What `out` cannot be: the error says what was asked and what to do, and nothing has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft, memory
from tests.helpers.cases import KINDS, Case
from tests.helpers.elements import read
from tests.helpers.operands import library
from tests.helpers.references import random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

CASE = Case("C2C", (6, 6), (1,))
# What an error proposes.
CURES = r"\b(pass|copy|make|use|leave|allocate|convert|give|call)\b"


@contextmanager
def refused(*words: str) -> Iterator[None]:
    """Check that a ValueError is about `out`, has these words, and says what to do."""
    with pytest.raises(ValueError, match=r"\bout\b") as caught:
        yield
    text = str(caught.value)
    for word in words:
        assert re.search(word, text, re.IGNORECASE), f"{word!r} is not in: {text}"
    assert re.search(CURES, text, re.IGNORECASE), f"it does not say what to do: {text}"


def check_refusal(space: Space, case: Case, operand: Any, out: Any, *words: str) -> None:
    """Let both forms refuse; then operand and `out` are as they were, and both forms work."""
    values = read(operand)
    content = read(out)
    right = space.array(case.blank())
    keywords = {**case.keywords, "execution": space.execution}
    with fft.FFT(operand, **keywords) as transform:
        transform.plan()
        with refused(*words):
            transform.execute(out=out)
        with refused(*words):
            case.function(operand, **keywords, out=out)
        np.testing.assert_array_equal(read(operand), values)
        np.testing.assert_array_equal(read(out), content)
        transform.execute(out=right)
        case.check(space.numpy(right), values)
    case.function(operand, **keywords, out=right)
    case.check(space.numpy(right), values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", ["longer", "shorter", "other rank", "scalar-like"])
def test_another_shape(space: Space, kind: str, change: str) -> None:
    case = Case(kind, (6, 8), (1,))
    rows, columns = case.result_shape
    shape = {
        "longer": (rows, columns + 1),
        "shorter": (rows - 1, columns),
        "other rank": (1, rows, columns),
        # Values could be broadcast from the result to this, but not the other way.
        "scalar-like": (1, columns),
    }[change]
    out = space.array(random_values(shape, case.result_dtype))
    asked, needed = (re.escape(str(extents)) for extents in (shape, case.result_shape))
    check_refusal(space, case, space.array(case.values()), out, asked, needed)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_another_element_type(space: Space, kind: str, dtype: str) -> None:
    case = Case(kind, (6, 8), (1,))
    if dtype == case.result_dtype:
        pytest.skip("it is the result's")
    out = space.array(random_values(case.result_shape, dtype))
    operand = space.array(case.values())
    check_refusal(space, case, operand, out, dtype, case.result_dtype.name)


@pytest.mark.parametrize("shift", [1, 5, 6, 35])
def test_a_part_of_the_operand_is_overwritten(space: Space, shift: int) -> None:
    whole = space.array(random_values((36 + 35,), np.complex64))
    operand, out = whole[:36].reshape(6, 6), whole[shift : shift + 36].reshape(6, 6)
    check_refusal(space, CASE, operand, out, "overlap")
    check_refusal(space, CASE, out, operand, "overlap")


def test_the_operand_in_another_order(space: Space) -> None:
    operand = space.array(random_values((6, 6), np.complex64))
    keywords = {"axes": [1], "execution": space.execution}
    before = space.numpy(operand)
    with refused("overlap"):
        fft.fft(operand, **keywords, out=operand.T)
    np.testing.assert_array_equal(space.numpy(operand), before)


@pytest.mark.parametrize("kind", ["R2C", "C2R"])
def test_only_complex_to_complex_works_in_place(space: Space, kind: str) -> None:
    """Also where the memory would be large enough."""
    case = Case(kind, (6, 8), (1,))
    memory_of_both = space.array(np.zeros((6, 5), np.complex64))
    if space.library == "torch":
        torch = library("torch")
        real = torch.view_as_real(memory_of_both).reshape(6, 10)[:, :8]
    else:
        real = memory_of_both.view("float32")[:, :8]
    operand, out = (real, memory_of_both) if kind == "R2C" else (memory_of_both, real)
    before = read(memory_of_both)
    with refused("overlap"):
        case.function(operand, **case.keywords, execution=space.execution, out=out)
    np.testing.assert_array_equal(read(memory_of_both), before)


def test_elements_that_share_memory(space: Space) -> None:
    values = random_values((6, 6), np.complex64)
    line = space.array(np.zeros(6, np.complex64))
    if space.library == "torch":
        out = line.as_strided((6, 6), (0, 1))
    elif space.library == "cupy":
        out = library("cupy").ndarray((6, 6), "complex64", line.data, (0, 8))
    else:
        out = np.lib.stride_tricks.as_strided(line, (6, 6), (0, 8))
    check_refusal(space, CASE, space.array(values), out, "overlap|strides|share")


def test_other_strides_than_the_object_was_planned_for(space: Space) -> None:
    operand = space.array(random_values((6, 8), np.complex64))
    out = space.array(np.asfortranarray(np.full((6, 8), np.nan, np.complex64)))
    with fft.FFT(operand, axes=[1], execution=space.execution) as transform:
        transform.plan()
        with refused(r"\(8, 1\)", r"\(1, 6\)"):
            transform.execute(out=out)
        assert np.isnan(space.numpy(out)).all()
        transform.execute()


def test_inplace_and_another_array(space: Space) -> None:
    values = random_values((6, 6), np.complex64)
    operand, out = space.array(values), space.array(CASE.blank())
    keywords: dict[str, Any] = {"axes": [1], "execution": space.execution}
    keywords["options"] = {"inplace": True}
    with refused("inplace"):
        fft.fft(operand, **keywords, out=out)
    with fft.FFT(operand, **keywords) as transform:
        transform.plan()
        with refused("inplace"):
            transform.execute(out=out)
    np.testing.assert_array_equal(space.numpy(operand), values)
    assert np.isnan(space.numpy(out)).all()


def read_only_numpy(values: np.ndarray) -> Any:
    values.flags.writeable = False
    return values


def test_read_only_arrays() -> None:
    case = Case("R2C", (4, 6), (1,))
    values = case.values()
    out = read_only_numpy(random_values(case.result_shape, np.complex64))
    content = out.copy()
    with fft.FFT(values, **case.keywords) as transform:
        transform.plan()
        for call in (transform.execute, lambda out: fft.rfft(values, axes=[1], out=out)):
            with refused("read-only|writable|writeable"):
                call(out=out)
    np.testing.assert_array_equal(out, content)
    with refused("read-only|writable|writeable"):
        fft.rfft(memory.from_dlpack(values), axes=[1], out=memory.from_dlpack(out))
    np.testing.assert_array_equal(out, content)


def test_jax_arrays_are_read_only() -> None:
    jax = library("jax")
    values = random_values((4, 6), np.complex64)
    operand, out = (jax.device_put(each, jax.devices("cpu")[0]) for each in (values, 0 * values))
    for call in (lambda: fft.fft(operand, out=out), lambda: fft.fft(operand, out=operand)):
        with refused("read-only|writable|writeable"):
            call()
    np.testing.assert_array_equal(np.asarray(out), 0 * values)
    np.testing.assert_array_equal(np.asarray(operand), values)


class Unknown:
    """Not an array."""


@pytest.mark.parametrize("out", [[1j] * 6, 1j, Unknown(), np.complex64(1), "out", ()])
def test_what_is_no_array(out: Any) -> None:
    values = random_values((6,), np.complex64)
    with refused(type(out).__name__):
        fft.fft(values, out=out)
    with fft.FFT(values) as transform:
        transform.plan()
        with refused(type(out).__name__):
            transform.execute(out=out)


def test_arrays_of_another_library(cpu_space: Space) -> None:
    values = random_values((4, 6), np.complex64)
    others: list[Any] = [memory.empty((4, 6), "complex64", kind="host")]
    if cpu_space.library == "numpy":
        operand: Any = values
    else:
        operand = cpu_space.array(values)
        others.append(values.copy())
    for out in others:
        with refused(cpu_space.library, "library"):
            fft.fft(operand, axes=[1], out=out)
        with fft.FFT(operand, axes=[1]) as transform:
            transform.plan()
            with refused(cpu_space.library, "library"):
                transform.execute(out=out)
    np.testing.assert_array_equal(read(operand), values)


def test_masked_arrays() -> None:
    with refused("mask"):
        fft.fft(random_values((6,), np.complex64), out=np.ma.zeros(6, np.complex64))


def test_an_address_or_strides_between_elements() -> None:
    values = random_values((4,), np.complex128)
    shifted = np.frombuffer(bytearray(4 * 16 + 1), np.uint8)[1:].view(np.complex128)
    record = np.zeros(4, [("value", np.complex128), ("flag", np.int8)])["value"]
    for out in (shifted, record):
        with refused("aligned|multiple"):
            fft.fft(values, out=out)
        assert not out.any()


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    torch = library("torch")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA device")
    return request.param


def test_tensors_that_are_more_than_their_elements(device: str) -> None:
    torch = library("torch")
    operand = torch.from_numpy(random_values((6,), np.complex64)).to(device)
    lazy = torch.zeros(6, dtype=torch.complex64, device=device).conj()
    with refused("conjugation", "resolve_conj"):
        fft.fft(operand, out=lazy)
    differentiated = torch.zeros(6, dtype=torch.complex64, device=device, requires_grad=True)
    with refused("gradient", "detach"):
        fft.fft(operand, out=differentiated)
    with refused("sparse", "dense"):
        fft.fft(operand, out=torch.zeros(6, dtype=torch.complex64, device=device).to_sparse())
    assert not lazy.any()
    assert not differentiated.any()


@pytest.mark.gpu
@pytest.mark.parametrize("execution", ["cpu", "cuda"])
def test_memory_on_the_other_side(execution: str) -> None:
    torch = library("torch")
    values = random_values((4, 6), np.complex64)
    on_host = torch.from_numpy(values)
    on_device = on_host.cuda()
    for operand, out in [(on_host, on_device.clone()), (on_device, on_host.clone())]:
        with refused("host memory", "CUDA device 0"):
            fft.fft(operand, axes=[1], execution=execution, out=out)
        with fft.FFT(operand, axes=[1], execution=execution) as transform:
            transform.plan()
            with refused("host memory", "CUDA device 0"):
                transform.execute(out=out)
        np.testing.assert_array_equal(read(out), values)


@pytest.mark.gpu
def test_another_device() -> None:
    torch = library("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("there is only one CUDA device")
    operand = torch.ones(6, dtype=torch.complex64, device="cuda:0")
    with refused("CUDA device 0", "CUDA device 1"):
        fft.fft(operand, out=operand.to("cuda:1"))
