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


def test_output_is_up_to_date() -> None:
    for tool in ("rustfmt", "ruff"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")
    assert emit.differences(ROOT, emit.outputs(CODEGEN, ROOT)) == []


def test_the_core_needs_no_newer_driver_than_cuda_12_0() -> None:
    functions = {f.static: f for f in model.load(CODEGEN, "driver").functions}
    facts = api.read(CODEGEN / "api" / "driver.toml").functions
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
