"""What is committed: generated from api/ and rules/, and for drivers since CUDA 12.0."""

from __future__ import annotations

import re
import shutil

import pytest

from gpumath_codegen import api, emit, model
from tests.helpers.repository import ROOT, require_checkout

CODEGEN = ROOT / "codegen"


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


# In the order of time.
RELEASES = ["12.0", "12.4", "12.9", "13.0", "13.2", "13.5"]


def test_output_is_up_to_date() -> None:
    for tool in ("rustfmt", "ruff"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")
    assert emit.differences(ROOT, emit.outputs(CODEGEN, ROOT)) == []


def test_the_core_needs_no_newer_driver_than_cuda_12_0() -> None:
    functions = {f.static: f for f in model.load(CODEGEN, "driver").functions}
    facts = api.read(CODEGEN / "api" / "driver.txt").functions
    declared = {
        symbol: [f for f in facts if f.symbol == symbol] for symbol in {f.symbol for f in facts}
    }
    used = set()
    for path in sorted((ROOT / "crates" / "gpumath-core" / "src").rglob("*.rs")):
        used |= {*re.findall(r"\bdriver::([A-Z][A-Z0-9_]+)\b", path.read_text())}
    assert len(used) > 20
    for name in used:
        function = functions[name]
        # Some older symbols are under a newer name too.
        assert function.since == "12.0" or any(
            f.since == "12.0" for f in declared[function.symbol]
        ), f"{function.c_name} by {function.symbol} came with CUDA {function.since}"
    assert functions["MEM_ALLOC"].symbol == "cuMemAlloc_v2"
    assert functions["STREAM_BEGIN_CAPTURE"].symbol == "cuStreamBeginCapture_v2"


def test_driver_symbols_need_no_newer_driver_than_their_signature() -> None:
    """A symbol that came later would make gpumath need a newer driver."""
    functions = model.load(CODEGEN, "driver").functions
    assert {f.until for f in functions} == {"12.9", "13.5"}
    symbols = {f.c_name: f.symbol for f in functions}
    assert symbols["cuMemAlloc"] == "cuMemAlloc_v2"
    assert symbols["cuStreamBeginCapture"] == "cuStreamBeginCapture_v2"
    # _v2 of this one exists only since CUDA 12.8.
    assert symbols["cuEventElapsedTime"] == "cuEventElapsedTime"
    first: dict[str, str] = {}
    for f in api.read(CODEGEN / "api" / "driver.txt").functions:
        first[f.symbol] = min(f.since, first.get(f.symbol, f.since), key=RELEASES.index)
    late = {f.name for f in functions if RELEASES.index(first[f.symbol]) > RELEASES.index(f.since)}
    assert late == set()


def test_signatures_of_the_driver_that_changed_are_all_there() -> None:
    versions: dict[str, list[str]] = {}
    for f in model.load(CODEGEN, "driver").functions:
        versions.setdefault(f.c_name, []).append(f.symbol)
    changed = {name: sorted(symbols) for name, symbols in versions.items() if len(symbols) > 1}
    assert changed == {
        "cuCtxCreate": ["cuCtxCreate_v2", "cuCtxCreate_v4"],
        "cuStreamGetCaptureInfo": ["cuStreamGetCaptureInfo_v2", "cuStreamGetCaptureInfo_v3"],
    } | {
        name: [name, f"{name}_v2"]
        for name in (
            "cuGraphAddDependencies", "cuGraphAddNode", "cuGraphGetEdges",
            "cuGraphNodeGetDependencies", "cuGraphNodeGetDependentNodes",
            "cuGraphRemoveDependencies", "cuMemAdvise", "cuMemPrefetchAsync",
            "cuMemcpy3DBatchAsync", "cuMemcpyBatchAsync", "cuStreamUpdateCaptureDependencies",
        )
    }  # fmt: skip
