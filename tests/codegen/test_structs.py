"""Struct layouts, against a C++ compiler and NVIDIA's headers; and the emitted classes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpumath_codegen import api, emit_structs
from tests.helpers.repository import ROOT, require_checkout

HEADERS = {
    "driver": ("cuda.h",),
    "runtime": ("cuda_runtime_api.h",),
    "cublasLt": ("cublasLt.h",),
    "cufft": ("cufftXt.h",),
    "cusparse": ("cusparse.h",),
    "nvrtc": ("nvrtc.h",),
}


@pytest.fixture(autouse=True)
def _checkout() -> None:
    require_checkout()


def include_folders(cuda_major: int) -> list[Path]:
    """Return the include folders of NVIDIA's wheels of one CUDA major."""
    named = os.environ.get(f"GPUMATH_TEST_CU{cuda_major}")
    folders = []
    for entry in [*([named] if named else []), *sys.path]:
        for folder in sorted((Path(entry) / "nvidia").glob("*/include")):
            if (folder.parent.name == "cu13") == (cuda_major == 13):
                folders.append(folder)
    return folders


def release_of(folders: list[Path]) -> str:
    """Return the CUDA release of the headers, such as 13.5, or skip."""
    for folder in folders:
        if (folder / "cuda.h").is_file():
            found = re.search(r"#define CUDA_VERSION (\d+)", (folder / "cuda.h").read_text())
            assert found
            return f"{int(found[1]) // 1000}.{int(found[1]) % 1000 // 10}"
    pytest.skip("no cuda.h in the test environment (wheel nvidia-cuda-runtime)")


def in_release(struct: api.Struct, release: str) -> bool:
    def number(text: str) -> tuple[int, ...]:
        return tuple(int(part) for part in text.split("."))

    return number(struct.since) <= number(release) <= number(struct.until)


