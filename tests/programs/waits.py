"""Waits for work that lasts longer than any test, and signals that come meanwhile."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from gpumath import fft, memory
from gpumath.bindings import core
from tests.programs.support.entry import main
from tests.programs.support.ordering import driver

signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
managed = memory.empty(3, kind="managed", stream=70)
busy, is_busy = driver.driver_busy, driver.driver_is_busy
busy(60_000)


def soon(number: int, then: Callable[[], object] = lambda: None) -> None:
    """Send a signal once the wait has begun."""

    def send() -> None:
        os.kill(os.getpid(), number)
        then()

    threading.Timer(0.2, send).start()


WAITS: dict[str, Callable[[], object]] = {
    "stream": lambda: core.Stream().synchronize(),
    "handle": lambda: core.synchronize_stream(70),
    "event": lambda: core.Stream().record().synchronize(),
    "device": lambda: core.Device(0).synchronize(),
    "managed array": lambda: np.from_dlpack(managed, device="cpu"),
}


def ctrl_c_ends_a_wait(wait: str) -> Any:
    soon(signal.SIGINT)
    try:
        WAITS[wait]()
    except KeyboardInterrupt:
        ended_early = bool(is_busy())
    busy(0)
    WAITS[wait]()  # and one can wait again
    return ended_early


def other_signals_are_handled_meanwhile(wait: str) -> Any:
    handled = []

    def handle(number: int, frame: object) -> None:
        handled.append(is_busy())
        busy(0)

    signal.signal(signal.SIGUSR1, handle)
    soon(signal.SIGUSR1)
    WAITS[wait]()
    return handled


def a_wait_that_must_not_end_early() -> Any:
    # The work ends a while after the signal.
    soon(signal.SIGINT, lambda: busy(200))
    try:
        core.synchronize_stream(70, interruptible=False)
        for _ in range(1000):
            pass  # here the interpreter looks for signals
    except KeyboardInterrupt:
        result = is_busy()
    return result


def threads_wait_and_others_run(wait: str) -> Any:
    def work() -> None:
        WAITS[wait]()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    waiting = [thread.is_alive() for thread in threads]
    busy(0)
    for thread in threads:
        thread.join()
    return waiting


def an_error_ends_a_wait(wait: str) -> Any:
    threading.Timer(0.2, driver.driver_break, [1]).start()
    try:
        WAITS[wait]()
    except Exception as error:
        result = type(error).__name__, int(error.status)
    return result


def ctrl_c_waits_for_a_transfer() -> Any:
    soon(signal.SIGINT, lambda: busy(200))
    try:
        fft.fft(np.ones(8, np.complex64), execution="cuda", stream=70)
        for _ in range(1000):
            pass
    except KeyboardInterrupt:
        result = is_busy()
    return result


if __name__ == "__main__":
    main(globals())
