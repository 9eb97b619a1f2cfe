"""What a program that uses nvmath.device is told where a package or a library is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

import gpumath.compat.nvmath
from gpumath.compat.nvmath import _facade
from tests.helpers.callbacks import require_numba


@pytest.fixture
def without_gpumath_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answer `import nvmath` in a process that finds no gpumath-device."""
    find = _facade.find_spec
    monkeypatch.setattr(
        _facade, "find_spec", lambda name: None if name == "gpumath.device" else find(name)
    )
    gpumath.compat.nvmath.install()
    yield
    gpumath.compat.nvmath.uninstall()


@pytest.mark.parametrize(
    "statement",
    [
        "import nvmath.device",
        "from nvmath import device",
        "from nvmath.device import FFT",
        "from nvmath.device.cufftdx import FFT",
        "import nvmath; nvmath.device.FFT",
    ],
)
@pytest.mark.usefixtures("without_gpumath_device")
def test_a_program_is_told_to_install_gpumath_device(statement: str) -> None:
    with pytest.raises((ImportError, AttributeError)) as caught:
        exec(statement, {})
    assert str(caught.value) == (
        "nvmath.device is answered by gpumath-device, which is not installed. "
        "To fix it: pip install 'gpumath-device[cu13]', or [cu12] for CUDA 12"
    )


# Imports what gpumath.device needs of Numba, where importing one module of Numba's raises an error.
IMPORTING = """\
import sys
import numba
import numpy
from cuda.pathfinder import DynamicLibNotFoundError

class Finder:
    def find_spec(name, *_):
        if name == {module!r}:
            raise {error}

numpy.__version__ = {numpy!r}
sys.meta_path.insert(0, Finder)
from gpumath.device import _check_numba
"""


def told(error: str, numpy: str, module: str = "numba.cuda") -> str:
    """Return the message of gpumath-device where this module raises this error, with this NumPy."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTING.format(error=error, numpy=numpy, module=module)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.stderr.splitlines()[-1]


def test_a_missing_library_is_named() -> None:
    for numpy in ("2.4.6", "2.5.5"):
        message = told("DynamicLibNotFoundError('no libcudart.so.13\\n')", numpy)
        assert message.startswith(
            "ImportError: Numba's CUDA target cannot be imported: no libcudart.so.13. There are "
        )
        assert message.endswith(
            f" and NumPy {numpy}. To fix it: "
            "pip install 'gpumath-device[cu13]', or [cu12] for CUDA 12"
        )


@pytest.mark.parametrize(
    ("text", "numpy", "is_cause"),
    [
        ("module 'numpy' has no attribute 'row_stack'", "2.5.0", True),
        ("module 'numpy' has no attribute 'row_stack'", "2.10.1", True),
        ("Numba needs NumPy 2.4 or less. Got NumPy 2.5.", "2.5.1", True),
        ("module 'numpy' has no attribute 'row_stack'", "2.4.6", False),
        ("module 'numba.cuda.types' has no attribute 'NPDatetime'", "2.5.5", False),
    ],
)
def test_another_numpy_is_advised_only_where_numpy_is_the_cause(
    text: str, numpy: str, is_cause: bool
) -> None:
    message = told(f"AttributeError({text!r})", numpy)
    assert message.startswith(f"ImportError: Numba's CUDA target cannot be imported: {text}")
    ending = "To fix it: pip install 'numpy<2.5'" if is_cause else f" and NumPy {numpy}"
    assert message.endswith(ending)


def test_a_numpy_that_is_too_new_for_arrays_in_kernels() -> None:
    """Numba can be imported, but not its module for arrays."""
    require_numba()
    message = told("AttributeError('no numpy.row_stack')", "2.5.5", "numba.cuda.cudaimpl")
    assert message.endswith("To fix it: pip install 'numpy<2.5'")
