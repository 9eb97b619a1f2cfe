"""Compiles callbacks for cuFFT from CUDA C++ and from Python functions, or finds them on disk."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, NamedTuple

import numpy as np

from gpumath.bindings import core, cufft, nvrtc
from gpumath.bindings.code_cache import cached_code
from gpumath.bindings.errors import LibraryNotFoundError, NoDeviceError

__all__ = ["Callback", "check_cufft", "lowest_compute_capability"]

# For each element type: its name in C++, its mangled name, and its name in cuFFT's symbols.
_NAMES = {
    "float32": ("float", "f", "Real"),
    "float64": ("double", "d", "DoubleReal"),
    "complex64": ("float2", "6float2", "Complex"),
    "complex128": ("double2", "7double2", "DoubleComplex"),
}
_C_TYPES = {name: cpp for name, (cpp, _, _) in _NAMES.items()} | {
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*", re.ASCII)
# Without these words, the preprocessor reads no file. It joins split lines first.
_READS_FILES = re.compile(r"(?:\b|_)(?:include|import|embed)(?:\b|_)")
_SPLIT_LINE = re.compile(r"\\\s*\n")
_FIRST_CUFFT = 11300
# Part of the cache key. Since cuFFT 11.3, offsets are `unsigned long long`; the preview before it
# had `size_t`.
_ABI = "cuFFT 11.3"

_NO_NUMBA = (
    "Python functions are compiled by Numba, and there is no module {missing}; pip install "
    "'gpumath-device[cu13]', or [cu12] for CUDA 12. A str of CUDA C++ is compiled without it"
)


class Callback(NamedTuple):
    """The types, names and target of a callback, for compiling it."""

    phase: Literal["load", "store"]
    element: str
    user_info: Any
    name: str | None
    representation: Literal["ltoir", "ptx"]
    compute_capability: int

    @property
    def symbol(self) -> str:
        """The mangled C++ name that cuFFT looks for."""
        word = "Load" if self.phase == "load" else "Store"
        _, mangled, kind = _NAMES[self.element]
        name = f"cufftJITCallback{word}{kind}"
        element = mangled if self.phase == "store" else ""
        return f"_Z{len(name)}{name}Pvy{element}S_S_"

    @property
    def _file(self) -> str:
        return "prolog.cu" if self.phase == "load" else "epilog.cu"

    def from_python(self, function: Callable[..., Any]) -> bytes:
        """Return the code of a Python function, compiled now or taken from the cache."""
        check_cufft()
        try:
            # Not "from gpumath", for which an absent package is a name that cannot be imported.
            import gpumath.device as device
        except ModuleNotFoundError as error:
            raise RuntimeError(_NO_NUMBA.format(missing=error.name)) from error

        def compiled() -> bytes:
            try:
                return device.compile_fft_callback(
                    function,
                    phase=self.phase,
                    element_dtype=self.element,  # type: ignore[arg-type]  # checked by the caller
                    user_info_dtype=self.user_info,
                    symbol=self.name or self.symbol,
                    compute_capability=self.compute_capability,
                    representation=self.representation,
                )
            except ModuleNotFoundError as error:
                raise RuntimeError(_NO_NUMBA.format(missing=error.name)) from error

        fingerprint = device.function_fingerprint(function)
        key = None if fingerprint is None else self._key("python", fingerprint)
        return cached_code(key, compiled)

    def from_source(self, source: str) -> bytes:
        """Return the code of CUDA C++ source, compiled now or taken from the cache."""
        check_cufft()
        name = self.name or ("prolog" if self.phase == "load" else "epilog")
        if not _IDENTIFIER.fullmatch(name):
            msg = f"name is {name!r}; the name of a device function in the source is needed"
            raise ValueError(msg)
        # The namespace keeps functions of the same name in a prolog and an epilog from clashing.
        whole = f'namespace {{\n#line 1 "{self._file}"\n{source}\n}}\n{self._entry(name)}'
        compiler = "NVRTC {}.{}".format(*nvrtc.version())
        # NVRTC does not tell which files it has read, so only code that needs none is cached.
        reads_files = _READS_FILES.search(_SPLIT_LINE.sub("", source))
        key = None if reads_files else self._key(compiler, whole)
        return cached_code(key, lambda: self._compiled(whole))

    def _entry(self, name: str) -> str:
        """Return the source of the function that cuFFT calls; it calls the user's function."""
        element, _, kind = _NAMES[self.element]
        info = self._info_in_c()
        data = f"static_cast<{element} *>(data)"
        rest = f"static_cast<{info} *>(info), shared"
        entry = f"cufftJITCallback{'Load' if self.phase == 'load' else 'Store'}{kind}"
        # Without #line, the compiler would count these lines as a part of the user's source.
        head = '#line 1 "gpumath"\n__device__'
        if self.phase == "load":
            return (
                f"{head} {element} {entry}(\n"
                "    void *data, unsigned long long offset, void *info, void *shared)\n"
                f"{{ return {name}({data}, offset, {rest}); }}\n"
            )
        return (
            f"{head} void {entry}(\n"
            f"    void *data, unsigned long long offset, {element} element, void *info, "
            "void *shared)\n"
            f"{{ {name}({data}, offset, element, {rest}); }}\n"
        )

    def _info_in_c(self) -> str:
        if self.user_info is None:
            return "void"
        try:
            return _C_TYPES[np.dtype(self.user_info).name]
        except (KeyError, TypeError):
            msg = (
                f"user_info_dtype is {self.user_info!r}; for CUDA C++ it is one of "
                f"{', '.join(_C_TYPES)}, or None for a function whose user_info is a void *"
            )
            raise ValueError(msg) from None

    def _compiled(self, whole: str) -> bytes:
        known = nvrtc.get_supported_archs()
        older = [arch for arch in known if arch <= self.compute_capability]
        if not older:
            msg = (
                f"compute_capability is {self.compute_capability}, and this NVRTC compiles for "
                f"{known[0]} and newer"
            )
            raise ValueError(msg)
        # Do not search the current directory for headers.
        options = [f"-arch=compute_{older[-1]}", "-no-source-include", "-rdc=true", "-std=c++17"]
        if self.representation == "ltoir":
            options.append("-dlto")
        program = nvrtc.create_program(whole, self._file, 0, [], [])
        try:
            nvrtc.compile_program(program, len(options), options)
            if self.representation == "ltoir":
                code = bytearray(nvrtc.get_ltoir_size(program))
                nvrtc.get_ltoir(program, code)
                return bytes(code)
            text = bytearray(nvrtc.get_ptx_size(program))
            nvrtc.get_ptx(program, text)
            return bytes(text).rstrip(b"\0")
        finally:
            nvrtc.destroy_program(program)

    def _key(self, compiler: str, content: str) -> str:
        info = self.user_info
        kind = type(info)
        parts = (
            *(_own_version(), compiler, content, _ABI),
            *(self.phase, self.element, f"{kind.__module__}.{kind.__qualname__}:{info}"),
            *(str(self.name), self.representation, str(self.compute_capability)),
        )
        return "\0".join(parts)


@cache
def _own_version() -> str:
    try:
        return f"gpumath-host {version('gpumath-host')}"
    except PackageNotFoundError:  # not installed, but found on PYTHONPATH
        return "gpumath-host"


def lowest_compute_capability() -> int:
    """Return the lowest compute capability among the devices: code for it runs on all of them."""
    count = core.Device.count()
    if count == 0:
        msg = (
            "there is no GPU to compile the callback for; pass compute_capability, such as '90', "
            "to compile it for another machine"
        )
        raise NoDeviceError(msg)
    pairs = [core.Device(ordinal).compute_capability for ordinal in range(count)]
    return min(10 * major + minor for major, minor in pairs)


def check_cufft() -> None:
    """Raise RuntimeError if cuFFT is too old. It may be absent, because compiling needs none."""
    try:
        found = cufft.get_version()
    except LibraryNotFoundError:
        return
    if found < _FIRST_CUFFT:
        number = f"{found // 1000}.{found // 100 % 10}.{found % 100}"
        msg = (
            "prologs and epilogs need cuFFT 11.3 (CUDA 12.6 Update 2) or newer, and this is cuFFT "
            f"{number}; update it, for example by pip install -U nvidia-cufft-cu12"
        )
        raise RuntimeError(msg)
