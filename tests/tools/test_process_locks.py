"""The checker of locks finds statics that are planted for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import process_locks


def plant(root: Path, text: str, name: str = "crates/gpumath-core/src/pool.rs") -> list[str]:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return process_locks.breaches(root)


@pytest.mark.parametrize(
    "code",
    [
        "static POOL: Mutex<u32> = Mutex::new(0);",
        "pub(super) static POOL:\n    std::sync::RwLock<()> = RwLock::new(());",
        "fn f() { static ONCE: OnceLock<u32> = OnceLock::new(); }",
        "static CELLS: [OnceLock<u32>; 4] = [const { OnceLock::new() }; 4];",
        "static LAZY: LazyLock<SetOnce<u32>> = LazyLock::new(f);",
        "struct S { cell: PyOnceLock<u32> }",
        "use pyo3::{ffi, intern, prelude::*};",
        "let name = pyo3::intern!(py, TEXT);",
    ],
)
def test_a_lock_that_a_child_could_find_held_is_found(tmp_path: Path, code: str) -> None:
    (breach,) = plant(tmp_path, code)
    assert "forked child" in breach


def test_the_line_is_that_of_the_static(tmp_path: Path) -> None:
    name = "packages/gpumath-bindings/rust/src/call/log.rs"
    (breach,) = plant(tmp_path, "// Locks\nstatic A: Mutex<u8> = Mutex::new(0);\n", name)
    assert breach.startswith(f"{name}:2: the static A")


@pytest.mark.parametrize(
    "code",
    [
        "static POOL: PerProcess<Mutex<u32>> = PerProcess::new();",
        "static HOOK: SetOnce<fn()> = SetOnce::new();",
        "struct Plan { bound: Mutex<Binding> }",
        "static COUNT: AtomicUsize = AtomicUsize::new(0); fn f() { let lock = Mutex::new(0); }",
        "// static POOL: Mutex<u32>",
        "#[cfg(test)] mod tests { static LOCK: Mutex<()> = Mutex::new(()); }",
        "use crate::once::intern;",
    ],
)
def test_other_code_is_not_reported(tmp_path: Path, code: str) -> None:
    assert plant(tmp_path, code) == []


def test_the_source_has_none() -> None:
    assert process_locks.breaches(process_locks.ROOT) == []
