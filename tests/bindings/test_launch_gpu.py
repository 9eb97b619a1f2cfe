"""Kernels that write their arguments back: every byte that `driver.launch_kernel` hands over."""

from __future__ import annotations

import ctypes
import enum
import random
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from gpumath.bindings import driver, nvrtc
from gpumath.bindings.errors import CUDAError

pytestmark = pytest.mark.gpu

# ctypes type: its name in CUDA C++, its format in struct, and a random value.
TYPES: dict[type, tuple[str, str, Any]] = {
    ctypes.c_bool: ("bool", "?", lambda rng: rng.random() < 0.5),
    ctypes.c_char: ("char", "c", lambda rng: rng.randbytes(1)),
    ctypes.c_byte: ("signed char", "b", lambda rng: rng.randrange(-128, 128)),
    ctypes.c_ubyte: ("unsigned char", "B", lambda rng: rng.randrange(256)),
    ctypes.c_short: ("short", "h", lambda rng: rng.randrange(-(2**15), 2**15)),
    ctypes.c_ushort: ("unsigned short", "H", lambda rng: rng.randrange(2**16)),
    ctypes.c_int: ("int", "i", lambda rng: rng.randrange(-(2**31), 2**31)),
    ctypes.c_uint: ("unsigned int", "I", lambda rng: rng.randrange(2**32)),
    ctypes.c_long: ("long", "l", lambda rng: rng.randrange(-(2**63), 2**63)),
    ctypes.c_size_t: ("size_t", "N", lambda rng: rng.randrange(2**64)),
    ctypes.c_float: ("float", "f", lambda rng: rng.gauss(0, 1)),
    ctypes.c_double: ("double", "d", lambda rng: rng.gauss(0, 1)),
    ctypes.c_void_p: ("void *", "P", lambda rng: rng.randrange(2**64)),
}


class Inner(ctypes.Structure):
    _fields_ = (("flag", ctypes.c_byte), ("x", ctypes.c_double))


class Outer(ctypes.Structure):
    _fields_ = (("n", ctypes.c_int), ("inner", Inner * 3), ("words", ctypes.c_short * 5))


STRUCTS = """
struct Inner { signed char flag; double x; };
struct Outer { int n; Inner inner[3]; short words[5]; };
"""


class Color(enum.Enum):
    RED = -3


@dataclass
class Pointing:
    """Knows the address of its bytes."""

    kept: ctypes.Structure

    @property
    def ptr(self) -> int:
        return ctypes.addressof(self.kept)


@pytest.fixture(scope="module", autouse=True)
def context() -> Iterator[None]:
    driver.init(0)
    device = driver.device_get(0)
    made = driver.device_primary_ctx_retain(device)
    driver.ctx_push_current(made)
    yield
    driver.ctx_synchronize()
    assert driver.ctx_pop_current() == made
    driver.device_primary_ctx_release(device)


class Kernel:
    """A kernel that is loaded, and a buffer on the device that it may write to."""

    def __init__(self, source: str, size: int = 4096) -> None:
        attribute = driver.DeviceAttribute
        major = driver.device_get_attribute(attribute.COMPUTE_CAPABILITY_MAJOR, 0)
        minor = driver.device_get_attribute(attribute.COMPUTE_CAPABILITY_MINOR, 0)
        program = nvrtc.create_program(source, "test.cu", 0, [], [])
        nvrtc.compile_program(program, 1, [f"-arch=sm_{major}{minor}"])
        code = bytearray(nvrtc.get_cubin_size(program))
        nvrtc.get_cubin(program, code)
        nvrtc.destroy_program(program)
        self.module = driver.module_load_data(code)
        self.handle = driver.module_get_function(self.module, "kernel")
        self.size = size
        self.out = driver.mem_alloc(size)
        self.clear()

    def launch(self, kernel_params: Any, **more: Any) -> None:
        driver.launch_kernel(self.handle, 1, 1, 1, 1, 1, 1, 0, 0, kernel_params, **more)

    def written(self) -> bytes:
        """Return what the buffer holds, and clear it."""
        host = bytearray(self.size)
        driver.ctx_synchronize()
        driver.memcpy_dtoh(ctypes.addressof(ctypes.c_char.from_buffer(host)), self.out, self.size)
        self.clear()
        return bytes(host)

    def clear(self) -> None:
        driver.memset_d8(self.out, 0, self.size)
        # Streams that do not wait for the null stream must not overtake it.
        driver.ctx_synchronize()

    def close(self) -> None:
        driver.mem_free(self.out)
        driver.module_unload(self.module)


