"""Ctrl-C ends a wait, but not where the caller says that it must not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ordering_driver

WAITS = {
    "stream": "core.Stream().synchronize()",
    "handle": "core.synchronize_stream(70)",
    "event": "core.Stream().record().synchronize()",
    "device": "core.Device(0).synchronize()",
    "managed array": "np.from_dlpack(managed, device='cpu')",
}
# A signal that comes once the wait has begun; a minute is longer than any test waits.
SIGNALLED = """
import signal, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
managed = memory.empty(3, kind="managed", stream=70)
busy, is_busy = driver.driver_busy, driver.driver_is_busy
busy(60_000)

def soon(number, then=lambda: None):
    def send():
        os.kill(os.getpid(), number)
        then()
    timer = threading.Timer(0.2, send)
    timer.start()
    return timer
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ordering_driver.build(tmp_path_factory.mktemp("driver"))


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_ctrl_c_ends_a_wait(driver: Path, wait: str) -> None:
    code = f"""
{SIGNALLED}
soon(signal.SIGINT)
try:
    {wait}
except KeyboardInterrupt:
    ended_early = bool(is_busy())
busy(0)
{wait}  # and one can wait again
result = ended_early
"""
    assert ordering_driver.run(driver, code) is True


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_other_signals_are_handled_meanwhile(driver: Path, wait: str) -> None:
    code = f"""
{SIGNALLED}
handled = []
def handle(number, frame):
    handled.append(is_busy())
    busy(0)
signal.signal(signal.SIGUSR1, handle)
soon(signal.SIGUSR1)
{wait}
result = handled
"""
    assert ordering_driver.run(driver, code) == [1]


def test_a_wait_that_must_not_end_early(driver: Path) -> None:
    code = f"""
{SIGNALLED}
# The work ends a while after the signal.
soon(signal.SIGINT, lambda: busy(200))
try:
    core.synchronize_stream(70, interruptible=False)
    for _ in range(1000):
        pass  # here the interpreter looks for signals
except KeyboardInterrupt:
    result = is_busy()
"""
    assert ordering_driver.run(driver, code) == 0


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_threads_wait_and_others_run(driver: Path, wait: str) -> None:
    code = f"""
{SIGNALLED}
def work():
    {wait}
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
waiting = [thread.is_alive() for thread in threads]
busy(0)
for thread in threads:
    thread.join()
result = waiting
"""
    assert ordering_driver.run(driver, code) == [True] * 4


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_an_error_ends_a_wait(driver: Path, wait: str) -> None:
    code = f"""
{SIGNALLED}
threading.Timer(0.2, driver.driver_break, [1]).start()
try:
    {wait}
except Exception as error:
    result = type(error).__name__, int(error.status)
"""
    assert ordering_driver.run(driver, code) == ["CUDAError", 1]


def test_ctrl_c_waits_for_a_transfer(driver: Path) -> None:
    code = f"""
{SIGNALLED}
from gpumath import fft
soon(signal.SIGINT, lambda: busy(200))
try:
    fft.fft(np.ones(8, np.complex64), execution="cuda", stream=70)
    for _ in range(1000):
        pass
except KeyboardInterrupt:
    result = is_busy()
"""
    assert ordering_driver.run(driver, code) == 0
