"""CUDA C++ to code: NVRTC and nvJitLink as tests use them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from gpumath.bindings import nvjitlink, nvrtc
from gpumath.bindings.nvjitlink import InputType

SAXPY = """
extern "C" __global__ void saxpy(float a, const float *x, const float *y, float *out, size_t n) {
    size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
"""
# e_machine of machine code for NVIDIA's GPUs.
_EM_CUDA = 190
_READERS: dict[str, tuple[Callable[[int], int], Callable[[int, bytearray], None]]] = {
    "ptx": (nvrtc.get_ptx_size, nvrtc.get_ptx),
    "cubin": (nvrtc.get_cubin_size, nvrtc.get_cubin),
    "ltoir": (nvrtc.get_ltoir_size, nvrtc.get_ltoir),
    "optix_ir": (nvrtc.get_optix_ir_size, nvrtc.get_optix_ir),
    "log": (nvrtc.get_program_log_size, nvrtc.get_program_log),
}


@contextmanager
def program(
    source: str, name: str = "test.cu", headers: Mapping[str, str | bytes] | None = None
) -> Iterator[int]:
    """Create a program, and destroy it at the end."""
    headers = headers or {}
    texts, names = list(headers.values()), list(headers)
    handle = nvrtc.create_program(source, name, len(headers), texts, names)
    try:
        yield handle
    finally:
        nvrtc.destroy_program(handle)


def output(handle: int, kind: str) -> bytes:
    """Return what a program was compiled to: ptx, cubin, ltoir, optix_ir or log."""
    size, read = _READERS[kind]
    buffer = bytearray(size(handle))
    read(handle, buffer)
    return bytes(buffer)


def compiled(source: str, *options: str, kind: str = "ptx") -> bytes:
    """Compile a source, and return one kind of what it was compiled to."""
    with program(source) as handle:
        nvrtc.compile_program(handle, len(options), options)
        return output(handle, kind)


@contextmanager
def linker(*options: str | bytes) -> Iterator[int]:
    """Create a linker, and destroy it at the end."""
    handle = nvjitlink.create(len(options), options)
    try:
        yield handle
    finally:
        nvjitlink.destroy(handle)


def linked(inputs: Sequence[tuple[InputType, bytes]], *options: str) -> bytes:
    """Link inputs to machine code."""
    with linker(*options) as handle:
        _link(handle, inputs)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
    return bytes(cubin)


def linked_ptx(inputs: Sequence[tuple[InputType, bytes]], *options: str) -> str:
    """Link LTO-IR to PTX."""
    with linker(*options, "-lto", "-ptx") as handle:
        _link(handle, inputs)
        ptx = bytearray(nvjitlink.get_linked_ptx_size(handle))
        nvjitlink.get_linked_ptx(handle, ptx)
    return ptx.rstrip(b"\0").decode()


def _link(handle: int, inputs: Sequence[tuple[InputType, bytes]]) -> None:
    for number, (kind, data) in enumerate(inputs):
        nvjitlink.add_data(handle, kind, data, len(data), f"input {number}")
    nvjitlink.complete(handle)


def kernels(cubin: bytes) -> set[str]:
    """Return the names of the kernels in machine code, read from its sections."""
    assert cubin[:4] == b"\x7fELF"
    (machine,) = struct.unpack_from("<H", cubin, 18)
    assert machine == _EM_CUDA
    (table,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    (text,) = struct.unpack_from("<Q", cubin, table + names * size + 24)
    sections = set()
    for number in range(count):
        (offset,) = struct.unpack_from("<I", cubin, table + number * size)
        start = text + offset
        sections.add(cubin[start : cubin.index(b"\0", start)].decode())
    return {name.removeprefix(".text.") for name in sections if name.startswith(".text.")}