def echo(types: list[str]) -> Kernel:
    """Return a kernel that writes the bytes of all its arguments to its first one."""
    parameters = "".join(f", {type_} a{i}" for i, type_ in enumerate(types))
    copies = "".join(f"    out = put(out, &a{i}, sizeof(a{i}));\n" for i in range(len(types)))
    return Kernel(f"""{STRUCTS}
__device__ char *put(char *out, const void *bytes, int size)
{{
    for (int i = 0; i < size; ++i)
        out[i] = ((const char *)bytes)[i];
    return out + size;
}}
extern "C" __global__ void kernel(char *out{parameters})
{{
{copies}}}
""")


@pytest.mark.parametrize("count", [0, 1, 5, 16, 150])
def test_every_byte_of_mixed_arguments(count: int) -> None:
    rng = random.Random()
    types = [rng.choice([*TYPES]) for _ in range(count)]
    values = [TYPES[type_][2](rng) for type_ in types]
    formats = [TYPES[type_][1] for type_ in types]
    expected = b"".join(struct.pack(f"@{f}", v) for f, v in zip(formats, values, strict=True))
    kernel = echo([TYPES[type_][0] for type_ in types])
    all_values, all_types = [kernel.out, *values], [ctypes.c_void_p, *types]

    cells = [type_(value) for type_, value in zip(all_types, all_values, strict=True)]
    addresses = [ctypes.addressof(cell) for cell in cells]
    array = np.array(addresses, dtype=np.uint64)
    forms: dict[str, Any] = {
        "tuples": (tuple(all_values), tuple(all_types)),
        "lists": (all_values, all_types),
        "ctypes objects": (cells, all_types),
        "their own bytes": (cells, [None] * len(cells)),
        "NumPy array": array,
        "ctypes array": (ctypes.c_void_p * len(cells))(*addresses),
        "address": array.ctypes.data,
    }
    for name, form in forms.items():
        kernel.launch(form)
        found = kernel.written()
        assert found[: len(expected)] == expected, name
        assert not any(found[len(expected) :]), name
    kernel.close()


def test_no_arguments() -> None:
    kernel = Kernel("""
__device__ int count = 0;
extern "C" __global__ void kernel() { ++count; }
""")
    forms: list[Any] = [0, None, ((), ()), ([], [])]
    for form in forms:
        kernel.launch(form)
    driver.ctx_synchronize()
    count = ctypes.c_int()
    address, size = driver.module_get_global(kernel.module, "count")
    assert size == 4
    driver.memcpy_dtoh(ctypes.addressof(count), address, size)
    assert count.value == len(forms)
    kernel.close()


def test_structs_by_value() -> None:
    rng = random.Random()
    inner = (Inner * 3)(*(Inner(rng.randrange(-128, 128), rng.random()) for _ in range(3)))
    words = (ctypes.c_short * 5)(*(rng.randrange(-(2**15), 2**15) for _ in range(5)))
    outer = Outer(rng.randrange(2**31), inner, words)
    expected = bytes(outer)
    assert len(expected) == 72
    record = np.frombuffer(expected, np.dtype("V72"))
    kernel = echo(["short", "Outer", "int"])
    ways: dict[str, tuple[Any, type | None]] = {
        "class": (outer, Outer),
        "None": (outer, None),
        "ptr": (Pointing(outer), None),
        "NumPy array": (record, None),
        "NumPy scalar": (record[0], None),
        "bytes": (expected, None),
        "bytearray": (bytearray(expected), None),
    }
    for name, (value, type_) in ways.items():
        types = (ctypes.c_void_p, ctypes.c_short, type_, ctypes.c_int)
        kernel.launch(((kernel.out, 5, value, -6), types))
        if isinstance(value, bytearray):
            # The driver has copied the arguments: what becomes of them does not matter any more.
            value[:] = bytes(len(value))
        found = kernel.written()
        back = Outer.from_buffer_copy(found, 2)
        assert found[:2] == struct.pack("h", 5), name
        assert found[2 + 72 :][:4] == struct.pack("i", -6), name
        assert back.n == outer.n, name
        assert [(i.flag, i.x) for i in back.inner] == [(i.flag, i.x) for i in inner], name
        assert list(back.words) == list(words), name
    kernel.close()