@pytest.mark.parametrize("cuda_major", [12, 13])
@pytest.mark.parametrize("module", HEADERS)
def test_layouts_are_the_compilers(module: str, cuda_major: int, tmp_path: Path) -> None:
    compiler = shutil.which("c++") or pytest.skip("there is no C++ compiler")
    folders = include_folders(cuda_major)
    release = release_of(folders)
    for header in (*HEADERS[module], "crt/host_config.h", "crt/host_defines.h"):
        if not any((folder / header).is_file() for folder in folders):
            pytest.skip(f"no {header} of CUDA {cuda_major} in the test environment")
    structs = api.read(ROOT / "codegen" / "api" / f"{module}.txt").structs
    lock = tomllib.loads((ROOT / "codegen" / "headers.lock.toml").read_text())
    if release not in lock["releases"]:
        pytest.skip(f"the headers of CUDA {release} are none of those that were read")
    lines = [f"#include <{header}>" for header in HEADERS[module]]
    checked = 0
    for s in structs:
        if not in_release(s, release):
            continue
        lines.append(f'static_assert(sizeof({s.name}) == {s.size}, "{s.name}");')
        lines.append(f'static_assert({s.alignment} % alignof({s.name}) == 0, "{s.name}");')
        for f in s.fields:
            if f.name and not f.name.endswith("."):
                place = f"__builtin_offsetof({s.name}, {f.name})"
                lines.append(f'static_assert({place} == {f.offset}, "{s.name}.{f.name}");')
                checked += 1
    if not checked:
        pytest.skip(f"CUDA {release} has no structs in {module}")
    (tmp_path / "layouts.cpp").write_text(
        "#define CUSPARSE_ENABLE_EXPERIMENTAL_API\n" + "\n".join(lines)
    )
    includes = [f"-I{folder}" for folder in folders]
    stub = tmp_path / "nv"
    stub.mkdir()
    # cuda_fp16.h includes it for its device code.
    (stub / "target").write_text("#define NV_IF_TARGET(...)\n#define NV_IF_ELSE_TARGET(...)\n")
    command = [compiler, "-std=c++17", "-fsyntax-only", "-w", *includes, f"-I{tmp_path}"]
    done = subprocess.run(
        [*command, str(tmp_path / "layouts.cpp")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[:3000]


def library(structs: list[api.Struct], rules: dict[str, Any]) -> Any:
    facts = SimpleNamespace(structs=structs)
    return SimpleNamespace(name="toy", title="Toy", facts=facts, structs=rules, release_of="CUDA")


INNER = api.Struct("toyInner_t", 8, 4, [api.Field("xPos", "int", "i32", 0, 1)], "12.0", "13.5")
OUTER = api.Struct(
    "toyOuter",
    40,
    8,
    [
        api.Field("inner", "toyInner_t", "struct toyInner_t", 0, 1),
        api.Field("", "union", "u8", 8, 8),
        api.Field("dPtr", "void *", "void*", 8, 1),
        api.Field("mode", "toyMode_t", "enum toyMode_t", 8, 1),
        api.Field("name", "char[8]", "i8", 16, 8),
        api.Field("ptr", "const void *", "const void*", 24, 1),
        api.Field("from", "double[1]", "f64", 32, 1),
    ],
    "12.0",
    "13.5",
)


def test_emitted_classes_have_the_fields() -> None:
    rules = {"toyInner_t": {"doc": "A."}, "toyOuter": {"doc": "B.", "text": ["name"]}}
    code = emit_structs.module(library([INNER, OUTER], rules))
    places: dict[str, Any] = {}
    exec(code, places)
    inner, outer = places["Inner"], places["Outer"]
    assert places["__all__"] == ["Inner", "Outer"]
    value = outer(2)
    assert value.itemsize == 40
    one = value[1]
    one.inner.x_pos, one.d_ptr, one.name, one.ptr_, one.from_ = 5, 2**63 + 1, "abc", 7, 0.5
    assert bytes(one)[:4] == b"\5\0\0\0"
    assert (one.union, one.mode) == (bytes([1] + [0] * 6 + [128]), 1)
    assert bytes(one)[16:] == b"abc\0\0\0\0\0" + b"\7" + bytes(7) + bytes(6) + b"\xe0\x3f"
    assert isinstance(one.inner, inner)
    assert "toyOuter" in outer.__doc__


@pytest.mark.parametrize(
    ("structs", "rules", "text"),
    [
        ([OUTER, INNER], {"toyOuter": {"doc": "B."}}, "must list it"),
        ([OUTER], {"toyElse": {"doc": "B."}}, "no header has"),
        ([INNER], {"toyInner_t": {}}, "doc"),
        ([INNER], {"toyInner_t": {"doc": "A.", "txt": []}}, "no more than"),
        ([INNER], {"toyInner_t": {"doc": "A.", "text": ["y"]}}, "lacks"),
        ([INNER], {"toyInner_t@11.0": {"doc": "A."}}, "no header has"),
    ],
)
def test_rules_that_do_not_fit(structs: list[api.Struct], rules: dict[str, Any], text: str) -> None:
    with pytest.raises(SystemExit, match=text):
        emit_structs.module(library(structs, rules))


def test_an_older_layout_has_a_name_of_its_own() -> None:
    old = api.Struct("toyInner_t", 4, 4, [api.Field("y", "int", "i32", 0, 1)], "12.0", "12.9")
    new = api.Struct("toyInner_t", 8, 4, [api.Field("xPos", "int", "i32", 0, 1)], "13.0", "13.5")
    rules = {"toyInner_t": {"doc": "A."}, "toyInner_t@12.0": {"doc": "A.", "name": "InnerOld"}}
    places: dict[str, Any] = {}
    exec(emit_structs.module(library([old, new], rules)), places)
    assert places["Inner"]().itemsize == 8
    assert places["InnerOld"]().itemsize == 4
    del rules["toyInner_t@12.0"]["name"]
    with pytest.raises(SystemExit, match="two structs"):
        emit_structs.module(library([old, new], rules))
