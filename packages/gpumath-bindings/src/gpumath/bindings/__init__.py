"""Low-level bindings of the CUDA math libraries, from one Rust core.

- one module for each library, with its C functions one to one: `cublas`, `cublasLt`, `cublasXt`,
  `cufft`, `curand`, `cusolver`, `cusolverDn`, `cusolverSp`, `cusolverRf`, `cusolverMg`, `cusparse`,
  `driver`, `runtime`, `nvrtc`, `nvjitlink`, `mathdx`
- `gpumath.bindings.core`: libraries, devices, streams, memory, operand views and FFT plans
- `gpumath.bindings.errors`: the exceptions
- `gpumath.bindings.code_cache`: the cache on disk of what the packages compile, one of the
  kinds of files of `gpumath.bindings.file_store`
- ``python -m gpumath.bindings``: a report of what is found on this machine and what is missing

``import gpumath.bindings`` is enough: a module is imported when its name is first used. Importing a
module opens no CUDA library; the first call does.

Examples
--------
>>> import gpumath.bindings
>>> gpumath.bindings.cufft.Type.C2C
<Type.C2C: 41>
"""

from zipimport import zipimporter as _zipimporter  # every interpreter has imported it

if isinstance(__spec__.loader, _zipimporter):  # or else an error about a missing module follows
    raise ImportError(
        f"gpumath cannot be imported from a zip file ({__spec__.loader.archive}): its compiled "
        "part has to be a file of its own; unpack the archive, or install gpumath with pip"
    )

# What type checkers take as true; the module `typing` would be a cost of every import.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpumath.bindings import (
        code_cache,
        core,
        cublas,
        cublasLt,
        cublasXt,
        cufft,
        curand,
        cusolver,
        cusolverDn,
        cusolverMg,
        cusolverRf,
        cusolverSp,
        cusparse,
        driver,
        errors,
        file_store,
        mathdx,
        nvjitlink,
        nvrtc,
        runtime,
    )

__all__ = [
    "code_cache",
    "core",
    "cublas",
    "cublasLt",
    "cublasXt",
    "cufft",
    "curand",
    "cusolver",
    "cusolverDn",
    "cusolverMg",
    "cusolverRf",
    "cusolverSp",
    "cusparse",
    "driver",
    "errors",
    "file_store",
    "mathdx",
    "nvjitlink",
    "nvrtc",
    "runtime",
]

if not TYPE_CHECKING:  # or else type checkers would accept any name

    def __getattr__(name):
        """Import the module of this name."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"TYPE_CHECKING"})
