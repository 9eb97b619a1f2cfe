"""Kernels that fail, waits that are interrupted, and memory that runs out: each in a process."""

from __future__ import annotations

import json

import pytest

from gpumath.bindings import driver
from tests.helpers.processes import assert_quiet, run_script

pytestmark = pytest.mark.gpu

HARD = """
import signal, threading, time
from gpumath import fft, memory
from gpumath.bindings import core, driver, errors, runtime
from tests.helpers.device_uses import DeviceObjects, cpu_error, heard
from tests.helpers.hard_kernels import Kernels
from tests.helpers.references import assert_close, random_values

kernels = Kernels()
stream = core.Stream()
"""

# What fails: the kernel, and the statuses that tell of it.
FAILURES = {
    "unmapped": ["ILLEGAL_ADDRESS"],
    "misaligned": ["MISALIGNED_ADDRESS"],
    # Architectures differ in what they call it.
    "trapped": ["LAUNCH_FAILED", "ILLEGAL_INSTRUCTION", "ASSERT"],
}
# What hears of it first: an exception, and the function that it names.
FIRST = {
    "stream.synchronize()": ["CUDAError", "cuStreamQuery"],
    "core.synchronize_stream(stream, interruptible=False)": ["CUDAError", "cuStreamSynchronize"],
    "event.synchronize()": ["CUDAError", "cuEventQuery"],
    "core.Device(0).synchronize()": ["CUDAError", "cuCtxSynchronize"],
    "driver.ctx_synchronize()": ["CUDAError", "cuCtxSynchronize"],
    "runtime.device_synchronize()": ["CUDARuntimeError", "cudaDeviceSynchronize"],
}


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("kernel", FAILURES)
def test_after_a_kernel_that_failed(kernel: str, first: str) -> None:
    code = f"""
{HARD}
objects = DeviceObjects()
core.Device(0).synchronize()
kernels.fail({kernel!r}, stream)
event = stream.record()
first = heard(lambda: {first})
later = {{name: heard(use) for name, use in objects.uses().items()}}
error = cpu_error()
vars(objects).clear()
gc.collect()
core.plan_cache_clear()
print(json.dumps([first, later, error]))
"""
    process = run_script(code)
    assert (process.returncode, process.stderr) == (0, "")
    heard, later, error = json.loads(process.stdout)
    assert error < 1e-10
    assert heard[:2] == FIRST[first]
    assert heard[2] in [driver.Result[name] for name in FAILURES[kernel]]
    for name, what in later.items():
        assert what is not None, name
        assert what[:3] == ["StickyError", *heard[1:3]], (name, what)
        assert "Start a new process" in what[3]


def test_other_libraries_do_not_hide_it() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    code = f"""
{HARD}
import torch
operand = torch.ones(8, 16, dtype=torch.complex64, device="cuda")
transform = fft.FFT(operand, axes=[1])
transform.plan()
transform.execute()
kernels.fail("unmapped", stream)
first = heard(stream.synchronize)
print(json.dumps([first, heard(lambda: fft.FFT(operand, axes=[0])), heard(transform.free)]))
sys.stdout.flush()
os._exit(0)  # PyTorch's own destructors may complain
"""
    process = run_script(code)
    assert process.returncode == 0, process.stderr
    first, later, freed = json.loads(process.stdout)
    assert later[:3] == ["StickyError", first[1], first[2]]
    assert freed is None


WAITS = {
    "stream": "stream.synchronize()",
    "handle": "core.synchronize_stream(stream.handle)",
    "event": "event.synchronize()",
    "device": "core.Device(0).synchronize()",
    "managed array": "np.from_dlpack(managed, device='cpu')",
    "blocking": "fft.fft(operand, axes=[1], stream=stream, options={'blocking': True})",
}
# Ctrl-C comes when the stream has three more seconds of work, and the wait has begun.
INTERRUPTED = f"""
{HARD}
values = random_values((16, 1000), np.complex64)
operand = memory.empty((16, 1000), "complex64", stream=stream)
core.copy(operand.ptr, values.ctypes.data, values.nbytes, stream=stream)
managed = memory.empty((16, 1000), "complex64", kind="managed", stream=stream)
fft.fft(operand, axes=[1], stream=stream)
stream.synchronize()
kernels.spin(stream, 3)
event = stream.record()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
timer = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
timer.start()
"""


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_ctrl_c_ends_a_wait(wait: str) -> None:
    code = f"""
{INTERRUPTED}
try:
    {wait}
except KeyboardInterrupt:
    assert not event.query()
else:
    raise AssertionError("not interrupted")
{wait}
assert event.query()
assert np.asarray(kernels.array)[0] == 1
result = fft.fft(operand, axes=[1], stream=stream)
back = np.empty((16, 1000), np.complex64)
core.copy(back.ctypes.data, result.ptr, back.nbytes, stream=stream)
stream.synchronize()
assert_close(back, values, "C2C", (1,))
"""
    assert_quiet(run_script(code))


