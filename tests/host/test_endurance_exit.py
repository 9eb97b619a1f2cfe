"""The end of the interpreter, and forked children: nothing crashes, hangs, or is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.helpers import ordering_driver
from tests.helpers.processes import assert_quiet, start

Run = Callable[..., "CompletedProcess[str]"]
MACHINES = ["cpu", "fake driver", pytest.param("gpu", marks=pytest.mark.gpu)]
PROGRAM = "endurance_exit"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.fixture(params=MACHINES)
def run(request: pytest.FixtureRequest) -> Run:
    """Call a function of the program, which makes objects of the CPU or of a (stand-in) device."""
    machine = "cpu" if request.param == "cpu" else "device"
    if request.param == "fake driver":
        driver = request.getfixturevalue("driver")
        return lambda function, *arguments: ordering_driver.start(
            driver, f"{PROGRAM}.{function}", machine, *arguments
        )
    return lambda function, *arguments: start(f"{PROGRAM}.{function}", machine, *arguments)


# What tests/programs/endurance_exit.py knows.
WHERE = [
    *("global", "module", "builtins", "cycle", "cycle through sys.modules", "thread-local"),
    *("waiting thread", "deleted late", "weakly"),
]
HOW = ["end", "sys.exit", "os._exit", "exception"]
CHILDREN = ["os._exit", "sys.exit", "multiprocessing", "pool", "grandchild", "thread"]


@pytest.mark.parametrize("where", WHERE)
def test_objects_that_are_there_at_the_end(run: Run, where: str) -> None:
    for how in HOW:
        assert_quiet(run("objects_that_are_there_at_the_end", where, how))


@pytest.mark.parametrize("first", [True, False], ids=["before the import", "after the import"])
def test_handlers_at_exit(run: Run, first: bool) -> None:
    # Handlers registered before the import run after gpumath's own.
    assert_quiet(run("handlers_at_exit", first), "2\n")


@pytest.mark.parametrize("work", ["transform", "objects"])
def test_daemon_threads_at_work(run: Run, work: str) -> None:
    for _ in range(3):
        assert_quiet(run("daemon_threads_at_work", work))


@pytest.mark.parametrize("call", ["mem_get_info", "ctx_synchronize"])
def test_daemon_threads_in_calls_of_the_bindings(driver: Path, call: str) -> None:
    # Some are in the C function while the interpreter shuts down, and come back from it then.
    for _ in range(3):
        target = f"{PROGRAM}.daemon_threads_in_calls_of_the_bindings"
        assert_quiet(ordering_driver.start(driver, target, call))


@pytest.mark.parametrize("child", CHILDREN)
@pytest.mark.parametrize("clears", [True, False], ids=["freed in the child", "kept in the child"])
def test_forked_children(run: Run, child: str, clears: bool) -> None:
    assert_quiet(run("forked_children", child, clears), "parent\n")


def test_a_child_forked_before_the_first_call_may_use_the_device(run: Run) -> None:
    assert_quiet(run("a_child_forked_before_the_first_call_may_use_the_device"))


@pytest.mark.gpu
@pytest.mark.parametrize("library", ["torch", "cupy"])
@pytest.mark.parametrize("order", ["before", "after", "between"])
def test_other_libraries_at_the_end(library: str, order: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed")
    target = "endurance_exit_libraries.other_libraries_at_the_end"
    for how in HOW:
        assert_quiet(start(target, library, order, how))
