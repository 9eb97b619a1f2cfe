"""gpumath's arrays in device, pinned and managed memory, and who else can use them."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

from gpumath import fft, memory
from gpumath.bindings import core, errors
from tests.helpers.dlpack import Producer, content_of, exchange_class
from tests.helpers.operands import library, numpy_of
from tests.helpers.processes import assert_quiet, start
from tests.helpers.references import assert_close, random_values

pytestmark = pytest.mark.gpu

KINDS = ["device", "pinned", "managed"]
MIB = 1 << 20


def filled(values: np.ndarray, kind: Any, stream: Any = None) -> memory.Array:
    """Array of contiguous values; all work is done on return."""
    values = np.ascontiguousarray(values)
    array = memory.empty(values.shape, values.dtype, kind=kind, stream=stream)
    if array.nbytes:
        core.copy(array.ptr, values.ctypes.data, array.nbytes, stream=array.stream)
    core.synchronize_stream(array.stream)
    return array


class Busy:
    """Work that keeps a stream busy for a while, and then writes values to an array."""

    def __init__(self, stream: core.Stream, values: np.ndarray) -> None:
        self.stream = stream
        self.target = memory.empty(values.shape, values.dtype, stream=stream)
        self.noise = memory.empty(256 * MIB, "uint8", kind="pinned", stream=stream)
        self.sink = memory.empty(256 * MIB, "uint8", stream=stream)
        self.right = filled(values, "pinned", stream)
        wrong = filled(values * 0 + 7, "pinned", stream)
        core.copy(self.target.ptr, wrong.ptr, wrong.nbytes, stream=stream)
        for _ in range(8):
            core.copy(self.sink.ptr, self.noise.ptr, self.noise.nbytes, stream=stream)
        core.copy(self.target.ptr, self.right.ptr, self.right.nbytes, stream=stream)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (0,), (2, 0)])
def test_what_an_array_is(kind: Any, shape: tuple[int, ...]) -> None:
    array = memory.empty(shape, "complex64", kind=kind)
    on_host = kind == "pinned"
    assert (array.kind, array.shape, array.nbytes) == (kind, shape, 8 * int(np.prod(shape)))
    assert (array.device, array.device_id) == (("cpu", None) if on_host else ("cuda", 0))
    assert (
        array.__dlpack_device__() == {"device": (2, 0), "pinned": (1, 0), "managed": (13, 0)}[kind]
    )
    assert array.ptr % 256 == 0
    assert hasattr(array, "__cuda_array_interface__") is not on_host
    if not on_host:
        interface = array.__cuda_array_interface__
        assert (interface["shape"], interface["typestr"]) == (shape, "<c8")
        assert (interface["data"], interface["version"]) == ((array.ptr, False), 3)
        assert interface["stream"] == 1


@pytest.mark.parametrize("kind", ["pinned", "managed"])
def test_numpy_shares_the_memory(kind: Any) -> None:
    values = random_values((5, 6), np.float64)
    array = memory.empty((5, 6), kind=kind)
    np.asarray(array)[...] = values
    for seen in (np.asarray(array), np.from_dlpack(array), np.from_dlpack(array, device="cpu")):
        assert seen.ctypes.data == array.ptr
        np.testing.assert_array_equal(seen, values)
    capsule = array.__dlpack__(max_version=(1, 0), dl_device=(1, 0))
    assert content_of(capsule).tensor.device_type == 1


def test_numpy_cannot_read_device_memory() -> None:
    array = memory.empty(3)
    with pytest.raises(TypeError, match="in device memory, where the CPU cannot read them"):
        np.asarray(array)
    with pytest.raises(BufferError, match="in device memory"):
        memoryview(array)


@pytest.mark.parametrize("kind", ["device", "managed"])
@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "uint8", "bool"])
def test_cupy_there_and_back(kind: Any, dtype: str) -> None:
    cupy = library("cupy")
    values = (random_values((4, 6), np.float64) * 50).astype(dtype)
    array = filled(values, kind)
    for theirs in (cupy.from_dlpack(array), cupy.asarray(array)):
        assert theirs.data.ptr == array.ptr
        np.testing.assert_array_equal(theirs.get(), values)
    ours = memory.from_dlpack(cupy.asarray(values)[::2, ::-1])
    np.testing.assert_array_equal(numpy_of(ours), values[::2, ::-1])


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int64", "uint8", "bool", "float16"])
def test_torch_there_and_back(dtype: str) -> None:
    torch = library("torch")
    values = (random_values((4, 6), np.float64) * 50).astype(dtype)
    array = filled(values, "device")
    theirs = torch.from_dlpack(array)
    assert theirs.data_ptr() == array.ptr
    np.testing.assert_array_equal(theirs.cpu().numpy(), values)
    pinned = filled(values, "pinned")
    on_host = torch.from_dlpack(pinned, device="cpu")
    assert on_host.data_ptr() == pinned.ptr
    np.testing.assert_array_equal(on_host.numpy(), values)
    ours = memory.from_dlpack(torch.from_numpy(values).cuda()[::2])
    np.testing.assert_array_equal(numpy_of(ours), values[::2])


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_torch_types_that_numpy_lacks(name: str) -> None:
    torch = library("torch")
    theirs = torch.arange(6, device="cuda").to(getattr(torch, name))
    ours = memory.from_dlpack(theirs)
    assert (ours.dtype, ours.ptr) == (name, theirs.data_ptr())
    back = torch.from_dlpack(ours)
    assert back.dtype is theirs.dtype
    assert back.data_ptr() == theirs.data_ptr()


def test_jax_there_and_back() -> None:
    jax = library("jax")
    jax.config.update("jax_enable_x64", True)
    values = random_values((4, 6), np.complex128)
    array = filled(values, "device")
    theirs = jax.dlpack.from_dlpack(array)
    assert theirs.unsafe_buffer_pointer() == array.ptr
    np.testing.assert_array_equal(np.asarray(theirs), values)
    made = jax.device_put(values, jax.devices("gpu")[0]) * 2
    ours = memory.from_dlpack(made)
    assert ours.readonly
    np.testing.assert_array_equal(numpy_of(ours), 2 * values)


def test_numba_there_and_back() -> None:
    cuda = library("numba")
    values = random_values((4, 6), np.float64)
    array = filled(values, "device")
    theirs = cuda.as_cuda_array(array)
    assert theirs.__cuda_array_interface__["data"][0] == array.ptr
    np.testing.assert_array_equal(theirs.copy_to_host(), values)
    ours = memory.from_dlpack(cuda.to_device(values)[::2])
    np.testing.assert_array_equal(numpy_of(ours), values[::2])


@pytest.mark.parametrize("kind", ["device", "managed"])
def test_the_consumer_keeps_the_memory(kind: Any) -> None:
    cupy = library("cupy")
    values = random_values((MIB,), np.float64)
    theirs = cupy.from_dlpack(filled(values, kind))
    gc.collect()
    for _ in range(10):
        filled(values * 0, kind)
    np.testing.assert_array_equal(theirs.get(), values)


@pytest.mark.parametrize("consumer", ["cupy", "torch"])
def test_a_consumer_on_another_stream_waits(consumer: str) -> None:
    module = library(consumer)
    values = random_values((1000,), np.float64)
    busy = Busy(core.Stream(), values)
    if consumer == "cupy":
        with module.cuda.Stream(non_blocking=True):
            seen = module.from_dlpack(busy.target).get()
    else:
        with module.cuda.stream(module.cuda.Stream()):
            seen = module.from_dlpack(busy.target).cpu().numpy()
    np.testing.assert_array_equal(seen, values)


class Announced:
    """What `__cuda_array_interface__` says, with the stream that makes the elements."""

    def __init__(self, busy: Busy) -> None:
        self.busy = busy

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.busy.target.__cuda_array_interface__ | {"stream": self.busy.stream.handle}


def exchanged(busy: Busy) -> Producer:
    """Offer the elements by the C exchange API, whose current stream is the busy one."""
    values = np.empty(busy.target.shape, busy.target.dtype)
    producer = exchange_class(stream=busy.stream.handle)
    return producer(values, data=busy.target.ptr, device_type=2)


WRAPS = {"cai": Announced, "own": lambda busy: busy.target, "exchange": exchanged}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS.keys())
@pytest.mark.parametrize("execution", ["cuda", "cpu"])
def test_work_waits_for_the_operand(wrap: Any, execution: str) -> None:
    values = random_values((16, 64), np.complex64)
    for stream in (None, core.Stream()):
        busy = Busy(core.Stream(), values)
        result = fft.fft(wrap(busy), axes=[1], stream=stream, execution=execution)
        assert_close(numpy_of(result), values, "C2C", (1,))


def lent(array: memory.Array, values: np.ndarray) -> Producer:
    return Producer(values, data=array.ptr, device_type=2)


def test_which_streams_a_producer_is_told() -> None:
    values = random_values((16, 64), np.complex64)
    array = filled(values, "device")
    stream = core.Stream()
    for used, told in ((None, 1), (stream, stream.handle), (2, 2)):
        source = lent(array, values)
        assert_close(numpy_of(fft.fft(source, axes=[1], stream=used)), values, "C2C", (1,))
        streams = [request["stream"] for request in source.requests]
        assert streams.count(told) == 1
        assert set(streams) <= {-1, told}


def test_a_producer_gets_its_memory_back_when_the_work_is_done() -> None:
    values = random_values((16, 64), np.complex64)
    stream = core.Stream()
    array = filled(values, "device", stream)
    source = lent(array, values)
    busy = Busy(stream, values)
    result = fft.fft(source, axes=[1], stream=stream)
    assert source.deleted == len(source.requests) - 1
    stream.synchronize()
    memory.empty(1)
    assert source.deleted == len(source.requests)
    assert_close(numpy_of(result), values, "C2C", (1,))
    del busy


def test_memory_goes_back_in_stream_order() -> None:
    values = random_values((16, 64), np.complex64)
    stream = core.Stream()
    results = []
    for _ in range(20):
        busy = Busy(stream, values)
        results.append(fft.fft(busy.target, axes=[1], stream=stream))
        del busy
    for result in results:
        assert_close(numpy_of(result), values, "C2C", (1,))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_behind(kind: Any) -> None:
    device = core.Device()
    memory.empty(64 * MIB, "uint8", kind=kind)
    device.synchronize()
    before, _ = device.memory_info()
    for _ in range(300):
        array = memory.empty(64 * MIB, "uint8", kind=kind)
        array.__dlpack__(stream=-1 if kind != "pinned" else None)
        del array
    device.synchronize()
    after, _ = device.memory_info()
    assert before - after < 512 * MIB


def test_prefetch_and_advice() -> None:
    values = random_values((MIB,), np.float64)
    array = memory.empty((MIB,), kind="managed")
    np.asarray(array)[...] = values
    stream = core.Stream()
    for advice in ("read_mostly", "preferred_location", "accessed_by"):
        for place in (None, 0, "cpu"):
            array.advise(advice, place)
            array.advise(advice, place, on=False)
    array.prefetch(0, stream=stream)
    stream.synchronize()
    result = fft.rfft(array)
    assert_close(numpy_of(result), values, "R2C", (0,))
    array.prefetch("cpu")
    core.synchronize_stream(0)
    np.testing.assert_array_equal(np.asarray(array), values)
    memory.empty(0, kind="managed").prefetch(0)
    for wrong in (-1, "gpu", None, 1.5):
        with pytest.raises(ValueError, match='ordinal of a CUDA device or "cpu" is needed'):
            array.prefetch(wrong)
    with pytest.raises(ValueError, match="advice is"):
        array.advise("mostly_read")


@pytest.mark.parametrize("kind", KINDS)
def test_too_much_memory(kind: Any) -> None:
    for _ in range(2):
        with pytest.raises(MemoryError, match="free some, or use smaller"):
            memory.empty(1 << 50, "uint8", kind=kind)
    assert memory.empty(8, kind=kind).nbytes == 64


@pytest.mark.parametrize("kind", KINDS)
def test_no_such_device(kind: Any) -> None:
    count = core.Device.count()
    for ordinal in (-1, count):
        with pytest.raises(errors.NoDeviceError, match=f"no CUDA device {ordinal}"):
            memory.empty(8, kind=kind, device_id=ordinal)


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_die_on_any_thread(kind: Any) -> None:
    arrays = [filled(random_values((100,), np.float64), kind) for _ in range(50)]

    def drop() -> None:
        while arrays:
            arrays.pop()

    threads = [threading.Thread(target=drop) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    core.Device().synchronize()


@pytest.mark.parametrize("how", ["interpreter_exit", "fork"])
def test_the_end_of_a_process(how: str) -> None:
    assert_quiet(start(f"memory_gpu.{how}"))
