"""The checker of the GIL finds calls of `detach` that are planted for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import gil_release


def plant(root: Path, name: str, text: str) -> None:
    path = root / gil_release.FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("name", ["call.rs", "generated/cufft.rs", "interop/gil.rs"])
@pytest.mark.parametrize(
    "code",
    [
        "py.detach(|| f());",
        "Python::attach(|py| py\n    .detach(f));",
        "Python::detach(py, f);",
    ],
)
def test_a_release_elsewhere_is_found(tmp_path: Path, name: str, code: str) -> None:
    plant(tmp_path, name, code)
    assert len(gil_release.breaches(tmp_path)) == 1


def test_the_line_is_that_of_the_call(tmp_path: Path) -> None:
    plant(tmp_path, "call.rs", "fn f(py: Python<'_>) {\n    py.detach(g);\n}\n")
    (breach,) = gil_release.breaches(tmp_path)
    assert breach.startswith(f"{gil_release.FOLDER}/call.rs:2:")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        (gil_release.DOOR, "py.detach(f)"),
        ("call.rs", "// py.detach(f)"),
        ("call.rs", 'let text = "py.detach(f)";'),
        ("call.rs", "detach_later(f); x.detached(); fn detach() {}"),
    ],
)
def test_other_code_is_not_reported(tmp_path: Path, name: str, code: str) -> None:
    plant(tmp_path, name, code)
    assert gil_release.breaches(tmp_path) == []
