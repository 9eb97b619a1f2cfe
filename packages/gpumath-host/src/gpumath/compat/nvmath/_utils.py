"""What programs take from nvmath-python's private module of this name."""

from __future__ import annotations

from gpumath.bindings import nvrtc

__all__ = ["get_nvrtc_version"]


def get_nvrtc_version() -> tuple[int, int, None]:
    """Return the version of NVRTC: major, minor, and None for the build, which NVRTC hides.

    RuntimeError if NVRTC is not installed.
    """
    return (*nvrtc.version(), None)
