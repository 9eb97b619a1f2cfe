"""Every function of `gpumath.bindings.driver`, called: arguments arrive where C expects them.

The library is a made one: without a GPU the real driver answers nothing but NO_DEVICE.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpumath_codegen import api, model
from tests.helpers import fake_driver
from tests.helpers.cuda_wheels import run_python
from tests.helpers.processes import arguments_of, result_of
from tests.helpers.repository import ROOT, require_checkout


class Call:
    """The arguments of one Python function, what C must see of them, and the result."""

    def __init__(self, function: model.Function, facts: api.Function) -> None:
        self.arguments: dict[str, Any] = {}
        self.record = function.symbol
        outputs: list[Any] = []
        for index, (parameter, fact) in enumerate(
            zip(function.parameters, facts.parameters, strict=True)
        ):
            if parameter.role == "out":
                outputs.append(fake_driver.written(index, fact.kind))
                continue
            self.arguments[parameter.name], seen = _value(index, fact.kind)
            self.record += f" {seen}"
        self.returned = outputs[0] if len(outputs) == 1 else outputs or None


def _value(index: int, kind: str) -> tuple[Any, str]:
    """Return an argument, and how C writes it down."""
    if kind == "struct 8.4":
        return "location", "7 9"
    if kind == "struct 64.1":
        return "handle", "3 5"
    if kind == "const i8*":
        return f"name{index}", f"name{index}"
    if kind == "f32":
        return index + 0.25, f"{index + 0.25:g}"
    return 100 + index, str(100 + index)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_checkout()
    facts = api.read(ROOT / "codegen" / "api" / "driver.txt").functions
    return fake_driver.build(tmp_path_factory.mktemp("driver"), facts)


def run(library: Path, target: str, *arguments: Any) -> Any:
    """Return what a function of tests/programs returns where this library is the driver."""
    process = run_python([*arguments_of(target, *arguments)], {"GPUMATH_DRIVER_PATH": library})
    return result_of(process)


@pytest.fixture(scope="module")
def outcomes(library: Path) -> dict[str, tuple[Call, list[Any]]]:
    facts = api.read(ROOT / "codegen" / "api" / "driver.txt").functions
    by_symbol = {f.symbol: f for f in facts}
    functions = model.load(ROOT / "codegen", "driver").functions
    calls = {f.name: Call(f, by_symbol[f.symbol]) for f in functions}
    file = library.with_name("calls.json")
    file.write_text(json.dumps({name: call.arguments for name, call in calls.items()}))
    results = run(library, "driver_calls.all_calls", str(file))
    return {name: (call, results[name]) for name, call in calls.items()}


def test_arguments_arrive_where_c_expects_them(
    outcomes: dict[str, tuple[Call, list[Any]]],
) -> None:
    assert len(outcomes) > 500
    found = {name: record for name, (_, (record, _)) in outcomes.items()}
    assert found == {name: call.record for name, (call, _) in outcomes.items()}


def test_outputs_are_returned_in_order(outcomes: dict[str, tuple[Call, list[Any]]]) -> None:
    found = {name: returned for name, (_, (_, returned)) in outcomes.items()}
    assert found == {name: call.returned for name, (call, _) in outcomes.items()}
    assert sum(isinstance(returned, list) for returned in found.values()) > 20


@pytest.mark.parametrize(
    ("call", "record"),
    [
        ("graph_add_empty_node(7, [500, 501], 2)", "cuGraphAddEmptyNode 7 500 501 2"),
        (
            "graph_add_dependencies(7, [1, 2], (3, 4), 0, 2)",
            "cuGraphAddDependencies_v2 7 1 2 3 4 0 2",
        ),
        (
            "device_get_host_atomic_capabilities(99, (ctypes.c_int * 2)(8, 9), 2, 0)",
            "cuDeviceGetHostAtomicCapabilities 99 8 9 2 0",
        ),
        (
            "memcpy2d(driver.Memcpy2D.from_buffer(bytearray(b'\\x05' + bytes(127))))",
            "cuMemcpy2D_v2 5 0",
        ),
        (
            "mem_advise(1, 2, driver.MemAdvise.SET_ACCESSED_BY, (ctypes.c_int * 2)(1, 6))",
            "cuMemAdvise_v2 1 2 5 1 6",
        ),
        ("init(flags=0)", "cuInit 0"),
    ],
)
def test_arrays_and_structs_arrive(library: Path, call: str, record: str) -> None:
    assert run(library, "driver_calls.recorded", call) == record


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "graph_add_empty_node(7, [500], 2)",
            "'dependencies' has 1 elements, but the call reads 2",
        ),
        ("device_get_name(bytearray(4), 5, 0)", "'name' has 4 bytes, but the call writes 5"),
        ("ipc_open_event_handle(bytes(63))", "63 bytes, but the C struct has 64"),
        ("memset_d8(1, 256, 1)", "256 is out of range for an unsigned 8-bit integer"),
        ("module_load('a\\0b')", "NUL"),
        ("launch_kernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0)", "'f'"),
    ],
)
def test_wrong_arguments_do_not_arrive(library: Path, call: str, message: str) -> None:
    text, record = run(library, "driver_calls.refused", call)
    assert message in text
    assert record == ""
