"""The layer rule holds in this checkout."""

from __future__ import annotations

from tests.helpers.repository import ROOT, require_checkout
from tools import layers


def test_imports_keep_to_the_layers() -> None:
    require_checkout()
    assert layers.python_breaches(ROOT) == []


def test_crates_keep_to_the_layers() -> None:
    require_checkout()
    assert layers.crate_breaches(ROOT) == []


def test_every_package_and_crate_has_a_layer() -> None:
    require_checkout()
    manifests = {p.relative_to(ROOT).as_posix() for p in ROOT.glob("crates/*/Cargo.toml")}
    manifests |= {p.relative_to(ROOT).as_posix() for p in ROOT.glob("packages/*/rust/Cargo.toml")}
    manifests |= {p.relative_to(ROOT).as_posix() for p in ROOT.glob("examples/*/Cargo.toml")}
    assert manifests == {layer.manifest for layer in layers.CRATE_LAYERS}
    folders = [layer.folder for layer in layers.PYTHON_LAYERS]
    for package in (ROOT / "packages").iterdir():
        source = f"packages/{package.name}/src/gpumath"
        assert any(folder.startswith(source) for folder in folders), package.name
