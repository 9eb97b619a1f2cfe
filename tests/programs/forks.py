"""Children that are forked while other threads search for libraries, and transform."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
import warnings

import numpy as np

from gpumath import fft
from gpumath.bindings import core
from tests.programs.support.entry import main

# Seconds after which a child counts as hanging.
LONGEST = 20


def child_status() -> int:
    """Return the exit status of a child that looks for libraries and transforms."""
    # Python warns of forks in a process with threads, which is what this is about.
    warnings.simplefilter("ignore", DeprecationWarning)
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        works = core.has("cufft.exec_c2c")
        works &= any(library.name == "cufft" for library in core.libraries())
        works &= fft.fft(np.ones(4, np.complex64))[0] == 4
        os._exit(not works)
    return os.waitpid(child, 0)[1]


def child_of_a_fork_at_the_first_use() -> int:
    """Return the status of a child whose fork had begun when a thread first used gpumath."""
    # Between the handlers that a fork calls first and the fork itself, this one starts the thread.
    thread = threading.Thread(target=core.search_report, daemon=True)

    @ctypes.CFUNCTYPE(None)
    def before() -> None:
        thread.start()
        time.sleep(0.3)

    assert ctypes.CDLL(None).__register_atfork(before, None, None, None) == 0
    return child_status()


def children(count: int) -> list[int]:
    """Return the exit statuses of children that are forked while threads use gpumath."""
    ending = threading.Event()

    def search() -> None:
        while not ending.is_set():
            # Every function that was not looked up yet takes the loader's lock.
            core.search_report()
            core.has("cublas")

    def transform() -> None:
        values = np.ones(8, np.complex128)
        while not ending.is_set():
            fft.fft(values)
            core.plan_cache_clear()

    threads = [
        threading.Thread(target=target, daemon=True) for target in (search, search, transform)
    ]
    for thread in threads:
        thread.start()
    statuses = [child_status() for _ in range(count)]
    ending.set()
    for thread in threads:
        thread.join()
    return statuses


if __name__ == "__main__":
    main(globals())
