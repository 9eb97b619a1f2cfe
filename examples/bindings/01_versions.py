"""
The CUDA libraries of this machine
==================================

List them with their versions, and check for three functions in them.

Run it with::

    python examples/bindings/01_versions.py
"""

from __future__ import annotations

from gpumath.bindings import core

for library in core.libraries():
    print(f"{library.name:8} {library.version:12} {library.origin:10} {library.path}")

for name in ("driver.init", "cufft.exec_c2c", "cufft.xt_exec"):
    print(f"{name:16} {'available' if core.has(name) else 'missing'}")

for number in range(core.Device.count()):
    device = core.Device(number)
    free, total = device.memory_info()
    print(f"GPU {number}: {device.name}, {free / 2**30:.1f} of {total / 2**30:.1f} GiB free")
