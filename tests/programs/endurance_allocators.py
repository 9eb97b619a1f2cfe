"""Memory managers that fail at any of their calls, where the device is a stand-in.

The device computes nothing, so shapes are all there is to check.
"""

from __future__ import annotations

import gc
from typing import Any

import numpy as np

from gpumath import memory
from tests.helpers.failing_managers import (
    ERRORS,
    FORMS,
    MANAGERS,
    NOTHING_WRONG,
    WRONG,
    fail_everywhere,
)
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks


def requests(form: str, manager_name: str, operand_name: str) -> list[int]:
    """Return for each failure how many requests the call makes."""
    operand = {
        "values": np.ones((3, 8), np.complex64),
        "array": memory.empty((3, 8), "complex64"),
    }[operand_name]
    manager = MANAGERS[manager_name]()
    blocks_before = blocks()

    def run() -> object:
        return FORMS[form](operand, manager, execution="cuda")

    def check(result: Any) -> None:
        assert result.shape == (3, 8)

    result = []
    failures = [(error, NOTHING_WRONG) for error in ERRORS.values()]
    failures += [(error, wrong) for wrong, error in WRONG.values()]
    for error, wrong in failures:
        result.append(fail_everywhere(manager, run, check, error, wrong))
        gc.collect()
        assert blocks() == blocks_before
    return result


if __name__ == "__main__":
    main(globals())
