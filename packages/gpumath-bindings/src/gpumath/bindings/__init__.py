"""Low-level bindings of the CUDA math libraries, from one Rust core.

- one module for each library, with its C functions one to one: `cublas`, `cublasLt`, `cublasXt`,
  `cufft`, `curand`, `cusolver`, `cusolverDn`, `cusolverSp`, `cusolverRf`, `cusolverMg`, `cusparse`,
  `driver`, `runtime`, `nvrtc`, `nvjitlink`, `mathdx`
- `gpumath.bindings.core`: libraries, devices, streams, memory, operand views and FFT plans
- `gpumath.bindings.errors`: the exceptions
- ``python -m gpumath.bindings``: a report of what is found on this machine and what is missing

Importing a module opens no CUDA library; the first call does.
"""

from zipimport import zipimporter as _zipimporter  # every interpreter has imported it

if isinstance(__spec__.loader, _zipimporter):  # or else an error about a missing module follows
    raise ImportError(
        f"gpumath cannot be imported from a zip file ({__spec__.loader.archive}): its compiled "
        "part has to be a file of its own; unpack the archive, or install gpumath with pip"
    )
