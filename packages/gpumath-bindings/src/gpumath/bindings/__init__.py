"""Low-level bindings of the CUDA math libraries, from one Rust core.

- one module a library, the C functions one to one: `cublas`, `cublasLt`, `cublasXt`, `cufft`,
  `curand`, `cusolver`, `cusolverDn`, `cusolverSp`, `cusolverRf`, `cusolverMg`, `cusparse`,
  `driver`, `runtime`, `nvrtc`, `nvjitlink`, `mathdx`
- `gpumath.bindings.core`: libraries, devices, streams, memory, operand views, compiled plans
- `gpumath.bindings.errors`: the exceptions
- ``python -m gpumath.bindings``: what was found on this machine, and what is missing

Importing any of them touches no CUDA library: the first call does.
"""
