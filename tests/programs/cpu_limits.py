"""Work on the CPU with little memory, with many threads, and ended by a signal."""

from __future__ import annotations

import os
import resource
import signal
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpumath import fft, linalg
from gpumath.linalg import advanced
from tests.programs.support.entry import main

MEBIBYTE = 1 << 20


def address_space() -> int:
    """Bytes of address space that the process uses."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def with_address_space(left: int, work: Any) -> str:
    """Do some work where so many bytes are left; return what came of it."""
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + left, resource.RLIM_INFINITY))
    try:
        work()
    except MemoryError as error:
        return f"MemoryError: {error}"
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return "done"


def transforms_with_little_memory(length: int, mebibytes: list[int]) -> Any:
    real = np.ones(length, np.float32)
    operands = {"fft": real + 0j, "rfft": real, "irfft": real[: length // 2 + 1] + 0j}
    operands = {name: operand.astype(operand.dtype) for name, operand in operands.items()}
    return [
        [name, left, with_address_space(left * MEBIBYTE, partial(getattr(fft, name), operand))]
        for name, operand in operands.items()
        for left in mebibytes
    ]


def products_with_little_memory(mebibytes: list[int]) -> Any:
    # A factor in Fortran order on the left is copied.
    a, b = np.ones((900, 900), order="F"), np.ones((900, 900))
    return [with_address_space(left * MEBIBYTE, lambda: linalg.matmul(a, b)) for left in mebibytes]


def operands_that_no_memory_holds() -> Any:
    found = []
    for length in (2**40, 2**44 - 1, 2**59 - 55):  # the last one is a prime
        for name, dtype in (("rfft", "f4"), ("fft", "c8"), ("irfft", "c16"), ("dct", "f8")):
            operand = np.broadcast_to(np.ones(1, dtype), length)
            try:
                getattr(fft, name)(operand)
            except MemoryError as error:
                found.append(str(error))
    return found


def factors_that_no_memory_holds() -> Any:
    """Multiply factors that are one element, again and again; return what is raised."""
    # More elements than 64 bits count, if each entry of the batch had its own.
    halves = np.lib.stride_tricks.as_strided(np.ones(8, "f2"), (8, 1, 1, 1 << 43), (2, 0, 0, 0))
    column = np.broadcast_to(np.float16(1), (1, 1 << 18, 1 << 43, 1))
    try:
        advanced.matmul(halves, column)
    except MemoryError as error:
        found = str(error)

    class InterruptError(Exception):
        pass

    def handle(*_: Any) -> None:
        raise InterruptError

    # As many multiplications as 64 bits count as 0; the signal ends them.
    signal.signal(signal.SIGALRM, handle)
    left = np.broadcast_to(np.float32(1), (1 << 12, 1 << 40))
    signal.setitimer(signal.ITIMER_REAL, 0.3, 0.3)
    try:
        linalg.matmul(left, left.T, execution=linalg.ExecutionCPU(num_threads=1))
    except InterruptError:
        signal.setitimer(signal.ITIMER_REAL, 0)
        return found, "interrupted"


def interrupted(what: str) -> Any:
    """Let a signal's handler raise during long work; return whether the work was left undone."""

    class InterruptError(Exception):
        pass

    def handle(*_: Any) -> None:
        raise InterruptError

    if what == "matmul":
        a = np.ones((6000, 6000))
        out = np.full(a.shape, np.nan)
        work: Any = lambda: linalg.matmul(a, a, out=out)  # noqa: E731
    else:
        length = 16_777_259  # a prime
        operand = np.ones(length, np.complex64)
        out = np.full(length, np.nan, np.complex64)
        work = lambda: fft.fft(operand, out=out)  # noqa: E731
    # Until the handler has raised, signals keep coming.
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        work()
    except InterruptError:
        undone = bool(np.isnan(out).any())
    else:
        undone = False
    # And what is asked for next works.
    small = np.arange(8) + 0j
    return undone, bool(np.allclose(fft.fft(small), np.fft.fft(small)))


def thread_counts() -> Any:
    """Count threads after calls with any numbers of them, by several threads, and when idle."""
    counts = []

    def calls(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for threads in [*range(2, 40, 5), 64, 256, 100_000]:
            execution = fft.ExecutionCPU(num_threads=threads)
            operand = rng.standard_normal((64, 4000)) + 0j
            for axis in (0, 1):
                fft.fft(operand, axes=[axis], execution=execution)
            fft.rfft(operand.real, axes=[1], execution=execution)
            linalg.matmul(operand.real, operand.real.T, execution=execution)
            counts.append(alive())

    calls(0)
    callers = [threading.Thread(target=calls, args=(seed,)) for seed in range(1, 4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    after_fork = in_fork()
    deadline = time.monotonic() + 60
    while alive() > 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    return max(counts) - len(callers), alive(), after_fork


def alive() -> int:
    return len(os.listdir("/proc/self/task"))


def in_fork() -> list[int]:
    """Threads of a forked child, before and after it transforms."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        before = alive()
        operand = np.ones((64, 4000), complex)
        result = fft.fft(operand, axes=[0])
        right = bool(np.allclose(result[0], 64)) and bool(np.allclose(result[1:], 0))
        os.write(writer, f"{before} {alive()} {int(right)}".encode())
        os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    return [int(number) for number in os.read(reader, 100).split()]


if __name__ == "__main__":
    main(globals())
