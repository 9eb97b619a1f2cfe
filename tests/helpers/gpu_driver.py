"""The first GPU by the raw driver: a context, memory that is freed, and small kernels."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from gpumath.bindings import driver

# `saxpy` y += a x; `scaled` y *= factor, a global variable; `reverse` turns each block's elements
# around in dynamic shared memory; `sample` reads a 2-D texture object at (x + dx, y + dy);
# `store` writes 100 y + x to a 2-D surface object; `cluster` writes the size of its cluster.
PTX = b"""
.version 7.8
.target sm_90
.address_size 64
.visible .global .align 4 .f32 factor = 0f40000000;
.extern .shared .align 4 .b8 shared[];

.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p; .reg .f32 %f<4>; .reg .b32 %r<5>; .reg .b64 %rd<6>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r1, %r1, %r2, %r3;
    ld.param.u32 %r4, [n];
    setp.ge.u32 %p, %r1, %r4;
    @%p bra END;
    ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y]; ld.param.f32 %f1, [a];
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f3, %f1, %f2, %f3;
    st.global.f32 [%rd5], %f3;
END:
    ret;
}

.visible .entry scaled(.param .u64 y, .param .u32 n)
{
    .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<5>; .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r1, %r1, %r2, %r3;
    ld.param.u32 %r4, [n];
    setp.ge.u32 %p, %r1, %r4;
    @%p bra END;
    ld.param.u64 %rd1, [y];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [factor];
    mul.rn.f32 %f1, %f1, %f2;
    st.global.f32 [%rd1], %f1;
END:
    ret;
}

.visible .entry reverse(.param .u64 y)
{
    .reg .b32 %r<10>; .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    ld.param.u64 %rd1, [y];
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.b32 %r5, [%rd1];
    mov.u32 %r6, shared;
    shl.b32 %r7, %r3, 2;
    add.s32 %r7, %r7, %r6;
    st.shared.b32 [%r7], %r5;
    bar.sync 0;
    sub.s32 %r8, %r2, %r3;
    sub.s32 %r8, %r8, 1;
    shl.b32 %r8, %r8, 2;
    add.s32 %r8, %r8, %r6;
    ld.shared.b32 %r9, [%r8];
    st.global.b32 [%rd1], %r9;
    ret;
}

.visible .entry sample(.param .u64 tex, .param .u64 out, .param .f32 dx, .param .f32 dy)
{
    .reg .f32 %f<9>; .reg .b32 %r<5>; .reg .b64 %rd<4>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    ld.param.u64 %rd1, [tex]; ld.param.u64 %rd2, [out];
    ld.param.f32 %f1, [dx]; ld.param.f32 %f2, [dy];
    cvt.rn.f32.u32 %f3, %r3; cvt.rn.f32.u32 %f4, %r1;
    add.rn.f32 %f3, %f3, %f1; add.rn.f32 %f4, %f4, %f2;
    tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd1, {%f3, %f4}];
    mad.lo.s32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd2, %rd2, %rd3;
    st.global.f32 [%rd2], %f5;
    ret;
}

.visible .entry store(.param .u64 surf)
{
    .reg .f32 %f<2>; .reg .b32 %r<6>; .reg .b64 %rd<2>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
    ld.param.u64 %rd1, [surf];
    mad.lo.s32 %r3, %r1, 100, %r2;
    cvt.rn.f32.u32 %f1, %r3;
    mov.b32 %r4, %f1;
    shl.b32 %r5, %r2, 2;
    sust.b.2d.b32.trap [%rd1, {%r5, %r1}], {%r4};
    ret;
}

.visible .entry cluster(.param .u64 out)
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_nctaid.x;
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.b32 [%rd1], %r2;
    ret;
}
"""
# `calling` needs `twice`, which another module defines.
CALLER_PTX = b"""
.version 7.8
.target sm_90
.address_size 64
.extern .func (.param .f32 result) twice (.param .f32 value);
.visible .entry calling(.param .u64 y)
{
    .reg .f32 %f<3>; .reg .b32 %r<2>; .reg .b64 %rd<3>;
    mov.u32 %r1, %tid.x;
    ld.param.u64 %rd1, [y];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f1, [%rd1];
    {
        .param .f32 given; .param .f32 taken;
        st.param.f32 [given], %f1;
        call.uni (taken), twice, (given);
        ld.param.f32 %f2, [taken];
    }
    st.global.f32 [%rd1], %f2;
    ret;
}
"""
CALLED_PTX = b"""
.version 7.8
.target sm_90
.address_size 64
.visible .func (.param .f32 result) twice (.param .f32 value)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [value];
    add.rn.f32 %f2, %f1, %f1;
    st.param.f32 [result], %f2;
    ret;
}
"""


class Gpu:
    """The primary context of the first GPU, current until `close`, and what was made in it."""

    def __init__(self) -> None:
        driver.init(0)
        self.device = driver.device_get(0)
        self.context = driver.device_primary_ctx_retain(self.device)
        driver.ctx_push_current(self.context)
        self._addresses: list[int] = []
        self._modules: list[int] = []
        self._streams: list[int] = []

    def alloc(self, size: int) -> int:
        """Return the address of new device memory of `size` bytes."""
        self._addresses.append(driver.mem_alloc(size))
        return self._addresses[-1]

    def copied(self, values: np.ndarray) -> int:
        """Return the address of a copy of an array on the device."""
        address = self.alloc(values.nbytes)
        driver.memcpy_htod(address, values.ctypes.data, values.nbytes)
        # The call may return before the copy is done, and the tests' streams do not wait for it.
        driver.ctx_synchronize()
        return address

    def stream(self) -> int:
        """Return a new stream that does not wait for the default stream."""
        self._streams.append(driver.stream_create(driver.StreamFlags.NON_BLOCKING))
        return self._streams[-1]

    def kernel(self, name: str) -> int:
        """Return a kernel of `PTX`."""
        if not self._modules:
            self._modules.append(driver.module_load_data(PTX))
        return driver.module_get_function(self._modules[0], name)

    def attribute(self, name: str) -> int:
        """Return a property of the device."""
        return driver.device_get_attribute(driver.DeviceAttribute[name], self.device)

    def close(self) -> None:
        """Free everything."""
        driver.ctx_synchronize()
        for stream in self._streams:
            driver.stream_destroy(stream)
        for module in self._modules:
            driver.module_unload(module)
        for address in self._addresses:
            driver.mem_free(address)
        assert driver.ctx_pop_current() == self.context
        driver.device_primary_ctx_release(self.device)


def fetched(address: int, shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Return a copy of device memory as an array."""
    values = np.empty(shape, dtype)
    driver.memcpy_dtoh(values.ctypes.data, address, values.nbytes)
    return values


def address_of(callback: Any) -> int:
    """Return the address of a ctypes callback; the caller keeps it alive."""
    return int(ctypes.cast(callback, ctypes.c_void_p).value or 0)


def handles(count: int) -> Any:
    """Return a buffer for so many handles."""
    return (ctypes.c_void_p * count)()
