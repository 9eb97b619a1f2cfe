"""Children that are forked while other threads search for libraries, and transform."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from typing import Any

import numpy as np

from gpumath import fft
from gpumath.bindings import core
from tests.programs.support.entry import main

# Seconds after which a child counts as hanging.
LONGEST = 20


def children(count: int) -> Any:
    """Return the exit status of each child; a child looks for libraries and transforms."""
    # Python warns of forks in a process with threads, which is what this is about.
    warnings.simplefilter("ignore", DeprecationWarning)
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
    statuses = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            signal.alarm(LONGEST)
            works = core.has("cufft.exec_c2c")
            works &= any(library.name == "cufft" for library in core.libraries())
            works &= fft.fft(np.ones(4, np.complex64))[0] == 4
            os._exit(not works)
        statuses.append(os.waitpid(child, 0)[1])
    ending.set()
    for thread in threads:
        thread.join()
    return statuses


if __name__ == "__main__":
    main(globals())
