"""The layer checker finds breaches that are planted for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import layers


def plant(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (f"{layers.BINDINGS}/x.py", "import numpy"),
        (f"{layers.BINDINGS}/x.py", "from gpumath import fft"),
        (f"{layers.BINDINGS}/x.py", "from . import errors"),
        (f"{layers.BINDINGS}/x.py", "from typing_extensions import Buffer"),
        (f"{layers.HOST}/fft/x.py", "if TYPE_CHECKING:\n    import torch"),
        (f"{layers.HOST}/fft/x.py", "from gpumath.bindings import _core"),
        (f"{layers.HOST}/fft/x.py", "import gpumath.bindings._core.core"),
        (f"{layers.HOST}/fft/x.py", "from gpumath.bindings._generated.cufft import Result"),
        (f"{layers.HOST}/fft/x.py", "import torch"),
        (f"{layers.HOST}/fft/x.py", "def f():\n    import cupy.cuda"),
        (f"{layers.HOST}/fft/x.py", "import importlib\nimportlib.import_module('torch')"),
        (f"{layers.HOST}/torch/x.py", "import cupy"),
        (f"{layers.HOST}/fft/x.py", "import scipy"),
        (f"{layers.HOST}/_host/x.py", "import matplotlib.pyplot"),
        (f"{layers.HOST}/fft/x.py", "from gpumath import device"),
        (f"{layers.DEVICE}/x.py", "from gpumath import fft"),
        ("examples/host/fft/01_x.py", "from gpumath._host import adapters"),
    ],
)
def test_planted_import_is_found(tmp_path: Path, name: str, line: str) -> None:
    plant(tmp_path, name, line)
    assert len(layers.python_breaches(tmp_path)) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (f"{layers.BINDINGS}/x.py", "import json\nfrom gpumath.bindings._core import core"),
        (f"{layers.HOST}/fft/x.py", "import numpy as np\nfrom gpumath.bindings import core"),
        (
            f"{layers.BINDINGS}/x.py",
            "if TYPE_CHECKING:\n    from typing_extensions import Buffer",
        ),
        (f"{layers.BINDINGS}/x.py", "def f():\n    import numpy"),
        (f"{layers.HOST}/fft/x.py", "def f():\n    from gpumath import device"),
        (f"{layers.HOST}/_host/x.py", "import torch\nfrom gpumath._host import y"),
        (f"{layers.HOST}/bench/x.py", "import nvmath, torch"),
        (f"{layers.HOST}/torch/x.py", "import torch\nfrom gpumath import fft"),
        (f"{layers.DEVICE}/x.py", "from numba import cuda"),
        ("examples/host/fft/01_x.py", "from gpumath import fft"),
    ],
)
def test_allowed_import_is_not_reported(tmp_path: Path, name: str, line: str) -> None:
    plant(tmp_path, name, line)
    assert layers.python_breaches(tmp_path) == []


@pytest.mark.parametrize(
    "manifest",
    [
        "[dependencies]\npyo3 = '1'",
        "[dependencies]\ncudarc = '1'",
        "[build-dependencies]\ncc = '1'",
        "[target.'cfg(unix)'.dependencies]\nnix = '1'",
    ],
)
def test_planted_dependency_is_found(tmp_path: Path, manifest: str) -> None:
    plant(tmp_path, "Cargo.toml", manifest)
    layer = layers.CrateLayer("Cargo.toml", ("libloading",))
    assert len(layers.crate_breaches(tmp_path, (layer,))) == 1


def test_allowed_dependency_is_not_reported(tmp_path: Path) -> None:
    plant(tmp_path, "Cargo.toml", "[dependencies]\nlibloading = '1'\n[dev-dependencies]\ncc = '1'")
    layer = layers.CrateLayer("Cargo.toml", ("libloading",))
    assert layers.crate_breaches(tmp_path, (layer,)) == []