def test_values_without_a_type() -> None:
    kernel = echo(["int", "float", "double2", "dim3"])
    extents = driver.LaunchConfig()
    extents.grid_dim_x, extents.grid_dim_y, extents.grid_dim_z = 7, 8, 9
    values = (np.uint64(kernel.out), Color.RED, np.float32(0.1), np.complex128(1 + 2j), extents)
    kernel.launch((values, (None,) * 5))
    expected = struct.pack("=if2d3I", -3, 0.1, 1, 2, 7, 8, 9)
    assert kernel.written()[: len(expected)] == expected
    kernel.close()


def test_arguments_in_a_buffer_of_their_own() -> None:
    """`extra`: one packed buffer in place of `kernel_params`."""
    kernel = echo(["int", "double"])
    packed = ctypes.create_string_buffer(struct.pack("@Pid", kernel.out, 41, 2.5))
    size = ctypes.c_size_t(struct.calcsize("@Pid"))
    # CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE and _END of cuda.h.
    pairs = [1, ctypes.addressof(packed), 2, ctypes.addressof(size), 0]
    kernel.launch(0, extra=np.array(pairs, dtype=np.uint64))
    assert kernel.written()[:12] == struct.pack("=id", 41, 2.5)
    kernel.close()


GRID = """
__device__ unsigned arrived = 0;
extern "C" __global__ void kernel(unsigned *out, unsigned factor)
{
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    out[block * threads + thread] = factor * (block * threads + thread);
}
"""


