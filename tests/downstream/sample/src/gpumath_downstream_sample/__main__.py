"""Ask for the version of cuFFT, and say clearly what is missing where there is none."""

from __future__ import annotations

import importlib.util

from gpumath.bindings import core, cufft, errors


def missing_library() -> errors.LibraryNotFoundError:
    """Return the error that names what is missing."""
    try:
        cufft.get_version()
    except errors.LibraryNotFoundError as error:
        return error
    raise SystemExit("has() says no, but the call worked")


if core.has("cufft.get_version"):
    print(f"cuFFT {cufft.get_version()}")
else:
    missing = missing_library()
    assert missing.library == "cufft"
    assert missing.tried
    assert "pip install" in missing.fix
    print(f"no cuFFT; {len(missing.tried)} places tried; fix: {missing.fix}")

# The host library is not there, and nothing above needed it or NumPy.
for absent in ("numpy", "gpumath.fft"):
    assert importlib.util.find_spec(absent) is None, absent
