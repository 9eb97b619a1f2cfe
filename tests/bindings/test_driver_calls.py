"""Every function of `gpumath.bindings.driver`, called: arguments arrive where C expects them.

The library is a made one: without a GPU the real driver answers nothing but NO_DEVICE.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpumath_codegen import api, model
from tests.helpers import fake_driver
from tests.helpers.cuda_wheels import run_python
from tests.helpers.repository import ROOT, require_checkout

# Addresses of structs by value: a MemLocation, and 64 bytes of a handle.
_SCRIPT = """
import ctypes, json, sys
from gpumath.bindings import driver

fake = ctypes.CDLL({library!r})
fake.recorder_text.restype = ctypes.c_char_p
location = (ctypes.c_int * 2)(7, 9)
handle = bytes([3, *[0] * 62, 5])
result = {{}}
for name, arguments in json.loads({calls!r}).items():
    known = {{"location": location, "handle": handle}}
    given = {{key: known.get(value, value) for key, value in arguments.items()}}
    returned = getattr(driver, name)(**given)
    result[name] = [fake.recorder_text().decode(), returned]
sys.stdout.write(json.dumps(result))
"""


class Call:
    """What one Python function is given, and what must come of it."""

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
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Call, list[Any]]]:
    require_checkout()
    facts = api.read(ROOT / "codegen" / "api" / "driver.toml").functions
    by_symbol = {f.symbol: f for f in facts}
    functions = model.load(ROOT / "codegen", "driver").functions
    calls = {f.name: Call(f, by_symbol[f.symbol]) for f in functions}
    library = fake_driver.build(tmp_path_factory.mktemp("driver"), facts)
    script = _SCRIPT.format(
        library=str(library), calls=json.dumps({name: c.arguments for name, c in calls.items()})
    )
    process = run_python(["-c", script], {"GPUMATH_DRIVER_PATH": library})
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
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
