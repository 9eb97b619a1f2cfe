"""Links kernels that call functions of gpumath without their unused tables, and keeps the result.

The code of libmathdx has megabytes of tables for all that it can compute. The linker leaves those
out that a kernel does not use if it is told so, and Numba has no way to tell it. Without them, and
with the result in the cache on disk, a kernel's first launch does not wait for the linker.
"""

from __future__ import annotations

import hashlib
from typing import Any

from cuda.bindings import nvjitlink
from cuda.core import ObjectCode
from numba import cuda
from numba.cuda.cudadrv import driver

from gpumath.device._code_cache import cached
from gpumath.device._numba._shared_memory import allow_large_shared_memory

__all__ = ["LTOIR", "Fatbin", "link_kernels"]


class LTOIR(cuda.LTOIR):
    """LTO-IR of gpumath, which Numba links with a kernel."""

    def __init__(self, code: bytes) -> None:
        super().__init__(code, setup_callback=allow_large_shared_memory)


class Fatbin(cuda.Fatbin):
    """A fatbin of gpumath, which Numba links with a kernel."""


class _Linker(driver._Linker):
    """Numba's linker, with other options for kernels that link nothing but code of gpumath."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._owners: set[bool] = set()

    def add_file_guess_ext(self, path_or_code: Any, ignore_nonlto: bool = False) -> None:
        self._owners.add(isinstance(path_or_code, LTOIR | Fatbin))
        super().add_file_guess_ext(path_or_code, ignore_nonlto)

    def _get_linker_options(self, ptx: bool) -> Any:
        options = super()._get_linker_options(ptx)
        # Code of others may have variables that only the host uses.
        if self._owners == {True}:
            options.optimize_unused_variables = True
        return options

    def complete(self) -> Any:
        if self._owners != {True}:
            return super().complete()
        # The order of what is linked differs from process to process.
        digests = sorted(hashlib.sha256(one.code).hexdigest() for one in self._object_codes)
        options = self._get_linker_options(ptx=False)
        key = (nvjitlink.version(), repr(options), *digests)
        link = super().complete
        return ObjectCode.from_cubin(cached("kernel", key, lambda: bytes(link().code)))

    @property
    def info_log(self) -> str:
        # There is none if the linker did not run.
        return str(super().info_log) if self.linker else ""


def link_kernels() -> None:
    """Let Numba link kernels in this way from now on."""
    driver._Linker = _Linker
