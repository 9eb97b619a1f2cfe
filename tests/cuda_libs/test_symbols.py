"""Every symbol of the tables is in the real library of each CUDA major that should have it."""

from __future__ import annotations

import pytest

from gpumath_codegen import api, model
from tests.helpers.cuda_wheels import exported
from tests.helpers.repository import ROOT, require_checkout
from tests.helpers.whole_libraries import NEWEST, file_of, files, folder, release

CODEGEN = ROOT / "codegen"
MODULES = model.libraries(CODEGEN) if CODEGEN.is_dir() else []


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


def facts(module: str) -> dict[str, api.Function]:
    functions = api.read(CODEGEN / "api" / f"{module}.txt").functions
    return {f.symbol: f for f in functions}


@pytest.mark.parametrize("cuda_major", [12, 13])
@pytest.mark.parametrize("module", [m for m in MODULES if m not in ("driver", "mathdx")])
def test_symbols_are_where_the_tables_say(module: str, cuda_major: int) -> None:
    newest = NEWEST[cuda_major]
    file = file_of(module, cuda_major)
    known = facts(module)
    functions = model.load(CODEGEN, module).functions
    wanted, gone = [], []
    for f in functions:
        here = release(f.since) <= release(newest) <= release(f.until)
        # Some functions are in a header and in no library; calling them says so.
        if here and newest in (known[f.symbol].exported or []):
            wanted.append(f.symbol)
        elif release(f.until) < release(newest) and known[f.symbol].until == f.until:
            gone.append(f.symbol)
    assert wanted
    found = exported(file, tuple(wanted))
    assert [s for s, there in zip(wanted, found, strict=True) if not there] == []
    if gone:
        assert not any(exported(file, tuple(gone)))


@pytest.mark.parametrize("cuda_major", [12, 13])
def test_libmathdx(cuda_major: int) -> None:
    file = file_of("mathdx", cuda_major)
    version = files(cuda_major)["mathdx"][1]
    known = facts("mathdx")
    releases = sorted({text for f in known.values() for text in f.exported or []}, key=release)
    # A newer library than was read has at least what the newest that was read has.
    version = max((text for text in releases if release(text) <= release(version)), key=release)
    functions = model.load(CODEGEN, "mathdx").functions
    wanted = [f.symbol for f in functions if version in (known[f.symbol].exported or [])]
    assert len(wanted) > 100
    found = exported(file, tuple(wanted), file_of("nvrtc", cuda_major))
    assert [s for s, there in zip(wanted, found, strict=True) if not there] == []


@pytest.mark.parametrize("cuda_major", [12, 13])
def test_every_library_loads_and_tells_its_version(cuda_major: int) -> None:
    there = folder(cuda_major)
    found = files(cuda_major)
    assert found
    for name, (path, version) in found.items():
        assert path.startswith(str(there))
        if name != "cusolverMg":
            assert release(version)[0] > 0 or name == "mathdx", (name, version)
