"""Products on a GPU that is none, whose cuBLASLt multiplies as the real one documents it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from gpumath import linalg, memory
from gpumath.bindings import core, errors
from gpumath.linalg import advanced
from gpumath.linalg.advanced._algorithm import algorithm_from
from tests.helpers.epilogs import EPILOGS, bits, epilog_reference
from tests.helpers.managers import AsyncManager, Manager
from tests.helpers.products import DTYPES, ORDERS, SIZES, check_product, matrix
from tests.programs.support.entry import main
from tests.programs.support.ordering import blocks, driver, seen


def every_size_and_order() -> list[int]:
    """Return how many products cuBLASLt computed, and how many gpumath's own kernels."""
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
    return [int(driver.lt_products()), int(driver.own_products())]


def everything_is_freed() -> list[int]:
    """Return what is alive after plans were made and forgotten: descriptors, memory."""
    a = matrix((5, 6), "float64")
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


def every_layout() -> list[int]:
    """Return how many products cuBLASLt takes without a copy and how many with one."""
    counts = [0, 0]
    rng = np.random.default_rng()
    for _ in range(400):
        batch = tuple(int(extent) for extent in rng.integers(1, 4, rng.integers(0, 4)))
        rows, columns, depth = (int(extent) for extent in rng.choice([0, 1, 2, 5, 9], 3))
        a = any_layout(rng, cut(rng, batch), (rows, depth))
        b = any_layout(rng, cut(rng, batch), (depth, columns))
        c, beta = None, None
        expected = 2 * np.matmul(a, b)
        shape = expected.shape
        if rng.random() < 0.5:
            inner = [extent if rng.random() < 0.7 else 1 for extent in (rows, columns)]
            c, beta = any_layout(rng, cut(rng, shape[:-2]), (inner[0], inner[1])), -3
            expected = expected - 3 * c
        epilog = str(rng.choice(["DEFAULT", "RELU", "RELU_BIAS", "BGRADA", "BGRADB"]))
        inputs = {}
        if epilog == "RELU_BIAS":
            inputs["bias"] = any_layout(rng, cut(rng, shape[:-2]), (rows, 1))
        left = np.broadcast_to(a, (*shape[:-2], rows, depth))
        right = np.broadcast_to(b, (*shape[:-2], depth, columns))
        expected, others = epilog_reference(epilog, expected, left, right, inputs)
        member = advanced.MatmulEpilog[epilog]
        # By cuBLASLt alone, or also by kernels.
        preferences = {"reduction_scheme_mask": 7} if rng.random() < 0.7 else {}
        product = advanced.Matmul(a, b, c, alpha=2, beta=beta)
        product.plan(epilog=member, epilog_inputs=inputs or None, preferences=preferences)
        found = product.execute()
        if others:
            found, sums = found
            ((name, total),) = others.items()
            total = total[..., None] if shape[:-2] else total
            np.testing.assert_allclose(sums[name], total, atol=1e-12)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert found.shape == shape
        plan = core.MatmulPlan(a, b, reduction_scheme_mask=7, execution="cuda")
        counts[plan.copies > 0] += 1
    assert driver.two_copies() > 20, "one kernel makes two copies"
    return counts


