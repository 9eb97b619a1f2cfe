"""Products on a GPU that is none, whose cuBLASLt multiplies as the real one documents it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gpumath import linalg, memory
from gpumath.bindings import core, errors
from tests.helpers.managers import AsyncManager, Manager
from tests.helpers.products import DTYPES, ORDERS, SIZES, check_product, matrix, nan_like
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks, driver, seen


def every_size_and_order() -> int:
    """Return the number of products that cuBLASLt computed."""
    for dtype in DTYPES:
        for rows, depth, columns in SIZES:
            for left in ORDERS:
                for right, order in zip(ORDERS, ORDERS[1:] + ORDERS[:1], strict=True):
                    a, b = (
                        matrix((rows, depth), dtype, left),
                        matrix((depth, columns), dtype, right),
                    )
                    check_product(linalg.matmul(a, b, execution="cuda"), a, b)
                    base = matrix((rows, columns), dtype, order)
                    base[...] = np.nan
                    assert linalg.matmul(a, b, out=base, execution="cuda") is base
                    check_product(base, a, b)
    return int(driver.lt_products())


def everything_is_freed() -> list[int]:
    """Return what is alive after plans were made and forgotten: descriptors, memory."""
    a = matrix((5, 6), "float32")
    for _ in range(3):
        core.MatmulPlan(a, a.T, execution="cuda").run(a, a.T)
    core.plan_cache_clear()
    alive = driver.lt_alive()
    thread = threading.Thread(target=lambda: linalg.matmul(a, a.T, execution="cuda"))
    thread.start()
    thread.join()
    core.plan_cache_clear()
    seen()
    return [alive, driver.lt_alive(), blocks(), driver.driver_early_frees(), driver.driver_depth()]


def refusals() -> list[str]:
    """Return the messages for what cuBLASLt does not do."""
    a, b = matrix((6, 8), "float32"), matrix((8, 4), "float32")
    texts = []
    for left, right, out in [
        (matrix((6, 16), "float32")[:, ::2], b, None),
        (a, matrix((8, 8), "float32")[:, ::-2], None),
        (a, b, nan_like((12, 8), "float32")[::2, ::2]),
        (np.broadcast_to(a[0], (6, 8)), b, None),
    ]:
        try:
            linalg.matmul(left, right, out=out, execution="cuda")
        except linalg.UnsupportedLayoutError as error:
            assert (error.permutation, error.axes) == ((0, 1), (0, 1))
            texts.append(str(error))
    thirteen = np.ones((13, 13))
    try:
        linalg.matmul(thirteen, thirteen, execution="cuda")
    except errors.cuBLASLtError as error:
        texts.append(str(error))
    return texts


def workspaces() -> list[Any]:
    """Return what managers were asked for, and what a limit says."""
    a = matrix((6, 6), "float64")
    found: list[Any] = [core.MatmulPlan(a, a, execution="cuda").workspace_size]
    for manager in (Manager(), AsyncManager()):
        options = {"allocator": manager}
        check_product(linalg.matmul(a, a, execution="cuda", options=options), a, a)
        found.append([manager.requests, manager.in_use])
    try:
        linalg.matmul(a, a, execution="cuda", options={"memory_limit": 999})
    except errors.OutOfMemoryError:
        found.append("refused")
    check_product(linalg.matmul(a, a, execution="cuda", options={"memory_limit": 1000}), a, a)
    return found


def operands_on_the_device() -> list[Any]:
    """Return the alignments that plans assume; the memory of this device is that of the host."""
    found: list[Any] = []
    # This driver answers questions about addresses in its context only.
    driver.cuCtxPushCurrent_v2(4096)
    values = matrix((7, 7), "float32")
    for lead in (0, 4, 2, 1):
        flat = memory.empty(64, "float32", kind="device")
        on_host = Borrowed(flat.ptr + 4 * lead, values.shape)
        on_host.elements()[...] = values
        for execution in (None, "cuda", "cpu"):
            result = linalg.matmul(on_host, on_host, execution=execution)
            core.synchronize_stream(0)
            check_product(Borrowed(result.ptr, result.shape).elements(), values, values)
        found.append(driver.lt_least_alignment())
    elsewhere = memory.from_dlpack(values)
    for pair in [(on_host, elsewhere), (elsewhere, on_host)]:
        try:
            linalg.matmul(*pair)
        except ValueError as error:
            found.append("in the same memory" in str(error))
    return found


class Borrowed:
    """A float32 matrix at an address of the device, which the host reads too."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self._facts = {"shape": shape, "typestr": "<f4", "data": (address, False), "version": 3}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What CUDA libraries ask for."""
        return self._facts

    def elements(self) -> np.ndarray:
        """Return the elements, for the host."""
        return np.asarray(type("Host", (), {"__array_interface__": self._facts})())


if __name__ == "__main__":
    main(globals())
