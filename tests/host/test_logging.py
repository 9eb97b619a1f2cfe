"""What is logged, where to and at which level; the words are free, the facts in them are not."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from gpumath import fft
from gpumath.bindings import core
from tests.helpers.captures import WAYS, Pair
from tests.helpers.cases import Case
from tests.helpers.elements import read, write
from tests.helpers.managers import Manager
from tests.helpers.operands import library
from tests.helpers.references import assert_close, random_values

if TYPE_CHECKING:
    from tests.helpers.spaces import Space

MILLISECONDS = re.compile(r"\b\d+(\.\d+)?(e-?\d+)? ms\b")


class Records(logging.Handler):
    """Keeps what it gets."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record)

    def texts(self, level: int) -> list[str]:
        return [record.getMessage() for record in self.found if record.levelno == level]

    def take(self, level: int) -> str:
        """Return the lines of one level since the last call, and forget all."""
        lines = "\n".join(self.texts(level))
        self.found.clear()
        return lines


@contextmanager
def listening(logger: logging.Logger, level: int) -> Iterator[Records]:
    records, before = Records(), logger.level
    logger.addHandler(records)
    logger.setLevel(level)
    try:
        yield records
    finally:
        logger.setLevel(before)
        logger.removeHandler(records)


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    """A logger of the user's own, whose records nobody else gets."""
    own = logging.getLogger("test_logging")
    own.propagate = False
    yield own
    own.propagate = True


def use_both_forms(operand: Any, execution: str, options: dict[str, Any]) -> None:
    fft.fft(operand, axes=[1], execution=execution, options=options)
    with fft.FFT(operand, axes=[1], execution=execution, options=options) as transform:
        transform.plan()
        transform.execute()


def test_the_root_logger_by_default(space: Space) -> None:
    operand = space.array(random_values((3, 8), np.complex64))
    with listening(logging.getLogger(), logging.INFO) as records:
        use_both_forms(operand, space.execution, {})
    assert {record.name for record in records.found} == {"root"}


def test_the_users_logger_alone(space: Space, logger: logging.Logger) -> None:
    operand = space.array(random_values((3, 8), np.complex64))
    with listening(logging.getLogger(), logging.DEBUG) as root, listening(logger, 1) as records:
        use_both_forms(operand, space.execution, {"logger": logger})
    assert root.found == []
    assert {record.name for record in records.found} == {"test_logging"}


@pytest.mark.parametrize("level", [logging.WARNING, logging.CRITICAL + 1])
def test_nothing_to_warn_of(space: Space, logger: logging.Logger, level: int) -> None:
    operand = space.array(random_values((3, 8), np.complex64))
    with listening(logger, level) as records:
        use_both_forms(operand, space.execution, {"logger": logger})
    assert records.found == []


def test_a_level_that_changes_between_calls_counts(space: Space, logger: logging.Logger) -> None:
    operand = space.array(random_values((3, 8), np.complex64))
    options = {"logger": logger}
    with fft.FFT(operand, axes=[1], execution=space.execution, options=options) as transform:
        transform.plan()
        with listening(logger, logging.INFO) as records:
            transform.execute()
            assert records.take(logging.INFO)
            logger.setLevel(logging.ERROR)
            transform.execute()
            assert records.found == []


def test_phases_at_info(space: Space, logger: logging.Logger) -> None:
    """Each step says that it was, and how long it took where it does something."""
    values = random_values((3, 8), np.complex64)
    operand = space.array(values)
    options = {"logger": logger}
    with listening(logger, logging.INFO) as records:
        transform = fft.FFT(operand, axes=[1], execution=space.execution, options=options)
        line = records.take(logging.INFO)
        assert MILLISECONDS.search(line), line
        transform.plan()
        assert "plan" in records.take(logging.INFO)
        transform.execute("inverse")
        line = records.take(logging.INFO)
        assert "inverse" in line.lower()
        assert MILLISECONDS.search(line), line
        transform.reset_operand(operand)
        assert "operand" in records.take(logging.INFO)
        transform.reset_operand_unchecked(operand)
        assert records.take(logging.INFO) == ""
        transform.release_operand()
        assert "operand" in records.take(logging.INFO)
        transform.free()
        assert "free" in records.take(logging.INFO)
        transform.free()
        assert records.take(logging.INFO) == ""


def test_a_function_says_how_long_it_took(space: Space, logger: logging.Logger) -> None:
    operand = space.array(random_values((3, 8), np.complex64))
    options = {"logger": logger}
    with listening(logger, logging.INFO) as records:
        fft.ifft(operand, axes=[1], execution=space.execution, options=options)
        line = records.take(logging.INFO)
    assert "inverse" in line.lower()
    assert MILLISECONDS.search(line), line


@pytest.mark.parametrize("form", ["function", "class"])
def test_decisions_at_info(space: Space, logger: logging.Logger, form: str) -> None:
    """Kind, element type, axes, engine, where it runs, how much workspace it needs."""
    operand = space.array(random_values((3, 8), np.float32))
    plan = core.FftPlan(operand, axes=[1], execution=space.execution)
    options = {"logger": logger}
    with listening(logger, logging.INFO) as records:
        if form == "function":
            fft.rfft(operand, axes=[1], execution=space.execution, options=options)
        else:
            fft.FFT(operand, axes=[1], execution=space.execution, options=options).free()
        text = records.take(logging.INFO)
    place = "CPU" if space.execution == "cpu" else "CUDA device 0"
    for fact in ("R2C", "float32", "(3, 8)", "axes (1,)", plan.engine, place):
        assert fact in text
    assert f"{plan.workspace_size} bytes" in text


