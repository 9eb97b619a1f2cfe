"""The core's own kernels as they are committed: from their source, and assembled for real."""

from __future__ import annotations

import re

import pytest

from gpumath.bindings import errors, nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType
from gpumath_codegen import seal
from gpumath_codegen.kernels import FILES, FOLDER, origin, source_of
from tests.helpers.compiler import compiled, kernels, linked
from tests.helpers.repository import ROOT, require_checkout


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


def source(name: str) -> str:
    return source_of(ROOT, name)


def ptx(name: str) -> str:
    return (ROOT / FOLDER / "generated" / f"{name}.ptx").read_text()


def names(name: str) -> set[str]:
    """Return the kernels of a source, some of which macros make for several types."""
    text = source(name)
    if name.startswith("epilog_"):
        kind = name.partition("_")[2]
        own, wide = f"{kind}_{kind}", f"float32_{kind}"
        found = {f"epilog_{own}", f"sum_lines_{own}"}
        if "16" in kind:
            found |= {f"epilog_{wide}", f"sum_lines_{wide}", f"sum_lines_{kind}_float32"}
        return found
    if name.startswith("product"):
        # What the macro of that name makes, of which there is one for each of the ways.
        type_definition, *others = FILES[name][1]
        kind = type_definition.partition("TYPE_")[2]
        if others:
            kind += "_epilog"
            text = re.sub(r"^#if !HAS_EPILOG\n.*?^#endif", "", text, flags=re.MULTILINE | re.DOTALL)
        return {f"{way}_{kind}" for way in re.findall(r"^KERNEL\((\w+),", text, re.MULTILINE)}
    start = r"^extern \"C\" __global__ void (?:__launch_bounds__\([\w, ]+\)\s+)?(\w+)\("
    found = {*re.findall(start, text, re.MULTILINE)}
    macros = re.findall(r"^#define ([A-Z]+)\(.*\\\n((?:.*\\\n)*)", text, re.MULTILINE)
    for macro, body in macros:
        for argument in re.findall(rf"^{macro}\((\w+),", text, re.MULTILINE):
            found |= {start + argument for start in re.findall(r"(\w+_)##", body)}
    assert len(found) > 1
    return found


@pytest.mark.parametrize("name", FILES)
def test_the_code_is_that_of_the_source(name: str) -> None:
    """`nox -s kernels -- --check`, which downloads the compiler, compares the code itself."""
    assert not seal.broken(ptx(name))
    assert origin(FILES[name][0][0], source(name)) in ptx(name).partition("\n")[0]


@pytest.mark.parametrize("name", FILES)
def test_every_driver_and_device_understands_it(name: str) -> None:
    """PTX 8.0 is that of CUDA 12.0, which knows no older device than those of sm_50."""
    assert re.findall(r"^\.(version|target) (\S+)$", ptx(name), re.MULTILINE) == [
        ("version", "8.0"),
        ("target", "sm_50"),
    ]
    assert {*re.findall(r"\.entry (\w+)\(", ptx(name))} == names(name)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("architecture", [75, 80, 90, 100, 120])
def test_it_is_assembled(name: str, architecture: int) -> None:
    try:
        nvjitlink.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    cubin = linked([(InputType.PTX, ptx(name).encode())], f"-arch=sm_{architecture}")
    # Beside them there is a function that divides.
    assert names(name) <= kernels(cubin)


@pytest.mark.parametrize("name", FILES)
def test_new_compilers_take_the_source(name: str) -> None:
    try:
        nvrtc.version()
    except errors.LibraryNotFoundError as error:
        pytest.skip(f"not in the test environment: {str(error).splitlines()[0]}")
    text = compiled(source(name), "-arch=compute_90", *FILES[name][1]).decode()
    assert {*re.findall(r"\.entry (\w+)\(", text)} == names(name)
