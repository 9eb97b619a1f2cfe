"""Transforms on a GPU of operands in host memory: that every byte gets there and back in time.

The driver and cuFFT are stand-ins, whose work is done as late as it may be, and whose transform
inverts every bit.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver

START = """
import threading
from gpumath import fft

rng = np.random.default_rng()
copies, pins, depth = driver.driver_copies, driver.driver_pins, driver.driver_depth
early = driver.driver_early_frees

def values(size):
    return rng.integers(0, 256, size, np.uint8)

def operand(bytes_):
    return bytes_.view(np.complex64)

def plan(x, **keywords):
    return core.FftPlan(x, execution="cuda", **keywords)

def workspace(operand, size, device_id, stream, captured):
    block = core.allocate(size, device_id=device_id, stream=stream)
    return block.device_ptr, block

def is_inverse(result, bytes_):
    return bool((np.ascontiguousarray(result).view(np.uint8) == ~bytes_).all())
"""
MIB = 1 << 20


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = ordering_driver.SOURCE.with_name("copying_driver.c")
    return ordering_driver.build(tmp_path_factory.mktemp("driver"), source)


def test_every_size_and_alignment(driver: Path) -> None:
    code = f"""
{START}
step = {MIB} // 4
result = []
for size in [8, 4096, {2 * MIB} - 8, {2 * MIB}, {2 * MIB} + 8, {4 * MIB} + 8, {9 * MIB} + 24,
             {40 * MIB} + 16]:
    for shift in [0, 8, step - 8]:
        for stream in [0, 1, 2, core.Stream()]:
            bytes_ = values(size + shift)[shift:]
            x = operand(bytes_)
            before = x.copy()
            made = plan(x).run(x, None, -1, stream, workspace)
            given = np.empty_like(x)
            out = plan(x, out=given).run(x, given, -1, stream, workspace)
            inplace = plan(x, inplace=True).run(x, None, -1, stream, workspace)
            result.append(
                out is given and inplace is x
                and all(is_inverse(y, before.view(np.uint8)) for y in (made, given, x))
            )
result.append((blocks() - pins(), pins(), early(), depth()) == (0, 1, 0, 0))
"""
    same = ordering_driver.run(driver, code)
    assert len(same) == 8 * 3 * 4 + 1
    assert all(same)


def test_many_threads_at_once(driver: Path) -> None:
    code = f"""
{START}
result, barrier = [], threading.Barrier(8)

def work():
    barrier.wait()
    for round_ in range(3):
        bytes_ = values(5 * {MIB} + 8 * round_)
        x = operand(bytes_)
        stream = core.Stream()
        y = plan(x).run(x, None, -1, stream, workspace)
        result.append(is_inverse(y, bytes_))

threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
# Pinned memory is bounded: what comes too many does without.
result.append(1 <= pins() <= 4 and (blocks() - pins(), early()) == (0, 0))
"""
    same = ordering_driver.run(driver, code)
    assert len(same) == 8 * 3 + 1
    assert all(same)


def test_pinned_memory_is_copied_directly(driver: Path) -> None:
    code = f"""
{START}
size = 5 * {MIB}
x, y = (memory.empty(size // 8, "complex64", kind="pinned") for _ in range(2))
bytes_ = values(size)
np.asarray(x).view(np.uint8)[:] = bytes_
before = pins()
driver.driver_clear()
plan(x, out=y).run(x, y, -1, None, workspace)
direct = copies()
# Where only the front of a range is pinned, it is not.
whole = operand(values(size))
plan(whole).run(whole, None, -1, None, workspace)
result = is_inverse(np.asarray(y), bytes_), direct, pins() - before, copies() > 4
"""
    assert ordering_driver.run(driver, code) == [True, 2, 1, True]


def test_without_pinned_memory(driver: Path) -> None:
    code = f"""
{START}
driver.driver_refuse_pinning(1)
bytes_ = values(5 * {MIB})
x = operand(bytes_)
y = plan(x).run(x, None, -1, None, workspace)
result = [is_inverse(y, bytes_), copies(), pins(), blocks()]
driver.driver_refuse_pinning(0)
y = plan(x).run(x, None, -1, None, workspace)
result += [is_inverse(y, bytes_), copies() > 4, pins()]
"""
    assert ordering_driver.run(driver, code) == [True, 2, 0, 0, True, True, 1]


def test_gaps_stay(driver: Path) -> None:
    code = f"""
{START}
result = []
for rows in (5, 300_000):
    for index in (np.s_[:, 1], np.s_[::-1, 1]):
        base = operand(values(rows * 3 * 8)).reshape(rows, 3)
        kept = base.copy()
        x = base[index]
        inverse = ~np.ascontiguousarray(kept[index]).view(np.uint8)
        inverse = inverse.view(np.complex64)
        # cuFFT takes no negative strides.
        if x.strides[0] > 0:
            plan(x, inplace=True).run(x, None, -1, None, workspace)
        else:
            x[...] = inverse
        kept[index] = inverse
        result.append(base.tobytes() == kept.tobytes())
        target = operand(values(rows * 3 * 8)).reshape(rows, 3)
        kept, source = target.copy(), operand(values(rows * 8))
        out = target[:, 1]
        plan(source, out=out).run(source, out, -1, None, workspace)
        kept[:, 1] = target[:, 1]
        result.append(target.tobytes() == kept.tobytes())
result.append((blocks() - pins(), early(), depth()) == (0, 0, 0))
"""
    assert all(ordering_driver.run(driver, code))


def test_errors_leave_nothing_behind(driver: Path) -> None:
    code = f"""
{START}
from gpumath.bindings import errors

bytes_ = values(5 * {MIB})
# The number of copies depends on where the memory is.
x, out = operand(bytes_), operand(values(5 * {MIB}))
made = plan(x)
made.run(x, out, -1, None, workspace)
driver.driver_clear()
made.run(x, out, -1, None, workspace)
total = copies()
failed, held = 0, blocks()
for number in range(1, total + 1):
    driver.driver_fail_copy(number)
    try:
        made.run(x, out, -1, None, workspace)
    except errors.CUDAError as error:
        failed += "cuMemcpyAsync" in str(error)
    assert (blocks(), early(), depth()) == (held, 0, 0)
    out[...] = 0
    assert is_inverse(made.run(x, out, -1, None, workspace), bytes_)

class Unusual(BaseException):
    pass

def refuse(*arguments):
    raise Unusual

driver.driver_clear()
try:
    made.run(x, None, -1, None, refuse)
except Unusual:
    failed += 1
result = total > 4, failed - total, copies(), blocks() - held
"""
    assert ordering_driver.run(driver, code) == [True, 1, 0, 0]


def test_a_forked_child_is_told(driver: Path) -> None:
    code = f"""
{START}
from gpumath.bindings import errors

x = operand(values(5 * {MIB}))
made = plan(x)
stop = threading.Event()

def work():
    while not stop.is_set():
        made.run(x, None, -1, None, workspace)

# While rings are in use.
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(5):
    child = os.fork()
    if child == 0:
        try:
            made.run(x, None, -1, None, workspace)
        except errors.InvalidStateError as error:
            os._exit(7 if "forked" in str(error) else 1)
        os._exit(2)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
result = codes
"""
    assert ordering_driver.run(driver, code) == [7] * 5


def test_functions_and_objects_use_it(driver: Path) -> None:
    code = f"""
{START}
bytes_ = values(3 * {MIB})
x = operand(bytes_)
by_function = fft.fft(x, execution="cuda")
with fft.FFT(x, execution="cuda") as transform:
    transform.plan()
    y = np.empty_like(x)
    first = transform.execute(), transform.execute(out=y), transform.execute(stream=core.Stream())
    result = [is_inverse(r, bytes_) for r in (by_function, *first)]
    x[:1] = 7
    last = transform.execute()
result += [first[1] is y, is_inverse(last, x.view(np.uint8)), early() == 0]
"""
    assert ordering_driver.run(driver, code) == [True] * 7


def test_what_does_not_fit_is_refused(driver: Path) -> None:
    code = f"""
{START}
from gpumath.bindings import errors

x = operand(values(800))
made, messages = plan(x), []
fixed = operand(values(800))
fixed.flags.writeable = False
for arguments in [
    (x[:50],),
    (x.astype(np.complex128),),
    (x, np.empty(99, np.complex64)),
    (x, np.empty(200, np.complex64)[::2]),
    (x, fixed),
    (x, x),
    (x, core.Array(100, "complex64")),
]:
    try:
        made.run(*arguments, workspace=workspace)
    except ValueError as error:
        messages.append(str(error))
try:
    made.execute(x, np.empty_like(x))
except ValueError as error:
    messages.append(str(error))
result = messages, copies()
"""
    messages, copies = ordering_driver.run(driver, code)
    assert len(messages) == 8
    assert copies == 0