def test_copies_to_the_other_side_at_info(space: Space, logger: logging.Logger) -> None:
    operand = space.array(random_values((3, 8), np.complex64))
    options = {"logger": logger}
    with listening(logger, logging.INFO) as records:
        fft.fft(operand, axes=[1], execution=space.execution, options=options)
        text = records.take(logging.INFO)
    assert ("copied" in text) == (not space.is_direct), text


@pytest.mark.parametrize("form", ["function", "class"])
def test_layouts_at_debug(space: Space, logger: logging.Logger, form: str) -> None:
    values = random_values((4, 10, 6), np.float64).transpose(1, 2, 0)
    operand = space.array(values)
    keywords: dict[str, Any] = {"axes": [1], "execution": space.execution}
    keywords["options"] = {"logger": logger}
    with listening(logger, logging.DEBUG) as records:
        if form == "function":
            fft.rfft(operand, **keywords)
        else:
            fft.FFT(operand, **keywords).free()
        text = records.take(logging.DEBUG)
    # Of the operand, and of the result.
    for strides in ((6, 1, 60), (4, 1, 40)):
        assert str(strides) in text


@pytest.mark.parametrize("form", ["function", "class"])
def test_passes_at_debug(space: Space, logger: logging.Logger, form: str) -> None:
    """How many calls an execution makes, and of which plans."""
    operand = space.array(random_values((2, 4, 3, 5), np.complex64))
    keywords: dict[str, Any] = {"execution": space.execution, "options": {"logger": logger}}
    with listening(logger, logging.DEBUG) as records:
        if form == "function":
            fft.fft(operand, **keywords)
        else:
            fft.FFT(operand, **keywords).free()
        text = records.take(logging.DEBUG)
    plan = core.FftPlan(operand, execution=space.execution)
    if space.execution == "cpu":
        assert f"library calls for one execution: {plan.library_calls}" in text
        return
    passes = plan.problem.passes()
    assert [one.extents for one in passes] == [(4, 3, 5), (2,)]
    assert len(passes) == plan.library_calls == 2
    for number, one in enumerate(passes, 1):
        assert f"cuFFT plan {number} of 2: C2C of {one.extents} points, {one.batch} at once" in text


IGNORED: dict[str, dict[str, Any]] = {
    "stream": {"stream": 1},
    "allocator": {"options": {"allocator": Manager()}},
    "memory_limit": {"options": {"memory_limit": "50%"}},
    "last_axis_parity": {"options": {"last_axis_parity": "odd"}},
}


@pytest.mark.parametrize("argument", IGNORED)
@pytest.mark.parametrize("form", ["function", "class"])
def test_ignored_arguments_at_warning(
    cpu_space: Space, logger: logging.Logger, form: str, argument: str
) -> None:
    """On the CPU those that are for the GPU; parity where the result is not real."""
    values = random_values((3, 8), np.complex64)
    operand = cpu_space.array(values)
    keywords = {"options": {}, **IGNORED[argument]}
    keywords["options"] = {**keywords["options"], "logger": logger}
    with listening(logger, logging.WARNING) as records:
        if form == "function":
            result = fft.fft(operand, axes=[1], **keywords)
        else:
            stream = keywords.pop("stream", None)
            with fft.FFT(operand, axes=[1], **keywords) as transform:
                transform.plan()
                result = transform.execute(stream=stream)
    assert_close(cpu_space.numpy(result), values, "C2C", (1,))
    (text,) = records.texts(logging.WARNING)
    assert argument in text
    assert [record.levelno for record in records.found] == [logging.WARNING]


def test_arguments_with_an_effect_are_no_warning(space: Space, logger: logging.Logger) -> None:
    half = space.array(np.fft.rfft(random_values((3, 9), np.float64)))
    options: dict[str, Any] = {"last_axis_parity": "odd", "logger": logger}
    keywords: dict[str, Any] = {}
    if space.execution == "cuda":
        options |= {"memory_limit": 0.5, "allocator": Manager()}
        keywords["stream"] = 1
    with listening(logger, logging.WARNING) as records:
        fft.irfft(half, axes=[1], execution=space.execution, options=options, **keywords)
    assert records.texts(logging.WARNING) == []


@pytest.mark.gpu
def test_a_device_id_that_is_not_the_operands(logger: logging.Logger) -> None:
    torch = library("torch")
    if torch.cuda.device_count() < 2:
        pytest.skip("there is only one CUDA device")
    operand = torch.ones(8, dtype=torch.complex64, device="cuda:1")
    execution = fft.ExecutionCUDA(device_id=0)
    with listening(logger, logging.WARNING) as records:
        fft.fft(operand, execution=execution, options={"logger": logger})
    (text,) = records.texts(logging.WARNING)
    assert "device_id" in text


@pytest.mark.gpu
@pytest.mark.parametrize("pair", WAYS, ids=str)
def test_failed_cleanup_at_critical(pair: Pair, logger: logging.Logger) -> None:
    """A manager that knows no streams may get memory back only after waiting for the stream.

    While that is captured, nothing can wait for it. free() says so, and the capture goes on.
    """
    case, stream = Case("C2C", (5, 4099), (1,)), pair.stream()
    operand, out = pair.operand(case.values()), pair.operand(case.blank())
    options = {"allocator": Manager(), "logger": logger}
    failing = fft.FFT(operand, axes=[1], options=options)
    failing.plan()
    failing.execute(stream=stream, out=out)
    with fft.FFT(operand, axes=[1]) as transform, listening(logger, logging.INFO) as records:
        transform.plan()
        with pair.capture(stream) as captured:
            failing.free()
            transform.execute(stream=pair.argument(stream), out=out)
        (text,) = records.texts(logging.CRITICAL)
        assert "workspace" in text
        values = case.values()
        write(operand, values)
        captured.replay()
        case.check(read(out), values)
    with pytest.raises(fft.InvalidFFTState, match="freed"):
        failing.execute()
