"""Transforms on two GPUs: by threads that end, and at the end of the process."""

from __future__ import annotations

import threading

import numpy as np

from gpumath import fft
from gpumath.bindings import core, driver
from tests.programs.support.entry import main


def threads() -> None:
    both = fft.ExecutionCUDA(device_ids=[0, 1])
    answers: list[bool] = []

    def work(number: int) -> None:
        rng = np.random.default_rng()
        shape = 64, 96 + 2 * number
        a = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        for _ in range(5 + 5 * number):
            for axes in ([0, 1], [1]):
                result = fft.fft(a, axes=axes, execution=both)
                answers.append(np.allclose(result, np.fft.fftn(a, axes=axes)))

    for _ in range(3):
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(len(answers), all(answers))


def exit_with_a_plan_and_an_object() -> None:
    # Global, so that it is there when the interpreter exits.
    global transform
    values = np.ones((64, 64), np.complex64)
    transform = fft.FFT(values, execution=fft.ExecutionCUDA(device_ids=[0, 1]))
    transform.plan()
    print(complex(transform.execute()[0, 0]))


def no_context_is_made_on_other_devices() -> None:
    array = core.Array((8, 1009), "complex64", device_id=1)
    stream = core.Stream(1)
    fft.fft(array, axes=[1], stream=stream)
    with fft.FFT(array, axes=[1]) as transform:
        transform.plan()
        transform.execute()
    fft.fft(np.ones(64, np.complex64), execution=fft.ExecutionCUDA(device_id=1))
    stream.synchronize()
    _, active = driver.device_primary_ctx_get_state(driver.device_get(0))
    print(active, driver.ctx_get_current())


if __name__ == "__main__":
    main(globals())