def every_epilog_in_two_steps() -> list[int]:
    """Return how many products with an epilog are computed in two steps, and how many are not."""
    counts = [0, 0]
    rng = np.random.default_rng()
    steps = algorithm_from((b"epilog\0\xff".ljust(64, b"\0"), 0, 0.0))
    for number in range(20 * len(EPILOGS)):
        epilog = EPILOGS[number % len(EPILOGS)]
        batch = tuple(int(extent) for extent in rng.integers(1, 4, rng.integers(0, 4)))
        rows, columns, depth = (int(extent) for extent in rng.choice([0, 1, 5, 33], 3))
        if number % 7 == 0:
            # Sums of factors may be sums of parts.
            batch, rows, columns, depth = (), min(rows, 5), min(columns, 5), 1500
        a = any_layout(rng, cut(rng, batch), (rows, depth))
        b = any_layout(rng, cut(rng, batch), (depth, columns))
        expected = 2 * np.matmul(a, b)
        shape = expected.shape
        inputs: dict[str, np.ndarray] = {}
        if "BIAS" in epilog:
            inputs["bias"] = any_layout(rng, cut(rng, shape[:-2]), (rows, 1))
        if epilog.startswith("DRELU"):
            packed = rng.integers(0, 256, (*shape[:-2], columns, -(-rows // 128) * 16))
            inputs["relu_aux"] = packed.astype(np.uint8).swapaxes(-1, -2)
        if epilog.startswith("DGELU"):
            arguments = rng.uniform(-3, 3, (*shape[:-2], columns, -(-rows // 8) * 8))
            inputs["gelu_aux"] = arguments.swapaxes(-1, -2)
        left = np.broadcast_to(a, (*shape[:-2], rows, depth))
        right = np.broadcast_to(b, (*shape[:-2], depth, columns))
        expected, others = epilog_reference(epilog, expected, left, right, inputs)
        product = advanced.Matmul(a, b, alpha=2)
        try:
            product.plan(
                epilog=advanced.MatmulEpilog[epilog],
                epilog_inputs=inputs or None,
                algorithms=[steps],
            )
        except ValueError as error:
            assert "a step of its own, which is not for this product" in str(error)
            counts[1] += 1
            continue
        found = product.execute()
        counts[0] += 1
        if others:
            found, made = found
            ((name, value),) = made.items()
            other = others[name]
            if name == "relu_aux":
                value = bits(value, rows)
            elif name == "gelu_aux":
                value = value[..., :rows, :]
            elif shape[:-2]:
                other = other[..., None]
            np.testing.assert_allclose(value, other, atol=1e-9)
        np.testing.assert_allclose(found, expected, atol=1e-9)
    return counts


def every_layout_with_padded_lines() -> list[int]:
    """Return how many products have lines of results that are padded, and how many have not."""
    counts = [0, 0]
    rng = np.random.default_rng()
    given, padded = (
        algorithm_from((b"way\0\0\0\0\xff" + bytes(24) + bytes([way]) + bytes(31), 0, 0.0))
        for way in (2, 1)
    )
    options = {"compute_type": advanced.MatmulComputeType.COMPUTE_32F_FAST_TF32}
    for _ in range(300):
        batch = tuple(int(extent) for extent in rng.integers(1, 4, rng.integers(0, 3)))
        rows, columns, depth = (int(extent) for extent in rng.choice([1, 5, 8, 11, 17], 3))
        a = any_layout(rng, cut(rng, batch), (rows, depth)).astype("f4", order="K")
        b = any_layout(rng, cut(rng, batch), (depth, columns)).astype("f4", order="K")
        c, beta = None, None
        expected = 2 * np.matmul(a, b)
        shape = expected.shape
        if rng.random() < 0.3:
            c, beta = any_layout(rng, shape[:-2], (rows, columns)).astype("f4", order="K"), -3
            expected = expected - 3 * c
        epilog = str(rng.choice(["DEFAULT", "RELU", "RELU_BIAS"]))
        inputs = {}
        if epilog == "RELU_BIAS":
            inputs["bias"] = any_layout(rng, cut(rng, shape[:-2]), (rows, 1)).astype("f4")
        expected, _ = epilog_reference(epilog, expected, a, b, inputs)
        product = advanced.Matmul(a, b, c, alpha=2, beta=beta, options=options)
        copies = []
        for algorithm in (given, padded):
            product.plan(
                epilog=advanced.MatmulEpilog[epilog],
                epilog_inputs=inputs or None,
                algorithms=[algorithm],
            )
            np.testing.assert_allclose(product.execute(), expected, atol=1e-4)
            copies.append(product._plan.copies)
        counts[copies[0] == copies[1]] += 1
    return counts


def cut(rng: np.random.Generator, batch: tuple[int, ...]) -> tuple[int, ...]:
    """Return batch dimensions that are broadcast to ``batch``."""
    kept = [extent if rng.random() < 0.7 else 1 for extent in batch]
    return tuple(kept[int(rng.integers(0, len(kept) + 1)) :])


def any_layout(
    rng: np.random.Generator, batch: tuple[int, ...], extents: tuple[int, int]
) -> np.ndarray:
    """Return random numbers in any order of dimensions, with gaps, steps and backwards."""
    shape = (*batch, *extents)
    order = rng.permutation(len(shape)) if rng.random() < 0.5 else np.arange(len(shape))
    steps = rng.choice([1, 1, 1, 2, -1], len(shape))
    base = rng.uniform(-1, 1, [shape[axis] * abs(steps[axis]) for axis in order])
    turned = base.transpose(np.argsort(order))
    result: np.ndarray = turned[tuple(slice(None, None, step) for step in steps)]
    return result


def refusals() -> list[str]:
    """Return the messages for what cuBLASLt does not do, and no kernel of gpumath's own either."""
    thirteen = np.ones((13, 13))
    check_product(linalg.matmul(thirteen, thirteen, execution="cuda"), thirteen, thirteen)
    assert driver.own_products() == 1
    try:
        linalg.matmul(thirteen, thirteen, thirteen, beta=1, execution="cuda")
    except errors.cuBLASLtError as error:
        return [str(error)]
    return []


def every_layout_by_cublas() -> list[int]:
    """Return how many products cuBLAS computed, without copies and with some."""
    counts = [0, 0]
    rng = np.random.default_rng()
    for _ in range(200):
        batch = tuple(int(extent) for extent in rng.integers(1, 4, rng.integers(0, 4)))
        rows, columns, depth = (int(extent) for extent in rng.choice([0, 1, 2, 5, 9], 3))
        a = any_layout(rng, cut(rng, batch), (rows, depth))
        b = any_layout(rng, cut(rng, batch), (depth, columns))
        found = core.MatmulPlan(a, b, execution="cuda", limit=4).algorithms
        codes = [code for code, *_ in found if code.startswith(b"cublas")]
        if not np.matmul(a, b).size:
            assert not codes
            continue
        plan = core.MatmulPlan(a, b, execution="cuda", algorithm=codes[0])
        assert plan.engine == "cublas"
        before = driver.cublas_products()
        np.testing.assert_allclose(plan.run(a, b, alpha=2), 2 * np.matmul(a, b), atol=1e-12)
        assert driver.cublas_products() - before == plan.library_calls
        counts[plan.copies > 0] += 1
    return counts


def algorithms_for_out() -> list[list[int]]:
    """Return how many products cuBLASLt, cuBLAS and gpumath's kernels computed for ``out``.

    It is in another order than the plan's results.

    By the algorithm that was found first, and by each that another library or kernel computes: as
    autotuning would choose it, and as a user does.
    """
    a, b, out = matrix((6, 7), "float64"), matrix((7, 5), "float64"), np.empty((5, 6)).T
    counts = []

    def count(product: advanced.Matmul) -> None:
        before = computed()
        assert product.execute(out=out) is out
        check_product(out, a, b)
        counts.append([late - early for early, late in zip(before, computed(), strict=True)])

    with advanced.Matmul(a, b) as product:
        found = product.plan(preferences={"limit": 4})
        count(product)
        for algorithm in found[1:]:
            found[0] = algorithm
            count(product)
            product.plan(algorithms=[algorithm])
            count(product)
            found = product.plan(preferences={"limit": 4})
    return counts


def computed() -> list[int]:
    """Return how many products cuBLASLt, cuBLAS and gpumath's kernels have computed."""
    return [driver.lt_products(), driver.cublas_products(), driver.own_products()]


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


def emulation() -> list[Any]:
    """Return the numbers of mantissa bits, and what a product on the CPU says."""
    a = matrix((5, 6), "float64")
    fixed = advanced.MatmulComputeType.COMPUTE_64F_EMULATED_FIXEDPOINT
    found: list[Any] = []
    for strategy in (None, "performant", "eager", "default"):
        options = {"compute_type": fixed, "emulation_strategy": strategy}
        check_product(advanced.matmul(a, a.T, options=options), a, a.T)
        result, others = advanced.matmul(a, a.T, options={**options, "mantissa_bit_count": True})
        check_product(result, a, a.T)
        found.append([*others, int(others["mantissa_bit_count"][0])])
    try:
        core.MatmulPlan(a, a.T, compute_type=fixed, mantissa_bit_count=True, execution="cpu")
    except ValueError as error:
        found.append(str(error))
    return found


def operands_on_the_device() -> list[Any]:
    """Return the alignments that plans assume; the memory of this device is that of the host."""
    found: list[Any] = []
    # This driver answers questions about addresses in its context only.
    driver.cuCtxPushCurrent_v2(4096)
    values = matrix((7, 7), "float64")
    for lead in (0, 4, 2, 1):
        flat = memory.empty(64, "float64", kind="device")
        on_host = Borrowed(flat.ptr + 8 * lead, values.shape)
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
            found.append("copy one of them" in str(error))
    return found


class Borrowed:
    """A float64 matrix at an address of the device, which the host reads too."""

    def __init__(self, address: int, shape: tuple[int, ...]) -> None:
        self._facts = {"shape": shape, "typestr": "<f8", "data": (address, False), "version": 3}

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """What CUDA libraries ask for."""
        return self._facts

    def elements(self) -> np.ndarray:
        """Return the elements, for the host."""
        return np.asarray(type("Host", (), {"__array_interface__": self._facts})())


if __name__ == "__main__":
    main(globals())
