"""Functions of array libraries that were replaced, as tools for tests and debugging do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.support.entry import main


def numpy_empty(how: str) -> Any:
    original = np.empty

    def empty(shape: Any, dtype: Any = float, *rest: Any, **keywords: Any) -> Any:
        if how == "smaller":
            return original((1,) * len(shape), dtype)
        if how == "other type":
            return original(shape, np.float32)
        if how == "read-only":
            array = original(shape, dtype)
            array.flags.writeable = False
            return array
        assert how == "other strides"
        return original(shape[::-1], dtype).T

    np.empty = empty  # type: ignore[assignment]
    from gpumath import fft, linalg

    messages = []
    # Large results are in a block of bytes, which has no other strides.
    for rows in (30,) if how == "other strides" else (30, 300):
        messages += errors_of(
            lambda rows=rows: fft.fft(np.ones((rows, 100), complex), axes=[1]),
            lambda rows=rows: fft.irfft(np.ones((rows, 100), complex), axes=[1]),
            lambda rows=rows: linalg.matmul(np.ones((60 + rows, 80)), np.ones((80, 70))),
        )
    return messages


def errors_of(*calls: Callable[[], Any]) -> list[str]:
    messages = []
    for call in calls:
        try:
            call()
        except RuntimeError as error:
            messages.append(str(error))
    return messages


if __name__ == "__main__":
    main(globals())
