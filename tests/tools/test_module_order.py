"""The checker of the module order finds uses that are planted for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.module_order import ModuleOrder, core_breaches, host_breaches, rust_uses

CORE = ModuleOrder(
    "core", (("error",), ("memory", "tensor"), ("operation",), ("cpu", "fft")), (("fft", "cpu"),)
)
HOST = ModuleOrder("gpumath", (("_host",), ("memory",), ("fft", "linalg")))


def plant(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("error.rs", "use crate::memory::Pool;"),
        ("memory/mod.rs", "use crate::{error::Error, operation::Placement};"),
        ("memory/pool.rs", "fn f() -> crate::fft::Plan {}"),
        ("memory/pool.rs", "use super::super::operation::Placement;"),
        ("operation/mod.rs", "use super::fft::Plan;"),
        ("operation/mod.rs", "use crate::cpu;"),
        ("tensor.rs", "use crate::memory::Pool;"),
        ("cpu/plan.rs", "pub use crate :: fft :: Problem;"),
        ("new.rs", "// in no layer"),
    ],
)
def test_planted_use_in_the_core_is_found(tmp_path: Path, name: str, line: str) -> None:
    plant(tmp_path, f"core/{name}", line)
    assert len(core_breaches(tmp_path, CORE)) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("lib.rs", "pub mod fft;\nuse crate::fft::Plan;"),
        ("memory/mod.rs", "use crate::error::Error;\nuse crate::memory::pool;"),
        ("memory/pool.rs", "use super::staging::{self, Pool};\nuse crate::Error;"),
        ("memory/pool.rs", "use std::memory::fft;"),
        ("fft/mod.rs", "use crate::{cpu::Engine, operation};"),
        ("memory/mod.rs", "/// See [`crate::fft`].\n// crate::fft::Plan"),
        ("memory/mod.rs", 'const NAME: &str = "crate::fft";'),
        ("memory/pool_tests.rs", "use crate::fft::Plan;"),
        ("memory/mod.rs", "#[cfg(test)]\nmod tests {\n use crate::fft::Plan;\n fn f() {}\n}"),
    ],
)
def test_allowed_use_in_the_core_is_not_reported(tmp_path: Path, name: str, line: str) -> None:
    plant(tmp_path, f"core/{name}", line)
    assert core_breaches(tmp_path, CORE) == []


def test_breach_tells_file_line_and_modules(tmp_path: Path) -> None:
    plant(tmp_path, "core/memory/pool.rs", "//! Pools.\n\nuse crate::fft::Plan;\n")
    assert core_breaches(tmp_path, CORE) == [
        "core/memory/pool.rs:3: memory uses fft, which is in a later layer"
    ]


def test_code_after_a_test_module_counts() -> None:
    source = "#[cfg(test)]\nmod tests {\n  use crate::a;\n}\n\nuse crate::b;\n"
    assert rust_uses(source, 1) == [(6, "b")]


def test_every_path_of_nested_groups_is_seen() -> None:
    source = "use crate::{\n    a::{b, c::{d}},\n    e,\n    f::g as h,\n};\nuse crate::i;\n"
    assert [name for _, name in rust_uses(source, 1)] == ["a", "e", "f", "i"]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("_host/x.py", "from gpumath.fft import FFT"),
        ("_host/x.py", "from gpumath import linalg"),
        ("_host/x.py", "def f():\n    import gpumath.fft._run"),
        ("memory/__init__.py", "import gpumath.fft"),
        ("linalg/x.py", "from gpumath.fft import FFT"),
        ("other.py", "import gpumath.memory"),
    ],
)
def test_planted_import_in_the_host_is_found(tmp_path: Path, name: str, line: str) -> None:
    plant(tmp_path, f"gpumath/{name}", line)
    assert len(host_breaches(tmp_path, HOST)) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("fft/x.py", "from gpumath._host import stream\nimport gpumath.memory"),
        ("fft/x.py", "from gpumath.fft import _run\nfrom gpumath.bindings import core"),
        ("_host/x.py", "from gpumath._host.stream import f\nimport numpy.fft"),
    ],
)
def test_allowed_import_in_the_host_is_not_reported(tmp_path: Path, name: str, line: str) -> None:
    plant(tmp_path, f"gpumath/{name}", line)
    assert host_breaches(tmp_path, HOST) == []
