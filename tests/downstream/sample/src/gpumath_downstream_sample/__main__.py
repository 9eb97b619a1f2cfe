"""Ask for the version of cuFFT, and say clearly what is missing where there is none."""

from __future__ import annotations

import importlib.util

from gpumath.bindings import core, cufft, errors

if core.has("cufft.get_version"):
    print(f"cuFFT {cufft.get_version()}")
else:
    try:
        cufft.get_version()
    except errors.LibraryNotFoundError as error:
        assert error.library == "cufft"
        assert error.tried
        assert "pip install" in error.fix
        print(f"no cuFFT; {len(error.tried)} places tried; fix: {error.fix}")
    else:
        raise SystemExit("has() says no, but the call worked")

# The host library is not there, and nothing above needed it or NumPy.
for absent in ("numpy", "gpumath.fft"):
    assert importlib.util.find_spec(absent) is None, absent
