"""Memory managers that fail at any of their calls: nothing is lost, and the next call works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers import ordering_driver
from tests.helpers.failing_managers import (
    ERRORS,
    FORMS,
    MANAGERS,
    REQUESTS,
    WRONG,
    Manager,
    fail_everywhere,
)
from tests.helpers.operands import NEAR_GPU, ON_HOST, Source, numpy_of, stream_of
from tests.helpers.references import assert_close, random_values

# A prime length, for which cuFFT needs a workspace.
SHAPE = (3, 4099)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("operand", ["values", "array"])
def test_without_a_gpu(driver: Path, form: str, manager: str, operand: str) -> None:
    counts = ordering_driver.run(driver, "endurance_allocators.requests", form, manager, operand)
    assert counts == [REQUESTS[form]] * (len(ERRORS) + len(WRONG))


SOURCES = [source for source in (*NEAR_GPU, *ON_HOST) if source.library != "jax"]


def survey(source: Source, form: str, manager: Manager, stream: str) -> None:
    values = random_values(SHAPE, np.complex64)
    operand = source.operand(values, (...,))
    used = stream_of(stream)

    def run() -> object:
        return FORMS[form](operand, manager, execution="cuda", stream=used)

    def check(result: object) -> None:
        assert_close(numpy_of(result), values, "C2C", (1,))

    for error in ERRORS.values():
        assert fail_everywhere(manager, run, check, error) == REQUESTS[form]
    for wrong, error in WRONG.values():
        assert fail_everywhere(manager, run, check, error, wrong) == REQUESTS[form]


@pytest.mark.gpu
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("manager", MANAGERS)
@pytest.mark.parametrize("source", SOURCES, ids=str)
def test_on_the_gpu(source: Source, form: str, manager: str) -> None:
    for stream in ("none", "core"):
        survey(source, form, MANAGERS[manager](), stream)
