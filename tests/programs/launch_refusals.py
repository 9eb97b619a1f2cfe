"""Launches that are refused, or that something disturbs, where the recorder is the driver."""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import threading
import time
from ctypes import (
    addressof,
    c_bool,
    c_byte,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_short,
    c_ulonglong,
    c_void_p,
    c_wchar,
)
from typing import Any

import numpy

from gpumath.bindings import driver
from tests.programs.support.entry import main
from tests.programs.support.kernel_arguments import (
    Color,
    Level,
    Old,
    Own,
    Pair,
    Tight,
    refused,
    sent,
    value_of,
)
from tests.programs.support.recording import recorder


def wrong_arguments(calls: list[str]) -> Any:
    return [refused(value_of(call)) for call in calls]


def wrong_extras_and_kernels() -> Any:
    result = [refused(0, extra=extra) for extra in ("x", ((1,), (c_int,)), 1.5, numpy.ones(2))]
    calls = [
        lambda: driver.launch_kernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0),
        lambda: driver.launch_kernel_ex(1, 0, 0),
        lambda: driver.launch_kernel_ex(0, 1, 0),
        lambda: driver.launch_cooperative_kernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0),
    ]
    for call in calls:
        try:
            call()
        except ValueError as error:
            result.append(str(error))
    return result


def conversion_may_run_any_python_code() -> Any:
    class Emptying:
        def __index__(self) -> Any:
            values.clear()
            types.clear()
            return 3

    values, types = [Emptying(), numpy.float64(2.5), Pair(1, 2)], [c_int, None, None]
    return [sent((values, types), 4, 8, 16), values, types]


def others_run_during_a_launch() -> Any:
    data, array_ = bytearray(b"12345678"), bytearray(8)
    answers = []

    def launch(kernel_params: Any) -> None:
        answers.append(sent(kernel_params, 8, stream=0xB10C))

    driver.init(0)
    addresses = memoryview(array_).cast("Q")
    addresses[0] = addressof(c_char.from_buffer(data))
    thread = threading.Thread(target=launch, args=(((data,), (None,)),))
    thread.start()
    time.sleep(0.2)
    result = [thread.is_alive()]
    for _ in range(2000):
        bytearray(64)  # which takes memory that was freed
    try:
        data.extend(bytes(1 << 20))
    except BufferError:
        result.append("locked")
    recorder.recorder_release()
    thread.join()
    result.append(answers)
    return result


def nothing_is_leaked() -> Any:
    data, pair, number, text = bytearray(1000), Pair(1, 2), 2**70, "kernel"
    addresses = numpy.array([0, 1, 2], dtype=numpy.uint64)
    kept = [data, pair, number, text, addresses, None, c_int, Pair, Color.RED]

    def work() -> None:
        sent(([data, pair, c_int(5), 2.5, Color.RED], [None, Pair, c_int, c_float, None]))
        sent(addresses)
        sent(((number // 2**30, pair), (c_void_p, None)))
        for bad in (
            ((number,), (c_int,)),
            ((data, text), (None, None)),
            ((pair,), (c_int,)),
            ((data, pair), (None,)),
            addresses[::2],
            ([data, 1], [None, text]),
            text,
        ):
            with contextlib.suppress(Exception):
                sent(bad)

    for _ in range(100):
        work()
    gc.collect()
    before = sys.getallocatedblocks(), [sys.getrefcount(x) for x in kept]
    for _ in range(2000):
        work()
    gc.collect()
    after = sys.getallocatedblocks(), [sys.getrefcount(x) for x in kept]
    data.extend(b"released")
    return [after[0] - before[0], [a - b for a, b in zip(after[1], before[1], strict=True)]]


def random_hostile_arguments(seed: int) -> Any:
    rng = random.Random(seed)
    atoms = [
        0,
        1,
        -1,
        2**31,
        2**63,
        2**64,
        10**30,
        0.5,
        float("nan"),
        1e300,
        None,
        "",
        "a",
        "\U0001f600",
        b"",
        b"x",
        b"xyz",
        bytearray(9),
        True,
        (),
        [],
        {},
        object(),
        int,
        Pair,
        Pair(),
        Tight(),
        Color.RED,
        Color.NAME,
        Level.HIGH,
        c_int,
        c_int(3),
        c_void_p,
        c_void_p(),
        (c_int * 2)(),
        numpy.float32(1),
        numpy.ones(3),
        numpy.ones((3, 3))[:, 0],
        1j,
        lambda: 0,
        type,
        c_char_p,
        memoryview(b"abc")[::2],
        range(3),
        Own(Pair()),
        Old(Pair()),
    ]
    types = [
        None,
        c_int,
        c_float,
        c_double,
        c_void_p,
        c_bool,
        c_char,
        c_wchar,
        c_byte,
        c_short,
        c_ulonglong,
        Pair,
        Tight,
        c_int * 2,
        *atoms,
    ]
    seen: dict[str, int] = {}
    recorder.recorder_kernel(0, (c_int * 1)())
    for _ in range(20000):
        count = rng.randrange(4)
        values = [rng.choice(atoms) for _ in range(count)]
        classes = [rng.choice(types[:14] if rng.random() < 0.8 else types) for _ in range(count)]
        shape = rng.randrange(12)
        if shape == 0:
            kernel_params = rng.choice(atoms)
        elif shape == 1:
            kernel_params = (values, classes, None)
        elif shape == 2:
            kernel_params = (tuple(values), classes[:-1])
        else:
            kernel_params = (values, tuple(classes))
        try:
            driver.launch_kernel(1, 1, 1, 1, 1, 1, 1, 0, 0, kernel_params)
            outcome = "launched"
        except (TypeError, ValueError, OverflowError) as error:
            outcome = type(error).__name__
        seen[outcome] = seen.get(outcome, 0) + 1
    return seen


if __name__ == "__main__":
    main(globals())
