"""Kernels that take long, and kernels that ruin everything, for processes of their own."""

from __future__ import annotations

import ctypes
from typing import Any

from gpumath.bindings import core, driver

# `spin` runs for so many nanoseconds, and then writes 1 to `done`; the others fail.
PTX = b"""
.version 7.0
.target sm_75
.address_size 64

.visible .entry spin(.param .u64 nanoseconds, .param .u64 done)
{
    .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [nanoseconds]; ld.param.u64 %rd5, [done];
    mov.u64 %rd2, %globaltimer;
LOOP:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p, %rd4, %rd1;
    @%p bra LOOP;
    mov.u32 %r1, 1;
    st.global.u32 [%rd5], %r1;
    ret;
}

.visible .entry unmapped(.param .u64 address)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    mov.u32 %r1, 1; mov.u64 %rd1, 4096;
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry misaligned(.param .u64 address)
{
    .reg .b32 %r<2>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [address];
    add.u64 %rd1, %rd1, 1;
    mov.u32 %r1, 1;
    st.global.u32 [%rd1], %r1;
    ret;
}

.visible .entry trapped(.param .u64 address)
{
    trap;
    ret;
}
"""


class Kernels:
    """The kernels on the first device, and memory for them."""

    def __init__(self) -> None:
        self.array = core.Array(64, "uint32", kind="managed")
        driver.ctx_push_current(driver.device_primary_ctx_retain(driver.device_get(0)))
        self.module = driver.module_load_data(PTX)

    def launch(self, name: str, stream: Any, *numbers: int) -> None:
        """Start a kernel with 64-bit arguments on a stream."""
        function = driver.module_get_function(self.module, name)
        arguments = (numbers, tuple(ctypes.c_uint64 for _ in numbers))
        handle = core.stream_handle(stream)
        driver.launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, handle, arguments, 0)

    def spin(self, stream: Any, seconds: float) -> None:
        """Keep a stream busy for a while."""
        self.launch("spin", stream, int(seconds * 1e9), self.array.ptr)

    def fail(self, name: str, stream: Any) -> None:
        """Start a kernel that fails, a while from now, so that nobody hears of it too early."""
        self.spin(stream, 0.3)
        self.launch(name, stream, self.array.ptr)