def test_grids_blocks_and_configurations() -> None:
    kernel = Kernel(GRID, size=4 * 2 * 3 * 4 * 5 * 6 * 7)
    pair = ((kernel.out, 3), (ctypes.c_void_p, ctypes.c_uint))
    expected = 3 * np.arange(kernel.size // 4, dtype=np.uint32)
    stream = driver.stream_create(driver.StreamFlags.NON_BLOCKING)

    driver.launch_kernel(kernel.handle, 2, 3, 4, 5, 6, 7, 0, stream, pair)
    assert np.array_equal(np.frombuffer(kernel.written(), np.uint32), expected)

    config = driver.LaunchConfig()
    config.grid_dim_x, config.grid_dim_y, config.grid_dim_z = 2, 3, 4
    config.block_dim_x, config.block_dim_y, config.block_dim_z = 5, 6, 7
    config.h_stream = stream
    driver.launch_kernel_ex(config, kernel.handle, pair)
    assert np.array_equal(np.frombuffer(kernel.written(), np.uint32), expected)
    driver.launch_kernel_ex(config=config, f=kernel.handle, kernel_params=pair, extra=0)
    assert np.array_equal(np.frombuffer(kernel.written(), np.uint32), expected)
    driver.stream_destroy(stream)
    kernel.close()


def test_a_cooperative_grid_synchronizes() -> None:
    # Each block waits for all others, which ends only if all run at a time.
    kernel = Kernel("""
__device__ unsigned arrived = 0;
extern "C" __global__ void kernel(unsigned *out, unsigned add)
{
    if (threadIdx.x == 0) {
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < gridDim.x) { }
    }
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = arrived + add;
}
""")
    pair = ((kernel.out, 100), (ctypes.c_void_p, ctypes.c_uint))
    driver.launch_cooperative_kernel(kernel.handle, 8, 1, 1, 32, 1, 1, 0, 0, pair)
    found = np.frombuffer(kernel.written(), np.uint32)
    assert np.all(found[:256] == 108)
    # Far more blocks than fit on any device.
    with pytest.raises(CUDAError) as caught:
        driver.launch_cooperative_kernel(kernel.handle, 10**6, 1, 1, 1024, 1, 1, 0, 0, pair)
    assert caught.value.status is driver.Result.COOPERATIVE_LAUNCH_TOO_LARGE
    kernel.close()


def test_a_graph_keeps_the_arguments_of_its_launches() -> None:
    kernel = echo(["double"])
    stream = driver.stream_create(driver.StreamFlags.NON_BLOCKING)
    cell = ctypes.c_double(1.25)
    pair = ((kernel.out, cell), (ctypes.c_void_p, None))
    driver.stream_begin_capture(stream, driver.StreamCaptureMode.THREAD_LOCAL)
    driver.launch_kernel(kernel.handle, 1, 1, 1, 1, 1, 1, 0, stream, pair)
    graph = driver.stream_end_capture(stream)
    cell.value = 7
    runnable = driver.graph_instantiate_with_flags(graph, 0)
    for _ in range(2):
        driver.graph_launch(runnable, stream)
        assert kernel.written()[:8] == struct.pack("d", 1.25)
    driver.graph_exec_destroy(runnable)
    driver.graph_destroy(graph)
    driver.stream_destroy(stream)
    kernel.close()


@pytest.mark.parametrize(
    ("numbers", "status"),
    [
        ((0, 1, 1, 1, 1, 1, 0), "INVALID_VALUE"),
        ((1, 1, 1, 0, 1, 1, 0), "INVALID_VALUE"),
        ((1, 1, 1, 4096, 1, 1, 0), "INVALID_VALUE"),
        ((1, 2**31, 1, 1, 1, 1, 0), "INVALID_VALUE"),
        ((1, 1, 1, 1, 1, 1, 2**31), "INVALID_VALUE"),
    ],
)
def test_launches_that_the_driver_refuses(numbers: tuple[int, ...], status: str) -> None:
    kernel = echo(["int"])
    pair = ((kernel.out, 5), (ctypes.c_void_p, ctypes.c_int))
    with pytest.raises(CUDAError, match="cuLaunchKernel") as caught:
        driver.launch_kernel(kernel.handle, *numbers, 0, pair)
    assert caught.value.status is driver.Result[status]
    # The context is as good as before.
    kernel.launch(pair)
    assert kernel.written()[:4] == struct.pack("i", 5)
    kernel.close()


def test_wrong_arguments_launch_nothing() -> None:
    kernel = echo(["int"])
    good = (ctypes.c_void_p, ctypes.c_int)
    wrong: list[tuple[Any, type[Exception]]] = [
        (((kernel.out, 2**31), good), OverflowError),
        (((kernel.out, 1.5), good), TypeError),
        (((kernel.out, "5"), good), TypeError),
        (((kernel.out,), good), ValueError),
        (((kernel.out, 5), (ctypes.c_void_p, int)), TypeError),
        (np.zeros(2), TypeError),
        ("arguments", TypeError),
    ]
    for kernel_params, error in wrong:
        with pytest.raises(error):
            kernel.launch(kernel_params)
    with pytest.raises(ValueError, match="argument 'f' is 0"):
        driver.launch_kernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0)
    assert not any(kernel.written())
    kernel.close()


def test_threads_launch_at_the_same_time() -> None:
    kernel = Kernel(
        """
extern "C" __global__ void kernel(unsigned long long *out, int place, long long add)
{
    atomicAdd(&out[place], (unsigned long long)add);
}
"""
    )
    context = driver.ctx_get_current()
    types = (ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong)
    launches, threads = 500, 4
    errors: list[BaseException] = []

    def work(place: int) -> None:
        try:
            driver.ctx_set_current(context)
            for number in range(launches):
                kernel.launch(((kernel.out, place, number * (place + 1)), types))
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=work, args=(place,)) for place in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert not errors
    found = np.frombuffer(kernel.written(), np.uint64)
    total = launches * (launches - 1) // 2
    assert [int(x) for x in found[:threads]] == [total * (place + 1) for place in range(threads)]
    kernel.close()
