"""Helpers of the kernel examples: they choose a GPU if there is one, and compile for it."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from gpumath.bindings import driver, nvrtc
from gpumath.bindings.errors import CUDAError, LibraryNotFoundError

# The architecture to compile for if there is no GPU.
DEFAULT_ARCHITECTURE = 90


@dataclass(frozen=True)
class Target:
    """The architecture to compile for, and whether there is a GPU to run the code."""

    architecture: int
    has_gpu: bool


@contextmanager
def target() -> Generator[Target]:
    """Make the first GPU's primary context current, or print that there is no GPU."""
    try:
        driver.init(0)
        device = driver.device_get(0)
    except (CUDAError, LibraryNotFoundError) as error:
        print(f"there is no GPU, so no kernel runs: {str(error).splitlines()[0]}")
        yield Target(DEFAULT_ARCHITECTURE, has_gpu=False)
        return
    attribute = driver.DeviceAttribute
    major = driver.device_get_attribute(attribute.COMPUTE_CAPABILITY_MAJOR, device)
    minor = driver.device_get_attribute(attribute.COMPUTE_CAPABILITY_MINOR, device)
    driver.ctx_push_current(driver.device_primary_ctx_retain(device))
    try:
        yield Target(10 * major + minor, has_gpu=True)
    finally:
        driver.ctx_pop_current()
        driver.device_primary_ctx_release(device)


def compile_cubin(source: str, architecture: int) -> bytes:
    """Compile CUDA C++ to machine code."""
    program = compiled(source, f"-arch=sm_{architecture}")
    code = bytearray(nvrtc.get_cubin_size(program))
    nvrtc.get_cubin(program, code)
    nvrtc.destroy_program(program)
    print(f"compiled for sm_{architecture}: {len(code)} bytes")
    return bytes(code)


def compiled(source: str, *options: str) -> int:
    """Return an NVRTC program that has been compiled."""
    try:
        program = nvrtc.create_program(source, "kernel.cu", 0, [], [])
    except LibraryNotFoundError as error:
        # Without the compiler, the examples cannot show anything.
        print(f"NVRTC is missing; to fix it: {error.fix}")
        sys.exit()
    # Raises with the compiler's log if the source is wrong.
    nvrtc.compile_program(program, len(options), options)
    return program
