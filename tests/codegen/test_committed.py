"""What is committed: generated from api/ and rules/, and true to the measured facts in frozen/."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from gpumath_codegen import api, emit, model
from tests.helpers.repository import ROOT, require_checkout

CODEGEN = ROOT / "codegen"
FROZEN = Path(__file__).parent / "frozen"
RELEASES = ["12.0", "12.4", "12.9", "13.0", "13.2", "13.5"]
# Device callbacks work only with the static library, so gpumath has no such function.
SKIPPED = {"xt_set_callback"}


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


def rows(name: str) -> list[dict[str, str]]:
    with (FROZEN / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def role(parameter: model.Parameter, c_enums: dict[str, str]) -> str:
    """Return the parameter as the frozen table writes it."""
    enum = f".{c_enums[parameter.enum]}" if parameter.enum else ""
    text = {
        "in": parameter.kind + enum,
        "out": f"out.{parameter.kind}{enum}",
        "seq": "seq",
        "bytes": "seq",
        "str": "str",
    }[parameter.role]
    return f"{parameter.name}:{text}"


def test_output_is_up_to_date() -> None:
    for tool in ("rustfmt", "ruff"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not on PATH")
    assert emit.differences(ROOT, emit.outputs(CODEGEN, ROOT)) == []


def test_cufft_functions() -> None:
    library = model.load(CODEGEN, "cufft")
    c_enums = {enum.name: enum.c_name for enum in library.enums}
    found = {
        f.name: (
            f.c_name,
            f.symbol,
            f.since,
            f.until,
            [role(p, c_enums) for p in f.parameters],
        )
        for f in library.functions
    }
    expected = {
        row["name"]: (
            row["c_name"],
            row["symbol"],
            row["since"],
            row["until"],
            # Enums of the CUDA runtime are plain integers here.
            [
                text.removesuffix(".cudaDataType").removesuffix(".libraryPropertyType")
                for text in row["parameters"].split()
            ],
        )
        for row in rows("cufft_functions.tsv")
        if row["name"] not in SKIPPED
    }
    assert found == expected


def test_cufft_enums() -> None:
    found = {
        (enum.name, enum.c_name, member.name, member.c_name, member.value)
        for enum in model.load(CODEGEN, "cufft").enums
        for member in enum.members
    }
    expected = {
        (row["enum"], row["c_enum"], row["name"], row["c_name"], int(row["value"]))
        for row in rows("cufft_enums.tsv")
    }
    assert found == expected


def test_cufft_facts_say_which_libraries_export_what() -> None:
    facts = {f.name: f for f in api.read(CODEGEN / "api" / "cufft.toml").functions}
    for row in rows("cufft_functions.tsv"):
        exported = facts[row["c_name"]].exported
        assert exported is not None
        declared = range(RELEASES.index(row["since"]), RELEASES.index(row["until"]) + 1)
        expected = [RELEASES[i] for i in declared if row["exported"][i] == "1"]
        assert exported == expected, row["name"]


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
    for f in api.read(CODEGEN / "api" / "driver.toml").functions:
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
