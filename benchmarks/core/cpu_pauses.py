"""Time products on several threads of the CPU, with pauses between the calls, beside NumPy's.

    python benchmarks/core/cpu_pauses.py [--threads 2] [--calls 200] [--rounds 3]

In a pause the calling thread computes something else, or sleeps. Prints the median of the time that
each call takes, in µs, of squares of float32. The process starts itself again with the variables
that limit NumPy's threads.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from cpu_matmul import confine

SIDES = [128, 256, 512]
# What a pause is, and how long it is, in µs.
PAUSES = [
    ("work", 0),
    ("work", 20),
    ("work", 100),
    ("work", 1000),
    ("sleep", 1000),
    ("work", 10000),
]


def wait(kind: str, microseconds: int) -> None:
    if kind == "sleep":
        time.sleep(microseconds * 1e-6)
        return
    end = time.perf_counter() + microseconds * 1e-6
    while time.perf_counter() < end:
        pass


def median(call: Callable[[], object], calls: int, pause: tuple[str, int]) -> float:
    times = []
    for _ in range(calls):
        wait(*pause)
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    # Threads that wait awake would take a core from the other library's.
    time.sleep(0.2)
    return statistics.median(times) * 1e6


def main() -> None:
    """Print a line for each side and each pause."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--calls", type=int, default=200, help="of each product, in a round")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    confine(parser, arguments.threads)

    import numpy as np

    from gpumath import linalg

    rng = np.random.default_rng()
    for side in SIDES:
        a, b = (rng.standard_normal((side, side), np.float32) for _ in range(2))
        for pause in PAUSES:
            calls = [lambda a=a, b=b: linalg.matmul(a, b), lambda a=a, b=b: np.matmul(a, b)]
            rounds = [
                [median(call, arguments.calls, pause) for call in calls]
                for _ in range(arguments.rounds)
            ]
            own, numpy = (statistics.median(times) for times in zip(*rounds, strict=True))
            what = f"{side} × {side} × {side}, {pause[0]} {pause[1]} µs"
            print(f"{what:35} {own:9.1f} {numpy:9.1f} µs {own / numpy:6.2f}", flush=True)


if __name__ == "__main__":
    main()
