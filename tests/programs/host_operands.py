"""Transforms of operands in host memory, on a device whose work is done as late as it may be."""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

from gpumath import fft, memory
from gpumath.bindings import core, errors
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks, driver

MIB = 1 << 20
rng = np.random.default_rng()
copies, pins, depth = driver.driver_copies, driver.driver_pins, driver.driver_depth
early = driver.driver_early_frees


def values(size: Any) -> Any:
    return rng.integers(0, 256, size, np.uint8)


def operand(bytes_: Any) -> Any:
    return bytes_.view(np.complex64)


def plan(x: Any, **keywords: Any) -> Any:
    return core.FftPlan(x, execution="cuda", **keywords)


def is_inverse(result: Any, bytes_: Any) -> Any:
    return bool((np.ascontiguousarray(result).view(np.uint8) == ~bytes_).all())


def every_size_and_alignment() -> None:
    step = MIB // 4
    result = []
    for size in [
        8,
        4096,
        2 * MIB - 8,
        2 * MIB,
        2 * MIB + 8,
        4 * MIB + 8,
        9 * MIB + 24,
        40 * MIB + 16,
    ]:
        for shift in [0, 8, step - 8]:
            for stream in [0, 1, 2, core.Stream()]:
                bytes_ = values(size + shift)[shift:]
                x = operand(bytes_)
                before = x.copy()
                made = plan(x).run(x, None, -1, stream)
                given = np.empty_like(x)
                out = plan(x, out=given).run(x, given, -1, stream)
                inplace = plan(x, inplace=True).run(x, None, -1, stream)
                result.append(
                    out is given
                    and inplace is x
                    and all(is_inverse(y, before.view(np.uint8)) for y in (made, given, x))
                )
    result.append((blocks() - pins(), pins(), early(), depth()) == (0, 1, 0, 0))
    return result


def many_threads_at_once() -> Any:
    result, barrier = [], threading.Barrier(8)

    def work() -> None:
        barrier.wait()
        for round_ in range(3):
            bytes_ = values(5 * MIB + 8 * round_)
            x = operand(bytes_)
            stream = core.Stream()
            y = plan(x).run(x, None, -1, stream)
            result.append(is_inverse(y, bytes_))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Pinned memory is bounded: what comes too many does without.
    result.append(1 <= pins() <= 4 and (blocks() - pins(), early()) == (0, 0))
    return result


def pinned_memory_is_copied_directly() -> Any:
    size = 5 * MIB
    x, y = (memory.empty(size // 8, "complex64", kind="pinned") for _ in range(2))
    bytes_ = values(size)
    np.asarray(x).view(np.uint8)[:] = bytes_
    before = pins()
    driver.driver_clear()
    plan(x, out=y).run(x, y)
    direct = copies()
    # Where only the front of a range is pinned, it is not.
    whole = operand(values(size))
    plan(whole).run(whole)
    return is_inverse(np.asarray(y), bytes_), direct, pins() - before, copies() > 4


def without_pinned_memory() -> Any:
    driver.driver_refuse_pinning(1)
    bytes_ = values(5 * MIB)
    x = operand(bytes_)
    y = plan(x).run(x)
    result = [is_inverse(y, bytes_), copies(), pins(), blocks()]
    driver.driver_refuse_pinning(0)
    y = plan(x).run(x)
    result += [is_inverse(y, bytes_), copies() > 4, pins()]
    return result


def gaps_stay() -> Any:
    result = []
    for rows in (5, 40_000):
        for index in (np.s_[:, 1], np.s_[::-1, 1]):
            base = operand(values(rows * 3 * 64)).reshape(rows, 3, 8)
            kept = base.copy()
            x = base[index]
            inverse = ~np.ascontiguousarray(kept[index]).view(np.uint8)
            inverse = inverse.view(np.complex64)
            # Negative strides take a copy by a kernel, which the stand-in has not.
            if x.strides[0] > 0:
                plan(x, inplace=True).run(x)
            else:
                x[...] = inverse
            kept[index] = inverse
            result.append(base.tobytes() == kept.tobytes())
            target = operand(values(rows * 3 * 64)).reshape(rows, 3, 8)
            kept, source = target.copy(), operand(values(rows * 64)).reshape(rows, 8)
            out = target[:, 1]
            plan(source, out=out).run(source, out)
            kept[:, 1] = target[:, 1]
            result.append(target.tobytes() == kept.tobytes())
    result.append((blocks() - pins(), early(), depth()) == (0, 0, 0))
    return result


def errors_leave_nothing_behind() -> Any:

    bytes_ = values(5 * MIB)
    # The number of copies depends on where the memory is.
    x, out = operand(bytes_), operand(values(5 * MIB))
    made = plan(x)
    made.run(x, out)
    driver.driver_clear()
    made.run(x, out)
    total = copies()
    failed, held = 0, blocks()
    for number in range(1, total + 1):
        driver.driver_fail_copy(number)
        try:
            made.run(x, out)
        except errors.CUDAError as error:
            failed += "cuMemcpyAsync" in str(error)
        assert (blocks(), early(), depth()) == (held, 0, 0)
        out[...] = 0
        assert is_inverse(made.run(x, out), bytes_)

    class Unusual(BaseException):
        pass

    class Refusing:
        def memalloc(self, size: int) -> None:
            raise Unusual

    driver.driver_clear()
    try:
        made.run(x, workspace=core.Workspace(Refusing()))
    except Unusual:
        failed += 1
    return total > 4, failed - total, copies(), blocks() - held


def a_forked_child_is_told() -> Any:

    x = operand(values(5 * MIB))
    made = plan(x)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            made.run(x)

    # While rings are in use.
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    codes = []
    for _ in range(5):
        child = os.fork()
        if child == 0:
            try:
                made.run(x)
            except errors.InvalidStateError as error:
                os._exit(7 if "forked" in str(error) else 1)
            os._exit(2)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    stop.set()
    for thread in threads:
        thread.join()
    return codes


def functions_and_objects_use_it() -> Any:
    bytes_ = values(3 * MIB)
    x = operand(bytes_)
    by_function = fft.fft(x, execution="cuda")
    with fft.FFT(x, execution="cuda") as transform:
        transform.plan()
        y = np.empty_like(x)
        first = (
            transform.execute(),
            transform.execute(out=y),
            transform.execute(stream=core.Stream()),
        )
        result = [is_inverse(r, bytes_) for r in (by_function, *first)]
        x[:1] = 7
        last = transform.execute()
    result += [first[1] is y, is_inverse(last, x.view(np.uint8)), early() == 0]
    return result


def what_does_not_fit_is_refused() -> Any:

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
            made.run(*arguments)
        except ValueError as error:
            messages.append(str(error))
    try:
        made.execute(x, np.empty_like(x))
    except ValueError as error:
        messages.append(str(error))
    return messages, copies()


if __name__ == "__main__":
    main(globals())
