"""Low-level bindings of the CUDA math libraries, from one Rust core.

- `gpumath.bindings.cufft`, `gpumath.bindings.driver`: the C functions, one to one
- `gpumath.bindings.core`: libraries, devices, streams, memory, operand views, compiled plans
- `gpumath.bindings.errors`: the exceptions
- ``python -m gpumath.bindings``: what was found on this machine, and what is missing

Importing any of them touches no CUDA library: the first call does.
"""
