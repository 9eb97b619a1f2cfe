"""
A library that is missing
=========================

Call cuFFT through its bindings; if it is missing, print where it was looked for, and the fix.

Run it with::

    python examples/bindings/02_missing_library.py
"""

from __future__ import annotations

from gpumath.bindings import cufft
from gpumath.bindings.errors import LibraryNotFoundError

try:
    print(f"cuFFT {cufft.get_version()}")
except LibraryNotFoundError as error:
    print(f"{error.library} was not found in {len(error.tried)} places:")
    for step, place, outcome in error.tried:
        print(f"  {step:12} {place}: {outcome}")
    print(f"to fix it: {error.fix}")
