"""A product that is planned and autotuned, with the tuning database of the environment."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from gpumath.linalg import advanced
from tests.programs.support.entry import main


def tune(m: int, n: int, k: int, iterations: int = 3) -> dict[str, Any]:
    """Plan, autotune and execute; return what was logged, chosen and computed."""
    texts: list[str] = []
    logger = logging.getLogger("tuned")
    logger.setLevel(logging.INFO)
    logger.addFilter(lambda record: texts.append(record.getMessage()) is not None)
    rng = np.random.default_rng()
    # Where operands are in host memory does not matter.
    offset = int(rng.integers(4))
    a = rng.standard_normal(m * k + offset, np.float32)[offset:].reshape(m, k)
    b = rng.standard_normal(k * n + offset, np.float32)[offset:].reshape(k, n)
    with advanced.Matmul(a, b, options={"logger": logger}) as product:
        product.plan()
        planned = product.algorithms[0].as_numpy()["algo"].tobytes().hex()
        product.autotune(iterations=iterations)
        result = product.execute()
        tuned = product.algorithms[0].as_numpy()["algo"].tobytes().hex()
    expected = a.astype(np.float64) @ b
    error = np.linalg.norm(result - expected) / np.linalg.norm(expected)
    return {"planned": planned, "tuned": tuned, "error": float(error), "log": texts}


if __name__ == "__main__":
    main(globals())