# What must not be left: somebody frees memory next that the work uses.
UNINTERRUPTIBLE = {
    "asked for": "core.synchronize_stream(stream, interruptible=False)",
    "transfer": "fft.fft(values, axes=[1], execution='cuda', stream=stream)",
}


@pytest.mark.parametrize("wait", UNINTERRUPTIBLE.values(), ids=UNINTERRUPTIBLE.keys())
def test_ctrl_c_waits_for_the_work(wait: str) -> None:
    code = f"""
{INTERRUPTED}
try:
    {wait}
    for _ in range(1000):
        pass  # here the interpreter looks for signals
except KeyboardInterrupt:
    assert event.query()
else:
    raise AssertionError("not interrupted")
stream.synchronize()
assert_close(fft.fft(values, axes=[1], execution="cuda"), values, "C2C", (1,))
"""
    assert_quiet(run_script(code))


# The device's memory, all of it.
FULL = f"""
{HARD}
blocks = []
def fill():
    for size in (1 << 30, 1 << 26, 1 << 22, 1 << 20, 1 << 12):
        try:
            while True:
                blocks.append(driver.mem_alloc(size))
        except errors.CUDAError as error:
            assert error.status is driver.Result.OUT_OF_MEMORY

def empty():
    while blocks:
        driver.mem_free(blocks.pop())

def check(length):
    values = random_values((4, length), np.complex64)
    assert_close(fft.fft(values, axes=[1], execution="cuda"), values, "C2C", (1,))
"""


def test_no_memory_for_a_plan() -> None:
    code = f"""
{FULL}
check(1000)
kept = core.FftPlan(np.ones((4, 512), np.complex64), axes=[1], execution="cuda", cached=False)
data = core.allocate(kept.workspace_size + 2 * 4 * 512 * 8 + 1024)
output = data.device_ptr + 4 * 512 * 8
workspace = (output + 4 * 512 * 8 + 255) // 256 * 256
kept.execute(data.device_ptr, output, workspace=workspace)
core.synchronize_stream(0)
fill()
# For some of these, primes among them, cuFFT keeps tables on the device.
lengths = [16_777_259, 1 << 24, 10_000_019, 3**14, 1_000_003]
refused = []
for length in lengths:
    for cached in (True, False):
        try:
            core.FftPlan(np.ones(length, np.complex64), execution="cuda", cached=cached)
        except errors.OutOfMemoryError as error:
            assert isinstance(error, MemoryError)
            assert core.plan_cache_info().size == 0
            refused.append(length)
assert refused, "every plan found memory: choose other lengths"
kept.execute(data.device_ptr, output, workspace=workspace)
core.synchronize_stream(0)
empty()
for length in lengths:
    core.FftPlan(np.ones(length, np.complex64), execution="cuda")
check(1000)
check(4099)
"""
    assert_quiet(run_script(code, timeout=200))


def test_no_memory_for_the_first_plan_of_a_process() -> None:
    """cuFFT reports an internal error then, as its code finds no memory."""
    code = f"""
{FULL}
core.Device(0).synchronize()
fill()
for length in (4099, 1000):
    try:
        core.FftPlan(np.ones(length, np.complex64), execution="cuda")
    except errors.OutOfMemoryError:
        pass
empty()
check(1000)
check(4099)
"""
    assert_quiet(run_script(code, timeout=200))


def test_no_memory_for_a_result_or_a_workspace() -> None:
    code = f"""
{FULL}
check(1000)
operand = memory.empty((16, 1 << 20), "complex64")
core.Device(0).synchronize()
small = random_values((16, 1 << 20), np.complex64)
core.copy(operand.ptr, small.ctypes.data, small.nbytes)
transform = fft.FFT(operand, axes=[1])
transform.plan()
host = fft.FFT(small, axes=[1], execution="cuda")
host.plan()
fill()
for _ in range(2):
    for run in (transform.execute, host.execute, lambda: fft.fft(operand, axes=[1])):
        try:
            run()
        except errors.OutOfMemoryError as error:
            assert "memory left" in str(error)
        else:
            raise AssertionError("there was memory")
empty()
assert_close(host.execute(), small, "C2C", (1,))
result = transform.execute()
back = np.empty_like(small)
core.copy(back.ctypes.data, result.ptr, back.nbytes)
core.synchronize_stream(0)
assert_close(back, small, "C2C", (1,))
"""
    assert_quiet(run_script(code, timeout=200))
